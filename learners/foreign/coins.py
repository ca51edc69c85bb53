"""Where a user's code draws its random numbers: from a generator that it is given, from those of the process,
from elsewhere, or from several of these."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

from arena.settings import one_of, setting
from learners.foreign.global_generators import GLOBAL, OWN, Trial

GIVEN = "given"
COINS = GIVEN, GLOBAL, OWN


def coins_setting() -> str | None:
    coins: str | None = setting(
        None,
        help="given, global or own; default: given if it takes an rng, else found by a trial",
        check=one_of(*COINS),
    )
    return coins


class DrawsCoins:
    """Base of learners with the setting `coins`, which play the user's code in a trial, if they must.

    What takes a generator is given one, and the generators of the process are seeded for what draws from
    them. If equal seeds do not give equal games all the same, it draws from elsewhere, too.
    """

    coins: str | None

    @property
    @abstractmethod
    def takes_generator(self) -> bool:
        """Whether the code takes a generator as an argument."""

    @property
    @abstractmethod
    def trial(self) -> Trial:
        """What a few games of the code show."""

    @cached_property
    def effective_coins(self) -> str:
        """The source of its random numbers, or of those that can be seeded: given, global or own."""
        if self.coins is not None:
            return self.coins
        if self.takes_generator:
            return GIVEN
        return GLOBAL if self.trial.draws else OWN

    @cached_property
    def own_coins(self) -> bool:
        """Whether no seed repeats its games."""
        return self.effective_coins == OWN or not self.trial.repeats

    @cached_property
    def seeds_global(self) -> bool:
        """Whether the generators of the process are seeded for each of its games."""
        # Who says that it draws from elsewhere need not know whether it draws from these, too.
        return self.effective_coins == GLOBAL or self.coins == OWN or self.trial.draws

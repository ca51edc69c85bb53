"""function: any function of yours that releases numbers, with the claim that you make for it."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import RLock
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.fingerprint import callable_name
from arena.sample import Sample
from arena.settings import at_least, less_than, more_than, one_of, setting
from learners.foreign.base import LABELS, PARTS, Foreign, function_setting, part_of, receives

GIVEN, GLOBAL, OWN = COINS = ("given", "global", "own")
_OF_PROCESS = RLock()  # held by the thread that has seeded the generators of the process


@attrs.frozen
class Function(Foreign):
    """Releases what a function returns, f(data, rng) or f(data): a number, or numbers in an array.

    The claim is yours; nothing is known of the function. Where its coins come from:

    given: from the generator that it is handed, f(data, rng). The default where a second argument is wanted,
        or is called rng.
    global: from the modules `random` and `numpy.random`, which are seeded from the seat's coins for as
        long as it plays, and then put back: the same seed, the same games.
    own: from elsewhere, the operating system for instance. No seed repeats such a run, so that nobody can
        check its figures game by game. It is sound as long as games are independent: every run checks that
        new processes do not draw the same coins. The default of other functions.

    One call plays one game. A function that is `vectorised` is told the number of games too and plays them
    in one call, f(data, games, rng) or f(data, games) -> (games, ...), every game with coins of its own.
    """

    name = "function"
    theorem = "none: the claim is the user's"

    function: Callable[..., Any] = function_setting("f, path/to/file.py:f on the command line")
    receives: str = receives(LABELS, check=one_of(*PARTS))
    epsilon: float | None = setting(
        None, unit="nats", help="ε of the claim; default: none is made", check=more_than(0)
    )
    delta: float = setting(0.0, unit="probability", help="δ of the claim", check=[at_least(0), less_than(1)])
    vectorised: bool = setting(False, help="whether one call plays all games of a table")
    coins: str | None = setting(
        None,
        help="where its coins come from: given, global or own; default: given if it takes an rng, else own",
        check=one_of(*COINS),
    )

    def __attrs_post_init__(self) -> None:
        wanted = self.arguments
        if _accepts(self.function, wanted):
            return
        raise InvalidArgument(
            f"{callable_name(self.function)} must take {', '.join(wanted)}",
            value=f"{callable_name(self.function)}{inspect.signature(self.function)}",
            remedy="Set vectorised and coins to what it takes, or wrap it in a function that takes these.",
        )

    @property
    def coins_run(self) -> str:
        """Where its coins come from: given, global or own."""
        if self.coins is not None:
            return self.coins
        return GIVEN if _wants(self.function, len(self._without_rng)) else OWN

    @property
    def _without_rng(self) -> tuple[str, ...]:
        return ("data", "games") if self.vectorised else ("data",)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the function is handed."""
        return (*self._without_rng, "rng") if self.coins_run == GIVEN else self._without_rng

    @property
    def claim(self) -> Claim:
        epsilon = inf if self.epsilon is None else self.epsilon
        return Claim(epsilon=epsilon, delta=self.delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def own_coins(self) -> bool:
        return self.coins_run == OWN

    def drawn(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        given = (rng,) if self.coins_run == GIVEN else ()
        with _seeded(rng, self.coins_run == GLOBAL):
            if self.vectorised:
                return self.function(part_of(sample, self.receives), games, *given)
            return [self.function(part_of(sample, self.receives), *given) for _ in range(games)]


def _wants(function: Callable[..., Any], place: int) -> bool:
    """Whether its argument at this place must be given, or is called rng."""
    try:
        arguments = list(inspect.signature(function).parameters.values())[place : place + 1]
    except ValueError:  # some builtins have no signature
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(a.kind in positional and (a.default is a.empty or a.name == "rng") for a in arguments)


def _accepts(function: Callable[..., Any], arguments: tuple[str, ...]) -> bool:
    """Whether it can be called with these arguments; where nobody can tell, it is tried."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


@contextmanager
def _seeded(rng: np.random.Generator, wanted: bool) -> Iterator[None]:
    """While it lasts, the generators that belong to the process draw from coins of `rng`."""
    if not wanted:
        yield
        return
    with _OF_PROCESS:
        before, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - others use it
        random.seed(rng.bytes(32))
        np.random.seed(rng.integers(2**32, size=8, dtype=np.uint32))  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(before)
            np.random.set_state(of_numpy)  # noqa: NPY002

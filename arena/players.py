"""The two kinds of player. Read this file to write either.

A *learner* is a frozen attrs spec: parameters, its claim, its theorem. `spec.seat(games, rng)` returns the
running state of n games, whose methods are those that its protocol asks for:

    Figure1, Voting                  train(training), predict(x) -> labels, halted
    Release                          release(training) -> value or Hypothesis
    Oblivious, Adaptive, SpecialRound   hypothesis() -> Hypothesis, observe(x, y)

An *adversary* is a frozen attrs spec with one generator, `play(games, rng)`: it yields moves, is sent
replies, and may return a score (n,), higher = "looks like world 1".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any, ClassVar, Protocol, Self

import attrs
import numpy as np

from arena.claims import Bound, Claim
from arena.errors import Unsupported
from arena.laws import AnswerLaw, ValueLaw
from arena.moves import Move
from arena.points import finite_domain, freeze
from arena.replies import Hypothesis, Reply
from arena.sample import Sample, Training

Moves = Generator[Move, Any, "np.ndarray | None"]


@attrs.frozen
class Learner(ABC):
    """Spec of a learner: hashable, printable, and the same for every table it is seated at.

    name: what the command line calls it.
    protocols: names of the referees it can sit before, for instance ("Figure1",).
    theorem: where its claim comes from.
    """

    name: ClassVar[str] = ""
    protocols: ClassVar[tuple[str, ...]] = ()
    theorem: ClassVar[str] = ""

    @property
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one point, that of its concept class (its setting `concepts`) if it has one: () for
        numbers, (d,) for vectors."""
        concepts = getattr(self, "concepts", None)
        return () if concepts is None else concepts.point_shape

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """The privacy it promises, computed from its parameters."""

    @abstractmethod
    def start(self, games: int, rng: np.random.Generator) -> Any:
        """The running state of `games` independent games, all coins from `rng`."""

    @property
    def sample_size(self) -> int | None:
        """How many training examples it needs at least; None: any number will do."""
        return None

    def adapt_to(self, sample_size: int) -> Self:
        """The spec to use on a sample of `sample_size` examples; the same spec unless it has sizes to fit."""
        return self

    @property
    def common_random_numbers(self) -> bool:
        """Whether every game draws the same coins in the same order, whatever it or others are told.

        Then two tables with the same coins, one in each world, can be compared game by game, which sharpens
        audits a great deal. A learner that draws anew only in the games that need it is not in step.
        """
        return False

    @property
    def own_coins(self) -> bool:
        """Whether it draws coins that its seat was not given, so that no seed repeats its games.

        They must be independent all the same, in whatever processes they are played: `arena.testing.fresh_coins`.
        """
        return False

    @property
    def some_points(self) -> np.ndarray:
        """(k, ...): a few points of its domain, for those who must choose inputs without knowing it."""
        domain = finite_domain(self)
        if domain is not None:
            few = np.unique(np.linspace(0, len(domain) - 1, 5).astype(int))
            return freeze(np.asarray(domain, float)[few])
        if not self.point_shape:
            return freeze(np.array([0.0, 0.5, 1.0]))
        ones = np.ones(self.point_shape)
        units = np.eye(ones.size).reshape(-1, *self.point_shape)
        return freeze(np.stack([0 * ones, ones, *units, *(ones - units)]))

    def bound(self, rounds: int) -> Bound | None:
        """What its theorem promises of an online game of so many rounds; None: nothing."""
        return None

    def law(self, sample: Sample) -> ValueLaw | AnswerLaw:
        """Its law when trained on `sample`: a `ValueLaw` before Release, an `AnswerLaw` before Figure1 and
        Voting.

        Raises: Unsupported where it cannot tell.
        """
        raise Unsupported(
            f"{self.name} does not tell its law",
            remedy="Audit it by playing, or let its spec define law(sample).",
        )


@attrs.frozen
class Adversary(ABC):
    """Spec of an adversary.

    A subclass that declares a field `learner` is given the opponent's *spec* (never the opponent);
    one that declares a field `sample` is given the user's data, if there are any.
    """

    name: ClassVar[str] = ""
    protocols: ClassVar[tuple[str, ...]] = ()

    @property
    def returns_score(self) -> bool | None:
        """Whether `play` returns a score; None if it is not declared, so that only a game can show it.

        A class attribute suffices: `returns_score = True`. `arena.testing.check_adversary` checks it.
        """
        return None

    @property
    def realizable(self) -> bool:
        """Whether some concept of the learner's class agrees with all its examples, in every game.

        A class attribute will do: `realizable = True`. A race holds it to that.
        """
        return False

    @abstractmethod
    def play(self, games: int, rng: np.random.Generator) -> Moves:
        """Yield one move for all `games` games, be sent one reply; return the score (n,) or None."""


class PredictorState(Protocol):
    """What Figure 1 and Voting ask of a seated learner.

    It may also tell `votes(x)`, (n,) in [0, 1]: adversaries that seat the spec at a table of their own ask
    for it to find where the votes tie. No referee shows it. And it may take unlabelled points (n, k, ...) of
    Figure 1 with `fresh(x)`.
    """

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games in which the learner has stopped answering. It never restarts."""

    def train(self, training: Training) -> None:
        """Receive the training sets and choose h_0."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Receive the queries x (n, ...), return the labels h_{r-1}(x), (n,) bool or int of 0 and 1; before
        Voting also of `UNSTABLE`."""


class ReleaseState(Protocol):
    """What Release asks of a seated learner."""

    def release(self, training: Training) -> np.ndarray | Hypothesis:
        """Receive the samples, release one value (n, ...) or one hypothesis a game."""


class OnlineState(Protocol):
    """What the online protocols ask of a seated learner.

    One that takes instructions also has `instruct(update)`, (n,) bool, which is called before `observe` in
    rounds in which the adversary gives some: ConfidentWinnow's b_t.
    """

    def hypothesis(self) -> Hypothesis:
        """The hypothesis h_t of this round."""

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        """Receive this round's example: x (n, ...), y (n,) of 0 and 1."""


__all__ = [
    "Adversary",
    "Learner",
    "Moves",
    "OnlineState",
    "PredictorState",
    "ReleaseState",
    "Reply",
]

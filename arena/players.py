"""The two kinds of player. Read this file to write either.

A *learner* is a frozen attrs class, its configuration: settings, privacy claim and theorem. The method
`start(games, rng)` returns the running state of n games, with the methods of the protocol's `learner_state`:
for Release one method, `release(training)`. What it may offer beyond that is in `arena.capabilities`.

An *adversary* is a frozen attrs class with one generator, `play(games, rng)`: it yields moves, is sent
replies, and may return a score (n,). Higher scores mean "this looks like world 1".

Players in game style are written in plain Python for one game: slow, but the shortest way to write one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
import numpy as np

from arena.capabilities import HasConcepts
from arena.claims import Bound, Claim, Neighbours, PrivacyUnit, Relation
from arena.errors import ProtocolViolation, Unsupported
from arena.laws import AnswerLaw, ValueLaw
from arena.messages import Hypothesis, Move
from arena.released.encoding import list_objects
from arena.sample import BOTH, Reads, Sample, Training, freeze

if TYPE_CHECKING:
    from arena.concepts import ConceptClass

Moves = Generator[Move, Any, "np.ndarray | None"]


def read_concepts(player: object) -> ConceptClass | None:
    return player.concepts if isinstance(player, HasConcepts) else None


def finite_domain(player: object) -> tuple[Any, ...] | None:
    concepts = read_concepts(player)
    return None if concepts is None else concepts.domain


@attrs.frozen(eq=False)  # so that a subclass without an equality of its own has that of objects
class Learner(ABC):
    """Configuration of a learner: hashable, printable, and the same for every batch of games.

    name: what the command line calls it. theorem: the source of its claim. protocols: names of the referees
    under which it plays. usual_adversary: of audits that name none; empty: the usual one of what it protects.
    """

    name: ClassVar[str] = ""
    protocols: ClassVar[tuple[str, ...]] = ()
    theorem: ClassVar[str] = ""
    usual_adversary: ClassVar[str] = ""

    @property
    def own_name(self) -> str:
        """What messages and reports call it: its name, unless it plays something that has one of its own."""
        return self.name

    @property
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one point: () for numbers, (d,) for vectors. A setting `concepts` determines it."""
        concepts = read_concepts(self)
        return () if concepts is None else concepts.point_shape

    @property
    def receives_records(self) -> bool:
        """Whether its training sets are `Records`, instead of samples of labelled points."""
        return False

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """The privacy that it promises, computed from its settings."""

    @property
    def reads(self) -> Reads:
        """Of the points and the labels of its sample, what it reads anything of."""
        return BOTH

    def users_of(self, points: np.ndarray) -> np.ndarray:
        """(k,): whose each of the points (k, ...) is, in games in which a user is added or removed.
        Raises: Unsupported if its claims are not about users."""
        raise Unsupported(
            f"{self.name} does not say whose an example is", remedy="Define users_of(points) on the learner."
        )

    @abstractmethod
    def start(self, games: int, rng: np.random.Generator) -> Any:
        """The running state of `games` independent games, which draws all random numbers from `rng`."""

    @property
    def sample_size(self) -> int | None:
        """The least number of training examples that it needs; None: any number will do."""
        return None

    def adapt_to(self, sample_size: int) -> Self:
        """The configuration to use on so many examples; the same one unless it has sizes to adapt."""
        return self

    @property
    def common_random_numbers(self) -> bool:
        """Whether every game draws the same random numbers in the same order, whatever any game receives. If
        so, batches with the same random numbers in both worlds can be compared game by game, which makes
        audits sharper."""
        return False

    @property
    def with_common_random_numbers(self) -> Self | None:
        """The learner with common random numbers, if only an experiment can show whether it may use them."""
        return None

    @property
    def own_coins(self) -> bool:
        """Whether it draws random numbers that do not come from `rng`, so that no seed repeats its games."""
        return False

    @property
    def one_call_a_game(self) -> bool:
        """Whether every game is one call, with random numbers of its own, of code that may be slow. Checks
        and searches then make few calls; what games could share is memory, which is looked for."""
        return False

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """What it does badly because of its settings, one sentence each, for commands to print."""
        return ()

    @property
    def domain(self) -> tuple[float, float] | None:
        """The least and the largest number in a point for which its claim is meant; None: any number."""
        return None

    @property
    def some_points(self) -> np.ndarray:
        """(k, ...): a few points of its domain, for players that must choose points without knowing it."""
        domain = finite_domain(self)
        if domain is not None:
            indices = np.unique(np.linspace(0, len(domain) - 1, 5).astype(int))
            return freeze(np.asarray(domain, float)[indices])
        low, high = self.domain or (0.0, 1.0)
        if not self.point_shape:
            return freeze(low + (high - low) * np.array([0.0, 0.5, 1.0]))
        ones = np.ones(self.point_shape)
        units = np.eye(ones.size).reshape(-1, *self.point_shape)
        return freeze(low + (high - low) * np.stack([0 * ones, ones, *units, *(ones - units)]))

    def bound(self, rounds: int) -> Bound | None:
        """What its theorem promises of an online game of so many rounds; None: nothing."""
        return None

    def law(self, sample: Sample) -> ValueLaw | AnswerLaw:
        """Its output distribution when trained on `sample`: a `ValueLaw` under Release, an `AnswerLaw` under
        Figure1 and Voting. Raises: Unsupported if it is not known."""
        raise Unsupported(
            f"{self.own_name} does not declare its output distribution",
            remedy="Audit it by playing, or define law(sample) on the learner.",
        )


def read_relation_of(learner: Learner | None) -> Relation:
    """The neighbouring relation of a learner's claim; without a learner, that of one replaced example."""
    if learner is None:
        return Relation(Neighbours.REPLACE_ONE)
    try:
        return _find_relation(learner)
    except TypeError:  # a configuration that cannot be hashed
        return learner.claim.neighbours


@lru_cache(maxsize=256)  # since some claims take seconds to compute
def _find_relation(learner: Learner) -> Relation:
    return learner.claim.neighbours


@attrs.frozen(eq=False)  # as for Learner
class Adversary(ABC):
    """Configuration of an adversary. A field `learner` receives the opponent's *configuration*, never its
    running state; a field `sample` the user's data, if there are any.

    usual_for: audits of learners that protect one of these units, and name no adversary, are played against
    this one; only shipped ones count. scores_release: whether its score is a released number itself, so that
    a distinguisher is preferred where releases hold more than finite numbers.
    """

    name: ClassVar[str] = ""
    protocols: ClassVar[tuple[str, ...]] = ()
    usual_for: ClassVar[tuple[PrivacyUnit, ...]] = ()
    scores_release: ClassVar[bool] = False

    @property
    def own_name(self) -> str:
        """What messages and reports call it."""
        return self.name

    @property
    def returns_score(self) -> bool | None:
        """Whether `play` returns a score; None if only a game can show it."""
        return None

    @property
    def realizable(self) -> bool:
        """Whether some concept of the learner's class agrees with all examples of a game. A race enforces
        it."""
        return False

    @abstractmethod
    def play(self, games: int, rng: np.random.Generator) -> Moves:
        """Yield one move for all games, receive one reply, and so on; return the score (n,) or None."""


@attrs.frozen
class GameLearner(Learner):
    """A learner written for one game, whose state has the methods of its protocol on scalars:
    `train(sample)`, `predict(x)` -> 0 or 1, and `halted` (False if left out); `release(sample)` -> number,
    text, None or a tuple or array of these; `update(record)` -> such a value; `hypothesis()` -> concept and
    `observe(x, y)`."""

    @property
    def concept_class(self) -> ConceptClass:
        """The class of its hypotheses; a class attribute suffices. Raises: Unsupported without one."""
        raise Unsupported(
            f"{self.name} has no concept_class", remedy="Define one, for `hypothesis` needs it."
        )

    @abstractmethod
    def start_one(self, rng: np.random.Generator) -> Any:
        """The running state of one game, which draws all random numbers from `rng`."""

    def start(self, games: int, rng: np.random.Generator) -> LiftedState:
        return LiftedState([self.start_one(child) for child in rng.spawn(games)], self)


class LiftedState:
    def __init__(self, states: list[Any], learner: GameLearner) -> None:
        self._states = states
        self._learner = learner

    @property
    def halted(self) -> np.ndarray:
        return np.array([bool(getattr(state, "halted", False)) for state in self._states], bool)

    def train(self, training: Training) -> None:
        for state, which in zip(self._states, training.which, strict=True):
            state.train(training.samples[which])

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.array([state.predict(p) for state, p in zip(self._states, x, strict=True)], np.int64)

    def release(self, training: Training) -> np.ndarray:
        samples = (training.samples[which] for which in training.which)
        return list_objects(
            [state.release(sample) for state, sample in zip(self._states, samples, strict=True)]
        )

    def update(self, records: np.ndarray) -> np.ndarray:
        return list_objects([state.update(p) for state, p in zip(self._states, records, strict=True)])

    def hypothesis(self) -> Hypothesis:
        concepts = np.array([state.hypothesis() for state in self._states])
        return Hypothesis(self._learner.concept_class, concepts)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        for state, point, label in zip(self._states, x, y, strict=True):
            state.observe(point, int(label))


@attrs.frozen
class GameAdversary(Adversary):
    """An adversary written for one game, whose replies hold scalars (`reply.label`, `reply.halted`)."""

    @abstractmethod
    def play_one(self, rng: np.random.Generator) -> Moves:
        """Yield the moves of one game; return the score, one number, or None."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if games != 1:
            raise ProtocolViolation(
                "an adversary in game style plays one game at a time",
                player=f"adversary {self.name}",
                round=0,
                got=games,
            )
        moves = self.play_one(rng)
        reply: Any = None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                return None if end.value is None else np.array([end.value], np.float64)
            reply = (yield move).select_game(0)

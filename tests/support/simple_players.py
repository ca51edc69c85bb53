"""Small players for tests of the arena, and learners with a leak for searches to find."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import BudgetExceeded, Claim, Hypothesis, PrivacyUnit, Referee, Sample, Training
from arena.concepts import Thresholds
from arena.players import Adversary, GameAdversary, GameLearner, Learner, Moves
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict


def copy_settings(kind: type[Any], spec: Any, **changes: Any) -> Any:
    """A player of a kind, with the settings of another but for the changes."""
    return kind(**({field.name: getattr(spec, field.name) for field in attrs.fields(kind)} | changes))


def run_audit(
    learner: Learner, adversary: Adversary, referee: Referee, claim: Claim | None = None, **settings: Any
) -> Verdict:
    """The verdict on the learner's claim, or on another, with the adversary made for the learner."""
    claim, adversary = claim or learner.claim, attrs.evolve(adversary, learner=learner)  # type: ignore[call-arg]
    game: dict[str, Any] = {"learner": learner, "adversary": adversary, "referee": referee}
    return run(Plan(**game, epsilon=claim.epsilon, delta=claim.delta, **settings))


class NamedByClass:
    """A subclass without a `name` of its own is named as the class: `TwoNoises` is two-noises.

    State: what a learner starts, if it is not what its base starts.
    """

    __slots__ = ()

    State: ClassVar[Any] = None

    def start(self, games: int, rng: np.random.Generator) -> Any:
        own = self.State
        return own(self, games, rng) if own else super().start(games, rng)  # type: ignore[misc]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @property
    def twin(self) -> Any:
        """The shipped learner from which a broken one is derived, at the same settings."""
        shipped = next(cls for cls in type(self).__mro__ if cls.__module__.startswith("learners."))
        return copy_settings(shipped, self)


class BrokenLearner(NamedByClass):
    """A shipped learner with one slip, which makes the claim of its twin."""

    __slots__ = ()

    @property
    def claim(self) -> Claim:
        return self.twin.claim


SAMPLE = Sample([0.0, 1.0], [0, 1], [3, 2])


class EchoState:
    """Records what it receives; answers 1 for points of at least 0.5; halts at the query `halt_at`."""

    def __init__(self, games: int, halt_at: float) -> None:
        self.halted = np.zeros(games, bool)
        self.halt_at = halt_at
        self.training: Training | None = None
        self.queries: list[np.ndarray] = []

    def train(self, training: Training) -> None:
        self.training = training

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.queries.append(x.copy())
        self.halted = self.halted | (x == self.halt_at)
        return x >= 0.5

    def release(self, training: Training) -> np.ndarray:
        self.training = training
        return np.array([float(s.counts @ s.labels) for s in training.samples])[training.which]


@attrs.frozen
class Echo(Learner):
    """A predictor without memory or randomness. `states` collects its running states, for tests."""

    name = "echo"
    protocols = ("Figure1", "Release")
    halt_at: float = 9.0
    states: list[EchoState] = attrs.field(factory=list, eq=False, repr=False)

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))

    def start(self, games: int, rng: np.random.Generator) -> EchoState:
        state = EchoState(games, self.halt_at)
        self.states.append(state)
        return state


class FragileState(EchoState):
    """Raises at the query 7."""

    error: type[Exception] = RuntimeError

    def predict(self, x: np.ndarray) -> np.ndarray:
        if (x == 7).any():
            raise self.error("seven")
        return super().predict(x)


@attrs.frozen
class Fragile(Echo):
    """A predictor that fails at one point, in all games of the batch."""

    name = "fragile"
    error: type[Exception] = RuntimeError

    def start(self, games: int, rng: np.random.Generator) -> FragileState:
        state = FragileState(games, self.halt_at)
        state.error = self.error
        return state


class LastLabelState:
    """h_t gives every point the label of the last example."""

    def __init__(self, games: int) -> None:
        self.last = np.zeros(games, bool)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(Thresholds(), np.where(self.last, -np.inf, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self.last = y == 1


@attrs.frozen
class LastLabel(Learner):
    name = "last-label"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")

    claim = Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> LastLabelState:
        return LastLabelState(games)


@attrs.frozen
class Scripted(Adversary):
    """Plays the moves of a generator, `moves(games, rng)`."""

    moves: Callable[[int, np.random.Generator], Moves]
    name: str = "scripted"
    protocols: tuple[str, ...] = (
        "Figure1",
        "Release",
        "TrainingRun",
        "Oblivious",
        "Adaptive",
        "SpecialRound",
        "Stream",
        "FixedStream",
        "Session",
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        return self.moves(games, rng)


def script(*moves: Any, score: Any = None) -> Scripted:
    """An adversary that makes these moves and returns this score, whatever the replies."""

    def play(games: int, rng: np.random.Generator) -> Moves:
        for move in moves:  # noqa: UP028 - "yield from" would send the replies on to the tuple
            yield move
        return score

    return Scripted(play)


class OneEcho:
    """`EchoState` for one game, in plain Python."""

    def __init__(self, halt_at: float) -> None:
        self.halted = False
        self.halt_at = halt_at

    def train(self, sample: Sample) -> None:
        self.sample = sample

    def predict(self, x: float) -> int:
        self.halted = self.halted or x == self.halt_at
        return int(x >= 0.5)


@attrs.frozen
class GameEcho(GameLearner):
    """`Echo` in game style."""

    name = "game-echo"
    protocols = ("Figure1",)
    halt_at: float = 9.0

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))

    def start_one(self, rng: np.random.Generator) -> OneEcho:
        return OneEcho(self.halt_at)


@attrs.frozen
class GameScripted(GameAdversary):
    """Plays the moves of a generator for one game."""

    moves: Callable[[np.random.Generator], Moves]
    name: str = "game-scripted"
    protocols: tuple[str, ...] = ("Figure1",)

    def play_one(self, rng: np.random.Generator) -> Moves:
        return self.moves(rng)


def ones(training: Training) -> np.ndarray:
    """(n,): the number of examples labelled 1 in each game's sample."""
    return np.array([float(sample.counts @ sample.labels) for sample in training.samples])[training.which]


@attrs.frozen
class Mutant(NamedByClass, Learner):
    """A learner whose claim of (1, 0)-DP is false."""

    protocols = ("Figure1",)

    claim = Claim(epsilon=1.0, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))


@attrs.frozen
class HalfTheNoise(Mutant):
    """Releases the number of labels 1, claims ε = 1 but adds Lap(1/2)."""

    class State:
        def __init__(self, learner: Learner, games: int, rng: np.random.Generator) -> None:
            self.rng = rng

        def release(self, training: Training) -> np.ndarray:
            return ones(training) + self.rng.laplace(0.0, 0.5, training.games)

    protocols = ("Release",)


class OnesState:
    """Answers 0; `react` looks at the number of labels 1 of each game first."""

    def __init__(self, learner: Any, games: int, rng: np.random.Generator) -> None:
        self.learner, self.halted, self.asked = learner, np.zeros(games, bool), 0

    def train(self, training: Training) -> None:
        self.ones = ones(training)

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.asked += 1
        self.react()
        return np.zeros(len(x), bool)


@attrs.frozen
class HaltsOnTheCount(Mutant):
    """Halts after as many queries as the sample has labels 1, plus two."""

    class State(OnesState):
        def react(self) -> None:
            self.halted = self.halted | (self.asked >= self.ones + 2)


@attrs.frozen
class RaisesOnLabels(Mutant):
    """Raises if two or more examples are labelled 1."""

    class State(OnesState):
        def react(self) -> None:
            if (self.ones >= 2).any():
                raise RuntimeError("too many")


@attrs.frozen
class DeclinesOnLabels(Mutant):
    """Declines a query if at least `most` examples are labelled 1."""

    class State(OnesState):
        def react(self) -> None:
            if (self.ones >= self.learner.most).any():
                raise BudgetExceeded("too many")

    most: int = 2


@attrs.frozen
class Copying(NamedByClass, Learner):
    """Its hypothesis is the last label, or the opposite label with probability 0.1."""

    class State:
        def __init__(self, learner: Learner, games: int, rng: np.random.Generator) -> None:
            self.label, self.rng = np.zeros(games, bool), rng

        def hypothesis(self) -> Hypothesis:
            label = self.label ^ (self.rng.random(len(self.label)) < 0.1)
            return Hypothesis(Thresholds(), np.where(label, -np.inf, np.inf))

        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            self.label = y == 1

    protocols = ("SpecialRound",)
    rounds: int = 6

    claim = Claim(epsilon=1.0, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))


@attrs.frozen
class OnePoint(Mutant):
    """Answers whether an example at the queried point is labelled 1; points are vectors of two numbers."""

    class State(OnesState):
        def train(self, training: Training) -> None:
            self.training = training

        def predict(self, x: np.ndarray) -> np.ndarray:
            asked = np.zeros(len(x), bool)
            for sample, games in self.training.groups():
                known = sample.points[sample.labels == 1]
                asked[games] = (x[games][:, None] == known[None]).all(axis=2).any(axis=1)
            return asked

    point_shape = (2,)

"""What general code may ask of a player beyond its base class, as protocols that `isinstance` can check: a
player has a capability if it has the members. Axis 0 of every array is the game."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from arena.concepts import ConceptClass
    from arena.laws import OnlineLaw
    from arena.records import Records
    from arena.sample import Sample
    from arena.schemas.schema import Schema


def offers(value: object, capability: type) -> bool:
    """Whether an object has all members of a capability. It may pass them on by `__getattr__`, which
    `isinstance` overlooks from Python 3.12 on."""
    members = (*vars(capability), *getattr(capability, "__annotations__", ()))
    return all(hasattr(value, name) for name in members if not name.startswith("_"))


# --- running learners ---------------------------------------------------------------------------------------


@runtime_checkable
class HasVotes(Protocol):
    """A running predictor that answers by a noisy vote and can say how it stands. No referee shows votes."""

    def votes(self, x: Any) -> np.ndarray:
        """(n,) in [0, 1]: the share of votes for label 1, at one point for all games or at x (n, ...)."""


@runtime_checkable
class ExposesHypotheses(Protocol):
    """A running predictor that exposes the hypotheses behind its last answers, for experiments only. It
    labels a point 1 if the teachers' mean vote there is at least a number, one for every answer."""

    round: RoundSizes  # the round of the last answers
    cuts: np.ndarray  # the least mean votes of label 1: (n,) after `predict`, (n, j) after `predict_many`

    def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n, k) of the current teachers at x (n, k, ...)."""


@runtime_checkable
class PredictsMany(Protocol):
    """A running predictor that can answer queries in a row together."""

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        """(n, j): the labels of the first j ≥ 1 of the queries x (n, k, ...); the learner chooses j ≤ k."""


@runtime_checkable
class ReceivesUnlabelled(Protocol):
    """A running predictor that learns from unlabelled points (`arena.Unlabelled`)."""

    def receive_unlabelled(self, x: np.ndarray) -> None:
        """Receive the points x (n, k, ...)."""


@runtime_checkable
class TakesInstructions(Protocol):
    """A running online learner that the adversary may tell when to update, as ConfidentWinnow."""

    def instruct(self, update: np.ndarray) -> None:
        """Receive b_t, (n,) bool; called before `observe` in rounds in which the adversary gives b_t."""


# --- learners -----------------------------------------------------------------------------------------------


@runtime_checkable
class UsesPackages(Protocol):
    packages: tuple[str, ...]  # top-level modules besides numpy and scipy on which its figures depend


@runtime_checkable
class ReceivesPart(Protocol):
    receives: str  # the part of its sample that it reads, a setting
    received: str  # that part in words, and why; empty for records that its schema describes

    def read_parts(self, sample: Sample) -> dict[str, Any]:
        """What each value of the setting would let it read of the sample."""


@runtime_checkable
class HasUserColumn(Protocol):
    """A learner whose points hold the user of an example in one coordinate."""

    @property
    def user_column(self) -> int | None:
        """The index of that coordinate, from the end if it is negative; None: there is none."""


class HasRecords(Protocol):
    """A learner that `receives_records`."""

    schema: Schema | None
    some_records: tuple[Records, ...]  # a few training sets that it accepts, for players that check it


@runtime_checkable
class HasConcepts(Protocol):
    concepts: ConceptClass | None  # the class; None if it follows from the opponent


def read_schema(learner: Any) -> Schema | None:
    """The schema of a learner that `receives_records`."""
    return learner.schema if learner.receives_records else None


class RoundSizes(Protocol):
    """One round of a learner that answers in rounds, and its sizes."""

    index: int  # the number of the round, from 1
    answers: int  # the queries that the round answers
    examples: int  # the labelled examples that its teachers are trained on


@runtime_checkable
class AnswersInRounds(Protocol):
    """A predictor that answers in rounds and trains new teachers after each, as GenericBBL."""

    rounds: int | None  # the rounds after which it halts; None: it goes on for ever
    rate_run: float  # the rate at which the points of a round are sampled, to train the teachers of the next

    def round(self, index: int) -> RoundSizes:
        """The sizes of round `index`, from 1."""

    def pool_size(self, index: int) -> int:
        """The unlabelled points of round `index`: its queries, or points that the adversary gives."""


@runtime_checkable
class HasPracticalConstants(Protocol):
    """A learner that can choose constants for small errors, as GenericBBL can."""

    @classmethod
    def settings_before_fitting(cls) -> dict[str, str]:
        """Settings, as text, with which a learner can be built whatever sizes the user sets."""

    def with_practical_constants(self, *, rounds: int, keep: Collection[str] = ()) -> Self:
        """The learner with constants for small errors; settings named in `keep` stay as they are."""

    def check_labellings(self, rounds: int, sample: Sample | None = None) -> None:
        """Raises: Unsupported if there would be too many labellings to choose from."""


@runtime_checkable
class LimitsHalts(Protocol):
    halts: int  # c, the costly answers before it halts, in a round if it answers in rounds


@runtime_checkable
class RemembersAnswers(Protocol):
    remembers_answers: bool  # whether asking a point again shows nothing


@runtime_checkable
class LimitsQueries(Protocol):
    queries: int | None  # ℓ, the answers before it halts; None if that follows from the data


@runtime_checkable
class HasTeachers(Protocol):
    teachers: int  # K, the teachers


@runtime_checkable
class HasCriticalMargin(Protocol):
    critical_margin: float  # the votes below a tie at which one more vote changes its answer most


@runtime_checkable
class TrainsByNoisySteps(Protocol):
    """A learner of TrainingRun whose steps move against sums of clipped gradients and Gaussian noise."""

    parameters: int  # P, the number of parameters
    steps: int  # T, the number of steps
    rate: float  # the chance of an example to be in the batch of a step
    clip: float  # the longest gradient of an example
    noise_run: float  # the standard deviation of the noise, as a multiple of `clip`
    step_size: float  # by how much the sum moves the model, as a multiple

    def losses(self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, k): the losses of models (n, P) on examples x (k, ...), y (k,)."""


@runtime_checkable
class Explains(Protocol):
    def explain(self) -> dict[str, str]:
        """By topic, one line of text each."""


@runtime_checkable
class ComparesCosts(Protocol):
    """A learner that can say what its privacy would cost by other analyses."""

    def other_costs(self) -> dict[str, float]:
        """By the name of the analysis, ε in nats at the δ of its claim."""


@runtime_checkable
class DeclaresOnlineLaw(Protocol):
    def online_law(self) -> OnlineLaw[Any]:
        """The distribution. Raises: Unsupported if it is not known with these settings."""


# --- adversaries --------------------------------------------------------------------------------------------


class Population(Protocol):
    """The distribution of examples in each of n games. A finite list of examples also has `points` (k, ...),
    `labels` (n, k) or (1, k), and `chances` (k,)."""

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw examples: points (n, size, ...) and their labels (n, size)."""

    def truth(self, points: np.ndarray) -> np.ndarray:
        """The correct labels (n, k) of points (n, k, ...)."""


@runtime_checkable
class DrawsFromPopulation(Protocol):
    """An adversary that draws examples and queries from one distribution, so that errors are defined."""

    def population(self, games: int, rng: np.random.Generator) -> Population:
        """The distributions of so many games; `play` draws from the same if it is given the same rng."""

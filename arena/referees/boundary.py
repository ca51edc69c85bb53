"""The boundary between a game and its players: what the adversary hands over, and what the learner returns.

Every value of the adversary's is read once, and only the copy is compared and passed on: of plain types, in
memory that nobody can write to. So the learner receives nothing else, whatever subclasses or changes do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from arena.capabilities import PredictsMany, ReceivesUnlabelled, TakesInstructions, offers
from arena.dataset import Dataset
from arena.errors import RAISED, ArenaError, NotConforming, PlayerError, ProtocolViolation, Unsupported
from arena.messages import GradientCanary, Hypothesis
from arena.records import Records
from arena.released.encoding import encode_values, has_unique_text
from arena.sample import Sample, own_copy, own_points

V = TypeVar("V")


@attrs.define(eq=False)
class Position:
    """The names of the players, and the round that the batch is in (0: the training phase)."""

    learner: str
    adversary: str
    round: int = 0

    def refuse_adversary(self, rule: str, **details: Any) -> ProtocolViolation:
        return ProtocolViolation(rule, player=f"adversary {self.adversary}", round=self.round, **details)

    def refuse_learner(self, rule: str, **details: Any) -> ProtocolViolation:
        return ProtocolViolation(rule, player=f"learner {self.learner}", round=self.round, **details)


class AdversaryInput:
    """Reads what the adversary's moves hold, for n games whose points have the learner's shape: float64,
    without −0. Arrays that are given once for all games are broadcast without a copy, so that axis 0 has
    stride 0. Every method raises ProtocolViolation by the adversary."""

    def __init__(
        self, games: int, point_shape: tuple[int, ...], position: Position, *, records: bool = False
    ) -> None:
        self._games = games
        self._point_shape = point_shape
        self._records = records  # whether the learner receives records, not a Sample
        self._refuse = position.refuse_adversary
        self._last = np.nan, np.empty(0)

    def read_point(self, x: Any) -> np.ndarray:
        """One point for all games, or one for each game: (n, ...)."""
        if type(x) is float and x == self._last[0]:  # the same query again, which is common
            return self._last[1]
        points = self._read_array(x)
        shape = (self._games, *self._point_shape)
        if points.shape == self._point_shape:
            shared = np.broadcast_to(points, shape)
            if type(x) is float:
                self._last = x, shared
            return shared
        if points.shape != shape:
            raise self._refuse(
                "a point is given once for all games or once for each",
                expected=f"shape {self._point_shape} or {shape}",
                got=f"shape {points.shape}",
            )
        return points

    def read_points(self, x: Any) -> np.ndarray:
        """k ≥ 1 points for all games, or k for each game: (n, k, ...)."""
        points = self._read_array(x)
        many = points.shape[: points.ndim - len(self._point_shape)]
        if points.shape[len(many) :] == self._point_shape and 0 not in many[-1:]:
            if len(many) == 1:
                return np.broadcast_to(points, (self._games, *points.shape))
            if len(many) == 2 and many[0] == self._games:
                return points
        shapes = ("k", *self._point_shape), (self._games, "k", *self._point_shape)
        raise self._refuse(
            "points in a row are given once for all games or once for each",
            expected=f"shape {shapes[0]} or {shapes[1]}, k ≥ 1",
            got=f"shape {points.shape}",
        )

    def _read_array(self, x: Any) -> np.ndarray:
        try:
            return own_points(x)
        except ArenaError as error:
            raise self._refuse(str(error)) from error

    def read_labels(self, y: Any) -> np.ndarray:
        """One label for all games, or one for each game: (n,) int8."""
        labels = own_copy(y)
        if labels.shape not in ((), (self._games,)):
            raise self._refuse(
                "a label is given once for all games or once for each",
                expected=f"shape () or ({self._games},)",
                got=f"shape {labels.shape}",
            )
        if labels.dtype.kind not in "biuf" or not ((labels == 0) | (labels == 1)).all():
            raise self._refuse("labels must be 0 or 1", got=np.unique(labels)[:5].tolist())
        return np.broadcast_to(own_copy(labels.astype(np.int8)), (self._games,))

    def read_canary(self, given: Any) -> GradientCanary:
        """A canary with arrays for all games: x (n, ...), gradient (n, P)."""
        if not isinstance(given, GradientCanary):
            raise self._refuse("a canary is a GradientCanary", got=type(given).__name__)
        gradient = self._read_array(given.gradient)
        if gradient.ndim == 1:
            gradient = np.broadcast_to(gradient, (self._games, len(gradient)))
        if gradient.ndim != 2 or len(gradient) != self._games:
            raise self._refuse(
                "a canary's gradient is given once for all games or once for each",
                expected=f"shape (P,) or ({self._games}, P)",
                got=f"shape {gradient.shape}",
            )
        if given.label not in (0, 1):
            raise self._refuse("labels must be 0 or 1", got=given.label)
        return GradientCanary(self.read_point(given.x), int(given.label), gradient)

    def read_samples(self, given: Dataset | Sequence[Dataset]) -> list[Any]:
        """One dataset for all games, or one for each game, of the kind that the learner receives."""
        listed = [given] if isinstance(given, Dataset) else list(given)
        kind: Any
        kind, other = (Records, Sample) if self._records else (Sample, Records)
        if not all(isinstance(s, kind) for s in listed):
            raise self._refuse(
                f"training sets are given as {kind.__name__}",
                got=next(type(s).__name__ for s in listed if not isinstance(s, kind)),
                remedy=_OTHER_KIND[kind] if any(isinstance(s, other) for s in listed) else "",
            )
        try:
            # By the class itself, since a subclass may say anything.
            copies = {id(s): kind.own_copy(s) for s in {id(s): s for s in listed}.values()}
        except ArenaError as error:
            raise self._refuse(str(error)) from error
        samples = [copies[id(s)] for s in listed]
        if len(samples) not in (1, self._games):
            raise self._refuse(
                "training sets are given once for all games or once for each",
                expected=f"1 or {self._games}",
                got=len(samples),
            )
        for sample in samples if not self._records else ():
            if sample.points.shape[1:] != self._point_shape:
                raise self._refuse(
                    "the points of a sample have the learner's shape",
                    expected=self._point_shape,
                    got=sample.points.shape[1:],
                )
        return samples


_OTHER_KIND = {
    Sample: "The learner receives labelled points; only a learner with a schema receives records.",
    Records: "The learner has a schema, so it receives records.",
}


@attrs.frozen
class LabelRange:
    highest: int
    text: str


BINARY = LabelRange(1, "0 or 1")


class LearnerCalls:
    """The running learner of n games. Raises: PlayerError if the learner raises (a refusal, ArenaError, only
    with `faults`), and ProtocolViolation by the learner for anything that the protocol does not ask for."""

    def __init__(self, state: Any, games: int, faults: bool, position: Position) -> None:
        self._state = state
        self._games = games
        self._faults = faults
        self._position = position
        self._refuse = position.refuse_learner
        self.predicts_many = offers(state, PredictsMany)
        self.receives_unlabelled = offers(state, ReceivesUnlabelled)
        self.takes_instructions = offers(state, TakesInstructions)

    def guard(self, call: Callable[[], V]) -> V:
        """Run code of the learner; what it raises becomes a `PlayerError`."""
        try:
            return call()
        except RAISED as error:
            if isinstance(error, ArenaError) and not self._faults:
                raise
            name, round = self._position.learner, self._position.round
            raise PlayerError.of(error, player="learner", name=name, round=round) from error

    def call(self, method: str, *arguments: Any) -> Any:
        return self.guard(lambda: getattr(self._state, method)(*arguments))

    def ask(self, method: str, *arguments: Any) -> np.ndarray | Hypothesis:
        """One value (n, ...), a copy, or one hypothesis a game, which a method of the learner returns."""
        return self.check_release(method, self.call(method, *arguments))

    def check_release(self, method: str, value: Any) -> np.ndarray | Hypothesis:
        """What a method of the learner returned, as `ask` returns it."""
        if isinstance(value, Hypothesis):
            return self._check_hypothesis(value)
        if not isinstance(value, np.ndarray) or value.shape[:1] != (self._games,):
            raise self._refuse(
                f"{method} returns one value a game",
                expected=f"an array whose first axis is {self._games}",
                got=_describe(value),
            )
        encoded = self.guard(lambda: self._encode(value))
        if has_unique_text(encoded):
            raise NotConforming(
                self._position.learner,
                "a released text is an event that can happen in several games; return the numbers in it as "
                "numbers, and leave out what is drawn at random, such as an identifier",
                "a text, or a key, that is another in nearly every game",
            )
        return own_copy(encoded)

    def _encode(self, value: np.ndarray) -> np.ndarray:
        try:
            return encode_values(value)
        except Unsupported as error:
            rule = f"{self._position.learner}: {error.rule}"
            raise type(error)(rule, value=error.value, remedy=error.remedy) from error

    # --- predictors -----------------------------------------------------------------------------------------

    def predict(
        self, x: np.ndarray, labels: LabelRange = BINARY, halted: np.ndarray | slice = slice(0)
    ) -> np.ndarray:
        """(n,) bool or int: the labels of the queries x (n, ...), those of `halted` games unchecked."""
        label: Any = self.call("predict", x)
        return self._check_labels(label, (self._games,), labels, halted)

    def predict_some(self, x: np.ndarray, labels: LabelRange, halted: np.ndarray) -> np.ndarray:
        """(n, j): the labels of the first j ≥ 1 of the queries x (n, k, ...); the learner chooses j."""
        if not self.predicts_many:
            return self.predict(x[:, 0], labels, halted)[:, None]
        label = self.call("predict_many", x)
        shape = np.shape(label)
        if len(shape) != 2 or shape[0] != self._games or not 0 < shape[1] <= x.shape[1]:
            raise self._refuse(
                "predict_many returns the labels of the first of the queries, of one or more",
                expected=f"an array of shape ({self._games}, 1 to {x.shape[1]})",
                got=f"shape {shape}",
            )
        return self._check_labels(label, shape, labels, halted)

    def _check_labels(
        self, label: Any, shape: tuple[int, ...], labels: LabelRange, halted: np.ndarray | slice
    ) -> np.ndarray:
        if not isinstance(label, np.ndarray) or label.shape != shape:
            raise self._refuse(
                "predict returns one label a game",
                expected=f"an array of shape {shape}",
                got=_describe(label),
            )
        plain = np.asarray(label)
        if plain.dtype == np.bool_:
            return plain
        if plain.dtype.kind not in "iu":
            raise self._refuse("labels are bool or integers", got=plain.dtype.name)
        if plain.size and (plain.min() < 0 or plain.max() > labels.highest):
            wrong = (plain < 0) | (plain > labels.highest)
            wrong[halted] = False
            if wrong.any():
                raise self._refuse(
                    f"labels are {labels.text}",
                    games=np.flatnonzero(wrong.reshape(self._games, -1).any(axis=1)),
                    got=np.unique(plain[wrong])[:5].tolist(),
                )
        return plain

    def read_halted(self, before: np.ndarray) -> np.ndarray:
        """(n,) bool, a copy: the games in which the learner has halted. before: those that had already."""
        halted = self.guard(lambda: self._state.halted)
        if not isinstance(halted, np.ndarray) or halted.shape != (self._games,) or halted.dtype != np.bool_:
            raise self._refuse(
                "halted is a bool array with one entry a game",
                expected=f"shape ({self._games},), bool",
                got=f"shape {halted.shape}, {halted.dtype}"
                if isinstance(halted, np.ndarray)
                else type(halted).__name__,
            )
        halted = own_copy(halted)
        woken = before & ~halted
        if woken.any():
            raise self._refuse("a halted learner stays halted", games=np.flatnonzero(woken))
        return halted

    # --- training runs --------------------------------------------------------------------------------------

    def count_steps(self) -> int:
        """The number of steps of the whole run."""
        steps = self.guard(lambda: self._state.steps)
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
            raise self._refuse("steps is a whole number of at least 1", got=repr(steps))
        return int(steps)

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        """(n, P) float64, a copy: the models after so many steps."""
        models = self.call("advance", steps, canaries)
        if not isinstance(models, np.ndarray) or models.ndim != 2 or len(models) != self._games:
            raise self._refuse(
                "advance returns one model a game",
                expected=f"an array of shape ({self._games}, parameters)",
                got=_describe(models),
            )
        if models.dtype.kind != "f":
            raise self._refuse("models are floating-point numbers", got=models.dtype.name)
        return own_copy(models.astype(np.float64, copy=False))

    # --- hypotheses -----------------------------------------------------------------------------------------

    def hypothesis(self) -> Hypothesis:
        return self._check_hypothesis(self.call("hypothesis"))

    def _check_hypothesis(self, hypothesis: object) -> Hypothesis:
        if not isinstance(hypothesis, Hypothesis):
            raise self._refuse("a released hypothesis is a Hypothesis", got=type(hypothesis).__name__)
        if np.shape(hypothesis.concepts)[:1] != (self._games,):
            raise self._refuse(
                "a hypothesis holds one concept a game",
                expected=f"{self._games} concepts",
                got=f"shape {np.shape(hypothesis.concepts)}",
            )
        return Hypothesis(hypothesis.concept_class, own_copy(hypothesis.concepts))


def _describe(value: object) -> str:
    return f"shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__

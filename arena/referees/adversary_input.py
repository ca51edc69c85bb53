"""What the adversary hands over: points, labels and samples, copied and then checked.

Every value is read once, and only the copy is compared and passed on: of plain types, in memory that nobody
can write to. So neither a subclass nor a later change makes the learner receive anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arena.errors import ArenaError
from arena.moves import GradientCanary
from arena.points import own_copy, own_points
from arena.referees.position import Position
from arena.sample import Sample


class AdversaryInput:
    """Reads what the adversary's moves hold, for n games whose points have the learner's shape.

    Points are float64, without −0. Arrays that are given once for all games are broadcast without a copy,
    so axis 0 then has stride 0.

    Raises: ProtocolViolation by the adversary, from every method.
    """

    def __init__(self, games: int, point_shape: tuple[int, ...], position: Position) -> None:
        self._games = games
        self._point_shape = point_shape
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

    def read_samples(self, given: Sample | Sequence[Sample]) -> list[Sample]:
        """One sample for all games, or one for each game."""
        listed = [given] if isinstance(given, Sample) else list(given)
        if not all(isinstance(s, Sample) for s in listed):
            raise self._refuse("training sets are given as Sample", got=type(given).__name__)
        try:
            copies = {id(s): Sample.of(s) for s in {id(s): s for s in listed}.values()}
        except ArenaError as error:
            raise self._refuse(str(error)) from error
        samples = [copies[id(s)] for s in listed]
        if len(samples) not in (1, self._games):
            raise self._refuse(
                "training sets are given once for all games or once for each",
                expected=f"1 or {self._games}",
                got=len(samples),
            )
        for sample in samples:
            if sample.points.shape[1:] != self._point_shape:
                raise self._refuse(
                    "the points of a sample have the learner's shape",
                    expected=self._point_shape,
                    got=sample.points.shape[1:],
                )
        return samples

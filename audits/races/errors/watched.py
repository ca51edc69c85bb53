"""A look inside a predictor: its spec, wrapped so that every seat tells which hypotheses it answers with."""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import numpy as np

from arena import Claim, InvalidArgument, Learner, Training

TOLD = ("cuts", "round", "votes_in_a_row")  # what a seat tells, beyond what Figure 1 asks for


class Listener(Protocol):
    """What hears of the answers of a seat, which stands open to it."""

    def answered(self, state: Any, x: np.ndarray, labels: np.ndarray, silent: np.ndarray) -> None:
        """The seat has answered queries x (n, j, ...) with labels (n, j), but for games that had halted
        before the first of them, silent (n,). Its `cuts`, `round` and votes are those of these answers.
        """


@attrs.frozen
class Watched(Learner):
    """The spec of another learner, to be played in its place: the same seat, coins and answers."""

    protocols = ("Figure1",)

    learner: Learner
    listener: Listener

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.learner.name

    @property
    def concepts(self) -> Any:
        return getattr(self.learner, "concepts", None)

    @property
    def claim(self) -> Claim:
        return self.learner.claim

    @property
    def sample_size(self) -> int | None:
        return self.learner.sample_size

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.learner.point_shape

    def start(self, games: int, rng: np.random.Generator) -> WatchedState:
        """Raises: InvalidArgument if the learner's seat does not tell its hypotheses."""
        state = self.learner.start(games, rng)
        # A class's own attributes: of a seat that has not been trained, properties may not be asked yet.
        lacking = [name for name in TOLD if not hasattr(type(state), name)]
        if lacking:
            raise InvalidArgument(
                f"{self.learner.name} does not tell its hypotheses",
                remedy=f"Its seat needs {' and '.join(lacking)}, as GenericBBL's has.",
            )
        return WatchedState(state, self.listener)


class WatchedState:
    """A seat and who listens to it. Whatever else it is asked for, it passes on."""

    def __init__(self, state: Any, listener: Listener) -> None:
        self._state = state
        self._listener = listener

    def predict(self, x: np.ndarray) -> np.ndarray:
        silent = self._state.halted.copy()
        labels = np.asarray(self._state.predict(x))
        self._listener.answered(self._state, x[:, None], labels[:, None], silent)
        return labels

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        if not hasattr(self._state, "predict_many"):
            return self.predict(x[:, 0])[:, None]
        silent = self._state.halted.copy()
        labels = np.asarray(self._state.predict_many(x))
        self._listener.answered(self._state, x[:, : labels.shape[1]], labels, silent)
        return labels

    def train(self, training: Training) -> None:
        self._state.train(training)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while it is copied or unpickled there is no seat yet
            raise AttributeError(name)
        return getattr(self._state, name)

"""A predictor that plays as usual while an observer sees the hypotheses behind its answers."""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import numpy as np

from arena import Claim, InvalidArgument, Learner, Training

_NEEDED = ("cuts", "round", "votes_in_a_row")  # attributes of a state, beyond what Figure 1 asks for


class AnswerObserver(Protocol):
    """Sees the answers of a running learner, and its state."""

    def observe(self, state: Any, x: np.ndarray, labels: np.ndarray, halted: np.ndarray) -> None:
        """The learner has just answered queries x (n, j, ...) with labels (n, j).

        halted: (n,), the games that had halted before the first of these queries. The attributes `cuts` and
        `round` of the state are those of these answers.
        """


@attrs.frozen
class ObservedLearner(Learner):
    """Wraps a learner so that an observer sees its answers. Random numbers and answers stay the same."""

    protocols = ("Figure1",)

    learner: Learner
    observer: AnswerObserver

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

    def start(self, games: int, rng: np.random.Generator) -> ObservedState:
        """Raises: InvalidArgument if the learner's state does not expose its hypotheses."""
        state = self.learner.start(games, rng)
        # Ask the class: properties of a state that has not been trained may not be evaluated yet.
        missing = [name for name in _NEEDED if not hasattr(type(state), name)]
        if missing:
            raise InvalidArgument(
                f"{self.learner.name} does not expose its hypotheses",
                remedy=f"Its state needs {' and '.join(missing)}, as the state of GenericBBL has.",
            )
        return ObservedState(state, self.observer)


class ObservedState:
    """A learner's state and its observer. All other attributes are those of the state."""

    def __init__(self, state: Any, observer: AnswerObserver) -> None:
        self._state = state
        self._observer = observer

    def predict(self, x: np.ndarray) -> np.ndarray:
        halted = self._state.halted.copy()
        labels = np.asarray(self._state.predict(x))
        self._observer.observe(self._state, x[:, None], labels[:, None], halted)
        return labels

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        if not hasattr(self._state, "predict_many"):
            return self.predict(x[:, 0])[:, None]
        halted = self._state.halted.copy()
        labels = np.asarray(self._state.predict_many(x))
        self._observer.observe(self._state, x[:, : labels.shape[1]], labels, halted)
        return labels

    def train(self, training: Training) -> None:
        self._state.train(training)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy or an unpickled object has no state yet
            raise AttributeError(name)
        return getattr(self._state, name)

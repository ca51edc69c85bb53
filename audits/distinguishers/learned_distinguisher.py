"""Distinguishers that are learned from the games of earlier blocks.

Validity: docs/proofs/learned_distinguisher.md.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from audits.distinguishers.view_features import ViewCounts
from audits.statistics.score_pairs import PairCounts, distinct

MAX_TRAINING_PAIRS = 65_536  # more would cost time and memory and hardly improve a distinguisher
_MAX_COUNTED_VIEWS = 1_024  # distinct views up to which their frequencies are used
_MIN_LEAF = 64  # games in a leaf of a tree

Distinguisher = Callable[[ViewCounts], np.ndarray]


class DistinguisherTraining:
    """Turns blocks of views into blocks of scores, and learns from each block after it was scored.

    Blocks of even index train the distinguisher. Blocks of odd index are scored by each new distinguisher, so
    that events and stakes are chosen from scores that it was not fitted to.

    pairs: training ends with about so many pairs, or with `MAX_TRAINING_PAIRS`. done: whether it has ended.
    """

    def __init__(self, *, pairs: int) -> None:
        self._pairs = min(pairs, MAX_TRAINING_PAIRS)
        self._blocks: list[ViewCounts] = []
        self._learned_from = 0
        self.done = False
        self.distinguisher: Distinguisher | None = None

    def score(self, block: ViewCounts) -> PairCounts | None:
        """The block's scores by the distinguisher learned from earlier blocks; None if there is none yet."""
        return None if self.distinguisher is None else block.count_scores(self.distinguisher(block))

    def learn(self, block: ViewCounts) -> list[PairCounts] | None:
        """Add a block; return a new distinguisher's scores of the blocks it was not trained on, if any."""
        if self.done:
            return None
        self._blocks.append(block)
        pairs = sum(block.pairs for block in self._blocks)
        due = pairs >= min(2 * self._learned_from, self._pairs)
        if len(self._blocks) < 2 or not due:
            return None
        self._learned_from = pairs
        self.distinguisher = learn_distinguisher(self._blocks[::2])
        scores = [block.count_scores(self.distinguisher(block)) for block in self._blocks[1::2]]
        if pairs >= self._pairs:
            self.done, self._blocks = True, []
        return scores


def learn_distinguisher(blocks: Sequence[ViewCounts]) -> Distinguisher:
    """Learn frequencies from blocks of few distinct views, otherwise boosted trees (scikit-learn).

    Raises: InvalidArgument if there are many distinct views and scikit-learn is missing.
    """
    names = tuple(dict.fromkeys(name for block in blocks for name in block.names))
    rows, place = distinct(np.concatenate([block.columns(names) for block in blocks]))
    times = np.zeros((len(rows), 2), np.int64)
    np.add.at(times, place, np.concatenate([block.by_world() for block in blocks]))
    if len(rows) <= _MAX_COUNTED_VIEWS:
        return ViewFrequencies(names, rows, np.log((times[:, 1] + 0.5) / (times[:, 0] + 0.5)))
    return _boost_trees(names, rows, times)


@attrs.frozen(eq=False)
class ViewFrequencies:
    """Scores a view by the log ratio of its frequencies in world 1 and world 0; 0 if it did not occur.

    Shapes: rows (m, F), scores (m,).
    """

    names: tuple[str, ...]
    rows: np.ndarray
    scores: np.ndarray

    def __call__(self, views: ViewCounts) -> np.ndarray:
        both, place = distinct(np.concatenate([self.rows, views.columns(self.names)]))
        scores = np.zeros(len(both))
        scores[place[: len(self.rows)]] = self.scores
        return np.asarray(scores[place[len(self.rows) :]])


@attrs.frozen(eq=False)
class BoostedTrees:
    """Scores a view by the log odds of world 1 under a classifier."""

    names: tuple[str, ...]
    classifier: Any

    def __call__(self, views: ViewCounts) -> np.ndarray:
        return np.asarray(self.classifier.decision_function(views.columns(self.names)))


def _boost_trees(names: tuple[str, ...], rows: np.ndarray, times: np.ndarray) -> BoostedTrees:
    if importlib.util.find_spec("sklearn") is None:
        raise InvalidArgument(
            "learning a distinguisher from so many different views needs scikit-learn",
            value=len(rows),
            remedy="Run pip install dp-arena[learning], or let the adversary return a score.",
        )
    from sklearn.ensemble import HistGradientBoostingClassifier  # an extra, and slow to import

    classifier = HistGradientBoostingClassifier(
        max_iter=80, max_leaf_nodes=15, min_samples_leaf=_MIN_LEAF, early_stopping=False, random_state=0
    )
    worlds = np.repeat([0, 1], len(rows))
    weights = times.T.ravel()
    occurs = weights > 0
    classifier.fit(np.concatenate([rows, rows])[occurs], worlds[occurs], sample_weight=weights[occurs])
    return BoostedTrees(names, classifier)

"""A distinguisher learned from games: a score that tells the worlds apart better the more blocks it has seen.

Validity asks one thing of a distinguisher, that it come from *earlier* blocks. So a block is scored by what was
learned before it and learned from afterwards. Blocks of even place teach the distinguisher; those of odd place are
scored by it, to choose events and stakes from scores that it has not fitted.
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

MAX_TRAINING_PAIRS = 65_536  # pairs; more would cost time and memory and hardly sharpen a distinguisher
_MOST_ROWS = 1_024  # distinct views up to which they are counted one by one
_FEWEST_A_LEAF = 64

Distinguisher = Callable[[ViewCounts], np.ndarray]


class DistinguisherTraining:
    """Turns blocks of views into blocks of scores.

    pairs: it learns from about so many pairs, and then keeps the distinguisher that it has.
    """

    def __init__(self, *, pairs: int) -> None:
        self._most = min(pairs, MAX_TRAINING_PAIRS)
        self._seen: list[ViewCounts] = []
        self._learned_from = 0
        self._done = False
        self.distinguisher: Distinguisher | None = None

    @property
    def done(self) -> bool:
        """Whether the distinguisher is final."""
        return self._done

    def score(self, block: ViewCounts) -> PairCounts | None:
        """The block's scores by what was learned from the blocks before it; None before there is anything."""
        return None if self.distinguisher is None else block.count_scores(self.distinguisher(block))

    def learn(self, block: ViewCounts) -> list[PairCounts] | None:
        """Take in a block. If the distinguisher changes, the scores that the new one gives to seen blocks which it
        did not learn from; else None."""
        if self._done:
            return None
        self._seen.append(block)
        pairs = sum(one.pairs for one in self._seen)
        due = pairs >= min(2 * self._learned_from, self._most)
        if len(self._seen) < 2 or not due:
            return None
        self._learned_from = pairs
        self.distinguisher = learn(self._seen[::2])
        scores = [one.count_scores(self.distinguisher(one)) for one in self._seen[1::2]]
        if pairs >= self._most:
            self._done, self._seen = True, []
        return scores


def learn(blocks: Sequence[ViewCounts]) -> Distinguisher:
    """A distinguisher from blocks of views: where few views occur, how often each did in either world; otherwise
    boosted trees (scikit-learn) on their features.

    Raises: InvalidArgument if there are many views and scikit-learn is missing.
    """
    names = tuple(dict.fromkeys(name for block in blocks for name in block.names))
    rows, place = distinct(np.concatenate([block.columns(names) for block in blocks]))
    seen = np.zeros((len(rows), 2), np.int64)
    np.add.at(seen, place, np.concatenate([block.by_world() for block in blocks]))
    if len(rows) <= _MOST_ROWS:
        return ViewFrequencies(names, rows, np.log((seen[:, 1] + 0.5) / (seen[:, 0] + 0.5)))
    return _boosted(names, rows, seen)


@attrs.frozen(eq=False)
class ViewFrequencies:
    """Scores a view by the log ratio of how often it was seen in world 1 and in world 0; 0 if it was not.

    Shapes: rows (m, F), scores (m,).
    """

    names: tuple[str, ...]
    rows: np.ndarray
    scores: np.ndarray

    def __call__(self, views: ViewCounts) -> np.ndarray:
        asked = views.columns(self.names)
        both, place = distinct(np.concatenate([self.rows, asked]))
        scores = np.zeros(len(both))
        scores[place[: len(self.rows)]] = self.scores
        return np.asarray(scores[place[len(self.rows) :]])


@attrs.frozen(eq=False)
class BoostedTrees:
    """Scores a view by the log odds that a classifier gives to world 1."""

    names: tuple[str, ...]
    classifier: Any

    def __call__(self, views: ViewCounts) -> np.ndarray:
        return np.asarray(self.classifier.decision_function(views.columns(self.names)))


def _boosted(names: tuple[str, ...], rows: np.ndarray, seen: np.ndarray) -> BoostedTrees:
    if importlib.util.find_spec("sklearn") is None:
        raise InvalidArgument(
            "a distinguisher for so many different views needs scikit-learn",
            value=len(rows),
            remedy="Run pip install dp-arena[learning], or let the adversary return a score.",
        )
    from sklearn.ensemble import HistGradientBoostingClassifier  # an extra, and slow to import

    classifier = HistGradientBoostingClassifier(
        max_iter=80, max_leaf_nodes=15, min_samples_leaf=_FEWEST_A_LEAF, early_stopping=False, random_state=0
    )
    worlds = np.repeat([0, 1], len(rows))
    times = seen.T.ravel()
    told = times > 0
    classifier.fit(np.concatenate([rows, rows])[told], worlds[told], sample_weight=times[told])
    return BoostedTrees(names, classifier)

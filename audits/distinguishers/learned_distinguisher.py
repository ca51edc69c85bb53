"""Distinguishers that are learned from the games of earlier blocks.

Several kinds compete on games that none of them was trained on, and are fitted again as games grow.
Validity: docs/proofs/learned_distinguisher.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from arena.released.encoding import name_suffix
from audits.distinguishers.few_games import learn_from_few
from audits.distinguishers.marginal_ratios import Entries, MarginalCounts, QuadrantEvents, bound_log_ratios
from audits.distinguishers.pattern_ratios import PatternRatios
from audits.distinguishers.summaries import Summary
from audits.distinguishers.view_classifiers import (
    BoostedTrees,
    Distinguisher,
    LinearTerms,
    MarginalTerms,
    Regression,
    SmoothTerms,
    SummaryTerms,
    ViewFrequencies,
    has_sklearn,
    regress_on_bins,
)
from audits.distinguishers.view_features import (
    ViewCounts,
    follows_a_number,
    is_released,
    is_single,
    join_views,
)
from audits.statistics.score_pairs import Events, PairCounts

_HELD_OUT = 4  # one game in four is not trained on: events, stakes and the kind are chosen by these games
# The oldest held-out blocks are dropped beyond so many pairs if they also hold more than so many numbers.
_MAX_HELD_OUT_PAIRS, _MAX_HELD_OUT_CELLS = 65_536, 2**23
_MOST_PAIRS = 2**20  # of training: more hardly make a distinguisher better, and none is bet on
_MAX_CELLS = 2**24  # numbers in the views kept for training, 128 MB; beyond, every second pair is kept
_FEW_PAIRS = 128  # up to which a distinguisher is learned from all games so far, again and again
_MORE = 1.2  # times the games that it was learned from, as often as bets are chosen
_PILOT_PAIRS = 4_096  # from which on the bins of entries stay as they are, and every pair is counted in them
_MAX_COUNTED_VIEWS = 65_536  # distinct views up to which their frequencies are used
_FEW_VIEWS = 64  # distinct views up to which nothing but their frequencies is used
_TIE = 0.05  # of the largest bound, by which a simpler kind may fall short: chance decides as much
# Kinds that take long to fit are tried from so many pairs on, then at `_COSTLY_FACTOR` times as many, and at
# the end. They are fitted to about `_TRIAL_PAIRS` pairs first, and given up if their bound is less than the
# share `_PROMISING` of that of the best other kind, fitted to the same pairs.
_COSTLY = {"quadrants": 32_768, "trees": _MOST_PAIRS}
_COSTLY_FACTOR, _TRIAL_PAIRS, _PROMISING = 4, 32_768, 0.9
_MAX_BINS = 256  # of all entries, up to which they are fitted together
_STANDARD_ERRORS = 3.0  # by which a bound is below its estimate
_BETTER = 0.05  # of its bound, by which a distinguisher must be better to replace another: bets start again
_FEW_TO_FIT = 1_024  # distinct views up to which only frequencies and bins are learned
_LEAF = 0.01  # share of the games in a leaf of trees that compete, at least
_THRESHOLDS = 64  # of the events by which kinds are compared


class DistinguisherTraining:
    """Turns blocks of views into blocks of scores, and learns from each block after it was scored.

    Three blocks in four train it. The others are scored by each new distinguisher, so that its kind, events
    and stakes are chosen from scores that it was not fitted to. It is learned anew when games have doubled,
    and replaced if the new one is better.

    Where games are few, none are held out: after nearly every block it is learned from all games so far, and
    bets are chosen from the scores that earlier distinguishers gave to blocks that they had not seen.

    pairs: the number of pairs with which training ends, about, and at most 2²⁰.
    delta: δ of the claim.

    Attributes:
    done: whether training has ended.
    final: the distinguisher then, None before; where games are few, bets go on to use better ones.
    """

    def __init__(self, *, pairs: int, delta: float = 0.0) -> None:
        self._pairs, self._delta = min(pairs, _MOST_PAIRS), delta
        self._games = TrainingGames()
        self._next_trials: dict[str, float] = dict(_COSTLY)  # pairs at which they are tried again
        self._held_out: list[ViewCounts] = []
        self._seen = self._held_out_pairs = self._learned_from = 0
        self._few: list[ViewCounts] = []  # all blocks, while they are few
        self._few_learned_from = 0
        self.distinguisher: Distinguisher | None = None
        self.final: Distinguisher | None = None
        self.done = False

    def score(self, block: ViewCounts) -> PairCounts | None:
        """The block's scores by the distinguisher learned from earlier blocks; None if there is none yet."""
        return None if self.distinguisher is None else block.count_scores(self.distinguisher(block))

    def score_finally(self, block: ViewCounts) -> PairCounts | None:
        """The block's scores by the final distinguisher; None before training has ended."""
        return None if self.final is None else block.count_scores(self.final(block))

    def score_few(self) -> list[PairCounts] | None:
        """The scores of all blocks so far by the present distinguisher, which has learned from them; None if
        they are more than a few."""
        if not self._few or self.distinguisher is None:
            return None
        return [block.count_scores(self.distinguisher(block)) for block in self._few]

    def learn(self, block: ViewCounts) -> list[PairCounts] | None:
        """Add a block; return a new distinguisher's scores of the blocks it was not trained on, if any."""
        if self._learns_from_few(block):
            return None
        if self.done:
            return None
        self._add(block)
        due = 2 * self._learned_from
        if not self._held_out or self._seen < (due if 3 * due <= 2 * self._pairs else self._pairs):
            return None
        self._learned_from = self._seen
        self.done = self._seen >= self._pairs
        learned = self._choose()
        if self.done:
            self._games = TrainingGames()
            self.final = self.distinguisher if learned is None else learned
        if learned is None:
            return None
        self.distinguisher, self._few, blocks = learned, [], self._held_out
        return [block.count_scores(learned(block)) for block in blocks]

    def _learns_from_few(self, block: ViewCounts) -> bool:
        """Add a block, and learn from all so far, if they are few, or if training has ended when they were.
        Returns whether they are."""
        is_short = self._pairs < _FEW_PAIRS
        if not is_short and self._seen + block.pairs >= _FEW_PAIRS:
            return False
        self._few.append(block)
        if is_short:
            self._seen += block.pairs
        else:
            self._add(block)
        if self._seen >= _MORE * self._few_learned_from:
            self.distinguisher = learn_from_few(join_views(self._few))
            self._few_learned_from = self._seen
        if is_short and not self.done and self._seen >= self._pairs:
            self.done, self.final = True, self.distinguisher
        return True

    def _add(self, block: ViewCounts) -> None:
        """Hold a block out, or train on it."""
        if self._held_out_pairs * _HELD_OUT < self._seen:  # which are kept depends on their sizes alone
            self._held_out_pairs += block.pairs
            self._held_out.append(block)
            while (
                sum(kept.pairs for kept in self._held_out[1:]) >= _MAX_HELD_OUT_PAIRS
                and sum(kept.rows.size for kept in self._held_out) > _MAX_HELD_OUT_CELLS
            ):
                self._held_out.pop(0)
        else:
            self._games.add(block)
        self._seen += block.pairs

    def _choose(self) -> Distinguisher | None:
        """The simplest distinguisher with about the largest bound on held-out games; None if it is not better
        than the last one."""
        views, marginals = self._games.join()
        checked = join_views(self._list_recent())

        def bound(distinguisher: Distinguisher) -> float:
            return _bound_epsilon(checked.count_scores(distinguisher(checked)), self._delta)

        kinds = dict(_list_kinds(views, marginals))
        if self._few:
            kinds["few games"] = learn_from_few
        learned = {name: fit(views) for name, fit in kinds.items()}
        bounds = {name: bound(distinguisher) for name, distinguisher in learned.items()}
        trials = self._list_trials()
        if trials:
            few = views.thin(max(1, views.pairs // _TRIAL_PAIRS))
            rival = bound(kinds[max(bounds, key=bounds.__getitem__)](few))
        for kind in trials:
            fits = dict(_list_costly_kinds(kind, few, marginals))
            tried = {name: fit(few) for name, fit in fits.items()}
            promise = {name: bound(distinguisher) for name, distinguisher in tried.items()}
            best = max(promise, key=promise.__getitem__, default="")
            if best and promise[best] >= _PROMISING * rival:
                learned[best] = tried[best] if few is views else fits[best](views)
                bounds[best] = bound(learned[best])
            else:
                self._next_trials[kind] = math.inf
        largest = max(bounds.values())
        # One that has learned from a few games has learned from those that are held out, too.
        before = 0.0 if self.distinguisher is None or self._few else bound(self.distinguisher)
        if before > 0 and largest < (1 if self.done else 1 + _BETTER) * before:
            return None
        enough = largest - _TIE * abs(largest)
        return learned[next(name for name, of_kind in bounds.items() if of_kind >= enough)]

    def _list_trials(self) -> list[str]:
        """The kinds that take long to fit and are tried now."""
        due = [
            kind
            for kind, at in self._next_trials.items()
            if self._seen >= at or (self.done and at < math.inf)
        ]
        self._next_trials |= dict.fromkeys(due, _COSTLY_FACTOR * self._seen)
        return due

    def _list_recent(self) -> list[ViewCounts]:
        """The latest blocks that are held out, enough to compare kinds."""
        pairs = np.cumsum([block.pairs for block in reversed(self._held_out)])
        return self._held_out[-1 - int(np.searchsorted(pairs, _MAX_HELD_OUT_PAIRS)) :]


def learn_distinguisher(blocks: Sequence[ViewCounts]) -> Distinguisher:
    """Learn frequencies from blocks of few distinct views, otherwise boosted trees; without a competition.
    Raises: InvalidArgument if there are many distinct views and scikit-learn is missing."""
    views = join_views(blocks)
    if len(views.rows) <= _FEW_TO_FIT:
        return ViewFrequencies.fit(views)
    additive = MarginalCounts.of(Entries(views.names, False), views).ratios(1)
    return BoostedTrees.fit(views, additive)


def list_replies(views: ViewCounts) -> tuple[str, ...]:
    """The features that each say one thing of many: single replies, or the texts of a release."""
    own = [name for name in views.names if is_single(name)]
    return tuple(own or (name for name in views.names if is_released(name) and name_suffix(name) == " text"))


def learn_reply_ratios(views: ViewCounts) -> Distinguisher:
    """The sum of the log ratios of `list_replies`, for few games of many different views."""
    return MarginalCounts.of(Entries(list_replies(views), False), views).ratios(1)


def learn_entry_ratios(views: ViewCounts) -> Distinguisher:
    """The sum of the log ratios of all entries, or of their absence, as if they were independent."""
    return MarginalCounts.of(Entries(views.names, False), views).ratios(1)


def regress_on_entry_ratios(views: ViewCounts) -> Distinguisher:
    """A regression on the log ratios of all entries and, of vectors, of their differences."""
    kinds = (False, True) if follows_a_number(views.names) else (False,)
    ratios = tuple(MarginalCounts.of(Entries(views.names, kind), views).ratios(1) for kind in kinds)
    terms = MarginalTerms(ratios)
    return Regression.fit(views, terms, terms.width) if terms.width else ratios[0]


class TrainingGames:
    """The games that a distinguisher is trained on: some of the views, and counts of the bins of all."""

    def __init__(self) -> None:
        self._blocks: list[ViewCounts] = []
        self._stride = 1
        self._marginals: list[MarginalCounts] | None = None

    def add(self, block: ViewCounts) -> None:
        for marginals in self._marginals or ():
            marginals.add(block)
        self._blocks.append(block.thin(self._stride))
        while sum(kept.rows.size for kept in self._blocks) > _MAX_CELLS:
            self._stride *= 2
            self._blocks = [kept.thin(2) for kept in self._blocks]

    def join(self) -> tuple[ViewCounts, list[MarginalCounts]]:
        """The views that are kept, as one block, and the counts of bins: of the features, then, if there is a
        vector, of its differences."""
        views = join_views(self._blocks)
        self._blocks = [views]
        if self._marginals is not None:
            return views, self._marginals
        kinds = (False, True) if follows_a_number(views.names) else (False,)
        found = [MarginalCounts.of(Entries(views.names, differences), views) for differences in kinds]
        if views.pairs >= _PILOT_PAIRS:
            self._marginals = found
        return views, found


_Fit = Callable[[ViewCounts], Distinguisher]


def _list_kinds(views: ViewCounts, marginals: list[MarginalCounts]) -> Iterator[tuple[str, _Fit]]:
    """The kinds that are quickly learned from these games, by name, the simplest first."""
    repeats = len(views.rows) <= views.pairs
    if len(views.rows) <= (_MAX_COUNTED_VIEWS if repeats else _FEW_TO_FIT):
        yield "frequencies", ViewFrequencies.fit
    if repeats and len(views.rows) <= _FEW_VIEWS:
        return
    fits_more = len(views.rows) > _FEW_TO_FIT  # fewer show little that their frequencies do not
    if fits_more:
        summary = SummaryTerms.fit(views)
        if summary.width:
            yield "regression of summary", partial(Regression.fit, terms=summary, width=summary.width)
        terms = LinearTerms.fit(views)
        yield "linear regression", partial(Regression.fit, terms=terms, width=terms.width)
    for counts in marginals:
        for resolution in counts.resolutions:
            for pooled in (True, False) if len(views.names) > 1 else (False,):
                name = f"marginals {counts.entries.differences} {resolution} {pooled}"
                yield name, partial(_read_ratios, counts, resolution, pooled)
    if not fits_more:
        return
    smooth = SmoothTerms.fit(views)
    if smooth.width > len(smooth.parts):  # otherwise the features have two values each
        if len(views.names) > 1:
            yield "patterns", PatternRatios.fit
            yield "smooth patterns", partial(PatternRatios.fit, smooth=True)
        yield "smooth regression", partial(Regression.fit, terms=smooth, width=smooth.width)
    else:
        marginals = marginals[1:]
    for counts in marginals:
        for resolution in counts.resolutions:
            if counts.width(resolution) <= _MAX_BINS:
                name = f"regression of bins {counts.entries.differences} {resolution}"
                yield name, partial(regress_on_bins, marginals=counts, resolution=resolution)
    if len(marginals) > 1:
        shared = MarginalTerms(tuple(counts.ratios(1) for counts in marginals))
        if shared.width:
            yield "regression of marginals", partial(Regression.fit, terms=shared, width=shared.width)


def _read_ratios(counts: MarginalCounts, resolution: int, pooled: bool, views: ViewCounts) -> Distinguisher:
    """The log ratios of bins, whose games were counted before."""
    return counts.ratios(resolution, pooled=pooled)


def _list_costly_kinds(
    kind: str, views: ViewCounts, marginals: list[MarginalCounts]
) -> Iterator[tuple[str, _Fit]]:
    """The variants of a kind of `_COSTLY`, if these games and the packages that are installed allow it."""
    several = len(views.names) > 1
    if len(views.rows) <= _FEW_TO_FIT:
        return
    if kind == "quadrants" and several:
        yield kind, partial(QuadrantEvents.fit, additive=marginals[-1].ratios(1))
    if kind == "trees" and has_sklearn():
        fit = partial(BoostedTrees.fit, additive=marginals[0].ratios(1), leaf=_LEAF)
        if several:
            yield f"{kind} of summary", partial(fit, summary=Summary.fit(views))
        yield kind, fit


def _bound_epsilon(scores: PairCounts, delta: float) -> float:
    """About the ε (nats) that the best event of these scores certifies, to compare kinds."""
    pairs = scores.pairs
    values, place = np.unique(scores.scores, return_inverse=True)
    mass = np.bincount(place.ravel(), weights=np.repeat(scores.counts, 2))
    ranks = np.concatenate([0.5 ** np.arange(1, 24), np.arange(1, 2 * _THRESHOLDS, 2) / (2 * _THRESHOLDS)])
    below = np.cumsum(mass)
    cut = np.searchsorted(below, below[-1] * np.concatenate([ranks, 1 - ranks]))
    thresholds = np.unique(values[cut[(cut > 0) & (cut < len(values))]])
    if not len(thresholds):
        return 0.0
    counts = Events(thresholds).count(scores)
    bounds = bound_log_ratios(counts.world, counts.both, pairs=pairs, delta=delta, errors=_STANDARD_ERRORS)
    return float(bounds.max())

"""The classical bound: Clopper-Pearson limits for one event, chosen on games that are then set aside.

The first blocks choose an event and a direction; the other blocks only count. Let p be the chance of the
event in the world that should show it more often, q its chance in the other. Under (ε, δ)-DP p <= e^ε q +
δ, hence

    ε >= log((p - δ) / q).

Given the first blocks, the hits among n held-out pairs are binomial in each world. From k hits in the first
and m hits in the second world follow one-sided limits at level a/2 each,

    p_lower = Beta quantile of a/2 at (k, n - k + 1),        0 if k = 0,
    q_upper = Beta quantile of 1 - a/2 at (m + 1, n - m),    1 if m = n.

Both hold at once with probability at least 1 - a, whatever links the two games of a pair (a union bound),
and then log((p_lower - δ) / q_upper) is a lower bound on ε. Unlike `Betting`, it holds at one number of
games, fixed beforehand: whoever looks after every block and stops at a good moment spends the confidence
many times.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.errors import InvalidArgument
from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import EVERYTHING, Event, ScoreHistogram


@attrs.frozen
class HeldOutBound:
    """A bound, and what it rests on.

    epsilon_lower: in nats, at least 0. event: what was counted. world: where it should be the more frequent.
    pairs: held out. hits: pairs in the event, in world 0 and in world 1. p_lower: the limit for `world`.
    q_upper: the limit for the other world.
    """

    epsilon_lower: float
    event: Event
    world: int
    pairs: int
    hits: tuple[int, int]
    p_lower: float
    q_upper: float


class HeldOutEstimator:
    """A lower bound on ε from blocks of score pairs, at a number of games fixed beforehand.

    delta: of the claim, a probability.
    confidence: 1 - a, the probability at least that the bound does not exceed the truth.
    choose_pairs: the event is chosen on the first blocks, until they hold at least so many pairs: on whole
        blocks, and never on all of them if there is more than one.
    held_out_pairs: about how many pairs will follow, which tells how rare an event is worth choosing; None
        takes as many as chose. A wrong guess costs power, never validity.

    After the choice two counts are kept.
    """

    def __init__(
        self, *, delta: float, confidence: float, choose_pairs: int, held_out_pairs: int | None = None
    ) -> None:
        if not 0 <= delta <= 1:
            raise InvalidArgument("delta must be a probability", value=delta)
        if not 0 < confidence < 1:
            raise InvalidArgument("confidence must lie between 0 and 1", value=confidence)
        if choose_pairs < 1:
            raise InvalidArgument("choose_pairs must be at least 1", value=choose_pairs)
        if held_out_pairs is not None and held_out_pairs < 1:
            raise InvalidArgument("held_out_pairs must be at least 1", value=held_out_pairs)
        self._delta = delta
        self._level = (1.0 - confidence) / 2
        self._choose_pairs = choose_pairs
        self._held_out_pairs = held_out_pairs
        self._histogram = ScoreHistogram()
        self._last: PairCounts | None = None
        self._tally: _Tally | None = None

    def update(self, block: PairCounts) -> None:
        """Learn from a block, or count it."""
        if not block.pairs:
            return
        if self._tally is None and self._last is not None:
            self._histogram.add(self._last)
            if self._histogram.pairs >= self._choose_pairs:
                self._tally = self._choose()
                self._histogram = ScoreHistogram()
        if self._tally is None:
            # Held back: should no other block follow, this is the one that counts.
            self._last = block
        else:
            self._last = None
            self._tally = self._tally.add(block)

    @property
    def epsilon_lower(self) -> float | None:
        """The certified bound in nats, or None while fewer than two blocks have been seen."""
        bound = self.bound
        return None if bound is None else bound.epsilon_lower

    @property
    def bound(self) -> HeldOutBound | None:
        """The bound with its event and counts, or None while fewer than two blocks have been seen."""
        tally = self._tally
        if tally is None:
            if self._last is None or not self._histogram.pairs:
                return None
            tally = self._choose().add(self._last)
        lower, upper = clopper_pearson(np.array(tally.hits), tally.pairs, self._level)
        p_lower, q_upper = float(lower[tally.world]), float(upper[1 - tally.world])
        ratio = (p_lower - self._delta) / q_upper
        return HeldOutBound(
            epsilon_lower=math.log(max(ratio, 1.0)),
            event=tally.event,
            world=tally.world,
            pairs=tally.pairs,
            hits=tally.hits,
            p_lower=p_lower,
            q_upper=q_upper,
        )

    def _choose(self) -> _Tally:
        """The event and direction of the largest bound, if the rest is like the games so far."""
        pairs = self._held_out_pairs or self._histogram.pairs
        events, expected = self._histogram.expected_counts(pairs)
        if not len(events):
            return _Tally(EVERYTHING, 1)
        lower, upper = clopper_pearson(expected, pairs, self._level)
        ratio = (lower[::-1] - self._delta) / upper
        direction, index = np.unravel_index(ratio.argmax(), ratio.shape)
        return _Tally(events[int(index)], 1 - int(direction))


@attrs.frozen
class _Tally:
    """The held-out games so far, counted for one event."""

    event: Event
    world: int
    pairs: int = 0
    hits: tuple[int, int] = (0, 0)

    def add(self, block: PairCounts) -> _Tally:
        hits0, hits1 = self.event.hits(block)
        hits = (self.hits[0] + hits0, self.hits[1] + hits1)
        return attrs.evolve(self, pairs=self.pairs + block.pairs, hits=hits)

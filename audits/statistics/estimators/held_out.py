"""Classical bound on ε: Clopper–Pearson limits for one event, chosen on games that are then set aside.

Validity: docs/proofs/held_out_bound.md.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.settings import at_least, at_most, check_value, less_than, more_than
from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.estimates import (
    FIXED_SIZE,
    Estimate,
    Estimator,
    EstimatorContext,
    estimate_epsilon,
)
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import EVERYTHING, Event


@attrs.frozen
class HeldOutBound:
    """A bound, and the counts that it rests on.

    epsilon_lower: in nats, at least 0. event: the one counted. world: where it should occur more often.
    pairs: the number of held-out pairs. hits: held-out games in the event, in world 0 and in world 1.
    p_lower: the lower limit in `world`. q_upper: the upper limit in the other world.
    """

    epsilon_lower: float
    event: Event
    world: int
    pairs: int
    hits: tuple[int, int]
    p_lower: float
    q_upper: float


class HeldOutEstimator:
    """A lower confidence bound on ε from blocks of score pairs, at a number of games fixed beforehand.

    delta: δ of the claim. confidence: the probability, at least, that the bound does not exceed the true ε.
    choose_pairs: the event is chosen on the first blocks that hold at least so many pairs together, but not
        on all blocks if there is more than one.
    held_out_pairs: the expected number of pairs that follow; default: as many as chose the event. A wrong
        guess costs power, never validity.

    Raises: InvalidArgument.
    """

    def __init__(
        self, *, delta: float, confidence: float, choose_pairs: int, held_out_pairs: int | None = None
    ) -> None:
        check_value("delta", delta, at_least(0), at_most(1))
        check_value("confidence", confidence, more_than(0), less_than(1))
        check_value("choose_pairs", choose_pairs, at_least(1))
        if held_out_pairs is not None:
            check_value("held_out_pairs", held_out_pairs, at_least(1))
        self._delta = delta
        self._level = (1.0 - confidence) / 2
        self._choose_pairs = choose_pairs
        self._held_out_pairs = held_out_pairs
        self._histogram = ScoreHistogram()
        self._last: PairCounts | None = None
        self._tally: EventTally | None = None

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
            # Held back: if no other block follows, this one is counted.
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
        epsilon = math.log(max(ratio, 1.0))
        return HeldOutBound(epsilon, tally.event, tally.world, tally.pairs, tally.hits, p_lower, q_upper)

    def _choose(self) -> EventTally:
        """The event and direction with the largest bound, if future games resemble those so far."""
        pairs = self._held_out_pairs or self._histogram.pairs
        events, expected = self._histogram.predict_counts(pairs)
        if not len(events):
            return EventTally(EVERYTHING)
        lower, upper = clopper_pearson(expected, pairs, self._level)
        ratio = (lower[::-1] - self._delta) / upper
        direction, index = np.unravel_index(ratio.argmax(), ratio.shape)
        return EventTally(events[int(index)], 1 - int(direction))


class OneEvent(Estimator):
    """The bound of `HeldOutEstimator`, whose event is chosen on a fifth of the games of the audit."""

    def __init__(self, context: EstimatorContext) -> None:
        super().__init__(context)
        choose = max(1, context.games_planned // 5)
        self._estimator = HeldOutEstimator(
            delta=context.delta, confidence=context.confidence, choose_pairs=choose
        )

    def add(self, block: PairCounts) -> None:
        self._estimator.update(block)

    @property
    def epsilon_lower(self) -> float | None:
        """The certified ε in nats, if all games were seen and there were enough blocks."""
        return self._estimator.epsilon_lower if self.complete else None

    def rows(self) -> list[Estimate]:
        title = "held-out Clopper-Pearson"
        return [
            estimate_epsilon("one event", self.epsilon_lower, title=title, assumes=f"{FIXED_SIZE}; one event")
        ]


@attrs.frozen
class EventTally:
    """Counts of the held-out games in one event, which should occur more often in `world`."""

    event: Event
    world: int = 1
    pairs: int = 0
    hits: tuple[int, int] = (0, 0)

    def add(self, block: PairCounts) -> EventTally:
        hits0, hits1 = self.event.count(block)
        hits = (self.hits[0] + hits0, self.hits[1] + hits1)
        return attrs.evolve(self, pairs=self.pairs + block.pairs, hits=hits)

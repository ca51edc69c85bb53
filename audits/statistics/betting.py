"""The sequential test: gamblers who get rich only if the claim is false.

For each ε of a grid, three gamblers bet against

    H0(ε): for every event E,  P1(E) <= e^ε P0(E) + δ  and  P0(E) <= e^ε P1(E) + δ,

where Pb is the law of the score in world b. A pair of games with scores (v0, v1) multiplies the first one's
wealth by

    1 + λ (f(v1) - e^ε f(v0) - δ),        f the indicator of an event E, λ >= 0,

and the second one's by the same with the worlds exchanged and an event of its own. The third stakes on
both at once: with f for the first event and g for the second, by

    1 + λ (f(v1) - e^ε f(v0) - δ + g(v0) - e^ε g(v1) - δ).

Events and λ come from earlier blocks, and λ is so small that the factor stays positive. Under H0(ε), given
the earlier blocks, the first factor has mean

    1 + λ (P1(E) - e^ε P0(E) - δ) <= 1,

and so have the others, whatever links the two games of a pair. Pairs are independent given the earlier
blocks, so a block multiplies each wealth, and hence the average of the three, by at most 1 in the mean: the
average wealth after each block is a nonnegative supermartingale that starts at 1. By Ville's inequality

    P(it ever reaches 1/a) <= a        under H0(ε).

H0(ε) is rejected for good once it has. One may look after every block, and stop whenever one likes.

Why a grid costs nothing: the bound is the largest ε of the grid such that it *and every smaller ε of the
grid* are rejected. Let ε* be the smallest ε for which H0 holds; it then holds for every larger one too. A
bound above ε* is at least the first ε of the grid that is not below ε*. So that one null hypothesis, which
is true and was fixed before any game, must have been rejected, and this happens with probability at most a.
The same holds for a true claim that is refuted, so the bound and the verdict are right together.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator

import attrs
import numpy as np

from arena.errors import InvalidArgument
from audits.statistics.score_pairs import PairCounts, join_blocks
from audits.statistics.threshold_events import Events, ScoreHistogram

EPSILON_MAX = 20.0
_FINEST = 1e-3  # nats; from there the grid grows by a hundredth at a time, and from one nat on in hundredths
_NODE = 10
_BATCH = 16  # nodes at a time
_NEWTON = 20
_BISECTIONS = 25
_RAKINGS = 8
_LINKED = 32_768  # pairs kept to see how the games of a pair hang together
_MOST_BLOCKS = 16  # in which they are kept


class Betting:
    """An anytime-valid lower bound on ε from blocks of score pairs.

    delta: of the claim, a probability.
    confidence: 1 - a. With that probability at least, `epsilon_lower` never exceeds the truth and a true
        claim is never refuted, however many blocks follow.
    epsilon_claim: the ε under test, in nats; None only bounds.
    epsilon_max: where the grid of ε ends, in nats. n pairs certify at most about log(n / log(2/a)).

    Attributes: grid (G,), the ε in nats; threshold, the log wealth that rejects: log(1/a).

    The contract: given the earlier blocks, the pairs of a block are independent. Nothing is bet on the
    first block.
    """

    def __init__(
        self,
        *,
        delta: float,
        confidence: float,
        epsilon_claim: float | None = None,
        epsilon_max: float = EPSILON_MAX,
    ) -> None:
        if not 0 <= delta <= 1:
            raise InvalidArgument("delta must be a probability", value=delta)
        if not 0 < confidence < 1:
            raise InvalidArgument("confidence must lie between 0 and 1", value=confidence)
        if epsilon_claim is not None and not epsilon_claim >= 0:
            raise InvalidArgument("epsilon_claim must be at least 0 nats", value=epsilon_claim)
        if not 0 <= epsilon_max <= 100:
            raise InvalidArgument("epsilon_max must lie between 0 and 100 nats", value=epsilon_max)
        self.threshold = -math.log(1.0 - confidence)
        self.grid = _grid(epsilon_max)
        self._claim: int | None = None
        if epsilon_claim is not None:
            self.grid = np.union1d(self.grid, [epsilon_claim])
            self._claim = int(np.searchsorted(self.grid, epsilon_claim))
        self._returns = _returns(self.grid, delta)
        self._double = _double_returns(self.grid, delta)
        self._histogram = ScoreHistogram()
        self._recent: deque[PairCounts] = deque()
        self._bets: _Bets | None = None
        self._bets_from = 0
        self._log_wealth = np.zeros((3, len(self.grid)))
        self._peak = np.zeros(len(self.grid))

    def update(self, block: PairCounts) -> None:
        """Let the bets meet a block, and then learn from it."""
        if not block.pairs:
            return
        if self._bets is not None:
            self._log_wealth += self._bets.log_growth(block)
            np.maximum(self._peak, self.log_wealth, out=self._peak)
        self._remember(block)
        if self.pairs >= _next_choice(self._bets_from):
            self._choose()

    def start_again(self, blocks: Iterable[PairCounts]) -> None:
        """Go on with another distinguisher: forget all scores but those that it gives to `blocks`, seen before.

        The wealth stays what it is.
        """
        self._histogram = ScoreHistogram()
        self._recent.clear()
        for block in blocks:
            self._remember(block)
        self._choose()

    def _remember(self, block: PairCounts) -> None:
        self._histogram.add(block)
        self._recent.append(block)
        while len(self._recent) > 1 and sum(b.pairs for b in self._recent) - self._recent[0].pairs >= _LINKED:
            self._recent.popleft()
        if len(self._recent) == _MOST_BLOCKS:
            self._recent = deque([join_blocks(self._recent)])

    def _choose(self) -> None:
        # Where a null hypothesis has fallen there is nothing left to win.
        fallen = int(np.count_nonzero(self._evidence() >= self.threshold))
        self._bets = _choose(self._returns, self._double, self._histogram, self._recent, fallen)
        self._bets_from = self.pairs

    @property
    def pairs(self) -> int:
        """The number of pairs seen."""
        return self._histogram.pairs

    @property
    def log_wealth(self) -> np.ndarray:
        """The log of the average wealth (G,) against each ε of the grid, now: the log of an e-value."""
        most = self._log_wealth.max(axis=0)
        return np.asarray(most + np.log(np.exp(self._log_wealth - most).mean(axis=0)))

    @property
    def epsilon_lower(self) -> float:
        """The certified bound in nats: at this δ, every claim of a smaller ε is false."""
        rejected = int(np.count_nonzero(self._evidence() >= self.threshold))
        return float(self.grid[rejected - 1]) if rejected else 0.0

    @property
    def log_wealth_now(self) -> float:
        """The log wealth against the claim's ε, now. 0 without a claim."""
        return 0.0 if self._claim is None else float(self.log_wealth[self._claim])

    @property
    def log_evidence(self) -> float:
        """The evidence against the claim, in nats: at `threshold` the claim is refuted. 0 without a claim.

        The highest log wealth so far against the claim's ε or, if that is less, against a smaller ε of the
        grid.
        """
        return 0.0 if self._claim is None else float(self._evidence()[self._claim])

    @property
    def refuted(self) -> bool:
        """Whether the claim is certified to be false: its ε and every smaller ε of the grid are rejected."""
        return self._claim is not None and self.log_evidence >= self.threshold

    def _evidence(self) -> np.ndarray:
        return np.minimum.accumulate(self._peak)


def ceiling(
    block_sizes: Iterable[int],
    *,
    delta: float,
    confidence: float,
    epsilon_max: float = EPSILON_MAX,
) -> float:
    """The bound that `Betting` gives on perfectly separated scores in blocks of these sizes."""
    course = ceilings(block_sizes, delta=delta, confidence=confidence, epsilon_max=epsilon_max)
    return course[-1][1] if course else 0.0


def ceilings(
    block_sizes: Iterable[int],
    *,
    delta: float,
    confidence: float,
    epsilon_max: float = EPSILON_MAX,
    points: int = 0,
) -> list[tuple[int, float]]:
    """How the bound that `Betting` gives on perfectly separated scores grows: (pairs, bound in nats), after
    the blocks at which bets are chosen, `points` others evenly spaced, and the last.

    Found by running the procedure. While the bets stand, perfect separation multiplies a wealth by the same
    factor, at least 1, with every pair. So the blocks from one choice of bets to the next may be delivered as
    two, the recent ones apart since bets look at those, and choices are as few as the logarithm of the number
    of pairs. From running the blocks one by one only the rounding of a sum of logarithms differs and, where
    blocks are so small that `Betting` joins recent ones, how many of these it has kept; either may move the
    bound by one step of the grid where the wealth lands on the threshold.
    """
    betting = Betting(delta=delta, confidence=confidence, epsilon_max=epsilon_max)
    ends = np.cumsum(np.fromiter(block_sizes, dtype=np.int64))
    stops = np.cumsum(np.fromiter(_between_choices(ends), dtype=np.int64))
    parts = np.union1d(stops, _recent_begin(ends, stops))
    if len(ends):
        stops = np.union1d(stops, ends[np.linspace(0, len(ends) - 1, points).round().astype(int)])
    told, course = set(stops.tolist()), []
    for pairs in np.diff(np.union1d(stops, parts), prepend=0):
        betting.update(PairCounts(np.array([[0.0, 1.0]]), np.array([pairs])))
        if betting.pairs in told:
            course.append((betting.pairs, betting.epsilon_lower))
    return course


def _grid(epsilon_max: float) -> np.ndarray:
    """The ε of the grid, in nats: 0, then a hundredth apart, of one nat or, below that, of the ε itself."""
    below = np.geomspace(_FINEST, 1.0, round(-math.log(_FINEST) / math.log(1.01)) + 1)
    above = np.arange(100, round(epsilon_max * 100) + 1) / 100
    grid = np.unique(np.concatenate([[0.0], below, above]))
    return np.asarray(grid[grid <= epsilon_max])


def _next_choice(pairs: int) -> int:
    # A tenth more data hardly improves a bet, and with a geometric schedule all choices together cost little.
    return -(-11 * pairs // 10)


def _between_choices(ends: np.ndarray) -> Iterator[int]:
    """How many pairs come between choices of bets, where `ends` are the pairs seen after each block."""
    seen, total = 0, int(ends[-1]) if len(ends) else 0
    while seen < total:
        due = max(_next_choice(seen), seen + 1)
        end = int(ends[min(int(np.searchsorted(ends, due)), len(ends) - 1)])
        yield end - seen
        seen = end


def _recent_begin(ends: np.ndarray, choices: np.ndarray) -> np.ndarray:
    """Where the fewest blocks begin that end at each of `choices` and hold `_LINKED` pairs, or 0."""
    starts = np.concatenate([[0], ends])
    return starts[np.searchsorted(starts, np.maximum(choices - _LINKED, 0), side="right") - 1]


def _returns(epsilon: np.ndarray, delta: float) -> np.ndarray:
    """What a pair returns on a unit of stake, where the stake is x = λ (e^ε + δ): the factor is 1 + x r.

    By cell: only the game of the world that gains is in the event; only the other one; both; neither.
    Written with 1 / (e^ε + δ), which does not overflow.

    Shapes: epsilon (G,); result (4, G), of which only the first row is positive and the second is -1.
    """
    shrink = np.exp(-epsilon)
    unit = shrink / (1.0 + delta * shrink)
    return np.stack([(1.0 - delta) * unit, np.full_like(unit, -1.0), unit - 1.0, -delta * unit])


def _double_returns(epsilon: np.ndarray, delta: float) -> np.ndarray:
    """What a pair returns on a unit of stake on both directions, where the stake is x = 2 λ (e^ε + δ).

    By cell: the first event gains or loses in it, and so does the second, as `Events.cells` counts them.

    Shapes: epsilon (G,); result (16, G), at least -1.
    """
    shrink = np.exp(-epsilon)
    in_0, in_1 = np.divmod(np.arange(16), 4)
    gains = (in_1 & 1) + (in_0 >> 1)
    losses = (in_0 & 1) + (in_1 >> 1)
    return np.asarray(
        ((gains[:, None] - 2 * delta) * shrink - losses[:, None]) / (2.0 * (1.0 + delta * shrink))
    )


@attrs.frozen(eq=False)
class _Bets:
    """An event and a stake for either direction and every ε, and a stake on both at once.

    Shapes: event (2, G), indices into `events`; log_factors (4, 2, G), by cell; couples (C, 2), the distinct
    columns of `event` where both are staked on; couple (G,), which of them; log_double (16, G), by cell.
    """

    events: Events
    event: np.ndarray
    log_factors: np.ndarray
    couples: np.ndarray
    couple: np.ndarray
    log_double: np.ndarray

    def log_growth(self, block: PairCounts) -> np.ndarray:
        """What a block adds to the log wealth (3, G)."""
        hits = self.events.hits(block)
        played = np.take_along_axis(_cells(hits.world, hits.both, hits.pairs), self.event[None], axis=2)
        double = self.events.cells(block, self.couples)[self.couple].T
        return np.vstack([(played * self.log_factors).sum(axis=0), (double * self.log_double).sum(axis=0)])


def _choose(
    returns: np.ndarray,
    double: np.ndarray,
    histogram: ScoreHistogram,
    recent: Iterable[PairCounts],
    fallen: int,
) -> _Bets | None:
    """The bets that grow fastest if the rest is like the games so far, with half a game added to each count.

    The half game stands for what has not been seen: it keeps a bet from trusting that an event is
    impossible in one world, and no stake risks more than it. How the games of a pair hang together is seen
    in the recent blocks; where the rest is otherwise, bets are worse, and as valid. Events are compared at
    every `_NODE`-th ε and serve the ε up to the next, where they still pay; stakes are set at each ε, so
    that every bet is legal where it is used. The first `fallen` ε need no bets.
    """
    events, counts = histogram.events()
    if not len(events):
        return None
    pairs = histogram.pairs
    most = 1.0 - 0.5 / (pairs + 1)
    loss = (counts + 0.5) / (pairs + 1)
    cells = _cells(loss, _overlap(events, recent, loss))
    every = np.arange(returns.shape[1])
    start = min(fallen, every[-1]) // _NODE * _NODE
    chosen = []
    for nodes in _batches(start, len(every)):
        _, growth = _kelly(cells[:, :, None, :], returns[:, None, nodes, None], most)
        chosen.append(growth.argmax(axis=2))
        if not (growth[:, -1] > 0).any():  # and none will pay at a larger ε
            break
    best = np.concatenate(chosen, axis=1)
    event = best[:, np.clip((every - start) // _NODE, 0, best.shape[1] - 1)]
    stake, _ = _kelly(np.take_along_axis(cells, event[None], axis=2), returns[:, None, :], most)
    stake[:, :start] = 0.0
    # Where neither direction pays alone both together do not.
    couples, couple, staked = _list_couples(event, np.any(stake > 0, axis=0))
    chances = _double_cells(events, couples, counts, pairs, recent)
    log_double = np.zeros_like(double)
    odds = double[:, staked]
    log_double[:, staked] = np.log1p(_root(chances[couple[staked]].T, odds, most) * odds)
    return _Bets(
        events=events,
        event=event,
        log_factors=np.log1p(stake * returns[:, None, :]),
        couples=couples,
        couple=couple,
        log_double=log_double,
    )


def _list_couples(event: np.ndarray, pays: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of events (C, 2) where somebody pays, which of them each ε has (G,), and those ε."""
    staked = np.flatnonzero(pays)
    couple = np.zeros(event.shape[1], np.intp)
    couples, place = np.unique(event[:, staked].T, axis=0, return_inverse=True)
    couple[staked] = place.ravel()
    return (couples if len(couples) else event[:, :1].T), couple, staked


def _batches(start: int, end: int) -> Iterator[np.ndarray]:
    nodes = np.arange(start, end, _NODE)
    return iter(np.split(nodes, range(_BATCH, len(nodes), _BATCH)))


def _cells(loss: np.ndarray, both: np.ndarray, pairs: int = 1) -> np.ndarray:
    """(4, 2, K): how many pairs are in each cell of `_returns`, in both directions, from how many are in each
    event in the world that loses by it, (2, K), and in both worlds, (K,). Of one pair, the chances."""
    gain = loss[::-1]
    return np.stack([gain - both, loss - both, np.broadcast_to(both, loss.shape), pairs - gain - loss + both])


def _overlap(events: Events, recent: Iterable[PairCounts], chances: np.ndarray) -> np.ndarray:
    """(K,): how likely both games of a pair are in an event, given its chances (2, K) in each world.

    The share of the rarer one that meets the other, as the recent pairs have it; with one pair added in which
    the two are independent, so that nothing is taken for certain.
    """
    hits = [events.hits(block) for block in recent]
    each = np.sum([hit.world for hit in hits], axis=0).min(axis=0)
    both = np.sum([hit.both for hit in hits], axis=0)
    rare, common = chances.min(axis=0), chances.max(axis=0)
    # Two events of these chances overlap at least so much, however they hang together.
    least = np.maximum(rare + common - 1, 0.0)
    return np.asarray(np.maximum(rare * (both + common) / (each + 1), least + (rare - least) / (each + 2)))


def _double_cells(
    events: Events, couples: np.ndarray, counts: np.ndarray, pairs: int, recent: Iterable[PairCounts]
) -> np.ndarray:
    """(C, 16): how likely each cell of `Events.cells` is, for each couple of events.

    The recent pairs, and one in which the two games are independent, raked to what all games say of each
    world.

    Shapes: couples (C, 2); counts (2, K), of the events in each world.
    """
    margins = (events.kinds(couples, counts, pairs) + 0.5) / (pairs + 2)  # (2, C, 4)
    table = (margins[0][:, :, None] * margins[1][:, None, :]).copy()
    for block in recent:
        table += events.cells(block, couples).reshape(-1, 4, 4)
    for _ in range(_RAKINGS):
        table *= (margins[0] / table.sum(axis=2))[:, :, None]
        table *= (margins[1] / table.sum(axis=1))[:, None, :]
    return table.reshape(-1, 16)


def _root(chances: np.ndarray, returns: np.ndarray, most: float) -> np.ndarray:
    """The stake x in [0, most] that maximises sum_c p_c log(1 + x r_c), by bisection of its slope.

    Shapes: chances and returns (c, ...); result (...).
    """
    gains = chances * returns
    low = np.zeros(gains.shape[1:])
    high = np.full_like(low, most)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        rising = (gains / (1.0 + middle * returns)).sum(axis=0) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low


def _kelly(chances: np.ndarray, returns: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The stake x in [0, most] that maximises the growth sum_c p_c log(1 + x r_c), and that growth.

    With b the return of the gain and s_c = -r_c that of a loss, the maximum solves

        (1 + b x) sum_(losses c) p_c s_c / (1 - s_c x) = p_gain b.

    The left side increases and is convex, so Newton's method, started above the root, descends to it.

    Where no stake grows, the stake is 0 and the growth given is its slope there, so that the largest growth
    belongs to the event that is nearest to paying.

    Shapes: chances and returns (4, ...), broadcast against each other; results (...).
    """
    chances, returns = np.broadcast_arrays(chances, returns)
    growth = np.asarray((chances * returns).sum(axis=0))
    stake = np.zeros_like(growth)
    paying = growth > 0
    chance, odds = chances[:, paying], returns[:, paying]
    gain, gives, takes = chance[0], odds[0], -odds[1:]
    loses = chance[1:] * takes
    x = np.minimum(_above_root(gain, gives, loses, chance[1:]), most)
    for _ in range(_NEWTON):
        rest = 1.0 - takes * x
        terms = loses / rest
        total, stretch = terms.sum(axis=0), 1.0 + gives * x
        slope = gives * total + stretch * (terms * takes / rest).sum(axis=0)
        before, x = x, np.clip(x - (stretch * total - gain * gives) / slope, 0.0, most)
        if (before - x <= 1e-12).all():
            break
    stake[paying] = x
    growth[paying] = (chance * np.log1p(x * odds)).sum(axis=0)
    return stake, growth


def _above_root(gain: np.ndarray, gives: np.ndarray, loses: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """A stake above the maximum: the least of three, for the first loss, the first two, and all.

    Losses of total chance P and total p_c s_c = L weigh at least as much as one loss of L / P (convexity),
    and leaving some out makes the rest weigh less; a single loss has the root in closed form.
    """
    lost, total = np.cumsum(loses, axis=0), np.cumsum(chance, axis=0)
    return np.asarray(((gain * gives - lost) * total / (lost * gives * (gain + total))).min(axis=0))

"""golowich-livni: private online learning with a forest of sequences, and a reduction to adaptive games."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
from arena.littlestone import START
from arena.messages import Hypothesis
from arena.settings import at_least, check_value, count_setting, setting, whole
from learners.common.learner_bases import OnlineLearner, RoundBudget
from learners.mechanisms.accounting import Guarantee, best_composition, largest_affordable
from learners.mechanisms.counters import HistogramNoise, private_histogram
from learners.mechanisms.sparse_vector import AboveThreshold
from learners.online.conservative import AutomatonTables, power_of_two, tabulate

MOST_LEAVES = 2**27  # in all forests of a batch of games, three to five bytes each
_SLAB = 2**22  # leaves counted at a time


@attrs.frozen
class GolowichLivni(OnlineLearner):
    """Private online learner of Littlestone classes by a forest of sequences (Golowich and Livni 2021).

    Each example goes to the sequence at a random leaf of binary trees of depth d = Ldim(H), and extends it if
    the SOA errs; sibling sequences with different functions play a tournament, and one becomes the sequence
    of the parent. A function is shown while AboveThreshold reports that more than about `level` sequences
    have it; then the most frequent one of a private histogram is shown, at most `switches` times. With
    `reduction`, h_t is the last function of a fresh instance on all examples before round t, for adaptive
    adversaries.

    Privacy: (ε, δ)-DP against adaptive adversaries. Proofs and choices that the paper leaves open:
    docs/proofs/golowich_livni.md.
    """

    name = "golowich-livni"
    theorem = "Golowich and Livni (2021); sensitivity: docs/proofs/golowich_livni.md"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = count_setting(1_000, help="T, the largest number of rounds")
    epsilon: float = setting(1.0, unit="nats", help="ε of a game")
    delta: float = setting(1e-6, unit="probability", help="δ of a game")
    beta: float = setting(0.05, unit="probability", help="β of AboveThreshold: sets the default level")
    nodes: int = setting(2**10, help="leaves, a power of two", check=[whole, at_least(1), power_of_two])
    switches: int = count_setting(8, help="the largest number of times that it changes its hypothesis")
    level: float | None = setting(
        None, unit="nodes", help="least of a function; default: AboveThreshold's error", check=at_least(0)
    )
    reduction: bool = setting(False, help="a fresh instance each round, for adaptive adversaries")

    def _cost(self) -> Guarantee:
        cost = self.instance_cost
        return best_composition(self.rounds, *cost, slack=self.delta / 2) if self.reduction else cost

    @property
    def instance_cost(self) -> Guarantee:
        """The cost of one instance: `switches` times AboveThreshold and a histogram."""
        epsilon, delta = self.noise.guarantee
        return best_composition(self.switches, self.watch_epsilon + epsilon, delta, slack=self._delta / 2)

    @property
    def soa(self) -> AutomatonTables:
        """The SOA of H. Raises: Unsupported."""
        return tabulate(self.concepts)

    @property
    def watch_epsilon(self) -> float:
        """ε of AboveThreshold between two changes: half of the budget of a change, nats."""
        epsilon = self.epsilon
        if self.reduction:
            epsilon = _share(self.rounds, epsilon, slack=self.delta / 2)
        return _share(self.switches, epsilon, slack=self._delta / 2) / 2

    @property
    def noise(self) -> HistogramNoise:
        """The noise of a histogram, which has the other half of the budget of a change."""
        epsilon, delta, depth = self.watch_epsilon, self._delta / (2 * self.switches), self.soa.depth
        return HistogramNoise.calibrate(
            epsilon=epsilon, delta=delta, sensitivity=depth + 2, key_sensitivity=depth + 1
        )

    @property
    def effective_level(self) -> float:
        """`level`, or the error of AboveThreshold, which it exceeds with probability at most β."""
        if self.level is not None:
            return self.level
        failures = 2 * self.switches / self.beta
        per_scale = 2 * math.log(self.rounds * failures) + math.log(failures)
        return 2 * (self.soa.depth + 1) / self.watch_epsilon * per_scale

    @property
    def _delta(self) -> float:
        return self.delta / (2 * self.rounds) if self.reduction else self.delta

    def start(self, games: int, rng: np.random.Generator) -> GolowichLivniState:
        check_value("nodes", self.nodes, at_least(2**self.soa.depth))  # the leaves of a tree
        leaves = games * self.nodes * (self.rounds if self.reduction else 1)
        if leaves > MOST_LEAVES:
            raise Unsupported(
                f"the forests of a batch may have at most {MOST_LEAVES:,} leaves",
                value=leaves,
                remedy="Play fewer games in a batch, or set fewer rounds or nodes.",
            )
        return GolowichLivniState(self, games, rng)


def _share(k: int, epsilon: float, *, slack: float) -> float:
    return largest_affordable(lambda each: best_composition(k, each, slack=slack).epsilon, epsilon)


class GolowichLivniState:
    """A running golowich-livni. A row is an instance: with the reduction there are rounds x games, ordered by
    round, and an example is read by the rows of all later rounds."""

    def __init__(self, spec: GolowichLivni, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._games = games
        self._rounds = RoundBudget(spec.name, spec.rounds)
        rows = games * (spec.rounds if spec.reduction else 1)
        self._forests = TournamentForests(spec.soa, rows, spec.nodes, rng)
        self._noise = spec.noise
        self._rng = rng
        threshold, epsilon, sensitivity = -spec.effective_level, spec.watch_epsilon, spec.soa.depth + 1
        self._watch = AboveThreshold(
            rows, rng, threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, halts=spec.switches
        )

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        first = self._games * (self._rounds.played - 1) if self._spec.reduction else 0
        return self._spec.soa.hypothesis(self._forests.function[first : first + self._games])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._spec.soa.domain_indices(x)
        first, copies = 0, 1
        if self._spec.reduction:
            first, copies = self._games * self._rounds.played, self._rounds.left
            columns, y = np.tile(columns, copies), np.tile(y, copies)
        forests = self._forests
        forests.insert(first, columns, y)
        fired = np.flatnonzero(self._watch.respond(-forests.count))
        fired = fired[fired >= first]
        step = max(1, _SLAB // self._spec.nodes)
        for start in range(0, fired.size, step):
            self._switch(fired[start : start + step])

    def _switch(self, rows: np.ndarray) -> None:
        counts = self._forests.counts(rows)
        noisy = private_histogram(self._rng, counts, self._noise)
        best = np.where(noisy.any(axis=1), noisy.argmax(axis=1), self._forests.function[rows])
        self._forests.show(rows, best, counts)


class TournamentForests:
    """The forests of all instances. A leaf stores the state and the height of its pertinent node; `count` is
    the number of pertinent nodes that have the function shown."""

    def __init__(self, soa: AutomatonTables, rows: int, leaves: int, rng: np.random.Generator) -> None:
        self._soa = soa
        self._rng = rng
        self._state = np.full((rows, leaves), START, soa.state_type)
        self._height = np.zeros((rows, leaves), np.int8)
        # The height up to which a leaf is the first of its block.
        numbers = np.arange(leaves)
        self._first = np.where(numbers, np.bitwise_count((numbers & -numbers) - 1), 127).astype(np.int8)
        self.function = np.full(rows, soa.function[START])
        self.count = np.full(rows, leaves)

    def insert(self, first: int, columns: np.ndarray, y: np.ndarray) -> None:
        """Insert an example into each row from `first` on. Shapes: columns, y (rows - first,)."""
        soa = self._soa
        leaf = self._rng.integers(0, self._state.shape[1], len(columns))
        state = self._state[np.arange(first, first + len(columns)), leaf]
        function = soa.function[state]
        errs = np.flatnonzero((soa.labels[function, columns] != y) & (function != soa.no_function))
        if errs.size:
            self._extend(first + errs, leaf[errs], soa.after[state[errs], columns[errs]], function[errs])

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """(k, F): the number of pertinent nodes of the rows (k,) with each function."""
        soa, width = self._soa, self._soa.no_function + 1
        counted = self._height[rows] <= self._first  # one leaf of each block
        functions = np.where(counted, soa.function[self._state[rows]], soa.no_function)
        cells = functions + width * np.arange(len(rows))[:, None]
        return np.bincount(cells.ravel(), minlength=width * len(rows)).reshape(-1, width)[:, :-1]

    def show(self, rows: np.ndarray, functions: np.ndarray, counts: np.ndarray) -> None:
        """Set the functions shown (k,); `counts` are those of the rows."""
        self.function[rows] = functions
        self.count[rows] = counts[np.arange(len(rows)), functions]

    def _extend(self, rows: np.ndarray, leaf: np.ndarray, state: np.ndarray, function: np.ndarray) -> None:
        """Set the states of the pertinent nodes of these leaves, which had these functions, and merge
        siblings."""
        soa = self._soa
        shown = self.function[rows]
        change = -(function == shown).astype(np.intp)
        height = self._height[rows, leaf]
        for h in range(soa.depth + 1):
            nodes = np.flatnonzero(height == h)
            self._fill(rows[nodes], leaf[nodes], h, state[nodes])
            if h == soa.depth:
                break
            sibling = ((leaf[nodes] >> h) ^ 1) << h
            other = self._state[rows[nodes], sibling]
            own_function, other_function = soa.function[state[nodes]], soa.function[other]
            meet = (self._height[rows[nodes], sibling] == h) & (own_function != other_function)
            meet &= (own_function != soa.no_function) & (other_function != soa.no_function)
            nodes, other, other_function = nodes[meet], other[meet], other_function[meet]
            guess = self._rng.integers(0, 2, nodes.size, dtype=bool)
            change[nodes] -= other_function == shown[nodes]
            state[nodes] = soa.play_tournaments(state[nodes], other, guess)
            height[nodes] += 1
        change += soa.function[state] == shown
        self.count[rows] += change

    def _fill(self, rows: np.ndarray, leaf: np.ndarray, height: int, state: np.ndarray) -> None:
        block = (leaf >> height << height)[:, None] + np.arange(1 << height)
        self._state[rows[:, None], block] = state[:, None]
        self._height[rows[:, None], block] = height

"""realizable: a private online learner for the realizable setting, against adaptive adversaries."""

from __future__ import annotations

from functools import cached_property
from math import inf, log

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.concepts import ConceptClass, Thresholds
from arena.littlestone import START
from arena.littlestone.concept_sets import concept_sets
from arena.messages import Hypothesis
from arena.settings import (
    at_least,
    at_most,
    check_value,
    count_setting,
    less_than,
    more_than,
    one_of,
    setting,
    whole,
)
from learners.common.learner_bases import OnlineLearner, RoundBudget
from learners.mechanisms.accounting import Guarantee
from learners.mechanisms.counters import HistogramNoise, private_histogram
from learners.mechanisms.sparse_vector import RunningSum, running_sum_error
from learners.online.conservative import AUTOMATA, SOA, AutomatonTables, power_of_two, tabulate

KEEP, PRINTED = "keep", "printed"


@attrs.frozen
class RealizableLearner(OnlineLearner):
    """Private online learner for the realizable setting (Algorithms 1 and 2 of Li, Wang, Ye).

    Runs a conservative learner (`base`) on many short sequences of examples and publishes a hypothesis once a
    private histogram shows that many sequences agree on it. AboveThreshold decides when that has made too
    many mistakes. Privacy: (ε, δ)-DP against adaptive adversaries, computed from the noise in use. Proof, and
    the choice of the defaults: docs/proofs/realizable.md. Mistakes: Theorem 3.1; see `bound`.

    Deviations: update="keep" carries sequences that already contain a mistake to the next layer, so that far
    fewer suffice. A game that would halt keeps showing its last hypothesis. update="printed", growth=1,
    watching=0.5, patience=1, frequent=None is Algorithm 2 as printed.
    """

    name = "realizable"
    theorem = "Theorem 3.1 of Li, Wang, Ye; privacy by Lemma B.2"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = count_setting(10_000, help="T, the largest number of rounds")
    epsilon: float = setting(1.0, unit="nats", help="ε of a game")
    delta: float = setting(1e-6, unit="probability", help="δ of a game")
    beta: float = setting(0.05, unit="probability", help="β of AboveThreshold: adds mistakes to patience")
    nodes: int | None = setting(
        None, help="N_0, a power of two; default: as noise requires", check=[whole, at_least(2), power_of_two]
    )
    base: str = setting(
        SOA, help="soa, halving, or sparse-majority, which is proper", check=one_of(*AUTOMATA)
    )
    update: str = setting(KEEP, help="printed, or keep unguessed sequences", check=one_of(KEEP, PRINTED))
    watching: float = setting(
        0.25, help="share of ε for AboveThreshold; 1/2 in the paper", check=[more_than(0), less_than(1)]
    )
    growth: float = setting(2.0, help="ratio of successive histograms' ε; 1 in the paper", check=more_than(0))
    frequent: float | None = setting(
        0.05, help="a frequent function's share of pairs; none: the paper's", check=[more_than(0), at_most(1)]
    )
    patience: float = setting(1.0, help="mistakes of a function over N_s; 1 in the paper", check=more_than(0))

    def _cost(self) -> Guarantee:
        costs = [noise.guarantee for noise in self.noises]
        epsilon = self.watch_epsilon + sum(cost.epsilon for cost in costs)
        return Guarantee(epsilon, sum(cost.delta for cost in costs))

    @property
    def tables(self) -> AutomatonTables:
        """The base on H. Raises: Unsupported."""
        return tabulate(self.concepts, self.base)

    @property
    def proper(self) -> bool:
        """Whether every hypothesis that it can publish is a concept of H, on the points of the domain."""
        functions = {row.tobytes() for row in self.tables.labels[: self.tables.no_function]}
        return functions <= {row.tobytes() for row in concept_sets(self.concepts).labels}

    @property
    def effective_nodes(self) -> int:
        """N_0: `nodes`, or the least power of two with six times the pairs of every layer's threshold."""
        if self.nodes is not None:
            return self.nodes
        needed = [6 * noise.threshold * 2 ** (s + 2) for s, noise in enumerate(self.noises)]
        return 2 ** int(np.ceil(np.log2(max(needed, default=2))))

    @property
    def watch_epsilon(self) -> float:
        """ε_0 of each instance of AboveThreshold, and of all of them together."""
        return self.watching * self.epsilon

    @cached_property
    def noises(self) -> tuple[HistogramNoise, ...]:
        """The noise of the histograms of layers 1 to M."""
        depth, left = self.tables.depth, self.epsilon - self.watch_epsilon
        parts = [self.growth**s for s in range(depth)]
        epsilons = [left * part / sum(parts) for part in parts]
        return tuple(HistogramNoise.calibrate(epsilon=own, delta=self.delta / depth) for own in epsilons)

    @property
    def threshold_error(self) -> float:
        """α: with probability 1 - β/3 no instance of AboveThreshold errs by more than this."""
        return running_sum_error(self.rounds, self.beta / (3 * self.rounds), epsilon=self.watch_epsilon)

    def mistake_threshold(self, layer: int) -> float:
        """The number of mistakes after which a function of this layer is replaced: patience N_s + α."""
        return self.patience * (self.effective_nodes >> layer) + self.threshold_error

    def frequency_threshold(self, layer: int) -> float:
        """The noisy count from which a function is on the list of this layer."""
        nodes = self.effective_nodes >> layer
        return 0.75 * lwy_pairs(layer) * nodes if self.frequent is None else self.frequent * nodes / 2

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 3.1 as Lemma B.3 proves it, if the settings are those of the paper and N_0 is large enough:
        at most N_s/M_s functions on a list, with N_s + 2α + 1 mistakes each."""
        depth = self.tables.depth
        if depth == 0:
            return Bound(0, of=MISTAKES, beta=0, theorem="there is one labelling")
        if rounds > self.rounds or not self._meets_theorem(depth):
            return None
        nodes, error = self.effective_nodes, self.threshold_error
        mistakes = sum(((nodes >> s) + 2 * error + 1) / lwy_pairs(s) for s in range(depth + 1))
        return Bound(mistakes, of=MISTAKES, beta=self.beta, theorem="Theorem 3.1 of Li, Wang, Ye")

    def _meets_theorem(self, depth: int) -> bool:
        needed = lwy_nodes(depth, delta=self.delta, epsilon=self.epsilon, beta=self.beta, rounds=self.rounds)
        printed = self.update == PRINTED and self.frequent is None and self.patience >= 1
        accurate = all(
            noise.error <= lwy_pairs(s) * (self.effective_nodes >> s) / 4
            for s, noise in enumerate(self.noises, start=1)
        )
        return printed and accurate and self.effective_nodes >= needed

    def start(self, games: int, rng: np.random.Generator) -> RealizableState:
        # One pair of sequences must be left in layer M.
        check_value("nodes", self.effective_nodes, at_least(2 ** (self.tables.depth + 1)))
        return RealizableState(self, games, rng)


class RealizableState:
    def __init__(self, spec: RealizableLearner, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng
        self._tables = tables = spec.tables
        self._noises = spec.noises
        self._thresholds = [spec.mistake_threshold(s) for s in range(tables.depth + 1)]
        self._frequency_thresholds = [spec.frequency_threshold(s) for s in range(tables.depth + 1)]
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._rows = np.arange(games)
        # The N_s sequences of a layer are in the first N_s columns; pairs are adjacent.
        self._most_pairs = spec.effective_nodes // 2
        self._states = np.full((games, spec.effective_nodes), START, tables.state_type)
        self._extended = np.zeros((games, self._most_pairs), bool)
        self._layer = np.zeros(games, np.intp)
        self._pairs = np.full(games, self._most_pairs)
        self._pending: list[list[int]] = [[] for _ in range(games)]
        self._halted = np.zeros(games, bool)
        self._function = np.full(games, tables.function[START])
        self._shown = tables.hypothesis(self._function)
        self._watch = RunningSum(games, rng, thresholds=self._thresholds[0], epsilon=spec.watch_epsilon)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        return self._shown

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._tables.domain_indices(x)
        self._insert(columns, y)
        fired = self._watch.observe(self._tables.labels[self._function, columns] != y)
        if fired.any():
            for game in np.flatnonzero(fired):
                self._replace_function(int(game))
            self._shown = self._tables.hypothesis(self._function)

    def _insert(self, columns: np.ndarray, y: np.ndarray) -> None:
        """Steps 7 to 9 of Algorithm 2: the example goes to the first sequence of a random pair."""
        tables = self._tables
        # The numbers of pairs are powers of two, so the low bits of a draw are uniform too.
        pair = self._rng.integers(0, self._most_pairs, self._rows.size) & (self._pairs - 1)
        first = self._states[self._rows, 2 * pair]
        function = tables.function[first]
        errs = tables.labels[function, columns] != y
        errs &= function == tables.function[self._states[self._rows, 2 * pair + 1]]
        errs &= (function != tables.no_function) & ~self._halted
        rows = np.flatnonzero(errs)
        if rows.size:
            pair = pair[rows]
            self._states[rows, 2 * pair] = tables.after[first[rows], columns[rows]]
            self._extended[rows, pair] = True

    def _replace_function(self, game: int) -> None:
        """Steps 13 to 21: show the next function of the list, or of the next layer with a list."""
        pending = self._pending[game]
        while not pending and self._layer[game] < self._tables.depth:
            self._merge_layer(game)
            pending += self._find_frequent(game)
        if not pending:
            self._halted[game] = True
            return
        self._function[game] = pending.pop(0)
        self._watch.restart(self._rows[game : game + 1], self._thresholds[self._layer[game]])

    def _merge_layer(self, game: int) -> None:
        pairs = int(self._pairs[game])
        first, second = self._states[game, : 2 * pairs].reshape(pairs, 2).T.copy()
        places, guess = self._rng.permutation(pairs), self._rng.integers(0, 2, pairs, dtype=bool)
        extended = self._extended[game, :pairs] if self._spec.update == KEEP else None
        self._states[game, places] = merge_pairs(self._tables, first, second, guess, extended)
        self._extended[game] = False
        self._layer[game] += 1
        self._pairs[game] = pairs // 2

    def _find_frequent(self, game: int) -> list[int]:
        """Steps 18 to 20: the functions that are frequent in the noisy histogram, the most frequent first."""
        tables, layer, pairs = self._tables, int(self._layer[game]), int(self._pairs[game])
        functions = tables.function[self._states[game, : 2 * pairs]]
        if self._spec.update == PRINTED or layer < tables.depth:
            first, second = functions.reshape(pairs, 2).T
            functions = first[first == second]
        counts = np.bincount(functions, minlength=tables.no_function + 1)[: tables.no_function]
        noisy = private_histogram(self._rng, counts, self._noises[layer - 1])
        order = np.argsort(-noisy, kind="stable")
        return [int(f) for f in order if noisy[f] > 0 and noisy[f] >= self._frequency_thresholds[layer]]


def merge_pairs(
    tables: AutomatonTables,
    first: np.ndarray,
    second: np.ndarray,
    guess: np.ndarray,
    extended: np.ndarray | None,
) -> np.ndarray:
    """The state (k,) that each of k pairs of sequences contributes to the next layer. extended: for
    update="keep", the pairs that received an example; None: Algorithm 1 as printed."""
    first_function, second_function = tables.function[first], tables.function[second]
    rivals = first_function != second_function
    rivals &= (first_function != tables.no_function) & (second_function != tables.no_function)
    if extended is None:
        merged = np.full(len(first), tables.dead)
    else:
        rivals &= ~extended
        merged = np.where(first_function == tables.no_function, second, first)
    merged[rivals] = tables.play_tournaments(first[rivals], second[rivals], guess[rivals])
    return merged


def lwy_pairs(layer: int) -> float:
    """M_s/N_s of Li, Wang, Ye (2025): the share of a layer that agrees on one function by Lemma B.3.

    Algorithm 2 prints 128·2^(-6·2^s), so that M_0 = 2 N_0, where layer 0 has N_0/2 pairs; from these, Lemma
    B.1 gives 128·2^(-8·2^s).
    """
    return float(128 * 2.0 ** -(8 * 2**layer))


def lwy_nodes(depth: int, *, epsilon: float, delta: float, beta: float, rounds: int) -> float:
    """The N_0 for which Lemma B.3 of Li, Wang, Ye (2025) is proved, for a base with d ≥ 1 mistakes.

    The maximum of the requirements of its steps, with 8 for the printed 6 and 32 for 24, as in `lwy_pairs`,
    and with ε_0 = ε/2. Infinite if it exceeds the range of doubles. Raises: InvalidArgument if a parameter is
    out of range.

    >>> [f"{lwy_nodes(d, epsilon=1, delta=1e-6, beta=0.05, rounds=10_000):.0e}" for d in (1, 2, 3)]
    ['7e+21', '1e+42', '2e+81']
    """
    check_value("depth", depth, at_least(1))
    check_value("rounds", rounds, at_least(1))
    check_value("delta", delta, more_than(0), less_than(1))
    check_value("beta", beta, more_than(0), less_than(1))
    check_value("epsilon", epsilon, more_than(0))
    if depth > 4:
        return inf
    layers, union = 2.0 ** (8 * 2**depth + depth), 2.0 ** (32 * 2**depth + depth)
    return max(
        depth * layers * log(8 * depth / delta) / (epsilon / 2),
        layers * max(48, 4 * log(3 * rounds / beta)) / 128,
        4 * union * depth * log(2 * depth * union) + 2 * union * (depth * log(7) + log(6 * depth / beta)),
    )

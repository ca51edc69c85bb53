"""realizable: the realizable learner of Li, Wang, Ye, private and made for adaptive adversaries."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound, Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument
from arena.littlestone import START
from arena.players import Learner
from arena.replies import Hypothesis
from arena.settings import at_least, at_most, less_than, more_than, one_of, setting, whole
from learners.common.round_budget import RoundBudget
from learners.mechanisms.counters.private_histogram import HistogramNoise, private_histogram
from learners.mechanisms.sparse_vector.running_sum import RunningSum, running_sum_error
from learners.online.constants import lwy_nodes, lwy_pairs
from learners.online.sequences import Sequences, power_of_two, sequences

KEEP, PRINTED = "keep", "printed"


@attrs.frozen
class Realizable(Learner):
    """Algorithms 1 and 2 of Li, Wang, Ye: the SOA of H on many short sequences, released where many agree.

    Layer 0 has N_0 empty sequences, in pairs. A function is shown until AboveThreshold says that it erred
    too often; meanwhile each example goes to a random pair, and extends its first sequence if both have one
    function and it errs. Then the next function of the layer's list is shown. After the last, each pair makes
    one sequence of the next layer, at a random place, and a private histogram of the pairs that agree makes
    the next list, until one is not empty. After layer d = Ldim(H) the paper halts. Here a game that halts
    goes on showing its last function and looks at no more examples: post-processing.

    **Privacy** against adaptive adversaries (Definition 2.4), by Lemma B.2 with the noise that is run. Fix
    the draws of pairs, places and guesses, which depend on no data. An example that is replaced then changes
    one sequence of its layer, so one of each layer after it, so one element of each histogram's multiset; and
    one bit that one instance of AboveThreshold reads. So the claim is ε_0 for AboveThreshold, whose instances
    run on disjoint stretches, and what d histograms cost, added up. Neither N_0 nor any other number of
    sequences or mistakes matters.

    **Mistakes.** Theorem 3.1 bounds them for an N_0 that is astronomic (`learners.online.constants.lwy_nodes`), and with
    constants corrected there; `bound` tells it where the settings meet it. Run as printed, Algorithm 1 halves
    the sequences of a layer, spoils half of those by a wrong guess, and squares what is left when it pairs
    them at random: of N_0, about 2^-9 pairs are left for d = 2, 2^-18 for 3, 2^-35 for 4, and each histogram
    needs dozens to hundreds. So `update` = "keep", the default, departs from it, at the same privacy, since
    each new sequence still comes of its pair alone. Where the pair got an example in this layer, the sequence
    with it goes up as it is: it has made its mistake and needs no guess. Where the functions agree, or one
    sequence is ⊥, one that is not goes up; only two that chance set against each other play a tournament. And
    the last list counts all sequences that are not ⊥ instead of pairs, as nothing is inserted after it. With
    `update` = "printed", growth 1, watching 1/2, patience 1 and no `frequent` it is Algorithm 2 as printed.

    The defaults were chosen on thresholds on 4, 8 and 16 points (d = 2, 3, 4), at ε = 1, δ = 1e-6 and
    T = 60,000. `nodes` derives N_0 = 2^12, 2^13, 2^14 from the noise: noisy counts pass their threshold at a
    sixth of a layer's pairs. Against an adversary that errs as long as any concept survives, all of 40 games
    found the concept, after 1.6 to 2 N_0 mistakes; with errors at random points of a concept drawn beforehand
    40, 40 and 39 did, after 1.0 to 1.3 N_0. With `update` = "printed" alone none did against the first, and
    31, 9 and 13 against the second. For d = 4, half the N_0 lost half of the games against the first, and
    patience 1/2 all of them. N_0 grows about as 1/ε: at ε = 16 and d = 4 it is 2^11.

    Shapes: points as `concepts` has them; hypotheses are functions of the SOA's automaton.
    Raises: Unsupported if the domain is not finite, or too large for tables.
    """

    name = "realizable"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    theorem = "Theorem 3.1 of Li, Wang, Ye; privacy by Lemma B.2"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = setting(10_000, help="T, the most rounds it plays", check=[whole, at_least(1)])
    epsilon: float = setting(1.0, unit="nats", help="ε of a game", check=more_than(0))
    delta: float = setting(1e-6, unit="probability", help="δ of a game", check=[more_than(0), less_than(1)])
    beta: float = setting(
        0.05,
        unit="probability",
        help="of noise that fools AboveThreshold: sets how far beyond patience it waits",
        check=[more_than(0), less_than(1)],
    )
    nodes: int | None = setting(
        None,
        help="N_0, a power of two; by default what the noise of the histograms asks for",
        check=[whole, at_least(2), power_of_two],
    )
    update: str = setting(
        KEEP, help="what becomes of a layer: as printed, or keep what is sure", check=one_of(KEEP, PRINTED)
    )
    watching: float = setting(
        0.25, help="AboveThreshold's part of ε; 1/2 in the paper", check=[more_than(0), less_than(1)]
    )
    growth: float = setting(
        2.0, help="ε of a layer's histogram over that of the layer before; 1 in the paper", check=more_than(0)
    )
    frequent: float | None = setting(
        0.05,
        help="the part of a layer's pairs that makes a function frequent; none: the paper's",
        check=[more_than(0), at_most(1)],
    )
    patience: float = setting(
        1.0,
        help="mistakes of one function beyond noise, in N_s of its layer; 1 in the paper",
        check=more_than(0),
    )

    @property
    def claim(self) -> Claim:
        spent = [noise.guarantee for noise in self.noises]
        return Claim(
            epsilon=self.watch_epsilon + sum(cost.epsilon for cost in spent),
            delta=sum(cost.delta for cost in spent),
            protects=(PrivacyUnit.STREAM_EXAMPLE,),
        )

    @property
    def soa(self) -> Sequences:
        """The SOA of H. Raises: Unsupported."""
        return sequences(self.concepts)

    @property
    def size(self) -> int:
        """N_0: `nodes`, or the least that gives every layer six times the pairs that pass its threshold."""
        if self.nodes is not None:
            return self.nodes
        needed = [6 * noise.threshold * 2 ** (s + 2) for s, noise in enumerate(self.noises)]
        return 2 ** int(np.ceil(np.log2(max(needed, default=2))))

    @property
    def watch_epsilon(self) -> float:
        """ε_0 of every instance of AboveThreshold, and of all together."""
        return self.watching * self.epsilon

    @property
    def noises(self) -> tuple[HistogramNoise, ...]:
        """The noise of the histograms of layers 1 to d."""
        depth = self.soa.depth
        parts = [self.growth**s for s in range(depth)]
        left = self.epsilon - self.watch_epsilon
        return tuple(
            HistogramNoise.calibrate(epsilon=left * part / sum(parts), delta=self.delta / depth)
            for part in parts
        )

    @property
    def slack(self) -> float:
        """α: with probability 1 - β/3 no instance of AboveThreshold errs by more."""
        return running_sum_error(self.rounds, self.beta / (3 * self.rounds), epsilon=self.watch_epsilon)

    def threshold(self, layer: int) -> float:
        """The mistakes after which a function of this layer goes: patience N_s + α."""
        return self.patience * (self.size >> layer) + self.slack

    def listed(self, layer: int) -> float:
        """The noisy count that brings a function on the list of this layer."""
        nodes = self.size >> layer
        return 0.75 * lwy_pairs(layer) * nodes if self.frequent is None else self.frequent * nodes / 2

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 3.1 as Lemma B.3 proves it, where the settings are those of the paper and N_0 is enough.

        A list has at most N_s/M_s functions, each of which errs N_s + 2α + 1 times. Where d = 0 there is one
        labelling, and no mistake.
        """
        depth = self.soa.depth
        if depth == 0:
            return Bound(0, of=MISTAKES, beta=0, theorem="Ldim(H) = 0")
        if rounds > self.rounds or not self._as_proved(depth):
            return None
        mistakes = sum(((self.size >> s) + 2 * self.slack + 1) / lwy_pairs(s) for s in range(depth + 1))
        return Bound(mistakes, of=MISTAKES, beta=self.beta, theorem="Theorem 3.1 of Li, Wang, Ye")

    def _as_proved(self, depth: int) -> bool:
        enough = lwy_nodes(depth, delta=self.delta, epsilon=self.epsilon, beta=self.beta, rounds=self.rounds)
        printed = self.update == PRINTED and self.frequent is None and self.patience >= 1
        few = all(
            noise.error <= lwy_pairs(s) * (self.size >> s) / 4 for s, noise in enumerate(self.noises, start=1)
        )
        return printed and few and self.size >= enough

    def start(self, games: int, rng: np.random.Generator) -> RealizableState:
        if self.size < 2 ** (self.soa.depth + 1):
            raise InvalidArgument(
                f"nodes must leave a pair in layer d = {self.soa.depth}",
                value=self.size,
                remedy=f"Set nodes to at least {2 ** (self.soa.depth + 1)}.",
            )
        return RealizableState(self, games, rng)


class RealizableState:
    """realizable at a table."""

    def __init__(self, spec: Realizable, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng
        self._soa = soa = spec.soa
        self._noises = spec.noises
        self._thresholds = [spec.threshold(s) for s in range(soa.depth + 1)]
        self._listed = [spec.listed(s) for s in range(soa.depth + 1)]
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._rows = np.arange(games)
        # A layer of N_s sequences is the first N_s columns; its pairs are neighbours.
        self._most_pairs = spec.size // 2
        self._states = np.full((games, spec.size), START, soa.state_type)
        self._fed = np.zeros((games, self._most_pairs), bool)
        self._layer = np.zeros(games, np.intp)
        self._pairs = np.full(games, self._most_pairs)
        self._waiting: list[list[int]] = [[] for _ in range(games)]
        self._halted = np.zeros(games, bool)
        self._function = np.full(games, soa.function[START])
        self._shown = soa.hypothesis(self._function)
        self._watch = RunningSum(games, rng, thresholds=self._thresholds[0], epsilon=spec.watch_epsilon)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        return self._shown

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._soa.place(x)
        self._insert(columns, y)
        fired = self._watch.observe(self._soa.labels[self._function, columns] != y)
        if fired.any():
            for game in np.flatnonzero(fired):
                self._move_on(int(game))
            self._shown = self._soa.hypothesis(self._function)

    def _insert(self, columns: np.ndarray, y: np.ndarray) -> None:
        """Steps 7 to 9 of Algorithm 2: the example goes to the first sequence of a random pair."""
        soa = self._soa
        # The low bits of a number below a power of two are a number below a smaller one.
        pair = self._rng.integers(0, self._most_pairs, self._rows.size) & (self._pairs - 1)
        first = self._states[self._rows, 2 * pair]
        function = soa.function[first]
        changes = soa.labels[function, columns] != y
        changes &= function == soa.function[self._states[self._rows, 2 * pair + 1]]
        changes &= (function != soa.nothing) & ~self._halted
        rows = np.flatnonzero(changes)
        if rows.size:
            pair = pair[rows]
            self._states[rows, 2 * pair] = soa.after[first[rows], columns[rows]]
            self._fed[rows, pair] = True

    def _move_on(self, game: int) -> None:
        """Steps 13 to 21: the next function of the list, or of the next layer that has one."""
        waiting = self._waiting[game]
        while not waiting and self._layer[game] < self._soa.depth:
            self._update(game)
            waiting += self._frequent(game)
        if not waiting:
            self._halted[game] = True
            return
        self._function[game] = waiting.pop(0)
        self._watch.restart(self._rows[game : game + 1], self._thresholds[self._layer[game]])

    def _update(self, game: int) -> None:
        """Algorithm 1, or what keeps more of the layer."""
        pairs = int(self._pairs[game])
        first, second = self._states[game, : 2 * pairs].reshape(pairs, 2).T.copy()
        places, guess = self._rng.permutation(pairs), self._rng.integers(0, 2, pairs, dtype=bool)
        fed = self._fed[game, :pairs] if self._spec.update == KEEP else None
        self._states[game, places] = paired(self._soa, first, second, guess, fed)
        self._fed[game] = False
        self._layer[game] += 1
        self._pairs[game] = pairs // 2

    def _frequent(self, game: int) -> list[int]:
        """Steps 18 to 20: the functions that the histogram finds frequent, the most frequent first."""
        soa, layer, pairs = self._soa, int(self._layer[game]), int(self._pairs[game])
        functions = soa.function[self._states[game, : 2 * pairs]]
        if self._spec.update == PRINTED or layer < soa.depth:
            first, second = functions.reshape(pairs, 2).T
            functions = first[first == second]
        counts = np.bincount(functions, minlength=soa.nothing + 1)[: soa.nothing]
        noisy = private_histogram(self._rng, counts, self._noises[layer - 1])
        order = np.argsort(-noisy, kind="stable")
        return [int(f) for f in order if noisy[f] > 0 and noisy[f] >= self._listed[layer]]


def paired(
    soa: Sequences, first: np.ndarray, second: np.ndarray, guess: np.ndarray, fed: np.ndarray | None
) -> np.ndarray:
    """What each pair of sequences sends to the next layer.

    fed: the pairs that got an example, and `update` is "keep"; None: Algorithm 1 as printed.
    Shapes: first and second states (k,), guess and fed (k,) bool; result (k,).
    """
    one, other = soa.function[first], soa.function[second]
    rivals = (one != other) & (one != soa.nothing) & (other != soa.nothing)
    if fed is None:
        up = np.full(len(first), soa.dead)
    else:
        rivals &= ~fed
        up = np.where(one == soa.nothing, second, first)
    up[rivals] = soa.settle(first[rivals], second[rivals], guess[rivals])
    return up

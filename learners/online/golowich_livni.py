"""golowich-livni: the forest of Golowich and Livni, and its reduction to adaptive adversaries."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument, Unsupported
from arena.littlestone import START
from arena.players import Learner
from arena.replies import Hypothesis
from arena.settings import at_least, less_than, more_than, setting, whole
from learners.common.round_budget import RoundBudget
from learners.mechanisms.accounting.composition import Guarantee, best_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.counters.private_histogram import HistogramNoise, private_histogram
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.online.sequences import Sequences, power_of_two, sequences

MOST_LEAVES = 2**27  # of all forests at a table, three to five bytes each
_SLAB = 2**22


@attrs.frozen
class GolowichLivni(Learner):
    """Golowich and Livni, Littlestone Classes are Privately Online Learnable (2021), as section 3 of Li,
    Wang, Ye tells it; what that leaves open was chosen here.

    A forest has binary trees of depth d = Ldim(H). Each leaf has one *pertinent* node among itself and its
    ancestors, at first itself, with an empty sequence. A random leaf is drawn for each example, and it
    extends the sequence of the leaf's pertinent node if the SOA errs there. As soon as two pertinent siblings
    have other functions, a tournament example with a guessed label extends one of their sequences, which
    becomes that of their parent, pertinent in their place; and so on up. A node whose sequence no concept
    explains is ⊥ for good, and so is its way up.

    A function is shown as long as AboveThreshold finds it the function of more than about `level` pertinent
    nodes. Then the most frequent one in a private histogram is shown, or the same if that finds none. After
    `switches` of these the last one is shown for ever, and examples are not looked at: post-processing.

    **Privacy.** The leaves and guesses are drawn whatever the data are (drawing a leaf, not a pertinent node,
    sees to that). Fix them; replacing an example then changes one tree. Say its leaf has its pertinent node
    at height a in one world and at a' ≥ a in the other: pertinent nodes off the leaf's way to the root are
    the same but for the siblings of the way at heights a to a' - 1, pertinent in the first world alone, since
    the second has merged them. So up to d + 1 nodes stand against one: the count of one function moves by
    d + 1 at most, the histogram by d + 2. AboveThreshold is run for that sensitivity, `switches` times, and
    the histogram as often. This holds whatever later examples are chosen from. So both modes are private
    against *adaptive* adversaries, and only the proof of few mistakes needs an oblivious one: an adversary
    that learns from what is shown where examples went can starve the forest.

    **reduction.** What the paper does about that, after Cesa-Bianchi and Lugosi (2006): h_t is the last
    function of a fresh instance, with coins of its own, run on all examples before round t. Each of T
    instances has what advanced composition leaves of (ε, δ), so about 1/√T of ε. All instances of all games
    read an example when it comes, as rows of one table, and instance t leaves the table after round t: exact,
    with T²/2 steps a game, mostly of examples that no pertinent node errs on and that change nothing. For
    T = 10,000 a game takes a few seconds. Tables with more than 2^27 leaves in all are refused.

    **Mistakes.** The guesses leave about 2^(1 - 2^d) of the trees right, and each switch's noise wants dozens
    of them. Measured on thresholds, against errors at random points of a fixed concept: all games found it
    for d = 1 with 512 nodes and ε = 30, after 300 mistakes, and for d = 2 with 1,024 nodes and ε = 100, after
    1,300; with the reduction, T = 1,000, d = 2 and 512 nodes it took ε = 100,000. At the default ε it is
    private and of no use, as are the paper's constants, which are far beyond. `bound` is none.

    Shapes: points as `concepts` has them; hypotheses are functions of the SOA's automaton.
    Raises: Unsupported if the domain is not finite, or the table too large.
    """

    name = "golowich-livni"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    theorem = "Golowich and Livni (2021); the sensitivity is worked out in its docstring"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = setting(1_000, help="T, the most rounds it plays", check=[whole, at_least(1)])
    epsilon: float = setting(1.0, unit="nats", help="ε of a game", check=more_than(0))
    delta: float = setting(1e-6, unit="probability", help="δ of a game", check=[more_than(0), less_than(1)])
    beta: float = setting(
        0.05,
        unit="probability",
        help="of noise that fools AboveThreshold: sets level",
        check=[more_than(0), less_than(1)],
    )
    nodes: int = setting(
        2**10, help="leaves of the forest, a power of two", check=[whole, at_least(1), power_of_two]
    )
    switches: int = setting(8, help="how often it shows another function", check=[whole, at_least(1)])
    level: float | None = setting(
        None,
        unit="nodes",
        help="below which a function goes; by default the error of AboveThreshold",
        check=at_least(0),
    )
    reduction: bool = setting(
        False, help="a fresh instance each round, for few mistakes against adaptive ones"
    )

    @property
    def claim(self) -> Claim:
        cost = self.instance
        if self.reduction:
            cost = best_composition(self.rounds, *cost, slack=self.delta / 2)
        return Claim(epsilon=cost.epsilon, delta=cost.delta, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    @property
    def instance(self) -> Guarantee:
        """What one instance costs: `switches` times AboveThreshold and a histogram."""
        histogram = self.noise.guarantee
        return best_composition(
            self.switches, self.watch_epsilon + histogram.epsilon, histogram.delta, slack=self._delta / 2
        )

    @property
    def soa(self) -> Sequences:
        """The SOA of H. Raises: Unsupported."""
        return sequences(self.concepts)

    @property
    def watch_epsilon(self) -> float:
        """ε of AboveThreshold from one switch to the next: half of what a switch may cost."""
        each = self.epsilon
        if self.reduction:
            each = _each(self.rounds, each, slack=self.delta / 2)
        return _each(self.switches, each, slack=self._delta / 2) / 2

    @property
    def noise(self) -> HistogramNoise:
        """The noise of a histogram, with the other half."""
        depth = self.soa.depth
        return HistogramNoise.calibrate(
            epsilon=self.watch_epsilon,
            delta=self._delta / (2 * self.switches),
            sensitivity=depth + 2,
            key_sensitivity=depth + 1,
        )

    @property
    def lowest(self) -> float:
        """`level`, or the error of AboveThreshold: a function that no node has goes, one that twice as many
        have stays, but for β."""
        if self.level is not None:
            return self.level
        per_scale = 2 * math.log(2 * self.rounds * self.switches / self.beta) + math.log(
            2 * self.switches / self.beta
        )
        return 2 * (self.soa.depth + 1) / self.watch_epsilon * per_scale

    @property
    def _delta(self) -> float:
        """δ of one instance."""
        return self.delta / (2 * self.rounds) if self.reduction else self.delta

    def start(self, games: int, rng: np.random.Generator) -> GolowichLivniState:
        if self.nodes < 2**self.soa.depth:
            raise InvalidArgument(
                f"a tree of depth d = {self.soa.depth} has {2**self.soa.depth} leaves",
                value=self.nodes,
                remedy="Set nodes to at least as many.",
            )
        rows = games * (self.rounds if self.reduction else 1)
        if rows * self.nodes > MOST_LEAVES:
            raise Unsupported(
                f"the forests of a table have at most {MOST_LEAVES:,} leaves",
                value=rows * self.nodes,
                remedy="Play fewer games at a table, fewer rounds, or set fewer nodes.",
            )
        return GolowichLivniState(self, games, rng)


def _each(k: int, epsilon: float, *, slack: float) -> float:
    """The largest ε such that k mechanisms of it are `epsilon` together."""
    return largest_affordable(lambda each: best_composition(k, each, slack=slack).epsilon, epsilon)


class GolowichLivniState:
    """golowich-livni at a table.

    A row is an instance. Without the reduction row g is game g. With it there are rounds x games rows, round
    by round; h_t is shown by the rows of round t, and each example is read by those of later rounds.
    """

    def __init__(self, spec: GolowichLivni, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._games = games
        self._rounds = RoundBudget(spec.name, spec.rounds)
        rows = games * (spec.rounds if spec.reduction else 1)
        self._forests = Forests(spec.soa, rows, spec.nodes, rng)
        self._noise = spec.noise
        self._rng = rng
        self._watch = AboveThreshold(
            rows,
            rng,
            threshold=-spec.lowest,
            epsilon=spec.watch_epsilon,
            sensitivity=spec.soa.depth + 1,
            halts=spec.switches,
        )

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        first = self._games * (self._rounds.played - 1) if self._spec.reduction else 0
        return self._spec.soa.hypothesis(self._forests.function[first : first + self._games])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._spec.soa.place(x)
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
        """Show the most frequent function of a private histogram, if it finds one."""
        counts = self._forests.counts(rows)
        noisy = private_histogram(self._rng, counts, self._noise)
        best = np.where(noisy.any(axis=1), noisy.argmax(axis=1), self._forests.function[rows])
        self._forests.show(rows, best, counts)


class Forests:
    """The forests of a table of instances, and how many pertinent nodes have the function that is shown.

    A leaf knows the state and the height of its pertinent node, whose leaves are a block of 2^height.

    Shapes: function and count (rows,).
    """

    def __init__(self, soa: Sequences, rows: int, leaves: int, rng: np.random.Generator) -> None:
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
        """Give the rows from `first` on an example each. Shapes: columns, y (rows - first,)."""
        soa = self._soa
        leaf = self._rng.integers(0, self._state.shape[1], len(columns))
        state = self._state[np.arange(first, first + len(columns)), leaf]
        function = soa.function[state]
        hit = np.flatnonzero((soa.labels[function, columns] != y) & (function != soa.nothing))
        if hit.size:
            self._extend(first + hit, leaf[hit], soa.after[state[hit], columns[hit]], function[hit])

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """(k, F): how many pertinent nodes of the rows (k,) have each function."""
        soa, width = self._soa, self._soa.nothing + 1
        counted = self._height[rows] <= self._first  # one leaf of each block
        functions = np.where(counted, soa.function[self._state[rows]], soa.nothing)
        cells = functions + width * np.arange(len(rows))[:, None]
        return np.bincount(cells.ravel(), minlength=width * len(rows)).reshape(-1, width)[:, :-1]

    def show(self, rows: np.ndarray, functions: np.ndarray, counts: np.ndarray) -> None:
        """Show these functions (k,) from now on; `counts` are those of the rows."""
        self.function[rows] = functions
        self.count[rows] = counts[np.arange(len(rows)), functions]

    def _extend(self, rows: np.ndarray, leaf: np.ndarray, state: np.ndarray, function: np.ndarray) -> None:
        """The pertinent nodes above these leaves, of these functions, come into these states; merge them with
        their siblings, and so on up."""
        soa = self._soa
        shown = self.function[rows]
        change = -(function == shown).astype(np.intp)
        height = self._height[rows, leaf]
        for h in range(soa.depth + 1):
            here = np.flatnonzero(height == h)
            self._fill(rows[here], leaf[here], h, state[here])
            if h == soa.depth:
                break
            sibling = ((leaf[here] >> h) ^ 1) << h
            other = self._state[rows[here], sibling]
            one, two = soa.function[state[here]], soa.function[other]
            meet = (self._height[rows[here], sibling] == h) & (one != two)
            meet &= (one != soa.nothing) & (two != soa.nothing)
            here, other, two = here[meet], other[meet], two[meet]
            guess = self._rng.integers(0, 2, here.size, dtype=bool)
            change[here] -= two == shown[here]
            state[here] = soa.settle(state[here], other, guess)
            height[here] += 1
        change += soa.function[state] == shown
        self.count[rows] += change

    def _fill(self, rows: np.ndarray, leaf: np.ndarray, height: int, state: np.ndarray) -> None:
        """Write the state and height of pertinent nodes to all their leaves."""
        block = (leaf >> height << height)[:, None] + np.arange(1 << height)
        self._state[rows[:, None], block] = state[:, None]
        self._height[rows[:, None], block] = height

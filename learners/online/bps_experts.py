"""bps-experts: the agnostic learner that follows SOA, but for a few rounds that nobody knows beforehand."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.concepts import ConceptClass, Functions
from arena.errors import Unsupported
from arena.littlestone import START, soa
from arena.points import freeze
from arena.replies import Hypothesis
from arena.settings import at_least, at_most, more_than, setting, whole
from learners.common.round_budget import RoundBudget
from learners.online.hedge import LARGEST_RATE, Weights, best_rate, drawn, regret
from learners.online.without_privacy import WithoutPrivacy

MOST_ENTRIES = 2**22  # groups x points: about thirty bytes each


@attrs.frozen
class BpsExperts(WithoutPrivacy):
    """Hedge over an expert for every set of at most d of the T rounds, where d = Ldim.

    The learner of Ben-David, Pál, Shalev-Shwartz, Agnostic Online Learning (COLT 2009). An expert follows
    SOA; at a round in its set it predicts the opposite, and SOA is told that it erred. For each concept there
    is an expert that agrees with it at every round of the game: the one whose set are the rounds at which SOA
    errs on the concept's labels, at most d. SOA is conservative here; the argument does not notice.

    The N = Σ_{j≤d} C(T, j) experts are not kept one by one. Those whose SOA is in one state, after as many
    rounds of their sets, form a group: what will become of them is the same, so that their weights are kept
    as a sum over what their sets were so far, times the number of ways in which the sets may go on. A round
    costs each game the number of groups: 74 for thresholds on 16 points, 1,429 for intervals on as many.

    The hypothesis of a round is SOA's function in the state of the expert drawn, or where the round is in the
    expert's set its complement on the whole domain. It need not be a concept of the class.

    The expected regret after t ≤ T rounds is at most ln N / η + η t / 8. At t = T, for the rate that is run
    unless one is set, this is sqrt(T ln N / 2), so at most sqrt(T d ln(eT/d) / 2) where d ≤ T (see
    `learners.online.hedge`). Experts are drawn afresh each round, so that it holds before adaptive adversaries as
    well, in the sense that `WeightedMajority` states.

    Raises: Unsupported if the domain is not finite, or when it is seated there are too many groups;
    BudgetExceeded in a game of more than T rounds.
    """

    name = "bps-experts"
    theorem = "the experts of Ben-David, Pál, Shalev-Shwartz (2009) under Hedge: regret ln N / η + η T / 8"

    rounds: int = setting(100, help="T, the most rounds it plays", check=[whole, at_least(1)])
    rate: float | None = setting(
        None,
        help="η, by which a mistake lowers the logarithm of a weight; by default sqrt(8 ln N / T)",
        unit="nats",
        check=[more_than(0), at_most(LARGEST_RATE)],
    )

    @property
    def log_experts(self) -> float:
        """ln N."""
        return math.log(subsets(self.rounds, soa(self.concepts).mistakes)[-1])

    @property
    def eta(self) -> float:
        """The rate that is run, in nats; 0 where there is one expert only."""
        return self.rate or best_rate(self.log_experts, self.rounds)

    def bound(self, rounds: int) -> Bound | None:
        if rounds > self.rounds:
            return None
        return Bound(regret(self.log_experts, self.eta, rounds), REGRET, None, self.theorem)

    def start(self, games: int, rng: np.random.Generator) -> BpsExpertsState:
        return BpsExpertsState(self, games, rng)


class BpsExpertsState:
    """bps-experts at a table: a weight for every group of experts in every game."""

    def __init__(self, spec: BpsExperts, games: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._class = spec.concepts
        self._groups = groups = groups_of(spec.concepts)
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._experts = subsets(spec.rounds, groups.depth)[-1]
        start = np.zeros(len(groups))
        start[START] = 1.0
        self._weights = Weights(games, start, spec.eta, spec.log_experts)
        self._left = np.exp(-spec.eta)
        self._factors = np.where(groups.wrong, self._left, 1.0)

    @property
    def law(self) -> np.ndarray:
        """(n, functions): the probabilities with which this round's function is drawn, after `hypothesis`."""
        follow, oppose = self._ways()
        mass = np.zeros((len(self._weights.values), len(self._groups.hypotheses.matrix)))
        for ways, functions in ((follow, self._groups.function), (oppose, self._groups.complement)):
            np.add.at(mass.T, functions, (self._weights.values * ways).T)
        return mass / mass.sum(axis=1, keepdims=True)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        follow, oppose = self._ways()
        u = self._rng.random(len(self._weights.values))
        function = np.empty(len(u), np.intp)
        ways = follow + oppose
        for slab in self._weights.slabs():
            group, rest = drawn(self._weights.values[slab] * ways, u[slab])
            following = rest * ways[group] < follow[group]
            function[slab] = np.where(following, self._groups.function[group], self._groups.complement[group])
        return Hypothesis(self._groups.hypotheses, function)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._class.domain_indices(self._class.check(x))
        for slab in self._weights.slabs():
            self._step(self._weights.values[slab], columns[slab], y[slab])
        self._weights.age()

    def _ways(self) -> tuple[np.ndarray, np.ndarray]:
        """(groups,) each, over N: in how many ways the sets go on whose experts follow SOA in this round, and
        of those that oppose it."""
        counts = subsets(self._rounds.left, self._groups.depth)
        shares = np.array([0.0] + [count / self._experts for count in counts])
        unused = self._groups.depth - self._groups.used
        return shares[unused + 1], shares[unused]

    def _step(self, weights: np.ndarray, columns: np.ndarray, y: np.ndarray) -> None:
        """Each expert errs or not; those that opposed SOA have moved on."""
        factors = self._factors.take(2 * columns + y, axis=0)
        movers = self._groups.after.shape[1]
        # Who opposes errs where who follows does not.
        moved = weights[:, :movers] * (self._left / factors[:, :movers])
        target = self._groups.after.take(columns, axis=0)
        target += np.arange(0, weights.size, weights.shape[1])[:, None]
        weights *= factors
        arrived = np.bincount(target.ravel(), moved.ravel(), minlength=weights.size)
        weights += arrived.reshape(weights.shape)


@attrs.frozen(eq=False)
class Groups:
    """The groups of experts of a class, level by level: those at level j have used j rounds of their sets.

    hypotheses: the functions of SOA's states and their complements. depth: d, the last level.
    Shapes: used (groups,) the levels; function, complement (groups,) rows of `hypotheses`; wrong (2 points,
    groups) bool, whether who follows errs on example (x, y), at row 2x + y; after (points, groups above the
    last level), the groups of those who opposed.
    """

    hypotheses: Functions
    depth: int
    used: np.ndarray = attrs.field(converter=freeze)
    function: np.ndarray = attrs.field(converter=freeze)
    complement: np.ndarray = attrs.field(converter=freeze)
    wrong: np.ndarray = attrs.field(converter=freeze)
    after: np.ndarray = attrs.field(converter=freeze)

    def __len__(self) -> int:
        return len(self.used)


@lru_cache(maxsize=32)
def groups_of(concept_class: ConceptClass) -> Groups:
    """The groups of experts of a class with a finite domain.

    Raises: Unsupported if there are too many.
    """
    automaton = soa(concept_class)
    columns = np.arange(len(concept_class.domain or ()))
    levels, after = [np.array([START])], []
    for _ in range(automaton.mistakes):
        states, places = np.unique(automaton.after_mistake(levels[-1][:, None], columns), return_inverse=True)
        first = sum(map(len, levels))
        after.append(first + places.reshape(len(levels[-1]), len(columns)))
        levels.append(states)
        if (first + len(states)) * len(columns) > MOST_ENTRIES:
            raise Unsupported(
                f"{concept_class} has {first + len(states):,} groups of experts or more on {len(columns):,} "
                f"points, which make over {MOST_ENTRIES:,} entries",
                remedy="Choose a smaller domain.",
            )
    labels = automaton.labels(np.concatenate(levels)[:, None], columns)
    functions, rows = np.unique(np.concatenate([labels, ~labels]), axis=0, return_inverse=True)
    function, complement = rows.reshape(2, -1)
    moves = np.concatenate(after) if after else np.empty((0, len(columns)), np.intp)
    wrong = np.stack([labels.T, ~labels.T], axis=1).reshape(2 * len(columns), -1)
    return Groups(
        hypotheses=Functions(concept_class, functions),
        depth=automaton.mistakes,
        used=np.repeat(np.arange(len(levels)), [len(level) for level in levels]),
        function=function,
        complement=complement,
        # Rows are taken from these, and `take` would copy any other layout.
        wrong=np.ascontiguousarray(wrong),
        after=np.ascontiguousarray(moves.T),
    )


def subsets(rounds: int, most: int) -> list[int]:
    """How many sets of at most 0, 1, ..., `most` rounds there are."""
    return list(accumulate(math.comb(rounds, size) for size in range(most + 1)))

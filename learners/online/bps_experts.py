"""bps-experts: an agnostic learner with an expert for every set of at most Ldim rounds; no privacy."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate

import attrs
import numpy as np

from arena.concepts import ConceptClass, Functions
from arena.errors import Unsupported
from arena.littlestone import START, soa
from arena.points import freeze
from arena.replies import Hypothesis
from learners.common.learner_bases import RoundBudget
from learners.online.hedge import HedgeLearner, HedgeWeights, draw_experts

MOST_ENTRIES = 2**22  # groups x points, about thirty bytes each


@attrs.frozen
class BpsExperts(HedgeLearner):
    """Hedge over an expert for every set of at most d of the T rounds, where d = Ldim.

    The learner of Ben-David, Pál, Shalev-Shwartz, Agnostic Online Learning (COLT 2009). An expert follows the
    SOA. In a round of its set it predicts the opposite, and the SOA is updated as if it had erred. For each
    concept some expert agrees with it in every round. There are N = Σ_{j≤d} C(T, j) experts; those in the
    same state of the SOA, after the same number of rounds of their sets, are kept as one group
    (docs/online.md).

    The expected regret after t ≤ T rounds is at most ln N / η + η t / 8 (see `learners.online.hedge`), where
    ln N ≤ d ln(eT/d) for d ≤ T, also against adaptive adversaries, in the sense stated in `WeightedMajority`.

    Raises: Unsupported if the domain is not finite, or there are too many groups (at `start`).
    """

    name = "bps-experts"
    theorem = "the experts of Ben-David, Pál, Shalev-Shwartz (2009) under Hedge: regret ln N / η + η T / 8"

    @property
    def log_experts(self) -> float:
        """ln N."""
        return math.log(count_subsets(self.rounds, soa(self.concepts).mistakes)[-1])

    def start(self, games: int, rng: np.random.Generator) -> BpsExpertsState:
        return BpsExpertsState(self, games, rng)


class BpsExpertsState:
    def __init__(self, spec: BpsExperts, games: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._class = spec.concepts
        self._groups = groups = build_groups(spec.concepts)
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._experts = count_subsets(spec.rounds, groups.depth)[-1]
        start = np.zeros(len(groups))
        start[START] = 1.0
        self._weights = HedgeWeights(games, start, spec.eta, spec.log_experts)
        self._factor = np.exp(-spec.eta)
        self._factors = np.where(groups.wrong, self._factor, 1.0)

    @property
    def law(self) -> np.ndarray:
        """(n, functions): the probabilities of this round's function, after `hypothesis`."""
        follow, oppose = self._completions()
        mass = np.zeros((len(self._weights.values), len(self._groups.hypotheses.matrix)))
        for completions, functions in ((follow, self._groups.function), (oppose, self._groups.complement)):
            np.add.at(mass.T, functions, (self._weights.values * completions).T)
        return mass / mass.sum(axis=1, keepdims=True)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        follow, oppose = self._completions()
        u = self._rng.random(len(self._weights.values))
        function = np.empty(len(u), np.intp)
        completions = follow + oppose
        for slab in self._weights.slabs():
            group, rest = draw_experts(self._weights.values[slab] * completions, u[slab])
            following = rest * completions[group] < follow[group]
            function[slab] = np.where(following, self._groups.function[group], self._groups.complement[group])
        return Hypothesis(self._groups.hypotheses, function)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._class.domain_indices(self._class.check(x))
        for slab in self._weights.slabs():
            self._update(self._weights.values[slab], columns[slab], y[slab])
        self._weights.end_round()

    def _completions(self) -> tuple[np.ndarray, np.ndarray]:
        """(groups,) each: in how many ways the sets can continue, divided by N, for the experts that follow
        the SOA in this round and for those that oppose it."""
        counts = count_subsets(self._rounds.left, self._groups.depth)
        shares = np.array([0.0] + [count / self._experts for count in counts])
        unused = self._groups.depth - self._groups.used
        return shares[unused + 1], shares[unused]

    def _update(self, weights: np.ndarray, columns: np.ndarray, y: np.ndarray) -> None:
        factors = self._factors.take(2 * columns + y, axis=0)
        movers = self._groups.after.shape[1]
        # An expert that opposes errs where one that follows does not.
        outflow = weights[:, :movers] * (self._factor / factors[:, :movers])
        target = self._groups.after.take(columns, axis=0)
        target += np.arange(0, weights.size, weights.shape[1])[:, None]
        weights *= factors
        inflow = np.bincount(target.ravel(), outflow.ravel(), minlength=weights.size)
        weights += inflow.reshape(weights.shape)


@attrs.frozen(eq=False)
class ExpertGroups:
    """The groups of experts of a class, by level: experts at level j have used j rounds of their sets.

    hypotheses: the functions of the SOA's states and their complements. depth: d, the last level. used
    (groups,): the levels. function, complement (groups,): rows of `hypotheses`. wrong (2 points, groups)
    bool: whether an expert that follows errs on example (x, y), in row 2x + y. after (points, groups below
    the last level): the next group of an expert that opposes.
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
def build_groups(concept_class: ConceptClass) -> ExpertGroups:
    """The groups of experts of a class with a finite domain. Raises: Unsupported if there are too many."""
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
                f"{concept_class} has at least {first + len(states):,} groups of experts on {len(columns):,} "
                f"points, which exceeds {MOST_ENTRIES:,} entries",
                remedy="Choose a smaller domain.",
            )
    labels = automaton.labels(np.concatenate(levels)[:, None], columns)
    functions, rows = np.unique(np.concatenate([labels, ~labels]), axis=0, return_inverse=True)
    function, complement = rows.reshape(2, -1)
    moves = np.concatenate(after) if after else np.empty((0, len(columns)), np.intp)
    wrong = np.stack([labels.T, ~labels.T], axis=1).reshape(2 * len(columns), -1)
    return ExpertGroups(
        hypotheses=Functions(concept_class, functions),
        depth=automaton.mistakes,
        used=np.repeat(np.arange(len(levels)), [len(level) for level in levels]),
        function=function,
        complement=complement,
        # Rows of these are used with `take`, which would copy any other layout.
        wrong=np.ascontiguousarray(wrong),
        after=np.ascontiguousarray(moves.T),
    )


def count_subsets(rounds: int, most: int) -> list[int]:
    """The number of sets of at most 0, 1, ..., `most` rounds."""
    return list(accumulate(math.comb(rounds, size) for size in range(most + 1)))

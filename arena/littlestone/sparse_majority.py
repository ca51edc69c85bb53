"""A conservative learner that predicts with the majority of few concepts of the class."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import Unsupported
from arena.littlestone.automaton import Compiled, compiled
from arena.littlestone.concept_sets import ConceptSets, concept_sets

MOST_POINTS = 2**10
MOST_LOOKS = 2**20  # at a point of a set of concepts
MOST_PROGRAMMES = 2**12  # each takes some milliseconds
MOST_NODES = 10_000  # of the search tree of one
_INFEASIBLE = 2  # scipy's status

Members = tuple[int, ...]


@attrs.frozen(eq=False)
class SparseMajority(Compiled):
    """The automaton of `sparse_majority`.

    members: for each state the concepts whose majority it predicts, an odd number, by their numbers among
    the distinct labellings of the domain, with repeats; none for the dead state.
    """

    members: tuple[Members, ...]

    @property
    def most_members(self) -> int:
        """m: the largest number of concepts that a state takes."""
        return max(map(len, self.members))


def sparse_majority(concept_class: ConceptClass) -> SparseMajority:
    """The learner with the best mistake bound among those that predict with majorities of concepts.

    After Hanneke, Livni, Moran, Online Learning with Simple Predictors (COLT 2021), who show that O(Ldim)
    mistakes and O(VC*) concepts suffice (Lemma E.9 of Li, Wang, Ye). Their learner rests on a minimax
    argument; on a finite class the least budget of mistakes can be worked out outright, as here.

    The state is the set V of concepts that agree with all mistakes so far. Its budget M(V) is the least M
    for which some majority f of concepts of the class, consistent or not, leaves to every mistake a set of a
    smaller budget: wherever f(x) = b, the concepts in V that label x with 1 - b are none, or fewer than V
    and of a budget below M. Labels are *forced* where one side of V fails this. What f predicts elsewhere is
    free, and among the f that agree with what is forced one with the fewest concepts is taken: the solution
    of an integer programme, counts c ≥ 0 of least sum with Σ_h c_h·(±1 as h agrees) ≥ 1 at each forced point,
    which has one if and only if a weighting of the concepts has a majority there.

    What holds, for what is computed: each prediction is the majority of the members, an odd number of at
    most `most_members`; a realizable game has at most `mistakes`, exactly, for the longest way is computed;
    and `mistakes` = M(H), so that no deterministic learner that predicts with majorities of concepts of H,
    of however many, promises less. Members are as few as its budget allows in each state by itself; where the
    search for the fewest is cut short (after `MOST_NODES` nodes), few.

    Raises: Unsupported if the domain is not finite or the class too large.
    """
    return _learner(concept_class)


@lru_cache(maxsize=32)
def _learner(concept_class: ConceptClass) -> SparseMajority:
    points = len(concept_class.domain or ())
    if points > MOST_POINTS:
        raise Unsupported(
            f"sparse majorities are worked out for up to {MOST_POINTS:,} points, and {concept_class} has "
            f"{points:,}",
            remedy="Choose a smaller domain.",
        )
    budgets = _Budgets(concept_sets(concept_class))
    members: list[Members] = []

    def predict(sets: ConceptSets, concepts: int) -> np.ndarray:
        members.append(budgets.best(concepts))
        return majority(sets.labels, members[-1])

    tables = compiled(concept_class, predict)
    fields = {field.name: getattr(tables, field.name) for field in attrs.fields(Compiled)}
    return SparseMajority(**fields, members=(*members, ()))


def majority(labels: np.ndarray, members: Members) -> np.ndarray:
    """(points,) bool: what most of the members say; 0 if there are none."""
    return np.asarray(2 * labels[list(members)].sum(axis=0) > len(members))


class _Budgets:
    """The least budgets of sets of concepts, as far as they were asked for, and who keeps them."""

    def __init__(self, sets: ConceptSets) -> None:
        self._sets = sets
        self._low: dict[int, int] = {}
        self._kept: dict[int, tuple[int, Members]] = {}
        self._majorities = _Majorities(sets)

    def best(self, concepts: int) -> Members:
        """Whose majority keeps the least budget of a set."""
        budget = self._at_least(concepts)
        while not self._keeps(concepts, budget):
            budget += 1
        return self._kept[concepts][1]

    def _keeps(self, concepts: int, budget: int) -> bool:
        """Whether some majority keeps the budget."""
        if concepts in self._kept and self._kept[concepts][0] <= budget:
            return True
        if budget < self._at_least(concepts):
            return False
        members = self._keeper(concepts, budget)
        if members is None:
            self._low[concepts] = budget + 1
            return False
        self._kept[concepts] = budget, members
        return True

    def _at_least(self, concepts: int) -> int:
        """A lower bound on the budget: what is known, or the Littlestone dimension."""
        if concepts not in self._low:
            most = MOST_LOOKS // len(self._sets.ones)
            if len(self._low) >= most:
                raise Unsupported(
                    f"sparse majorities of {self._sets.name} take budgets of more than {most:,} sets of "
                    "concepts",
                    remedy="Choose a smaller domain.",
                )
            self._low[concepts] = self._sets.dimension(concepts)
        return self._low[concepts]

    def _keeper(self, concepts: int, budget: int) -> Members | None:
        """Whose majority keeps the budget, or None.

        Only labels that a majority gave in vain become forced, so that few sides must be looked at.
        """
        forced: dict[int, bool] = {}
        while True:
            members = self._majorities.fewest(forced)
            if members is None:
                return None
            predicted = majority(self._sets.labels, members)
            wrong = [
                point
                for point, ones in enumerate(self._sets.ones)
                if not self._fine(concepts, concepts & (~ones if predicted[point] else ones), budget)
            ]
            if not wrong:
                return members
            if any(point in forced for point in wrong):
                return None
            forced |= {point: not predicted[point] for point in wrong}

    def _fine(self, concepts: int, side: int, budget: int) -> bool:
        """Whether a mistake that leaves this side of a set is within its budget."""
        return not side or (side != concepts and self._keeps(side, budget - 1))


class _Majorities:
    """The smallest majorities that give points the labels that are forced."""

    def __init__(self, sets: ConceptSets) -> None:
        self._sets = sets
        self._known: dict[tuple[tuple[int, bool], ...], Members | None] = {}
        self._programmes = 0

    def fewest(self, forced: dict[int, bool]) -> Members | None:
        """An odd number of concepts, as few as will do; None if there are none."""
        key = tuple(sorted(forced.items()))
        if key not in self._known:
            alone = self._sets.all
            for point, label in key:
                alone &= self._sets.ones[point] if label else ~self._sets.ones[point]
            self._known[key] = ((alone & -alone).bit_length() - 1,) if alone else self._solved(key)
        return self._known[key]

    def _solved(self, forced: tuple[tuple[int, bool], ...]) -> Members | None:
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and seldom needed

        self._programmes += 1
        if self._programmes > MOST_PROGRAMMES:
            raise Unsupported(
                f"sparse majorities of {self._sets.name} take more than {MOST_PROGRAMMES:,} integer "
                "programmes",
                remedy="Choose a smaller domain.",
            )
        points, labels = (list(part) for part in zip(*forced, strict=True))
        agrees = np.where(self._sets.labels[:, points] == labels, 1.0, -1.0).T
        ones = np.ones(agrees.shape[1])
        found = milp(
            ones,
            constraints=LinearConstraint(agrees, lb=1.0),
            integrality=ones,
            bounds=Bounds(0.0, np.inf),
            options={"node_limit": MOST_NODES},
        )
        if found.status == _INFEASIBLE:
            return None
        if found.x is None:
            raise Unsupported(
                f"an integer programme of {self._sets.name} with {len(points)} forced points found nothing "
                f"in {MOST_NODES:,} nodes",
                remedy="Choose a smaller domain.",
            )
        members = np.repeat(np.arange(len(ones)), np.rint(found.x).astype(int))
        # An even number agrees with a margin of 2 at least: one more than it needs.
        members = members[: len(members) - (len(members) + 1) % 2]
        assert (majority(self._sets.labels, tuple(members))[points] == labels).all()
        return tuple(map(int, members))

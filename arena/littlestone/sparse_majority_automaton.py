"""A conservative learner that predicts with the majority of few concepts of the class."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import Unsupported
from arena.littlestone.automaton import TableAutomaton, compile_automaton
from arena.littlestone.concept_sets import ConceptSets, concept_sets

MAX_POINTS = 2**10
MAX_LOOKUPS = 2**20  # sets of concepts × points
MAX_PROGRAMMES = 2**12  # integer programmes, some milliseconds each
MAX_NODES = 10_000  # of the search tree of one integer programme
_INFEASIBLE = 2  # scipy's status

Members = tuple[int, ...]


@attrs.frozen(eq=False)
class SparseMajorityAutomaton(TableAutomaton):
    """The automaton of `sparse_majority`. members: for each state the concepts whose majority it predicts, as
    indices of the distinct labellings of the domain; an odd number, with repeats, none for the dead state."""

    members: tuple[Members, ...]

    @property
    def most_members(self) -> int:
        """m: the largest number of members of a state."""
        return max(map(len, self.members))


@lru_cache(maxsize=32)
def sparse_majority(concept_class: ConceptClass) -> SparseMajorityAutomaton:
    """The learner with the least mistake bound among those that predict with majorities of concepts.

    After Hanneke, Livni, Moran, Online Learning with Simple Predictors (COLT 2021), who show that O(Ldim)
    mistakes and O(VC*) members suffice (Lemma E.9 of Li, Wang, Ye). Here integer programmes find the members,
    instead of a minimax argument: docs/proofs/sparse_majority.md.

    Each prediction is the majority of an odd number of members, in each state as few as the bound allows
    unless a search was cut short after `MAX_NODES` nodes. Raises: Unsupported if the domain is not finite or
    the class is too large.
    """
    points = len(concept_class.domain or ())
    if points > MAX_POINTS:
        raise Unsupported(
            f"sparse majorities are supported for up to {MAX_POINTS:,} points, and {concept_class} has "
            f"{points:,}",
            remedy="Choose a smaller domain.",
        )
    budgets = _MistakeBudgets(concept_sets(concept_class))
    members: list[Members] = []

    def predict(sets: ConceptSets, concepts: int) -> np.ndarray:
        members.append(budgets.best_members(concepts))
        return majority(sets.labels, members[-1])

    automaton = compile_automaton(concept_class, predict)
    fields = {field.name: getattr(automaton, field.name) for field in attrs.fields(TableAutomaton)}
    return SparseMajorityAutomaton(**fields, members=(*members, ()))


def majority(labels: np.ndarray, members: Members) -> np.ndarray:
    """(points,) bool: the majority vote of the members; 0 if there are none."""
    return np.asarray(2 * labels[list(members)].sum(axis=0) > len(members))


class _MistakeBudgets:
    """The least mistake budgets of sets of concepts, computed on demand, with majorities that keep them."""

    def __init__(self, sets: ConceptSets) -> None:
        self._sets = sets
        self._lower_bounds: dict[int, int] = {}
        self._best: dict[int, tuple[int, Members]] = {}
        self._majorities = _SmallestMajorities(sets)

    def best_members(self, concepts: int) -> Members:
        budget = self._lower_bound(concepts)
        while not self._can_keep(concepts, budget):
            budget += 1
        return self._best[concepts][1]

    def _can_keep(self, concepts: int, budget: int) -> bool:
        if concepts in self._best and self._best[concepts][0] <= budget:
            return True
        if budget < self._lower_bound(concepts):
            return False
        members = self._find_members(concepts, budget)
        if members is None:
            self._lower_bounds[concepts] = budget + 1
            return False
        self._best[concepts] = budget, members
        return True

    def _lower_bound(self, concepts: int) -> int:
        """A lower bound on the least budget; at first the Littlestone dimension."""
        if concepts not in self._lower_bounds:
            max_sets = MAX_LOOKUPS // len(self._sets.ones)
            if len(self._lower_bounds) >= max_sets:
                raise Unsupported(
                    f"sparse majorities of {self._sets.name} need the budgets of more than {max_sets:,} sets "
                    "of concepts",
                    remedy="Choose a smaller domain.",
                )
            self._lower_bounds[concepts] = self._sets.dimension(concepts)
        return self._lower_bounds[concepts]

    def _find_members(self, concepts: int, budget: int) -> Members | None:
        forced: dict[int, bool] = {}
        while True:
            members = self._majorities.find(forced)
            if members is None:
                return None
            predicted = majority(self._sets.labels, members)
            wrong = [
                point
                for point, ones in enumerate(self._sets.ones)
                if not self._within(concepts, concepts & (~ones if predicted[point] else ones), budget)
            ]
            if not wrong:
                return members
            if any(point in forced for point in wrong):
                return None
            forced |= {point: not predicted[point] for point in wrong}

    def _within(self, concepts: int, side: int, budget: int) -> bool:
        return not side or (side != concepts and self._can_keep(side, budget - 1))


class _SmallestMajorities:
    def __init__(self, sets: ConceptSets) -> None:
        self._sets = sets
        self._cache: dict[tuple[tuple[int, bool], ...], Members | None] = {}
        self._programmes = 0

    def find(self, forced: dict[int, bool]) -> Members | None:
        """An odd number of concepts, as few as possible; None if no majority has the forced labels."""
        key = tuple(sorted(forced.items()))
        if key not in self._cache:
            consistent = self._sets.all
            for point, label in key:
                consistent &= self._sets.ones[point] if label else ~self._sets.ones[point]
            one_member = ((consistent & -consistent).bit_length() - 1,)
            self._cache[key] = one_member if consistent else self._solve(key)
        return self._cache[key]

    def _solve(self, forced: tuple[tuple[int, bool], ...]) -> Members | None:
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and rarely needed

        self._programmes += 1
        if self._programmes > MAX_PROGRAMMES:
            raise Unsupported(
                f"sparse majorities of {self._sets.name} need more than {MAX_PROGRAMMES:,} integer "
                "programmes",
                remedy="Choose a smaller domain.",
            )
        points, labels = (list(part) for part in zip(*forced, strict=True))
        agrees = np.where(self._sets.labels[:, points] == labels, 1.0, -1.0).T
        ones = np.ones(agrees.shape[1])
        solution = milp(
            ones,
            constraints=LinearConstraint(agrees, lb=1.0),
            integrality=ones,
            bounds=Bounds(0.0, np.inf),
            options={"node_limit": MAX_NODES},
        )
        if solution.status == _INFEASIBLE:
            return None
        if solution.x is None:
            raise Unsupported(
                f"an integer programme of {self._sets.name} with {len(points)} forced points has no solution "
                f"within {MAX_NODES:,} nodes",
                remedy="Choose a smaller domain.",
            )
        members = np.repeat(np.arange(len(ones)), np.rint(solution.x).astype(int))
        # The margin of an even number of members is at least 2, so one of them can be dropped.
        members = members[: len(members) - (len(members) + 1) % 2]
        assert (majority(self._sets.labels, tuple(members))[points] == labels).all()
        return tuple(map(int, members))

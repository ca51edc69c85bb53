"""A script to begin with: the best adversary of a small game, which the solver computes, in a few rounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, permutations
from math import exp

import attrs
import numpy as np

from arena import ArenaError, Claim, Learner, PrivacyUnit, Sample
from arena.players import finite_domain
from audits.adversary_search.protocols.query_scripts import Ask
from audits.adversary_search.script import SPACES, Point, Script, as_point
from audits.exact_loss.exact_audit import check_declared_law
from audits.exact_loss.view_laws import view_law
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.choice_of_samples import pose_samples
from audits.solver.game_value import END, GameSolution, extract_decisions
from audits.solver.linear_game import drop_dominated

_MOST_EXAMPLES = 32  # of a sample, since the solver asks a query between any two
_ROUNDS = 3  # of the game that is solved
_MOST_PATHS = 8  # of its best adversary


@attrs.frozen
class SolvedStart:
    """A script, and by how much the δ that it needs at the claim's ε exceeds that of the claim."""

    script: Script
    excess: float

    def rate(self, claim: Claim) -> float:
        """The evidence that a pair of games brings, at least, in nats: a quarter of the squared z-score."""
        return self.excess**2 / (1 + exp(2 * claim.epsilon))


@lru_cache(maxsize=64)
def find_solved_start(learner: Learner, protocol: str, claim: Claim) -> SolvedStart | None:
    """The script with the largest excess, exact by the learner's distribution; None if nothing exceeds the
    claim, or its games do not follow that distribution.

    Samples have one example at each of some points of a line, labelled 1 but for the first of one world. The
    script asks the queries of the best adversary of three rounds along one of its paths.
    """
    size = learner.sample_size
    if Ask not in SPACES[protocol].steps or PrivacyUnit.TRAINING_EXAMPLE not in learner.claim.protects:
        return None
    if size is None or size > _MOST_EXAMPLES or learner.point_shape or finite_domain(learner) is not None:
        return None
    try:
        scripts = list(_list_scripts(learner, protocol, claim, size))
    except ArenaError:  # the learner declares no distribution, or the game is too large
        return None
    starts = [SolvedStart(script, _compute_excess(learner, script, claim)) for script in scripts]
    best = max(starts, key=lambda start: start.excess, default=None)
    if best is None or best.excess <= 0:
        return None
    try:
        check_declared_law(learner, best.script, best.script.referee)
    except ArenaError:  # what was computed says nothing of this learner's games
        return None
    return best


def _list_scripts(learner: Learner, protocol: str, claim: Claim, size: int) -> Iterator[Script]:
    low, high = learner.domain or (0.0, 1.0)
    points, ones = np.linspace(low, high, size), np.ones(size, int)
    samples = Sample(points, ones), Sample(points, np.arange(size) > 0)
    for world_0, world_1 in permutations(samples):
        for queries in _solve_game(learner, world_0, world_1, claim):
            steps = tuple(Ask(point, len(list(group))) for point, group in groupby(queries))
            yield Script(protocol=protocol, world_0=world_0, world_1=world_1, steps=steps)


def _solve_game(learner: Learner, world_0: Sample, world_1: Sample, claim: Claim) -> list[tuple[Point, ...]]:
    """The queries of the best adversary along each of its paths; none if the claim's δ is enough."""
    game, moves, _ = pose_samples(learner, world_0, world_1).build(_ROUNDS)
    smaller, kept = drop_dominated(game)
    solution = GameSolution(BeliefGraph(smaller, np.array([claim.epsilon]), GraphLimits()))
    graph = extract_decisions(solution, 0) if solution.root.lower()[0] > claim.delta else None
    if graph is None:
        return []
    asked = [as_point(moves.points[kept[move], 0]) for move in graph.move]
    paths: list[tuple[int, ...]] = [(0,)]
    complete = []
    for path in paths:  # the list grows while it is traversed
        following = {*graph.after[path[-1]].tolist()} - {END}
        paths += [(*path, node) for node in following]
        if not following:
            complete.append(tuple(asked[node] for node in path))
    return list(dict.fromkeys(complete))[:_MOST_PATHS]


def _compute_excess(learner: Learner, script: Script, claim: Claim) -> float:
    """0 if the distribution of its views is unknown or too large."""
    try:
        law = view_law(learner, script, script.referee)
    except ArenaError:
        return 0.0
    return law.loss.delta(claim.epsilon).lower - claim.delta

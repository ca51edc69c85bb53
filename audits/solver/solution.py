"""`solve`: how much the best adaptive adversary of a game learns, from below and from above."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum

import attrs
import numpy as np

from arena import Claim, Learner, Sample
from arena.settings import at_least, check_value, less_than, whole
from audits.registry.tested_claim import read_claim
from audits.solver.answer_games import answer_game
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution
from audits.solver.linear_game import drop_dominated

TOLERANCE = 1e-12  # a δ is proved or refuted up to this much: it cannot be told from rounding
_FAR = 12.0  # ε above which the curve is not drawn, as all of interest is far below
_CURVE = 16  # further ε at which the curve is computed
ROUNDING = 2.0**-49  # of a probability, for each round and outcome: sixteen times the unit of rounding


class Outcome(StrEnum):
    """What a solved game says about a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"


@attrs.frozen
class CurvePoint:
    """δ*(ε), the least δ for which ε holds against every adversary of the game, is in [lower, upper]."""

    epsilon: float
    lower: float
    upper: float


@attrs.frozen(kw_only=True, eq=False)
class Solution:
    """How much the best adversary of a game learns.

    learner: its name. rounds: T. queries: how many ways there are to query. claim: under test. outcome:
    whether the claim is proved for these two samples against every adversary of at most T queries, refuted,
    or neither. curve: at increasing ε, the claim's among them, where it is finite. rounding: an allowance in
    every bound for the errors of floating point.
    """

    learner: str
    rounds: int
    queries: int
    claim: Claim
    outcome: Outcome
    curve: tuple[CurvePoint, ...]
    rounding: float


def solve(
    learner: Learner,
    samples: Sequence[Sample],
    points: np.ndarray,
    *,
    rounds: int,
    epsilons: Sequence[float],
    limits: GraphLimits | None = None,
    watch: Callable[[str, int, int], None] | None = None,
) -> Solution:
    """Solve the game in which two neighbouring samples are given and up to T of the points are queried.

    watch: receives a stage of the computation, how much of it is done, and the whole.

    Raises: InvalidArgument if a number is out of range; Unsupported if the learner tells no distribution of
        answers, or the game is too large.
    """
    check_value("rounds", rounds, whole, at_least(1))
    for epsilon in epsilons:
        check_value("epsilon", epsilon, at_least(0), less_than(math.inf))
    claim = read_claim(learner)
    given = {*map(float, epsilons), *([claim.epsilon] if math.isfinite(claim.epsilon) else [])}
    drawn = np.linspace(0, max(1.0, min(max(given, default=0), _FAR)), _CURVE)
    wanted = sorted(given.union(drawn.tolist()))
    game, _ = answer_game(learner, samples, points, rounds)
    game, _ = drop_dominated(game)
    lower, upper = np.zeros(len(wanted)), np.zeros(len(wanted))
    for direction in (game,) if game.is_symmetric else (game, game.exchanged):
        graph = BeliefGraph(
            direction,
            np.array(wanted),
            limits or GraphLimits(),
            watch=None if watch is None else lambda done, _: watch("rounds", done, rounds),
        )
        root = GameSolution(graph, watch=None if watch is None else lambda *done: watch("values", *done)).root
        lower, upper = np.maximum(lower, root.lower()), np.maximum(upper, root.values.upper)
    # Both bounds are differences of probabilities, each a sum of products.
    rounding = ROUNDING * rounds * len(game.halts)
    lower, upper = np.maximum(lower - rounding, 0), np.minimum(upper + rounding, 1)
    upper = np.minimum.accumulate(upper)  # δ*(ε) decreases, and errors of merging grow with e^ε
    curve = tuple(CurvePoint(*map(float, point)) for point in zip(wanted, lower, upper, strict=True))
    return Solution(
        learner=learner.name,
        rounds=rounds,
        queries=game.moves,
        claim=claim,
        outcome=_judge(claim, curve),
        curve=curve,
        rounding=rounding,
    )


def _judge(claim: Claim, curve: Sequence[CurvePoint]) -> Outcome:
    own = [point for point in curve if point.epsilon == claim.epsilon]
    if own and own[0].lower > claim.delta + TOLERANCE:
        return Outcome.REFUTED
    return Outcome.PROVED if own and own[0].upper <= claim.delta + TOLERANCE else Outcome.OPEN

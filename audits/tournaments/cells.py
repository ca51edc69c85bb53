"""One pair of a tournament: its plan, its games, its figures, and the ledger that stores them.

A game of two worlds is an audit, with exact figures where they are quickly found; others are races.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from functools import cached_property
from hashlib import sha256
from typing import Any, Self

import attrs
import numpy as np
from attrs.validators import in_, instance_of, optional

from arena import Adversary, ArenaError, GameAdversary, LearnerFails, Moves, Sample, Unsupported, play
from arena.errors import (
    RAISED,
    BudgetExceeded,
    InternalError,
    InvalidArgument,
    MissingPackage,
    NothingTested,
    ProtocolViolation,
    describe_error,
)
from audits.races.race import Race
from audits.races.race_result import run_race
from audits.registry.families import find_family
from audits.registry.match import Match
from audits.runs.blocks import choose_distinguisher
from audits.runs.ledger import Store
from audits.runs.plan import Plan, describe
from audits.runs.run import run

AUDITED, RACED, REFUSED, FAILED = "audited", "raced", "refused", "failed"
NOT_INSTALLED = "not installed"  # a package that a player needs
OUTCOMES = (AUDITED, RACED, REFUSED, FAILED, NOT_INSTALLED)
REFERENCE_EPSILON = 1.0  # nats, against which learners without a claim are tested
MAX_NUMBERS = 10**7  # coordinates of examples and queries in one game: a second or two
_REFUSALS = (InvalidArgument, NothingTested, ProtocolViolation, BudgetExceeded)  # the players cannot meet
_MAX_PATHS = 2_000  # of an exact ε: a second or two
SOLVED_ROUNDS, _MAX_PAIRS = 4, 20_000  # of a game that is solved for δ*, and pairs of beliefs in it


def _number() -> Any:
    return attrs.field(default=None, validator=optional(instance_of(float)))


def _text() -> Any:
    return attrs.field(default="", validator=instance_of(str))


@attrs.frozen(kw_only=True)
class CellResult:
    """The figures of a cell. All but `seconds` depend on the plan of the cell alone.

    reason: why the pair was refused, what a player raised, or which package it needs.
    epsilon_lower, ceiling: as of `Verdict`.
    refuted: whether the claim is false; of a race, whether a promised bound is violated.
    exact: the exact ε of the adversary's view at the δ under test (nats; may be infinite), if it is known.
    delta_star: δ*, the least δ at the claim's ε that holds against every adversary of at most four rounds on
        the adversary's samples, where that game is solved. mean: of mistakes or regret.
    """

    outcome: str = attrs.field(validator=in_(OUTCOMES))
    reason: str = _text()
    epsilon_lower: float | None = _number()
    ceiling: float | None = _number()
    refuted: bool = attrs.field(default=False, validator=instance_of(bool))
    exact: float | None = _number()
    exact_reason: str = _text()
    delta_star: float | None = _number()
    delta_star_reason: str = _text()
    mean: float | None = _number()
    seconds: float = attrs.field(default=0.0, eq=False, validator=instance_of(float))

    @property
    def pairs(self) -> int:
        """The number of cells, as a ledger counts."""
        return 1

    @classmethod
    def of_error(cls, error: BaseException) -> Self:
        """The cell of players that cannot meet, or of which one has a fault. Raises: InternalError."""
        if isinstance(error, InternalError):
            raise error
        if isinstance(error, MissingPackage) or isinstance(error.__cause__, MissingPackage):
            return cls(outcome=NOT_INSTALLED, reason=str(error))
        own_fault = error.__cause__ is not None and not isinstance(error.__cause__, ArenaError)
        outcome = REFUSED if isinstance(error, _REFUSALS) and not own_fault else FAILED
        return cls(outcome=outcome, reason=explain(error))

    def to_bytes(self) -> bytes:
        """A canonical encoding, which keeps every float."""
        return json.dumps(attrs.asdict(self), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """The inverse of `to_bytes`; raises InvalidArgument for any other bytes."""
        try:
            result = cls(**json.loads(blob))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument("these bytes encode no cell of a tournament") from error
        if result.to_bytes() != blob:
            raise InvalidArgument("these bytes encode a cell of a tournament in another way")
        return result


class TournamentLedger(Store[CellResult]):
    """The ledger of a tournament, with a block for each cell."""

    def decode(self, blob: bytes) -> CellResult:
        return CellResult.from_bytes(blob)

    @cached_property
    def sizes(self) -> list[int]:
        return [1] * len(self.plan["tournament"])


@attrs.frozen(kw_only=True, eq=False)
class Cell:
    """A learner and an adversary that play a protocol in common.

    location: of the learner's class, "module:Class". family: that of the learner.
    game: None if there is a refusal, which is the result. claim_epsilon, claim_delta: None without a claim.
    command: the line that plays the cell again; empty for players that are given as objects.
    """

    learner: str
    adversary: str
    protocol: str
    games: int
    seed: int
    location: str
    game: Match | Race | None = None
    refusal: CellResult | None = None
    claim: str = ""
    claim_epsilon: float | None = None
    claim_delta: float | None = None
    command: str = ""

    @property
    def epsilon(self) -> float:
        """ε of the claim under test (nats), a reference if there is none."""
        return REFERENCE_EPSILON if self.claim_epsilon is None else self.claim_epsilon

    @property
    def family(self) -> str:
        return find_family(self.location)

    @property
    def quantity(self) -> str:
        """What is counted: mistakes or regret; empty if the cell is an audit."""
        return self.game.quantity if isinstance(self.game, Race) else ""

    def describe(self) -> dict[str, object]:
        """What the figures of the cell depend on; its players and their settings as a digest."""
        game: Any = self.game.entrants[0] if isinstance(self.game, Race) else self.game
        players = [] if game is None else [game.learner, game.adversary, game.referee]
        text = json.dumps([describe(player) for player in players], sort_keys=True)
        digest = sha256(text.encode()).hexdigest()[:16]
        return {"games": self.games, "seed": self.seed, "players": digest}

    def __str__(self) -> str:
        return f"{self.learner} against {self.adversary}"


def play_cell(cell: Cell, confidence: float) -> CellResult:
    """The figures of a cell: the same as those of its command. An exception of a player is part of them."""
    start = time.perf_counter()
    if cell.game is None:
        assert cell.refusal is not None
        return cell.refusal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearnerFails)
            if isinstance(cell.game, Race):
                race = run_race(cell.game)
                mean = float(race.standings[0].mean[-1])
                result = CellResult(outcome=RACED, mean=mean, refuted=race.broken)
            else:
                result = _audit(cell, cell.game, confidence)
    except RAISED as error:
        result = CellResult.of_error(error)
    return attrs.evolve(result, seconds=time.perf_counter() - start)


def _audit(cell: Cell, match: Match, confidence: float) -> CellResult:
    players: Any = {name: getattr(match, name) for name in ("learner", "adversary", "referee")}
    if not isinstance(match.adversary, GameAdversary):  # a first game, to refuse those that are too large
        measured = _MeasuredAdversary(match.adversary, match.adversary.name, match.adversary.protocols)
        play(match.learner, measured, match.referee, games=1, seed=0)
    plan = Plan(
        **players,
        epsilon=cell.epsilon,
        delta=cell.claim_delta or 0.0,
        confidence=confidence,
        games=cell.games,
        seed=cell.seed,
        distinguisher=choose_distinguisher(**players),
    )
    verdict = run(plan)
    exact, exact_reason = _find_exact(match, plan.delta)
    delta_star, delta_star_reason = _find_delta_star(match, cell.epsilon)
    return CellResult(
        outcome=AUDITED,
        epsilon_lower=verdict.epsilon_lower,
        ceiling=verdict.ceiling,
        refuted=verdict.refuted,
        exact=exact,
        exact_reason=exact_reason,
        delta_star=delta_star,
        delta_star_reason=delta_star_reason,
    )


def _find_exact(match: Match, delta: float) -> tuple[float | None, str]:
    """The exact ε of the adversary's view at δ, or None and the reason."""
    from audits.exact_loss.exact_audit import exact  # slow to import

    try:
        audit = exact(match.learner, match.adversary, match.referee, delta=delta, max_paths=_MAX_PATHS)
    except ArenaError as error:
        return None, explain(error)
    epsilon = audit.epsilon_at.lower + 0.0  # -0 is 0
    return epsilon, "infinite" if math.isinf(epsilon) else ""


def _find_delta_star(match: Match, epsilon: float) -> tuple[float | None, str]:
    """δ*, the least δ at ε that holds against every adversary of a few rounds, or None and the reason."""
    from audits.solver.belief_graph import GraphLimits  # slow to import
    from audits.solver.choice_of_samples import pose_against
    from audits.solver.posed_games import pose_untrained
    from audits.solver.solution import TOLERANCE, solve

    try:
        posed = pose_untrained(match.learner) or pose_against(match.learner, match.adversary)
        limits = GraphLimits(pairs=_MAX_PAIRS)
        solution = solve(posed, rounds=SOLVED_ROUNDS, epsilons=(epsilon,), limits=limits, search=False)
    except ArenaError as error:
        return None, explain(error)
    (point,) = (point for point in solution.curve if point.epsilon == epsilon)
    return point.upper if point.upper > TOLERANCE else 0.0, ""


@attrs.frozen(eq=False)
class _MeasuredAdversary(Adversary):
    """Plays as the adversary does, and raises Unsupported when it has handed over too many numbers."""

    adversary: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        moves, numbers, reply = self.adversary.play(games, rng), 0, None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                return end.value
            numbers += _count_numbers(move)
            if numbers > MAX_NUMBERS:
                raise Unsupported(
                    f"a game of {self.name} hands over more than {MAX_NUMBERS:,} numbers",
                    remedy="Audit the pair by itself.",
                )
            reply = yield move


def _count_numbers(move: Any) -> int:
    if isinstance(move, Sample):
        return np.size(move.points)
    if isinstance(move, list | tuple):
        return sum(map(_count_numbers, move))
    if attrs.has(type(move)):
        return sum(_count_numbers(getattr(move, field.name)) for field in attrs.fields(type(move)))
    return np.size(move) if isinstance(move, np.ndarray) else 1


def explain(error: BaseException) -> str:
    """What an error says, without its advice."""
    if not isinstance(error, ArenaError):
        return describe_error(error)
    remedy = getattr(error, "remedy", "")
    return str(error).removesuffix(f" {remedy}").removesuffix(".") if remedy else str(error)

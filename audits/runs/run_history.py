"""The figures of a run over its games, read from its ledger without the players."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument
from audits.runs.ledger import Ledger
from audits.runs.ledger.notes import LedgerNotes
from audits.runs.plan import PlanSettings
from audits.runs.run import AuditEstimators
from audits.runs.verdict import Verdict
from audits.statistics.betting import ceilings

MAX_POINTS = 400  # of a curve; more cannot be told apart on a page


@attrs.frozen(kw_only=True, eq=False)
class RunHistory:
    """The verdict of a run and how it was reached.

    plan: as the ledger stores it. verdict: with all estimators and a duration of 0 seconds. ceilings: as of
    `ceilings`.
    Shapes, all (B + 1,), before the first and after each of B blocks: games, in each world; epsilon_lower,
    log_wealth, log_evidence, in nats, as in `AuditEstimators`. threshold: the log_evidence that refutes
    the claim.
    """

    plan: dict[str, Any]
    settings: PlanSettings
    notes: LedgerNotes
    verdict: Verdict
    games: np.ndarray
    epsilon_lower: np.ndarray
    log_wealth: np.ndarray
    log_evidence: np.ndarray
    threshold: float
    ceilings: list[tuple[int, float]]


def read_audit(ledger: Ledger) -> tuple[PlanSettings, LedgerNotes]:
    """The settings and notes of the audit in a ledger. Raises: InvalidArgument if it contains no audit."""
    try:
        return PlanSettings.read_stored(ledger.plan), LedgerNotes.from_ledger(ledger.notes, ledger.plan)
    except ValueError as error:  # also of notes that no claim can have
        raise InvalidArgument(
            f"the ledger {ledger.path} contains no audit: {error}", remedy="Give the ledger of an audit."
        ) from error


def no_games_yet(path: str | os.PathLike[str]) -> InvalidArgument:
    """The error for a ledger without blocks."""
    return InvalidArgument(
        f"the ledger {path} contains no games yet", remedy="Try again when the run has played some."
    )


Watch = Callable[[int, int], object]  # called with the blocks that are done, and all of them


def read_history(path: str | os.PathLike[str], watch: Watch | None = None) -> RunHistory:
    """Read a run from the ledger at `path`, with all blocks up to the first that is missing.

    Raises: as `read_figures`.
    """
    with Ledger.read(path) as ledger:
        plan, (settings, notes) = ledger.plan, read_audit(ledger)
        estimators = AuditEstimators(settings, all_estimators=True)
        games, epsilon_lower, log_wealth, log_evidence = _update_from_ledger(estimators, ledger, watch)
    return RunHistory(
        plan=plan,
        settings=settings,
        notes=notes,
        verdict=make_verdict(estimators, notes, plan, estimates=estimators.estimates()),
        games=games,
        epsilon_lower=epsilon_lower,
        log_wealth=log_wealth,
        log_evidence=log_evidence,
        threshold=estimators.betting.threshold,
        ceilings=ceilings(estimators.block_sizes, points=MAX_POINTS, **settings.of_betting()),
    )


def read_figures(path: str | os.PathLike[str]) -> np.ndarray:
    """(4, B + 1): the rows games, epsilon_lower, log_wealth and log_evidence of `RunHistory`.

    Raises: InvalidArgument if the ledger cannot be read or contains no audit or no first block.
    """
    with Ledger.read(path) as ledger:
        return _update_from_ledger(AuditEstimators(read_audit(ledger)[0]), ledger)


def _update_from_ledger(
    estimators: AuditEstimators, ledger: Ledger, watch: Watch | None = None
) -> np.ndarray:
    betting, rows = estimators.betting, [(0, 0.0, 0.0, 0.0)]
    blocks = 0 if watch is None else len(ledger.block_indices())

    def add_row() -> None:
        rows.append((estimators.games, betting.epsilon_lower, estimators.log_wealth, estimators.log_evidence))
        if watch is not None:
            watch(len(rows) - 1, blocks)

    estimators.update_from_ledger(ledger, watch=add_row)
    for _ in ledger.blocks(start=len(estimators.block_sizes)):
        pass  # those that no figure depends on are checked, too
    if estimators.games:
        return np.array(rows).T
    if not ledger.block_indices():
        raise no_games_yet(ledger.path)
    raise InvalidArgument(
        f"the ledger {ledger.path} lacks block 0, and the test uses the blocks in order",
        remedy="Let the run go on, or merge the ledgers of the other parts.",
    )


def make_verdict(
    estimators: AuditEstimators, notes: LedgerNotes, plan: dict[str, Any], **details: Any
) -> Verdict:
    """The verdict of estimators that were updated from a ledger, with a duration of 0 seconds."""
    return estimators.make_verdict(
        learner=notes.learner,
        adversary=notes.adversary,
        protocol=notes.protocol,
        protects=notes.protects,
        neighbours=notes.neighbours,
        interrupted=not estimators.done and estimators.games < estimators.plan.games,
        played_now=0,
        seconds=0.0,
        seed=plan.get("seed", 0),
        players=notes.summarize_players(plan),
        **details,
    )

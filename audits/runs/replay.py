"""A run read back from its ledger: every figure over the games, without any player."""

from __future__ import annotations

import os
from itertools import count
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument
from audits.runs.description import Notes
from audits.runs.estimation import Course, Numbers
from audits.runs.ledger import Ledger
from audits.runs.verdict import Verdict
from audits.statistics.ceilings import ceilings
from audits.statistics.estimates import Estimates

MOST_POINTS = 400  # more could not be told apart on a page


@attrs.frozen(kw_only=True, eq=False)
class Replay:
    """What a run has found, and how it came to.

    plan: as the ledger holds it. verdict: its clock stands at 0.
    Shapes, after each of B blocks, preceded by the beginning: games (B + 1,), in each world; epsilon_lower,
    the certified bound in nats; log_wealth, of the bets against the claim, and log_evidence, what it comes
    to, both in nats; threshold, the log_evidence at which the claim falls.
    ceilings: (games, bound in nats) of an adversary that tells the worlds apart without error.
    """

    plan: dict[str, Any]
    numbers: Numbers
    notes: Notes
    verdict: Verdict
    estimates: Estimates
    games: np.ndarray
    epsilon_lower: np.ndarray
    log_wealth: np.ndarray
    log_evidence: np.ndarray
    threshold: float
    ceilings: list[tuple[int, float]]


def read_head(ledger: Ledger) -> tuple[Numbers, Notes]:
    """What a ledger says of its audit. Raises: InvalidArgument if it holds none."""
    if "experiment" in ledger.plan:
        raise InvalidArgument(
            f"the ledger {ledger.path} holds an experiment, not an audit",
            remedy="Give it to the same arena experiment again: it goes on from there.",
        )
    try:
        return Numbers.read(ledger.plan), Notes.read(ledger.notes)
    except InvalidArgument as error:
        raise InvalidArgument(
            f"the ledger {ledger.path} holds no audit: {error}", remedy="Give the ledger of an audit."
        ) from error


def replay(path: str | os.PathLike[str]) -> Replay:
    """Read a run back from the ledger at `path`, with all blocks up to the first that is missing.

    Raises: InvalidArgument if the ledger cannot be read or holds no audit or no block.
    """
    with Ledger.read(path) as ledger:
        plan, (numbers, notes) = ledger.plan, read_head(ledger)
        course = Course(numbers, every=True)
        history = [(0, 0.0, 0.0, 0.0)]
        for index, (found, block) in zip(count(), ledger.blocks(), strict=False):
            if found != index or course.done:
                break
            course.update(block)
            betting = course.betting
            history.append(
                (course.games, betting.epsilon_lower, betting.log_wealth_now, betting.log_evidence)
            )
        if not course.games and ledger.have():
            raise InvalidArgument(
                f"the ledger {path} lacks block 0, and the test reads blocks in their order",
                remedy="Let the run go on, or merge the ledgers of the other parts.",
            )
    if not course.games:
        raise InvalidArgument(
            f"the ledger {path} holds no games yet", remedy="Let the run go on, and report on it then."
        )
    games, epsilon_lower, log_wealth, log_evidence = np.array(history).T
    return Replay(
        plan=plan,
        numbers=numbers,
        notes=named(notes, plan),
        verdict=verdict_of(course, named(notes, plan), plan),
        estimates=course.estimates(),
        games=games,
        epsilon_lower=epsilon_lower,
        log_wealth=log_wealth,
        log_evidence=log_evidence,
        threshold=course.betting.threshold,
        ceilings=ceilings(
            course.sizes, delta=numbers.delta, confidence=numbers.confidence, points=MOST_POINTS
        ),
    )


def verdict_of(course: Course, notes: Notes, plan: dict[str, Any]) -> Verdict:
    """What a course says that was fed from a ledger; its clock stands at 0."""
    return course.verdict(
        learner=notes.learner,
        adversary=notes.adversary,
        protocol=notes.protocol,
        protects=notes.protects,
        neighbours=notes.neighbours,
        interrupted=not course.done and course.games < course.numbers.games,
        played_now=0,
        seconds=0.0,
        seed=plan.get("seed", 0),
    )


def named(notes: Notes, plan: dict[str, Any]) -> Notes:
    """The notes, with names from the plan where the ledger was begun without any."""
    names = {
        field: plan[role]["class"].rpartition(":")[2]
        for role, field in (("learner", "learner"), ("adversary", "adversary"), ("referee", "protocol"))
        if not getattr(notes, field) and isinstance(plan.get(role), dict) and "class" in plan[role]
    }
    return attrs.evolve(notes, **names)

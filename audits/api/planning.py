"""From what users ask to the plan of an audit, for Python and for the command line."""

from __future__ import annotations

from arena import PlayerError
from arena.privacy_curves import PrivacyCurve
from audits.registry.match import Match
from audits.registry.tested_claim import resolve_claim, resolve_curve
from audits.runs.blocks import choose_distinguisher
from audits.runs.first_games import fails_sometimes
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan

GAMES = 100_000
MAX_GAMES_UNTIL_REFUTED = 10_000_000
_NOTES_WITHOUT_SCORE = {
    LEARNED: "{} returns no score, so a distinguisher is learned from the games",
    LIKELIHOOD: "{} returns no score, so the likelihood ratio distinguishes the worlds",
}


def plan_audit(
    match: Match,
    *,
    epsilon: float | None,
    delta: float | None,
    curve: PrivacyCurve | str | None = None,
    games: int | None,
    until_refuted: bool,
    confidence: float,
    distinguisher: str | None,
    faults: bool,
    seed: int,
    option: str = "--epsilon, in nats",
) -> tuple[Plan, tuple[str, ...]]:
    """The plan of an audit of a match, and what the user should know about how it was chosen.

    epsilon, delta, games, distinguisher: None for the defaults, the learner's own claim among them. curve: to
    test in its place, or a text that names one. option: how the user names an ε. The rest is as in `Plan`. A
    learner that raises in some games, but not in all, is audited with `faults`.

    Raises: InvalidArgument as `Plan` and `resolve_claim` do; whatever `arena.play` raises in a first game.
    """
    notes: tuple[str, ...] = ()
    if distinguisher is None:
        players = match.learner, match.adversary, match.referee
        try:
            distinguisher = choose_distinguisher(*players, faults=faults)
        except PlayerError as error:
            if faults or not fails_sometimes(*players, error):
                raise
            faults, distinguisher = True, choose_distinguisher(*players, faults=True)
            notes = (f"{error}, which the adversary sees (faults)",)
        if distinguisher != SCORE:
            notes += (_NOTES_WITHOUT_SCORE[distinguisher].format(match.adversary.name),)
    curve, epsilon, delta = resolve_curve(curve, epsilon, delta, match.learner)
    epsilon, delta = resolve_claim(match.learner, epsilon, delta, option=option)
    if games is None:
        games = MAX_GAMES_UNTIL_REFUTED if until_refuted else GAMES
    plan = Plan(
        learner=match.learner,
        adversary=match.adversary,
        referee=match.referee,
        epsilon=epsilon,
        delta=delta,
        given_curve=curve,
        confidence=confidence,
        games=games,
        until_refuted=until_refuted,
        seed=seed,
        distinguisher=distinguisher,
        faults=faults,
    )
    return plan, notes

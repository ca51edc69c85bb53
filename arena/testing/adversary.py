"""Conformance checks of adversaries."""

from __future__ import annotations

from arena.engine import Played
from arena.errors import NotConforming
from arena.players import Adversary, GameAdversary, Learner
from arena.referees import Referee
from arena.testing.configuration import check_configuration
from arena.testing.fresh_coins import check_repeats, forbid_global_randomness
from arena.testing.independence import check_games_independent, check_plays_alike


def check_adversary(adversary: Adversary, learner: Learner, referee: Referee, *, games: int = 8) -> None:
    """Check an adversary in a few games against `learner`.

    games: in a batch that checks whether they are independent; an audit gives the size of its blocks.

    Raises: NotConforming, of the learner if the fault is its; whatever a referee raises in a game.
    """
    # A frozen, hashable attrs class that can be pickled, with a name and known protocols.
    check_configuration(adversary, "adversary")
    # Legal moves, and the same game for the same random numbers; nothing from global generators.
    if learner.own_coins:
        played = forbid_global_randomness(
            adversary.name, lambda: check_plays_alike(adversary, learner, referee)
        )
    else:
        played = _check_repeats(adversary, learner, referee)
    # A score in every game or in none, as declared.
    if played is not None:
        _check_returns_score(adversary, played)
    # Independent games; otherwise an audit would certify too much.
    if not referee.one_run:  # whose canaries are scored together
        check_games_independent(adversary, learner, referee, games=games)


def _check_repeats(adversary: Adversary, learner: Learner, referee: Referee) -> Played:
    """Check that the games repeat, and blame the learner if the adversary repeats on recorded replies."""
    try:
        return check_repeats(learner, adversary, referee, adversary.name)
    except NotConforming as error:
        if isinstance(adversary, GameAdversary) or not _plays_alike(adversary, learner, referee):
            raise
        hint = "" if "global" in error.rule else " (a function of yours may draw its own, with coins=own)"
        raise NotConforming(learner.name, error.rule, error.got + hint) from error


def _plays_alike(adversary: Adversary, learner: Learner, referee: Referee) -> bool:
    try:
        check_plays_alike(adversary, learner, referee)
    except NotConforming:
        return False
    return True


def _check_returns_score(adversary: Adversary, played: Played) -> None:
    declared, scored = adversary.returns_score, played.score is not None
    if declared not in (None, scored):
        raise NotConforming(
            adversary.name,
            "returns_score says whether play returns a score",
            f"returns_score is {declared}, but play returned {'a' if scored else 'no'} score",
        )

"""One pair of games, written out side by side: what a learner and an adversary did in either world."""

from __future__ import annotations

import numpy as np

from arena.engine import Played


def side_by_side(played: Played) -> str:
    """A recorded table as text, world 0 first: the training sets, the rounds, what came of each game, and in
    what the worlds differ. Games that were played alone stand below each other.

    Raises: AssertionError if the table was not recorded.
    """
    tables = sorted(played.alone, key=lambda one: bool(one.worlds[0])) or [played]
    return "\n\n".join(_table(one) for one in tables)


def _table(played: Played) -> str:
    assert played.transcript is not None
    order = [int(game) for game in np.argsort(played.worlds, kind="stable")]
    outcomes = [f"world {int(played.worlds[game])}: {_outcome(played, game)}" for game in order]
    differ = " and ".join(sorted(played.challenges))
    outcomes.append(f"The worlds differ in {differ}." if differ else "The worlds do not differ.")
    return played.transcript.table(*order) + "\n\n" + "\n".join(outcomes)


def _outcome(played: Played, game: int) -> str:
    parts = ["no score" if played.score is None else f"score {played.score[game]:.6g}"]
    if played.failed is not None and played.failed[game]:
        parts.append("the learner failed")
    if played.halted is not None:
        parts.append("the learner halted" if played.halted[game] else "the learner did not halt")
    if played.mistakes is not None:
        parts.append(f"{played.mistakes[game]} mistakes in {played.rounds} rounds")
    return ", ".join(parts)

"""Whether a learner plays as the output distribution says that it declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arena import Adversary, Learner, Played, Referee, Sample, ValueLaw, play
from arena.referees.transcript import QueryEntry, TrainingEntry
from arena.replies import list_answers
from arena.testing import RATE
from arena.testing.law_checks import check_answers, check_values
from arena.testing.probe import Probe

_GAMES = 4_000  # in each world
_MAX_QUERIES = 64  # of a game that are compared


def check_declared_law(learner: Learner, adversary: Adversary, referee: Referee) -> None:
    """Check that the learner's games follow its output distribution, in both worlds of an adversary.

    The learner is trained on the adversary's samples and, under Figure1 and Voting, asked what the adversary
    asked in one game. A subclass may inherit `law` and change the answers; then no figure computed from it
    holds.

    Raises: NotConforming; Unsupported if it declares none; whatever a referee raises in a game.
    """
    worlds = np.array([False, True])
    played = play(learner, adversary, referee, games=2, seed=0, worlds=worlds, record=True)
    for world in range(2):
        sample, points = _read_game(played, world)
        if sample is None:
            continue
        law = learner.law(sample)
        probe = Probe(sample, points[:_MAX_QUERIES], referee.name)
        replies = play(learner, probe, referee, games=_GAMES, seed=1, record=True).replies
        if isinstance(law, ValueLaw):
            check_values(learner.name, law, replies[0].parts[0], rate=RATE)
        else:
            check_answers(learner.name, law, probe.points, list_answers(replies), rate=RATE)


def _read_game(played: Played, game: int) -> tuple[Sample | None, tuple[Any, ...]]:
    """The training set of a game, and the queries in it, each as the learner received it."""
    batch, place = (played.single_games[game], 0) if played.single_games else (played, game)
    entries: Sequence[Any] = () if batch.transcript is None else batch.transcript.entries
    samples = [e.training.samples[e.training.which[place]] for e in entries if isinstance(e, TrainingEntry)]
    queries = [np.asarray(e.x[place]) for e in entries if isinstance(e, QueryEntry)]
    return (samples[0] if samples else None), tuple(x if x.ndim else x.item() for x in queries)

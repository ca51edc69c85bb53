"""The games of a race of predictors: blocks of them, played anywhere, with figures that do not depend on
where."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial

import attrs
import numpy as np

from arena import Adversary, Moves, play
from audits.races.errors.exact_errors import Judge
from audits.races.errors.plan import PredictorRace
from audits.races.errors.result import PredictorResult, bound_of, result_of
from audits.races.errors.watched import Watched
from audits.races.mistakes.games import play_all
from audits.runs.workers import Workers


@attrs.frozen
class Introduced(Adversary):
    """The adversary, which first introduces the judge to the law that its examples will come from."""

    protocols = ("Figure1",)

    adversary: Adversary
    judge: Judge
    coins: np.random.SeedSequence

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.adversary.name

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        people = self.adversary.population(games, deepcopy(rng))  # type: ignore[attr-defined]
        self.judge.opens(people, games, np.random.default_rng(self.coins))
        return (yield from self.adversary.play(games, rng))


def run(
    race: PredictorRace, *, jobs: int | Workers = 1, watch: Callable[[int], None] | None = None
) -> PredictorResult:
    """Play the race.

    jobs: processes, or `Workers`; the figures do not depend on them. watch: called after every block with the
    games that have been played.

    Raises: whatever a referee or a player raises in a game; InvalidArgument if a learner does not tell its
    hypotheses.
    """
    for entrant in race.entrants:
        bound_of(race, entrant)  # what they refuse is better refused before the games
    return result_of(race, play_all(race, partial(play_block, race), jobs, watch))


def play_block(race: PredictorRace, task: tuple[int, int]) -> np.ndarray:
    """(5, K, n): of the games of a block, by rounds, the answers, the largest error of a hypothesis, the sum
    of the errors, the wrong answers, and the error of the best concept. task: (number of the entrant, block).
    """
    judge = Judge(race.rounds, race.entrants[task[0]].concepts, size=race.tested)
    judged(race, task, judge)
    least = np.broadcast_to(judge.least, judge.answers.shape)
    return np.stack([judge.answers, judge.worst, judge.total, judge.wrong, least])


def judged(race: PredictorRace, task: tuple[int, int], judge: Judge) -> None:
    """Play the games of a block before a judge. task: (number of the entrant, block)."""
    entrant, seed = race.entrants[task[0]], race.seed_of(*task)
    coins = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 3))
    play(
        Watched(entrant.learner, judge),
        Introduced(entrant.adversary, judge, coins),
        entrant.referee,
        games=race.games_in(task[1]),
        seed=seed,
    )

"""Games of predictors under Figure1 and Voting, as matrices, from their answer distributions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from arena import AnswerLaw, Learner, Sample
from audits.exact_loss.answer_paths import AnswerLaws
from audits.solver.linear_game import LinearGame, Step, compress

_PROBES = 3  # random measures by which ways to answer are told apart


def answer_game(
    learner: Learner, samples: Sequence[Sample], points: np.ndarray, rounds: int
) -> tuple[LinearGame, np.ndarray]:
    """The game in which training samples are neighbours and every query is one of the points (p, ...).

    Also the query of each move: of points that are answered alike in both worlds, the first.

    Raises: Unsupported if the learner tells no distribution of answers.
    """
    known = AnswerLaws(learner)
    laws = [known.of(sample) for sample in samples]
    start = np.array([law.start() for law in laws])
    probes = np.random.default_rng(0).uniform(size=(_PROBES, start.shape[1]))
    steps: list[Step] = []
    numbers: dict[bytes, int] = {}
    moves: dict[tuple[int, ...], int] = {}
    for place in range(len(points)):
        kernels = []
        for law in laws:
            step = partial(_step, law, points[place : place + 1])
            signature = (np.round(step(probes), 12) + 0.0).tobytes()
            if signature not in numbers:
                numbers[signature] = len(steps)
                steps.append(step)
            kernels.append(numbers[signature])
        moves.setdefault(tuple(kernels), place)
    game = compress(
        steps,
        np.array(list(moves)).T,
        start,
        rounds=rounds,
        halts=np.array([halts for _, halts in laws[0].outcomes]),
    )
    return game, points[list(moves.values())]


def _step(law: AnswerLaw, point: np.ndarray, measures: np.ndarray) -> np.ndarray:
    return np.asarray(law.step(measures, np.repeat(point, len(measures), axis=0)))

"""One repetition: a split of the data, teachers, and a student for every row of the table."""

from __future__ import annotations

import numpy as np

from arena import Sample
from arena.randomness import block_seed, generator
from audits.experiments.plan import Experiment
from audits.experiments.players import Request
from audits.experiments.tally import Tally

_SPLITS = 2**32  # seeds of a teachers' split


def repetition(experiment: Experiment, index: int) -> Tally:
    """Play repetition `index`. It depends on the plan and the index alone.

    Three streams of coins: the split of the data, the teachers' split of the private part, the noise. Every
    row's student draws the same noise from its beginning, so that rows are compared on the same coins, and
    none hangs on which others there are.
    """
    data = experiment.data
    seeds = block_seed(experiment.seed, index).spawn(3)
    order = generator(seeds[0]).permutation(experiment.examples)
    private, public, tested = np.split(order, np.cumsum([experiment.private, experiment.public]))
    asked, tried, truth = (
        data.points[public].astype(np.float64),
        data.points[tested].astype(np.float64),
        data.labels[tested],
    )
    ones = experiment.players.ones(
        Sample(data.points[private], data.labels[private]),
        experiment.teachers,
        int(generator(seeds[1]).integers(_SPLITS)),
        np.concatenate([asked, tried]),
    )
    answers, told = [], []
    for row in experiment.rows:
        learned = experiment.players.learn(
            Request(
                active=row.active,
                epsilon=row.epsilon,
                delta=experiment.delta_run,
                answers=experiment.answers_of(row.method),
                teachers=experiment.teachers,
                points=asked,
                ones=ones[: len(asked)],
                noise=generator(seeds[2]),
            )
        )
        answers.append(learned.answers)
        told.append(confusion(truth, learned.label(tried)))
    told.append(confusion(truth, 2 * ones[len(asked) :] >= experiment.teachers))
    return Tally(np.array(answers, np.int64), np.array(told, np.int64))


def confusion(truth: np.ndarray, said: np.ndarray) -> np.ndarray:
    """(2, 2): at [y, l] the examples of label y that are labelled l; truth, said (m,)."""
    return np.bincount(2 * truth.astype(np.int64) + said.astype(np.int64), minlength=4).reshape(2, 2)

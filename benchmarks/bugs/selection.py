"""Choices: noisy maxima, the exponential mechanism, sparse vectors."""

from __future__ import annotations

import numpy as np

from benchmarks.bugs.bug import Bug, a_table, a_vector, choices, integers, labelled
from benchmarks.bugs.bug import numbers as field

KIND = "selection"
LYU = "https://arxiv.org/abs/1603.01699"
CUTS = (0.25, 0.5, 0.75)


def choose_marginal(rows, rng, sensitivity=2):
    """The attribute that the model fits worse than public data do, by the exponential mechanism."""
    size, scores = len(rows), []
    for name in ("smokes", "coughs"):
        ones = int(rows[name].sum())
        counts = np.array([size - ones, ones])
        model, public = np.array([0, size]), np.array([size, 0])
        scores.append(abs(counts - model).sum() - abs(counts - public).sum())
    return int((np.array(scores) + rng.gumbel(scale=2 * sensitivity, size=2)).argmax())


def choose_marginal_twin(rows, rng):
    return choose_marginal(rows, rng, sensitivity=4)


def find_gains(data):
    """How much each cut of each of two features separates the targets; a record adds at most 1."""
    features, y = np.clip(data[0], 0, 1), np.clip(data[1], 0, 1)
    return np.array([[abs(np.where(features[:, f] > cut, y, -y).sum()) for cut in CUTS] for f in (0, 1)])


def choose_split(data, rng):
    """The best cut of each feature without noise, and then one of the two features."""
    gains = find_gains(data)
    feature = int((gains.max(axis=1) + rng.gumbel(scale=2, size=2)).argmax())
    return [feature, CUTS[int(gains[feature].argmax())]]


def choose_split_twin(data, rng):
    place = int((find_gains(data) + rng.gumbel(scale=2, size=(2, 3))).argmax())
    return [place // 3, CUTS[place % 3]]


def release_noisy_maximum(answers, rng):
    return float((answers + rng.laplace(scale=2, size=len(answers))).max())


def release_noisy_maximum_twin(answers, rng):
    return int((answers + rng.laplace(scale=2, size=len(answers))).argmax())


def show_noisy_answer(answers, rng):
    """The first answer that is above the threshold, with the noise of the comparison."""
    bar = 1 + rng.laplace(scale=2)
    for place, answer in enumerate(answers):
        noisy = answer + rng.laplace(scale=2)
        if noisy >= bar:
            return [place, float(noisy)]
    return [len(answers), 0.0]


def show_noisy_answer_twin(answers, rng):
    bar = 1 + rng.laplace(scale=2)
    for place, answer in enumerate(answers):
        if answer + rng.laplace(scale=4) >= bar:
            return place
    return len(answers)


def list_above(answers, rng, noise, most):
    """Which answers are above the noisy threshold, until `most` are."""
    bar, above = 1 + rng.laplace(scale=4), []
    for answer in answers:
        above.append(bool(answer + (rng.laplace(scale=noise) if noise else 0.0) >= bar))
        if sum(above) == most:
            break
    return above


def give_noise_once(answers, rng):
    """Three positive answers with query noise for one comparison."""
    return list_above(answers, rng, noise=4 / 3, most=3)


def give_noise_once_twin(answers, rng):
    return list_above(answers, rng, noise=8, most=3)


def compare_without_noise(answers, rng):
    bar = 1 + rng.laplace(scale=1)
    return [bool(answer >= bar) for answer in answers]


def compare_without_noise_twin(answers, rng):
    return list_above(answers, rng, noise=8 / 3, most=1)


ANSWERS = integers(0, 4)

BUGS = [
    Bug(
        name="score-of-two-errors",
        kind=KIND,
        address="https://github.com/ryan112358/mbi/issues/65",
        library="mbi, JAM",
        summary="A score is the difference of two errors, and its sensitivity is taken for that of one.",
        relation="replace one",
        epsilon=1.0,
        schema=a_table(smokes=choices(0, 1), coughs=choices(0, 1), least=4, most=4),
        mechanism=choose_marginal,
        twin=choose_marginal_twin,
        worlds=([(1, 0)] * 4, [(1, 0)] * 3 + [(0, 1)]),
    ),
    Bug(
        name="exact-best-split",
        kind=KIND,
        address="https://github.com/sarus-tech/dp-xgboost/issues/3",
        library="dp-xgboost",
        summary="The best split of each feature is found without noise, and only the feature with noise.",
        relation="add or remove one",
        epsilon=1.0,
        schema=labelled([field(0, 1), field(0, 1)], field(0, 1), least=1),
        mechanism=choose_split,
        twin=choose_split_twin,
        worlds=(
            [((0.3, 0.3), 1.0), ((0.6, 0.6), 1.0)],
            [((0.3, 0.3), 1.0), ((0.6, 0.6), 1.0), ((0.1, 0.1), 1.0)],
        ),
    ),
    Bug(
        name="noisy-maximum-released",
        kind=KIND,
        address="https://arxiv.org/abs/1805.10207",
        library="variant of noisy maximum, Ding et al. (2018)",
        summary="The noisy maximum is released, and not only which answer it is.",
        relation="at Linf distance at most 1",
        epsilon=1.0,
        schema=a_vector(5, ANSWERS),
        mechanism=release_noisy_maximum,
        twin=release_noisy_maximum_twin,
        worlds=([0, 0, 0, 0, 0], [1, 1, 1, 1, 1]),
    ),
    Bug(
        name="answer-with-used-noise",
        kind=KIND,
        address=LYU,
        library="Roth (2011), Algorithm 3 of Lyu, Su, Li (2017)",
        summary="The sparse vector technique shows the noisy answer that it compared, without new noise.",
        relation="at Linf distance at most 1",
        epsilon=1.0,
        schema=a_vector(8, ANSWERS),
        mechanism=show_noisy_answer,
        twin=show_noisy_answer_twin,
        worlds=([1, 1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0, 1]),
    ),
    Bug(
        name="noise-for-one-of-three",
        kind=KIND,
        address=LYU,
        library="Lee and Clifton (2014), Algorithm 4 of Lyu, Su, Li (2017)",
        summary="The query noise of a sparse vector does not grow with the number of positive answers.",
        relation="at Linf distance at most 1",
        epsilon=1.0,
        schema=a_vector(8, ANSWERS),
        mechanism=give_noise_once,
        twin=give_noise_once_twin,
        worlds=([1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]),
    ),
    Bug(
        name="queries-without-noise",
        kind=KIND,
        address=LYU,
        library="Stoddard, Chen, Machanavajjhala (2014), Algorithm 5 of Lyu, Su, Li (2017)",
        summary="Only the threshold of a sparse vector has noise, and all answers are compared with it.",
        relation="at Linf distance at most 1",
        epsilon=1.0,
        schema=a_vector(4, ANSWERS),
        mechanism=compare_without_noise,
        twin=compare_without_noise_twin,
        worlds=([1, 1, 2, 2], [2, 2, 1, 1]),
    ),
]

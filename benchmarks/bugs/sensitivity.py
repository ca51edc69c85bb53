"""Noise for a sensitivity that is too small."""

from __future__ import annotations

import numpy as np

from benchmarks.bugs.bug import (
    Bug,
    a_list,
    a_table,
    a_vector,
    choices,
    find_gaussian_scale,
    integers,
    labelled,
)
from benchmarks.bugs.bug import numbers as field

KIND = "sensitivity"
SIGMA = find_gaussian_scale(1.0, 1e-5)


def release_mean(values, rng):
    return np.mean(np.clip(values, 0, 1)) + rng.laplace(scale=1 / len(values))


def release_mean_twin(values, rng):
    total = np.clip(values, 0, 1).sum() + rng.laplace(scale=2)
    return [total, len(values) + rng.laplace(scale=2)]


def release_moments(data, rng, width=0.0):
    x, y = np.clip(data[0][:, 0], 0, 5), np.clip(data[1], 0, 1)
    square = x @ x + (rng.laplace(scale=2 * width**2) if width else 0.0)
    return [square, x @ y + rng.laplace(scale=2 * 5.0)]


def release_moments_twin(data, rng):
    return release_moments(data, rng, width=5.0)


def release_group_sums(rows, rng, change=3):
    """A group has at most three rows, each in [-10, 10]; scale is what the group may change by."""
    sums = rows["amount"].clip(-10, 10).groupby(rows["shop"]).sum()
    return {shop: sums.get(shop, 0.0) + rng.laplace(scale=10.0 * change) for shop in ("north", "south")}


def release_group_sums_twin(rows, rng):
    return release_group_sums(rows, rng, change=6)


def release_bin_total(targets, rng):
    low, high = 9.0, 10.0
    return np.clip(targets, low, high).sum() + rng.laplace(scale=high - low)


def release_bin_total_twin(targets, rng):
    low, high = 9.0, 10.0
    return np.clip(targets, low, high).sum() + rng.laplace(scale=max(abs(low), abs(high)))


def release_gradient(gradients, rng):
    size = 16
    clipped = np.clip(gradients, -1, 1)
    return (clipped.sum() + rng.normal(scale=SIGMA / size)) / size


def release_gradient_twin(gradients, rng):
    size = 16
    return (np.clip(gradients, -1, 1).sum() + rng.normal(scale=SIGMA)) / size


def answer_queries(answers, rng):
    """Five answers, each of sensitivity 1, by a mechanism whose budget is shared by all of them."""
    dimensions = 5
    return answers + rng.laplace(scale=len(answers) / dimensions, size=len(answers))


def answer_queries_twin(answers, rng):
    return answers + rng.laplace(scale=len(answers), size=len(answers))


def release_pair_slopes(rows, rng):
    """Half of the difference between neighbours in a list, of which an odd last one has no partner."""
    values = np.array(rows[: len(rows) // 2 * 2], float).reshape(-1, 2)
    return np.clip(values[:, 1] - values[:, 0], -1, 1).sum() + rng.laplace(scale=2)


def release_pair_slopes_twin(rows, rng):
    """The partners are fixed by the record itself, so that one record is in one pair."""
    totals = np.array([row - 0.5 for row in rows], float)
    return np.clip(totals, -1, 1).sum() + rng.laplace(scale=2)


def count_runs(rows, rng):
    """The number of changes in a list of 24; records beyond are dropped, and else the list is shuffled."""
    kept = list(rows[:24]) if len(rows) > 24 else [rows[place] for place in rng.permutation(len(rows))]
    return int(np.count_nonzero(np.diff(kept))) + rng.laplace(scale=4)


def count_runs_twin(rows, rng):
    """Records beyond 24 are dropped, and the order of the others stays: an edit changes at most four."""
    return int(np.count_nonzero(np.diff(rows[:24]))) + rng.laplace(scale=4)


BUGS = [
    Bug(
        name="mean-by-private-size",
        kind=KIND,
        address="https://github.com/opendp/smartnoise-core/issues/356",
        library="smartnoise-core, whitepaper on the mean",
        summary="The sensitivity of a mean is (U - L)/n with the private n, although records come and go.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 1), least=1),
        mechanism=release_mean,
        twin=release_mean_twin,
        worlds=([0.0], [0.0, 1.0]),
    ),
    Bug(
        name="square-by-lower-bound",
        kind=KIND,
        address="https://github.com/IBM/differential-privacy-library/issues/105",
        library="diffprivlib 0.6.6, LinearRegression",
        summary="The sensitivity of the sum of squares is computed from the lower bound alone, here 0.",
        relation="replace one",
        epsilon=1.0,
        schema=labelled([field(0, 5)], field(0, 1)),
        mechanism=release_moments,
        twin=release_moments_twin,
        worlds=([((0.0,), 0.0), ((1.0,), 1.0)], [((5.0,), 0.0), ((1.0,), 1.0)]),
    ),
    Bug(
        name="group-length-as-change",
        kind=KIND,
        address="https://github.com/opendp/opendp/issues/2945",
        library="opendp 0.16.0, Polars",
        summary="The most rows of a group are taken for the most that it may change by, which is twice that.",
        relation="replace a group of 3",
        epsilon=1.0,
        schema=a_table(shop=choices("north", "south"), amount=integers(-10, 10), most=3),
        mechanism=release_group_sums,
        twin=release_group_sums_twin,
        worlds=([("north", 10)] * 3, [("north", -10)] * 3),
    ),
    Bug(
        name="range-as-sensitivity",
        kind=KIND,
        address="https://github.com/interpretml/interpret/issues/523",
        library="interpret, DP-EBM",
        summary="Noise for a sum is scaled by the range of the targets, and not by the largest of them.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(9, 10)),
        mechanism=release_bin_total,
        twin=release_bin_total_twin,
        worlds=([9.5], [9.5, 10.0]),
    ),
    Bug(
        name="batch-size-twice",
        kind=KIND,
        address="https://arxiv.org/abs/2202.12219",
        library="Backpropagation Clipping, found by Tramèr et al. (2022)",
        summary="The sensitivity of the summed gradients is divided by the size of the batch once too often.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_list(field(-5, 5), most=16),
        mechanism=release_gradient,
        twin=release_gradient_twin,
        worlds=([0.1, -0.3], [0.1, -0.3, 5.0]),
    ),
    Bug(
        name="noise-by-dimensions",
        kind=KIND,
        address="https://github.com/opendp/smartnoise-sdk/issues/472",
        library="smartnoise-synth, MWEM",
        summary="The noise of each measured query is divided by the number of dimensions.",
        relation="at Linf distance at most 1",
        epsilon=1.0,
        schema=a_vector(5, integers(0, 20)),
        mechanism=answer_queries,
        twin=answer_queries_twin,
        worlds=([3, 3, 3, 3, 3], [4, 4, 4, 4, 4]),
    ),
    Bug(
        name="pairs-shifted-by-one",
        kind=KIND,
        address="https://github.com/opendp/opendp/issues/2950",
        library="opendp 0.16.0, Theil-Sen regression",
        summary="An odd last record is dropped before records are paired, so one record changes all pairs.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(integers(0, 1)),
        mechanism=release_pair_slopes,
        twin=release_pair_slopes_twin,
        worlds=([0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0, 1]),
    ),
    Bug(
        name="shuffled-unless-truncated",
        kind=KIND,
        address="https://github.com/opendp/opendp/issues/2927",
        library="opendp 0.16.0, make_resize",
        summary="A list of the right length is shuffled, and a longer one is cut and keeps its order.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(integers(0, 1), most=32),
        mechanism=count_runs,
        twin=count_runs_twin,
        worlds=([0] * 12 + [1] * 12, [0] * 12 + [1] * 13),
    ),
]

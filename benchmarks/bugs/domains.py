"""Bounds and noise that depend on the data, and errors that occur in one world only."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.bugs.bug import Bug, a_list, a_table, choices, integers
from benchmarks.bugs.bug import numbers as field

DOMAINS, ERRORS = "data-dependent domains", "errors and refusals"


def scale_by_range(values, rng):
    sensitivity = (max(values) - min(values)) / len(values)
    return float(np.mean(values)) + (rng.laplace(scale=sensitivity) if sensitivity else 0.0)


def scale_by_range_twin(values, rng):
    return float(np.mean(np.clip(values, 0, 10))) + rng.laplace(scale=10 / len(values))


def scale_to_unit(rows, rng):
    """A scaler without bounds: mean and spread of the data, both released for later use."""
    income = rows["income"]
    spread = float(income.max() - income.min())
    return [float(income.mean()) + rng.laplace(scale=spread / len(income)), spread]


def scale_to_unit_twin(rows, rng):
    income = rows["income"].clip(0, 100)
    return [float(income.mean()) + rng.laplace(scale=100 / len(income)), 100.0]


def forget_given_bounds(values, rng):
    """Bounds are given, 0 and 8, and those of the data are used."""
    bounds = (min(values), max(values) + 1)
    counts, _ = np.histogram(values, bins=4, range=bounds)
    return counts + rng.laplace(scale=2, size=4)


def forget_given_bounds_twin(values, rng):
    bounds = (0, 8)
    counts, _ = np.histogram(np.clip(values, *bounds), bins=4, range=bounds)
    return counts + rng.laplace(scale=2, size=4)


def find_bounds_or_fail(values, rng):
    """Counts by powers of two; a value beyond the last power has no place."""
    counts = np.zeros(8)
    for value in values:
        counts[int(math.log2(max(abs(value), 1)))] += 1
    return counts + rng.laplace(size=8)


def find_bounds_or_fail_twin(values, rng):
    counts = np.zeros(8)
    for value in values:
        if not math.isnan(value):
            counts[int(math.log2(min(max(abs(value), 1), 255)))] += 1
    return counts + rng.laplace(size=8)


def choose_quantile(values, rng, in_logs=False):
    """The median of values in [0, 100] by the exponential mechanism, with weights in half precision.

    Of n values, of which n is public, replacing one changes the utility of an interval by at most 1.
    """
    edges = np.concatenate([[0.0], np.sort(np.clip(values, 0, 100)), [100.0]])
    utility, lengths = -np.abs(np.arange(len(values) + 1) - len(values) / 2), np.diff(edges)
    if in_logs:
        logs = utility + np.log(np.maximum(lengths, 1e-300))
        weights = np.exp(logs - logs.max())
    else:
        weights = (np.exp(utility.astype(np.float16)) * lengths.astype(np.float16)).astype(float)
    if not weights.sum() > 0:
        raise ValueError("no candidate can be drawn")
    place = rng.choice(len(weights), p=weights / weights.sum())
    return float(rng.uniform(edges[place], edges[place + 1]))


def choose_quantile_twin(values, rng):
    return choose_quantile(values, rng, in_logs=True)


def replace_missing_by_missing(rows, rng):
    """Missing values are filled with NaN, and NaN is taken for 0 before noise is added."""
    total = float(np.clip(rows, 0, 1).sum())
    return (0.0 if math.isnan(total) else total) + rng.laplace()


def replace_missing_by_missing_twin(rows, rng):
    return float(np.clip([0.0 if math.isnan(row) else row for row in rows], 0, 1).sum()) + rng.laplace()


def count_for_free(rows, rng):
    """The number of rows is public, and so the count of a column without missing values is free.

    Text that is no number becomes missing after the missing values were filled.
    """
    filled = ["0" if row == "" else row for row in rows]
    whole = [int(row) if row.isdigit() else None for row in filled]
    return sum(value is not None for value in whole)


def count_for_free_twin(rows, rng):
    whole = [int(row) if row.isdigit() else None for row in rows]
    return sum(value is not None for value in whole) + rng.laplace()


def count_remainders(rows, rng):
    """The same with the remainder of a division, which is missing where the divisor is 0."""
    return int((rows["parts"] % rows["size"].replace(0, math.nan)).count())


def count_remainders_twin(rows, rng):
    return count_remainders(rows, rng) + rng.laplace()


BUGS = [
    Bug(
        name="noise-by-own-range",
        kind=DOMAINS,
        address="https://github.com/OpenMined/PySyft/issues/6917",
        library="PySyft 0.7",
        summary="The sensitivity of a mean is computed from the range of the private values.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(field(0, 10), least=2),
        mechanism=scale_by_range,
        twin=scale_by_range_twin,
        worlds=([1.0, 1.0, 1.0], [1.0, 1.0, 9.0]),
    ),
    Bug(
        name="scaler-without-bounds",
        kind=DOMAINS,
        address="https://github.com/vanderschaarlab/synthcity/issues/278",
        library="synthcity, PATE-GAN",
        summary="The least and the largest value of each column are used, and shown, without noise.",
        relation="replace one",
        epsilon=1.0,
        schema=a_table(income=field(0, 100), age=integers(0, 99), least=2),
        mechanism=scale_to_unit,
        twin=scale_to_unit_twin,
        worlds=([(10.0, 40), (20.0, 50)], [(10.0, 40), (90.0, 50)]),
    ),
    Bug(
        name="given-bounds-dropped",
        kind=DOMAINS,
        address="https://github.com/hazy/dpart/pull/6",
        library="dpart 0.1.1",
        summary="Bounds that the user gives are replaced by those of the data.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(field(0, 8), least=1),
        mechanism=forget_given_bounds,
        twin=forget_given_bounds_twin,
        worlds=([1.0, 2.0, 2.0, 2.0, 2.0, 2.0], [1.0, 2.0, 2.0, 2.0, 2.0, 8.0]),
    ),
    Bug(
        name="extreme-value-fails",
        kind=ERRORS,
        address="https://github.com/opendp/smartnoise-sdk/issues/574",
        library="smartnoise-sql 1.0.1, approx_bounds",
        summary="The search for bounds fails on extreme, infinite or missing values, in one world only.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(-1000, 1000, special=[math.inf, math.nan])),
        mechanism=find_bounds_or_fail,
        twin=find_bounds_or_fail_twin,
        worlds=([5.0], [5.0, 1000.0]),
    ),
    Bug(
        name="quantile-underflows",
        kind=ERRORS,
        address="https://github.com/IBM/differential-privacy-library/issues/107",
        library="diffprivlib 0.6.6, quantile",
        summary="All weights of the exponential mechanism underflow if many values are equal, which raises.",
        relation="replace one",
        epsilon=2.0,
        schema=a_list(field(0, 100), least=36, most=36),
        mechanism=choose_quantile,
        twin=choose_quantile_twin,
        worlds=([50.0] * 36, [50.0] * 35 + [70.0]),
    ),
    Bug(
        name="missing-total-becomes-zero",
        kind=ERRORS,
        address="https://github.com/opendp/opendp/issues/2936",
        library="opendp 0.16.0, Polars",
        summary="A value filled with NaN makes the total NaN, which becomes 0 before noise is added.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 1, special=[math.nan])),
        mechanism=replace_missing_by_missing,
        twin=replace_missing_by_missing_twin,
        worlds=([1.0] * 5, [1.0] * 5 + [math.nan]),
    ),
    Bug(
        name="count-after-cast",
        kind=ERRORS,
        address="https://github.com/opendp/opendp/issues/2938",
        library="opendp 0.16.0, Polars",
        summary="A cast that fails gives missing values, whose number is released as if it was public.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(choices("7", "12", "", "n/a"), least=1),
        mechanism=count_for_free,
        twin=count_for_free_twin,
        worlds=(["7", "12"], ["7", "n/a"]),
    ),
    Bug(
        name="count-after-remainder",
        kind=ERRORS,
        address="https://github.com/opendp/opendp/issues/2940",
        library="opendp 0.16.0, Polars",
        summary="The remainder of a division by 0 is missing, and the others are counted without noise.",
        relation="replace one",
        epsilon=1.0,
        schema=a_table(parts=integers(0, 20), size=integers(0, 5), least=1),
        mechanism=count_remainders,
        twin=count_remainders_twin,
        worlds=([(7, 3), (8, 2)], [(7, 3), (8, 0)]),
    ),
]

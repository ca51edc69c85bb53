"""Bugs of OpenDP 0.16.0: the Polars interface, thresholds and trees. Measurements are made once a process."""

from __future__ import annotations

import functools
import math

import numpy as np
import opendp.prelude as dp
import polars as pl

from benchmarks.bugs.bug import a_list, a_table, a_vector, choices, integers
from benchmarks.bugs.bug import numbers as field
from benchmarks.bugs.releases import enter_release

LIBRARY = "opendp 0.16.0"
ISSUES = "https://github.com/opendp/opendp/issues"
FLOAT = dp.atom_domain(T=float)
REAL = dp.atom_domain(T=float, nan=False)
MISSING = math.nan

dp.enable_features("contrib")


def make_measurement(columns, margin, query, distance=None):
    domain = dp.lazyframe_domain([dp.series_domain(name, part) for name, part in columns.items()])
    return dp.m.make_private_lazyframe(
        dp.with_margin(domain, margin),
        distance or dp.frame_distance(dp.symmetric_distance()),
        dp.max_divergence(),
        query,
        global_scale=1.0,
    )


@functools.cache
def make_cut_sum():
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").cut([1.0]).to_physical().dp.sum((0, 1), scale=1.0)
    )
    return make_measurement({"x": REAL}, dp.polars.Margin(max_length=20), query)


def sum_cut_codes(values):
    return float(make_cut_sum()(pl.LazyFrame({"x": values}, schema={"x": pl.Float64})).collect().item())


@functools.cache
def make_group_sum():
    schema = {"shop": pl.String, "amount": pl.Int32}
    query = pl.LazyFrame(schema=schema).group_by("shop").agg(pl.col("amount").dp.sum((-10, 10), scale=30.0))
    margin = dp.polars.Margin(by=["shop"], max_length=3, max_groups=1, invariant="keys")
    columns = {"shop": dp.atom_domain(T=str), "amount": dp.atom_domain(T="i32")}
    return make_measurement(columns, margin, query, dp.symmetric_distance())


def sum_groups(amounts):
    frame = pl.LazyFrame(
        {"shop": ["a"] * 3, "amount": amounts}, schema={"shop": pl.String, "amount": pl.Int32}
    )
    return float(make_group_sum()(frame).collect()["amount"].item())


@functools.cache
def make_free_count(kind):
    filled = pl.col("x").fill_null(0.0)
    counted = filled.cast(pl.Int64, strict=False) if kind == "cast" else filled.cut([1.5])
    frame = pl.LazyFrame(schema={"x": pl.Float64})
    margin = dp.polars.Margin(max_length=4, invariant="lengths")
    return make_measurement({"x": dp.option_domain(FLOAT)}, margin, frame.select(counted.count().dp.noise()))


def count_freely(values, kind):
    frame = pl.LazyFrame({"x": values}, schema={"x": pl.Float64})
    return float(make_free_count(kind)(frame).collect().item())


def count_after_cast(values):
    return count_freely(values, "cast")


def count_after_cut(values):
    return count_freely(values, "cut")


@functools.cache
def make_remainder_count():
    part = dp.option_domain(dp.atom_domain(T="i64"))
    counted = (pl.col("n").fill_null(0) % pl.col("m").fill_null(0)).count()
    frame = pl.LazyFrame(schema={"n": pl.Int64, "m": pl.Int64})
    margin = dp.polars.Margin(max_length=4, invariant="lengths")
    return make_measurement({"n": part, "m": part}, margin, frame.select(counted.dp.noise()))


def count_remainders(rows):
    frame = pl.LazyFrame({"n": rows["n"].to_numpy(), "m": rows["m"].to_numpy()})
    return float(make_remainder_count()(frame).collect().item())


@functools.cache
def make_filled_sum():
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").fill_null(MISSING).clip(0.0, 1.0).sum().dp.noise(scale=1)
    )
    return make_measurement({"x": dp.option_domain(REAL)}, dp.polars.Margin(max_length=20), query)


def sum_filled(values):
    given = [None if value < 0 else value for value in values]  # -1 stands for a missing value
    return float(make_filled_sum()(pl.LazyFrame({"x": given}, schema={"x": pl.Float64})).collect().item())


@functools.cache
def make_threshold():
    counts = dp.t.make_count_by(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
    return counts >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)


def release_frequent(names):
    return dict(sorted(make_threshold()(list(names)).items()))


@functools.cache
def make_noisy_tree():
    domain = dp.vector_domain(dp.atom_domain(T="i32"), size=2)
    tree = dp.t.make_b_ary_tree(domain, dp.l1_distance(T="i32"), leaf_count=2, branching_factor=2)
    return tree >> dp.m.then_laplace(scale=float(tree.map(1)))


def release_tree(counts):
    return [int(count) for count in make_noisy_tree()([int(count) for count in np.round(counts)])]


def find_elm(counts):
    return float("elm" in counts)


def _enter(number, name, *shown, **settings):
    return enter_release(f"opendp-{name}", f"{ISSUES}/{number}", LIBRARY, *shown, coins="own", **settings)


ADDED, REPLACED = "add or remove one", "replace one"
FOUR = a_list(field(0, 9, special=[MISSING]), least=4, most=4)

BUGS = [
    _enter(2944, "cut", "Codes follow the order of appearance.", ADDED,
           a_list(field(0, 2), most=20), sum_cut_codes, ([0.5] * 8, [2.0] + [0.5] * 8)),
    _enter(2945, "group-length", "A group's length is taken for its change.", "replace a group of 3",
           a_list(integers(-10, 10), least=3, most=3), sum_groups, ([10] * 3, [-10] * 3)),
    _enter(2938, "cast", "Failed casts are missing, and the others are counted freely.", REPLACED,
           FOUR, count_after_cast, ([1.0] * 4, [1.0] * 3 + [MISSING]), epsilon=0.01),
    _enter(2939, "cut-of-nan", "A bin of NaN is missing, and the others are counted freely.", REPLACED,
           FOUR, count_after_cut, ([1.0] * 4, [1.0] * 3 + [MISSING]), epsilon=0.01),
    _enter(2940, "remainder", "Remainders by 0 are missing, and the others are counted freely.", REPLACED,
           a_table(n=integers(0, 9), m=integers(0, 3), least=4, most=4), count_remainders,
           ([(7, 3)] * 4, [(7, 3)] * 3 + [(7, 0)]), epsilon=0.01),
    _enter(2936, "filled-by-nan", "A total that is NaN becomes 0 before noise is added.", ADDED,
           a_list(field(0, 1, special=[-1.0]), most=20), sum_filled, ([1.0] * 8, [1.0] * 8 + [-1.0])),
    _enter(2922, "threshold", "δ leaves out that the noisy count is the threshold.", ADDED,
           a_list(choices("ash", "elm", "fir"), least=1), release_frequent, (["ash"], ["ash", "elm"]),
           *make_threshold().map(1), find_elm),
    _enter(2925, "tree", "Inner sums wrap around.", "at L1 distance at most 1",
           a_vector(2, integers(0, 2**31 - 1)), release_tree, ([2**31 - 1, 0], [2**31 - 1, 1])),
]  # fmt: skip

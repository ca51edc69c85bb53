"""Bugs of smartnoise-synth 1.0.5 and smartnoise-sql 1.0.1. Their files are loaded without the packages around
them, which need NumPy 1 and older releases of scikit-learn."""

from __future__ import annotations

import math

from audits.surveys.catalogues.smartnoise_synth import load_file, make_covariance
from benchmarks.bugs.bug import a_list, a_table, choices
from benchmarks.bugs.bug import numbers as field
from benchmarks.bugs.releases import enter_release

REPOSITORY = "https://github.com/opendp/smartnoise-sdk"
COVARIANCE = "synth/snsynth/models/dp_covariance.py"


bounds = load_file("smartnoise-sql", "snsql/sql/_mechanisms/approx_bounds.py")


def find_bounds(values):
    return bounds.approx_bounds(values, 1.0)


def find_median(values):
    return float(bounds.quantile(values, 0.5, 1.0, 0, 1))


def _enter(name, page, *shown):
    return enter_release(f"smartnoise-{name}", f"{REPOSITORY}/{page}", *shown, coins="own")


UNIT, WIDE = field(0, 1), field(0, 50)

BUGS = [
    _enter("order", f"blob/main/{COVARIANCE}", "smartnoise-synth 1.0.5 and 1.0.8",
           "Sensitivities are listed by the upper triangle, and covariances by the lower.", "replace one",
           a_table(x=UNIT, y=field(0, 100), z=UNIT, least=4, most=4), make_covariance([1.0, 100.0, 1.0]),
           ([(0.0, 0.0, 0.0)] * 4, [(0.0, 100.0, 0.0)] + [(0.0, 0.0, 0.0)] * 3)),
    _enter("clipping", "issues/622", "smartnoise-synth 1.0.5",
           "Columns are clipped, and the covariance is that of the columns as they came.",
           "replace one", a_table(x=WIDE, y=WIDE, least=4, most=4), make_covariance([1.0, 1.0]),
           ([(0.0, 0.0)] * 4, [(50.0, 50.0)] + [(0.0, 0.0)] * 3)),
    _enter("bounds", "issues/574", "smartnoise-sql 1.0.1", "Bounds of extreme or missing values raise.",
           "add or remove one", a_list(field(0, 1000, special=[math.inf, math.nan]), most=10), find_bounds,
           ([1.0] * 2, [1.0] * 2 + [math.inf])),
    _enter("quantile", "issues/572", "smartnoise-sql 1.0.1",
           "Weights of equal values underflow, which raises.",
           "add or remove one", a_list(choices(0, 1), least=1490, most=1496), find_median,
           ([0] * 1491 + [1], [0] * 1492 + [1])),
]  # fmt: skip

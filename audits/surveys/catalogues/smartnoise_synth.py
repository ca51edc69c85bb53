"""Covariance matrices of smartnoise-synth. Their file is loaded without the package around it, which needs
PyTorch, so that `pip install --no-deps smartnoise-synth pandas` is enough for a survey."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import distribution
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from audits.data.schemas import table
from audits.surveys.catalogue import Catalogue

catalogue = Catalogue(made_for="1.0.8")
RANGES = {"equal ranges": (1.0, 1.0, 1.0), "ranges 1, 100, 1": (1.0, 100.0, 1.0)}
_ROWS = 4


def load_file(package: str, path: str) -> ModuleType:
    """A module of an installed package, of which no other module is imported."""
    name = path.rpartition("/")[2].removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, str(distribution(package).locate_file(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_covariance(ranges: Sequence[float]) -> Callable[[Any], list[float]]:
    """A release of the covariances of columns from 0 to their ranges, by one ε of 1 for all of them."""
    import pandas as pd

    module = load_file("smartnoise-synth", "snsynth/models/dp_covariance.py")
    limits = pd.DataFrame([[0.0] * len(ranges), list(ranges)])

    def release(rows: Any) -> list[float]:
        return list(map(float, module.DPcovariance(len(rows), list(rows), limits, 1.0).release(rows)))

    return release


for _name, _ranges in RANGES.items():
    catalogue.add(
        f"DPcovariance: {_name}",
        partial(make_covariance, _ranges),
        epsilon=1.0,
        neighbours="replace one",
        data=partial(
            table,
            {f"x{place}": st.floats(0, end) for place, end in enumerate(_ranges)},
            min_size=_ROWS,
            max_size=_ROWS,
        ),
        note="The number of rows is an argument, and so is public.",
    )

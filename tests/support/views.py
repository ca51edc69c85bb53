"""Pairs of views from arrays."""

from __future__ import annotations

import numpy as np

from audits.distinguishers.view_features import ViewCounts, ViewFeatures


def count_views(world_0: np.ndarray, world_1: np.ndarray, *names: str) -> ViewCounts:
    """The pairs of the rows of both worlds, (n,) or (n, F). Names: default: those of a released vector."""
    rows = [np.reshape(world, (len(world), -1)).astype(float) for world in (world_0, world_1)]
    columns = names or tuple(f"value[{i}]" for i in range(rows[0].shape[1]))
    return ViewCounts.of(*(ViewFeatures(own, columns) for own in rows))

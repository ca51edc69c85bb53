"""Applying one call to many tasks, on workers of this machine or of a cluster, with the results in order."""

from audits.runs.workers.ordered_map import map_in_order, map_missing
from audits.runs.workers.workers import BACKENDS, Workers, WorkersFailed

__all__ = ["BACKENDS", "Workers", "WorkersFailed", "map_in_order", "map_missing"]

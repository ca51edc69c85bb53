"""The same call on many things, by workers of this machine or of a cluster, with the results in order."""

from audits.distribution.ordered import in_order
from audits.distribution.workers import BACKENDS, Workers, WorkersFailed

__all__ = ["BACKENDS", "Workers", "WorkersFailed", "in_order"]

"""Which workers play: processes or threads of this machine, or those of a dask or ray cluster."""

from __future__ import annotations

from importlib.util import find_spec

import attrs

from arena.errors import InvalidArgument
from audits.registry.suggestions import suggest
from audits.runs.stopped import Stopped

LOKY, THREADING, DASK, RAY = BACKENDS = ("loky", "threading", "dask", "ray")
LOCAL = "local"
_PACKAGES = {DASK: "distributed", RAY: "ray"}


@attrs.frozen(kw_only=True)
class Workers:
    """Who plays. No figure depends on it.

    backend: of joblib: "loky" (processes here), "threading" (threads of this process), "dask" or "ray".
    jobs: how many workers of this machine; default 1, but of a local cluster as many as there are cores.
    cluster: for dask the address of a scheduler, for ray that of a head node or "auto"; "local", the default,
        starts one here, which ends with the run.
    patience: seconds in which some block must come, or the workers are taken to hang; None waits for ever.

    With one job of loky or threading all is played in this process.

    Raises: InvalidArgument if there are no such workers.
    """

    backend: str = LOKY
    jobs: int | None = None
    cluster: str | None = None
    patience: float | None = None

    def __attrs_post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InvalidArgument(
                "there is no backend of that name",
                value=self.backend,
                remedy=f"{suggest(self.backend, BACKENDS)}There are: {', '.join(BACKENDS)}.",
            )
        if self.jobs is not None and self.jobs < 1:
            raise InvalidArgument("jobs must be at least 1", value=self.jobs)
        self._check_cluster()
        self._check_patience()

    @classmethod
    def of(cls, jobs: int | Workers) -> Workers:
        """So many processes, or the workers themselves."""
        return jobs if isinstance(jobs, Workers) else cls(jobs=jobs)

    @property
    def alone(self) -> bool:
        """Whether this process plays itself."""
        return self.backend in (LOKY, THREADING) and (self.jobs or 1) == 1

    @property
    def local(self) -> bool:
        """Whether they live and end with this process."""
        return self.cluster in (None, LOCAL)

    def _check_cluster(self) -> None:
        package = _PACKAGES.get(self.backend)
        if package is None and self.cluster is not None:
            raise InvalidArgument(
                f"{self.backend} reaches no cluster",
                value=self.cluster,
                remedy="Choose the backend dask or ray, or no cluster.",
            )
        if self.jobs is not None and not self.local:
            raise InvalidArgument(
                "jobs counts workers of this machine, and a cluster elsewhere has its own",
                value=self.jobs,
                remedy="Leave jobs away.",
            )
        if package is not None and find_spec(package) is None:
            raise InvalidArgument(
                f"the backend {self.backend} needs {package}, which is not installed",
                remedy=f"Run pip install dp-arena[{self.backend}].",
            )

    def _check_patience(self) -> None:
        if self.patience is None:
            return
        if not self.patience > 0:
            raise InvalidArgument("patience is a number of seconds above 0", value=self.patience)
        if self.backend == THREADING or self.alone:
            raise InvalidArgument(
                "patience ends workers that hang, and threads of this process cannot be ended",
                value=self.patience,
                remedy="Have two jobs or more of loky, or a cluster.",
            )


class WorkersFailed(InvalidArgument, Stopped):
    """The workers did not do what they were asked. What they had done before is kept."""

"""Run the estimators of one tool on all scores, and keep what they say in build/anchors/TOOL.json.

Imported in the environment of every tool, so it needs numpy only. What has been measured is not measured
again while scores and versions are the same.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.anchors.score_cases import (
    AUDITS,
    FOLDER,
    NULL_AUDITS,
    NULL_DELTA,
    NULL_SIZES,
    ONE_RUN,
    SCORES,
    TWO_WORLDS,
    digest_scores,
    draw_identical_worlds,
    draw_uninformative_run,
)

# Processor seconds for an estimator and a case, or an estimator and a size of null audits.
SECONDS = float(os.environ.get("ANCHOR_SECONDS", "30"))
_CHUNK = 50  # null audits that a process makes before it reports
_WORKERS = int(os.environ.get("WORKERS", "2"))  # processes for null audits

# ε from the scores of world 0, those of world 1, and δ; or from scores, coins (False: left out) and δ.
# None: the estimator does not exist for this δ.
Estimator = Callable[[np.ndarray, np.ndarray, float], float | None]


@dataclass
class Tool:
    """What the estimators of a tool said. Keys: "ESTIMATOR | CASE", or "ESTIMATOR | SIZE" for null audits.

    bounds: ε of each audit, in the order of the audits, as many as there was time for.
    seconds: processor time of one audit of a case, or of all null audits of a size.
    """

    name: str
    versions: dict[str, str]
    scores: str
    bounds: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    nulls: dict[str, list[float]] = field(default_factory=dict)
    estimators: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def write(self) -> None:
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(self), ensure_ascii=False), encoding="utf-8")
        temporary.replace(self.path)


def read_tool(name: str) -> Tool | None:
    """What was measured of a tool; None if nothing was, or the file is not whole."""
    path = FOLDER / f"{name}.json"
    try:
        return Tool(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def measure_tool(
    name: str,
    packages: Sequence[str],
    two_worlds: dict[str, Estimator],
    one_run: dict[str, Estimator],
    *,
    complete: Sequence[str] = (),
) -> None:
    """Measure what is missing.

    packages: whose versions are recorded. complete: the estimators whose null audits have no time limit.
    """
    fresh = Tool(name, {package: version(package) for package in packages}, digest_scores())
    kept = read_tool(name)
    tool = kept if kept and (kept.versions, kept.scores) == (fresh.versions, fresh.scores) else fresh
    tool.estimators = dict.fromkeys(two_worlds, "two worlds") | dict.fromkeys(one_run, "one run")
    with np.load(SCORES) as arrays:
        for estimator, function in two_worlds.items():
            for case in TWO_WORLDS:
                pairs = [(scores[0], scores[1]) for scores in arrays[case.name]]
                _measure_case(tool, f"{estimator} | {case.name}", function, pairs, case.delta)
        for estimator, function in one_run.items():
            for run in ONE_RUN:
                pairs = list(zip(arrays[run.name], arrays[f"{run.name}, included"], strict=True))
                _measure_case(tool, f"{estimator} | {run.name}", function, pairs, run.delta)
    with ProcessPoolExecutor(_WORKERS) as pool:
        for draw, estimators in ((draw_identical_worlds, two_worlds), (draw_uninformative_run, one_run)):
            for estimator, function in estimators.items():
                for size in NULL_SIZES:
                    limit = None if estimator in complete else SECONDS
                    _measure_nulls(tool, pool, f"{estimator} | {size}", function, draw, size, limit)


def _measure_case(
    tool: Tool,
    key: str,
    function: Estimator,
    audits: Sequence[tuple[np.ndarray, np.ndarray]],
    delta: float,
) -> None:
    kept = len(tool.bounds.get(key, []))
    if kept and (kept == len(audits) or kept * tool.seconds[key] >= SECONDS):
        return
    bounds: list[float] = []
    function(*audits[0], delta)  # so that imports and caches are not timed
    start = time.process_time()
    for audit in audits:
        bound = function(*audit, delta)
        if bound is None:
            return
        bounds.append(float(bound))
        if time.process_time() - start > SECONDS:
            break
    tool.bounds[key], tool.seconds[key] = bounds, (time.process_time() - start) / len(bounds)
    tool.write()
    print(f"{key}: median ε {np.median(bounds):.3f}, {len(bounds)} of {AUDITS} audits", flush=True)


def _measure_nulls(
    tool: Tool,
    pool: ProcessPoolExecutor,
    key: str,
    function: Estimator,
    draw: Callable[[int, int], Any],
    size: int,
    limit: float | None,
) -> None:
    bounds = tool.nulls.setdefault(key, [])
    seconds = tool.seconds.setdefault(key, 0.0)
    while len(bounds) < NULL_AUDITS and (limit is None or seconds < limit):
        starts = range(len(bounds), NULL_AUDITS, _CHUNK)[: 8 * _WORKERS]
        chunks = [range(first, min(first + _CHUNK, NULL_AUDITS)) for first in starts]
        share = np.inf if limit is None else (limit - seconds) / len(chunks)
        waiting = [pool.submit(_estimate_nulls, function, draw, size, chunk, share) for chunk in chunks]
        whole = True
        for chunk, future in zip(chunks, waiting, strict=True):
            found, spent = future.result()
            bounds += found if whole else []
            whole = whole and len(found) == len(chunk)
            seconds += spent
        tool.seconds[key] = seconds
        tool.write()
    false = sum(bound > 1e-9 for bound in bounds)
    print(f"{key} identical: {false} of {len(bounds)} audits claim a loss", flush=True)


def _estimate_nulls(
    function: Estimator, draw: Callable[[int, int], Any], size: int, audits: range, limit: float
) -> tuple[list[float], float]:
    """ε of null audits, or of the first that `limit` processor seconds suffice for, and the seconds used."""
    bounds = []
    start = time.process_time()
    for audit in audits:
        bound = function(*draw(size, audit), NULL_DELTA)
        bounds.append(round(float(0.0 if bound is None else bound), 6))
        if time.process_time() - start > limit:
            break
    return bounds, time.process_time() - start

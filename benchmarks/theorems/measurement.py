"""Repeated measurements, kept on disk as they are made, and powers fitted to them."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from scipy import stats
from tqdm import tqdm

from audits.runs.workers import Workers, map_in_order

KEPT = Path(__file__).parents[2] / "build" / "theorems"
LEVEL = 0.95

Case = Mapping[str, Any]
Measure = Callable[..., Sequence[float]]


def measure_cases(
    measure: Measure, cases: Sequence[Case], seeds: int, *, jobs: int | None = None
) -> np.ndarray:
    """measure(seed=…, **case) for each case and so many seeds: (cases, seeds, figures).

    What is measured is kept in build/theorems, in a file for each module, and not measured again unless the
    code changes that `measure` uses in its module. A change of a learner is not noticed: remove the file.
    jobs: processes; default: one for each core.
    """
    source = hashlib.sha256(_read_code(measure).encode()).hexdigest()[:16]
    path = KEPT / f"{Path(inspect.getfile(measure)).stem}.jsonl"
    tasks = [
        (json.dumps([source, measure.__name__, case, seed], sort_keys=True), case, seed)
        for case in cases
        for seed in range(seeds)
    ]
    known = _read(path)
    missing = [task for task in tasks if task[0] not in known]
    path.parent.mkdir(parents=True, exist_ok=True)
    workers = Workers.from_jobs(jobs or os.cpu_count() or 1)
    with path.open("a", encoding="utf-8") as file:
        print(file=file)  # ends a line that was cut off

        def keep(task: tuple[str, Case, int], figures: list[float]) -> None:
            known[task[0]] = figures
            print(json.dumps([task[0], figures]), file=file, flush=True)

        results = map_in_order(
            partial(_measure_one, measure), missing, workers, keep=keep, unit="measurement"
        )
        deque(tqdm(results, total=len(missing), desc=measure.__name__, leave=False), maxlen=0)
    return np.array([known[key] for key, _, _ in tasks], float).reshape(len(cases), seeds, -1)


def _read_code(measure: Measure) -> str:
    """What a function uses of its module, without docstrings."""
    module = inspect.getmodule(measure)
    assert module is not None
    defined: dict[str, ast.stmt] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            named = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
            defined |= {part.id: node for part in named if isinstance(part.ctx, ast.Store)}
    used = [measure.__name__]
    for name in used:  # the list grows while it is traversed
        parts = list(ast.walk(defined[name]))
        for part in parts:
            if isinstance(part, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(part) is not None:
                part.body = part.body[1:] or [ast.Pass()]
        names = dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name))
        used += [other for other in names if other in defined and other not in used]
    return "\n".join(ast.unparse(defined[name]) for name in used)


def _measure_one(measure: Measure, task: tuple[str, Case, int]) -> list[float]:
    _, case, seed = task
    return [float(figure) for figure in measure(seed=seed, **case)]


def _read(path: Path) -> dict[str, list[float]]:
    """What was measured; a line was cut off where the process was killed."""
    known = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            key, figures = json.loads(line)
        except ValueError:
            continue
        known[key] = figures
    return known


@attrs.frozen
class Mean:
    """A mean with its limits at 95 %, by Student's t."""

    value: float
    lower: float
    upper: float

    @staticmethod
    def of(samples: np.ndarray) -> Mean:
        """Of independent samples (n,)."""
        value = float(samples.mean())
        if len(samples) < 2 or np.ptp(samples) == 0:
            return Mean(value, value, value)
        low, high = stats.t.interval(LEVEL, len(samples) - 1, value, stats.sem(samples))
        return Mean(value, float(low), float(high))


@attrs.frozen
class Power:
    """y = factor·x^exponent, with the limits of the exponent at 95 %."""

    exponent: float
    lower: float
    upper: float
    factor: float

    def __str__(self) -> str:
        return f"{self.exponent:z.2f} ({self.lower:z.2f} to {self.upper:z.2f})"

    def at(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.factor * np.asarray(x, float) ** self.exponent)


def fit_power(x: Sequence[float], samples: np.ndarray) -> Power:
    """Fit a power to the means of samples (x, seeds) at increasing x, by weighted least squares.

    Weights are those of the errors of the means. Where means scatter about the line by more than their errors
    explain, as where no power fits well, the limits are that much wider.

    Raises: ValueError for fewer than three x, or if a mean is not positive.
    """
    means, errors = samples.mean(axis=1), stats.sem(samples, axis=1)
    if len(x) < 3 or not (means > 0).all():
        raise ValueError(f"a power needs three positive means or more, got {means}")
    relative = np.maximum(errors / means, 1e-6)
    design = np.column_stack([np.log(x), np.ones(len(x))]) / relative[:, None]
    (exponent, intercept), *_ = np.linalg.lstsq(design, np.log(means) / relative, rcond=None)
    apart = np.log(means) / relative - design @ [exponent, intercept]
    scale = max(1.0, float(np.sqrt(apart @ apart / (len(x) - 2))))
    error = scale * float(np.sqrt(np.linalg.inv(design.T @ design)[0, 0]))
    quantile = stats.t.ppf((1 + LEVEL) / 2, samples.size - len(x))
    return Power(
        float(exponent),
        float(exponent - quantile * error),
        float(exponent + quantile * error),
        float(np.exp(intercept)),
    )

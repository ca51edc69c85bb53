"""A small data set for experiments, and simple players for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np

from arena import Sample
from audits.data.one_hot import OneHotData, load_one_hot
from audits.experiments.experiment_players import StudentTask

LINES = 600


def write(path: Path, lines: int = LINES, *, wrong: int = 20) -> str:
    """A file with so many examples in which a determines y, except in one of `wrong`; b and c are noise."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, (2, 3, 4), (lines, 3)).T
    y = a ^ (np.arange(lines) % wrong == 0)
    rows = [f"{'uv'[i]},{'rst'[j]},{k},{'ny'[label]}" for i, j, k, label in zip(a, b, c, y, strict=True)]
    path.write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    return str(path)


def load(path: Path, **options: int) -> OneHotData:
    return load_one_hot(write(path, **options), y="y")


@attrs.frozen(eq=False)
class SimpleStudent:
    label: Callable[[np.ndarray], np.ndarray]
    answers: int


@attrs.frozen
class SimplePlayers:
    """Nine in ten teachers predict the first variable; a student learns whether that is what they predict.

    broken_at: the number of tasks after which the teachers raise KeyboardInterrupt.
    """

    broken_at: int | None = None
    tasks: list[StudentTask] = attrs.field(factory=list, eq=False)

    def count_ones(self, sample: Sample, teachers: int, split: int, points: np.ndarray) -> np.ndarray:
        if len(self.tasks) == self.broken_at:
            raise KeyboardInterrupt
        return np.where(points[:, 0] == 1, teachers // 10, teachers - teachers // 10)

    def train(self, task: StudentTask) -> SimpleStudent:
        self.tasks.append(task)
        asked = task.answers if task.active else len(task.points)
        noise = task.noise.standard_normal(asked) / task.epsilon
        upright = (2 * task.ones[:asked] + noise >= task.teachers) == (task.points[:asked, 0] == 0)
        return SimpleStudent(lambda points: (points[:, 0] == 0) == (upright.mean() > 0.5), asked)

    def cost(self, answers: int, *, of: int, epsilon: float, delta: float) -> float:
        return epsilon * answers / of

    def describe(self) -> dict[str, object]:
        return {"players": "simple"}

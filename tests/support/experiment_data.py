"""A small data set for experiments, and plain players for them."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np

from arena import Sample
from audits.data.one_hot import OneHotData, load_one_hot
from audits.experiments.players import Learned, Request

LINES = 600


def write(path: Path, lines: int = LINES, *, wrong: int = 20) -> str:
    """A file of so many examples in which a says y, but for one in `wrong`; b and c are noise."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, (2, 3, 4), (lines, 3)).T
    y = a ^ (np.arange(lines) % wrong == 0)
    rows = [f"{'uv'[i]},{'rst'[j]},{k},{'ny'[label]}" for i, j, k, label in zip(a, b, c, y, strict=True)]
    path.write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    return str(path)


def load(path: Path, **options: int) -> OneHotData:
    return load_one_hot(write(path, **options), y="y")


@attrs.frozen
class Plain:
    """Teachers who say what the first variable says, all but one in ten of them; a student who learns from
    noisy answers whether to believe that variable."""

    broken_at: int | None = None
    seen: list[Request] = attrs.field(factory=list, eq=False)

    def ones(self, sample: Sample, teachers: int, split: int, points: np.ndarray) -> np.ndarray:
        if len(self.seen) == self.broken_at:
            raise KeyboardInterrupt
        return np.where(points[:, 0] == 1, teachers // 10, teachers - teachers // 10)

    def learn(self, request: Request) -> Learned:
        self.seen.append(request)
        asked = request.answers if request.active else len(request.points)
        noise = request.noise.standard_normal(asked) / request.epsilon
        upright = (2 * request.ones[:asked] + noise >= request.teachers) == (request.points[:asked, 0] == 0)
        return Learned(lambda points: (points[:, 0] == 0) == (upright.mean() > 0.5), asked)

    def spent(self, answers: int, *, of: int, epsilon: float, delta: float) -> float:
        return epsilon * answers / of

    def describe(self) -> dict[str, object]:
        return {"players": "plain"}

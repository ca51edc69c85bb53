"""Remark 25: do the sparse vector's answers ⊥ and the questions of an active student fall on the same points?

Thresholds, ε = 1, δ = 1e-6, n = 2^18, m = 200. Both have the same K = 1,600 teachers and public points. The
sparse vector has w = K/6 and λ = w/20, without a limit T, so that ⊥ marks every unstable point; the active
student is that of Algorithm 5 with ℓ answers of Gaussian noise. The last column is what the overlap would be
if the questions were drawn from all points.
"""

from __future__ import annotations

import attrs
import numpy as np

from arena.messages import UNSTABLE
from arena.randomness import generator
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, measure_cases
from benchmarks.theorems.pate.setup.sources import Tsybakov
from benchmarks.theorems.pate.setup.students import (
    draw_teachers,
    gaussian,
    learn_actively,
    learn_passively,
    questions,
    sparse,
    start,
)

SOURCES = {"realizable": Tsybakov(1.0), "τ = 1/2": Tsybakov(0.5), "τ = 1/3": Tsybakov(1 / 3)}
N, POINTS, TEACHERS, SEEDS = 2**18, 200, 1_600, 60


def measure_overlap(seed: int, source: str) -> tuple[float, ...]:
    """Answers ⊥, questions, those in both, in both among the last ten questions, and the last ten."""
    drawn, rng = SOURCES[source], generator(np.random.SeedSequence([seed, 25]))
    teachers = draw_teachers(drawn, TEACHERS, N // TEACHERS, rng)
    points = rng.random(POINTS)
    screening = attrs.evolve(
        sparse(POINTS, 1.0, 1, TEACHERS), unstable=POINTS, threshold=TEACHERS / 6, scale=TEACHERS / 120
    )
    answers = learn_passively(start(screening, teachers, rng), points)[1]
    asked = learn_actively(start(gaussian(questions(POINTS), 1.0, TEACHERS), teachers, rng), points).asked
    unstable = answers == UNSTABLE
    places = np.array(asked, int)
    return (
        unstable.sum(),
        len(places),
        unstable[places].sum(),
        unstable[places[-10:]].sum(),
        len(places[-10:]),
    )


def main() -> None:
    rows = []
    for name in SOURCES:
        found = measure_cases(measure_overlap, [{"source": name}], SEEDS)[0]
        unstable, asked, both, _, _ = (Mean.of(column) for column in found.T)
        total = found.sum(axis=0)
        rows.append(
            (
                name,
                f"{unstable.value:.1f} ({unstable.lower:.1f} to {unstable.upper:.1f})",
                f"{asked.value:.1f} ({asked.lower:.1f} to {asked.upper:.1f})",
                f"{both.value:.1f} ({both.lower:.1f} to {both.upper:.1f})",
                f"{total[2] / max(1, total[0]):.2f}",
                f"{total[2] / total[1]:.2f}",
                f"{total[3] / total[4]:.2f}",
                f"{total[0] / SEEDS / POINTS:.2f}",
            )
        )
    headers = (
        "source",
        "⊥",
        "questions",
        "both",
        "share of ⊥ that are asked",
        "share of questions that are ⊥",
    )
    headers += ("of the last ten questions", "by chance")
    write_table("pate/pate_overlap", headers, rows)


if __name__ == "__main__":
    main()

"""Figures 3 and 4: margins of 250 logistic regressions on Adult, and their agreement with h*.

As in `benchmarks/by_learner/margins.py`, on splits of their own: of Adult's training file three quarters are
private, 200 of the others are asked about, and h* is trained on all that is private. The paper adds up, over
200 queries, the margin Δ(x) and the share of teachers that say what h* says, less 1/2 (printed as that of
those that do not), and finds a line: pate_figure4.svg.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from arena import Sample
from arena.randomness import generator
from audits.data.one_hot import load_one_hot
from benchmarks.by_learner.charts import BLUE, GREY, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, measure_cases
from learners.pate.teacher import Teacher
from learners.pate.voters import train_ensemble

ADULT = Path(__file__).parents[3] / "audits" / "data" / "examples" / "adult.csv.gz"
TEACHERS, QUERIES, SEEDS = 250, 200, 12


def measure_margins(seed: int) -> np.ndarray:
    """The margins of all queries, and their agreement with h* less 1/2."""
    data = load_one_hot(ADULT, y="income", positive=">50K", quantiles=5)
    order = generator(np.random.SeedSequence(seed)).permutation(len(data.labels))
    private, asked = np.split(order, [3 * len(order) // 4])
    points = data.points[asked[:QUERIES]]
    teacher = Teacher.from_text(f"LogisticRegression(max_iter=1000):{points.shape[1]}")
    sample = Sample(data.points[private], data.labels[private])
    votes = train_ensemble(teacher, sample, TEACHERS, seed).votes(points)
    star = teacher.train(sample)(points)
    return np.concatenate([np.abs(votes.mean(axis=0) - 0.5), (votes == star).mean(axis=0) - 0.5])


def main() -> None:
    found = measure_cases(measure_margins, [{}], SEEDS)[0].reshape(SEEDS, 2, QUERIES)
    sums = found.cumsum(axis=2)
    figures = {
        "mean margin Δ": found[:, 0].mean(axis=1),
        "share of points with Δ ≤ 1/6": (found[:, 0] <= 1 / 6).mean(axis=1),
        "share where the vote is h*": (found[:, 1] >= 0).mean(axis=1),
        "correlation of Δ and agreement": np.array([np.corrcoef(*one)[0, 1] for one in found]),
        "correlation of the sums (Figure 4)": np.array([np.corrcoef(*one)[0, 1] for one in sums]),
        "last sum of agreement over that of Δ": sums[:, 1, -1] / sums[:, 0, -1],
    }
    means = {name: Mean.of(values) for name, values in figures.items()}
    rows = [(name, f"{m.value:.3f}", f"{m.lower:.3f} to {m.upper:.3f}") for name, m in means.items()]
    headers = ("figure", f"mean of {SEEDS} splits", "limits")
    write_table("pate/pate_figure4", headers, rows)
    figure = Figure(figsize=(6.4, 5), layout="constrained", facecolor="white")
    axis = figure.subplots()
    for place, (across, up) in enumerate(sums):
        label = f"200 queries, one of {SEEDS} splits" if not place else None
        axis.plot(across, up, color=BLUE, linewidth=0.8, alpha=0.6, label=label)
    end = float(sums.max())
    axis.plot([0, end], [0, end], color=GREY, linestyle=":", label="teachers always agree on what h* says")
    axis.set(
        xlabel="sum of the margins Δ(x)", ylabel="sum of (share of teachers that agree with h*, less 1/2)"
    )
    axis.set_title(
        f"Where {TEACHERS} teachers on Adult agree, they agree on h*: the agreement adds up to\n"
        f"{means['last sum of agreement over that of Δ'].value:.1%} of the margin (Figure 4 of the paper)"
    )
    axis.legend(loc="upper left")
    print(f"Written: {save(figure, 'theorems/pate_figure4.svg')}")


if __name__ == "__main__":
    main()

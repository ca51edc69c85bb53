"""How far 250 logistic regressions on Adult are from a tie, and from the rule of all data: docs/margins.svg.

The picture of appendix E of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. Of the
examples three in four are private, each of them with one teacher; 2,000 of the rest are asked about. h* is
trained on all that is private. Columns of words are one-hot, columns of numbers by quintile.

The paper has 36,631 private examples, of both files of Adult; the package ships the training file, which has
24,420, 97 or 98 for a teacher. For others: python benchmarks/by_learner/margins.py FILE.csv.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import attrs
import numpy as np
from charts import BLUE, GREEN, GREY, RED, panels, save
from tabulate import tabulate

from arena import Sample
from audits.data.one_hot import load_one_hot
from benchmarks.papers.margins import HighMarginBand, Margins
from learners.pate.teacher import Teacher
from learners.pate.voters import train_ensemble

ADULT = Path(__file__).parents[2] / "audits" / "data" / "examples" / "adult.csv.gz"
TEACHERS, QUERIES = 250, 2_000
LEVELS = (0.01, 0.05, 0.1, 1 / 6, 0.25, 0.4, 0.49)
MISS = 0.05


@attrs.frozen(eq=False)
class Found:
    """What came of it. agree: (m,), the share of teachers that say what h* says."""

    margins: Margins
    agree: np.ndarray
    star: np.ndarray
    labels: np.ndarray


def measure_margins(points: np.ndarray, labels: np.ndarray) -> Found:
    order = np.random.default_rng(0).permutation(len(labels))
    private, asked = np.split(order, [3 * len(order) // 4])
    asked = asked[:QUERIES]
    teacher = Teacher.from_text(f"LogisticRegression(max_iter=1000):{points.shape[1]}")
    sample = Sample(points[private], labels[private])
    votes = train_ensemble(teacher, sample, TEACHERS, 0).votes(points[asked])
    star = teacher.train(sample)(points[asked])
    return Found(Margins(votes.mean(axis=0), TEACHERS), (votes == star).mean(axis=0), star, labels[asked])


def print_band(found: Found) -> HighMarginBand:
    """Print the figures; ν at every ξ."""
    band = found.margins.high_margin(np.array(LEVELS), miss=MISS)
    rows = zip(band.xi, band.nu, band.lower, band.upper, strict=True)
    headers = ("ξ", "ν: share of points with Δ ≤ ξ", "at least", "at most")
    print(tabulate([[f"{value:.3f}" for value in row] for row in rows], headers, disable_numparse=True))
    limit, expected = found.margins.majority_limit, found.margins.expected
    far = expected > 1 / 6
    figures = {
        "mean margin": expected.mean(),
        "vote agrees with h*": (limit == found.star).mean(),
        "the same where Δ > 1/6": (limit == found.star)[far].mean(),
        "accuracy of the vote": (limit == found.labels).mean(),
        "accuracy of h*": (found.star == found.labels).mean(),
        "correlation of Δ and agreement − 1/2": np.corrcoef(expected, found.agree - 0.5)[0, 1],
    }
    print(tabulate([(name, f"{value:.4f}") for name, value in figures.items()], disable_numparse=True))
    return found.margins.high_margin(np.linspace(0, 0.5, 101), miss=MISS)


def draw(found: Found, band: HighMarginBand) -> Path:
    figure, (left, right) = panels(
        f"Votes of {TEACHERS} logistic regressions about {len(found.agree):,} points of Adult.\n"
        "Left: how many points are near a tie. Right: whether the teachers agree on what h* says"
    )
    left.fill_between(band.xi, band.lower, band.upper, color=BLUE, alpha=0.2, label="band, all ξ, 95 %")
    left.plot(band.xi, band.nu, color=BLUE, label="measured")
    left.plot([0, 0.5], [0, 1], color=GREY, linestyle=":", label="if shares of votes were uniform")
    left.set(title="high margin (Definition 17)", xlabel="margin ξ", xlim=(0, 0.5), ylim=(0, 1))
    left.set_ylabel("ν, share of points with Δ ≤ ξ")
    left.legend(loc="upper left")
    expected, agree = found.margins.expected, found.agree - 0.5
    bins = np.linspace(-0.5, 0.5, 41)
    parts = [
        agree[found.margins.majority_limit == found.star],
        agree[found.margins.majority_limit != found.star],
    ]
    right.hist(parts, bins=bins, stacked=True, color=[GREEN, RED], label=["vote = h*", "vote ≠ h*"])
    right.set(xlabel="share of teachers that agree with h*, less 1/2", ylabel="points", yscale="log")
    right.legend(loc="upper left", title=f"mean Δ = {expected.mean():.3f}")
    return save(figure, "margins.svg")


def main() -> None:
    start = time.perf_counter()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ADULT
    data = load_one_hot(path, y="income", positive=">50K", quantiles=5)
    print(f"{path.name}: {len(data.labels):,} examples, {data.points.shape[1]} coordinates")
    found = measure_margins(data.points, data.labels)
    print(f"Written: {draw(found, print_band(found))}")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

"""Table 4 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning, and its chart.

mushroom is the paper's data set. adult is the file that the package ships (32,561 examples, numbers cut at
quintiles), where a9a has 48,842. real-sim (72,309 texts, 20,958 words) is not available; texts are 12,000
bags of words over 300 words that scikit-learn generates, sparse and nearly linearly separable as real-sim is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
import numpy as np
from sklearn.datasets import make_multilabel_classification

from audits.data.one_hot import OneHotData, load_one_hot
from audits.reports.formatting import column_table, nats
from audits.reports.plots import BLUE, GREEN, ORANGE, Picture, check_plot, draw_curve
from benchmarks.papers.gradient_step_student import GradientStepStudent
from benchmarks.papers.pate_experiment import (
    NOISELESS,
    NOISY,
    SVT,
    PateExperiment,
    Row,
    measure_accuracy,
    measure_balanced_accuracy,
    measure_f1,
)
from benchmarks.theorems.measurement import measure_cases
from learners.pate.students import ActiveStudent, ForcedLabelStudent
from learners.pate.teacher import Classifier, Teacher

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXAMPLES = Path(__file__).parents[2] / "audits" / "data" / "examples"
COLUMNS: dict[str, dict[str, Any]] = {
    "mushroom": {"y": "Poisonous/Edible"},
    "adult": {"y": "income", "positive": ">50K", "quantiles": 5},
}
TEXTS = "texts"
SIZE, WORDS, LENGTH = 12_000, 300, 12  # of the generated texts
# Mean accuracies by the number of examples. The table's ± are very probably too narrow by a factor of √30
# (docs/voting.md), and so are not shown.
PAPER: dict[int, dict[tuple[str, float], float]] = {
    8_124: {
        ("psq-np", math.inf): 0.9773,
        ("asq-np", math.inf): 0.9146,
        ("psq", 0.5): 0.6416,
        ("asq", 0.5): 0.6418,
        ("psq", 1.0): 0.7534,
        ("asq", 1.0): 0.7727,
        ("psq", 2.0): 0.8974,
        ("asq", 2.0): 0.8858,
    },
    48_842: {
        ("psq-np", math.inf): 0.5555,
        ("asq-np", math.inf): 0.5461,
        ("psq", 0.5): 0.5040,
        ("asq", 0.5): 0.5212,
        ("psq", 1.0): 0.5171,
        ("asq", 1.0): 0.5369,
        ("psq", 2.0): 0.5176,
        ("asq", 2.0): 0.5543,
    },
}


def generate_texts() -> OneHotData:
    """Bags of words with unit norm, from two distributions of words; labels say from which."""
    counts, labels = make_multilabel_classification(
        n_samples=4 * SIZE, n_features=WORDS, n_classes=2, n_labels=1, length=LENGTH, random_state=0
    )
    one_topic = np.flatnonzero(labels.sum(axis=1) == 1)[:SIZE]
    rows = counts[one_topic].astype(np.float32)
    names = tuple(f"word {word}" for word in range(WORDS))
    return OneHotData(
        path="generated texts",
        points=rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True)),
        labels=labels[one_topic, 1].astype(np.int8),
        names=names,
        column_of=np.arange(WORDS),
        columns=names,
        y="topic",
        values=("0", "1"),
    )


def read_teacher(text: str, features: int) -> Teacher:
    """The teacher that the text names, for points with so many features."""
    teacher = Teacher.from_text(text)
    if isinstance(teacher, Classifier) and teacher.features is None:
        teacher = attrs.evolve(teacher, features=features)
    return teacher


@lru_cache
def make_experiment(
    data: str,
    columns: tuple[tuple[str, Any], ...],
    svt: bool,
    epsilons: tuple[float, ...],
    teacher: str,
    student: str | None,
    active: str,
    constant: float | None,
    seed: int,
    digest: str,
) -> PateExperiment:
    """The experiment of a command line; digest: of the file, so that other content is measured anew."""
    examples = generate_texts() if data == TEXTS else load_one_hot(data, **dict(columns))
    teachers = read_teacher(teacher, len(examples.names))
    passive = teachers if student is None else read_teacher(student, len(examples.names))
    settings = {} if constant is None else {"constant": constant}
    asking: ActiveStudent = GradientStepStudent(**settings)
    if active == "forced":
        asking = ForcedLabelStudent(student=passive, **settings)
    rows = [Row(method, math.inf) for method in NOISELESS]
    rows += [Row(method, epsilon) for epsilon in epsilons for method in (*NOISY, *[SVT] * svt)]
    return PateExperiment(
        data=examples, teacher=teachers, student=passive, active=asking, rows=tuple(rows), seed=seed
    )


def measure_split(seed: int, case: dict[str, Any]) -> list[float]:
    """The answers and the confusions of a split, one after the other."""
    answers, confusions = make_experiment(**case).play_split(seed)
    return [*answers, *confusions.ravel()]


def format_mean(figures: np.ndarray, digits: int = 4) -> str:
    """The mean of figures (n,) and 1.96 standard errors, as the paper prints them."""
    value = f"{figures.mean():,.{digits}f}".removesuffix(".0")
    if len(figures) < 2 or np.ptp(figures) == 0:
        return value
    return f"{value} ± {half_width(figures):.{digits}f}"


def half_width(figures: np.ndarray) -> float:
    return 1.96 * float(figures.std(ddof=1)) / math.sqrt(len(figures)) if len(figures) > 1 else 0.0


def print_table(experiment: PateExperiment, answers: np.ndarray, confusions: np.ndarray) -> None:
    """answers: (n, k); confusions: (n, k + 1, 2, 2)."""
    data, rows = experiment.data, []
    paper = PAPER.get(len(data.labels), {})
    for place, row in enumerate(experiment.rows):
        counts, accuracy = answers[:, place], measure_accuracy(confusions[:, place])
        ex_post = np.mean([experiment.cost(row, int(count)) for count in counts])
        cells = [row.method, format_mean(counts, 1), *map(_format_epsilon, (row.epsilon, ex_post))]
        cells += [format_mean(accuracy), format_mean(measure_balanced_accuracy(confusions[:, place]))]
        cells += [format_mean(measure_f1(confusions[:, place]))]
        if paper:
            theirs = paper.get((row.method, row.epsilon))
            cells += ["", ""] if theirs is None else [f"{theirs:.4f}", f"{accuracy.mean() - theirs:+.4f}"]
        rows.append(cells)
    ones = float(data.labels.mean())
    click.echo(
        f"{data.path}: {len(data.labels):,} examples, {len(data.names):,} variables, {experiment.teachers} "
        f"teachers, {experiment.public} public points, {len(answers)} splits, δ = {experiment.delta:.3g}. "
        f"The vote is right at {format_mean(measure_accuracy(confusions[:, -1]))}, the more frequent label "
        f"at {max(ones, 1 - ones):.4f}. ± is 1.96 standard errors; ε ex post is no guarantee.\n"
    )
    headers = ["method", "answers", "ε", "ε ex post", "accuracy", "balanced accuracy", "F1"]
    click.echo(column_table(rows, [*headers, "Table 4", "difference"] if paper else headers))


def _format_epsilon(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else nats(epsilon)


STYLES = {  # label, colour, and a marker for grey prints
    "psq": ("passive", BLUE, "o"),
    "asq": ("active", ORANGE, "s"),
    SVT: ("passive, sparse vector", GREEN, "D"),
    "psq-np": ("passive, no noise", BLUE, ""),
    "asq-np": ("active, no noise", ORANGE, ""),
}


def draw(experiment: PateExperiment, confusions: np.ndarray, path: str) -> None:
    """Draw accuracy against ε: the same bytes for the same figures."""
    check_plot(path)
    from audits.reports.figure import write_figure  # an extra, and slow to import

    paper = PAPER.get(len(experiment.data.labels), {})

    def draw_accuracies(axes: Axes) -> None:
        for method, (label, color, marker) in STYLES.items():
            places = [place for place, row in enumerate(experiment.rows) if row.method == method]
            places.sort(key=lambda place: experiment.rows[place].epsilon)
            accuracies = [measure_accuracy(confusions[:, place]) for place in places]
            epsilons = [experiment.rows[place].epsilon for place in places]
            means = np.array([figures.mean() for figures in accuracies])
            widths = np.array([half_width(figures) for figures in accuracies])
            if places and not marker:
                axes.axhline(means[0], color=color, linestyle="--", linewidth=1.2, label=label)
                axes.axhspan(means[0] - widths[0], means[0] + widths[0], color=color, alpha=0.12, linewidth=0)
            elif places:
                style = {"color": color, "marker": marker}
                draw_curve(
                    axes,
                    epsilons,
                    means,
                    [means - widths, means + widths],
                    label=label,
                    markersize=5,
                    **style,
                )
                theirs = [(e, paper[method, e]) for e in epsilons if (method, e) in paper]
                if theirs:
                    style |= {"markerfacecolor": "none", "linestyle": "none", "markersize": 9}
                    axes.plot(*zip(*theirs, strict=True), label=f"{label}, Table 4 of the paper", **style)
        finite = sorted({row.epsilon for row in experiment.rows if math.isfinite(row.epsilon)})
        if finite:
            axes.set_xscale("log")
            axes.set_xticks(finite, [f"{epsilon:g}" for epsilon in finite])
            axes.minorticks_off()
        axes.set(xlabel="ε of all answers together (nats, logarithmic)", ylabel="accuracy of the student")

    name = Path(experiment.data.path).name.partition(".")[0]
    subject = f"{experiment.teachers:,} teachers on {len(experiment.data.labels):,} examples ({name})"
    picture = Picture(
        draw=draw_accuracies,
        title=f"{subject}, {len(confusions)} splits",
        reading="Mean over the splits; shaded, 1.96 standard errors",
    )
    write_figure(picture, path, of="experiment")


@click.command()
@click.argument("data", default="mushroom")
@click.option("--y", help="Column of the labels, if DATA is a file.")
@click.option("--positive", help="The value of --y that is label 1.")
@click.option("--quantiles", type=int, help="Ranges that columns of numbers are cut into.")
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=(0.5, 1.0, 2.0), show_default=True)
@click.option("--svt", is_flag=True, help="Also passive students whose answers a sparse vector gives.")
@click.option("--teacher", default="Perceptron", show_default=True, help="A classifier of scikit-learn.")
@click.option("--student", help="Kind of passive student. Default: that of the teachers.")
@click.option(
    "--active",
    type=click.Choice(["gradient", "forced"]),
    default="gradient",
    show_default=True,
    help="Whether an active student takes gradient steps, or fits rules with the label forced.",
)
@click.option("--constant", type=float, help="How readily an active student asks.")
@click.option("--splits", default=30, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", type=int, help="Processes. Default: one for each core.")
@click.option("--plot", "path", metavar="FILE", help="Draw accuracy against ε: FILE.png or FILE.svg.")
def table4(data: str, splits: int, jobs: int | None, path: str | None, **settings: Any) -> None:
    """Train teachers and students on DATA: mushroom, adult, texts, or a CSV file with --y COLUMN."""
    columns = {name: settings.pop(name) for name in ("y", "positive", "quantiles")}
    if data in COLUMNS:
        columns = COLUMNS[data]
        data = str(EXAMPLES / f"{data}.csv.gz")
    digest = "" if data == TEXTS else sha256(Path(data).read_bytes()).hexdigest()
    case = {"data": data, "digest": digest, "columns": tuple(columns.items()), **settings}
    experiment = make_experiment(**case)
    figures = measure_cases(measure_split, [{"case": case}], splits, jobs=jobs)[0]
    answers, confusions = np.split(figures, [len(experiment.rows)], axis=1)
    confusions = confusions.reshape(splits, -1, 2, 2)
    print_table(experiment, answers, confusions)
    if path is not None:
        draw(experiment, confusions, path)

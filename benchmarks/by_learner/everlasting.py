"""What private everlasting prediction reaches with practical constants: docs/everlasting.svg.

- The largest error of a hypothesis by rounds, for several classes, beside 4α of v2 and 6α of v1. D is uniform
  on a list of points where LabelBoost would have too many labellings of more.
- The examples n = λT that round 1 takes for errors of at most 4α with probability 1 - 4β, where its answers
  together may cost 50 nats for a change of one teacher (so many, that a laptop holds it): by VC dimension and
  by α, with slopes of ln n. T is found by bisection. Of all R = 4λT answers, which feed round 2, the largest
  noise is drawn at once, and the error of the hypothesis that has it computed.
- Adult and Mushroom: D is the data, errors beyond those of the best concept.
- Seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
from charts import BLUE, GREEN, GREY, RED, panels, save
from tabulate import tabulate

from adversaries.figure1.honest import Honest
from arena import Figure1, Learner, Sample, play
from arena.concepts import Boxes, ConceptClass, FiniteClass, Halfplanes, RealIntervals, Stumps, Thresholds
from audits.data.csv_files import load_sample, read_table, resolve_labels
from audits.races.predictor_race import EvaluationSet, PredictorStanding, plan_predictor_race
from audits.races.race_result import run_race
from learners.everlasting.bbl_round import practical_chunk
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.mechanisms.accounting import best_composition, largest_affordable
from learners.mechanisms.sparse_vector import delta_of_gap
from learners.mechanisms.steady_thresholds import steady_thresholds_cost

DATA = Path(__file__).parents[2] / "audits" / "data" / "examples"
ALPHA = BETA = 0.06
ROUNDS, FEW, GAMES = 5, 3, 3  # of thresholds, of other classes; v1 and the counter play two
TRIALS = 25
BUDGET, DELTA = 50.0, 1e-5
MOST = 1_000  # teachers that are trained where T is found; the votes of more are as good as the same
GAP = 0.25  # of the counter
TOPS = 4  # outcomes ⊤ that v1 and the counter pay for, in units of α_1·R_1

# --- errors by rounds ---------------------------------------------------------------------------------------


def draw_labelled(concepts: ConceptClass, size: int, seed: int = 0) -> Sample:
    """So many points, labelled by a target."""
    rng = np.random.default_rng(seed)
    points = concepts.draw_points(rng, size)
    return Sample(points, concepts.labels(concepts.draw_concept(rng)[None], points)[0]).distinct()


def every(points: int) -> FiniteClass:
    """All labellings of so many points."""
    return FiniteClass(np.array([[k >> i & 1 for i in range(points)] for k in range(2**points)]))


def populations() -> dict[str, tuple[ConceptClass, Sample | None]]:
    return {
        "thresholds": (Thresholds(), draw_labelled(Thresholds(), 2_000)),
        "intervals": (RealIntervals(), draw_labelled(RealIntervals(), 500)),
        "boxes in the plane": (Boxes(2), draw_labelled(Boxes(2), 40)),
        "stumps, 4 features": (Stumps(4), draw_labelled(Stumps(4), 1_000)),
        "halfplanes": (Halfplanes(), draw_labelled(Halfplanes(), 200)),
        "all of 5 points": (every(5), None),
    }


def standing(learner: Learner, sample: Sample | None, games: int, rounds: int) -> PredictorStanding:
    race = plan_predictor_race([("it", learner, Honest(sample=sample))], rounds=rounds, games=games)
    return run_race(race).standings[0]


def by_rounds() -> dict[str, np.ndarray]:
    """Print the table; the worst errors of v2 by rounds, for every class."""
    rows, curves = [], {}
    for name, (concepts, sample) in populations().items():
        for version in (EverlastingV1, EverlastingV2, EverlastingCounter):
            usual = ROUNDS if name == "thresholds" else FEW
            rounds, games = (usual, GAMES) if version is EverlastingV2 else (2, 2)
            learner = version(concepts=concepts).with_practical_constants(rounds=rounds)
            found = standing(learner, sample, games, rounds)
            if version is EverlastingV2:
                curves[name] = found.worst
            told = "none" if learner.claim.empty else f"ε = {learner.claim.epsilon:,.0f}"
            rows.append((name, learner.name, told, *(f"{abs(error):.4f}" for error in found.worst)))
    headers = ("class", "learner", "claim", *(f"round {i}" for i in range(1, ROUNDS + 1)))
    print(tabulate(rows, headers, disable_numparse=True))
    return curves


# --- sample complexity --------------------------------------------------------------------------------------

Scale = Callable[[int, int, float], "tuple[float, float] | None"]  # (T, R, α_1) -> scales of noise and of μ


def scale_v2(teachers: int, answers: int, alpha: float) -> tuple[float, float] | None:
    noise = largest_affordable(lambda each: best_composition(answers, each, slack=DELTA / 2).epsilon, BUDGET)
    return 1 / (teachers * noise), 0.0


def scale_counter(teachers: int, answers: int, alpha: float) -> tuple[float, float] | None:
    tops = max(1, round(TOPS * alpha * answers))

    def cost(each: float) -> float:
        return steady_thresholds_cost(tops, each, gap=2 * GAP * teachers * each, slack=DELTA / 2).epsilon

    with np.errstate(all="ignore"):  # of a handful of teachers ε′ may be as large as it likes
        return 1 / (teachers * largest_affordable(cost, BUDGET)), 0.0


def scale_v1(teachers: int, answers: int, alpha: float) -> tuple[float, float] | None:
    """None where no ε′ is small enough for the budget and large enough for the gap."""
    tops = max(1, round(TOPS * alpha * answers))
    noise = min(
        1.0, largest_affordable(lambda each: best_composition(tops, each, slack=DELTA / 2).epsilon, BUDGET)
    )
    if tops * delta_of_gap(epsilon=noise, gap=2 * alpha, size=teachers) > DELTA / 2:
        return None
    return 6 / (teachers * noise), 2 / (teachers * noise)


@attrs.frozen
class Kind:
    name: str
    scale: Scale
    factor: int
    colour: str


KINDS = (
    Kind("everlasting-v1", scale_v1, 6, RED),
    Kind("everlasting-v2", scale_v2, 4, BLUE),
    Kind("everlasting-counter", scale_counter, 4, GREEN),
)


def find_least_chunks(kind: Kind, concepts: ConceptClass, alpha: float) -> float:
    """The least n = λT that does, to a tenth."""
    chunk = practical_chunk(alpha / 2, concepts.vc_dimension)
    low, high = 8.0, 16.0
    while not good(kind, concepts, chunk, round(high), alpha):
        low, high = high, 2 * high
    while high / low > 1.1:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if good(kind, concepts, chunk, round(middle), alpha) else (middle, high)
    return chunk * high


def good(kind: Kind, concepts: ConceptClass, chunk: int, teachers: int, alpha: float) -> bool:
    answers = 4 * chunk * teachers
    scales = kind.scale(teachers, answers, alpha / 2)
    if scales is None or scales[0] > 1:
        return False
    rng = np.random.default_rng(0)
    bad = sum(
        worst(concepts, chunk, teachers, answers, scales, rng) > kind.factor * alpha for _ in range(TRIALS)
    )
    return bad <= 4 * BETA * TRIALS


def worst(
    concepts: ConceptClass,
    chunk: int,
    teachers: int,
    answers: int,
    scales: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    """The larger of the errors of the two hypotheses of round 1 whose noise is the largest, up and down."""
    extreme = scales[0] * np.log(answers / 2 / rng.standard_exponential(2)) + scales[1] * rng.laplace()
    if extreme.max() >= 0.5:
        return 1.0  # some hypothesis labels all points alike, whatever the votes
    people = Honest(concepts=concepts).population(1, rng)
    teachers = min(teachers, MOST)
    points, labels = people.draw(rng, chunk * teachers)
    held = concepts.erm(points.reshape(teachers, chunk, *points.shape[2:]), labels.reshape(teachers, chunk))
    evaluation = EvaluationSet.of(people, concepts, 1, rng, 2_000)
    votes = concepts.vote(held, evaluation.points[0])
    return float(evaluation.error_curves(votes[None])(0.5 + np.array([[extreme[0], -extreme[1]]])).max())


def slope(x: list[float], n: list[float]) -> str:
    """Least squares of ln n on ln x, with 95 % limits by Student's law."""
    from scipy.stats import linregress, t

    fit = linregress(np.log(x), np.log(n))
    off = t.isf(0.025, len(x) - 2) * fit.stderr
    return f"{fit.slope:.2f} ± {off:.2f}"


def complexity() -> dict[str, dict[str, tuple[list[float], list[float]]]]:
    matrices = [
        FiniteClass(np.array([[k >> i & 1 for i in range(d)] for k in range(2**d)])) for d in (1, 2, 4, 7, 10)
    ]
    sweeps: dict[str, list[tuple[float, ConceptClass, float]]] = {
        "VC of boxes": [(2.0 * d, Boxes(d), 0.06) for d in (1, 2, 3, 4)],
        "VC of matrices": [(float(m.vc_dimension), m, 0.06) for m in matrices],
        "1/α, thresholds": [(1 / a, Thresholds(), a) for a in (0.06, 0.04, 0.025, 0.015)],
    }
    found: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    rows = []
    for name, sweep in sweeps.items():
        found[name] = {}
        for kind in KINDS:
            ns = [find_least_chunks(kind, concepts, alpha) for _, concepts, alpha in sweep]
            xs = [x for x, _, _ in sweep]
            found[name][kind.name] = xs, ns
            rows.append((name, kind.name, slope(xs, ns), " ".join(f"{n:,.0f}" for n in ns)))
    print(tabulate(rows, ("against", "learner", "slope", "n"), disable_numparse=True))
    return found


# --- data, speed --------------------------------------------------------------------------------------------


def read_mushroom() -> Sample:
    """Odor and gill size as numbers, in the order of the alphabet."""
    table = read_table(str(DATA / "mushroom.csv.gz"))
    columns = []
    for name in ("Odor", "Gill-size"):
        values = [row[table.find_column(name)] for _, row in table.rows]
        columns.append(np.unique(values, return_inverse=True)[1])
    label = table.find_column("Poisonous/Edible")
    _, positive = resolve_labels(table, label, "p")
    return Sample(np.column_stack(columns), [row[label] == positive for _, row in table.rows]).distinct()


def on_data() -> None:
    adult = str(DATA / "adult.csv.gz")
    sets = {
        "Adult, capital gain": (
            load_sample(adult, x="capital-gain", y="income", positive=">50K"),
            Thresholds(),
        ),
        "Adult, education and hours": (
            load_sample(adult, x=["education-num", "hours-per-week"], y="income", positive=">50K"),
            Stumps(2),
        ),
        "Mushroom, odor and gill size": (read_mushroom(), Stumps(2)),
    }
    rows = []
    for name, (sample, concepts) in sets.items():
        found = standing(
            EverlastingV2(concepts=concepts, agnostic=True).with_practical_constants(), sample, 3, 3
        )
        errors = [f"{error:.4f}" for error in (found.best_concept_error, *found.worst)]
        rows.append((name, str(concepts), *errors))
    print(
        tabulate(
            rows, ("data", "class", "best concept", "round 1", "round 2", "round 3"), disable_numparse=True
        )
    )


def seconds(learner: GenericBBL, queries: int, games: int) -> float:
    adversary = Honest(queries=queries, learner=learner)
    start = time.perf_counter()
    play(learner, adversary, Figure1(), games=games, seed=0)
    return time.perf_counter() - start


def speed() -> None:
    sizes = {"teachers": 1_000, "chunk": 5, "rate": 1.0, "training_rate": 1.0, "noise": 1.0}
    long = seconds(EverlastingV2(**sizes, answers=20_000), 100_000 + 40_000, 1)
    print(f"a game of 3 rounds, 140,000 answers, 1,000 teachers in round 1: {long:.2f} s (asked: 0.5)")
    short = EverlastingV2(teachers=200, chunk=5, rounds=1, answers=100, training_rate=1.0)
    print(f"10,000 games of 100 answers, 200 teachers: {seconds(short, 100, 10_000):.2f} s (asked: 10)")


# --- the picture --------------------------------------------------------------------------------------------


def draw(curves: dict[str, np.ndarray], found: dict[str, dict[str, tuple[list[float], list[float]]]]) -> None:
    figure, (left, right) = panels(
        f"Everlasting prediction with practical constants, α = β = {ALPHA}. Left: everlasting-v2, the worst "
        f"of {GAMES} games.\nRight: answers of a round cost {BUDGET:.0f} nats for a change of one teacher"
    )
    for (name, errors), marker in zip(curves.items(), "osD^vP", strict=True):
        left.plot(
            range(1, len(errors) + 1), np.maximum(errors, 1e-4), marker=marker, markersize=4, label=name
        )
    for factor, version in ((4, "v2"), (6, "v1")):
        left.axhline(factor * ALPHA, color=GREY, linestyle="--", linewidth=1)
        left.text(1, factor * ALPHA * 1.05, f"{factor}α, {version}", color=GREY, fontsize=9)
    left.set(xlabel="round", ylabel="largest error of a hypothesis (0 as 1e-4)", yscale="log")
    left.set_xticks(range(1, ROUNDS + 1))
    left.legend(fontsize=8)
    for name, marker in zip(found, "os^", strict=True):
        right.plot([], [], color=GREY, marker=marker, linestyle="", label=name)
        for kind in KINDS:
            right.plot(*found[name][kind.name], color=kind.colour, marker=marker, markersize=4)
    for kind in KINDS:
        right.plot([], [], color=kind.colour, label=kind.name)
    ticks = (1, 2, 4, 8, 16, 32, 64)
    right.set(xlabel="VC dimension, or 1/α", ylabel="examples needed, n", xscale="log", yscale="log")
    right.set_xticks(ticks, [str(tick) for tick in ticks])
    right.minorticks_off()
    right.legend(fontsize=8, ncols=2, loc="center", bbox_to_anchor=(0.5, 0.57))
    print(f"Written: {save(figure, 'everlasting.svg')}")


def main() -> None:
    start = time.perf_counter()
    speed()
    on_data()
    curves, found = by_rounds(), complexity()
    draw(curves, found)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

"""Proposition 18 and Theorems 19 and 20: PATE against the vote of infinitely many teachers, where no τ holds.

Three problems on which teachers do not agree on the best rule of the class: Example 1 (the vote errs more
than any rule), its mirror image (the vote does not err, every rule does; an instance of Example 2), and a
third of [0, 1] where labels are coin flips, so that teachers scatter over it. ν is measured at each ξ, T and
K are those of Proposition 18 (γ = 0.05), λ and w those of Algorithm 2; ε = 1, δ = 1e-6, m = 1,000. A student
learns in the class, and another in the class of its votes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import ceil, log, sqrt

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.concepts.finite import FiniteClass
from arena.messages import NO_LABEL, UNSTABLE
from arena.randomness import generator
from benchmarks.papers.margins import Margins
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, measure_cases
from benchmarks.theorems.pate.setup.sources import Plateau
from benchmarks.theorems.pate.setup.students import CLASS, DELTA, GAMMA, ThresholdVotes, draw_teachers
from learners.pate.screening import PateSvt
from learners.pate.students import collect_answers, fit_answers
from learners.pate.teacher import Minimiser

POINTS, EPSILON, SEEDS = 1_000, 1.0, 40
MANY = 100_000  # teachers that stand for infinitely many
GRID = (np.arange(3_000) + 0.5) / 3_000


@attrs.frozen(eq=False)
class TableVotes:
    """Stands for an ensemble on finitely many points: the votes for 1 at each."""

    table: np.ndarray

    def ones(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.table[points.astype(int)])


@attrs.frozen(eq=False)
class FiniteProblem:
    """Uniform points 0, 1, ..., all with label 1, and a class given by its matrix. size: n/K."""

    concepts: FiniteClass
    size: int = 400

    @property
    def domain(self) -> np.ndarray:
        return np.array(self.concepts.domain)

    @property
    def votes_class(self) -> ConceptClass:
        """The majorities of nine rules of the class."""
        matrix = self.concepts.matrix
        shares = [counts for counts in product(range(10), repeat=len(matrix)) if sum(counts) == 9]
        return FiniteClass(np.unique(2 * (np.array(shares) @ matrix) > 9, axis=0))

    def draw_votes(self, teachers: int, rng: np.random.Generator) -> TableVotes:
        counts = rng.multinomial(self.size, np.full(len(self.domain), 1 / len(self.domain)), teachers)
        rules = self.concepts.erm(self.domain[None], np.ones((1, len(self.domain)), int), counts)
        return TableVotes(self.concepts.matrix[rules.astype(int)].sum(axis=0))

    def risk(self, labels: np.ndarray) -> float:
        """Err of a rule with these labels on the domain."""
        return float(1 - labels.mean())


@attrs.frozen(eq=False)
class LineProblem:
    """`Plateau`. The votes of thresholds are thresholds. `domain` stands for [0, 1]."""

    source = Plateau()
    concepts = CLASS
    votes_class = CLASS
    domain = GRID
    size: int = 64

    def draw_votes(self, teachers: int, rng: np.random.Generator) -> ThresholdVotes:
        return ThresholdVotes(draw_teachers(self.source, teachers, self.size, rng))

    def risk(self, labels: np.ndarray) -> float:
        ones = self.source.regression(self.domain)
        return float(np.where(labels, 1 - ones, ones).mean())


PROBLEMS: dict[str, FiniteProblem | LineProblem] = {
    "voting fails": FiniteProblem(FiniteClass([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])),
    "voting wins": FiniteProblem(FiniteClass([[0, 1, 1], [1, 0, 1], [1, 1, 0]])),
    "coin flips": LineProblem(),
}
CASES = [
    ("voting fails", 0.1),
    ("voting wins", 0.1),
    ("coin flips", 0.1),
    ("coin flips", 1 / 6),
    ("coin flips", 0.4),
]


@attrs.frozen(eq=False)
class Limit:
    """The vote of infinitely many teachers: its labels on the domain, and ν at ξ. best: min Dis(h, h_agg)."""

    labels: np.ndarray
    nu: float
    best: float
    best_error: float


@lru_cache
def find_limit(name: str, xi: float) -> Limit:
    problem = PROBLEMS[name]
    votes = problem.draw_votes(MANY, generator(np.random.SeedSequence(0)))
    margins = Margins(votes.ones(problem.domain) / MANY, MANY)
    every = problem.concepts.dichotomies(problem.domain).labels
    return Limit(
        labels=margins.majority_limit,
        nu=float(margins.high_margin(xi).nu[0]),
        best=float((every != margins.majority_limit).mean(axis=1).min()),
        best_error=min(problem.risk(labels) for labels in every),
    )


def choose_parameters(nu: float, xi: float) -> tuple[int, int]:
    """T and K of Proposition 18."""
    logs = log(3 / GAMMA)
    unstable = max(1, ceil(nu * POINTS + sqrt(2 * nu * POINTS * logs) + 2 / 3 * logs))
    scale = PateSvt(
        teachers=10**9, queries=POINTS, epsilon=EPSILON, delta=DELTA, unstable=unstable
    ).effective_scale
    far = log(3 * POINTS / GAMMA)
    return unstable, ceil(max(2 * far / xi**2, 3 * scale * (log(4 * POINTS / DELTA) + far) / xi))


def measure_run(seed: int, problem: str, xi: float) -> tuple[float, ...]:
    """Whether all points were answered, answers ⊥, those unlike h_agg (⊥ too), both students' risks, and
    the first one's disagreement with h_agg.
    """
    known, limit = PROBLEMS[problem], find_limit(problem, xi)
    unstable, teachers = choose_parameters(limit.nu, xi)
    rng = generator(np.random.SeedSequence([seed, 1]))
    learner = PateSvt(teachers=teachers, queries=POINTS, epsilon=EPSILON, delta=DELTA, unstable=unstable)
    service = learner.start(1, rng)
    service.use_ensembles([known.draw_votes(teachers, rng)], np.zeros(1, np.intp))
    places = rng.integers(0, len(known.domain), POINTS)
    answers = collect_answers(service, known.domain[places])
    unlike = int((answers[0] != limit.labels[places]).sum())
    none = int((answers[0] == UNSTABLE).sum())
    rules = [
        fit_answers(Minimiser(concepts), known.domain[places], answers)[0]
        for concepts in (known.concepts, known.votes_class)
    ]
    answered = int((answers[0] != NO_LABEL).sum())
    labels = [rule.label(known.domain) for rule in rules]
    apart = float((labels[0] != limit.labels).mean())
    return answered == POINTS, none, unlike, *(known.risk(each) for each in labels), apart


def main() -> None:
    found = measure_cases(measure_run, [{"problem": name, "xi": xi} for name, xi in CASES], SEEDS)
    rows = []
    for (name, xi), samples in zip(CASES, found, strict=True):
        limit, problem = find_limit(name, xi), PROBLEMS[name]
        unstable, teachers = choose_parameters(limit.nu, xi)
        risk = problem.risk(limit.labels)
        none, unlike, plain, voting, apart = (Mean.of(column) for column in samples[:, 1:].T)
        bound = limit.best + 2 * unstable / POINTS
        rows.append(
            (
                name,
                f"{xi:.2f}",
                f"{limit.nu:.3f}",
                f"{unstable:,}",
                f"{teachers:,}",
                f"{samples[:, 0].mean():.2f}",
                f"{none.value:.0f}",
                f"{unlike.value:.0f}, at most {samples[:, 2].max():.0f}",
                f"{limit.best_error:.3f}",
                f"{risk:.3f}",
                f"{plain.value - risk:+.3f} ({plain.lower - risk:+.3f} to {plain.upper - risk:+.3f})",
                f"{apart.value:.3f}",
                f"{bound:.3f}",
                f"{voting.value - risk:+.3f} ({voting.lower - risk:+.3f} to {voting.upper - risk:+.3f})",
                f"{4 * unstable / POINTS:.3f}",
            )
        )
    headers = ("problem", "ξ", "ν", "T", "K", "share of runs that end", "⊥", "unlike h_agg", "Err(h*)")
    headers += (
        "Err(h_agg)",
        "student in H, less that",
        "its Dis(h, h_agg)",
        "Theorem 19",
        "student in Vote(H), less that",
    )
    headers += ("4T/m of Theorem 20",)
    write_table("pate/pate_aggregate", headers, rows)


if __name__ == "__main__":
    main()

"""Examples that a private decision list needs: Theorem 3.5, Lemma A.4, Theorem A.6, Corollary A.8.

The class: k-lists over n variables, with all F conjunctions of at most k literals as features. The
distribution is uniform over the C(n, k) points with k ones, each with a label of its own drawn at random.
Every labelling of them is a list of conjunctions of k variables, so that the VC dimension is at least C(n,
k), and every label must be learned. Errors on the distribution are exact.

Examples needed: where the mean error over `LISTS` targets passes α, between two sizes of a ratio of √2.
Beside it stands what is promised: the size from which the list errs on a share α/2 of the sample at most
(Lemma A.4), and from which a list that does errs on a share α of the distribution at most, each except with
probability β/2. The latter is Theorem A.6. Its formula is missing in our copy, and the class is finite, so
it is computed by Chernoff's bound and a union over all lists H: |H|·exp(−α·m/8) ≤ β/2.

The picture is docs/list_generalisation.svg.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from tabulate import tabulate

from arena import Sample, Training
from arena.concepts import Conjunctions, DecisionLists
from benchmarks.by_learner.charts import BLUE, GREEN, RED, panels, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.lists.private_decision_list import PrivateDecisionList

SEEDS, LISTS = 6, 6
BETA, DELTA = 0.05, 1e-6
STEP = 2**0.5
USUAL: dict[str, Any] = {"variables": 8, "literals": 2, "epsilon": 1.0, "alpha": 0.1}
BY_VARIABLES = {1: (8, 16, 32, 64), 2: (6, 8, 12, 16), 3: (6, 7, 8, 9)}  # by k
EPSILONS = (8.0, 4.0, 2.0, 1.0, 0.5)
ALPHAS = (0.3, 0.2, 0.1, 0.05)


@lru_cache(maxsize=64)
def build_learner(variables: int, literals: int, epsilon: float) -> PrivateDecisionList:
    concepts = DecisionLists(Conjunctions(variables, literals))
    learner = PrivateDecisionList(concepts=concepts, epsilon=epsilon, delta=DELTA)
    return PrivateDecisionList(concepts=concepts, rate=learner.effective_rate, delta=DELTA)


def find_errors(
    learner: PrivateDecisionList, size: int, points: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """The mean errors of released lists on their samples and on the distribution, over random targets."""
    on_sample, on_all = [], []
    for _ in range(LISTS):
        target = rng.integers(0, 2, len(points))
        counts = rng.multinomial(size, np.full(len(points), 1 / len(points)))
        seen = counts > 0
        sample = Sample(points[seen], target[seen], counts[seen])
        training = Training.of([sample], np.zeros(1, int))
        found = learner.start(1, rng).release(training).concepts
        wrong = learner.concepts.labels(found, points)[0] != target
        on_sample.append(wrong @ counts / size)
        on_all.append(wrong.mean())
    return float(np.mean(on_sample)), float(np.mean(on_all))


def find_need(seed: int, variables: int, literals: int, epsilon: float, alpha: float) -> Sequence[float]:
    """The examples needed, and the errors on samples of about that size and on the distribution."""
    rng = np.random.default_rng(seed)
    learner = build_learner(variables, literals, epsilon)
    ones = list(combinations(range(variables), literals))
    points = np.zeros((len(ones), variables), np.int8)
    np.put_along_axis(points, np.array(ones), 1, axis=1)
    size, before = float(len(points)), (0.0, 0.5)
    while True:
        on_sample, error = find_errors(learner, round(size), points, rng)
        if error <= alpha:
            part = (before[1] - alpha) / (before[1] - error)
            return [size / STEP ** (1 - part), on_sample, error]
        size, before = size * STEP, (size, error)


def size_promised(variables: int, literals: int, epsilon: float, alpha: float) -> float:
    """The size by Lemma A.4 and the bound on generalisation, each at β/2."""
    learner = build_learner(variables, literals, epsilon)
    rounds = learner.rounds
    log_lists = sum(math.log(2 * left) for left in range(1, rounds + 1))
    spread = 8 / alpha * (log_lists + math.log(2 / BETA))
    return max(2 * learner.most_errors(BETA / 2) / alpha, spread)


def describe_mean(samples: np.ndarray, form: str = ",.0f") -> str:
    mean = Mean.of(samples)
    return f"{mean.value:{form}} ({mean.lower:{form}} to {mean.upper:{form}})"


def main() -> None:
    series = {
        **{
            f"n, k = {k}": (sizes, [USUAL | {"variables": n, "literals": k} for n in sizes])
            for k, sizes in BY_VARIABLES.items()
        },
        "1/ε": ([1 / value for value in EPSILONS], [USUAL | {"epsilon": value} for value in EPSILONS]),
        "1/α": ([1 / value for value in ALPHAS], [USUAL | {"alpha": value} for value in ALPHAS]),
    }
    rows, laws, found = [], [], {}
    for name, (sizes, cases) in series.items():
        measured = measure_cases(find_need, cases, SEEDS)
        found[name] = needs = measured[:, :, 0]
        promised = [size_promised(**case) for case in cases]
        slope = np.polyfit(np.log(sizes), np.log(promised), 1)[0]
        ends = [1 / size if name.startswith("1/") else size for size in (sizes[0], sizes[-1])]
        laws.append((name, f"{ends[0]:g} to {ends[1]:g}", fit_power(sizes, needs), f"{slope:.2f}"))
        for case, samples, promise in zip(cases, measured, promised, strict=True):
            values = (case["variables"], case["literals"], case["epsilon"], case["alpha"])
            count = Conjunctions(case["variables"], case["literals"]).count
            errors = (describe_mean(samples[:, j], ".3f") for j in (1, 2))
            rows.append((*values, f"{count:,}", describe_mean(samples[:, 0]), f"{promise:,.0f}", *errors))
    headers = ("n", "k", "ε", "α", "F", "examples needed (95 %)", "promised", "sample error", "error")
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    headers = ("examples needed as a power of", "values", "measured (95 %)", "promised")
    write_table("lists/list_generalisation", headers, laws)
    draw(found, {name: law for name, _, law, _ in laws})


def draw(found: dict[str, np.ndarray], laws: dict[str, Any]) -> None:
    figure, (left, right) = panels(
        "The examples that a private k-list needs grow about like n^k, and slower than 1/ε and 1/α\n"
        "(every point with k ones has a label of its own; δ = 1e-6; means with 95 % limits)"
    )
    for (k, sizes), colour, marker in zip(BY_VARIABLES.items(), (BLUE, RED, GREEN), "osD", strict=True):
        name = f"n, k = {k}"
        _errors(left, sizes, found[name], colour, marker, f"k = {k}: n to the power {laws[name]}")
        left.plot(sizes, laws[name].at(np.array(sizes)), color=colour, linewidth=1)
    left.set(title="ε = 1, α = 0.1", xlabel="variables n", ylabel="examples needed")
    for name, values, colour, marker in (("1/ε", EPSILONS, BLUE, "o"), ("1/α", ALPHAS, RED, "s")):
        sizes = [1 / value for value in values]
        _errors(right, sizes, found[name], colour, marker, f"{name} to the power {laws[name]}")
        right.plot(sizes, laws[name].at(np.array(sizes)), color=colour, linewidth=1)
    right.set(title="n = 8, k = 2; ε = 1 or α = 0.1 where it does not vary", xlabel="1/ε or 1/α")
    for axis in (left, right):
        axis.set(xscale="log", yscale="log", ylim=(15, 10_000))
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.legend(loc="lower right")
    left.set_xticks([8, 16, 32, 64], ["8", "16", "32", "64"])
    left.minorticks_off()
    right.minorticks_off()
    print(f"Written: {save(figure, 'theorems/list_generalisation.svg')}")


def _errors(axis, x: Sequence[float], samples: np.ndarray, colour: str, marker: str, label: str) -> None:  # type: ignore[no-untyped-def]
    means = [Mean.of(row) for row in samples]
    values = np.array([mean.value for mean in means])
    off = [values - [mean.lower for mean in means], np.array([mean.upper for mean in means]) - values]
    style = {"color": colour, "marker": marker, "markersize": 4, "capsize": 3, "linestyle": "none"}
    axis.errorbar(x, values, yerr=off, label=label, **style)


if __name__ == "__main__":
    main()

"""What privacy costs a decision list, on Mushroom and on lists drawn at random: docs/lists.svg.

Mushroom: 117 yes-or-no variables, 8,124 examples, 30 random splits of 90 and 10 %. Lists drawn at random: a
rule for each of k variables, in random order and with random labels; each variable is 1 in a share 2/k of the
points, so that rules far down still matter. How many examples are needed is read off where the mean accuracy
on fresh points, over 40 lists, passes 90 % between two sizes. Beside it stands the size from which Lemma A.4
promises that the list errs on 5 % of the sample at most, but for a chance of 5 %; what Theorem 3.5 adds for
fresh points would come on top.

δ is 1e-6 throughout, and an example may be replaced.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np
from charts import BLUE, GREEN, GREY, RED, panels, save
from tabulate import tabulate

from arena import Learner, Sample, Training
from arena.concepts import DecisionLists, Literals, Variables
from audits.cli.fit import FitResult, fit_to_data
from audits.data.one_hot import OneHotData, load_one_hot
from learners.lists.private_decision_list import PrivateDecisionList, Rivest
from learners.mechanisms.accounting import largest_affordable
from learners.mechanisms.selection import LEMMA, other_costs
from learners.pate.logistic import Logistic

MUSHROOM = Path(__file__).parents[2] / "audits" / "data" / "examples" / "mushroom.csv.gz"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SPLITS = 30
DELTA = 1e-6
SIZES = (4, 8, 16, 32, 64)  # variables of random lists
PRIVACY = {0.3: RED, 1.0: BLUE, 3.0: GREEN}
LISTS = 40
FRESH = 2_000
WANTED = 0.9
STEP = 2**0.5
BETA = 0.05

# --- Mushroom -----------------------------------------------------------------------------------------------


def private(variables: int, epsilon: float, **more: object) -> PrivateDecisionList:
    concepts = DecisionLists(Variables(variables))
    return PrivateDecisionList(concepts=concepts, epsilon=epsilon, delta=DELTA, **more)


def by_the_lemma(variables: int, epsilon: float) -> PrivateDecisionList:
    """The same with the smaller ε₀ that the printed lemma allows."""
    rate = largest_affordable(lambda rate: other_costs(variables + 1, rate, delta=DELTA)[LEMMA], epsilon)
    return private(variables, epsilon, rate=rate)


def of_literals(variables: int, epsilon: float) -> PrivateDecisionList:
    return attrs.evolve(private(variables, epsilon), concepts=DecisionLists(Literals(variables)))


def mushroom(learner: Learner, data: OneHotData) -> FitResult:
    return fit_to_data(learner, data, holdout=0.1, splits=SPLITS, seed=0)


def describe_fit(found: FitResult) -> str:
    low, high = found.limits or (0.0, 0.0)
    return f"{found.accuracies.mean():.2%} ({low:.2%} to {high:.2%})"


def seconds(learner: Learner, data: OneHotData) -> float:
    """The quickest of ten fits to all of the data."""
    sample = Sample(data.points, data.labels)
    training = Training.of([sample], np.zeros(1, int))
    best = np.inf
    for seed in range(10):
        start = time.perf_counter()
        learner.start(1, np.random.default_rng(seed)).release(training)
        best = min(best, time.perf_counter() - start)
    return best


KINDS = {"our bound": private, "Lemma A.1 twice": by_the_lemma, "our bound, literals": of_literals}
Curves = dict[str, list[FitResult]]


def on_mushroom(data: OneHotData) -> tuple[Curves, dict[str, float]]:
    """Print the tables; the private lists at each ε, and the accuracy of what is not private."""
    variables = len(data.names)
    curves = {
        name: [mushroom(kind(variables, epsilon), data) for epsilon in EPSILONS]
        for name, kind in KINDS.items()
    }
    rows = [
        (
            f"{epsilon:g}",
            f"{private(variables, epsilon).effective_rate:.4f}",
            *(describe_fit(found) for found in row),
        )
        for epsilon, *row in zip(EPSILONS, *curves.values(), strict=True)
    ]
    print(tabulate(rows, ("ε", "ε₀ by our bound", *curves), disable_numparse=True))
    greedy = Rivest(concepts=DecisionLists(Variables(variables)))
    bare = {learner.name: mushroom(learner, data) for learner in (greedy, Logistic(variables=variables))}
    majority = float(max(data.labels.mean(), 1 - data.labels.mean()))
    print(
        *(f"{name}: {describe_fit(found)}" for name, found in bare.items()),
        f"majority: {majority:.2%}",
        sep="\n",
    )
    for learner in (private(variables, 1.0), greedy):
        print(f"a fit of {learner.name}: {seconds(learner, data):.4f} s")
    return curves, {
        **{name: float(found.accuracies.mean()) for name, found in bare.items()},
        "majority": majority,
    }


# --- lists drawn at random ----------------------------------------------------------------------------------


def accuracy(learner: PrivateDecisionList, size: int, rng: np.random.Generator) -> float:
    """The mean over random lists and samples of `size` examples."""
    concepts, variables = learner.concepts, learner.rounds - 1
    targets = np.column_stack(
        [
            np.stack([2 * rng.permutation(variables) for _ in range(LISTS)])
            + rng.integers(0, 2, (LISTS, variables)),
            2 * variables + rng.integers(0, 2, LISTS),
        ]
    )
    right = []
    for target in targets[:, None]:
        points = (rng.random((size + FRESH, variables)) < 2 / variables).astype(np.int8)
        labels = concepts.labels(target, points)[0]
        training = Training.of([Sample(points[:size], labels[:size])], np.zeros(1, int))
        found = learner.start(1, rng).release(training).concepts
        right.append((concepts.labels(found, points[size:])[0] == labels[size:]).mean())
    return float(np.mean(right))


def find_size_needed(learner: PrivateDecisionList, rng: np.random.Generator) -> float:
    """The size at which the mean accuracy passes `WANTED`, between two sizes of a ratio of √2."""
    before = (0.0, 0.5)
    for size in _sizes():
        now = accuracy(learner, size, rng)
        if now >= WANTED:
            part = (WANTED - before[1]) / (now - before[1])
            return float(np.exp(np.log(size) - (1 - part) * np.log(STEP)))
        before = (size, now)
    raise AssertionError("no size is enough")


def _sizes() -> Iterator[int]:
    size = 16.0
    while size < 1e7:
        yield round(size)
        size *= STEP


def size_from_lemma(learner: PrivateDecisionList) -> float:
    """The size from which Lemma A.4 promises 5 % of errors on the sample."""
    return 2 * learner.most_errors(BETA) / (1 - WANTED)


def on_random_lists() -> dict[float, list[tuple[float, float]]]:
    """For each ε and each number of variables the size needed, and that of the lemma."""
    rng = np.random.default_rng(0)
    found: dict[float, list[tuple[float, float]]] = {}
    for epsilon in PRIVACY:
        learners = [private(variables, epsilon) for variables in SIZES]
        found[epsilon] = [(find_size_needed(learner, rng), size_from_lemma(learner)) for learner in learners]
    headers = ("ε", *(f"{variables} variables" for variables in SIZES))
    rows = [
        (f"{epsilon:g}", *(f"{size:,.0f} (lemma: {bound:,.0f})" for size, bound in pairs))
        for epsilon, pairs in found.items()
    ]
    print(tabulate(rows, headers, disable_numparse=True))
    return found


# --- the picture --------------------------------------------------------------------------------------------


def draw(curves: Curves, others: dict[str, float], sizes: dict[float, list[tuple[float, float]]]) -> None:
    figure, (left, right) = panels(
        "Decision lists, private for one replaced example, δ = 1e-6. Left: Mushroom, means of 30 splits with "
        "95 % limits.\nRight: lists over k variables drawn at random"
    )
    for (name, colour), marker in zip({"our bound": BLUE, "Lemma A.1 twice": RED}.items(), "os", strict=True):
        means = np.array([found.accuracies.mean() for found in curves[name]])
        off = 100 * np.abs(np.array([found.limits for found in curves[name]]).T - means)
        style = {"color": colour, "marker": marker, "markersize": 4, "capsize": 3}
        left.errorbar(EPSILONS, 100 * means, yerr=off, label=f"ε₀ by {name}", **style)
    shown: dict[str, list[str]] = {}
    for name, level in others.items():
        shown.setdefault(f"{level:.1%}", []).append(name)
        left.axhline(100 * level, color=GREY, linestyle="--", linewidth=1)
    for level, names in shown.items():
        left.text(0.09, float(level[:-1]) + 0.8, f"{' and '.join(names)}, {level}", color=GREY, fontsize=9)
    left.set(xlabel="ε (nats)", ylabel="accuracy on held-out examples (%)", xscale="log", ylim=(50, 105))
    left.xaxis.set_major_formatter("{x:g}")
    left.legend(loc="center right")
    for epsilon, pairs in sizes.items():
        measured, bounds = np.array(pairs).T
        colour = PRIVACY[epsilon]
        right.plot(SIZES, measured, color=colour, marker="o", markersize=4, label=f"ε = {epsilon:g}")
        right.plot(SIZES, bounds, color=colour, linestyle=":")
    right.plot([], [], color=GREY, linestyle=":", label="by Lemma A.4")
    right.set(xlabel="variables k", ylabel="examples needed for 90 % accuracy", xscale="log", yscale="log")
    right.set_xticks(SIZES, [str(size) for size in SIZES])
    right.minorticks_off()
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.legend()
    print(f"Written: {save(figure, 'lists.svg')}")


def main() -> None:
    start = time.perf_counter()
    curves, others = on_mushroom(load_one_hot(MUSHROOM, y="Poisonous/Edible"))
    draw(curves, others, on_random_lists())
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

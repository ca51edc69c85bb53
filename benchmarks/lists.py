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
from audits.fitting import Fitted, fit
from audits.one_hot import OneHot, load_one_hot
from learners.logistic import Logistic
from learners.mechanisms.em_cover import LEMMA, other_costs
from learners.mechanisms.largest import largest
from learners.private_decision_list import PrivateDecisionList
from learners.rivest import Rivest

MUSHROOM = Path(__file__).parents[1] / "examples" / "data" / "mushroom.csv.gz"
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
    rate = largest(lambda rate: other_costs(variables + 1, rate, delta=DELTA)[LEMMA], epsilon)
    return private(variables, epsilon, rate=rate)


def of_literals(variables: int, epsilon: float) -> PrivateDecisionList:
    return attrs.evolve(private(variables, epsilon), concepts=DecisionLists(Literals(variables)))


def mushroom(learner: Learner, data: OneHot) -> Fitted:
    return fit(learner, data, holdout=0.1, splits=SPLITS, seed=0)


def told(found: Fitted) -> str:
    low, high = found.limits or (0.0, 0.0)
    return f"{found.accuracies.mean():.2%} ({low:.2%} to {high:.2%})"


def seconds(learner: Learner, data: OneHot) -> float:
    """The quickest of ten fits to all of the data."""
    sample = Sample(data.points, data.labels)
    training = Training.of([sample], np.zeros(1, int))
    best = np.inf
    for seed in range(10):
        start = time.perf_counter()
        learner.seat(1, np.random.default_rng(seed)).release(training)
        best = min(best, time.perf_counter() - start)
    return best


def on_mushroom(data: OneHot) -> tuple[dict[float, Fitted], dict[str, float]]:
    """Print the table; the private lists by ε, and the accuracy of learners without privacy."""
    variables = len(data.names)
    lists = {epsilon: mushroom(private(variables, epsilon), data) for epsilon in EPSILONS}
    rows = []
    for epsilon, found in lists.items():
        others = [mushroom(kind(variables, epsilon), data) for kind in (by_the_lemma, of_literals)]
        rate = private(variables, epsilon).chosen_rate
        rows.append((f"{epsilon:g}", f"{rate:.4f}", *(told(one) for one in (found, *others))))
    headers = ("ε", "ε₀", "private-decision-list", "with the ε₀ of Lemma A.1 twice", "with literals")
    print(tabulate(rows, headers, disable_numparse=True))
    open_ = {
        "rivest": mushroom(Rivest(concepts=DecisionLists(Variables(variables))), data),
        "logistic": mushroom(Logistic(variables=variables), data),
    }
    majority = max(data.labels.mean(), 1 - data.labels.mean())
    print(
        "".join(f"\n{name:<10}{told(found)}" for name, found in open_.items()), f"\nmajority  {majority:.2%}"
    )
    for learner in (private(variables, 1.0), open_["rivest"].learner):
        print(f"a fit of {learner.name}: {seconds(learner, data):.4f} s")
    return lists, {**{name: found.accuracies.mean() for name, found in open_.items()}, "majority": majority}


# --- lists drawn at random ----------------------------------------------------------------------------------


def accuracy(learner: PrivateDecisionList, size: int, rng: np.random.Generator) -> float:
    """The mean over random lists and samples of `size` examples."""
    concepts = learner.lists
    variables = concepts.features.count
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
        found = learner.seat(1, rng).release(training).concepts
        right.append((concepts.labels(found, points[size:])[0] == labels[size:]).mean())
    return float(np.mean(right))


def needed(learner: PrivateDecisionList, rng: np.random.Generator) -> float:
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


def allowed(learner: PrivateDecisionList) -> float:
    """The size from which Lemma A.4 promises 5 % of errors on the sample."""
    return 2 * learner.most_errors(BETA) / (1 - WANTED)


def on_random_lists() -> dict[float, list[tuple[float, float]]]:
    """For each ε and each number of variables the size needed, and that of the lemma."""
    rng = np.random.default_rng(0)
    found: dict[float, list[tuple[float, float]]] = {}
    for epsilon in PRIVACY:
        learners = [private(variables, epsilon) for variables in SIZES]
        found[epsilon] = [(needed(learner, rng), allowed(learner)) for learner in learners]
    headers = ("ε", *(f"{variables} variables" for variables in SIZES))
    rows = [
        (f"{epsilon:g}", *(f"{size:,.0f} (lemma: {bound:,.0f})" for size, bound in pairs))
        for epsilon, pairs in found.items()
    ]
    print(tabulate(rows, headers, disable_numparse=True))
    return found


# --- the picture --------------------------------------------------------------------------------------------


def draw(
    lists: dict[float, Fitted], others: dict[str, float], sizes: dict[float, list[tuple[float, float]]]
) -> None:
    figure, (left, right) = panels(
        "Decision lists, private for one replaced example, δ = 1e-6. Left: Mushroom, means of 30 splits with "
        "95 % limits.\nRight: lists over k variables drawn at random"
    )
    means = np.array([found.accuracies.mean() for found in lists.values()])
    limits = np.array([found.limits for found in lists.values()]).T
    style = {"color": BLUE, "marker": "o", "markersize": 4, "capsize": 3}
    left.errorbar(list(lists), 100 * means, yerr=100 * np.abs(limits - means), **style)
    left.text(1.1, 100 * means[2] - 4, "private-decision-list", color=BLUE, fontsize=9)
    for (name, level), colour in zip(others.items(), (GREEN, RED, GREY), strict=True):
        left.axhline(100 * level, color=colour, linestyle="--", linewidth=1)
        shift = {"rivest": 0.6, "logistic": -2.4}.get(name, 0.6)
        place = 0.1 if name == "rivest" else 0.3
        left.text(place, 100 * level + shift, f"{name}, {level:.1%}", color=colour, fontsize=9)
    left.set(title="accuracy on examples held out, %", xscale="log", xlabel="ε", ylim=(50, 104))
    left.xaxis.set_major_formatter("{x:g}")
    for epsilon, pairs in sizes.items():
        measured, bounds = np.array(pairs).T
        colour = PRIVACY[epsilon]
        right.plot(SIZES, measured, color=colour, marker="o", markersize=4, label=f"ε = {epsilon:g}")
        right.plot(SIZES, bounds, color=colour, linestyle=":")
    right.plot([], [], color=GREY, linestyle=":", label="by Lemma A.4")
    right.set(title="examples needed for 90 % accuracy", xscale="log", yscale="log", xlabel="k")
    right.set_xticks(SIZES, [str(size) for size in SIZES])
    right.minorticks_off()
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.legend()
    print(f"Written: {save(figure, 'lists.svg')}")


def main() -> None:
    start = time.perf_counter()
    lists, others = on_mushroom(load_one_hot(MUSHROOM, y="Poisonous/Edible"))
    sizes = on_random_lists()
    draw(lists, others, sizes)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

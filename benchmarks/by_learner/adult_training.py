"""dp-sgd on Adult: accuracy, ε by two accountants, and the ε that attacks certify: docs/adult_training.svg.

Logistic regression on whether an income is above 50,000 dollars. Columns of words are one-hot, columns of
numbers by quintile, and one coordinate is always 1 (an intercept), so that a point has 15 ones and no
gradient is longer than √15. Models are trained on 1,000 people, a tenth of them in a batch, and on three
quarters of all people. The last quarter is held out.

Accuracies are means over random splits, each with one training run. Certified bounds are those of one split,
each at confidence 95 %. An example is added or removed: the canary is there or not. The other examples are
people of Adult, or in the strongest games have no gradients.

python -m benchmarks.by_learner.adult_training keeps what it has measured in build/theorems, and a killed run
continues. After a change of the learner or of an adversary, remove build/theorems/adult_training.jsonl.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import attrs
import numpy as np
from sklearn.linear_model import LogisticRegression
from tabulate import tabulate

from adversaries.training.canaries import BLANK, FAR, MISLABELLED, MOVES, GradientCanaryAttack, InputCanary
from arena import Adversary, Sample, TrainingRun
from arena.sample import Training
from audits.data.one_hot import load_one_hot
from audits.runs.plan import Plan
from audits.runs.run import run
from benchmarks.by_learner.charts import BLUE, GREEN, GREY, RED, panels, save
from benchmarks.theorems.measurement import Mean, measure_cases
from learners.training.dp_sgd import DPSGD

ADULT = Path(__file__).parents[2] / "audits" / "data" / "examples" / "adult.csv.gz"
EPSILONS, DELTA, CONFIDENCE = (0.5, 1.0, 2.0, 4.0, 8.0), 1e-5, 0.95
STEPS = 100
SPLITS, HELD_OUT = 20, 8_141  # a quarter
SMALL, LARGE = 1_000, 24_420  # people trained on
BATCHES, LEARNING_RATES = {SMALL: 100, LARGE: 300}, {SMALL: 2.0, LARGE: 4.0}
STRONGEST, AMONG_PEOPLE, AMONG_MANY = 20_000, 2_000, 1_000  # games in each world
WHITE, BLACK, LAST = "white box", "black box", "last model"
BLOCK = 256  # pairs of games that are in memory at once, with all their models


@attrs.frozen
class Attack:
    """An adversary, what it sees, and whether the other examples are people of Adult."""

    access: str
    name: str
    adversary: Adversary
    is_among_people: bool = True

    def count_games(self, trained: int) -> int:
        if not self.is_among_people:
            return STRONGEST
        return AMONG_PEOPLE if trained == SMALL else AMONG_MANY


ATTACKS = (
    Attack(WHITE, "gradient canary, no other gradients", GradientCanaryAttack(), False),
    Attack(WHITE, "gradient canary", GradientCanaryAttack()),
    Attack(BLACK, "far canary, moves", InputCanary(kind=FAR, score=MOVES)),
    Attack(BLACK, "mislabelled, mean loss", InputCanary(kind=MISLABELLED)),
    Attack(BLACK, "blank, mean loss", InputCanary(kind=BLANK)),
    Attack(LAST, "gradient canary, no other gradients", GradientCanaryAttack(every=0), False),
    Attack(LAST, "far canary, loss", InputCanary(kind=FAR, every=0)),
    Attack(LAST, "mislabelled, loss", InputCanary(kind=MISLABELLED, every=0)),
)
AUDITS = {SMALL: (EPSILONS, range(len(ATTACKS))), LARGE: ((8.0,), (0, 2, 5, 6))}  # ε, and which attacks
DRAWN = {0: "o-", 1: "o--", 2: "s--", 3: "D:", 5: "^-", 6: "^--"}  # attacks, and their markers and lines


@attrs.frozen(eq=False)
class People:
    """Points (n, d) of 0 and 1, whose last coordinate is 1, and labels (n,)."""

    points: np.ndarray
    labels: np.ndarray

    def split(self, trained: int, held_out: int, seed: int) -> tuple[Sample, People]:
        """So many people to train on, and those held out, at random."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        train, test = order[held_out : held_out + trained], order[:held_out]
        return Sample(self.points[train], self.labels[train]), People(self.points[test], self.labels[test])


@lru_cache(maxsize=1)
def load_people() -> People:
    data = load_one_hot(ADULT, y="income", positive=">50K", quantiles=5)
    return People(np.column_stack([data.points, np.ones(len(data.labels))]), data.labels)


@lru_cache(maxsize=64)
def build_learner(trained: int, epsilon: float, steps: int = STEPS) -> DPSGD:
    """The learner with the least noise for its ε."""
    learner = DPSGD(
        features=load_people().points.shape[1],
        size=trained,
        batch=BATCHES.get(trained, trained // 10),
        steps=steps,
        learning_rate=LEARNING_RATES.get(trained, 2.0),
        epsilon=epsilon,
        delta=DELTA,
    )
    return attrs.evolve(learner, noise=learner.noise_run)


def measure_accuracy(seed: int, trained: int, epsilon: float, steps: int = STEPS) -> list[float]:
    """The accuracy of one model on the people held out of one split."""
    learner = build_learner(trained, epsilon, steps)
    sample, test = load_people().split(trained, HELD_OUT, seed)
    state = learner.start(1, np.random.default_rng([1, seed]))
    state.train(Training.of([sample], np.zeros(1, int)))
    (model,) = state.advance(steps, ())
    return [((test.points @ model > 0) == test.labels).mean()]


def measure_without_privacy(seed: int, trained: int) -> list[float]:
    """The accuracies of logistic regression, and of the commonest label, on one split."""
    sample, test = load_people().split(trained, HELD_OUT, seed)
    model = LogisticRegression(max_iter=1_000).fit(sample.points, sample.labels)
    majority = round(sample.labels.mean())
    return [model.score(test.points, test.labels), (test.labels == majority).mean()]


def measure_certified(
    seed: int, trained: int, epsilon: float, attack: int, games: int, steps: int = STEPS
) -> list[float]:
    """Certified ε of one attack, for (ε, δ) alone and for the privacy curve of the claim."""
    learner, chosen = build_learner(trained, epsilon, steps), ATTACKS[attack]
    sample = load_people().split(trained, HELD_OUT, 0)[0] if chosen.is_among_people else None
    adversary = attrs.evolve(chosen.adversary, learner=learner, sample=sample)
    plan = Plan(
        learner=learner,
        adversary=adversary,
        referee=TrainingRun(every=adversary.every),
        epsilon=learner.claim.epsilon,
        delta=DELTA,
        confidence=CONFIDENCE,
        games=games,
        seed=seed,
        block=BLOCK,
        first_block=min(BLOCK, max(1, games // 10)),
    )
    verdict = run(plan)
    assert verdict.curve_epsilon_lower is not None
    return [verdict.epsilon_lower, verdict.curve_epsilon_lower]


def print_claims(trained: int) -> list[Mean]:
    """Print what each learner claims and its accuracy; those of dp-sgd, then that without privacy."""
    cases = [{"trained": trained, "epsilon": epsilon} for epsilon in EPSILONS]
    accuracies = [Mean.of(found[:, 0]) for found in measure_cases(measure_accuracy, cases, SPLITS)]
    plain, majority = map(
        Mean.of, measure_cases(measure_without_privacy, [{"trained": trained}], SPLITS)[0].T
    )
    rows = []
    for epsilon, accuracy in zip(EPSILONS, accuracies, strict=True):
        learner = build_learner(trained, epsilon)
        renyi = learner.other_costs()["Rényi divergences"]
        costs = (f"{learner.noise_run:.3f}", f"{learner.claim.epsilon:.3f}", f"{renyi:.3f}")
        rows.append((f"{epsilon:g}", *costs, _describe_mean(accuracy)))
    rows.append(("without privacy", "", "", "", _describe_mean(plain)))
    rows.append(("commonest label", "", "", "", _describe_mean(majority)))
    print(f"\n{trained:,} people, {BATCHES[trained]} in a batch on average, {STEPS} steps; {SPLITS} splits")
    headers = ("ε", "noise σ", "ε, exact", "ε, Rényi", "accuracy on people held out")
    print(tabulate(rows, headers, tablefmt="pipe", disable_numparse=True))
    return [*accuracies, plain]


def print_certified(trained: int) -> np.ndarray:
    """Print the bounds for the privacy curve, and in brackets for (ε, δ) alone; (attacks, epsilons, 2)."""
    epsilons, attacks = AUDITS[trained]
    cases = [
        {
            "trained": trained,
            "epsilon": epsilon,
            "attack": attack,
            "games": ATTACKS[attack].count_games(trained),
        }
        for attack in attacks
        for epsilon in epsilons
    ]
    found = measure_cases(measure_certified, cases, 1).reshape(len(attacks), len(epsilons), 2)
    rows = [
        (
            ATTACKS[attack].access,
            ATTACKS[attack].name,
            f"{ATTACKS[attack].count_games(trained):,}",
            *(f"{curve:.2f} ({bound:.2f})" for bound, curve in bounds),
        )
        for attack, bounds in zip(attacks, found, strict=True)
    ]
    print(f"\nCertified ε of models of {trained:,} people; confidence {CONFIDENCE:.0%}, seed 0")
    headers = ("sees", "attack", "games a world", *(f"ε = {epsilon:g}" for epsilon in epsilons))
    print(tabulate(rows, headers, tablefmt="pipe", disable_numparse=True))
    return found


def _describe_mean(mean: Mean) -> str:
    return f"{mean.value:.4f} ({mean.lower:.4f} to {mean.upper:.4f})"


def draw(certified: np.ndarray, accuracies: dict[int, Sequence[Mean]]) -> Path:
    figure, (left, right) = panels(
        f"dp-sgd on Adult, logistic regression, δ = {DELTA:g}, confidence 95 %. Left: ε certified for the\n"
        f"privacy curve, on models of {SMALL:,} people. Right: accuracy on people held out, {SPLITS} splits"
    )
    colours = {WHITE: BLUE, BLACK: GREEN, LAST: RED}
    left.plot(EPSILONS, EPSILONS, color=GREY, label="claim")
    for attack, style in DRAWN.items():
        chosen = ATTACKS[attack]
        colour = colours[chosen.access]
        left.plot(
            EPSILONS,
            certified[attack, :, 1],
            style,
            color=colour,
            markerfacecolor="white" if chosen.is_among_people else colour,
            label=f"{chosen.access}: {chosen.name}",
        )
    alone = certified[0, :, 0]
    left.plot(EPSILONS, alone, ":", color=BLUE, label=f"{WHITE}: the first, for (ε, δ) alone")
    left.set(ylabel="certified ε", ylim=(-0.2, 1.05 * EPSILONS[-1]))
    for (trained, (*means, plain)), colour, marker in zip(accuracies.items(), (BLUE, RED), "os", strict=True):
        values = np.array([(mean.value, mean.lower, mean.upper) for mean in means]).T
        limits = (values[0] - values[1], values[2] - values[0])
        label = f"{trained:,} people"
        right.axhline(plain.value, color=colour, linestyle="--", label=f"{label}, without privacy")
        right.errorbar(EPSILONS, values[0], limits, color=colour, marker=marker, capsize=2, label=label)
    right.set(ylabel="accuracy")
    for panel, place in ((left, "upper left"), (right, "lower right")):
        panel.set(xlabel="ε of the claim, exact", xscale="log")
        panel.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        panel.minorticks_off()
        panel.legend(loc=place)
    return save(figure, "adult_training.svg")


def main() -> None:
    start = time.perf_counter()
    people = load_people()
    print(f"{ADULT.name}: {len(people.labels):,} people, {people.points.shape[1]} coordinates, δ = {DELTA:g}")
    accuracies = {trained: print_claims(trained) for trained in BATCHES}
    certified = {trained: print_certified(trained) for trained in BATCHES}
    print(f"\nWritten: {draw(certified[SMALL], accuracies)}")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":  # by its name as a module, under which other processes find cached functions
    importlib.import_module("benchmarks.by_learner.adult_training").main()

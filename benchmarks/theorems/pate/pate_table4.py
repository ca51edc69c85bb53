"""Table 4 with a sparse vector beside Gaussian noise: Adult, and generated texts in place of real-sim.

Adult is the file that the package ships (32,561 examples, numbers cut at quintiles), where a9a has 48,842.
real-sim (72,309 texts, 20,958 words) is not available; `generate_texts` makes 12,000 bags of words over 300
words with scikit-learn, sparse and nearly linearly separable as real-sim is. Everything else is as in section
5.1: 30 splits, a teacher for each 100 private examples, δ = 1/n. Teachers and students are perceptrons. The
row psq-svt is Algorithm 2 with the least λ and w, and the largest T that so many teachers can reach.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.datasets import make_multilabel_classification

from audits.data.one_hot import OneHotData, load_one_hot
from audits.experiments import ALL_METHODS, PateExperiment
from audits.experiments.experiment_players import find_players
from audits.experiments.experiment_result import measure_accuracy, measure_balanced_accuracy
from audits.experiments.experiment_run import play_repetition
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, measure_cases

ADULT = Path(__file__).parents[3] / "audits" / "data" / "examples" / "adult.csv.gz"
TEXTS, WORDS, LENGTH = 12_000, 300, 12
SEEDS = 30
# At 0.5 there are too few teachers for psq-svt on texts.
EPSILONS = {"Adult": (0.5, 1.0, 2.0), "texts": (1.0, 2.0)}
# With gradient steps a student of texts says one label: the coordinate for the offset is as long as a text.
ACTIVE = {"Adult": "gradient", "texts": "forced"}


def generate_texts() -> OneHotData:
    """Bags of words with unit norm, from two distributions of words; labels say from which."""
    counts, labels = make_multilabel_classification(
        n_samples=4 * TEXTS,
        n_features=WORDS,
        n_classes=2,
        n_labels=1,
        length=LENGTH,
        random_state=0,
    )
    one_topic = np.flatnonzero(labels.sum(axis=1) == 1)[:TEXTS]
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


@lru_cache
def make_plan(data: str) -> PateExperiment:
    if data == "Adult":
        examples = load_one_hot(ADULT, y="income", positive=">50K", quantiles=5)
    else:
        examples = generate_texts()
    players = find_players("Perceptron", None, features=len(examples.names), active=ACTIVE[data])
    return PateExperiment(
        data=examples, players=players, methods=ALL_METHODS, epsilons=EPSILONS[data], repeats=SEEDS
    )


def measure_split(seed: int, data: str) -> list[float]:
    """For each row the answers, the accuracy and the balanced accuracy; last the accuracy of the vote."""
    experiment = make_plan(data)
    tally = play_repetition(experiment, seed)
    accuracy, balanced = measure_accuracy(tally.confusions), measure_balanced_accuracy(tally.confusions)
    return [*np.column_stack([tally.answers, accuracy[:-1], balanced[:-1]]).ravel(), accuracy[-1]]


def main() -> None:
    for data in EPSILONS:
        samples = measure_cases(measure_split, [{"data": data}], SEEDS)[0]
        experiment = make_plan(data)
        rows = []
        for row, figures in zip(
            experiment.rows, samples[:, :-1].reshape(SEEDS, -1, 3).transpose(1, 0, 2), strict=True
        ):
            answers, accuracy, balanced = (Mean.of(column) for column in figures.T)
            rows.append(
                (
                    row.method,
                    "∞" if math.isinf(row.epsilon) else f"{row.epsilon:g}",
                    f"{answers.value:.1f}",
                    *(
                        f"{mean.value:.4f} ({mean.lower:.4f} to {mean.upper:.4f})"
                        for mean in (accuracy, balanced)
                    ),
                )
            )
        ones = float(experiment.data.labels.mean())
        print(
            f"{data}: {experiment.examples:,} examples, {experiment.teachers} teachers, "
            f"{experiment.public} public points; vote {samples[:, -1].mean():.4f}, "
            f"the more frequent label {max(ones, 1 - ones):.4f}"
        )
        headers = ("method", "ε", "answers", "accuracy", "balanced accuracy")
        write_table(f"pate/pate_table4_{data.lower()}", headers, rows)


if __name__ == "__main__":
    main()

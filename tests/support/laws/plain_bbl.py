"""GenericBBL in plain Python, one game: a reference for tests."""

from __future__ import annotations

import numpy as np
from scipy import stats

from arena import Sample
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.paper_versions import EverlastingV2


class Reference:
    """GenericBBL as printed, with shuffled rows, comparing thresholds one by one."""

    def __init__(self, spec: GenericBBL, rng: np.random.Generator) -> None:
        self.spec, self.rng, self.halted = spec, rng, False

    def train(self, sample: Sample) -> None:
        points, labels = sample.rows()
        first = self.spec.round(1)
        chosen = self.rng.permutation(len(points))[: first.examples]
        self.begin(1, [(float(points[i]), int(labels[i])) for i in chosen])

    def begin(self, index: int, examples: list[tuple[float, int]]) -> None:
        self.index, self.round, self.examples = index, self.spec.round(index), examples
        size = self.round.chunk
        chunks = [examples[t * size : (t + 1) * size] for t in range(self.round.teachers)]
        self.held = [self.best(chunk) for chunk in chunks]
        self.asked: list[float] = []
        self.tops = 0
        self.noise: dict[tuple[int, int], float] = {}
        self.shift()

    def best(self, chunk: list[tuple[float, int]]) -> float:
        options = [*sorted(x for x, _ in chunk), np.inf]
        return min(options, key=lambda t: (sum((x >= t) != y for x, y in chunk), t))

    def shift(self) -> None:
        self.mu = self.rng.laplace(0, 2 / (self.round.noise * self.round.teachers))

    def predict(self, x: float) -> int:
        if len(self.asked) == self.round.answers:
            self.next_round()
        self.asked.append(float(x))
        vote = sum(x >= t for t in self.held) / self.round.teachers
        return self.answer(vote)

    def answer(self, vote: float) -> int:
        if isinstance(self.spec, EverlastingCounter):
            noisy = vote + self.rng.laplace(0, 1 / (self.round.teachers * self.round.noise))
            self.tops += abs(noisy - 0.5) <= self.spec.gap
            stop = self.tops + self.of_count() >= self.spec.stopping_count(self.index)
            self.halted = self.halted or stop or self.tops >= self.spec.halts * 2 ** (self.index - 1)
            return int(noisy >= 0.5)
        if isinstance(self.spec, EverlastingV2):
            return int(vote + self.rng.laplace(0, 1 / (self.round.teachers * self.round.noise)) >= 0.5)
        value = vote + self.rng.laplace(0, 6 / (self.round.noise * self.round.teachers))
        if value < 0.5 - self.round.alpha + self.mu:
            return 0
        if value > 0.5 + self.round.alpha - self.mu:
            return 1
        self.tops += 1
        self.halted = self.halted or self.tops == self.spec.halts  # type: ignore[attr-defined]
        self.shift()
        return 1

    def of_count(self) -> float:
        """Noise of the count: fresh and of the threshold, or of the nodes that end here in a binary tree."""
        now, epsilon = len(self.asked), self.spec.counter_epsilon_run  # type: ignore[attr-defined]
        if self.spec.counter == "crossing":  # type: ignore[attr-defined]
            nodes, scale = [(0, 0), (1, now)], 1 / epsilon
        else:
            levels = self.round.answers.bit_length()
            nodes = [(level, now >> level) for level in range(levels) if now >> level & 1]
            scale = levels / epsilon
        return sum(self.noise.setdefault(node, self.rng.laplace(0, scale)) for node in nodes)

    def next_round(self) -> None:
        rate = self.spec.rate_run
        some = self.rng.permutation(len(self.examples))[: int(rate * len(self.examples))]
        labelled = [self.examples[i] for i in some]
        places = self.rng.permutation(len(self.asked))[: int(rate * len(self.asked))]
        queries = [self.asked[i] for i in places]
        options = [*sorted({x for x, _ in labelled} | set(queries)), np.inf]
        errors = np.array([sum((x >= t) != y for x, y in labelled) for t in options])
        weights = np.exp(-errors / 2)
        chosen = options[self.rng.choice(len(options), p=weights / weights.sum())]
        following = self.spec.round(self.index + 1)
        self.begin(self.index + 1, [(x, int(x >= chosen)) for x in queries[: following.examples]])


def compare_laws(first: np.ndarray, second: np.ndarray) -> float:
    """p-value that two samples of views, as numbers, follow one law (chi-squared, rare views pooled)."""
    views = max(first.max(), second.max()) + 1
    table = np.stack([np.bincount(v, minlength=views) for v in (first, second)])
    common = table.sum(axis=0) >= 50
    pooled = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    return float(stats.chi2_contingency(pooled[:, pooled.sum(axis=0) > 0]).pvalue)

"""agnostic-batched: a proper private online learner from sanitised batches of examples."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.concepts import ConceptClass, Thresholds
from arena.littlestone.concept_sets import concept_sets
from arena.messages import Hypothesis
from arena.settings import at_least, at_most, count_setting, less_than, more_than, setting
from learners.common.learner_bases import OnlineLearner, RoundBudget
from learners.mechanisms import exponential_experts
from learners.mechanisms.accounting import Guarantee
from learners.mechanisms.selection import exponential_mechanism
from learners.online.sanitiser import Sanitiser, error_functions, round_to_counts, rounding_error


@attrs.frozen
class AgnosticBatched(OnlineLearner):
    """Private agnostic online learner on synthetic examples from batches (Algorithm 3 of Li, Wang, Ye).

    Each batch of B examples is sanitised for H^label, and its synthetic examples are added to B sequences,
    one to each. In a round a sequence is drawn, and the hypothesis of Hedge over the concepts on it is
    released. All batches cost as much as one.

    Deviations: the sanitiser is that of `learners.online.sanitiser`. If its calls end before it wins, its
    last proposal is used, where the paper stops; by default few calls, since the number in the theorem needs
    more examples (`bound` is none).
    """

    name = "agnostic-batched"
    theorem = "Theorem 4.1 of Li, Wang, Ye: parallel composition of one sanitiser"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = count_setting(10_000, help="T, the largest number of rounds")
    batch: int = count_setting(1_000, help="B, the number of examples in a batch")
    epsilon: float = setting(1.0, unit="nats", help="ε of a batch, and so of all batches")
    delta: float = setting(
        1e-6, unit="probability", help="δ of a batch, and of all batches", check=[at_least(0), less_than(1)]
    )
    alpha: float = setting(0.2, help="the target error of the sanitiser", check=[more_than(0), at_most(1)])
    calls: int | None = count_setting(6, help="most calls of the discriminator; none: as its theorem needs")
    rate: float | None = setting(
        None, unit="nats per mistake", help="Hedge's rate; default: from T, B and H", check=more_than(0)
    )

    def __attrs_post_init__(self) -> None:
        concept_sets(self.concepts)  # refuses infinite classes

    def _cost(self) -> Guarantee:
        return self.sanitiser.guarantee(self.batch) if self.batches else Guarantee(0, 0)

    @property
    def batches(self) -> int:
        """The batches that are sanitised: those followed by another round."""
        return (self.rounds - 1) // self.batch

    @cached_property
    def functions(self) -> np.ndarray:
        """H^label, (concepts, 2·points) bool. Raises: Unsupported if the class is infinite, or too large."""
        return error_functions(concept_sets(self.concepts).labels)

    @property
    def sanitiser(self) -> Sanitiser:
        epsilon, delta, alpha = self.epsilon, self.delta, self.alpha
        return Sanitiser(self.functions, epsilon=epsilon, delta=delta, alpha=alpha, calls=self.calls)

    @property
    def hedge_rate(self) -> float:
        """Hedge's rate: as set, or the best for T/B examples."""
        if self.rate is not None:
            return self.rate
        return math.sqrt(8 * math.log(max(len(self.functions), 2)) / max(self.rounds // self.batch, 1))

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 4.1, on the expected regret, if B examples are enough for the sanitiser's theorem.

        B·R(q) + 2·(alpha + rounding)·qB + 1 for q = ⌊rounds/B⌋ full batches, plus one mistake for each
        further round.
        """
        full = rounds // self.batch
        if rounds > self.rounds or not full or self.sanitiser.sample_size(1 / (full * rounds)) > self.batch:
            return None
        error = self.alpha + rounding_error(self.functions, self.batch)
        hedge = exponential_experts.regret(full, len(self.functions), self.hedge_rate)
        regret = self.batch * hedge + 2 * error * full * self.batch + 1 + rounds % self.batch
        return Bound(regret, REGRET, beta=None, theorem=self.theorem)

    def start(self, games: int, rng: np.random.Generator) -> AgnosticBatchedState:
        return AgnosticBatchedState(self, games, rng)


class AgnosticBatchedState:
    def __init__(self, spec: AgnosticBatched, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._rounds_observed = 0
        self._sanitiser = spec.sanitiser
        functions = spec.functions
        self._points = functions.shape[1] // 2
        self._wrong = np.ascontiguousarray(functions.T).view(np.uint8)  # by example and concept
        self._concepts = spec.concepts.dichotomies(np.array(spec.concepts.domain)).concepts
        self._rows = np.arange(games)
        self._counts = np.zeros((games, functions.shape[1]), np.int64)
        # The synthetic example that each batch added to each sequence.
        shape = (spec.batches, games, spec.batch)
        self._sequences = np.empty(shape, np.min_scalar_type(functions.shape[1]))

    def hypothesis(self) -> Hypothesis:
        spec = self._spec
        self._rounds.begin()
        sequence = self._rng.integers(spec.batch, size=len(self._rows))
        examples = self._sequences[: self._rounds_observed // spec.batch, self._rows, sequence]
        mistakes = self._wrong[examples].sum(axis=0, dtype=float)
        concepts = exponential_mechanism(self._rng, -mistakes, epsilon=2 * spec.hedge_rate, sensitivity=1)
        return Hypothesis(spec.concepts, self._concepts[concepts])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        place = self._spec.concepts.domain_indices(self._spec.concepts.check(x))
        self._counts[self._rows, y.astype(np.intp) * self._points + place] += 1
        self._rounds_observed += 1
        batches, rest = divmod(self._rounds_observed, self._spec.batch)
        if not rest and batches <= self._spec.batches:
            self._sanitise(self._sequences[batches - 1])

    def _sanitise(self, out: np.ndarray) -> None:
        result = self._sanitiser.run(self._rng, self._counts)
        synthetic = round_to_counts(result.distribution, self._spec.batch)
        points = np.tile(np.arange(self._counts.shape[1], dtype=out.dtype), len(out))
        ordered = np.repeat(points, synthetic.ravel()).reshape(out.shape)
        self._rng.permuted(ordered, axis=1, out=out)
        self._counts[:] = 0

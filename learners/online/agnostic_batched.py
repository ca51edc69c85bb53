"""agnostic-batched: a proper private online learner from sanitised batches of examples."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import REGRET, Bound, Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.littlestone.concept_sets import concept_sets
from arena.players import Learner
from arena.replies import Hypothesis
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.common.round_budget import RoundBudget
from learners.mechanisms.experts import exponential_experts
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism
from learners.online.sanitiser import Sanitiser, labelled, rounded, rounding_error


@attrs.frozen
class AgnosticBatched(Learner):
    """Algorithm 3 of Li, Wang, Ye: sanitise batch by batch, and learn online from the synthetic examples.

    After every B rounds the batch is sanitised for H^label, and its B synthetic examples are dealt in random
    order to B sequences, one each. A round draws a sequence, and releases what an online learner makes of it:
    here Hedge over the concepts, whose draws are concepts of the class (proper) and whose expected regret
    over q examples is √(q·ln|H|/2).

    **Privacy.** An example is in one batch, batches are disjoint, and each is sanitised once: all of them
    cost what one does, also where the adversary chooses later batches by what it saw. Batches that end with
    the last round or after are not sanitised.

    **Deviations.** The sanitiser is that of `learners.online.sanitiser`, for finite classes. Where its calls end
    before it wins, its last proposal is used, where the paper stops the game. Synthetic data are the
    distribution, rounded. Few calls are the default, since a batch of a thousand examples cannot pay for
    those that the theorem asks for; `bound` is told only where it can be promised.

    Memory: a byte or two a round and game; a round's work grows with the batches so far.
    """

    name = "agnostic-batched"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    theorem = "Theorem 4.1 of Li, Wang, Ye: parallel composition of one sanitiser"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = setting(10_000, help="T, the most rounds it plays", check=[whole, at_least(1)])
    batch: int = setting(1_000, help="B, the examples of a batch", check=[whole, at_least(1)])
    epsilon: float = setting(1.0, unit="nats", help="ε of a batch, and so of all", check=more_than(0))
    delta: float = setting(
        1e-6, unit="probability", help="δ of a batch, and so of all", check=[at_least(0), less_than(1)]
    )
    alpha: float = setting(0.2, help="the error that the sanitiser aims at", check=[more_than(0), at_most(1)])
    calls: int | None = setting(
        6,
        help="calls of the sanitiser's discriminator, at most; none: as many as its theorem asks for",
        check=[whole, at_least(1)],
    )
    rate: float | None = setting(
        None, unit="nats per mistake", help="Hedge's rate; derived from T, B and H", check=more_than(0)
    )

    def __attrs_post_init__(self) -> None:
        concept_sets(self.concepts)  # refuses infinite classes at once

    @property
    def claim(self) -> Claim:
        if not self.batches:
            return Claim(epsilon=0, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))
        cost = self.sanitiser.guarantee(self.batch)
        return Claim(epsilon=cost.epsilon, delta=cost.delta, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    @property
    def batches(self) -> int:
        """How many batches are sanitised: those after which there is a round."""
        return (self.rounds - 1) // self.batch

    @cached_property
    def functions(self) -> np.ndarray:
        """H^label, (concepts, 2·points) bool.

        Raises: Unsupported if the domain is not finite, or the class too large.
        """
        return labelled(concept_sets(self.concepts).labels)

    @property
    def sanitiser(self) -> Sanitiser:
        return Sanitiser(
            self.functions, epsilon=self.epsilon, delta=self.delta, alpha=self.alpha, calls=self.calls
        )

    @property
    def hedge_rate(self) -> float:
        """Hedge's rate: as set, or the best for T/B examples."""
        if self.rate is not None:
            return self.rate
        return math.sqrt(8 * math.log(max(len(self.functions), 2)) / max(self.rounds // self.batch, 1))

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 4.1, on the expected regret, where B examples are enough for the sanitiser's theorem.

        With q = ⌊rounds/B⌋ full batches, each sanitised to an error of alpha but with probability
        1/(q·rounds), and rounded: B·R(q) + 2·(alpha + rounding)·qB + 1, and a mistake for each round of the
        batch that is not full.
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
    """agnostic-batched at a table."""

    def __init__(self, spec: AgnosticBatched, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._seen = 0
        self._sanitiser = spec.sanitiser
        functions = spec.functions
        self._points = functions.shape[1] // 2
        self._wrong = np.ascontiguousarray(functions.T).view(np.uint8)  # by example, then by concept
        self._concepts = spec.concepts.dichotomies(np.array(spec.concepts.domain)).concepts
        self._rows = np.arange(games)
        self._counts = np.zeros((games, functions.shape[1]), np.int64)
        # The example that each batch dealt to each sequence.
        shape = (spec.batches, games, spec.batch)
        self._dealt = np.empty(shape, np.min_scalar_type(functions.shape[1]))

    def hypothesis(self) -> Hypothesis:
        spec = self._spec
        self._rounds.begin()
        sequence = self._rng.integers(spec.batch, size=len(self._rows))
        examples = self._dealt[: self._seen // spec.batch, self._rows, sequence]
        mistakes = self._wrong[examples].sum(axis=0, dtype=float)
        chosen = exponential_mechanism(self._rng, -mistakes, epsilon=2 * spec.hedge_rate, sensitivity=1)
        return Hypothesis(spec.concepts, self._concepts[chosen])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        place = self._spec.concepts.domain_indices(self._spec.concepts.check(x))
        self._counts[self._rows, y.astype(np.intp) * self._points + place] += 1
        self._seen += 1
        number, rest = divmod(self._seen, self._spec.batch)
        if not rest and number <= self._spec.batches:
            self._deal(self._dealt[number - 1])

    def _deal(self, hands: np.ndarray) -> None:
        """Sanitise the batch, and deal its synthetic examples into hands (n, B)."""
        found = self._sanitiser.run(self._rng, self._counts)
        synthetic = rounded(found.distribution, self._spec.batch)
        points = np.tile(np.arange(self._counts.shape[1], dtype=hands.dtype), len(hands))
        ordered = np.repeat(points, synthetic.ravel()).reshape(hands.shape)
        self._rng.permuted(ordered, axis=1, out=hands)
        self._counts[:] = 0

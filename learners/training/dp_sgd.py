"""dp-sgd and dp-ftrl: gradient descent on clipped gradients, with noise on each step or on prefix sums."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

import attrs
import numpy as np

from arena.claims import REPLACING, Claim, Neighbours, Relation, read_relation
from arena.errors import Unsupported
from arena.messages import GradientCanary
from arena.players import Learner
from arena.privacy_curves import GaussianCurve, NoisyStepsCurve, PrivacyCurve
from arena.privacy_curves.gaussian_curves import renyi_epsilon
from arena.sample import BLANK, Sample
from arena.settings import Check, count_setting, more_than, one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.mechanisms.parameter_checks import check_batch
from learners.training.noisy_sums_state import (
    FIXED,
    POISSON,
    SAMPLINGS,
    SHUFFLED,
    BatchSource,
    Group,
    NoisySumsState,
)
from learners.training.small_networks import LOGISTIC, LOSSES, SmallNetwork

# The probability that an error in the last bits changes the rounded value: half a unit is at least 2^-6 of a
# standard deviation, and the error at most 2^-52 of the sum and the noise, here for each such deviation.
_LEAK = 2.0**-45
_CACHED = 2**17  # numbers of the points of batches that are worked on together, as many as a cache holds
_LARGEST = 1e100  # coordinate of a point
_REPLACED = 2.0  # clips by which a replaced example moves a sum
_NOISE_TOLERANCE = 1e-3  # relative, of the noise that is found for an ε
_MOST_NOISE = 2.0**40  # multiplier up to which noise is looked for
_KINDS = {  # whose cost is computed, for each sampling; that of other relations follows from the first
    POISSON: (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE),
    FIXED: (Neighbours.REPLACE_ONE, Neighbours.ZERO_OUT_ONE),
    SHUFFLED: (Neighbours.REPLACE_ONE, Neighbours.ZERO_OUT_ONE),
}
CLIP_REMEDY = "The noise is a multiple of this length, for instance 1."


def check_sampling(*names: str) -> Check:
    return one_of(*names, remedy="The accountant knows no other sampling.")


@attrs.frozen
class DPSGD(Learner):
    """Differentially private stochastic gradient descent, for linear models and small networks.

    Algorithm 1 of Abadi and others, Deep Learning with Differential Privacy (2016): in each step the
    gradients of a random batch are clipped and added up, with Gaussian noise of standard deviation
    noise·clip; the sum over `batch`, times the learning rate, is subtracted from the parameters. `size` and
    `batch` are public numbers. Noisy sums are rounded to about a thirtieth of the noise, so that their last
    bits show nothing.

    Privacy of all models together: docs/proofs/loss_distribution.md. sampling: "poisson", each example
    independently with chance batch/size, where examples are added, removed or zeroed out; "fixed", uniform
    subsets, and "shuffled", a permutation in each epoch, which costs a step without subsampling; examples are
    replaced or zeroed out. Other relations by group privacy (docs/proofs/neighbours.md).
    """

    name = "dp-sgd"
    protocols = ("TrainingRun",)
    theorem = "Algorithm 1 of Abadi and others (2016), with the exact subsampled Gaussian mechanism"

    features: int = count_setting(1, help="d, the coordinates of a point")
    hidden: int = count_setting(0, help="hidden units; 0: a linear model", least=0)
    loss: str = setting(LOGISTIC, help="the loss: logistic or squared", check=one_of(*LOSSES))
    size: int = count_setting(1_000, help="n, the number of examples that is assumed")
    batch: int = count_setting(100, help="the number of examples of a batch, on average")
    steps: int = count_setting(100, help="T, the number of steps")
    sampling: str = setting(POISSON, help="how batches are drawn", check=check_sampling(*SAMPLINGS))
    clip: float = setting(
        1.0,
        unit="length of a gradient",
        help="the longest that is not clipped",
        check=more_than(0, CLIP_REMEDY),
    )
    learning_rate: float = setting(1.0, help="the step size", check=more_than(0))
    epsilon: float = setting(1.0, unit="nats", help="the ε for which noise is chosen, if it is not set")
    delta: float = setting(1e-5, unit="probability", help="the δ of the claim")
    noise: float | None = setting(
        None,
        unit="clip",
        help="σ, the noise multiplier; default: the least for ε and δ",
        check=more_than(0, "Leave it out, so that it is chosen for epsilon and delta."),
    )
    neighbours: str | None = setting(None, help="the relation of the claim; default: that of the sampling")

    def __attrs_post_init__(self) -> None:
        check_batch(self.batch, self.size)
        if self.neighbours is not None:
            read_relation(self.neighbours)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features,)

    @property
    def sample_size(self) -> int | None:
        return self.size

    def adapt_to(self, sample_size: int) -> Self:
        return attrs.evolve(self, size=sample_size, batch=min(self.batch, sample_size))

    @property
    def network(self) -> SmallNetwork:
        """The model that is trained."""
        return SmallNetwork(self.features, self.hidden, self.loss)

    @property
    def rate(self) -> float:
        """The share of the data in a batch, on average."""
        return self.batch / self.size

    @property
    def parameters(self) -> int:
        """P, the number of parameters."""
        return self.network.size

    @property
    def step_size(self) -> float:
        """By how much a sum of gradients moves the model, as a multiple."""
        return self.learning_rate / self.batch

    def losses(self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, k): the losses of models (n, P) on examples (k, d), (k,)."""
        return self.network.losses(parameters, x, y)

    @property
    def noise_run(self) -> float:
        """The noise multiplier."""
        if self.noise is not None:
            return self.noise
        return _find_noise(attrs.evolve(self, noise=1.0, learning_rate=1.0, clip=1.0))

    @property
    def claim(self) -> Claim:
        kinds = _KINDS[self.sampling]
        relation = Relation(kinds[0]) if self.neighbours is None else read_relation(self.neighbours)
        base = Relation(relation.kind if relation.kind in kinds else kinds[0])
        relation.count_steps(base)  # refuses a relation about which nothing is known
        if self._takes_all:
            return self._make_claim(relation)
        return self._make_claim(base).convert(relation, self.delta)

    def other_costs(self) -> dict[str, float]:
        """ε by Rényi divergences, for Poisson sampling and the relations whose claim is not converted."""
        if self.sampling != POISSON or self.claim.neighbours.kind in REPLACING:
            return {}
        steps = NoisyStepsCurve(self.rate, self.noise_run, self.steps)
        return {"Rényi divergences": renyi_epsilon(steps, self.delta)}

    @property
    def _takes_all(self) -> bool:
        """Whether the noise alone protects an example, without any chance of not being in a batch."""
        return self.sampling == SHUFFLED or self.rate == 1

    def _make_claim(self, relation: Relation) -> Claim:
        noise = self.noise_run
        deviations = (4 * self.batch + 40) / noise + 40  # of nearly all noisy sums, but for 1e-20
        slack = min(_LEAK * deviations * self.steps * self.parameters, self.delta)
        # A subset of fixed size without the example has another one in its place.
        replaced = relation.kind in REPLACING or (self.sampling == FIXED and not self._takes_all)
        curve = self._compose(noise, relation.size * (_REPLACED if replaced else 1.0), slack)
        return claim_for_example(curve.epsilon(self.delta), self.delta, neighbours=relation, curve=curve)

    def _compose(self, noise: float, shift: float, slack: float) -> PrivacyCurve:
        if self.sampling == SHUFFLED:
            epochs = -(-self.steps // (self.size // self.batch))
            return GaussianCurve(shift * epochs**0.5 / noise, slack)
        if self.rate == 1:
            return GaussianCurve(shift * self.steps**0.5 / noise, slack)
        return NoisyStepsCurve(self.rate, noise, self.steps, shift, shift == _REPLACED, slack)

    def draw_batches(self, counts: np.ndarray, games: int, rng: np.random.Generator) -> BatchSource:
        """The batches of games with so many copies of each example, (k,)."""
        return BatchSource(counts, games, rng, sampling=self.sampling, rate=self.rate, size=self.batch)

    def start(self, games: int, rng: np.random.Generator) -> NoisySumsState[Any]:
        return DPSGDState(self, games, rng)


@lru_cache(maxsize=64)
def _find_noise(learner: DPSGD) -> float:
    """The least noise multiplier, but for a thousandth, with which the learner's claim is its ε."""
    low, high = 0.0, 1.0
    while (epsilon := attrs.evolve(learner, noise=high).claim.epsilon) > learner.epsilon:
        last = attrs.evolve(learner, noise=_MOST_NOISE).claim if math.isinf(epsilon) else None
        if high >= _MOST_NOISE or (last and last.empty):
            raise Unsupported(
                f"no noise makes {learner.name} (ε, δ)-DP, since what rounding and composition leave "
                "uncertain costs more than δ",
                value=f"ε = {learner.epsilon:g}, δ = {learner.delta:g}, {learner.claim.neighbours}",
                remedy="Choose a larger delta, fewer steps, or a smaller group.",
            )
        low, high = high, 2 * high
    while high - low > _NOISE_TOLERANCE * high:
        middle = (low + high) / 2
        try:
            suffices = attrs.evolve(learner, noise=middle).claim.epsilon <= learner.epsilon
        except ArithmeticError:  # hardly any noise
            suffices = False
        low, high = (low, middle) if suffices else (middle, high)
    return high


def _bound(points: np.ndarray) -> np.ndarray:
    """Points with coordinates so small that no gradient overflows; it would be no number, which shows."""
    return np.clip(points, -_LARGEST, _LARGEST)


@attrs.frozen(eq=False)
class _ExampleGroup(Group):
    """Games with equal training sets.

    points: (k, d), int8 if these hold them, of which more fit in a cache. lengths: (k,), squared. present:
    (k,), 0 for blank examples. canaries: which examples are equal to each, (k,) bool; None if it differs
    between games.
    """

    points: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    present: np.ndarray
    source: BatchSource
    canaries: list[np.ndarray | None] = attrs.field(factory=list)

    @classmethod
    def of(cls, games: np.ndarray, sample: Sample, source: BatchSource) -> _ExampleGroup:
        points = _bound(sample.points)
        lengths = np.einsum("kd,kd->k", points, points)
        if (abs(points) <= np.iinfo(np.int8).max).all() and (points == np.rint(points)).all():
            points = points.astype(np.int8)
        labels, present = sample.labels.astype(float), (sample.labels != BLANK).astype(float)
        return cls(games, sample, points, lengths, labels, present, source)

    def find_canaries(self, canaries: tuple[GradientCanary, ...]) -> None:
        self.canaries[:] = [
            (self.points == _bound(canary.x[0])).all(axis=1) & (self.labels == canary.label)
            if len(canary.x) and (canary.x == canary.x[:1]).all()
            else None
            for canary in canaries
        ]


class DPSGDState(NoisySumsState[_ExampleGroup]):
    _learner: DPSGD
    _canaries: tuple[GradientCanary, ...] = ()

    def _make_group(self, games: np.ndarray, sample: Sample) -> _ExampleGroup:
        source = self._learner.draw_batches(sample.counts, len(games), self._rng)
        return _ExampleGroup.of(games, sample, source)

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        if canaries is not self._canaries:
            self._canaries = canaries
            for group in self._groups:
                group.find_canaries(canaries)
        return super().advance(steps, canaries)

    def _add_gradients(self, group: _ExampleGroup, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        if group.source.draws_counts:
            return self._add_clipped(group, group.games, canaries, group.source.draw_counts(), None)
        chosen, inside = group.source.draw_positions()
        total = np.empty((len(group.games), self._network.size))
        width = max(1, _CACHED // (chosen.shape[1] * self._network.features))
        for start in range(0, len(total), width):
            part = slice(start, start + width)
            most = int(inside[part].sum(axis=1).max())  # positions inside come first
            total[part] = self._add_clipped(
                group, group.games[part], canaries, inside[part, :most], chosen[part, :most]
            )
        return total

    def _add_clipped(
        self,
        group: _ExampleGroup,
        games: np.ndarray,
        canaries: tuple[GradientCanary, ...],
        copies: np.ndarray,
        chosen: np.ndarray | None,
    ) -> np.ndarray:
        """(g, P): the same for some games of the group, with `copies` (g, k) of the examples `chosen` (g, k),
        or of all."""

        def choose(values: np.ndarray) -> np.ndarray:
            return values if chosen is None else values.take(chosen, axis=0)

        x, y = choose(group.points).astype(float, copy=False), choose(group.labels)
        copies = copies * choose(group.present)
        total = np.zeros((len(games), self._network.size))
        for canary, places in zip(canaries, group.canaries, strict=True):
            if places is None:
                is_canary = (x == _bound(canary.x[games])[:, None]).all(axis=2) & (y == canary.label)
            else:
                is_canary = choose(places)
            gradient = canary.gradient[games]
            norms = np.sqrt((gradient**2).sum(axis=1))
            number = (copies * is_canary).sum(axis=1)
            total += (number * self._shrink(norms))[:, None] * gradient
            copies = copies * ~is_canary
        norms, add = self._network.gradients(self.parameters[games], x, y, choose(group.lengths))
        total += add(copies * self._shrink(norms))
        return total


@attrs.frozen
class DPFTRL(DPSGD):
    """Follow the regularised leader with noise from a binary tree, for linear models and small networks.

    Algorithms 1 and 2 of Kairouz and others, Practical and Private (Deep) Learning without Sampling or
    Shuffling (2021), without momentum and the estimator of Honaker. The sum of all clipped gradients so far
    has the noises of its blocks of a binary tree, one for each epoch. An example is in one block of each
    level: E epochs with L levels are a Gaussian mechanism of sensitivity clip·√(E·L), in any order.
    """

    name = "dp-ftrl"
    theorem = "Theorem 4.1 of Kairouz and others (2021), with the exact Gaussian mechanism"

    sampling: str = setting(SHUFFLED, help="each epoch is a new permutation", check=check_sampling(SHUFFLED))
    neighbours: str | None = setting("zero out one", help="the neighbouring relation of the claim")

    @property
    def epoch_steps(self) -> int:
        """The steps of an epoch."""
        return self.size // self.batch

    @property
    def levels(self) -> int:
        """The levels of the tree of an epoch."""
        return min(self.epoch_steps, self.steps).bit_length()

    def other_costs(self) -> dict[str, float]:
        return {}

    def _compose(self, noise: float, shift: float, slack: float) -> GaussianCurve:
        epochs = -(-self.steps // self.epoch_steps)
        return GaussianCurve(shift * (epochs * self.levels) ** 0.5 / noise, slack)

    def start(self, games: int, rng: np.random.Generator) -> DPFTRLState:
        return DPFTRLState(self, games, rng)


class DPFTRLState(DPSGDState):
    _learner: DPFTRL

    def __init__(self, learner: DPFTRL, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, rng)
        self._step = 0  # of the epoch
        self._blocks: list[np.ndarray] = []  # the noises of the present prefix, of the shortest block last

    def _draw_noise(self) -> np.ndarray:
        """By how much the noise of the prefix changes: a new block takes the place of shorter ones."""
        if self._step == self._learner.epoch_steps:
            self._step, self._blocks = 0, []
        self._step += 1
        change = super()._draw_noise()
        block = change.copy()
        for _ in range((self._step & -self._step).bit_length() - 1):
            change -= self._blocks.pop()
        self._blocks.append(block)
        return change

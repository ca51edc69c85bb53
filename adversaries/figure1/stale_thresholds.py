"""stale-thresholds: reads a query off thresholds that are drawn anew because of it."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from adversaries.figure1.training_sets import telling_points, tied_sample
from arena import Adversary, InvalidArgument, Learner, Moves, Query, Sample, Train, Training, setting
from arena.points import finite_domain
from arena.settings import at_least, less_than, more_than, whole

_SIMULATED_GAMES = 512
_HALVINGS = 12
_MOST_ONES = 0.8  # of the examples at the border, so that it stays in doubt
_MOST_POINTS = 16
_SPLIT_ONES = 0.4  # of the examples at the tie; teachers that err at the border vote 1 there too


@attrs.frozen
class StaleThresholds(Adversary):
    """Finds games whose hidden thresholds are unusual, and lets the challenge have them drawn anew or not.

    Against GenericBBL with BetweenThresholds, however privately it counts. At the border, near the lower
    threshold, an answer is 1 as good as only if it is ⊤, which has μ drawn anew. A game that has answered
    `run` times 0 in a row there has a μ that moved the threshold up. Then the challenge: in world 0 a point
    where the votes agree, which leaves μ, in world 1 one where they tie, which is a ⊤. Its label is withheld;
    but at the border a fresh μ soon answers 1 again, and the old one goes on answering 0.

    A run has a chance of about run^-3, yet a learner that allows many ⊤s allows as many tries. The adversary
    gives up after `budget` answers 1, so that the learner does not stop of itself.

    Where it is not told the sample it makes one with a border and a tie. The border is where a fresh table of
    the learner's spec answers 1 with chance `firing`. The score is minus the number of 0s before the first 1
    among `probes`; 0 in games that never had a run.
    """

    name = "stale-thresholds"
    protocols = ("Figure1",)
    returns_score = True

    run: int = setting(8, help="0s in a row before the challenge", check=[whole, at_least(1)])
    probes: int = setting(12, help="queries after the challenge", check=[whole, at_least(1)])
    firing: float = setting(
        0.65, unit="probability", help="of a 1 at the border", check=[more_than(0), less_than(1)]
    )
    budget: int | None = setting(
        None,
        help="1s after which it gives up; default: half the learner's `halts`",
        check=[whole, at_least(0)],
    )
    patience: int = setting(250, help="queries before the challenge at most", check=[whole, at_least(1)])
    sample: Sample | None = setting(None, help="the training set; default: two points with both labels")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        ground = _ground(self.learner, self.sample, self.firing)
        budget = getattr(self.learner, "halts", 8) // 2 if self.budget is None else self.budget

        yield Train(ground.sample)  # the same in both worlds
        zeros, ones, probed, first = (np.zeros(games, int) for _ in range(4))
        challenged = np.zeros(games, bool)
        for _ in range(self.patience + 1 + self.probes):
            challenge = ~challenged & (zeros == self.run)
            waits = ~challenged & ~challenge & (ones < budget)
            probes = challenged & (probed < self.probes)
            x = np.where(waits | probes, ground.border, ground.clear)
            reply = yield Query(x, np.where(challenge, ground.split, x))
            one = reply.label == 1
            ones += waits & one
            zeros = np.where(waits, np.where(one, 0, zeros + 1), zeros)
            probed += probes
            first += probes & (first == probed - 1) & ~one
            challenged |= challenge
        return -first.astype(float)


@attrs.frozen
class _Ground:
    """A sample, and three points: where the votes are near the lower threshold, where they agree, where they
    tie.
    """

    sample: Sample
    border: float
    clear: float
    split: float


@lru_cache(maxsize=32)
def _ground(learner: Learner | None, sample: Sample | None, firing: float) -> _Ground:
    """Simulated with the learner's spec; without one the border has a quarter of the votes."""
    if sample is None:
        sample, border = _bordered_sample(learner, firing)
    else:
        border = _border_of(learner, sample, firing)
    found = telling_points(learner, sample)
    return _Ground(sample, border, found.clear, found.split)


def _bordered_sample(learner: Learner | None, firing: float) -> tuple[Sample, float]:
    """Two points: a border, and a tie beyond it. How often the border is labelled 1 is found by bisection."""
    tied = tied_sample(learner)
    border, size = float(tied.points[0]), tied.size
    domain = finite_domain(learner)
    split = border + 0.5 if domain is None else float(domain[-1])
    if split == border:
        raise InvalidArgument("the domain must have at least three points", value=domain)

    def sample(ones: float) -> Sample:
        here, there = size // 2, size - size // 2
        counts = np.array([here - round(ones * here), round(ones * here), 0, round(_SPLIT_ONES * there)])
        counts[2] = there - counts[3]
        some = counts > 0
        points, labels = np.array([border, border, split, split]), np.array([0, 1, 0, 1])
        return Sample(points[some], labels[some], counts[some])

    low, high = 0.0, _MOST_ONES
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _fires(learner, sample(middle), border) < firing else (low, middle)
    return sample(high), border


def _border_of(learner: Learner | None, sample: Sample, firing: float) -> float:
    """The point of a sample at which a 1 is nearest to its chance."""
    points = np.unique(sample.points)
    few = points[np.unique(np.linspace(0, len(points) - 1, min(len(points), _MOST_POINTS)).astype(int))]
    return float(min(few, key=lambda point: abs(_fires(learner, sample, float(point)) - firing)))


def _fires(learner: Learner | None, sample: Sample, point: float) -> float:
    """How often a table of the spec's own answers 1 there when it is asked nothing else."""
    if learner is None or "Figure1" not in learner.protocols:
        here = sample.points == point
        return 2 * float(np.average(sample.labels[here], weights=sample.counts[here]))
    state = learner.start(_SIMULATED_GAMES, np.random.default_rng(np.random.SeedSequence(0)))
    state.train(Training.of((sample,), np.zeros(_SIMULATED_GAMES, np.intp)))
    return float(np.mean(state.predict(np.full(_SIMULATED_GAMES, point)) == 1))

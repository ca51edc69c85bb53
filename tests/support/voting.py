"""Views of learners for Voting and their distributions, aggregators, and labelling services for students.

A *view* is a string with one letter for each answer: 0, 1 or ? for ⊥. It ends where the learner halts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtr
from support.simple_players import script

from arena import (
    AnswerLaw,
    Claim,
    Learner,
    PrivacyUnit,
    Query,
    Sample,
    Train,
    Training,
    Unsupported,
    Voting,
    play,
)
from arena.messages import UNSTABLE
from learners.pate.independent_answers import PateGaussian
from learners.pate.voters import Voters, VotersState, VotingLaw

Views = dict[str, float]
LETTERS = "01?"


def one_point(teachers: int, ones: int, labels_at: float = 0.0) -> Sample:
    """A sample that trains `teachers` teachers, of which `ones` label the point 1."""
    by_label = [(label, count) for label, count in ((0, teachers - ones), (1, ones)) if count]
    labels, counts = zip(*by_label, strict=True)
    return Sample([labels_at] * len(by_label), labels, counts)


def law_of_views(law: VotingLaw, votes: Sequence[int]) -> Views:
    """The distribution of the view for queries with these numbers of votes for label 1."""
    probabilities: Views = {}

    def ask(view: str, measure: np.ndarray, over: bool) -> None:
        if over or len(view) == len(votes):
            probabilities[view] = probabilities.get(view, 0.0) + float(measure.sum())
            return
        parts = law._step_by_votes(measure[None], np.array([votes[len(view)]]))
        for (label, halted), part in zip(law.outcomes, parts, strict=True):
            if part.any():
                ask(view + LETTERS[label], part[0], halted or len(view) + 1 == law.last)

    ask("", law.start(), False)
    return probabilities


def exact_views(learner: Any, votes: Sequence[int]) -> Views:
    """The distribution of the view of a learner's answers to queries with these numbers of votes."""
    return law_of_views(learner.law(one_point(learner.teachers, 1)), votes)


def views(learner: Learner, sample: Sample, queries: Sequence[float], *, games: int) -> np.ndarray:
    """The answers of the learner as strings, (games,)."""
    asked = attrs.evolve(script(Train(sample), *[Query(x) for x in queries]), protocols=("Voting",))
    played = play(learner, asked, Voting(), games=games, seed=1, record=True)
    letters = np.array([*LETTERS, ""])
    columns = [letters[reply.label] for reply in played.replies[1:]]
    joined = columns[0]
    for column in columns[1:]:
        joined = np.char.add(joined, column)
    return joined


def play_releases(learner: Any, *samples: Sample, games: int = 1, seed: int = 0) -> Any:
    """What a learner releases in `games` games of each sample."""
    which = np.repeat(np.arange(len(samples)), games)
    state = learner.start(len(which), np.random.Generator(np.random.SFC64(seed)))
    return state.release(Training.of(samples, which))


def greatest_loss(one: Views, other: Views) -> float:
    """The largest log ratio of a view, infinite if one is possible in only one world."""
    pairs = [(one.get(view, 0.0), other.get(view, 0.0)) for view in {*one, *other}]
    return max(abs(log(p / q)) if p > 0 and q > 0 else inf for p, q in pairs if p > 0 or q > 0)


# --- naive references for one game, from the listings -----------------------------------------------------


def naive_screening(
    votes: Sequence[int],
    noise: Callable[[float], float],
    *,
    teachers: int,
    scale: float,
    threshold: float,
    unstable: int,
    refreshed: bool = True,
    tells: bool = True,
) -> str:
    """The view of one game of Algorithm 2; noise(scale) draws one Laplace number.

    refreshed=False, tells=False: Algorithm 6 as printed.
    """
    noisy_threshold = threshold + noise(scale)
    view, spent = "", 0
    for ones in votes:
        margin = abs(2 * ones - teachers)
        dist = max(0, -(-margin // 2) - 1)
        if dist + noise(2 * scale) > noisy_threshold:
            view += str(int(ones >= teachers / 2)) if tells else "1"
            continue
        view += "?"
        spent += 1
        if spent == (unstable if refreshed else unstable + 1):
            break
        noisy_threshold = threshold + (noise(scale) if refreshed else 1)
    return view


OUTCOMES = ((0, False), (1, False), (UNSTABLE, False), (UNSTABLE, True))


@attrs.frozen
class Screened(Voters):
    """Answers ⊥ if the noisy votes are within `width` of a tie, else their majority; halts after the second
    ⊥.

    The noise is N(0, σ²); σ is drawn once in each game, from 1 and 3, so that the distribution has hidden
    states.
    """

    name = "screened"
    theorem = "none"
    width: float = 2.0

    claim = Claim(epsilon=3.0, delta=0.1, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Sample) -> AnswerLaw:
        return ScreenedLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> ScreenedState:
        return ScreenedState(self, games, rng)


class ScreenedState(VotersState):
    """A running screened aggregator."""

    def __init__(self, spec: Screened, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._rng = rng
        self._sigma = np.where(rng.random(games) < 0.5, 1.0, 3.0)
        self._unstable = np.zeros(games, int)

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        margin = ones - self._spec.teachers / 2 + self._sigma * self._rng.standard_normal(self._games)
        unstable = np.abs(margin) < self._spec.width
        self._unstable += unstable
        self.halted = self._unstable >= 2
        return np.where(unstable, UNSTABLE, margin > 0)


class ScreenedLaw(VotingLaw):
    """States: the number of answers ⊥ so far (0 or 1) x the two values of σ."""

    outcomes = OUTCOMES

    def start(self) -> np.ndarray:
        return np.array([0.5, 0.5, 0.0, 0.0])

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        margin = (ones - self._spec.teachers / 2)[:, None]
        sigma, width = np.array([1.0, 3.0]), self._spec.width
        one, zero = ndtr((margin - width) / sigma), ndtr((-margin - width) / sigma)
        unstable = 1 - one - zero
        states = measure.reshape(len(measure), 2, 2)
        after = np.zeros((4, *states.shape))
        after[0], after[1] = states * zero[:, None], states * one[:, None]
        after[2, :, 1] = states[:, 0] * unstable
        after[3, :, 1] = states[:, 1] * unstable
        return after.reshape(4, *measure.shape)


@attrs.frozen
class Silent(PateGaussian):
    """pate-gaussian without an output distribution."""

    name = "silent"

    def law(self, sample: Sample) -> AnswerLaw:  # type: ignore[override]
        raise Unsupported("silent does not declare its output distribution")


class TruthService:
    """Answers `truth(x)` in n games, and halts after `most` answers.

    flips: the probability that a label is flipped. unstable: x -> where it answers ⊥. asked: all queries x.
    """

    def __init__(
        self,
        truth: Callable[[np.ndarray], np.ndarray],
        *,
        games: int = 1,
        most: int = 10**9,
        flips: float = 0.0,
        rng: np.random.Generator | None = None,
        unstable: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.halted = np.zeros(games, bool)
        self.asked: list[np.ndarray] = []
        self._truth, self._most, self._flips, self._rng, self._unstable = truth, most, flips, rng, unstable

    def predict(self, x: np.ndarray) -> np.ndarray:
        assert not self.halted.all()
        self.asked.append(x.copy())
        if len(self.asked) == self._most:
            self.halted = np.ones_like(self.halted)
        labels = np.asarray(self._truth(x)).astype(np.int8)
        if self._flips and self._rng is not None:
            labels ^= self._rng.random(len(x)) < self._flips
        if self._unstable is not None:
            labels[self._unstable(x)] = UNSTABLE
        return labels


class PaysForOneAnswer:
    """A mixin for learners with students: the service has the noise for one answer, the claim is for all."""

    @property
    def aggregator_learner(self) -> PateGaussian:
        own = super().aggregator_learner
        return attrs.evolve(own, sigma=attrs.evolve(own, queries=1).effective_sigma)

    @property
    def claim(self) -> Claim:
        return super().aggregator_learner.claim

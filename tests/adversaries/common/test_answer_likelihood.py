"""The likelihood of answers, beside a plain filter of one game after the other."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.voting import Screened, Silent

from adversaries.common.answer_likelihood import AnswerLikelihood, answer_laws
from arena import NO_LABEL, Adversary, Answer, AnswerLaw, Learner, Moves, Query, Sample, Train, Voting, play
from learners.pate.independent_answers import PateGaussian
from learners.releases.counts import LaplaceCount

SAMPLES = Sample([0.0, 0.5, 1.0], [1, 0, 1], [2, 1, 2]), Sample([0.0, 0.5, 1.0], [1, 1, 1], [2, 1, 2])
POINTS = np.array([0.0, 0.5, 1.0])


def plain_mass(law: AnswerLaw, points: list[float], replies: list[tuple[int, bool]]) -> float:
    """The chance of one game's answers."""
    measure = law.start()
    for number, (point, (label, halted)) in enumerate(zip(points, replies, strict=True), start=1):
        if label == NO_LABEL:
            break
        parts = law.step(measure[None], np.array([point]))[:, 0]
        at_end = number == law.last
        fits = [lab == label and (at_end or end == halted) for lab, end in law.outcomes]
        measure = parts[np.array(fits)].sum(axis=0)
    return float(measure.sum())


@attrs.frozen
class Walker(Adversary):
    """Asks points drawn for each game, and scores by a likelihood."""

    name = "walker"
    protocols = ("Voting",)
    learner: Learner
    rounds: int = 6
    shared: bool = False

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        likelihood = AnswerLikelihood(self.learner, SAMPLES, POINTS, games)
        yield Train(*SAMPLES)
        for _ in range(self.rounds):
            place = rng.integers(0, 3) if self.shared else rng.integers(0, 3, games)
            reply = yield Query(POINTS[place])
            likelihood.add(place, reply)
        return likelihood.score


@pytest.mark.thorough
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "learner",
    [
        Screened(teachers=5, queries=5),
        Screened(teachers=5, queries=9),
        PateGaussian(teachers=5, queries=4, sigma=1.5),
    ],
    ids=["halting-and-budget", "halting", "gaussian"],
)
def test_scores_are_the_log_likelihood_ratios_of_the_games(learner: Learner, shared: bool) -> None:
    adversary = Walker(learner, shared=shared)
    played = play(learner, adversary, Voting(), games=200, seed=3, record=True)
    laws = answer_laws(learner, SAMPLES)
    assert laws is not None
    asked = [entry.x for entry in played.transcript.entries[1:]]  # type: ignore[attr-defined]
    answers = played.replies[1:]
    for game in range(200):
        points = [float(x[game]) for x in asked]
        replies = [(int(reply.label[game]), bool(reply.halted[game])) for reply in answers]
        masses = [plain_mass(law, points, replies) for law in laws]
        assert played.score[game] == pytest.approx(np.log(masses[1] / masses[0]), abs=2e-9)


def test_the_mean_of_the_ratio_over_world_0_is_1() -> None:
    learner = Screened(teachers=5, queries=8)
    played = play(learner, Walker(learner), Voting(), games=20_000, seed=4, worlds=np.zeros(20_000, bool))
    assert played.score is not None
    ratio = np.exp(played.score)
    assert ratio.mean() == pytest.approx(1.0, abs=6 * ratio.std() / np.sqrt(20_000))


def answer(label: int, halted: bool = False) -> Answer:
    return Answer(np.array([label], np.int8), np.array([halted]))


@pytest.mark.thorough
@settings(max_examples=30)
@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=8))
def test_answers_that_one_world_never_gives_are_clamped(labels: list[int]) -> None:
    learner = PateGaussian(teachers=5, sigma=1e-3)
    likelihood = AnswerLikelihood(learner, SAMPLES, POINTS, 1)
    for label in labels:
        likelihood.add(1, answer(label))
    assert np.abs(likelihood.score).max() <= 50.0


def test_without_a_law_ones_are_counted() -> None:
    for learner in (None, Silent(), LaplaceCount()):
        likelihood = AnswerLikelihood(learner, SAMPLES, POINTS, 1)
        assert not likelihood.is_known
        for label, halted in ((1, False), (0, False), (2, False), (1, True), (NO_LABEL, True)):
            likelihood.add(0, answer(label, halted))
        assert likelihood.score.tolist() == [2.0]


def test_answers_after_a_halt_do_not_count() -> None:
    learner = Screened(teachers=5, queries=50)
    likelihood = AnswerLikelihood(learner, SAMPLES, POINTS, 1)
    likelihood.add(1, answer(2))
    likelihood.add(1, answer(2, True))
    before = likelihood.score
    likelihood.add(0, answer(NO_LABEL, True))
    assert likelihood.score.tolist() == before.tolist()

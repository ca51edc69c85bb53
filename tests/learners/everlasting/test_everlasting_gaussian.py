"""everlasting-gaussian: what it claims, its schedule, and that its default is accurate."""

from __future__ import annotations

from math import exp, expm1, log, sqrt

import attrs
import numpy as np
import pytest
from scipy import stats
from support.simple_players import script

from adversaries.figure1.honest import Honest
from arena import Adversary, Figure1, InvalidArgument, Moves, Queries, Query, Sample, Train, Unsupported, play
from arena.concepts import Boxes, Intervals, RealIntervals, RealPoints, Stumps, Thresholds
from arena.testing import check_learner
from audits.races import plan_predictor_race, run_race
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.mechanisms.steady_thresholds import marked_votes_cost

DEFAULT = EverlastingGaussian()
SMALL = EverlastingGaussian(teachers=50, chunk=2, halts=30, counter_epsilon=2.0, noise=0.05, rate=0.5)
BOTH = {"labelled": 2 * log(1 + sqrt(exp(1))), "unlabelled": log(4)}


@pytest.mark.thorough
def test_the_claim_by_hand() -> None:
    for index in (1, 2):
        run = DEFAULT.round(index)
        sigma = 1 / run.noise
        votes = marked_votes_cost(
            DEFAULT.halts_in_round(index), size=run.teachers, sigma=sigma, gap=1.2 * sigma, slack=1e-6
        )
        example = votes.epsilon + log(1 + 0.005 * expm1(BOTH["labelled"]))
        assert 0.99 < example <= 1
    query = 0.05 + log(1 + DEFAULT.rate_run * expm1(1 + BOTH["unlabelled"]))
    assert query == pytest.approx(1)
    assert DEFAULT.claim.epsilon == pytest.approx(1)
    assert DEFAULT.claim.delta == 1e-6
    assert attrs.evolve(DEFAULT, rate=0.2).claim.epsilon > 1.1


@pytest.mark.thorough
def test_noise_of_the_default_is_smaller_than_its_margin() -> None:
    """A teacher's threshold is Exp(λ) beyond the target: a cut at 1/2 + x errs on -ln(1/2 - x)/λ."""
    for index in (1, 2):
        run = DEFAULT.round(index)
        scale = 1 / (run.noise * run.teachers)
        margin = 0.5 - exp(-0.1 * run.chunk * (0.95 if index > 1 else 1))  # a twentieth for LabelBoost
        assert run.answers * stats.norm.sf(margin / scale) < 0.025
    assert DEFAULT.round(1).answers + DEFAULT.round(2).answers > 10**6


def test_the_schedule() -> None:
    """λ, T and c grow by the same factor, R as many as the next round needs; no cost is exceeded."""
    runs = [SMALL.round(index) for index in (1, 2, 3)]
    assert [run.teachers for run in runs] == [50, 53, 57]
    assert [run.chunk for run in runs] == [2, 3, 3]
    assert [SMALL.halts_in_round(index) for index in (1, 2, 3)] == [30, 32, 34]
    assert [run.answers for run in runs[:2]] == [2 * 53 * 3, 2 * 57 * 3]
    costs = [SMALL._cost_of_answers(run)[0] for run in runs]
    assert costs[1:] == [costs[0]] * 2
    assert SMALL.rate_run == 0.5
    assert DEFAULT.training_rate_run == 1


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="spend no more than ε on the labels of the next round"):
        EverlastingGaussian(labelled_rate=0.9)
    with pytest.raises(InvalidArgument, match="growth must be"):
        EverlastingGaussian(growth=0.9)


def test_it_fits_itself_to_smaller_samples() -> None:
    fitted = DEFAULT.adapt_to(5_000)
    assert fitted.sample_size == 4_995
    assert fitted.claim.epsilon <= 1
    assert DEFAULT.adapt_to(DEFAULT.sample_size) is DEFAULT
    assert EverlastingGaussian().with_practical_constants().claim.epsilon > 1


def test_it_stops_after_ties_at_many_points_and_only_then() -> None:
    """One tied point, or clear points, cost nothing however often they are asked."""
    learner = EverlastingGaussian(
        teachers=2_001, chunk=1, answers=3_000, rounds=1, halts=300, counter_epsilon=0.9, noise=0.02
    )
    tied = Sample([0.5, 0.5], [0, 1], [2_001, 2_001])
    many = np.linspace(0, 0.25, 2_500)
    for points, stops in ((0.5 + many, True), ([0.5] * 2_500, False), (many, False)):
        played = play(learner, script(Train(tied), Queries(points)), Figure1(), games=20, seed=1)
        assert played.halted is not None
        assert (played.halted == stops).all()


def test_a_point_is_answered_alike_within_a_round_and_anew_in_the_next() -> None:
    learner = attrs.evolve(SMALL, answers=400, halts=1_000)
    tied = Sample([0.5, 0.5], [0, 1], [50, 50])
    played = play(
        learner, script(Train(tied), Queries([0.5] * 800)), Figure1(), games=50, seed=1, record=True
    )
    labels = np.concatenate([reply.label for reply in played.replies[1:]], axis=1)
    first, second = labels[:, :400], labels[:, 400:]
    assert (first == first[:, :1]).all()
    assert (second == second[:, :1]).all()
    assert 5 < first[:, 0].sum() < 45
    assert (first[:, 0] != second[:, 0]).any()


def test_classes_with_too_many_labellings_are_refused_before_the_first_answer() -> None:
    boxes = attrs.evolve(SMALL, concepts=Boxes(2))
    sample = Sample(np.zeros((1, 2)), [0], [200])
    message = (
        "everlasting-gaussian relabels the points of each round with a concept, and "
        r"Boxes\(dimension=2\) may have too many labellings of them to choose from, more in every round, got "
        "'rounds={}'. Set a class on a finite domain, thresholds, point functions, intervals or stumps, or "
        "rounds=1"
    )
    with pytest.raises(Unsupported, match=message.format("none")):
        play(boxes, script(Train(sample), Query(np.zeros(2))), Figure1(), games=1, seed=1)
    with pytest.raises(Unsupported, match=message.format(9)):
        boxes.check_labellings(9)
    play(attrs.evolve(boxes, rounds=1), script(Train(sample), Query(np.zeros(2))), Figure1(), games=1, seed=1)
    for concepts in (Thresholds(), RealPoints(), RealIntervals(), Stumps(3), Intervals(range(1, 30))):
        attrs.evolve(DEFAULT, concepts=concepts).check_labellings(None)


@attrs.frozen
class AskToTheLastRound(Adversary):
    """Draws a sample and queries of many rounds; the score is the share of right answers in the last one."""

    name = "ask-to-the-last-round"
    protocols = ("Figure1",)

    learner: EverlastingGaussian
    rounds: int

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        points = rng.random(self.learner.sample_size)
        yield Train(Sample(points, points >= 0.5))
        for index in range(1, self.rounds):
            yield Queries(rng.random(self.learner.round(index).answers))
        queries = rng.random(10_000)
        reply = yield Queries(queries)
        return ((reply.label == (queries >= 0.5)) & ~reply.halted).mean(axis=1)


@pytest.mark.slow
def test_thirty_rounds_with_more_points_than_labellings_were_once_listed() -> None:
    """The last round is trained on more than 2^20 points, and its answers are right."""
    learner = EverlastingGaussian(
        teachers=200,
        chunk=4,
        growth=1.135,
        halts=1_000,
        noise=1.0,
        counter_epsilon=0.5,
        rate=1.0,
        labelled_rate=1.0,
    )
    assert learner.round(30).examples > 2**20
    played = play(learner, AskToTheLastRound(learner, rounds=30), Figure1(), games=1, seed=1)
    assert played.score is not None
    assert played.score.item() > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("atom", [1 / 22, 0.035, 0.045])
def test_atoms_at_which_votes_tie_neither_halt_the_default_nor_raise_its_error(atom: float) -> None:
    """Uniform on 22 points, or an atom of this mass at the target and 100,000 other points of the line."""
    concepts, sample = Thresholds(range(1, 23)), None
    if atom != 1 / 22:
        points = np.linspace(0, 1, 100_001)
        counts = np.where(points == 0.5, round(atom / (1 - atom) * len(points)), 1)
        concepts, sample = Thresholds(), Sample(points, points >= 0.5, counts)
    learner = attrs.evolve(DEFAULT, concepts=concepts)
    race = plan_predictor_race([("it", learner, Honest(sample=sample))], rounds=1, games=1)
    standing = run_race(race, jobs=1).standings[0]
    assert standing.halted[0] == 0
    assert standing.worst[0] <= 0.1


@pytest.mark.thorough
def test_it_conforms() -> None:
    check_learner(attrs.evolve(SMALL, teachers=9, rounds=1, answers=40, counter_epsilon=9.0), games=200)

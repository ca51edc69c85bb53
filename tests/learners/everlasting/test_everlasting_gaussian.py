"""everlasting-gaussian: what it claims, its schedule, and that its default is accurate."""

from __future__ import annotations

from math import exp, expm1, log, sqrt

import attrs
import pytest
from scipy import stats
from support.players.simple_players import script

from arena import Figure1, InvalidArgument, Queries, Sample, Train, play
from arena.testing import check_learner
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.mechanisms.sparse_vector.marked_votes import marked_votes_cost

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


def test_it_stops_after_ties_and_not_where_votes_are_clear() -> None:
    learner = EverlastingGaussian(
        teachers=2_001, chunk=1, answers=3_000, rounds=1, halts=300, counter_epsilon=0.9, noise=0.02
    )
    tied = Sample([0.5, 0.5], [0, 1], [2_001, 2_001])
    for x, stops in ((0.5, True), (0.0, False)):
        played = play(learner, script(Train(tied), Queries([x] * 2_500)), Figure1(), games=20, seed=1)
        assert played.halted is not None
        assert (played.halted == stops).all()


@pytest.mark.thorough
def test_it_conforms() -> None:
    check_learner(attrs.evolve(SMALL, teachers=9, rounds=1, answers=40, counter_epsilon=9.0), games=200)

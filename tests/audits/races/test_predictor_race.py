"""Races of predictors: figures that depend on the plan alone, bounds, halts, and what is refused."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from adversaries.figure1.honest import Honest
from adversaries.figure1.swaps import HaltCounter
from arena import Bound, InvalidArgument, Learner, Sample
from audits.races import Race, plan_predictor_race, run_race
from audits.races.predictor_race import queries_by_round
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import StaticErm

SMALL = {"teachers": 200, "chunk": 20, "rate": 1.0, "training_rate": 1.0, "alpha_1": 0.03, "beta_1": 0.03}
V2 = EverlastingV2(**SMALL, answers=None, noise=1.0)


@attrs.frozen
class Promising(EverlastingV2):
    """Promises an error that may be too small, and with it, or without, the printed sizes."""

    name = "promising"

    most: float = 0.001
    sure: bool = True

    def bound(self, rounds: int) -> Bound | None:
        return Bound(at_most=self.most, of="error", beta=0.1, theorem="none", promised=self.sure)


def race(*learners: Learner, **options: object) -> Race:
    players = [(f"{i}", learner, Honest()) for i, learner in enumerate(learners)]
    return plan_predictor_race(players, **{"rounds": 2, "games": 6, "tested": 500, **options})  # type: ignore[arg-type]


@pytest.mark.thorough
def test_the_figures_depend_on_the_plan_alone() -> None:
    plan = race(V2, seed=3)
    counts: list[int] = []
    first, second = run_race(plan, watch=counts.append).to_dict(), run_race(plan, jobs=2).to_dict()
    assert first == second
    assert counts[-1] == 6
    assert run_race(race(V2, seed=4)).to_dict() != first
    # A learner's games are its own: another in the race changes none of them.
    alone, beside = (
        run_race(plan).standings[0]
        for plan in (plan, race(V2, V2.with_practical_constants(rounds=1), seed=3))
    )
    np.testing.assert_array_equal(alone.worst, beside.worst)


def test_errors_fall_and_lie_between_zero_and_the_worst() -> None:
    (one,) = run_race(race(V2, games=12)).standings
    assert (one.mean <= one.worst).all()
    assert (one.mean >= 0).all()
    assert one.mean[1] < one.mean[0]
    assert (np.abs(one.wrong_answers - one.mean) < 0.03).all()  # answers are drawn from D, too
    assert (one.median.values <= one.quantile_95.values).all()
    test = one.bound_test
    assert (test.bound.at_most, test.exceeding, test.broken) == (0.24, 0, False)
    assert one.asked.tolist() == [16_000, 16_000]
    assert [run.answers for run in one.rounds] == [16_000, 64_000]


def test_only_a_promised_bound_can_be_broken() -> None:
    options = {**SMALL, "noise": 1.0, "answers": None}
    promised, measured = (
        run_race(race(Promising(**options))),
        run_race(race(Promising(**options, sure=False))),
    )
    for result in (promised, measured):
        assert result.standings[0].bound_test.broken
    assert (promised.broken, measured.broken) == (True, False)
    assert "  no: 6 of 6 games exceed it, up to 2 may\n" in promised.summary()
    assert "  no: 6 of 6 games exceed it, up to 2 may (not promised)\n" in measured.summary()


def test_a_halted_game_has_error_1() -> None:
    halting = EverlastingV1(**SMALL, answers=4_000, noise=0.1, halts=1, rounds=1)
    (one,) = run_race(race(halting, rounds=1)).standings
    assert one.halted[0] > 0
    assert one.worst[0] == 1
    assert "has error 1 in that round" in run_race(race(halting, rounds=1)).summary()


def test_json_has_every_figure() -> None:
    data = run_race(race(V2)).to_dict()
    assert (data["quantity"], data["rounds"], data["games"], data["broken"]) == ("error", 2, 6, False)
    (one,) = data["learners"]
    for name in ("worst", "mean", "wrong_answers", "halted", "rounds", "asked"):
        assert len(one[name]) == 2
    sizes = {"index": 1, "chunk": 20, "teachers": 200, "answers": 16_000, "noise": 1.0}
    assert one["rounds"][0].items() >= sizes.items()
    assert one["bound_test"]["bound"]["promised"] is False
    assert len(one["median"]["values"]) == 2


def test_errors_are_over_all_of_d_if_it_is_a_list() -> None:
    data = Sample([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1], [3, 3, 3, 3])
    plan = plan_predictor_race([("it", V2, Honest(sample=data))], rounds=2, games=4)
    (one,) = run_race(plan).standings
    assert (one.best_concept_error, one.worst.max()) == (0.0, 0.0)
    noisy = Sample([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1], [1, 3, 3, 3])
    relabelling = attrs.evolve(V2, agnostic=True)
    plan = plan_predictor_race([("it", relabelling, Honest(sample=noisy))], rounds=2, games=4)
    (one,) = run_race(plan).standings
    assert one.best_concept_error == pytest.approx(0.1)
    assert abs(one.worst.max()) < 1e-9
    assert "No concept of the class explains D" in run_race(plan).summary()


def test_the_last_round_is_no_longer_than_the_first() -> None:
    np.testing.assert_array_equal(queries_by_round(V2, 3), [16_000, 64_000, 16_000])
    np.testing.assert_array_equal(queries_by_round(V2, 1), [16_000])


@pytest.mark.parametrize(
    ("learner", "adversary", "options", "message"),
    [
        (V2, Honest(), {"rounds": 0}, "rounds must be at least 1, got 0"),
        (
            attrs.evolve(V2, rounds=1),
            Honest(),
            {"rounds": 3},
            "0 stops after 1 round, got 3. Give --rounds 1, or --set rounds=none.",
        ),
        (
            StaticErm(),
            Honest(),
            {},
            "static-erm has no rounds by which it could be measured. Race predictors that answer in rounds, "
            "such as everlasting-v2.",
        ),
        (
            V2,
            HaltCounter(),
            {},
            "halt-counter does not state the distribution of its examples, so errors are undefined. Race "
            "against honest, or an adversary with a method population(games, rng).",
        ),
        (V2, Honest(), {"tested": 0}, "tested must be at least 1, got 0"),
        (V2, Honest(), {"games": 0}, "games must be at least 1, got 0"),
    ],
)
def test_refusals(learner: Learner, adversary: object, options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        plan_predictor_race([("0", learner, adversary)], **options)  # type: ignore[arg-type,list-item]
    assert str(refused.value).replace("everlasting-v2 stops", "0 stops") == message


def test_a_bound_on_something_else_is_not_tested() -> None:
    @attrs.frozen
    class Odd(EverlastingV2):
        def bound(self, rounds: int) -> Bound | None:
            return Bound(at_most=0, of="regret", beta=0.1, theorem="none")

    result = run_race(race(Odd(**SMALL, noise=1.0, answers=None), rounds=1, games=2))
    assert result.standings[0].bound_test.inapplicable == "it bounds regret"
    assert not result.broken

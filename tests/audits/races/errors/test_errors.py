"""Races of predictors: figures that depend on the plan alone, bounds, halts, and what is refused."""

from __future__ import annotations

import json

import attrs
import numpy as np
import pytest
from audits.races.errors import predictor_race, run
from audits.races.errors.plan import PredictorRace, asked
from audits.races.errors.text import as_json, text

from adversaries.figure1.halt_counter import HaltCounter
from adversaries.figure1.honest import Honest
from arena import Bound, InvalidArgument, Learner, Sample
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.everlasting.practical_constants import practical
from learners.predictors.static_erm import StaticErm

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


def race(*learners: Learner, **options: object) -> PredictorRace:
    players = [(f"{i}", learner, Honest()) for i, learner in enumerate(learners)]
    return predictor_race(players, **{"rounds": 2, "games": 6, "tested": 500, **options})  # type: ignore[arg-type]


def test_the_figures_depend_on_the_plan_alone() -> None:
    planned = race(V2, seed=3)
    counts: list[int] = []
    first, second = as_json(run(planned, watch=counts.append)), as_json(run(planned, jobs=2))
    assert first == second
    assert counts[-1] == 6
    assert as_json(run(race(V2, seed=4))) != first
    # A learner's games are its own: another in the race changes none of them.
    alone, beside = (run(one).standings[0] for one in (planned, race(V2, practical(V2, rounds=1), seed=3)))
    np.testing.assert_array_equal(alone.worst, beside.worst)


def test_errors_fall_and_lie_between_zero_and_the_worst() -> None:
    (one,) = run(race(V2, games=12)).standings
    assert (one.mean <= one.worst).all()
    assert (one.mean >= 0).all()
    assert one.mean[1] < one.mean[0]
    assert (np.abs(one.wrong - one.mean) < 0.03).all()  # answers are drawn from D, too
    assert (one.median.values <= one.high.values).all()
    assert one.held is not None
    assert (one.held.bound.at_most, one.held.exceeding, one.held.broken) == (0.24, 0, False)
    assert [run.asked for run in one.rounds] == [16_000, 16_000]
    assert [run.answers for run in one.rounds] == [16_000, 64_000]


def test_only_a_promised_bound_can_be_broken() -> None:
    options = {**SMALL, "noise": 1.0, "answers": None}
    promised, measured = run(race(Promising(**options))), run(race(Promising(**options, sure=False)))
    for result in (promised, measured):
        assert result.standings[0].held is not None
        assert result.standings[0].held.broken
    assert (promised.broken, measured.broken) == (True, False)
    assert "promised  no: 6 of 6 games exceed it" in " ".join(text(promised).split("\n"))
    assert "measured against, not promised" in text(measured)


def test_a_game_that_halts_errs_from_then_on() -> None:
    halting = EverlastingV1(**SMALL, answers=4_000, noise=0.1, halts=1, rounds=1)
    (one,) = run(race(halting, rounds=1)).standings
    assert one.halted[0] > 0
    assert one.worst[0] == 1
    assert "has error 1 in it" in text(run(race(halting, rounds=1)))


def test_json_has_every_figure() -> None:
    found = json.loads(as_json(run(race(V2))))
    assert (found["of"], found["rounds"], found["games"], found["broken"]) == ("error", 2, 6, False)
    (one,) = found["learners"]
    for name in ("worst", "mean", "wrong", "halted", "rounds"):
        assert len(one[name]) == 2
    assert one["rounds"][0] == {
        "index": 1,
        "chunk": 20,
        "teachers": 200,
        "answers": 16_000,
        "noise": 1.0,
        "asked": 16_000,
    }
    assert one["bound"]["bound"]["promised"] is False
    assert len(one["median"]["values"]) == 2


def test_all_of_d_is_looked_at_where_it_is_a_list() -> None:
    data = Sample([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1], [3, 3, 3, 3])
    planned = predictor_race([("it", V2, Honest(sample=data))], rounds=2, games=4)
    (one,) = run(planned).standings
    assert (one.least, one.worst.max()) == (0.0, 0.0)
    noisy = Sample([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1], [1, 3, 3, 3])
    relabelling = attrs.evolve(V2, agnostic=True)
    planned = predictor_race([("it", relabelling, Honest(sample=noisy))], rounds=2, games=4)
    (one,) = run(planned).standings
    assert one.least == pytest.approx(0.1)
    assert abs(one.worst.max()) < 1e-9
    assert "No concept of the class explains D" in text(run(planned))


def test_the_last_round_is_no_longer_than_the_first() -> None:
    np.testing.assert_array_equal(asked(V2, 3), [16_000, 64_000, 16_000])
    np.testing.assert_array_equal(asked(V2, 1), [16_000])


@pytest.mark.parametrize(
    ("learner", "adversary", "options", "message"),
    [
        (V2, Honest(), {"rounds": 0}, "a race of predictors has at least one round, got 0"),
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
            "static-erm has no rounds to be measured by. Race predictors that are built like GenericBBL: "
            "everlasting-v1, everlasting-v2 and kin.",
        ),
        (
            V2,
            HaltCounter(),
            {},
            "halt-counter does not say from what law its examples come, so errors have no meaning. Race "
            "against honest, or one that has population(games, rng).",
        ),
        (V2, Honest(), {"tested": 0}, "hypotheses are tried on at least one point, got 0"),
        (V2, Honest(), {"games": 0}, "games must be a whole number of at least 1, got 0"),
    ],
)
def test_refusals(learner: Learner, adversary: object, options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        predictor_race([("0", learner, adversary)], **options)  # type: ignore[arg-type,list-item]
    assert str(refused.value).replace("everlasting-v2 stops", "0 stops") == message


def test_a_bound_on_something_else_is_refused() -> None:
    @attrs.frozen
    class Odd(EverlastingV2):
        def bound(self, rounds: int) -> Bound | None:
            return Bound(at_most=1, of="regret", beta=0.1, theorem="none")

    with pytest.raises(InvalidArgument, match="must be a Bound on error with a probability, or None"):
        run(race(Odd(**SMALL, noise=1.0, answers=None)))

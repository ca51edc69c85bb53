"""Plans: what is refused, what a block is, and what a ledger remembers."""

from __future__ import annotations

import json

import attrs
import numpy as np
import pytest

from adversaries.figure1.swaps import HaltCounter
from adversaries.online.adaptive import Contrarian
from adversaries.release.point_swap import CountSwap
from arena import Adaptive, Figure1, InvalidArgument, Release, Sample
from arena.concepts import FiniteClass
from arena.privacy_curves import GaussianCurve
from audits.runs.plan import Plan, describe
from learners.everlasting.paper_versions import EverlastingV1
from learners.foreign.function import Function
from learners.online.noisy_majority import NoisyMajority
from learners.releases.counts import LaplaceCount

GOOD: dict = {"learner": LaplaceCount(), "adversary": CountSwap(), "referee": Release()}
GOOD |= {"epsilon": 1.0, "delta": 0.0}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epsilon": 0.0}, "epsilon of the claim under test must be more than 0 nats and finite, got 0.0"),
        ({"epsilon": float("inf")}, "Name a claim to test with --epsilon, for instance 1."),
        ({"epsilon": float("nan")}, "more than 0 nats and finite"),
        ({"delta": 1.0}, "delta must be less than 1, got 1.0"),
        ({"delta": -0.1}, "delta must be at least 0"),
        ({"distinguisher": "likelihood", "faults": True}, "the likelihood ratio knows no failures"),
        (
            {"fixed_games": True, "until_refuted": True},
            r"fixed_games tests one \(ε, δ\) after all games",
        ),
        ({"fixed_games": True, "curve": GaussianCurve(1.0)}, "neither a privacy curve nor until refuted"),
        ({"referee": Figure1()}, "learner laplace-count does not play Figure1"),
        ({"learner": NoisyMajority(), "adversary": Contrarian(), "referee": Adaptive(10)}, "has one world"),
    ],
)
def test_plans_that_make_no_sense_are_refused(setting: dict, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Plan(**(GOOD | setting))


@pytest.mark.thorough
@pytest.mark.parametrize("games", [1, 7, 15, 16, 17, 1_000, 50_000, 10_000_000])
@pytest.mark.parametrize("settings", [{}, {"block": 3}, {"until_refuted": True}, {"first_block": 50_000}])
def test_blocks_cover_the_games(games: int, settings: dict) -> None:
    plan = Plan(**GOOD, games=games, **settings)
    sizes = [*plan.blocks]
    assert sum(sizes) == games
    assert len(sizes) == len(plan.blocks)
    assert min(sizes) >= 1
    assert max(sizes) <= plan.block
    for index, size in enumerate(sizes[:-1]):
        before = sum(sizes[:index]) if index < 100 else games
        assert size == min(max(before // 2, plan.first_block), plan.block)
    with pytest.raises(IndexError):
        plan.blocks[len(sizes)]


def test_short_runs_have_several_blocks_and_runs_that_may_stop_begin_small() -> None:
    assert [*Plan(**GOOD, games=100).blocks] == [10, 10, 10, 15, 22, 33]
    assert [*Plan(**GOOD, games=10**9, until_refuted=True).blocks][:6] == [16, 16, 16, 24, 36, 54]


def test_runs_of_calls_have_many_blocks() -> None:
    learner = Function(function=lambda data, rng: rng.laplace())
    for games, size in ((100, 4), (4_000, 125), (8_000, 250), (200_000, 256)):
        assert {*[*Plan(**GOOD | {"learner": learner}, games=games).blocks][:-1]} == {size}


def test_scores_are_counted_exactly_until_there_are_enough_for_bins() -> None:
    for settings in ({}, {"until_refuted": True}, {"block": 1_000}, {"first_block": 9_000, "block": 9_000}):
        blocks = Plan(**GOOD, games=1_000_000, **settings).blocks
        assert sum([*blocks][: blocks.exact - 1]) < 8_192 <= sum([*blocks][: blocks.exact])
    assert Plan(**GOOD, games=8_000).blocks.exact == len(Plan(**GOOD, games=8_000).blocks)


def test_a_description_is_plain_and_tells_plans_apart() -> None:
    learner = EverlastingV1()
    sample = Sample([0.0], [0], [20_000_000])

    def describe_plan(**changes: object) -> str:
        adversary = HaltCounter(learner=learner, sample=changes.pop("sample", sample))  # type: ignore[arg-type]
        plan = Plan(learner=learner, adversary=adversary, referee=Figure1(), epsilon=1, delta=1e-5)
        return json.dumps(attrs.evolve(plan, **changes).describe(), sort_keys=True)  # type: ignore[arg-type]

    assert describe_plan() == describe_plan()
    others = [
        describe_plan(sample=sample.replace_one(0, 1.0, 0)),
        describe_plan(seed=1),
        describe_plan(delta=1e-6),
        describe_plan(games=5),
        describe_plan(until_refuted=True),
        describe_plan(referee=Figure1(9)),
    ]
    assert len({describe_plan(), *others}) == 7


def test_a_description_looks_into_concept_classes() -> None:
    """Two matrices of one shape print alike, but are different plans."""
    first, second = (
        json.dumps(describe(EverlastingV1(concepts=FiniteClass(np.eye(3, dtype=bool)[order]))))
        for order in ([0, 1, 2], [1, 0, 2])
    )
    assert first != second

"""Scripts that hand over unlabelled points: drawn, played and printed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena import BudgetExceeded, Figure1, PrivacyUnit, Sample, play
from arena.concepts import Rectangles
from audits.adversary_search.adversary_search import search
from audits.adversary_search.script import Ask, Hand, Script
from audits.adversary_search.script_strategies import adversaries
from audits.adversary_search.source_code import format_script
from learners.everlasting.everlasting_v2 import EverlastingFresh, EverlastingV2

FRESH = EverlastingFresh(
    teachers=4, chunk=1, training_rate=0.1, rate=0.2, answers=2, noise=0.5, pool=10, rounds=2
)
SAMPLE = Sample([0.0, 1.0], [0, 1], [20, 20])
SCRIPT = Script(
    protocol="Figure1",
    world_0=SAMPLE,
    handed=(Hand(0.0, 1.0), Hand(0.0, times=9)),
    steps=(Ask(0.0, 2), Ask(1.0, 3)),
)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_is_drawn_keeps_the_protocol(data: st.DataObject) -> None:
    script = data.draw(adversaries(FRESH, "Figure1", max_rounds=20))
    try:
        found = play(FRESH, script, Figure1(), games=2, seed=1)
    except BudgetExceeded:
        return  # so few points were handed over
    assert len(found.challenges) <= 1


def test_unlabelled_points_differ_in_some_and_never_before_other_learners() -> None:
    drawn: list[Script] = []

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(adversaries(FRESH, "Figure1"), adversaries(EverlastingV2(), "Figure1"))
    def collect(script: Script, other: Script) -> None:
        drawn.append(script)
        assert not other.handed

    collect()
    assert any(hand.other is not None for script in drawn for hand in script.handed)
    assert any(script.world_1 is not None and script.handed for script in drawn)


def test_the_source_plays_the_same_games() -> None:
    space: dict = {}
    exec(format_script(SCRIPT, about="Hands over points."), space)
    printed = space["Found"]()
    first, second = (play(FRESH, one, Figure1(), games=6, seed=1, record=True) for one in (SCRIPT, printed))
    assert first.challenges == second.challenges == {PrivacyUnit.UNLABELLED_EXAMPLE}
    for own, other in ((first, second),):
        assert own.view is not None
        assert other.view is not None
        for one, two in zip(own.view.replies, other.view.replies, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one.parts, two.parts, strict=True))


def test_vectors_are_printed_as_rows() -> None:
    script = Script(
        protocol="Figure1",
        world_0=Sample([[0, 0]], [1], [4]),
        handed=(Hand([0, 1]), Hand([0, 0], [1, 1])),
    )
    source = format_script(script, about="Vectors.")
    assert "yield Unlabelled([[0.0, 1.0]] * 1)" in source
    assert "yield Unlabelled([[0.0, 0.0]], [[1.0, 1.0]])  # world 0, world 1" in source
    assert "import Adversary, Moves, Sample, Train, Unlabelled" in source
    assert Rectangles((2, 2)).point_shape == (2,)


@pytest.mark.thorough
def test_a_small_search_refutes_nothing() -> None:
    assert not search(FRESH, protocol="Figure1", seed=1, error=1e-6, examples=20, pairs=32).refuted

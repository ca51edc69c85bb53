"""Scripts that hand over unlabelled points: drawn and played."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena import BudgetExceeded, Figure1, play
from audits.adversary_search.adversary_search import search
from audits.adversary_search.script import Script
from audits.adversary_search.script_strategies import adversaries
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV2

FRESH = EverlastingFresh(
    teachers=4, chunk=1, training_rate=0.1, rate=0.2, answers=2, noise=0.5, pool=10, rounds=2
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


@pytest.mark.thorough
def test_a_small_search_refutes_nothing() -> None:
    assert not search(FRESH, protocol="Figure1", seed=1, error=1e-6, examples=20, pairs=32).refuted

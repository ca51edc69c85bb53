"""OpenDP's interactive measurements, filters and odometers as sessions. `make check-libraries` runs these."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from support.paths import ROOT

import audits
from arena import InvalidArgument, Session, play
from arena.records import Records
from arena.referees.session_moves import QueryAt
from audits.adversary_search import Script
from audits.adversary_search.protocols.session_scripts import AskQuery

dp = pytest.importorskip("opendp.prelude")
GIVEN: dict[str, Any] = {"data": st.lists(st.integers(0, 100)), "neighbours": "add or remove one", "d_in": 1}


def space() -> tuple[Any, Any]:
    dp.enable_features("contrib", "honest-but-curious")
    return dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()


def count(scale: float) -> Any:
    noise = dp.m.make_laplace(dp.atom_domain(T="i32"), dp.absolute_distance(T="i32"), scale)
    return dp.t.make_count(*space()) >> noise


def counts() -> list[Any]:
    return [count(4.0), count(2.0)]


def understated() -> list[Any]:
    """A count with noise of scale 1, whose map says a quarter of its loss."""
    function = count(1.0)
    return [
        dp.m.make_user_measurement(
            *space(), dp.max_divergence(), function=function, privacy_map=lambda d_in: 0.25 * d_in
        )
    ]


def adaptive() -> Any:
    return dp.c.make_adaptive_composition(*space(), dp.max_divergence(), 1, [0.25] * 4)


def odometer() -> Any:
    return dp.c.make_fully_adaptive_composition(*space(), dp.max_divergence())


def privacy_filter() -> Any:
    return dp.c.make_privacy_filter(odometer(), d_in=1, d_out=1.0)


def ask(times: int, place: int = 0) -> Script:
    steps = (AskQuery(QueryAt(place), times),)
    return Script(protocol="Session", world_0=Records([5]), world_1=Records([5, 6]), steps=steps)


@pytest.mark.parametrize("make", [adaptive, privacy_filter])
def test_the_claim_is_the_privacy_map(make: Any) -> None:
    learner = audits.session(make, ask=counts, **GIVEN)
    assert learner.claim.epsilon == pytest.approx(1.0)
    played = play(learner, ask(5), Session(), games=8, seed=1, record=True)
    *answered, refused = [reply.value for reply in played.replies[1:]]
    assert all((np.abs(value) < 100).all() for value in answered)
    assert (refused > 1e200).all()  # the code of the exception


def test_an_odometer_reports_its_loss() -> None:
    learner = audits.session(odometer, ask=counts, **GIVEN)
    played = play(learner, ask(2, place=1), Session(), games=4, seed=1, record=True)
    assert [reply.loss[0].tolist() for reply in played.replies] == [[0, 0], [0.5, 0], [1, 0]]


def make_context(data: list[int]) -> Any:
    domain, _ = space()
    return dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=domain,
    )


def count_records(context: Any) -> int:
    return int(context.query().count().laplace().release())


def add_records(context: Any) -> int:
    return int(context.query().clamp((0, 10)).sum().laplace().release())


def test_a_context_answers_functions_of_it_until_its_budget_is_spent() -> None:
    given = {"data": GIVEN["data"], "neighbours": GIVEN["neighbours"], "epsilon": 1.0, "method": ""}
    learner = audits.session(make_context, ask=[count_records, add_records], **given)
    steps = (AskQuery(QueryAt(0)), AskQuery(QueryAt(1)), AskQuery(QueryAt(0)))
    script = Script(protocol="Session", world_0=Records([9] * 40), world_1=Records([9] * 41), steps=steps)
    played = play(learner, script, Session(), games=16, seed=1, record=True)
    counted, added, refused = [reply.value for reply in played.replies[1:]]
    assert abs(np.median(counted) - 40.5) < 6  # by noise of scale 2
    assert abs(np.median(added) - 9 * 40.5) < 60  # of scale 20
    assert len(set(counted.tolist())) > 1
    assert (refused > 1e200).all()  # the code of the exception


@pytest.mark.thorough
@pytest.mark.parametrize("make", [adaptive, privacy_filter, odometer])
def test_measurements_with_a_wrong_map_are_refuted(make: Any) -> None:
    assert audits.search(audits.session(make, ask=understated, **GIVEN), examples=12).refuted


@pytest.mark.thorough
def test_right_ones_are_not() -> None:
    assert not audits.search(audits.session(privacy_filter, ask=counts, **GIVEN), examples=12).refuted


def test_neighbours_are_at_most_d_in_apart() -> None:
    with pytest.raises(InvalidArgument, match="d_in must cover neighbours that replace one"):
        audits.session(adaptive, ask=counts, **GIVEN | {"neighbours": "replace one"}).claim


@pytest.mark.thorough
def test_the_code_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "guides" / "audit_an_interactive_system.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"## OpenDP.*?```python\n(.*?)```", page, re.DOTALL)
    exec(code, {"__name__": __name__, "audits": audits, "st": st})
    assert "make_filter: nothing found" in capsys.readouterr().out

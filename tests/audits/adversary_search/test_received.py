"""What a function received is said in the result of a search, an audit and a test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import audits
from arena import InvalidArgument, Sample
from audits.registry.players import configure_learner
from audits.testing import NotPrivate, assert_private

CLAIM: dict[str, Any] = {"epsilon": 1.0, "neighbours": "replace one"}


def half_noise(values: Any, rng: np.random.Generator) -> float:
    return float(np.clip(values, 0, 1).sum() + rng.laplace(scale=0.5))


def count(bits: Any, rng: np.random.Generator) -> float:
    return float(bits.sum() + rng.laplace())


@pytest.mark.thorough
def test_half_of_the_noise_is_found_though_nobody_says_what_is_received() -> None:
    result = audits.search(half_noise, **CLAIM, max_calls=2_000)
    assert result.refuted
    assert "received          arrays of numbers" in result.summary()
    with pytest.raises(NotPrivate, match=r"received +arrays of numbers"):
        assert_private(half_noise, **CLAIM, budget="quick", max_calls=4_000)


@pytest.mark.thorough
def test_a_function_of_two_values_is_told_so() -> None:
    result = audits.search(count, **CLAIM, max_calls=1_500)
    first = result.summary().splitlines()[:2]
    assert "the labels 0 and 1 only, as its parameter is called bits" in first[1]
    assert result.to_dict()["searched"] == "data of the labels 0 and 1 only"
    outcome = assert_private(count, **CLAIM, budget="quick", max_calls=3_000)
    assert "0 and 1 only" in outcome.received


def test_an_audit_notes_what_was_received() -> None:
    verdict = audits.audit(count, epsilon=1.0, games=64)
    assert any("0 and 1 only" in note for note in verdict.notes)
    data = np.array([0.5, 0.75])
    verdict = audits.audit(half_noise, data=data, epsilon=1.0, games=64)
    assert any("beyond its range" in note for note in verdict.notes)
    verdict = audits.audit(half_noise, data=data, neighbour=np.array([0.5, 0.0]), epsilon=1.0, games=64)
    assert not any("receives" in note for note in verdict.notes)


def test_points_are_refused_by_a_function_of_lists() -> None:
    def release(values: list[float], rng: np.random.Generator) -> float:
        return sum(values)

    with pytest.raises(InvalidArgument, match=r"receives lists of numbers.*Set receives"):
        configure_learner(release, {}, Sample([0.5], [0]))
    assert configure_learner(release, {"receives": "points"}, Sample([0.5], [0])).reads == "points"

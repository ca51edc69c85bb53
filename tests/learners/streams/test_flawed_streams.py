"""Flawed streams: each is refuted by a search, and by a shipped adversary."""

from __future__ import annotations

from typing import Any

import pytest

import audits
from adversaries.streams.swaps import AnnouncedSwap, EventSwap
from arena import Learner
from learners.streams.flawed import (
    LINEAR_FLAWS,
    RESTART,
    TREE_FLAWS,
    USER,
    FlawedLinear,
    FlawedSampling,
    FlawedTree,
)


def make_linear(flaw: str) -> FlawedLinear:
    neighbours = "replace a group of 4" if flaw == USER else "replace one"
    return FlawedLinear(rounds=16, flaw=flaw, neighbours=neighbours)


FLAWED: list[Any] = [*(FlawedTree(flaw=flaw) for flaw in TREE_FLAWS), *map(make_linear, LINEAR_FLAWS)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner", [*FLAWED, pytest.param(FlawedSampling(rounds=20), marks=pytest.mark.slow)], ids=str
)
def test_a_search_refutes_it(learner: Learner) -> None:
    assert audits.search(learner).refuted


@pytest.mark.thorough
@pytest.mark.parametrize("learner", FLAWED, ids=str)
def test_the_event_swap_refutes_it(learner: Any) -> None:
    place = 5 if learner.flaw == RESTART else None  # in the second tree
    verdict = audits.audit(learner, EventSwap(learner=learner, place=place), games=20_000)
    assert verdict.refuted


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("flaw", "settings"),
    [
        ("bare powers", {"score": "number", "place": 4}),
        ("repeated restart", {"score": "difference", "place": 5, "shown": 5}),
        ("shared node", {"score": "ratio"}),
    ],
)
def test_differences_and_single_numbers_show_it(flaw: str, settings: Any) -> None:
    learner = FlawedTree(flaw=flaw)
    adversary = EventSwap(learner=learner, **settings)
    assert audits.audit(learner, adversary, games=20_000).refuted == (flaw != "repeated restart")


@pytest.mark.thorough
def test_the_announced_swap_refutes_sampling_for_adaptive_streams() -> None:
    learner = FlawedSampling(rounds=60)
    assert audits.audit(learner, AnnouncedSwap(learner=learner), games=20_000).refuted

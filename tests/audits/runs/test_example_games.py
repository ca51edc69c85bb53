"""The pair of games that a report shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adversaries.release.point_swap import CountSwap
from arena import Release
from audits.runs.example_games import find_telling_games, play_example_games, write_example_games
from learners.foreign.function import Function

PLAYERS = CountSwap(), Release()


def rarely(labels: Any, rng: np.random.Generator) -> str:
    """Reveals the data in one game of four."""
    return "one" if np.any(labels) and rng.random() < 0.25 else "none"


def in_numbers(labels: Any, rng: np.random.Generator) -> float:
    return float(rarely(labels, rng) == "one")


def test_the_games_shown_differ() -> None:
    for function in (rarely, in_numbers):
        learner = Function(function=function)
        equal = [
            seed
            for seed in range(8)
            if np.ptp(play_example_games(learner, *PLAYERS, seed=seed)[0].replies[0].value) == 0
        ]
        assert equal
        for seed in equal:
            (played,) = find_telling_games(learner, *PLAYERS, seed=seed)
            assert np.ptp(played.replies[0].value) > 0


def test_if_none_differ_the_first_pair_is_shown() -> None:
    learner = Function(function=lambda labels, rng: rng.random())
    constant = Function(function=lambda labels, rng: 0.0)
    for each in (learner, constant):
        assert len(find_telling_games(each, *PLAYERS, seed=3)) == 1


@pytest.mark.thorough
def test_a_rare_leak_is_shown() -> None:
    """A leak in one game of fifty, which the first pairs do not show."""

    def rarely_one(labels: Any, rng: np.random.Generator) -> float:
        return float(np.any(labels) and rng.random() < 0.02)

    players = Function(function=rarely_one), *PLAYERS
    hidden = [
        seed
        for seed in range(0, 40, 8)
        if np.ptp(find_telling_games(*players, seed=seed)[0].replies[0].value) == 0
    ]
    assert hidden
    for seed in hidden:
        text = write_example_games(*players, seed=seed)
        assert "world 0: score 0\nworld 1: score 1\n" in text
        assert text == write_example_games(*players, seed=seed)

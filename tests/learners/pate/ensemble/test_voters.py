"""The base of aggregators: settings, teachers, votes by point, halts, and distribution of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena import AnswerLaw, Claim, InvalidArgument, PrivacyUnit, Sample, Training
from arena.concepts import Thresholds
from arena.testing import check_learner
from learners.pate import voters as module
from learners.pate.teacher import Minimiser, Teacher
from learners.pate.voters import VoteCounts, Voters, VotersState, VotingLaw, train_ensemble


class ShownState(VotersState):
    """Answers with the majority of the teachers, without noise."""

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        return 2 * ones >= self._spec.teachers


class ShownLaw(VotingLaw):
    def start(self) -> np.ndarray:
        return np.ones(1)

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        one = (2 * ones >= self._spec.teachers).astype(float)
        return np.stack([1 - one, one])[:, :, None] * measure


@attrs.frozen
class Shown(Voters):
    """The majority without noise, a minimal aggregator."""

    name = "shown"
    theorem = "none"
    common_random_numbers = True

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Sample) -> AnswerLaw:
        return ShownLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> ShownState:
        return ShownState(self, games)


PLANE = Teacher.from_text("rectangles:4x4")
LINE = Sample([0.0, 1.0, 2.0, 3.0], [1, 1, 1, 1], [3, 2, 2, 2])
OTHER = LINE.replace_one(0, 2.5, 1)


def running(games: int, spec: Voters | None = None, samples: tuple[Sample, ...] = (LINE, OTHER)) -> Any:
    state = (spec or Shown(teachers=9)).start(games, np.random.default_rng(0))
    state.train(Training.of(samples, np.arange(games) % len(samples)))
    return state


@pytest.mark.parametrize(
    "teacher", ["thresholds", "thresholds:1..8", "rectangles:4x4", "DecisionTreeClassifier:3"]
)
def test_an_aggregator_of_a_few_lines_conforms(teacher: str) -> None:
    check_learner(Shown(teacher=Teacher.from_text(teacher), teachers=5, queries=20), games=200)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"teachers": 0}, "teachers must be at least 1, got 0"),
        ({"teachers": 2.0}, "teachers must be an integer, got 2.0"),
        ({"queries": 0}, "queries must be at least 1, got 0"),
        ({"split": -1}, "split must be at least 0, got -1"),
        (
            {"teacher": "thresholds"},
            r"teacher must be a Teacher, got 'thresholds'. Use Teacher.from_text\(...\) for a text.",
        ),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Shown(**settings)


def test_points_of_another_shape_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"rectangles:4x4 takes points of shape \(2,\), got \(\)"):
        Shown(teacher=PLANE, teachers=2).ensemble(LINE)


def test_a_learner_has_its_class_and_shape() -> None:
    assert Shown().concepts == Thresholds()
    assert Shown(teacher=PLANE).point_shape == (2,)
    of_classifiers = Shown(teacher=Teacher.from_text("GaussianNB:7"))
    assert (of_classifiers.concepts, of_classifiers.point_shape) == (None, (7,))
    assert Shown(teachers=33).sample_size == 33


# --- halts --------------------------------------------------------------------------------------------------


def test_all_games_halt_after_the_last_answer() -> None:
    state = running(4, Shown(teachers=9, queries=3))
    for number in range(3):
        assert not state.halted.any()
        assert state.predict(np.full(4, 3.0)).all(), number
    assert state.halted.all()
    assert not state.predict(np.full(4, 3.0)).any()


# --- votes --------------------------------------------------------------------------------------------------


def plain_ones(samples: Sequence[Sample], which: np.ndarray, x: np.ndarray) -> list[int]:
    """The votes in each game, one teacher after the other."""
    found = []
    for game, point in enumerate(x):
        ensemble = train_ensemble(Minimiser(Thresholds()), samples[which[game]], 9, 0)
        found.append(sum(bool(teacher(np.array([point]))[0]) for teacher in ensemble.teachers))
    return found


@settings(max_examples=50)
@given(
    st.lists(
        st.lists(st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.0, 2.5, 7.0]), min_size=6, max_size=6), max_size=5
    ),
    st.integers(1, 4),
)
def test_votes_are_those_of_the_games_own_point_and_sample(rounds: list[list[float]], most: int) -> None:
    """For all earlier queries, and all sizes of the cache."""
    which = np.arange(6) % 2
    training = Training.of((LINE, OTHER), which)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CACHED_POINTS", most)
        state = running(6)
        for x in rounds:
            assert state.ones(np.array(x)).tolist() == plain_ones(
                training.samples, training.which, np.array(x)
            )
            one = np.broadcast_to(np.array(x[0]), (6,))
            assert state.ones(one).tolist() == plain_ones(training.samples, training.which, one)


def test_votes_of_vectors_are_those_of_their_points() -> None:
    sample = Sample([(0.0, 1.0), (2.0, 2.0), (1.0, 3.0), (3.0, 3.0)], [1, 0, 1, 1], [2] * 4)
    state = running(16, Shown(teacher=PLANE, teachers=4), (sample,))
    x = np.array([(a, b) for a in range(4) for b in range(4)], float)
    ensemble = train_ensemble(PLANE, sample, 4, 0)
    assert state.ones(x).tolist() == ensemble.ones(x).tolist()
    assert state.ones(x[::-1].copy()).tolist() == ensemble.ones(x)[::-1].tolist()
    assert (state.votes(x[3]) == ensemble.ones(x)[3] / 4).all()


def test_prepared_points_are_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_POINTS", 1)
    asked: list[int] = []

    class Watched:
        def ones(self, points: np.ndarray) -> np.ndarray:
            asked.append(len(points))
            return points.astype(int)

    counts = VoteCounts([Watched()])  # type: ignore[list-item]
    counts.prepare(np.arange(5.0))
    for point in (3.0, 0.0, 4.0, 9.0, 3.0):
        assert counts.ones(np.array([point]), 0).tolist() == [int(point)]
    assert asked == [5, 1]


def test_a_batch_without_games_has_no_votes() -> None:
    assert running(0).ones(np.zeros(0)).shape == (0,)
    assert (
        running(0, Shown(teacher=PLANE, teachers=1), (Sample([(1.0, 1.0)], [1]),)).ones(np.zeros((0, 2))).size
        == 0
    )


# --- distributions ------------------------------------------------------------------------------------------


def test_a_distribution_steps_by_the_votes_at_each_game_s_point() -> None:
    law = Shown(teachers=9).law(LINE)
    assert law.last == 100
    x = np.array([3.0, -1.0, 3.0, 0.0])
    measure = np.array([[0.5], [1.0], [0.25], [1.0]])
    after = law.step(measure, x)
    ones = train_ensemble(Minimiser(Thresholds()), LINE, 9, 0).ones(x)
    assert after[1, :, 0].tolist() == np.where(2 * ones >= 9, measure[:, 0], 0).tolist()
    assert after.sum(axis=0).tolist() == measure.tolist()
    alike = law.step(measure, np.broadcast_to(np.array(3.0), (4,)))
    assert alike[1].tolist() == measure.tolist()

"""Distinguishers learned from games."""

from __future__ import annotations

import numpy as np
import pytest

from audits.distinguishers.learned_distinguisher import (
    BoostedTrees,
    DistinguisherTraining,
    ViewFrequencies,
    learn_distinguisher,
)
from audits.distinguishers.view_features import ViewCounts, ViewFeatures


def block(world0: np.ndarray, world1: np.ndarray) -> ViewCounts:
    names = tuple(f"f{i}" for i in range(world0.shape[1]))
    return ViewCounts.of(ViewFeatures(world0, names), ViewFeatures(world1, names))


def coins(rng: np.random.Generator, pairs: int, chance: float) -> ViewCounts:
    """Three coins a view; the middle one is fair in world 0 and falls 1 with `chance` in world 1."""
    tosses = rng.random((2, pairs, 3)) < 0.5
    tosses[1, :, 1] = rng.random(pairs) < chance
    return block(*tosses.astype(float))


def test_few_views_are_counted(rng: np.random.Generator) -> None:
    distinguisher = learn_distinguisher([coins(rng, 4_000, 0.9)])
    assert isinstance(distinguisher, ViewFrequencies)
    asked = block(np.array([[0.0, 1, 0]]), np.array([[0.0, 0, 0]]))
    middle0, middle1 = distinguisher(asked)[asked.which[0]][::-1]
    assert middle0 == pytest.approx(np.log(0.1 / 0.5), abs=0.3)
    assert middle1 == pytest.approx(np.log(0.9 / 0.5), abs=0.3)


def test_a_view_never_seen_says_nothing(rng: np.random.Generator) -> None:
    distinguisher = learn_distinguisher([coins(rng, 100, 0.9)])
    assert distinguisher(block(np.array([[7.0, 7, 7]]), np.array([[7.0, 7, 7]]))).tolist() == [0.0]


def test_a_view_seen_once_in_one_world_has_a_finite_score() -> None:
    distinguisher = learn_distinguisher([block(np.array([[0.0]]), np.array([[1.0]]))])
    assert distinguisher(block(np.array([[0.0]]), np.array([[1.0]]))).tolist() == pytest.approx(
        [-np.log(3), np.log(3)]
    )


def test_many_views_are_learned_by_trees(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(2, 6_000, 2))
    noise[1, :, 1] += 2.0
    distinguisher = learn_distinguisher([block(*noise)])
    assert isinstance(distinguisher, BoostedTrees)
    fresh = rng.normal(size=(2, 1_000, 2))
    fresh[1, :, 1] += 2.0
    asked = block(*fresh)
    scores = distinguisher(asked)[asked.which]
    assert np.mean(scores[:, 1] > scores[:, 0]) > 0.85


@pytest.mark.thorough
def test_equal_games_teach_equal_distinguishers() -> None:
    noise = np.random.default_rng(1).normal(size=(2, 3_000, 2))
    first, second = learn_distinguisher([block(*noise)]), learn_distinguisher([block(*noise)])
    asked = block(*noise)
    assert np.array_equal(first(asked), second(asked))


def test_scikit_learn_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"needs scikit-learn, got 4000. Run pip install dp-arena\[learning\]"
    ):
        learn_distinguisher([block(*rng.normal(size=(2, 2_000, 1)))])


def test_a_block_is_scored_by_what_came_before_it(rng: np.random.Generator) -> None:
    learning = DistinguisherTraining(pairs=4_000)
    blocks = [coins(rng, 500, 0.9) for _ in range(12)]
    learned_after = []
    for number, one in enumerate(blocks):
        scores = learning.score(one)
        assert (scores is None) == (number < 2)
        if learning.learn(one) is not None:
            learned_after.append(number + 1)
    assert learned_after == [2, 4, 8]
    assert learning.done


def test_the_scores_that_bets_start_from_are_not_those_it_was_fitted_to() -> None:
    """Views that never occur twice: a block that taught the distinguisher would look perfectly separated."""
    learning = DistinguisherTraining(pairs=1_000)
    values = np.arange(400.0).reshape(4, 100, 1)
    assert learning.learn(block(*values[:2])) is None
    seen = learning.learn(block(*values[2:]))
    assert seen is not None
    assert [one.scores.tolist() for one in seen] == [[[0.0, 0.0]]]


def test_distinguishers_with_other_columns_meet(rng: np.random.Generator) -> None:
    wide = ViewCounts.of(
        ViewFeatures(np.zeros((3, 2)), ("a", "b")), ViewFeatures(np.ones((3, 2)), ("a", "b"))
    )
    narrow = ViewCounts.of(ViewFeatures(np.zeros((3, 1)), ("a",)), ViewFeatures(np.ones((3, 1)), ("a",)))
    assert learn_distinguisher([wide, narrow])(narrow).shape == (2,)

"""A scorebook: mistakes at marks, and those of the best concept in hindsight."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import Echo, LastLabel, Scripted, script

from arena import (
    Adaptive,
    Commit,
    Example,
    Figure1,
    GameAdversary,
    MistakeCounts,
    Moves,
    Oblivious,
    ProtocolViolation,
    Ready,
    Scorebook,
    SpecialRound,
    play,
)
from arena.concepts import ConceptClass, Intervals, Thresholds
from arena.errors import InvalidArgument, Unsupported

ROUNDS, MARKS = 30, (1, 2, 7, 19, 30)
CLASS = Intervals(range(6))


def sequences(games: int, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 6, (games, ROUNDS)).astype(float), rng.integers(0, 2, (games, ROUNDS))


def naive(
    x: np.ndarray, y: np.ndarray, concept_class: ConceptClass
) -> tuple[list[list[int]], list[list[int]]]:
    """last-label's mistakes, and the least of any concept, at the marks: (marks, games)."""
    said = np.concatenate([np.zeros((len(y), 1), int), y[:, :-1]], axis=1)
    labels = concept_class.dichotomies(np.array(concept_class.domain)).labels
    wrong = labels[:, x.astype(int)] != y
    mistakes = [(said != y)[:, :mark].sum(axis=1).tolist() for mark in MARKS]
    return mistakes, [wrong[..., :mark].sum(axis=2).min(axis=0).tolist() for mark in MARKS]


def count_mistakes(
    adversary: Any, referee: Any, games: int, concepts: ConceptClass | None = CLASS, **options: Any
) -> MistakeCounts:
    book = Scorebook(marks=MARKS, concepts=concepts)
    found = play(
        LastLabel(), adversary, referee, games=games, seed=1, scorebook=book, **options
    ).mistake_counts
    return found


@pytest.mark.parametrize("games", [0, 1, 50])
@pytest.mark.parametrize("concepts", [CLASS, Thresholds(range(6))], ids=str)
def test_counts_equal_those_of_a_recount(games: int, concepts: ConceptClass) -> None:
    x, y = sequences(games)
    mistakes, least = naive(x, y, concepts)
    adaptive = script(*(Example(x[:, t], y[:, t]) for t in range(ROUNDS)))
    for found in (
        count_mistakes(script(Commit(x, y)), Oblivious(ROUNDS), games, concepts),
        count_mistakes(adaptive, Adaptive(ROUNDS), games, concepts),
    ):
        assert found.marks.tolist() == list(MARKS)
        assert found.mistakes.tolist() == mistakes
        assert found.least.tolist() == least
        assert found.mistakes.dtype == found.least.dtype == np.int64
        assert not found.mistakes.flags.writeable


def test_without_a_class_only_mistakes_are_noted_and_the_game_is_the_same() -> None:
    x, y = sequences(4)
    adversary = script(Commit(x, y))
    plain = play(LastLabel(), adversary, Oblivious(ROUNDS), games=4, seed=1)
    found = count_mistakes(adversary, Oblivious(ROUNDS), 4, None)
    assert plain.mistake_counts is None
    assert found.least is None
    assert found.mistakes[-1].tolist() == plain.mistakes.tolist()


def test_in_two_worlds_every_game_is_counted_by_its_own_examples() -> None:
    swap = Example(0, 0, other_y=1)
    adversary = script(Ready(), *(swap if t == 3 else Example(0, 0) for t in range(ROUNDS)))
    worlds = np.array([False, True])
    found = count_mistakes(adversary, SpecialRound(ROUNDS), 2, worlds=worlds)
    assert found.least.tolist() == [[0, 0], [0, 0], [0, 1], [0, 1], [0, 1]]
    assert found.mistakes.tolist() == [[0, 0], [0, 0], [0, 2], [0, 2], [0, 2]]


@attrs.frozen
class Alone(GameAdversary):
    """Plays the sequence of a game that its coins choose."""

    name = "alone"
    protocols = ("Oblivious",)

    def play_one(self, rng: np.random.Generator) -> Moves:
        yield Commit(*(part[int(rng.integers(0, 50))] for part in sequences(50)))
        return None


@pytest.mark.parametrize("games", [0, 1, 5])
@pytest.mark.parametrize("concepts", [None, CLASS])
def test_games_played_alone_are_joined(games: int, concepts: ConceptClass | None) -> None:
    found = count_mistakes(Alone(), Oblivious(ROUNDS), games, concepts)
    played = play(LastLabel(), Alone(), Oblivious(ROUNDS), games=games, seed=1)
    assert found.mistakes.shape == (len(MARKS), games)
    assert found.marks.tolist() == list(MARKS)
    assert found.mistakes[-1].tolist() == played.mistakes.tolist()
    assert (found.least is None) == (concepts is None)
    if found.least is not None:
        assert found.least.shape == (len(MARKS), games)


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ((0, 3), "a mark must be at least 1, got 0"),
        ((1, 2.5), "a mark must be an integer, got 2.5"),
        ((True,), "a mark must be an integer, got True"),
        ((3, 3), r"marks must increase strictly, got \(3, 3\)"),
        ((4, 3), r"marks must increase strictly, got \(4, 3\)"),
    ],
)
def test_marks_are_checked(marks: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        Scorebook(marks=marks)


def test_what_cannot_be_noted_is_refused_before_the_game() -> None:
    never = Scripted(lambda games, rng: 1 / 0)  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidArgument, match=r"^a mark must be a round of the game, of T = 3, got 4$"):
        play(LastLabel(), never, Adaptive(3), games=1, seed=1, scorebook=Scorebook(marks=[2, 4]))
    with pytest.raises(Unsupported, match=r"^Figure1 counts no mistakes, so a scorebook has"):
        play(Echo(), never, Figure1(), games=1, seed=1, scorebook=Scorebook(marks=[2]))
    with pytest.raises(Unsupported, match=r"^a scorebook counts whole games"):
        play(LastLabel(), never, Adaptive(3), games=1, seed=1, faults=True, scorebook=Scorebook(marks=[2]))
    with pytest.raises(Unsupported, match="has no finite domain"):
        Scorebook(marks=[1], concepts=Thresholds())


def test_a_point_outside_the_class_is_the_adversarys_breach() -> None:
    book = Scorebook(marks=[1], concepts=CLASS)
    with pytest.raises(
        ProtocolViolation, match="adversary scripted, round 1: a point must be one of the 6 points"
    ):
        play(LastLabel(), script(Example(9, 1)), Adaptive(1), games=1, seed=1, scorebook=book)

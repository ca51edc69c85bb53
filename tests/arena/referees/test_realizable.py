"""Realizable games: what may be played, and what is refused before the learner sees it."""

from __future__ import annotations

import pickle
from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import LastLabel, LastLabelState, Scripted, script

from arena import (
    Adaptive,
    Commit,
    Example,
    GameAdversary,
    Moves,
    Oblivious,
    ProtocolViolation,
    Realizable,
    Referee,
    SpecialRound,
    play,
)
from arena.concepts import ConceptClass, FiniteClass, Points, RealIntervals, Thresholds
from arena.errors import InvalidArgument, Unsupported

CLASS = Thresholds(range(1, 9))


def examples(*pairs: tuple[Any, Any]) -> Scripted:
    return script(*(Example(x, y) for x, y in pairs))


def catch_violation(
    adversary: Any, referee: Referee, games: int = 3, learner: LastLabel | None = None
) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play(learner or LastLabel(), adversary, referee, games=games, seed=1)
    return caught.value


@attrs.frozen
class Watched(LastLabel):
    """Remembers what reached it."""

    asked: list[int] = attrs.field(factory=list, eq=False)
    seen: list[tuple[list[float], list[int]]] = attrs.field(factory=list, eq=False)

    def start(self, games: int, rng: np.random.Generator) -> LastLabelState:
        spec = self

        class State(LastLabelState):
            def hypothesis(self) -> Any:
                spec.asked.append(1)
                return super().hypothesis()

            def observe(self, x: np.ndarray, y: np.ndarray) -> None:
                spec.seen.append((x.tolist(), y.tolist()))
                super().observe(x, y)

        return State(games)


def test_a_label_that_no_concept_explains_is_refused_before_the_learner_sees_it() -> None:
    learner = Watched()
    y = np.array([[0, 1, 0], [1, 1, 0], [1, 0, 0]])
    adversary = examples((5, y[0]), ([4.0, 3.0, 5.0], y[1]), ([4.0, 8.0, 2.0], y[2]))
    error = catch_violation(adversary, Realizable(Adaptive(3), CLASS), learner=learner)
    assert str(error) == (
        "adversary scripted, round 2, game 0: in a realizable game some concept of "
        "Thresholds(8 points from 1 to 8) agrees with all examples; got the point 4 with the label 1. "
        "Give it the label of a concept that agrees with all examples before it."
    )
    assert learner.seen == [([5.0] * 3, [0, 1, 0])]
    assert len(learner.asked) == 1


def test_games_are_told_apart_and_realizable_ones_are_played_as_ever() -> None:
    rng = np.random.default_rng(5)
    for games in (0, 1, 7):
        x = rng.integers(1, 9, (games, 20)).astype(float)
        y = x >= rng.integers(1, 10, games)[:, None]
        for referee, adversary in (
            (Oblivious(20), script(Commit(x, y))),
            (Adaptive(20), examples(*((x[:, t], y[:, t]) for t in range(20)))),
        ):
            plain = play(LastLabel(), adversary, referee, games=games, seed=1)
            held = play(LastLabel(), adversary, Realizable(referee, CLASS), games=games, seed=1)
            assert plain.mistakes.tolist() == held.mistakes.tolist()


def test_a_committed_sequence_is_held_to_it_round_by_round() -> None:
    x, y = np.array([[1.0, 2, 3], [1, 2, 3]]), np.array([[0, 1, 1], [0, 1, 0]])
    error = catch_violation(script(Commit(x, y)), Realizable(Oblivious(3), Points((1, 2, 3))), games=2)
    assert (error.round, error.games) == (3, [0])


@pytest.mark.parametrize("concept_class", [CLASS, FiniteClass([[0, 1], [1, 1]])])
def test_points_outside_the_class_are_refused(concept_class: ConceptClass) -> None:
    error = catch_violation(examples((9, 1)), Realizable(Adaptive(1), concept_class))
    assert error.player == "adversary scripted"
    assert "got 9" in str(error)


def test_the_line_will_do() -> None:
    line = Realizable(Adaptive(3), Thresholds())
    play(LastLabel(), examples((0.3, 0), (0.31, 1), (-4, 0)), line, games=2, seed=1)
    assert catch_violation(examples((0.3, 0), (0.3, 1), (0, 0)), line).round == 2


def test_games_played_alone_are_held_to_it_too() -> None:
    @attrs.frozen
    class Alone(GameAdversary):
        name = "alone"
        protocols = ("Adaptive",)

        def play_one(self, rng: np.random.Generator) -> Moves:
            label = int(rng.integers(0, 2))
            yield Example(3, label)
            yield Example(4, 0)
            return None

    error = catch_violation(Alone(), Realizable(Adaptive(2), CLASS), games=20)
    assert error.rule.startswith("in a realizable game")
    assert len(error.games) == 1


@attrs.frozen
class OnlyOblivious(LastLabel):
    protocols = ("Oblivious",)


def test_it_goes_by_the_name_and_rounds_of_the_other_referee() -> None:
    referee = Realizable(Oblivious(7), CLASS)
    assert (referee.name, referee.T, referee.two_worlds) == ("Oblivious", 7, False)
    assert pickle.loads(pickle.dumps(referee)) == referee
    assert hash(referee) == hash(Realizable(Oblivious(7), CLASS))
    with pytest.raises(InvalidArgument, match="learner last-label does not play Adaptive"):
        play(OnlyOblivious(), script(), Realizable(Adaptive(1), CLASS), games=1, seed=1)


def test_what_cannot_be_realizable_is_refused() -> None:
    with pytest.raises(
        InvalidArgument, match=r"^games are realizable under Oblivious or Adaptive, got SpecialRound"
    ):
        Realizable(SpecialRound(3), CLASS)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"^games are realizable by a ConceptClass, got 'thresholds'"):
        Realizable(Adaptive(3), "thresholds")  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="Choose a smaller domain"):
        Realizable(Adaptive(3), Points(range(8_000)))

    with pytest.raises(Unsupported, match=r"^RealIntervals\(\) has no finite domain, so its concepts cannot"):
        Realizable(Adaptive(3), RealIntervals())

"""Oblivious, Adaptive, SpecialRound: who knows what, when; and the rules, broken and just kept."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.simple_players import LastLabel, LastLabelState, Scripted, script

from arena import (
    Adaptive,
    Commit,
    Example,
    Hypothesis,
    Moves,
    Oblivious,
    PrivacyUnit,
    ProtocolViolation,
    Query,
    Ready,
    Referee,
    SpecialRound,
    play,
)

GAMES = 4


def catch_violation(adversary: Scripted, referee: Referee) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play(LastLabel(), adversary, referee, games=GAMES, seed=1)
    return caught.value


def test_oblivious_shows_every_hypothesis_after_the_commitment() -> None:
    y = [1, 1, 0]
    played = play(LastLabel(), script(Commit([0.0] * 3, y)), Oblivious(3), games=GAMES, seed=1, record=True)
    (stream,) = played.replies
    assert [h(0.5).tolist() for h in stream.hypotheses] == [[label] * GAMES for label in (False, True, True)]
    assert played.mistakes.tolist() == [2] * GAMES


def test_oblivious_sequences_may_be_each_games_own() -> None:
    y = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0]])
    played = play(LastLabel(), script(Commit(np.zeros((GAMES, 3)), y)), Oblivious(3), games=GAMES, seed=1)
    assert played.mistakes.tolist() == [0, 3, 1, 2]


@pytest.mark.parametrize(
    ("x", "y"), [([0.0] * 2, [1] * 2), ([0.0] * 3, [1] * 4), (0.0, 1), ([[0.0] * 3] * 5, [[1] * 3] * 5)]
)
def test_oblivious_sequences_have_t_examples(x: object, y: object) -> None:
    catch_violation(script(Commit(x, y)), Oblivious(3))


def test_oblivious_commits_once_and_does_nothing_else() -> None:
    commitment = Commit([0.0] * 3, [1] * 3)
    assert "is made once" in catch_violation(script(commitment, commitment), Oblivious(3)).rule
    assert catch_violation(script(Example(0.0, 1)), Oblivious(3)).got == "Example"
    assert "played to its end" in catch_violation(script(), Oblivious(3)).rule


def test_adaptive_shows_h_t_only_after_the_example_of_round_t() -> None:
    def contrarian(games: int, rng: np.random.Generator) -> Moves:
        label = np.ones(games, bool)
        for _ in range(3):
            shown = yield Example(0.5, label)
            label = ~shown.hypothesis(0.5)

    played = play(LastLabel(), Scripted(contrarian), Adaptive(3), games=GAMES, seed=1)
    # h = 0, 1, 1 against labels 1, 1, 0: it never errs twice in a row, for it sees each h_t one round late.
    assert played.mistakes.tolist() == [2] * GAMES


def test_adaptive_has_one_world_and_t_rounds() -> None:
    example = Example(0.5, 1)
    assert "second world" in catch_violation(script(Example(0.5, 1, other_y=0)), Adaptive(1)).rule
    assert "has at most 1 round" in catch_violation(script(example, example), Adaptive(1)).rule
    assert "played to its end" in catch_violation(script(example), Adaptive(2)).rule
    play(LastLabel(), script(example, example), Adaptive(2), games=GAMES, seed=1)


def special(*examples: Example) -> Scripted:
    return script(Ready(), *examples)


def test_special_round_presents_each_hypothesis_before_the_example() -> None:
    played = play(
        LastLabel(),
        special(Example(0.5, 0), Example(0.5, 0, other_y=1), Example(0.5, 0)),
        SpecialRound(3),
        games=GAMES,
        seed=1,
        record=True,
    )
    shown = [reply.hypothesis for reply in played.replies]
    assert [h(0.5).tolist() for h in shown[:3]] == [
        [False] * GAMES,
        [False] * GAMES,
        played.worlds.tolist(),  # h_3 is the first to know
    ]
    assert shown[3] is None  # after round T nothing more is released
    assert played.flag.all()
    assert played.challenges == {PrivacyUnit.STREAM_EXAMPLE}


def test_special_round_swaps_points_too() -> None:
    received = []

    class State(LastLabelState):
        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            received.append((x.copy(), y.copy()))

    @attrs.frozen
    class Watching(LastLabel):
        def start(self, games: int, rng: np.random.Generator) -> State:
            return State(games)

    played = play(
        Watching(), special(Example(0.0, 0, other_x=1.0, other_y=1)), SpecialRound(1), games=GAMES, seed=1
    )
    assert received[0][0].tolist() == received[0][1].tolist() == played.worlds.astype(int).tolist()


def test_there_is_one_special_round() -> None:
    swap, plain = Example(0.5, 0, other_y=1), Example(0.5, 0)
    assert catch_violation(special(swap, swap), SpecialRound(2)).rule == "a game has one special round"
    play(LastLabel(), special(swap, plain), SpecialRound(2), games=GAMES, seed=1)
    play(LastLabel(), special(Example(0.5, 0, other_y=0), swap), SpecialRound(2), games=GAMES, seed=1)


def test_special_round_opens_with_ready_once() -> None:
    assert "begins with Ready" in catch_violation(script(Example(0.5, 0)), SpecialRound(1)).rule
    assert "made once" in catch_violation(script(Ready(), Ready()), SpecialRound(1)).rule
    assert "made once" in catch_violation(special(Example(0.5, 0), Ready()), SpecialRound(2)).rule  # type: ignore[arg-type]
    assert catch_violation(script(Query(0.5)), SpecialRound(1)).got == "Query"
    too_many = special(Example(0.5, 0), Example(0.5, 0))
    assert "has at most 1 round" in catch_violation(too_many, SpecialRound(1)).rule


@pytest.mark.parametrize("y", [2, -1, np.nan, np.zeros(GAMES + 1), "1"])
def test_labels_are_checked(y: object) -> None:
    catch_violation(script(Example(0.5, y)), Adaptive(1))


@pytest.mark.parametrize("released", [None, np.zeros(GAMES), "short"])
def test_hypotheses_are_checked(released: object) -> None:
    class State(LastLabelState):
        def hypothesis(self) -> Hypothesis:
            if isinstance(released, str):
                return Hypothesis(super().hypothesis().concept_class, np.zeros(GAMES - 1))
            return released  # type: ignore[return-value]

    @attrs.frozen
    class Odd(LastLabel):
        def start(self, games: int, rng: np.random.Generator) -> State:
            return State(games)

    with pytest.raises(ProtocolViolation, match="learner last-label, round 1"):
        play(Odd(), script(Example(0.5, 1)), Adaptive(1), games=GAMES, seed=1)

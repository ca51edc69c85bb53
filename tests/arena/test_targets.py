"""Targets beside the examples, sequences that are made as they are played, and instructions to learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from support.halfspaces import PlainWinnow, WinnowState
from support.simple_players import Scripted, script

from arena import (
    Adaptive,
    Adversary,
    ArenaError,
    Commit,
    Example,
    InvalidArgument,
    Moves,
    Oblivious,
    ProtocolViolation,
    Ready,
    Realizable,
    SpecialRound,
    play,
)
from arena.concepts import Halfspaces, Thresholds
from arena.concepts.consistency import version_spaces
from arena.concepts.halfspaces import separator
from arena.errors import PlayerError
from arena.testing import check_adversary

CLASS = Halfspaces(3, 0.5)
LEARNER = PlainWinnow(CLASS)
GAMES = 3
TARGET = np.array([1.0, 0.0, 1.0])
X, Y = np.array([1, -1, 1], np.int8), 1  # of margin 1 for the target

ONE_WORLD = "a Commit holds Examples that are the same in both worlds"


def of(*examples: Example) -> Scripted:
    return script(*examples)


def catch_violation(adversary: Scripted, referee: Any, games: int = GAMES) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play(LEARNER, adversary, referee, games=games, seed=1)
    return caught.value


def make_realizable(rounds: int) -> Realizable:
    return Realizable(Adaptive(rounds), CLASS)


def test_a_target_that_lies_is_refused_in_the_games_where_it_does() -> None:
    x = np.array([[1, 0, 0], [1, 0, -1], [0, 1, 1]], np.int8)  # v·x is 1/2, 0 and 1/2
    error = catch_violation(
        of(Example(X, Y, target=TARGET), Example(x, 1, target=TARGET)), make_realizable(2)
    )
    assert str(error) == (
        "adversary scripted, round 2, game 1: in a realizable game the target, a concept of "
        "Halfspaces(3 dimensions, margin 0.5) agrees with all examples; got the point [1 0 -1] with the "
        "label 1. Give it the label of a concept that agrees with all examples before it."
    )
    assert catch_violation(of(Example(x, [1, 0, 0], target=TARGET)), make_realizable(1)).games == [1, 2]


def test_a_game_may_have_a_target_of_its_own() -> None:
    targets = np.eye(3)[[0, 2, 2]]
    example = Example(np.eye(3, dtype=np.int8)[[0, 2, 2]], 1, target=targets)
    play(LEARNER, of(example, example), make_realizable(2), games=GAMES, seed=1)
    assert catch_violation(of(example, Example([1, 1, 0], 1, target=targets)), make_realizable(2)).games == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [(TARGET, None), (None, TARGET), (TARGET, TARGET + 1), (TARGET, np.tile(TARGET, (GAMES, 1)))],
    ids=["dropped", "late", "changed", "reshaped"],
)
def test_a_target_is_named_in_every_round_the_same_or_in_none(first: Any, second: Any) -> None:
    error = catch_violation(of(Example(X, Y, target=first), Example(X, Y, target=second)), make_realizable(2))
    assert error.round == 2
    assert error.rule == "the same target is named in every round, or none in any"


def test_an_equal_target_is_the_same_and_a_later_change_of_it_changes_nothing() -> None:
    own = TARGET.copy()

    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield Example(X, Y, target=own)
        own[:] = [0, 1, 0]
        yield Example(X, Y, target=own)

    play(
        LEARNER,
        of(*(Example(X, Y, target=TARGET.copy()) for _ in range(3))),
        make_realizable(3),
        games=GAMES,
        seed=1,
    )
    play(LEARNER, Scripted(moves), make_realizable(2), games=GAMES, seed=1)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.ones((2, 3)), "a target is named once for all games or once for each, got (2, 3)"),
        (np.ones((1, GAMES, 3)), "a target is named once for all games or once for each, got (1, 3, 3)"),
        (np.ones(4), "a concept must be a vector of 3 weights, got ('float64', (4,))"),
        ("x_1", "a concept must be a vector of 3 weights, got ("),
        ([1, -1, 1], "weights must be nonnegative, finite, and not all 0, got -1."),
    ],
)
def test_a_target_is_a_concept_of_the_class(target: Any, message: str) -> None:
    error = catch_violation(of(Example(X, Y, target=target)), make_realizable(1))
    assert error.rule.startswith(message)


def test_targets_of_other_classes_are_checked_too() -> None:
    referee = Realizable(Adaptive(2), Thresholds(range(8)))
    low, high = Example(3, 0, target=4.0), Example(4, 1, target=4.0)
    play(LearnsNothing(), of(low, high), referee, games=2, seed=1)
    with pytest.raises(
        ProtocolViolation, match=r"the target, a concept of Thresholds.* got the point 3 with"
    ):
        play(LearnsNothing(), of(low, Example(3, 1, target=4.0)), referee, games=2, seed=1)


@attrs.frozen
class LearnsNothing(PlainWinnow):
    concepts: Any = Thresholds(range(8))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        from support.simple_players import LastLabelState

        return LastLabelState(games)


def test_targets_are_ignored_where_games_need_not_be_realizable() -> None:
    examples = [Example(X, 0, target=TARGET), Example(X, 1, target="nonsense")]
    play(LEARNER, of(*examples), Adaptive(2), games=GAMES, seed=1)
    play(LEARNER, script(Ready(), *examples), SpecialRound(2), games=GAMES, seed=1)


def test_labels_that_no_weights_give_are_refused() -> None:
    """1 at (1, 0, 0) and 0 at (1, -1, 0) would need v_1 of 1/2 and v_2 of 1."""
    rest = np.array([[1, -1, 0], [1, -1, 0], [-1, 1, 1]], np.int8)
    error = catch_violation(of(Example([1, 0, 0], 1), Example(rest, [0, 1, 0])), make_realizable(2))
    assert (error.round, error.games) == (2, [0])
    assert "some concept of Halfspaces(3 dimensions, margin 0.5) agrees with all examples" in error.rule


def test_version_spaces_are_those_of_a_programme_for_every_game_and_round() -> None:
    """Half of the games are labelled by some weights with the margin, and stay realizable throughout."""
    rng, games = np.random.default_rng(3), 12
    cls = Halfspaces(4, 0.2)
    spaces = version_spaces(cls, games)
    target = rng.dirichlet(np.ones(4), games)
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    agreed = np.ones(games, bool)
    for _ in range(8):
        x = rng.uniform(-1, 1, (games, 4))
        while (short := np.abs(np.vecdot(target, x)) < 0.2).any():
            x[short] = rng.uniform(-1, 1, (int(short.sum()), 4))
        y = np.where(np.arange(games) < 6, np.vecdot(target, x) > 0, rng.random(games) < 0.5).astype(np.int8)
        seen.append((x, y))
        points, labels = (np.array(part) for part in zip(*seen, strict=True))
        agreed = np.array([separator(points[:, g], labels[:, g], 0.2) is not None for g in range(games)])
        np.testing.assert_array_equal(spaces.add(x, y), agreed)
    assert agreed[:6].all()
    assert not agreed.all()


def test_too_many_numbers_are_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.concepts.consistency.MAX_COUNTS", 20)
    error = catch_violation(of(*[Example(X, Y)] * 3), make_realizable(3))
    assert error.round == 3
    assert error.rule == (
        "looking for a target of Halfspaces(3 dimensions, margin 0.5) in 3 games of 2 examples needs more "
        "than 20 numbers. Play fewer games in a batch, or give the target with the examples."
    )
    play(LEARNER, of(*[Example(X, Y, target=TARGET)] * 3), make_realizable(3), games=GAMES, seed=1)


def play_committed(make: Callable[[], Iterator[Any]], **more: Any) -> Scripted:
    def moves(games: int, rng: np.random.Generator) -> Moves:
        reply = yield Commit(examples=make(), **more)
        assert isinstance(reply.hypotheses, tuple)

    return Scripted(moves)


def test_an_iterator_plays_the_game_that_arrays_play() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(-1, 2, (GAMES, 4, 3)).astype(np.int8), rng.integers(0, 2, (GAMES, 4))
    adversaries = [
        script(Commit(x, y)),
        play_committed(lambda: (Example(x[:, t], y[:, t]) for t in range(4))),
        play_committed(lambda: (Example(x[:, t], y[:, t]) for t in range(4)), show_hypotheses=False),
    ]
    tables = [play(LEARNER, one, Oblivious(4), games=GAMES, seed=1, record=True) for one in adversaries]
    shown = []
    for played in tables:
        assert played.mistakes.tolist() == tables[0].mistakes.tolist()  # type: ignore[union-attr]
        shown.append([part.tolist() for part in played.replies[0].parts])
    assert shown[0] == shown[1]
    assert (len(shown[1]), shown[2]) == (4, [])


def test_examples_are_asked_for_one_at_a_time_and_before_the_hypothesis() -> None:
    events: list[str] = []

    class State(WinnowState):
        def hypothesis(self) -> Any:
            events.append("h")
            return super().hypothesis()

    @attrs.frozen
    class Watched(PlainWinnow):
        def start(self, games: int, rng: np.random.Generator) -> State:
            return State(CLASS, games, 0.0)

    def examples() -> Iterator[Example]:
        for t in range(2):
            events.append(f"x{t}")
            yield Example(X, Y)

    play(Watched(CLASS), play_committed(examples), Oblivious(2), games=1, seed=1)
    assert events == ["x0", "h", "x1", "h"]


@pytest.mark.parametrize(
    ("make", "rule", "round"),
    [
        (lambda: iter([Example(X, Y)] * 2), "a game of 3 rounds is played to its end", 2),
        (lambda: iter([]), "a game of 3 rounds is played to its end", 0),
        (lambda: iter([Example(X, Y)] * 4), "Oblivious with T = 3 has at most 3 rounds", 4),
        (lambda: iter([Example(X, Y), None]), ONE_WORLD, 1),
        (lambda: iter([Ready()]), ONE_WORLD, 0),
        (lambda: iter([Example(X, Y, other_y=0)]), ONE_WORLD, 0),
        (lambda: [Example(X, Y)] * 3, "the examples of a Commit are an iterator", 0),
    ],
    ids=["early", "empty", "late", "none", "ready", "two worlds", "list"],
)
def test_what_a_sequence_is_made_of(make: Callable[[], Iterator[Any]], rule: str, round: int) -> None:
    error = catch_violation(play_committed(make), Oblivious(3))
    assert (error.rule, error.round) == (rule, round)


@pytest.mark.parametrize("more", [{"x": [X] * 2}, {"y": [1, 1]}, {"target": TARGET}])
def test_a_sequence_is_committed_in_one_of_two_ways(more: dict[str, Any]) -> None:
    error = catch_violation(play_committed(lambda: iter([Example(X, Y)]), **more), Oblivious(1))
    assert error.rule == (
        "a sequence is committed as x, y and target, or as examples that name theirs, not as both"
    )


@pytest.mark.parametrize(
    ("raised", "caught"), [(KeyError("oh"), PlayerError), (InvalidArgument("no margin"), InvalidArgument)]
)
def test_the_adversary_is_blamed_for_what_its_sequence_raises(
    raised: Exception, caught: type[ArenaError]
) -> None:
    """A refusal in the arena's words passes as it is, as it does from `play`."""

    def examples() -> Iterator[Example]:
        yield Example(X, Y)
        raise raised

    with pytest.raises(caught, match=r"adversary scripted.*KeyError|^no margin$"):
        play(LEARNER, play_committed(examples), Oblivious(3), games=1, seed=1)


def test_committed_arrays_may_name_a_target() -> None:
    referee = Realizable(Oblivious(2), CLASS)
    play(LEARNER, script(Commit([X] * 2, [1, 1], target=TARGET)), referee, games=GAMES, seed=1)
    assert catch_violation(script(Commit([X] * 2, [1, 0], target=TARGET)), referee).round == 2


@attrs.frozen
class Streaming(Adversary):
    name = "streaming"
    protocols = ("Oblivious",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Commit(examples=(Example(rng.integers(-1, 2, (games, 3)), 1) for _ in range(4)))
        return None


def test_an_adversary_that_commits_to_an_iterator_can_be_checked() -> None:
    check_adversary(Streaming(), LEARNER, Oblivious(4))


def updates(adversary: Scripted, confidence: float, referee: Any) -> list[int]:
    states: list[WinnowState] = []

    @attrs.frozen
    class Kept(PlainWinnow):
        def start(self, games: int, rng: np.random.Generator) -> WinnowState:
            states.append(super().start(games, rng))
            return states[-1]

    play(Kept(CLASS, confidence), adversary, referee, games=GAMES, seed=1)
    return states[0].updates.tolist()


def test_learners_that_take_instructions_get_them_before_the_example() -> None:
    """w·x = 1/3 of a margin of 1/2: a learner of confidence 0.9 updates where it is told."""
    told = [Example(X, Y, update=[0, 1, 1]), Example(X, Y), Example(X, Y, update=[True, False, False])]
    made = play_committed(lambda: iter(told))
    assert updates(of(*told), 0.9, Adaptive(3)) == [1, 1, 1]
    assert updates(made, 0.9, Oblivious(3)) == [1, 1, 1]
    assert updates(script(Ready(), *told), 0.9, SpecialRound(3)) == [1, 1, 1]
    assert updates(of(*told), 0.0, Adaptive(3)) == [0, 0, 0]


def test_learners_that_take_none_get_none_and_odd_ones_are_refused() -> None:
    referee = Adaptive(1)
    play(LearnsNothing(), of(Example(3, 1, update=1)), referee, games=2, seed=1)
    assert catch_violation(of(Example(X, Y, update=2)), referee).rule == "labels must be 0 or 1"
    assert catch_violation(of(Example(X, Y, update=[1, 0])), referee).rule.startswith("a label is given once")

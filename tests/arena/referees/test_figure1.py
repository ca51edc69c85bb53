"""Figure 1 to the letter: for each rule a game that breaks it, and one that stays just inside."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.simple_players import SAMPLE, Echo, EchoState, Fragile, Scripted, script

from arena import (
    NO_LABEL,
    Figure1,
    Moves,
    PlayerError,
    PrivacyUnit,
    ProtocolViolation,
    Query,
    Ready,
    Sample,
    Train,
    play,
)

GAMES = 6


def catch_violation(
    adversary: Scripted, *, t: int | None = None, learner: Echo | None = None
) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play(learner or Echo(), adversary, Figure1(t), games=GAMES, seed=1)
    return caught.value


def replies(*moves: object, learner: Echo | None = None, games: int = GAMES) -> list:
    played = play(learner or Echo(), script(*moves), Figure1(), games=games, seed=1, record=True)
    return list(played.replies)


# --- step 1: the training sets ----------------------------------------------------------------------


def test_training_sets_must_not_differ_in_two_places() -> None:
    """As the figure compares place by place, order counts, and two places of one run are two."""
    for sets in (
        (SAMPLE, Sample([0.0, 0.0, 1.0], [0, 1, 1], [1, 2, 2])),
        (Sample([0.0, 1.0], [0, 1]), Sample([1.0, 0.0], [1, 0])),
    ):
        assert catch_violation(script(Train(*sets))).got == "2 places"
    other = SAMPLE.replace_one(1, 1.0, 0).replace_one(0, 0.0, 1)
    error = catch_violation(script(Train(SAMPLE, other)))
    assert error.rule == "the training sets of the two worlds differ in at most one place"
    assert (error.player, error.round, error.games, error.got) == (
        "adversary scripted",
        0,
        [0, 1, 2, 3, 4, 5],
        "2 places",
    )


def test_training_sets_must_have_equal_length() -> None:
    error = catch_violation(script(Train(SAMPLE, Sample([0.0, 1.0], [0, 1], [3, 3]))))
    assert error.rule == "the training sets of the two worlds have equal length"
    assert (error.expected, error.got) == (5, 6)


def test_each_game_may_have_training_sets_of_its_own() -> None:
    own = [Sample([float(g)], [1], [4]) for g in range(GAMES)]
    other = [s.replace_one(0, -1.0, 0) if g == 2 else s for g, s in enumerate(own)]
    learner = Echo()
    played = play(learner, script(Train(own, other)), Figure1(), games=GAMES, seed=1)
    assert played.flag.tolist() == [False, False, True, False, False, False]
    training = learner.states[0].training
    received = [training.samples[w] for w in training.which]
    assert received == [other[g] if played.worlds[g] else own[g] for g in range(GAMES)]


# --- step 2 and 4(b): the flag ------------------------------------------------------------------------


def test_equal_training_sets_or_queries_leave_the_flag_down() -> None:
    again = Sample([0.0, 0.0, 1.0], [0, 0, 1], [1, 2, 2])  # the same list, cut into other runs
    played = play(Echo(), script(Train(SAMPLE, again), Query(0.0, 1.0)), Figure1(), games=GAMES, seed=1)
    assert played.challenges == {PrivacyUnit.QUERY}
    assert played.flag.all()
    played = play(Echo(), script(Train(SAMPLE), Query(0.5, 0.5)), Figure1(), games=GAMES, seed=1)
    assert not played.flag.any()
    assert played.challenges == frozenset()


# --- step 4(a): after the flag ------------------------------------------------------------------------


def test_after_a_training_flag_queries_must_be_equal() -> None:
    error = catch_violation(script(Train(SAMPLE, SAMPLE.replace_one(0, 0.0, 1)), Query(0.0), Query(0.0, 1.0)))
    assert (error.rule, error.round) == ("after the flag both queries are equal", 2)
    assert catch_violation(script(Train(SAMPLE), Query(0.0, 1.0), Query(0.0, 1.0))).round == 2
    assert len(replies(Train(SAMPLE), Query(0.0, 1.0), Query(1.0, 1.0), Query(0.0))) == 4


def test_the_flag_is_each_games_own() -> None:
    x = np.arange(GAMES, dtype=float)
    challenged = np.arange(GAMES) < 3
    first = Query(x, np.where(challenged, x + 10, x))
    second = Query(x, np.where(challenged, x, x + 10))
    assert len(replies(Train(SAMPLE), first, second)) == 3
    error = catch_violation(script(Train(SAMPLE), first, Query(x, np.where(x == 2, 99.0, x))))
    assert error.games == [2]


# --- step 3 and 4(d): what the learner gets ---------------------------------------------------------------


def test_the_learner_gets_its_worlds_training_set() -> None:
    learner, other = Echo(), SAMPLE.replace_one(0, 0.0, 1)
    played = play(learner, script(Train(SAMPLE, other)), Figure1(), games=GAMES, seed=1)
    training = learner.states[0].training
    received = [training.samples[w] for w in training.which]
    assert received == [other if world else SAMPLE for world in played.worlds]


def test_the_order_of_the_samples_does_not_tell_the_worlds() -> None:
    learner, other = Echo(), SAMPLE.replace_one(0, 0.0, 1)
    play(learner, script(Train(SAMPLE, other)), Figure1(), games=GAMES, seed=1)
    play(learner, script(Train(other, SAMPLE)), Figure1(), games=GAMES, seed=1)
    first, second = (state.training for state in learner.states)
    assert first.samples == second.samples


def test_the_learner_gets_its_worlds_query() -> None:
    learner = Echo()
    played = play(learner, script(Train(SAMPLE), Query(0.0, 1.0)), Figure1(), games=GAMES, seed=1)
    assert learner.states[0].queries[0].tolist() == played.worlds.astype(float).tolist()


# --- step 4(c): what the adversary sees -------------------------------------------------------------------


def test_the_label_is_withheld_only_where_the_queries_differ() -> None:
    x = np.full(GAMES, 0.7)
    label = replies(Train(SAMPLE), Query(x, np.where(np.arange(GAMES) == 4, 0.0, x)))[1].label
    assert label.tolist() == [1, 1, 1, 1, NO_LABEL, 1]


def test_a_halt_shows_with_the_label_and_then_as_silence() -> None:
    _, first, second = replies(Train(SAMPLE), Query(9.0), Query(0.7))
    assert first.label.tolist() == [1] * GAMES
    assert first.halted.all()
    assert second.label.tolist() == [NO_LABEL] * GAMES
    _, _, challenge = replies(Train(SAMPLE), Query(9.0), Query(0.0, 1.0))
    assert challenge.halted.all()  # a withheld round after a halt still shows it


def test_a_halt_caused_by_the_challenge_shows_at_the_next_query() -> None:
    played = play(
        Echo(),
        script(Train(SAMPLE), Query(0.0, 9.0), Query(0.0)),
        Figure1(),
        games=GAMES,
        seed=1,
        record=True,
    )
    _, challenge, probe = played.replies
    assert not challenge.halted.any()  # the withheld round says nothing, in either world
    assert probe.halted.tolist() == played.worlds.tolist()
    assert probe.label.tolist() == [NO_LABEL if world else 0 for world in played.worlds]


def test_training_comes_first() -> None:
    assert "begins with Train" in catch_violation(script(Query(0.0))).rule


def test_there_is_one_training_phase() -> None:
    assert "is made once" in catch_violation(script(Train(SAMPLE), Train(SAMPLE))).rule
    assert "is made once" in catch_violation(script(Train(SAMPLE), Query(0.0), Train(SAMPLE))).rule


def test_t_rounds_are_allowed_and_no_more() -> None:
    play(Echo(), script(Train(SAMPLE), Query(0.0), Query(0.0)), Figure1(2), games=GAMES, seed=1)
    error = catch_violation(script(Train(SAMPLE), Query(0.0), Query(0.0), Query(0.0)), t=2)
    assert (error.rule, error.round) == ("Figure1 with t = 2 has at most 2 rounds", 3)


def test_other_moves_are_refused() -> None:
    assert catch_violation(script(Train(SAMPLE), Ready())).got == "Ready"
    assert catch_violation(script("train")).rule == "an adversary yields moves"
    assert catch_violation(Scripted(lambda games, rng: [Train(SAMPLE)])).got == "list"  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [np.nan, np.inf, "0.5", np.zeros(GAMES + 1), np.zeros((GAMES, 2)), None])
def test_points_that_are_not_points_are_refused(x: object) -> None:
    assert catch_violation(script(Train(SAMPLE), Query(x))).round == 1


def test_a_point_may_be_given_once_or_for_each_game() -> None:
    _, shared, own = replies(Train(SAMPLE), Query(0.7), Query(np.linspace(0, 1, GAMES)))
    assert shared.label.tolist() == [1] * GAMES
    assert own.label.tolist() == [0, 0, 0, 1, 1, 1]


class Broken(EchoState):
    answer: object = None

    def predict(self, x: np.ndarray) -> np.ndarray:
        super().predict(x)
        return self.answer  # type: ignore[return-value]


def make_echo(answer: object) -> Echo:
    @attrs.frozen
    class BrokenEcho(Echo):
        def start(self, games: int, rng: np.random.Generator) -> EchoState:
            state = Broken(games, 9.0)
            state.answer = answer
            return state

    return BrokenEcho()


@pytest.mark.parametrize(
    ("answer", "rule", "got"),
    [
        (np.zeros(GAMES + 1, int), "predict returns one label a game", "shape (7,)"),
        (np.zeros((GAMES, 1), int), "predict returns one label a game", "shape (6, 1)"),
        ([0] * GAMES, "predict returns one label a game", "list"),
        (None, "predict returns one label a game", "NoneType"),
        (np.zeros(GAMES), "labels are bool or integers", "float64"),
        (np.arange(GAMES), "labels are 0 or 1", [2, 3, 4, 5]),
    ],
)
def test_labels_are_checked(answer: object, rule: str, got: object) -> None:
    error = catch_violation(script(Train(SAMPLE), Query(0.0)), learner=make_echo(answer))
    assert (error.rule, error.got, error.player, error.round) == (rule, got, "learner echo", 1)


def with_halts(halts: list[object]) -> Echo:
    """A learner whose `halted` reads as the next of `halts` every time."""
    reads = iter(halts)

    class State:
        halted = property(lambda self: next(reads))

        def train(self, training: object) -> None:
            pass

        def predict(self, x: np.ndarray) -> np.ndarray:
            return x >= 0.5

    @attrs.frozen
    class Halting(Echo):
        def start(self, games: int, rng: np.random.Generator) -> State:  # type: ignore[override]
            return State()

    return Halting()


def test_halts_are_checked() -> None:
    none, one = np.zeros(GAMES, bool), np.arange(GAMES) == 3
    asked = script(Train(SAMPLE), Query(0.0), Query(0.0))
    error = catch_violation(asked, learner=with_halts([none, one, none]))
    assert (error.rule, error.games, error.round) == ("a halted learner stays halted", [3], 2)
    for odd in (np.zeros(GAMES), [False] * GAMES, np.zeros(1, bool), True):
        assert "halted is a bool array" in catch_violation(asked, learner=with_halts([none, odd])).rule


def test_a_learner_that_raises_is_named() -> None:
    with pytest.raises(PlayerError, match=r"learner fragile raised TypeError: seven in round 1"):
        play(Fragile(error=TypeError), script(Train(SAMPLE), Query(7.0)), Figure1(), games=GAMES, seed=1)


def test_an_adversary_that_raises_is_named() -> None:
    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        yield Query(0.0)
        raise KeyError("oops")

    with pytest.raises(PlayerError, match="adversary scripted raised KeyError: 'oops' in round 1"):
        play(Echo(), Scripted(moves), Figure1(), games=GAMES, seed=1)


@pytest.mark.parametrize("score", [np.zeros(GAMES - 1), 3.0, "high", np.zeros((GAMES, 1))])
def test_scores_have_one_number_a_game(score: object) -> None:
    assert "one number for each game" in catch_violation(script(Train(SAMPLE), score=score)).rule


def test_scores_are_not_nan() -> None:
    score = np.zeros(GAMES)
    score[2] = np.nan
    error = catch_violation(script(Train(SAMPLE), score=score))
    assert (error.games, error.got) == ([2], "NaN")

"""The engine: worlds, streams, seeds, game style, transcripts."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.simple_players import SAMPLE, Echo, Fragile, GameEcho, GameScripted, LastLabel, Scripted, script

from arena import (
    Adaptive,
    BudgetExceeded,
    Commit,
    Example,
    Figure1,
    InvalidArgument,
    Moves,
    Oblivious,
    PlayerError,
    ProtocolViolation,
    Query,
    Ready,
    Referee,
    SpecialRound,
    Train,
    play,
)
from arena.engine import pair_worlds
from arena.randomness import block_seed, streams


def noisy(games: int, rng: np.random.Generator) -> Moves:
    yield Train(SAMPLE)
    yield Query(rng.random(games))
    return rng.random(games)


def test_same_seed_same_game() -> None:
    first, second, third = (play(Echo(), Scripted(noisy), Figure1(), games=10, seed=s) for s in (5, 5, 6))
    assert first.score.tobytes() == second.score.tobytes()
    assert first.worlds.tobytes() == second.worlds.tobytes()
    assert first.score.tobytes() != third.score.tobytes()


def test_the_streams_of_the_parties_and_blocks_are_apart() -> None:
    draws = set()
    for block in range(20):
        coins = streams(block_seed(3, block))
        for party in (coins.learner, coins.adversary, coins.referee):
            draws.add(int(party.integers(2**63)))
    assert len(draws) == 60


def test_an_adversary_that_draws_more_changes_no_random_number_of_the_learner() -> None:
    drawn = []

    @attrs.frozen
    class Drawing(Echo):
        def start(self, games: int, rng: np.random.Generator):  # type: ignore[no-untyped-def]
            drawn.append(rng.random())
            return super().start(games, rng)

    play(Drawing(), Scripted(noisy), Figure1(), games=10, seed=5)
    play(Drawing(), script(Train(SAMPLE)), Figure1(), games=10, seed=5)
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("games", [0, 1, 2, 5, 1000])
def test_pairs_have_one_game_in_each_world(games: int) -> None:
    worlds = pair_worlds(games, np.random.default_rng(1))
    assert worlds.shape == (games,)
    whole = worlds[: games // 2 * 2].reshape(-1, 2)
    assert (whole.sum(axis=1) == 1).all()


def test_places_do_not_tell_the_worlds() -> None:
    # 20,000 fair coins stray from half by more than 5 standard errors with probability 6e-7.
    worlds = pair_worlds(40_000, np.random.default_rng(1))
    assert abs(worlds[::2].mean() - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def one_game(rng: np.random.Generator) -> Moves:
    yield Train(SAMPLE)
    yield Query(0.0, 9.0)
    reply = yield Query(0.7)
    return float(reply.halted) + 0.25 * reply.label


def one_table(games: int, rng: np.random.Generator) -> Moves:
    yield Train(SAMPLE)
    yield Query(0.0, 9.0)
    reply = yield Query(0.7)
    return reply.halted + 0.25 * reply.label


@pytest.mark.parametrize("learner", [Echo(), GameEcho()])
def test_both_styles_play_the_same_game(learner: Echo | GameEcho) -> None:
    table = play(learner, Scripted(one_table), Figure1(), games=20, seed=3)
    lifted = play(learner, GameScripted(one_game), Figure1(), games=20, seed=3)
    assert table.score.tolist() == lifted.score.tolist()
    assert table.worlds.tolist() == lifted.worlds.tolist()
    assert lifted.flag.all()
    assert lifted.halted.tolist() == lifted.worlds.tolist()


def test_games_of_game_style_draw_their_own_random_numbers() -> None:
    def drawing(rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        return rng.random()

    score = play(Echo(), GameScripted(drawing), Figure1(), games=50, seed=3).score
    assert len(set(score.tolist())) == 50


def test_a_violation_in_game_style_names_the_game() -> None:
    def third_game_cheats(rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        played.append(1)
        yield Query(0.0, 1.0)
        yield Query(0.0, 1.0 if len(played) == 3 else 0.0)

    played: list[int] = []
    with pytest.raises(ProtocolViolation) as caught:
        play(Echo(), GameScripted(third_game_cheats), Figure1(), games=5, seed=3)
    assert (caught.value.games, caught.value.round) == ([2], 2)


def test_game_style_is_recorded_one_game_at_a_time() -> None:
    played = play(Echo(), GameScripted(one_game), Figure1(), games=3, seed=3, record=True)
    assert played.transcript is None
    assert [one.transcript is not None for one in played.single_games] == [True] * 3
    assert [bool(one.worlds[0]) for one in played.single_games] == played.worlds.tolist()
    single = play(Echo(), GameScripted(one_game), Figure1(), games=1, seed=3, record=True)
    assert single.transcript is not None
    assert single.single_games == ()


def test_the_caller_may_choose_the_worlds() -> None:
    adversary = script(Train(SAMPLE), Query(0.0, 9.0))
    played = play(Echo(), adversary, Figure1(), games=3, seed=1, worlds=np.array([True, False, True]))
    assert played.worlds.tolist() == [True, False, True]
    assert played.halted.tolist() == [True, False, True]
    with pytest.raises(InvalidArgument, match="worlds must have shape"):
        play(Echo(), adversary, Figure1(), games=3, seed=1, worlds=np.zeros(2, bool))


@pytest.mark.parametrize(
    ("learner", "raised"), [(Fragile(), PlayerError), (Fragile(error=BudgetExceeded), BudgetExceeded)]
)
def test_a_failing_learner_ends_its_game_where_failures_are_seen(
    learner: Fragile, raised: type[Exception]
) -> None:
    """A refusal of the learner is a failure, too."""
    adversary = script(Train(SAMPLE), Query(0.0, 7.0), Query(0.0), score=np.zeros(1))
    with pytest.raises(raised):
        play(learner, adversary, Figure1(), games=4, seed=1)
    played = play(learner, adversary, Figure1(), games=4, seed=1, faults=True, record=True)
    assert played.failed.tolist() == played.worlds.tolist()
    assert np.isposinf(played.score).tolist() == played.worlds.tolist()
    assert [one.rounds for one in played.single_games] == [1 if world else 2 for world in played.worlds]


def test_a_breach_of_the_protocol_is_no_failure() -> None:
    adversary = script(Train(SAMPLE), Query(0.0, 7.0), Query(1.0, 2.0))
    with pytest.raises(ProtocolViolation, match="after the flag both queries are equal"):
        play(Echo(), adversary, Figure1(), games=2, seed=1, faults=True)


def test_a_failing_adversary_is_never_part_of_the_game() -> None:
    def raise_error(games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        raise RuntimeError("mine")

    with pytest.raises(PlayerError, match="mine"):
        play(Echo(), Scripted(raise_error), Figure1(), games=2, seed=1, faults=True)


def test_a_transcript_shows_both_worlds_side_by_side() -> None:
    adversary = script(Train(SAMPLE), Query(0.7), Query(0.7), Query(0.0, 9.0), Query(0.0), score=np.arange(2))
    played = play(Echo(), adversary, Figure1(), games=2, seed=1, record=True)
    first, second = int(np.argmin(played.worlds)), int(np.argmax(played.worlds))
    lines = played.transcript.table(first, second).splitlines()
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    assert cells[0] == ["training (the same in both worlds): 5 examples: 3 x (0, 0), 2 x (1, 1)"]
    assert cells[2] == [
        "round",
        "world 0: gets",
        "answers",
        "adversary sees",
        "world 1: gets",
        "answers",
        "adversary sees",
    ]
    assert cells[4:] == [
        ["1-2", "0.7", "1", "1", "0.7", "1", "1"],
        ["3", "0", "0", "withheld", "9", "1, halts", "withheld"],
        ["4", "0", "0", "0", "0", "-", "silence"],
        [f"score {first}", f"score {second}"],
    ]


def test_a_transcript_shows_training_sets_that_differ() -> None:
    adversary = script(Train(SAMPLE, SAMPLE.replace_one(1, 1.0, 0)))
    played = play(Echo(), adversary, Figure1(), games=2, seed=1, record=True)
    first, second = int(np.argmin(played.worlds)), int(np.argmax(played.worlds))
    assert played.transcript.table(first, second).splitlines()[:2] == [
        "training in world 0: 5 examples: 3 x (0, 0), 2 x (1, 1)",
        "training in world 1: 5 examples: 3 x (0, 0), 1 x (1, 1), 1 x (1, 0)",
    ]


@pytest.mark.parametrize("referee", [Oblivious(3), Adaptive(3), SpecialRound(3)])
def test_online_games_have_transcripts(referee: Referee) -> None:
    moves = {
        "Oblivious": [Commit([0.0, 0.0, 0.0], [1, 1, 0])],
        "Adaptive": [Example(0.0, 1), Example(0.0, 1), Example(0.0, 0)],
        "SpecialRound": [Ready(), Example(0.0, 1), Example(0.0, 1), Example(0.0, 0)],
    }[referee.name]
    played = play(LastLabel(), script(*moves), referee, games=1, seed=1, record=True)
    lines = [line.split() for line in played.transcript.table(0).splitlines()]
    assert lines[2:] == [
        ["1", "(0,", "1)", "0", "0"],
        ["2", "(0,", "1)", "1", "1"],
        ["3", "(0,", "0)", "1", "1"],
    ]

"""One pair of games of an audit, written side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from arena import Adversary, ArenaError, GameAdversary, Learner, Played, Referee, play
from arena.capabilities import read_schema
from arena.randomness import block_seed
from arena.records import Records
from arena.referees.transcript import TrainingEntry
from audits.reports.data_pair import Rows, compare_records

_MAX_PAIRS = 32  # pairs of games to search for one that shows the worlds apart
_FEW_PAIRS = 8  # for an excerpt, if games are calls that may be slow
_RARE_PAIRS = 256  # pairs to search after these, all at once
_FIRST_LINES, _LAST_LINES = 28, 12  # of an excerpt
_MAX_WIDTH = 20_000  # characters of a line of it


def write_example_games(
    learner: Learner, adversary: Adversary, referee: Referee, *, seed: int, faults: bool = False
) -> str:
    """The games of `find_telling_games` as text or, if these have equal scores, a pair of a larger batch."""
    games = find_telling_games(learner, adversary, referee, seed=seed, faults=faults)
    plays_batches = referee.two_worlds and not faults and not isinstance(adversary, GameAdversary)
    if plays_batches and not _tells_worlds_apart(games):
        with suppress(ArenaError):
            return _write_rare_pair(learner, adversary, referee, seed) or format_games(games)
    return format_games(games)


def write_excerpt(
    learner: Learner, adversary: Adversary, referee: Referee, *, seed: int, faults: bool = False
) -> tuple[str, Rows]:
    """The first and the last lines of a telling pair of games, and how its data differ, if they are records;
    empty if it cannot be played."""
    players = (learner, adversary, referee)
    given: dict[str, Any] = {"seed": seed, "faults": faults}
    data: Rows = ()
    try:
        if learner.one_call_a_game:
            pair = find_telling_games(*players, **given, pairs=_FEW_PAIRS)
            games, both, schema = format_games(pair), find_data(pair), read_schema(learner)
            data = () if both is None or schema is None else compare_records(schema, *both)
        else:
            games = write_example_games(*players, **given)
    except ArenaError:  # which must not keep an audit from starting
        return "", ()
    lines = [line[:_MAX_WIDTH] for line in games.splitlines()]
    omitted = len(lines) - _FIRST_LINES - _LAST_LINES
    if omitted > 0:
        lines[_FIRST_LINES:-_LAST_LINES] = ["", f"({omitted:,} lines left out)", ""]
    return "\n".join(lines), data


def find_data(batches: Sequence[Played]) -> tuple[Records, Records] | None:
    """The records of world 0 and of world 1 in recorded games, if records were given."""
    given = {
        int(played.worlds[game]): entry.get_sample(game)
        for played in batches
        if played.transcript is not None
        for entry in played.transcript.entries
        if isinstance(entry, TrainingEntry)
        for game in np.argsort(played.worlds).tolist()
    }
    first, second = given.get(0), given.get(1)
    return (first, second) if isinstance(first, Records) and isinstance(second, Records) else None


def _write_rare_pair(learner: Learner, adversary: Adversary, referee: Referee, seed: int) -> str:
    """The first pair of a batch with a higher score in world 1, as text; empty if there is none."""
    games = 2 * _RARE_PAIRS
    played = play(learner, adversary, referee, games=games, seed=block_seed(seed, 0), record=True)
    if played.score is None:
        return ""
    # Games 2j and 2j + 1 are a pair.
    pairs = np.argsort(played.worlds.reshape(-1, 2), axis=1) + np.arange(0, games, 2)[:, None]
    telling = pairs[played.score[pairs[:, 1]] > played.score[pairs[:, 0]]]
    return _format_worlds(played, telling[0]) if len(telling) else ""


def find_telling_games(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    seed: int,
    faults: bool = False,
    pairs: int = _MAX_PAIRS,
) -> tuple[Played, ...]:
    """The first pair of games, with this seed and the next, whose score is higher in world 1 or, without
    scores, whose views differ; else the first pair."""
    first = pair = play_example_games(learner, adversary, referee, seed=seed, faults=faults)
    for later in range(seed + 1, seed + pairs):
        if _tells_worlds_apart(pair):
            return pair
        with suppress(ArenaError):
            pair = play_example_games(learner, adversary, referee, seed=later, faults=faults)
    return first


def _tells_worlds_apart(batches: Sequence[Played]) -> bool:
    worlds = np.concatenate([played.worlds for played in batches])
    if all(played.score is not None for played in batches):
        scores = np.concatenate([np.asarray(played.score) for played in batches])
        return bool(scores[worlds].max() > scores[~worlds].max())
    if len(batches) > 1:
        return _read_view(batches[0], 0) != _read_view(batches[1], 0)
    return _read_view(batches[0], 0) != _read_view(batches[0], 1)


def _read_view(played: Played, game: int) -> list[bytes]:
    return [np.asarray(part[game]).tobytes() for part in played.shown]


def play_example_games(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    seed: int,
    faults: bool = False,
    watch: Callable[[int], object] | None = None,
) -> tuple[Played, ...]:
    """One game in each world, recorded: one batch, or two if every game is played alone, world 0 first."""
    games, random_seed = 2 if referee.two_worlds else 1, block_seed(seed, 0)
    played = play(
        learner, adversary, referee, games=games, seed=random_seed, faults=faults, record=True, watch=watch
    )
    return tuple(sorted(played.single_games, key=lambda game: bool(game.worlds[0]))) or (played,)


def format_games(batches: Sequence[Played]) -> str:
    """Recorded games as text."""
    played = batches[0]
    if len(batches) == len(played.worlds) == 1 and played.mistakes is not None:  # a protocol of one world
        assert played.transcript is not None
        return f"{played.transcript.table(0)}\n\n{_count_mistakes(played, 0)}"
    return "\n\n".join(_format_worlds(played, np.argsort(played.worlds)) for played in batches)


def _format_worlds(played: Played, games: np.ndarray) -> str:
    order = [int(game) for game in games]
    assert played.transcript is not None
    outcomes = [f"world {int(played.worlds[game])}: {_describe_outcome(played, game)}" for game in order]
    differences = " and ".join(sorted(played.challenges))
    outcomes.append(f"The worlds differ in {differences}." if differences else "The worlds do not differ.")
    return played.transcript.table(*order) + "\n\n" + "\n".join(outcomes)


def _describe_outcome(played: Played, game: int) -> str:
    parts = ["no score" if played.score is None else f"score {played.score[game]:.6g}"]
    if played.failed is not None and played.failed[game]:
        parts.append("the learner failed")
    if played.halted is not None:
        parts.append("the learner halted" if played.halted[game] else "the learner did not halt")
    if played.mistakes is not None:
        parts.append(_count_mistakes(played, game))
    return ", ".join(parts)


def _count_mistakes(played: Played, game: int) -> str:
    assert played.mistakes is not None
    counts = ((played.mistakes[game], "mistake"), (played.rounds, "round"))
    return " in ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)


def describe_games(batches: Sequence[Played]) -> list[dict[str, Any]]:
    """Recorded games as JSON objects, world 0 first. Round 0 is the training."""
    return [_describe_game(played, int(game)) for played in batches for game in np.argsort(played.worlds)]


def _describe_game(played: Played, game: int) -> dict[str, Any]:
    assert played.transcript is not None
    columns = ("round", "gets", "answers", "adversary_sees")
    figures = {name: getattr(played, name) for name in ("score", "failed", "halted", "mistakes")}
    return {
        "world": int(played.worlds[game]),
        "rounds": played.rounds,
        **{name: None if values is None else values[game] for name, values in figures.items()},
        "transcript": [
            dict(zip(columns, (entry.round, *entry.describe(game)), strict=True))
            for entry in played.transcript.entries
        ],
    }

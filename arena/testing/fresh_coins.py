"""Checks of where random numbers come from.

A learner with random numbers of its own (`own_coins`) is not repeated by any seed. An audit of it is sound as
long as blocks are independent. If its generator has a fixed seed, or is pickled and sent to every process,
then blocks that are shared among processes, or played after a run is resumed, repeat the same random numbers.
No run in one process shows that; two new processes do.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import cloudpickle
import numpy as np

from arena.engine import Played, play
from arena.errors import NotConforming, describe_error
from arena.game_style import GameAdversary
from arena.players import Adversary, Learner
from arena.referees import Referee

P = TypeVar("P")

_GAMES = 256  # of a batch in a new process
_FEWEST = 8  # games that must differ; by chance so many repeat with probability below 1e-15
_FEW_GAMES = 8  # of a batch that is played twice
_CHILD = "from arena.testing.fresh_coins import play_from_stdin; play_from_stdin()"
_MAX_IMPORTING = 4  # times that games are played again because they imported modules
_SECONDS = 120  # for a new process

_checked: set[Learner] = set()  # learners that have passed `check_own_coins` in this process


def check_repeats(learner: Learner, adversary: Adversary, referee: Referee, name: str) -> Played:
    """Check that games with the same seed are the same, and that no global generator is used.

    name: the player that is blamed. Returns the games.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    record = not isinstance(adversary, GameAdversary)

    def play_few() -> Played:
        return play(learner, adversary, referee, games=_FEW_GAMES, seed=7, record=record)

    first, second = forbid_global_randomness(name, play_few), play_few()
    for part, one, other in zip(("views", "scores"), _outcome(first), _outcome(second), strict=True):
        if one != other:
            raise NotConforming(name, "the same random numbers give the same game", f"{part} differ")
    return first


def _outcome(played: Played) -> tuple[list[bytes], bytes]:
    """What the adversary saw, as far as it was recorded, and its score."""
    view = [part.tobytes() for reply in played.replies for part in reply.parts]
    halted = b"" if played.halted is None else played.halted.tobytes()
    return [*view, halted], b"" if played.score is None else played.score.tobytes()


def check_own_coins(
    learner: Learner, adversary: Adversary, referee: Referee, *, faults: bool = False
) -> None:
    """Check that two new processes that receive the learner do not draw the same random numbers.

    Each plays two batches. The first batches of the two must differ in some game, unless hardly any game
    differs between the first and the second batch of one process, as for a learner without random numbers. A
    learner that has passed is not checked again in this process.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    # Play in this process first: errors raised here are chained to their causes.
    forbid_global_randomness(
        learner.name, lambda: play(learner, adversary, referee, games=1, seed=1, faults=faults)
    )
    if learner in _checked:
        return
    try:
        players: bytes = cloudpickle.dumps((learner, adversary, referee, faults))
    except Exception as error:  # objects of other libraries may raise anything
        raise NotConforming(
            learner.name, "it can be sent to another process", f"pickling it raised {describe_error(error)}"
        ) from error
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(_play_in_new_process, [learner.name] * 2, [players] * 2)
        (first, second), (other, _) = results
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    if first != other:
        _checked.add(learner)
    elif changed >= _FEWEST:
        raise NotConforming(
            learner.name,
            "random numbers of its own differ between processes",
            "two processes drew the same: do not seed or keep a generator, or use that of `start`",
        )


def forbid_global_randomness(name: str, play_games: Callable[[], P]) -> P:
    """The result of `play_games`, which may use the global generators of the process only to import modules.

    Some libraries draw from them while they are imported. If modules were imported, the games are played once
    more, without imports.

    Raises: NotConforming, of the player `name`; whatever `play_games` raises.
    """
    for _ in range(_MAX_IMPORTING):
        states, modules = _read_global_states(), set(sys.modules)
        result = play_games()
        if states == _read_global_states():
            return result
        if modules.issuperset(sys.modules):
            break
    raise NotConforming(
        name,
        "all random numbers come from the generator that a player is given, none from a global one",
        "`random` or `numpy.random` was used (a function of yours may, with coins=global)",
    )


def _read_global_states() -> tuple[object, ...]:
    numpy: Any = np.random.get_state()  # noqa: NPY002 - to see that nobody uses it
    return numpy[1].tobytes(), numpy[2], random.getstate()


def _play_in_new_process(name: str, players: bytes) -> tuple[list[str], list[str]]:
    """The digests of the games of two batches."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=players,
            capture_output=True,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotConforming(
            name,
            f"a new process plays {2 * _GAMES} games with it within {_SECONDS} s",
            "it was still playing: make it faster",
        ) from error
    lines = done.stdout.decode(errors="replace").split("\n")
    if done.returncode or len(lines) != 2:
        raise NotConforming(
            name,
            "it can play in a new process",
            (done.stderr.decode(errors="replace").strip().split("\n") or [""])[-1]
            or f"the process ended without its games, with status {done.returncode}",
        )
    return lines[0].split(), lines[1].split()


def play_from_stdin() -> None:
    """Play with the pickled players of standard input; write two lines, the digests of two batches of
    games."""
    # Whatever a mechanism or its libraries print, now or at exit, goes to standard error.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    learner, adversary, referee, faults = cloudpickle.load(sys.stdin.buffer)
    batches = [
        play(learner, adversary, referee, games=_GAMES, seed=1, record=True, faults=faults) for _ in range(2)
    ]
    with out:
        out.write("\n".join(" ".join(_digest_games(played)) for played in batches))


def _digest_games(played: Played) -> list[str]:
    if played.single_games:
        return [digest for single in played.single_games for digest in _digest_games(single)]
    parts = [part for reply in played.replies for part in reply.parts]
    games = range(len(played.worlds))
    rows = (b"".join(np.ascontiguousarray(part[game]).tobytes() for part in parts) for game in games)
    return [hashlib.sha256(row).hexdigest()[:16] for row in rows]

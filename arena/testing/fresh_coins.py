"""Learners with coins of their own: no seed repeats them, so that two processes must not draw alike.

An audit is sound as long as blocks are independent of each other. A learner whose generator is seeded in its
file, or travels to every process with it, plays block after block with the same coins wherever blocks are
shared out or a ledger is resumed. No run of one process shows that; two new ones do.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import cloudpickle
import numpy as np

from arena.engine import Played, play
from arena.errors import NotConforming, describe_error
from arena.players import Adversary, Learner
from arena.referees import Referee

_GAMES = 256
_FEWEST = 8  # games that must differ; by chance so many repeat with less than 1e-15
_CHILD = "from arena.testing.fresh_coins import tell; tell()"
_SECONDS = 120

_found_fresh: set[Learner] = set()


def check_own_coins(
    learner: Learner, adversary: Adversary, referee: Referee, *, faults: bool = False
) -> None:
    """Check that two new processes that are handed the learner do not draw the same coins.

    Each plays two tables. Their first tables must not be the same in every game, unless hardly any game
    differs between the first and the second, as where a learner has no coins at all. A learner that has
    passed is not asked again by the same process.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    # Here first: what is raised here has its cause.
    with no_global_randomness(learner.name):
        play(learner, adversary, referee, games=1, seed=1, faults=faults)
    if learner in _found_fresh:
        return
    handed = _handed(learner, adversary, referee, faults)
    with ThreadPoolExecutor(2) as pool:
        (first, second), (other, _) = pool.map(_told, [learner.name] * 2, [handed] * 2)
    moved = sum(a != b for a, b in zip(first, second, strict=True))
    if first != other:
        _found_fresh.add(learner)
    elif moved >= _FEWEST:
        raise NotConforming(
            learner.name,
            "coins of its own are other coins in every process",
            "two processes drew the same: let no generator be seeded or kept, or take the coins of the seat",
        )


@contextmanager
def no_global_randomness(name: str) -> Iterator[None]:
    """Raises: NotConforming, of the player `name`, if the generators that belong to the process are used."""
    before = _global_states()
    yield
    if before != _global_states():
        raise NotConforming(
            name,
            "every coin comes from the generator it was given, none from a global one",
            "`random` or `numpy.random` was used (a function of yours may, with coins=global)",
        )


def _global_states() -> tuple[object, ...]:
    numpy: Any = np.random.get_state()  # noqa: NPY002 - to see that nobody uses it
    return numpy[1].tobytes(), numpy[2], random.getstate()


def _handed(learner: Learner, *others: object) -> bytes:
    try:
        handed: bytes = cloudpickle.dumps((learner, *others))
    except Exception as error:  # somebody else's objects may raise anything
        raise NotConforming(
            learner.name, "it can be handed to another process", f"pickling it raised {describe_error(error)}"
        ) from error
    return handed


def _told(name: str, handed: bytes) -> tuple[list[str], list[str]]:
    """The digests of the games of two tables, as a new process played them."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=handed,
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


def tell() -> None:
    """Play what standard input holds, and write two lines: the digests of what was seen of each game."""
    # A mechanism may print, now or at its end, and libraries of it too: that goes to standard error.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    learner, adversary, referee, faults = cloudpickle.load(sys.stdin.buffer)
    tables = [
        play(learner, adversary, referee, games=_GAMES, seed=1, record=True, faults=faults) for _ in range(2)
    ]
    with out:
        out.write("\n".join(" ".join(_seen(played)) for played in tables))


def _seen(played: Played) -> list[str]:
    """A digest of every game's replies."""
    if played.single_games:
        return [digest for one in played.single_games for digest in _seen(one)]
    assert played.view is not None
    parts = [part for reply in played.view.replies for part in reply.parts]
    games = range(len(played.worlds))
    rows = (b"".join(np.ascontiguousarray(part[game]).tobytes() for part in parts) for game in games)
    return [hashlib.sha256(row).hexdigest()[:16] for row in rows]

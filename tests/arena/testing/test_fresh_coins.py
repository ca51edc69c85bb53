"""Learners with coins of their own: new processes must not draw the same, and adversaries are checked."""

from __future__ import annotations

import atexit
import os
import random
import secrets
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from support.foreign_mechanisms import (
    SYSTEM,
    at_home_only,
    with_module_generator,
    with_system_generator,
    without_coins,
)

from adversaries.release.point_swap import CountSwap
from arena import Adversary, Moves, NotConforming, Release, Sample, Train
from arena.testing import check_adversary, check_learner
from arena.testing.independence import forbid_global_randomness
from arena.testing.memory import check_memory
from learners.foreign.function import Function


def make_coin(seed: int) -> Any:
    rng = random.Random(seed)
    return lambda labels: int(rng.random() < 0.5)


def check(function: Any, **settings: Any) -> None:
    check_memory(Function(function=function, coins="own", **settings), CountSwap(), Release())


@pytest.mark.thorough
def test_a_learner_without_random_numbers_passes() -> None:
    check(without_coins)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "function", [with_module_generator, make_coin(3)], ids=["a default", "an enclosed one"]
)
def test_a_generator_that_is_pickled_with_the_learner_is_refused(function: Any) -> None:
    with pytest.raises(NotConforming) as refused:
        check(function)
    assert str(refused.value) == (
        f"{function.__name__} does not conform: random numbers of its own differ between processes; two "
        "processes drew the same: do not seed or keep a generator, or use that of `start`"
    )


def draw_late(data: Any) -> float:
    """From a global generator, but not for the few records of a trial."""
    return float(SYSTEM.random() + (random.random() if len(data) > 5 else 0.0))


def test_global_generators_are_refused_unless_somebody_names_them() -> None:
    check(draw_late)
    with pytest.raises(NotConforming) as refused:
        check_memory(Function(function=draw_late), CountSwap(), Release())
    assert str(refused.value) == (
        "draw_late does not conform: all random numbers come from the generator that a player "
        "is given, none from a global one; `random` or `numpy.random` was used (a function of yours may, "
        "with coins=global)"
    )


def test_an_import_is_no_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some libraries draw from the global generators while they are imported, as scikit-learn does."""
    (tmp_path / "draws_while_imported.py").write_text("import random\nrandom.random()\n")
    monkeypatch.syspath_prepend(tmp_path)

    def import_only() -> None:
        import draws_while_imported  # noqa: F401

    def import_and_draw() -> None:
        import_only()
        random.random()

    forbid_global_randomness("someone", import_only)
    monkeypatch.delitem(sys.modules, "draws_while_imported")
    with pytest.raises(NotConforming, match="none from a global one"):
        forbid_global_randomness("someone", import_and_draw)


@pytest.mark.thorough
def test_what_cannot_be_pickled_is_played_in_a_copy_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = threading.Lock()
    rng = random.Random(3)
    check(lambda labels: lock.locked() + SYSTEM.random())
    with pytest.raises(NotConforming, match="two processes drew the same"):
        check(lambda labels: lock.locked() + rng.random())
    monkeypatch.setattr("arena.testing.new_process._FORKS", False)
    with pytest.raises(NotConforming, match="it can be sent to another process; pickling it raised TypeErr"):
        check(lambda labels: lock.locked() + secrets.randbelow(2))


@pytest.mark.thorough
def test_what_fails_in_a_new_process_is_refused() -> None:
    here = os.getpid()
    with pytest.raises(
        NotConforming, match=r"it can play in a new process; .*lambda> raised ValueError: away"
    ):
        check(lambda labels: at_home_only(here))


def test_what_takes_long_in_a_new_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.testing.new_process._SECONDS", 0.01)
    here = os.getpid()
    with pytest.raises(NotConforming) as refused:
        check(lambda labels: with_system_generator(labels) + (time.sleep(0.05 * (os.getpid() != here)) or 1))
    assert str(refused.value) == (
        "<lambda> does not conform: a new process plays some games with it within 0.01 s; it was "
        "still playing: make it faster"
    )


def test_what_ends_a_new_process_is_refused() -> None:
    here = os.getpid()
    with pytest.raises(NotConforming, match="can play in a new process; the process ended without its games"):
        check(lambda labels: 1.0 if os.getpid() == here else os._exit(0))


@pytest.mark.thorough
def test_a_mechanism_may_print() -> None:
    here = os.getpid()

    def loud(labels: Any) -> float:
        print("now")
        if os.getpid() != here:
            os.write(1, b"\xff")
            atexit.register(print, "at its end")
        return with_system_generator(labels)

    check(loud)


@pytest.mark.thorough
def test_such_a_learner_conforms() -> None:
    check_learner(Function(function=with_system_generator))


@attrs.frozen
class Fickle(Adversary):
    """Plays otherwise when it is told the same: by its moves, or by its score."""

    name = "fickle"
    protocols = ("Release",)
    moves: bool = False

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        own = SYSTEM.random()
        yield Train(Sample([own if self.moves else 0.0], [0]))
        return np.full(games, 0.0 if self.moves else own)


@pytest.mark.parametrize("what", ["moves", "scores"])
def test_an_adversary_must_play_alike_on_the_same_replies(what: str) -> None:
    learner = Function(function=with_system_generator)
    check_adversary(CountSwap(), learner, Release())
    with pytest.raises(
        NotConforming, match=f"the same random numbers and replies give the same game; {what} differ"
    ):
        check_adversary(Fickle(moves=what == "moves"), learner, Release())


@pytest.mark.thorough
def test_a_module_that_audits_when_it_is_imported_starts_no_endless_chain_of_processes(
    tmp_path: Path,
) -> None:
    lines = [
        "import audits",
        "def count(labels, rng):",
        "    return labels.sum() + rng.laplace()",
        "print(audits.audit(count, epsilon=1.0, games=100).refuted)",
    ]
    (tmp_path / "players.py").write_text("\n".join(lines))
    (tmp_path / "script.py").write_text("import players")
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "False\n", done.stderr

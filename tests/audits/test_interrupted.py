"""Interrupts: the verbs raise them with the result so far, and a signal that was swallowed is not lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import audits
from audits import interrupts
from audits.interrupts import Interrupted, check_interrupts, handle_signal

COUNT = ("laplace-count", "count-swap")


def stop_after(calls: int) -> Callable[..., None]:
    """A watcher that is interrupted by its call of this number."""
    seen: list[Any] = []

    def watch(*progress: Any) -> None:
        seen.append(progress)
        if len(seen) == calls:
            raise KeyboardInterrupt

    return watch


def stop_at(stage: str) -> Callable[..., None]:
    def watch(now: str, done: int, total: int) -> None:
        if now == stage:
            raise KeyboardInterrupt

    return watch


VERBS: dict[str, Callable[[], Any]] = {
    "audit": lambda: audits.audit(*COUNT, games=1_000, progress=stop_after(2)),
    "search": lambda: audits.search("laplace-count", examples=30, games=64, progress=stop_after(3)),
    "race": lambda: audits.race(["soa"], "shattered-tree", rounds=6, games=900, progress=stop_after(3)),
    "tournament": lambda: audits.tournament(
        ["laplace-count"], ["count-swap", "point-swap"], games=20, progress=stop_after(2)
    ),
    "solve": lambda: audits.solve(
        "noisy-votes", rounds=3, settings={"size": 5, "answers": 3, "epsilon": 1.0}, watch=stop_at("least ε")
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_interrupted_raises_with_the_result_so_far(verb: str) -> None:
    with pytest.raises(KeyboardInterrupt) as interrupt:
        VERBS[verb]()
    error = interrupt.value
    assert isinstance(error, Interrupted)
    assert error.result.interrupted
    assert error.result.headline in str(error)
    shown = "\n".join(error._render_traceback_())  # by a notebook
    assert error.result.summary() in shown


@pytest.mark.thorough
def test_the_bracket_of_an_interrupted_solution_holds() -> None:
    with pytest.raises(Interrupted) as interrupt:
        VERBS["solve"]()
    at = interrupt.value.result.epsilon_at
    whole = audits.solve("noisy-votes", rounds=3, settings={"size": 5, "answers": 3, "epsilon": 1.0})
    assert at.lower - 1e-9 <= whole.epsilon_at.lower <= whole.epsilon_at.upper <= at.upper + 1e-9


@pytest.fixture
def handled() -> Iterator[None]:
    """SIGTERM is handled as by the command line."""
    previous = signal.signal(signal.SIGTERM, handle_signal)
    yield
    signal.signal(signal.SIGTERM, previous)
    interrupts.acknowledge_interrupt()
    interrupts.arrived.clear()


@pytest.mark.usefixtures("handled")
def test_a_signal_is_raised_until_its_interrupt_is_acknowledged() -> None:
    check_interrupts()
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
        signal.sigtimedwait([], 1)
    with pytest.raises(KeyboardInterrupt):
        check_interrupts()
    interrupts.acknowledge_interrupt()
    check_interrupts()


@pytest.mark.thorough
@pytest.mark.usefixtures("handled")
def test_a_run_ends_by_a_signal_that_the_audited_code_swallowed() -> None:
    calls: list[None] = []

    def swallow(points: Any, rng: np.random.Generator) -> float:
        calls.append(None)
        if len(calls) == 2_000:
            with suppress(BaseException):  # as Python does with exceptions of destructors
                os.kill(os.getpid(), signal.SIGTERM)
                signal.sigtimedwait([], 1)
        return float(points.sum() + rng.laplace())

    with pytest.raises(Interrupted) as interrupt:
        audits.audit(swallow, data=np.ones(2), epsilon=5.0, games=20_000)
    assert 0 < interrupt.value.result.games < 20_000
    check_interrupts()  # the interrupt was seen once, and is over

"""Is a learner in step: does every game draw the same coins in the same order, whatever anybody is told?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from arena import Hypothesis, Learner, Sample, Training
from arena.randomness import generator

GAMES = 60


def check_common_random_numbers(
    learner: Learner, sample: Sample, other: Sample, points: Sequence[float] = ()
) -> None:
    """Two tables with the same coins; in the second, every third game is told something else.

    What all other games show must be the same, bit for bit, and the generator must be in the same state after
    every step. Games that are told something else must show it, since nothing is checked otherwise.

    sample: what all games of the first table are trained on. other: what every third game of the second is.
    points: what is asked, or the examples of a stream, in order; every third game of the second table is
        asked them in reverse, and its examples have the other label.

    Raises: AssertionError.
    """
    nobody, third = np.zeros(GAMES, bool), np.arange(GAMES) % 3 == 0
    tables = [_play(learner, (sample, other), points, told) for told in (nobody, third)]
    shows = False
    for step, ((one, state), (two, other_state)) in enumerate(zip(*tables, strict=True)):
        same = _bits(one) == _bits(two)
        assert same[~third].all(), f"{learner.name}: other games show at step {step} what a game was told"
        assert state == other_state, f"{learner.name}: at step {step} a table has drawn other coins"
        shows |= not same.all()
    assert shows, f"{learner.name}: what the games were told shows nowhere, so that nothing was checked"


def _play(
    learner: Learner, samples: tuple[Sample, Sample], points: Sequence[float], told: np.ndarray
) -> Iterator[tuple[np.ndarray, str]]:
    """What each game shows (GAMES, ...) and the state of the generator, step by step."""
    rng = generator(np.random.SeedSequence(5))
    state = learner.start(GAMES, rng)
    training = Training.of(samples, told.astype(np.intp))
    if "Release" in learner.protocols:
        released = state.release(training)
        shown = _concepts(released) if isinstance(released, Hypothesis) else released
        yield shown, str(rng.bit_generator.state)
        return
    if "Figure1" in learner.protocols:
        state.train(training)
        yield state.halted.copy(), str(rng.bit_generator.state)
    for x, reverse in zip(points, reversed(points), strict=True):
        own = np.where(told, reverse, x)
        if "Figure1" in learner.protocols:
            yield np.column_stack([state.predict(own), state.halted]), str(rng.bit_generator.state)
        else:
            yield _concepts(state.hypothesis()), str(rng.bit_generator.state)
            state.observe(own, told.astype(np.int8))


def _concepts(hypothesis: Hypothesis) -> np.ndarray:
    return hypothesis.concepts


def _bits(shown: np.ndarray) -> np.ndarray:
    """(GAMES,) of bytes: what each game shows."""
    rows = np.ascontiguousarray(shown).reshape(GAMES, -1)
    return np.array([row.tobytes().hex() for row in rows])

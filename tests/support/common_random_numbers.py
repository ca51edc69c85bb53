"""Whether every game of a learner draws the same random numbers in the same order, whatever any game
receives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from arena import Hypothesis, Learner, Sample, Training
from arena.randomness import generator

GAMES = 60


def check_common_random_numbers(
    learner: Learner, sample: Sample, other: Sample, points: Sequence[float] = ()
) -> None:
    """Check two batches with the same random numbers; in the second, every third game receives other data.

    All other games must show the same, bit for bit, and the generator must be in the same state after every
    step. Some game with other data must show something else, since otherwise nothing is checked.

    sample: the training set of all games of the first batch. other: that of every third game of the second.
    points: the queries, or the examples of a stream, in order. Every third game of the second batch gets them
        in reverse order, and its examples have the other label.

    Raises: AssertionError.
    """
    none, third = np.zeros(GAMES, bool), np.arange(GAMES) % 3 == 0
    batches = [_play(learner, (sample, other), points, changed) for changed in (none, third)]
    differs = False
    for step, ((shown, state), (other_shown, other_state)) in enumerate(zip(*batches, strict=True)):
        same = _bits(shown) == _bits(other_shown)
        assert same[~third].all(), f"{learner.name}: at step {step} a game depends on data of others"
        assert state == other_state, f"{learner.name}: at step {step} a batch has drawn other random numbers"
        differs |= not same.all()
    assert differs, f"{learner.name}: no game shows its other data, so that nothing was checked"


def _play(
    learner: Learner, samples: tuple[Sample, Sample], points: Sequence[float], changed: np.ndarray
) -> Iterator[tuple[np.ndarray, str]]:
    """What each game shows (GAMES, ...) and the state of the generator, after every step."""
    rng = generator(np.random.SeedSequence(5))
    state = learner.start(GAMES, rng)
    training = Training.of(samples, changed.astype(np.intp))
    if "Release" in learner.protocols:
        released = state.release(training)
        shown = _concepts(released) if isinstance(released, Hypothesis) else released
        yield shown, str(rng.bit_generator.state)
        return
    if "Figure1" in learner.protocols:
        state.train(training)
        yield state.halted.copy(), str(rng.bit_generator.state)
    for x, reverse in zip(points, reversed(points), strict=True):
        own = np.where(changed, reverse, x)
        if "Figure1" in learner.protocols:
            yield np.column_stack([state.predict(own), state.halted]), str(rng.bit_generator.state)
        else:
            yield _concepts(state.hypothesis()), str(rng.bit_generator.state)
            state.observe(own, changed.astype(np.int8))


def _concepts(hypothesis: Hypothesis) -> np.ndarray:
    return hypothesis.concepts


def _bits(shown: np.ndarray) -> np.ndarray:
    """(GAMES,) of text: the bytes that each game shows."""
    rows = np.ascontiguousarray(shown).reshape(GAMES, -1)
    return np.array([row.tobytes().hex() for row in rows])

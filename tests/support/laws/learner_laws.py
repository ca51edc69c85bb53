"""Output distributions that learners declare, compared with their views; common random numbers; δ(ε).

A *view* before Figure1 is a string with a letter an answer: 0, 1, or h or H for an answer 0 or 1 with which
the learner halts, which is the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
from support.simple_players import script

from arena import Figure1, Hypothesis, Learner, Query, Sample, Train, Training, play
from arena.laws import AnswerLaw, Density, Finite
from arena.randomness import generator

Views = dict[str, float]
LETTERS = {(0, False): "0", (1, False): "1", (0, True): "h", (1, True): "H"}


def view_law(law: AnswerLaw, queries: Sequence[float]) -> Views:
    """The distribution of the view if a learner with the output distribution `law` receives these queries."""
    found: Views = {}

    def ask(view: str, measure: np.ndarray) -> None:
        if len(view) == len(queries) or view.endswith(("h", "H")):
            found[view] = float(measure.sum())
            return
        parts = law.step(measure[None], np.array([queries[len(view)]]))
        for outcome, part in zip(law.outcomes, parts, strict=True):
            ask(view + LETTERS[outcome], part[0])

    ask("", law.start())
    return found


def views(learner: Learner, sample: Sample, queries: Sequence[float], *, games: int) -> np.ndarray:
    """(games,) of strings: the answers of the running learner."""
    asked = script(Train(sample), *[Query(x) for x in queries])
    played = play(learner, asked, Figure1(), games=games, seed=1, record=True)
    rows = []
    for reply in played.replies[1:]:
        seen = np.select(
            [reply.label == label for label in (0, 1)],
            [np.where(reply.halted, halted, label) for label, halted in ("0h", "1H")],
            "",
        )
        rows.append(seen)
    joined = rows[0]
    for row in rows[1:]:
        joined = np.char.add(joined, row)
    return joined


def views_of(transcripts: Mapping[str, float], halts: int) -> Views:
    """The distribution of the view, from that of the transcripts of `mechanism_laws`."""
    found: Views = {}
    for transcript, probability in transcripts.items():
        view = transcript.replace("L", "0").replace(".", "0").replace("R", "1").replace("T", "1")
        if transcript.count("T") == halts:
            view = view[:-1] + "H"
        found[view] = found.get(view, 0.0) + probability
    return found


def view_delta(one: Mapping[Any, float], other: Mapping[Any, float], epsilon: float) -> float:
    """δ(ε) of two distributions of a view: by how much `one` exceeds e^ε times `other`."""
    return sum(max(0.0, one.get(view, 0.0) - exp(epsilon) * other.get(view, 0.0)) for view in {*one, *other})


def delta_of_finite(one: Finite, other: Finite, epsilon: float) -> float:
    """δ(ε) of two finite distributions over the same values."""
    p, q = np.exp(one.log_density(one.values)), np.exp(other.log_density(one.values))
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


def integral(law: Density, other: Density | None = None, epsilon: float = 0.0) -> float:
    """The mass of a distribution; with another, δ(ε): by how much it exceeds e^ε times the other.

    Gauss-Legendre rules between the kinks of both, and where the two meet, by bisection.
    """
    cuts = [law.low, law.high, *law.kinks, *np.linspace(law.low, law.high, 400)]
    if other is not None:
        cuts += [*other.kinks, *_meetings(law, other, epsilon)]
    cuts = np.unique([cut for cut in cuts if law.low <= cut <= law.high])
    points, weights = np.polynomial.legendre.leggauss(20)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    x = (middle[:, None] + half[:, None] * points).ravel()
    gain = np.exp(law.log_density(x))
    if other is not None:
        gain = np.maximum(gain - np.exp(epsilon + other.log_density(x)), 0)
    return float((half[:, None] * weights).ravel() @ gain)


def _meetings(law: Density, other: Density, epsilon: float) -> list[float]:
    def lead(x: np.ndarray) -> np.ndarray:
        return law.log_density(x) - other.log_density(x) - epsilon

    grid = np.linspace(law.low, law.high, 10_001)
    signs = lead(grid) > 0
    found = []
    for place in np.flatnonzero(signs[1:] != signs[:-1]):
        low, high = grid[place], grid[place + 1]
        for _ in range(60):
            middle = (low + high) / 2
            same = (lead(np.array([middle]))[0] > 0) == signs[place]
            low, high = (middle, high) if same else (low, middle)
        found.append(low)
    return found


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

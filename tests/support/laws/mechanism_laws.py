"""Exact output distributions of the mechanisms, naive references for one game, and checks against them.

The checks take the mechanism as an argument: tests/learners/mechanisms gives them ours, tests/mutants broken
ones. A *transcript* is the string of a game's answers, a letter for each query; it ends where the game halts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from scipy import stats
from support.statistical import check_cdf, check_counts, check_mean, check_views

from learners.mechanisms.noise import laplace
from learners.mechanisms.selection import exponential_mechanism
from learners.mechanisms.sparse_vector import AboveThreshold, BetweenThresholds

RATE = 1e-7  # of one check
POWER = 1 - 1e-7
SURE = {"rate": RATE, "power": POWER}

Law = dict[str, float]
Answers = Callable[[float, np.ndarray], Mapping[str, np.ndarray]]

# Small enough that the thresholds often cross, and that noise kept too long or drawn too often shows.
BETWEEN: dict[str, Any] = {"lower": 0.4, "upper": 0.6, "epsilon": 0.5, "size": 40}
ABOVE: dict[str, Any] = {"threshold": 3.0, "epsilon": 2.0, "sensitivity": 0.5}


# --- exact laws ---------------------------------------------------------------------------------------------


def sparse_vector_law(
    queries: Sequence[float], answers: Answers, *, scale: float, kinks: Sequence[float], halts: int
) -> Law:
    """The distribution of the transcript, given that of one answer when the hidden noise Lap(scale) is known.

    Halting is the letter T; after each but the last the hidden noise is drawn afresh.
    """
    hidden, weights = _laplace_nodes(scale, kinks)
    tables = [answers(query, hidden) for query in queries]
    law: Law = {}

    def play(transcript: str, mass: np.ndarray, left: int) -> None:
        if left == 0 or len(transcript) == len(queries):
            law[transcript] = float(mass.sum())
            return
        for letter, probability in tables[len(transcript)].items():
            if letter == "T":
                play(transcript + letter, weights * (mass * probability).sum(), left - 1)
            else:
                play(transcript + letter, mass * probability, left)

    play("", weights, halts)
    return law


def between_law(
    queries: Sequence[float],
    *,
    lower: float,
    upper: float,
    epsilon: float,
    size: int,
    halts: int = 1,
    letters: str = "LTR",
) -> Law:
    """Transcripts of BetweenThresholds (Appendix C.2) over L, T and R; letters="T." joins L and R."""
    scale = 6 / (epsilon * size)

    def answers(query: float, mu: np.ndarray) -> Mapping[str, np.ndarray]:
        below = stats.laplace.cdf((lower + mu - query) / scale)
        above = stats.laplace.sf((np.maximum(upper - mu, lower + mu) - query) / scale)
        top = 1 - below - above
        return {"T": top, ".": 1 - top} if letters == "T." else {"L": below, "T": top, "R": above}

    kinks = [(upper - lower) / 2, *(q - lower for q in queries), *(upper - q for q in queries)]
    return sparse_vector_law(queries, answers, scale=2 / (epsilon * size), kinks=kinks, halts=halts)


def above_law(
    queries: Sequence[float], *, threshold: float, epsilon: float, sensitivity: float, halts: int = 1
) -> Law:
    """Transcripts of AboveThreshold (Dwork and Roth, Algorithm 1): T for above, a point for below."""
    scale = 4 * sensitivity / epsilon

    def answers(query: float, noise: np.ndarray) -> Mapping[str, np.ndarray]:
        above = stats.laplace.sf((threshold + noise - query) / scale)
        return {"T": above, ".": 1 - above}

    kinks = [q - threshold for q in queries]
    return sparse_vector_law(queries, answers, scale=2 * sensitivity / epsilon, kinks=kinks, halts=halts)


def halting_law(law: Law, halts: int) -> Law:
    """The distribution of the number of answers at which a game halts, "on" if it continues."""
    times: Law = {}
    for transcript, probability in law.items():
        time = str(len(transcript)) if transcript.count("T") == halts else "on"
        times[time] = times.get(time, 0.0) + probability
    return times


def selection_law(scores: Sequence[float], *, epsilon: float, sensitivity: float) -> np.ndarray:
    """The exponential mechanism's probabilities."""
    weights = np.exp(epsilon * np.asarray(scores) / (2 * sensitivity))
    return weights / weights.sum()


def _laplace_nodes(scale: float, kinks: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    # Gauss–Legendre between neighbouring kinks of the integrand; beyond 40 scales lies a mass of e^-40.
    cuts = np.unique([*(scale * np.linspace(-40, 40, 81)), *kinks])
    cuts = cuts[np.abs(cuts) <= 40 * scale]
    points, weights = np.polynomial.legendre.leggauss(12)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    nodes = middle[:, None] + half[:, None] * points
    masses = half[:, None] * weights * stats.laplace.pdf(nodes, scale=scale)
    return nodes.ravel(), masses.ravel()


# --- naive references, one game, line by line from the listings ---------------------------------------------


def naive_between(
    queries: Sequence[float],
    noise: Callable[[float], float],
    *,
    lower: float,
    upper: float,
    epsilon: float,
    size: int,
    halts: int = 1,
) -> str:
    """The transcript of one game of BetweenThresholds; noise(scale) draws one Laplace number."""
    mu = noise(2 / (epsilon * size))
    transcript = ""
    for query in queries:
        noisy = query + noise(6 / (epsilon * size))
        if noisy < lower + mu:
            transcript += "L"
        elif noisy > upper - mu:
            transcript += "R"
        else:
            transcript += "T"
            if transcript.count("T") == halts:
                break
            mu = noise(2 / (epsilon * size))
    return transcript


def naive_above(
    queries: Sequence[float],
    noise: Callable[[float], float],
    *,
    threshold: float,
    epsilon: float,
    sensitivity: float,
    halts: int = 1,
) -> str:
    """The transcript of one game of AboveThreshold."""
    noisy_threshold = threshold + noise(2 * sensitivity / epsilon)
    transcript = ""
    for query in queries:
        if query + noise(4 * sensitivity / epsilon) >= noisy_threshold:
            transcript += "T"
            if transcript.count("T") == halts:
                break
            noisy_threshold = threshold + noise(2 * sensitivity / epsilon)
        else:
            transcript += "."
    return transcript


# --- what a mechanism answered ------------------------------------------------------------------------------

Mechanism = AboveThreshold | BetweenThresholds


def transcribe(mechanism: Mechanism, queries: np.ndarray) -> np.ndarray:
    """(n,) of strings: the transcripts of the queries (k,) or (k, n)."""
    letters = []
    for values in queries:
        halted = mechanism.halted.copy()
        answer = np.where(mechanism.respond(values), b"R", b"L")
        if isinstance(mechanism, AboveThreshold):
            answer = np.where(answer == b"R", b"T", b".")
        else:
            answer = np.where(mechanism.between, b"T", answer)
        letters.append(np.where(halted, b"", answer))
    rows = np.ascontiguousarray(np.array(letters, dtype="S1").T)
    return rows.view(f"S{len(letters)}").ravel().astype(str)


# Check that transcripts, or other strings, follow a distribution.
check_transcripts = partial(check_views, rate=RATE)


# --- the checks ---------------------------------------------------------------------------------------------


def check_laplace_law(
    rng: np.random.Generator, fill: Callable[..., Any] = laplace, *, scale: float = 1.0
) -> None:
    """The distribution, and that the signs of neighbours are independent. Two checks."""
    table = np.empty((171, 8192))
    for row in table:
        fill(rng, row, scale)
    check_cdf(table, lambda x: stats.laplace.cdf(x, scale=scale), effect=0.005, **SURE)
    signs = np.sign(table.reshape(-1, 2))
    check_mean(signs[:, 0] * signs[:, 1], 0, bounds=(-1, 1), effect=0.02, **SURE)


def check_selection(
    rng: np.random.Generator, choose: Callable[..., np.ndarray] = exponential_mechanism
) -> None:
    """Even games have one row of scores, odd games another, with an option ruled out in each. Two checks."""
    games, rows = 600_000, ([0.0, 3.0, 1.0, 9.0], [-2.0, 9.0, 0.0, 1.0])
    scores, allowed = np.empty((games, 4)), np.ones((games, 4), dtype=bool)
    for parity, row in enumerate(rows):
        scores[parity::2] = row
        allowed[parity::2, np.argmax(row)] = False
    chosen = choose(rng, scores, epsilon=2.0, sensitivity=3.0, allowed=allowed)
    for parity, row in enumerate(rows):
        options = np.delete(np.arange(4), np.argmax(row))
        law = np.zeros(4)
        law[options] = selection_law(np.array(row)[options], epsilon=2.0, sensitivity=3.0)
        check_counts(np.bincount(chosen[parity::2], minlength=4), law, effect=0.01, **SURE)


@attrs.frozen
class Family:
    """The mechanisms of one listing: settings, distribution, naive reference, and queries for the checks.

    queries: of even and of odd games. pair: the same, of two queries. tie: a query of which all are asked.
    effects: the smallest errors that the checks of transcripts and of neighbours must detect.
    """

    kind: type[Any]
    settings: dict[str, Any]
    law: Callable[..., Law]
    naive: Callable[..., str]
    queries: list[list[float]]
    pair: list[list[float]]
    tie: float
    effects: tuple[float, float]

    def check(self, rng: np.random.Generator, kind: type[Any] | None = None) -> None:
        """A few queries and two halts, others in even games than in odd games. Two checks."""
        games, queries = 1_200_000, np.array(self.queries)
        table = (kind or self.kind)(games, rng, **self.settings, halts=2)
        transcripts = transcribe(table, np.tile(queries, games // 2))
        for parity in range(2):
            law = self.law(queries[:, parity], **self.settings, halts=2)
            check_transcripts(transcripts[parity::2], law, effect=self.effects[0])

    def check_neighbours(self, rng: np.random.Generator, kind: type[Any] | None = None) -> None:
        """Two queries: the transcripts of neighbouring games are independent. One check."""
        games, queries = 800_000, np.array(self.pair)
        table = (kind or self.kind)(games, rng, **self.settings)
        transcripts = transcribe(table, np.tile(queries, games // 2))
        pairs = np.char.add(np.char.add(transcripts[::2], "|"), transcripts[1::2])
        laws = [self.law(queries[:, parity], **self.settings) for parity in range(2)]
        joint = {f"{a}|{b}": p * q for a, p in laws[0].items() for b, q in laws[1].items()}
        check_transcripts(pairs, joint, effect=self.effects[1])

    def check_halting(self, rng: np.random.Generator, kind: type[Any] | None = None) -> None:
        """When a game with three halts stops, if every query is a tie. One check."""
        halts, queries = 3, [self.tie] * 8
        table = (kind or self.kind)(500_000, rng, **self.settings, halts=halts)
        transcripts = transcribe(table, np.array(queries))
        stopped = np.char.count(transcripts, "T") == halts
        times = np.where(stopped, np.char.str_len(transcripts).astype(str), "on")
        joined = {"letters": "T."} if self.kind is BetweenThresholds else {}
        law = halting_law(self.law(queries, **self.settings, halts=halts, **joined), halts)
        check_transcripts(times, law, effect=0.008)


OF_BETWEEN = Family(
    BetweenThresholds,
    BETWEEN,
    between_law,
    naive_between,
    queries=[[0.5, 0.2], [0.45, 0.55], [0.5, 0.7]],
    pair=[[0.5, 0.4], [0.6, 0.5]],
    tie=0.5,
    effects=(0.006, 0.006),
)
OF_ABOVE = Family(
    AboveThreshold,
    ABOVE,
    above_law,
    naive_above,
    queries=[[3.0, 2.0], [2.5, 4.0], [3.5, 3.0], [2.0, 1.0]],
    pair=[[3.0, 2.0], [2.0, 4.0]],
    tie=3.0,
    effects=(0.007, 0.008),
)

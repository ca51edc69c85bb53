"""Concept classes at work: teachers trained a second, and games of LabelBoost a second, on one core.

Teachers: an empirical risk minimiser for each of many chunks at once, of points and a concept at random, as
they are and with a tenth of the labels flipped. LabelBoost: games of 64 points, 16 of them labelled.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from tabulate import tabulate

from arena import Unsupported
from arena.concepts import ConceptClass, parse_concept_class
from learners.everlasting.generic_bbl_state import label_boost

NAMES = (
    "thresholds",
    "points",
    "intervals",
    "boxes:2",
    "boxes:3",
    "stumps:8",
    "halfplanes",
    "encrypted:4096,1",
    "rectangles:8x8",
    "lists:4",
)
CHUNKS = (5, 25, 100)
NOISE = (0.0, 0.1)
POINTS, LABELLED = 64, 16
SECONDS = 0.4  # that a measurement takes at least


def sample(concepts: ConceptClass, shape: tuple[int, int], noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (*shape, ...), and their labels by one concept, flipped with chance `noise`."""
    rng = np.random.default_rng(0)
    flat = concepts.draw_points(rng, shape[0] * shape[1])
    labels = concepts.labels(concepts.draw_concept(rng)[None], flat)[0] ^ (rng.random(len(flat)) < noise)
    return flat.reshape(*shape, *concepts.point_shape), labels.reshape(shape)


def rate(work: Callable[[int], None]) -> float:
    """Units of work a second: `work(n)` does n of them, n doubled until that takes long enough."""
    units = 1
    while True:
        work(units)  # what is kept for the next time is not counted
        start = time.perf_counter()
        work(units)
        seconds = time.perf_counter() - start
        if seconds > SECONDS:
            return units / seconds
        units *= 2 if seconds > SECONDS / 8 else 8


def teachers(concepts: ConceptClass, chunk: int, noise: float) -> float:
    """Of a table of chunks, and not less than there is room for."""
    most = 2**20 // chunk
    points, labels = sample(concepts, (most, chunk), noise)

    def train(number: int) -> None:
        for start in range(0, number, most):
            some = slice(0, min(most, number - start))
            concepts.erm(points[some], labels[some])

    return rate(train)


def measure_label_boost(concepts: ConceptClass) -> float:
    most = 2**12
    points, labels = sample(concepts, (most, POINTS), 0.1)
    rng = np.random.default_rng(1)
    held = np.broadcast_to(np.arange(POINTS) < LABELLED, labels.shape)

    def boost(number: int) -> None:
        for start in range(0, number, most):
            some = slice(0, min(most, number - start))
            label_boost(
                rng,
                concepts,
                points=points[some],
                zeros=(held & ~labels)[some].astype(int),
                ones=(held & labels)[some].astype(int),
                present=np.ones(labels[some].shape, bool),
            )

    return rate(boost)


def format_label_boost(concepts: ConceptClass) -> str:
    try:
        return f"{measure_label_boost(concepts):,.1f}"
    except Unsupported:  # too many labellings
        return "refused"


def main() -> None:
    rows = []
    for name in NAMES:
        concepts = parse_concept_class(name)
        trained = [f"{teachers(concepts, chunk, noise):,.0f}" for chunk in CHUNKS for noise in NOISE]
        rows.append((name, f"{concepts.vc_dimension}", *trained, format_label_boost(concepts)))
    headers = [f"{chunk}{', noisy' if noise else ''}" for chunk in CHUNKS for noise in NOISE]
    print(f"Teachers a second by the size of their chunks; games of LabelBoost a second, of {POINTS} points")
    right = ("left", *["right"] * (len(headers) + 2))
    print(tabulate(rows, ("class", "VC", *headers, "LabelBoost"), disable_numparse=True, colalign=right))


if __name__ == "__main__":
    main()

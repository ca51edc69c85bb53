"""Which concepts agree with what games have seen, and the best in hindsight: against going through all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.concepts import (
    ConceptClass,
    DecisionLists,
    FiniteClass,
    Functions,
    Intervals,
    Points,
    Rectangles,
    Thresholds,
    Variables,
)
from arena.concepts.consistency import MAX_LABELS, Hindsight, version_spaces
from arena.errors import InvalidArgument, Unsupported

CLASSES: list[ConceptClass] = [
    Thresholds(range(1, 8)),
    Thresholds((0.5, 1, 4)),
    Points(range(70)),  # more than a word of concepts
    Intervals(range(12)),
    Rectangles((3, 2)),
    FiniteClass([[0, 0, 1], [0, 1, 1], [0, 1, 1], [1, 0, 1]]),
    FiniteClass(np.ones((1, 1), bool)),
    Functions(Points(range(3)), [[0, 0, 0], [1, 1, 0]]),
    DecisionLists(Variables(2)),
]


def games_of(
    concept_class: ConceptClass, games: int, rounds: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sequences (rounds, games), each game's own, most labels as one concept has them."""
    rng = np.random.default_rng(seed)
    domain = np.array(concept_class.domain)
    x = domain[rng.integers(0, len(domain), (rounds, games))]
    labels = concept_class.dichotomies(domain).labels
    hidden = labels[rng.integers(0, len(labels), games)]
    y = np.stack(
        [hidden[np.arange(games), concept_class.domain_indices(concept_class.check(row))] for row in x]
    )
    return x, (y ^ (rng.random((rounds, games)) < 0.1)).astype(np.int8)


def mistakes(concept_class: ConceptClass, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(concepts,): those of every labelling on one game's examples."""
    labels = concept_class.dichotomies(np.array(concept_class.domain)).labels
    return (labels[:, concept_class.domain_indices(concept_class.check(x))] != y).sum(axis=1)


@pytest.mark.thorough
@pytest.mark.parametrize("concept_class", CLASSES, ids=str)
@pytest.mark.parametrize("games", [0, 1, 40])
def test_both_agree_with_going_through_the_concepts(concept_class: ConceptClass, games: int) -> None:
    x, y = games_of(concept_class, games, 25, seed=3)
    spaces, best = version_spaces(concept_class, games), Hindsight(concept_class, games)
    assert best.least().tolist() == [0] * games
    for t in range(len(x)):
        agreeing = spaces.add(x[t], y[t])
        best.add(x[t], y[t])
        least = [int(mistakes(concept_class, x[: t + 1, g], y[: t + 1, g]).min()) for g in range(games)]
        assert best.least().tolist() == least
        assert agreeing.tolist() == [number == 0 for number in least]
    assert best.least().dtype == np.int64


@given(
    st.lists(
        st.tuples(st.floats(-2, 2) | st.sampled_from([0.0, -0.0, 1.0]), st.integers(0, 1)),
        min_size=1,
        max_size=12,
    )
)
def test_thresholds_on_the_line_keep_two_numbers(examples: list[tuple[float, int]]) -> None:
    spaces = version_spaces(Thresholds(), 1)
    seen: list[tuple[float, int]] = []
    for x, y in examples:
        seen.append((x, y))
        agreeing = spaces.add(np.array([x]), np.array([y]))
        candidates = [*(point for point, _ in seen), np.inf]
        assert agreeing.tolist() == [any(all((p >= t) == bool(z) for p, z in seen) for t in candidates)]


def test_long_games_and_large_domains_of_thresholds() -> None:
    concept_class = Thresholds(range(100_000))
    rng = np.random.default_rng(1)
    spaces, best = version_spaces(concept_class, 30), Hindsight(concept_class, 30)
    x = rng.integers(0, 100_000, (50, 30)).astype(float)
    y = ((x >= 40_000) ^ (rng.random(x.shape) < 0.3)).astype(np.int8)
    for points, labels in zip(x, y, strict=True):
        agreeing = spaces.add(points, labels)
        best.add(points, labels)
    for game in range(30):
        candidates = np.append(x[:, game], np.inf)
        least = ((x[:, game] >= candidates[:, None]) != y[:, game]).sum(axis=1).min()
        assert best.least()[game] == least
        assert agreeing[game] == (least == 0)


def test_points_outside_the_domain_are_refused() -> None:
    for made in (version_spaces, Hindsight):
        for concept_class in (Thresholds(range(4)), Points(range(4))):
            with pytest.raises(InvalidArgument, match="a point must be one of the 4 points"):
                made(concept_class, 1).add(np.array([7.0]), np.array([1]))


@pytest.mark.parametrize("concept_class", [Points(range(5_000)), Intervals(range(400))])
def test_classes_that_are_too_large_are_refused_before_they_are_made(concept_class: ConceptClass) -> None:
    for made in (version_spaces, Hindsight):
        with pytest.raises(
            Unsupported, match=rf"labels \(concepts × points\), more than {MAX_LABELS:,}"
        ) as refusal:
            made(concept_class, 1)
        assert refusal.value.remedy == "Choose a smaller domain."


def test_unsupported_classes_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"^Thresholds\(\) has no finite domain, so its concepts cannot"):
        Hindsight(Thresholds(), 1)
    with pytest.raises(Unsupported, match="1,000,000 games of 300 points need more than 268,435,456 counts"):
        Hindsight(Thresholds(range(300)), 1_000_000)

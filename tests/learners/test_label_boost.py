"""LabelBoost against its own listing, played out game by game."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import check_counts, rejected, statistical

from arena.concepts import ConceptClass, FiniteClass, Thresholds
from learners import label_boost as module
from learners.label_boost import label_boost

RATE = 1e-8
GAMES = 300_000
CHAIN = FiniteClass(np.tri(4, 5, -1).astype(bool)[:, ::-1])  # thresholds on 0..4, upside down


def law(concept_class: ConceptClass, labelled: list[tuple[float, int]], unlabelled: list[float]) -> dict:
    """Steps 1 to 4 as listed: labelling of the points present -> probability."""
    points = np.array(sorted({x for x, _ in labelled} | set(unlabelled)))
    options = concept_class.dichotomies(points)
    at = {x: i for i, x in enumerate(points.tolist())}
    errors = np.array([sum(row[at[x]] != y for x, y in labelled) for row in options.labels])
    weights = np.exp(-errors / 2.0)  # ε = 1, sensitivity 1
    return {
        tuple(row): w
        for row, w in zip(options.labels.astype(int).tolist(), weights / weights.sum(), strict=True)
    }


LABELLED = [(0.0, 0), (1.0, 1), (1.0, 1), (1.0, 0), (3.0, 1)]
UNLABELLED = [2.0, 0.0, 4.0]


def boosted(concept_class: ConceptClass, rng: np.random.Generator, games: int) -> np.ndarray:
    """Concepts for S∘T as above, with a point in the arrays that does not occur."""
    columns = [(x, y == 0, y == 1, True) for x, y in LABELLED]
    columns += [(x, 0, 0, True) for x in UNLABELLED] + [
        (2.5 if concept_class == Thresholds() else 2.0, 0, 0, False)
    ]
    points, zeros, ones, present = (np.broadcast_to(c, (games, 9)) for c in zip(*columns, strict=True))
    return label_boost(
        rng, concept_class, points=points, zeros=zeros, ones=ones, present=present.astype(bool)
    )


def observed(concept_class: ConceptClass, concepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    expected = law(concept_class, LABELLED, UNLABELLED)
    held, counts = np.unique(concepts, return_counts=True)
    rows = concept_class.labels(held, np.arange(5.0)).astype(int)
    seen = dict.fromkeys(expected, 0)
    for row, count in zip(rows.tolist(), counts, strict=True):
        seen[tuple(row)] += int(count)
    return np.array(list(seen.values())), np.array(list(expected.values()))


@statistical(rate=2 * RATE)
@pytest.mark.parametrize("concept_class", [Thresholds(), CHAIN], ids=["thresholds", "finite"])
def test_concepts_follow_the_exponential_mechanism(
    concept_class: ConceptClass, rng: np.random.Generator
) -> None:
    seen, expected = observed(concept_class, boosted(concept_class, rng, GAMES))
    check_counts(seen, expected, rate=RATE, effect=0.01, power=1 - 1e-8)


@statistical(rate=2 * RATE)
@pytest.mark.parametrize("concept_class", [Thresholds(), CHAIN], ids=["thresholds", "finite"])
def test_another_selection_budget_would_be_noticed(
    concept_class: ConceptClass, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SELECTION_EPSILON", 1.25)
    seen, expected = observed(concept_class, boosted(concept_class, rng, GAMES))
    with rejected():
        check_counts(seen, expected, rate=RATE, effect=0.01, power=1 - 1e-8)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=6)
)
def test_concepts_are_dichotomies_of_what_occurs(columns: list[tuple[int, int, int, bool]]) -> None:
    """Duplicates, points that do not occur, no points at all: H holds +∞ and points that occur, nothing
    else.
    """
    if not columns:
        columns = [(0, 0, 0, False)]
    points, zeros, ones, present = (
        np.array(c, float)[None].repeat(40, axis=0) for c in zip(*columns, strict=True)
    )
    there = (present > 0) | (zeros + ones > 0)
    chosen = label_boost(
        np.random.default_rng(0), Thresholds(), points=points, zeros=zeros, ones=ones, present=there
    )
    assert set(chosen.tolist()) <= {*points[there].tolist(), np.inf}


def test_no_games(rng: np.random.Generator) -> None:
    nothing = np.zeros((0, 3))
    concepts = label_boost(
        rng, Thresholds(), points=nothing, zeros=nothing, ones=nothing, present=nothing.astype(bool)
    )
    assert concepts.shape == (0,)


def test_slabs_do_not_change_the_law(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SLAB", 20)
    assert boosted(Thresholds(), rng, 7).shape == (7,)

"""BooleanFeatures and decision lists, against plain readings of their definitions."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.concepts import Conjunctions, DecisionLists, FiniteClass, Literals, Variables
from arena.errors import InvalidArgument, Unsupported

SMALL = [DecisionLists(kind) for kind in (Variables(1), Variables(2), Variables(3), Literals(2))]


def naive_label(codes: list[int], held: list[bool]) -> bool:
    for code in codes:
        if code >= 0 and [*held, True][code // 2]:
            return bool(code % 2)
    return False


class TestFeatures:
    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_conjunctions_are_counted_as_proposition_a9_does(self, d: int, k: int) -> None:
        spec = Conjunctions(d, k)
        assert spec.count == sum(math.comb(d, j) * 2**j for j in range(1, k + 1))
        assert spec.count + 1 <= (2 * d + 1) ** k  # with "true": k times a literal or none
        assert len(set(spec.names())) == len(spec.names()) == spec.count

    def test_conjunctions_hold_where_all_their_literals_do(self) -> None:
        spec = Conjunctions(3, 2)
        for x in product((0, 1), repeat=3):
            literals = [bool(v) for v in x] + [not v for v in x]
            pairs = [(i, j) for i, j in combinations(range(6), 2) if j - i != 3]
            plain = literals + [literals[i] and literals[j] for i, j in pairs]
            assert spec.evaluate(x).tolist() == plain

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: Variables(0), "d must be at least 1, got 0"),
            (lambda: Conjunctions(3, 0), "k must be at least 1, got 0"),
            (lambda: Conjunctions(500, 3), r"k=3\) has 166,168,000 features, more than 1,000,000"),
            (lambda: Variables(2).evaluate([0, 1, 1]), r"a point must have shape \(2,\), got \(3,\)"),
            (lambda: Variables(2).evaluate([[0, 1], [0, 2]]), "coordinate 1 of point 1 is neither, got 2"),
            (lambda: Variables(2).evaluate([0.5, 1]), "must be 0 or 1; coordinate 0 is neither, got 0.5"),
            (lambda: Variables(2).names(["a"]), "2 coordinates need as many names, got 1"),
        ],
    )  # fmt: skip
    def test_refusals(self, call: Any, message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            call()


class TestConcepts:
    @pytest.mark.parametrize("spec", [*SMALL, DecisionLists(Conjunctions(3, 2))], ids=str)
    def test_labels_are_those_of_the_first_rule_that_holds(self, spec: DecisionLists) -> None:
        rng = np.random.default_rng(1)
        lists = rng.integers(-1, 2 * spec.max_rules, (60, 5))
        lists[np.maximum.accumulate(lists == -1, axis=1)] = -1
        points = np.array(spec.domain)
        held = spec.features.evaluate(points).tolist()
        plain = [[naive_label(codes, row) for row in held] for codes in lists.tolist()]
        assert spec.labels(lists, points).tolist() == plain
        own = rng.integers(0, len(points), 60)
        assert spec.label(lists, points[own]).tolist() == [row[i] for row, i in zip(plain, own, strict=True)]

    def test_every_lists_all_and_each_once(self) -> None:
        every = DecisionLists(Variables(2)).all_lists()
        assert len({tuple(row) for row in every.tolist()}) == len(every) == 2 * (1 + 2 * 2 + 2 * 4)

    @pytest.mark.parametrize("spec", SMALL, ids=str)
    def test_dichotomies_are_the_functions_of_all_lists(self, spec: DecisionLists) -> None:
        points = np.array(spec.domain)
        found = spec.dichotomies(points)
        all_lists = spec.labels(spec.all_lists(), points)
        assert {tuple(row) for row in found.labels.tolist()} == {tuple(row) for row in all_lists.tolist()}
        assert len(np.unique(found.labels, axis=0)) == len(found)
        assert (spec.labels(found.concepts, points) == found.labels).all()
        assert spec.vc_dimension == FiniteClass(all_lists).vc_dimension

    @pytest.mark.parametrize("spec", SMALL[:3], ids=str)
    def test_the_list_of_a_labelling_is_the_first_in_the_stated_order(self, spec: DecisionLists) -> None:
        points = np.array(spec.domain)[1:]
        by_rank = sorted(_with_open_ends(spec).tolist(), key=lambda row: _rank(row, spec))
        first: dict[tuple[bool, ...], list[int]] = {}
        for row, labels in zip(by_rank, spec.labels(np.array(by_rank), points).tolist(), strict=True):
            first.setdefault(tuple(labels), row)
        found = spec.dichotomies(points)
        assert found.concepts.tolist() == list(first.values())
        assert [tuple(row) for row in found.labels.tolist()] == list(first)

    def test_erm_of_many_points_goes_sample_by_sample(self) -> None:
        spec = DecisionLists(Variables(6))
        rng = np.random.default_rng(3)
        points = rng.integers(0, 2, (9, 5, 6))
        labels = rng.integers(0, 2, (9, 5))
        together = spec.erm(points, labels)
        assert (together == np.stack([spec.erm(*one) for one in zip(points, labels, strict=True)])).all()

    @given(st.lists(st.integers(0, 7), max_size=6))
    def test_the_text_says_what_the_list_does(self, codes: list[int]) -> None:
        spec = DecisionLists(Variables(3))
        points = np.array(spec.domain)
        row = np.array([*codes, *[-1] * (6 - len(codes))])
        said = spec.rules(row)
        for x, label in zip(points, spec.labels(row[None], points)[0], strict=True):
            decides = next(s for s in said if "if" not in s or x[int(s.split("x")[1][0])])
            assert int(decides.split()[-1]) == label

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: DecisionLists(Variables(5)).vc_dimension, "16 points with distinct features, not 32"),
            (lambda: DecisionLists(Variables(11)).vc_dimension, "has 2,048 points, too many"),
            (lambda: DecisionLists(Variables(7)).all_lists(), "lists over 7 features, more than 200,000"),
            (lambda: DecisionLists(Variables(11)).domain_indices(np.zeros((1, 11), int)), "no finite domain"),
        ],
    )
    def test_what_is_too_large(self, call: Any, message: str) -> None:
        with pytest.raises(Unsupported, match=message):
            call()
        assert DecisionLists(Variables(11)).domain is None


def _with_open_ends(spec: DecisionLists) -> np.ndarray:
    """All lists without a repeat, those included that end without "true"."""
    every = spec.all_lists()
    last = (every >= 2 * spec.features.count) & (every >= 0)
    return np.unique(np.concatenate([every, np.where(last, -1, every)]), axis=0)


def _rank(row: list[int], spec: DecisionLists) -> list[int]:
    true = 2 * spec.features.count
    return [code if code < 0 else code - true if code >= true else code + 2 for code in row]

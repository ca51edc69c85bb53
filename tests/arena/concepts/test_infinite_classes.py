"""Classes on infinite domains against their definitions, concept by concept."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, permutations
from math import comb
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.concept_laws import NAIVE_CLASSES, NaiveClass, as_array, halfplanes, separable

from arena.concepts import (
    Boxes,
    ConceptClass,
    EncryptedThresholds,
    Halfplanes,
    RealIntervals,
    RealPoints,
    Stumps,
    Thresholds,
    base,
)
from arena.errors import Unsupported

NAMES = list(NAIVE_CLASSES)
few = settings(max_examples=15)
each = pytest.mark.parametrize("name", NAMES)


def take_points(data: st.DataObject, naive: NaiveClass, most: int = 6, least: int = 0) -> list:
    return data.draw(st.lists(st.sampled_from(naive.points), min_size=least, max_size=most))


def rows(labels: np.ndarray) -> list[tuple[bool, ...]]:
    return [tuple(row) for row in labels.tolist()]


@each
class TestDichotomies:
    @pytest.mark.thorough
    @few
    @given(data=st.data())
    def test_are_all_labellings_once(self, name: str, data: st.DataObject) -> None:
        naive = NAIVE_CLASSES[name]
        points = take_points(data, naive, most=5)
        array = as_array(naive, points)
        found = naive.spec.dichotomies(array)
        listed = rows(found.labels)
        assert len(set(listed)) == len(listed)
        assert set(listed) == naive.labellings(points)
        assert (naive.spec.labels(found.concepts, array) == found.labels).all()
        assert len(listed) <= naive.spec.growth_bound(len(set(points)))

    def test_no_points_have_one_labelling(self, name: str) -> None:
        naive = NAIVE_CLASSES[name]
        found = naive.spec.dichotomies(as_array(naive, []))
        assert found.labels.shape == (1, 0)
        assert naive.spec.growth_bound(0) == 1


@each
class TestErm:
    @pytest.mark.thorough
    @few
    @given(data=st.data())
    def test_is_the_first_of_the_best(self, name: str, data: st.DataObject) -> None:
        naive = NAIVE_CLASSES[name]
        points = take_points(data, naive)
        size = len(points)
        labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), int)
        weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), int)
        array = as_array(naive, points)
        there = weights > 0
        ways = naive.spec.dichotomies(array[there])
        wrong = (ways.labels != labels[there]) @ weights[there]
        best = naive.spec.erm(array, labels, weights)
        if naive.spec.lists_minimisers:
            assert best.tolist() == ways.concepts[wrong.argmin()].tolist()
        if there.any():
            said = naive.spec.labels(best[None], array[there])[0]
            assert (said != labels[there]) @ weights[there] == wrong.min()
        # Copies for weights, another order, weights beyond 64 bits.
        copies = np.repeat(np.arange(size), weights)
        order = np.array(data.draw(st.permutations(copies.tolist())), int)
        assert naive.spec.erm(array[order], labels[order]).tolist() == best.tolist()
        huge = naive.spec.erm(array, labels, weights.astype(np.uint64) << np.uint64(61))
        assert huge.tolist() == best.tolist()

    @pytest.mark.thorough
    @few
    @given(data=st.data())
    def test_is_listed_for_more_points(self, name: str, data: st.DataObject) -> None:
        naive = NAIVE_CLASSES[name]
        if not naive.spec.lists_minimisers:
            return
        points, more = take_points(data, naive, 4, 1), take_points(data, naive, 3)
        labels = data.draw(st.lists(st.integers(0, 1), min_size=len(points), max_size=len(points)))
        best = naive.spec.erm(as_array(naive, points), labels)
        assert best.tolist() in naive.spec.dichotomies(as_array(naive, points + more)).concepts.tolist()

    @pytest.mark.thorough
    def test_of_many_samples_is_that_of_each(self, name: str, rng: np.random.Generator) -> None:
        spec = NAIVE_CLASSES[name].spec
        for size, samples in ((0, 3), (1, 40), (5, 300), (30, 20)):
            points = spec.draw_points(rng, samples * size).reshape(samples, size, *spec.point_shape)
            if rng.random() < 0.5 or size == 5:
                points = np.round(points * 4) if spec.domain is None else points
            labels = rng.integers(0, 2, (samples, size))
            weights = rng.integers(0, 3, (samples, size))
            for given_weights in (None, weights):
                table = spec.erm(points, labels, given_weights)
                for i in range(0, samples, 1 if samples < 50 else 17):
                    one = spec.erm(points[i], labels[i], None if given_weights is None else weights[i])
                    assert one.tolist() == table[i].tolist()


@each
class TestSolutions:
    @pytest.mark.thorough
    @few
    @given(data=st.data())
    def test_are_the_dichotomies_of_what_is_present(self, name: str, data: st.DataObject) -> None:
        naive = NAIVE_CLASSES[name]
        size = data.draw(st.integers(0, 5))
        points = [take_points(data, naive, size, size) for _ in range(3)]
        array = np.stack([as_array(naive, row) for row in points])
        flags = st.lists(st.booleans(), min_size=size, max_size=size)
        present = np.array([data.draw(flags) for _ in points], bool).reshape(3, size)
        numbers = st.lists(st.integers(-3, 3), min_size=size, max_size=size)
        signs = np.array([data.draw(numbers) for _ in points], int).reshape(3, size)
        found = naive.spec.candidate_concepts(array, signs, present)
        assert found.counted.any(axis=1).all()
        seen: list[dict] = [{} for _ in points]
        for place in range(found.gains.shape[1]):
            concepts = found.concepts(np.full(3, place)) if found.counted[:, place].all() else None
            for i in np.flatnonzero(found.counted[:, place]):
                if concepts is None:
                    which = found.counted.argmax(axis=1)
                    which[i] = place
                    concept = found.concepts(which)[i]
                else:
                    concept = concepts[i]
                labels = naive.spec.labels(concept[None], array[i][present[i]])[0] if present[i].any() else []
                key = tuple(np.array(labels, bool).tolist())
                assert key not in seen[i]
                seen[i][key] = float(found.gains[i, place])
        for i, row in enumerate(points):
            there = [x for x, here in zip(row, present[i], strict=True) if here]
            weights = signs[i][present[i]]
            assert seen[i] == {key: float(np.array(key, bool) @ weights) for key in naive.labellings(there)}

    def test_of_no_samples(self, name: str) -> None:
        spec = NAIVE_CLASSES[name].spec
        found = spec.candidate_concepts(
            np.zeros((0, 2, *spec.point_shape)), np.zeros((0, 2)), np.zeros((0, 2), bool)
        )
        concepts = found.concepts(np.zeros(0, int))
        assert len(found.gains) == 0
        assert concepts.shape == (0, *spec.erm(np.zeros((0, 1, *spec.point_shape)), [1]).shape[1:])

    def test_absent_points_need_not_be_valid(self, name: str) -> None:
        naive = NAIVE_CLASSES[name]
        array = as_array(naive, [naive.points[1], naive.points[0]])[None].astype(float)
        array[0, 1] = -77.5
        found = naive.spec.candidate_concepts(array, [[1, 5]], np.array([[True, False]]))
        assert np.unique(found.gains[found.counted]).tolist() in ([0.0, 1.0], [0.0], [1.0])


class TestLimits:
    @pytest.mark.parametrize(
        ("spec", "points"), [(RealIntervals(), 1_500), (Boxes(2), 80), (Halfplanes(), 1_100)], ids=str
    )
    def test_too_many_labellings_are_refused_before_they_are_made(
        self, spec: ConceptClass, points: int
    ) -> None:
        array = np.random.default_rng(0).random((points, *spec.point_shape))
        most = spec.growth_bound(points)
        message = f"may have {most:,} labellings of {points:,} points, more than the 1,048,576 that can be"
        message += " enumerated"
        with pytest.raises(Unsupported, match=message):
            spec.dichotomies(array)
        with pytest.raises(Unsupported, match=f"{message}. Use fewer points"):
            spec.candidate_concepts(array[None], np.ones((1, points)), np.ones((1, points), bool))

    @pytest.mark.thorough
    @pytest.mark.parametrize(("spec", "points"), [(Thresholds(), 1_100_000), (Stumps(2), 300_000)], ids=str)
    def test_a_few_labellings_a_point_are_never_too_many(self, spec: ConceptClass, points: int) -> None:
        array = np.random.default_rng(0).random((1, points, *spec.point_shape))
        found = spec.candidate_concepts(array, np.ones((1, points)), np.ones((1, points), bool))
        assert np.count_nonzero(found.counted) == spec.growth_bound(points) > 2**20

    # A false alarm with probability at most 1e-8.
    @pytest.mark.thorough
    @pytest.mark.statistical(rate=1e-8)
    def test_intervals_are_drawn_without_a_list(self, monkeypatch: pytest.MonkeyPatch) -> None:
        games, spec, rate = 20_000, RealIntervals(), 0.7
        points = np.tile([3.0, 1.0, 2.0, 2.0, 9.0], (games, 1))
        signs = np.tile([1.0, -2.0, 1.0, 1.0, 0.0], (games, 1))
        present = np.tile([True, True, True, True, False], (games, 1))
        rng = np.random.default_rng(1)
        assert spec.draw_unlisted(rng, points, signs, present, rate=rate) is None
        listed = spec.candidate_concepts(points[:1], signs[:1], present[:1])
        slots = np.flatnonzero(listed.counted[0])
        chances = np.exp(rate * listed.gains[0, slots])
        expected = {
            tuple(listed.concepts(np.array([slot]))[0].tolist()): chance / chances.sum()
            for slot, chance in zip(slots.tolist(), chances.tolist(), strict=True)
        }
        monkeypatch.setattr("arena.concepts.line.MAX_LABELLINGS", 1)
        drawn = spec.draw_unlisted(rng, points, signs, present, rate=rate)
        counts = Counter(map(tuple, drawn.tolist()))
        assert counts.keys() == expected.keys()
        for concept, chance in expected.items():
            assert stats.binomtest(counts[concept], games, chance).pvalue > 1e-8 / len(expected)

    def test_copies_do_not_count_where_dichotomies_are_gone_through(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        points = np.ones((1, 9, 2))
        monkeypatch.setattr("arena.concepts.base.MAX_LABELLINGS", 2)
        assert Boxes(2).candidate_concepts(points, np.ones((1, 9)), np.ones((1, 9), bool)).gains.tolist() == [
            [0, 9]
        ]

    def test_products_in_slabs_are_the_same(
        self, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
    ) -> None:
        points, signs = rng.random((2, 7, 2)), rng.integers(-2, 3, (2, 7))
        whole = Boxes(2).candidate_concepts(points, signs, np.ones((2, 7), bool)).gains
        monkeypatch.setattr(base, "_LABELLINGS_AT_ONCE", 3)
        assert (Boxes(2).candidate_concepts(points, signs, np.ones((2, 7), bool)).gains == whole).all()


class TestDimensions:
    @pytest.mark.parametrize(
        ("spec", "shattered"),
        [
            (RealPoints(), [0]),
            (RealIntervals(), [0, 1]),
            (Boxes(1), [[0], [1]]),
            (Boxes(2), [[0, 1], [0, -1], [1, 0], [-1, 0]]),
            (Boxes(3), np.concatenate([np.eye(3), -np.eye(3)])),
            (Halfplanes(), [[0, 0], [0, 1], [1, 0]]),
            (EncryptedThresholds(5, 1), [2]),
            (EncryptedThresholds(1, 1), [0]),
        ],
        ids=str,
    )
    def test_so_many_points_are_shattered_and_no_more(self, spec: ConceptClass, shattered: Any) -> None:
        assert spec.vc_dimension == len(shattered)
        assert len(spec.dichotomies(np.array(shattered))) == 2 ** len(shattered)
        rng = np.random.default_rng(5)
        for _ in range(20):
            more = spec.draw_points(rng, spec.vc_dimension + 1)
            assert len(spec.dichotomies(more)) < 2 ** len(more)

    @pytest.mark.parametrize("points", range(2, 8))
    def test_of_stumps_by_the_proof_in_their_docstring(self, points: int) -> None:
        """The orders are built as it says, and shatter; with one feature less Sperner's bound is broken."""
        orders = shattering_orders(points)
        features = len(orders)
        assert 2 * features - comb(points, points // 2) in (0, 1)
        ranks = np.argsort(orders, axis=1).T.astype(float)
        assert len(Stumps(features).dichotomies(ranks)) == 2**points
        assert Stumps(features).vc_dimension == points
        if features > 1:
            assert Stumps(features - 1).vc_dimension == points - 1

    @pytest.mark.parametrize(("features", "points"), [(1, 3), (2, 4), (3, 5)])
    def test_of_stumps_by_trying_all_orders(self, features: int, points: int) -> None:
        """One point more is not shattered, however the points are ordered; the first order may stay."""
        assert Stumps(features).vc_dimension == points - 1
        rest = list(permutations(range(points)))
        step = 1 if features < 3 else 41
        for orders in list(combinations(rest, features - 1))[::step]:
            ranks = np.array([range(points), *orders], float).T
            assert len(Stumps(features).dichotomies(ranks)) < 2**points


def shattering_orders(points: int) -> list[list[int]]:
    """Orders of `points` points such that every set of them begins one, or its complement does."""
    half = points // 2
    chains = {chain[-1]: chain for chain in growing_chains(points, half)}
    graph = nx.Graph()
    graph.add_nodes_from(chains)
    graph.add_edges_from((a, b) for a, b in combinations(chains, 2) if not a & b)
    pairs = list(nx.max_weight_matching(graph, maxcardinality=True))
    alone = set(chains) - {end for pair in pairs for end in pair}
    assert len(alone) <= 1
    orders = []
    for first, last in [*pairs, *((end, frozenset[int]()) for end in alone)]:
        ends = list_in_order(chains[first]), list_in_order(chains[last]) if last else []
        middle = [x for x in range(points) if x not in first | last]
        orders.append([*ends[0], *middle, *reversed(ends[1])])
    return orders


def growing_chains(points: int, half: int) -> list[list[frozenset[int]]]:
    """One chain of sets for each set of `half` points, which ends there; all smaller sets lie in one."""
    levels = [[frozenset(c) for c in combinations(range(points), size)] for size in range(1, half + 1)]
    chains = [[s] for s in levels[0]]
    for below, above in pairwise(levels):
        graph = nx.Graph()
        graph.add_nodes_from(below)
        graph.add_edges_from((a, b) for a in below for b in above if a < b)
        into = nx.bipartite.hopcroft_karp_matching(graph, below)
        chains = [[*chain, into[chain[-1]]] for chain in chains]
        ended = {chain[-1] for chain in chains}
        chains += [[s] for s in above if s not in ended]
    return chains


def list_in_order(chain: list[frozenset[int]]) -> list[int]:
    before, found = frozenset[int](), []
    for members in chain:
        found += sorted(members - before)
        before = members
    return found


class TestHalfplanes:
    @pytest.mark.parametrize("size", [1, 2, 3, 10, 40])
    def test_points_in_general_position_have_all_that_points_can_have(
        self, size: int, rng: np.random.Generator
    ) -> None:
        for points in (
            rng.random((size, 2)),
            rng.normal(size=(size, 2)) * 1e-9 + [1e-3, 0],
            1e60 * rng.random((size, 2)),
        ):
            assert len(Halfplanes().dichotomies(points)) == size * (size - 1) + 2

    @pytest.mark.parametrize("step", [(1, 1), (3, -7), (0, 5), (2, 0), (99_991, 100_003)])
    def test_points_on_a_line_begin_or_end_it(self, step: tuple[int, int]) -> None:
        points = np.arange(9)[:, None] * np.array(step) + [4, -5]
        assert len(Halfplanes().dichotomies(points)) == 2 * 9

    def test_large_whole_numbers(self, rng: np.random.Generator) -> None:
        """Three points on a line and one that misses it by one: whole numbers of 18 bits are told apart."""
        far = 2**18 - 1
        points = [
            (-float(far), -float(far)),
            (0.0, 0.0),
            (float(far), float(far)),
            (float(far - 1), float(far)),
        ]
        found = Halfplanes().dichotomies(np.array(points))
        assert set(rows(found.labels)) == halfplanes([(x / far, y - x) for x, y in points])

    def test_many_directions_are_gone_through_in_slabs(
        self, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("arena.concepts.halfplanes._LABELS_AT_ONCE", 10_000)
        assert len(Halfplanes().dichotomies(rng.random((100, 2)))) == 100 * 99 + 2

    @pytest.mark.parametrize("noise", [0.0, 0.1])
    @pytest.mark.parametrize("size", [5, 25])
    def test_erm_is_best_among_dichotomies(self, size: int, noise: float, rng: np.random.Generator) -> None:
        spec = Halfplanes()
        points = rng.random((40, size, 2))
        targets = np.array([spec.draw_concept(rng) for _ in points])
        labels = np.array([spec.labels(t[None], p)[0] for t, p in zip(targets, points, strict=True)])
        labels ^= rng.random(labels.shape) < noise
        best = spec.erm(points, labels)
        for concept, row, wanted in zip(best, points, labels, strict=True):
            least = (spec.dichotomies(row).labels != wanted).sum(axis=1).min()
            assert (spec.labels(concept[None], row)[0] != wanted).sum() == least
            assert noise or least == 0

    @pytest.mark.thorough
    @pytest.mark.parametrize("absent", [1, 5])
    def test_examples_of_weight_0_are_absent(self, absent: int, rng: np.random.Generator) -> None:
        """Also where points lie along an axis, in the directions that absent ones have in a search."""
        spec = Halfplanes()
        for _ in range(200):
            points = rng.integers(-2, 3, (5 + absent, 2))
            labels = rng.integers(0, 2, len(points))
            weights = np.append(rng.integers(1, 4, 5), np.zeros(absent, int))
            with_absent = spec.erm(points, labels, weights)
            assert with_absent.tolist() == spec.erm(points[:5], labels[:5], weights[:5]).tolist()

    def test_the_perceptron_gives_up_on_narrow_gaps_and_all_are_tried(self) -> None:
        points = np.array([[0, 0], [1000, 1], [2000, 2.001], [-1000, -1]])
        for labels in ([0, 0, 1, 0], [1, 1, 0, 1], [0, 1, 0, 0]):
            said = Halfplanes().labels(Halfplanes().erm(points, labels)[None], points)[0]
            assert (said == np.array(labels, bool)).all() == separable(
                [tuple(p) for p in points.tolist()], labels
            )

"""Thresholds against a reference that looks at one sample and one threshold at a time."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.concepts import EncryptedThresholds, Thresholds
from arena.concepts import line as thresholds
from arena.errors import InvalidArgument

exhaustive = settings(derandomize=True, max_examples=300)
INF = float("inf")

# Few values make ties; the others look for what floats do to sums and comparisons.
coordinates = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([0.0, -0.0, 5e-324, 0.1, np.nextafter(0.1, 1).item(), 1e308, -1e308]),
    st.floats(allow_nan=False, allow_infinity=False),
)
masses = st.one_of(
    st.integers(0, 3).map(float),
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 1e-300, 1e300]),
    st.floats(min_value=0, allow_infinity=False),
)


def naive_erm(
    points: Sequence[float], labels: Sequence[int], weights: Sequence[float] | None = None
) -> float:
    """The smallest best t among the points of positive weight and +inf, one t at a time, in fractions."""
    masses = [Fraction(1) if weights is None else Fraction(weights[i]) for i in range(len(points))]
    best, least = INF, None
    for t in sorted({x for x, w in zip(points, masses, strict=True) if w > 0} | {INF}):
        wrong = Fraction(0)
        for x, y, w in zip(points, labels, masses, strict=True):
            if (x >= t) != bool(y):
                wrong += w
        if least is None or wrong < least:
            best, least = t, wrong
    return best


@st.composite
def tables(draw: st.DrawFn, values: st.SearchStrategy[float] = coordinates) -> tuple[list[Any], ...]:
    """Points, labels and weights of a few samples of one size, as nested lists."""
    count, size = draw(st.integers(1, 4)), draw(st.integers(0, 7))

    def draw_matrix(entries: st.SearchStrategy[Any]) -> list[list[Any]]:
        return draw(st.lists(st.lists(entries, min_size=size, max_size=size), min_size=count, max_size=count))

    return draw_matrix(values), draw_matrix(st.integers(0, 1)), draw_matrix(masses)


@pytest.fixture(params=["by size", "pairs", "sorting"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., np.ndarray]:
    """`Thresholds().erm` by each of its two algorithms, and by the one it picks."""
    if request.param != "by size":
        most = 1000 if request.param == "pairs" else 0
        monkeypatch.setattr(thresholds, "MAX_FOR_PAIRS", most)
        monkeypatch.setattr(thresholds, "MAX_FOR_WEIGHTED_PAIRS", most)
    return Thresholds().erm


class TestErm:
    @pytest.mark.thorough
    @pytest.mark.parametrize("most", [0, 1000])
    @exhaustive
    @given(tables())
    def test_against_the_reference(self, most: int, table: tuple[list[Any], ...]) -> None:
        points, labels, weights = table
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thresholds, "MAX_FOR_PAIRS", most)
            patch.setattr(thresholds, "MAX_FOR_WEIGHTED_PAIRS", most)
            plain = Thresholds().erm(points, labels)
            weighted = Thresholds().erm(points, labels, weights)
        assert plain.tolist() == [naive_erm(p, y) for p, y in zip(points, labels, strict=True)]
        assert weighted.tolist() == [naive_erm(*row) for row in zip(points, labels, weights, strict=True)]

    @pytest.mark.thorough
    @exhaustive
    @given(tables(), st.randoms(use_true_random=False))
    def test_the_order_of_examples_does_not_matter(self, table: tuple[list[Any], ...], random: Any) -> None:
        points, labels, weights = (np.array(part, float) for part in table)
        order = list(range(points.shape[1]))
        random.shuffle(order)
        for given_weights in ((), (weights,)):
            parts = (points, labels, *given_weights)
            straight = Thresholds().erm(*parts)
            shuffled = Thresholds().erm(*(part[:, order] for part in parts))
            assert straight.tobytes() == shuffled.tobytes()  # bit for bit: -0.0 is not 0.0 here

    @pytest.mark.thorough
    @pytest.mark.parametrize("size", [1, 2, 23, 24, 25, 126, 127, 128, 129, 300])
    def test_long_samples(self, route: Callable[..., np.ndarray], size: int) -> None:
        rng = np.random.default_rng(size)
        points = rng.integers(0, 40, (6, size))
        labels = (rng.random((6, size)) < points / 40).astype(int)
        labels[0], labels[1] = 0, 1
        assert route(points, labels).tolist() == [
            naive_erm(p, y) for p, y in zip(points.tolist(), labels.tolist(), strict=True)
        ]

    def test_sums_are_exact(self, route: Callable[..., np.ndarray]) -> None:
        # 0.1 + 0.2 is above 0.3 in floating point, and so are the exact values of these doubles.
        assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
        assert route([1, 1, 2], [1, 1, 0], [0.1, 0.2, 0.3]) == 1
        # Floating point would lose the unit and see a tie.
        assert route([1, 2, 3], [0, 0, 1], [1.0, 2.0**60, 2.0**60]) == 3
        assert route([1, 1, 1], [1, 0, 0], [2.0**60, 2.0**60, 1.0]) == INF
        assert route([1, 1, 1], [1, 0, 0], [1e300, 1e300, 1e-300]) == INF

    @pytest.mark.thorough
    @pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u8", "?"])
    @pytest.mark.parametrize("label_kind", ["?", "i1", "i8", "u1", "f8"])
    def test_types(self, route: Callable[..., np.ndarray], kind: str, label_kind: str) -> None:
        rng = np.random.default_rng(3)
        points = rng.integers(0, 2 if kind == "?" else 9, (20, 5)).astype(kind)
        labels = rng.integers(0, 2, (20, 5)).astype(label_kind)
        found = route(points, labels)
        assert found.dtype == np.float64
        expected = [naive_erm(p, y) for p, y in zip(points.tolist(), labels.tolist(), strict=True)]
        assert found.tolist() == expected
        assert route(points, labels, np.ones((20, 5))).tolist() == expected

    def test_arrays_in_any_memory_order(self, route: Callable[..., np.ndarray]) -> None:
        rng = np.random.default_rng(4)
        points, labels = rng.random((5, 3, 40)), rng.random((5, 3, 40)) < 0.5
        found = route(points.transpose(2, 1, 0)[::-1], labels.transpose(2, 1, 0)[::-1])
        assert found.shape == (40, 3)
        assert found[7, 1] == naive_erm(points[:, 1, 32].tolist(), labels[:, 1, 32].tolist())


class TestDichotomies:
    def test_zeros_of_both_signs_are_one_point(self) -> None:
        for points in ([0.0, -0.0], [-0.0, 0.0]):
            concepts = Thresholds().dichotomies(points).concepts
            assert concepts.tobytes() == np.array([0.0, INF]).tobytes()


class TestLabels:
    def test_a_float32_point_is_compared_exactly(self) -> None:
        assert Thresholds().label([0.1, 0.1], np.float32(0.1)).tolist() == [True, True]
        assert Thresholds().label(np.array([np.float32(0.1)]), 0.1).tolist() == [False]


class TestChecks:
    @pytest.mark.parametrize(
        "domain",
        [
            range(1, 17),
            (0.5, 1, 2),
            (-1, 0, 3),
            (7,),
            (1.5, 2.5, 3.5),
            np.linspace(0, 1, 100) ** 2,
            range(-5, 500),
        ],
    )
    def test_the_points_of_a_domain_and_no_others(self, domain: Any) -> None:
        spec = Thresholds(domain)
        inside = set(spec.domain)
        near = np.array(sorted(inside))
        tries = np.concatenate([near, near + 0.5, np.nextafter(near, INF), near - 1, near + 1])
        for x in tries.tolist():
            if x in inside:
                assert spec.check(x) == x
            else:
                with pytest.raises(InvalidArgument, match="a point must be one of the"):
                    spec.check(x)
        assert (spec.check(near[:, None]) == near[:, None]).all()

    def test_whole_numbers_that_floats_would_merge(self) -> None:
        assert Thresholds().check([2**53, -(2**53)]).tolist() == [2.0**53, -(2.0**53)]
        for x in (2**53 + 1, -(2**53) - 1, np.uint64(2**63 + 1)):
            with pytest.raises(InvalidArgument, match="integers must lie within") as error:
                Thresholds().check([1, x] if isinstance(x, int) else x)
            assert error.value.value == x

    @pytest.mark.parametrize(
        ("domain", "message"),
        [
            ((), "a domain must have at least one point"),
            (
                (1, 1),
                r"a domain must be strictly increasing, got \(1\.0, 1\.0\)\. Sort it and remove repeats\.",
            ),
            ((2, 1), "strictly increasing"),
            ((0.0, -0.0), "strictly increasing"),
            ((1, np.nan), "points must be finite"),
            ("12", "points must be numbers"),
            (3, "a domain is a list of numbers, got 3"),
            (((1, 2), (3, 4)), "a domain is a list of numbers"),
            (np.array(1.0), "a domain is a list of numbers"),
            ((1, 2**53 + 1), "integers must lie within"),
        ],
    )
    def test_domains(self, domain: Any, message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            Thresholds(domain)


class TestEncrypted:
    def test_only_compare_reads_plaintexts(self) -> None:
        """Another key of the same order of ciphertexts, as `compare` has it, gives the same answers."""
        cipher = EncryptedThresholds(9, 4)
        order = sorted(range(9), key=lambda x: sum(int(cipher.compare(x, y) > 0) for y in range(9)))
        assert order == cipher.encrypt(range(9)).tolist()
        points, labels = [[order[2], order[7], order[5]]], [[0, 1, 1]]
        assert cipher.erm(points, labels).tolist() == [order[5]]
        assert cipher.erm(points, [[0, 0, 0]]).tolist() == [9]
        assert cipher.compare(order[2], [order[1], order[2], order[3]]).tolist() == [1, 0, -1]

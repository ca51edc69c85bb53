"""A random function of points: the published numbers of its generator, equality, and independence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from learners.mechanisms.noise.random_function import RandomFunction, philox


# The test vectors of Random123 for philox4x32 with 10 rounds.
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_published_words(counter: str, key: str, words: str) -> None:
    given, keys = ([np.array(int(word, 16), np.uint64) for word in text.split()] for text in (counter, key))
    assert [f"{int(word):08x}" for word in philox(given, keys)] == words.split()


def test_numbers_belong_to_the_point_and_the_game() -> None:
    numbers = RandomFunction(3, np.random.default_rng(1))
    first = numbers.draw(np.array([[0.0, 1.0, 2.0]] * 3))
    again = numbers.draw(np.array([[2.0, -0.0, 2.0]] * 3))
    for one, other in zip(first, again, strict=True):
        assert (other == one[:, [2, 0, 2]]).all()
        assert len(np.unique(one)) == 9
    as_vectors = numbers.draw(np.array([[[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]] * 3))
    assert (as_vectors[0][:, 0] == as_vectors[0][:, 2]).all()
    assert (as_vectors[0][:, 0] != as_vectors[0][:, 1]).all()


# 5 tests; a false alarm with probability at most 1e-8.
@pytest.mark.statistical(rate=1e-8)
def test_numbers_are_uniform_and_independent() -> None:
    """Of neighbouring points, whose bits hardly differ, and of both numbers of a point."""
    points = np.nextafter(0.5, 1) * np.ones((2, 50_000)) + np.arange(50_000) * 2.0**-53
    one, other = RandomFunction(2, np.random.default_rng(2)).draw(points)
    for numbers in (one, other):
        assert stats.kstest(numbers.ravel(), "uniform").pvalue > 2e-9
    for first, second in ((one, other), (one[:, 1:], one[:, :-1]), (one[0], one[1])):
        assert stats.pearsonr(first.ravel(), second.ravel()).pvalue > 2e-9

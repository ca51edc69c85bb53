"""Floating point and integers: what the arithmetic of computers shows."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.bugs.bug import Bug, a_list, a_vector, choices, integers
from benchmarks.bugs.bug import numbers as field

KIND = "floating point"


def draw_discrete_laplace(rng, scale):
    success = 1 - np.exp(-1 / scale)
    return int(rng.geometric(success)) - int(rng.geometric(success))


def add_floating_noise(bits, rng):
    """A sum of ones and zeros; the last bits of the result show the exponent of the sum."""
    return float(sum(bits)) + rng.laplace()


def add_floating_noise_twin(bits, rng):
    return sum(bits) + draw_discrete_laplace(rng, 1.0)


def keep_precision(amounts, rng):
    """A sum of amounts up to 1024, whose result has no more digits than the sum has place for."""
    return float(np.clip(amounts, 0, 1024).sum()) + rng.laplace(scale=1024)


def keep_precision_twin(amounts, rng):
    """Amounts become whole numbers first, and so does the noise."""
    return int(np.round(np.clip(amounts, 0, 1024)).sum()) + draw_discrete_laplace(rng, 1024.0)


def sum_in_eight_bits(values, rng):
    total = np.clip(np.asarray(values, int), 0, 100).astype(np.int8).sum(dtype=np.int8)
    return int(total) + rng.laplace(scale=100)


def sum_in_eight_bits_twin(values, rng):
    return int(np.clip(np.asarray(values, int), 0, 100).sum()) + rng.laplace(scale=100)


def sum_tree(counts, rng):
    """The counts of two leaves and of their parent, which holds numbers of 32 bits."""
    parent = (counts.sum() + 2**31) % 2**32 - 2**31
    return [float(value) + rng.laplace(scale=2) for value in (*counts, parent)]


def sum_tree_twin(counts, rng):
    return [float(value) + rng.laplace(scale=2) for value in (*counts, counts.sum())]


def find_last_bit(number):
    """The exponent of the last bit of a floating-point number that is not zero."""
    mantissa, exponent = math.frexp(number)
    whole = abs(int(mantissa * 2**53))
    return exponent - 53 + (whole & -whole).bit_length() - 1


BUGS = [
    Bug(
        name="last-bits",
        kind=KIND,
        address="https://www.microsoft.com/en-us/research/wp-content/uploads/2012/10/lsbs.pdf",
        library="textbook Laplace noise, Mironov (2012)",
        summary="The last bits of a noisy number show to which number the noise was added.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(choices(0, 1)),
        mechanism=add_floating_noise,
        twin=add_floating_noise_twin,
        worlds=([0], [0, 1]),
        look=find_last_bit,
    ),
    Bug(
        name="precision-of-the-sum",
        kind=KIND,
        address="https://arxiv.org/abs/2207.13793",
        library="several libraries, Haney et al. (2022)",
        summary="A result is a multiple of the precision of the sum, which depends on the size of the sum.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 1024)),
        mechanism=keep_precision,
        twin=keep_precision_twin,
        worlds=([], [1024.0]),
        look=find_last_bit,
    ),
    Bug(
        name="sum-overflows",
        kind=KIND,
        address="https://arxiv.org/abs/2207.10635",
        library="several libraries, Casacuberta et al. (2022)",
        summary="A sum of integers wraps around, and one record moves it from one end to the other.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(integers(0, 100)),
        mechanism=sum_in_eight_bits,
        twin=sum_in_eight_bits_twin,
        worlds=([100, 27], [100, 27, 1]),
    ),
    Bug(
        name="tree-overflows",
        kind=KIND,
        address="https://github.com/opendp/opendp/issues/2925",
        library="opendp 0.16.0, make_b_ary_tree",
        summary="The inner sums of a tree of counts wrap around.",
        relation="at L1 distance at most 1",
        epsilon=1.0,
        schema=a_vector(2, integers(0, 2**31 - 1)),
        mechanism=sum_tree,
        twin=sum_tree_twin,
        worlds=([2**31 - 1, 0], [2**31 - 1, 1]),
    ),
]

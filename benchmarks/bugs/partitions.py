"""Keys that show who is there, and bounds on contributions that do not hold for a user."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.bugs.bug import Bug, a_list, a_table, choices, find_gaussian_scale, integers
from benchmarks.bugs.bug import numbers as field

KEYS, BOUNDS = "keys and partitions", "contribution bounds"
SIGMA = find_gaussian_scale(1.0, 1e-5)
TAIL = math.exp(-5) / (1 + math.exp(-1))  # that discrete Laplace noise is above 4


def draw_discrete_laplace(rng):
    success = 1 - math.exp(-1)
    return int(rng.geometric(success)) - int(rng.geometric(success))


def release_frequent(names, rng, least=5):
    counts = {name: names.count(name) + draw_discrete_laplace(rng) for name in sorted(set(names))}
    return {name: count for name, count in counts.items() if count >= least}


def release_frequent_twin(names, rng):
    return release_frequent(names, rng, least=6)


def number_bins(rows, rng):
    """Bins are numbered as they come up, so that the first row decides the numbers of all others."""
    numbers = {}
    codes = [numbers.setdefault(value > 1, len(numbers)) for value in rows]
    return float(np.clip(codes, 0, 1).sum()) + rng.laplace()


def number_bins_twin(rows, rng):
    return float(sum(value > 1 for value in rows)) + rng.laplace()


def name_the_bins(values, rng):
    """A histogram whose range is not given, so that it is that of the data."""
    counts, edges = np.histogram(values, bins=4)
    return {"counts": counts + rng.laplace(size=4), "from": float(edges[0]), "to": float(edges[-1])}


def name_the_bins_twin(values, rng):
    counts, _ = np.histogram(np.clip(values, 0, 10), bins=4, range=(0, 10))
    return {"counts": counts + rng.laplace(size=4), "from": 0.0, "to": 10.0}


def merge_groups(visits, rng):
    """At most one row of a user in each of 16 groups; then all groups become one."""
    kept = visits.drop_duplicates(["person", "place"])
    kept = kept.assign(place=0)
    return len(kept) + rng.normal(scale=SIGMA * math.sqrt(16))


def merge_groups_twin(visits, rng):
    kept = visits.drop_duplicates(["person", "place"])
    return len(kept) + rng.normal(scale=SIGMA * 16)


def count_in_all_groups(visits, rng):
    """Users in each of six places, with noise for one place a user."""
    users = visits.drop_duplicates(["person", "place"])["place"].value_counts()
    return [users.get(place, 0) + rng.laplace() for place in range(6)]


def count_in_all_groups_twin(visits, rng):
    first = visits.drop_duplicates("person")["place"].value_counts()
    return [first.get(place, 0) + rng.laplace() for place in range(6)]


def count_distinct(words, rng):
    """One owner is kept for each word, and then one word for each owner."""
    owned = words.drop_duplicates("word").drop_duplicates("person")
    return len(owned) + rng.laplace()


def count_distinct_twin(words, rng):
    """One word is kept for each user; the number of different words changes by at most one."""
    return words.drop_duplicates("person")["word"].nunique() + rng.laplace()


def find_bounds(payments, rng, scale=1.0):
    """Payments by powers of ten, from which bounds are learned. A user has up to four payments."""
    powers = np.log10(payments["amount"].clip(1, 9999)).astype(int)
    return [(powers == power).sum() + rng.laplace(scale=scale) for power in range(4)]


def find_bounds_twin(payments, rng):
    return find_bounds(payments, rng, scale=4.0)


PERSON = integers(1, 6)

BUGS = [
    Bug(
        name="threshold-reached",
        kind=KEYS,
        address="https://github.com/opendp/opendp/issues/2922",
        library="opendp 0.16.0, make_laplace_threshold",
        summary="Keys whose noisy count is the threshold are shown, and δ is the probability to exceed it.",
        relation="add or remove one",
        epsilon=1.0,
        delta=TAIL,
        schema=a_list(choices("ash", "elm", "fir")),
        mechanism=release_frequent,
        twin=release_frequent_twin,
        worlds=([], ["elm"]),
    ),
    Bug(
        name="bins-numbered-by-appearance",
        kind=KEYS,
        address="https://github.com/opendp/opendp/issues/2944",
        library="opendp 0.15.1, 0.16.0, Polars",
        summary="Bins are numbered in the order in which they come up, so one row renames all others.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 2)),
        mechanism=number_bins,
        twin=number_bins_twin,
        worlds=([0.5] * 6, [2.0] + [0.5] * 6),
    ),
    Bug(
        name="range-of-the-data",
        kind=KEYS,
        address="https://diffprivlib.readthedocs.io/en/latest/modules/tools.html",
        library="diffprivlib 0.6.6, histogram (with a PrivacyLeakWarning)",
        summary="Without a given range the edges of a histogram are the least and the largest value.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 10), least=1),
        mechanism=name_the_bins,
        twin=name_the_bins_twin,
        worlds=([1.0], [1.0, 7.0]),
    ),
    Bug(
        name="groups-merged-after-truncation",
        kind=BOUNDS,
        address="https://github.com/opendp/opendp/issues/2949",
        library="opendp 0.15.1, 0.16.0, Polars",
        summary="A column that was truncated is redefined, and the bound of the truncation is kept.",
        relation="add or remove a user of at most 16",
        epsilon=1.0,
        delta=1e-5,
        schema=a_table(user="person", person=PERSON, place=integers(0, 15)),
        mechanism=merge_groups,
        twin=merge_groups_twin,
        worlds=([(1, 0)], [(1, 0), *((2, place) for place in range(16))]),
    ),
    Bug(
        name="groups-of-a-user-unlimited",
        kind=BOUNDS,
        address="https://github.com/Qrlew/qrlew/pull/297",
        library="qrlew, before December 2024",
        summary="A user may be in any number of groups, and the noise is that of one.",
        relation="add or remove a user of at most 6",
        epsilon=1.0,
        schema=a_table(user="person", person=PERSON, place=integers(0, 5)),
        mechanism=count_in_all_groups,
        twin=count_in_all_groups_twin,
        worlds=([(1, 0)], [(1, 0), *((2, place) for place in range(6))]),
    ),
    Bug(
        name="distinct-words-of-others",
        kind=BOUNDS,
        address="https://github.com/google/differential-privacy/pull/84",
        library="Privacy on Beam, before 1.0.1, DistinctPerKey",
        summary="A user with many values takes those of other users away before values are limited by user.",
        relation="add or remove a user of at most 5",
        epsilon=1.0,
        schema=a_table(user="person", person=PERSON, word=choices("ash", "elm", "fir", "oak", "yew")),
        mechanism=count_distinct,
        twin=count_distinct_twin,
        worlds=(
            [(2, "ash"), (3, "elm"), (4, "fir"), (5, "oak")],
            [(1, "ash"), (1, "elm"), (1, "fir"), (1, "oak"), (2, "ash"), (3, "elm"), (4, "fir"), (5, "oak")],
        ),
    ),
    Bug(
        name="bounds-of-many-contributions",
        kind=BOUNDS,
        address="https://github.com/google/differential-privacy/pull/87",
        library="google/differential-privacy, C++, before October 2021",
        summary="The search for bounds has noise for one contribution of a user who may have several.",
        relation="add or remove a user of at most 4",
        epsilon=1.0,
        schema=a_table(user="person", person=PERSON, amount=integers(1, 9999)),
        mechanism=find_bounds,
        twin=find_bounds_twin,
        worlds=([(1, 5)], [(1, 5), *((2, 5000),) * 4]),
    ),
]

"""Bugs of DataSynthesizer 0.1.4."""

from __future__ import annotations

import io
import random

from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.lib.PrivBayes import get_noisy_distribution_of_attributes

from benchmarks.bugs.bug import a_list, a_table, integers
from benchmarks.bugs.releases import enter_release

REPOSITORY = "https://github.com/DataResponsibly/DataSynthesizer"
LIBRARY = "DataSynthesizer 0.1.4"


def describe_ages(ages, **settings):
    describer = DataDescriber(histogram_bins=4, category_threshold=0)
    describer.describe_dataset_in_independent_attribute_mode(
        io.StringIO("\n".join(["age", *map(str, ages)])),
        epsilon=1.0,
        attribute_to_datatype={"age": "Integer"},
        attribute_to_is_categorical={"age": False},
        attribute_to_is_candidate_key={"age": False},
        **settings,
    )
    return describer.data_description["attribute_description"]["age"]


def describe_by_default_seed(ages, rng):
    return describe_ages(ages, numerical_attribute_ranges={"age": [0, 100]})["distribution_probabilities"]


def describe_range(ages):
    described = describe_ages(ages, seed=random.randrange(2**31))
    return [described["min"], described["max"], described["distribution_probabilities"]]


def count_pairs(rows):
    counts = get_noisy_distribution_of_attributes(["a", "b"], rows, 1.0)
    return [list(map(float, row)) for row in counts.to_numpy()]


def _enter(name, address, summary, *shown, **settings):
    return enter_release(
        f"datasynthesizer-{name}", address, LIBRARY, summary, "replace one", *shown, **settings
    )


AGES = a_list(integers(0, 100), least=3)
BIT = integers(0, 1)

BUGS = [
    _enter("counts", f"{REPOSITORY}/issues/34", "Counts get the noise of probabilities, n times too small.",
           a_table(a=BIT, b=BIT, least=6), count_pairs, ([(1, 1)] * 6, [(0, 0)] + [(1, 1)] * 5), coins="own"),
    _enter("seed", f"{REPOSITORY}/pull/46", "Noise is drawn with a default seed, the same in each run.",
           AGES, describe_by_default_seed, ([10] * 4, [10] * 3 + [90])),
    _enter("range", "https://arxiv.org/abs/2011.07018", "The least and the largest value are published.",
           AGES, describe_range, ([20] * 4, [20] * 3 + [90]), coins="own"),
]  # fmt: skip

"""Synthetic data and local privacy."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.bugs.bug import Bug, a_list, a_table, choices, integers
from benchmarks.bugs.bug import numbers as field

SYNTHETIC, LOCAL = "synthetic data", "local privacy"
TEACHERS = 9


def draw_from_counts(counts, rng, size=8):
    weights = np.maximum(counts, 0)
    total = weights.sum()
    chances = weights / total if total > 0 else np.full(len(counts), 1 / len(counts))
    return [int(place) for place in rng.choice(len(counts), size=size, p=chances)]


def release_conditionals(rows, rng, divisor=None):
    """Counts of pairs of attributes, whose noise is that of probabilities."""
    cells = np.zeros((2, 2))
    np.add.at(cells, (rows["smokes"].to_numpy(), rows["coughs"].to_numpy()), 1)
    return cells + rng.laplace(scale=2 / (divisor or len(rows)), size=(2, 2))


def release_conditionals_twin(rows, rng):
    return release_conditionals(rows, rng, divisor=1)


def synthesise_known_names(people, rng):
    """Categories are those that occur; the marginal has noise, and records are drawn from it."""
    names = sorted(set(people))
    counts = np.array([people.count(name) for name in names]) + rng.laplace(size=len(names))
    return [names[place] for place in draw_from_counts(counts, rng)] if names else []


def synthesise_known_names_twin(people, rng):
    names = ["ash", "elm", "fir", "oak"]
    counts = np.array([people.count(name) for name in names]) + rng.laplace(size=len(names))
    return [names[place] for place in draw_from_counts(counts, rng)]


def rescale_to_data(incomes, rng):
    """Noisy bins between the least and the largest value; synthetic values are drawn in between."""
    low, high = min(incomes), max(incomes)
    counts, edges = np.histogram(incomes, bins=4, range=(low, high + 1e-9))
    places = draw_from_counts(counts + rng.laplace(scale=2, size=4), rng)
    return [float(value) for value in rng.uniform(edges[places], edges[np.array(places) + 1])]


def rescale_to_data_twin(incomes, rng):
    counts, edges = np.histogram(np.clip(incomes, 0, 100), bins=4, range=(0, 100))
    places = draw_from_counts(counts + rng.laplace(scale=2, size=4), rng)
    return [float(value) for value in rng.uniform(edges[places], edges[np.array(places) + 1])]


def vote(groups, rng, scale):
    """Each teacher votes for the more frequent label of its records; noisy numbers of votes."""
    votes = np.zeros(2)
    for labels in groups:
        votes[int(2 * sum(labels) > len(labels))] += 1
    return votes + rng.laplace(scale=scale, size=2)


def draw_teachers_anew(labels, rng):
    """Every teacher is trained on a sample of all records, so that a record is in several."""
    groups = [[label for label in labels if rng.random() < 0.9] for _ in range(TEACHERS)]
    return vote(groups, rng, scale=2)


def draw_teachers_anew_twin(labels, rng):
    return vote([labels[place::TEACHERS] for place in range(TEACHERS)], rng, scale=2)


def invert_noise_scale(labels, rng):
    """Votes with Laplace noise of scale λ, where an ε of 2λ assumes the scale 1/λ."""
    rate = 0.5
    return vote([labels[place::TEACHERS] for place in range(TEACHERS)], rng, scale=rate)


def invert_noise_scale_twin(labels, rng):
    rate = 0.5
    return vote([labels[place::TEACHERS] for place in range(TEACHERS)], rng, scale=1 / rate)


def lie_by_coin(bits, rng, keep=0.75):
    """The truth with probability 3/4, otherwise a fair coin, which may be the truth as well."""
    return [int(bit) if rng.random() < keep else int(rng.random() < 0.5) for bit in bits]


def lie_by_coin_twin(bits, rng):
    return [int(bit) if rng.random() < 0.75 else 1 - int(bit) for bit in bits]


def encode_unary(values, rng):
    """One bit for each of four values. All bits are random, and then that of the value may be set."""
    keep = 1 / (1 + math.exp(-0.5))
    encoded = []
    for value in values:
        bits = (rng.random(4) < 1 - keep).astype(int)
        if rng.random() < keep:
            bits[value] = 1
        encoded.append(bits.tolist())
    return encoded


def encode_unary_twin(values, rng):
    keep = 1 / (1 + math.exp(-0.5))
    encoded = []
    for value in values:
        bits = (rng.random(4) < 1 - keep).astype(int)
        bits[value] = int(rng.random() < keep)
        encoded.append(bits.tolist())
    return encoded


PLANTS = choices("ash", "elm", "fir", "oak")

BUGS = [
    Bug(
        name="counts-with-noise-of-shares",
        kind=SYNTHETIC,
        address="https://github.com/DataResponsibly/DataSynthesizer/issues/34",
        library="DataSynthesizer 0.1.4, PrivBayes",
        summary="Noise meant for probabilities, n times too small, is added to counts.",
        relation="replace one",
        epsilon=1.0,
        schema=a_table(smokes=choices(0, 1), coughs=choices(0, 1), least=1),
        mechanism=release_conditionals,
        twin=release_conditionals_twin,
        worlds=([(0, 0)] * 8, [(0, 0)] * 7 + [(1, 1)]),
    ),
    Bug(
        name="categories-of-the-data",
        kind=SYNTHETIC,
        address="https://arxiv.org/abs/2011.07018",
        library="PrivBayes and PATE-GAN, found by Stadler, Oprisanu, Troncoso (2022)",
        summary="The categories of synthetic data are those of the private data, rare ones included.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(PLANTS),
        mechanism=synthesise_known_names,
        twin=synthesise_known_names_twin,
        worlds=(["ash", "elm"], ["ash", "elm", "oak"]),
    ),
    Bug(
        name="range-of-synthetic-values",
        kind=SYNTHETIC,
        address="https://arxiv.org/abs/2405.10994",
        library="several synthesisers, found by Annamalai, Ganev, De Cristofaro (2024)",
        summary="Synthetic values lie between the least and the largest private value.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(field(0, 100), least=2),
        mechanism=rescale_to_data,
        twin=rescale_to_data_twin,
        worlds=([10.0, 20.0, 20.0], [10.0, 20.0, 90.0]),
    ),
    Bug(
        name="teachers-share-records",
        kind=SYNTHETIC,
        address="https://github.com/vanderschaarlab/synthcity/issues/275",
        library="synthcity, PATE-GAN",
        summary="Teachers draw new samples of all records, so one record changes many votes.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(choices(0, 1), least=1),
        mechanism=draw_teachers_anew,
        twin=draw_teachers_anew_twin,
        worlds=([0], [1]),
    ),
    Bug(
        name="noise-scale-inverted",
        kind=SYNTHETIC,
        address="https://github.com/vanderschaarlab/mlforhealthlabpub/issues/36",
        library="PATE-GAN, code of the authors",
        summary="The scale of the noise is λ, where it should be 1/λ.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(choices(0, 1), least=1),
        mechanism=invert_noise_scale,
        twin=invert_noise_scale_twin,
        worlds=([0], [1]),
    ),
    Bug(
        name="lie-may-be-true",
        kind=LOCAL,
        address="https://github.com/opendp/opendp/issues/480",
        library="opendp 0.4, make_randomized_response_bool",
        summary="A lie is drawn from all answers, so the truth is more likely than the claim says.",
        relation="replace one",
        epsilon=math.log(3),
        schema=a_list(choices(0, 1), least=1),
        mechanism=lie_by_coin,
        twin=lie_by_coin_twin,
        worlds=([0], [1]),
    ),
    Bug(
        name="true-bit-set-twice",
        kind=LOCAL,
        address="https://github.com/Samuel-Maddock/pure-LDP/issues/11",
        library="pure-ldp 1.1, unary encoding",
        summary="The bit of the true value is random like the others, and may then be set in addition.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(integers(0, 3), least=1),
        mechanism=encode_unary,
        twin=encode_unary_twin,
        worlds=([0], [1]),
    ),
]

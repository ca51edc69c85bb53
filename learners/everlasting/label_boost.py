"""LabelBoost of Beimel, Nissim, Stemmer (2021), as in appendix C.1 of Private Everlasting Prediction.

It labels an unlabelled sample with one concept that fits a small labelled sample, chosen by the exponential
mechanism among the dichotomies of both samples.
"""

from __future__ import annotations

import numpy as np

from arena.concepts import ConceptClass
from arena.concepts.dichotomies import tally_signs
from learners.common.teacher_training import CountedExamples
from learners.mechanisms.selection import exponential_mechanism

SELECTION_EPSILON = 1.0  # of step 4; the "+3" of Lemma 5.1 is proved for this value
_SLAB = 1_000_000  # dichotomies times points handled at a time


def boost_labels(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    labelled: CountedExamples,
    unlabelled: np.ndarray,
) -> np.ndarray:
    """Choose concepts (n, ...) for the examples and the unlabelled points (n, m, ...) of each game."""
    counts, zeros = labelled.counts, np.zeros(unlabelled.shape[:2])
    points = np.broadcast_to(labelled.points, (*counts.shape, *labelled.points.shape[2:]))
    labels = np.broadcast_to(labelled.labels, counts.shape)
    return label_boost(
        rng,
        concept_class,
        points=np.concatenate([points, unlabelled], axis=1),
        zeros=np.column_stack([counts * (labels == 0), zeros]),
        ones=np.column_stack([counts * (labels == 1), zeros]),
        present=np.column_stack([counts > 0, np.ones(zeros.shape, bool)]),
    )


def label_boost(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    *,
    points: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    """Choose the concept h of every game, with which S∘T is relabelled.

    Steps 1 to 4: the solution set H holds one concept for each dichotomy of the class on the points of S∘T; h
    is chosen from H by the exponential mechanism with ε = 1 and score −(errors on S), up to a constant of the
    game: the score is the gain over the all-zero labelling.

    Shapes: points (n, p, ...); zeros, ones (n, p): how often S holds the point with each label; present (n,
    p) bool: whether S∘T holds the point. Returns concepts (n, ...). Raises: Unsupported if a game may have
    too many dichotomies (see `ConceptClass.check_choice`).
    """
    points, signs, present = _merge_equal_points(points, ones - zeros, present)
    games, width = points.shape[:2]
    step = max(1, _SLAB // max(1, width, concept_class.growth_bound(width)))
    # There is one slab even for no games, so that the result has the dtype and the shape of the class.
    slabs = [slice(start, start + step) for start in range(0, max(games, 1), step)]
    return np.concatenate([_choose(rng, concept_class, points[s], signs[s], present[s]) for s in slabs])


def label_points(concept_class: ConceptClass, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, k) bool: the labels that each game's concept gives to its points (n, k, ...)."""
    games, each = points.shape[:2]
    flat = concept_class.label(np.repeat(concepts, each, axis=0), points.reshape(-1, *points.shape[2:]))
    return flat.reshape(games, each)


def _merge_equal_points(
    points: np.ndarray, signs: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with each point once, if there are fewer distinct points than columns: some classes need
    quadratic time."""
    if len(np.unique(points[present], axis=0)) >= points.shape[1]:
        return points, signs, present
    domain, tally, sets, kind = tally_signs(points, signs, present)
    return np.broadcast_to(domain, (len(points), *domain.shape)), tally, sets[kind]


def _choose(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    points: np.ndarray,
    signs: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    drawn = concept_class.draw_unlisted(rng, points, signs, present, rate=SELECTION_EPSILON / 2)
    if drawn is not None:
        return drawn
    solutions = concept_class.candidate_concepts(points, signs, present)
    chosen = exponential_mechanism(
        rng,
        solutions.gains.astype(np.float64),
        epsilon=SELECTION_EPSILON,
        sensitivity=1.0,
        allowed=solutions.counted,
    )
    return solutions.concepts(chosen)

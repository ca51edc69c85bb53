"""LabelBoost: Beimel, Nissim, Stemmer, Learning Privately with Labeled and Unlabeled Examples (2021).

As told in appendix C.1 of Private Everlasting Prediction: label an unlabelled sample with one concept
that fits a small labelled one, chosen by the exponential mechanism among the dichotomies of both.
"""

from __future__ import annotations

import numpy as np

from arena.concepts import ConceptClass
from arena.concepts.dichotomies import tallied
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism

SELECTION_EPSILON = 1.0  # step 4; Lemma 5.1's "+3" is proved for this value
_SLAB = 1_000_000


def label_boost(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    *,
    points: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    """Choose the concept h of every game; relabelling S∘T with it is `concept_class.label(h, ...)`.

    Steps 1 to 4: the solution set H holds one concept for each dichotomy of the class on the points that
    occur in S∘T; h is chosen from H by the exponential mechanism with ε = 1 and score −(errors on S). Errors
    are the ones, less what the concept gains over the label 0 everywhere; the ones of a game move the scores
    of all its concepts alike, so that what is gained may be the score.

    Shapes: points (n, p, ...); zeros, ones (n, p): how often S holds the point with each label (0 for the
    points of T); present (n, p) bool: whether the point occurs in S∘T at all. Returns concepts (n, ...).

    Raises: Unsupported if a game may have too many dichotomies, as `ConceptClass.solutions` says.
    """
    points, signs, present = _merged(points, ones - zeros, present)
    games, width = points.shape[:2]
    step = max(1, _SLAB // max(1, width, concept_class.most_dichotomies(width)))
    # One slab even of no games, so that the result has the dtype and the shape of the class.
    slabs = [slice(start, start + step) for start in range(0, max(games, 1), step)]
    return np.concatenate([_choose(rng, concept_class, points[s], signs[s], present[s]) for s in slabs])


def _merged(
    points: np.ndarray, signs: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with each point once, where the table has fewer distinct points than places: some classes go
    through pairs of places.
    """
    if len(np.unique(points[present], axis=0)) >= points.shape[1]:
        return points, signs, present
    domain, tally, sets, kind = tallied(points, signs, present)
    return np.broadcast_to(domain, (len(points), *domain.shape)), tally, sets[kind]


def _choose(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    points: np.ndarray,
    signs: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    solutions = concept_class.solutions(points, signs, present)
    chosen = exponential_mechanism(
        rng,
        solutions.gains.astype(np.float64),
        epsilon=SELECTION_EPSILON,
        sensitivity=1.0,
        allowed=solutions.counted,
    )
    return solutions.concepts(chosen)

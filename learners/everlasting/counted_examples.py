"""S_i of a table as counted examples, and how LabelBoost labels what follows it."""

from __future__ import annotations

import attrs
import numpy as np

from arena.concepts import ConceptClass
from learners.everlasting.label_boost import label_boost


@attrs.frozen(eq=False)
class CountedExamples:
    """S_i of every game, as counted examples: points (n or 1, k), labels (n or 1, k), counts (n, k)."""

    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray

    def subset(self, size: int, rng: np.random.Generator) -> CountedExamples:
        """A random subset of `size` examples of each game."""
        if len(self.counts) < self.counts.shape[1]:
            rows = [rng.multivariate_hypergeometric(row, size, method="marginals") for row in self.counts]
            return CountedExamples(self.points, self.labels, np.array(rows).reshape(self.counts.shape))
        left = np.full(len(self.counts), size, np.int64)
        others = self.counts.sum(axis=1)
        taken = np.zeros_like(self.counts)
        for a in range(self.counts.shape[1]):
            here = self.counts[:, a]
            others = others - here
            taken[:, a] = rng.hypergeometric(here, others, left)
            left -= taken[:, a]
        return CountedExamples(self.points, self.labels, taken)


def choose_concepts(
    rng: np.random.Generator, concept_class: ConceptClass, labelled: CountedExamples, unlabelled: np.ndarray
) -> np.ndarray:
    """LabelBoost on Ŝ∘D̂: the concepts (n, ...)."""
    counts, bare = labelled.counts, np.zeros(unlabelled.shape[:2])
    there = np.broadcast_to(labelled.points, (*counts.shape, *labelled.points.shape[2:]))
    ones = np.broadcast_to(labelled.labels, counts.shape)
    return label_boost(
        rng,
        concept_class,
        points=np.concatenate([there, unlabelled], axis=1),
        zeros=np.column_stack([counts * (ones == 0), bare]),
        ones=np.column_stack([counts * (ones == 1), bare]),
        present=np.column_stack([counts > 0, np.ones(bare.shape, bool)]),
    )


def label_points(concept_class: ConceptClass, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, k) bool: the labels that each game's concept gives its points (n, k, ...)."""
    games, each = points.shape[:2]
    flat = concept_class.label(np.repeat(concepts, each, axis=0), points.reshape(-1, *points.shape[2:]))
    return flat.reshape(games, each)

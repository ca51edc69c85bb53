"""small-margin: nature looks for the point where votes are closest, and for the example that turns them."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.voting.base import Nature
from adversaries.voting.teacher_votes import narrowest_swap
from arena import Moves, setting


@attrs.frozen
class SmallMargin(Nature):
    """One vote more or less at the point where the votes are closest, which is asked again and again.

    Nature seats the learner's spec at tables of its own, looks at the votes at points of the sample and of
    the domain, and plants examples there: labelled 0 in world 0 and 1 in world 1. It keeps the example that
    turns the majority, or moves the votes where they are as near to `below` as they come.

    Against thresholded Gaussian counts a tie tells most by a single answer. An answer 1 far below it is rarer
    and tells more where it comes: with ℓ = 1 it is the very event at which the Gaussian mechanism's δ is
    attained (docs/voting.md). Where the sparse vector screens votes, those of small margin are ⊥ almost
    surely, and the margin that counts is that to its threshold: the learner's `critical_margin`.

    The score is the log-likelihood ratio of the answers where the learner tells its law, else the number of
    answers 1. Raises: InvalidArgument if no example that was tried changes a vote.
    """

    name = "small-margin"

    below: float | None = setting(
        None,
        unit="votes",
        help="how far below the tie the votes should be; default: where an answer tells most",
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        below = getattr(self.learner, "critical_margin", 0.0) if self.below is None else self.below
        swap = narrowest_swap(self.learner, self.sample, below=below)
        return (yield from self._again_and_again(swap, games))

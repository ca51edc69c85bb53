"""Two neighbouring samples on which teachers of one example each can cast every pair of votes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Learner, Sample, Unsupported
from arena.concepts import FiniteClass


@attrs.frozen(eq=False)
class PosedGame:
    """A learner, the training samples of worlds 0 and 1, and the points (p, ...) that may be queried."""

    learner: Learner
    samples: tuple[Sample, Sample]
    points: np.ndarray


def pose_every_vote(learner: Learner) -> PosedGame:
    """The learner with a concept class on which its n teachers can cast every pair of votes.

    Replacing one example moves the number of votes for label 1 by at most one. The class has a concept for
    each of n + 1 examples, and points at which any s of the n - 1 teachers that are the same in both worlds
    vote 1, and the other teacher 0 or 1 in each world. So every neighbouring pair of samples of any class
    allows some of these pairs of votes, and no others.

    Raises: Unsupported unless the learner trains one teacher on each of a fixed number of examples.
    """
    size = learner.sample_size
    if size is None:
        raise _no_votes(learner)
    teachers = np.arange(size + 1)  # the last two are that of world 0 and that of world 1
    own = np.eye(size + 1, dtype=bool)  # points that only one concept labels 1, for training
    queries = [
        np.where(teachers < size - 1, teachers < ones, np.where(teachers == size - 1, first, second))
        for first in (False, True)
        for second in (False, True)
        for ones in range(size)
    ]
    concepts = FiniteClass(np.hstack([own, np.array(queries, bool).T]))
    common = np.arange(size - 1.0)
    samples = [Sample(np.append(common, last), np.ones(size)) for last in (size - 1.0, float(size))]
    return PosedGame(
        _with_class(learner, concepts), (samples[0], samples[1]), np.arange(size + 1.0, len(concepts.domain))
    )


def _with_class(learner: Any, concepts: FiniteClass) -> Learner:
    names = {field.name for field in attrs.fields(type(learner))}
    if "concepts" in names:
        return attrs.evolve(learner, concepts=concepts)
    if "teacher" in names and learner.concepts is not None:
        return attrs.evolve(
            learner, teacher=attrs.evolve(learner.teacher, concepts=concepts, text="every vote")
        )
    raise _no_votes(learner)


def _no_votes(learner: Learner) -> Unsupported:
    return Unsupported(
        f"{learner.name} does not train one teacher on each of a fixed number of examples",
        remedy="Name an adversary, whose samples are taken.",
    )

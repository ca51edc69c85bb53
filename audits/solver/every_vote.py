"""Two neighbouring samples on which teachers of one example each can cast every pair of votes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Learner, Sample, Unsupported
from arena.concepts.finite.finite_class import build_vote_pairs


@attrs.frozen(eq=False)
class PosedGame:
    """A learner, the training samples of worlds 0 and 1, and the points (p, ...) that may be queried.

    text: what the samples are. names: what each point is. settings: of the learner that the game has changed,
    as texts.
    """

    learner: Learner
    samples: tuple[Sample, Sample]
    points: np.ndarray
    text: str
    names: tuple[str, ...]
    settings: dict[str, str]


def pose_every_vote(learner: Learner) -> PosedGame:
    """The learner with a concept class on which its n teachers can cast every pair of votes.

    Replacing one example moves the number of votes for label 1 by at most one, so every neighbouring pair of
    samples of any class allows some of these pairs of votes, and no others. See `build_vote_pairs`.

    Raises: Unsupported unless the learner trains one teacher on each of a fixed number of examples.
    """
    size = learner.sample_size
    if size is None:
        raise _no_votes(learner)
    concepts = build_vote_pairs(size)
    common = np.arange(size - 1.0)
    samples = [Sample(np.append(common, last), np.ones(size)) for last in (size - 1.0, float(size))]
    points = np.arange(size + 1, concepts.matrix.shape[1])
    ones = concepts.matrix[:, points]
    votes = zip(*(ones[: size - 1].sum(axis=0) + ones[last] for last in (size - 1, size)), strict=True)
    learner, setting = _with_class(learner, concepts, f"votes:{size}")
    return PosedGame(
        learner=learner,
        samples=(samples[0], samples[1]),
        points=points.astype(float),
        text=f"neighbours on which {size} teachers can cast every pair of votes "
        "(a|b: a for label 1 in world 0, b in world 1)",
        names=tuple(f"{first}|{second}" for first, second in votes),
        settings={setting: f"votes:{size}"},
    )


def _with_class(learner: Any, concepts: Any, text: str) -> tuple[Learner, str]:
    """The learner with another concept class, and the name of the setting that holds it."""
    names = {field.name for field in attrs.fields(type(learner))}
    if "concepts" in names:
        return attrs.evolve(learner, concepts=concepts), "concepts"
    if "teacher" in names and learner.concepts is not None:
        teacher = attrs.evolve(learner.teacher, concepts=concepts, text=text)
        return attrs.evolve(learner, teacher=teacher), "teacher"
    raise _no_votes(learner)


def _no_votes(learner: Learner) -> Unsupported:
    return Unsupported(
        f"{learner.name} does not train one teacher on each of a fixed number of examples",
        remedy="Name an adversary, whose samples are taken.",
    )

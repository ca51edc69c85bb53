"""The concept class on which an adversary plays."""

from __future__ import annotations

from arena import InvalidArgument, Learner
from arena.capabilities import read_concepts
from arena.concepts import ConceptClass


def choose_concept_class(
    setting: ConceptClass | None, learner: Learner | None, default: ConceptClass
) -> ConceptClass:
    """The adversary's setting `concepts`, otherwise the learner's class, otherwise `default`.

    Raises: InvalidArgument if its points have another shape than the learner's.
    """
    chosen = setting or read_concepts(learner) or default
    if learner is not None and chosen.point_shape != learner.point_shape:
        raise InvalidArgument(
            f"{learner.name} receives points of shape {learner.point_shape}",
            value=chosen,
            remedy="Leave out `concepts`, so that the learner's class is used.",
        )
    return chosen

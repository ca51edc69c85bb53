"""The base of the learners that train teachers on disjoint parts of a sample."""

from __future__ import annotations

from typing import Any

import attrs

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument
from arena.players import Learner
from arena.settings import count_setting, setting
from learners.pate.ensemble.teacher import Minimiser, Teacher


def _check_teacher(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Teacher):
        raise InvalidArgument(
            "teacher must be a Teacher", value=value, remedy="Use Teacher.from_text(...) for a text."
        )


def teacher_setting(concepts: ConceptClass, text: str) -> Any:
    """The setting `teacher`; its default is the minimiser of a class, which is written as `text`."""
    return setting(
        Minimiser(concepts, text),
        help="the type of each teacher: a concept class, for its empirical risk minimiser, or a classifier "
        "of scikit-learn with settings and the features of a point: LogisticRegression(C=0.5):112",
        check=_check_teacher,
    )


@attrs.frozen
class EnsembleLearner(Learner):
    """Base of the learners with K teachers, each trained on its own part of the sample.

    A replaced example changes the part of one teacher, so that vote counts change by at most 1. The division
    of the sample is public, and privacy does not depend on it.
    """

    teacher: Teacher
    teachers: int = count_setting(101, help="K, the number of teachers")
    split: int = count_setting(0, help="seed of the public split of the sample", least=0)

    @property
    def concepts(self) -> ConceptClass | None:
        """The concept class of the teachers, if they are minimisers of a class."""
        return self.teacher.concepts if isinstance(self.teacher, Minimiser) else None

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.teacher.point_shape

    @property
    def sample_size(self) -> int:
        return self.teachers

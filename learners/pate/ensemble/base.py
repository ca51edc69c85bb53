"""What all learners share that train teachers on disjoint parts of a sample."""

from __future__ import annotations

from typing import Any

import attrs

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument
from arena.players import Learner
from arena.settings import at_least, setting, whole
from learners.pate.ensemble.teacher import Minimiser, Teacher


def _a_teacher(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Teacher):
        raise InvalidArgument(
            "teacher must be a Teacher", value=value, remedy="Write Teacher.from_text(...) around its text."
        )


def teacher_setting(concepts: ConceptClass, text: str) -> Any:
    """The setting `teacher`, by default the minimiser of a class that people write as `text`."""
    return setting(
        Minimiser(concepts, text),
        help="what each teacher is: a concept class, for its empirical risk minimiser, or a classifier of "
        "scikit-learn, its settings, and the features of a point: LogisticRegression(C=0.5):112",
        check=_a_teacher,
    )


@attrs.frozen
class EnsembleLearner(Learner):
    """Base of the specs: K teachers, each trained on its part of the sample.

    A replaced example changes the part of one teacher, so that votes change by one at most. How the sample is
    parted is public, and nothing of privacy rests on it.
    """

    teacher: Teacher
    teachers: int = setting(101, help="K, the teachers", check=[whole, at_least(1)])
    split: int = setting(0, help="seed of the public split of the sample", check=[whole, at_least(0)])

    @property
    def concepts(self) -> ConceptClass | None:
        """The class of the teachers, if they are minimisers of one."""
        return self.teacher.concepts if isinstance(self.teacher, Minimiser) else None

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.teacher.point_shape

    @property
    def sample_size(self) -> int:
        return self.teachers

"""pate-psq: a student who learns from the noisy votes of teachers on every public point."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import AnswerLaw, Finite
from arena.replies import NO_LABEL
from arena.sample import Sample
from arena.settings import at_least, one_of, setting, whole
from learners.pate.ensemble import Voters
from learners.pate.pate_experiment_players import PateExperimentPlayers, make_players
from learners.pate.pate_gaussian import PateGaussian
from learners.pate.pate_svt import PateSvt
from learners.pate.students.base import StudentLearner
from learners.pate.students.passive import Service, answers_of, taught
from learners.pate.students.rules import Rule, concepts_of

GAUSSIAN, SVT = "gaussian", "svt"
_MOST_STRINGS = 2**14  # strings of answers that a law goes through


@attrs.frozen
class PatePsq(StudentLearner):
    """Trains K teachers on parts of the sample, has an aggregator answer for each public point, and releases
    what a student learns from the answers.

    Algorithm 3 (PATE-PSQ) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning, with
    ℓ = m answers for m public points. Everything after the answers is post-processing: the claim is that of
    the aggregator, whatever the student is. Points that are labelled ⊥, or not at all, are left out; for a
    minimiser that is to give them the labels of its own rule.

    Shapes: releases a Hypothesis of the student's class, or of linear rules (n, d + 1).
    Raises: Unsupported if it has no public points, fewer examples than teachers, or a student whose rules
    are no concepts; InvalidArgument for public points outside the domain.
    """

    name = "pate-psq"
    theorem = "Theorem 2 (Algorithms 1 and 2) of Liu et al., and post-processing"

    aggregator: str = setting(
        GAUSSIAN,
        help="what labels the public points: gaussian (pate-gaussian) or svt (pate-svt)",
        check=one_of(GAUSSIAN, SVT),
    )
    unstable: int = setting(3, help="T, the answers ⊥ before pate-svt halts", check=[whole, at_least(1)])
    calibration: str | None = setting(
        None, help="of the aggregator's noise, in its own words; default: its own"
    )

    @property
    def common_random_numbers(self) -> bool:
        """If its aggregator is."""
        return self.aggregator_run.common_random_numbers

    @property
    def aggregator_run(self) -> Voters:
        given: dict[str, Any] = {} if self.calibration is None else {"calibration": self.calibration}
        if self.aggregator == SVT:
            given["unstable"] = self.unstable
        return (PateSvt if self.aggregator == SVT else PateGaussian)(
            teacher=self.teacher,
            teachers=self.teachers,
            queries=len(self.points),
            split=self.split,
            epsilon=self.epsilon,
            delta=self.delta,
            **given,
        )

    @classmethod
    def experiment_players(cls, teacher: str, student: str | None, **settings: Any) -> PateExperimentPlayers:
        """The players of an experiment with passive and active students; see `make_players`."""
        return make_players(teacher, student, **settings)

    def learned(self, service: Service) -> list[Rule]:
        return taught(self.learner_run, self.points, answers_of(service, self.points))

    def law(self, sample: Sample) -> Finite:
        """Exact, over all strings of answers.

        Raises: Unsupported if there are more than 16,384 (of Gaussian noise, at 15 public points or more), or
        if the student's concepts are no numbers.
        """
        self.check_numbered()
        answers, chances = _strings(self.aggregator_run, sample, self.points)
        concepts = concepts_of(self.learner_run, taught(self.learner_run, self.points, answers))
        values, which = np.unique(concepts, return_inverse=True)
        return Finite(values, np.bincount(which.ravel(), weights=chances))


def _strings(aggregator: Voters, sample: Sample, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The strings of answers (s, m) that an aggregator may give, and the chance of each (s,), of sum 1."""
    law = aggregator.law(sample)
    assert isinstance(law, AnswerLaw)
    answers, measures = np.full((1, len(points)), NO_LABEL, np.int8), law.start()[None]
    live = np.ones(1, bool)
    for place, point in enumerate(points):
        count = int(live.sum())
        if count * len(law.outcomes) > _MOST_STRINGS:
            raise Unsupported(
                f"a law goes through at most {_MOST_STRINGS:,} strings of answers",
                value=f"{len(points)} public points",
                remedy="Audit it by playing, or give fewer public points.",
            )
        parts = law.step(measures[live], np.broadcast_to(point, (count, *point.shape)))
        strings = np.repeat(answers[live][None], len(parts), axis=0)
        strings[:, :, place] = np.array([label for label, _ in law.outcomes])[:, None]
        goes_on = np.repeat([not halts for _, halts in law.outcomes], count)
        answers = np.concatenate([answers[~live], strings.reshape(-1, len(points))])
        measures = np.concatenate([measures[~live], parts.reshape(-1, parts.shape[2])])
        live = np.concatenate([live[~live], goes_on])
        possible = measures.any(axis=1)
        answers, measures, live = answers[possible], measures[possible], live[possible]
    chances = measures.sum(axis=1)
    return answers, chances / chances.sum()

"""pate-psq: a student who learns from the noisy votes of teachers on all public points."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import AnswerLaw, Finite
from arena.messages import NO_LABEL
from arena.sample import Sample
from arena.settings import count_setting, one_of, setting
from learners.pate.ensemble import Voters
from learners.pate.pate_gaussian import PateGaussian
from learners.pate.pate_svt import PateSvt
from learners.pate.students.active import LabellingService, collect_answers, fit_answers
from learners.pate.students.base import StudentLearner
from learners.pate.students.rules import LearnedRule

GAUSSIAN, SVT = "gaussian", "svt"
_MOST_SEQUENCES = 2**14  # sequences of answers that an output distribution enumerates


@attrs.frozen
class PatePsq(StudentLearner):
    """Releases what a student learns from an aggregator's answers on all public points.

    Algorithm 3 (PATE-PSQ) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning, with ℓ =
    m answers for m public points. K teachers are trained on parts of the sample, and the aggregator answers
    with their noisy vote. Everything after the answers is post-processing, so the claim is that of the
    aggregator, whatever the student. Points without a label, or with the answer ⊥, are left out; for a
    minimiser this is the same as giving them the labels of its own rule.

    Shapes: releases a Hypothesis of the student's class, or of linear rules (n, d + 1).
    Raises: Unsupported if it has no public points, fewer examples than teachers, or a student whose rules are
    not concepts; InvalidArgument for public points outside the domain.
    """

    name = "pate-psq"
    theorem = "Theorem 2 (Algorithms 1 and 2) of Liu et al., and post-processing"

    aggregator: str = setting(
        GAUSSIAN,
        help="the aggregator that labels the public points: gaussian (pate-gaussian) or svt (pate-svt)",
        check=one_of(GAUSSIAN, SVT),
    )
    unstable: int = count_setting(3, help="T, the number of answers ⊥ before pate-svt halts")
    calibration: str | None = setting(
        None, help="calibration of the aggregator's noise, as in its setting; default: its default"
    )

    @property
    def common_random_numbers(self) -> bool:
        """Whether its aggregator supports them."""
        return self.aggregator_learner.common_random_numbers

    @property
    def aggregator_learner(self) -> Voters:
        settings: dict[str, Any] = {} if self.calibration is None else {"calibration": self.calibration}
        if self.aggregator == SVT:
            settings["unstable"] = self.unstable
        return (PateSvt if self.aggregator == SVT else PateGaussian)(
            teacher=self.teacher,
            teachers=self.teachers,
            queries=len(self.points),
            split=self.split,
            epsilon=self.epsilon,
            delta=self.delta,
            **settings,
        )

    def learn_rules(self, service: LabellingService) -> list[LearnedRule]:
        return fit_answers(self.effective_student, self.points, collect_answers(service, self.points))

    def law(self, sample: Sample) -> Finite:
        """The exact output distribution, over all sequences of answers.

        Raises: Unsupported if there are more than 16,384 (15 public points or more, with Gaussian noise), or
        if the student's concepts are not numbers.
        """
        self.check_numeric()
        answers, probabilities = _answer_sequences(self.aggregator_learner, sample, self.points)
        return self.law_of_rules(fit_answers(self.effective_student, self.points, answers), probabilities)


def _answer_sequences(
    aggregator: Voters, sample: Sample, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The possible sequences of answers (s, m) of an aggregator, and their probabilities (s,), of sum 1."""
    law = aggregator.law(sample)
    assert isinstance(law, AnswerLaw)
    answers, measures = np.full((1, len(points)), NO_LABEL, np.int8), law.start()[None]
    running = np.ones(1, bool)
    for place, point in enumerate(points):
        count = int(running.sum())
        if count * len(law.outcomes) > _MOST_SEQUENCES:
            raise Unsupported(
                f"an output distribution may have at most {_MOST_SEQUENCES:,} sequences of answers",
                value=f"{len(points)} public points",
                remedy="Audit it by playing games, or give fewer public points.",
            )
        parts = law.step(measures[running], np.broadcast_to(point, (count, *point.shape)))
        extended = np.repeat(answers[running][None], len(parts), axis=0)
        extended[:, :, place] = np.array([label for label, _ in law.outcomes])[:, None]
        continues = np.repeat([not halts for _, halts in law.outcomes], count)
        answers = np.concatenate([answers[~running], extended.reshape(-1, len(points))])
        measures = np.concatenate([measures[~running], parts.reshape(-1, parts.shape[2])])
        running = np.concatenate([running[~running], continues])
        possible = measures.any(axis=1)
        answers, measures, running = answers[possible], measures[possible], running[possible]
    probabilities = measures.sum(axis=1)
    return answers, probabilities / probabilities.sum()

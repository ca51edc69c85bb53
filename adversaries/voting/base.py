"""Base of the adversaries of the voting protocol."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood
from adversaries.voting.vote_swaps import Samples
from arena import Adversary, Learner, Move, Query, Sample, Train, count_setting, setting
from arena.capabilities import LimitsQueries

_DEFAULT_QUERIES = 100  # for a learner without a setting `queries`


@attrs.frozen
class VotingAdversary(Adversary):
    """Base of the adversaries of Voting. A subclass implements `play`."""

    protocols: ClassVar[tuple[str, ...]] = ("Voting",)
    returns_score = True

    queries: int | None = count_setting(None, help="queries; default: the learner's ℓ, or 100")
    sample: Sample | None = setting(None, help="the training set; default: built by the adversary")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def query_count(self) -> int:
        """The number of queries that it makes."""
        limit = self.learner.queries if isinstance(self.learner, LimitsQueries) else None
        return self.queries or limit or _DEFAULT_QUERIES

    def _query_in_turn(
        self, samples: Samples, points: np.ndarray, games: int
    ) -> Generator[Move, Any, AnswerLikelihood]:
        """Train on the samples, query the points (m, ...) in turn, and return the answers' likelihood."""
        likelihood = AnswerLikelihood(self.learner, samples, points, games)
        yield Train(*samples)
        for number in range(self.query_count):
            column = number % len(points)
            reply = yield Query(points[column])
            likelihood.add(column, reply)
        return likelihood

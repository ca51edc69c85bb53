"""Base of the adversaries of the voting protocol."""

from __future__ import annotations

import attrs

from adversaries.common.answer_likelihood import AnswerLikelihood
from adversaries.voting.vote_swaps import VoteSwap
from arena import Adversary, Learner, Moves, Query, Sample, Train, setting
from arena.settings import at_least, whole

_DEFAULT_QUERIES = 100  # for a learner without a setting `queries`


@attrs.frozen
class VotingAdversary(Adversary):
    """Base of the adversaries of Voting. A subclass implements `play`."""

    protocols = ("Voting",)
    returns_score = True

    queries: int | None = setting(
        None, help="queries; default: the learner's ℓ, or 100", check=[whole, at_least(1)]
    )
    sample: Sample | None = setting(None, help="the training set; default: built by the adversary")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def query_count(self) -> int:
        """The number of queries that it makes."""
        return self.queries or getattr(self.learner, "queries", None) or _DEFAULT_QUERIES

    def _repeat_query(self, swap: VoteSwap, games: int) -> Moves:
        """Train on the samples of a swap, always query its point, and score by the likelihood ratio."""
        likelihood = AnswerLikelihood(self.learner, swap.samples, swap.point[None], games)
        yield Train(*swap.samples)
        for _ in range(self.query_count):
            reply = yield Query(swap.point)
            likelihood.add(0, reply)
        return likelihood.score

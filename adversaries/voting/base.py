"""What the adversaries before Voting share: how often nature asks, and asking one point again and again."""

from __future__ import annotations

import attrs

from adversaries.common.answer_likelihood import Judge
from adversaries.voting.teacher_votes import Swap, queries_of
from arena import Adversary, Learner, Moves, Query, Sample, Train, setting
from arena.settings import at_least, whole


@attrs.frozen
class Nature(Adversary):
    """Base of the specs. A new one writes `play`."""

    protocols = ("Voting",)
    returns_score = True

    queries: int | None = setting(
        None, help="queries; default: the ℓ of the learner", check=[whole, at_least(1)]
    )
    sample: Sample | None = setting(None, help="the training set; default: one of nature's own")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    @property
    def questions(self) -> int:
        """How often it asks."""
        return self.queries or queries_of(self.learner)

    def _again_and_again(self, swap: Swap, games: int) -> Moves:
        """Train on the samples of a swap, ask its point every time, and score by what the answers tell."""
        judge = Judge(self.learner, swap.samples, swap.point[None], games)
        yield Train(*swap.samples)
        for _ in range(self.questions):
            reply = yield Query(swap.point)
            judge.take(0, reply)
        return judge.score

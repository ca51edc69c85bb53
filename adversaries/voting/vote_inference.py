"""vote-inference and disagreement: the points whose answers tell most, or at which teachers disagree."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood, answer_laws, outcome_probabilities
from adversaries.voting.vote_swaps import (
    Samples,
    VotingAdversary,
    build_ladder_sample,
    choose_candidates,
    find_narrowest_swap,
    simulate_votes,
)
from arena import InvalidArgument, Learner, Moves, Query, Sample, Train, count_setting, setting
from arena.settings import one_of

FLIPPED, COPY = "flipped", "copy"
_MAX_TARGETS = 8


@attrs.frozen
class VoteInference(VotingAdversary):
    """Membership inference: the target is in the sample in world 1, and replaced in world 0.

    It queries in turn the few points at which the first answers differ most in Hellinger distance, or those
    with the closest votes. The score is the log-likelihood ratio of all answers; if the distribution is not
    known, the number of answers 1, or 0, as the target is labelled. Raises: InvalidArgument if the sample has
    no such target, or it changes no vote.
    """

    name = "vote-inference"

    target: int | None = count_setting(None, help="the target's row; default: the best of a few", least=0)
    instead: str = setting(
        FLIPPED, help="the target: label flipped, or a copy of the next", check=one_of(FLIPPED, COPY)
    )
    points: int = count_setting(4, help="the largest number of points to query")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        case = find_inference_case(self.learner, self.sample, self.target, self.instead)
        likelihood = yield from self._query_in_turn(case.samples, case.points[: self.points], games)
        return likelihood.score if likelihood.is_known else case.sign * likelihood.score


@attrs.frozen(eq=False)
class InferenceCase:
    """The samples without and with the target, and the points (m, ...) where the worlds differ, best first.

    information: of the first answer at the best point. sign: 1 if the target adds votes for 1 there,
    otherwise -1.
    """

    samples: Samples
    points: np.ndarray
    information: float
    sign: int


@lru_cache(maxsize=32)
def find_inference_case(
    learner: Learner | None, sample: Sample | None, target: int | None, instead: str
) -> InferenceCase:
    """What vote-inference plays with these settings. Raises: as it does."""
    with_target = build_ladder_sample(learner) if sample is None else sample
    spread = np.unique(np.linspace(0, with_target.size - 1, _MAX_TARGETS).astype(int)).tolist()
    rows = spread if target is None else [target]
    cases = [
        _examine_samples(learner, (_replace_target(with_target, row, instead), with_target)) for row in rows
    ]
    best = max((case for case in cases if case is not None), key=lambda case: case.information, default=None)
    if best is None:
        raise InvalidArgument(
            "the target changes no vote",
            value=f"row {rows[0]}" if len(rows) == 1 else f"{len(rows)} rows",
            remedy="Choose another target, or let each teacher have fewer examples.",
        )
    return best


def _replace_target(sample: Sample, target: int, instead: str) -> Sample:
    if target >= sample.size:
        raise InvalidArgument(
            f"the target must be a row of the sample, from 0 to {sample.size - 1:,}", value=f"row {target:,}"
        )
    points, labels = (array.copy() for array in sample.rows())
    if instead == COPY:
        after = (target + 1) % sample.size
        points[target], labels[target] = points[after], labels[after]
    else:
        labels[target] ^= 1
    return Sample(points, labels)


def _examine_samples(learner: Learner | None, samples: Samples) -> InferenceCase | None:
    points = choose_candidates(learner, samples[1])
    in_0, in_1 = simulate_votes(learner, samples, points)
    differs = np.flatnonzero(in_0 != in_1)
    if not len(differs):
        return None
    information = _measure_information(learner, samples, points[differs], (in_0 + in_1)[differs] / 2)
    order = np.argsort(-information, kind="stable")
    best = differs[order[0]]
    sign = 1 if in_1[best] > in_0[best] else -1
    return InferenceCase(samples, points[differs[order]], float(information.max()), sign)


def _measure_information(
    learner: Learner | None, samples: Samples, points: np.ndarray, votes: np.ndarray
) -> np.ndarray:
    """(m,): how informative the first answer is at points (m, ...) with mean votes (m,): twice the squared
    Hellinger distance, or minus the distance of the votes from a tie."""
    laws = answer_laws(learner, samples)
    if laws is None:
        return -np.abs(votes - 0.5)
    in_0, in_1 = (np.sqrt(np.maximum(outcome_probabilities(law, points), 0.0)) for law in laws)
    return np.asarray(((in_0 - in_1) ** 2).sum(axis=0))


@attrs.frozen
class DisagreementWalk(VotingAdversary):
    """Queries only points where teachers disagree, and moves by the up-and-down method.

    After an answer 1 it moves to the point with the next fewer votes for 1, after an answer 0 to the next
    more. One example, where votes are closest, is labelled by world. The score is the log-likelihood ratio of
    the answers, or the mean position in the walk, negated. Raises: as small-margin.
    """

    name = "disagreement"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        region = find_disputed_region(self.learner, self.sample)
        likelihood = AnswerLikelihood(self.learner, region.samples, region.points, games)
        last = len(region.points) - 1
        position = np.full(games, region.start)
        descent = np.zeros(games)
        yield Train(*region.samples)
        for _ in range(self.query_count):
            reply = yield Query(region.points[position])
            likelihood.add(position, reply)
            position = np.clip(position + (reply.label == 0) - (reply.label == 1), 0, last)
            descent -= position
        return likelihood.score if likelihood.is_known else descent


@attrs.frozen(eq=False)
class DisputedRegion:
    """Neighbouring samples, and points (m, ...) where teachers disagree, by increasing votes for 1; start:
    the index of that closest to a tie."""

    samples: Samples
    points: np.ndarray
    start: int


@lru_cache(maxsize=32)
def find_disputed_region(learner: Learner | None, sample: Sample | None) -> DisputedRegion:
    """One point for each number of votes with which teachers disagree. Raises: as `find_narrowest_swap`."""
    try:
        swap = find_narrowest_swap(learner, build_ladder_sample(learner) if sample is None else sample)
    except InvalidArgument:
        if sample is not None:
            raise
        swap = find_narrowest_swap(learner, None)
    points = choose_candidates(learner, swap.samples[0])
    votes = simulate_votes(learner, swap.samples, points).mean(axis=0)
    levels, first = np.unique(votes, return_index=True)
    # The point of the swap is preferred to others with as many votes.
    same = np.flatnonzero((points == swap.point).reshape(len(points), -1).all(axis=1))
    first = np.where(np.isin(levels, votes[same]), same[0] if len(same) else 0, first)
    disputed = (levels > 0) & (levels < 1)
    start = int(np.abs(levels[disputed] - 0.5).argmin())
    return DisputedRegion(swap.samples, points[first[disputed]], start)

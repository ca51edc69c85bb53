"""opposite-votes: a run of equal answers, then a query where the example moves votes the other way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood, answer_laws, outcome_probabilities
from adversaries.common.training_samples import thin_out
from adversaries.voting.base import VotingAdversary
from adversaries.voting.vote_swaps import (
    Samples,
    build_ladder_sample,
    choose_ladder,
    sample_size_of,
    simulate_votes,
)
from arena import AnswerLaw, InvalidArgument, Learner, Moves, Query, Sample, Train, Unsupported

_RARE = 1e-3  # by which the probability of the event must exceed the claim's δ
_MAX_POINTS = 11  # of a sample, at which runs and turns are tried
_MAX_TARGETS = 2  # examples that are tried for the swap
_NEARER = (-0.5, -0.25, 0.0, 0.25, 0.5)  # votes around the best ones that are tried next, in steps
_NO_PROBABILITY = 1e-12  # probabilities below are taken for this one


@attrs.frozen
class OppositeVotes(VotingAdversary):
    """Repeats one query for a run of equal answers, and then turns to another point, again and again.

    Made for the sparse vector technique. While the answer stays the same at the first point, the hidden
    threshold is known better and better; the answer at the second point depends on the threshold and on fresh
    noise. If the swapped example moves the two votes in opposite directions, in relation to the threshold,
    both leaks add up. If it cannot, the votes at the second point are the same in both worlds. A run ends
    with the turn or with another answer.

    In world 0 one example has its label flipped, or is a copy of another. The adversary computes the
    probability that all runs are complete and all turns are answered otherwise, and chooses the example, the
    points and the length of a run for which this event has the largest ε, at the claim's δ plus 0.001.

    The score is the log-likelihood ratio of the answers. Raises: Unsupported if the learner's output
    distribution is not known; InvalidArgument if the example changes no answer.
    """

    name = "opposite-votes"
    protocols = ("Voting", "Figure1")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        plan = plan_runs(self.learner, self.sample, self.query_count)
        likelihood = AnswerLikelihood(self.learner, plan.samples, plan.points, games)
        answered = np.zeros(games, int)  # of the run
        yield Train(*plan.samples)
        for number in range(1, self.query_count + 1):
            turns = answered == plan.length
            column = turns.astype(int) if number < self.query_count or not plan.ends_at_tie else 2
            reply = yield Query(plan.points[column])
            likelihood.add(column, reply)
            answered = np.where(turns | (reply.label != plan.label), 0, answered + 1)
        return likelihood.score


@attrs.frozen(eq=False)
class RunPlan:
    """Neighbouring samples, the points (3, ...) of the run, of the turn and of the end, and the run's length.

    swap: which of the swaps was made. label: the answer that a run repeats. length: of a run, without the
    turn. ends_at_tie: whether the last query is at the point of the end. loss: of the event, nats.
    """

    samples: Samples
    swap: int
    points: np.ndarray
    label: int
    length: int
    ends_at_tie: bool
    loss: float


@lru_cache(maxsize=32)
def plan_runs(learner: Learner | None, sample: Sample | None, queries: int) -> RunPlan:
    """The runs whose event has the largest privacy loss. Raises: as `OppositeVotes`.

    Without a sample it builds one, first with votes that are far apart, then with votes near the best ones.
    """
    if sample is not None:
        return _choose_plan(learner, sample, queries)
    best = _choose_plan(learner, build_ladder_sample(learner), queries)
    points, size = choose_ladder(learner), sample_size_of(learner)
    step = size / len(points)
    while points.ndim == 1 and step > 1 and len(points) >= _MAX_POINTS:
        near = size * simulate_votes(learner, best.samples[1:], best.points[:2])[0]
        votes = np.append(np.rint(near[:, None] + step * np.array(_NEARER)), (size + 1) // 2)
        votes = np.unique(np.clip(votes, 1, size).astype(int))
        step *= _NEARER[-1] - _NEARER[-2]
        nearer = _choose_plan(learner, build_ladder_sample(learner, votes), queries, like=best)
        best = max(best, nearer, key=lambda plan: plan.loss)
    return best


def _choose_plan(
    learner: Learner | None, sample: Sample, queries: int, like: RunPlan | None = None
) -> RunPlan:
    """The best plan on this sample.

    like: only plans with its swap and the answer of its runs.
    """
    plans: list[RunPlan] = []
    for swap, samples in enumerate(_swap_examples(sample)):
        if like is None:
            plans += _list_plans(learner, samples, queries, swap)
        elif like.swap == swap:
            plans += _list_plans(learner, samples, queries, swap, like.label)
    best = max(plans, key=lambda plan: plan.loss, default=like)
    if best is None or best.loss <= 0:
        raise InvalidArgument(
            "the example changes no answer that is likely enough",
            remedy="Give each teacher fewer examples (more teachers), or bring no data.",
        )
    return best


def _swap_examples(sample: Sample) -> Iterator[Samples]:
    """The sample with another example in place of one, and the sample itself.

    The other example has the same point and the other label, or is a copy of the one half the sample away.
    """
    points, labels = sample.rows()
    for row in np.unique(np.linspace(0, sample.size // 2, _MAX_TARGETS).astype(int)).tolist():
        flipped, moved = labels.copy(), np.arange(sample.size)
        flipped[row] ^= 1
        moved[row] = (row + sample.size // 2) % sample.size
        yield Sample(points, flipped), sample
        yield Sample(points[moved], labels[moved]), sample


def _list_plans(
    learner: Learner | None, samples: Samples, queries: int, swap: int, answer: int | None = None
) -> Iterator[RunPlan]:
    """For each length of a run, the two points with the largest loss of a single run.

    answer: that a run repeats; None: each.
    """
    laws = answer_laws(learner, samples)
    if laws is None:
        raise Unsupported(
            "opposite-votes needs a learner whose output distribution is known",
            value="no learner" if learner is None else learner.name,
            remedy="Play small-margin, repeat-point or training-swap.",
        )
    assert learner is not None  # otherwise nothing is known
    points = thin_out(np.unique(samples[1].points, axis=0), _MAX_POINTS)
    revealing = _reveal_worlds(laws, points)
    end = int(revealing.argmax())
    ends_at_tie = bool(queries > 1 and revealing[end] > _NO_PROBABILITY)
    last = points[end : end + 1]
    if ends_at_tie:
        queries -= 1
        points = points[revealing <= _NO_PROBABILITY]
    claimed = 0.0 if learner.claim.empty else learner.claim.delta
    for label in {label for label, _ in laws[0].outcomes} if answer is None else {answer}:
        measures = [np.tile(law.start(), (len(points), 1)) for law in laws]
        for length in range(queries):
            if max(measure.sum(axis=1).max() for measure in measures) < _RARE:
                break
            if (length + 1) & length == 0 or length == queries - 1:  # 0, 1, 3, 7, ... and the longest
                turns = [_turn_anywhere(*each, points, label) for each in zip(laws, measures, strict=True)]
                # What reveals a world at the end takes its part of the claim's δ, in games that get there.
                goes_on = np.minimum(turns[0][1], turns[1][1])
                delta = _RARE + np.maximum(0.0, claimed - ends_at_tie * revealing[end] * goes_on)
                losses = _loss_of(turns[0][0], turns[1][0], delta)
                best = np.unravel_index(losses.argmax(), losses.shape)
                chosen = np.concatenate([points[list(best)], last])
                events = [_follow_runs(law, chosen, label, length, queries) for law in laws]
                runs = min(map(len, events))
                loss = _loss_of(events[0][:runs], events[1][:runs], delta[best]).max()
                yield RunPlan(samples, swap, chosen, label, length, ends_at_tie, float(loss))
            measures = [
                _split_answers(law, measure, points, label)[0]
                for law, measure in zip(laws, measures, strict=True)
            ]


def _reveal_worlds(laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> np.ndarray:
    """(m,): the probability that the first answer is one that is impossible in the other world."""
    labels = [label for label, _ in laws[0].outcomes]
    masses = np.zeros((2, max(labels) + 1, len(points)))
    for world, law in enumerate(laws):
        np.add.at(masses[world], labels, outcome_probabilities(law, points))
    return np.asarray(np.where(masses[::-1] == 0, masses, 0.0).sum(axis=1).max(axis=0))


def _turn_anywhere(law: AnswerLaw, measures: np.ndarray, points: np.ndarray, label: int) -> np.ndarray:
    """(2, m, m): the probability of another answer than `label` at each point, after each of m measures.

    Also that of the answer `label` with which the learner goes on.
    """
    found = []
    for point in points:
        same, other, ended = _split_answers(law, measures, np.broadcast_to(point, points.shape), label)
        found.append((other.sum(axis=1) + ended, same.sum(axis=1)))
    return np.array(found).transpose(1, 2, 0)


def _follow_runs(law: AnswerLaw, points: np.ndarray, label: int, length: int, queries: int) -> np.ndarray:
    """(j,): the probability that the first 1, ..., j runs are complete and their turns answered otherwise."""
    run, turn = points[:1], points[1:2]
    measure, halted, events = law.start()[None], 0.0, []
    for _ in range(max(1, queries // (length + 1))):
        for _ in range(length):
            measure = _split_answers(law, measure, run, label)[0]
        _, measure, ended = _split_answers(law, measure, turn, label)
        halted += float(ended[0])
        events.append(halted + float(measure.sum()))
        if events[-1] < _RARE:
            break
    return np.array(events)


def _split_answers(
    law: AnswerLaw, measures: np.ndarray, points: np.ndarray, label: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures (n, m) after the answer `label`, and after another answer, where the learner goes on.

    Also the probability (n,) of another answer with which it halts.
    """
    parts = law.step(measures, points)
    labels, halts = (np.array(column) for column in zip(*law.outcomes, strict=True))
    same, other = parts[(labels == label) & ~halts], parts[(labels != label) & ~halts]
    return same.sum(axis=0), other.sum(axis=0), parts[(labels != label) & halts].sum(axis=(0, 2))


def _loss_of(in_0: np.ndarray, in_1: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """The ε that an event needs at this δ, from its probabilities in both worlds, in either direction."""
    more, less = np.maximum(in_0, in_1) - delta, np.minimum(in_0, in_1)
    return np.asarray(np.log(np.maximum(more, _NO_PROBABILITY) / np.maximum(less, _NO_PROBABILITY)))

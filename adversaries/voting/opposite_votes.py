"""opposite-votes: a run of equal answers, then a query where the example moves votes the other way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood, answer_laws, outcome_probabilities
from adversaries.common.training_samples import thin_out
from adversaries.voting.vote_swaps import (
    Samples,
    VotingAdversary,
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
_MOST_LOSS = 16.0  # nats, beyond which plans are not compared
_HALVINGS = 20  # of an interval for ε


@attrs.frozen
class OppositeVotes(VotingAdversary):
    """Repeats one query for a run of equal answers, and then turns to another point, again and again.

    Made for the sparse vector technique: while the answer stays the same, the hidden threshold is known
    better and better, and the answer after the turn depends on it. Best, the swapped example moves the two
    votes in opposite directions. If an answer at a tie shows the world, the last queries are at the tie, and
    take the claim's δ.

    Example (flipped, or a copy of another, in world 0), points and length of a run are those with the largest
    ε at the claim's δ plus 0.001. The score is the log-likelihood ratio of the answers. Raises: Unsupported
    if the learner's output distribution is not known; InvalidArgument if the example changes no answer.
    """

    name = "opposite-votes"
    protocols = ("Voting", "Figure1")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        plan = plan_runs(self.learner, self.sample, self.query_count)
        likelihood = AnswerLikelihood(self.learner, plan.samples, plan.points, games)
        answered, reserved = np.zeros(games, int), np.full(games, plan.reserved)
        exchanged, ends = np.zeros(games, bool), np.zeros(games, bool)
        yield Train(*plan.samples)
        for left in range(self.query_count, 0, -1):
            ends |= left <= reserved
            turns = (answered == plan.length) | ((left == reserved + 1) & (plan.reserved > 0))
            column = np.where(ends, 2, turns ^ exchanged)
            reply = yield Query(plan.points[column])
            likelihood.add(column, reply)
            changes = plan.changes[reply.label]
            answered = np.where(turns | changes, 0, answered + 1)
            if plan.reserved:
                ends |= turns != changes
                exchanged ^= turns & changes
                reserved -= changes
        return likelihood.score


@attrs.frozen(eq=False)
class RunPlan:
    """Neighbouring samples, the points (3, ...) of the run, the turn and the end, and the run's length."""

    samples: Samples
    swap: int
    points: np.ndarray
    changes: np.ndarray
    length: int
    reserved: int
    loss: float


@lru_cache(maxsize=32)
def plan_runs(learner: Learner | None, sample: Sample | None, queries: int) -> RunPlan:
    """The runs whose event has the largest privacy loss; without a sample, from votes far apart to votes near
    the best. Raises: as `OppositeVotes`."""
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
    """The best plan on this sample. like: only plans with its swap and the answers that end its runs."""
    plans: list[RunPlan] = []
    for swap, samples in enumerate(_swap_examples(sample)):
        if like is None:
            plans += _list_plans(learner, samples, queries, swap)
        elif like.swap == swap:
            plans += _list_plans(learner, samples, queries, swap, like.changes)
    best = max(plans, key=lambda plan: plan.loss, default=like)
    if best is None or best.loss <= 0:
        raise InvalidArgument(
            "the example changes no answer that is likely enough",
            remedy="Give each teacher fewer examples (more teachers), or bring no data.",
        )
    return best


def _swap_examples(sample: Sample) -> Iterator[Samples]:
    points, labels = sample.rows()
    for row in np.unique(np.linspace(0, sample.size // 2, _MAX_TARGETS).astype(int)).tolist():
        flipped, moved = labels.copy(), np.arange(sample.size)
        flipped[row] ^= 1
        moved[row] = (row + sample.size // 2) % sample.size
        yield Sample(points, flipped), sample
        yield Sample(points[moved], labels[moved]), sample


def _list_plans(
    learner: Learner | None, samples: Samples, queries: int, swap: int, changes: np.ndarray | None = None
) -> Iterator[RunPlan]:
    """For each length of a run, the two points with the largest loss. changes: (labels,) bool, the answers
    that end a run; None: all but one, for each."""
    laws = answer_laws(learner, samples)
    if laws is None:
        raise Unsupported(
            "opposite-votes needs a learner whose output distribution is known",
            value="no learner" if learner is None else learner.own_name,
            remedy="Play small-margin, repeat-point or training-swap.",
        )
    assert learner is not None  # otherwise nothing is known
    points = thin_out(np.unique(samples[1].points, axis=0), _MAX_POINTS)
    delta = _RARE + (0.0 if learner.claim.empty else learner.claim.delta)
    revealing = _reveal_worlds(laws, points)
    end = int(revealing.argmax())
    labels = np.arange(1 + max(label for label, _ in laws[0].outcomes))
    if revealing[end] > _NO_PROBABILITY:
        halting = np.isin(labels, [label for label, halts in laws[0].outcomes if halts])
        reserved = _count_halts(laws[0], points[end : end + 1], halting, queries)
        others = points[revealing <= _NO_PROBABILITY]
        pairs = np.indices((len(others), len(others))).reshape(2, -1)
        tried = np.stack([*others[pairs], np.broadcast_to(points[end], others[pairs[0]].shape)])
        before: list[float] = []  # losses of shorter runs
        for length in _list_lengths(max(1, queries - reserved)):
            leaves = [_follow_to_tie(law, tried, halting, length, queries, reserved) for law in laws]
            losses = _loss_of_leaves(np.stack(leaves), delta)
            best = int(losses.argmax())
            yield RunPlan(samples, swap, tried[:, best], halting, length, reserved, float(losses[best]))
            if len(before) > 1 and losses[best] < min(before[-2:]):
                break  # longer runs are less likely to be complete
            before.append(float(losses[best]))
        return
    for ending in [labels != label for label in labels] if changes is None else [changes]:
        measures = [np.tile(law.start(), (len(points), 1)) for law in laws]
        for length in range(queries):
            if max(measure.sum(axis=1).max() for measure in measures) < _RARE:
                break
            if length in _list_lengths(queries):
                turns = [_turn_anywhere(*each, points, ending) for each in zip(laws, measures, strict=True)]
                losses = _loss_of(turns[0], turns[1], delta)
                chosen = points[list(np.unravel_index(losses.argmax(), losses.shape))]
                events = [_follow_runs(law, chosen, ending, length, queries) for law in laws]
                runs = min(map(len, events))
                loss = _loss_of(events[0][:runs], events[1][:runs], delta).max()
                yield RunPlan(samples, swap, chosen, ending, length, 0, float(loss))
            measures = [
                _split_answers(law, measure, points, ending)[0]
                for law, measure in zip(laws, measures, strict=True)
            ]


def _list_lengths(queries: int) -> list[int]:
    return sorted({*(2**power - 1 for power in range(queries.bit_length())), queries - 1})


def _reveal_worlds(laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> np.ndarray:
    """(m,): the probability that the first answer is one that is impossible in the other world."""
    labels = [label for label, _ in laws[0].outcomes]
    masses = np.zeros((2, max(labels) + 1, len(points)))
    for world, law in enumerate(laws):
        np.add.at(masses[world], labels, outcome_probabilities(law, points))
    return np.asarray(np.where(masses[::-1] == 0, masses, 0.0).sum(axis=1).max(axis=0))


def _count_halts(law: AnswerLaw, point: np.ndarray, changes: np.ndarray, queries: int) -> int:
    """The number of answers that change after which the game halts, at most `queries`."""
    measure = law.start()[None]
    for count in range(1, queries):
        _, measure, _ = _split_answers(law, measure, point, changes)
        if not measure.any():
            return count
    return queries


def _follow_to_tie(
    law: AnswerLaw, points: np.ndarray, changes: np.ndarray, length: int, queries: int, reserved: int
) -> np.ndarray:
    """(leaves, n): the probabilities of what is seen with each of n points (3, n, ...) of plans, last the
    answers at the tie that end no run."""
    here, there, end = points
    measure = np.tile(law.start(), (len(end), 1))
    shown = np.zeros((len(changes), len(end)))
    leaves = []

    def go_to_tie(measure: np.ndarray, queries: int) -> np.ndarray:
        """The probability that the tie shows nothing; what it shows is added to `shown`."""
        seen = np.zeros(len(end))
        for _ in range(queries):
            parts = law.step(measure, end)
            for (label, _), part in zip(law.outcomes, parts, strict=True):
                if not changes[label]:
                    shown[label] += part.sum(axis=1)
            _, measure, ended = _split_answers(law, measure, end, changes)
            seen += ended
        return seen + measure.sum(axis=1)

    for left in range(reserved, 0, -1):
        early, halted = np.zeros_like(measure), np.zeros(len(end))
        for _ in range(min(length, queries - left - 1)):
            measure, other, ended = _split_answers(law, measure, here, changes)
            queries, early, halted = queries - 1, early + other, halted + ended
        leaves.append(halted + go_to_tie(early, left - 1))  # one leaf, whichever answer ended the run
        if queries <= left:
            break
        same, measure, ended = _split_answers(law, measure, there, changes)
        queries -= 1
        leaves += [ended, go_to_tie(same, left)]
        here, there = there, here
    leaves.append(go_to_tie(measure, min(queries, reserved)))
    return np.array([*leaves, *shown])


def _loss_of_leaves(masses: np.ndarray, delta: float) -> np.ndarray:
    """(n,): the ε at this δ, from the probabilities (2, leaves, n) of all that is seen in both worlds."""
    low, high = np.zeros(masses.shape[2]), np.full(masses.shape[2], _MOST_LOSS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        gaps = np.maximum(masses - np.exp(middle) * masses[::-1], 0.0).sum(axis=1).max(axis=0)
        low, high = np.where(gaps > delta, middle, low), np.where(gaps > delta, high, middle)
    return low


def _turn_anywhere(
    law: AnswerLaw, measures: np.ndarray, points: np.ndarray, changes: np.ndarray
) -> np.ndarray:
    """(m, m): the probability of an answer that changes at each point, after each of m measures."""
    found = []
    for point in points:
        _, other, ended = _split_answers(law, measures, np.broadcast_to(point, points.shape), changes)
        found.append(other.sum(axis=1) + ended)
    return np.array(found).T


def _follow_runs(
    law: AnswerLaw, points: np.ndarray, changes: np.ndarray, length: int, queries: int
) -> np.ndarray:
    """(j,): the probability that the first 1, ..., j runs are complete and their turns answered otherwise."""
    run, turn = points[:1], points[1:2]
    measure, halted, events = law.start()[None], 0.0, []
    for _ in range(max(1, queries // (length + 1))):
        for _ in range(length):
            measure = _split_answers(law, measure, run, changes)[0]
        _, measure, ended = _split_answers(law, measure, turn, changes)
        halted += float(ended[0])
        events.append(halted + float(measure.sum()))
        if events[-1] < _RARE:
            break
    return np.array(events)


def _split_answers(
    law: AnswerLaw, measures: np.ndarray, points: np.ndarray, changes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures (n, m) after an answer that goes on with a run, and after one that changes, and the
    probability (n,) of one that changes and halts the game."""
    parts = law.step(measures, points)
    labels, halts = (np.array(column) for column in zip(*law.outcomes, strict=True))
    ending = changes[labels]
    same, other = parts[~ending & ~halts], parts[ending & ~halts]
    return same.sum(axis=0), other.sum(axis=0), parts[ending & halts].sum(axis=(0, 2))


def _loss_of(in_0: np.ndarray, in_1: np.ndarray, delta: float) -> np.ndarray:
    """The ε that an event needs at this δ, from its probabilities in both worlds, in either direction."""
    more, less = np.maximum(in_0, in_1) - delta, np.minimum(in_0, in_1)
    return np.asarray(np.log(np.maximum(more, _NO_PROBABILITY) / np.maximum(less, _NO_PROBABILITY)))

"""The samples and queries for which a game is solved: for all votes, of an adversary, or the worst ones."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Any, Never

import attrs
import numpy as np

from arena import Adversary, AnswerLaw, InvalidArgument, Learner, Sample, Training, Unsupported, play
from arena.concepts.finite import build_vote_pairs
from arena.players import finite_domain, read_relation_of
from arena.referees import name_protocols
from audits.exact_loss.answer_paths import AnswerLaws, PresetStates
from audits.registry.match import find_protocol
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution
from audits.solver.games.query_game import QueryGame, answer_game, number_points
from audits.solver.linear_game import Watch, drop_dominated, ignore_progress

MOST_POINTS = 4_096  # that are listed as queries
MOST_SAMPLES = 2_000  # samples whose answers are compared
MOST_PAIRS = 500  # pairs of samples whose games are solved
_PROBES = 16  # points of each interval at which answers are compared


def pose_every_vote(learner: Learner) -> QueryGame:
    """The learner with a concept class on which its n teachers can cast every pair of votes that neighbouring
    samples of any class allow. See `build_vote_pairs`.
    Raises: Unsupported unless the learner trains one teacher on each of a fixed number of examples."""
    size = learner.sample_size
    if size is None:
        raise _no_votes(learner)
    concepts = build_vote_pairs(size)
    common = np.arange(size - 1.0)
    samples = [Sample(np.append(common, last), np.ones(size)) for last in (size - 1.0, float(size))]
    points = np.arange(size + 1, concepts.matrix.shape[1])
    ones = concepts.matrix[:, points]
    votes = zip(*(ones[: size - 1].sum(axis=0) + ones[last] for last in (size - 1, size)), strict=True)
    learner, setting = _with_class(learner, concepts, f"votes:{size}")
    return QueryGame(
        learner=learner,
        samples=(samples[0], samples[1]),
        points=points.astype(float),
        text=f"neighbours on which {size} teachers can cast every pair of votes "
        "(a|b: a for label 1 in world 0, b in world 1)",
        names=tuple(f"{first}|{second}" for first, second in votes),
        settings={setting: f"votes:{size}"},
    )


def _with_class(learner: Any, concepts: Any, text: str) -> tuple[Learner, str]:
    """The learner with another concept class, and the name of the setting that holds it."""
    names = {field.name for field in attrs.fields(type(learner))}
    if "concepts" in names:
        return attrs.evolve(learner, concepts=concepts), "concepts"
    if "teacher" in names and learner.concepts is not None:
        teacher = attrs.evolve(learner.teacher, concepts=concepts, text=text)
        return attrs.evolve(learner, teacher=teacher), "teacher"
    raise _no_votes(learner)


def _no_votes(learner: Learner) -> Unsupported:
    return Unsupported(
        f"{learner.own_name} does not train one teacher on each of a fixed number of examples",
        remedy="Name an adversary (--against), whose samples are taken.",
    )


def pose_against(learner: Learner, adversary: Adversary, *, seed: int = 0) -> QueryGame:
    """The samples that an adversary hands over in both worlds, with the same random numbers, and points as of
    `list_queries`. Raises: Unsupported, also if the learner does not answer queries, or is not trained."""
    kind = find_protocol(learner, AnswerLaw)
    if kind is None:
        raise Unsupported(
            f"{learner.own_name} does not answer queries, so there are no samples to give it",
            value=", ".join(learner.protocols),
            remedy=f"Choose a learner of {name_protocols(lambda kind: kind.law is AnswerLaw)}.",
        )
    samples = []
    for world in (False, True):
        state = _TrainingReader()
        players = PresetStates.of(learner, state), adversary, kind()
        try:
            play(*players, games=1, seed=seed, worlds=np.array([world]))
        except _Received as received:
            samples.append(received.sample)
        else:
            raise Unsupported(f"{adversary.name} gives {learner.own_name} no training sample")
    differ = "" if samples[0] != samples[1] else ", the same in both worlds, which differ in one query"
    return _pose(learner, samples, f"the training samples of {adversary.name}{differ}")


def pose_samples(learner: Learner, first: Sample, second: Sample) -> QueryGame:
    """Given samples of worlds 0 and 1, neighbours by the learner's claim, or the same.
    Raises: InvalidArgument if they are not; Unsupported as `list_queries` does."""
    relation = read_relation_of(learner)
    changes = relation.count_changes(first, second, learner.users_of)
    if not 0 <= changes <= relation.size:
        raise InvalidArgument(
            relation.rule,
            value=f"{changes} changes" if changes > 0 else f"{first.size} and {second.size} examples",
        )
    return _pose(learner, [first, second], f"the given samples of {first.size:,} examples")


def _pose(learner: Learner, samples: list[Sample], text: str) -> QueryGame:
    measured = f"answers between two points of the samples were compared at {_PROBES} points of the interval"
    return QueryGame(
        learner=learner,
        text=text,
        samples=(samples[0], samples[1]),
        points=list_queries(learner, samples),
        measured=measured if finite_domain(learner) is None else "",
    )


def list_queries(learner: Learner, samples: list[Sample]) -> np.ndarray:
    """(p, ...): the points of the learner's finite domain, or those of the samples and one in each interval
    between them. Raises: Unsupported if the domain is too large, or infinite and not the real line, or if
    answers at some points of an interval differ."""
    domain = finite_domain(learner)
    if domain is not None:
        if len(domain) > MOST_POINTS:
            raise Unsupported(
                f"{learner.own_name} can be queried at {len(domain):,} points, more than {MOST_POINTS:,}",
                remedy=f"Choose a concept class with at most {MOST_POINTS:,} points.",
            )
        return np.array(domain, float)
    if learner.point_shape:
        raise Unsupported(
            f"{learner.own_name} can be queried at infinitely many points, whose answers cannot be listed",
            value=f"points of shape {learner.point_shape}",
            remedy="Choose a concept class with a finite domain, or on the real line.",
        )
    cuts = np.unique(np.concatenate([sample.points for sample in samples])).astype(float)
    ends = np.concatenate([[cuts[0] - 1], cuts, [cuts[-1] + 1]])
    middles = (ends[:-1] + ends[1:]) / 2
    inner = np.linspace(0, 1, _PROBES + 2)[1:-1]
    probes = ends[:-1, None] + inner * np.diff(ends)[:, None]
    laws = AnswerLaws(learner)
    for sample in samples:
        numbers = number_points(laws.of(sample), np.column_stack([middles, probes]).ravel())
        rows = numbers.reshape(len(middles), -1)
        if (rows != rows[:, :1]).any():
            place = int(np.argmax((rows != rows[:, :1]).any(axis=1)))
            raise Unsupported(
                f"{learner.own_name} answers differently within an interval without a point of the samples",
                value=f"from {ends[place]:g} to {ends[place + 1]:g}",
                remedy="Choose a concept class with a finite domain.",
            )
    return np.sort(np.concatenate([cuts, middles]))


def pose_smallest(
    learner: Learner,
    rounds: int,
    epsilon: float,
    *,
    size: int | None = None,
    limits: GraphLimits | None = None,
    watch: Watch = ignore_progress,
) -> tuple[QueryGame, float]:
    """The neighbouring samples of a finite domain for which δ*(ε) of T queries is largest, and a lower bound
    on it. size: of samples; default: the least that the learner needs. Samples are multisets, and those whose
    first two answers have the same distributions, whatever the queries, count once.

    Raises: Unsupported if the domain is not finite, the size is open, the order of examples matters, or there
        are too many samples.
    """
    domain = finite_domain(learner)
    size = learner.sample_size if size is None else size
    if domain is None or size is None:
        raise Unsupported(
            f"the samples of {learner.own_name} cannot be listed",
            remedy="Choose a concept class with a finite domain, and give the number of examples.",
        )
    points = np.array(domain, float)
    kinds = 2 * len(points)
    count = comb(kinds + size - 1, size)
    if count > MOST_SAMPLES:
        possible = next(n for n in range(size, -1, -1) if comb(kinds + n - 1, n) <= MOST_SAMPLES)
        raise Unsupported(
            f"{learner.own_name} has {count:,} samples of {size} examples of {len(points)} points, more than "
            f"{MOST_SAMPLES:,}",
            value=size,
            remedy=f"Choose at most {possible} examples, or a smaller domain.",
        )
    watch("pairs of samples", 0, 0)
    pairs = _list_neighbours(learner, size, points)
    best, delta = pairs[0], -np.inf
    for done, pair in enumerate(pairs):
        watch("pairs of samples", done, len(pairs))
        for ordered in (pair, pair[::-1]):
            game, _ = drop_dominated(answer_game(learner, ordered, points, rounds)[0])
            graph = BeliefGraph(game, np.array([epsilon]), limits or GraphLimits())
            value = float(GameSolution(graph).root.lower()[0])
            if value > delta:
                best, delta = ordered, value
    text = f"the worst of {len(pairs):,} neighbouring pairs of samples: {best[0]} and {best[1]}"
    measured = "pairs of samples whose first two answers agree to nine decimals were solved once"
    posed = QueryGame(learner=learner, text=text, samples=best, points=points, measured=measured)
    return posed, max(delta, 0.0)


def _list_neighbours(learner: Learner, size: int, points: np.ndarray) -> list[tuple[Sample, Sample]]:
    """One pair of neighbours, which differ in the last example, for each pair of ways to answer."""
    kinds = range(2 * len(points))  # the label is the last bit
    known = AnswerLaws(learner)

    def build(rows: tuple[int, ...]) -> Sample:
        return Sample(points[np.array(rows) // 2], np.array(rows) % 2)

    answers = {}
    for rows in combinations_with_replacement(kinds, size):
        answers[rows] = _two_answers(known.of(build(rows)), points)
        if _two_answers(known.of(build(rows[::-1])), points) != answers[rows]:
            raise Unsupported(
                f"answers of {learner.own_name} depend on the order of its examples, so samples are too many",
                remedy="Name an adversary, whose samples are taken.",
            )
    pairs: dict[tuple[bytes, ...], tuple[Sample, Sample]] = {}
    for common in combinations_with_replacement(kinds, size - 1):
        for one, other in combinations(kinds, 2):
            key = tuple(sorted(answers[tuple(sorted((*common, last)))] for last in (one, other)))
            if key[0] != key[1]:
                pairs.setdefault(key, (build((*common, one)), build((*common, other))))
    if not 0 < len(pairs) <= MOST_PAIRS:
        raise Unsupported(
            f"{learner.own_name} has {len(pairs):,} neighbouring pairs of samples with different answers, "
            f"and 1 to {MOST_PAIRS:,} can be solved",
            value=size,
            remedy="Choose another number of examples or another domain.",
        )
    return list(pairs.values())


def _two_answers(law: AnswerLaw, points: np.ndarray) -> bytes:
    """The probabilities, to nine decimals, of all outcomes of two queries at any of the points."""
    start = np.repeat(np.asarray(law.start())[None], len(points), axis=0)
    after = np.asarray(law.step(start, points))
    reached = after.reshape(-1, after.shape[2])
    later = [law.step(reached, np.repeat(point[None], len(reached), axis=0)).sum(axis=2) for point in points]
    masses = np.concatenate([after.sum(axis=2).ravel(), np.ravel(later)])
    return (np.round(masses, 9) + 0.0).tobytes()


class _Received(Unsupported):
    """Ends a game as soon as the learner has its sample."""

    def __init__(self, sample: Sample) -> None:
        super().__init__("the sample is known")
        self.sample = sample


class _TrainingReader:
    """Ends the game with the training sample."""

    halted = np.zeros(1, bool)

    def train(self, training: Training) -> Never:
        raise _Received(training.samples[training.which[0]])

"""Searches under SpecialRound and TrainingRun: streams of examples, canaries, and scores of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any, ClassVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import (
    Advance,
    Example,
    GradientCanary,
    Learner,
    Models,
    Move,
    PrivacyUnit,
    Ready,
    Reply,
    Sample,
    SpecialRound,
    TrainingRun,
)
from arena.capabilities import TrainsByNoisySteps
from arena.claims import REPLACING
from arena.players import read_relation_of
from arena.step_scores import RATIO, STEP_SCORES, StepScore
from audits.adversary_search.point_strategies import (
    MAX_STRETCHES,
    choose_from,
    constant_points_of,
    counts_of,
    draw_points,
    far_points_of,
    place_challenge,
    points_of,
    sample_from,
    shorten_steps,
    stretches_around,
    two_different,
    two_points,
)
from audits.adversary_search.script import (
    SPACES,
    AnswerHistory,
    Memory,
    Point,
    Script,
    SearchBudget,
    SearchSpace,
    Step,
    as_point,
    select_points,
)
from audits.adversary_search.script_strategies import cut_runs, draw_neighbours, draw_sizes, make_neighbours

WITH, AGAINST = "with", "against"
MAX_EXAMPLES = 64  # of a game, unless a setting of the learner is larger
_LONG = 1e6  # the length of a gradient that is clipped
_MAX_SINGLE = 4  # coordinates along which gradients are chosen alone
_MAX_TOGETHER = 16  # coordinates of one gradient, spread over the layers of a model


@attrs.frozen
class Show(Step):
    """SpecialRound: show the example (point, label), `times` times.
    The label "with" is the prediction of the last hypothesis at the point, and "against" the opposite."""

    point: Point = attrs.field(converter=as_point)
    label: int | str = 0
    times: int = 1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        if self.label not in (WITH, AGAINST):
            return Example(self.point, self.label)
        predicted = last.hypothesis(np.asarray(self.point))
        return Example(self.point, predicted if self.label == WITH else ~predicted)

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        return np.asarray(last.hypothesis(np.asarray(self.point)), bool)


@attrs.frozen
class Special(Step):
    """SpecialRound: show the example `world_0` in world 0 and `world_1` in world 1, each (point, label).
    times, when: as in `Challenge`."""

    world_0: tuple[Point, int]
    world_1: tuple[Point, int]
    times: int = 1
    when: Memory | None = None

    challenges: ClassVar[bool] = True

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        (x, y), (other_x, other_y) = self.world_0, self.world_1
        return Example(x, y, select_points(now, other_x, x), np.where(now, other_y, y))

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        return np.asarray(last.hypothesis(np.asarray(self.world_0[0])), bool)


def streams(learner: Learner, *, limit: int = MAX_EXAMPLES) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of SpecialRound with at most `limit` rounds, a special one before the last. One
    time in three the special example is a mistake in one world only, after many mistakes at its point."""
    rounds = getattr(learner, "rounds", None)
    limit = min(limit, rounds) if isinstance(rounds, int) else limit
    points = draw_points(learner)
    times = sample_from(counts_of(learner, limit))
    shown = st.builds(Show, points, sample_from([0, 1, WITH, AGAINST]), times)
    special_points = [*constant_points_of(learner)[0], *far_points_of(learner)]
    usual, other = (
        [(p, y) for p in points for y in (0, 1)] for points in (points_of(learner), special_points)
    )
    examples = st.one_of(two_different(usual), two_different([*usual, *other]))
    special = place_challenge(learner, limit, examples.map(lambda two: Special(*two)))
    anything = stretches_around(special, shown, MAX_STRETCHES - 1, limit)

    def around_one(drawn: tuple[Point, int, int, str, int]) -> tuple[Step, ...]:
        point, before, label, probes, after = drawn
        special = Special((point, label), (point, 1 - label))
        return shorten_steps([Show(point, AGAINST, before), special, Show(point, probes, after)], limit)

    parts = st.tuples(points, times, sample_from([0, 1]), sample_from([AGAINST, WITH]), times)
    return st.one_of(anything, anything, parts.map(around_one))


def _draw_streams(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    if PrivacyUnit.STREAM_EXAMPLE not in learner.claim.protects:
        return []
    return [streams(learner, limit=limit).map(lambda steps: Script(protocol=protocol, steps=steps))]


SPACES[SpecialRound.name] = SearchSpace(
    draw=_draw_streams, steps=(Show, Special), opening=(Ready,), rounds=MAX_EXAMPLES
)


_STEP_SCORES = (*STEP_SCORES, None)  # None: a score is chosen among those of all views, or learned


@attrs.frozen
class Pull:
    """TrainingRun: examples (point, label) have a gradient of length |size|, equal along the coordinates."""

    point: Point = attrs.field(converter=as_point)
    label: int
    coordinates: tuple[int, ...]
    size: float

    def canary(self, parameters: int) -> GradientCanary:
        """The canary, for so many parameters."""
        gradient = np.zeros(parameters)
        gradient[list(self.coordinates)] = self.size / sqrt(len(self.coordinates))
        return GradientCanary(np.asarray(self.point), self.label, gradient)


@attrs.frozen(kw_only=True)
class TrainingScript(Script):
    """A script for TrainingRun that chooses gradients and may score steps.
    pulls: the gradients of examples, in all steps. parameters: their length. updates: the learner's steps."""

    pulls: tuple[Pull, ...] = ()
    parameters: int = 0
    updates: int = 1

    @property
    def rounds(self) -> int:
        return self.updates

    def list_parts(self) -> list[object]:
        return list(self.pulls)

    def _open(self) -> Iterator[Move]:
        *opening, _ = super()._open()
        yield from opening
        yield Advance(canaries=[pull.canary(self.parameters) for pull in self.pulls])

    def _apply_score(self, replies: Sequence[Reply], games: int) -> Any:
        if not isinstance(self.score, StepScore):
            return super()._apply_score(replies, games)
        models = replies[-1]
        assert isinstance(models, Models)
        return self.score.of(models.parameters)


def _train(learner: Learner, protocol: str, data: Sample | None) -> st.SearchStrategy[Script]:
    """Training runs on neighbours, most with canaries and scores of steps if the learner tells its steps."""
    runs = draw_neighbours(learner, data).map(
        lambda drawn: TrainingScript(protocol=protocol, world_0=drawn[0], world_1=drawn[1])
    )
    if not isinstance(learner, TrainsByNoisySteps):
        return runs
    scored = st.tuples(runs, st.sampled_from(_STEP_SCORES)).map(
        lambda drawn: attrs.evolve(drawn[0], score=_score_steps(learner, drawn[1]), updates=learner.steps)
    )
    canaries = _plant_canary(learner, protocol)
    return choose_from([canaries, canaries, canaries, scored])


@st.composite
def _plant_canary(draw: st.DrawFn, learner: Any, protocol: str) -> Script:
    """A training run in which all examples are equal, except for a canary in world 1."""
    common, own = draw(two_points(learner))
    others, relation = draw(draw_sizes(learner)) - 1, read_relation_of(learner)
    sample = Sample([common, own], [0, 1], [others, 1]) if others else Sample([own], [1])
    worlds = make_neighbours(learner, sample, len(sample.counts) - 1, (own, 0), (own, 1))
    coordinates = draw(st.sampled_from(_list_directions(learner.parameters)))
    length = draw(st.sampled_from((_LONG, _LONG, learner.clip, 0.0, None)))
    rest = draw(st.sampled_from((0.0, -_LONG, None)))
    sizes = {(own, 1): length, (common, 0): rest if others else None}
    if relation.kind in REPLACING and length is not None:
        sizes[own, 0] = -length
    return TrainingScript(
        protocol=protocol,
        world_0=worlds[0],
        world_1=worlds[1],
        pulls=tuple(Pull(*example, coordinates, size) for example, size in sizes.items() if size is not None),
        parameters=learner.parameters,
        updates=learner.steps,
        score=_score_steps(
            learner, draw(st.sampled_from(_STEP_SCORES)), coordinates, others if rest == -_LONG else 0
        ),
    )


def _list_directions(parameters: int) -> list[tuple[int, ...]]:
    """Coordinates of a gradient: one, which is in one layer; the first and the last; or several over all."""
    single = [(place,) for place in range(min(parameters, _MAX_SINGLE))]
    spread = np.linspace(0, parameters - 1, min(parameters, _MAX_TOGETHER)).astype(int).tolist()
    together = [coordinates for coordinates in ((0, parameters - 1), tuple(spread)) if parameters > 1]
    return [*single, *dict.fromkeys(together)]


def _score_steps(
    learner: Any, kind: str | None, coordinates: tuple[int, ...] = (0,), opposite: int = 0
) -> StepScore | None:
    """The score of this kind for the learner's steps. opposite: examples that pull against the canary."""
    if kind is None:
        return None
    if kind != RATIO:
        return StepScore(kind, coordinates)
    return StepScore.for_canary(kind, learner, coordinates=coordinates, opposite=opposite)


def _draw_runs(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    if PrivacyUnit.TRAINING_EXAMPLE not in learner.claim.protects:
        return []
    return [cut_runs(_train(learner, protocol, data))]


# Leaks of noisy steps are seldom clear.
SPACES[TrainingRun.name] = SearchSpace(draw=_draw_runs, opening=(Advance,), budget=SearchBudget(pairs=1_024))

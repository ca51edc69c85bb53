"""Games of queries, as matrices, from the distribution of a learner's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from arena import AnswerLaw, Learner, PrivacyUnit, Query, Sample, Train, Unsupported
from arena.players import Moves
from arena.referees.transcript import describe_answer
from arena.sample import format_point
from audits.exact_loss.answer_paths import AnswerLaws
from audits.registry.match import find_protocol
from audits.solver.linear_game import LinearGame, Step, Watch, compress, ignore_progress
from audits.solver.posed_games import (
    Choice,
    GameMoves,
    PosedGame,
    join_names,
    place_states,
    step_law,
    step_law_at,
)

_PROBES = 3  # random measures by which ways to answer are told apart
_PIECE = 2**20  # probabilities of states that are followed together


@attrs.frozen(eq=False, kw_only=True)
class QueryGame(PosedGame):
    """Training samples of worlds 0 and 1, and points (p, ...) that may be queried.
    If the samples are equal, the worlds differ in the query of one round instead. names: of the points."""

    law = AnswerLaw

    samples: tuple[Sample, Sample]
    points: np.ndarray
    names: tuple[str, ...] | None = None

    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        if self.samples[0] == self.samples[1]:
            unit = PrivacyUnit.QUERY
            game, points = challenge_game(self.learner, self.samples[0], self.points, rounds, watch)
        else:
            unit = PrivacyUnit.TRAINING_EXAMPLE
            game, queries = answer_game(self.learner, self.samples, self.points, rounds, watch)
            points = np.stack([queries, queries], axis=1)
        texts = map(format_point, self.points) if self.names is None else self.names
        names = dict(zip(map(_key, self.points), texts, strict=True))
        answers = AnswerLaws(self.learner).of(self.samples[0]).outcomes
        moves = GameMoves(
            points=points,
            names=tuple(join_names(*(names[_key(point)] for point in pair)) for pair in points),
            outcomes=(*(describe_answer(*answer) for answer in answers), "withheld", "silence"),
            answers=tuple((int(label), bool(halts)) for label, halts in answers),
        )
        return game, moves, unit

    @property
    def training(self) -> tuple[Sample, Sample]:
        return self.samples

    @staticmethod
    def play(
        moves: GameMoves,
        samples: tuple[Any, ...],
        rounds: int,
        choose: Callable[[int], Choice],
        follow: Callable[[np.ndarray], None],
    ) -> Moves:
        yield Train(*samples)
        for t in range(rounds):
            move, first, second = choose(t)
            reply = yield Query(moves.points[move, first], moves.points[move, second])
            outcome = np.full(len(move), len(moves.answers) + 1)  # silence, after a halt in a challenge
            for number, (label, halted) in enumerate(moves.answers):
                outcome[(reply.label == label) & (reply.halted == halted)] = number
            outcome[moves.differ[move]] = len(moves.answers)  # withheld
            follow(outcome)
        return None


def _key(point: np.ndarray) -> bytes:
    return np.asarray(point, float).tobytes()


def answer_game(
    learner: Learner,
    samples: Sequence[Sample],
    points: np.ndarray,
    rounds: int,
    watch: Watch = ignore_progress,
) -> tuple[LinearGame, np.ndarray]:
    """The game in which training samples are neighbours and every query is one of the points (p, ...).

    Also the query of each move: of points that are answered alike in both worlds, the first.
    Raises: Unsupported if the learner tells no distribution of answers.
    """
    known = AnswerLaws(learner)
    laws = [known.of(sample) for sample in samples]
    start, places = place_states(laws)
    steps, numbers = _number_steps(laws, points, places, start.shape[1])
    moves: dict[tuple[int, ...], int] = {}
    for place, kernels in enumerate(numbers.T.tolist()):
        moves.setdefault(tuple(kernels), place)
    game = compress(
        steps,
        np.array(list(moves)).T,
        start,
        rounds=_count_answers(laws[0], rounds),
        halts=np.array([halts for _, halts in laws[0].outcomes]),
        watch=watch,
    )
    return game, points[list(moves.values())]


def challenge_game(
    learner: Learner, sample: Sample, points: np.ndarray, rounds: int, watch: Watch = ignore_progress
) -> tuple[LinearGame, np.ndarray]:
    """The game of Figure 1 with one sample and one challenge: in one round the queries of the worlds differ.

    Outcomes are those of the learner, then "withheld" after a challenge, then "silence" after a halt in one.
    Moves are equal queries, then pairs of different ones; a second challenge, which is refused, ends it.
    Also the queries (moves, 2, ...) of each move in worlds 0 and 1.
    Raises: Unsupported if queries are public, or the learner tells no distribution of answers.
    """
    protocol = find_protocol(learner, AnswerLaw)
    if protocol is None or PrivacyUnit.QUERY not in protocol.challenges:
        raise Unsupported(
            f"{learner.own_name} answers at public points, so there is no challenge query",
            remedy="Give two neighbouring samples.",
        )
    law = AnswerLaws(learner).of(sample)
    start, places = place_states([law])
    steps, numbers = _number_steps([law], points, places, start.shape[1])
    kinds = len(steps)
    queries = points[[int(np.flatnonzero(numbers[0] == kind)[0]) for kind in range(kinds)]]
    equal = np.repeat(np.arange(kinds)[:, None], 2, axis=1)
    pairs = np.argwhere(~np.eye(kinds, dtype=bool))
    rounds_of = [_ChallengeRounds(step, np.array([halts for _, halts in law.outcomes])) for step in steps]
    game = compress(
        [each.ask for each in rounds_of] + [each.withhold for each in rounds_of],
        np.concatenate([equal, kinds + pairs]).T,
        np.repeat(np.hstack([start, np.zeros((1, start.shape[1] + 1))]), 2, axis=0),
        rounds=_count_answers(law, rounds),
        halts=np.array([*(halts for _, halts in law.outcomes), False, True]),
        watch=watch,
    )
    return game, queries[np.concatenate([equal, pairs])]


def number_points(law: AnswerLaw, points: np.ndarray) -> np.ndarray:
    """(p,): a number for each of the points (p, ...), equal where they are answered alike."""
    start, places = place_states([law])
    return _number_steps([law], points, places, start.shape[1])[1][0]


@attrs.frozen(eq=False)
class _ChallengeRounds:
    """How queries are answered; states: those before the challenge, after it, and halted in it, silently."""

    step: Step
    halts: np.ndarray

    def ask(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes of an ordinary query."""
        size, known = measures.shape[1] // 2, len(self.halts)
        after = np.zeros((known + 2, *measures.shape))
        after[:known, :, :size] = self.step(measures[:, :size])
        after[:known, :, size:-1] = self.step(measures[:, size:-1])
        after[known + 1, :, -1] = measures[:, -1]
        return after

    def withhold(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes of a challenge."""
        size, known = measures.shape[1] // 2, len(self.halts)
        after = np.zeros((known + 2, *measures.shape))
        parts = self.step(measures[:, :size])
        after[known, :, size:-1] = parts[~self.halts].sum(axis=0)
        after[known, :, -1] = parts[self.halts].sum(axis=(0, 2))
        after[known + 1, :, -1] = measures[:, size:].sum(axis=1)
        return after


def _number_steps(
    laws: Sequence[AnswerLaw], points: np.ndarray, places: Sequence[slice], size: int
) -> tuple[list[Step], np.ndarray]:
    """The distinct ways to answer, and the number (worlds, p) of that of each law at each point."""
    probes = np.random.default_rng(0).uniform(size=(_PROBES, size))
    steps: list[Step] = []
    numbers: dict[bytes, int] = {}
    kernels = np.empty((len(laws), len(points)), np.intp)
    pieces = -(-len(points) * probes.size // _PIECE)
    for queries in np.array_split(np.arange(len(points)), pieces):
        measures, asked = np.tile(probes, (len(queries), 1)), np.repeat(points[queries], _PROBES, axis=0)
        answers = [
            np.round(step_law(law, asked, place, measures), 12) + 0.0
            for law, place in zip(laws, places, strict=True)
        ]
        for own, query in enumerate(queries):
            for world, (law, place) in enumerate(zip(laws, places, strict=True)):
                signature = answers[world][:, own * _PROBES : (own + 1) * _PROBES].tobytes()
                if signature not in numbers:
                    numbers[signature] = len(steps)
                    steps.append(partial(step_law_at, law, points[query : query + 1], place))
                kernels[world, query] = numbers[signature]
    return steps, kernels


def _count_answers(law: AnswerLaw, rounds: int) -> int:
    """The answers of a game of so many rounds."""
    return rounds if law.last is None else min(rounds, law.last)

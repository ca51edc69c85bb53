"""Games to solve: what the worlds are, and what an adversary does and sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import attrs
import numpy as np

from arena import AnswerLaw, Learner, OnlineLaw, PrivacyUnit, Sample, StreamLaw
from arena.referees.referee import LawKind
from arena.referees.stream_moves import DeclaresStreamLaw
from arena.referees.transcript import describe_answer, format_value
from arena.sample import format_point
from audits.exact_loss.answer_paths import AnswerLaws
from audits.registry.match import find_protocol
from audits.solver.linear_game import LinearGame, Watch, ignore_progress
from audits.solver.matrix_games import answer_game, challenge_game, online_game, stream_game


@attrs.frozen(eq=False, kw_only=True)
class GameMoves:
    """What an adversary does and sees in a game.

    points: (moves, 2, ...) of each move in worlds 0 and 1. labels: (moves, 2) of online games. names,
    outcomes: of the moves and of the outcomes. The first outcomes are answers, the label of each and whether
    it halts; online and of streams, shown: (k, ...) the concepts or values that can be shown.
    """

    points: np.ndarray
    labels: np.ndarray | None = None
    names: tuple[str, ...]
    outcomes: tuple[str, ...]
    answers: tuple[tuple[int, bool], ...] = ()
    shown: np.ndarray | None = None

    @property
    def differ(self) -> np.ndarray:
        """(moves,) bool: whether the worlds differ in a move."""
        parts = [self.points, *([] if self.labels is None else [self.labels])]
        return np.any(
            [(part[:, 0] != part[:, 1]).reshape(len(part), -1).any(axis=1) for part in parts], axis=0
        )


@attrs.frozen(eq=False, kw_only=True)
class PosedGame(ABC):
    """A game of any number of rounds. text: what the worlds are. settings: of the learner that the game has
    changed, as texts. measured: what of the choice of samples and queries is measured and not proved.
    law: the kind of output distribution that the learner declares."""

    law: ClassVar[LawKind]

    learner: Learner
    text: str
    settings: dict[str, str] = attrs.field(factory=dict)
    measured: str = ""

    @abstractmethod
    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        """The game of T rounds as matrices, its moves, and in what the worlds differ. Raises: Unsupported if
        a distribution is unknown, or the game is too large."""


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
            names=tuple(_join(*(names[_key(point)] for point in pair)) for pair in points),
            outcomes=(*(describe_answer(*answer) for answer in answers), "withheld", "silence"),
            answers=tuple((int(label), bool(halts)) for label, halts in answers),
        )
        return game, moves, unit


@attrs.frozen(eq=False, kw_only=True)
class ExampleGame(PosedGame):
    """Examples of an online learner's domain, which differ between the worlds in one round."""

    law = OnlineLaw

    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        game, points, labels = online_game(self.learner, rounds)
        hypotheses = self.learner.online_law().hypotheses.concepts  # type: ignore[attr-defined]
        names = (
            _join(*(f"({format_point(point)}, {label})" for point, label in zip(*pair, strict=True)))
            for pair in zip(points, labels, strict=True)
        )
        moves = GameMoves(
            points=points,
            labels=labels,
            names=tuple(names),
            outcomes=(*(f"h = {format_point(concept)}" for concept in hypotheses), "over"),
            shown=hypotheses,
        )
        return game, moves, PrivacyUnit.STREAM_EXAMPLE


@attrs.frozen(eq=False, kw_only=True)
class StreamGame(PosedGame):
    """Records of a stream, which differ between the worlds in one round."""

    law = StreamLaw

    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        game, records, values = stream_game(self.learner, rounds, watch)
        moves = GameMoves(
            points=records,
            names=tuple(_join(*map(format_point, pair)) for pair in records),
            outcomes=(*map(format_value, values), "over"),
            shown=values,
        )
        return game, moves, PrivacyUnit.STREAM_EXAMPLE


def pose_stream(learner: Learner) -> PosedGame | None:
    """The game of a learner without training sample, online or of streams; None if it has one."""
    if find_protocol(learner, OnlineLaw) is not None:
        return ExampleGame(learner=learner, text="examples of its domain, which differ in one round")
    if find_protocol(learner, StreamLaw) is not None or isinstance(learner, DeclaresStreamLaw):
        return StreamGame(learner=learner, text="streams of records, which differ in one round")
    return None


def _join(first: str, second: str) -> str:
    return first if first == second else f"{first} or {second}"


def _key(point: np.ndarray) -> bytes:
    return np.asarray(point, float).tobytes()

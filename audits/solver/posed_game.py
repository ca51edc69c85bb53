"""What is solved: a learner, what two worlds may be, and how the game looks to an adversary."""

from __future__ import annotations

from abc import ABC, abstractmethod

import attrs
import numpy as np

from arena import Learner, PrivacyUnit, Sample
from arena.referees.transcript import describe_answer
from arena.sample import format_point
from audits.exact_loss.answer_paths import AnswerLaws
from audits.solver.answer_games import build_game
from audits.solver.linear_game import LinearGame, Watch, ignore_progress
from audits.solver.online_games import online_game


@attrs.frozen(eq=False, kw_only=True)
class GameMoves:
    """What an adversary does and sees in a game.

    points: (moves, 2, ...) of each move in worlds 0 and 1. labels: (moves, 2) of online games, otherwise
    None. names: of the moves. outcomes: the names of the outcomes. answers: the label of each answer of a
    predictor, and whether it halts; these are the first outcomes. hypotheses: (H, ...), online, the concepts
    that can be shown; these are the first outcomes.
    """

    points: np.ndarray
    labels: np.ndarray | None = None
    names: tuple[str, ...]
    outcomes: tuple[str, ...]
    answers: tuple[tuple[int, bool], ...] = ()
    hypotheses: np.ndarray | None = None

    @property
    def differ(self) -> np.ndarray:
        """(moves,) bool: whether the worlds differ in a move."""
        parts = [self.points, *([] if self.labels is None else [self.labels])]
        return np.any(
            [(part[:, 0] != part[:, 1]).reshape(len(part), -1).any(axis=1) for part in parts], axis=0
        )


@attrs.frozen(eq=False, kw_only=True)
class PosedGame(ABC):
    """A game of any number of rounds, in which an adversary may do what it wants.

    text: what the worlds are. settings: of the learner that the game has changed, as texts. measured: what of
    the choice of samples and queries is measured and not proved; empty: nothing.
    """

    learner: Learner
    text: str
    settings: dict[str, str] = attrs.field(factory=dict)
    measured: str = ""

    @abstractmethod
    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        """The game of T rounds as matrices, its moves, and in what the worlds differ.

        Raises: Unsupported if a distribution is unknown, or the game is too large.
        """


@attrs.frozen(eq=False, kw_only=True)
class QueryGame(PosedGame):
    """Training samples of worlds 0 and 1, and points (p, ...) that may be queried.

    If the samples are equal, the worlds differ in the query of one round instead. names: what the points are;
    None: the points themselves.
    """

    samples: tuple[Sample, Sample]
    points: np.ndarray
    names: tuple[str, ...] | None = None

    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        game, points, unit = build_game(self.learner, self.samples, self.points, rounds, watch)
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
            hypotheses=hypotheses,
        )
        return game, moves, PrivacyUnit.STREAM_EXAMPLE


def _join(first: str, second: str) -> str:
    return first if first == second else f"{first} or {second}"


def _key(point: np.ndarray) -> bytes:
    return np.asarray(point, float).tobytes()

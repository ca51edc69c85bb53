"""Games to solve: what the worlds are, and what an adversary does and sees; one class for each kind of output
distribution that learners declare, as in `audits.solver.games`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from arena import AnswerLaw, Learner, PrivacyUnit, Sample, Unsupported
from arena.players import Moves
from arena.referees.referee import LawKind
from audits.solver.linear_game import LinearGame, Watch, ignore_progress

_MOST_STATES = 20_000  # hidden states; more take gigabytes
GAMES: dict[LawKind, type[PosedGame]] = {}  # by the kind of output distribution
Choice = tuple[np.ndarray, Any, Any]


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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        GAMES[cls.law] = cls  # attrs makes a second class of it

    @classmethod
    def pose(cls, learner: Learner) -> Self | None:
        """The game of a learner without training sample; None if it plays no such game."""
        return None

    @property
    def training(self) -> tuple[Sample | None, Sample | None]:
        """The training sample of each world."""
        return None, None

    @abstractmethod
    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        """The game of T rounds as matrices, its moves, and in what the worlds differ. Raises: Unsupported if
        a distribution is unknown, or the game is too large."""

    @staticmethod
    @abstractmethod
    def play(
        moves: GameMoves,
        samples: tuple[Any, ...],
        rounds: int,
        choose: Callable[[int], Choice],
        follow: Callable[[np.ndarray], None],
    ) -> Moves:
        """Play games. samples: to train on, if any. choose: of the round from 0 on, the move (n,) of each
        game, and the worlds whose points and labels it makes in worlds 0 and 1. follow: is told outcomes
        (n,)."""

    @staticmethod
    def read_moves(made: Sequence[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray | None]:
        """The points and labels, as in `GameMoves`, of what is done in both worlds, as plain data."""
        return np.array(made), None


def pose_untrained(learner: Learner) -> PosedGame | None:
    """The game of a learner without training sample, online or of streams; None if it has one."""
    posed = (kind.pose(learner) for kind in GAMES.values())
    return next((game for game in posed if game is not None), None)


# --- what games have in common ------------------------------------------------------------------------------


def place_states(laws: Sequence[AnswerLaw]) -> tuple[np.ndarray, list[slice]]:
    """The start and the place of the states of each law: side by side, unless they are equally many."""
    starts = [np.asarray(law.start(), float) for law in laws]
    sizes = [len(start) for start in starts]
    if max(sizes) > _MOST_STATES:
        raise Unsupported(
            f"the learner's answers depend on more than {_MOST_STATES:,} hidden states",
            value=f"{max(sizes):,}",
            remedy="Give it fewer examples, teachers or halts.",
        )
    if len({*sizes}) == 1:
        return np.array(starts), [slice(0, sizes[0])] * len(laws)
    ends = np.cumsum(sizes)
    places = [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]
    start = np.zeros((len(laws), int(ends[-1])))
    for row, place, own in zip(start, places, starts, strict=True):
        row[place] = own
    return start, places


def step_law_at(law: AnswerLaw, point: np.ndarray, place: slice, measures: np.ndarray) -> np.ndarray:
    return step_law(law, np.repeat(point, len(measures), axis=0), place, measures)


def step_law(law: AnswerLaw, points: np.ndarray, place: slice, measures: np.ndarray) -> np.ndarray:
    after = np.zeros((len(law.outcomes), *measures.shape))
    after[:, :, place] = law.step(measures[:, place], points)
    return after


def check_rounds(learner: Learner, most: int | None, rounds: int) -> None:
    if most is not None and rounds > most:
        raise Unsupported(
            f"a game of {learner.own_name} has at most {most:,} rounds with these settings", value=rounds
        )


def match_shown(shown: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(n,): which of the values or concepts (k, ...) that can be shown is shown in each game."""
    rows = np.asarray(shown, float)
    same = rows.reshape(len(rows), 1, -1) == known.reshape(1, len(known), -1)
    return np.asarray(same.all(axis=2).argmax(axis=1))


def join_names(first: str, second: str) -> str:
    """The name of a move by those of what it does in both worlds."""
    return first if first == second else f"{first} or {second}"

"""The two-world distinguishing game: Figure 1 of Naor, Nissim, Stemmer, Yan, Private Everlasting
Prediction.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena.claims import QUERY, TRAINING_EXAMPLE
from arena.errors import InvalidArgument
from arena.moves import Move, Query, Train
from arena.points import frozen, unlike
from arena.referees.base import Referee, Seats, Table
from arena.replies import NO_LABEL, Answer, Reply, Trained
from arena.transcript import Answered, Given


@attrs.frozen
class Figure1(Referee):
    """Figure 1: a training phase in two worlds, then up to t queries in two worlds.

    1. The training sets have equal length and differ in at most one place.
    2. If they differ, the flag goes up.
    3. The learner gets its world's set. Nothing of h_0 is shown.
    4. Each round: (a) where the flag is up both queries are equal; (b) queries that differ raise it;
       (c) the label is shown where the queries are equal; (d) the learner gets its world's query;
       nothing of h_r is shown.

    The view is the labels and whether the learner has halted. A withheld round is withheld whole: a halt
    that it causes shows at the next round, as silence.

    t: the most queries a game may have; None for no bound.
    """

    name: ClassVar[str] = "Figure1"
    t: int | None = attrs.field(default=None)

    @t.validator
    def _check_t(self, attribute: object, value: int | None) -> None:
        if value is not None and value < 1:
            raise InvalidArgument("Figure 1 has t ≥ 1 rounds", value=value)

    def open(self, seats: Seats) -> Table:
        return _Figure1Table(seats, self.t)


class _Figure1Table(Table):
    def __init__(self, seats: Seats, t: int | None) -> None:
        super().__init__(seats)
        self._t = t
        self._trained = False
        self._halted = np.zeros(self.games, bool)  # as the learner knows it
        self._silent = frozen(np.zeros(self.games, bool))  # as the adversary knows it

    @property
    def halted(self) -> np.ndarray:
        return self._halted

    def take(self, move: Move) -> Reply:
        if isinstance(move, Query):
            return self._query(move)
        if isinstance(move, Train):
            return self._train(move)
        raise self._refuse("Figure 1 knows two moves, Train and Query", got=type(move).__name__)

    def _train(self, move: Train) -> Trained:
        if self._trained:
            raise self._refuse("Figure 1 has one training phase, before the first query")
        training = self._training(move)
        self._trained = True
        if self.flag.any():
            self.challenges.add(TRAINING_EXAMPLE)
        self._ask("train", training)
        self._read_halted()
        self._silent = frozen(self._halted.copy())
        if self._log is not None:
            self._log.append(Given(round=0, training=training))
        return Trained()

    def _query(self, move: Query) -> Answer:
        if not self._trained:
            raise self._refuse("Figure 1 begins with the training phase: yield Train first")
        self.round += 1
        if self._t is not None and self.round > self._t:
            raise self._refuse(f"Figure 1 with t = {self._t} has at most {self._t} rounds")
        x, withheld = self._own_query(move)
        silent_before = self._halted
        label = self._read_label(self._ask("predict", x))
        self._read_halted()
        shown = self._shown(label, silent_before, withheld)
        if self._log is not None:
            self._note(x, label, silent_before, shown, withheld)
        return shown

    def _own_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        """Steps 4(a), 4(b), 4(d): each game's own query, and where the two worlds' queries differ."""
        x0 = self._points(move.x)
        if move.other is None:
            return x0, None
        x1 = self._points(move.other)
        differ = unlike(x0, x1)
        if not differ.any():
            return x0, None
        broken = differ & self.flag
        if broken.any():
            raise self._refuse(
                "after the flag both queries are equal",
                games=np.flatnonzero(broken),
                expected="the same point in both worlds",
                got="two different points",
            )
        self.flag |= differ
        self.challenges.add(QUERY)
        return self._own(x0, x1), differ

    def _shown(self, label: np.ndarray, silent: np.ndarray, withheld: np.ndarray | None) -> Answer:
        """Step 4(c): the label where the queries are equal and the learner still answers."""
        label = label.astype(np.int8)
        if withheld is None:
            self._silent = frozen(self._halted.copy())
        else:
            label[withheld] = NO_LABEL
            self._silent = frozen(np.where(withheld, self._silent, self._halted))
        if silent.any():
            label[silent] = NO_LABEL
        return Answer(frozen(label), self._silent)

    def _read_label(self, label: object) -> np.ndarray:
        if not isinstance(label, np.ndarray) or label.shape != (self.games,):
            raise self._learner_broke(
                "predict returns one label a game",
                expected=f"an array of shape ({self.games},)",
                got=f"shape {label.shape}" if isinstance(label, np.ndarray) else type(label).__name__,
            )
        if label.dtype == np.bool_:
            return label
        if label.dtype.kind not in "iu":
            raise self._learner_broke("labels are bool or whole numbers", got=label.dtype.name)
        if label.size and (label.min() < 0 or label.max() > 1):
            odd = (label < 0) | (label > 1)
            odd &= ~self._halted
            if odd.any():
                raise self._learner_broke(
                    "labels are 0 or 1", games=np.flatnonzero(odd), got=np.unique(label[odd])[:5].tolist()
                )
        return label

    def _read_halted(self) -> None:
        halted = self._guard(lambda: self._learner.halted)
        if not isinstance(halted, np.ndarray) or halted.shape != (self.games,) or halted.dtype != np.bool_:
            raise self._learner_broke(
                "halted is a bool array with one entry a game",
                expected=f"shape ({self.games},), bool",
                got=f"shape {halted.shape}, {halted.dtype}"
                if isinstance(halted, np.ndarray)
                else type(halted).__name__,
            )
        woken = self._halted & ~halted
        if woken.any():
            raise self._learner_broke("a halted learner stays halted", games=np.flatnonzero(woken))
        self._halted = halted.copy()

    def _note(
        self,
        x: np.ndarray,
        label: np.ndarray,
        silent: np.ndarray,
        shown: Answer,
        withheld: np.ndarray | None,
    ) -> None:
        entry = Answered(
            round=self.round,
            x=x,
            said=np.where(silent, NO_LABEL, label.astype(np.int8)),
            seen=shown.label,
            halted=self._halted,
            seen_halted=shown.halted,
            withheld=np.zeros(self.games, bool) if withheld is None else withheld,
        )
        if self._log is not None:
            self._log.append(entry)

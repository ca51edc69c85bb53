"""What the referees of predictors share: one training phase, then queries, and halts that are for good."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from arena.claims import PrivacyUnit
from arena.moves import Move, Queries, Query, Train
from arena.points import freeze
from arena.referees.base import LearnerStates, Table
from arena.replies import NO_LABEL, Answer, Answers, Reply, Trained
from arena.transcript import Answered, Given


class PredictorBatch(Table):
    """A table of a protocol called `protocol`, whose answers are 0 to `highest`; at most `most` queries.

    bound: how the paper calls that bound. words: how a message names the answers. moves: those it knows.
    """

    protocol: ClassVar[str]
    bound: ClassVar[str]
    highest: ClassVar[int] = 1
    words: ClassVar[str] = "0 or 1"
    moves: ClassVar[str] = "Train, Query and Queries"

    def __init__(self, states: LearnerStates, most: int | None) -> None:
        super().__init__(states)
        self._most = most
        self._trained = False
        self._halted = np.zeros(self.games, bool)  # as the learner knows it
        self._silent = freeze(np.zeros(self.games, bool))  # as the adversary knows it

    @property
    def halted(self) -> np.ndarray:
        return self._halted

    def take(self, move: Move) -> Reply:
        if isinstance(move, Query):
            return self._query(move)
        if isinstance(move, Queries):
            return self._queries(move)
        if isinstance(move, Train):
            return self._train(move)
        raise self._refuse(f"{self.protocol} knows the moves {self.moves}", got=type(move).__name__)

    def _train(self, move: Train) -> Trained:
        if self._trained:
            raise self._refuse(f"{self.protocol} has one training phase, before the first query")
        training = self._training(move)
        self._trained = True
        if self.flag.any():
            self.challenges.add(PrivacyUnit.TRAINING_EXAMPLE)
        self._ask("train", training)
        self._read_halted()
        self._silent = freeze(self._halted.copy())
        if self._log is not None:
            self._log.append(Given(round=0, training=training))
        return Trained()

    def _query(self, move: Query) -> Answer:
        self._check_begun()
        self.round += 1
        self._check_round(self.round)
        x, withheld = self._own_query(move)
        silent_before = self._halted
        label = self._read_label(self._ask("predict", x))
        self._read_halted()
        shown = self._shown(label, silent_before, withheld)
        if self._log is not None:
            self._note(x, label, silent_before, shown, withheld)
        return shown

    def _queries(self, move: Queries) -> Answers:
        self._check_begun()
        x = self._many_points(move.x)
        rounds = x.shape[1]
        self._check_round(self.round + rounds)
        labels = np.empty((self.games, rounds), np.int8)
        halted = np.empty((self.games, rounds), bool)
        done = 0
        while done < rounds:
            silent_before = self._halted
            said = self._some_answers(x[:, done:])
            here = slice(done, done + said.shape[1])
            done = here.stop
            self._read_halted()
            labels[:, here] = np.where(silent_before[:, None], NO_LABEL, said)
            halted[:, here] = silent_before[:, None]
            halted[:, done - 1] = self._halted
            if self._log is not None:
                self._note_each(x[:, here], said.astype(np.int8), silent_before, halted[:, here])
            self.round += said.shape[1]
        self._silent = freeze(self._halted.copy())
        return Answers(freeze(labels), freeze(halted))

    def _some_answers(self, x: np.ndarray) -> np.ndarray:
        """(n, j): the answers to the first j of the queries (n, k, ...), as many as the learner likes."""
        if not hasattr(self._learner, "predict_many"):
            return self._read_label(self._ask("predict", x[:, 0]))[:, None]
        said = self._ask("predict_many", x)
        shape = np.shape(said)
        if len(shape) != 2 or shape[0] != self.games or not 0 < shape[1] <= x.shape[1]:
            raise self._learner_broke(
                "predict_many returns the labels of the first of the queries, of one or more",
                expected=f"an array of shape ({self.games}, 1 to {x.shape[1]})",
                got=f"shape {shape}",
            )
        return self._read_label(said.reshape(-1), each=shape[1]).reshape(shape)

    def _check_begun(self) -> None:
        if not self._trained:
            raise self._refuse(f"{self.protocol} begins with the training phase: yield Train first")

    def _check_round(self, last: int) -> None:
        if self._most is not None and last > self._most:
            raise self._refuse(
                f"{self.protocol} with {self.bound} = {self._most} has at most {self._most} rounds",
                remedy="Let the adversary ask fewer queries, or allow more rounds.",
            )

    @abstractmethod
    def _own_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        """Each game's own query (n, ...), and where its answer is withheld (n,) bool; None: nowhere."""

    def _shown(self, label: np.ndarray, silent: np.ndarray, withheld: np.ndarray | None) -> Answer:
        """The label where it is not withheld and the learner still answers."""
        label = label.astype(np.int8)
        if withheld is None:
            self._silent = freeze(self._halted.copy())
        else:
            label[withheld] = NO_LABEL
            self._silent = freeze(np.where(withheld, self._silent, self._halted))
        if silent.any():
            label[silent] = NO_LABEL
        return Answer(freeze(label), self._silent)

    def _read_label(self, label: object, each: int = 1) -> np.ndarray:
        """(n * each,): the labels, checked; `each` of every game."""
        if not isinstance(label, np.ndarray) or label.shape != (self.games * each,):
            raise self._learner_broke(
                "predict returns one label a game",
                expected=f"an array of shape ({self.games},)",
                got=f"shape {label.shape}" if isinstance(label, np.ndarray) else type(label).__name__,
            )
        if label.dtype == np.bool_:
            return label
        if label.dtype.kind not in "iu":
            raise self._learner_broke("labels are bool or whole numbers", got=label.dtype.name)
        if label.size and (label.min() < 0 or label.max() > self.highest):
            odd = (label < 0) | (label > self.highest)
            odd &= ~np.repeat(self._halted, each)
            if odd.any():
                raise self._learner_broke(
                    f"labels are {self.words}",
                    games=np.unique(np.flatnonzero(odd) // each),
                    got=np.unique(label[odd])[:5].tolist(),
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

    def _note_each(self, x: np.ndarray, said: np.ndarray, silent: np.ndarray, halted: np.ndarray) -> None:
        """Note answers (n, j) that were given together, none of them withheld."""
        for i, label in enumerate(np.where(silent[:, None], NO_LABEL, said).T):
            entry = Answered(
                round=self.round + i + 1,
                x=x[:, i],
                said=label,
                seen=label,
                halted=halted[:, i],
                seen_halted=halted[:, i],
                withheld=np.zeros(self.games, bool),
            )
            if self._log is not None:
                self._log.append(entry)

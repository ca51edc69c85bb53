"""Interactive mechanisms: a dataset in two worlds, then queries, which the adversary chooses by the replies.

Sessions that are opened within a session may be asked in any order: concurrent composition (Vadhan and Wang,
Concurrent Composition of Differential Privacy, 2021; Lyu, Composition Theorems for Interactive Differential
Privacy, 2022).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import inf
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.messages import Hypothesis, Move, Train
from arena.referees.referee import Batch, BatchSetup, Probe, Referee
from arena.referees.session_moves import Ask, Open, QueryAt, Stop, copy_query, key_query
from arena.referees.session_replies import SILENCE, Replied, SessionEntry, describe_reply
from arena.released.encoding import encode_values, hash_values
from arena.sample import Training, own_copy
from arena.settings import at_least, whole

_PROBED = 4  # queries of games that check a learner


class SessionState(Protocol):
    """What Session asks of a running learner. Every list has one entry a game."""

    def open_sessions(self, training: Training) -> Sequence[Any]:
        """Begin the first session, 0: `OPENED`, or `name_exception` where that failed."""

    def ask(self, session: int, queries: Sequence[Any], active: np.ndarray) -> Sequence[Any]:
        """The replies of a session to the queries in the `active` games (n,) bool, and `SILENCE` in the
        others: answers, None for a refusal, `name_exception`. A session that has halted or was never opened
        is silent."""

    def open(self, session: int, kinds: Sequence[Any], active: np.ndarray) -> Sequence[Any]:
        """Open a session within another; it has the next number. `OPENED`, or as `ask`."""

    def read_halted(self, session: int) -> np.ndarray:
        """(n,) bool: in which games the session has halted."""

    def read_loss(self) -> np.ndarray | None:
        """(n, 2): the ε and δ that the first session says were lost so far; None without an odometer."""


@runtime_checkable
class ReportsLoss(Protocol):
    odometer: str | None  # what says what was lost so far, which is then its claim; None: nothing does


class SessionBatch(Batch):
    def __init__(self, referee: Session, setup: BatchSetup) -> None:
        super().__init__(referee, setup)
        self.halted = np.zeros(self.games, bool)
        self._parents: list[int | None] = [None]
        self._closed: list[np.ndarray] = [np.zeros(self.games, bool)]  # by the adversary
        self._halted: list[np.ndarray] = [np.zeros(self.games, bool)]  # by themselves
        self._loss: np.ndarray | None = None
        self._numbers: dict[Hashable, int] = {}  # of the queries so far

    def _train(self, move: Train) -> Replied:
        training = self.choose_training(move)
        value = self._read("open_sessions", training)
        self._read_loss()
        return Replied(value, own_copy(self.halted), self._loss)

    def _ask(self, move: Ask) -> Replied:
        session = self._find_session(move.session)
        self.start_round()
        number, queries, which = self._choose_queries(move)
        active = ~(self._closed[session] | self._halted[session])
        asked = self._copy_queries(queries, which)
        # A session that has halted is asked all the same: what it then answers is a fault of the learner.
        open_games = ~self._closed[session]
        value = self._read("ask", session, asked, open_games)
        self._check_silence(value, active)
        return self._reply(session, value, number, queries, which, f"{session}: " if session else "")

    def _open(self, move: Open) -> Replied:
        session = self._find_session(move.session)
        self.start_round()
        queries, which = (move.kind.query,), np.zeros(self.games, np.intp)
        active = ~(self._closed[session] | self._halted[session])
        kinds = self._copy_queries(queries, which)
        value = self._read("open", session, kinds, active)
        self._check_silence(value, active)
        self._parents.append(session)
        self._closed.append(own_copy(self._closed[session]))
        self._halted.append(np.zeros(self.games, bool))
        number = np.zeros(self.games, np.int64)
        return self._reply(session, value, number, queries, which, f"opens {len(self._parents) - 1}: ")

    def _stop(self, move: Stop) -> Replied:
        session = self._find_session(move.session)
        where = np.ones(self.games, bool) if move.where is None else self._read_where(move.where)
        for child in range(session, len(self._parents)):
            if child == session or self._is_within(child, session):
                self._closed[child] = own_copy(self._closed[child] | where)
        value = encode_values([SILENCE] * self.games)
        return Replied(value, own_copy(self.halted), self._loss)

    moves = ((Train, _train), (Ask, _ask), (Open, _open), (Stop, _stop))
    opening = Train

    def _is_within(self, child: int, session: int) -> bool:
        parent = self._parents[child]
        return parent is not None and (parent == session or self._is_within(parent, session))

    def _find_session(self, session: Any) -> int:
        known = len(self._parents)
        if isinstance(session, bool) or not isinstance(session, int | np.integer) or not 0 <= session < known:
            raise self.refuse(
                "a session that is asked, stopped or opened in was opened before",
                expected=f"a number from 0 to {known - 1}",
                got=repr(session),
            )
        if self._closed[session].all() and self.games:
            raise self.refuse(
                "a session is used while it and the sessions that it was opened in are open",
                got=f"session {session}, after it was stopped",
            )
        return int(session)

    def _read_where(self, where: Any) -> np.ndarray:
        given = own_copy(where)
        if given.shape != (self.games,) or given.dtype != np.bool_:
            raise self.refuse(
                "where says of each game whether it is meant", expected=f"({self.games},) bool", got=where
            )
        return given

    def _choose_queries(self, move: Ask) -> tuple[np.ndarray, tuple[Any, ...], np.ndarray]:
        """The numbers of the queries (n,), the distinct queries, and the place of each game's own (n,)."""
        boxes = (move.query, *move.choices)
        first = (
            np.zeros(self.games, np.intp) if move.which is None else self._read_which(move.which, len(boxes))
        )
        if move.other is not None:
            boxes += (move.other,)
        second = first if move.other is None else np.full(self.games, len(boxes) - 1)
        keys = [key_query(box.query) for box in boxes]
        numbers = np.array([self._numbers.setdefault(key, len(self._numbers) + 1) for key in keys])
        differ = numbers[first] != numbers[second]
        self.worlds.challenge(differ, PrivacyUnit.QUERY, rule="the worlds differ once", thing="question")
        which = self.worlds.choose(first, second) if differ.any() else first
        return numbers[first], tuple(box.query for box in boxes), which

    def _read_which(self, which: Any, number: int) -> np.ndarray:
        given = own_copy(which)
        is_place = given.shape == (self.games,) and given.dtype.kind in "biu"
        if not is_place or (self.games and not 0 <= given.min() <= given.max() < number):
            raise self.refuse(
                "which says of each game which of the queries it is asked",
                expected=f"({self.games},) of 0 to {number - 1}",
                got=repr(which),
            )
        return given.astype(np.intp)

    def _copy_queries(self, queries: Sequence[Any], which: np.ndarray) -> list[Any]:
        """Each game's query; one of its own, if the learner could change it."""
        return [copy_query(queries[place]) for place in which.tolist()]

    def _read(self, method: str, *arguments: Any) -> np.ndarray:
        value = self.learner.ask(method, *arguments)
        if isinstance(value, Hypothesis):
            raise self.position.refuse_learner("a session replies with values", got="a hypothesis")
        return value

    def _check_silence(self, value: np.ndarray, active: np.ndarray) -> None:
        if active.all():
            return
        silent = hash_values(encode_values([SILENCE]))[0]
        wrong = ~active & (hash_values(value) != silent)
        if wrong.any():
            raise self.position.refuse_learner(
                "a session that has halted answers nothing",
                games=np.flatnonzero(wrong),
                got=describe_reply(value[np.flatnonzero(wrong)[0]]),
            )

    def _reply(
        self,
        session: int,
        value: np.ndarray,
        number: np.ndarray,
        queries: tuple[Any, ...],
        which: np.ndarray,
        prefix: str,
    ) -> Replied:
        before = self._halted[session]
        now: Any = self.learner.call("read_halted", session)
        if not isinstance(now, np.ndarray) or now.shape != (self.games,) or now.dtype != np.bool_:
            raise self.position.refuse_learner("read_halted returns a bool for each game", got=repr(now))
        if (before & ~now).any():
            raise self.position.refuse_learner(
                "a halted session stays halted", games=np.flatnonzero(before & ~now)
            )
        self._halted[session] = own_copy(now)
        self.halted = own_copy(self._halted[0])
        self._read_loss()
        if self.log is not None:
            self.log.append(
                SessionEntry(
                    round=self.round,
                    x=which,
                    queries=queries,
                    prefix=prefix,
                    value=value,
                    halted=self.halted,
                    loss=self._loss,
                )
            )
        return Replied(value, own_copy(self._halted[session]), self._loss, own_copy(number))

    def _read_loss(self) -> None:
        """The losses that an odometer reports. Raises: ProtocolViolation by the learner if one falls."""
        loss: Any = self.learner.call("read_loss")
        if loss is None:
            return
        refuse = self.position.refuse_learner
        loss = own_copy(np.asarray(loss, np.float64))
        if loss.shape != (self.games, 2) or not ((loss >= 0) & (loss <= [inf, 1.0])).all():
            raise refuse("an odometer reports an ε of at least 0 and a δ from 0 to 1", got=loss[:1].tolist())
        if self._loss is not None and (loss < self._loss).any():
            games = np.flatnonzero((loss < self._loss).any(axis=1))
            raise refuse(
                "the loss that an odometer reports never falls",
                games=games,
                expected=f"at least (ε, δ) = {tuple(self._loss[games[0]].tolist())}",
                got=tuple(loss[games[0]].tolist()),
                remedy="What was answered cannot be taken back: report the largest loss so far.",
            )
        self._loss = loss


@attrs.frozen
class Session(Referee):
    """A game against an object that answers queries, of at most T moves.

    1. The datasets are neighbours by the learner's claim, or the same. 2. The adversary asks queries of any
    type, which may depend on the replies, opens further sessions within the session, and asks any of them in
    any order. The queries of the two worlds may differ once if the claim protects queries. 3. It sees every
    reply: a value, a refusal, an exception, and what an odometer reports. A session that has
    halted, or was stopped, is silent.
    """

    name = "Session"
    summary = "the learner answers queries of any type, in sessions that may contain others"
    batch = SessionBatch
    learner_state = SessionState
    challenges = (PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY)
    rounds_setting = "max_rounds"
    usual_games = 10_000
    block_pairs = 1_024

    max_rounds: int | None = attrs.field(
        default=None, validator=attrs.validators.optional([whole, at_least(1)])
    )

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        yield Train(probe.mix_samples(games))
        others = np.arange(games) % 2
        for place in range(_PROBED):
            if probe.mixed and games:
                yield Ask(QueryAt(place), choices=[QueryAt(place + 1)], which=others)
            else:
                yield Ask(QueryAt(place))

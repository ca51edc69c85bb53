"""Streams: in every round a record arrives, and the learner publishes (continual release).

The adversary sees a release before it chooses the next record (Jain, Raskhodnikova, Sivakumar, Smith, The
Price of Differential Privacy under Continual Observation, 2023). Under `FixedStream` it commits to the whole
stream before the first release: docs/proofs/streams.md says when the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arena.claims import DISTANCES, Neighbours, PrivacyUnit, Relation, UserFunction, find_users
from arena.errors import count_things
from arena.laws import ValueLaw
from arena.messages import Move
from arena.players import Learner
from arena.records import Records
from arena.referees.boundary import Position
from arena.referees.referee import Batch, BatchSetup, Probe, Referee
from arena.referees.stream_moves import (
    ArrivalEntry,
    Arrive,
    DeclaresStreamLaw,
    Published,
    StreamLaw,
    StreamState,
    UpdatesMany,
)
from arena.referees.transcript import Entry
from arena.sample import points_differ
from arena.settings import at_least, whole

_NOBODY = -1


@attrs.frozen(eq=False)
class Stretch:
    """The records of k rounds, as far as neighbours are concerned. Arrays (n, k), or (1, k) for all games.

    differ: where the worlds differ. blank: which world, if any, has no record there, (2, n, k). owners: whose
    the record of each world is, as codes; only if a user is added or removed.
    """

    differ: np.ndarray
    blank: np.ndarray
    owners: np.ndarray | None = None


class StreamNeighbours:
    """Refuses streams of the two worlds that are no neighbours. In a round without a record there is a blank
    one, or the point 0."""

    def __init__(self, games: int, relation: Relation, position: Position) -> None:
        self._relation, self._refuse = relation, position.refuse_adversary
        self._changes = np.zeros(games, np.int64)
        self._lacks = np.full(games, -1)  # the world without the user's records
        self._owner = np.full(games, _NOBODY)
        self._others: list[np.ndarray] = []  # the owners of records that both worlds have, (n,) each
        self._codes: dict[Any, int] = {}

    @property
    def by_user(self) -> bool:
        return self._relation.kind is Neighbours.ADD_OR_REMOVE_USER

    def number_users(self, users: np.ndarray) -> np.ndarray:
        """A code for each user, equal in all rounds."""
        return np.array([self._codes.setdefault(user, len(self._codes)) for user in users.tolist()], np.intp)

    def add(self, stretch: Stretch) -> np.ndarray:
        """(n, k) bool: where the worlds of each game differ. Raises: ProtocolViolation."""
        relation, games = self._relation, len(self._changes)
        differ = np.broadcast_to(stretch.differ, (games, stretch.differ.shape[-1]))
        if relation.kind in DISTANCES and differ.any():
            raise self._refuse("streams are no vectors at a distance", got=str(relation))
        if differ.any():
            self._changes += differ.sum(axis=1)
            self._check_number(relation)
            if relation.adds_or_removes or relation.kind is Neighbours.ZERO_OUT_ONE:
                self._check_blanks(stretch, differ)
        if self.by_user:
            self._check_users(stretch, differ)
        return differ

    def _check_number(self, relation: Relation) -> None:
        wrong = self._changes > relation.size
        if wrong.any():
            whose = "a user has" if relation.adds_or_removes and self.by_user else "the worlds differ in"
            records = "records" if self.by_user else "rounds"
            raise self._refuse(
                f"{whose} at most {relation.size} {records if relation.size > 1 else records[:-1]}",
                games=np.flatnonzero(wrong),
                got=int(self._changes[wrong][0]),
                remedy=f"The claim is for neighbours that {relation}.",
            )

    def _check_blanks(self, stretch: Stretch, differ: np.ndarray) -> None:
        blank = np.broadcast_to(stretch.blank, (2, *differ.shape))
        wrong = differ & ~(blank[0] | blank[1])
        if wrong.any():
            raise self._refuse(
                "in a round in which the worlds differ, one of them has no record",
                games=np.flatnonzero(wrong.any(axis=1)),
                got="two different records",
                remedy=f"The claim is for neighbours that {self._relation}.",
            )

    def _check_users(self, stretch: Stretch, differ: np.ndarray) -> None:
        assert stretch.owners is not None
        owners = np.broadcast_to(stretch.owners, (2, *differ.shape))
        blank = np.broadcast_to(stretch.blank, (2, *differ.shape))
        for t in range(differ.shape[1]):
            now, lacks = differ[:, t], np.where(blank[0, :, t], 0, 1)
            own = np.where(lacks == 0, owners[1, :, t], owners[0, :, t])
            first = now & (self._owner == _NOBODY)
            self._owner = np.where(first, own, self._owner)
            self._lacks = np.where(first, lacks, self._lacks)
            self._others.append(np.where(now | blank[0, :, t], _NOBODY, own))
            wrong = now & ((self._owner != own) | (self._lacks != lacks))
            if wrong.any():
                rule = "the worlds differ in the records of one user, who is in one world only"
                raise self._refuse(rule, games=np.flatnonzero(wrong))
            rounds = self._others if first.any() else self._others[-1:]
            for others in rounds:
                wrong = (others == self._owner) & (others != _NOBODY)
                if wrong.any():
                    raise self._refuse(
                        "a user who is added or removed has no record in the other world",
                        games=np.flatnonzero(wrong),
                        remedy="Let all records of this user differ.",
                    )


class StreamBatch(Batch):
    def __init__(self, referee: Stream, setup: BatchSetup) -> None:
        super().__init__(referee, setup)
        self._neighbours = StreamNeighbours(self.games, setup.relation, self.position)
        self._takes_blanks = setup.relation.adds_or_removes or setup.relation.kind is Neighbours.ZERO_OUT_ONE
        self._receives_records = setup.learner.receives_records
        self._users_of: UserFunction = setup.learner.users_of
        self._updates_many = isinstance(setup.state, UpdatesMany)

    def _receive(self, move: Arrive) -> Published:
        play = self._receive_records if self._receives_records else self._receive_points
        return Published(tuple(play(move)))

    def _note_difference(self, stretch: Stretch) -> None:
        differ = self._neighbours.add(stretch).any(axis=1)
        if differ.any():
            self.worlds.flag |= differ
            self.worlds.challenges.add(PrivacyUnit.STREAM_EXAMPLE)

    # --- points -------------------------------------------------------------------------------------------

    def _receive_points(self, move: Arrive) -> Iterator[np.ndarray]:
        first = self.adversary.read_points(move.records)
        second = first if move.other is None else self.adversary.read_points(move.other)
        if first.shape != second.shape:
            raise self._refuse_lengths(first.shape[1], second.shape[1])
        self.check_rounds(self.round + first.shape[1])
        if second is not first or self._neighbours.by_user:
            self._note_difference(self._compare_points(first, second))
        own = first if second is first else self.worlds.choose(first, second)
        values = None
        for t in range(own.shape[1]):
            self.start_round()
            if t == 0 and self._updates_many:
                values = self._update_many(own, own.shape[1])
            given = self.learner.call("update", own[:, t]) if values is None else values[t]
            value = self._check(given)
            if self.log is not None:
                self.log.append(ArrivalEntry(round=self.round, x=own[:, t], value=value))
            yield value

    def _compare_points(self, first: np.ndarray, second: np.ndarray) -> Stretch:
        if first.strides[0] == second.strides[0] == 0:  # given once for all games
            first, second = first[:1], second[:1]
        games, rounds = first.shape[:2]
        worlds = [points.reshape(games * rounds, *points.shape[2:]) for points in (first, second)]
        differ = points_differ(*worlds).reshape(games, rounds)
        blank = np.stack([(points.reshape(games, rounds, -1) == 0).all(axis=2) for points in (first, second)])
        owners = None
        if self._neighbours.by_user:
            users = [self._find_users(points) for points in worlds]
            owners = self._neighbours.number_users(np.concatenate(users)).reshape(2, games, rounds)
        return Stretch(differ, blank, owners)

    # --- records ------------------------------------------------------------------------------------------

    def _receive_records(self, move: Arrive) -> Iterator[np.ndarray]:
        first: list[Records] = self.adversary.read_samples(move.records)
        second = first if move.other is None else self.adversary.read_samples(move.other)
        rounds = {records.size for records in (*first, *second)}
        if len(rounds) > 1:
            raise self._refuse_lengths(min(rounds), max(rounds))
        self.check_rounds(self.round + max(rounds, default=0))
        if not self._takes_blanks and any(records.blank.any() for records in (*first, *second)):
            raise self.refuse(
                "there are rounds without a record only where neighbours add, remove or zero out records",
                got="a blank record",
            )
        if second is not first or self._neighbours.by_user:
            self._note_difference(self._compare_records(first, second))
        training = self.worlds.pick_samples(first, second)
        keys = [sample.list_keys() for sample in training.samples] if self.log is not None else []
        rows = [sample.rows() for sample in training.samples] if self.log is not None else []
        values = None
        for t in range(max(rounds, default=0)):
            self.start_round()
            if values is None:
                values = self._update_many(training, max(rounds))
            value = self._check(values[t])
            if self.log is not None:
                now = [(key[t], row[t]) for key, row in zip(keys, rows, strict=True)]
                self.log.append(
                    ArrivalEntry(round=self.round, records=tuple(now), which=training.which, value=value)
                )
            yield value

    def _compare_records(self, first: Sequence[Records], second: Sequence[Records]) -> Stretch:
        games = max(len(first), len(second))
        worlds = [[records[game % len(records)] for game in range(games)] for records in (first, second)]
        keys = [np.stack([np.repeat(r.keys, r.counts, axis=0) for r in world]) for world in worlds]
        blank = np.stack([[np.repeat(r.blank, r.counts) for r in world] for world in worlds])
        owners = None
        if self._neighbours.by_user:
            users = [self._number_owners(records) for world in worlds for records in world]
            owners = np.stack(users).reshape(2, games, -1)
        return Stretch((keys[0] != keys[1]).any(axis=2), blank, owners)

    def _number_owners(self, records: Records) -> np.ndarray:
        users = self._find_users(records.list_for_users())
        return np.repeat(self._neighbours.number_users(users), records.counts)

    def _find_users(self, given: Any) -> np.ndarray:
        return self.learner.guard(lambda: find_users(self._users_of, given))

    def _update_many(self, records: Any, rounds: int) -> list[Any]:
        """What the learner publishes in each of so many rounds, which it takes together."""
        values = self.learner.call("update_many", records)
        if not isinstance(values, list | tuple) or len(values) != rounds:
            got = len(values) if isinstance(values, list | tuple) else type(values).__name__
            rule = "update_many returns one release a round"
            raise self.position.refuse_learner(rule, expected=rounds, got=got)
        return list(values)

    def _check(self, value: Any) -> np.ndarray:
        checked = self.learner.check_release("update", value)
        if not isinstance(checked, np.ndarray):
            raise self.position.refuse_learner("a learner of streams publishes values", got="a hypothesis")
        return checked

    def _refuse_lengths(self, one: int, other: int) -> Exception:
        return self.refuse(
            "as many records arrive in both worlds and in all games",
            got=f"{count_things(one, 'record')} and {other}",
            remedy="A round without a record is a blank record, or the point 0.",
        )

    moves = ((Arrive, _receive),)


class FixedStreamBatch(StreamBatch):
    opening = Arrive


@attrs.frozen
class Stream(Referee):
    """In every round a record arrives, and the learner publishes a value, which the adversary sees before it
    chooses the next record. The streams of the two worlds are neighbours by the learner's claim: they differ
    in one round, or in at most k; where neighbours add, remove or zero out records, one world has none there.

    T: the most rounds; None: as many as the learner allows.
    """

    name = "Stream"
    summary = "records arrive in a stream, and the learner publishes after each"
    batch = StreamBatch
    learner_state = StreamState
    challenges = (PrivacyUnit.STREAM_EXAMPLE,)
    rounds_setting = "T"
    usual_games = 20_000
    law = StreamLaw

    T: int | None = attrs.field(default=None, validator=attrs.validators.optional([whole, at_least(1)]))

    def read_law(self, learner: Learner, given: Any) -> Any:
        return learner.stream_law() if isinstance(learner, DeclaresStreamLaw) else None

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        if isinstance(probe.sample, Records):
            yield Arrive(probe.mix_samples(games))
            return
        for t in range(len(probe.points)):
            yield Arrive(probe.mix_points(t, games)[:, None])


@attrs.frozen(eq=False)
class _ShownStream:
    values: Iterator[Any]

    def update(self, records: np.ndarray) -> np.ndarray:
        return np.array([next(self.values)])


@attrs.frozen
class FixedStream(Stream):
    """`Stream`, but the adversary commits to all records before the learner's first release.

    A learner's `law` is that of all releases (k,) together, given the stream of points (k, ...).
    """

    name = "FixedStream"
    summary = "the same, where the whole stream is fixed beforehand"
    batch = FixedStreamBatch
    committed = True
    law = ValueLaw  # type: ignore[assignment]

    def read_given(self, entries: Sequence[Entry]) -> Any:
        """The stream (k, ...) of the first game, unless the learner receives records."""
        points = [entry.x[0] for entry in entries if isinstance(entry, ArrivalEntry) and entry.x is not None]
        return np.stack(points) if points else None

    def read_law(self, learner: Learner, given: Any) -> Any:
        return Referee.read_law(self, learner, given)

    def give(self, given: Any) -> Iterator[Move]:
        yield Arrive(given)

    def show(self, value: np.ndarray, concepts: Any) -> Any:
        return _ShownStream(iter(np.atleast_1d(value)))

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        if isinstance(probe.sample, Records):
            yield Arrive(probe.mix_samples(games))
        else:
            yield Arrive(np.stack([probe.mix_points(t, games) for t in range(len(probe.points))], axis=1))

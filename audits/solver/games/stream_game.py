"""Games of streams, as matrices, from the distribution of the values that a learner publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import attrs
import numpy as np

from arena import Arrive, Learner, PrivacyUnit, StreamLaw, Unsupported
from arena.claims import Neighbours
from arena.players import Moves
from arena.referees.stream_moves import DeclaresStreamLaw
from arena.referees.transcript import format_value
from arena.sample import format_point
from audits.registry.match import find_protocol, read_claim
from audits.solver.linear_game import LinearGame, Watch, compress, ignore_progress
from audits.solver.posed_games import (
    Choice,
    GameMoves,
    PosedGame,
    check_rounds,
    join_names,
    match_shown,
    place_states,
    step_law_at,
)

_ONE_RECORD = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE


@attrs.frozen(eq=False, kw_only=True)
class StreamGame(PosedGame):
    """Records of a stream, which differ between the worlds in one round."""

    law = StreamLaw

    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        game, records, values = stream_game(self.learner, rounds, watch)
        moves = GameMoves(
            points=records,
            names=tuple(join_names(*map(format_point, pair)) for pair in records),
            outcomes=(*map(format_value, values), "over"),
            shown=values,
        )
        return game, moves, PrivacyUnit.STREAM_EXAMPLE

    @classmethod
    def pose(cls, learner: Learner) -> Self | None:
        if find_protocol(learner, StreamLaw) is None and not isinstance(learner, DeclaresStreamLaw):
            return None
        return cls(learner=learner, text="streams of records, which differ in one round")

    @staticmethod
    def play(
        moves: GameMoves,
        samples: tuple[Any, ...],
        rounds: int,
        choose: Callable[[int], Choice],
        follow: Callable[[np.ndarray], None],
    ) -> Moves:
        assert moves.shown is not None
        for t in range(rounds):
            move, *worlds = choose(t)
            reply = yield Arrive(*(moves.points[move, world][:, None] for world in worlds))
            follow(match_shown(reply.releases[-1], moves.shown))
        return None


def stream_game(
    learner: Learner, rounds: int, watch: Watch = ignore_progress
) -> tuple[LinearGame, np.ndarray, np.ndarray]:
    """The game of T rounds in which a record arrives, and in one round another in each world.

    Moves are equal records, then pairs of different ones, of which one is 0 where neighbours add, remove or
    zero out a record; a second difference, which is refused, ends the game. Outcomes are the values of the
    `StreamLaw`, then "over". Also the records (moves, 2, ...) of each move, and the values.
    Raises: Unsupported if the learner does not declare what it publishes, plays fixed streams only, has fewer
    rounds, or has neighbours that differ in several records.
    """
    if not isinstance(learner, DeclaresStreamLaw):
        raise Unsupported(
            f"{learner.own_name} does not declare the distribution of the values that it publishes",
            remedy="Audit it by playing, or define stream_law() on the learner.",
        )
    if find_protocol(learner, StreamLaw) is None:
        raise Unsupported(
            f"{learner.own_name} claims nothing where records are chosen by what was published",
            value=", ".join(learner.protocols),
            remedy="`arena exact` computes its privacy loss on fixed streams.",
        )
    law, relation = learner.stream_law(), read_claim(learner).neighbours
    check_rounds(learner, law.rounds, rounds)
    if relation.kind not in _ONE_RECORD:
        raise Unsupported(
            "streams are solved where neighbours differ in one record",
            value=str(relation),
            remedy=f"Set neighbours to {', '.join(_ONE_RECORD)}.",
        )
    start, _ = place_states([law])
    rounds_of = [_StreamRounds(law, record[None]) for record in law.records]
    kinds, blank = len(rounds_of), (law.records.reshape(len(law.records), -1) == 0).all(axis=1)
    equal = np.repeat(np.arange(kinds)[:, None], 2, axis=1)
    pairs = np.argwhere(~np.eye(kinds, dtype=bool))
    if relation.kind is not Neighbours.REPLACE_ONE:
        pairs = pairs[blank[pairs].any(axis=1)]
    if not len(pairs):
        raise Unsupported(
            f"no two of the records that {learner.own_name} tells apart may differ", value=kinds
        )
    game = compress(
        [each.receive for each in rounds_of] + [each.differ for each in rounds_of],
        np.concatenate([equal, kinds + pairs]).T,
        np.repeat(np.hstack([start, np.zeros_like(start)]), 2, axis=0),
        rounds=rounds,
        halts=np.arange(len(law.values) + 1) == len(law.values),
        watch=watch,
    )
    return game, law.records[np.concatenate([equal, pairs])], law.values


@attrs.frozen(eq=False)
class _StreamRounds:
    """What follows a record (1, ...); states: those before the round that differs, and those after."""

    law: StreamLaw
    record: np.ndarray

    def receive(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes where the record of the other world is the same."""
        parts = self._step(measures.reshape(2 * len(measures), -1))
        return np.concatenate([parts.reshape(len(parts), *measures.shape), np.zeros((1, *measures.shape))])

    def differ(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes where it is another."""
        before, after = np.split(measures, 2, axis=1)
        outcomes = np.concatenate([self._step(before), after[None]])  # the last is "over"
        return np.concatenate([np.zeros_like(outcomes), outcomes], axis=2)

    def _step(self, measures: np.ndarray) -> np.ndarray:
        return step_law_at(self.law, self.record, slice(0, measures.shape[1]), measures)

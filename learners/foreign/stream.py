"""stream: a class of the user's that receives records one by one and publishes after each."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cached_property, lru_cache
from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, PrivacyUnit, Relation, neighbours_setting, read_relation
from arena.engine import iterate_in_time
from arena.errors import RAISED, BudgetExceeded, InvalidArgument, publish_error
from arena.parcels import callable_name, display_name
from arena.players import Learner
from arena.randomness import GameSeed, draw_game_seeds, generator
from arena.records import Records
from arena.released.encoding import list_objects
from arena.sample import Training
from arena.schemas.schema import Schema
from arena.settings import at_least, less_than, setting
from learners.foreign.base import function_setting
from learners.foreign.coins import GIVEN, DrawsCoins, coins_setting
from learners.foreign.global_generators import GlobalGenerators, Trial, try_mechanism
from learners.foreign.mechanism import (
    AT_ITS_PLACE,
    check_arguments,
    find_generator,
    make_callable,
    needs_argument,
)

_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None))


@attrs.frozen
class StreamObject(DrawsCoins, Learner):
    """Publishes what the objects of a user's class return: `make(rng)` or `make()` makes one for each game,
    and its method `update(record)` is called in every round.

    What it returns is of a type known to `arena.released`; what it raises is published, too, and the next
    record arrives all the same. The claim is the user's, for streams of at most `max_size` records of the
    schema, whose neighbours differ in one round or in a user's. A round without a record receives the
    schema's `blank`. coins: as of `function`.
    """

    name = "stream"
    theorem = "none: the claim is the user's"
    protocols: ClassVar[tuple[str, ...]] = ("Stream", "FixedStream")
    one_call_a_game = True
    receives_records = True

    make: Callable[..., Any] = function_setting("what makes an object with update(record); FILE.py:Class")
    schema: Schema | None = attrs.field(
        default=None,
        kw_only=True,
        validator=attrs.validators.optional(attrs.validators.instance_of(Schema)),
        metadata={"help": "the schema of the records, path/to/file.py:NAME", "unit": ""},
    )
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)
    epsilon: float | None = setting(None, unit="nats", help="ε of the claim; default: no claim")
    delta: float = setting(0.0, unit="probability", help="δ of the claim", check=[at_least(0), less_than(1)])
    coins: str | None = coins_setting()

    def __attrs_post_init__(self) -> None:
        check_arguments(self.make, (), self._generator)
        if isinstance(self.make, type) and not callable(getattr(self.make, "update", None)):
            raise InvalidArgument(
                f"{callable_name(self.make)} must have the method update(record)",
                value=self.make.__name__,
                remedy="Let it return what is published after the record.",
            )

    @cached_property
    def takes_generator(self) -> bool:
        if self.coins is None or self.coins == GIVEN:
            return find_generator(self.make, 0) is not None
        return needs_argument(self.make, 0)

    @cached_property
    def trial(self) -> Trial:
        return Trial() if self.schema is None else _try_once(self)

    @property
    def _generator(self) -> str | None:
        if not self.takes_generator:
            return AT_ITS_PLACE if self.coins == GIVEN else None
        return find_generator(self.make, 0)

    @cached_property
    def make_one(self) -> Callable[..., Any]:
        """Makes the object of one game, of a generator if it takes one."""
        return make_callable(self.make, self._generator)

    @property
    def own_name(self) -> str:
        return display_name(self.make)

    @property
    def relation(self) -> Relation:
        return read_relation(self.neighbours)

    @property
    def claim(self) -> Claim:
        epsilon = inf if self.epsilon is None else self.epsilon
        unit = (PrivacyUnit.STREAM_EXAMPLE,)
        return Claim(epsilon=epsilon, delta=self.delta, protects=unit, neighbours=self.relation)

    @property
    def common_random_numbers(self) -> bool:
        return not self.own_coins

    @property
    def given_schema(self) -> Schema:
        if self.schema is None:
            raise InvalidArgument(
                f"{self.own_name} needs a strategy of its records",
                remedy="Give data=, such as st.integers(0, 1), or audits.records(..., max_size=8).",
            )
        return self.schema

    def users_of(self, points: Any) -> np.ndarray:
        return self.given_schema.users_of(points)

    @property
    def some_records(self) -> tuple[Records, ...]:
        return tuple(records for records in self.given_schema.make_records() if records.size)

    def start(self, games: int, rng: np.random.Generator) -> RunningObjects:
        return RunningObjects(self, games, rng)


@lru_cache(maxsize=64)
def _try_once(learner: StreamObject) -> Trial:
    """A trial on a few records, once for equal learners of a process."""
    records = learner.given_schema.fill_blanks(learner.some_records[0].rows())

    def play(seed: GameSeed) -> Any:
        each = learner.make_one(*([generator(seed)] if learner._generator is not None else []))
        return [_call_update(each, record) for record in deepcopy(records)]

    return try_mechanism(play, takes_generator=learner._generator is not None)


class RunningObjects:
    """The objects of n games, each with random numbers of its own."""

    def __init__(self, learner: StreamObject, games: int, rng: np.random.Generator) -> None:
        self._learner, self._schema = learner, learner.given_schema
        self._rounds = 0
        self._generators = GlobalGenerators(games, enabled=learner.seeds_global)
        self._objects = []
        for game, seed in enumerate(draw_game_seeds(rng, games)):
            with self._generators.use(game, seed):
                given = (generator(seed),) if learner._generator is not None else ()
                self._objects.append(learner.make_one(*given))

    def update(self, records: Training) -> np.ndarray:
        """The releases of one round."""
        return self.update_many(records)[0]

    def update_many(self, records: Training) -> list[np.ndarray]:
        """The releases of the next rounds, one after the other, of each game. Raises: BudgetExceeded beyond
        the longest streams of the schema."""
        rounds = records.samples[0].size
        self._rounds += rounds
        most = self._schema.max_size
        if most is not None and self._rounds > most:
            raise BudgetExceeded(
                f"the claim of {self._learner.own_name} is meant for streams of at most {most:,} records, "
                f"and {self._rounds:,} arrive; give a larger max_size if it is meant for longer ones"
            )
        streams = [self._schema.fill_blanks(sample.rows()) for sample in records.samples]
        shared = [all(type(record) in _IMMUTABLE for record in stream) for stream in streams]
        games = []
        for game, (each, which) in enumerate(zip(self._objects, records.which, strict=True)):
            stream = streams[which] if shared[which] else deepcopy(streams[which])
            with self._generators.use(game):
                games.append([_call_update(each, record) for record in iterate_in_time(stream)])
        return [list_objects([game[place] for game in games]) for place in range(rounds)]


def _call_update(each: Any, record: Any) -> Any:
    """What `update` returns, or what it raises, which whoever sees the stream sees, too."""
    try:
        return each.update(record)
    except RAISED as error:
        return publish_error(error)


@attrs.frozen
class FixedStreamObject(StreamObject):
    """`stream` with a claim for streams that are fixed beforehand only."""

    name = "fixed-stream"
    protocols = ("FixedStream",)

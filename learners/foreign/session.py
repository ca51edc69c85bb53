"""session: an object of the user's that answers queries, with the claim that the user makes for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from math import inf
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, PrivacyUnit, Relation, neighbours_setting, read_relation
from arena.engine import iterate_in_time
from arena.errors import RAISED, InvalidArgument, UnknownRelease, describe_error
from arena.parcels import display_name
from arena.players import Learner
from arena.randomness import draw_game_seeds, generator
from arena.records import Records
from arena.referees.session_moves import Call, QueryAt, key_query
from arena.referees.session_replies import OPENED, SILENCE, name_exception
from arena.released.encoding import list_objects
from arena.released.types import Symbol, convert_to_numpy
from arena.sample import Training
from arena.schemas.schema import Schema
from arena.settings import at_least, less_than, one_of, setting
from learners.foreign.base import function_setting, make_once
from learners.foreign.function import COINS, GIVEN
from learners.foreign.global_generators import GLOBAL, OWN, GlobalGenerators
from learners.foreign.mechanism import find_generator, make_callable, run_coroutine

METHODS = ("ask", "query", "answer", "evaluate", "eval", "measure", "release", "__call__")
OPENERS = ("open", "open_session", "session", "child", "spawn", "create_session")
DATA, QUERIES = "data", "queries"
_TRIED = 8  # queries, of which the object must answer one


def _queries_setting() -> Any:
    return attrs.field(
        default=(),
        kw_only=True,
        converter=tuple,
        eq=lambda queries: tuple(map(key_query, queries)),
        repr=lambda queries: f"<{len(queries)} queries>",
        metadata={"help": "queries that may be asked, the simplest first", "unit": ""},
    )


def _schema_setting(help: str) -> Any:
    optional = attrs.validators.optional(attrs.validators.instance_of(Schema))
    return attrs.field(default=None, kw_only=True, validator=optional, metadata={"help": help, "unit": ""})


@attrs.frozen
class ObjectSession(Learner):
    """Plays games against an object that answers queries, made anew in each game.

    The claim is the user's, for all that the object ever answers. An answer is of a type known to
    `arena.released`; None, and an exception, of which only the type is shown, are refusals. An object with a
    true attribute `halted` has halted. What `opener` returns is a session of its own, with the same methods.
    """

    name = "session"
    theorem = "none: the claim is the user's"
    protocols = ("Session",)

    factory: Callable[..., Any] = function_setting("makes the object: f(data, rng) or f(data), or a class")
    schema: Schema | None = _schema_setting("the schema of the data; path/to/file.py:NAME")
    asks: Schema | None = _schema_setting("in place of `queries`: their schema, if they are records")
    queries: tuple[Any, ...] = _queries_setting()
    make_queries: Callable[[], Any] | None = function_setting(
        "in place of `queries`: makes the list of them, once in each process", required=False
    )
    kinds: tuple[Any, ...] = _queries_setting()
    epsilon: float | None = setting(None, unit="nats", help="ε of the claim; default: no claim")
    delta: float = setting(0.0, unit="probability", help="δ of the claim", check=[at_least(0), less_than(1)])
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)
    protects: str = setting(
        DATA, help="in what the worlds may differ: data or queries", check=one_of(DATA, QUERIES)
    )
    method: str | None = setting(None, help=f"that takes a query; default: the first of {', '.join(METHODS)}")
    opener: str | None = setting(None, help=f"opens a session; default: the first of {', '.join(OPENERS)}")
    odometer: str | None = setting(
        None, help="attribute or method that says what was lost so far: ε, or (ε, δ); default: none does"
    )
    rounds: int | None = setting(None, help="the most queries of a game of a search; default: 64")
    vectorised: bool = setting(False, help="whether one object plays all games: f(data, games, rng)")
    coins: str | None = setting(
        None, help="given, global or own; default: given if it takes an rng, else own", check=one_of(*COINS)
    )

    def __attrs_post_init__(self) -> None:
        if self.schema is None:
            raise InvalidArgument("a session needs the schema of its data", remedy="Use audits.session.")

    @property
    def relation(self) -> Relation:
        return read_relation(self.neighbours)

    @property
    def claim(self) -> Claim:
        unit = PrivacyUnit.QUERY if self.protects == QUERIES else PrivacyUnit.TRAINING_EXAMPLE
        epsilon = inf if self.epsilon is None else self.epsilon
        return Claim(epsilon=epsilon, delta=self.delta, protects=(unit,), neighbours=self.relation)

    @property
    def own_name(self) -> str:
        return display_name(self.factory)

    @property
    def receives_records(self) -> bool:
        return True

    @property
    def some_records(self) -> tuple[Records, ...]:
        return () if self.schema is None else self.schema.make_records()

    def users_of(self, points: Any) -> np.ndarray:
        assert self.schema is not None
        return self.schema.users_of(points)

    @property
    def own_coins(self) -> bool:
        return self.effective_coins == OWN

    @property
    def common_random_numbers(self) -> bool:
        return not self.own_coins and not self.vectorised

    @property
    def one_call_a_game(self) -> bool:
        return not self.vectorised

    @cached_property
    def effective_coins(self) -> str:
        """The source of its random numbers: given, global or own."""
        return self.coins or (OWN if self._generator is None else GIVEN)

    @property
    def _generator(self) -> str | None:
        return find_generator(self.factory, 2 if self.vectorised else 1)

    @cached_property
    def make_object(self) -> Callable[..., Any]:
        """f(data, rng), or with games in between if it is vectorised."""
        make = make_callable(self.factory, self._generator)
        return make if self.effective_coins == GIVEN else lambda *arguments: make(*arguments[:-1])

    @property
    def some_queries(self) -> tuple[Any, ...]:
        """The queries, of which `QueryAt` says the place. Raises: InvalidArgument if there are none."""
        made = self.queries if self.asks is None else self.asks.examples
        if self.make_queries is not None:
            made = tuple(make_once(self.make_queries))
        if not made:
            raise InvalidArgument("a session needs at least one query", remedy="Let ask= draw some.")
        return made

    def find_query(self, query: Any) -> Any:
        """The query itself, if it is named by its place."""
        if isinstance(query, QueryAt):
            queries = self.some_queries
            return queries[query.place % len(queries)]
        return query

    def check_object(self) -> None:
        """Make the object and ask it, and sessions in it, a few queries, on the data that it may receive.
        Raises: InvalidArgument if it can be made on none, or answers none of them, with the reason."""
        assert self.schema is not None
        failure: BaseException | None = None
        for records in self.some_records:
            try:
                data = next(self.schema.pack_games(records, 1))
                arguments = (data, 2) if self.vectorised else (data,)
                asked = self.make_object(*arguments, generator(np.random.SeedSequence(0)))
            except RAISED as error:
                failure = failure or error
                continue
            replies = []
            for ask in self._list_trials(asked):
                try:
                    replies.append(ask())
                except RAISED as error:
                    failure = failure or error
            if failure is None or any(reply is not None for reply in replies):
                return
        raise InvalidArgument(
            f"{self.own_name} raises an exception for all of the first queries",
            value="" if failure is None else describe_error(failure),
            remedy="Correct it, or let ask= draw queries that it answers.",
        ) from failure

    def _list_trials(self, asked: Any) -> Iterator[Callable[[], Any]]:
        """Calls that ask an object the first queries, or a session of each kind that is opened in it."""
        sessions: list[Callable[[], Any]] = [lambda: asked]
        sessions += [partial(_open_object, self, asked, kind) for kind in self.kinds[:_TRIED]]
        for find_session in map(cache, sessions):
            for query in self.some_queries[:_TRIED]:
                yield lambda: _ask_object(self.method, find_session(), self.find_query(query))  # noqa: B023

    def read_loss_of(self, asked: Any) -> Any:
        """What an object says was lost so far: ε, or (ε, δ)."""
        loss = getattr(asked, str(self.odometer))
        return loss() if callable(loss) else loss

    def start(self, games: int, rng: np.random.Generator) -> RunningSessions:
        return RunningSessions(self, games, rng)


class RunningSessions:
    """The objects of n games, by the number of the session: one for each game, or one for all."""

    def __init__(self, learner: ObjectSession, games: int, rng: np.random.Generator) -> None:
        self._learner, self._games, self._rng = learner, games, rng
        self._objects: list[list[Any]] = []
        self._losses = np.zeros((games, 2))
        self._generators = GlobalGenerators(games, enabled=learner.effective_coins == GLOBAL)

    def open_sessions(self, training: Training) -> np.ndarray:
        learner, schema = self._learner, self._learner.schema
        assert schema is not None
        if learner.vectorised:
            return self._open_vectorised(training)
        seeds = list(draw_game_seeds(self._rng, self._games))
        objects: list[Any] = [None] * self._games
        values: list[Any] = [None] * self._games
        for sample, games in training.groups():
            packed = schema.pack_games(sample, len(games))
            for game, data in iterate_in_time(zip(games.tolist(), packed, strict=True)):
                rng = generator(seeds[game])
                with self._generators.use(game, seeds[game]):
                    values[game], objects[game] = _open(lambda: learner.make_object(data, rng))  # noqa: B023
        self._objects.append(objects)
        return list_objects(values)

    def _open_vectorised(self, training: Training) -> np.ndarray:
        learner, schema = self._learner, self._learner.schema
        assert schema is not None
        self._groups = [games for _, games in training.groups()]
        made = []
        for sample, games in training.groups():
            data = next(schema.pack_games(sample, 1))
            made.append(learner.make_object(data, len(games), self._rng))
        self._objects.append(made)
        return list_objects([OPENED] * self._games)

    def ask(self, session: int, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        if self._learner.vectorised:
            return self._ask_vectorised(session, queries, active)
        replies: list[Any] = [SILENCE] * self._games
        objects = self._objects[session]
        for game in iterate_in_time(np.flatnonzero(active).tolist()):
            asked = objects[game]
            if asked is not None:
                query = self._learner.find_query(queries[game])
                halted = _has_halted(asked)
                with self._generators.use(game):
                    reply = _call(lambda: _ask_object(self._learner.method, asked, query))  # noqa: B023
                refused = reply is None or isinstance(reply, Symbol)
                replies[game] = SILENCE if halted and refused else reply
        return list_objects(replies)

    def _ask_vectorised(self, session: int, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        """Games with the same data are asked at once, and so must be asked the same."""
        replies = np.empty(self._games, object)
        replies[:] = SILENCE
        for asked, games in zip(self._objects[session], self._groups, strict=True):
            keys = {key_query(queries[game]) for game in games}
            if len(keys) > 1 or not active[games].all():
                raise InvalidArgument(
                    "a vectorised object is asked the same in all games",
                    remedy="Leave out vectorised for adversaries that adapt to replies.",
                )
            query = self._learner.find_query(queries[games[0]])
            values = _ask_object(self._learner.method, asked, query)
            values = convert_to_numpy(values) if hasattr(values, "__array__") else values
            if len(values) != len(games):
                raise UnknownRelease(
                    "a vectorised object answers with one value for each game", value=len(values)
                )
            replies[games] = list_objects(list(values))
        return list_objects(replies.tolist())

    def open(self, session: int, kinds: Sequence[Any], active: np.ndarray) -> np.ndarray:
        replies: list[Any] = [SILENCE] * self._games
        children: list[Any] = [None] * self._games
        objects = self._objects[session]
        for game in iterate_in_time(np.flatnonzero(active).tolist()):
            parent = objects[game]
            if parent is not None:
                kind = self._learner.find_query(kinds[game])
                with self._generators.use(game):
                    replies[game], children[game] = _open(
                        lambda: _open_object(self._learner, parent, kind)  # noqa: B023
                    )
        self._objects.append(children)
        return list_objects(replies)

    def read_halted(self, session: int) -> np.ndarray:
        if self._learner.vectorised:
            return np.zeros(self._games, bool)
        return np.array([_has_halted(each) for each in self._objects[session]], bool)

    def read_loss(self) -> np.ndarray | None:
        if self._learner.odometer is None:
            return None
        for game, asked in enumerate(self._objects[0]):
            if asked is not None:
                loss = self._learner.read_loss_of(asked)
                self._losses[game] = loss if isinstance(loss, tuple | list) else (loss, 0.0)
        return self._losses.copy()


def _call(call: Callable[[], Any]) -> Any:
    """What a call returns, or the name of the exception that it raises."""
    try:
        return call()
    except RAISED as error:
        return name_exception(error)


def _open(make: Callable[[], Any]) -> tuple[Any, Any]:
    """The reply to the opening of a session, and the object that it opens."""
    made = _call(make)
    if made is None or isinstance(made, Symbol):
        return made, None
    return OPENED, made


def _has_halted(asked: Any) -> bool:
    halted = getattr(asked, "halted", False)
    return bool(halted) and not callable(halted)


def _find_method(asked: Any, names: Sequence[str]) -> Callable[..., Any]:
    for name in names:
        method = getattr(asked, name, None)
        if callable(method):
            return method
    raise InvalidArgument(
        "the object of a session has a method that takes a query",
        value=type(asked).__name__,
        remedy=f"Name it by method=..., or call it {', '.join(names)}.",
    )


def _ask_object(name: str | None, asked: Any, query: Any) -> Any:
    if name == "":
        return query(asked)
    if isinstance(query, Call):
        method, argument = getattr(asked, query.method), query.argument
    else:
        method, argument = _find_method(asked, METHODS if name is None else (name,)), query
    reply = method(argument)
    return run_coroutine(reply, type(asked).__name__) if inspect.iscoroutine(reply) else reply


def _open_object(learner: ObjectSession, parent: Any, kind: Any) -> Any:
    names = (learner.opener,) if learner.opener is not None else OPENERS
    opener = next((getattr(parent, name) for name in names if callable(getattr(parent, name, None))), None)
    return _ask_object(learner.method, parent, kind) if opener is None else opener(kind)

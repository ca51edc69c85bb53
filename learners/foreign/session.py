"""session: an object of the user's that answers queries, with the claim that the user makes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial
from math import inf
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, PrivacyUnit, Relation, neighbours_setting, read_relation
from arena.engine import iterate_in_time
from arena.errors import RAISED, InvalidArgument, UnknownRelease, describe_error
from arena.parcels import callable_name, display_name
from arena.players import Learner
from arena.randomness import GameSeed, draw_game_seeds, generator
from arena.records import Records
from arena.referees.session_moves import Call, QueryAt, copy_query, describe_query, key_query
from arena.referees.session_replies import OPENED, SILENCE, name_exception
from arena.released.encoding import list_objects
from arena.released.types import Symbol, convert_to_numpy
from arena.sample import Training
from arena.schemas.schema import Schema
from arena.settings import at_least, less_than, one_of, setting
from learners.foreign.base import function_setting, make_once
from learners.foreign.coins import GIVEN, DrawsCoins, coins_setting
from learners.foreign.global_generators import (
    GlobalGenerators,
    Trial,
    restore_global_generators,
    try_mechanism,
)
from learners.foreign.mechanism import check_generator, find_generator, make_callable, needs_argument
from learners.foreign.query_calls import ask_object, explain_tuple, find_refusal

METHODS = ("ask", "query", "answer", "evaluate", "eval", "measure", "release", "__call__")
OPENERS = ("open", "open_session", "session", "child", "spawn", "create_session")
DATA, QUERIES = "data", "queries"
_TRIED = 8  # queries of each method, of which the object is to answer one; kinds of sessions


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
class ObjectSession(DrawsCoins, Learner):
    """Plays games against an object that answers queries, made anew in each game.

    The claim is the user's, for all that the object ever answers. An answer is of a type known to
    `arena.released`; None, and an exception, of which only the type is shown, are refusals. An object with a
    true attribute `halted` has halted. What `opener` returns is a session of its own, with the same methods.
    """

    name = "session"
    theorem = "none: the claim is the user's"
    protocols = ("Session",)

    factory: Callable[..., Any] | None = function_setting(
        "makes the object: f(data, rng) or f(data), or a class", instead="make"
    )
    make: Callable[..., Any] | None = function_setting(
        "in place of `factory`: one without arguments that makes it, once in each process", required=False
    )
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
    coins: str | None = coins_setting()

    def __attrs_post_init__(self) -> None:
        if self.schema is None:
            raise InvalidArgument("a session needs the schema of its data", remedy="Use audits.session.")
        if (self.factory is None) == (self.make is None):
            raise InvalidArgument(
                "the class of a session is given by factory or by make, a function that makes it",
                value=None if self.factory is None else "both",
                remedy="Give one of them.",
            )

    @property
    def made_factory(self) -> Callable[..., Any]:
        """What makes the object of a game. Raises: InvalidArgument if `make` returns no such thing."""
        if self.factory is not None:
            return self.factory
        assert self.make is not None
        factory: Callable[..., Any] = make_once(self.make)
        if not callable(factory):
            maker = callable_name(self.make)
            raise InvalidArgument(
                f"{maker} must return a class, or a function of the data, which makes the object of a game",
                value=type(factory).__name__,
                remedy=f"Let {maker} return it, not an object of it.",
            )
        return factory

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
        is_named = self.factory is not None or hasattr(self.made_factory, "__qualname__")
        return display_name(self.made_factory if is_named else self.make)

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
    def common_random_numbers(self) -> bool:
        return not self.own_coins and not self.vectorised

    @property
    def one_call_a_game(self) -> bool:
        return not self.vectorised

    @cached_property
    def takes_generator(self) -> bool:
        if self.coins is None or self.coins == GIVEN:
            return find_generator(self.made_factory, self._data_arguments) is not None
        return needs_argument(self.made_factory, self._data_arguments)

    @property
    def _data_arguments(self) -> int:
        """How many arguments come before a generator: the data and, if it is vectorised, the games."""
        return 2 if self.vectorised else 1

    @cached_property
    def trial(self) -> Trial:
        return _try_once(self)

    @cached_property
    def make_object(self) -> Callable[..., Any]:
        """f(data, rng), or with games in between if it is vectorised."""
        given = None
        if self.takes_generator:
            check_generator(self.made_factory, self._data_arguments)
            given = find_generator(self.made_factory, self._data_arguments)
        make = make_callable(self.made_factory, given)
        return make if self.takes_generator else lambda *arguments: make(*arguments[:-1])

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the method that takes queries, of which the object has one."""
        return METHODS if self.method is None else (self.method,)

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
        """Make the object and put a few queries of each method to it, and to sessions in it, on the data that
        it may receive. Raises: InvalidArgument if it can be made on none, if it has no method for a query, or
        if it answers none of these queries, with the reason."""
        trial = _try_object(self)
        if trial.refusal is not None:
            raise trial.refusal
        if not trial.has_replied and (trial.failure is not None or not trial.answered):
            raise InvalidArgument(
                f"{self.own_name} raises an exception for all of the first queries"
                if trial.failure is not None
                else f"{self.own_name} makes no object that answers queries",
                value=None if trial.failure is None else describe_error(trial.failure),
                remedy="Correct it, or let ask= draw queries that it answers.",
            ) from trial.failure

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """The methods all of whose queries that were tried raised an exception."""
        return tuple(_try_object(self).warnings.values())

    def list_trials(self, asked: Any) -> Iterator[Callable[[], Any]]:
        """Calls that put the first queries to an object, and to a session of each kind that it opens."""
        sessions: list[Callable[[], Any]] = [lambda: asked]
        sessions += [partial(_open_object, self, asked, kind) for kind in self.kinds[:_TRIED]]
        for find_session in map(cache, sessions):
            for query in self.some_queries[:_TRIED]:
                yield lambda: _ask_object(self, find_session(), copy_query(query))  # noqa: B023

    def read_loss_of(self, asked: Any) -> Any:
        """What an object says was lost so far: ε, or (ε, δ)."""
        loss = getattr(asked, str(self.odometer))
        return loss() if callable(loss) else loss

    def start(self, games: int, rng: np.random.Generator) -> RunningSessions:
        return RunningSessions(self, games, rng)


@lru_cache(maxsize=64)
def _try_once(learner: ObjectSession) -> Trial:
    """A trial on a few records and queries, once for equal learners of a process."""
    assert learner.schema is not None
    schema, records = learner.schema, learner.some_records[0]

    def play(seed: GameSeed) -> Any:
        data = next(schema.pack_games(records, 1))
        arguments = (data, 2) if learner.vectorised else (data,)
        asked = learner.make_object(*arguments, generator(seed))
        replies = [_call(ask) for ask in learner.list_trials(asked)]
        return [str(reply) if isinstance(reply, Symbol) else reply for reply in replies]

    return try_mechanism(play, takes_generator=learner.takes_generator)


class RunningSessions:
    """The objects of n games, by the number of the session: one for each game, or one for all."""

    def __init__(self, learner: ObjectSession, games: int, rng: np.random.Generator) -> None:
        self._learner, self._games, self._rng = learner, games, rng
        self._objects: list[list[Any]] = []
        self._losses = np.zeros((games, 2))
        self._generators = GlobalGenerators(games, enabled=learner.seeds_global)

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
                    reply = _call(lambda: _ask_object(self._learner, asked, query))  # noqa: B023
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
            values = _ask_object(self._learner, asked, query)
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
    """What a call returns, or what is shown of the exception that it raises."""
    try:
        return call()
    except RAISED as error:
        return name_exception(error)


def _open(make: Callable[[], Any]) -> tuple[Any, Any]:
    """The reply to the opening of a session, and the object that it opens."""
    try:
        made = make()
    except RAISED as error:
        return name_exception(error), None
    if made is None or isinstance(made, Symbol):
        return made, None
    return OPENED, made


def _has_halted(asked: Any) -> bool:
    halted = getattr(asked, "halted", False)
    return bool(halted) and not callable(halted)


def _ask_object(learner: ObjectSession, asked: Any, query: Any) -> Any:
    return query(asked) if learner.method == "" else ask_object(asked, query, learner.method_names)


def _open_object(learner: ObjectSession, parent: Any, kind: Any) -> Any:
    names = OPENERS if learner.opener is None else (learner.opener,)
    if any(callable(getattr(parent, name, None)) for name in names):
        return ask_object(parent, kind, names)
    return _ask_object(learner, parent, kind)


# --- a trial ------------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class _Trial:
    """What a few queries have shown.

    has_replied: whether some reply was neither an exception nor a refusal.
    failure: the first exception, of a query or of making the object.
    answered: the methods of which a query raised no exception.
    warnings: of the other methods, by their names.
    refusal: of a query that no session takes, or as a tuple of arguments.
    """

    has_replied: bool = False
    failure: BaseException | None = None
    answered: set[str] = attrs.field(factory=set)
    warnings: dict[str, str] = attrs.field(factory=dict)
    refusal: InvalidArgument | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns; None if it raises an exception."""
        try:
            return function(*arguments)
        except RAISED as error:
            self.failure = self.failure or error
            return None

    def ask(self, learner: ObjectSession, asked: Any, name: str, queries: Sequence[Any]) -> None:
        """Put queries of a method to a session, until one is answered."""
        for query in queries if asked is not None and name not in self.answered else ():
            try:
                reply = _ask_object(learner, asked, copy_query(query))
            except RAISED as error:
                self.failure = self.failure or error
                self.warnings.setdefault(name, _describe_failure(learner, query, error))
                hint = explain_tuple(asked, query, learner.method_names)
                if hint and isinstance(error, TypeError):
                    self.refusal = InvalidArgument(
                        f"{_name_method(learner, query)} raises {describe_error(error)}",
                        value=query.argument if isinstance(query, Call) else query,
                        remedy=hint,
                    )
                    return
                continue
            self.has_replied |= reply is not None
            self.answered.add(name)
            self.warnings.pop(name, None)
            return


@lru_cache(maxsize=64)
def _try_object(learner: ObjectSession) -> _Trial:
    """Put queries of each method to an object that is made anew, and to sessions that are opened in others;
    then those of the methods that answered none to objects that have been asked others before."""
    trial, kinds = _Trial(), learner.kinds[:_TRIED]
    by_method: dict[str, list[Any]] = {}
    for query in learner.some_queries:
        by_method.setdefault(query.method if isinstance(query, Call) else "", []).append(query)
    with restore_global_generators():
        for records in learner.some_records:
            make = partial(trial.call, _make_object, learner, records)
            used = make()
            if used is None:
                continue
            children = [trial.call(_open_object, learner, used, kind) for kind in kinds]
            sessions = [session for session in (used, *children) if session is not None]
            trial.refusal = _find_refusal(learner, sessions)
            if trial.refusal is not None:
                break
            for name, queries in by_method.items():
                trial.ask(learner, make(), name, queries[:_TRIED])
                for kind in kinds if name not in trial.answered else ():
                    opened = trial.call(_open_object, learner, make(), kind)
                    trial.ask(learner, opened, name, queries[:_TRIED])
            unanswered = by_method.keys() - trial.answered
            for session in sessions if unanswered else ():
                for name in [name for name in by_method if name not in unanswered]:
                    trial.call(_ask_object, learner, session, copy_query(by_method[name][0]))
                for name in by_method:
                    trial.ask(learner, session, name, by_method[name][:_TRIED])
            is_complete = len(trial.answered) == len(by_method)
            if trial.refusal or (is_complete and (trial.has_replied or trial.failure is None)):
                break
    return trial


def _make_object(learner: ObjectSession, records: Records) -> Any:
    assert learner.schema is not None
    data = next(learner.schema.pack_games(records, 1))
    arguments = (data, 2) if learner.vectorised else (data,)
    return learner.make_object(*arguments, generator(np.random.SeedSequence(0)))


def _find_refusal(learner: ObjectSession, sessions: Sequence[Any]) -> InvalidArgument | None:
    """Why no session takes a query, for the first such query."""
    for query in learner.some_queries if learner.method != "" else ():
        refusals = [find_refusal(session, query, learner.method_names) for session in sessions]
        if None not in refusals:
            return refusals[0]
    return None


def _name_method(learner: ObjectSession, query: Any) -> str:
    return f"{learner.own_name}.{query.method}" if isinstance(query, Call) else learner.own_name


def _describe_failure(learner: ObjectSession, query: Any, error: BaseException) -> str:
    return (
        f"{_name_method(learner, query)} raised an exception for every query that was tried, so that nothing "
        f"is known of what it releases; first: {describe_query(query)}, {describe_error(error)}"
    )

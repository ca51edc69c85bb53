"""Which queries tell two datasets apart: each is asked first in a few sessions in both worlds.

With common random numbers a reply that differs shows that the query depends on what differs between the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Learner, Moves, Replied, Session, Train, play
from arena.errors import ArenaError
from arena.records import Records, record_key
from arena.referees.session_moves import Ask, Open, QueryAt, key_query
from arena.referees.session_replies import read_exception
from arena.released.encoding import hash_values, is_category
from arena.schemas.schema import spread_out
from audits.adversary_search.code_constants import list_code_values
from audits.adversary_search.records.field_values import list_fields, list_prominent, offer_constants
from audits.runs.limits import Limits, find_limits, time_game

MOST_QUERIES = 64  # that are probed
_FEW, _MANY = 4, 24  # games in each world, in which each query is asked
_MOST_VARIED = 2  # queries that tell the data apart, whose fields are varied
_MOST_VALUES = 32  # of each field
_SEED = 2  # even, as seeds of explorations are
_LEAST_SPREAD = 1e-9
_OF_COIN = 0.5  # the standard deviation of a fair coin
_CLEAR = 3.0  # standard errors, from which on a difference without common random numbers counts
_MOST_PAIRED = 16  # queries with larger replies in one world, and as many in the other
_MOST_COMBINED = 24  # queries whose fields are the ends of their ranges


@attrs.frozen(eq=False)
class Queries:
    """What probing has shown of the queries of a learner. telling: those whose replies differ, the clearest
    first. opposites: two of these each, with larger and smaller replies in world 1, the most alike first,
    since what else changes them then cancels. still: the others.
    level: about the middle of the replies that are numbers. effect: of the clearest, in standard deviations;
    contrast: of the less clear of two that differ in both directions. fixed: of those that always have the
    same reply, whatever the data, one for each reply, the rarest first; they may be orders. coins: if all
    are 0 or 1, or no numbers; rare: of these for each usual reply the query that has another least often.
    failing: the queries that raised the same exception in every game, each with its type.
    probed: whether any games were played."""

    telling: tuple[Any, ...] = ()
    opposites: tuple[tuple[Any, Any], ...] = ()
    still: tuple[Any, ...] = ()
    level: float = 0.5
    effect: float = 0.0
    contrast: float = 0.0
    fixed: tuple[Any, ...] = ()
    coins: bool = False
    rare: tuple[Any, ...] = ()
    failing: tuple[tuple[Any, str], ...] = ()
    probed: bool = True


@attrs.frozen
class _Prober(Adversary):
    """Game g asks query g modulo their number, in a session that it opens first if there is a kind."""

    queries: tuple[Any, ...] = attrs.field(eq=lambda queries: tuple(map(key_query, queries)))
    world_0: Records
    world_1: Records
    kind: Any = attrs.field(default=None, eq=key_query)

    name = "prober"
    protocols = (Session.name,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(self.world_0, self.world_1)
        session = 0
        if self.kind is not None:
            yield Open(self.kind)
            session = 1
        which = np.arange(games) % len(self.queries)
        yield Ask(self.queries[0], choices=self.queries[1:], which=which, session=session)
        return None


@lru_cache(maxsize=64)
def list_queries(learner: Any) -> tuple[Any, ...]:
    """Queries to ask, the simplest first: by value, or by their place where no code can write them; also with
    the ends of the ranges of their fields, and with constants of the code."""
    written = [_write_query(place, query) for place, query in enumerate(learner.some_queries)]
    more: list[Any] = []
    if learner.asks is not None:
        schema, offered = offer_constants(learner.asks, list_code_values(learner))
        more += offered[:8]
        for make, columns in list_fields(schema):
            pools = [list_prominent(column) for column in columns]
            more += [
                make([pool[(place * step + place) % len(pool)] for step, pool in enumerate(pools, start=1)])
                for place in range(_MOST_COMBINED)
            ]
    queries = list({key_query(query): query for query in [*written, *more]}.values())
    if len(queries) > MOST_QUERIES:
        kept = np.linspace(0, len(written) - 1, max(MOST_QUERIES - len(more), 1)).astype(int)
        first = {getattr(query, "method", None): place for place, query in reversed([*enumerate(written)])}
        chosen = [written[place] for place in dict.fromkeys([*sorted(first.values()), *kept.tolist()])]
        queries = list({key_query(query): query for query in [*chosen, *more]}.values())[:MOST_QUERIES]
    return tuple(queries)


def _write_query(place: int, query: Any) -> Any:
    try:
        record_key(query)
    except ArenaError:
        return QueryAt(place)
    return query


def probe_queries(learner: Any, world_0: Records, world_1: Records, kind: Any = None) -> Queries:
    """What the queries show of these datasets, in sessions of their own or, with a kind, of one opened, as
    far as the limits of a run allow. Those that tell the datasets apart are tried again with another value in
    each of their fields."""
    return _probe_queries(learner, world_0, world_1, kind, find_limits())


@lru_cache(maxsize=512)  # what limits have left out is left out in their own run only
def _probe_queries(
    learner: Any, world_0: Records, world_1: Records, kind: Any, limits: Limits | None
) -> Queries:
    queries = list_queries(learner)
    prober = _Prober(queries, world_0, world_1, kind)
    found = None if learner.vectorised else _probe(learner, prober, _FEW, limits)
    if found is None:
        return Queries(telling=queries, still=queries, probed=False)
    if found.coins:  # which seldom come out otherwise
        found = _probe(learner, prober, _MANY, limits) or found
    varied = list(_vary_fields(learner, found.telling[:_MOST_VARIED]))
    chosen = tuple({key_query(query): query for query in [*found.telling[:8], *varied]}.values())
    better = _probe(learner, attrs.evolve(prober, queries=chosen), _MANY, limits) if varied else None
    if better is None:
        return found
    still = tuple([*found.still, *better.still][:MOST_QUERIES])
    return attrs.evolve(better, still=still, fixed=found.fixed, failing=found.failing)


def _vary_fields(learner: Any, queries: Sequence[Any]) -> Iterator[Any]:
    """The queries, if they are records, with another value in one of their fields."""
    schema = learner.asks
    if schema is None or schema.columns is None:
        return
    for query in queries:
        for name, pool in zip(schema.names, schema.columns, strict=True):
            for value in spread_out(pool, _MOST_VALUES):
                with suppress(KeyError, IndexError, TypeError):  # a constant of the code is no such record
                    yield schema.form.with_field(query, name, value)


def _probe(learner: Any, prober: _Prober, number: int, limits: Limits | None) -> Queries | None:
    """What so many games of each query in each world show; None if the limits do not allow them."""
    queries = prober.queries
    games = number * len(queries)

    def play_worlds() -> list[tuple[np.ndarray, np.ndarray, list[str]]]:
        return [
            _read_last(learner, prober, np.full(games, world, bool), len(queries)) for world in (False, True)
        ]

    time_one = partial(time_game, learner, attrs.evolve(prober, queries=queries[:1]), Session())
    replies = play_worlds() if limits is None else limits.try_probing(2 * games, play_worlds, time_one)
    if replies is None:
        return None
    hashes, numbers = (np.stack([reply[part] for reply in replies]) for part in (0, 1))
    is_number = np.isfinite(numbers).all(axis=(0, 1))
    known = np.where(is_number, numbers, 0.0)
    change, spread = (known[1] - known[0]).mean(axis=0), known.std(axis=1).mean(axis=0) + _LEAST_SPREAD
    coins = np.isin(known, (0, 1)).all(axis=(0, 1))
    spread = np.where(coins, _OF_COIN, spread)  # that of a rare outcome is not known
    share = (hashes[0] != hashes[1]).mean(axis=0)
    noticeable = _CLEAR * spread / np.sqrt(number)
    clear = np.abs(change) > noticeable if learner.own_coins else share > 0
    turned = np.abs(np.diff(np.isfinite(numbers).mean(axis=1), axis=0)[0])  # from numbers to other replies
    effect = np.where(clear, np.abs(change) / spread + share * ~is_number + turned / _OF_COIN, -1.0)
    order = np.argsort(-effect, kind="stable")
    told = [place for place in order.tolist() if clear[place]]
    finite = numbers[np.isfinite(numbers)]
    usual = np.sort(hashes[0], axis=0)[number // 2]
    still = [place for place, is_clear in enumerate(clear) if not is_clear]
    least = {usual[place]: queries[place] for place in told} if coins.all() else {}
    return Queries(
        telling=tuple(queries[place] for place in told),
        opposites=_pair_queries(*([queries[p] for p in told if sign * change[p] > 0] for sign in (1, -1))),
        still=tuple(queries[place] for place in still),
        fixed=tuple(queries[place] for place in _find_fixed(np.concatenate(hashes), still)),
        level=float(np.median(finite)) if len(finite) else 0.5,
        coins=bool(coins.all()),
        failing=tuple(
            (query, error)
            for query, error, own in zip(
                queries, replies[0][2], hashes.reshape(-1, len(queries)).T, strict=True
            )
            if error and (own == own[0]).all()
        ),
        rare=tuple(least.values())[:2],
        effect=float(max(effect.max(), 0.0)),
        contrast=float(min(max(np.where(sign * change > 0, effect, 0.0).max(), 0.0) for sign in (1, -1))),
    )


def _find_fixed(hashes: np.ndarray, places: Sequence[int]) -> list[int]:
    """Of the queries at these places with one reply in all games, one for each reply, the rarest of all
    replies first. hashes: (games, q) of the replies."""
    values, counts = np.unique(hashes, return_counts=True)
    number = dict(zip(values.tolist(), counts.tolist(), strict=True))
    fixed = {hashes[0, place]: place for place in places if (hashes[:, place] == hashes[0, place]).all()}
    return sorted(fixed.values(), key=lambda place: number[hashes[0, place]])


def _pair_queries(upwards: Sequence[Any], downwards: Sequence[Any]) -> tuple[tuple[Any, Any], ...]:
    """Pairs of these, those that have most fields in common first, then the clearest."""
    pairs = [
        (-_count_common(up, down), place + other, up, down)
        for place, up in enumerate(upwards[:_MOST_PAIRED])
        for other, down in enumerate(downwards[:_MOST_PAIRED])
    ]
    return tuple(pair[2:] for pair in sorted(pairs, key=lambda pair: pair[:2])[:_MOST_PAIRED])


def _count_common(first: Any, second: Any) -> int:
    if not (isinstance(first, tuple) and isinstance(second, tuple)):
        return 0
    return sum(one == other for one, other in zip(first, second, strict=False))


def list_alike(query: Any, others: Sequence[Any]) -> list[Any]:
    """For each field of a query that is a tuple one of the others that agrees there, if there is any."""
    if not isinstance(query, tuple):
        return []
    tuples = [other for other in others if isinstance(other, tuple)]
    alike = [[other for other in tuples if other[k : k + 1] == query[k : k + 1]] for k in range(len(query))]
    return [others[0] for others in alike if others]


def find_failing(learner: Any, pairs: Sequence[tuple[Records, Records]]) -> list[tuple[Any, str]]:
    """The queries that raised the same exception in every game on all of these pairs of datasets, in which
    they were probed, and in sessions of every kind; each with the exception's type."""
    probes = [probe_queries(learner, *worlds, kind) for worlds in pairs for kind in (None, *learner.kinds)]
    probes = [found for found in probes if found.probed]
    if not probes:
        return []
    keys = [{key_query(query) for query, _ in found.failing} for found in probes]
    return [
        (query, error) for query, error in probes[0].failing if all(key_query(query) in own for own in keys)
    ]


def _read_last(
    learner: Learner, prober: _Prober, worlds: np.ndarray, number: int
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Hashes and numbers (games, q) of the replies to q queries, and the exceptions in the first game.

    NaN stands for a reply that is not a number, and an empty text for a query that raised no exception.
    """
    played = play(learner, prober, Session(), games=len(worlds), seed=_SEED, worlds=worlds, record=True)
    reply = played.replies[-1]
    assert isinstance(reply, Replied)
    value = np.asarray(reply.value, np.float64)
    numbers = np.full(len(worlds), np.nan)
    if value.ndim == 1:
        numbers = np.where(is_category(value) | ~np.isfinite(value), np.nan, value)
    errors = [read_exception(first) for first in reply.value[:number]]
    return hash_values(reply.value).reshape(-1, number), numbers.reshape(-1, number), errors

"""function: a mechanism of the user's, with the claim that the user makes for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property, lru_cache
from itertools import islice
from math import inf
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim
from arena.engine import iterate_in_time
from arena.errors import InvalidArgument, NotConforming
from arena.parcels import callable_name, display_name, is_mechanism, is_model
from arena.randomness import GameSeed, draw_game_seeds, generator
from arena.records import Records
from arena.sample import Sample, Training
from arena.schemas.forms import LabelledForm
from arena.schemas.schema import Schema
from arena.settings import at_least, less_than, one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.foreign.base import (
    BOTH,
    LABELS,
    PARTS,
    POINTS,
    RECORDS,
    ForeignClaim,
    function_setting,
    receives_setting,
    repeat_part,
)
from learners.foreign.coins import GIVEN, DrawsCoins, coins_setting
from learners.foreign.global_generators import (
    Trial,
    restore_global_generators,
    seed_global_generators,
    try_mechanism,
)
from learners.foreign.inputs import describe_input, find_input, list_data_parameters, refuse_unknown_input
from learners.foreign.mechanism import (
    AT_ITS_PLACE,
    check_arguments,
    explain_misplacement,
    find_generator,
    make_callable,
    needs_argument,
    unpack_pair,
    use_one_thread,
)

_TRIED_GAMES = 2  # of the calls of a trial of a vectorised function


@attrs.frozen
class Function(DrawsCoins, ForeignClaim):
    """Releases the result of a mechanism of the user's, f(data, rng) or f(data), of a type known to
    `arena.released`.

    It is a function, a method, a partial, a callable object, or a coroutine function; or a class or an object
    with `fit`, which is made and fitted anew in each game and is released itself. `make` returns
    it, once in each process: for what cannot be sent to other processes.

    The claim is the user's. A blank example has the label -1 and the point 0. coins: "given", from the
    generator that it receives, the default if it has a second required argument, or one called rng (or, of a
    model, random_state); "global", from `random`, `numpy.random` and PyTorch's generators, seeded while it
    runs; "own", from elsewhere, which no seed repeats. It may draw from several of these: a trial shows it.

    One call plays one game, with a generator of its own. A `vectorised` function plays all games, f(data,
    games, rng) or f(data, games) -> (games, ...). If it is `aligned`, audits give both games of a pair the
    same random numbers, which makes them sharper; by default an experiment shows whether it is.
    """

    name = "function"
    theorem = "none: the claim is the user's"

    function: Callable[..., Any] | None = function_setting("f, FILE.py:f on the command line", instead="make")
    make: Callable[..., Any] | None = function_setting(
        "in place of `function`: one without arguments that makes it, once in each process; FILE.py:f",
        required=False,
    )
    receives: str = receives_setting(
        attrs.Factory(lambda self: self._find_part(), takes_self=True),
        check=one_of(*PARTS, RECORDS),
        more="; default: points if a domain or a dimension is set, else as the annotation or the name of its "
        "first parameter says, else points",
    )
    schema: Schema | None = attrs.field(
        default=attrs.Factory(lambda self: self._find_schema(), takes_self=True),
        kw_only=True,
        validator=attrs.validators.optional(attrs.validators.instance_of(Schema)),
        metadata={
            "help": "the schema of the data, if they are not labelled points; path/to/file.py:NAME",
            "unit": "",
        },
    )
    epsilon: float | None = setting(None, unit="nats", help="ε of the claim; default: no claim")
    delta: float = setting(0.0, unit="probability", help="δ of the claim", check=[at_least(0), less_than(1)])
    vectorised: bool = setting(False, help="whether one call plays all games of a batch")
    coins: str | None = coins_setting()

    aligned: bool | None = setting(
        None,
        help="whether a vectorised function draws the same random numbers whatever the data; default: audits "
        "find out",
    )

    def __attrs_post_init__(self) -> None:
        if self.receives == RECORDS and self.schema is None:
            raise refuse_unknown_input(self.mechanism)
        super().__attrs_post_init__()
        if self.aligned and not self._may_be_aligned:
            raise InvalidArgument(
                "only a vectorised function whose random numbers are seeded can be aligned",
                value=callable_name(self.mechanism),
                remedy="Leave aligned out: a function of one game has random numbers of its own.",
            )
        check_arguments(self.mechanism, self._data_arguments, self._generator)

    def _find_part(self) -> str:
        """What the mechanism says that it receives; points, if their domain or dimension is set."""
        has_points = self.domain is not None or self.dimension is not None
        part = find_input(self.mechanism).part
        return POINTS if has_points and part == LABELS else part

    def _find_schema(self) -> Schema | None:
        return find_input(self.mechanism).schema if self.receives == RECORDS else None

    @property
    def received(self) -> str:
        """What it receives, in a few words, what says so, and how to change it; empty for records of a schema
        that the user has given."""
        return describe_input(self.mechanism, self.receives, self.schema)

    @property
    def mechanism(self) -> Any:
        """The function or model that is played. Raises: InvalidArgument unless there is exactly one."""
        if (self.function is None) == (self.make is None):
            raise InvalidArgument(
                "a mechanism is given by function or by make, a function that makes it",
                value=None if self.function is None else "both",
                remedy="Give one of them.",
            )
        if self.function is not None:
            return self.function
        mechanism = super().mechanism
        if not is_mechanism(mechanism):
            maker = callable_name(self.make)
            raise InvalidArgument(
                f"{maker} must return a function, or a model with the method fit",
                value=type(mechanism).__name__,
                remedy=f"Let {maker} return the mechanism that it makes, not what the mechanism releases.",
            )
        return mechanism

    @property
    def receives_records(self) -> bool:
        return self.schema is not None

    def users_of(self, points: Any) -> np.ndarray:
        return super().users_of(points) if self.schema is None else self.schema.users_of(points)

    def read_parts(self, sample: Any) -> dict[str, Any]:
        return super().read_parts(sample) if self.schema is None else {self.receives: sample.digest}

    @property
    def some_records(self) -> tuple[Records, ...]:
        return () if self.schema is None else self.schema.make_records()

    @property
    def some_sample(self) -> Sample:
        """Two examples of the domain, for a trial."""
        low = 0.0 if self.domain is None else self.domain[0]
        return Sample(np.full((2, *self.point_shape), low), [0, 1], [1, 1])

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """The warnings of a leak by the mechanism, each once."""
        return self.trial.warnings

    @cached_property
    def takes_generator(self) -> bool:
        if self.coins is None or self.coins == GIVEN:
            return find_generator(self.mechanism, len(self._data_arguments)) is not None
        # Who says that it draws from elsewhere may give a generator the value that it has by default.
        return needs_argument(self.mechanism, len(self._data_arguments))

    @cached_property
    def trial(self) -> Trial:
        return _try_once(self)

    @property
    def _takes_pair(self) -> bool:
        """Whether it takes the two parts of the data, such as X and y, on their own."""
        of_pair = self.receives == BOTH if self.schema is None else isinstance(self.schema.form, LabelledForm)
        return of_pair and not is_model(self.mechanism) and len(list_data_parameters(self.mechanism)) == 2

    @property
    def _data_arguments(self) -> tuple[str, ...]:
        data = ("X", "y") if self._takes_pair else ("data",)
        return (*data, "games") if self.vectorised else data

    @property
    def _generator(self) -> str | None:
        """How it is given a generator, if it is."""
        if not self.takes_generator:
            return AT_ITS_PLACE if self.coins == GIVEN else None
        return find_generator(self.mechanism, len(self._data_arguments))

    @property
    def _is_given(self) -> bool:
        return self._generator is not None

    @cached_property
    def _callable(self) -> Callable[..., Any]:
        return self._make_callable(self._generator)

    def _make_callable(self, generator: str | None) -> Callable[..., Any]:
        call = make_callable(self.mechanism, generator)
        if not self._takes_pair:
            return call
        is_matrix = self.schema is None and list_data_parameters(self.mechanism)[0].name == "X"
        return unpack_pair(call, as_column=is_matrix)

    @property
    def own_name(self) -> str:
        """The name of the mechanism or, if it has none of its own, of the function that makes it."""
        mechanism = self.mechanism
        is_named = self.make is None or hasattr(mechanism, "__qualname__") or is_model(mechanism)
        return display_name(mechanism if is_named else self.make)

    @property
    def claim(self) -> Claim:
        epsilon = inf if self.epsilon is None else self.epsilon
        return claim_for_example(epsilon, self.delta, neighbours=self.relation)

    @property
    def common_random_numbers(self) -> bool:
        return not self.own_coins and (bool(self.aligned) or not self.vectorised)

    @property
    def _may_be_aligned(self) -> bool:
        return self.vectorised and not self.own_coins

    @property
    def with_common_random_numbers(self) -> Function | None:
        return attrs.evolve(self, aligned=True) if self.aligned is None and self._may_be_aligned else None

    def release(self, training: Training, rng: Any) -> np.ndarray:
        with restore_global_generators(self.seeds_global):
            if not (self.common_random_numbers and training.games):
                return super().release(training, rng)
            order = np.concatenate([games for _, games in training.groups()])
            coins: Any = _GameCoins(rng, training.games, iter(order.tolist()))
            return super().release(training, coins)

    def _list_inputs(self, sample: Any, games: int) -> Iterator[Any]:
        """What the function receives in each game, of its own."""
        if self.schema is not None:
            return self.schema.pack_games(sample, games)
        return repeat_part(sample, self.receives, games)

    def draw_releases(self, sample: Sample, games: int, rng: Any) -> Any:
        play = self._play_with_one_thread if is_model(self.mechanism) else self._play
        try:
            with self.trial.ignore_warnings():
                return play(sample, games, rng)
        except RuntimeError as error:
            refusal = explain_misplacement(self.mechanism, error)
            if refusal is None:
                raise
            raise refusal from error

    def _play_with_one_thread(self, sample: Sample, games: int, rng: Any) -> Any:
        with use_one_thread():
            return self._play(sample, games, rng)

    def _play(self, sample: Sample, games: int, rng: Any) -> Any:
        inputs = self._list_inputs(sample, 1 if self.vectorised else games)
        if self.vectorised and not isinstance(rng, _GameCoins):
            return self._play_all(next(inputs), games, rng)[0]
        if self.vectorised:
            coins = rng.copy_generator()
            releases, end = self._play_all(next(inputs), rng.games, coins)
            rng.check_end(end, self.own_name)
            places = np.fromiter(rng.order, np.int64, games)
            if len(releases) != rng.games or np.array_equal(places, np.arange(rng.games)):
                return releases
            return releases[places] if type(releases) is np.ndarray else [releases[place] for place in places]
        if not (self._is_given or self.seeds_global):
            return list(map(self._callable, iterate_in_time(inputs)))
        seeds = islice(rng.seeds(), games) if isinstance(rng, _GameCoins) else draw_game_seeds(rng, games)
        call = self._choose_call()
        return [
            call(self._callable, data, seed)
            for data, seed in iterate_in_time(zip(inputs, seeds, strict=True))
        ]

    def _choose_call(self) -> Callable[[Callable[..., Any], Any, GameSeed], Any]:
        if self._is_given:
            return _call_with_both if self.seeds_global else _call_with_generator
        return _call_seeded

    def _play_all(self, data: Any, games: int, rng: np.random.Generator) -> tuple[Any, str]:
        """The releases of a vectorised function, and the states of its generators after them."""
        with restore_global_generators(self.seeds_global):
            if self.seeds_global:
                seed_global_generators(next(draw_game_seeds(rng, 1)))
            releases = self._callable(data, games, *([rng] if self._is_given else []))
            states = [str(rng.bit_generator.state)] if self._is_given else []
            states += [f"{random.getstate()} {np.random.get_state()}"] if self.seeds_global else []  # noqa: NPY002
            return releases, " ".join(states)


class _GameCoins:
    """The random numbers of the games of a batch, which do not depend on what other games draw; order: the
    indices of the games as they are played."""

    def __init__(self, rng: np.random.Generator, games: int, order: Iterator[int]) -> None:
        self.rng, self.games, self.order = rng, games, order
        self._seeds: list[GameSeed] = []
        self._end = ""

    def seeds(self) -> Iterator[GameSeed]:
        self._seeds = self._seeds or list(draw_game_seeds(self.rng, self.games))
        return map(self._seeds.__getitem__, self.order)

    def copy_generator(self) -> np.random.Generator:
        return deepcopy(self.rng)

    def check_end(self, end: str, name: str) -> None:
        """Raises: NotConforming unless as many random numbers were used as for the samples before."""
        if self._end not in ("", end):
            raise NotConforming(
                name,
                "an aligned function draws the same random numbers whatever the data",
                "after another sample its generator was in another state; set aligned=False",
            )
        self._end = end


@lru_cache(maxsize=64)
def _try_once(learner: Function) -> Trial:
    """A trial on a few records, once for equal learners of a process."""
    sample: Any = learner.some_records[0] if learner.schema is not None else learner.some_sample
    call = learner._make_callable(learner._generator)

    def play(seed: GameSeed) -> Any:
        (data,) = learner._list_inputs(sample, 1)
        given = [generator(seed)] if learner._is_given else []
        return call(data, *([_TRIED_GAMES] if learner.vectorised else []), *given)

    return try_mechanism(play, takes_generator=learner._is_given)


def _call_with_generator(function: Callable[..., Any], data: Any, seed: GameSeed) -> Any:
    return function(data, generator(seed))


def _call_seeded(function: Callable[..., Any], data: Any, seed: GameSeed) -> Any:
    seed_global_generators(seed)
    return function(data)


def _call_with_both(function: Callable[..., Any], data: Any, seed: GameSeed) -> Any:
    seed_global_generators(seed)
    return function(data, generator(seed))

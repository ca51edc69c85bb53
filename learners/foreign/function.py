"""function: a mechanism of the user's, with the claim that the user makes for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from itertools import islice
from math import inf
from threading import RLock
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import InvalidArgument, NotConforming
from arena.parcels import callable_name, display_name, is_mechanism, is_model
from arena.randomness import generator
from arena.sample import Sample, Training
from arena.settings import at_least, less_than, one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.foreign.base import (
    BOTH,
    LABELS,
    PARTS,
    POINTS,
    ForeignClaim,
    extract_part,
    function_setting,
    receives_setting,
)
from learners.foreign.mechanism import (
    AT_ITS_PLACE,
    check_arguments,
    explain_misplacement,
    find_generator,
    make_callable,
    takes_labels,
    use_one_thread,
)

GIVEN, GLOBAL, OWN = COINS = ("given", "global", "own")
_GLOBAL_GENERATORS = RLock()  # held by the thread that has seeded the generators of the process


@attrs.frozen
class Function(ForeignClaim):
    """Releases the result of a mechanism of the user's, f(data, rng) or f(data): what `arena.released` knows.

    It is a function, a method, a partial, a callable object, or a coroutine function; or a class or an object
    with `fit`, which is made and fitted anew in each game and releases its fitted attributes. `make` returns
    it, once in each process: for what cannot be sent to other processes.

    The claim is the user's. A blank example has the label -1 and the point 0. coins: "given", from the
    generator that it receives, the default if it has a second required argument, or one called rng (or, of a
    model, random_state); "global", from `random` and `numpy.random`, seeded while it runs; "own", from
    elsewhere, which no seed repeats.

    One call plays one game, with a generator of its own. A `vectorised` function plays all games, f(data,
    games, rng) or f(data, games) -> (games, ...); only if it is declared `aligned`, audits give both games of
    a pair the same random numbers.
    """

    name = "function"
    theorem = "none: the claim is the user's"

    function: Callable[..., Any] | None = function_setting("f, FILE.py:f on the command line", instead="make")
    make: Callable[..., Any] | None = function_setting(
        "in place of it, a function without arguments that makes it in each process, FILE.py:f",
        required=False,
    )
    receives: str = receives_setting(
        attrs.Factory(lambda self: self._choose_part(), takes_self=True), check=one_of(*PARTS)
    )
    epsilon: float | None = setting(None, unit="nats", help="ε of the claim; default: no claim")
    delta: float = setting(0.0, unit="probability", help="δ of the claim", check=[at_least(0), less_than(1)])
    vectorised: bool = setting(False, help="whether one call plays all games of a batch")
    coins: str | None = setting(
        None, help="given, global or own; default: given if it takes an rng, else own", check=one_of(*COINS)
    )

    aligned: bool = setting(
        False, help="whether a vectorised function draws the same for a game whatever the data"
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.aligned and not (self.vectorised and self.effective_coins == GIVEN):
            raise InvalidArgument(
                "only a vectorised function that takes an rng can be aligned",
                value=callable_name(self.mechanism),
                remedy="Leave aligned out: a function of one game has random numbers of its own.",
            )
        check_arguments(self.mechanism, self._data_arguments, self._generator)

    def _choose_part(self) -> str:
        if is_model(self.mechanism):
            return BOTH if takes_labels(self.mechanism) else POINTS
        return LABELS

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
    def effective_coins(self) -> str:
        """The source of its random numbers: given, global or own."""
        if self.coins is not None:
            return self.coins
        return OWN if find_generator(self.mechanism, len(self._data_arguments)) is None else GIVEN

    @property
    def _data_arguments(self) -> tuple[str, ...]:
        return ("data", "games") if self.vectorised else ("data",)

    @property
    def _generator(self) -> str | None:
        """How it is given a generator, if it is."""
        if self.effective_coins != GIVEN:
            return None
        return find_generator(self.mechanism, len(self._data_arguments)) or AT_ITS_PLACE

    @cached_property
    def _callable(self) -> Callable[..., Any]:
        return make_callable(self.mechanism, self._generator)

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
    def own_coins(self) -> bool:
        return self.effective_coins == OWN

    @property
    def common_random_numbers(self) -> bool:
        return self.effective_coins == GIVEN and (self.aligned or not self.vectorised)

    def release(self, training: Training, rng: Any) -> np.ndarray:
        if not (self.common_random_numbers and training.games):
            return super().release(training, rng)
        order = np.concatenate([games for _, games in training.groups()])
        coins: Any = _GameCoins(rng, training.games, iter(order.tolist()))
        return super().release(training, coins)

    def draw_releases(self, sample: Sample, games: int, rng: Any) -> Any:
        play = self._play_with_one_thread if is_model(self.mechanism) else self._play
        try:
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
        function = self._callable
        if isinstance(rng, _GameCoins):
            if not self.vectorised:
                generators = islice(rng.generators(), games)
                return [function(extract_part(sample, self.receives), coins) for coins in generators]
            coins = rng.copy_generator()
            releases = function(extract_part(sample, self.receives), rng.games, coins)
            rng.check_end(coins, self.own_name)
            places = list(islice(rng.order, games))
            return [releases[place] for place in places] if len(releases) == rng.games else releases
        given = (rng,) if self.effective_coins == GIVEN else ()
        with _control_global_generators(rng, self.effective_coins == GLOBAL):
            if self.vectorised:
                return function(extract_part(sample, self.receives), games, *given)
            return [function(extract_part(sample, self.receives), *given) for _ in range(games)]


class _GameCoins:
    """The random numbers of the games of a batch, which do not depend on what other games draw; order: the
    indices of the games as they are played."""

    def __init__(self, rng: np.random.Generator, games: int, order: Iterator[int]) -> None:
        self.rng, self.games, self.order = rng, games, order
        self._seeds: np.ndarray | None = None
        self._end = ""

    def generators(self) -> Iterator[np.random.Generator]:
        if self._seeds is None:
            self._seeds = self.rng.integers(2**63, size=(self.games, 2))
        for game in self.order:
            yield generator(np.random.SeedSequence(self._seeds[game].tolist()))

    def copy_generator(self) -> np.random.Generator:
        return deepcopy(self.rng)

    def check_end(self, used: np.random.Generator, name: str) -> None:
        """Raises: NotConforming unless as many random numbers were used as for the samples before."""
        end = str(used.bit_generator.state)
        if self._end not in ("", end):
            raise NotConforming(
                name,
                "an aligned function draws the same random numbers whatever the data",
                "after another sample its generator was in another state",
            )
        self._end = end


@contextmanager
def _control_global_generators(rng: np.random.Generator, enabled: bool) -> Iterator[None]:
    """Seed the generators of the process from `rng`, and restore their states on exit."""
    if not enabled:
        yield
        return
    with _GLOBAL_GENERATORS:
        python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - the function uses it
        random.seed(rng.bytes(32))
        np.random.seed(rng.integers(2**32, size=8, dtype=np.uint32))  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002

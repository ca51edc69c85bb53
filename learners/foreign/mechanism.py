"""Mechanisms of users, called alike: functions, methods, callable objects, coroutine functions and models."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from copy import deepcopy
from functools import lru_cache, partial
from importlib.util import find_spec
from threading import local
from typing import Any

import numpy as np

from arena.errors import RAISED, InvalidArgument, Unsupported, describe_error
from arena.parcels import callable_name, is_model

AT_ITS_PLACE = "at its place"  # how a function takes a generator: after the other arguments
_SEEDS = ("random_state", "rng")  # arguments of a model's class, or parameters of a model, for its generator
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# Words in the names, and types, of arguments that are plainly no generators.
_NO_GENERATOR_NAMES = {
    *("epsilon", "eps", "delta", "alpha", "beta", "gamma", "lambda", "rho", "mu", "sigma", "tau", "budget"),
    *("scale", "sensitivity", "size", "sizes", "length", "count", "number", "num", "games", "rounds"),
    *("steps", "threshold", "bound", "bounds", "lower", "upper", "low", "high", "min", "max", "minimum"),
    *("maximum", "clip", "clipping", "radius", "range", "domain", "bins", "edges", "rate", "prob"),
    *("probability", "weight", "weights", "label", "labels", "target", "query", "queries", "column"),
    *("columns", "key", "keys", "name", "path", "config", "params", "parameters", "options", "iterations"),
    *("epochs", "k", "n", "m", "d"),
}
_NO_GENERATOR_TYPES = {"int", "float", "complex", "bool", "str", "bytes", "tuple", "list", "dict", "set"}
_GENERATOR_NAMES = {"rng", "prng", "generator", "random", "randomness", "seed"}
_AWAIT = "Make it a coroutine function (async def), which is run in an event loop."
_MAKE = "Give it by make=, a function without arguments that makes it: every process makes its own."
# What is said if a mechanism cannot be played where it is called, and what helps.
_MISPLACED = {
    "no running event loop": _AWAIT,
    "no current event loop": _AWAIT,
    "from a running event loop": "Make it a coroutine function (async def): await what asyncio.run runs.",
    "loop is closed": _MAKE,
    "different loop": _MAKE,
    "different event loop": _MAKE,
    "forked subprocess": _MAKE,
}


def find_generator(mechanism: Any, position: int) -> str | None:
    """How a mechanism takes a generator: `AT_ITS_PLACE`, if its argument at this position is required or is
    called rng; by an argument of this name, which of a model may be its class's; None if it takes none."""
    if is_model(mechanism):
        fit = list_parameters(_get_class(mechanism).fit)
        return _find_seed(mechanism) or ("rng" if "rng" in fit else None)
    parameters = list_parameters(mechanism)
    for here in list(parameters.values())[position : position + 1]:
        if here.kind in _POSITIONAL and (here.default is here.empty or here.name == "rng"):
            return AT_ITS_PLACE
    own = parameters.get("rng")
    return None if own is None or own.kind in (own.VAR_POSITIONAL, own.VAR_KEYWORD) else "rng"


def needs_argument(mechanism: Any, position: int) -> bool:
    """Whether a mechanism cannot be called without an argument at this position."""
    here = list(list_parameters(mechanism).values())[position : position + 1]
    return not is_model(mechanism) and any(p.kind in _POSITIONAL and p.default is p.empty for p in here)


def takes_labels(mechanism: Any) -> bool:
    """Whether a model is fitted to points and labels."""
    if not is_model(mechanism):
        return False
    fit = list_parameters(_get_class(mechanism).fit)
    required = [p for p in fit.values() if p.kind in _POSITIONAL and p.default is p.empty]
    return len(required) > 2  # self, points, labels


def check_arguments(mechanism: Any, arguments: tuple[str, ...], generator: str | None) -> None:
    """Refuse a mechanism that cannot be called with these arguments and a generator, or a class that cannot
    be made without arguments; one without a signature passes. Raises: InvalidArgument."""
    name, keywords = callable_name(mechanism), {} if generator in (None, AT_ITS_PLACE) else {generator: None}
    if is_model(mechanism):
        keywords = keywords if _find_seed(mechanism) else {}
        if callable(mechanism) and not _can_bind(mechanism, **keywords):
            raise InvalidArgument(
                f"{name} must be made without arguments in each game",
                value=f"{name}{inspect.signature(mechanism)}",
                remedy="Give them by functools.partial.",
            )
        if arguments != ("data",):
            raise InvalidArgument(
                "a model is fitted in one game at a time", value=name, remedy="Leave out vectorised."
            )
        return
    if generator == AT_ITS_PLACE:
        check_generator(mechanism, len(arguments))
        arguments = (*arguments, "rng")
    if not _can_bind(mechanism, *arguments, **keywords):
        raise InvalidArgument(
            f"{name} must take {', '.join([*arguments, *keywords])}",
            value=f"{name}{inspect.signature(mechanism)}",
            remedy="Set vectorised and coins to match it, or wrap it in a function that takes these.",
        )


def check_generator(mechanism: Any, position: int) -> None:
    """Refuse a mechanism whose argument at this position, which would receive a generator, is plainly meant
    for something else, by its name or annotation. Raises: InvalidArgument."""
    if find_generator(mechanism, position) != AT_ITS_PLACE:
        return  # it takes a generator by its name
    for argument in list(list_parameters(mechanism).values())[position : position + 1]:
        annotation = argument.annotation
        kind = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        words = {*argument.name.lower().split("_"), argument.name.lower()}
        is_typed = annotation is not argument.empty and kind.partition("[")[0] in _NO_GENERATOR_TYPES
        is_named = bool(words & _NO_GENERATOR_NAMES) and annotation is argument.empty
        if (is_typed or is_named) and not words & _GENERATOR_NAMES:
            name = callable_name(mechanism)
            raise InvalidArgument(
                f"{name} would receive a random number generator as its argument {argument.name}",
                value=f"{name}{inspect.signature(mechanism)}",
                remedy=f"Give {argument.name} a value by functools.partial({name}, {argument.name}=...) or "
                "by a lambda. If it is a generator, call it rng.",
            )


def _can_bind(function: Any, *arguments: Any, **keywords: Any) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **keywords)
    except TypeError:
        return False
    except ValueError:  # some builtins have no signature
        return True
    return True


def make_callable(mechanism: Any, generator: str | None) -> Callable[..., Any]:
    """A function of the data and other arguments, the last of which is a generator if the mechanism takes
    one: what it returns is the release of a game. A model is made and fitted anew in each game."""
    if is_model(mechanism):
        seed = None if generator is None else _find_seed(mechanism)
        return partial(_fit_anew, mechanism, seed, None if seed else generator)
    function = mechanism
    if inspect.iscoroutinefunction(mechanism) or inspect.iscoroutinefunction(type(mechanism).__call__):
        name = callable_name(mechanism)

        def function(*arguments: Any, **named: Any) -> Any:
            return run_coroutine(mechanism(*arguments, **named), name)

    if generator in (None, AT_ITS_PLACE):
        return function
    return lambda *arguments: function(*arguments[:-1], **{generator: arguments[-1]})


def unpack_pair(function: Callable[..., Any], *, as_column: bool) -> Callable[..., Any]:
    """A function of a pair and other arguments, of one that takes both parts of the pair on their own.
    as_column: whether points that are numbers become one column, as for models."""

    def call(pair: Any, *others: Any) -> Any:
        points, labels = pair
        return function(points[:, None] if as_column and points.ndim == 1 else points, labels, *others)

    return call


def fit_model(model: Any, data: Any, **named: Any) -> Any:
    """Fit a model to points, or to points and labels. Points that are numbers become one column."""
    points, *labels = data if isinstance(data, tuple) else (data,)
    if isinstance(points, np.ndarray) and points.ndim == 1:
        points = points[:, None]
    model.fit(points, *labels, **named)
    return model


@contextmanager
def use_one_thread() -> Iterator[None]:
    """More threads than one slow down sums as short as these, and change their last bits."""
    with ExitStack() as stack:
        if find_spec("threadpoolctl") is not None:  # it comes with scikit-learn
            from threadpoolctl import threadpool_limits

            stack.enter_context(threadpool_limits(limits=1))
        yield


def explain_misplacement(mechanism: Any, error: RuntimeError) -> Unsupported | None:
    """What to do about a mechanism that needs an event loop, or a device that a fork has lost; None for
    other errors."""
    remedy = next((remedy for words, remedy in _MISPLACED.items() if words in str(error)), None)
    if remedy is None:
        return None
    rule = f"{callable_name(mechanism)} cannot be played as it is"
    return Unsupported(rule, value=describe_error(error), remedy=remedy)


def run_coroutine(coroutine: Coroutine[Any, Any, Any], name: str) -> Any:
    """The result of a coroutine, in the event loop of this thread, or of another one where a loop runs here,
    as in a notebook. Raises: Unsupported if it leaves tasks behind."""
    if _runs_loop():
        return _open_thread(os.getpid()).submit(run_coroutine, coroutine, name).result()
    loop = _runners.find().get_loop()
    try:
        result = loop.run_until_complete(coroutine)  # Runner.run would change the handler of SIGINT each time
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
    if left:
        raise Unsupported(
            f"{name} must end the tasks that it starts, since games are independent",
            value=f"{len(left)} that still run",
            remedy="Await them, as asyncio.TaskGroup does.",
        )
    return result


def _runs_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Runners(local):
    """The event loop of each thread. A forked process opens its own."""

    runner: asyncio.Runner | None = None
    process = 0

    def find(self) -> asyncio.Runner:
        if self.runner is None or self.process != os.getpid():
            self.runner, self.process = asyncio.Runner(), os.getpid()
            atexit.register(_close, self.runner, self.process)
        return self.runner


_runners = _Runners()


def _close(runner: asyncio.Runner, process: int) -> None:
    if process == os.getpid():
        runner.close()


@lru_cache(maxsize=1)
def _open_thread(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


def _fit_anew(model: Any, seed: str | None, generator: str | None, data: Any, rng: Any = None) -> Any:
    legacy = seed == "random_state"  # of the generator of this game alone
    own = {} if seed is None else {seed: np.random.RandomState(rng.bit_generator) if legacy else rng}
    if callable(model):
        made = model(**own)
    else:
        made = deepcopy(model)
        if own:
            made.set_params(**own)
    return fit_model(made, data, **({} if generator is None else {generator: rng}))


def _find_seed(model: Any) -> str | None:
    """The argument of a model's class, or the parameter of a model that is still None, for a generator."""
    if callable(model):
        given = model.keywords if isinstance(model, partial) else {}
        named = [name for name in list_parameters(model) if name not in given]
    else:
        parameters = model.get_params() if hasattr(model, "get_params") else {}
        named = [name for name, value in parameters.items() if value is None]
    return next((name for name in _SEEDS if name in named), None)


def _get_class(model: Any) -> Any:
    while isinstance(model, partial):
        model = model.func
    return model if inspect.isclass(model) else type(model)


def list_parameters(function: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a function by name, with annotations as text where these name what is not there."""
    with suppress(*RAISED):  # an annotation may be any code
        return dict(inspect.signature(function, eval_str=True).parameters)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return {}
    named = inspect.unwrap(function.func if isinstance(function, partial) else function)
    names = getattr(getattr(named, "__func__", named), "__globals__", {})
    return {name: _evaluate_annotation(parameter, names) for name, parameter in parameters.items()}


def _evaluate_annotation(parameter: inspect.Parameter, names: dict[str, Any]) -> inspect.Parameter:
    if isinstance(parameter.annotation, str):
        with suppress(*RAISED):
            return parameter.replace(annotation=eval(parameter.annotation, names))
    return parameter

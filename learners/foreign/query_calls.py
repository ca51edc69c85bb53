"""How a query is put to a user's object: to a method by its signature, to a property, or to the object."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

from arena.errors import RAISED, InvalidArgument
from arena.referees.session_moves import Call
from learners.foreign.mechanism import run_coroutine

_MISSING = object()
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def ask_object(asked: Any, query: Any, names: Sequence[str]) -> Any:
    """What an object replies to a query: to a `Call`, by the method or property that it names; to any other
    query by the first of these methods that the object has.

    A method is called as its signature says, see `choose_arguments`. A coroutine is run. Raises:
    InvalidArgument if there is no such method, or it does not take the query; whatever the method raises."""
    method, argument, name = _find_method(asked, query, names)
    if not callable(method):  # a property, or an attribute
        return _await(method, asked)
    arguments = choose_arguments(method, argument)
    if arguments is None:
        raise _refuse_arguments(asked, name, method, argument)
    positional, named = arguments
    return _await(method(*positional, **named), asked)


def find_refusal(asked: Any, query: Any, names: Sequence[str]) -> InvalidArgument | None:
    """Why an object does not take a query: it has no method for it, or one with other arguments."""
    try:
        method, argument, name = _find_method(asked, query, names)
    except InvalidArgument as error:
        return error
    except RAISED:  # by the code of a property: that is its reply
        return None
    is_taken = not callable(method) or choose_arguments(method, argument) is not None
    return None if is_taken else _refuse_arguments(asked, name, method, argument)


def choose_arguments(method: Callable[..., Any], query: Any) -> _Arguments | None:
    """The arguments with which a method is called for a query; None if the query gives none that it takes.

    None, () and {} stand for no argument where none is required. A dictionary gives arguments by name if all
    of its keys are names of arguments. A method with one required argument, or with one in all, receives the
    query itself. Any other method receives the parts of a tuple in their order, if it takes that number of
    arguments; where none is required, a query that is not a tuple is the first argument. A method without a
    signature, or one that passes on whatever it is given (*args, **kwargs), receives the query as its only
    argument, and none for ().
    """
    signature = _read_signature(method)
    parameters = [] if signature is None else list(signature.parameters.values())
    if signature is None or [parameter.kind for parameter in parameters] == [*_VARIABLE]:
        return ((), {}) if isinstance(query, tuple) and not query else ((query,), {})
    required = [each for each in parameters if each.default is each.empty and each.kind not in _VARIABLE]
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    takes_more = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if not required and _is_empty(query):
        return (), {}
    if isinstance(query, dict) and query and _gives_names(parameters, query) and _fits(signature, (), query):
        return (), query
    if len(required) == 1:
        (only,) = required
        return ((query,), {}) if only.kind in _POSITIONAL else ((), {only.name: query})
    if not required and len(positional) == 1 and not takes_more:
        return (query,), {}
    if isinstance(query, tuple) and _fits(signature, query, {}):
        return query, {}
    if not required and (positional or takes_more):
        return (query,), {}
    return None


def explain_tuple(asked: Any, query: Any, names: Sequence[str]) -> str:
    """That a tuple was passed as one argument of a method that takes several; empty if it was not."""
    try:
        method, argument, _ = _find_method(asked, query, names)
    except RAISED:
        return ""
    signature = _read_signature(method) if callable(method) else None
    arguments = None if signature is None else choose_arguments(method, argument)
    if signature is None or not isinstance(argument, tuple) or len(argument) < 2:
        return ""
    if arguments != ((argument,), {}) or not _fits(signature, argument, {}):
        return ""
    names = [*signature.parameters][: len(argument)]
    given = ", ".join(f"{name!r}: {part!r}" for name, part in zip(names, argument, strict=False))
    return (
        f"Only {names[0]} is required, and receives the tuple. To give several arguments, draw dictionaries, "
        f"such as {{{given}}}."
    )


def _is_empty(query: Any) -> bool:
    """Whether a query stands for no argument."""
    return query is None or (isinstance(query, tuple | dict) and not query)


def _find_method(asked: Any, query: Any, names: Sequence[str]) -> tuple[Any, Any, str]:
    """The method or the value of the property that a query is put to, its argument, and its name."""
    if isinstance(query, Call):
        try:
            found = getattr(asked, query.method)
        except AttributeError as error:
            if inspect.getattr_static(asked, query.method, _MISSING) is not _MISSING:
                raise  # by the code of a property
            public = [name for name in dir(asked) if not name.startswith("_")]
            raise InvalidArgument(
                f"{type(asked).__name__} has no method {query.method!r}",
                remedy=f"It has {', '.join(public)}." if public else "",
            ) from error
        if not callable(found) and not _is_empty(query.argument):
            raise InvalidArgument(
                f"{type(asked).__name__}.{query.method} is no method, and takes no argument",
                value=query.argument,
                remedy="Let its only query be None.",
            )
        return found, query.argument, query.method
    for name in names:
        method = getattr(asked, name, None)
        if callable(method):
            return method, query, name
    raise InvalidArgument(
        "the object of a session has a method that takes a query",
        value=type(asked).__name__,
        remedy=f"Name it by method=..., or call it {', '.join(names)}.",
    )


def _refuse_arguments(asked: Any, name: str, method: Any, query: Any) -> InvalidArgument:
    signature = _read_signature(method)
    assert signature is not None  # without one, a method takes any query
    parameters = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    names = ", ".join(signature.parameters)
    return InvalidArgument(
        f"{type(asked).__name__}.{name}{inspect.Signature(parameters)} does not take this query",
        value=query,
        remedy=f"Draw tuples or dictionaries of its arguments, {names}."
        if names
        else "Let its only query be None.",
    )


def _await(reply: Any, asked: Any) -> Any:
    return run_coroutine(reply, type(asked).__name__) if inspect.iscoroutine(reply) else reply


def _gives_names(parameters: Sequence[inspect.Parameter], query: dict[Any, Any]) -> bool:
    """Whether the keys are names of arguments; of any, if a method has no others."""
    if not all(isinstance(key, str) for key in query):
        return False
    named = {each.name for each in parameters if each.kind not in (each.POSITIONAL_ONLY, *_VARIABLE)}
    return query.keys() <= named or all(each.kind is each.VAR_KEYWORD for each in parameters)


def _fits(signature: inspect.Signature, positional: tuple[Any, ...], named: dict[str, Any]) -> bool:
    try:
        signature.bind(*positional, **named)
    except TypeError:
        return False
    return True


def _read_signature(method: Any) -> inspect.Signature | None:
    """The signature of a method of an object, without the object; None for what has none."""
    function = getattr(method, "__func__", None)
    if isinstance(function, FunctionType):
        return _read_of_function(function, True)
    if isinstance(method, FunctionType):
        return _read_of_function(method, False)
    return _compute_signature(method)


@lru_cache(maxsize=256)
def _read_of_function(function: FunctionType, bound: bool) -> inspect.Signature | None:
    # Of the method itself it would be computed at every call.
    return _compute_signature(function.__get__(object()) if bound else function)


def _compute_signature(method: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(method)
    except (TypeError, ValueError):  # some builtins have no signature
        return None

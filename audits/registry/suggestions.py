"""Names that are misspelt, unknown or used twice: the errors, with suggestions, and corrected commands."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ParamSpec, TypeVar

from arena.errors import ArenaError, InvalidArgument
from arena.settings import check_value, whole, yes_or_no

P = ParamSpec("P")
R = TypeVar("R")

_FEW = 10  # names that a message lists


def suggest(name: str, names: Iterable[str]) -> str:
    """The sentence "Did you mean ...? " with at most three names close to `name`; empty if none is."""
    close = difflib.get_close_matches(name, list(names))
    return f"Did you mean {' or '.join(close)}? " if close else ""


def correct(name: str, names: Iterable[str]) -> dict[str, str]:
    """The name with the closest of the names, for `ArenaError.corrected`; empty if none is close."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return {name: close[0]} if close else {}


def correct_words(words: Sequence[str], error: ArenaError) -> list[str]:
    """The words of a command line as the error says that they should be; the same if it does not say it."""
    changed = [*words]
    for wrong, meant in error.corrected.items():
        name = re.compile(rf"(?<![\w.-]){re.escape(wrong)}(?![\w.-])")
        changed = [name.sub(lambda found, meant=meant: meant, word) for word in changed]  # type: ignore[misc]
    return [*changed, *error.lacking]


def unknown_name(kind: str, name: str, names: Collection[str], alternative: str = "") -> InvalidArgument:
    """The error for a name that is none of `names`. alternative: what may be given instead of a name."""
    known = f"There are: {', '.join(names)}" if len(names) <= _FEW else "Give a name from `arena list`"
    remedy = f"{suggest(str(name), names)}{known}{alternative}."
    meant = correct(str(name), names)
    return InvalidArgument(f"there is no {kind} of that name", value=name, remedy=remedy, corrected=meant)


def check_labels(labels: Sequence[str]) -> None:
    """Raises: InvalidArgument if there are no labels of learners, or two are equal."""
    if not labels:
        raise InvalidArgument("a race needs at least one learner")
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidArgument(
                f"two learners are called {label}", remedy=f"Label one, as in other={label}."
            )


# Arguments that mean the same in every verb, by what they must be.
_WHOLE = ("games", "examples", "max_calls", "rounds", "canaries", "seed")
_FLAGS = (
    *("until_refuted", "fixed_games", "faults", "estimators", "bits", "log_ratios"),
    *("allow_underpowered", "relation_chosen"),
)
_FUNCTIONS = ("progress", "announce", "watch", "make")
_PATHS = ("ledger", "store")


def explain_arguments(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a function say how it is called when it gets too many arguments by position, or an unknown name."""
    signature = inspect.signature(verb)
    parameters = signature.parameters.values()
    positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    named = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]

    @functools.wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        if len(args) > len(positional):
            raise TypeError(
                f"{verb.__name__}() takes {' and '.join(positional)} by position, and all else by name: "
                f"write {named[0]}=..., {named[1]}=..., not the value alone"
            )
        for name in kwargs:
            if name not in signature.parameters:
                raise TypeError(
                    f"{verb.__name__}() has no argument {name!r}. {suggest(name, named)}"
                    f"Its arguments are: {', '.join(signature.parameters)}. Settings of players are given as "
                    "settings={name: value}."
                )
        for name, value in kwargs.items():
            _check_kind(name, value)
        return verb(*args, **kwargs)

    return call


def _check_kind(name: str, value: object) -> None:
    """Refuse a value that is no whole number, function, path or truth value where every verb takes one of
    these by this name. Raises: InvalidArgument."""
    if value is None:
        return
    if name in _WHOLE:
        check_value(name, value, whole)
    elif name in _FLAGS:
        check_value(name, value, yes_or_no)
    elif name in _FUNCTIONS and not callable(value):
        raise InvalidArgument(f"{name} must be a function", value=value, remedy=f"Write {name}=print.")
    elif name in _PATHS and not isinstance(value, str | os.PathLike):
        raise InvalidArgument(f"{name} must be the path of a file", value=value, remedy="Give it as text.")

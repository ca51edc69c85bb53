"""Warnings of the code under audit: each is shown once, with how often it was given."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_OWN = "arena"  # the package of warnings that are shown at once, each time
_active: list[Counter[GivenWarning]] = []


class GivenWarning(NamedTuple):
    """A warning, and where it was given: its text, its class, the file and the line."""

    text: str
    category: type[Warning]
    file: str
    line: int


Show = Callable[[GivenWarning, int], object]


@contextmanager
def count_warnings(show: Show | None = None) -> Iterator[Counter[GivenWarning]]:
    """Count warnings in place of showing them, and show each once at the end; those of dp-arena are shown as
    always. Warnings that the user's filters ignore, or make errors of, stay so. Inside another such block,
    that one counts.

    show: called with a warning and how often it was given. Default: as Python shows warnings.
    """
    if _active:
        yield _active[-1]
        return
    counts: Counter[GivenWarning] = Counter()
    show_one = warnings.showwarning

    def count(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: object
    ) -> None:
        if category.__module__.partition(".")[0] == _OWN:
            show_one(message, category, filename, lineno)
        else:
            counts[GivenWarning(str(message), category, filename, lineno)] += 1

    def show_as_python_does(given: GivenWarning, times: int) -> None:
        text = f"{given.text} ({times:,} times)" if times > 1 else given.text
        show_one(text, given.category, given.file, given.line)

    _active.append(counts)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", append=True)  # after all others, which go first
            warnings.showwarning = count  # type: ignore[assignment]
            yield counts
    finally:
        _active.pop()
        for given, times in counts.items():
            (show or show_as_python_does)(given, times)


def add_warnings(counts: Counter[GivenWarning]) -> None:
    """Count warnings that another process has counted."""
    if _active:
        _active[-1].update(counts)


def tally_warnings(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a verb show each warning of the code that it plays once."""

    @functools.wraps(verb)
    def call(*arguments: P.args, **settings: P.kwargs) -> R:
        with count_warnings():
            return verb(*arguments, **settings)

    return call

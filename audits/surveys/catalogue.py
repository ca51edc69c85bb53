"""Catalogues: the mechanisms of a library with what they claim, as Python files that others can write."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, TypeVar

import attrs

from arena import Claim, InvalidArgument
from arena.claims import Relation
from arena.errors import RAISED, describe_error
from arena.privacy_curves import PrivacyCurve
from audits.registry.suggestions import unknown_name
from audits.registry.user_files import load_module

_PACKAGE = "audits.surveys.catalogues"
_LEAST = 1e-9  # nats, in place of a claim of 0, which is false if this one is
Maker = TypeVar("Maker", bound=Callable[[], Any])


class UnreadableClaim(InvalidArgument):
    """A claim that is no claim: not a number, infinite, or one whose computation fails."""


@attrs.frozen(kw_only=True)
class Entry:
    """A mechanism of a library, and what it claims.

    make: without arguments, returns what `audits.search` takes: a function, a model, a learner or its name.
    epsilon, delta, curve: as of `audits.search`. claim: in their place, a function of the mechanism that
    returns ε, (ε, δ), a privacy curve or a `Claim`. neighbours, data: as of `audits.search`; data may be
    a function that returns them. against: names of adversaries that a learner plays in place of a search.
    note: on which reading of the library's documentation the claim rests.
    """

    name: str
    make: Callable[[], Any]
    epsilon: Any = None
    delta: Any = None
    curve: PrivacyCurve | str | None = None
    claim: Callable[[Any], Any] | None = None
    neighbours: Relation | str | None = None
    data: Any = None
    against: tuple[str, ...] = ()
    note: str = ""

    def read_claim(self, mechanism: Any) -> dict[str, Any]:
        """The arguments of `audits.search` for the claim. Raises: UnreadableClaim."""
        epsilon, delta, curve, neighbours = self.epsilon, self.delta, self.curve, self.neighbours
        if self.claim is not None:
            try:
                given = self.claim(mechanism)
            except RAISED as error:  # the library's code may raise anything
                raise UnreadableClaim(f"computing the claim raised {describe_error(error)}") from error
            if isinstance(given, Claim):
                epsilon, delta, curve, neighbours = (
                    getattr(given, name) for name in ("epsilon", "delta", "curve", "neighbours")
                )
            elif isinstance(given, PrivacyCurve):
                curve = given
            else:
                epsilon, delta = given if isinstance(given, tuple) and len(given) == 2 else (given, delta)
        numbers = {"epsilon": epsilon, "delta": delta}
        for name, value in numbers.items():
            if value is not None:
                numbers[name] = _read_number(name, value)
        if numbers["epsilon"] == 0:
            numbers["epsilon"] = _LEAST
        return {**numbers, "curve": curve, "neighbours": neighbours}


def _read_number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise UnreadableClaim(f"{name} of a claim must be a number", value=value) from error
    if not isfinite(number) or number < 0 or (name == "delta" and number >= 1):
        raise UnreadableClaim(f"{name} of a claim must be finite, and δ below 1", value=number)
    return number


@attrs.define
class Catalogue:
    """The mechanisms of a library that a survey audits, by name, in order.

    made_for: the version of the library for which it was written. public: returns the names of all that the
    library offers; those that begin no entry's name are reported.
    """

    made_for: str = ""
    public: Callable[[], Iterable[str]] | None = None
    entries: dict[str, Entry] = attrs.field(factory=dict, init=False)

    def add(self, name: str, make: Callable[[], Any], **claim: Any) -> None:
        """Add an entry; claim: its other fields, see `Entry`. Raises: InvalidArgument for a name twice."""
        if name in self.entries:
            raise InvalidArgument("a catalogue has two entries of a name", value=name)
        self.entries[name] = Entry(name=name, make=make, **claim)

    def entry(self, name: str | None = None, **claim: Any) -> Callable[[Maker], Maker]:
        """As `add`, a decorator of the function that makes the mechanism, whose name the entry has."""

        def register(make: Maker) -> Maker:
            self.add(name or make.__name__, make, **claim)
            return make

        return register

    def find_uncovered(self) -> tuple[str, ...]:
        """What the library offers and no entry is about."""
        if self.public is None:
            return ()
        return tuple(
            name
            for name in self.public()
            if not any(own == name or own.startswith(f"{name}:") for own in self.entries)
        )


def list_catalogues() -> list[str]:
    """The libraries whose catalogues come with dp-arena."""
    package = importlib.import_module(_PACKAGE)
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(package.__path__))


def load_catalogue(library: str, path: str | None = None) -> Catalogue:
    """The shipped catalogue of a library, or that in a file of the user's. Raises: InvalidArgument."""
    if path is None:
        known = list_catalogues()
        if library not in known:
            raise unknown_name("catalogue", library, known, ", or your own by --catalogue FILE.py")
        module = importlib.import_module(f"{_PACKAGE}.{library.replace('-', '_')}")
    else:
        module = load_module(path)
    catalogues = [value for value in vars(module).values() if isinstance(value, Catalogue)]
    if len(catalogues) != 1 or not catalogues[0].entries:
        raise InvalidArgument(
            "the file of a catalogue must define one audits.Catalogue with entries",
            value=path or library,
            remedy="Write catalogue = audits.Catalogue(), and add entries to it.",
        )
    return catalogues[0]

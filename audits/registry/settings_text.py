"""Settings of players as text: what may be set, what a text means, and a player from its settings."""

from __future__ import annotations

import difflib
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from functools import partial
from types import FunctionType
from typing import Any, TypeVar

import attrs

from arena.claims import Claim
from arena.concepts import ConceptClass, parse_concept_class
from arena.errors import ArenaError, InvalidArgument, describe_error
from arena.fingerprint import callable_name
from arena.players import Adversary, Learner
from arena.sample import Sample
from audits.registry.user_files import function_at

Player = Learner | Adversary
P = TypeVar("P", Learner, Adversary)

# Fields that the arena fills: no text stands for a data set or for the opponent.
GIVEN = {
    "sample": "filled from --data",
    "learner": "filled with the opponent's spec",
}
_MOST_DIGITS = 18
_TRUTH = {"true": True, "yes": True, "on": True, "1": True}
_TRUTH |= {"false": False, "no": False, "off": False, "0": False}


def build(
    player: type[P], texts: Mapping[str, str], *, sample: Sample | None = None, learner: Learner | None = None
) -> P:
    """The spec of class `player` with the fields named in `texts` set to what the texts mean.

    sample, learner: for its fields of these names, where it declares them.

    Raises: InvalidArgument if a field is unknown, is none that text can set, or refuses the value.
    """
    fields = settable(player)
    for name in texts:
        if name in GIVEN:
            raise InvalidArgument(
                f"{name} of {player.name} is not set by hand", remedy=f"It is {GIVEN[name]}."
            )
        if name not in fields:
            raise InvalidArgument(
                f"{player.name} has no setting {name!r}",
                remedy=f"{nearest(name, fields)}Its settings are: {', '.join(fields) or 'none'}.",
            )
    kinds = _kinds(player) if texts else {}
    values: dict[str, Any] = {name: parsed(name, text, kinds[name]) for name, text in texts.items()}
    declared = attrs.fields_dict(player)
    given = {"sample": sample, "learner": learner}
    values |= {name: value for name, value in given.items() if name in declared and value is not None}
    _complete(player, values)
    with blamed(player.name, "made"):
        return player(**values)


@contextmanager
def blamed(name: str, what: str) -> Iterator[None]:
    """Have it told of the player if its code raises anything but a refusal while it is `what`."""
    try:
        yield
    except ArenaError:
        raise
    except Exception as error:
        raise InvalidArgument(
            f"{name} raised {describe_error(error)} when it was {what}", remedy="Mend the player."
        ) from error


def claim_of(learner: Learner) -> Claim:
    """The learner's claim, or a refusal if there is none to be had."""
    with blamed(learner.name, "asked for its claim"):
        claim = learner.claim
    if not isinstance(claim, Claim):
        raise InvalidArgument(f"the claim of {learner.name} must be a Claim", value=claim)
    return claim


def under_test(
    learner: Learner,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    nothing: str = "nothing with these settings",
    purpose: str = "test",
    give: str = "--epsilon, in nats",
) -> tuple[float, float]:
    """ε in nats and δ of the claim under test: the learner's own, as far as no other is given.

    nothing, purpose, give: words of the refusal where no ε is given and the learner claims nothing.

    Raises: InvalidArgument in that case.
    """
    own = claim_of(learner)
    if epsilon is None and own.empty:
        raise InvalidArgument(
            f"{learner.name} claims {nothing}, so there is nothing to {purpose}",
            remedy=f"Say what to test it against: {give}.",
        )
    if delta is None:
        delta = 0.0 if own.empty else own.delta
    return own.epsilon if epsilon is None else epsilon, delta


def settable(player: type[Player]) -> dict[str, attrs.Attribute[Any]]:
    """The fields that text can set, by name."""
    return {
        name: field for name, field in attrs.fields_dict(player).items() if name not in GIVEN and field.init
    }


def parsed(name: str, text: str, kind: Any) -> Any:
    """What `text` means for a field annotated `kind`.

    >>> parsed("teachers", "20_001", int), parsed("games", "1e5", int), parsed("noise", "none", float | None)
    (20001, 100000, None)
    """
    members = typing.get_args(kind) if _is_union(kind) else (kind,)
    if types.NoneType in members and text.strip().casefold() == "none":
        return None
    readers = [reader for member in members if (reader := _reader(member)) is not None]
    if not readers:
        raise InvalidArgument(
            f"{name} takes a {getattr(kind, '__name__', kind)}, which no text can stand for",
            value=text,
            remedy="Set it from Python.",
        )
    for reader in readers[:-1]:
        try:
            return reader(name, text)
        except InvalidArgument:
            continue
    return readers[-1](name, text)


def text_of(value: object) -> str:
    """A setting's value for people."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None or value is attrs.NOTHING:
        return "none" if value is None else "(must be set)"
    if isinstance(value, Learner | Adversary):
        return value.name
    if isinstance(value, FunctionType | partial) or inspect.isclass(value):
        return callable_name(value)
    return str(value)


def default_of(field: attrs.Attribute[Any]) -> object:
    """The default of a field; `attrs.NOTHING` if it must be set."""
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        return "(made anew)" if default.takes_self else default.factory()
    return default


def settings_text(spec: Player) -> dict[str, str]:
    """What can be set of a player, as `--set` would have it."""
    return {name: text_of(getattr(spec, name)) for name in settable(type(spec))}


def summary(spec: Player) -> str:
    """A player in one line: its name, and the settings that are not its defaults."""
    fields = settable(type(spec)).items()
    changed = [
        f"{name}={text_of(getattr(spec, name))}"
        for name, field in fields
        if getattr(spec, name) != default_of(field)
    ]
    return spec.name + (f" with {', '.join(changed)}" if changed else "")


def nearest(wanted: str, names: Iterable[str]) -> str:
    """A sentence that names what may have been meant, or nothing."""
    near = difflib.get_close_matches(wanted, list(names), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(near)}? " if near else ""


def needed(player: type[Player]) -> list[str]:
    """The fields that have no default."""
    return [f.name for f in attrs.fields(player) if f.init and f.default is attrs.NOTHING]


def _complete(player: type[Player], values: Mapping[str, object]) -> None:
    lacking = [name for name in needed(player) if name not in values]
    if not lacking:
        return
    data = [name for name in lacking if name in GIVEN]
    remedy = (
        f"It is {GIVEN[data[0]]}."
        if data
        else "Give " + " ".join(f"--set {name}=VALUE" for name in lacking) + "."
    )
    raise InvalidArgument(f"{player.name} needs a value for {' and '.join(lacking)}", remedy=remedy)


def _kinds(player: type[Player]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(player)
    except NameError as error:
        raise InvalidArgument(
            f"the annotations of {player.name} name something unknown ({error})",
            remedy="Import it at run time, not only for type checkers.",
        ) from error


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _int(name: str, text: str) -> int:
    try:
        number = Decimal(text.strip())  # exact, where 1e23 as a float is not 10^23
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number.adjusted() > _MOST_DIGITS or number % 1:
        raise InvalidArgument(
            f"{name} must be a whole number", value=text, remedy="Write 20001, 20_001 or 1e5."
        )
    return int(number)


def _float(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidArgument(f"{name} must be a finite number", value=text)
    return number


def _bool(name: str, text: str) -> bool:
    try:
        return _TRUTH[text.strip().casefold()]
    except KeyError:
        raise InvalidArgument(f"{name} must be true or false", value=text) from None


def _concepts(name: str, text: str) -> ConceptClass:
    return parse_concept_class(text)


def _function(name: str, text: str) -> Callable[..., Any]:
    return function_at(text)


def _reader(kind: Any) -> typing.Callable[[str, str], Any] | None:
    """What reads text for a field annotated `kind`. Which class of concepts it is, the player checks."""
    if isinstance(kind, type) and issubclass(kind, ConceptClass):
        return _concepts
    if isinstance(kind, type) and hasattr(kind, "from_text"):
        return lambda name, text: kind.from_text(text)
    return _READERS.get(kind)


_READERS: dict[Any, typing.Callable[[str, str], Any]] = {
    bool: _bool,
    int: _int,
    float: _float,
    str: lambda name, text: text,
    Callable[..., Any]: _function,
}

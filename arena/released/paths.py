"""Where the parts of a release are, in the words of whoever wrote the mechanism: of what is refused, and of
the features that tell worlds apart."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from arena.errors import UnknownRelease

_SEEDS = ("random_state", "rng", "seed", "random_seed")  # attributes of models, apart from underscores
_GENERATORS = (
    random.Random,
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    np.random.SeedSequence,
)
_PLAIN = (bool, int, float, str, bytes, tuple)  # of defaults that are compared by value
ALLOWED = "Return numbers, text, None, or tuples, lists and dictionaries of these"
_TOKEN = re.compile(r"\[(\d+)\]|\{([0-9a-f]+)\}")
_SUFFIXES = {
    "": "{}",
    " text": "the text of {}",
    " low": "the last digits of {}",
    " sign": "the sign of {}, where it is zero",
    " shape": "the shape of {}",
    " size": "whether {} is a list or a dictionary, both empty",
}
# Patterns of paths into frames and series, as `arena.released.types` takes them apart.
_OF_FRAMES = (
    (re.compile(r"(.*)\.entries\[(\d+)\]\.entries\[(\d+)\]"), r"row \3 of column \2", r"\1"),
    (re.compile(r"(.*)\.index\.stop"), "row count", r"\1"),
    (re.compile(r"(.*)\.index\.entries\[(\d+)\]"), r"the label of row \2", r"\1"),
    (re.compile(r"(.*)\.columns(?:\.entries)?\[(\d+)\]"), r"the name of column \2", r"\1"),
    (re.compile(r"(.*)\.entries\[(\d+)\]"), r"entry \2", r"\1"),
    (re.compile(r"(.*)\.<type>"), "the type", r"\1"),
)


def is_fit_object(value: Any) -> bool:
    """Whether a value is an object with the method `fit`."""
    return callable(getattr(value, "fit", None)) and not isinstance(value, type)


def list_content(model: Any) -> dict[str, Any]:
    """The attributes of a model, private ones too, without its public settings and what nobody publishes.

    Left out are parameters of its class that have their default; generators of random numbers and seeds;
    durations; and attributes that hold addresses in memory, such as the id of another attribute.
    """
    kind: Any = type(model)
    state, defaults = list_state(model), _list_defaults(kind)
    addresses = {id(part) for part in state.values()}
    return {
        name: part
        for name, part in state.items()
        if not (name in defaults and _is_default(part, defaults[name]))
        and not (name.strip("_") in _SEEDS and (part is None or isinstance(part, int | np.integer)))
        and not (type(part) is int and part in addresses)
        and not (is_duration(name) or is_generator(part))
    }


def is_fitted(model: Any) -> bool:
    """Whether a model has attributes besides the parameters of its class, or models among these that do."""
    kind: Any = type(model)
    content, defaults = list_content(model), _list_defaults(kind)
    if not hasattr(model, "get_params"):
        return bool(content)
    return any(name not in defaults or _holds_fitted(part) for name, part in content.items())


def is_generator(value: Any) -> bool:
    """Whether a value is a generator of random numbers, or what seeds one."""
    kind = type(value)
    return isinstance(value, _GENERATORS) or (kind.__module__, kind.__name__) == ("torch._C", "Generator")


def is_duration(name: object) -> bool:
    """Whether an attribute or a key of this name, such as `mean_fit_time`, says how long something took."""
    return isinstance(name, str) and name.rstrip("_").endswith("_time")


def _holds_fitted(part: Any) -> bool:
    if isinstance(part, list | tuple):
        return any(map(_holds_fitted, part))
    if isinstance(part, Mapping):
        return any(map(_holds_fitted, part.values()))
    return is_fit_object(part) and is_fitted(part)


@lru_cache(maxsize=256)
def _list_defaults(kind: Any) -> dict[str, Any]:
    """The parameters with which objects of a class are made, each with its default."""
    try:
        parameters = inspect.signature(kind).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return {}
    return {name: parameter.default for name, parameter in parameters.items()}


def _is_default(part: Any, default: Any) -> bool:
    if part is default:
        return True
    return type(part) is type(default) and isinstance(part, _PLAIN) and bool(part == default)


def list_state(value: Any) -> dict[str, Any]:
    """The attributes of an object, also those in slots."""
    state = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{kind.__name__.lstrip('_')}{slot}" if slot[:2] == "__" != slot[-2:] else slot
            if slot not in ("__dict__", "__weakref__") and hasattr(value, name):
                state[name] = getattr(value, name)
    return state


class Refused(Exception):
    """A part of a release whose type is not known; raised again by everything that contains it."""

    def __init__(self, part: Any) -> None:
        self.refused = self.part = part
        self.path = ""
        self.in_model = False

    def add_container(self, container: Any) -> None:
        """Note that the part is in `container`, which is a part itself."""
        self.path = _find_step(container, self.part) + self.path
        column = re.match(r"\[(\d+)\](.*)", self.path)
        if type(container).__name__ == "DataFrame" and column:
            self.path = f"[{_quote(list(container.columns)[int(column[1])])}]{column[2]}"
        self.part = container
        self.in_model |= is_fit_object(container)

    def explain(self) -> UnknownRelease:
        """The error for the user, with a way to release what the part holds."""
        kind, value = type(self.refused), self.refused
        rule = "a release must be made of numbers, text and None"
        rule += f", and release{self.path} is not" if self.path else ""
        name = (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
        return UnknownRelease(rule, value=name, remedy=_find_remedy(value, in_model=self.in_model))


def _find_step(container: Any, part: Any) -> str:
    """How one writes a part of a container; empty if it is a view or a copy of what the container holds."""
    items: Iterator[tuple[str, Any]] = iter(())
    if isinstance(container, Mapping):
        items = ((f"[{_quote(key)}]", value) for key, value in container.items())
    elif isinstance(container, list | tuple) or (isinstance(container, np.ndarray) and container.ndim == 1):
        items = ((f"[{place}]", value) for place, value in enumerate(container))
    found = next((step for step, value in items if value is part), None)
    if found is None:
        state = [*list_state(container), *getattr(container, "_fields", ()), "args", "__cause__"]
        named = (name for name in state if getattr(container, name, container) is part)
        found = next((f".{name}" for name in named), "")
    return found


def _quote(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) and key.isprintable() and '"' not in key else repr(key)


def _find_remedy(value: Any, *, in_model: bool) -> str:
    if in_model:
        return "Release what you publish of the model: audit a function that fits it, and returns that."
    if isinstance(value, np.ma.MaskedArray):
        return "Release value.filled(nan), since what a mask covers can still be read from the array."
    if inspect.iscoroutine(value):
        value.close()  # it would warn that nobody awaited it
        return "Make the mechanism a coroutine function (async def), which is awaited."
    if isinstance(value, Iterator) or hasattr(value, "__aiter__"):
        return "Return list(value)."
    if hasattr(value, "collect") and type(value).__name__ == "LazyFrame":
        return "Return value.collect()."
    if is_fit_object(value):
        return "Fit the model: it has no attributes besides its parameters yet, which would be its release."
    if callable(value) or isinstance(value, type):
        return f"{ALLOWED}: what it computes, not the function itself."
    fitted = [name for name in getattr(value, "__dict__", ()) if name.endswith("_") and name[0] != "_"]
    if fitted:
        attributes = ", ".join(f"model.{name}" for name in fitted[:3])
        return f"{ALLOWED}. Of a fitted model return its attributes, such as ({attributes})."
    return f"{ALLOWED}. Of another object return its attributes one by one, or vars(value)."


def write_feature(feature: str, read_key: Callable[[str], str | None]) -> str:
    """A feature of released values in the user's terms: `coef_[1]`, `key "k3"`, `row count`, `the text`.

    read_key: of the hash in a feature's name, the text of the key (`arena.released`), if it is known.
    """
    name = next(name for name in sorted(_SUFFIXES, key=len, reverse=True) if feature.endswith(name))
    path = ""
    for place, digits in _TOKEN.findall(feature.removesuffix(name).removeprefix("value")):
        path += f"[{place}]" if place else _write_key(read_key(digits), digits)
    if not path:
        return {
            "": "the number",
            " text": "the text",
            " low": "the last digits",
            " sign": "the sign of zero",
        }.get(name, _SUFFIXES[name].format("the release"))
    for pattern, words, inside in _OF_FRAMES:
        found = pattern.fullmatch(path)
        if found:
            whose = found.expand(inside)
            return _SUFFIXES[name].format(found.expand(words) + (f" of {_name_path(whose)}" if whose else ""))
    return _SUFFIXES[name].format(_name_path(path))


def _write_key(text: str | None, digits: str) -> str:
    """A step of a path: an attribute, or a key in brackets."""
    if text is None:
        return f"{{{digits}}}"
    if text.isidentifier() or text == "<type>":
        return f".{text}"
    string = re.fullmatch(r"str (['\"])(.*)\1", text)
    return f'["{string[2]}"]' if string else f"[{text}]"


def _name_path(path: str) -> str:
    key = re.fullmatch(r'\[("[^"]*")\]', path)
    if key:
        return f"key {key[1]}"
    if re.fullmatch(r"\[\d+\]", path):
        return f"entry {path[1:-1]}"
    return path.removeprefix(".") if path[0] == "." else f"release{path}"

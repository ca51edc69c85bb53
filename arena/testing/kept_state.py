"""What a mechanism keeps between calls: variables, attributes, containers and caches that its code writes.

A mechanism is pickled with what its variables hold, so that a new process receives releases that it kept. A
place that may hold such releases is emptied there. If the mechanism fills it again, and then answers
otherwise, its answers depended on what it had kept.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence, MutableSet
from contextlib import suppress
from functools import partial
from itertools import islice
from types import CellType, CodeType, CoroutineType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import attrs
import numpy as np

from arena.errors import is_users_file
from arena.released.paths import list_state

_MOST_OBJECTS = 5_000  # that are looked at, so that the data of a mechanism cost little
_MOST_ENTRIES = 200  # of a container that are looked at
_MOST_PLACES = 48  # that are emptied
_NOTHING = object()  # a variable without a value
_CONTAINERS = (MutableMapping, MutableSequence, MutableSet, deque, np.ndarray)
_CACHE: Any = functools._lru_cache_wrapper
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), np.generic)
# Packages of objects that keep nothing for a mechanism, or hold data.
_NOT_ENTERED = {"arena", "learners", "adversaries", "audits", "hypothesis", "random", "pandas", "polars"}
# Methods that run once, when an object is made.
_MAKING = {"__init__", "__new__", "__post_init__", "__attrs_post_init__", "__init_subclass__", "__setstate__"}
# Instructions that write an attribute, a global variable, a variable of an enclosing function, and an entry.
_ATTRIBUTE, _GLOBAL, _ENCLOSED = "STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF"
_ENTRIES = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
# Names of functions and methods that change a container, or write attributes whose names no code shows.
_CHANGING = {
    *("append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "heappush"),
    *("put", "putmask", "copyto", "fill", "push", "set", "store", "save", "write", "move_to_end"),
}
_ANY_NAME = {"setattr", "__setattr__", "__dict__", "vars"}


@attrs.frozen(eq=False)
class Place:
    """A place in which a mechanism may keep what it computed.

    name: for messages.
    empty: takes its content away.
    restore: puts back what it held when it was found.
    is_filled: whether it holds anything.
    read: what it holds, for comparisons.
    is_cache: whether nothing but calls ever fills it, as the cache of `functools.cache`.
    """

    name: str
    empty: Callable[[], None]
    restore: Callable[[], None]
    is_filled: Callable[[], bool]
    read: Callable[[], Any]
    is_cache: bool = False

    @property
    def digest(self) -> bytes:
        """Bytes that differ if its content does; the same for what cannot be pickled."""
        import cloudpickle  # slow to import

        try:
            # A new process cannot import the classes of a script.
            return bytes(cloudpickle.dumps(self.read()))
        except Exception:  # objects of other libraries may raise anything
            return b""


@attrs.frozen(eq=False)
class KeptState:
    """What may keep releases.

    places: for each place the ways to empty it, of which its code may understand one.
    suspended: names of generators and coroutines that have begun, whose variables cannot be emptied.
    """

    places: tuple[tuple[Place, ...], ...] = ()
    suspended: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.places or self.suspended)

    def find_refilled(self, call: Callable[[], object]) -> list[Place]:
        """The places that a call fills again after they were emptied, each by itself."""
        return [place for ways in self.places if (place := _find_refilled(ways, call)) is not None]

    @property
    def all(self) -> list[Place]:
        """Each place once."""
        return [ways[0] for ways in self.places]


def _find_refilled(ways: Iterable[Place], call: Callable[[], object]) -> Place | None:
    for place in ways:
        try:
            place.empty()
            call()
            if place.is_filled():
                return place
        except Exception:  # a mechanism without its parameters may raise anything
            continue
        finally:
            with suppress(Exception):
                place.restore()
    return None


def find_kept_state(roots: Iterable[tuple[str, Any]]) -> KeptState:
    """What can be reached from objects, each with a name, and may be written by the code that is reached.

    Empty containers and variables without a value are left out: a new process finds them empty, too.
    """
    walk = _Walk()
    walk.visit(roots)
    places = [_list_blanks(holder) for holder in walk.holders if walk.writes(holder)]
    places += [[_clear_cache(name, cache)] for name, cache in walk.caches if cache.cache_info().currsize]
    if walk.changes_entries:
        places += [[_clear(name, value)] for name, value in walk.containers if _is_filled(value)]
    return KeptState(tuple(map(tuple, places[:_MOST_PLACES])), tuple(walk.suspended))


@attrs.frozen(eq=False)
class _Holder:
    """A variable or an attribute.

    name: for messages.
    written_as: the instruction that writes it, and its name there.
    read: its value, or `_NOTHING`.
    write: sets a value; `_NOTHING` deletes it.
    """

    name: str
    written_as: tuple[str, str]
    read: Callable[[], Any]
    write: Callable[[Any], None]


def _list_blanks(holder: _Holder) -> list[Place]:
    """Ways to empty a variable: it is deleted, or gets a value that code may take for "not computed yet"."""
    value = holder.read()
    blanks = [None, _NOTHING]
    if isinstance(value, float):
        blanks.append(float("nan"))
    if isinstance(value, bool | int | float | str | bytes):
        blanks.append(type(value)())

    def is_filled(blank: Any) -> bool:
        now = holder.read()
        return not (
            now is blank or now is _NOTHING or (type(now) is type(blank) and repr(now) == repr(blank))
        )

    return [
        Place(
            holder.name,
            empty=partial(holder.write, blank),
            restore=partial(holder.write, value),
            is_filled=partial(is_filled, blank),
            read=holder.read,
        )
        for blank in blanks
    ]


def _clear_cache(name: str, cache: Any) -> Place:
    return Place(
        name,
        empty=cache.cache_clear,
        restore=lambda: None,
        is_filled=lambda: bool(cache.cache_info().currsize),
        read=lambda: None,
        is_cache=True,
    )


def _clear(name: str, container: Any) -> Place:
    """A container, which is emptied and filled in place, since others may hold it, too."""
    content: Any = list(container)
    if isinstance(container, MutableMapping | np.ndarray):
        content = dict(container) if isinstance(container, MutableMapping) else container.copy()

    def empty() -> None:
        if isinstance(container, np.ndarray):
            container[...] = 0
        else:
            container.clear()

    def restore() -> None:
        empty()
        if isinstance(container, np.ndarray):
            container[...] = content
        elif isinstance(container, MutableSequence):
            container.extend(content)
        elif isinstance(container, MutableMapping):
            container.update(content)
        else:
            for entry in content:
                container.add(entry)

    return Place(name, empty, restore, lambda: _is_filled(container), lambda: container)


def _is_filled(container: Any) -> bool:
    if isinstance(container, np.ndarray):
        can_be_written = container.flags.writeable and not container.dtype.hasobject
        return can_be_written and bool(container.tobytes().strip(b"\0"))
    return len(container) > 0


class _Walk:
    """All that objects reach, by closures, defaults, attributes, classes, entries, and global variables of
    the user's code."""

    def __init__(self) -> None:
        self.holders: list[_Holder] = []
        self.caches: list[tuple[str, Any]] = []
        self.containers: list[tuple[str, Any]] = []
        self.suspended: list[str] = []
        self.changes_entries = False
        self._written: set[tuple[str, str]] = set()
        self._any_name = False
        self._seen: dict[int, Any] = {}  # keeps what was seen, so that no identity is used twice
        self._known: set[object] = set()  # of holders

    def writes(self, holder: _Holder) -> bool:
        """Whether the code that was reached may write it, and it has a value."""
        value = holder.read()
        may_write = holder.written_as in self._written
        may_write = may_write or (self._any_name and holder.written_as[0] == _ATTRIBUTE)
        return may_write and value is not None and value is not _NOTHING

    def visit(self, roots: Iterable[tuple[str, Any]]) -> None:
        waiting = deque(roots)
        while waiting and len(self._seen) < _MOST_OBJECTS:
            name, value = waiting.popleft()
            if id(value) not in self._seen and not isinstance(value, _SIMPLE):
                self._seen[id(value)] = value
                waiting.extend(self._enter(name, value))

    def _enter(self, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        """Note what an object is, and return what it holds, by name."""
        if isinstance(value, FunctionType):
            return self._enter_function(value)
        if isinstance(value, MethodType):
            return [(name, value.__self__), (name, value.__func__)]
        if isinstance(value, partial):
            return [(name, value.func), *((name, part) for part in (*value.args, *value.keywords.values()))]
        if isinstance(value, _CACHE):
            self.caches.append((f"the cache of {value.__wrapped__.__qualname__}", value))
            return [(name, value.__wrapped__)]
        if isinstance(value, type):
            return self._enter_class(value)
        if isinstance(value, GeneratorType | CoroutineType):
            return self._enter_generator(name, value)
        if isinstance(value, ModuleType) or type(value).__module__.partition(".")[0] in _NOT_ENTERED:
            return ()
        if isinstance(value, tuple | frozenset):
            return [(name, entry) for entry in list(value)[:_MOST_ENTRIES]]
        parts: list[tuple[str, Any]] = []
        if isinstance(value, _CONTAINERS):
            self.containers.append((name, value))
            entries = value.values() if isinstance(value, MutableMapping) else value
            if not isinstance(value, np.ndarray):
                parts = [(name, entry) for entry in islice(entries, _MOST_ENTRIES)]
            if type(value).__module__ in ("builtins", "collections", "numpy"):
                return parts
        return [*parts, *self._enter_object(value)]

    def _enter_object(self, value: Any) -> Iterator[tuple[str, Any]]:
        kind = type(value)
        for attribute, part in list_state(value).items():
            name = f"attribute {attribute} of {kind.__qualname__}"
            self._add_attribute(name, value, attribute)
            yield name, part
        yield kind.__qualname__, kind

    def _enter_class(self, kind: type) -> Iterator[tuple[str, Any]]:
        if not _is_users(kind.__module__):
            return
        for attribute, part in list(vars(kind).items()):
            name = f"attribute {attribute} of {kind.__qualname__}"
            for function in _list_functions(part):
                yield name, function
            if isinstance(part, functools.cached_property):
                self._written.add((_ATTRIBUTE, attribute))
            if attribute.startswith("__") or hasattr(type(part), "__get__"):
                continue
            self._add_attribute(name, kind, attribute)
            yield name, part
        yield from ((base.__qualname__, base) for base in kind.__bases__)

    def _enter_function(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        code, own = function.__code__, function.__name__
        # The code of a notebook or of an interactive session has no file.
        is_unknown = code.co_filename.startswith("<") and _is_users(function.__module__ or "")
        is_users = is_unknown or is_users_file(code.co_filename)
        self._read_code(code, is_making=code.co_name in _MAKING)
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            name = f"variable {variable} of {own}"
            read, write = partial(_read_cell, cell), partial(_write_cell, cell)
            self._add(_Holder(name, (_ENCLOSED, variable), read, write), id(cell))
            yield name, read()
        yield from ((f"a default of {own}", part) for part in function.__defaults__ or ())
        yield from (
            (f"the default of {key} of {own}", part) for key, part in (function.__kwdefaults__ or {}).items()
        )
        for attribute, part in vars(function).items():
            name = f"attribute {attribute} of {own}"
            self._add_attribute(name, function, attribute)
            yield name, part
        yield from self._enter_variables(function.__globals__, code) if is_users else ()

    def _enter_variables(self, variables: dict[str, Any], code: CodeType) -> Iterator[tuple[str, Any]]:
        """The global variables that code names, and what it names of the user's modules among them."""
        names = [*_list_names(code)]
        for variable in names:
            if variable not in variables:
                continue
            name, value = f"variable {variable}", variables[variable]
            read, write = (
                partial(_read_entry, variables, variable),
                partial(_write_entry, variables, variable),
            )
            self._add(_Holder(name, (_GLOBAL, variable), read, write), (id(variables), variable))
            yield name, value
            if isinstance(value, ModuleType) and _is_users(value.__name__):
                parts = ((each, vars(value)[each]) for each in names if each in vars(value))
                yield from ((f"variable {each} of {variable}", part) for each, part in parts)

    def _enter_generator(self, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        is_generator = isinstance(value, GeneratorType)
        frame = value.gi_frame if is_generator else value.cr_frame
        if frame is None:
            return ()
        self._read_code(frame.f_code, is_making=False)
        state = inspect.getgeneratorstate(value) if is_generator else inspect.getcoroutinestate(value)
        if state in (inspect.GEN_SUSPENDED, inspect.CORO_SUSPENDED):
            self.suspended.append(name)
        return [(f"variable {each} of {frame.f_code.co_name}", part) for each, part in frame.f_locals.items()]

    def _add(self, holder: _Holder, identity: object) -> None:
        if identity not in self._known:
            self._known.add(identity)
            self.holders.append(holder)

    def _add_attribute(self, name: str, owner: Any, attribute: str) -> None:
        read, write = partial(_read_attribute, owner, attribute), partial(_write_attribute, owner, attribute)
        self._add(_Holder(name, (_ATTRIBUTE, attribute), read, write), (id(owner), attribute))

    def _read_code(self, code: CodeType, *, is_making: bool) -> None:
        """Note what the code may write, other than while an object is made."""
        for instruction in () if is_making else dis.get_instructions(code):
            operation, name = instruction.opname, instruction.argval
            if operation == _ENCLOSED and name not in code.co_freevars:
                continue
            if operation in (_ATTRIBUTE, _GLOBAL, _ENCLOSED):
                self._written.add((operation, name))
            self.changes_entries |= operation in _ENTRIES
        self.changes_entries |= bool(_CHANGING.intersection(code.co_names)) and not is_making
        self._any_name |= bool(_ANY_NAME.intersection(code.co_names)) and not is_making
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._read_code(constant, is_making=is_making)


def _is_users(module: str) -> bool:
    """Whether a module is the user's: also the script that runs, and what was pickled with its code."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or (
        module not in sys.builtin_module_names and is_users_file(path or "<none>")
    )


def _list_functions(part: Any) -> Iterator[Any]:
    """The functions of an attribute of a class."""
    if isinstance(part, property):
        yield from (each for each in (part.fget, part.fset) if each is not None)
    elif isinstance(part, staticmethod | classmethod):
        yield part.__func__
    elif isinstance(part, functools.cached_property):
        yield part.func
    elif isinstance(part, FunctionType | _CACHE):
        yield part


def _list_names(code: CodeType) -> Iterator[str]:
    """The names of global variables and attributes in code, also in the functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)


def _read_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has no value
        return _NOTHING


def _write_cell(cell: CellType, value: Any) -> None:
    if value is not _NOTHING:
        cell.cell_contents = value
    elif _read_cell(cell) is not _NOTHING:
        del cell.cell_contents


def _read_entry(variables: dict[str, Any], name: str) -> Any:
    return variables.get(name, _NOTHING)


def _write_entry(variables: dict[str, Any], name: str, value: Any) -> None:
    if value is _NOTHING:
        variables.pop(name, None)
    else:
        variables[name] = value


def _read_attribute(owner: Any, name: str) -> Any:
    """An attribute of an object or a class, without those that it inherits from its class."""
    state = vars(owner) if isinstance(owner, type) else list_state(owner)
    return state.get(name, _NOTHING)


def _write_attribute(owner: Any, name: str, value: Any) -> None:
    write = type.__setattr__ if isinstance(owner, type) else object.__setattr__
    delete = type.__delattr__ if isinstance(owner, type) else object.__delattr__
    if value is not _NOTHING:
        write(owner, name, value)
    elif _read_attribute(owner, name) is not _NOTHING:
        delete(owner, name)

"""Pickles for other processes, with the sources of the user's files, and fingerprints of functions.

No other process can import a file that was named by its path. What such a file defines is pickled as names,
and the parcel holds the source, from which the receiving process makes the module.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import _lru_cache_wrapper, lru_cache, partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from random import SystemRandom
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs
import numpy as np

from arena.errors import CannotBeSent, describe_error, is_users_file
from arena.released.paths import list_state

_PLAIN = (bool, int, float, complex, str, bytes, tuple, type(None), ModuleType)  # pickled as they are

_CACHE: Any = _lru_cache_wrapper
_LONGEST_NAME = 60  # of a mechanism in a title
_LITERAL = bool | int | float | complex | str | bytes | None | np.generic


@attrs.frozen
class SourceModule:
    """A module of the user's and its source. imported: whether another file imports it by its name."""

    name: str
    path: str
    source: bytes
    imported: bool

    @property
    def folder(self) -> str:
        return str(Path(self.path).parent)


_sources: dict[str, SourceModule] = {}  # by the module's name


def register_source(module: ModuleType, source: bytes, *, imported: bool) -> None:
    """Let parcels take the module along. imported: whether another file imports it by its name."""
    name = module.__name__
    _sources[name] = SourceModule(name, str(module.__file__), source, imported)


def pack(value: object, *, by_value: bool = False) -> bytes:
    """The value as a parcel, which `unpack` opens in another process. Raises: CannotBeSent.

    by_value: whether functions and classes of the user's files are pickled themselves where possible, for a
    machine that may lack what these files read when they are imported.
    """
    try:
        content = _pickle(value, by_value=by_value)
    except Exception as error:  # objects of other libraries may raise anything
        if by_value:
            return pack(value)
        raise CannotBeSent(f"{describe_error(error)}{_locate_unsendable(value)}") from error
    return pickle.dumps((_choose_sources(content), content), protocol=pickle.HIGHEST_PROTOCOL)


def pickle_alone(value: object) -> bytes:
    """A pickle that holds what it needs of the user's file that defines the value. Raises: CannotBeSent."""
    import cloudpickle

    module = getattr(value, "__module__", None) or type(value).__module__
    is_users = is_users_file(getattr(sys.modules.get(module), "__file__", None) or "<built in>")
    is_new = is_users and module not in cloudpickle.list_registry_pickle_by_value()
    try:
        with _register_by_value([module] if is_new else ()):
            return bytes(cloudpickle.dumps(value))
    except Exception as error:  # objects of other libraries may raise anything
        raise CannotBeSent(describe_error(error)) from error


def unpack(parcel: Any) -> Any:
    """The value in a parcel, which is bytes or a buffer."""
    sources, content = pickle.loads(parcel)
    _install(sources)
    return _Unpickler(io.BytesIO(content)).load()


def _pickle(value: object, *, by_value: bool) -> bytes:
    import cloudpickle  # slow to import, and rarely needed

    attributes = {} if by_value else dict(_list_attributes())

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, item: object) -> tuple[str, str] | None:
            return attributes.get(id(item))

        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, _CACHE) and not _is_importable(
                item, cloudpickle.list_registry_pickle_by_value()
            ):
                return _make_cache, (item.__wrapped__, item.cache_parameters())
            if type(item) is SystemRandom:  # it has no state, and refuses to be pickled
                return SystemRandom, ()
            return super().reducer_override(item)

    buffer = io.BytesIO()
    with _register_by_value(_sources if by_value else ()):
        Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _make_cache(function: Any, parameters: dict[str, Any]) -> Any:
    return lru_cache(**parameters)(function)


def _is_importable(function: Any, by_value: Container[str]) -> bool:
    """Whether a function with a cache is pickled by its name, and has a new cache in another process. Others
    are made anew there, since the cache cannot be sent."""
    module = sys.modules.get(function.__module__, ModuleType(""))
    found: Any = module
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function and module.__name__ != "__main__" and module.__name__ not in by_value


def _locate_unsendable(value: object) -> str:
    """Which object in a value cannot be pickled, and what holds it, as the end of a sentence; empty if it is
    the value itself."""
    place, verb, path = "", "is", {id(value)}
    while True:
        parts = ((own, part) for own, part in _list_parts(value) if id(part) not in path)
        found = next((pair for pair in parts if not _can_pickle(pair[1])), None)
        if found is None:
            return f": {place} {verb} a {type(value).__module__}.{type(value).__qualname__}" if place else ""
        verb = "holds" if isinstance(value, dict | list | tuple | set | frozenset) else "is"
        if verb == "is":
            place = f"{found[0]} of {display_name(value)}"
        value = found[1]
        path.add(id(value))


def _list_parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value is pickled with, by name."""
    if isinstance(value, partial):
        yield from (
            ("function", value.func),
            *((f"argument {n}", part) for n, part in value.keywords.items()),
        )
        yield from ((f"argument {place}", part) for place, part in enumerate(value.args))
    elif isinstance(value, MethodType):
        yield "object", value.__self__
    elif isinstance(value, FunctionType):
        enclosed = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from ((f"variable {name}", _read_cell(cell)) for name, cell in enclosed)
        names = (name for name in value.__code__.co_names if name in value.__globals__)
        yield from ((f"variable {name}", value.__globals__[name]) for name in names)
        yield from (("default", part) for part in value.__defaults__ or ())
    elif isinstance(value, dict):
        yield from ((f"entry {key!r}", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"entry {place}", part) for place, part in enumerate(value))
    else:
        yield from ((f"attribute {name}", part) for name, part in list_state(value).items())


def _can_pickle(value: object) -> bool:
    try:
        _pickle(value, by_value=False)
    except Exception:  # objects of other libraries may raise anything
        return False
    return True


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, identity: tuple[str, str]) -> Any:
        return getattr(import_module(identity[0]), identity[1])


def _list_attributes() -> Iterator[tuple[int, tuple[str, str]]]:
    """The identity of whatever the user's files define, with the names of its module and of the attribute."""
    for name in _sources:
        for attribute, item in vars(sys.modules.get(name, ModuleType(name))).items():
            foreign = isinstance(item, type | FunctionType | BuiltinFunctionType) and item.__module__ != name
            if not (attribute.startswith("__") or foreign or isinstance(item, _PLAIN)):
                yield id(item), (name, attribute)


@contextmanager
def _register_by_value(names: Iterable[str]) -> Iterator[None]:
    import cloudpickle

    modules = [sys.modules[name] for name in names if name in sys.modules]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _choose_sources(content: bytes) -> list[SourceModule]:
    named = [module for module in _sources.values() if module.name.encode() in content]
    folders = {module.folder for module in named}
    return [m for m in _sources.values() if m in named or (m.imported and m.folder in folders)]


def _install(sources: list[SourceModule]) -> None:
    if all(_sources.get(module.name) == module for module in sources):
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for module in sources:
        sys.modules.pop(module.name, None)  # also a former version of it
        _sources[module.name] = module
        if module.folder not in sys.path and Path(module.folder).is_dir():
            sys.path.append(module.folder)  # for what it imports while it plays
    with redirect_stdout(io.StringIO()):  # the output of a command is not a plug-in's
        for module in sources:
            import_module(module.name)


class _SourceFinder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        module = _sources.get(name)
        if module is None:
            return None
        package = Path(module.path).name == "__init__.py"
        spec = spec_from_loader(name, self, origin=module.path, is_package=package)
        assert spec is not None
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [module.folder]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        source = _sources[module.__name__]
        exec(compile(source.source, source.path, "exec"), vars(module))


_finder = _SourceFinder()


def callable_name(function: Any) -> str:
    """The name of a callable: `f`, or `f(scale=2)` for a partial; of another object, that of its type.

    >>> callable_name(partial(round, ndigits=2))
    'round(ndigits=2)'
    """
    if isinstance(function, partial):
        arguments = [repr(value) for value in function.args]
        arguments += [f"{name}={value!r}" for name, value in function.keywords.items()]
        return f"{callable_name(function.func)}({', '.join(arguments)})"
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def display_name(function: Any) -> str:
    """The name of a mechanism for titles: its own, without the function that defines it; for what has none,
    that of the variable in the user's file that holds it, or its type or code without long arguments."""
    if getattr(function, "__name__", "<lambda>") == "<lambda>":
        variables = list(_find_variables(function))
        if len(variables) == 1:
            return variables[0]
    name = callable_name(function).rpartition("<locals>.")[2]
    if len(name) > _LONGEST_NAME or "\n" in name:
        name = (
            f"{display_name(function.func)}(...)" if isinstance(function, partial) else name[:_LONGEST_NAME]
        )
    return name


def _find_variables(value: Any) -> Iterator[str]:
    """The names in the user's files of what is equal to a value, or to the one of which it is a copy."""
    modules = [vars(sys.modules[name]) for name in (*_sources, "__main__") if name in sys.modules]
    for name, item in (pair for variables in modules for pair in [*variables.items()]):
        if not name.startswith("_") and type(item) is type(value) and fingerprint(item) == fingerprint(value):
            yield name


def is_model(value: Any) -> bool:
    """Whether a value is a class with the method `fit`, a partial of one, or an object with `fit` that cannot
    be called: a mechanism that is fitted anew in each game, and is released itself."""
    while isinstance(value, partial):
        value = value.func
    return callable(getattr(value, "fit", None)) and (inspect.isclass(value) or not callable(value))


def is_mechanism(value: Any) -> bool:
    """Whether a value is what a learner may play as a user's mechanism: a callable, or a model."""
    return is_model(value) or (callable(value) and not inspect.isclass(value))


def fingerprint(function: Any) -> str:
    """A text that is equal for callables of the same module, name, code, defaults and enclosed values, and
    for models of the same class and parameters, in any process of one minor version of Python, whatever
    global variables or attributes they read."""
    return _identify(function, (id(function),))


_Path = tuple[int, ...]  # ids of the objects that contain a value: a function may enclose itself


def _identify(function: Any, path: _Path) -> str:
    if isinstance(function, partial):
        return _text((function.func, function.args, sorted(function.keywords.items())), path)
    origin = f"{getattr(function, '__module__', None) or type(function).__module__}:{callable_name(function)}"
    code = getattr(function, "__code__", None)
    if code is None:
        return f"{origin}{_identify_object(function, path)}"
    enclosed = [_read_cell(cell) for cell in function.__closure__ or ()]
    content = _text((code, function.__defaults__, function.__kwdefaults__, enclosed), path)
    return f"{origin} {hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _identify_object(value: Any, path: _Path) -> str:
    """The methods of a class, or of an object's class, and the parameters of a model; empty without any."""
    kind = value if inspect.isclass(value) else type(value)
    methods = {name: item.__code__ for name, item in vars(kind).items() if isinstance(item, FunctionType)}
    has_parameters = hasattr(value, "get_params") and not inspect.isclass(value)
    content = _text((methods, value.get_params() if has_parameters else {}), path)
    return f" {hashlib.sha256(content.encode()).hexdigest()[:16]}" if methods else ""


def _read_cell(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the name was deleted, or has no value yet
        return CellType


def _text(value: object, path: _Path) -> str:
    """A text that is the same in every process; for a value of an unknown kind, the kind alone."""
    if isinstance(value, _LITERAL):
        return repr(value)
    if id(value) in path:
        return f"^{path.index(id(value))}"
    within = (*path, id(value))
    if isinstance(value, CodeType):
        return _text((value.co_code, value.co_consts, value.co_names), within)
    if isinstance(value, tuple | list):
        return f"({','.join(_text(entry, within) for entry in value)})"
    if isinstance(value, set | frozenset):
        return f"{{{','.join(sorted(_text(entry, within) for entry in value))}}}"
    if isinstance(value, dict):
        entries = [(_text(key, within), _text(entry, within)) for key, entry in value.items()]
        return _text(sorted(entries), within)
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if callable(value):
        return _identify(value, within)
    return f"{type(value).__module__}:{type(value).__qualname__}"

"""Python files of the user: their modules, the functions in them, and digests that tell of changes."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from arena.errors import InvalidArgument, describe_error, is_users_file
from arena.parcels import is_mechanism, register_source
from arena.schemas.schema import Schema
from arena.settings import file_guard, read_file
from audits.registry import OWN_PACKAGES, import_own_package
from audits.registry.origins import list_imports

OUTSIDE = ".../"  # begins the name of a file that is in no plug-in's folder
_MAX_SIZE = 4  # MiB
PLUGIN_PREFIX = "arena_plugin_"  # of the names of plug-ins' modules
_folders: list[str] = []  # of plug-ins, the last one first, at the end of sys.path
_unfinished: list[str] = []  # modules of plug-ins that run, and may load others


def load_function(text: str) -> Callable[..., Any]:
    """The function or model at `path/to/file.py:name`. Raises: InvalidArgument if there is none."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise InvalidArgument("a function is named as path/to/file.py:name", value=text)
    function: Any = vars(load_module(path)).get(name)
    if not (callable(function) or is_mechanism(function)):
        raise InvalidArgument(f"{path} has no function {name!r}", remedy="Name one that it defines.")
    return function


def load_schema(text: str) -> Schema:
    """The schema at `path/to/file.py:name`: of a strategy of data, or of an example. Raises:
    InvalidArgument."""
    from audits.data.schemas import find_schema, infer_schema  # slow to import

    given = load_data_strategy(text)
    if isinstance(given, Schema):
        return given
    schema = find_schema(given) if hasattr(given, "flatmap") else infer_schema(given)
    return attrs.evolve(schema, source=text)


def load_data_strategy(text: str) -> Any:
    """The strategy of data, or the example, at `path/to/file.py:name`. Raises: InvalidArgument."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise InvalidArgument("a schema is named as path/to/file.py:name", value=text)
    module = vars(load_module(path))
    if name not in module:
        raise InvalidArgument(
            f"{path} defines no {name!r}", remedy="Name a strategy such as audits.table(...)."
        )
    return module[name]


def add_folder(folder: str, *modules: str) -> None:
    """Let the calling file import modules of a folder, which it names relative to itself. Raises:
    InvalidArgument if neither the folder nor the modules are found."""
    place = _find_beside(folder, sys._getframe(1).f_globals)
    if place is not None:
        sys.path[:] = [str(place), *(path for path in sys.path if path != str(place))]
        return
    missing = [name for name in modules if _is_missing(name)]
    if missing:
        raise InvalidArgument(
            f"this file needs the module {' and '.join(missing)}, which was in the folder {folder}",
            remedy="Put that folder there, relative to this file or to the current folder, or install them.",
        )


def load_beside(path: str) -> ModuleType:
    """The module in a file that the calling file names relative to itself. Raises: InvalidArgument."""
    place = _find_beside(path, sys._getframe(1).f_globals)
    if place is None:
        raise InvalidArgument(
            f"this file needs the file {path}",
            remedy="Put it there, relative to this file or to the current folder.",
        )
    return load_module(str(place))


def _find_beside(path: str, variables: Mapping[str, Any]) -> Path | None:
    """A path relative to the file whose variables these are, or to the current folder; None if neither is."""
    file = variables.get("__file__")
    folders = [*([] if file is None else [Path(file).resolve().parent]), Path.cwd()]
    return next((folder / path for folder in folders if (folder / path).exists()), None)


def _is_missing(module: str) -> bool:
    root = module.partition(".")[0]
    return root not in sys.modules and find_spec(root) is None


@contextmanager
def run_no_new_file() -> Iterator[None]:
    """Refuse files of code that were not loaded before: nothing of the user's runs where a result is printed.
    Raises: NotTrusted."""
    guard = file_guard.get()

    def refuse(path: Path, content: bytes, code: bool) -> None:
        if code and _name_plugin(path, content) not in sys.modules:
            raise NotTrusted("a file is not run again to print a result", value=str(path))
        if guard is not None:
            guard(path, content, code)

    token = file_guard.set(refuse)
    try:
        yield
    finally:
        file_guard.reset(token)


def _name_plugin(location: Path, source: bytes) -> str:
    """A name that distinguishes versions of a file, and does not depend on its folder."""
    return f"{PLUGIN_PREFIX}{location.stem}_{hashlib.sha256(source).hexdigest()[:12]}"


def load_module(path: str) -> ModuleType:
    """The module in a file, which may import others of its folder. Imported again if the file has changed."""
    source = read_file("plug-in", path, mebibytes=_MAX_SIZE, code=True)
    location = Path(os.path.realpath(path))
    name = _name_plugin(location, source)
    if name not in sys.modules:
        _make_importable(location.parent)
        before = set(sys.modules)
        register_source(_import_source(name, location, source, path), source, imported=False)
        for new in set(sys.modules) - before - {name}:
            if _is_in(sys.modules[new], location.parent):
                with suppress(OSError):  # a package without a file of its own
                    imported = Path(str(sys.modules[new].__file__)).read_bytes()
                    register_source(sys.modules[new], imported, imported=True)
    return sys.modules[name]


def _make_importable(folder: Path) -> None:
    """Let a plug-in import the files of its folder, unless Python or a package has a module of that name."""
    for name in OWN_PACKAGES:
        import_own_package(name)
    others = [path for path in _folders if path != str(folder)]
    if str(folder) in _folders or str(folder) not in sys.path:
        sys.path[:] = [path for path in sys.path if path not in _folders]
        _folders[:] = [str(folder), *others]
        sys.path += _folders
    for name, module in [*sys.modules.items()]:
        own = folder / name.partition(".")[0]
        if not (name.startswith(PLUGIN_PREFIX) or own.is_dir() or own.with_suffix(".py").is_file()):
            continue
        if name not in _unfinished and any(_is_in(module, Path(other)) for other in others):
            del sys.modules[name]


def _is_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module is the user's and in the folder, or below it."""
    path = getattr(module, "__file__", None)
    return path is not None and folder in Path(path).parents and is_users_file(path)


def _import_source(name: str, location: Path, source: bytes, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(location)
    sys.modules[name] = module  # attrs and typing look up annotations there
    _unfinished.append(name)
    try:
        # An import loader could use stale bytecode for a file that was edited twice within a second.
        exec(compile(source, str(location), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        encoded = isinstance(error, SyntaxError) and re.search("unicode error|null bytes", str(error))
        raise InvalidArgument(
            f"the plug-in {path} cannot be imported ({describe_error(error)})",
            remedy="Save it in UTF-8, or declare its encoding in its first line."
            if encoded
            else f"Fix it; `python {path}` shows where it fails.",
        ) from error
    finally:
        _unfinished.remove(name)
    return module


class NotTrusted(InvalidArgument):
    """A file that a ledger names was about to be run or parsed, and the user has not agreed."""


@attrs.define(eq=False)
class UsedFiles:
    """The files of one command: those that its options name, and the modules that its plug-ins import.

    trusted: whether code may run, and other files be read than those of the digests `agreed`.
    """

    trusted: bool = True
    allow_changes: bool = False
    agreed: Collection[str] = ()
    digests: dict[Path, str] = attrs.field(factory=dict)
    folders: dict[Path, None] = attrs.field(factory=dict)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Note every file that is read for settings or as a plug-in. Raises: NotTrusted before code runs."""
        token = file_guard.set(self._admit)
        try:
            yield
        finally:
            file_guard.reset(token)

    def _admit(self, path: Path, content: bytes, code: bool) -> None:
        digest = hashlib.sha256(content).hexdigest()
        if not self.trusted and (code or digest not in self.agreed):
            raise NotTrusted("a file was not agreed on", value=str(path))
        if code:
            self.folders[path.parent] = None
        self.digests[path] = digest

    def look_up(self, recorded: Mapping[str, str]) -> None:
        """Add files of these names in the plug-ins' folders, unless one is there: they may be imported."""
        for name in recorded.keys() - self.digest_by_name().keys():
            for path in (folder / name for folder in self.folders if ".." not in name.split("/")):
                if path.is_file():
                    self.digests[path] = compute_digest(path)

    def digest_by_name(self) -> dict[str, str]:
        """The digest of every file so far, by its name."""
        for path in self._find_modules():
            self.digests.setdefault(path, compute_digest(path))
        by_name: dict[str, list[str]] = {}
        for path, digest in self.digests.items():
            by_name.setdefault(self.name(path), []).append(digest)
        return {name: "+".join(sorted(found)) for name, found in sorted(by_name.items())}

    def name(self, path: Path) -> str:
        """The path from the plug-in's folder, or OUTSIDE and the last part: the same on other machines."""
        for folder in self.folders:
            if path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        return OUTSIDE + path.name

    def find_changed(self) -> list[str]:
        """The names of the files that changed after they were first read."""
        return sorted({self.name(path) for path, old in self.digests.items() if compute_digest(path) != old})

    def _find_modules(self) -> Iterator[Path]:
        """The user's modules that the plug-ins import, directly or not, as far as they are imported yet."""
        # Not even parsed without trust: that can exhaust the interpreter.
        sources = [*self.digests] if self.trusted else []
        seen: set[str] = set()
        while sources:
            roots = list_imports(sources.pop())
            for name, module in [*sys.modules.items()]:
                file = str(getattr(module, "__file__", None))
                is_new = name.partition(".")[0] in roots and name not in seen
                if is_new and file.endswith(".py") and is_users_file(file):
                    seen.add(name)
                    sources.append(Path(file).resolve())
                    yield sources[-1]


def compute_digest(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; "gone" if it cannot be read."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return "gone"

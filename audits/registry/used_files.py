"""The user's files and the packages from which the players of a run come, and the files that they read.

A plan names its players. What they compute may also depend on a module that a plug-in imports, or on a file
that it opens. The digests of all of these tell whether two parts of a run were played by the same players.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import numpy as np

from arena.capabilities import UsesPackages
from arena.errors import InvalidArgument, is_users_file
from arena.randomness import STREAMS
from arena.settings import file_guard

OUTSIDE = ".../"  # begins the name of a file that is in no plug-in's folder
GONE, SEVERAL = "gone", "several versions"  # in place of a digest
_NO_FILES = ("/proc/", "/dev/", "/sys/")
_PLUG_IN = "arena_plugin_"  # begins the names of their modules
# Top-level modules that are compared otherwise, or on which no figure depends.
_NOT_COMPARED = {
    *sys.stdlib_module_names,
    "numpy",
    "attr",
    "attrs",
    "arena",
    "learners",
    "adversaries",
    "audits",
}

# By the folder of a plug-in, the files that code in it has opened to read; and all that it has written.
_opened: dict[str, dict[str, None]] = {}
_written: set[str] = set()


class NotTrusted(InvalidArgument):
    """A file that a ledger names was about to be run or parsed, and the user has not agreed."""


@attrs.define(eq=False)
class UsedFiles:
    """The files of one command: those that its options name, and those that its plug-ins import and open.

    trusted: whether code may run, and other files than those of the digests `agreed` be read.
    allow_changes: whether a run continues with other files than before.
    digests: SHA-256 in hexadecimal, by path, when the file was first read. folders: of the plug-ins.

    Files that a plug-in opens by a library in another language (a database, say), or in a worker only, are
    not noticed.
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

    def add(self, path: Path, *, code: bool) -> None:
        """Add a file before it is read."""
        location = path.resolve()
        if code:
            self.folders[location.parent] = None
        self.digests[location] = compute_digest(location)

    def is_agreed(self, path: Path | None) -> bool:
        """Whether a file that was added has a digest on which was agreed."""
        return path is not None and self.digests[path.resolve()] in self.agreed

    def digest_by_name(self) -> dict[str, str]:
        """The digest of every file so far by its name: its path from the plug-in's folder, or OUTSIDE and the
        last part of its path."""
        for path in self._find_unnamed():
            if path not in self.digests and path.is_file():
                self.digests[path] = compute_digest(path)
        by_name: dict[str, list[str]] = {}
        for path, digest in self.digests.items():
            by_name.setdefault(self.name(path), []).append(digest)
        return {
            name: found[0] if len(found) == 1 else sha256("".join(sorted(found)).encode()).hexdigest()
            for name, found in sorted(by_name.items())
        }

    def look_up(self, recorded: Mapping[str, str]) -> None:
        """Add the files of these names and digests in the plug-ins' folders: they may be opened later."""
        for name, digest in recorded.items():
            if name.startswith(OUTSIDE) or ".." in name.split("/"):
                continue
            paths = [folder / name for folder in self.folders]
            present = {path: compute_digest(path) for path in paths if path.is_file()}
            present = present or dict.fromkeys(paths, GONE)
            # Another plug-in's folder may have a file of that name which nobody opens.
            same = {path: found for path, found in present.items() if found == digest}
            for path, found in (same or present).items():
                self.digests.setdefault(path, found)

    def find_changed(self) -> list[str]:
        """The names of the files that changed after they were first read."""
        return sorted({self.name(path) for path, old in self.digests.items() if compute_digest(path) != old})

    def find_packages(self, *players: object, more: Iterable[str] = ()) -> dict[str, str]:
        """The versions of the packages that these players, their settings and the plug-ins come from.

        They are by the name of the distribution. more: top-level modules of further packages.
        """
        roots = {root for player in players for root in _list_roots(player)} | set(more)
        modules = [sys.modules[root] for root in roots if root in sys.modules]
        sources = {Path(str(getattr(module, "__file__", None))) for module in modules}
        sources = {path for path in sources if is_users_file(str(path))} | {*self.digests}
        roots |= {root for path in sources if path.suffix == ".py" for root in _list_imports(path)}
        roots = {root for root in roots - _NOT_COMPARED if not root.startswith(_PLUG_IN)}
        if not roots:
            return {}
        homes = _find_distributions()
        return {home: metadata.version(home) for root in sorted(roots) for home in homes.get(root, ())}

    def _admit(self, path: Path, content: bytes, code: bool) -> None:
        digest = sha256(content).hexdigest()
        if not self.trusted and (code or digest not in self.agreed):
            raise NotTrusted("a file was not agreed on", value=str(path))
        if code:
            self.folders[path.parent] = None
            _notice_opening(path.parent)
        self.digests[path] = digest

    def _find_unnamed(self) -> Iterator[Path]:
        """The files that the plug-ins opened, and the user's modules that they import, directly or not."""
        folders = tuple(str(folder) + os.sep for folder in self.folders)
        for folder in folders:
            yield from (Path(path) for path in _opened.get(folder, ()) if path not in _written)
        # Not even parsed without trust: that can exhaust the interpreter.
        sources = [path for path in self.digests if path.suffix == ".py" and self.trusted]
        seen: set[str] = set()
        while sources:
            roots = _list_imports(sources.pop())
            for name, module in [*sys.modules.items()]:
                file = str(getattr(module, "__file__", None))
                if name in seen or not file.endswith(".py") or not is_users_file(file):
                    continue
                if name.partition(".")[0] in roots or os.path.realpath(file).startswith(folders):
                    seen.add(name)
                    sources.append(Path(file).resolve())
                    yield sources[-1]

    def name(self, path: Path) -> str:
        """The name of a file that is the same on other machines."""
        for folder in self.folders:
            if path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        return OUTSIDE + path.name


def find_other_versions(packages: Mapping[str, str]) -> str:
    """Which of these packages have another version here, in words."""
    present = {}
    for name in packages:
        try:
            present[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            present[name] = "not installed"
    return ", ".join(
        f"{name} {packages[name]} ({found})" for name, found in present.items() if found != packages[name]
    )


def versions() -> dict[str, str]:
    """The software that figures depend on besides a plan: random streams may change between versions."""
    try:
        own = metadata.version("dp-arena")
    except metadata.PackageNotFoundError:
        own = "not installed"
    return {"dp-arena": own, "numpy": np.__version__, "streams": str(STREAMS)}


@cache
def _find_distributions() -> Mapping[str, list[str]]:
    """The distributions of every top-level module. It takes a tenth of a second."""
    return metadata.packages_distributions()


def compute_digest(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; GONE if it cannot be read."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return GONE


def _notice_opening(folder: Path) -> None:
    """From now on, note which files code in this folder opens. An audit hook of Python cannot be removed."""
    if not _opened:
        sys.addaudithook(_note_opened)
    _opened.setdefault(str(folder) + os.sep, {})


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not isinstance(arguments[0], str | bytes):
        return
    with suppress(Exception):  # an error here would become that of the plug-in
        folder = _find_opener()
        path = os.path.realpath(os.fsdecode(arguments[0])) if folder else ""
        if path and is_users_file(path) and not path.startswith(_NO_FILES) and not path.endswith(".pyc"):
            if arguments[2] & (os.O_WRONLY | os.O_RDWR):
                _written.add(path)
            else:
                _opened[folder][path] = None


def _find_opener() -> str:
    """The plug-in's folder from which the present call comes, unless it imports a module; empty for none."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib"):
            return ""
        folder = next((folder for folder in _opened if file.startswith(folder)), "")
        if folder and is_users_file(file):
            return folder
        frame = frame.f_back
    return ""


def _list_imports(path: Path) -> set[str]:
    """The top-level modules that a source file imports, anywhere in it."""
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes()))]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def _list_roots(value: object) -> set[str]:
    """The top-level modules from which a player or a setting comes, and those that it says it uses."""
    if isinstance(value, partial):
        return set().union(*map(_list_roots, (value.func, *value.args, *value.keywords.values())))
    kinds = (value,) if isinstance(value, type) or hasattr(value, "__qualname__") else type(value).__mro__
    roots = {str(getattr(kind, "__module__", "")).partition(".")[0] for kind in kinds}
    if isinstance(value, UsesPackages):
        roots |= set(value.packages)
    kind: Any = type(value)
    if attrs.has(kind):
        roots |= set().union(*(_list_roots(getattr(value, field.name)) for field in attrs.fields(kind)))
    return roots - {""}

"""The files of the user's that are read or loaded while a claim is played, as Python itself reports them.

Python raises an event when a file is opened, a shared library loaded, or a program started
(`sys.addaudithook`). What was read before, or by code that Python does not see, is not known:
docs/guides/monitor_in_ci.md.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

import attrs

from arena.errors import is_users_file
from audits.registry.user_files import compute_digest

DIGITS = 16  # of digests, hexadecimal
_PREFIXES = {"/", "/usr", "/usr/local", sys.prefix, sys.base_prefix}
_FOLDERS = ("bin", "etc", "lib", "lib64", "share")  # of a prefix, in which no user has files
_SYSTEM = (
    *("/proc/", "/sys/", "/dev/", "/run/"),
    *(os.path.join(prefix, folder, "") for prefix in sorted(_PREFIXES) for folder in _FOLDERS),
)
_IGNORED = (".hypothesis", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".egg-info", ".dist-info")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@attrs.define(eq=False)
class FileRecorder:
    """The paths of files that were read, and of those that were written, which are no part of a version."""

    read: dict[str, None] = attrs.field(factory=dict)
    written: set[str] = attrs.field(factory=set)
    modules: frozenset[str] = attrs.field(factory=lambda: frozenset(sys.modules))  # that were there before

    def digest(self, base: str, ignored: str, *, modules: bool = True) -> dict[str, str]:
        """The digests of the files that were read, by their paths from the folder `base`.

        Files in the folder `ignored` are left out, and those of modules that were imported before.
        modules: whether modules that were imported, and other files of Python, count.
        """
        known = {os.path.realpath(_find_file(name)) for name in self.modules}
        imported = [_find_file(name) for name in [*sys.modules] if name not in self.modules]
        paths = {os.path.realpath(path) for path in (*self.read, *imported) if path}
        paths -= {*known, *map(os.path.realpath, self.written)}
        kept = [
            path
            for path in sorted(paths)
            if _is_users(path)
            and not (ignored and Path(path).is_relative_to(os.path.realpath(ignored)))
            and (modules or not path.endswith(".py"))
        ]
        return {name_file(path, base): compute_digest(Path(path))[:DIGITS] for path in kept}


_recorders: list[FileRecorder] = []
_is_hooked: list[bool] = []


@contextmanager
def record_files() -> Iterator[FileRecorder]:
    """Note the files that this process reads, until the end."""
    if not _is_hooked:
        _is_hooked.append(True)
        sys.addaudithook(_note)  # for good: no hook can be removed
    recorder = FileRecorder()
    _recorders.append(recorder)
    try:
        yield recorder
    finally:
        _recorders.remove(recorder)


def name_file(path: str | os.PathLike[str], base: str) -> str:
    """The path of a file from a folder, which is the same on machines where both are checked out together."""
    return Path(os.path.relpath(path, base or os.curdir)).as_posix()


def digest_again(files: Mapping[str, str], base: str) -> dict[str, str]:
    """The present digests of files that `FileRecorder.digest` named."""
    return {name: compute_digest(Path(base or os.curdir, name))[:DIGITS] for name in files}


def find_libraries(values: Mapping[str, Any]) -> list[str]:
    """The files of the shared libraries among these values."""
    names = [str(value._name) for value in values.values() if isinstance(value, ctypes.CDLL)]
    return [name for name in names if os.path.isfile(name) and _is_users(os.path.realpath(name))]


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    """What Python calls at each event: it must be quick, and must not raise."""
    if not _recorders or event not in ("open", "ctypes.dlopen", "subprocess.Popen"):
        return
    with suppress(Exception):
        if event == "open":
            path, mode, flags = arguments
            writes = flags & _WRITING if mode is None else set(str(mode)) & set("wax+")
            _add(path, written=bool(writes))
        elif event == "ctypes.dlopen":
            _add(arguments[0])
        else:
            program, words = arguments[:2]
            for word in (program, *([words] if isinstance(words, str | bytes) else words)):
                if os.path.isfile(word):
                    _add(word)


def _add(path: Any, *, written: bool = False) -> None:
    if isinstance(path, int) or path is None:  # a descriptor, of a file that was opened before
        return
    text = os.path.abspath(os.fsdecode(path))
    if text.endswith(".pyc"):
        if written:
            return
        text = source_from_cache(text)
    for recorder in _recorders:
        if written:
            recorder.written.add(text)
        else:
            recorder.read[text] = None


def _is_users(path: str) -> bool:
    """Whether a file is the user's own: not one of a library or a tool, nor what an installation wrote."""
    is_there = os.path.isfile(path) and is_users_file(path)
    ignored = path.startswith(_SYSTEM) or any(part.endswith(_IGNORED) for part in Path(path).parts)
    return is_there and not ignored


def _find_file(module: str) -> str:
    return str(getattr(sys.modules.get(module), "__file__", None) or "")

"""Who can play: shipped players, players of installed packages, and players in a file of yours.

Nobody keeps a list. A shipped player is a concrete attrs subclass of `Learner` or `Adversary` with a `name`,
in any module of `learners` or `adversaries`. A package announces its players as entry points in the groups
`arena.learners` and `arena.adversaries`, each under the player's name. One in a file is named as
`path/to/file.py:ClassName`.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from arena.errors import InvalidArgument
from arena.players import Adversary, Learner
from audits.settings import build, nearest

Kind = type[Learner] | type[Adversary]


@attrs.frozen
class Registry:
    """The players of one kind.

    kind: "learner" or "adversary". base: what they subclass. package: where the shipped ones are.
    group: of the entry points.
    """

    kind: str
    base: Kind
    package: str
    group: str

    def find(self, text: str) -> Any:
        """The class of the player called `text`, or at `path/to/file.py:ClassName`.

        Raises: InvalidArgument if there is none, or two, or it cannot be loaded or is no such player.
        """
        if _names_file(text):
            player = _class_in(text, self)
            self._check(player, text)
            return player
        shipped, points = self._shipped(), self._points(text)
        if text not in shipped and not points:
            names = self.names()
            raise InvalidArgument(
                f"there is no {self.kind} of that name",
                value=text,
                remedy=f"{nearest(text, names)}There are: {', '.join(names)}; or path/to/file.py:ClassName.",
            )
        if len(points) + (text in shipped) > 1:
            homes = [_home(shipped[text])] if text in shipped else []
            raise _two(self.kind, text, [*homes, *(point.value for point in points)])
        return shipped[text] if text in shipped else self._load(points[0])

    def names(self) -> list[str]:
        """The names of all players, those of packages unloaded."""
        return sorted({*self._shipped(), *(point.name for point in self._points())})

    def every(self) -> dict[str, Kind | InvalidArgument]:
        """Every player by name; where one cannot be loaded, the refusal that says why."""
        found: dict[str, Kind | InvalidArgument] = {}
        for name in self.names():
            try:
                found[name] = self.find(name)
            except InvalidArgument as refusal:
                found[name] = refusal
        return found

    def defined_in(self, module: ModuleType) -> Iterator[Kind]:
        """The players that a module defines."""
        for item in vars(module).values():
            mine = inspect.isclass(item) and item.__module__ == module.__name__
            if mine and issubclass(item, self.base) and item.name and self._fault(item) is None:
                yield item

    def _shipped(self) -> dict[str, Kind]:
        found: dict[str, Kind] = {}
        for module in _modules(self.package):
            for player in self.defined_in(module):
                if found.get(player.name, player) is not player:
                    raise _two(self.kind, player.name, [_home(found[player.name]), _home(player)])
                found[player.name] = player
        return found

    def _points(self, name: str | None = None) -> list[metadata.EntryPoint]:
        if name is None:
            return list(metadata.entry_points(group=self.group))
        return list(metadata.entry_points(group=self.group, name=name))

    def _load(self, point: metadata.EntryPoint) -> Kind:
        source = f"the entry point {point.name} = {point.value} of {_distribution(point)}"
        try:
            player = point.load()
        except Exception as error:  # somebody else's code may raise anything
            raise InvalidArgument(
                f"{source} cannot be loaded ({_told(error)})", remedy="Mend or uninstall that package."
            ) from error
        self._check(player, source)
        if player.name != point.name:
            raise InvalidArgument(
                f"{source} must have the name of its player", value=player.name, remedy="Rename one of them."
            )
        return player

    def _check(self, player: Any, source: str) -> None:
        fault = self._fault(player)
        if fault is not None:
            raise InvalidArgument(f"{source} {fault[0]}", remedy=fault[1])

    def _fault(self, player: Any) -> tuple[str, str] | None:
        """Why this is no player of the kind, and the remedy."""
        kind = self.base.__name__
        if not inspect.isclass(player) or not issubclass(player, self.base):
            return (
                f"is no {self.kind}: it is not a subclass of arena.{kind}",
                f"Name a subclass of arena.{kind}.",
            )
        if inspect.isabstract(player):
            lacking = ", ".join(sorted(player.__abstractmethods__))
            return f"is abstract: it does not define {lacking}", "Define what is missing, or name a subclass."
        if "__attrs_attrs__" not in vars(player):
            return "is not a spec: it is not made by attrs", "Decorate it with @attrs.frozen."
        if not isinstance(player.name, str) or not player.name:
            return "has no name", f'Give it one: name = "my-{self.kind}".'
        return None


LEARNERS = Registry("learner", Learner, "learners", "arena.learners")
ADVERSARIES = Registry("adversary", Adversary, "adversaries", "arena.adversaries")


def find_any(text: str) -> Any:
    """The class of the learner or adversary called `text`; raises InvalidArgument as `Registry.find` does."""
    if _names_file(text):
        player = _class_in(text, LEARNERS, ADVERSARIES)
        learns = inspect.isclass(player) and issubclass(player, Learner)
        return (LEARNERS if learns else ADVERSARIES).find(text)
    kinds = [registry for registry in (LEARNERS, ADVERSARIES) if text in registry.names()]
    if len(kinds) == 1:
        return kinds[0].find(text)
    if kinds:
        raise _two("player", text, [_home(registry.find(text)) for registry in kinds])
    names = [*LEARNERS.names(), *ADVERSARIES.names()]
    raise InvalidArgument(
        "there is no player of that name",
        value=text,
        remedy=f"{nearest(text, names)}There are: {', '.join(names)}; or path/to/file.py:ClassName.",
    )


def _names_file(text: str) -> bool:
    return ".py:" in text or text.endswith(".py")


def _class_in(text: str, *kinds: Registry) -> Any:
    """What `path/to/file.py:ClassName` names, whatever it is; the kinds are for the remedy."""
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    module = _module_of(path)
    if name in vars(module):
        return vars(module)[name]
    there = [item.__name__ for kind in kinds for item in kind.defined_in(module)]
    remedy = f"{nearest(name, there)}Name one of: {', '.join(f'{path}:{item}' for item in there)}."
    raise InvalidArgument(
        f"{path} has no class {name!r}" if name else f"{path} needs the name of a class in it",
        remedy=remedy if there else f"It holds no {' or '.join(kind.kind for kind in kinds)}.",
    )


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        try:
            yield importlib.import_module(found.name)
        except Exception as error:  # a file dropped into the package may hold anything
            raise InvalidArgument(
                f"the module {found.name} cannot be imported ({_told(error)})", remedy="Mend or remove it."
            ) from error


def _module_of(path: str) -> ModuleType:
    """The module in a file, once for all players in it; worker processes are sent it by value."""
    try:
        where = Path(path).resolve()
        source = where.read_bytes()
    except OSError as error:
        raise InvalidArgument(
            f"the plug-in {path} cannot be read ({error.strerror})", remedy="Check the path."
        ) from error
    # The name tells versions of a file apart, and is the same wherever the file is.
    name = f"arena_plugin_{where.stem}_{hashlib.sha256(source).hexdigest()[:12]}"
    if name not in sys.modules:
        from cloudpickle import register_pickle_by_value  # slow to import, and rarely needed

        # Worker processes do not know the module by its name, so its classes must travel whole.
        register_pickle_by_value(_imported(name, where, source, path))
    return sys.modules[name]


def _imported(name: str, where: Path, source: bytes, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(where)
    sys.modules[name] = module  # annotations are looked up there
    try:
        # Not by a loader, which may take yesterday's bytecode for a file edited twice in a second.
        exec(compile(source, str(where), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InvalidArgument(
            f"the plug-in {path} cannot be imported ({_told(error)})",
            remedy=f"Mend it; `python {path}` shows where it fails.",
        ) from error
    return module


def _two(kind: str, name: str, homes: list[str]) -> InvalidArgument:
    return InvalidArgument(
        f"two players are called {name!r}: {' and '.join(homes)}",
        remedy=f"Rename one {kind}, or uninstall its package.",
    )


def _home(player: Kind) -> str:
    return f"{player.__module__}:{player.__qualname__}"


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"


def _told(error: BaseException) -> str:
    where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    return f"{type(error).__name__}: {error}" + ("" if "line" in str(error) else where)


__all__ = ["ADVERSARIES", "LEARNERS", "Registry", "build", "find_any"]

"""Who can play: shipped players, players of installed packages, and players in a file of yours.

Nobody keeps a list. A shipped player is a concrete attrs subclass of `Learner` or `Adversary` with a `name`,
in any module of `learners` or `adversaries`. A package announces its players as entry points in the groups
`arena.learners` and `arena.adversaries`, each under the player's name. One in a file is named as
`path/to/file.py:ClassName`; a function in a file, `path/to/file.py:function`, or what can be called as one,
is a learner before Release.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import metadata
from types import ModuleType
from typing import Any

import attrs

from arena.errors import RAISED, InvalidArgument
from arena.players import Adversary, Learner
from audits.registry.settings_text import build, nearest
from audits.registry.user_files import fault_of, module_of

Kind = type[Learner] | type[Adversary]
FUNCTION = "function"  # the learner that plays a function, and its setting that is the function


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
        except RAISED as error:  # somebody else's code may raise anything
            raise InvalidArgument(
                f"{source} cannot be loaded ({fault_of(error)})", remedy="Mend or uninstall that package."
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
        if not inspect.isclass(player) or not issubclass(player, Learner | Adversary):
            raise InvalidArgument(
                f"{text} is no player: it is a subclass neither of arena.Learner nor of arena.Adversary",
                remedy="Name one that is.",
            )
        learns = issubclass(player, Learner)
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


def as_learner(text: str) -> tuple[str, dict[str, str]]:
    """The learner that `text` names, and settings that go with it: a function in a file of yours is the
    learner `function`."""
    path, _, name = text.rpartition(":")
    found = vars(module_of(path)).get(name) if path.endswith(".py") else None
    if not callable(found) or inspect.isclass(found):
        return text, {}
    return FUNCTION, {FUNCTION: text}


def _names_file(text: str) -> bool:
    return ".py:" in text or text.endswith(".py")


def _class_in(text: str, *kinds: Registry) -> Any:
    """What `path/to/file.py:ClassName` names, whatever it is; the kinds are for the remedy."""
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    module = module_of(path)
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
        except RAISED as error:  # a file dropped into the package may hold anything
            raise InvalidArgument(
                f"the module {found.name} cannot be imported ({fault_of(error)})", remedy="Mend or remove it."
            ) from error


def _two(kind: str, name: str, homes: list[str]) -> InvalidArgument:
    return InvalidArgument(
        f"two players are called {name!r}: {' and '.join(homes)}",
        remedy=f"Rename one {kind}, or uninstall its package.",
    )


def _home(player: Kind) -> str:
    return f"{player.__module__}:{player.__qualname__}"


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"


__all__ = ["ADVERSARIES", "LEARNERS", "Registry", "as_learner", "build", "find_any"]

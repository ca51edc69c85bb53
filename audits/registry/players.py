"""Finding players: shipped ones, those of installed packages, and those in a user's file.

A shipped player is a concrete attrs subclass of `Learner` or `Adversary` with a `name`, in any module of
`learners` or `adversaries`. A package announces players as entry points in the groups `arena.learners` and
`arena.adversaries`, under their names. A player in a file is `path/to/file.py:name`: a class or an instance,
or, for a learner under Release, a function, another callable or a model.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import attrs

from arena.capabilities import read_schema
from arena.dataset import Dataset
from arena.errors import RAISED, InvalidArgument, describe_error
from arena.parcels import callable_name, is_mechanism
from arena.players import Adversary, Learner
from arena.sample import Sample
from audits.registry import import_own_package
from audits.registry.received import describe_received
from audits.registry.settings_text import build_player
from audits.registry.suggestions import correct, suggest, unknown_name
from audits.registry.user_files import load_module

PlayerClass = type[Learner] | type[Adversary]
FUNCTION_LEARNER = "function"  # name of the learner that plays a mechanism, and of its setting for it
MAKE = "make"  # the setting of learners for a function that makes their mechanism
_FILE_FORM = "; or path/to/file.py:ClassName"


@attrs.frozen
class Registry:
    """The players of one kind. package: of the shipped ones. group: of entry points of installed packages."""

    kind: str
    base: PlayerClass
    package: str
    group: str

    def find(self, text: str) -> Any:
        """The class of the player named `text`, or at path/to/file.py:ClassName. Raises: InvalidArgument."""
        if _is_file(text):
            player = _load_from_file(text, self)
            self._check(player, text)
            return player
        # Unless a file has the name in its text, all modules are imported.
        shipped = self.load_by_text(text).get(text) or self._load_shipped().get(text)
        entry_points = self._list_entry_points(text)
        if shipped is None and not entry_points:
            for other in (LEARNERS, ADVERSARIES):
                if other is not self and text in other.list_names():
                    raise InvalidArgument(
                        f"{text} is {_add_article(other.kind)}, not {_add_article(self.kind)}",
                        remedy="The learner is the argument, the adversary follows --against.",
                    )
            raise unknown_name(self.kind, text, self.list_names(), _FILE_FORM)
        return self._choose(text, shipped, entry_points)

    def find_instance(self, text: str) -> Any | None:
        """The player at `path/to/file.py:name`, an instance; None if `text` denotes something else."""
        item = _load_from_file(text, self) if _is_file(text) else None
        return item if isinstance(item, self.base) else None

    def list_names(self) -> list[str]:
        """The names of all players. Players of installed packages are not loaded for it."""
        return sorted({*self._load_shipped(), *(point.name for point in self._list_entry_points())})

    def load_all(self) -> dict[str, PlayerClass | InvalidArgument]:
        """Every player by name; for one that cannot be loaded, the error that says why."""
        shipped, entry_points = self._load_shipped(), self._list_entry_points()
        players: dict[str, PlayerClass | InvalidArgument] = {}
        for name in sorted({*shipped, *(point.name for point in entry_points)}):
            own_points = [point for point in entry_points if point.name == name]
            try:
                players[name] = self._choose(name, shipped.get(name), own_points)
            except InvalidArgument as error:
                players[name] = error
        return players

    def list_players_in(self, module: ModuleType) -> Iterator[PlayerClass]:
        """The players that a module defines."""
        for item in vars(module).values():
            own = inspect.isclass(item) and item.__module__ == module.__name__
            if own and issubclass(item, self.base) and item.name and self._find_fault(item) is None:
                yield item

    def is_shipped(self, player: PlayerClass) -> bool:
        """Whether the player is one of dp-arena's own, and not of another package or a user's file."""
        return player.__module__.split(".")[0] == self.package

    def is_announced(self, name: str) -> bool:
        """Whether an installed package announces a player of that name."""
        return bool(self._list_entry_points(name))

    def _choose(
        self, name: str, shipped: PlayerClass | None, entry_points: list[metadata.EntryPoint]
    ) -> PlayerClass:
        """The one player of that name. Raises: InvalidArgument if there are several."""
        if len(entry_points) + (shipped is not None) > 1:
            locations = [] if shipped is None else [locate_class(shipped)]
            raise _name_clash(name, [*locations, *(point.value for point in entry_points)])
        return self._load_entry_point(entry_points[0]) if shipped is None else shipped

    def load_by_text(self, name: str) -> dict[str, PlayerClass]:
        """The shipped players in files with the line `name = "laplace-count"`, without importing others."""
        root, line = import_own_package(self.package), f'name = "{name}"'.encode()
        paths = (
            path.relative_to(folder)
            for folder in map(Path, root.__path__)
            for path in sorted(folder.rglob("*.py"))
            if os.access(path, os.R_OK) and path.is_file() and line in path.read_bytes()
        )
        return self._load_modules(".".join([self.package, *path.with_suffix("").parts]) for path in paths)

    def _load_shipped(self) -> dict[str, PlayerClass]:
        root = import_own_package(self.package)
        return self._load_modules(
            module.name for module in pkgutil.walk_packages(root.__path__, f"{self.package}.")
        )

    def _load_modules(self, modules: Iterable[str]) -> dict[str, PlayerClass]:
        """The players that these modules define, by name."""
        players: dict[str, PlayerClass] = {}
        for name in modules:
            try:
                module = importlib.import_module(name)
            except RAISED as error:  # a file dropped into the package may contain anything
                raise InvalidArgument(
                    f"the module {name} cannot be imported ({describe_error(error)})",
                    remedy="Fix or remove it.",
                ) from error
            for player in self.list_players_in(module):
                if players.setdefault(player.name, player) is not player:
                    locations = [locate_class(players[player.name]), locate_class(player)]
                    raise _name_clash(player.name, locations)
        return players

    def _list_entry_points(self, name: str | None = None) -> list[metadata.EntryPoint]:
        points = metadata.entry_points(group=self.group)
        return [point for point in points if name in (None, point.name)]

    def _load_entry_point(self, point: metadata.EntryPoint) -> PlayerClass:
        package = "an unknown package" if point.dist is None else point.dist.name
        source = f"the entry point {point.name} = {point.value} of {package}"
        try:
            player = point.load()
        except RAISED as error:  # the code of another package may raise anything
            raise InvalidArgument(
                f"{source} cannot be loaded ({describe_error(error)})", remedy="Fix or remove that package."
            ) from error
        self._check(player, source)
        if player.name != point.name:
            raise InvalidArgument(
                f"{source} must have the name of its player", value=player.name, remedy="Rename one of them."
            )
        return player

    def _check(self, player: Any, source: str) -> None:
        fault = self._find_fault(player)
        if fault is not None:
            raise InvalidArgument(f"{source} {fault[0]}", remedy=fault[1])

    def _find_fault(self, player: Any) -> tuple[str, str] | None:
        """Why this is no player of the kind, and the remedy; None if it is one."""
        base = f"arena.{self.base.__name__}"
        if not inspect.isclass(player) or not issubclass(player, self.base):
            return f"is no {self.kind}: it is not a subclass of {base}", f"Name a subclass of {base}."
        if inspect.isabstract(player):
            missing = ", ".join(sorted(player.__abstractmethods__))
            return f"is abstract: it does not define {missing}", "Define what is missing, or name a subclass."
        if "__attrs_attrs__" not in vars(player):  # attrs may have made a class that it inherits from
            return "is not an attrs class", "Decorate it with @attrs.frozen."
        if not isinstance(player.name, str) or not player.name:
            return "has no name", f'Give it one: name = "my-{self.kind}".'
        return None


LEARNERS = Registry("learner", Learner, "learners", "arena.learners")
ADVERSARIES = Registry("adversary", Adversary, "adversaries", "arena.adversaries")


def find_player(text: str) -> Any:
    """The class of the learner or adversary named `text`; raises InvalidArgument as `Registry.find` does."""
    if _is_file(text):
        player = _load_from_file(text, LEARNERS, ADVERSARIES)
        if not inspect.isclass(player) or not issubclass(player, Learner | Adversary):
            raise InvalidArgument(
                f"{text} is no player: it is neither a subclass of arena.Learner nor of arena.Adversary",
                remedy="Name a subclass of one of them.",
            )
        return (LEARNERS if issubclass(player, Learner) else ADVERSARIES).find(text)
    registries = (LEARNERS, ADVERSARIES)
    holders = [own for own in registries if text in own.load_by_text(text) or own.is_announced(text)]
    if not holders:
        holders = [registry for registry in registries if text in registry.list_names()]
    if not holders:
        names = [*LEARNERS.list_names(), *ADVERSARIES.list_names()]
        raise unknown_name("player", text, names, _FILE_FORM)
    if len(holders) > 1:
        raise _name_clash(text, [locate_class(registry.find(text)) for registry in holders])
    return holders[0].find(text)


def resolve_learner(text: str) -> tuple[str, dict[str, str]]:
    """The name of the learner that `text` denotes, and the setting that comes with it for a mechanism."""
    path, _, name = text.rpartition(":")
    item = vars(load_module(path)).get(name) if path.endswith(".py") else None
    return (FUNCTION_LEARNER, {FUNCTION_LEARNER: text}) if _is_users_mechanism(item) else (text, {})


def _is_file(text: str) -> bool:
    return ".py:" in text or text.endswith(".py")


def _load_from_file(text: str, *registries: Registry) -> Any:
    """The object at `path/to/file.py:ClassName`, whatever it is; the registries are for the error message."""
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    module = load_module(path)
    if name in vars(module):
        return vars(module)[name]
    names = [item.__name__ for registry in registries for item in registry.list_players_in(module)]
    if ADVERSARIES in registries:
        names += [name for name, item in vars(module).items() if isinstance(item, Adversary)]
    things = "class"
    if LEARNERS in registries and any(_is_own_function(item, module) for item in vars(module).values()):
        things = "class or function"
        names += [f.__name__ for f in vars(module).values() if _is_own_function(f, module)]
    remedy = f"{suggest(name, names)}Name one of: {', '.join(f'{path}:{item}' for item in names)}."
    kinds = " or ".join(registry.kind for registry in registries)
    raise InvalidArgument(
        f"{path} has no {things} {name!r}" if name else f"{path} needs the name of a {things} in it",
        remedy=remedy if names else f"It contains no {kinds}; `arena new` writes a file that does.",
        corrected={f"{path}:{name}": f"{path}:{item}" for item in correct(name, names).values()},
    )


def _is_own_function(item: object, module: ModuleType) -> bool:
    return inspect.isfunction(item) and item.__module__ == module.__name__ and item.__name__[0] != "_"


def _name_clash(name: str, locations: list[str]) -> InvalidArgument:
    return InvalidArgument(
        f"two players are called {name!r}: {' and '.join(locations)}", remedy="Rename one of them."
    )


def locate_class(player: type) -> str:
    return f"{player.__module__}:{player.__qualname__}"


def _add_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


class Model(Protocol):
    """A model by scikit-learn's conventions, or its class: a mechanism that is fitted anew in each game."""

    def fit(self, *data: Any, **settings: Any) -> Any:
        """Fit it to points, or to points and labels."""


GivenLearner = Learner | str | Callable[..., Any] | Model
GivenAdversary = Adversary | str
_FORMS = {
    "learner": "Give a learner, the name of one, path/to/file.py:name, a function f(data, rng), or a model.",
    "adversary": "Give an adversary, the name of one, or path/to/file.py:name.",
    "referee": "Give a referee, such as arena.Release().",
}


def check_player(role: str, player: object, base: type) -> None:
    """Raises: InvalidArgument for no instance of the base class of a role, or data that are no `Sample`."""
    rule = f"{_add_article(role)} is given as an instance"
    rule += "" if role == "referee" else " or a name"
    if inspect.isclass(player):
        raise InvalidArgument(
            f"{rule}, got the class {player.__name__}", remedy=f"Write {player.__name__}(...)."
        )
    if not isinstance(player, base):
        raise InvalidArgument(rule, value=player, remedy=_FORMS[role])
    name, sample = getattr(player, "name", role), getattr(player, "sample", None)
    has_data = role == "adversary" and "sample" in attrs.fields_dict(type(player))  # type: ignore[arg-type]
    if has_data and sample is not None and not isinstance(sample, Dataset):
        raise InvalidArgument(
            f"sample of {name} must be an arena.Sample or Records, got a {type(sample).__name__}",
            remedy="Write Sample(points, labels).",
        )


def is_function(learner: object) -> bool:
    """Whether a learner is given as a user's mechanism: the mechanism itself, path/to/file.py:name, or the
    learner that plays it by name; or as a learner of records, such as `audits.stream`, which lacks them."""
    if isinstance(learner, str):
        return resolve_learner(learner)[0] == FUNCTION_LEARNER or lacks_records(learner)
    return _is_users_mechanism(learner) or lacks_records(learner)


def lacks_records(learner: object) -> bool:
    """Whether it is a learner of records, or path/to/file.py:name of one, whose schema, and so its claim, is
    still to be given."""
    if isinstance(learner, str):
        learner = LEARNERS.find_instance(learner)
    return isinstance(learner, Learner) and learner.receives_records and read_schema(learner) is None


def _is_users_mechanism(item: object) -> bool:
    kind = item if inspect.isclass(item) else type(item)
    return is_mechanism(item) and not issubclass(kind, Learner | Adversary)


def choose_learner(
    learner: Any, make: Callable[[], Any] | None, settings: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The learner that is given, by default the one that plays what `make` makes, and its settings.

    make: a function without arguments that makes a mechanism, in each process. Raises: InvalidArgument if
    there is neither, or both.
    """
    if make is None and learner is None and MAKE not in settings:
        raise InvalidArgument(
            "a learner is given, or make=, a function that makes its mechanism",
            remedy=_FORMS["learner"],
        )
    if make is not None and (MAKE in settings or not isinstance(learner, str | None)):
        raise InvalidArgument(
            "a mechanism is given itself, or by make=, a function without arguments that makes it",
            value=f"both {callable_name(learner)} and make",
            remedy="Give one of them.",
        )
    own = dict(settings) if make is None else {**settings, MAKE: make}
    return FUNCTION_LEARNER if learner is None else learner, own


def configure_learner(learner: object, settings: Mapping[str, Any], sample: Sample | None = None) -> Learner:
    """The learner that is given. settings: by name, as text or as values; for an instance there are none."""
    if isinstance(learner, str):
        learner = LEARNERS.find_instance(learner) or learner
    if isinstance(learner, str):
        name, own_settings = resolve_learner(learner)
        named: Learner = build_player(LEARNERS.find(name), own_settings | dict(settings), sample=sample)
        _check_receives(named, sample)
        return named
    if isinstance(learner, Learner) and lacks_records(learner):
        own = {field.name: getattr(learner, field.name) for field in attrs.fields(type(learner))}
        completed: Learner = build_player(type(learner), {**own, **settings})
        return completed
    if is_function(learner):  # the mechanism itself, as it is no text
        function: Learner = build_player(
            LEARNERS.find(FUNCTION_LEARNER), {FUNCTION_LEARNER: learner, **settings}
        )
        _check_receives(function, sample)
        return function
    check_player("learner", learner, Learner)
    assert isinstance(learner, Learner)
    _refuse_settings(learner, settings)
    return learner


def _check_receives(learner: Learner, sample: object) -> None:
    """Refuse points and labels for a function that receives records."""
    if isinstance(sample, Sample) and learner.receives_records:
        received = describe_received(learner) or "records"
        raise InvalidArgument(
            f"the data are points and labels, but {learner.own_name} receives {received}",
            remedy="Set receives to points, labels or both; or give it data of this kind.",
        )


def copy_learner(learner: Learner) -> Learner:
    """A copy of which no adversary has a hold; the same learner if it cannot be copied."""
    try:
        return deepcopy(learner)
    except Exception:  # settings that are objects of other libraries may raise anything
        return learner


def configure_adversary(
    adversary: object, settings: Mapping[str, Any], *, learner: Learner, sample: Sample | None = None
) -> Adversary:
    """The adversary that is given, with the user's data if there are any. As `configure_learner`."""
    if isinstance(adversary, str):
        adversary = ADVERSARIES.find_instance(adversary) or adversary
    if isinstance(adversary, str):
        named: Adversary = build_player(ADVERSARIES.find(adversary), settings, sample=sample, learner=learner)
        return named
    check_player("adversary", adversary, Adversary)
    assert isinstance(adversary, Adversary)
    _refuse_settings(adversary, settings)
    if sample is None:
        return adversary
    if getattr(adversary, "sample", None) is not None:
        raise InvalidArgument(f"{adversary.name} has data of its own", remedy="Leave out data=.")
    return attrs.evolve(adversary, sample=sample)  # type: ignore[call-arg]


def _refuse_settings(player: Learner | Adversary, settings: Mapping[str, Any]) -> None:
    if settings:
        raise InvalidArgument(
            f"{player.name} is given as an instance, which has its settings already",
            value=", ".join(settings),
            remedy="Set them where it is made, or give its name instead of the instance.",
        )

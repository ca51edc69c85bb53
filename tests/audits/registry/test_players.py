"""Finding players and building them from text."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from arena import Adversary, InvalidArgument
from audits.registry.players import ADVERSARIES, LEARNERS, Registry, find_player
from audits.registry.settings_text import build_player, get_required_fields, summarize_player
from audits.registry.suggestions import unknown_name

PLAYERS = '''
from __future__ import annotations
import attrs
import numpy as np
from arena import Adversary, Claim, Learner, Moves, PrivacyUnit, Query, Train, setting

@attrs.frozen
class Quiet(Adversary):
    """Makes no move. None at all."""
    name = "quiet"
    protocols = ("Figure1",)
    patience: int = setting(3, help="nothing")
    def play(self, games: int, rng: np.random.Generator) -> Moves:
        return np.zeros(games)
        yield

@attrs.frozen
class Unfinished(Adversary):
    name = "unfinished"

class Plain(Quiet):
    name = "plain"

@attrs.frozen
class Nameless(Quiet):
    name = ""

@attrs.frozen
class Dull(Learner):
    name = "dull"
    protocols = ("Figure1",)
    @property
    def claim(self):
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.QUERY,))
    def start(self, games, rng):
        raise NotImplementedError

number = 3
'''

NO_ADVERSARY = "it is not a subclass of arena.Adversary. Name a subclass of arena.Adversary."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLAYERS)
    return path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a package of players, and give its registry."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**modules: str) -> Registry:
        name = f"shelf_{tmp_path.name}"
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").touch()
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
        return Registry("adversary", Adversary, name, "arena.nobody")

    yield write
    for name in [name for name in sys.modules if name.startswith("shelf_")]:
        del sys.modules[name]


@pytest.fixture
def install_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a distribution whose entry points of `arena.adversaries` are these lines."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(*points: str, module: str = PLAYERS) -> None:
        (tmp_path / "plugin_of_test.py").write_text(module)
        info = tmp_path / "plugin_of_test-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-test\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(["[arena.adversaries]", *points]))

    yield install
    sys.modules.pop("plugin_of_test", None)


def refusal(call, *arguments, **options) -> str:
    with pytest.raises(InvalidArgument) as caught:
        call(*arguments, **options)
    return str(caught.value)


# --- shipped players ----------------------------------------------------------------------------------


def test_every_file_of_players_is_found_without_a_list() -> None:
    for registry, base in ((LEARNERS, "Learner"), (ADVERSARIES, "Adversary")):
        root = Path(importlib.import_module(registry.package).__file__).parent
        declared = re.findall(
            r'^    name = "(.+)"$', "\n".join(p.read_text() for p in root.rglob("*.py")), re.M
        )
        assert sorted(declared) == registry.list_names(), base


def test_shipped_players_build_from_their_defaults() -> None:
    for registry in (LEARNERS, ADVERSARIES):
        for name, player in registry.load_all().items():
            if get_required_fields(player):  # somebody else's function
                assert player.__module__.startswith("learners.foreign.")
                continue
            spec = build_player(player, {})
            assert spec.name == summarize_player(spec) == name


def test_a_module_dropped_into_the_package_is_found(package) -> None:
    registry = package(one=PLAYERS)
    assert registry.list_names() == ["quiet"]
    assert build_player(registry.find("quiet"), {"patience": "5"}).patience == 5


def test_a_player_in_a_file_of_its_name_is_found_without_importing_other_files(package) -> None:
    registry = package(quiet=PLAYERS, broken="import nothing_of_the_kind")
    assert registry.find("quiet").name == "quiet"
    assert "broken cannot be imported" in refusal(registry.find, "plain")


def test_two_shipped_players_of_one_name_are_refused(package) -> None:
    registry = package(one=PLAYERS, two=PLAYERS)
    assert refusal(registry.find, "quiet") == (
        f"two players are called 'quiet': {registry.package}.one:Quiet and {registry.package}.two:Quiet. "
        "Rename one of them."
    )


def test_a_shipped_module_that_does_not_import_is_named(package) -> None:
    registry = package(broken="import nothing_of_the_kind")
    said = refusal(registry.list_names)
    assert said.startswith(
        f"the module {registry.package}.broken cannot be imported (ModuleNotFoundError: No "
    )


def test_an_unknown_name_is_answered_with_the_three_nearest() -> None:
    said = refusal(LEARNERS.find, "everlasting-v3")
    assert said.startswith(
        "there is no learner of that name, got 'everlasting-v3'. Did you mean everlasting-"
    )
    named = re.findall("[a-z0-9-]+", said.partition("Did you mean")[2])
    assert len({*named} & {*LEARNERS.list_names()}) == 3
    assert "`arena list`" in said
    assert refusal(find_player, "halt-conter").startswith(
        "there is no player of that name, got 'halt-conter'. Did you mean halt-counter or "
    )


# --- players of installed packages --------------------------------------------------------------------


def test_an_entry_point_is_found_under_its_name(install_plugin) -> None:
    install_plugin("quiet = plugin_of_test:Quiet")
    assert "quiet" in ADVERSARIES.list_names()
    assert find_player("quiet").__module__ == "plugin_of_test"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Quiet", "of plugin-of-test must have the name of its player, got 'quiet'. Rename one of them."),
        ("Missing", "of plugin-of-test cannot be loaded (AttributeError: module 'plugin_of_test' has no "),
        ("number", f"of plugin-of-test is no adversary: {NO_ADVERSARY}"),
    ],
)
def test_a_bad_entry_point_is_named_and_leaves_the_others_alone(install_plugin, value, message) -> None:
    install_plugin(f"loud = plugin_of_test:{value}")
    point = f"the entry point loud = plugin_of_test:{value}"
    assert refusal(ADVERSARIES.find, "loud").startswith(f"{point} {message}")
    found = ADVERSARIES.load_all()
    assert isinstance(found["loud"], InvalidArgument)
    assert found["count-swap"] is ADVERSARIES.find("count-swap")


def test_an_entry_point_cannot_take_the_name_of_a_shipped_player(install_plugin) -> None:
    install_plugin("count-swap = plugin_of_test:Quiet")
    said = refusal(ADVERSARIES.find, "count-swap")
    assert said.endswith(
        "adversaries.release.point_swap:CountSwap and plugin_of_test:Quiet. Rename one of them."
    )


# --- players in a file --------------------------------------------------------------------------------


def test_a_class_in_a_file_is_found_and_built(file: Path) -> None:
    assert build_player(ADVERSARIES.find(f"{file}:Quiet"), {"patience": "1e1"}).patience == 10
    assert LEARNERS.find(f"{file}:Dull").name == "dull"
    assert find_player(f"{file}:Dull") is LEARNERS.find(f"{file}:Dull")  # imported once


def test_an_edited_file_is_read_anew(file: Path) -> None:
    before = ADVERSARIES.find(f"{file}:Quiet")
    file.write_text(PLAYERS.replace("setting(3,", "setting(4,"))
    after = ADVERSARIES.find(f"{file}:Quiet")
    assert (build_player(before, {}).patience, build_player(after, {}).patience) == (3, 4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "{file} needs the name of a class in it. Name one of: {file}:Quiet."),
        ("Quite", "{file} has no class 'Quite'. Did you mean Quiet? Name one of: {file}:Quiet."),
        ("Unfinished", "{file}:Unfinished is abstract: it does not define play. Define what is missing, or "),
        ("Plain", "{file}:Plain is not an attrs class. Decorate it with @attrs.frozen."),
        ("Nameless", '{file}:Nameless has no name. Give it one: name = "my-adversary".'),
        ("Dull", "{file}:Dull is no adversary: " + NO_ADVERSARY),
        ("number", "{file}:number is no adversary: " + NO_ADVERSARY),
    ],
)
def test_a_class_that_is_no_player_is_refused(file: Path, name: str, message: str) -> None:
    text = f"{file}:{name}" if name else str(file)
    assert refusal(ADVERSARIES.find, text).startswith(message.format(file=file))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError: No module named 'nothing_of_the_kind'"),
        ("x = (", "SyntaxError: '(' was never closed (bad.py, line 1)"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_a_file_that_does_not_import_is_refused(tmp_path: Path, source: str, told: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(source)
    said = refusal(ADVERSARIES.find, f"{path}:Quiet")
    assert said.startswith(f"the plug-in {path} cannot be imported ({told}). Fix it; `python {path}` shows")


def test_a_file_without_players_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.touch()
    for find, kinds in ((LEARNERS.find, "learner"), (find_player, "learner or adversary")):
        said = refusal(find, f"{empty}:X")
        assert (
            said == f"{empty} has no class 'X'. It contains no {kinds}; `arena new` writes a file that does."
        )


@pytest.mark.parametrize("name", ["nosuch", "zzz", "", "\N{SNOWMAN}"])
def test_only_close_names_are_suggested(name: str) -> None:
    names = [f"player-{number}" for number in range(20)]
    message = str(unknown_name("player", name, names))
    assert "Did you mean" not in message
    assert message.endswith("Give a name from `arena list`.")
    assert "Did you mean player-1" in str(unknown_name("player", "playr-1", names))

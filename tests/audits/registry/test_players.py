"""Finding players and building them from text."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from textwrap import dedent

import attrs
import pytest

from arena import Adversary, InvalidArgument, Learner, Sample, count_setting, setting
from arena.concepts import ConceptClass, Thresholds
from audits.registry.players import ADVERSARIES, LEARNERS, Registry, find_player
from audits.registry.settings_text import build_player, get_required_fields, parse_value, summarize_player
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


@attrs.frozen
class Fussy(Adversary):
    """An adversary with a field of every kind."""

    name = "fussy"
    protocols = ("Figure1",)

    count: int = count_setting(1, help="")
    level: float | None = setting(None, help="")
    exact: bool = setting(False, help="")
    title: str = setting("", help="")
    concepts: ConceptClass = setting(Thresholds(), help="")
    points: tuple[float, ...] = setting((), help="")
    sample: Sample | None = setting(None, help="")
    learner: Learner | None = setting(None, help="")

    def __attrs_post_init__(self) -> None:
        if self.title == "bad":
            raise KeyError("bad")

    def play(self, games, rng):
        yield


@attrs.frozen
class Needy(Fussy):
    name = "needy"
    other: int = setting(help="")


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


def test_another_name_for_a_class_is_not_another_player(package) -> None:
    assert package(one=PLAYERS + "\nSame = Quiet\n").list_names() == ["quiet"]


def test_two_shipped_players_of_one_name_are_refused(package) -> None:
    registry = package(one=PLAYERS, two=PLAYERS)
    assert refusal(registry.find, "quiet") == (
        f"two players are called 'quiet': {registry.package}.one:Quiet and {registry.package}.two:Quiet. "
        "Rename one adversary, or uninstall its package."
    )


def test_a_shipped_module_that_does_not_import_is_named(package) -> None:
    registry = package(broken="import nothing_of_the_kind")
    assert refusal(registry.list_names) == (
        f"the module {registry.package}.broken cannot be imported (ModuleNotFoundError: No module named "
        "'nothing_of_the_kind'). Fix or remove it."
    )


def test_an_unknown_name_is_answered_with_the_three_nearest() -> None:
    said = refusal(LEARNERS.find, "everlasting-v3")
    assert said.startswith(
        "there is no learner of that name, got 'everlasting-v3'. Did you mean everlasting-"
    )
    assert (
        sum(
            name in re.findall("[a-z0-9-]+", said.partition("Did you mean")[2])
            for name in LEARNERS.list_names()
        )
        == 3
    )
    assert "`arena list`" in said
    assert refusal(find_player, "halt-conter").startswith(
        "there is no player of that name, got 'halt-conter'. Did you mean halt-counter or everlasting-"
    )


def test_a_name_of_either_kind_is_found() -> None:
    assert find_player("laplace-count") is LEARNERS.find("laplace-count")
    assert find_player("count-swap") is ADVERSARIES.find("count-swap")


# --- players of installed packages --------------------------------------------------------------------


def test_an_entry_point_is_found_under_its_name(install_plugin) -> None:
    install_plugin("quiet = plugin_of_test:Quiet")
    assert "quiet" in ADVERSARIES.list_names()
    assert find_player("quiet").__module__ == "plugin_of_test"


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            ["loud = plugin_of_test:Quiet"],
            "the entry point loud = plugin_of_test:Quiet of plugin-of-test must have the name of its player, "
            "got 'quiet'. Rename one of them.",
        ),
        (
            ["loud = plugin_of_test:Missing"],
            "the entry point loud = plugin_of_test:Missing of plugin-of-test cannot be loaded "
            "(AttributeError: module 'plugin_of_test' has no attribute 'Missing'). "
            "Fix or uninstall that package.",
        ),
        (
            ["loud = plugin_of_test:number"],
            "the entry point loud = plugin_of_test:number of plugin-of-test is no adversary: " + NO_ADVERSARY,
        ),
    ],
)
def test_a_bad_entry_point_is_named_and_leaves_the_others_alone(install_plugin, points, message) -> None:
    install_plugin(*points)
    assert refusal(ADVERSARIES.find, "loud") == message
    assert ADVERSARIES.find("count-swap").name == "count-swap"
    found = ADVERSARIES.load_all()
    assert isinstance(found["loud"], InvalidArgument)
    assert found["count-swap"] is ADVERSARIES.find("count-swap")


def test_an_entry_point_cannot_take_the_name_of_a_shipped_player(install_plugin) -> None:
    install_plugin("count-swap = plugin_of_test:Quiet")
    assert refusal(ADVERSARIES.find, "count-swap") == (
        "two players are called 'count-swap': adversaries.release.point_swap:CountSwap and "
        "plugin_of_test:Quiet. Rename one adversary, or uninstall its package."
    )


# --- players in a file --------------------------------------------------------------------------------


def test_a_class_in_a_file_is_found_and_built(file: Path) -> None:
    assert build_player(ADVERSARIES.find(f"{file}:Quiet"), {"patience": "1e1"}).patience == 10
    assert LEARNERS.find(f"{file}:Dull").name == "dull"
    assert find_player(f"{file}:Dull") is LEARNERS.find(f"{file}:Dull")


def test_players_of_one_file_share_its_module(file: Path) -> None:
    quiet, dull = ADVERSARIES.find(f"{file}:Quiet"), LEARNERS.find(f"{file}:Dull")
    assert quiet.__module__ == dull.__module__
    assert quiet is ADVERSARIES.find(f"{file}:Quiet")


def test_an_edited_file_is_read_anew(file: Path) -> None:
    before = ADVERSARIES.find(f"{file}:Quiet")
    file.write_text(PLAYERS.replace("setting(3,", "setting(4,"))
    assert (
        build_player(before, {}).patience,
        build_player(ADVERSARIES.find(f"{file}:Quiet"), {}).patience,
    ) == (3, 4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "{file} needs the name of a class in it. Name one of: {file}:Quiet."),
        ("Quite", "{file} has no class 'Quite'. Did you mean Quiet? Name one of: {file}:Quiet."),
        (
            "Unfinished",
            "{file}:Unfinished is abstract: it does not define play. "
            "Define what is missing, or name a subclass.",
        ),
        ("Plain", "{file}:Plain is not an attrs class. Decorate it with @attrs.frozen."),
        ("Nameless", '{file}:Nameless has no name. Give it one: name = "my-adversary".'),
        ("Dull", "{file}:Dull is no adversary: " + NO_ADVERSARY),
        ("number", "{file}:number is no adversary: " + NO_ADVERSARY),
    ],
)
def test_a_class_that_is_no_player_is_refused(file: Path, name: str, message: str) -> None:
    text = f"{file}:{name}" if name else str(file)
    assert refusal(ADVERSARIES.find, text) == message.format(file=file)


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
    assert refusal(ADVERSARIES.find, f"{path}:Quiet") == (
        f"the plug-in {path} cannot be imported ({told}). Fix it; `python {path}` shows where it fails."
    )


WRITES = "`arena new` writes a file that does."


def test_a_file_without_players_or_without_being_there_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.touch()
    assert (
        refusal(LEARNERS.find, f"{empty}:X") == f"{empty} has no class 'X'. It contains no learner; " + WRITES
    )
    assert (
        refusal(find_player, f"{empty}:X")
        == f"{empty} has no class 'X'. It contains no learner or adversary; " + WRITES
    )
    missing = tmp_path / "missing.py"
    assert refusal(LEARNERS.find, f"{missing}:X") == (
        f"the plug-in {missing} cannot be read (No such file or directory). Check the path."
    )


# --- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("20_001", int, 20_001),
        (" 1e5 ", int, 100_000),
        ("-3", int, -3),
        ("1e18", int, 10**18),
        ("0.5", float, 0.5),
        ("1e-5", float, 1e-5),
        ("none", float | None, None),
        ("None", int | None, None),
        ("7", int | None, 7),
        ("none", str, "none"),
        ("yes", bool, True),
        ("FALSE", bool, False),
        ("2", int | float, 2),
        ("2.5", int | float, 2.5),
        ("thresholds:1..4", ConceptClass, Thresholds(range(1, 5))),
    ],
)
def test_text_means(text: str, kind: object, value: object) -> None:
    found = parse_value("x", text, kind)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("1.5", int, "x must be an integer, got '1.5'. Write 20001, 20_001 or 1e5."),
        ("many", int | None, "x must be an integer, got 'many'. Write 20001, 20_001 or 1e5."),
        ("1e999999999", int, "x must be less than 10^19, got '1e999999999'"),
        ("nan", int, "x must be an integer, got 'nan'. Write 20001, 20_001 or 1e5."),
        ("nan", float, "x must be a finite number, got 'nan'"),
        ("inf", float, "x must be a finite number, got 'inf'"),
        ("much", float, "x must be a finite number, got 'much'"),
        ("maybe", bool, "x must be true or false, got 'maybe'"),
        ("1,2", tuple, "x takes a tuple, which cannot be written as text, got '1,2'. Set it from Python."),
    ],
)
def test_text_that_means_nothing_is_refused(text: str, kind: object, message: str) -> None:
    assert refusal(parse_value, "x", text, kind) == message


def test_build_sets_what_it_is_told_and_fills_what_is_given() -> None:
    sample, learner = Sample([0.0], [1]), build_player(LEARNERS.find("laplace-count"), {})
    texts = {"count": "1e2", "level": "0.5", "exact": "on", "title": "a=b", "concepts": "thresholds:1..3"}
    made = build_player(Fussy, texts, sample=sample, learner=learner)
    assert (made.count, made.level, made.exact, made.title) == (100, 0.5, True, "a=b")
    assert made.concepts == Thresholds(range(1, 4))
    assert (made.sample, made.learner) == (sample, learner)
    assert (
        summarize_player(made)
        == "fussy with count=100, level=0.5, exact=true, title=a=b, concepts=Thresholds(3 points from 1 to 3)"
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"levl": "1"},
            "fussy has no setting 'levl'. Did you mean level? Its settings are: count, level, exact, title, "
            "concepts, points.",
        ),
        ({"count": "0"}, "count must be at least 1, got 0"),
        ({"count": "x"}, "count must be an integer, got 'x'. Write 20001, 20_001 or 1e5."),
        ({"sample": "x"}, "sample of fussy cannot be set. It is filled from --data."),
        ({"learner": "x"}, "learner of fussy cannot be set. It is filled with the opponent's configuration."),
        ({"title": "bad"}, "fussy raised KeyError: 'bad' when it was created. Fix the player. See "),
    ],
)
def test_settings_that_are_not_are_refused(texts: dict[str, str], message: str) -> None:
    assert refusal(build_player, Fussy, texts).startswith(message)


def test_a_setting_without_a_default_must_be_given() -> None:
    assert refusal(build_player, Needy, {}) == "needy needs a value for other. Give --set other=VALUE."
    assert build_player(Needy, {"other": "2"}).other == 2


def test_annotations_that_name_nothing_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "typed.py"
    path.write_text(PLAYERS + dedent('''
        @attrs.frozen
        class Typed(Quiet):
            name = "typed"
            odd: Nowhere = setting(1, help="")
    '''))  # fmt: skip
    assert refusal(build_player, ADVERSARIES.find(f"{path}:Typed"), {"odd": "1"}) == (
        "the annotations of typed contain an unknown name (name 'Nowhere' is not defined). "
        "Import it at run time, not only for type checkers."
    )


@pytest.mark.parametrize("name", ["nosuch", "zzz", "", "\N{SNOWMAN}"])
def test_only_close_names_are_suggested(name: str) -> None:
    names = [f"player-{number}" for number in range(20)]
    message = str(unknown_name("player", name, names))
    assert "Did you mean" not in message
    assert message.endswith("Give a name from `arena list`.")
    assert "Did you mean player-1" in str(unknown_name("player", "playr-1", names))

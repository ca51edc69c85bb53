"""Ledgers from strangers: nothing that their command names is run, read or written before the user agreed."""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import pytest
from support.command_line import Command, unify_refused_options
from support.ledgers import forge

arena = Command()
COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1_000")
MARKING = """
from pathlib import Path
(Path(__file__).parent / "mark").write_text("it ran")
import attrs
from arena import Adversary, Learner
def noisy(labels, rng):
    return labels.sum() + rng.laplace()
class Evil:
    fit = predict = noisy
"""


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The ledger of a part of a run."""
    path = tmp_path_factory.mktemp("part") / "run.ledger"
    arena.text(*COUNT, "--ledger", path, "--part", "1/2")
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path, unfinished: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stranger, which is the current one, with a plug-in that leaves a mark if it runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "run.ledger").write_bytes(unfinished)
    for name in ("evil.py", "sp ace.py", "sub/evil.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MARKING)
    (tmp_path / "link.py").symlink_to("evil.py")
    (tmp_path / "points.csv").write_text("0\n1\n")
    (tmp_path / "data.csv").write_text("a,b\n1,0\n2,1\n")
    return tmp_path


def marks(folder: Path) -> list[Path]:
    return [*folder.rglob("mark*")]


# What the command of a ledger says after `arena audit`.
CODE = {
    "a learner": "evil.py:Evil --against count-swap",
    "a function": "evil.py:noisy --against count-swap",
    "an adversary": "laplace-count --against evil.py:Evil",
    "a setting": "function --against count-swap --set function=evil.py:noisy",
    "a mechanism": "diffprivlib --against count-swap --set make=evil.py:noisy",
    "another folder": "sub/../sub/evil.py:noisy --against count-swap",
    "a link": "link.py:noisy --against count-swap",
    "a name with a space": "'sp ace.py:noisy' --against count-swap",
    "the last of two adversaries": "laplace-count --against count-swap --against evil.py:Evil",
}
MODULES = {
    "a classifier": "pate-psq --against count-swap --set teacher=evil.Evil:2",
    "of Python": "pate-psq --against count-swap --set teacher=antigravity.Evil",
}
OPTIONS = [
    "--html=mark.html",
    "--ledger=mark.ledger",
    "--cluster=tcp://127.0.0.1:1",
    "--key=evil.py",
    "--trust",
]
FILES = {
    "data": "static-erm --against reconstruct --data {} --x a --y b",
    "a concept class": "realizable --against shattered-tree --set concepts=matrix:{}",
    "public points": "pate-psq --against count-swap --set public={}",
}


def command(text: str, folder: Path) -> dict[str, str]:
    return {"command": f"arena audit {text.format(folder=folder)}"}


@pytest.mark.thorough
@pytest.mark.parametrize("way", CODE)
def test_no_code_runs_without_trust(folder: Path, way: str) -> None:
    notes = command(CODE[way], folder)
    forge(folder / "run.ledger", notes=notes)
    for verb in ("resume", "verify"):
        said = arena.refusal("runs", verb, "run.ledger")
        assert not marks(folder)
        assert said.startswith("the command in the ledger run.ledger would load ")
        assert notes["command"] in said
        assert "give --trust if that may run" in said


@pytest.mark.parametrize("way", ["a learner", "a setting"])
def test_a_digest_of_the_strangers_is_no_agreement(folder: Path, way: str) -> None:
    digest = sha256((folder / "evil.py").read_bytes()).hexdigest()
    forge(folder / "run.ledger", notes={"files": {"evil.py": digest}, **command(CODE[way], folder)})
    assert "would load" in arena.refusal("runs", "resume", "run.ledger")
    assert not marks(folder)


def test_with_trust_it_runs_after_it_was_shown(folder: Path) -> None:
    text = f"{CODE['a function']} --epsilon 1"
    forge(folder / "run.ledger", notes={"files": {"evil.py": "0" * 64}, **command(text, folder)})
    done = arena("runs", "resume", "run.ledger", "--trust")
    assert (done.exit_code, bool(marks(folder))) == (2, True)
    first, *_, files, error = done.stderr.splitlines()
    assert first == f"arena: note: arena audit {text}"
    assert files == "arena: note: it loads evil.py"
    assert error.startswith(
        "arena: files or packages from which the players come have changed: evil.py (0000"
    )
    assert "holds another plan" in arena.refusal("runs", "resume", "run.ledger", "--trust", "--allow-changes")


def test_players_of_installed_packages_are_code_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("mine", "evil:Evil", "arena.learners")
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: metadata.EntryPoints([point] if group == point.group else [])
    )
    forge(folder / "run.ledger", notes=command("mine --against count-swap", folder))
    assert "would load mine (of an installed package)" in arena.refusal("runs", "resume", "run.ledger")
    assert not marks(folder)


@pytest.mark.parametrize("way", MODULES)
def test_no_module_is_imported_to_refuse_it(folder: Path, way: str) -> None:
    forge(folder / "run.ledger", notes=command(MODULES[way], folder))
    for words in (("runs", "resume", "run.ledger", "--trust"), ("audit", *MODULES[way].split())):
        assert "a text names classifiers of installed packages only" in arena.refusal(*words)
    assert not marks(folder)
    assert not {"evil", "sub", "sub.evil", "antigravity"} & set(sys.modules)


def test_a_command_has_only_options_that_a_plan_depends_on(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    for word in OPTIONS:
        forge(folder / "run.ledger", notes=command(f"laplace-count --against count-swap {word}", folder))
        refusal = unify_refused_options(arena.refusal("runs", "resume", "run.ledger", "--trust"))
        assert f"No such option '{word.partition('=')[0]}'" in refusal
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("way", FILES)
def test_data_are_read_only_if_they_are_known(
    folder: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("it was parsed")

    for place in ("audits.data.csv_files.parse_rows", "learners.pate.rules.parse_rows"):
        monkeypatch.setattr(place, refuse)
    file = "points.csv" if way in ("a concept class", "public points") else "data.csv"
    forge(folder / "run.ledger", notes=command(FILES[way].format(file), folder))
    for verb in ("resume", "verify"):
        assert f"would load {folder / file}" in arena.refusal("runs", verb, "run.ledger")


@pytest.mark.parametrize("way", FILES)
def test_no_device_is_read(folder: Path, way: str) -> None:
    os.mkfifo("pipe.csv")
    for device in ("/dev/zero", "pipe.csv"):
        forge(folder / "run.ledger", notes=command(FILES[way].format(device), folder))
        assert device in arena.refusal("runs", "resume", "run.ledger", "--trust")


@pytest.mark.parametrize(
    "text",
    [
        "\ud800.py:f --against count-swap",
        "realizable --against shattered-tree --set concepts=matrix:\0",
        ".py:f --against count-swap",
        "laplace-count --against count-swap --protocol evil.py:noisy",
    ],
)
def test_names_that_no_file_has(folder: Path, text: str) -> None:
    forge(folder / "run.ledger", notes=command(text, folder))
    for words in (("runs", "resume", "run.ledger"), ("runs", "verify", "run.ledger", "--trust")):
        assert arena.refusal(*words).startswith(("the plan in the ledger", "the command in the ledger"))
    assert not marks(folder)


@pytest.mark.thorough
def test_data_with_a_digest_need_no_trust(folder: Path) -> None:
    data = ("--data", "data.csv", "--x", "a", "--y", "b")
    arena.text(*COUNT, *data, "--ledger", "own.ledger", "--part", "1/2")
    resumed = arena("runs", "resume", "own.ledger")
    assert resumed.exit_code == 0
    assert "arena: note: it loads .../data.csv\n" in resumed.stderr


READERS = [
    ("runs", "list", "."),
    ("runs", "report", "run.ledger", "-o", "page.html"),
    ("runs", "watch", "run.ledger"),
    ("runs", "export", "run.ledger", "table.csv", "--figures", "figures.csv"),
    ("runs", "merge", "run.ledger", "other.ledger", "--into", "whole.ledger"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_what_only_reads_runs_nothing(folder: Path, words: tuple[str, ...], unfinished: bytes) -> None:
    ways = [CODE["a learner"], CODE["a setting"], *MODULES.values()]
    for text in ways:
        for name in ("run.ledger", "other.ledger"):
            (folder / name).write_bytes(unfinished)
            notes = command(text, folder) | {"learner": "evil.py:Evil", "adversary": "evil.Evil"}
            forge(folder / name, notes=notes)
        (folder / "whole.ledger").unlink(missing_ok=True)
        assert arena(*words).exit_code in (0, 130)
        assert not marks(folder)
    assert not {"evil", "sub", "sub.evil", "antigravity"} & set(sys.modules)

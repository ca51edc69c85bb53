"""What a night reads and loads besides the modules that its mechanism imports."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import audits
from arena import InvalidArgument
from audits.monitors import monitor as monitors
from audits.monitors.claims import load_claims, resolve_target
from audits.monitors.code_version import READ, describe_version
from audits.monitors.night import NightResult
from audits.monitors.store import Store
from audits.monitors.used_files import digest_again, record_files

CLAIM = """
    import audits
    from mine import count
    audits.claim("count", count, epsilon=1.0, against="count-swap")  # {}
    """


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")


def test_files_that_are_read_are_noted_and_others_are_not(tmp_path: Path) -> None:
    for name in ("read.json", "written.txt", "mapped.bin", "library.so", "script.sh", "before.txt"):
        (tmp_path / name).write_text("1", encoding="utf-8")
    (tmp_path / "before.txt").read_text(encoding="utf-8")
    with record_files() as recorder:
        (tmp_path / "read.json").read_text(encoding="utf-8")
        (tmp_path / "written.txt").write_text("2", encoding="utf-8")
        (tmp_path / "written.txt").read_text(encoding="utf-8")
        os.close(os.open(tmp_path / "mapped.bin", os.O_RDONLY))
        sys.audit("ctypes.dlopen", str(tmp_path / "library.so"))
        sys.audit("subprocess.Popen", "sh", ["sh", str(tmp_path / "script.sh")], None, None)
        Path(subprocess.__file__).read_text(encoding="utf-8")
    (tmp_path / "before.txt").read_text(encoding="utf-8")
    found = recorder.digest(str(tmp_path), "")
    assert sorted(found) == ["library.so", "mapped.bin", "read.json", "script.sh"]
    assert digest_again(found, str(tmp_path)) == found
    (tmp_path / "read.json").unlink()
    assert digest_again(found, str(tmp_path))["read.json"] == "gone"


def test_a_module_in_a_global_variable_counts_however_it_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    noises = {
        name: f"SCALE = {scale}\ndef draw(rng): return rng.laplace(scale=SCALE)\n"
        for name, scale in (("noise_one", 1.0), ("noise_two", 0.5))
    }
    mine = """
        import importlib, os
        NOISE = importlib.import_module(os.environ.get("WHICH_NOISE", "math"))
        def count(labels, rng): return labels.sum() + NOISE.draw(rng)
        """
    write(tmp_path, mine=mine, claims=CLAIM.format("by a module"), **noises)
    described = []
    for name in noises:
        monkeypatch.setenv("WHICH_NOISE", name)
        sys.modules.pop("mine", None)
        sys.modules.pop(next((key for key in sys.modules if key.startswith("arena_plugin_claims")), ""), None)
        (entry,) = load_claims("claims.py")
        described.append(describe_version(resolve_target(entry))["files"])
    assert "noise_one" in described[0]
    assert "noise_two" in described[1]


def test_files_that_a_claim_names_are_part_of_its_version(tmp_path: Path) -> None:
    model = tmp_path / "model.bin"
    model.write_bytes(b"1")

    def count(labels: Any, rng: Any) -> float:
        return float(labels.sum() + rng.laplace())

    entry = audits.claim("count", count, epsilon=1.0, against="count-swap", files=[model])
    before = describe_version(resolve_target(entry))
    model.write_bytes(b"2")
    assert describe_version(resolve_target(entry)) != before
    model.unlink()
    with pytest.raises(InvalidArgument, match="names a file that is not there"):
        resolve_target(entry)
    with pytest.raises(InvalidArgument, match="a list of paths"):
        audits.claim("count", count, epsilon=1.0, files="model.bin")


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], Store]:
    """Play a night that reads files with these contents, without games."""

    def count(labels: Any, rng: Any) -> float:
        return float(labels.sum() + rng.laplace())

    def play(contents: dict[str, str]) -> Store:
        for name, text in contents.items():
            (tmp_path / name).write_text(text, encoding="utf-8")

        def play_night(plan: Any) -> NightResult:
            with record_files() as recorder:
                for name in contents:
                    (tmp_path / name).read_text(encoding="utf-8")
            files = recorder.digest(str(tmp_path), "")
            return NightResult(games=10, log_wealth=1.0, bet=True, files=files)

        monkeypatch.setattr(monitors, "play_night", play_night)
        monkeypatch.chdir(tmp_path)
        entry = audits.claim("count", count, epsilon=1.0, against="count-swap")
        audits.monitor([entry], store=tmp_path / "store", games=10)
        return Store.read(tmp_path / "store")

    return play


def list_nights(store: Store) -> list[int]:
    return [sum(night.counts for night in version.nights) for version in store.versions["count"]]


def test_what_an_installation_wrote_is_no_part_of_a_version(
    play: Callable[[dict[str, str]], Store], tmp_path: Path
) -> None:
    for folder in ("mine.egg-info", "mine.dist-info"):
        (tmp_path / folder).mkdir()
    store = play({"model.json": "1", "mine.egg-info/PKG-INFO": "1", "mine.dist-info/METADATA": "1"})
    assert [*store.versions["count"][0].parts[READ]] == ["model.json"]


def test_nights_add_up_while_they_read_the_same(play: Callable[[dict[str, str]], Store]) -> None:
    for _ in range(2):
        play({"model.json": "1", "other.json": "1"})
    store = play({"model.json": "1"})
    assert list_nights(store) == [3]
    assert sorted(store.versions["count"][0].parts[READ]) == ["model.json", "other.json"]


def test_a_file_with_another_content_makes_a_version_before_it_is_played(
    play: Callable[[dict[str, str]], Store],
) -> None:
    play({"model.json": "1"})
    store = play({"model.json": "2"})
    assert list_nights(store) == [1, 1]
    assert list_nights(play({"model.json": "1"})) == [2, 1]  # what comes back goes on
    assert [version.numbers for version in store.versions["count"]] == [[1], [2]]


def test_a_night_that_reads_another_file_is_the_first_of_a_new_version(
    play: Callable[[dict[str, str]], Store],
) -> None:
    play({"model.json": "1"})
    store = play({"better.json": "1"})
    assert list_nights(store) == [0, 1]  # the old one begins again, since games have chosen what counts
    assert [version.numbers for version in store.versions["count"]] == [[1, 2], [3]]
    assert list_nights(play({"better.json": "1"})) == [0, 2]
    assert [version.log_wealth for version in play({"better.json": "1"}).versions["count"]] == [0.0, 3.0]


@pytest.mark.thorough
def test_a_configuration_that_a_mechanism_reads_makes_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = """
        import json
        def count(labels, rng):
            with open("config.json") as file:
                return labels.sum() + rng.laplace(scale=json.load(file)["scale"])
        """
    write(tmp_path, mine=mine, claims=CLAIM.format("by a file"))
    for scale in ("1.0", "1.0", "0.25"):
        (tmp_path / "config.json").write_text(f'{{"scale": {scale}}}', encoding="utf-8")
        report = audits.monitor("claims.py", store="store", games=200)
    store = Store.read(tmp_path / "store")
    assert [len(version.nights) for version in store.versions["count"]] == [2, 1]
    assert list(store.versions["count"][0].parts[READ]) == ["config.json"]
    assert report.refuted

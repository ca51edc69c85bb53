"""Files of claims, and the digests that say when their evidence must start anew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import audits
from arena import InvalidArgument
from audits.monitors.claims import ClaimEntry, check_names, load_claims, resolve_target
from audits.monitors.code_version import describe_version, identify_version, list_changes
from audits.registry.user_files import PLUGIN_PREFIX

RELATION = "add or remove one"
DATA: dict[str, Any] = {"data": st.lists(st.integers(0, 9)), "neighbours": RELATION}
OWN = ("counted", "helpers_of_count")
STATEMENT = """
import audits
from hypothesis import strategies as st
from {module} import count

audits.claim("count", count, epsilon=1.0, data=st.lists(st.integers(0, 9)), neighbours="add or remove one")
"""
COUNT = """
from .noise import draw

def count(records, rng):
    from helpers_of_count import bound
    return len(records) + draw(rng) + bound
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "claims.py"


def identify(entry: ClaimEntry) -> str:
    return identify_version(describe_version(resolve_target(entry)))


def count(records: list[int], rng: np.random.Generator) -> float:
    return len(records) + rng.laplace()


# --- files of claims ---------------------------------------------------------------------------------------


def test_a_file_states_its_claims_also_when_it_is_loaded_again(tmp_path: Path) -> None:
    text = 'import audits\nfor n in (1, 2):\n    audits.claim(f"claim {n}", len, epsilon=n, weight=n)\n'
    path = write(tmp_path, {"claims.py": text})
    for _ in range(2):
        entries = load_claims(str(path))
        assert [(e.name, e.epsilon, e.weight, e.line) for e in entries] == [
            ("claim 1", 1, 1, 3),
            ("claim 2", 2, 2, 3),
        ]
        assert Path(entries[0].file) == path


def test_a_claim_outside_such_a_file_is_only_returned() -> None:
    entry = audits.claim("count", count, epsilon=1.0, **DATA)
    assert (entry.file, entry.line) == ("", 0)
    assert "__privacy_claims__" not in globals()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "states no claims"),
        ("import audits\naudits.claim('', len, epsilon=1.0)\n", "a claim has a name"),
        ("import audits\naudits.claim('a\\nb', len, epsilon=1.0)\n", "text in one line"),
        ("import audits\naudits.claim('a', len, epsilon=1.0, weight=0)\n", "weight of the claim 'a'"),
        ("raise RuntimeError('no')\n", "RuntimeError: no"),
    ],
)
def test_files_that_state_no_claims_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        load_claims(str(write(tmp_path, {"claims.py": text})))


def test_two_claims_of_one_name_are_refused() -> None:
    entries = [audits.claim(name, count, epsilon=1.0, **DATA) for name in ("a", "b", "a")]
    with pytest.raises(InvalidArgument, match="two claims are called 'a'"):
        check_names(entries)
    with pytest.raises(InvalidArgument, match="at least one claim"):
        check_names([])


def test_a_claim_of_an_odometer_is_refused() -> None:
    class Server:
        """Reports what it has spent."""

        spent = 1.0

        def ask(self, query: Any) -> float:
            return 0.0

    served = audits.session(
        lambda data, rng: Server(), data=DATA["data"], ask=st.just(1), odometer="spent", neighbours=RELATION
    )
    entry = audits.claim("budget", served)
    with pytest.raises(InvalidArgument, match="what its odometer reports, which no monitor tests"):
        resolve_target(entry)


def test_a_pair_of_data_is_played_as_it_is() -> None:
    entry = audits.claim("pair", count, data=[1, 2], neighbour=[1], neighbours="add or remove one", epsilon=1)
    target = resolve_target(entry)
    assert target.adversary is not None
    assert target.adversary.name == "point-swap"


# --- versions ----------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The version of a package whose files are these, with changes, as a new process would find it."""
    files = {
        "claims.py": STATEMENT.format(module="counted.releases"),
        "counted/__init__.py": "",
        "counted/releases.py": COUNT,
        "counted/noise.py": "def draw(rng):\n    return rng.laplace()\n",
        "counted/unrelated.py": "x = 1\n",
        "helpers_of_count.py": "bound = 0\n",
    }
    monkeypatch.syspath_prepend(str(tmp_path))

    def identify_package(**changes: str) -> str:
        for name in [*sys.modules]:
            if name.partition(".")[0] in OWN or name.startswith(f"{PLUGIN_PREFIX}claims_"):
                del sys.modules[name]
        changed = {name.replace("__", "/") + ".py": text for name, text in changes.items()}
        path = write(tmp_path, files | changed)
        return identify(load_claims(str(path))[0])

    return identify_package


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changes",
    [
        {"counted__releases": COUNT + "\n# a comment\n"},
        {"counted__noise": "def draw(rng):\n    return 2 * rng.laplace()\n"},
        {"helpers_of_count": "bound = 1\n"},
        {"claims": STATEMENT.format(module="counted.releases").replace("1.0", "0.5")},
        {"claims": STATEMENT.format(module="counted.releases").replace("add or remove", "replace")},
        {"claims": STATEMENT.format(module="counted.releases").replace("(0, 9)", "(0, 99)")},
    ],
    ids=["module", "relative import", "import within the function", "epsilon", "relation", "schema"],
)
def test_what_the_claim_depends_on_makes_a_new_version(
    package: Callable[..., str], changes: dict[str, str]
) -> None:
    before = package()
    assert package(**changes) != before
    assert package() == before


def test_what_it_does_not_depend_on_makes_none(package: Callable[..., str]) -> None:
    other = STATEMENT.format(module="counted.releases") + "\naudits.claim('other', len, epsilon=1.0)\n"
    assert package(counted__unrelated="x = 2\n", claims=other) == package()


def test_code_of_an_installed_package_counts_like_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    path = write(tmp_path, {"claims.py": STATEMENT.format(module="installed_count.releases")})
    monkeypatch.syspath_prepend(str(folder))
    for module in ("noise", "releases"):
        monkeypatch.delitem(sys.modules, f"installed_count.{module}", raising=False)
    text = COUNT.replace("from helpers_of_count import bound", "bound = 0")
    files = {"installed_count/__init__.py": "", "installed_count/releases.py": text}
    write(folder, files | {"installed_count/noise.py": "def draw(rng):\n    return rng.laplace()\n"})
    (entry,) = load_claims(str(path))
    before = identify(entry)
    write(folder, {"installed_count/noise.py": "def draw(rng):\n    return 0.0\n"})
    assert identify(entry) != before


def test_versions_do_not_depend_on_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        text = "import audits\ndef f(data, rng):\n    return rng.laplace()\n"
        text += "audits.claim('f', f, epsilon=1.0, data=[1, 2])\n"
        found.add(identify(load_claims(str(write(folder, {"claims.py": text})))[0]))
    assert len(found) == 1


def run_cell(source: str) -> Callable[..., Any]:
    """The function `f` of a cell of a notebook, whose source no file has."""
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<ipython-input-1>", "exec"), cell)
    return cell["f"]


CELL = (
    "def noise(rng):\n    return {} * rng.laplace()\ndef f(data, rng):\n    return len(data) + noise(rng)\n"
)


def test_a_function_without_source_is_known_by_its_code_and_by_what_it_calls() -> None:
    versions = [
        identify(audits.claim("f", function, epsilon=1.0, **DATA))
        for function in (
            run_cell(CELL.format(1)),
            run_cell(CELL.format(1)),
            run_cell(CELL.format(2)),
            run_cell("f = lambda data, rng: len(data) + rng.laplace()"),
        )
    ]
    assert versions[0] == versions[1]
    assert len({*versions}) == 3


def test_enclosed_values_and_arguments_count() -> None:
    def scaled(scale: float, records: list[int], rng: np.random.Generator) -> float:
        return len(records) + rng.laplace(scale=scale)

    entries = [audits.claim("f", partial(scaled, scale), epsilon=1.0, **DATA) for scale in (1.0, 1.0, 2.0)]
    first, same, other = map(identify, entries)
    assert first == same != other


def test_other_versions_of_packages_make_a_new_version(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = audits.claim("count", count, epsilon=1.0, **DATA)
    before = describe_version(resolve_target(entry))
    assert {"numpy", "dp-arena", "Python"} <= {*before["packages"]}
    monkeypatch.setattr(np, "__version__", "99.0")
    after = describe_version(resolve_target(entry))
    assert list_changes(before, after) == [f"numpy: {before['packages']['numpy']} became 99.0"]


def test_changes_are_named() -> None:
    before = {"claim": {"statement": "(1, 0)-DP"}, "files": {"a": "1", "b": "1"}, "packages": {"x": "1"}}
    after = {"claim": {"statement": "(2, 0)-DP"}, "files": {"a": "2", "c": "1"}, "packages": {}}
    assert list_changes(before, after) == [
        "statement: (1, 0)-DP became (2, 0)-DP",
        "a changed",
        "b is gone",
        "c is new",
        "x is gone",
    ]
    assert list_changes(before, before) == []

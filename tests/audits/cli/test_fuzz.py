"""Generated command lines and damaged ledgers: never a traceback, a hang, or an exit status of no meaning."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.command_line import Command
from support.ledgers import forge, read_rows

from audits import cli

STATUSES = {0, cli.INVALID_USAGE, cli.REFUTED, cli.INTERRUPTED}
SECONDS = 20
arena = Command()

PLUG_IN = """
import attrs
from learners.releases.counts import LaplaceCount

def mean(data, rng):
    return sum(data) + rng.laplace()

def broken(data, rng):
    return undefined

@attrs.frozen
class Own(LaplaceCount):
    name = "own"
"""
NUMBERS, OUTPUTS, SETTINGS, COUNT = map(
    str.split,
    (
        "0 1 2 3 7 -1 0.5 1e-9 1.5 nan inf -inf 1e400 0x10 1_0 ٣ 2/3 0/0 5/2 none true",
        "out.html out.csv out.parquet out.png out.txt missing/file.html /dev/null /dev/full folder pipe",
        "epsilon size teachers queries noise rounds concepts answers receives function rate bound",
        "audit laplace-count --against count-swap --games 20_000 --seed 1",
    ),
)
TEXTS = ["", " ", "x", "--", "-", "=", "a=b", "é", "\u202e", "\x1b[31m", "'", "%s", "{0}", "..", "a" * 999]
LEDGERS = ["run.ledger", "other.ledger", "link"]
# Learners with an adversary for each, or without any.
PAIRS = """
    laplace-count count-swap, gaussian-count count-swap, static-erm reconstruct, everlasting-v1 halt-counter,
    noisy-votes query-swap, zoo-laplace statdp, plug_in.py:Own count-swap, plug_in.py:mean count-swap,
    plug_in.py:broken count-swap, plug_in.py:Nobody count-swap, laplace-cuont count-swap, soa drawn,
    halving drawn, winnow sparse-disjunction, laplace-count halt-counter, pate-gaussian repeat-point,
    rivest drawn, private-decision-list drawn
"""
# By option or argument, what is likely to be valid. Numbers are small, so that nothing takes long.
VALID = {
    "--protocol": ["Release", "Figure1", "Adaptive"],
    "--data": ["people.csv"],
    "--x": ["age"],
    "--y": ["income"],
    "--positive": ["1"],
    "--seed": ["0", "5"],
    "--epsilon": ["1", "0.5"],
    "--delta": ["0", "1e-6"],
    "--confidence": ["0.9"],
    "--error": ["0.1"],
    "--distinguisher": ["score", "learned", "likelihood"],
    "--ledger": ["new.ledger", "run.ledger"],
    "--part": ["1/2"],
    "--key": ["key"],
    "--html": OUTPUTS[:1],
    "--csv": OUTPUTS[1:2],
    "--plot": OUTPUTS[3:4],
    "--figures": ["figures.csv"],
    "--into": ["whole.ledger"],
    "-o": OUTPUTS[:1],
    "file": OUTPUTS[1:2],
    "run": LEDGERS,
    "ledgers": LEDGERS,
    "folders": [".", *LEDGERS],
    "--depth": ["2"],
    "--games": ["60"],
    "--examples": ["4"],
    "--rounds": ["3"],
    "--blocks": ["1"],
    "--every": ["0.01"],
    "--repeats": ["1"],
    "--repetitions": ["1"],
    "--splits": ["1"],
    "--jobs": ["1"],
    "--patience": ["60"],
}
SMALL = {"--games", "--examples", "--rounds", "--every", "--repeats", "--repetitions", "--splits"}
DATA = {"--data", "--x", "--y"}


def list_commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from list_commands(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = [*list_commands(cli.arena)]
SOMETHING = st.sampled_from([*NUMBERS, *TEXTS, *OUTPUTS, *LEDGERS, "plug_in.py", "people.csv"]) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6
)


@st.composite
def invocations(draw: st.DrawFn) -> list[str]:
    """The words of a command line of which most parts are likely to be valid."""
    name, command = draw(st.sampled_from(COMMANDS))
    pair = draw(st.sampled_from([pair.split() for pair in PAIRS.split(",")]))
    strange = draw(st.integers(0, 2 * len(command.params)))  # the place of the parameter that is not
    with_data = name[0] == "fit" or not draw(st.integers(0, 5))
    needed = {*SMALL, "--against", *(DATA if with_data else ())}
    unwanted = {"--set", "--cluster", "--backend", *(() if with_data else DATA)}
    words = [*name]
    for place, parameter in enumerate(command.params):
        key = str(parameter.name) if isinstance(parameter, click.Argument) else parameter.opts[0]
        is_option = isinstance(parameter, click.Option)
        rarely = 31 if key in unwanted else 7
        is_needed = key in needed or parameter.required or place == strange
        if is_option and not is_needed and draw(st.integers(0, rarely)):
            continue
        words += [key] if is_option else []
        if getattr(parameter, "is_flag", False):
            continue
        if place == strange and key not in SMALL:
            words.append(draw(SOMETHING))
        elif place == strange:  # no number that would make it long
            words.append(draw(st.sampled_from(["-3", "x", "0.5", "nan", "1e400", "0"])))
        elif key in ("--set", "--set-adversary"):
            words.append(f"{draw(st.sampled_from(SETTINGS))}={draw(st.sampled_from(NUMBERS))}")
        elif key in ("learner", "player", "learners", "--against"):
            words.append(pair[key == "--against"])
        else:
            words.append(draw(st.sampled_from(VALID.get(key, NUMBERS))))
    return words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder, with a file of each kind."""
    place = tmp_path_factory.mktemp("fuzz")
    before = Path.cwd()
    os.chdir(place)
    Path("plug_in.py").write_text(PLUG_IN)
    Path("people.csv").write_text("age,income\n" + "".join(f"{20 + row},{row % 2}\n" for row in range(40)))
    Path("folder").mkdir()
    Path("key").write_bytes(bytes(range(32)))
    os.mkfifo("pipe")
    Path("link").symlink_to("run.ledger")
    assert arena(*COUNT, "--ledger", "run.ledger").exit_code == 0
    assert arena(*COUNT, "--distinguisher", "learned", "--ledger", "other.ledger").exit_code == 0
    shutil.copytree(place, place.with_name("kept"), ignore=shutil.ignore_patterns("pipe"), symlinks=True)
    yield place
    os.chdir(before)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail what takes longer."""

    def end(*_: object) -> None:
        raise AssertionError(f"it took more than {seconds} s")

    previous = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def check(*arguments: str) -> Any:
    with at_most(SECONDS):
        result = arena(*arguments)
    assert result.exit_code in STATUSES, result.stderr or result.exception
    assert "unexpected" not in result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    if result.exit_code == cli.INVALID_USAGE:
        assert result.stderr.splitlines()[-1].startswith("arena: ")
    return result


MANY = {"deadline": None, "database": None, "suppress_health_check": [*HealthCheck]}


@pytest.mark.slow
@settings(max_examples=2_000, **MANY)
@given(invocations())
def test_no_command_line_ends_in_a_traceback_or_never(folder: Path, arguments: list[str]) -> None:
    check(*arguments)
    for name in ("run.ledger", "other.ledger", "plug_in.py", "people.csv"):
        if not os.path.exists(name):  # an output may have been written over it
            shutil.copy(folder.with_name("kept") / name, name)


# --- ledgers ------------------------------------------------------------------------------------------------

READERS = (
    ("runs", "list", "it"),
    ("runs", "report", "it", "-o", "out.html"),
    ("runs", "export", "it", "out.csv", "--figures", "figures.csv"),
    ("runs", "resume", "it", "--json"),
    ("runs", "verify", "it", "--blocks", "1"),
    ("runs", "watch", "it", "--json"),
    ("runs", "merge", "it", "--into", "whole.ledger"),
    ("runs", "merge", "it", "other.ledger", "--into", "whole.ledger"),
    (*COUNT, "--ledger", "it"),
)


@st.composite
def damages(draw: st.DrawFn) -> Any:
    """A function that damages the ledger at a path, with or without right checksums."""
    kind = draw(st.sampled_from(("bytes", "cut", "page", "row", "plan", "notes", "column")))
    places = draw(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8))
    junk = draw(st.binary(max_size=40))
    value = draw(
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=9) | st.just([])
    )

    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        if kind == "bytes":
            for place, byte in places:
                content[int(place * (len(content) - 1))] = byte
        elif kind == "cut":
            del content[int(places[0][0] * len(content)) :]
            content += junk
        elif kind == "page":
            pages = len(content) // 4096
            one, other = (4096 * int(place * (pages - 1)) for place, _ in (places[0], places[-1]))
            first, second = content[one : one + 4096], content[other : other + 4096]
            content[one : one + 4096], content[other : other + 4096] = second, first
        else:
            plan, notes, rows = read_rows(path)
            part = {"plan": plan, "notes": notes}.get(kind)
            if part is not None:
                forge(path, **{kind: {sorted(part)[int(places[0][0] * (len(part) - 1))]: value}})
                return
            place = int(places[0][0] * (len(rows) - 1))
            block, pairs, scores = rows[place]
            if kind == "row":
                start = int(places[-1][0] * len(scores))
                rows[place] = block, pairs, scores[:start] + junk + scores[start + len(junk) :]
            elif isinstance(value, int):
                rows[place] = (value, pairs, scores) if places[0][1] % 2 else (block, value, scores)
            with suppress(sqlite3.Error):
                forge(path, rows=rows)
            return
        path.write_bytes(content)

    return damage


@pytest.mark.slow
@settings(max_examples=1_000, **MANY)
@given(damages(), st.sampled_from(("run.ledger", "other.ledger")), st.sampled_from(READERS))
def test_no_damaged_ledger_ends_in_a_traceback_or_another_verdict(
    folder: Path, damage: Any, name: str, reader: tuple[str, ...]
) -> None:
    for file in ("it", "it-wal", "it-shm", "it-saved", "whole.ledger", "whole.ledger-wal"):
        Path(file).unlink(missing_ok=True)
    shutil.copy(folder.with_name("kept") / name, "it")
    damage(Path("it"))
    result = check(*reader)
    if reader[1] == "resume" and result.exit_code != cli.INVALID_USAGE:
        verdict = json.loads(result.stdout)
        if (verdict["claim"]["epsilon"], verdict["confidence"]) == (1.0, 0.95):  # those that were tested
            assert result.exit_code == 0  # the claim is true, and no other damage makes it false

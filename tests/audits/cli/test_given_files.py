"""Every file that a user may name, where it cannot be read or written: a refusal with a remedy."""

from __future__ import annotations

import gzip
import os
import re
import socket
from pathlib import Path

import pytest
from support.command_line import Command

import audits
from arena import InvalidArgument
from arena.concepts import FiniteClass
from arena.privacy_curves import parse_curve
from audits.data.csv_files import load_sample
from audits.data.output_files import write_atomically
from audits.runs.run_history import is_running

COUNT = ("laplace-count", "--against", "count-swap")
PREDICTOR = ("static-erm", "--against", "training-swap")
BINARY = ("latin-1", "utf-16", "zeros")  # which are keys like others
COMMANDS = {  # by what the file is: the words of commands, the ending of its name, and its largest size, MiB
    "curve": (("audit", *COUNT, "--curve", "FILE"), ".csv", 1),
    "curve to certify": (("certify", "s.csv", "--column", "s", "--world", "w", "--curve", "FILE"), ".csv", 1),
    "scores": (("certify", "FILE", "--column", "s", "--world", "w"), ".csv", 256),
    "canaries": (("certify", "FILE", "--column", "s", "--included", "w"), ".csv", 256),
    "data": (("play", *PREDICTOR, "--data", "FILE", "--x", "x", "--y", "y"), ".csv", 256),
    "zipped data": (("play", *PREDICTOR, "--data", "FILE", "--x", "x", "--y", "y"), ".csv.gz", 256),
    "data to race": (("race", "everlasting-v2", "--data", "FILE", "--x", "x", "--y", "y"), ".csv", 256),
    "data to fit": (("fit", "rivest", "--data", "FILE", "--y", "y"), ".csv", 256),
    "matrix": (("show", "matrix:FILE"), ".csv", 256),
    "setting": (("show", "halving", "--set", "concepts=matrix:FILE"), ".csv", 256),
    "public points": (("show", "pate-psq", "--set", "public=FILE"), ".csv", 256),
    "learner": (("show", "FILE:Mine"), ".py", 4),
    "learner to search": (("search", "FILE:Mine"), ".py", 4),
    "adversary": (("play", "static-erm", "--against", "FILE:Mine"), ".py", 4),
    "function": (("audit", "FILE:mine", "--against", "count-swap"), ".py", 4),
    "function setting": (("audit", "function", "--set", "function=FILE:mine", *COUNT[1:]), ".py", 4),
    "key": (("audit", *COUNT, "--ledger", "new.ledger", "--key", "FILE"), ".key", 0.1),
    **{
        f"ledger to {verb}": (("runs", verb, "FILE", *more), ".ledger", None)
        for verb, more in (
            ("report", ()),
            ("watch", ()),
            ("resume", ()),
            ("merge", ("FILE.other", "--into", "new.ledger")),
            ("verify", ()),
            ("export", ("out.csv",)),
        )
    },
}
ENDLESS = ("pipe", "device", "socket", "loop")
FAULTS = ("missing", "directory", "not a folder", "empty", *BINARY, *ENDLESS, "huge", "name")
WRITERS = [
    ("audit", *COUNT, "--games", "64", "--ledger", "FILE"),
    ("audit", *COUNT, "--games", "64", "--part", "1/2", "--ledger", "FILE"),
    ("audit", *COUNT, "--games", "64", "--html", "FILE"),
    ("exact", *COUNT, "--csv", "FILE"),
    ("search", "static-erm", "--epsilon", "1", "--examples", "2", "-o", "FILE"),
    ("race", "soa", "--against", "shattered-tree", "--games", "4", "--rounds", "4", "--plot", "FILE"),
    ("tournament", "laplace-count", "--games", "50", "--html", "FILE"),
]


def make_fault(fault: str, path: Path, mebibytes: float | None) -> Path:
    """Put the fault at the path, and return the path to name."""
    match fault:
        case "directory":
            path.mkdir()
        case "not a folder":
            (path.parent / "plain").write_text("1,0\n")
            return path.parent / "plain" / path.name
        case "empty":
            path.write_text("")
        case "latin-1":
            path.write_bytes("epsilon,delta,naïve,s,w\n1,0.1,é,1,0\n".encode("latin-1"))
        case "utf-16":
            path.write_text("epsilon,delta,s,w\n1,0.1,1,0\n", encoding="utf-16")
        case "zeros":
            path.write_bytes(bytes(512))
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path.name)
        case "socket":
            with socket.socket(socket.AF_UNIX) as own:
                own.bind(path.name)  # in the current folder, since a whole path may be too long
        case "huge":
            with path.open("wb") as file:  # sparse: it takes no room
                file.truncate(int((mebibytes or 1) * 2**20) + 1)
        case "name":
            return path.with_name("n" * 300 + path.suffix)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("s,w\n" + "1,0\n2,1\n" * 50)
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "fault"),
    [(kind, fault) for kind in COMMANDS for fault in FAULTS if kind != "key" or fault not in BINARY],
)
def test_a_file_that_cannot_be_read_is_refused_with_a_remedy(folder: Path, kind: str, fault: str) -> None:
    words, ending, mebibytes = COMMANDS[kind]
    path = make_fault(fault, folder / f"given{ending}", mebibytes)
    said = Command().refusal(*(word.replace("FILE", str(path)) for word in words))
    assert path.stem.partition(".")[0] in said, "the value"
    assert re.search(r"[a-z)\]'] ?[.:] .*[A-Z][a-z]+ .*", said), "a rule, then a remedy"
    assert not re.search(r"unexpected [A-Z]|Traceback|None\b", said)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ENDLESS)
@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_an_output_file_that_cannot_be_written_is_refused(
    folder: Path, words: tuple[str, ...], fault: str
) -> None:
    suffix = {"-o": ".py", "--plot": ".svg"}.get(words[-2], ".out")
    path = make_fault(fault, folder / f"given{suffix}", None)
    kind = os.lstat(path).st_mode
    assert "unexpected" not in Command().refusal(*(word.replace("FILE", str(path)) for word in words))
    assert os.lstat(path).st_mode == kind


@pytest.mark.thorough
def test_data_that_unpack_to_more_than_the_memory_are_refused(folder: Path) -> None:
    with gzip.open("bomb.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(257):
            file.write(bytes(2**20))
    said = Command().refusal("fit", "rivest", "--y", "b", "--data", "bomb.csv.gz")
    assert said.startswith("the unpacked data file bomb.csv.gz is larger than 256 MiB, the most that is kept")


def test_a_pipe_is_no_running_ledger_and_a_link_to_an_output_file_stays_one(folder: Path) -> None:
    os.mkfifo("pipe")
    assert is_running(Path("pipe")) is None
    assert "there is no folder pipe" in Command().refusal("runs", "list", "pipe")
    Path("link.html").symlink_to("target.html")
    with write_atomically("page", "link.html") as unfinished:
        unfinished.write_text("new")
    assert Path("link.html").is_symlink()
    assert Path("target.html").read_text() == "new"


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "read",
    [
        parse_curve,
        lambda path: audits.certify([0.0] * 50, [1.0] * 50, curve=path),
        lambda path: audits.audit("laplace-count", "count-swap", curve=path, games=200),
        lambda path: load_sample(path, x="x", y="y"),
        FiniteClass.from_csv,
    ],
    ids=["parse_curve", "certify", "audit", "load_sample", "matrix"],
)
def test_python_refuses_it_by_the_same_error(folder: Path, read: object, fault: str) -> None:
    path = make_fault(fault, folder / "given.csv", 256)
    with pytest.raises(InvalidArgument) as refused:
        read(str(path))  # type: ignore[operator]
    assert path.stem in refused.value.rule
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xef\xbb\xbfdelta,epsilon\n0.1,1,\n", "curve.csv, line 2: expected 2 fields, as in line 1, got"),
        (b"epsilon,delta\n\n1,0.1\n2,a\n", "curve.csv, line 4: a privacy curve needs numbers, got 'a'."),
        (b"epsilon,delta\n", "a privacy curve needs as many δ as ε, got (0, 0). Give increasing ε ≥ 0 in"),
        (b"epsilon\n1\n", "curve.csv has no columns of a privacy curve, got 'epsilon'. Write mu=1 for"),
    ],
)
def test_a_curve_says_what_is_wrong_in_which_line(folder: Path, content: bytes, said: str) -> None:
    (folder / "curve.csv").write_bytes(content)
    assert said in Command().refusal("audit", *COUNT, "--curve", "curve.csv")

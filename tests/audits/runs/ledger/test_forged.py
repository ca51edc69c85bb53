"""Ledgers whose checksums are right and whose values make no sense: each is refused, and costs little."""

from __future__ import annotations

import json
import math
import shutil
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Command
from support.ledgers import Row, forge, pack_scores, pack_views, read_rows

from arena import InvalidArgument
from audits.distinguishers.view_features import ViewCounts, ViewFeatures, decode_block
from audits.statistics.score_pairs import PairCounts

arena = Command()
AUDIT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1_000", "--seed", "3")
PAIRS = 100  # of the first block
INF, NAN = math.inf, math.nan


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "run.ledger"
    arena.text(*AUDIT, "--ledger", path)
    return path


@pytest.fixture
def ledger(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(honest, tmp_path / "run.ledger"))


def first(
    scores: object = None, *, pairs: object = PAIRS, block: int = 0
) -> Callable[[list[Row]], list[Row]]:
    """Another first block."""
    return lambda rows: [(block, pairs, rows[0][2] if scores is None else scores), *rows[1:]]


def refuse_all(ledger: Path, expected: str) -> None:
    """Every command that reads a ledger refuses this one, with status 2; `runs` lists the fault."""
    folder = ledger.parent
    for words in (
        ("runs", "report", ledger, "-o", folder / "page.html"),
        ("runs", "export", ledger, folder / "games.csv", "--figures", folder / "figures.csv"),
        ("runs", "watch", ledger),
        ("runs", "resume", ledger),
        ("runs", "verify", ledger),
        ("runs", "merge", ledger, ledger, "--into", folder / "whole.ledger"),
        (*AUDIT, "--ledger", ledger),
    ):
        assert expected in arena.refusal(*words), words[0]
    listed = arena("runs", "list", ledger)
    assert (listed.exit_code, listed.stdout) == (0, "")
    assert expected in listed.stderr


@pytest.mark.thorough
def test_every_command_refuses_a_block_that_makes_no_sense(ledger: Path) -> None:
    refuse_all(forge(ledger, rows=first(pairs=10**9)), "it says that it has 1000000000 pairs of games")
    refuse_all(
        forge(ledger, rows=first(pack_scores([NAN], [(0, 0)], [PAIRS]), pairs=PAIRS)), "do not increase"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (first(pairs=PAIRS + 1), "it says that it has 101 pairs of games"),
        (first(pairs="many"), "it says that it has 'many' pairs of games"),
        (first(pairs=99.5), "it says that it has 99.5 pairs of games"),
        (first(block=-1), "it has 6 blocks"),
        (first(pack_scores([0, 1], [(0, 0), (0, 1)], [0, PAIRS])), "a count of pairs is less than 1"),
        (
            first(pack_scores([0, 1], [(0, 0), (0, 1)], [2**64 - 5, PAIRS + 5], head=(2, 2, 2**63 - 1))),
            "the largest count is another",
        ),
        (first(pack_scores([0, NAN], [(0, 1)], [PAIRS])), "its scores do not increase"),
        (first(pack_scores([1, 1], [(0, 1)], [PAIRS])), "its scores do not increase"),
        (first(pack_scores([0, 1, 2], [(0, 1)], [PAIRS])), "an item occurs in no pair"),
        (first(pack_scores([0, 1], [(0, 1), (0, 1 + 2**62)], [50, 50])), "an index is out of range"),
        (first(pack_scores([0, 1], [(0, k << 62) for k in range(5)], [20] * 5)), "an index is out of range"),
        (first(pack_scores([0, 1], [(0, 1)], [PAIRS], head=(2**40, 1, 1))), "larger than any block"),
        (first(pack_scores([0, 1], [(0, 1)], [PAIRS], head=(-2, 1, 1))), "a number of scores is negative"),
        (first(pack_scores([0, 1], [(0, 1)], [PAIRS], end=b"more")), "it is too long"),
        (first(pack_scores([0, 1], [(0, 1)], [PAIRS])[:-9]), "it is too short"),
        (first(pack_views(["a"], [[0], [1]], [(0, 1)], [PAIRS])), "it holds views"),
        (first(b"pairs"), "it is too short"),
        (first("pairs, as text"), "incorrect header check"),
        (first(zlib.compress(struct.pack("<q2dq", 1, 0, 1, PAIRS))), "it does not begin as a block"),
    ],
)
def test_a_block_that_makes_no_sense_is_refused(ledger: Path, rows: Any, expected: str) -> None:
    assert expected in arena.refusal(
        "runs", "export", forge(ledger, rows=rows), ledger.with_name("games.csv")
    )
    assert expected in arena("runs", "list", ledger).stderr


def test_infinite_scores_are_sense(ledger: Path) -> None:
    """Players may return them: a likelihood ratio does."""
    forge(ledger, rows=first(pack_scores([-INF, INF], [(0, 1)], [PAIRS])))
    assert arena.json("runs", "list", ledger)["runs"][0]["games_tested"] == 1_000


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (pack_views(["a"], [[NAN]], [(0, 0)], [PAIRS]), "a feature is not finite"),
        (pack_views(["a", "a"], [[0, 0]], [(0, 0)], [PAIRS]), "two features have one name"),
        (pack_views(["a"], [[0]], [(0, 1)], [PAIRS]), "an index is out of range"),
        (pack_views(["a"], [[1], [0]], [(0, 1)], [PAIRS]), "are not in order"),
        (pack_views(["a"], [[0], [1]], [(0, 1), (0, 1)], [50, 50]), "are not in order"),
        (pack_views(["a"], [[0]], [(0, 0)], [0]), "a count of pairs is less than 1"),
        (pack_views(["a"], [[0], [1], [2]], [(0, 1)], [1]), "more views than games"),
        (pack_views(["a"], [[0]], [(0, 0)], [1], head=(-1, 1, 1)), "more views than games"),
        (pack_views(["a"], [[0]], [(0, 0)], [1], head=(1, 1, 2**62)), "larger than any block"),
        (pack_views([], [[], []], [(0, 1)], [1]), "are not in order"),
    ],
)
def test_views_that_make_no_sense_are_refused(block: bytes, expected: str) -> None:
    with pytest.raises(InvalidArgument, match=expected):
        decode_block(block)


@pytest.mark.thorough
def test_what_honest_blocks_may_hold_is_read_back() -> None:
    draw = np.random.default_rng(1)
    wide = draw.integers(0, 3, (300, 9_000)).astype(float)  # more than is unpacked if it is compressed
    for block in (
        PairCounts.of(np.array([-np.inf, 0.0]), np.array([np.inf, np.inf])),
        PairCounts.of(draw.normal(size=20_000), draw.normal(size=20_000)),
        PairCounts.of(np.zeros(1), np.zeros(1), np.array([2**40])),
        ViewCounts.of(*(ViewFeatures(np.zeros((3, 0)), ()) for _ in range(2))),
        ViewCounts.of(*(ViewFeatures(draw.normal(size=(9, 2)) * -1.0, ("a", "b")) for _ in range(2))),
        ViewCounts.of(*(ViewFeatures(wide, tuple(map(str, range(9_000)))) for _ in range(2))),
    ):
        assert decode_block(block.to_bytes()).to_bytes() == block.to_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("head", "sizes"),
    [
        (b"pairs", (2**24, 2**10, 1)),
        (b"pairs", (1, 2**26, 1)),
        (b"view", (2**10, 2**10, 2**20)),
        (b"view", (2**24, 2**24, 1)),
        (b"", (2**23,)),
    ],
)
def test_a_small_block_is_not_unpacked_to_gigabytes(head: bytes, sizes: tuple[int, ...]) -> None:
    """Zeros that take a thousandth of their room, whatever the sizes are that the block begins with."""
    packer = zlib.compressobj(1)
    packed = packer.compress(struct.pack(f"<{len(sizes)}q", *sizes))
    packed += b"".join(packer.compress(bytes(2**20)) for _ in range(2**8)) + packer.flush()
    tracemalloc.start()
    with pytest.raises(InvalidArgument):
        decode_block(head + packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**25


def test_settings_of_players_may_be_infinite_or_nan(ledger: Path) -> None:
    forge(ledger, plan={"learner": {"name": None, "clip": INF, "missing": NAN}})
    assert arena.json("runs", "list", ledger)["runs"][0]["games_tested"] == 1_000


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ({"games": "1000"}, "the plan of an audit must have a int called games, got '1000'"),
        ({"games": True}, "the plan of an audit must have a int called games, got True"),
        ({"games": 10**18}, "block 5 is none of its plan: it says that it has 325 pairs of games"),
        ({"block": 0}, "block in the plan of an audit must be at least 1, got 0"),
        ({"first_block": 50}, "block 0 is none of its plan: it says that it has 100 pairs of games"),
        ({"epsilon": NAN}, "epsilon of the claim under test must be more than 0 nats and finite, got nan"),
        ({"distinguisher": "magic"}, "distinguisher in the plan of an audit must be one of score, learned"),
        ({"distinguisher": "learned"}, "it holds scores"),
        ({"learner": [1]}, "the plan of an audit must have a dict called learner, got [1]"),
        ("[]", "the text of its plan is no mapping"),
        ("{", "is damaged: the text of its plan"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", "more than 64 deep"),
        ('{"a": ' + "9" * 5_000 + "}", "is damaged: the text of its plan"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(ledger: Path, plan: Any, expected: str) -> None:
    assert expected in arena.refusal("runs", "resume", forge(ledger, plan=plan))
    assert expected in arena("runs", "list", ledger).stderr


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({"learner": ["x"]}, "its notes make no sense"),
        ({"transcript": 5}, "its notes make no sense"),
        ({"protects": 5}, "its notes make no sense"),
        ({"protects": [[]]}, "is not a valid PrivacyUnit"),
        ({"own_claim": ["x", 0.0]}, "its notes make no sense"),
        ({"neighbours": "x"}, "neighbours must be a known relation"),
        ("[]", "the text of its notes is no mapping"),
    ],
)
def test_notes_that_make_no_sense_are_refused(ledger: Path, notes: Any, expected: str) -> None:
    assert expected in arena.refusal("runs", "resume", forge(ledger, notes=notes))
    assert expected in arena("runs", "list", ledger).stderr


def test_forging_nothing_changes_nothing(honest: Path, ledger: Path) -> None:
    plan, _, rows = read_rows(forge(ledger))
    assert json.loads(json.dumps(plan)) == plan
    assert rows == read_rows(honest)[2]
    assert arena.json("runs", "resume", ledger) == arena.json("runs", "resume", honest)

"""The ledger: what it keeps, what it notices, and what it says."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from support.ledgers import FILES, FOLDERS
from support.paths import ROOT
from support.processes import wait_until

from adversaries.release.point_swap import CountSwap
from arena import Release
from arena.errors import ArenaError, InternalError, InvalidArgument
from audits.reports.json_form import to_data
from audits.runs.ledger import Ledger, LedgerFailed
from audits.runs.ledger.schema import APPLICATION_ID
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.statistics.score_pairs import PairCounts
from learners.releases.counts import LaplaceCount

PLAN = {"seed": 1, "games": 8192, "learner": {"name": "Laplace", "epsilon": 1.0}, "points": (0.5, 2.0)}
DAMAGED = "the ledger run.ledger is damaged: "
PLAYERS = {"learner": LaplaceCount(), "adversary": CountSwap(), "referee": Release()}
SHORT = Plan(**PLAYERS, epsilon=1.0, delta=0.0, games=500, block=50)

# For each path that it reads, plays block after block in a child, since a fork starts faster than a Python.
# The child tells what it has committed in a file beside the ledger, written past every buffer of its own.
PLAYER = """
import os, sys
from itertools import count
import numpy as np
from audits.runs.ledger import Ledger
from audits.statistics.score_pairs import PairCounts

def play(path):
    acks = os.open(path + ".acks", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger = Ledger.open(path, {"seed": 1})
    have = ledger.block_indices()
    for block in count():
        if block not in have:
            ledger.add(block, PairCounts.of(np.arange(8.0), np.full(8, block % 97.0)))
            os.write(acks, b"%d\\n" % block)

for line in sys.stdin:
    child = os.fork()
    if not child:
        play(line.rstrip("\\n"))
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


def scores(block):
    """The counts of a block: eight pairs, told apart by the block."""
    return PairCounts.of(np.arange(8.0), np.full(8, block % 97.0))


def contents(ledger):
    return [(block, counts.to_bytes()) for block, counts in ledger.blocks()]


def list_entries(blocks):
    return [(block, scores(block).to_bytes()) for block in sorted(blocks)]


def refusal(path, plan=PLAN):
    with pytest.raises(InvalidArgument) as caught:
        Ledger.open(path, plan).close()
    return str(caught.value)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The name of a ledger that is not there yet, in the current directory."""
    monkeypatch.chdir(tmp_path)
    return "run.ledger"


@pytest.fixture
def ledger_of_ten(path):
    """The name of a closed ledger of ten blocks."""
    with Ledger.open(path, PLAN, notes=lambda: {"learner": "Laplace"}) as ledger:
        for block in range(10):
            ledger.add(block, scores(block))
    return path


def edit(path, *statements):
    """Change the ledger's database, as someone with SQLite would meddle with it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        return [database.execute(statement).fetchone() for statement in statements]


@contextmanager
def nobody():
    """Run as a user whom file permissions bind: they do not bind root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def read_acknowledgements(path):
    acks = Path(f"{path}.acks")
    return set(map(int, acks.read_text().split())) if acks.exists() else set()


class TestKeeping:
    def test_blocks_come_back_in_the_order_of_their_indices(self, path):
        blocks = [*random.Random(1).sample(range(1_000), 100), 10**12]
        with Ledger.open(path, PLAN) as ledger:
            assert ledger.block_indices() == set()
            for block in blocks:
                ledger.add(np.int64(block), scores(block))
            assert ledger.block_indices() == set(blocks)
        with Ledger.open(path, PLAN) as ledger:
            assert contents(ledger) == list_entries(blocks)

    def test_blocks_may_be_added_while_they_are_read(self, ledger_of_ten):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            reading = ledger.blocks()
            next(reading)
            ledger.add(10, scores(10))
            assert {block for block, _ in reading} >= set(range(1, 10))
            assert contents(ledger) == list_entries(range(11))

    def test_the_same_block_again_changes_nothing(self, ledger_of_ten, monkeypatch):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            ledger.add(4, scores(4))
            infinite = PairCounts.of(np.array([-np.inf, 0.0]), np.array([np.inf, 1.0]))
            for _ in range(2):
                ledger.add(10, infinite)
            blob = scores(4).to_bytes()  # another zlib may pack it otherwise
            monkeypatch.setattr(PairCounts, "to_bytes", lambda counts: blob + b"another encoding")
            ledger.add(4, scores(4))

    def test_the_same_block_with_another_result(self, ledger_of_ten):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            with pytest.raises(InternalError, match=r"block 4 of the ledger run.ledger was played again and"):
                ledger.add(4, scores(5))
            assert contents(ledger) == list_entries(range(10))

    def test_one_file_that_says_what_it_is(self, ledger_of_ten):
        assert os.listdir() == ["run.ledger"]
        queries = ("PRAGMA application_id", "PRAGMA journal_mode", "SELECT sum(pairs) FROM blocks")
        assert edit(ledger_of_ten, *queries) == [(APPLICATION_ID,), ("wal",), (80,)]

    def test_an_empty_file_becomes_a_ledger(self, path):
        Path(path).touch()
        with Ledger.open(path, PLAN) as ledger:
            ledger.add(0, scores(0))
        with Ledger.open(path, PLAN) as ledger:
            assert ledger.block_indices() == {0}

    def test_a_log_left_by_a_removed_ledger_is_not_taken_up(self, ledger_of_ten):
        Path("run.ledger-wal").write_bytes(Path(ledger_of_ten).read_bytes())
        Path(ledger_of_ten).unlink()
        with Ledger.open(ledger_of_ten, {"seed": 2}) as ledger:
            assert ledger.block_indices() == set()

    def test_closed(self, ledger_of_ten):
        with pytest.raises(KeyError), Ledger.open(ledger_of_ten, PLAN) as ledger:
            raise KeyError
        ledger.close()
        with pytest.raises(InvalidArgument, match=r"the ledger run.ledger is closed"):
            ledger.block_indices()


class TestPlan:
    def test_order_and_tuples_do_not_matter(self, ledger_of_ten):
        learner = {"epsilon": 1.0, "name": "Laplace"}
        again = {"points": [0.5, 2.0], "learner": learner, "games": 8192, "seed": 1}
        with Ledger.open(ledger_of_ten, again) as ledger:
            assert len(ledger.block_indices()) == 10

    def test_anything_json_holds(self, path):
        plan = {"ε": float("inf"), "none": None, "deep": {"a": {"b": [1, {"c": "\ud800"}]}}, "empty": {}}
        Ledger.open(path, plan).close()
        Ledger.open(path, plan).close()

    def test_another_plan(self, ledger_of_ten):
        other = {"seed": 2, "learner": {"name": "Laplace", "epsilon": 0.5}, "points": [0.5, 2], "δ": "none"}
        assert refusal(ledger_of_ten, other) == (
            "the ledger run.ledger holds another plan: games: 8192 -> absent; learner.epsilon: 1.0 -> 0.5; "
            'points: [0.5, 2.0] -> [0.5, 2]; seed: 1 -> 2; δ: absent -> "none". '
            "Give the plan that the ledger holds, or the path of a new file."
        )
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            assert contents(ledger) == list_entries(range(10))

    def test_the_difference_of_two_plans_is_short(self, path):
        Ledger.open(path, {f"setting {n}": "x" * 500 for n in range(40)}).close()
        said = refusal(path, {"setting 0": "x" * 400 + "y" + "x" * 99})
        assert "setting 0: ...xxx" in said
        assert "; and 35 more. Give the plan" in said
        assert len(said) < 900


class TestDamage:
    def test_not_sqlite(self, path):
        for content in (b"hello", b"x,y\n" * 4000, bytes(8192)):
            Path(path).write_bytes(content)
            assert refusal(path).startswith("run.ledger is not a ledger, or its header is damaged. ")
            assert Path(path).read_bytes() == content

    @pytest.mark.parametrize("mode", ["delete", "wal"])
    def test_a_foreign_database(self, path, mode):
        edit(path, f"PRAGMA journal_mode = {mode}", "CREATE TABLE plan (json TEXT NOT NULL)")
        before = Path(path).read_bytes()
        assert refusal(path).startswith("run.ledger is an SQLite database, but not a ledger. ")
        assert Path(path).read_bytes() == before

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            ("CREATE TABLE more (a)", "its tables are not those of a ledger"),
            ("DROP TABLE plan", "its tables are not those of a ledger"),
            ("DELETE FROM plan", "its table plan does not have one row"),
            ("INSERT INTO notes SELECT * FROM notes", "its table notes does not have one row"),
            ("UPDATE plan SET json = replace(json, '8192', '4096')", "the checksum of its plan is wrong"),
            ("UPDATE plan SET sha256 = 'text'", "the checksum of its plan is wrong"),
            ("UPDATE plan SET json = CAST(x'ff' AS TEXT)", "the checksum of its plan is wrong"),
            ("UPDATE notes SET json = '{}'", "the checksum of its notes is wrong"),
            ("UPDATE notes SET sha256 = x'00'", "the checksum of its notes is wrong"),
            ("UPDATE blocks SET pairs = pairs + 1 WHERE block = 4", "the checksum of block 4 is wrong"),
            ("UPDATE blocks SET sha256 = x'00' WHERE block = 4", "the checksum of block 4 is wrong"),
            ("UPDATE blocks SET scores = 'text' WHERE block = 4", "the checksum of block 4 is wrong"),
            ("UPDATE blocks SET block = 77 WHERE block = 4", "the checksum of block 77 is wrong"),
        ],
    )
    def test_what_was_changed(self, ledger_of_ten, change, fault):
        edit(ledger_of_ten, change)
        assert refusal(ledger_of_ten).startswith(
            f"{DAMAGED}{fault}. Restore a copy, or remove it and any run."
        )

    @pytest.mark.parametrize("table", ["notes", "blocks"])
    def test_what_is_of_another_plan(self, ledger_of_ten, table):
        with Ledger.open("other.ledger", {"seed": 2}) as ledger:
            ledger.add(10, scores(10))
        move = (f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM other.{table}")
        edit(ledger_of_ten, "ATTACH 'other.ledger' AS other", *move)
        assert refusal(ledger_of_ten).startswith(f"{DAMAGED}the checksum of ")

    @pytest.mark.parametrize("old", [b"TABLE blocks", b"scores BLOB"])
    def test_names_that_are_not_text(self, ledger_of_ten, old):
        whole = Path(ledger_of_ten).read_bytes()
        Path(ledger_of_ten).write_bytes(whole.replace(old, b"\xff" * len(old)))
        assert refusal(ledger_of_ten).startswith(DAMAGED)

    def test_truncated(self, ledger_of_ten):
        # From the second byte on: to SQLite a file of one byte is empty.
        whole = Path(ledger_of_ten).read_bytes()
        for length in [*range(2, len(whole), 1270), 100, 4096, len(whole) - 4096, len(whole) - 1]:
            Path(ledger_of_ten).write_bytes(whole[:length])
            assert refusal(ledger_of_ten).startswith(("run.ledger is not a ledger", DAMAGED))

    @pytest.mark.thorough
    def test_a_flipped_bit_is_noticed_or_changes_nothing(self, ledger_of_ten):
        whole = Path(ledger_of_ten).read_bytes()
        draw, blob = random.Random(2), scores(4).to_bytes()
        bits = [draw.randrange(len(whole) * 8) for _ in range(200)]
        assert sum(flip_is_noticed(ledger_of_ten, whole, bit) for bit in bits) > 8
        start = whole.index(blob) * 8
        assert all(flip_is_noticed(ledger_of_ten, whole, start + bit) for bit in range(0, len(blob) * 8, 5))

    @pytest.mark.thorough
    def test_a_broken_log_loses_blocks_at_most(self, path):
        # What follows the flaw in the log is as if it had never been written, and is played again.
        with Ledger.open(path, PLAN) as ledger:
            for block in range(30):
                ledger.add(block, scores(block))
            files = {name: Path(name).read_bytes() for name in ("run.ledger", "run.ledger-wal")}
        log, draw, left = files["run.ledger-wal"], random.Random(3), set()
        for _ in range(200):
            place = draw.randrange(len(log))
            broken = log[:place] + bytes([log[place] ^ 1 << draw.randrange(8)]) + log[place + 1 :]
            Path("run.ledger").write_bytes(files["run.ledger"])
            Path("run.ledger-wal").write_bytes(draw.choice([broken, log[:place]]))
            with Ledger.open(path, PLAN) as ledger:
                left.add(len(ledger.block_indices()))
                assert contents(ledger) == list_entries(range(len(ledger.block_indices())))
        assert len(left) > 10


def flip_is_noticed(path, whole, bit):
    """Flip that bit of the ledger `whole`; either the ledger is refused or everything in it is as it was."""
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    Path(path).write_bytes(flipped)
    Path(f"{path}-wal").unlink(missing_ok=True)
    try:
        with Ledger.open(path, PLAN) as ledger:
            assert contents(ledger) == list_entries(range(10)), bit
    except InvalidArgument as error:
        return path in str(error)
    return False


class TestPlaces:
    def test_no_place(self, path):
        os.mkdir(path)
        os.mkfifo("pipe")
        os.symlink("loop", "loop")
        for place, fault in (
            (path, "it is a directory"),
            ("none/run.ledger", "its directory does not exist"),
            ("pipe", "it is a device or a pipe"),
            ("loop", "it is a symbolic link that leads nowhere"),
        ):
            assert refusal(place) == (f"the ledger {place} cannot be written: {fault}. Give another path.")

    @pytest.mark.parametrize(("there", "directory", "file"), [(False, 0o555, 0), (True, 0o777, 0o444)])
    def test_read_only(self, there, directory, file):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, "run.ledger")
            if there:
                Ledger.open(path, PLAN).close()
                path.chmod(file)
            os.chmod(name, directory)
            with nobody():
                message = refusal(path)
            os.chmod(name, 0o777)
        assert message.startswith(
            f"the ledger {path} cannot be written: the file or its directory is read-only"
        )


def add_until_refused(ledger):
    for block in count():
        ledger.add(block, scores(block))


class TestDisk:
    def test_full(self, path):
        with Ledger.open(path, PLAN) as ledger:
            edit_live = ledger._live.execute
            edit_live("PRAGMA max_page_count = 5")
            with pytest.raises(LedgerFailed) as caught:
                add_until_refused(ledger)
            full = len(ledger.block_indices())
            assert contents(ledger) == list_entries(range(full))
            edit_live("PRAGMA max_page_count = 50")
            ledger.add(full, scores(full))
        assert f"the disk of the ledger run.ledger is full: block {full} was not stored" in str(caught.value)
        with Ledger.open(path, PLAN) as ledger:
            assert contents(ledger) == list_entries(range(full + 1))


class TestLost:
    @pytest.mark.thorough
    @pytest.mark.parametrize(("disturb", "noticed"), (FILES | FOLDERS).items())
    def test_files_that_are_lost_under_a_run_change_no_figure(self, path, disturb, noticed):
        """The run ends with its figures so far where its file is gone, and never with others."""
        os.mkdir("own")
        place, seen, calm, failure = Path("own", path), [], [], None

        def watch(progress):
            seen.append(to_data(progress))
            if len(seen) == 4:
                disturb(place)

        try:
            run(SHORT, ledger=place, watch=watch)
        except ArenaError as error:
            failure = error
        if noticed:
            assert "was deleted, moved or replaced while a run had it open" in str(failure)
            assert failure.verdict.games == 200
        run(SHORT, watch=lambda progress: calm.append(to_data(progress)))
        assert seen == calm[: len(seen)]


def test_there_is_one_writer_even_in_one_process(path):
    with Ledger.open(path, PLAN) as ledger:
        assert refusal(path).startswith("the ledger run.ledger is in use by another run. Wait until it ends")
        ledger.add(10, scores(10))
    Ledger.open(path, PLAN).close()


@pytest.mark.slow
def test_killed_at_fifty_random_moments_it_loses_nothing(path):
    draw = random.Random(4)
    seen = []
    command = [sys.executable, "-c", PLAYER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **pipes) as process:
        for trial in range(50):
            name = f"{trial // 5}.ledger"  # five kills each, so that new and grown ledgers are both hit
            before = len(read_acknowledgements(name))
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            if trial % 2:  # amid blocks, however slow the disk; else perhaps before the first
                wait_until(lambda name=name, least=before + 40: len(read_acknowledgements(name)) >= least)
            time.sleep(draw.uniform(0, 0.04))
            os.kill(child, signal.SIGKILL)
            assert process.stdout.readline() == "dead\n"
            acked = read_acknowledgements(name)
            with Ledger.open(name, {"seed": 1}) as ledger:
                have = ledger.block_indices()
                assert acked <= have
                assert have == set(range(len(have)))
                assert contents(ledger) == list_entries(have)
            seen.append(len(have))
    assert max(seen) > 100

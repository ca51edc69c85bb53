"""The ledger: what it keeps, what it notices, and every refusal word for word."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT
from support.waiting import wait_until

from arena.errors import InternalError, InvalidArgument
from audits.runs.ledger import APPLICATION_ID, SCHEMA_VERSION, Ledger, LedgerFailed, LedgerFull
from audits.statistics.score_pairs import PairCounts

PLAN = {"seed": 1, "games": 8192, "learner": {"name": "Laplace", "epsilon": 1.0}, "points": (0.5, 2.0)}
GONE = "Restore a copy, or remove it and any run.ledger-wal beside it to play every block again."
ELSEWHERE = "Give the path of a ledger or a new file."

# Plays block after block until it is killed. It tells what it has committed in a file beside the ledger,
# written past every buffer of its own.
PLAY = """
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
"""

# Plays so in a child for each path that it reads: a fork starts faster than a Python.
PLAYER = f"""{PLAY}
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


def refusal(path, plan=PLAN, error=InvalidArgument):
    with pytest.raises(error) as caught:
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
    with Ledger.open(path, PLAN) as ledger:
        for block in range(10):
            ledger.add(block, scores(block))
    return path


@contextmanager
def open_database(path):
    """The ledger's database, as someone with SQLite would meddle with it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


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


@contextmanager
def player():
    process = subprocess.Popen(
        [sys.executable, "-c", PLAYER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def start_playing(process, path):
    process.stdin.write(f"{Path(path).absolute()}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def read_acknowledgements(path):
    acks = Path(f"{path}.acks")
    return set(map(int, acks.read_text().split())) if acks.exists() else set()


def kill_player(process, child):
    os.kill(child, signal.SIGKILL)
    assert process.stdout.readline() == "dead\n"


class TestKeeping:
    def test_a_new_ledger_is_empty(self, path):
        with Ledger.open(path, PLAN) as ledger:
            assert ledger.block_indices() == set()
            assert list(ledger.blocks()) == []

    def test_blocks_come_back_in_the_order_of_their_indices(self, path):
        with Ledger.open(path, PLAN) as ledger:
            for block in (700, 3, 10**12, 0):
                ledger.add(block, scores(block))
            assert ledger.block_indices() == {0, 3, 700, 10**12}
            assert contents(ledger) == list_entries([0, 3, 700, 10**12])
        with Ledger.open(path, PLAN) as ledger:
            assert contents(ledger) == list_entries([0, 3, 700, 10**12])

    def test_more_blocks_than_are_read_at_once(self, path):
        blocks = random.Random(1).sample(range(5000), 1000)
        with Ledger.open(path, PLAN) as ledger:
            for block in blocks:
                ledger.add(block, scores(block))
            assert contents(ledger) == list_entries(blocks)

    def test_blocks_may_be_added_while_they_are_read(self, ledger_of_ten):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            reading = ledger.blocks()
            next(reading)
            ledger.add(10, scores(10))
            assert {block for block, _ in reading} >= set(range(1, 10))
            assert contents(ledger) == list_entries(range(11))

    def test_infinite_scores(self, path):
        counts = PairCounts.of(np.array([-np.inf, 0.0]), np.array([np.inf, 1.0]))
        with Ledger.open(path, PLAN) as ledger:
            ledger.add(0, counts)
            ledger.add(0, counts)
            assert contents(ledger) == [(0, counts.to_bytes())]

    def test_an_index_may_be_a_numpy_integer(self, path):
        with Ledger.open(path, PLAN) as ledger:
            ledger.add(np.int64(3), scores(3))
            assert ledger.block_indices() == {3}

    def test_the_same_block_again_changes_nothing(self, ledger_of_ten):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            ledger.add(4, scores(4))
            assert contents(ledger) == list_entries(range(10))

    def test_the_same_block_packed_by_another_zlib(self, ledger_of_ten, monkeypatch):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            blob = scores(4).to_bytes()
            monkeypatch.setattr(PairCounts, "to_bytes", lambda counts: blob + b"another encoding")
            ledger.add(4, scores(4))

    def test_the_same_block_with_another_result(self, ledger_of_ten):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            with pytest.raises(InternalError) as caught:
                ledger.add(4, scores(5))
            assert contents(ledger) == list_entries(range(10))
        assert str(caught.value) == (
            "block 4 of the ledger run.ledger was played again and its scores differ: "
            "something in it does not follow from the plan and its seed"
        )

    @pytest.mark.parametrize("index", [-1, 2**63])
    def test_index_out_of_range(self, path, index):
        with Ledger.open(path, PLAN) as ledger, pytest.raises(InvalidArgument) as caught:
            ledger.add(index, scores(0))
        assert str(caught.value) == (
            f"the index of a block must be at least 0 and less than 2^63, got {index}"
        )

    def test_closing_folds_everything_into_one_file(self, ledger_of_ten):
        assert os.listdir() == ["run.ledger"]

    def test_the_file_says_what_it_is(self, ledger_of_ten):
        with open_database(ledger_of_ten) as database:
            assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
            assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
            assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert database.execute("SELECT sum(pairs) FROM blocks").fetchone() == (80,)

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

    @pytest.mark.parametrize(
        "use",
        [Ledger.block_indices, lambda ledger: list(ledger.blocks()), lambda ledger: ledger.add(0, scores(0))],
    )
    def test_closed(self, ledger_of_ten, use):
        ledger = Ledger.open(ledger_of_ten, PLAN)
        ledger.close()
        ledger.close()
        with pytest.raises(InvalidArgument) as caught:
            use(ledger)
        assert str(caught.value) == "the ledger run.ledger is closed. Open it again with Ledger.open."

    def test_an_error_inside_the_with_closes_it(self, path):
        with pytest.raises(KeyError), Ledger.open(path, PLAN):
            raise KeyError
        Ledger.open(path, PLAN).close()


class TestPlan:
    def test_order_and_tuples_do_not_matter(self, ledger_of_ten):
        again = {
            "points": [0.5, 2.0],
            "learner": {"epsilon": 1.0, "name": "Laplace"},
            "games": 8192,
            "seed": 1,
        }
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

    def test_another_plan_that_only_nests_otherwise(self, path):
        Ledger.open(path, {"a": {"b": 1}}).close()
        assert "another plan: a.b: 1 -> absent; a.b: absent -> 1. " in refusal(path, {"a.b": 1})

    def test_an_entry_that_is_not_json(self, path):
        assert refusal(path, {"seed": 1, "scales": {"x": {1}}}) == (
            "JSON must be able to hold the entry 'scales' of a plan "
            "(Object of type set is not JSON serializable), got {'x': {1}}. "
            "Write it as text, numbers, lists and mappings."
        )
        assert not os.path.exists(path)


class TestDamage:
    def test_not_sqlite(self, path):
        for content in (b"hello", b"x,y\n" * 4000, bytes(8192)):
            Path(path).write_bytes(content)
            assert refusal(path) == (f"run.ledger is not a ledger, or its header is damaged. {ELSEWHERE}")
            assert Path(path).read_bytes() == content

    @pytest.mark.parametrize("mode", ["delete", "wal"])
    def test_a_foreign_database(self, path, mode):
        with open_database(path) as database:
            database.execute(f"PRAGMA journal_mode = {mode}")
            database.execute("CREATE TABLE plan (json TEXT NOT NULL, sha256 BLOB NOT NULL)")
        before = Path(path).read_bytes()
        assert refusal(path) == f"run.ledger is an SQLite database, but not a ledger. {ELSEWHERE}"
        assert Path(path).read_bytes() == before

    def test_a_newer_schema(self, ledger_of_ten):
        with open_database(ledger_of_ten) as database:
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger has schema {SCHEMA_VERSION + 1}; "
            f"this dp-arena reads schemas up to {SCHEMA_VERSION}. "
            "Use the newer dp-arena that wrote it."
        )

    @pytest.mark.parametrize(
        "change",
        [
            "PRAGMA user_version = -1",
            "CREATE TABLE more (a)",
            "DROP TABLE plan",
            "CREATE INDEX i ON blocks (pairs)",
        ],
    )
    def test_other_tables(self, ledger_of_ten, change):
        with open_database(ledger_of_ten) as database:
            database.execute(change)
        assert (
            refusal(ledger_of_ten)
            == f"the ledger run.ledger is damaged: its tables are not those of a ledger. {GONE}"
        )

    @pytest.mark.parametrize("table", ["plan", "notes"])
    @pytest.mark.parametrize(
        ("change", "rows"), [("DELETE FROM {}", 0), ("INSERT INTO {0} SELECT * FROM {0}", 2)]
    )
    def test_a_plan_or_notes_that_are_not_one_row(self, ledger_of_ten, table, change, rows):
        with open_database(ledger_of_ten) as database:
            database.execute(change.format(table))
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger is damaged: its table {table} has {rows} rows instead of one. {GONE}"
        )

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE plan SET json = replace(json, '8192', '4096')",
            "UPDATE plan SET sha256 = 'text'",
            "UPDATE plan SET json = CAST(x'ff' AS TEXT)",
        ],
    )
    def test_a_plan_that_was_changed(self, ledger_of_ten, change):
        with open_database(ledger_of_ten) as database:
            database.execute(change)
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger is damaged: its plan does not match its checksum. {GONE}"
        )

    @pytest.mark.parametrize(
        "change",
        ["UPDATE notes SET json = '{}'", "UPDATE notes SET sha256 = x'00'", "UPDATE notes SET json = x'ff'"],
    )
    def test_notes_that_were_changed(self, path, change):
        Ledger.open(path, PLAN, notes=lambda: {"learner": "Laplace"}).close()
        with open_database(path) as database:
            database.execute(change)
        assert refusal(path) == (
            f"the ledger run.ledger is damaged: its notes do not match their checksum. {GONE}"
        )

    def test_notes_of_another_plan(self, ledger_of_ten):
        Ledger.open("other.ledger", {"seed": 2}, notes=lambda: {"learner": "Gauss"}).close()
        with open_database(ledger_of_ten) as database:
            database.execute("ATTACH 'other.ledger' AS other")
            database.execute("DELETE FROM notes")
            database.execute("INSERT INTO notes SELECT * FROM other.notes")
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger is damaged: its notes do not match their checksum. {GONE}"
        )

    @pytest.mark.parametrize(
        ("change", "block"),
        [
            ("UPDATE blocks SET scores = (SELECT scores FROM blocks WHERE block = 3) WHERE block = 4", 4),
            ("UPDATE blocks SET pairs = pairs + 1 WHERE block = 4", 4),
            ("UPDATE blocks SET sha256 = x'00' WHERE block = 4", 4),
            ("UPDATE blocks SET scores = 'text' WHERE block = 4", 4),
            ("UPDATE blocks SET block = 77 WHERE block = 4", 77),
            ("UPDATE blocks SET block = -4 WHERE block = 4", -4),
        ],
    )
    def test_a_block_that_was_changed(self, ledger_of_ten, change, block):
        with open_database(ledger_of_ten) as database:
            database.execute(change)
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger is damaged: block {block} does not match its checksum. {GONE}"
        )

    @pytest.mark.parametrize("old", [b"TABLE blocks", b"scores BLOB"])
    def test_names_that_are_not_text(self, ledger_of_ten, old):
        whole = Path(ledger_of_ten).read_bytes()
        Path(ledger_of_ten).write_bytes(whole.replace(old, b"\xff" * len(old)))
        assert refusal(ledger_of_ten) == f"the ledger run.ledger is damaged: its text cannot be read. {GONE}"

    def test_a_block_of_another_plan(self, ledger_of_ten):
        with Ledger.open("other.ledger", {"seed": 2}) as ledger:
            ledger.add(10, scores(10))
        with open_database(ledger_of_ten) as database:
            database.execute("ATTACH 'other.ledger' AS other")
            database.execute("INSERT INTO blocks SELECT * FROM other.blocks")
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger is damaged: block 10 does not match its checksum. {GONE}"
        )

    def test_truncated(self, ledger_of_ten):
        # From the second byte on: to SQLite a file of one byte is empty.
        whole = Path(ledger_of_ten).read_bytes()
        for length in [*range(2, len(whole), 127), 100, 4096, len(whole) - 4096, len(whole) - 1]:
            Path(ledger_of_ten).write_bytes(whole[:length])
            assert refusal(ledger_of_ten).startswith(
                ("run.ledger is not a ledger", "the ledger run.ledger is damaged")
            )

    def test_what_a_truncated_file_is_told(self, ledger_of_ten):
        Path(ledger_of_ten).write_bytes(Path(ledger_of_ten).read_bytes()[:-4096])
        assert refusal(ledger_of_ten) == (
            f"the ledger run.ledger is damaged: database disk image is malformed. {GONE}"
        )

    @pytest.mark.thorough
    def test_a_flipped_bit_is_noticed_or_changes_nothing(self, ledger_of_ten):
        whole = Path(ledger_of_ten).read_bytes()
        draw = random.Random(2)
        noticed = sum(
            flip_is_noticed(ledger_of_ten, whole, draw.randrange(len(whole) * 8)) for _ in range(500)
        )
        assert noticed > 20

    @pytest.mark.slow
    def test_a_flipped_bit_of_any_byte_is_noticed_or_changes_nothing(self, ledger_of_ten):
        whole = Path(ledger_of_ten).read_bytes()
        draw = random.Random(5)
        for byte in range(len(whole)):
            flip_is_noticed(ledger_of_ten, whole, 8 * byte + draw.randrange(8))

    def test_every_flipped_bit_of_a_stored_block_is_noticed(self, ledger_of_ten):
        whole = Path(ledger_of_ten).read_bytes()
        blob = scores(4).to_bytes()
        start = whole.index(blob)
        assert all(flip_is_noticed(ledger_of_ten, whole, start * 8 + bit) for bit in range(len(blob) * 8))

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
    def test_a_directory(self, path):
        os.mkdir(path)
        assert refusal(path) == (
            "the ledger run.ledger cannot be written: it is a directory. Give a path that can be written."
        )

    def test_no_directory(self, path):
        assert refusal("none/run.ledger") == (
            "the ledger none/run.ledger cannot be written: its directory does not exist. "
            "Give a path that can be written."
        )

    @pytest.mark.parametrize(
        ("there", "directory", "file"),
        [(False, 0o555, 0), (True, 0o555, 0o666), (True, 0o777, 0o444), (True, 0o555, 0o444)],
    )
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
        assert message == (
            f"the ledger {path} cannot be written: the file or its directory is read-only, "
            "or its file system cannot lock files. Give a path that can be written."
        )


def add_until_refused(ledger):
    for block in count():
        ledger.add(block, scores(block))


class TestDisk:
    def test_full(self, path):
        with Ledger.open(path, PLAN) as ledger:
            ledger._live.execute("PRAGMA max_page_count = 5")
            with pytest.raises(LedgerFull) as caught:
                add_until_refused(ledger)
            full = len(ledger.block_indices())
            assert contents(ledger) == list_entries(range(full))
            ledger._live.execute("PRAGMA max_page_count = 50")
            ledger.add(full, scores(full))
        assert str(caught.value) == (
            f"the disk of the ledger run.ledger is full: block {full} was not stored, "
            "but every block that was added before is safe. Free some space and give the same command again: "
            "it resumes the run."
        )
        with Ledger.open(path, PLAN) as ledger:
            assert contents(ledger) == list_entries(range(full + 1))

    def test_failing(self, path):
        # A limit on the size of files is the one failure of a disk that anybody can bring about.
        limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        full = Path(path).absolute()
        ended = subprocess.run(
            [sys.executable, "-c", f"{PLAY}\n{limit}play({str(full)!r})"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        acked = len(Path("run.ledger.acks").read_text().split())
        assert ended.stderr.splitlines()[-1] == (
            f"audits.runs.ledger.failures.{LedgerFailed.__name__}: the disk of the ledger {full} failed "
            "(disk I/O error): "
            f"block {acked} was not stored, but every block that was added before is safe. "
            "Repair it and give the same command again: it resumes the run."
        )
        with Ledger.open(path, {"seed": 1}) as ledger:
            assert contents(ledger) == list_entries(range(acked))


class TestOneWriter:
    busy = "the ledger run.ledger is in use by another run. Wait until it ends, or give another path."

    def test_the_same_process(self, ledger_of_ten):
        with Ledger.open(ledger_of_ten, PLAN) as ledger:
            assert refusal(ledger_of_ten) == self.busy
            ledger.add(10, scores(10))
        Ledger.open(ledger_of_ten, PLAN).close()

    def test_a_new_ledger_is_locked_from_the_start(self, path):
        with Ledger.open(path, PLAN):
            assert refusal(path) == self.busy

    def test_another_process_until_it_is_killed(self, path):
        with player() as process:
            child = start_playing(process, path)
            wait_until(lambda: read_acknowledgements(path))
            assert refusal(path, {"seed": 1}) == self.busy
            kill_player(process, child)
            Ledger.open(path, {"seed": 1}).close()

    def test_of_two_at_the_same_instant_one_is_let_in(self, path):
        for trial in range(8):
            name = f"{trial}.ledger"
            start, refused, messages = threading.Barrier(2), threading.Event(), []

            def enter(name=name, start=start, refused=refused, messages=messages):
                start.wait()
                try:
                    with Ledger.open(name, PLAN):
                        messages.append("in")
                        refused.wait(60)
                except InvalidArgument as error:
                    messages.append(str(error))
                    refused.set()

            threads = [threading.Thread(target=enter) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(messages) == ["in", self.busy.replace("run.ledger", name)]


@pytest.mark.thorough
def test_killed_at_fifty_random_moments_it_loses_nothing(path):
    draw = random.Random(4)
    seen = []
    with player() as process:
        for trial in range(50):
            name = f"{trial // 5}.ledger"  # five kills each, so that new and grown ledgers are both hit
            before = len(read_acknowledgements(name))
            child = start_playing(process, name)
            if trial % 2:  # amid blocks, however slow the disk; else perhaps before the first
                wait_until(lambda name=name, least=before + 40: len(read_acknowledgements(name)) >= least)
            time.sleep(draw.uniform(0, 0.04))
            kill_player(process, child)
            acked = read_acknowledgements(name)
            with Ledger.open(name, {"seed": 1}) as ledger:
                have = ledger.block_indices()
                assert acked <= have
                assert have == set(range(len(have)))
                assert contents(ledger) == list_entries(have)
            seen.append(len(have))
    assert max(seen) > 100

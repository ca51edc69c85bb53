"""A ledger that others delete, move, replace or truncate under a run: noticed, and saved elsewhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from support.lost_ledgers import (
    FILES,
    FOLDERS,
    delete,
    delete_folder,
    overwrite,
    replace,
    replace_by_a_ledger,
    replace_log,
)

from adversaries.release.point_swap import CountSwap
from arena import Release
from audits.cli.audit import get_exit_status
from audits.reports.json_form import to_data
from audits.runs.audit_estimators import RunProgress
from audits.runs.ledger import Ledger, LedgerLost
from audits.runs.ledger.copying import log_of
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.run_parts import RunPart, play_part
from audits.runs.verdict import Verdict
from learners.releases.laplace_count import LaplaceCount

pytestmark = pytest.mark.thorough

PLAN = Plan(
    learner=LaplaceCount(),
    adversary=CountSwap(),
    referee=Release(),
    epsilon=1.0,
    delta=0.0,
    games=2_000,
    block=50,
)
BLOCKS = len(PLAN.blocks)


def disturb_at(block: int, disturb: Callable[[], None]) -> Callable[[RunProgress], None]:
    """Disturb the run when so many blocks were tested."""
    seen = []

    def watch(progress: RunProgress) -> None:
        seen.append(progress)
        if len(seen) == block:
            disturb()

    return watch


def figures(verdict: Verdict) -> dict[str, object]:
    return {k: v for k, v in to_data(verdict).items() if k not in ("seconds", "games_per_second")}


@pytest.fixture(scope="module")
def calm() -> dict[str, object]:
    """The figures of a run that nobody disturbs."""
    return figures(run(PLAN))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger in a folder beside the current one."""
    for name in ("run", "here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "run" / "run.ledger"


def run_and_lose(path: Path, disturb: Callable[[Path], None], block: int) -> LedgerLost:
    with pytest.raises(LedgerLost) as lost:
        run(PLAN, ledger=path, watch=disturb_at(block, lambda: disturb(path)), command="arena audit ...")
    return lost.value


@pytest.mark.parametrize("began", [0, 20])
@pytest.mark.parametrize("disturb", [*FILES, *FOLDERS])
def test_it_is_noticed_at_the_next_block_and_goes_on_elsewhere(
    path: Path, disturb: Callable[[Path], None], began: int, calm: dict[str, object]
) -> None:
    if began:
        play_part(PLAN, RunPart(1, 2), ledger=path)
    lost = run_and_lose(path, disturb, block=7)
    folder = Path("here") if disturb in FOLDERS else Path("run")
    saved = path.parents[1] / folder / "run-saved.ledger"
    assert str(lost).startswith(f"the ledger {path} {(FILES | FOLDERS)[disturb]} while a run had it open: ")
    if not began:
        assert str(lost).endswith(
            f"7 blocks were saved in {saved}. The figures so far are right; "
            f"to go on, run arena runs resume {saved}."
        )
    assert lost.verdict is not None
    assert lost.verdict.interrupted
    assert 7 * 50 <= lost.verdict.games <= 8 * 50
    assert figures(run(PLAN, ledger=saved)) | {"played_now": 0} == calm | {"played_now": 0}


def test_a_signed_ledger_is_resumed_with_its_key(path: Path) -> None:
    with pytest.raises(LedgerLost, match=r"run arena runs resume .*/run-saved.ledger --key FILE\.$"):
        run(PLAN, ledger=path, watch=disturb_at(3, path.unlink), command="arena audit ...", key=b"k" * 32)


@pytest.mark.parametrize("disturb", [*FILES, *FOLDERS])
def test_it_is_noticed_after_the_last_block(
    path: Path, disturb: Callable[[Path], None], calm: dict[str, object]
) -> None:
    lost = run_and_lose(path, disturb, block=BLOCKS)
    assert lost.verdict is not None
    assert figures(lost.verdict) == calm
    assert get_exit_status(lost.verdict) == 0
    saved = path.parents[1] / ("here" if disturb in FOLDERS else "run") / "run-saved.ledger"
    assert figures(run(PLAN, ledger=saved)) == calm


@pytest.mark.parametrize("disturb", [replace, replace_by_a_ledger, overwrite, replace_log])
def test_what_others_put_in_its_place_is_left_alone(path: Path, disturb: Callable[[Path], None]) -> None:
    put: list[bytes] = []

    def disturb_and_read(path: Path) -> None:
        disturb(path)
        place = log_of(path) if disturb is replace_log else path
        put.append(place.read_bytes())

    run_and_lose(path, disturb_and_read, block=7)
    assert (log_of(path) if disturb is replace_log else path).read_bytes() == put[0]
    if disturb is not replace_log:  # SQLite would move it into the file
        assert not log_of(path).exists()


def test_nothing_is_written_over(path: Path) -> None:
    for name in ("run-saved.ledger", "run-saved-2.ledger"):
        path.with_name(name).write_bytes(b"kept")
    assert "run-saved-3.ledger" in str(run_and_lose(path, delete, block=7))
    assert path.with_name("run-saved-2.ledger").read_bytes() == b"kept"


def test_without_folder_and_current_folder_it_is_among_temporary_files(path: Path) -> None:
    def disturb(path: Path) -> None:
        delete_folder(path)
        Path.cwd().rmdir()

    lost = run_and_lose(path, disturb, block=7)
    assert f"7 blocks were saved in {path.parents[1] / 'temporary' / 'run-saved.ledger'}." in str(lost)


def test_where_nothing_can_be_saved_it_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(path.parent / "gone"))

    def disturb(path: Path) -> None:
        delete_folder(path)
        Path.cwd().rmdir()

    lost = run_and_lose(path, disturb, block=7)
    assert str(lost).endswith(
        "its blocks could not be saved (No such file or directory). "
        "Give the same command again, with another ledger."
    )
    assert lost.verdict is not None
    assert lost.verdict.games == 350


def test_blocks_that_cannot_be_read_are_played_again(path: Path, calm: dict[str, object]) -> None:
    """Those in the file, not those in its log, which is still whole."""
    run(PLAN, ledger=path)
    ledger = Ledger.open(path, PLAN.describe())
    os.truncate(path, 4_096)
    with pytest.raises(LedgerLost) as lost:
        ledger.close()
    assert f"0 blocks of {BLOCKS} were saved in " in str(lost.value)
    assert figures(run(PLAN, ledger=path.with_name("run-saved.ledger"))) == calm


def test_a_run_from_python_is_told_how_it_goes_on(path: Path) -> None:
    with pytest.raises(LedgerLost, match="to go on, give that file as the ledger of the same run"):
        run(PLAN, ledger=path, watch=disturb_at(2, path.unlink))


def test_what_does_no_harm_is_none_of_it(path: Path, calm: dict[str, object]) -> None:
    def disturb() -> None:
        os.utime(path)
        path.chmod(0o600)
        path.parent.joinpath("run-saved.ledger").touch()

    assert figures(run(PLAN, ledger=path, watch=disturb_at(7, disturb))) == calm


def test_an_interrupted_run_says_that_its_ledger_is_gone(path: Path) -> None:
    def interrupt() -> None:
        path.unlink()
        raise KeyboardInterrupt

    with pytest.raises(LedgerLost) as lost:
        run(PLAN, ledger=path, watch=disturb_at(7, interrupt))
    assert lost.value.verdict is not None
    assert lost.value.verdict.games == 350
    assert lost.value.verdict.interrupted


def test_a_relative_path_is_that_of_the_folder_at_the_start(path: Path, calm: dict[str, object]) -> None:
    os.chdir(path.parent)
    moved = disturb_at(7, lambda: os.chdir(path.parents[1] / "here"))
    assert figures(run(PLAN, ledger="run.ledger", watch=moved)) == calm
    os.chdir(path.parent)

    def disturb() -> None:
        os.chdir(path.parents[1] / "here")
        path.unlink()

    path.unlink()
    with pytest.raises(LedgerLost, match=str(path.with_name("run-saved.ledger"))):
        run(attrs.evolve(PLAN, seed=1), ledger="run.ledger", watch=disturb_at(7, disturb))

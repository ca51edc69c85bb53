"""Surveys: what each entry can end with, processes of their own, ledgers, comparisons, pages and commands."""

from __future__ import annotations

import json
import time
from pathlib import Path
from threading import Event

import attrs
import pytest
from support.command_line import Command
from support.paths import ROOT

import audits
from arena import InvalidArgument, NothingTested
from audits.runs import learner_failures
from audits.surveys import survey as survey_module
from audits.surveys.catalogue import Catalogue, list_catalogues, load_catalogue
from audits.surveys.entry_process import EntryTask, play_entry
from audits.surveys.entry_result import (
    CRASHED,
    FAILED,
    MISSING,
    NO_RETURN,
    NOT_REFUTED,
    REFUTED,
    TOO_SLOW,
    UNDECIDED,
    UNREADABLE,
    EntryResult,
)
from audits.surveys.run_entry import EntryStopped, run_entry
from audits.surveys.watched_calls import CallState

PATH = str(ROOT / "tests" / "support" / "toy_catalogue.py")
TOY = {"library": "toy", "catalogue": PATH, "seed": 0, "error": 1e-6, "max_seconds": 3_600.0}
arena = Command("survey")


def make_task(name: str, max_calls: int | None = 2_000) -> EntryTask:
    return EntryTask(name=name, max_calls=max_calls, **TOY)  # type: ignore[arg-type]


def play(name: str, tmp_path: Path) -> EntryResult:
    """The audit of an entry in this process, which has checked no mechanism before."""
    learner_failures._checked.clear()
    return play_entry(make_task(name), CallState.create(tmp_path / "state"), time.monotonic())


def run(name: str, call_seconds: float = 3_600.0) -> EntryResult:
    """The audit of an entry in a process of its own."""
    return run_entry(load_catalogue("toy", PATH).entries[name], make_task(name), call_seconds, Event())


# --- one entry ----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_flawed_mechanism_is_refuted_with_the_data_that_show_it(tmp_path: Path) -> None:
    result = play("count: flawed", tmp_path)
    assert (result.outcome, result.claim, result.neighbours) == (REFUTED, "ε = 1", "add or remove one")
    assert result.certified is not None
    assert result.certified > 1
    assert "world_0 = []" in result.pair
    assert EntryResult.from_bytes(result.to_bytes()) == result


@pytest.mark.thorough
def test_a_correct_mechanism_is_not_refuted_and_the_power_is_said(tmp_path: Path) -> None:
    result = play("count", tmp_path)
    assert result.outcome == NOT_REFUTED
    assert result == play("count", tmp_path)  # the same seed gives the same figures
    assert result.detectable is None or result.multiple == pytest.approx(1 + result.detectable)


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("missing", MISSING, "NoSuchMechanism"),
        ("no map", UNREADABLE, "AttributeError"),
        ("no number", UNREADABLE, "must be a number"),
        ("infinite", UNREADABLE, "finite"),
    ],
)
def test_what_cannot_be_audited_says_why(name: str, outcome: str, reason: str, tmp_path: Path) -> None:
    result = play(name, tmp_path)
    assert result.outcome == outcome
    assert reason in result.reason
    assert not result.audited


def test_making_a_mechanism_can_take_all_the_time(tmp_path: Path) -> None:
    late = time.monotonic() - TOY["max_seconds"]  # type: ignore[operator]
    result = play_entry(make_task("count"), CallState.create(tmp_path / "state"), late)
    assert result.outcome == TOO_SLOW


@pytest.mark.thorough
def test_a_call_that_never_returns_ends_its_entry_and_says_where() -> None:
    result = run("hangs", call_seconds=0.5)
    assert result.outcome == NO_RETURN
    assert "toy_catalogue.py" in result.reason


@pytest.mark.thorough
def test_a_crash_ends_its_entry_only() -> None:
    result = run("crashes")
    assert result.outcome == CRASHED
    assert "SIGABRT" in result.reason


@pytest.mark.thorough
def test_prints_warnings_and_forks_are_counted() -> None:
    result = run("raises")
    assert (result.outcome, "no data will do" in result.reason) == (FAILED, True)
    assert result.first_line == "counting ..."
    assert result.printed >= 1
    assert result.forked >= 1
    assert [*result.warned] == ["UserWarning: the count is private"]  # once, however often it was given


@pytest.mark.thorough
def test_an_entry_that_is_stopped_leaves_no_process() -> None:
    stop = Event()
    stop.set()
    with pytest.raises(EntryStopped):
        run_entry(load_catalogue("toy", PATH).entries["hangs"], make_task("hangs"), 20.0, stop)


# --- catalogues ---------------------------------------------------------------------------------------------


def test_shipped_catalogues_can_be_read_without_their_libraries() -> None:
    assert {"diffprivlib", "opendp", "opacus", "jax-privacy"} <= set(list_catalogues())
    for name in list_catalogues():
        assert all(entry.name == key for key, entry in load_catalogue(name).entries.items())


def test_two_entries_of_a_name_are_refused() -> None:
    catalogue = Catalogue()
    catalogue.add("count", int)
    with pytest.raises(InvalidArgument, match="two entries"):
        catalogue.add("count", int)


def test_a_claim_of_zero_is_tested_as_a_tiny_one() -> None:
    catalogue = Catalogue()
    catalogue.add("count", int, claim=lambda mechanism: (0, 0.1))
    assert catalogue.entries["count"].read_claim(int)["epsilon"] == pytest.approx(0, abs=1e-8)


def test_unknown_catalogues_and_entries_are_refused(tmp_path: Path) -> None:
    assert "there is no catalogue of that name" in arena.refusal("diffprivlob")
    assert "there is no entry of that name" in arena.refusal("toy", "--catalogue", PATH, "--only", "cuont")
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert "must define one audits.Catalogue" in arena.refusal("toy", "--catalogue", str(empty))


# --- whole surveys ------------------------------------------------------------------------------------------


def make_result(name: str, outcome: str = NOT_REFUTED, **fields: object) -> EntryResult:
    certified = 2.5 if outcome == REFUTED else None
    return EntryResult(name=name, outcome=outcome, claim="ε = 1", epsilon=1.0, certified=certified, **fields)


def make_survey(*results: EntryResult, version: str = "1.0") -> audits.Survey:
    return audits.Survey(
        library="toy",
        version=version,
        seed=0,
        error=1e-6,
        max_seconds=1.0,
        max_calls=None,
        results=results,
        planned=len(results),
    )


OLD = make_survey(
    make_result("a"), make_result("b", REFUTED), make_result("c"), make_result("d", MISSING), make_result("e")
)
NEW = make_survey(
    make_result("a", REFUTED, pair="world_0 = []", note="As printed."),
    make_result("b", detectable=1.5),
    make_result("c", NO_RETURN, reason="a call did not return within 1 s"),
    make_result("d", printed=3, first_line="<b>hello</b>", forked=2, warned={"UserWarning: w": 4}),
    make_result("f", REFUTED),
    version="2.0",
)


def write(survey: audits.Survey, path: Path) -> str:
    path.write_text(json.dumps(survey.to_dict()))
    return str(path)


def test_two_surveys_are_compared_new_refutations_first(tmp_path: Path) -> None:
    comparison = attrs.evolve(NEW, before=OLD).comparison
    assert comparison is not None
    assert attrs.asdict(comparison) == {
        "refuted": ("a", "f"),
        "fixed": ("b",),
        "lost": ("c",),
        "audited": ("d",),
        "added": ("f",),
        "removed": ("e",),
    }
    files = write(NEW, tmp_path / "new.json"), "--against", write(OLD, tmp_path / "old.json")
    text = arena.text(*files, status=3)
    assert text.index("new refutations") < text.index("no longer refuted")
    assert arena.json(*files, status=3)["comparison"]["refuted"] == ["a", "f"]


def test_a_refutation_that_is_not_new_does_not_fail_a_comparison(tmp_path: Path) -> None:
    path = write(OLD, tmp_path / "old.json")
    arena.text(path, status=3)
    arena.text(path, "--against", path)


def test_a_survey_survives_its_json_and_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert audits.Survey.load(write(NEW, tmp_path / "new.json")).to_dict() == NEW.to_dict()
    other = tmp_path / "other.json"
    other.write_text('{"kind": "audit"}')
    assert "holds no survey" in arena.refusal(str(other))


def test_the_page_and_the_text_say_the_same(tmp_path: Path) -> None:
    page = NEW.to_html(tmp_path / "page.html")
    for text in ("ε ≥ 2.5", "2.5 times the claim", "a call did not return within 1 s", "As printed."):
        assert text in NEW.summary()
        assert text in page
    assert "<b>hello</b>" not in page


def test_a_killed_survey_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    def play_some(entry, task, call_seconds, stop):  # type: ignore[no-untyped-def]
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(entry.name)
        return make_result(entry.name)

    monkeypatch.setattr(survey_module, "run_entry", play_some)
    arguments = {"catalogue": PATH, "only": ["count*", "hangs"], "ledger": tmp_path / "survey.ledger"}
    first = audits.survey("toy", **arguments)
    assert first.interrupted
    assert [result.name for result in first.results] == played == ["count", "count: flawed"]
    played[:] = ["begun anew"]
    second = audits.survey("toy", **arguments)
    assert played == ["begun anew", "hangs"]
    assert not second.interrupted
    assert len(second.results) == second.planned == 3
    with pytest.raises(InvalidArgument, match="another plan"):
        audits.survey("toy", **{**arguments, "seed": 1})
    assert second.notes == ("The catalogue was written for toy 1.0.",)
    played[:] = []
    whole = audits.survey("toy", catalogue=PATH)
    assert "Without an entry: sum." in whole.notes


def test_a_survey_in_which_nothing_can_be_audited_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        survey_module, "run_entry", lambda entry, *others: make_result(entry.name, MISSING, reason="gone")
    )
    with pytest.raises(NothingTested, match="gone"):
        audits.survey("toy", catalogue=PATH)


@pytest.mark.slow
def test_the_command_surveys_a_catalogue(tmp_path: Path) -> None:
    words = ("toy", "--catalogue", PATH, "--only", "count: flawed", "--max-calls", "2_000")
    result = arena.json(*words, "--html", str(tmp_path / "page.html"), status=3)
    assert [entry["outcome"] for entry in result["results"]] == [REFUTED]
    assert "count: flawed" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_undecided_entries_are_counted_and_listed_apart(tmp_path: Path) -> None:
    entry = make_result("g", UNDECIDED, reason="too few games were played")
    survey = make_survey(make_result("a", detectable=1.5), entry)
    assert "0 refuted, 1 not refuted, 1 undecided, 0 not audited" in survey.headline
    assert "too few games were played" in survey.summary()
    assert not survey.alarming
    assert EntryResult.from_bytes(entry.to_bytes()) == entry
    ran = arena(write(survey, tmp_path / "survey.json"))
    assert ran.exit_code == 4


def test_a_bound_that_a_relation_explains_is_no_lack_of_games() -> None:
    explained = attrs.evolve(make_result("a"), certified=1.5)
    assert "too few games" not in make_survey(explained).summary()

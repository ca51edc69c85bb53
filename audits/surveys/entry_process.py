"""The process of one entry of a catalogue: it makes the mechanism, searches, and writes the result."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import attrs

from arena import ArenaError, Claim, InvalidArgument, NothingTested
from arena.capabilities import read_schema
from arena.errors import RAISED, describe_error
from arena.records import Records
from arena.schemas.differences import show_pair
from audits.adversary_search.search_report import SearchResult, describe_score
from audits.api.audit import audit
from audits.api.search import search
from audits.counted_warnings import count_warnings
from audits.runs.limits import SECONDS, Limits, explain_stop
from audits.runs.other_relation import change_relation
from audits.runs.run import run
from audits.runs.workers.worker_process import end_with_parent
from audits.surveys.catalogue import Entry, UnreadableClaim, load_catalogue
from audits.surveys.entry_result import (
    FAILED,
    MISSING,
    NOT_REFUTED,
    REFUTED,
    TOO_SLOW,
    UNDECIDED,
    UNREADABLE,
    EntryResult,
)
from audits.surveys.watched_calls import CallState, watch_mechanism
from audits.tournaments.cells import explain

_MOST_WARNINGS = 5  # texts that are kept
_MOST_LETTERS = 2_000  # of a reason, a failure, or the code of a pair
_BOUND_GAMES = 5_000  # in each world, for the bound of a claim that is refuted
_LEAST_SECONDS = 1.0  # that are left to a search
TRACE = getattr(signal, "SIGUSR1", None)  # has the process print where it is


@attrs.frozen(kw_only=True)
class EntryTask:
    """What the process of an entry is asked for. library, catalogue: as of `load_catalogue`. max_seconds:
    from the start of the process."""

    library: str
    catalogue: str | None
    name: str
    seed: int
    error: float
    max_seconds: float
    max_calls: int | None


def main() -> None:
    """Do the task of the command line, and write the result to the file that it names."""
    task, state_file, result_file, parent = sys.argv[1:]
    started = time.monotonic()
    end_with_parent(int(parent), True)
    faulthandler.enable(all_threads=False)
    if TRACE is not None:
        faulthandler.register(TRACE, all_threads=False)
    state = CallState(Path(state_file))
    state.count_forks()
    result = play_entry(EntryTask(**json.loads(task)), state, started)
    unfinished = Path(f"{result_file}.unfinished")
    unfinished.write_bytes(result.to_bytes())
    unfinished.replace(result_file)
    sys.stdout.flush()
    os._exit(0)  # the mechanism may have left threads


def make_mechanism(library: str, catalogue: str | None, name: str) -> Any:
    """The mechanism of an entry."""
    return load_catalogue(library, catalogue).entries[name].make()


def play_entry(task: EntryTask, state: CallState, started: float) -> EntryResult:
    """Audit an entry. started: when this process did, on the monotonic clock."""
    entry = load_catalogue(task.library, task.catalogue).entries[task.name]
    result = describe_entry(entry)
    with count_warnings(show=lambda given, times: None) as counts:
        warnings.simplefilter("always")
        result = _audit(entry, task, result, state, started)
    warned: Counter[str] = Counter()
    for given, times in counts.items():
        warned[_shorten(" ".join(f"{given.category.__name__}: {given.text}".split()))] += times
    return attrs.evolve(result, warned={text: warned[text] for text in list(warned)[:_MOST_WARNINGS]})


def describe_entry(entry: Entry, outcome: str = FAILED, reason: str = "") -> EntryResult:
    """The result of an entry of which no more is known than what the catalogue says."""
    epsilon = float(entry.epsilon) if type(entry.epsilon) in (int, float) else None
    parts = [f"ε = {entry.epsilon:g}"] if epsilon is not None else []
    parts += [f"δ = {entry.delta:g}"] if type(entry.delta) in (int, float) and entry.delta else []
    parts += [str(entry.curve)] if entry.curve is not None else []
    return EntryResult(
        name=entry.name,
        outcome=outcome,
        reason=_shorten(reason),
        claim=", ".join(parts),
        epsilon=epsilon,
        neighbours="" if entry.neighbours is None else str(entry.neighbours),
        note=entry.note,
    )


def _audit(
    entry: Entry, task: EntryTask, result: EntryResult, state: CallState, started: float
) -> EntryResult:
    try:
        mechanism = entry.make()
    except RAISED as error:
        missing = isinstance(error, ImportError | AttributeError)
        reason = describe_error(error) if missing else f"making it raised {describe_error(error)}"
        return attrs.evolve(result, outcome=MISSING if missing else FAILED, reason=_shorten(reason))
    try:
        claim = entry.read_claim(mechanism)
        seconds = task.max_seconds - (time.monotonic() - started)
        if seconds < _LEAST_SECONDS:
            return attrs.evolve(result, outcome=TOO_SLOW, reason="making it took all the time")
        if entry.against:
            return _play_adversaries(entry, mechanism, task, result, seconds)
        found = search(
            watch_mechanism(mechanism, state, (make_mechanism, (task.library, task.catalogue, task.name))),
            data=make_data(entry),
            **claim,
            error=task.error,
            seed=task.seed,
            max_seconds=seconds,
            max_calls=task.max_calls,
            announce=_say_nothing,
        )
        if not isinstance(found, SearchResult):
            raise InvalidArgument("a survey audits claims, and no odometers")
    except UnreadableClaim as error:
        return attrs.evolve(result, outcome=UNREADABLE, reason=_shorten(explain(error)))
    except (MemoryError, *RAISED) as error:
        outcome, reason = _explain_refusal(error)
        if 0 < state.calls == state.failed:
            outcome, reason = FAILED, f"it raised in all of {state.calls:,} calls, first {state.failure}"
        return attrs.evolve(result, outcome=outcome, reason=_shorten(reason))
    return _read_search(result, _certify_more(found, seconds / 2, task.max_calls))


def _explain_refusal(error: BaseException) -> tuple[str, str]:
    """The outcome of an entry whose search raised, and the reason."""
    late = isinstance(error, InvalidArgument) and error.rule.startswith(SECONDS)
    late = late or (isinstance(error, NothingTested) and explain_stop(SECONDS) in str(error))
    return TOO_SLOW if late else FAILED, explain(error)


def _play_adversaries(
    entry: Entry, learner: Any, task: EntryTask, result: EntryResult, seconds: float
) -> EntryResult:
    """The audit of a learner against the adversaries of the entry, of which the best counts."""
    number = len(entry.against)
    verdicts = {
        name: audit(
            learner,
            name,
            confidence=1 - task.error / number,
            seed=task.seed,
            max_seconds=seconds / number,
            max_calls=task.max_calls,
            announce=_say_nothing,
        )
        for name in entry.against
    }
    best = max(verdicts, key=lambda name: verdicts[name].epsilon_lower)
    verdict = verdicts[best]
    refuted = any(each.refuted for each in verdicts.values())
    decided = refuted or not all(each.undecided for each in verdicts.values())
    undecided = "" if decided else verdict.undecided
    return attrs.evolve(
        result,
        outcome=REFUTED if refuted else UNDECIDED if undecided else NOT_REFUTED,
        reason=undecided,
        claim=_describe_claim(verdict.claim),
        neighbours=str(verdict.claim.neighbours),
        epsilon=verdict.claim.epsilon,
        certified=verdict.epsilon_lower,
        ceiling=verdict.ceiling,
        told_apart=f"the adversary {best}",
        examples=number,
        games=sum(each.games for each in verdicts.values()),
    )


def _say_nothing(text: str) -> None: ...


def _certify_more(found: SearchResult, seconds: float, max_calls: int | None) -> SearchResult:
    """The search with the bound of more games: those that confirm it, which stopped when the claim was
    refuted, and others after them."""
    if found.plan is None:
        return found
    games = max(found.plan.games, _BOUND_GAMES)
    plan = attrs.evolve(found.plan, until_refuted=False, games=games)
    try:
        with Limits(max_calls, seconds) as limits:
            verdict = run(plan, limits=limits, announce=_say_nothing)
    except ArenaError:  # the bound so far is valid
        return found
    if verdict.epsilon_lower <= (0.0 if found.verdict is None else found.verdict.epsilon_lower):
        return found
    if not found.refuted and change_relation(found.learner, found.claim, verdict.epsilon_lower) is None:
        return attrs.evolve(found, verdict=verdict, refuted=True, relation_note="", undecided="")
    return attrs.evolve(found, verdict=verdict)


def make_data(entry: Entry) -> Any:
    """The strategy of the data of an entry, or what else it gives for them."""
    is_maker = callable(entry.data) and not hasattr(entry.data, "flatmap")
    return entry.data() if is_maker else entry.data


def _read_search(result: EntryResult, found: SearchResult) -> EntryResult:
    changed: dict[str, Any] = {}
    if found.adversary is not None and found.verdict is not None:
        schema = read_schema(found.learner)
        worlds = [getattr(found.adversary, name, None) for name in ("world_0", "world_1")]
        if schema is not None and all(isinstance(world, Records) for world in worlds):
            changed["pair"] = _shorten(show_pair(schema, *worlds))  # type: ignore[arg-type]
        changed["certified"] = found.verdict.epsilon_lower
        changed["told_apart"] = describe_score(found.adversary)
    return attrs.evolve(
        result,
        outcome=REFUTED if found.refuted else UNDECIDED if found.undecided else NOT_REFUTED,
        reason=_shorten(found.relation_note or found.undecided) if found.undecided else "",
        claim=_describe_claim(found.claim),
        neighbours=str(found.claim.neighbours),
        epsilon=found.claim.epsilon,
        detectable=found.detectable,
        examples=found.examples,
        games=found.games,
        failed=found.failed,
        failure=_shorten(found.failure),
        stopped=found.stopped,
        **changed,
    )


def _describe_claim(claim: Claim) -> str:
    text = f"ε = {claim.epsilon:.4g}" + (f", δ = {claim.delta:.3g}" if claim.delta else "")
    return text if claim.curve is None else f"{claim.curve}: {text}"


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."

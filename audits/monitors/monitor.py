"""`audits.monitor`: play one night for the claims of a project, and add its evidence to earlier nights'."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import attrs

from arena import InvalidArgument
from arena.errors import RAISED, describe_error, is_users_file
from arena.settings import at_least, check_value, less_than, more_than, number, whole
from audits.monitors.claims import ClaimEntry, Target, check_names, load_claims, resolve_target
from audits.monitors.code_version import (
    READ,
    add_files,
    describe_version,
    identify_version,
    list_functions,
)
from audits.monitors.monitor_report import MonitorReport
from audits.monitors.night import NightPlan, NightResult, play_night
from audits.monitors.store import ClaimVersion, Night, Store
from audits.monitors.used_files import FileRecorder, digest_again, record_files
from audits.registry.suggestions import explain_arguments
from audits.runs.run_parts import RunPart
from audits.runs.workers import Workers, map_in_order

ERROR = 1e-4
MINUTES = 10.0
_MAX_FAILURES = 10  # of a version that the store keeps, the last ones
_OTHER_FILES = "the night read other files than those before, so that its games are discarded"
_CHANGED = "the code changed while the night was played, so that its games are discarded"


@explain_arguments
def monitor(
    claims: str | os.PathLike[str] | Sequence[ClaimEntry],
    *,
    store: str | os.PathLike[str],
    minutes: float | None = None,
    games: int | None = None,
    error: float = ERROR,
    part: str = "1/1",
    seed: int = 0,
    jobs: int | Workers = 1,
    progress: Callable[[int, int], None] | None = None,
) -> MonitorReport:
    """Play one night against every claim of a project, and add its evidence to what a store holds.

    claims: a file of Python that states them by `audits.claim`, or a list of what that returns.
    store: a folder, which the first night makes. minutes: of this night, shared by the claims; default: 10,
        without games. games: in each world to bet on for each claim, at most; the search plays as many again.
    error: the probability, at most, that any claim is ever reported false on a version of the code on which
        it is true, over all nights and versions; the store keeps it.
    part: "1/2" and "2/2" are two stores that both report and may be merged; each spends half of the error.
    seed: random seed. jobs: claims that are played at a time. progress: called with the numbers of claims
        done and of all.

    A claim that is refuted is not played again until its code changes. One that cannot be played is reported
    as failed, and the others are played all the same. A keyboard interrupt ends the night, which counts.

    Raises: InvalidArgument if the claims or the store make no sense.
    """
    with record_files() as loading:
        entries = [*claims] if isinstance(claims, list | tuple) else load_claims(os.fspath(claims))  # type: ignore[arg-type]
    check_names(entries)
    check_value("error", error, number, more_than(0), less_than(1))
    if minutes is not None:
        check_value("minutes", minutes, number, more_than(0))
    elif games is None:
        minutes = MINUTES
    if games is not None:
        check_value("games", games, whole, at_least(1))
    workers = Workers.from_jobs(jobs)
    book = Store.open(store, error, RunPart.parse(part))
    with book.lock():
        book = Store.read(store)
        book.add_claims({entry.name: entry.weight for entry in entries})
        nights = [_begin_night(book, entry, loading) for entry in entries]
        book.save_index()
        waiting = [night for night in nights if night.version is not None and not night.version.refuted]
        seconds = None
        if minutes is not None and waiting:
            seconds = 60 * minutes * min(1.0, (workers.jobs or 1) / len(waiting))
        plans = [night.make_plan(book, seed, seconds, games) for night in waiting]
        interrupted = _play(book, waiting, plans, workers, progress)
    failures = {night.entry.name: night.failure for night in nights}
    places = {night.entry.name: night.place for night in nights}
    return MonitorReport.of(book, failures=failures, places=places, interrupted=interrupted)


@attrs.define(kw_only=True)
class _ClaimNight:
    """The night of one claim. target, version: unless it could not be resolved. parts: of the version, before
    it is played. read: the files that were read to resolve it. failure: why it failed."""

    entry: ClaimEntry
    target: Target | None = None
    version: ClaimVersion | None = None
    parts: dict[str, dict[str, str]] = attrs.field(factory=dict)
    read: dict[str, str] = attrs.field(factory=dict)
    failure: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line of the mechanism, if the user wrote it, or else of the claim."""
        functions = [] if self.target is None else list_functions(self.target.learner)
        for code in (function.__code__ for function in functions):
            if Path(code.co_filename).is_file() and is_users_file(code.co_filename):
                return code.co_filename, code.co_firstlineno
        return self.entry.file, self.entry.line

    def make_plan(self, store: Store, seed: int, seconds: float | None, games: int | None) -> NightPlan:
        """What is played. Its seed follows from the claim, the version, the part and the night's number."""
        version = self.version
        assert version is not None
        assert self.target is not None
        part = str(store.part)
        purpose = (seed, version.claim, version.version, part, len(version.numbers))
        digest = hashlib.sha256(repr((*purpose, version.find_next_night(part))).encode()).digest()
        return NightPlan(
            target=self.target,
            seed=int.from_bytes(digest[:6], "big"),
            needed=store.compute_threshold(version) - version.log_wealth,
            kept=version.kept or store.find_kept(version.claim),
            seconds=seconds,
            games=games,
            file=str(store.find_file(version).with_suffix(".py")),
        )


def _begin_night(store: Store, entry: ClaimEntry, loading: FileRecorder) -> _ClaimNight:
    """Find the mechanism of a claim and the version of its code, which the store then knows. loading: what
    was read when the file of claims was loaded."""
    try:
        with record_files() as resolving:
            target = resolve_target(entry)
            parts = describe_version(target)
    except RAISED as error:  # the user's code may raise anything
        failure = str(error) if isinstance(error, InvalidArgument) else describe_error(error)
        return _ClaimNight(entry=entry, failure=failure)
    folder = str(store.folder)
    read = {**loading.digest(entry.folder, folder, modules=False), **resolving.digest(entry.folder, folder)}
    before = store.find_current(entry.name)
    known = {} if before is None else before.parts.get(READ, {})
    described = add_files(parts, digest_again(known, entry.folder))
    version = store.find_version(entry.name, identify_version(described))
    if version is None:
        version = _add_version(store, entry.name, target, described)
    store.current[entry.name] = version.version
    return _ClaimNight(entry=entry, target=target, version=version, parts=parts, read=read)


def _add_version(store: Store, name: str, target: Target, parts: dict[str, dict[str, str]]) -> ClaimVersion:
    claim = target.claim
    version = ClaimVersion(
        claim=name,
        version=identify_version(parts),
        numbers=[store.spend_next(name)],
        statement=str(claim),
        epsilon=float(claim.epsilon),
        delta=float(claim.delta),
        has_curve=claim.curve is not None,
        parts=parts,
    )
    store.add_version(version)
    store.save(version)
    return version


def _choose_version(store: Store, night: _ClaimNight, read: dict[str, str]) -> ClaimVersion | None:
    """The version that a night's games are about, which have read these files; None if they are lost.

    Files that were not read in earlier nights, or had another content, make a new version, whose first night
    this is. The version that was to be played then begins again, since whether games count for it must not be
    chosen by what happened in them: docs/proofs/monitoring.md."""
    version, target = night.version, night.target
    assert version is not None
    assert target is not None
    if read.items() <= version.parts.get(READ, {}).items():
        return version
    parts = add_files(night.parts, read)
    known = store.find_version(version.claim, identify_version(parts))
    if not version.nights:
        store.replace_version(version, version.version if known else identify_version(parts), parts)
        chosen: ClaimVersion | None = version
    else:
        store.begin_again(version)
        store.save(version)
        chosen = None if known else _add_version(store, version.claim, target, parts)
    store.current[version.claim] = (known or chosen or version).version
    store.save_index()
    return chosen


def _play(
    store: Store,
    nights: Sequence[_ClaimNight],
    plans: Sequence[NightPlan],
    workers: Workers,
    progress: Callable[[int, int], None] | None,
) -> bool:
    """Play the nights, store each when it ends, and return whether they were interrupted."""
    commit, done = find_commit(), 0

    def keep(index: int, result: NightResult) -> None:
        nonlocal done
        _end_night(store, nights[index], result, commit)
        done += 1
        if progress is not None:
            progress(done, len(nights))

    call = partial(_play_one, plans)
    with closing(map_in_order(call, range(len(plans)), workers, keep=keep, unit="claim")) as results:
        try:
            return any(result.interrupted for result in results)  # the first one ends it
        except KeyboardInterrupt:
            return True


def _play_one(plans: Sequence[NightPlan], index: int) -> NightResult:
    return play_night(plans[index])


def _end_night(store: Store, night: _ClaimNight, result: NightResult, commit: str) -> None:
    """Store what a night found."""
    version, target = night.version, night.target
    assert version is not None
    assert target is not None
    if describe_version(target) != night.parts:
        night.failure = _CHANGED
        return
    refuted = result.refuted
    if result.bet and not result.failure:
        chosen = _choose_version(store, night, {**night.read, **result.files})
        if chosen is None:
            night.failure = _OTHER_FILES
            return
        if chosen is not version:
            refuted = result.log_wealth >= store.compute_threshold(chosen)
        version = night.version = chosen
    today = datetime.now(UTC).date().isoformat()
    version.kept = result.kept or version.kept
    if result.failure:
        night.failure = result.failure
        version.failures = [*version.failures, f"{today}: {result.failure}"][-_MAX_FAILURES:]
        if result.bet:
            store.begin_again(version)
    elif result.bet:
        part = str(store.part)
        version.nights.append(
            Night(
                number=version.find_next_night(part),
                part=part,
                games=result.games,
                explored=result.explored,
                log_wealth=result.log_wealth,
                adversary=result.adversary,
                seconds=round(result.seconds, 1),
                date=today,
                commit=commit,
            )
        )
        version.refuted, version.counterexample = refuted, result.counterexample if refuted else ""
    store.save(version)


def find_commit() -> str:
    """The commit that is checked out, for the history; empty if there is none."""
    if sha := os.environ.get("GITHUB_SHA"):
        return sha[:12]
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, cwd=Path.cwd())
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""

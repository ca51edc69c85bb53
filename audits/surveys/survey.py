"""A survey: every entry of a catalogue audited, as a report, beside an earlier one."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, nullcontext, suppress
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from threading import Event
from typing import Any

from arena.errors import RAISED, InvalidArgument, NothingTested, describe_error, suggest_extra
from arena.settings import at_least, check_value, less_than, more_than, number, whole
from audits.adversary_search.adversary_search import ERROR
from audits.registry.origins import versions
from audits.registry.suggestions import explain_arguments, unknown_name
from audits.surveys.catalogue import Catalogue, load_catalogue
from audits.surveys.entry_process import EntryTask
from audits.surveys.entry_result import EntryResult, SurveyLedger
from audits.surveys.run_entry import EntryStopped, run_entry
from audits.surveys.survey_report import Survey

MAX_SECONDS, CALL_SECONDS = 40.0, 30.0  # of an entry, and of a call


@explain_arguments
def survey(
    library: str,
    *,
    catalogue: str | os.PathLike[str] | None = None,
    only: Sequence[str] = (),
    against: str | os.PathLike[str] | Survey | None = None,
    max_seconds: float = MAX_SECONDS,
    max_calls: int | None = None,
    call_seconds: float = CALL_SECONDS,
    error: float = ERROR,
    seed: int = 0,
    jobs: int = 1,
    ledger: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Survey:
    """Search every mechanism of a library that a catalogue knows for a violation of what it claims.

    Each entry is audited in a process of its own by `audits.search`, so that what hangs, forks, prints, warns
    or crashes is a result, too.

    library: an installed distribution. catalogue: a file that defines an `audits.Catalogue`; default: the one
        that comes with dp-arena. only: names of entries, with * and ?; default: all.
    against: an earlier survey, or the file with its JSON, which the result is compared with.
    max_seconds, max_calls: of an entry. call_seconds: after which a call counts as one that never returns.
    error: the probability, at most, that a true claim is refuted, for each entry by itself.
    jobs: entries at a time. Figures are the same for the same seed, unless max_seconds ends a search or the
        library draws random numbers of its own. ledger: stores finished entries; the same call continues.
    progress: called with the number of entries so far, and of all.

    Raises: InvalidArgument; NothingTested if no entry could be audited.
    """
    for name, value in (("max_seconds", max_seconds), ("call_seconds", call_seconds)):
        check_value(name, value, number, more_than(0))
    check_value("error", error, more_than(0), less_than(1))
    check_value("seed", seed, whole, at_least(0))
    check_value("jobs", jobs, whole, at_least(1))
    before = against if against is None or isinstance(against, Survey) else Survey.load(against)
    path = None if catalogue is None else os.path.abspath(catalogue)
    version = _find_version(library, is_shipped=path is None)
    own = load_catalogue(library, path)
    names = _choose_names(own, only)
    limits: dict[str, Any] = {"max_seconds": max_seconds, "max_calls": max_calls}
    tasks = [
        EntryTask(library=library, catalogue=path, name=name, seed=seed, error=error, **limits)
        for name in names
    ]
    source = b"" if path is None else Path(path).read_bytes()
    plan = {
        "survey": {name: sha256(source + name.encode()).hexdigest()[:16] for name in names},
        **{"library": library, "library version": version, "seed": seed, "error": error, **limits},
        **{"call_seconds": call_seconds, "versions": versions()},
    }
    results, interrupted = _run(own, tasks, call_seconds, jobs, ledger, plan, progress, command)
    result = Survey(
        library=library,
        version=version,
        seed=seed,
        error=error,
        max_seconds=float(max_seconds),
        max_calls=max_calls,
        results=tuple(results[index] for index in sorted(results)),
        planned=len(names),
        notes=_list_notes(own, library, version, complete=not only),
        interrupted=interrupted,
        before=before,
    )
    if result.results and not interrupted and not any(each.audited for each in result.results):
        first = result.results[0]
        raise NothingTested(
            f"no entry of the catalogue of {library} could be audited; {first.name}: {first.outcome}, "
            f"{first.reason}"
        )
    return result


def _run(
    catalogue: Catalogue,
    tasks: Sequence[EntryTask],
    call_seconds: float,
    jobs: int,
    ledger: str | os.PathLike[str] | None,
    plan: Mapping[str, object],
    progress: Callable[[int, int], None] | None,
    command: str,
) -> tuple[dict[int, EntryResult], bool]:
    """The results by the index of the task, and whether a keyboard interrupt ended the survey."""
    book: Any = nullcontext()
    if ledger is not None:
        book = closing(SurveyLedger.open(ledger, plan, notes=lambda: {"command": command}))
    stop, interrupted = Event(), False
    with book as store:
        results: dict[int, EntryResult] = {} if store is None else dict(store.blocks())
        if progress is not None:
            progress(len(results), len(tasks))
        with ThreadPoolExecutor(jobs) as pool:
            waiting = {
                pool.submit(run_entry, catalogue.entries[task.name], task, call_seconds, stop): index
                for index, task in enumerate(tasks)
                if index not in results
            }
            try:
                for done in as_completed(waiting):
                    results[waiting[done]] = done.result()
                    if store is not None:
                        store.add(waiting[done], done.result())
                    if progress is not None:
                        progress(len(results), len(tasks))
            except (KeyboardInterrupt, EntryStopped):
                interrupted = True
            finally:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
    return results, interrupted


def _find_version(library: str, *, is_shipped: bool) -> str:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(library)
    if is_shipped:
        load_catalogue(library)  # an unknown name is refused as such
        raise InvalidArgument(f"{library} is not installed", remedy=suggest_extra(library))
    return "unknown"


def _choose_names(catalogue: Catalogue, only: Sequence[str]) -> list[str]:
    """The entries that some pattern fits, in their order. Raises: InvalidArgument if one fits none."""
    if isinstance(only, str):
        raise InvalidArgument("only must be a list of names", value=only, remedy='Write only=["mean"].')
    for pattern in only:
        if not fnmatch.filter(catalogue.entries, pattern):
            raise unknown_name("entry", pattern, list(catalogue.entries))
    return [
        name
        for name in catalogue.entries
        if not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only)
    ]


def _list_notes(catalogue: Catalogue, library: str, version: str, *, complete: bool) -> tuple[str, ...]:
    notes = []
    if catalogue.made_for and catalogue.made_for != version:
        notes.append(f"The catalogue was written for {library} {catalogue.made_for}.")
    if complete:
        try:
            uncovered = catalogue.find_uncovered()
        except RAISED as error:
            notes.append(f"What {library} offers could not be listed: {describe_error(error)}.")
        else:
            notes += [f"Without an entry: {', '.join(uncovered)}."] if uncovered else []
    return tuple(notes)

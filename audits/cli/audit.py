"""`arena audit`: play many games and test a privacy claim."""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs
import click
from click.core import ParameterSource

from arena import InvalidArgument, OneRun, PlayerError
from audits.cli import INTERRUPTED, REFUTED, UNDECIDED
from audits.cli.options import (
    DataOptions,
    LedgerOption,
    LimitOptions,
    MatchOptions,
    Record,
    SeedOption,
    TextType,
    WorkerOptions,
    list_options,
    option,
    option_groups,
    option_record,
    parse_settings,
    plan_option,
)
from audits.cli.output import Output, Quiet, ResultFiles, format_command, print_note
from audits.data.output_files import check_output_file
from audits.registry.user_files import UsedFiles
from audits.runs.blocks import plan_audit
from audits.runs.limits import Limits, check_enough
from audits.runs.other_relation import (
    OTHER,
    apply_decision,
    decide_audit,
    is_chosen,
    is_open,
    record_decision,
)
from audits.runs.plan import Plan, list_arguments
from audits.runs.run import RunProgress
from audits.runs.run import run as run_plan
from audits.runs.verdict import RunStopped, Verdict
from audits.runs.workers import Workers

if TYPE_CHECKING:
    from audits.runs.run_parts import RunPart

_OF_ONE_RUN = (  # options of an audit that trains once
    *("learner", "against", "settings", "set_adversary", "one_run", "confidence", "html"),
    *list_options(SeedOption, DataOptions, Output, ResultFiles),
)
_MIN_KEY, _MAX_KEY = 16, 4096  # bytes; 128 bits cannot be guessed, and a longer file is hardly a key
_MAKE_KEY = "Make one: (umask 077; head -c 32 /dev/urandom > FILE)."


def _parse_part(name: str, text: str) -> RunPart:
    from audits.runs.run_parts import RunPart  # few audits have parts

    return RunPart.parse(text)


def _add_plan_options(group: type[Record]) -> type[Record]:
    """Make a class an option group of the arguments of a plan, and of its own options after them."""
    kinds = {name: field.type for name, field in list_arguments().items() if name != "seed"}
    group.__annotations__ = kinds | inspect.get_annotations(group)
    for name in kinds:
        setattr(group, name, plan_option(name))
    return option_record(group)


@_add_plan_options
class PlanOptions:
    one_run: int | None = option(
        "--one-run",
        metavar="M",
        help="Train once, with M canaries that fair coins include, in place of many games. The adversary "
        "plays OneRun, as planted-canaries does, and the claim is the learner's own.",
    )

    def arguments(self) -> dict[str, Any]:
        """The arguments of a plan among the options, by name."""
        return {name: getattr(self, name) for name in list_arguments() if name != "seed"}


@option_record
class ChangesOption:
    allow_changes: bool = option(
        "--allow-changes", help="Continue although files or packages of the players have changed."
    )


@option_record
class KeyOption:
    key: str | None = option(
        "--key",
        metavar="FILE",
        help="Sign the ledger, and check its signatures, with the secret key in FILE, of at least 16 bytes.",
    )

    def load_key(self) -> bytes | None:
        """The key, if one is given; raises InvalidArgument as `read_key` does."""
        return None if self.key is None else read_key(self.key)


@option_record
class RunOptions(LimitOptions, KeyOption, ChangesOption, ResultFiles):
    """How much of a plan is played, and what is printed and written beside the verdict."""

    estimators: bool = option(
        "--estimators", help="Also print the bounds of other statistical methods on the same games."
    )
    part: RunPart | None = option(
        "--part",
        type=TextType("part", _parse_part),
        metavar="K/M",
        help="Play only part K of M of the games, so that machines without a common cluster share a run. "
        "arena runs merge combines their ledgers. Default: all.",
    )
    html: str | None = option(
        "--html", metavar="FILE", help="Also write an HTML report, as arena runs report does."
    )


@click.command("audit")
@option_groups
def audit(
    game: MatchOptions,
    asked: PlanOptions,
    workers: WorkerOptions,
    storage: LedgerOption,
    run: RunOptions,
    output: Output,
) -> int:
    """Play LEARNER in two neighbouring worlds and certify a lower bound on its privacy loss ε.

    The claim under test is the learner's own unless --epsilon or --delta names another. The bound, in nats,
    is valid at any time, also if the audit is stopped early. After a failure or an interruption the figures
    so far are printed. Exit status: 0 not refuted, 3 refuted, 4 undecided, since there were too few games, or
    nobody chose the neighbouring relation, 2 invalid usage or a disk failure, 130 interrupted.

    \b
    Examples:
      arena audit laplace-count
      arena audit laplace-count --against low-bits
      arena audit everlasting-v1 --against halt-counter --until-refuted --jobs 4
      arena audit static-erm --against reconstruct --epsilon 1 --json
      arena audit everlasting-v2 --against query-swap --set teachers=2_001 \\
          --set adversary.probes=20 --ledger run.ledger --html report.html
      arena audit everlasting-v1 --against halt-counter \\
          --data people.csv.gz --x age --y income --positive '>50K'
      arena audit static-erm --against reconstruct --epsilon 1 --games 1e8 \\
          --ledger second.ledger --part 2/5
      arena audit dp-sgd --against planted-canaries --one-run 5_000 \\
          --set features=1002 --data people.csv --x age --x hours --y income
    """
    if asked.one_run is not None:
        return _audit_one_run(game, asked.one_run, asked.arguments()["confidence"], run, output)
    files = UsedFiles(allow_changes=run.allow_changes)
    plan = make_plan(game, asked, output, files)
    return execute_plan(
        plan,
        files,
        run,
        workers.build(),
        output,
        ledger=storage.ledger,
        command=format_command(left_out=list_options(LimitOptions)),  # a run that is resumed has its own
        play_other=plan_other_relation(plan, game, asked, workers),
    )


def plan_other_relation(
    plan: Plan, game: MatchOptions, asked: PlanOptions, workers: WorkerOptions
) -> Callable[[Limits], Verdict] | None:
    """What plays the same audit for added or removed records within limits, if nobody chose a relation and
    that one may explain a refutation."""
    given = parse_settings([*game.settings])["learner"]
    chosen = game.neighbour is not None or game.neighbours is not None or is_chosen(game.learner, given)
    if chosen or not is_open(plan):
        return None

    def play(left: Limits) -> Verdict:
        match = attrs.evolve(game, neighbours=str(OTHER)).build()  # type: ignore[misc]  # an option record
        other = plan_audit(match, seed=game.seed, **asked.arguments())[0]
        check_enough(other.learner, left.max_calls)
        with left:
            return run_plan(other, jobs=workers.build(), limits=left)

    return play


def make_plan(game: MatchOptions, asked: PlanOptions, output: Quiet, files: UsedFiles) -> Plan:
    """The plan that the options describe. files: notes the user's files that are read for it."""
    with files.watch():
        match = game.build()
    output.print_notes(match.notes)
    if match.default is not None:  # the recorded command names it, whatever is installed when it is repeated
        context = click.get_current_context()
        context.params["against"] = match.default
        context.set_parameter_source("against", ParameterSource.COMMANDLINE)
    plan, notes = plan_audit(match, seed=game.seed, **asked.arguments())
    output.print_notes(notes)
    return plan


def execute_plan(
    plan: Plan,
    files: UsedFiles,
    run: RunOptions,
    workers: Workers,
    output: Output,
    *,
    ledger: str | None,
    command: str,
    play_other: Callable[[Limits], Verdict] | None,
) -> int:
    """Play a plan, whose players come from `files`, print the verdict, and return the exit status.
    play_other: as of `plan_other_relation`."""
    if run.key is not None and ledger is None:
        raise click.UsageError("--key signs a ledger, so it needs --ledger FILE.")
    options: dict[str, Any] = {"jobs": workers, "command": command, "files": files, "key": run.load_key()}
    if run.part is not None:
        return _play_part(plan, run, output, ledger, {**options, "relation_chosen": play_other is None})
    if run.html is not None:
        from audits.runs.run_page import check_html, write_html  # few audits have a page

        check_html(run.html, ledger)
    check_enough(plan.learner, run.max_calls)
    if ledger is None:  # the plan of a ledger is the same, whatever the limits
        plan = plan.fit_blocks(run.max_calls, run.max_seconds)
    with TemporaryDirectory() as folder:
        if ledger is None and (run.html or run.plot):
            ledger = str(Path(folder, "run.ledger"))  # from which pages and charts are drawn
        try:
            with output.progress_bar("games", plan.games, scaled=True) as bar:

                def update(progress: RunProgress) -> None:
                    bar.set_postfix_str(f"ε ≥ {progress.epsilon_lower:.2f}", refresh=False)
                    bar.update(progress.games - bar.n)

                with Limits(run.max_calls, run.max_seconds) as limits:
                    verdict = run_plan(
                        plan,
                        ledger=ledger,
                        watch=update,
                        all_estimators=run.estimators,
                        limits=limits,
                        announce=output.print_cost,
                        relation_chosen=play_other is None,
                        **options,
                    )
        except PlayerError as error:
            may_continue = not plan.faults and not isinstance(error.__cause__, MemoryError)
            if error.player == "learner" and may_continue:  # which did not fail in the first games
                error.lacking = ("--faults",)
            raise
        except RunStopped as stopped:
            if stopped.verdict is not None and stopped.verdict.games:
                output.print_result(stopped.verdict)
            raise
        if play_other is not None:
            decision = decide_audit(verdict, plan.learner, play_other, limits)
            if ledger is not None:
                record_decision(ledger, plan, decision, options["key"])
            verdict = apply_decision(verdict, decision)
        output.print_result(verdict)
        if run.plot is not None and ledger is not None:
            from audits.runs.run_page import RecordedRun  # few audits have a chart

            verdict = attrs.evolve(verdict, record=RecordedRun(Path(ledger).read_bytes()))
        run.write_files(verdict)
        if run.html is not None and ledger is not None:
            if verdict.games:
                write_html(ledger, run.html)
            else:
                print_note("no block of games was finished, so there is no page")
    return get_exit_status(verdict)


def get_exit_status(verdict: Verdict) -> int:
    """The exit status of a verdict."""
    if verdict.interrupted:
        return INTERRUPTED
    return REFUTED if verdict.refuted else UNDECIDED if verdict.undecided else 0


def _play_part(
    plan: Plan, run: RunOptions, output: Output, ledger: str | None, options: dict[str, Any]
) -> int:
    from audits.runs.run_parts import play_part

    assert run.part is not None
    if ledger is None:
        raise click.UsageError("--part needs --ledger FILE, which receives its games.")
    if run.estimators or run.html or run.plot or run.csv_file:
        raise click.UsageError(
            "A part has no verdict, so --part excludes --estimators, --html, --plot and --csv. Merge the "
            "parts first."
        )
    if run.max_calls is not None or run.max_seconds is not None:
        raise click.UsageError("A part plays its games, so --part excludes --max-calls and --max-time.")
    games = sum(plan.blocks[index] for index in run.part.block_indices(plan))
    with output.count_progress("games", games, scaled=True) as watch:
        played = play_part(plan, run.part, ledger=ledger, watch=watch, **options)
    output.print_result(
        played,
        lambda played: (
            f"Part {run.part}{', interrupted' if played.interrupted else ''}: {played.blocks:,} of "
            f"{played.blocks_planned:,} blocks, {played.games:,} of {played.games_planned:,} games in each "
            f"world, are in {ledger}.\n"
            "A part has no verdict: arena runs merge combines the ledgers of all parts, and arena runs "
            "resume tests them."
        ),
    )
    return INTERRUPTED if played.interrupted else 0


def _audit_one_run(
    game: MatchOptions, canaries: int, confidence: float, run: RunOptions, output: Output
) -> int:
    """Train once with so many canaries, print the certificate, and return the exit status."""
    from audits.api.one_run import certify_match  # few audits are of one run

    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in _OF_ONE_RUN and source is ParameterSource.COMMANDLINE:
            what = "which trains once and tests the learner's own claim"
            raise click.UsageError(f"{parameter.opts[0]} is not for --one-run, {what}.")
    if run.html is not None:
        check_output_file("HTML report", run.html, packages=("matplotlib",))
    match = game.build(protocol=OneRun.name)
    output.print_notes(match.notes)
    result = certify_match(match, canaries=canaries, seed=game.seed, confidence=confidence)
    output.print_result(result)
    run.write_files(result)
    if run.html is not None:
        result.to_html(run.html)
    return REFUTED if result.refuted else UNDECIDED if result.undecided else 0


def read_key(path: str) -> bytes:
    """The key in a file: all its bytes. Raises: InvalidArgument if it is none, or is not the user's alone."""
    try:
        status = os.stat(path)
        is_small = stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_KEY
        content = Path(path).read_bytes() if is_small else b""
    except OSError as error:
        raise InvalidArgument(
            f"the key {path} cannot be read ({error.strerror})", remedy=_MAKE_KEY
        ) from error
    if len(content) < _MIN_KEY:
        raise InvalidArgument(
            f"a key must be a file of {_MIN_KEY} to {_MAX_KEY:,} bytes", value=path, remedy=_MAKE_KEY
        )
    if os.name == "posix" and status.st_mode & 0o066:
        raise InvalidArgument(
            f"other users can read or write the key {path}, and so use it", remedy=f"Run chmod 600 {path}."
        )
    return content

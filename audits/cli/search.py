"""`arena search`: find an adversary that refutes a learner's claim, and print it."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import click
from tabulate import tabulate

from arena import InvalidArgument, Learner
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.options import DELTA, EPSILON, JSON, QUIET, REAL, SEED, WHOLE, settings_of, takes_workers
from audits.cli.progress import bar
from audits.registry.players import LEARNERS, as_learner
from audits.registry.settings_text import build, claim_of, summary, under_test
from audits.runs.example_games import write_example_games
from audits.runs.workers import Workers

# Hypothesis keeps notes on the modules that it meets; not where the user happens to be.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir(), "arena-hypothesis")))

from audits.search.explore import BAR
from audits.search.printing import CLASS, source
from audits.search.search import ERROR, EXAMPLES, Progress, SearchResult, search

_WIDTH = 100


@click.command("search")
@click.argument("learner", metavar="LEARNER")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a field of the learner. Again for more.",
)
@click.option(
    "--protocol", metavar="NAME", help="Figure1, Release, Voting or SpecialRound. Default: the learner's."
)
@EPSILON
@DELTA
@click.option(
    "--error",
    type=REAL,
    default=ERROR,
    show_default=True,
    help="The chance, at most, that the search refutes a claim that is true.",
)
@click.option(
    "--examples",
    type=WHOLE,
    metavar="N",
    default=EXAMPLES,
    show_default=True,
    help="Adversaries to try before giving up.",
)
@click.option(
    "--games",
    type=WHOLE,
    metavar="N",
    help="Games in each world, at most, to confirm an adversary. Default: 20,000, more for a large ε.",
)
@SEED
@takes_workers
@click.option(
    "-o", "--output", metavar="FILE.py", help="Write the adversary here, as a player to audit with."
)
@JSON
@QUIET
def find(
    learner: str,
    *,
    settings: tuple[str, ...],
    protocol: str | None,
    epsilon: float | None,
    delta: float | None,
    error: float,
    examples: int,
    games: int | None,
    seed: int,
    jobs: Workers,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Search for an adversary that refutes LEARNER's claim of privacy.

    Adversaries are drawn, the first whose games speak against the claim is made as small as it goes, and then
    confirmed on fresh games. All tries together refute a true claim with a chance of at most --error.
    Printed: the verdict, the smallest game side by side in both worlds, and its adversary as source. Exit
    status: 0 nothing found, 3 refuted, 2 bad use, 130 interrupted.

    \b
    Examples:
      arena search everlasting-v1
      arena search static-erm --epsilon 1 -o found.py
      arena search everlasting-v1 --set halts=4 --seed 7 --jobs 2
      arena search my_learner.py:Mine --examples 5_000 --json
    """
    texts = settings_of(settings)
    if texts["adversary"]:
        raise click.UsageError("A search makes its own adversary, which has no settings.")
    name, also = as_learner(learner)
    running: Learner = build(LEARNERS.find(name), also | texts["learner"])
    epsilon, delta = under_test(running, epsilon, delta, purpose="refute")
    claim = attrs.evolve(claim_of(running), epsilon=epsilon, delta=delta)
    _check_output(output)
    with _bar(hidden=quiet or as_json) as watch:
        result = search(
            running,
            protocol=protocol,
            claim=claim,
            error=error,
            examples=examples,
            confirm_games=games,
            seed=seed,
            jobs=jobs,
            watch=watch,
        )
    named = shlex.join([learner, *(part for pair in settings for part in ("--set", pair))])
    text = source(result, learner=named, file=output or "found.py") if result.refuted else None
    if output is not None and text is not None:
        Path(output).write_text(text, encoding="utf-8")
    click.echo(_as_json(result, text) if as_json else _told(result, text, output))
    click.get_current_context().exit(REFUTED if result.refuted else INTERRUPTED if result.interrupted else 0)


def _check_output(path: str | None) -> None:
    """Refuse a file that could not be written, or not be played, before anything is searched."""
    if path is None:
        return
    if not path.endswith(".py"):
        raise InvalidArgument("the adversary is Python source", value=path, remedy="Name a file FILE.py.")
    folder = Path(path).resolve().parent
    if not folder.is_dir() or Path(path).is_dir():
        raise InvalidArgument("the adversary's file must lie in a folder that is there", value=path)


# --- what it prints -----------------------------------------------------------------------------------------


def _as_json(result: SearchResult, text: str | None) -> str:
    return json.dumps({**result.as_json(), "source": text}, allow_nan=False)


def _told(result: SearchResult, text: str | None, output: str | None) -> str:
    parts = [tabulate(_rows(result), tablefmt="plain", disable_numparse=True)]
    parts.append(textwrap.fill(_meaning(result), _WIDTH))
    if text is not None:
        parts.append(f"The smallest game found that shows it:\n\n{_game(result)}")
        where = (
            f"The adversary is in {output}, class {CLASS}."
            if output
            else f"The adversary:\n\n{text.rstrip()}"
        )
        parts.append(where)
    return "\n\n".join(parts)


def _rows(result: SearchResult) -> list[tuple[str, str]]:
    rows = [
        ("learner", summary(result.learner)),
        ("protocol", result.protocol),
        ("claim under test", str(result.claim)),
        ("tried", f"{result.examples:,} adversaries, {result.games:,} games in each world"),
        ("confirmations", f"{result.confirmations}, all of them together at an error of {result.error:g}"),
        ("seed", str(result.seed)),
    ]
    if result.verdict is not None:
        bound = f"ε ≥ {result.verdict.epsilon_lower:.4g} nats at δ = {result.claim.delta:.3g}"
        rows.insert(3, ("certified", f"{bound}, on {result.verdict.games:,} fresh games in each world"))
    if result.rejected:
        rows.insert(-1, ("declined", f"{result.rejected:,} adversaries that the learner would not play"))
    return rows


def _meaning(result: SearchResult) -> str:
    if result.verdict is not None:
        return (
            f"Refuted: but for a chance of {result.error:g} the claim is false, and no claim below "
            f"ε = {result.verdict.epsilon_lower:.4g} at δ = {result.claim.delta:.3g} holds."
        )
    weak = f"the best brought {result.best:.2g} nats of evidence; from {BAR:g} on one is put to the test"
    if result.confirmations:
        weak = f"{result.confirmations} looked promising, and fresh games did not confirm it"
    said = f"Nothing found: of {result.examples:,} adversaries {weak}. This is no proof of privacy."
    return f"Interrupted. {said}" if result.interrupted else said


def _game(result: SearchResult) -> str:
    """The smallest game, once in each world."""
    plan = result.plan
    assert plan is not None
    return write_example_games(plan.learner, plan.adversary, plan.referee, seed=plan.seed, faults=plan.faults)


@contextmanager
def _bar(*, hidden: bool) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on a terminal: adversaries tried, and the best evidence so far."""
    with bar(unit="adversaries", hidden=hidden) as shown:

        def show(now: Progress) -> None:
            shown.total = now.of
            shown.set_postfix_str(f"{now.best:.1f} nats", refresh=False)
            shown.update(now.examples - shown.n)

        yield show


COMMANDS = {"search": find}

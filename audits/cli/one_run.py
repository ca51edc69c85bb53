"""`arena one-run`: train once with many canaries, and test a privacy claim."""

from __future__ import annotations

import click

from audits.api.audit_one_run import CANARIES, PLANTED, build_one_run, certify_match
from audits.cli import REFUTED
from audits.cli.certify import CertificateFile
from audits.cli.common.completion import complete_adversaries, complete_learners
from audits.cli.common.option_groups import argument, option, option_groups, option_record
from audits.cli.common.options import DataOptions, SeedOption, parse_settings, settings_option
from audits.cli.common.output import Output


@option_record
class RunOptions(SeedOption, DataOptions):
    """The players, the canaries, the user's data and the seed."""

    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    against: str = option(
        "--against",
        metavar="ADVERSARY",
        default=PLANTED,
        shell_complete=complete_adversaries,
        help="The adversary, of the protocol OneRun.",
    )
    canaries: int = option("--canaries", metavar="M", default=CANARIES, help="The number of canaries.")
    settings: tuple[str, ...] = settings_option()
    confidence: float = option(
        "--confidence", metavar="P", default=0.95, help="The probability that the bound is right."
    )


@click.command("one-run")
@option_groups
def one_run(asked: RunOptions, files: CertificateFile, output: Output) -> None:
    """Train LEARNER once, with many canaries, and certify a lower bound on its privacy loss ε.

    A fair coin decides for each canary whether it is in the data; the adversary scores which are. The claim
    under test is the learner's own. Exit status: 0 not refuted, 3 refuted, 2 invalid usage.

    \b
    Examples:
      arena one-run dp-sgd --canaries 5_000 --set features=1002 --set epsilon=4 \\
          --data people.csv --x age --x hours --y income
      arena one-run dp-sgd --set features=502 --set adversary.every=0 --json \\
          --data people.csv --x age --x hours --y income
    """
    match = build_one_run(
        asked.learner, asked.against, data=asked.get_source(), settings=parse_settings(asked.settings)
    )
    output.print_notes(match.notes)
    result = certify_match(match, canaries=asked.canaries, seed=asked.seed, confidence=asked.confidence)
    output.print_result(result, lambda result: result.summary())
    if files.html is not None:
        result.to_html(files.html)
    click.get_current_context().exit(REFUTED if result.refuted else 0)

"""`arena exact`: what an adversary sees, by the learner's own law."""

from __future__ import annotations

import click

from audits.cli import REFUTED
from audits.cli.options import REAL, takes_match
from audits.data.output_files import check_file
from audits.exact import exact
from audits.registry.match import Match
from audits.registry.settings_text import summary
from audits.reports.exact_text import format_exact, write_exact_csv
from audits.reports.json_form import to_json


@click.command("exact")
@takes_match
@click.option(
    "--epsilon",
    "epsilons",
    type=REAL,
    metavar="E",
    multiple=True,
    help="Say the δ that this ε needs, in nats, beside that of the claim's. May be given again.",
)
@click.option(
    "--delta",
    type=REAL,
    metavar="D",
    help="Say the ε that this δ needs, a probability. Default: the δ of the claim.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object; in brackets and losses null stands for infinity.",
)
@click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    help="Also write every view with its probabilities, and the trade-off curve.",
)
def exactly(
    found: Match,
    *,
    seed: int,
    quiet: bool,
    epsilons: tuple[float, ...],
    delta: float | None,
    as_json: bool,
    csv_file: str | None,
) -> None:
    """Work out the law of what ADVERSARY sees of LEARNER in two neighbouring worlds, and its ε and δ.

    No game is left to chance: LEARNER tells its law, and ADVERSARY draws no coins. Before Figure1 and Voting
    every course that the game may take is played, so the adversary must not ask many queries. Exit status: 0
    the claim is not refuted, 3 refuted, 2 bad use.

    \b
    Examples:
      arena exact laplace-count --against count-swap
      arena exact laplace-count --against count-swap --epsilon 0.5 --epsilon 0.1
      arena exact between-thresholds --against training-swap \\
          --set size=50 --set adversary.queries=6 --delta 1e-6
      arena exact static-erm --against training-swap --json --csv views.csv
    """
    if csv_file is not None:
        check_file("CSV file", csv_file)
    done = exact(found.learner, found.adversary, found.referee, epsilons=epsilons, delta=delta)
    if as_json:
        click.echo(to_json(done))
    else:
        click.echo(format_exact(done, learner=summary(found.learner), adversary=summary(found.adversary)))
    if csv_file is not None:
        write_exact_csv(done, csv_file)
    click.get_current_context().exit(REFUTED if done.refuted else 0)


COMMANDS = {"exact": exactly}

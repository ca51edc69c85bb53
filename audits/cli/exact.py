"""`arena exact`: output distributions and exact privacy loss."""

from __future__ import annotations

import click

from audits.cli import REFUTED
from audits.cli.common.command import Output, option, option_groups, option_record
from audits.cli.common.options import MatchOptions
from audits.data.output_files import check_output_file
from audits.exact_loss import exact as compute_exact


@option_record
class ExactOptions:
    """The figures to compute beside those of the claim, and a file for the views."""

    epsilons: tuple[float, ...] = option(
        "--epsilon",
        metavar="E",
        help="Also compute δ at this ε, in nats, not only at that of the claim. May be repeated.",
    )
    delta: float | None = option(
        "--delta", metavar="D", help="Also compute ε at this δ, a probability. Default: the δ of the claim."
    )
    csv_file: str | None = option(
        "--csv", metavar="FILE", help="Also write every view with its probabilities, and the trade-off curve."
    )

    def __attrs_post_init__(self) -> None:
        if self.csv_file is not None:
            check_output_file("CSV file", self.csv_file)


@click.command("exact")
@option_groups
def exact(game: MatchOptions, figures: ExactOptions, output: Output) -> None:
    """Compute the distributions of ADVERSARY's view of LEARNER in two neighbouring worlds, and ε and δ.

    The view is all that the adversary sees. LEARNER must declare its output distribution, and ADVERSARY must
    draw no random numbers; --seed has no effect. Under Figure1 and Voting every possible course of the game
    is enumerated, so the adversary must not ask many queries. Exit status: 0 the claim is not refuted, 3
    refuted, 2 invalid usage.

    \b
    Examples:
      arena exact laplace-count --against count-swap
      arena exact laplace-count --against count-swap --epsilon 0.5 --epsilon 0.1
      arena exact between-thresholds --against training-swap \\
          --set size=50 --set adversary.queries=6 --delta 1e-6
      arena exact static-erm --against training-swap --json --csv views.csv
    """
    match = game.build()
    output.print_notes(match.notes)
    with output.progress_bar("% of the probability", 100) as bar:
        result = compute_exact(
            match.learner,
            match.adversary,
            match.referee,
            epsilons=figures.epsilons,
            delta=figures.delta,
            watch=lambda done: bar.update(int(100 * done) - bar.n),
        )
    output.print_result(result)
    if figures.csv_file is not None:
        result.write_csv(figures.csv_file)
    click.get_current_context().exit(REFUTED if result.refuted else 0)

"""`arena certify`: a bound on ε from scores in a file."""

from __future__ import annotations

from typing import Any

import click

from arena import InvalidArgument
from audits.api.certify import Certificate
from audits.api.certify import certify as certify_games
from audits.api.one_run import OneRunCertificate, certify_one_run
from audits.cli import REFUTED, UNDECIDED
from audits.cli.options import argument, file_option, option, option_groups, option_record, plan_option
from audits.cli.output import Output, ResultFiles
from audits.data.csv_files import load_scores


@option_record
class ScoreOptions:
    """The file of scores, and what its columns mean."""

    scores: str = argument(metavar="FILE.csv")
    column: str = option("--column", metavar="NAME", required=True, help="The column of the scores.")
    world: str | None = option(
        "--world",
        metavar="NAME",
        help="The column that says in which world, 0 or 1, each game was played. Each line is a game of its "
        "own, such as a training run; high scores look like world 1.",
    )
    included: str | None = option(
        "--included",
        metavar="NAME",
        help="The column that says whether each canary was included, 1, or not, 0, by a fair coin. All lines "
        "are canaries of one run; high scores look included.",
    )


@option_record
class CertifiedClaim:
    """The claim under test, how sure the bound is, and a file for it."""

    epsilon: float | None = option(
        "--epsilon", metavar="E", help="ε of a claim to test, in nats. Default: no claim, only a bound."
    )
    delta: float | None = option(
        "--delta", metavar="D", help="δ, a probability. Default: 0, or 1e-5 with --curve."
    )
    curve: str | None = plan_option("curve")
    confidence: float = option(
        "--confidence", metavar="P", default=0.95, help="The probability that the bound is right."
    )
    fixed_games: bool = option(
        "--fixed-games",
        help="Certify more from few games, by a bound that holds only if their number was fixed beforehand.",
    )
    html: str | None = file_option(
        "--html", "Also write the result as one HTML page.", "HTML report", packages=("matplotlib",)
    )


@click.command("certify")
@option_groups
def certify(given: ScoreOptions, claim: CertifiedClaim, files: ResultFiles, output: Output) -> int:
    """Compute a lower bound on ε from scores in a CSV file, of games or of training runs of your own.

    Either each line is the score of an independent game of world 0 or 1 (--world), or of one canary of a
    single run (--included). A thousand canaries or more certify something. Exit status: 0 no claim is
    refuted, 3 the claim is refuted, 4 so few scores could not refute it, 2 invalid usage.

    \b
    Examples:
      arena certify scores.csv --column score --world world --epsilon 1
      arena certify canaries.csv --column score --included included --delta 1e-5
      arena certify canaries.csv --column score --included included \\
          --curve gaussian=4,1e-5
    """
    if (given.world is None) == (given.included is None):
        raise InvalidArgument(
            "name one column of bits, by --world or by --included",
            remedy="--world NAME if each line is a game of its own, --included NAME for canaries of one run.",
        )
    settings: Any = {name: getattr(claim, name) for name in ("epsilon", "delta", "curve", "confidence")}
    scores, bits = load_scores(given.scores, scores=given.column, bits=given.included or str(given.world))
    result: Certificate | OneRunCertificate
    if given.world is None:
        if claim.fixed_games:
            raise InvalidArgument(
                "--included always needs a number of canaries that was fixed beforehand",
                remedy="Leave out --fixed-games, which changes the bound of independent games.",
            )
        result = certify_one_run(scores, bits, **settings)
    else:
        result = certify_games(scores[~bits], scores[bits], **settings, fixed_games=claim.fixed_games)
    output.print_result(result)
    files.write_files(result)
    if claim.html is not None:
        result.to_html(claim.html)
    return REFUTED if result.refuted else UNDECIDED if result.undecided else 0

"""`arena experiment fit`: fit a learner to the user's data, and print what it releases."""

from __future__ import annotations

import click

from audits.cli.common.completion import complete_learners, complete_settings
from audits.cli.common.option_groups import argument, option, option_groups, option_record
from audits.cli.common.options import ColumnOptions, SeedOption, parse_settings
from audits.cli.common.output import Output
from audits.data.fitting import fit as fit_learner
from audits.registry.data_learner import build_data_learner, set_public_points_aside
from audits.reports.fit_report import describe_fit, format_fit

FEATURES = ("variables", "literals", "conjunctions2", "conjunctions3")


@option_record
class FitOptions(SeedOption, ColumnOptions):
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    features: str = option(
        "--features",
        type=click.Choice(FEATURES),
        default=FEATURES[0],
        help="Features that the rules of a decision list test.",
    )
    epsilon: float | None = option(
        "--epsilon", metavar="E", help="ε of the learner, in nats. Short for --set epsilon=E."
    )
    delta: float | None = option("--delta", metavar="D", help="δ of the learner. Short for --set delta=D.")
    settings: tuple[str, ...] = option(
        "--set",
        metavar="NAME=VALUE",
        shell_complete=complete_settings,
        help="A setting of the learner; `arena show LEARNER` lists them. May be repeated.",
    )
    holdout: float = option(
        "--holdout",
        metavar="FRACTION",
        default=0.1,
        help="Fraction of the examples to hold out for the accuracy; 0 trains on all.",
    )
    public: float | None = option(
        "--public",
        metavar="FRACTION",
        help="Fraction of the examples whose points, without labels, are public and unprotected: a student "
        "of pate-psq or pate-asq asks about them. Default: 0.02 for those learners, 0 for others.",
    )
    splits: int = option("--splits", metavar="N", default=1, help="Number of random splits.")

    def parse_settings(self) -> dict[str, str]:
        """The settings of the learner. Raises: UsageError if one is set twice."""
        texts = dict(parse_settings(self.settings)["learner"])
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if value is not None and name in texts:
                raise click.UsageError(f"{name} is set twice.")
            texts |= {} if value is None else {name: repr(value)}
        return texts


@click.command("fit")
@option_groups
def fit(asked: FitOptions, output: Output) -> None:
    """Train LEARNER on your data and print the rules that it releases, its accuracy and its claim.

    Every value of a column becomes a variable, so a column must take few values. The values, and the ranges
    of --quantiles, are treated as public. pate-psq and pate-asq train a teacher on each part of the data, by
    logistic regression unless `--set teacher` names another, and a student on public points. The claim
    covers what the learner releases for one split. It does not cover the accuracy, which is computed on the
    held-out examples without noise. Exit status: 0 done, 2 invalid usage.

    \b
    Examples:
      arena data mushroom
      arena experiment fit private-decision-list --data mushroom.csv.gz \\
          --y Poisonous/Edible --epsilon 1
      arena experiment fit rivest --data people.csv --y income --positive '>50K' \\
          --x education --x sex --splits 30
      arena experiment fit pate-psq --data mushroom.csv.gz \\
          --y Poisonous/Edible --epsilon 2 --set teachers=65
    """
    data = asked.load()
    learner = build_data_learner(asked.learner, asked.parse_settings(), data, features=asked.features)
    learner, data = set_public_points_aside(learner, data, asked.public, asked.seed)
    with output.count_progress("splits", asked.splits) as watch:
        result = fit_learner(
            learner, data, holdout=asked.holdout, splits=asked.splits, seed=asked.seed, watch=watch
        )
    output.print_result(describe_fit(result) if output.as_json else result, format_fit)

"""`arena fit`: fit a learner to the user's data, and print what it releases."""

from __future__ import annotations

from typing import Any

import click

from arena import Learner
from arena.capabilities import ComparesCosts
from audits.api.fit import FitResult, build_data_learner, set_public_points_aside
from audits.api.fit import fit as fit_learner
from audits.cli.common.command import Output, argument, option, option_groups, option_record
from audits.cli.common.completion import complete_learners, complete_settings
from audits.cli.common.options import SeedOption, parse_settings
from audits.data.one_hot import load_one_hot
from audits.registry.settings_text import summarize_player
from audits.registry.tested_claim import read_claim
from audits.reports.formatting import name_table

FEATURES = ("variables", "literals", "conjunctions2", "conjunctions3")


@option_record
class FitOptions(SeedOption):
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    data: str = option(
        "--data", metavar="FILE", required=True, help="CSV with column names, gzipped if it ends in .gz."
    )
    y: str = option("--y", metavar="COLUMN", required=True, help="Column of the labels; it takes two values.")
    x: tuple[str, ...] = option(
        "--x",
        metavar="COLUMN",
        help="Column to learn from; repeat it for more. Default: all others. Each of its values becomes a "
        "variable.",
    )
    positive: str | None = option(
        "--positive",
        metavar="VALUE",
        help="The value of --y that is label 1. Default: 1 beside 0, otherwise the later in the alphabet.",
    )
    quantiles: int | None = option(
        "--quantiles",
        metavar="K",
        help="Cut columns of numbers that take more than K values into K ranges of about equally many "
        "examples.",
    )
    features: str = option(
        "--features",
        type=click.Choice(FEATURES),
        default=FEATURES[0],
        help="Features that the rules of a decision list test.",
    )
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
      arena fit private-decision-list --data mushroom.csv.gz --y Poisonous/Edible --set epsilon=1
      arena fit rivest --data people.csv --y income --positive '>50K' --x education --x sex --splits 30
      arena fit pate-psq --data mushroom.csv.gz --y Poisonous/Edible --set epsilon=2 --set teachers=65
    """
    data = load_one_hot(asked.data, y=asked.y, x=asked.x, positive=asked.positive, quantiles=asked.quantiles)
    settings = parse_settings(asked.settings)["learner"]
    learner = build_data_learner(asked.learner, settings, data, features=asked.features)
    learner, data = set_public_points_aside(learner, data, asked.public, asked.seed)
    result = fit_learner(learner, data, holdout=asked.holdout, splits=asked.splits, seed=asked.seed)
    output.print_result(_describe_fit(result) if output.as_json else result, _format_fit)


def _format_fit(result: FitResult) -> str:
    """The data, the rules of the first split, the accuracy, the claim and its cost by other analyses."""
    data, splits, limits = result.data, len(result.accuracies), result.limits
    header = (
        f"{result.learner.name} on {data.path}: {len(data.labels):,} examples, "
        f"{len(data.names):,} variables from {len(data.columns)} columns\n"
        f"label 1 is {data.y} = {data.values[1]} ({int(data.labels.sum()):,} examples), 0 is {data.values[0]}"
    )
    public = _count_public_points(result.learner)
    if public:
        header += f"\nbesides these, the points of {public:,} examples are public and unprotected"
    rules = "\n".join(result.describe_rules())
    if splits > 1:
        rules = f"The first of {splits} splits released:\n{rules}"
    accuracy = f"{result.accuracies.mean():.2%}" + (f" (mean over {splits} splits)" if splits > 1 else "")
    if limits is not None:
        accuracy += f", 95 % limits {limits[0]:.2%} to {limits[1]:.2%}"
    examples = f"{result.held_out:,} held-out" if result.held_out else f"its {result.trained:,} training"
    rows = [(f"accuracy on {examples} examples", accuracy), ("claim", str(read_claim(result.learner)))]
    rows += [(f"by {name}", f"ε = {cost:.4g}") for name, cost in _get_other_costs(result.learner).items()]
    return f"{header}\n\n{rules}\n\n{name_table(rows)}"


def _describe_fit(result: FitResult) -> dict[str, Any]:
    """The figures and the rules, for `to_json`."""
    data, (lower, upper) = result.data, result.limits or (None, None)
    return {
        "learner": summarize_player(result.learner),
        "data": {
            "file": data.path,
            "examples": len(data.labels),
            "variables": len(data.names),
            "columns": data.columns,
            "y": data.y,
            "label_0": data.values[0],
            "label_1": data.values[1],
        },
        "rules": result.describe_rules(),
        "trained": result.trained,
        "held_out": result.held_out,
        "public": _count_public_points(result.learner),
        "splits": len(result.accuracies),
        "accuracy": {
            "mean": result.accuracies.mean(),
            "lower": lower,
            "upper": upper,
            "each": result.accuracies,
        },
        "claim": read_claim(result.learner),
        "costs": _get_other_costs(result.learner),
    }


def _count_public_points(learner: Learner) -> int:
    points = getattr(learner, "public", None)
    return 0 if points is None else len(points)


def _get_other_costs(learner: Learner) -> dict[str, float]:
    return learner.other_costs() if isinstance(learner, ComparesCosts) else {}

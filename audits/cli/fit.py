"""`arena fit`: one learner on your data, and what it releases."""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import click
import numpy as np
from tabulate import tabulate

from arena import InvalidArgument, Learner, Release
from arena.concepts import DecisionLists
from arena.randomness import block_seed, generator
from audits.cli.options import JSON, REAL, SEED, WHOLE, columns, settings_of
from audits.data.fit import Fitted, fit
from audits.data.one_hot import OneHot, load_one_hot
from audits.registry.players import LEARNERS
from audits.registry.settings_text import build, claim_of, summary
from learners.pate.students.public_points import PublicPoints

PUBLIC = 0.02  # of the data, as in section 5 of the paper of pate-psq and pate-asq
PUBLIC_BLOCK = 1  # of the seed; block 0 draws the splits
KINDS = ("variables", "literals", "conjunctions2", "conjunctions3")


@click.command("fit")
@click.argument("learner", metavar="LEARNER")
@columns
@click.option(
    "--features",
    type=click.Choice(KINDS),
    default=KINDS[0],
    show_default=True,
    help="What the rules of a list may ask.",
)
@click.option(
    "--epsilon", type=REAL, metavar="E", help="ε of the learner, in nats. Short for --set epsilon=E."
)
@click.option("--delta", type=REAL, metavar="D", help="δ of the learner. Short for --set delta=D.")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a field of the learner. May be given again.",
)
@click.option(
    "--holdout",
    type=REAL,
    metavar="PART",
    default=0.1,
    show_default=True,
    help="Part of the examples to hold out for the accuracy; 0 trains on all.",
)
@click.option(
    "--public",
    type=REAL,
    metavar="PART",
    help="Part of the examples whose points, without labels, are public and unprotected: what a student of "
    "pate-psq or pate-asq asks about. Default: 0.02 for those, 0 for others.",
)
@click.option(
    "--splits", type=WHOLE, metavar="N", default=1, show_default=True, help="Random splits to train anew on."
)
@SEED
@JSON
def fit_data(
    learner: str,
    *,
    data: str,
    y: str,
    x: tuple[str, ...],
    positive: str | None,
    quantiles: int | None,
    features: str,
    epsilon: float | None,
    delta: float | None,
    settings: tuple[str, ...],
    holdout: float,
    public: float | None,
    splits: int,
    seed: int,
    as_json: bool,
) -> None:
    """Train LEARNER on your data and print the rules that it releases, its accuracy and its claim.

    Every value of a column becomes a variable, so a column needs few values; which values there are, and how
    --quantiles cuts them, is taken for public. pate-psq and pate-asq train a teacher on each part of the
    data, by logistic regression unless `--set teacher` names another, and a student on public points. The
    claim covers what the learner releases of one split: not the accuracy, which is counted on the examples
    held out, without noise. Exit status: 0 done, 2 bad use.

    \b
    Examples:
      arena fit private-decision-list --data examples/data/mushroom.csv.gz \\
          --y Poisonous/Edible --epsilon 1
      arena fit rivest --data people.csv --y income --positive '>50K' \\
          --x education --x sex --splits 30
      arena fit pate-psq --data examples/data/mushroom.csv.gz \\
          --y Poisonous/Edible --epsilon 2 --set teachers=65
    """
    encoded = load_one_hot(data, y=y, x=x, positive=positive, quantiles=quantiles)
    texts = dict(settings_of(settings)["learner"])
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value is not None and name in texts:
            raise click.UsageError(f"{name} is set twice.")
        texts |= {} if value is None else {name: repr(value)}
    running = _built(learner, texts, len(encoded.names), features)
    running, encoded = _with_public_points(running, encoded, public, seed)
    found = fit(running, encoded, holdout=holdout, splits=splits, seed=seed)
    click.echo(_json(found) if as_json else _text(found))


def _built(learner: str, texts: dict[str, str], variables: int, features: str) -> Learner:
    """The learner, for points of so many variables."""
    player: type[Learner] = LEARNERS.find(learner)
    fields = attrs.fields_dict(player)
    sizes = {
        "teacher": f"LogisticRegression:{variables}",
        "concepts": f"{DecisionLists.name}:{variables}:{features}",
        "variables": str(variables),
    }
    own = {name: text for name, text in sizes.items() if name in fields}
    if not own or Release.name not in player.protocols:
        raise InvalidArgument(
            f"{player.name} does not learn from columns of data",
            remedy="For instance private-decision-list, rivest or logistic does.",
        )
    return build(player, {**own, **texts})


def _with_public_points(
    learner: Learner, data: OneHot, part: float | None, seed: int
) -> tuple[Learner, OneHot]:
    """A learner with a setting `public` is given the points of a part of the data, drawn once for all splits,
    and the data without these."""
    takes = "public" in attrs.fields_dict(type(learner))
    if part is None:
        part = PUBLIC if takes and getattr(learner, "public", None) is None else 0.0
    if not part:
        return learner, data
    if not takes or not 0 < part < 1:
        raise InvalidArgument(
            "the part whose points are public is at least 0 and less than 1, and for learners that ask about "
            "public points",
            value=part,
            remedy=f"{learner.name} asks about none: leave --public out." if not takes else "",
        )
    count = max(1, round(part * len(data.labels)))
    order = generator(block_seed(seed, PUBLIC_BLOCK)).permutation(len(data.labels))
    rest = np.sort(order[count:])
    given = attrs.evolve(learner, public=PublicPoints(data.points[order[:count]]))  # type: ignore[call-arg]
    return given, attrs.evolve(data, points=data.points[rest], labels=data.labels[rest])


def _text(found: Fitted) -> str:
    data = found.data
    ones = int(data.labels.sum())
    about = (
        f"{found.learner.name} on {data.path}: {len(data.labels):,} examples, "
        f"{len(data.names):,} variables from {len(data.columns)} columns\n"
        f"label 1 is {data.y} = {data.values[1]} ({ones:,} examples), 0 is {data.values[0]}"
    )
    public = _public(found.learner)
    if public:
        about += f"\nbeside these, the points of {public:,} examples are public: nothing protects them"
    rows = [(_accuracy_of(found), _percent(found)), ("claim", str(claim_of(found.learner)))]
    costs = _costs(found.learner)
    rows += [(f"by {name}", f"ε = {cost:.4g}") for name, cost in costs.items()]
    figures = tabulate(rows, tablefmt="plain", disable_numparse=True)
    shown = "\n".join(found.rules())
    if len(found.correct) > 1:
        shown = f"The first of {len(found.correct)} splits released:\n{shown}"
    return f"{about}\n\n{shown}\n\n{figures}"


def _accuracy_of(found: Fitted) -> str:
    if not found.held_out:
        return f"accuracy on its {found.trained:,} training examples"
    return f"accuracy on {found.held_out:,} examples held out"


def _percent(found: Fitted) -> str:
    mean, limits, splits = found.accuracies.mean(), found.limits, len(found.correct)
    told = f"{mean:.2%}" + (f", the mean of {splits} splits" if splits > 1 else "")
    return told if limits is None else f"{told} ({limits[0]:.2%} to {limits[1]:.2%}, at 95 %)"


def _public(learner: Learner) -> int:
    """How many public points the learner asks about."""
    points = getattr(learner, "public", None)
    return 0 if points is None else len(points)


def _costs(learner: Learner) -> dict[str, float]:
    """What other arguments say that the learner costs, if it tells."""
    costs: dict[str, float] = getattr(learner, "other_costs", dict)()
    return costs


def _json(found: Fitted) -> str:
    claim, data, limits = claim_of(found.learner), found.data, found.limits
    return json.dumps(
        {
            "learner": summary(found.learner),
            "data": _data(data),
            "rules": found.rules(),
            "trained": found.trained,
            "held_out": found.held_out,
            "public": _public(found.learner),
            "splits": len(found.correct),
            "accuracy": {
                "mean": float(found.accuracies.mean()),
                "lower": None if limits is None else limits[0],
                "upper": None if limits is None else limits[1],
                "each": found.accuracies.tolist(),
            },
            "claim": {
                "epsilon": _number(claim.epsilon),
                "delta": claim.delta,
                "neighbours": claim.neighbours,
            },
            "costs": {name: _number(cost) for name, cost in _costs(found.learner).items()},
        },
        ensure_ascii=False,
    )


def _data(data: OneHot) -> dict[str, Any]:
    return {
        "file": data.path,
        "examples": len(data.labels),
        "variables": len(data.names),
        "columns": list(data.columns),
        "y": data.y,
        "label_0": data.values[0],
        "label_1": data.values[1],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


COMMANDS = {"fit": fit_data}

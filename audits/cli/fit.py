"""`arena fit`: fit a learner to the user's data, and print what it releases."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import click
import numpy as np

from arena import Adversary, Hypothesis, InvalidArgument, Learner, Moves, Release, Sample, Train, play
from arena.capabilities import ComparesCosts
from arena.concepts import DecisionLists
from arena.concepts.decision_lists import NO_RULE
from arena.randomness import block_seed, generator
from arena.settings import at_least, check_value, less_than, whole
from audits.cli.completion import complete_learners
from audits.cli.options import (
    SeedOption,
    argument,
    option,
    option_groups,
    option_record,
    parse_settings,
    settings_option,
)
from audits.cli.output import Output
from audits.data.one_hot import OneHotData, load_one_hot
from audits.registry.match import read_claim
from audits.registry.players import LEARNERS
from audits.registry.settings_text import build_player, summarize_player
from audits.reports.report import Document, Facts, Listing, Report
from audits.statistics.estimates import clopper_pearson

CONFIDENCE = 0.95  # of the limits of the accuracy
PUBLIC_FRACTION = 0.02  # of the examples, as in section 5 of the paper of pate-psq and pate-asq
_SPLIT_BLOCK, _PUBLIC_BLOCK = 0, 1  # of the seed
_REMEDY = "For instance private-decision-list, rivest or logistic does."
FEATURES = ("variables", "literals", "conjunctions2", "conjunctions3")


@option_record
class FitOptions(SeedOption):
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    data: str = option(
        "--data", metavar="FILE", required=True, help="CSV with column names, gzipped if it ends in .gz."
    )
    y: str = option("--y", metavar="COLUMN", required=True, help="Column of the labels; it takes two values.")
    x: tuple[str, ...] = option(
        "--x", metavar="COLUMN", help="Column to learn from; repeat it for more. Default: all others."
    )
    positive: str | None = option(
        "--positive",
        metavar="VALUE",
        help="The value of --y that is label 1. Default: 1 beside 0, otherwise the later in the alphabet.",
    )
    quantiles: int | None = option(
        "--quantiles",
        metavar="K",
        help="Cut columns of more than K numbers into K ranges of about equally many examples.",
    )
    features: str = option(
        "--features",
        type=click.Choice(FEATURES),
        default=FEATURES[0],
        help="Features that the rules of a decision list test.",
    )
    settings: tuple[str, ...] = settings_option(
        "A setting of the learner; `arena show LEARNER` lists them. May be repeated."
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
    result = fit_to_data(learner, data, holdout=asked.holdout, splits=asked.splits, seed=asked.seed)
    output.print_result(result)


def build_data_learner(name: str, settings: dict[str, str], data: OneHotData, *, features: str) -> Learner:
    """The learner called `name`, sized for points of the data. features: as in `lists:4:literals`."""
    player: type[Learner] = LEARNERS.find(name)
    variables = len(data.names)
    sizes = {
        "teacher": f"LogisticRegression:{variables}",
        "concepts": f"{DecisionLists.name}:{variables}:{features}",
        "variables": str(variables),
    }
    own = {name: text for name, text in sizes.items() if name in attrs.fields_dict(player)}
    if not own or Release.name not in player.protocols:
        raise InvalidArgument(f"{player.name} does not learn from columns of data", remedy=_REMEDY)
    return build_player(player, {**own, **settings})


def set_public_points_aside(
    learner: Any, data: OneHotData, fraction: float | None, seed: int
) -> tuple[Learner, OneHotData]:
    """The learner with the points of a random fraction of the data as public points, and the other data."""
    has_setting = "public" in attrs.fields_dict(type(learner))
    if fraction is None:
        fraction = PUBLIC_FRACTION if has_setting and learner.public is None else 0.0
    check_value("public", fraction, at_least(0), less_than(1))
    if not fraction:
        return learner, data
    if not has_setting:
        raise InvalidArgument(f"{learner.own_name} uses no public points", remedy="Leave out --public.")
    count = max(1, round(fraction * len(data.labels)))
    order = generator(block_seed(seed, _PUBLIC_BLOCK)).permutation(len(data.labels))
    rest = np.sort(order[count:])
    kept = attrs.evolve(data, points=data.points[rest], labels=data.labels[rest])
    return learner.with_public_points(data.points[order[:count]]), kept


@attrs.frozen(eq=False, repr=False)
class FitResult(Report):
    """Hypotheses of a learner on random splits of the data, and their accuracy.

    hypothesis: one concept for each split. trained, held_out: numbers of examples of a split. accuracies:
    (splits,), on the held-out examples; if there are none, on the training examples.
    """

    kind: ClassVar[str] = "fit"

    learner: Learner
    data: OneHotData
    hypothesis: Hypothesis
    trained: int
    held_out: int
    accuracies: np.ndarray

    @property
    def headline(self) -> str:
        return f"{self.learner.own_name} on {self.data.path}: accuracy {self.accuracies.mean():.2%}"

    @property
    def limits(self) -> tuple[float, float] | None:
        """Limits of the accuracy at 95 %, if examples were held out: Clopper-Pearson's for one split; for
        several, Student's of the mean over splits and random numbers on these data."""
        if not self.held_out:
            return None
        tail, splits = (1 - CONFIDENCE) / 2, len(self.accuracies)
        if splits == 1:
            low, high = clopper_pearson(np.rint(self.accuracies * self.held_out), self.held_out, tail)
            return float(low[0]), float(high[0])
        from scipy.special import stdtrit  # slow to import

        margin = stdtrit(splits - 1, 1 - tail) * self.accuracies.std(ddof=1) / math.sqrt(splits)
        mean = self.accuracies.mean()
        return max(0.0, float(mean - margin)), min(1.0, float(mean + margin))

    @property
    def public(self) -> int:
        """The number of public points."""
        points = getattr(self.learner, "public", None)
        return 0 if points is None else len(points)

    @property
    def costs(self) -> dict[str, float]:
        """The ε of the claim by other analyses, by their names."""
        return self.learner.other_costs() if isinstance(self.learner, ComparesCosts) else {}

    def document(self) -> Document:
        """The data, the rules of the first split, the accuracy, the claim and its cost by other analyses."""
        data, splits, limits = self.data, len(self.accuracies), self.limits
        header = (
            f"{self.learner.own_name} on {data.path}: {len(data.labels):,} examples, "
            f"{len(data.names):,} variables from {len(data.columns)} columns\n"
            f"label 1 is {data.y} = {data.values[1]} ({int(data.labels.sum()):,} examples), "
            f"0 is {data.values[0]}"
        )
        if self.public:
            header += f"\nbesides these, the points of {self.public:,} examples are public and unprotected"
        title = [f"The first of {splits} splits released:"] if splits > 1 else []
        accuracy = f"{self.accuracies.mean():.2%}" + (f" (mean over {splits} splits)" if title else "")
        if limits is not None:
            accuracy += f", 95 % limits {limits[0]:.2%} to {limits[1]:.2%}"
        examples = f"{self.held_out:,} held-out" if self.held_out else f"its {self.trained:,} training"
        rows = [(f"accuracy on {examples} examples", accuracy), ("claim", str(read_claim(self.learner)))]
        rows += [(f"by {name}", f"ε = {cost:.4g}") for name, cost in self.costs.items()]
        return Document(
            parts=[Listing(header), Listing("\n".join([*title, *self.describe_rules()])), Facts(rows)]
        )

    def _describe(self) -> dict[str, Any]:
        data, (lower, upper) = self.data, self.limits or (None, None)
        return {
            "learner": summarize_player(self.learner),
            "data": {
                "file": data.path,
                "examples": len(data.labels),
                "variables": len(data.names),
                "columns": data.columns,
                "y": data.y,
                "label_0": data.values[0],
                "label_1": data.values[1],
            },
            "rules": self.describe_rules(),
            "trained": self.trained,
            "held_out": self.held_out,
            "public": self.public,
            "splits": len(self.accuracies),
            "accuracy": {
                "mean": self.accuracies.mean(),
                "lower": lower,
                "upper": upper,
                "each": self.accuracies,
            },
            "claim": read_claim(self.learner),
            "costs": self.costs,
        }

    def describe_rules(self) -> list[str]:
        """The hypothesis of the first split, one rule a line."""
        kind: Any = self.hypothesis.concept_class
        concept = self.hypothesis.concepts[0]
        if isinstance(kind, DecisionLists):
            concept = drop_dead_rules(concept, self.data.column_of, kind.features.count)
        elif not hasattr(kind, "rules"):
            return [f"{kind}: {concept}"]
        rules: list[str] = kind.rules(concept, self.data.names, self.data.values)
        return rules


def fit_to_data(learner: Learner, data: OneHotData, *, holdout: float, splits: int, seed: int) -> FitResult:
    """Train on a random part of the data, and test on the rest, a fraction, once for each split."""
    check_value("splits", splits, whole, at_least(1))
    check_value("holdout", holdout, at_least(0), less_than(1))
    size = len(data.labels)
    held_out = min(round(holdout * size), size - 1)
    rng = generator(block_seed(seed, _SPLIT_BLOCK))
    orders = np.stack([rng.permutation(size) for _ in range(splits)])
    samples = [Sample(data.points[rows], data.labels[rows]) for rows in orders[:, held_out:]]
    trainer = _Trainer(samples)
    play(learner, trainer, Release(), games=splits, seed=seed)
    (hypothesis,) = trainer.released
    if not isinstance(hypothesis, Hypothesis):
        raise InvalidArgument(f"{learner.own_name} released no hypothesis", remedy=_REMEDY)
    tested = orders[:, :held_out] if held_out else orders
    accuracies = [
        (hypothesis.concept_class.labels(concept[None], data.points[rows])[0] == data.labels[rows]).mean()
        for concept, rows in zip(hypothesis.concepts, tested, strict=True)
    ]
    return FitResult(learner, data, hypothesis, size - held_out, held_out, np.array(accuracies))


def drop_dead_rules(concept: np.ndarray, column_of: np.ndarray, features: int) -> np.ndarray:
    """The same function on encoded examples, without rules that no example reaches.

    The last of the rules that ask for every value of a column always applies: it becomes "true" and ends the
    list. Shapes: concept (L,), whose features below len(column_of) are the coordinates in order; result (L,).
    """
    remaining = np.bincount(column_of)
    asked = set()
    for place, code in enumerate(concept):
        feature = int(code) // 2
        if 0 <= feature < len(column_of) and feature not in asked:
            asked.add(feature)
            remaining[column_of[feature]] -= 1
            if not remaining[column_of[feature]]:
                shortened = np.full(len(concept), NO_RULE)
                shortened[:place] = concept[:place]
                shortened[place] = 2 * features + code % 2
                return shortened
    return concept


@attrs.frozen
class _Trainer(Adversary):
    """Gives each game its own sample, and collects what the learner releases."""

    samples: list[Sample] = attrs.field(eq=False)
    released: list[Any] = attrs.field(factory=list, eq=False)

    name = "trainer"
    protocols = (Release.name,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(self.samples)
        self.released.append(reply.value)
        return None

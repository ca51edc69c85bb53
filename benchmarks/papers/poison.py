"""Remark 3 of Private Everlasting Prediction: what chosen queries do to what a predictor learns from them."""

from __future__ import annotations

from typing import Any

import attrs
import click
import numpy as np

from adversaries.figure1.honest import CROWD, REPEAT, SHIFT, Poison
from arena import Learner
from audits.api.race import build_predictor, find_entrants
from audits.races.predictor_race import ErrorRecorder, plan_predictor_race, queries_by_round
from audits.races.race import Race
from audits.races.race_result import play_games
from audits.reports.formatting import column_table
from benchmarks.papers.limits import MedianAndMean


class PoisoningRecorder(ErrorRecorder):
    """Also records the error of the concept that labels S_i.

    moved: (rounds, n); NaN in round 1, which has no such concept, and in rounds that a game did not reach.
    """

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.moved = np.full(self.answers.shape, np.nan)

    def observe(self, x: np.ndarray, labels: np.ndarray, halted: np.ndarray) -> None:
        super().observe(x, labels, halted)
        index, concepts = self.state.round.index, self.state.labelling
        if concepts is None or index > self._rounds or not np.isnan(self.moved[index - 1]).all():
            return
        evaluation = self.evaluation
        pairs = zip(concepts, evaluation.points, strict=True)
        predicted = np.stack([self._concepts.labels(concept[None], points)[0] for concept, points in pairs])
        errors = (predicted != evaluation.labels) @ evaluation.weights - evaluation.best_error
        self.moved[index - 1] = np.where(halted, np.nan, errors)

    def read_figures(self) -> np.ndarray:
        """(4, rounds, n): answers, worst, total and moved."""
        return np.stack([self.answers, self.worst, self.total, self.moved])


@attrs.frozen(kw_only=True)
class Errors:
    """The errors of one dose in one round.

    mean: a game's mean error of hypotheses; unanswered queries have error 1. worst: its largest. moved: the
    error of the concept that labels S_i, from round 2 on. halted: games that halted before the round's end.
    """

    mean: MedianAndMean
    worst: MedianAndMean
    moved: MedianAndMean
    halted: int


def plan_poisoning(
    learners: list[tuple[str, Learner]],
    *,
    aims: tuple[str, ...],
    fractions: tuple[float, ...],
    **settings: Any,
) -> Race:
    """A race in which every dose of every learner is an entrant: its aim and the fraction of its queries.

    learners: each with its label. settings: as in `plan_predictor_race`. A fraction of 0 is played once,
    since the aim does not matter.
    """
    players = []
    for label, learner in learners:
        for fraction in sorted(fractions):
            for aim in aims if fraction else aims[:1]:
                dose = f"{label} {aim} {fraction:g}" if fraction else label
                players.append((dose, learner, Poison(learner=learner, aim=aim, fraction=fraction)))
    return plan_predictor_race(players, recorder=PoisoningRecorder, **settings)


def measure_errors(plan: Race, *, jobs: int = 1) -> dict[str, list[Errors]]:
    """The errors of each dose by rounds; all limits hold together with the confidence of the plan."""
    level = (1 - plan.confidence) / (3 * plan.rounds * len(plan.entrants))

    def limit(errors: np.ndarray) -> MedianAndMean:
        # The excess over the best concept's error may be below 0: votes are no concept of the class.
        return MedianAndMean.of(np.clip(errors, 0, 1), level)

    result = {}
    for entrant, figures in zip(plan.entrants, play_games(plan, jobs=jobs)[1], strict=True):
        rounds = zip(queries_by_round(entrant.learner, plan.rounds), *figures, strict=True)
        result[entrant.label] = [
            Errors(
                mean=limit((total + (asked - answers)) / asked),
                worst=limit(np.where(answers < asked, 1.0, worst)),
                moved=limit(moved[~np.isnan(moved)]),
                halted=int((answers < asked).sum()),
            )
            for asked, answers, worst, total, moved in rounds
        ]
    return result


@click.command()
@click.argument("learners", nargs=-1)
@click.option(
    "--fraction", "fractions", multiple=True, type=float, default=(0.0, 0.3, 0.9), show_default=True
)
@click.option(
    "--aim",
    "aims",
    multiple=True,
    type=click.Choice([CROWD, REPEAT, SHIFT]),
    default=(CROWD, REPEAT, SHIFT),
    show_default=True,
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the learners.")
@click.option("--as-set", is_flag=True, help="Keep the learners' settings in place of practical constants.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--games", default=40, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=1, show_default=True)
def poison(
    learners: tuple[str, ...], settings: tuple[str, ...], as_set: bool, rounds: int, jobs: int, **others: Any
) -> None:
    """Choose a fraction of the queries of each of LEARNERS, and measure the errors of its hypotheses.

    Default: everlasting-v2 and everlasting-fresh. `arena race LEARNER --against poison` is one dose.
    """
    texts = dict(pair.split("=", 1) for pair in settings)
    players = [
        (label, build_predictor(label, player, texts, rounds, as_set=as_set)[0])
        for label, player in find_entrants(learners or ("everlasting-v2", "everlasting-fresh"))
    ]
    plan = plan_poisoning(players, rounds=rounds, **others)
    rows = [
        (label, str(number), *map(str, (errors.mean, errors.worst, errors.moved, errors.halted)))
        for label, by_round in measure_errors(plan, jobs=jobs).items()
        for number, errors in enumerate(by_round, start=1)
    ]
    click.echo(column_table(rows, ("dose", "round", "mean h", "worst h", "concept of S_i", "halted")))
    click.echo(
        f"\nMedians over {plan.games} games, with limits of {plan.confidence:.0%} for the whole table."
    )

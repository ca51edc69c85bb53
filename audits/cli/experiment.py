"""`arena experiment`: what a paper measured, on a data set of yours."""

from __future__ import annotations

import click

from audits.cli import INTERRUPTED
from audits.cli.options import JSON, QUIET, REAL, SEED, WHOLE, columns, takes_workers
from audits.cli.progress import counted
from audits.data.one_hot import load_one_hot
from audits.experiments import METHODS, ExperimentResult, PateExperiment, run_experiment
from audits.experiments.experiment_chart import draw_experiment
from audits.experiments.experiment_plan import SHARES
from audits.experiments.experiment_players import ACTIVE, find_players
from audits.experiments.experiment_text import experiment_json, experiment_text
from audits.reports.plots import check_plot
from audits.runs.workers import Workers


@click.group("experiment")
def experiment() -> None:
    """Run an experiment of a paper on your data."""


@experiment.command("pate")
@columns
@click.option("--repeats", type=WHOLE, metavar="N", default=30, show_default=True, help="Random splits.")
@click.option(
    "--epsilon",
    "epsilons",
    type=REAL,
    metavar="E",
    multiple=True,
    help="ε of all answers together, in nats; again for more. Default: 0.5, 1 and 2.",
)
@click.option("--delta", type=REAL, metavar="D", help="δ. Default: one in the private examples.")
@click.option(
    "--teacher-examples",
    type=WHOLE,
    metavar="N",
    default=100,
    show_default=True,
    help="About how many private examples each teacher gets.",
)
@click.option(
    "--budget",
    type=REAL,
    metavar="PART",
    default=0.3,
    show_default=True,
    help="The part of the public points that an active student may ask about.",
)
@click.option(
    "--shares",
    type=(REAL, REAL),
    metavar="PRIVATE PUBLIC",
    default=SHARES,
    show_default=True,
    help="Parts of the examples; the rest tests.",
)
@click.option(
    "--methods",
    metavar="NAME,...",
    default=",".join(METHODS),
    show_default=True,
    help="psq: a passive student. asq: an active one. psq-np, asq-np: the same without noise.",
)
@click.option(
    "--teacher",
    metavar="CLASSIFIER",
    default="Perceptron",
    show_default=True,
    help="What each teacher is: a classifier of scikit-learn, as 'LogisticRegression(C=0.5)'.",
)
@click.option("--student", metavar="CLASSIFIER", help="What a passive student is. Default: as the teachers.")
@click.option(
    "--active",
    type=click.Choice(ACTIVE),
    default=ACTIVE[0],
    show_default=True,
    help="How an active student learns: by one gradient step an answer, or by rules like the passive one's, "
    "fitted anew with the label forced.",
)
@click.option(
    "--constant",
    type=REAL,
    metavar="C",
    help="How readily an active student asks. Default: 0.1 with gradient steps, 0.5 with forced labels.",
)
@SEED
@takes_workers
@click.option(
    "--ledger", metavar="FILE", help="Keep every repetition here; the same command again goes on from there."
)
@JSON
@click.option("--plot", metavar="FILE", help="Also draw a chart: FILE.png or FILE.svg.")
@QUIET
def pate(
    *,
    data: str,
    y: str,
    x: tuple[str, ...],
    positive: str | None,
    quantiles: int | None,
    repeats: int,
    epsilons: tuple[float, ...],
    delta: float | None,
    teacher_examples: int,
    budget: float,
    shares: tuple[float, float],
    methods: str,
    teacher: str,
    student: str | None,
    active: str,
    constant: float | None,
    seed: int,
    jobs: Workers,
    ledger: str | None,
    as_json: bool,
    plot: str | None,
    quiet: bool,
) -> None:
    """Teachers on private data, noisy votes on public points, students who learn from these: Table 4 of Liu,
    Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning.

    Every repetition splits the data anew into a private, a public and a test part. The claim (ε, δ) covers
    what one student of one split learns, for one private example replaced; not the accuracy, which is counted
    without noise. Which values and ranges a column takes is taken for public. Exit status: 0 done, 2 bad use,
    130 interrupted (the figures so far are printed).

    \b
    Examples:
      arena experiment pate --data examples/data/mushroom.csv.gz --y Poisonous/Edible
      arena experiment pate --data adult.csv --y income --quantiles 5 --repeats 10 \\
          --teacher SGDClassifier --jobs 2 --ledger adult.ledger --plot adult.svg
    """
    if plot is not None:
        check_plot(plot)
    encoded = load_one_hot(data, y=y, x=x, positive=positive, quantiles=quantiles)
    planned = PateExperiment(
        data=encoded,
        players=find_players(teacher, student, features=len(encoded.names), active=active, constant=constant),
        methods=tuple(method.strip() for method in methods.split(",")),
        epsilons=epsilons or (0.5, 1.0, 2.0),
        delta=delta,
        repeats=repeats,
        teacher_examples=teacher_examples,
        budget=budget,
        shares=shares,
        seed=seed,
    )
    with counted(planned.repeats, "splits", hidden=quiet or as_json) as watch:
        result = run_experiment(planned, jobs=jobs, ledger=ledger, watch=watch)
    if result.interrupted:
        click.echo(f"arena: {_how_to_go_on(result, ledger)}", err=True)
    if result.tallies:
        click.echo(experiment_json(result) if as_json else experiment_text(result))
        if plot is not None:
            draw_experiment(result, plot)
    click.get_current_context().exit(INTERRUPTED if result.interrupted else 0)


def _how_to_go_on(result: ExperimentResult, ledger: str | None) -> str:
    done = f"interrupted after {len(result.tallies)} of {result.experiment.repeats} repetitions"
    if ledger is None:
        return f"{done}, which are lost; with --ledger FILE they would be kept"
    return f"{done}, which {ledger} keeps; the same command goes on from there"


COMMANDS = {"experiment": experiment}

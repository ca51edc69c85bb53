"""`arena experiment pate`: the experiment of a paper, on the user's data."""

from __future__ import annotations

import click

from audits.cli import INTERRUPTED
from audits.cli.common.option_groups import REAL, option, option_groups, option_record
from audits.cli.common.options import ColumnOptions, LedgerOption, PlotOption, SeedOption, WorkerOptions
from audits.cli.common.output import Output, report_interruption
from audits.experiments import METHODS, PateExperiment, run_experiment
from audits.experiments.experiment_chart import draw_experiment
from audits.experiments.experiment_plan import SHARES
from audits.experiments.experiment_players import ACTIVE, find_players
from audits.experiments.experiment_text import experiment_json, experiment_text

EPSILONS = (0.5, 1.0, 2.0)


@option_record
class PateOptions(SeedOption, ColumnOptions):
    repeats: int = option("--repeats", metavar="N", default=30, help="Random splits.")
    epsilons: tuple[float, ...] = option(
        "--epsilon",
        metavar="E",
        help="ε of all answers together, in nats; may be repeated. Default: 0.5, 1 and 2.",
    )
    delta: float | None = option(
        "--delta", metavar="D", help="δ. Default: 1 / the number of private examples."
    )
    teacher_examples: int = option(
        "--teacher-examples",
        metavar="N",
        default=100,
        help="Approximate number of private examples of each teacher.",
    )
    budget: float = option(
        "--budget",
        metavar="FRACTION",
        default=0.3,
        help="Fraction of the public points that an active student may ask about.",
    )
    shares: tuple[float, float] = option(
        "--shares",
        type=(REAL, REAL),
        metavar="PRIVATE PUBLIC",
        default=SHARES,
        help="Private and public fraction of the examples; the rest is the test set.",
    )
    method_names: str = option(
        "--methods",
        metavar="NAME,...",
        default=",".join(METHODS),
        help="psq: a passive student. asq: an active student. psq-np, asq-np: the same without noise. "
        "psq-svt: a passive student, answered by a sparse vector.",
    )
    teacher: str = option(
        "--teacher",
        metavar="CLASSIFIER",
        default="Perceptron",
        help="Kind of teacher: a classifier of scikit-learn, such as 'LogisticRegression(C=0.5)'.",
    )
    student: str | None = option(
        "--student", metavar="CLASSIFIER", help="Kind of passive student. Default: that of the teachers."
    )
    active: str = option(
        "--active",
        type=click.Choice(ACTIVE),
        default=ACTIVE[0],
        help="How an active student learns: by one gradient step for each answer, or by rules as the passive "
        "student does, refitted with the label forced.",
    )
    constant: float | None = option(
        "--constant",
        metavar="C",
        help="How readily an active student asks. Default: 0.1 with gradient steps, 0.5 with forced labels.",
    )

    def plan(self) -> PateExperiment:
        """The plan of the experiment; raises InvalidArgument for data and values that it cannot use."""
        data = self.load()
        return PateExperiment(
            data=data,
            players=find_players(
                self.teacher,
                self.student,
                features=len(data.names),
                active=self.active,
                constant=self.constant,
            ),
            methods=tuple(name.strip() for name in self.method_names.split(",")),
            epsilons=self.epsilons or EPSILONS,
            delta=self.delta,
            repeats=self.repeats,
            teacher_examples=self.teacher_examples,
            budget=self.budget,
            shares=self.shares,
            seed=self.seed,
        )


@click.command("pate")
@option_groups
def pate(
    asked: PateOptions, workers: WorkerOptions, storage: LedgerOption, chart: PlotOption, output: Output
) -> None:
    """Train teachers on private data, and students on their noisy votes on public points: Table 4 of Liu,
    Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning.

    Every repetition splits the data anew into a private, a public and a test part. The claim (ε, δ) covers
    what one student of one split learns, if one private example is replaced. It does not cover the accuracy,
    which is computed without noise. The values and ranges of a column are treated as public. Exit status: 0
    done, 2 invalid usage, 130 interrupted (the figures so far are printed).

    \b
    Examples:
      arena data mushroom
      arena experiment pate --data mushroom.csv.gz --y Poisonous/Edible
      arena experiment pate --data adult.csv --y income --quantiles 5 --repeats 10 \\
          --teacher SGDClassifier --jobs 2 --ledger adult.ledger --plot adult.svg
    """
    plan = asked.plan()
    with output.count_progress("splits", plan.repeats) as watch:
        result = run_experiment(plan, jobs=workers.build(), ledger=storage.ledger, watch=watch)
    if result.interrupted:
        report_interruption("repetitions", len(result.tallies), plan.repeats, storage.ledger)
    if result.tallies:
        output.print_result(result, experiment_text, experiment_json)
        if chart.plot is not None:
            draw_experiment(result, chart.plot)
    click.get_current_context().exit(INTERRUPTED if result.interrupted else 0)

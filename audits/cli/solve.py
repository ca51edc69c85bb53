"""`arena solve`, how much the best adversary learns; and `arena exact`, how much one does."""

from __future__ import annotations

import click

from audits.api.solve import DEFAULT_ROUNDS
from audits.api.solve import solve as solve_game
from audits.cli import REFUTED, UNDECIDED
from audits.cli.completion import complete_learners
from audits.cli.options import (
    MatchOptions,
    SeedOption,
    adversary_option,
    argument,
    file_option,
    option,
    option_groups,
    option_record,
    parse_settings,
    settings_option,
)
from audits.cli.output import Output, ResultFiles
from audits.exact_loss import exact as compute_exact
from audits.interrupts import Interrupted
from audits.solver.solution_report import Outcome


@option_record
class SolvedGame(SeedOption):
    """The learner, what the worlds are, and how long the game is."""

    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    against: str | None = adversary_option(
        "Take the training samples of this adversary. If they are the same in both worlds, a query "
        "differs instead. Default: samples on which the learner's teachers can cast every pair of votes."
    )
    worst_samples: bool = option(
        "--worst-samples",
        help="Take those neighbouring samples of a small finite domain from which most is learned.",
    )
    settings: tuple[str, ...] = settings_option()
    rounds: int = option(
        "--rounds", metavar="T", default=DEFAULT_ROUNDS, help="Maximum number of queries or rounds in a game."
    )
    epsilons: tuple[float, ...] = option(
        "--epsilon",
        metavar="E",
        help="Also compute δ at this ε, in nats. May be repeated. The best adversary is told for the first; "
        "default: half of the least ε that holds.",
    )
    delta: float | None = option(
        "--delta", metavar="D", help="Compute the least ε at this δ, a probability. Default: the claim's."
    )


@option_record
class SolutionFiles(ResultFiles):
    """Files for the solution and the best adversary."""

    strategy: str | None = file_option(
        "--strategy",
        "Also write the best adversary as a file, which commands play as FILE.py:best.",
        "strategy",
        metavar="FILE.py",
    )
    graph: str | None = file_option(
        "--graph", "Also draw its decisions as a graph: FILE.pdf, FILE.png or FILE.svg.", "chart"
    )
    html: str | None = file_option(
        "--html", "Also write the report as one HTML page.", "HTML report", packages=("matplotlib",)
    )
    csv_file: str | None = file_option("--csv", "Also write the bounds on δ at each ε.", "CSV file")


@click.command("solve")
@option_groups
def solve(game: SolvedGame, files: SolutionFiles, output: Output) -> int:
    """Compute how much the best of all adversaries of LEARNER learns, whatever its strategy.

    Lower and upper bounds on δ at each ε, for every adversary that plays at most T rounds and chooses each by
    what it has seen. So the claim is proved or refuted for these two datasets, and the best adversary is
    known. LEARNER must declare the distribution of its answers, online of its hypotheses, or of what it
    publishes of a stream. Time and memory grow quickly with T where answers depend on earlier ones. An
    interruption (Ctrl-C) gives the longest game that was solved. Exit status: 0 the claim is proved or
    bracketed, 3 refuted, 4 neither, 2 invalid usage.

    \b
    Examples:
      arena solve above-threshold --set size=11 --rounds 4
      arena solve noisy-votes --set size=101 --set answers=100 --rounds 100
      arena solve steady-thresholds --set size=11 --against training-swap
      arena solve noisy-majority --set rounds=6 --rounds 6
      arena solve flawed-sampling --rounds 6
      arena solve above-threshold --set size=11 --strategy best.py --graph best.svg
    """
    settings = parse_settings(game.settings)
    with output.stage_progress() as show:
        try:
            solution = solve_game(
                game.learner,
                game.against,
                rounds=game.rounds,
                epsilon=game.epsilons,
                delta=game.delta,
                worst_samples=game.worst_samples,
                settings=settings["learner"]
                | {f"adversary.{name}": text for name, text in settings["adversary"].items()},
                seed=game.seed,
                watch=show,
            )
        except Interrupted as interrupt:
            solution = interrupt.result
    output.print_result(solution)
    files.write_files(solution)
    writers = (
        (files.strategy, solution.write_strategy),
        (files.graph, solution.draw_strategy),
        (files.html, solution.to_html),
    )
    for path, write in writers:
        if path is not None:
            write(path)
    return {Outcome.REFUTED: REFUTED, Outcome.OPEN: UNDECIDED}.get(solution.outcome, 0)


@option_record
class ExactOptions(ResultFiles):
    """The figures to compute beside those of the claim, and a file for the views."""

    epsilons: tuple[float, ...] = option(
        "--epsilon",
        metavar="E",
        help="Also compute δ at this ε, in nats, not only at that of the claim. May be repeated.",
    )
    delta: float | None = option(
        "--delta", metavar="D", help="Also compute ε at this δ, a probability. Default: the δ of the claim."
    )
    csv_file: str | None = file_option(
        "--csv", "Also write every view with its probabilities, and the trade-off curve.", "CSV file"
    )


@click.command("exact")
@option_groups
def exact(game: MatchOptions, figures: ExactOptions, output: Output) -> int:
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
    figures.write_files(result)
    return REFUTED if result.refuted else 0

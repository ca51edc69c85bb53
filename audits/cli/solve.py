"""`arena solve`: how much the best adversary of a game learns."""

from __future__ import annotations

import click

from audits.api.solve import DEFAULT_ROUNDS
from audits.api.solve import solve as solve_game
from audits.cli import REFUTED
from audits.cli.common.command import Output, argument, option, option_groups, option_record
from audits.cli.common.completion import complete_adversaries, complete_learners
from audits.cli.common.options import PlotOption, SeedOption, parse_settings, settings_option
from audits.data.output_files import check_output_file
from audits.solver.solution_report import Outcome


@option_record
class SolvedGame(SeedOption):
    """The learner, what the worlds are, and how long the game is."""

    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    against: str | None = option(
        "--against",
        metavar="ADVERSARY",
        shell_complete=complete_adversaries,
        help="Take the training samples of this adversary. If they are the same in both worlds, a query "
        "differs instead. Default: samples on which the learner's teachers can cast every pair of votes.",
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
class SolutionFiles(PlotOption):
    """Files for the solution and the best adversary."""

    strategy: str | None = option(
        "--strategy",
        metavar="FILE.py",
        help="Also write the best adversary as a file, which commands play as FILE.py:best.",
    )
    graph: str | None = option(
        "--graph", metavar="FILE", help="Also draw its decisions as a graph: FILE.svg or FILE.png."
    )
    html: str | None = option("--html", metavar="FILE", help="Also write the report as one HTML page.")
    csv_file: str | None = option("--csv", metavar="FILE", help="Also write the bounds on δ at each ε.")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.graph is not None:
            from audits.reports.plots import check_plot

            check_plot(self.graph)
        if self.html is not None:
            check_output_file("HTML report", self.html, packages=("matplotlib",))
        for kind, path in (("strategy", self.strategy), ("CSV file", self.csv_file)):
            if path is not None:
                check_output_file(kind, path)


@click.command("solve")
@option_groups
def solve(game: SolvedGame, files: SolutionFiles, output: Output) -> None:
    """Compute how much the best of all adversaries of LEARNER learns, whatever its strategy.

    Lower and upper bounds on δ at each ε, for every adversary that plays at most T rounds and chooses each by
    what it has seen. So the claim is proved or refuted for these two datasets, and the best adversary is
    known. LEARNER must declare the distribution of its answers, or online of its hypotheses. Time and memory
    grow quickly with T where answers depend on earlier ones. An interruption (Ctrl-C) gives the longest game
    that was solved. Exit status: 0 the claim is not refuted, 3 refuted, 2 invalid usage.

    \b
    Examples:
      arena solve above-threshold --set size=11 --rounds 4
      arena solve noisy-votes --set size=101 --set answers=100 --rounds 100
      arena solve steady-thresholds --set size=11 --against training-swap
      arena solve noisy-majority --set rounds=6 --rounds 6
      arena solve above-threshold --set size=11 --strategy best.py --graph best.svg
    """
    settings = parse_settings(game.settings)
    with output.stage_progress() as show:
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
    output.print_result(solution)
    if files.csv_file is not None:
        solution.write_csv(files.csv_file)
    if files.strategy is not None:
        solution.write_strategy(files.strategy)
    if files.graph is not None:
        solution.draw_strategy(files.graph)
    if files.plot is not None:
        solution.write_plot(files.plot)
    if files.html is not None:
        solution.to_html(files.html)
    click.get_current_context().exit(REFUTED if solution.outcome is Outcome.REFUTED else 0)

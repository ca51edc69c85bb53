"""`audits.solve`: how much the best adversary of a game learns."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from arena import InvalidArgument, Learner
from arena.settings import is_number
from audits.api.arguments import check_extra, split_settings
from audits.api.report import Report, extend_record
from audits.data.output_files import write_atomically
from audits.registry.given_players import (
    GivenAdversary,
    GivenLearner,
    configure_adversary,
    configure_learner,
    read_sample,
)
from audits.registry.record_code import write_assignment
from audits.registry.settings_text import format_own_settings, format_value, summarize_player
from audits.registry.suggestions import explain_arguments
from audits.reports.solution_text import format_bracket, format_solution, solution_data
from audits.solver.choice_of_samples import (
    pose_against,
    pose_every_vote,
    pose_samples,
    pose_smallest,
)
from audits.solver.linear_game import Watch, ignore_progress
from audits.solver.played_games import BestAdversary
from audits.solver.posed_game import ExampleGame, PosedGame
from audits.solver.solution import Solution
from audits.solver.solution import solve as solve_game

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audits.api.figure import ReportFigure

DEFAULT_ROUNDS = 4


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SolveReport(Report, Solution):
    """How much the best adversary of a game learns.

    posed: the game that was solved. given: the learner as it was named.
    """

    posed: PosedGame = attrs.field(repr=False)
    given: str = attrs.field(repr=False)

    @property
    def headline(self) -> str:
        at = self.epsilon_at
        least = f"least ε at δ = {at.delta:.3g}: {format_bracket(at.lower, at.upper)}"
        claim = "no claim" if self.claim.empty else f"claim {self.outcome}"
        return f"{self.learner}, {self.rounds:,} rounds: {claim}, {least}"

    def summary(self) -> str:
        text = summarize_player(self.posed.learner)
        for name, value in self.posed.settings.items():  # a class of all votes is shown by its name
            text = text.replace(
                f"{name}={format_value(getattr(self.posed.learner, name))}", f"{name}={value}"
            )
        return format_solution(self, learner=text)

    def plot(self) -> ReportFigure:
        """δ of the best adversary at each ε.

        Raises: InvalidArgument without matplotlib.
        """
        check_extra("a chart", "matplotlib")
        from audits.api.figure import make_figure  # an extra, and slow to import

        return make_figure(self._draw, of="solution")

    @property
    def adversary(self) -> BestAdversary:
        """The adversary that reaches the lower bound at `strategy.epsilon`.

        Raises: InvalidArgument if its decisions are too many to be listed.
        """
        return BestAdversary.of(self.posed, self.strategy.moves, self.strategy.graph, self.rounds)

    def write_strategy(self, path: str | os.PathLike[str]) -> None:
        """Write the best adversary as a file of Python, which any command plays as `FILE:best`.

        Raises: InvalidArgument if the file cannot be written, or as `adversary`.
        """
        learner, strategy, where = self.posed.learner, self.strategy, os.fspath(path)
        settings = format_own_settings(learner) | self.posed.settings
        words = [self.given, *(f"--set={name}={text}" for name, text in settings.items())]
        words = ["arena", "exact", *words, "--against", f"{where}:best", "--epsilon", repr(strategy.epsilon)]
        if strategy.moves.labels is not None:
            words = ["arena", "audit", *words[2:-2]]
        text = (
            f'r"""The best adversary of {learner.name} in at most {self.rounds} rounds, found by solving the '
            f"game.\n\nAt ε = {strategy.epsilon!r} nats it reaches δ = {strategy.delta:.10g}. To play it:\n\n"
            f'    {shlex.join(words)}\n"""\n\n{write_assignment("best", self.adversary)}'
        )
        with write_atomically("strategy", path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    def draw_strategy(self, path: str | os.PathLike[str]) -> None:
        """Draw the best adversary's decisions as a graph, into a PNG or an SVG.

        Raises: InvalidArgument without matplotlib, or if the decisions are too many to be read.
        """
        from audits.reports.solution_chart import draw_strategy  # with matplotlib

        draw_strategy(self, path)

    def _draw(self, axes: Axes) -> None:
        from audits.reports.solution_chart import draw_curve_of_solution  # with matplotlib

        draw_curve_of_solution(axes, self)

    def _describe(self) -> dict[str, Any]:
        return solution_data(self, self.posed.learner)


@explain_arguments
def solve(
    learner: GivenLearner,
    against: GivenAdversary | None = None,
    *,
    rounds: int = DEFAULT_ROUNDS,
    epsilon: float | Sequence[float] = (),
    delta: float | None = None,
    data: Any = None,
    neighbour: Any = None,
    worst_samples: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    watch: Watch = ignore_progress,
) -> SolveReport:
    """Compute how much the best adversary learns in at most `rounds` rounds, whatever its strategy.

    The learner must declare the distribution of its answers or, online, of its hypotheses.

    against: the adversary whose training samples are taken; with equal samples, a query of one round differs
    between the worlds. data, neighbour: samples instead. worst_samples: take the neighbouring samples of the
    domain from which most is learned, by solving the game of every pair. By default the samples are
    neighbours on which a learner with one teacher for each example can cast every pair of votes that any
    neighbours allow. Online, one round's examples differ, which are any of the domain.

    epsilon: one ε in nats or several, at which δ is computed beside that of the claim; the best adversary is
    told for the first. delta: where the least ε is computed; default: the claim's. seed: of what the
    adversary draws to choose its samples. watch: receives what is computed, how much is done, and the whole.

    Raises: InvalidArgument; Unsupported if a distribution is unknown, or the game is too large.

    >>> import audits
    >>> report = audits.solve("noisy-votes", rounds=1, settings={"size": 5, "epsilon": 1.0, "answers": 1})
    >>> report.outcome.value, round(report.epsilon_at.upper, 9)
    ('proved', 1.0)
    """
    if isinstance(epsilon, str):
        raise InvalidArgument("epsilon must be a number or several", value=epsilon)
    several: Any = [epsilon] if is_number(epsilon) else epsilon
    epsilons = tuple(several)
    asked = split_settings(settings)
    chosen = [against is not None, data is not None or neighbour is not None, worst_samples]
    if sum(chosen) > 1:
        raise InvalidArgument(
            "the samples are chosen in several ways",
            remedy="Name an adversary, or give data and neighbour, or ask for the worst samples.",
        )
    if against is None and asked["adversary"]:
        raise InvalidArgument("an adversary has settings but no name", remedy="Say against whom: --against.")
    configured: Learner = configure_learner(learner, asked["learner"])
    if against is not None:
        opponent = configure_adversary(against, asked["adversary"], learner=configured)
        posed: PosedGame = pose_against(configured, opponent, seed=seed)
    elif data is not None or neighbour is not None:
        posed = pose_samples(configured, read_sample("data", data), read_sample("neighbour", neighbour))
    elif worst_samples:
        posed, _ = pose_smallest(configured, rounds, epsilons[0] if epsilons else 0.0, watch=watch)
    elif "SpecialRound" in configured.protocols:
        posed = ExampleGame(learner=configured, text="examples of its domain, which differ in one round")
    else:
        posed = pose_every_vote(configured)
    solution = solve_game(posed, rounds=rounds, epsilons=epsilons, delta=delta, watch=watch)
    given = learner if isinstance(learner, str) else configured.name
    return extend_record(solution, SolveReport, posed=posed, given=given)

"""A solved game: the record of the result, with its text, its table and its charts."""

from __future__ import annotations

import math
import os
import shlex
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from arena import AnswerLaw, Claim, InvalidArgument
from arena.testing.laws.goodness_of_fit import Comparison
from audits.data.output_files import write_atomically
from audits.exact_loss.exact_audit import DECLARED, EpsilonBracket, describe_error
from audits.registry.record_code import write_assignments
from audits.registry.settings_text import format_own_settings, format_value, summarize_player
from audits.reports.formatting import wrap_value
from audits.reports.json_form import to_data
from audits.reports.plots import GREY, Picture, check_plot, choose_colour
from audits.reports.report import Document, Facts, Listing, Part, Prose, Report, Table
from audits.reports.result_table import ResultRow
from audits.solver.game_value import END, DecisionGraph
from audits.solver.played_games import BestAdversary
from audits.solver.posed_games import GameMoves, PosedGame

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

MAX_DRAWN = 200  # nodes of a graph that can be read
_SHOWN = 24  # nodes of a strategy in a report
_LOWEST = 1e-12  # δ at which a logarithmic axis ends
_COLUMNS = ("epsilon", "delta_lower", "delta_upper")


class Outcome(StrEnum):
    """What a solved game says about a claim; bracketed: it holds, if what is only measured is right."""

    PROVED = "proved"
    BRACKETED = "bracketed"
    REFUTED = "refuted"
    OPEN = "open"


@attrs.frozen
class CurvePoint:
    """δ*(ε), the least δ for which ε holds against every adversary of the game, is in [lower, upper]."""

    epsilon: float
    lower: float
    upper: float


@attrs.frozen(eq=False)
class Strategy:
    """The best adversary that was found for one ε, in nats: it reaches the lower bound delta. graph: the
    decisions, scored by world 1 against world 0; None if there are more than 2,000. moves: of the game."""

    epsilon: float
    delta: float
    graph: DecisionGraph | None
    moves: GameMoves


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Solution(Report):
    """How much the best adversary of a game learns.

    rounds: T, of the game that is solved; asked: those asked for, more if the computation was interrupted.
    interrupted: whether a search for closer bounds was. moves: how many an adversary can choose from.
    outcome: of the claim for these worlds, every adversary of T rounds, and the declared output distribution.
    measured: what of the computation is measured and not proved, so that a claim that holds is bracketed.
    comparison: of games of T rounds with the declared output distribution.
    epsilon_at: the least ε in nats that holds at the δ asked for. curve: δ*(ε) at increasing ε, the claim's
    among them, where it is finite. rounding: an allowance in every bound. given: the learner as named.
    """

    kind: ClassVar[str] = "solution"
    derived: ClassVar[tuple[str, ...]] = ("error",)  # fields of its JSON that are properties

    learner: str
    worlds: str
    rounds: int
    asked: int
    interrupted: bool
    moves: int
    claim: Claim
    outcome: Outcome
    measured: tuple[str, ...]
    comparison: Comparison
    epsilon_at: EpsilonBracket
    curve: tuple[CurvePoint, ...]
    rounding: float
    strategy: Strategy = attrs.field(repr=False)
    posed: PosedGame = attrs.field(repr=False)
    given: str = attrs.field(repr=False)

    @property
    def _is_open(self) -> bool:
        return self.outcome is Outcome.OPEN and not self.claim.empty

    @property
    def headline(self) -> str:
        at = self.epsilon_at
        least = f"least ε at δ = {at.delta:.3g}: {format_bracket(at.lower, at.upper)}, {DECLARED}"
        claim = "no claim" if self.claim.empty else f"claim {self.outcome}"
        return f"{self.learner}, {self.rounds:,} rounds: {claim}, {least}"

    def document(self) -> Document:
        points = [
            (f"{point.epsilon:.4g}", f"{point.lower:.6g}", f"{point.upper:.6g}") for point in self.curve
        ]
        columns = ("ε in nats", "at least", "at most")
        parts = [
            Facts(self._rows()),
            Prose(self.explain()),
            Table(columns, points, "δ of the best adversary at each ε:"),
            *_describe_strategy(self.strategy),
        ]
        reading = f"Every adversary of at most {self.rounds:,} {self._unit}"
        draw = partial(_draw_curve, solution=self)
        return Document(parts=parts, picture=Picture(draw=draw, title=self.learner, reading=reading))

    def list_rows(self) -> list[ResultRow]:
        at = self.epsilon_at
        return [
            ResultRow(
                mechanism=self.learner,
                adversary="every adversary",
                method="solve",
                **ResultRow.describe_claim(self.claim),
                epsilon_lower=at.lower,
                epsilon_upper=at.upper,
                delta=at.delta,
                refuted=None if self.claim.empty else self.outcome is Outcome.REFUTED,
                undecided="the bounds on δ do not meet" if self._is_open else "",
            )
        ]

    def _list_records(self) -> list[dict[str, float]]:
        """The curve: ε in nats, and the bounds on δ."""
        return [dict(zip(_COLUMNS, attrs.astuple(point), strict=True)) for point in self.curve]

    def _rows(self) -> list[tuple[str, str]]:
        learner = summarize_player(self.posed.learner)
        for name, value in self.posed.settings.items():  # a class of all votes is shown by its name
            own = format_value(getattr(self.posed.learner, name))
            learner = learner.replace(f"{name}={own}", f"{name}={value}")
        at = self.epsilon_at
        return [
            ("learner", learner),
            ("worlds", wrap_value(self.worlds)),
            (self._unit, f"at most {self.rounds:,} in a game, with {self.moves:,} choices in each"),
            ("claim", str(self.claim)),
            (f"least ε at δ = {at.delta:.3g}", f"{format_bracket(at.lower, at.upper)} nats"),
            ("error", wrap_value(describe_error(self.comparison, self.rounding))),
            ("compared with games", wrap_value(str(self.comparison))),
        ]

    @property
    def error(self) -> float:
        return self.comparison.deviation + self.rounding

    @property
    def _unit(self) -> str:
        return "queries" if self.posed.law is AnswerLaw else "rounds"

    def explain(self) -> str:
        """What the solution says about the claim, in sentences."""
        unit, condition = self._unit, self.comparison.condition
        against = f"against every adversary of at most {self.rounds:,} {unit}"
        if self.posed.law is AnswerLaw:
            against += " on this pair of datasets"
        if self.claim.empty:
            text = (
                f"Nothing is claimed, so there is nothing to prove or refute; the curve holds {against}, "
                f"{condition}"
            )
        elif self.outcome is Outcome.PROVED:
            text = f"Proved: {against} the claim holds {condition}"
        elif self.outcome is Outcome.BRACKETED:
            text = (
                f"Bracketed: {against} the claim holds, by bounds that are measured in part and not proved, "
                f"{condition}"
            )
        elif self.outcome is Outcome.REFUTED:
            text = (
                f"Refuted: the claim is false of the declared output distribution, "
                f"{against.replace('every', 'the best')}."
            )
        else:
            text = f"Neither proved nor refuted {against}, {condition}"
            for point in self.curve:
                if point.epsilon == self.claim.epsilon:
                    text += f" Its ε holds with δ = {point.upper:.3g}, and with no δ below {point.lower:.3g}."
        if self.measured:
            text += f" Measured: {'; '.join(self.measured)}."
        if self.rounds < self.asked:
            text += (
                f" The computation was interrupted: this game is of {self.rounds:,} {unit}. Its lower bounds "
                f"hold for {self.asked:,} too."
            )
        elif self.interrupted:
            text += " The search for closer bounds was interrupted; these hold."
        return text

    def _describe(self) -> dict[str, Any]:
        strategy = self.strategy
        return {
            **to_data(self),
            "strategy": {
                "epsilon": strategy.epsilon,
                "delta": strategy.delta,
                "decisions": None if strategy.graph is None else len(strategy.graph.move),
            },
            "players": {"learner": to_data(self.posed.learner)},
        }

    @property
    def adversary(self) -> BestAdversary:
        """The adversary that reaches the lower bound at `strategy.epsilon`. Raises: InvalidArgument if its
        decisions are too many to be listed."""
        return BestAdversary.of(self.posed, self.strategy.moves, self.strategy.graph, self.rounds)

    def write_strategy(self, path: str | os.PathLike[str]) -> None:
        """Write the best adversary as a file of Python, which any command plays as `FILE:best`. Raises:
        InvalidArgument if the file cannot be written, or as `adversary`."""
        learner, strategy, where = self.posed.learner, self.strategy, os.fspath(path)
        settings = format_own_settings(learner) | self.posed.settings
        words = [self.given, *(f"--set={name}={text}" for name, text in settings.items())]
        words = ["arena", "exact", *words, "--against", f"{where}:best", "--epsilon", repr(strategy.epsilon)]
        if self.posed.law is not AnswerLaw:
            words = ["arena", "audit", *words[2:-2]]
        text = (
            f'r"""The best adversary of {learner.own_name} in at most {self.rounds} rounds, found by solving '
            f"the game.\n\nAt ε = {strategy.epsilon!r} nats it reaches δ = {strategy.delta:.10g}. "
            f"To play it:\n\n"
            f'    {shlex.join(words)}\n"""\n\n{write_assignments(best=self.adversary)}'
        )
        with write_atomically("strategy", path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    def draw_strategy(self, path: str | os.PathLike[str]) -> None:
        """Draw the best adversary's decisions as a graph, into a PDF, a PNG or an SVG. Raises:
        InvalidArgument without matplotlib, or if the decisions are too many to be read."""
        strategy = self.strategy
        if strategy.graph is None or len(strategy.graph.move) > MAX_DRAWN:
            raise InvalidArgument(
                f"the best adversary makes more than {MAX_DRAWN} different decisions, too many for a graph",
                remedy="Allow fewer rounds.",
            )
        check_plot(path)
        from audits.reports.figure import write_figure  # an extra, and slow to import

        picture = Picture(
            draw=partial(_draw_graph, graph=build_graph(strategy, strategy.graph)),
            title=f"The best against {self.learner}: δ = {strategy.delta:.4g} at ε = {strategy.epsilon:.3g}",
            reading="What it does, by what it has seen; at the ends, the score (the log-likelihood ratio)",
        )
        write_figure(picture, path, of="strategy")


def format_bracket(lower: float, upper: float) -> str:
    """Bounds on a number that are shown with the digits in which they agree, and one more."""
    if math.isinf(lower):
        return "infinite"
    if math.isinf(upper):
        return f"at least {lower:.6g}"
    if lower >= upper or f"{lower:.6g}" == f"{upper:.6g}":
        return f"{upper:.6g}"
    return f"from {lower:.6g} to {upper:.6g}"


def _describe_strategy(strategy: Strategy) -> list[Part]:
    graph = strategy.graph
    head = f"The best adversary at ε = {strategy.epsilon:.4g} reaches δ = {strategy.delta:.6g}. "
    if graph is None:
        return [Prose(f"{head}Its decisions are too many to be listed; allow fewer rounds to see them.")]
    nodes, lines = len(graph.move), []
    for node in range(min(nodes, _SHOWN)):
        ends: dict[str, list[str]] = {}  # outcomes by what follows
        for outcome, after, score in zip(
            strategy.moves.outcomes, graph.after[node], graph.score[node], strict=False
        ):
            end = f"{after + 1}" if after != END else f"end, score {score if abs(score) > 1e-9 else 0:.4g}"
            if after != END or not math.isnan(score):
                ends.setdefault(end, []).append(outcome)
        texts = (f"{' or '.join(outcomes)} → {end}" for end, outcomes in ends.items())
        lines.append(f"{node + 1:>4}. {strategy.moves.names[graph.move[node]]}: {'; '.join(texts)}")
    if nodes > _SHOWN:
        lines.append(f"      and {nodes - _SHOWN:,} more, which --strategy FILE.py writes")
    return [Listing("\n".join(lines), f"{head}Its decisions, by the answers so far:")]


def _draw_curve(axes: Axes, solution: Solution) -> None:
    """Draw the bounds on δ at each ε, and the claim."""
    claim, epsilons = solution.claim, [point.epsilon for point in solution.curve]
    is_pure = solution.epsilon_at.delta == 0
    least = 0.0 if is_pure else _LOWEST
    lower, upper = (
        [max(getattr(point, side), least) for point in solution.curve] for side in ("lower", "upper")
    )
    blue, orange = choose_colour(0), choose_colour(1)
    axes.fill_between(epsilons, lower, upper, color=blue, alpha=0.25, linewidth=0)
    axes.plot(epsilons, upper, color=blue, linewidth=2, label="no adversary reaches more")
    axes.plot(epsilons, lower, color=orange, linestyle="--", label="some adversary reaches")
    if not claim.empty and claim.epsilon <= max(epsilons):
        axes.plot(
            [claim.epsilon],
            [max(claim.delta, least)],
            "D",
            color=GREY,
            label=f"claim ({claim.epsilon:.4g}, {claim.delta:.3g})",
        )
    if not is_pure:
        axes.set_yscale("log")
    axes.set(xlabel="ε (nats)", ylabel="δ (probability)" if is_pure else "δ (probability, logarithmic)")


def build_graph(strategy: Strategy, decisions: DecisionGraph) -> nx.DiGraph:
    """The decisions of a strategy: nodes with what is queried (`query`) and the round (`round`), edges with
    the answers (`answers`). Ends of the game are nodes with a `score`."""
    import networkx as nx  # slow to import

    graph = nx.DiGraph()
    graph.add_node(0, round=0)
    for node, move in enumerate(decisions.move.tolist()):
        graph.nodes[node]["query"] = strategy.moves.names[move]
        ends = zip(strategy.moves.outcomes, decisions.after[node], decisions.score[node], strict=False)
        for outcome, after, score in ends:
            if after == END and math.isnan(score):
                continue
            target = int(after) if after != END else f"{node}: {score:.3g}"
            graph.add_node(target, round=graph.nodes[node]["round"] + 1)
            if after == END:
                graph.nodes[target]["score"] = float(score)
            answers = graph.get_edge_data(node, target, {"answers": []})["answers"]
            graph.add_edge(node, target, answers=[*answers, outcome])
    return graph


def _draw_graph(axes: Axes, graph: nx.DiGraph) -> None:
    import networkx as nx  # slow to import

    places = nx.multipartite_layout(graph, subset_key="round")
    own = [node for node in graph if "query" in graph.nodes[node]]
    ends = [node for node in graph if "score" in graph.nodes[node]]
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color=GREY, node_size=900)
    nx.draw_networkx_nodes(graph, places, own, ax=axes, node_color="#cfe8f5", node_size=900)
    nx.draw_networkx_nodes(graph, places, ends, ax=axes, node_color="#fbe3d6", node_size=500)
    labels = {node: graph.nodes[node]["query"] for node in own}
    labels |= {node: f"{graph.nodes[node]['score']:.2g}" for node in ends}
    nx.draw_networkx_labels(graph, places, labels, ax=axes, font_size=7)
    answers = {(node, end): ", ".join(said) for node, end, said in graph.edges(data="answers")}
    nx.draw_networkx_edge_labels(graph, places, answers, ax=axes, font_size=7)
    axes.set_axis_off()

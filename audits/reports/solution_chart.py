"""Charts of a solved game: δ of the best adversary as a curve, and its decisions as a graph."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import networkx as nx

from arena import InvalidArgument
from audits.reports.plots import BLUE, GREY, ORANGE, plot, set_title
from audits.solver.decision_graph import END, DecisionGraph
from audits.solver.solution import Solution, Strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_DRAWN = 200  # nodes of a graph that can be read
_LOWEST = 1e-12  # δ at which a logarithmic axis ends


def draw_solution(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Draw the curve into a file. Raises: as `plot` does."""
    with plot(path, of="solution", columns=2) as axes:
        draw_curve_of_solution(axes, solution)


def draw_curve_of_solution(axes: Axes, solution: Solution) -> None:
    """Draw the bounds on δ at each ε, and the claim."""
    claim, epsilons = solution.claim, [point.epsilon for point in solution.curve]
    is_pure = solution.epsilon_at.delta == 0
    least = 0.0 if is_pure else _LOWEST
    lower, upper = (
        [max(getattr(point, side), least) for point in solution.curve] for side in ("lower", "upper")
    )
    axes.fill_between(epsilons, lower, upper, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(epsilons, upper, color=BLUE, linewidth=2, label="no adversary reaches more")
    axes.plot(epsilons, lower, color=ORANGE, linestyle="--", label="some adversary reaches")
    if not claim.empty and claim.epsilon <= max(epsilons):
        axes.plot([claim.epsilon], [max(claim.delta, least)], "D", color=GREY, label=f"claim: {claim}")
    if not is_pure:
        axes.set_yscale("log")
    axes.set(xlabel="ε (nats)", ylabel="δ (probability)" if is_pure else "δ (probability, logarithmic)")
    set_title(axes, solution.learner, f"Every adversary of at most {solution.rounds:,} rounds")


def build_graph(strategy: Strategy, decisions: DecisionGraph) -> nx.DiGraph:
    """The decisions of a strategy: nodes with what is queried (`query`) and the round (`round`), edges with
    the answers (`answers`). Ends of the game are nodes with a `score`."""
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


def draw_strategy(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Draw the decisions into a file.

    Raises: InvalidArgument if they are too many to be read, or as `plot` does.
    """
    strategy = solution.strategy
    if strategy.graph is None or len(strategy.graph.move) > MAX_DRAWN:
        raise InvalidArgument(
            f"the best adversary makes more than {MAX_DRAWN} different decisions, too many for a graph",
            remedy="Allow fewer rounds.",
        )
    graph = build_graph(strategy, strategy.graph)
    with plot(path, of="strategy", columns=1) as axes:
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
        set_title(
            axes,
            f"The best against {solution.learner}: δ = {strategy.delta:.4g} at ε = {strategy.epsilon:.3g}",
            "What it does, by what it has seen; at the ends, the score (the log-likelihood ratio)",
        )

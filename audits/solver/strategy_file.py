"""The best adversary of a solved game as a file of Python, which any command plays."""

from __future__ import annotations

import math
import os
import re
import shlex

import numpy as np

from arena import AnswerLaw, InvalidArgument, OnlineLaw
from audits.data.output_files import write_atomically
from audits.registry.pairing import find_protocol
from audits.registry.settings_text import find_own_settings, format_value
from audits.solver.decision_graph import END, DecisionGraph
from audits.solver.posed_game import PosedGame, QueryGame
from audits.solver.solution import Solution, Strategy

CLASS = "BestAdversary"

_HEAD = '''"""The best adversary of {learner} in at most {rounds} rounds, found by solving the game.

At ε = {epsilon!r} nats it reaches δ = {delta:.10g}. {advice}
  {command}
"""

from __future__ import annotations

import attrs
import numpy as np

from arena import {imports}

'''
_NODES = '''# Where the adversary stands: {what} in worlds 0 and 1, and for each outcome either where it
# stands then, or the score with which the game ends, the log-likelihood ratio of world 1 against 0, as text.
NODES = (
{nodes}
)


@attrs.frozen
class {cls}(Adversary):
    """Does what tells most of the world, given all that it has seen."""

    name = "best-adversary"
    protocols = ("{protocol}",)
    returns_score = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        first, second = (np.array([node[world] for node in NODES]) for world in (0, 1))
        after = np.array([[-1 if isinstance(end, str) else end for end in node[2:]] for node in NODES])
        scores = np.array([[float(end) if isinstance(end, str) else 0 for end in node[2:]] for node in NODES])
        node, score, live = np.zeros(games, int), np.zeros(games), np.ones(games, bool)
'''
_STEP = """            following = after[node, outcome]
            score = np.where(live & (following < 0), scores[node, outcome], score)
            live &= following >= 0
            node = np.where(live, following, node)
"""
_QUERIES = (
    """# The training samples of worlds 0 and 1: points, labels, and how often each example occurs.
SAMPLES = (
{samples}
)
# The label of each answer, and whether the learner halts with it.
ANSWERS = {answers!r}
"""
    + _NODES
    + """        yield Train(*(Sample(*sample) for sample in SAMPLES))
        for _ in range({rounds}):
            x, other = first[node], np.where({live}, second[node], first[node])
            reply = yield {query}
            outcome = np.full(games, {unseen})
            for number, (label, halted) in enumerate(ANSWERS):
                outcome[(reply.label == label) & (reply.halted == halted)] = number
{withheld}"""
    + _STEP
    + """        return score
"""
)
_WITHHELD = """            outcome[(x != other).reshape(games, -1).any(axis=1)] = len(ANSWERS)  # withheld
"""
_EXAMPLES = (
    """# The hypotheses that the learner can show, one for each outcome.
HYPOTHESES = np.array({hypotheses})
"""
    + _NODES
    + """        shown = yield Ready()
        for _ in range({rounds}):
            concepts = shown.hypothesis.concepts.reshape(games, 1, -1)
            outcome = (concepts == HYPOTHESES.reshape(1, len(HYPOTHESES), -1)).all(axis=2).argmax(axis=1)
"""
    + _STEP
    + '''            other = np.where(live, second[node].T, first[node].T).T
            (x, y), (x1, y1) = (_split(examples) for examples in (first[node], other))
            shown = yield Example(x, y, x1, y1)
        return score


def _split(examples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points and the labels of examples, whose last column is the label."""
    return examples[:, 0] if examples.shape[1] == 2 else examples[:, :-1], examples[:, -1].astype(int)
'''
)


def write_strategy(solution: Solution, posed: PosedGame, path: str | os.PathLike[str], learner: str) -> None:
    """Write the best adversary to a file. learner: the player as the user named it.

    Raises: InvalidArgument if the strategy is too large for a file, or the file cannot be written.
    """
    graph = solution.strategy.graph
    if graph is None:
        raise InvalidArgument(
            f"the best adversary of {solution.rounds:,} rounds makes too many different decisions for a file",
            remedy="Allow fewer rounds.",
        )
    text = _format_file(solution, graph, posed, os.fspath(path), learner)
    with write_atomically("strategy", path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _format_file(solution: Solution, graph: DecisionGraph, posed: PosedGame, path: str, learner: str) -> str:
    strategy, moves = solution.strategy, solution.strategy.moves
    is_online = moves.labels is not None
    protocol = find_protocol(posed.learner, OnlineLaw if is_online else AnswerLaw)
    assert protocol is not None
    words = {
        "learner": posed.learner.name,
        "rounds": solution.rounds,
        "epsilon": strategy.epsilon,
        "delta": strategy.delta,
        "advice": "To play it:" if is_online else "To compute that again:",
        "command": _command(solution, posed, path, learner),
        "protocol": protocol.name,
        "nodes": "\n".join(_format_nodes(strategy, graph)),
        "cls": CLASS,
    }
    if is_online:
        law = posed.learner.online_law()  # type: ignore[attr-defined]
        words |= {"imports": "Adversary, Example, Moves, Ready", "what": "the examples, with their labels,"}
        return (_HEAD + _EXAMPLES).format(**words, hypotheses=_format_numbers(law.hypotheses.concepts))
    assert isinstance(posed, QueryGame)
    has_challenge = posed.samples[0] == posed.samples[1]
    samples = posed.samples[:1] if has_challenge else posed.samples
    axes = "" if moves.points.ndim == 2 else ".reshape(-1" + ", 1" * (moves.points.ndim - 2) + ")"
    return (_HEAD + _QUERIES).format(
        **words,
        imports="Adversary, Moves, Query, Sample, Train",
        what="the points that it queries",
        samples="\n".join(
            f"    ({_format_numbers(sample.points)}, {sample.labels.tolist()}, {sample.counts.tolist()}),"
            for sample in samples
        ),
        answers=moves.answers,
        live=f"live{axes}",
        query="Query(x, other)" if has_challenge else "Query(x)",
        unseen="len(ANSWERS) + 1" if has_challenge else "0",
        withheld=_WITHHELD if has_challenge else "",
    )


def _format_nodes(strategy: Strategy, graph: DecisionGraph) -> list[str]:
    moves = strategy.moves
    both = moves.points.reshape(len(moves.points), 2, -1)
    if moves.labels is not None:
        both = np.concatenate([both, moves.labels[:, :, None]], axis=2)
    elif moves.points.ndim == 2:
        both = both[:, :, 0]
    rows = []
    for move, after, scores in zip(graph.move, graph.after.tolist(), graph.score.tolist(), strict=True):
        ends = (
            repr(_format_score(score)) if place == END else str(place)
            for place, score in zip(after, scores, strict=True)
        )
        rows.append(f"    ({', '.join([*map(_format_numbers, both[move]), *ends])}),")
    return rows


def _command(solution: Solution, posed: PosedGame, path: str, learner: str) -> str:
    """The command line that plays the adversary, or computes its loss."""
    texts = {
        name: repr(value) if isinstance(value, float) else format_value(value)
        for name, value in find_own_settings(posed.learner).items()
    }
    settings = (f"--set={name}={text}" for name, text in (texts | posed.settings).items())
    words = [learner, *settings, "--against", f"{path}:{CLASS}", "--rounds", str(solution.rounds)]
    if solution.strategy.moves.labels is not None:
        return shlex.join(["arena", "audit", *words])
    return shlex.join(["arena", "exact", *words, "--epsilon", repr(solution.strategy.epsilon)])


def _format_numbers(values: np.ndarray) -> str:
    return re.sub(r"\b(inf|nan)\b", r"np.\1", repr(values.tolist()))


def _format_score(score: float) -> str:
    return "0" if math.isnan(score) else repr(score)

"""The best adversary of a solved game as a file of Python, which any command plays."""

from __future__ import annotations

import math
import os
import shlex

from arena import InvalidArgument
from audits.data.output_files import write_atomically
from audits.registry.settings_text import format_value, get_default, get_settable_fields
from audits.solver.decision_graph import END
from audits.solver.every_vote import PosedGame
from audits.solver.solution import Solution

CLASS = "BestAdversary"

_FILE = '''"""The best adversary of {learner} in at most {rounds} queries, found by solving the game.

At ε = {epsilon!r} nats it reaches δ = {delta:.10g}. To compute that again:
  {command}
"""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Moves, Query, Sample, Train

# The training samples of worlds 0 and 1: points, and their labels.
SAMPLES = (
{samples}
)
# The label of each outcome of a query, and whether the learner halts with it.
OUTCOMES = {outcomes!r}
# Where the adversary stands: the point that it queries, and for each outcome either where it stands then, or
# the score with which the game ends, the log-likelihood ratio of world 1 against world 0 as text.
NODES = (
{nodes}
)


@attrs.frozen
class {cls}(Adversary):
    """Queries what tells most of the world, given all answers so far."""

    name = "best-adversary"
    protocols = ("{protocol}",)
    returns_score = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        points = np.array([point for point, *_ in NODES])
        after = np.array([[-1 if isinstance(end, str) else end for end in ends] for _, *ends in NODES])
        scores = np.array([[float(end) if isinstance(end, str) else 0.0 for end in ends] for _, *ends in NODES])
        yield Train(*(Sample(*sample) for sample in SAMPLES))
        node, score, live = np.zeros(games, int), np.zeros(games), np.ones(games, bool)
        for _ in range({rounds}):
            reply = yield Query(points[node])
            outcome = np.zeros(games, int)
            for number, (label, halted) in enumerate(OUTCOMES):
                outcome[(reply.label == label) & (reply.halted == halted)] = number
            following = after[node, outcome]
            score = np.where(live & (following < 0), scores[node, outcome], score)
            live &= following >= 0
            node = np.where(live, following, node)
        return score
'''


def write_strategy(solution: Solution, posed: PosedGame, path: str | os.PathLike[str], learner: str) -> None:
    """Write the best adversary to a file. learner: the player as the user named it.

    Raises: InvalidArgument if the strategy is too large for a file, or the file cannot be written.
    """
    text = _format_file(solution, posed, os.fspath(path), learner)
    with write_atomically("strategy", path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _format_file(solution: Solution, posed: PosedGame, path: str, learner: str) -> str:
    strategy = solution.strategy
    graph = strategy.graph
    if graph is None:
        raise InvalidArgument(
            f"the best adversary of {solution.rounds:,} queries makes too many different decisions for a file",
            remedy="Allow fewer rounds.",
        )
    nodes = []
    for move, after, scores in zip(graph.move, graph.after.tolist(), graph.score.tolist(), strict=True):
        ends = (
            repr(_format_score(score)) if place == END else str(place)
            for place, score in zip(after, scores, strict=True)
        )
        nodes.append(f"    ({strategy.points[move].tolist()!r}, {', '.join(ends)}),")
    samples = (
        f"    ({sample.points.tolist()!r}, {sample.labels.tolist()!r}, {sample.counts.tolist()!r}),"
        for sample in posed.samples
    )
    settings = (f"--set={name}={value}" for name, value in _changed_settings(posed).items())
    command = ["arena", "exact", learner, *settings, "--against", f"{path}:{CLASS}"]
    command += ["--rounds", str(solution.rounds), "--epsilon", repr(strategy.epsilon)]
    return _FILE.format(
        learner=posed.learner.name,
        rounds=solution.rounds,
        epsilon=strategy.epsilon,
        delta=strategy.delta,
        command=shlex.join(command),
        samples="\n".join(samples),
        outcomes=tuple((int(label), bool(halts)) for label, halts in strategy.outcomes),
        nodes="\n".join(nodes),
        protocol=next(name for name in ("Figure1", "Voting") if name in posed.learner.protocols),
        cls=CLASS,
    )


def _changed_settings(posed: PosedGame) -> dict[str, str]:
    """The settings of the learner that differ from its defaults, and those that the game has changed."""
    learner = posed.learner
    changed = {
        name: getattr(learner, name)
        for name, field in get_settable_fields(type(learner)).items()
        if getattr(learner, name) != get_default(field)
    }
    texts = {
        name: repr(value) if isinstance(value, float) else format_value(value)
        for name, value in changed.items()
    }
    return texts | posed.settings


def _format_score(score: float) -> str:
    return "0" if math.isnan(score) else repr(score)

"""Lines of source code for the parts of a script: samples, points and moves."""

from __future__ import annotations

import math

import numpy as np

from arena import Sample
from audits.adversary_search.protocols.query_scripts import Ask, Challenge, Follow, Hand
from audits.adversary_search.protocols.stream_scripts import AGAINST, WITH, Show, Special
from audits.adversary_search.protocols.training_scripts import Pull
from audits.adversary_search.script import Point, Script, Step, as_point

WIDTH = 110
INDENT = " " * 8


def write_hand(hand: Hand) -> str:
    if hand.other is not None:
        return (
            f"yield Unlabelled([{write_point(hand.point)}], [{write_point(hand.other)}])  # world 0, world 1"
        )
    return f"yield Unlabelled([{write_point(hand.point)}] * {hand.times})"


def write_pull(name: str, pull: Pull, parameters: int) -> list[str]:
    """A canary, as a variable."""
    along, size = pull.coordinates, repr(pull.size)
    place = repr(list(along)) if len(along) > 1 else along[0]
    entries = f"{size} / np.sqrt({len(along)})" if len(along) > 1 else size
    gradient = [f"gradient = np.zeros({parameters})", f"gradient[{place}] = {entries}"]
    return [*gradient, f"{name} = GradientCanary({write_point(pull.point)}, {pull.label}, gradient)"]


def write_move(step: Step, *, first: bool) -> str:
    if isinstance(step, Challenge):
        query = f"Query({write_point(step.world_0)}, {write_point(step.world_1)})"
        return f"{query}  # world 0, world 1: the label is withheld"
    if isinstance(step, Special):
        (x, y), (other_x, other_y) = step.world_0, step.world_1
        return f"Example({write_point(x)}, {y}, {write_point(other_x)}, {other_y})  # world 0, world 1"
    if isinstance(step, Follow):
        # Before the first answer, the last answer was not 1.
        return f"Query({write_point(step.zero) if first else _follow_point(step)})"
    if isinstance(step, Ask):
        return f"Query({write_point(step.point)})"
    assert isinstance(step, Show)
    point, predicted = write_point(step.point), f"reply.hypothesis({write_point(step.point)})"
    labels: dict[int | str, str] = {WITH: predicted, AGAINST: f"~{predicted}"}
    return f"Example({point}, {labels.get(step.label, step.label)})"


def _follow_point(step: Follow) -> str:
    dimensions = np.ndim(step.one)
    condition = "reply.label == 1" if not dimensions else f"(reply.label == 1)[:{', None' * dimensions}]"
    return f"np.where({condition}, {write_point(step.one)}, {write_point(step.zero)})"


def write_number(value: float) -> str:
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(float(value))


def write_point(point: Point) -> str:
    return f"[{', '.join(map(write_point, point))}]" if isinstance(point, tuple) else repr(point)


def assign_samples(script: Script) -> list[str]:
    """The training sets of the worlds, as variables: `sample`, or `world_0` and `world_1`."""
    assert script.world_0 is not None
    names = ("sample",) if script.world_1 is None else ("world_0", "world_1")
    samples = zip(names, (script.world_0, script.world_1), strict=False)
    lines = [line for name, sample in samples if sample is not None for line in _assign_sample(name, sample)]
    if script.pieces is not None:
        lines.append(f"{names[0]} = {names[0]}.divide({script.pieces})  # the same list in other runs")
    return lines


def write_training(script: Script) -> str:
    return "Train(sample)" if script.world_1 is None else "Train(world_0, world_1)"


def _assign_sample(name: str, sample: Sample) -> list[str]:
    counts = ", ".join(f"{count:_}" if count >= 10_000 else str(count) for count in sample.counts.tolist())
    points = ", ".join(write_point(as_point(point)) for point in sample.points)
    parts = [f"[{points}]", str(sample.labels.tolist()), f"[{counts}]"]
    return assign(name, "Sample(", parts, ")")


def assign(name: str, opening: str, parts: list[str], closing: str) -> list[str]:
    """An assignment, on one line if it fits, otherwise broken as a formatter breaks it."""
    inline = ", ".join(parts)
    whole = f"{name} = {opening}{inline}{closing}"
    if len(INDENT) + len(whole) <= WIDTH:
        return [whole]
    within = [inline] if len(INDENT) + 4 + len(inline) <= WIDTH else [f"{part}," for part in parts]
    return [f"{name} = {opening}", *(f"    {line}" for line in within), closing]

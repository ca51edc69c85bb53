"""Source code of scripts that keep all replies: for conditions on answers, and scores of several replies."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from arena.step_scores import StepScore
from audits.adversary_search.protocols.query_scripts import Challenge, Follow
from audits.adversary_search.protocols.stream_scripts import Show, Special
from audits.adversary_search.protocols.training_scripts import TrainingScript
from audits.adversary_search.score import Score
from audits.adversary_search.script import Memory, Point, Script, Step, memories_of
from audits.adversary_search.source_lines import (
    assign,
    assign_samples,
    write_hand,
    write_move,
    write_number,
    write_point,
    write_pull,
    write_training,
)


def keeps_replies(script: Script) -> bool:
    """Whether the source keeps all replies: for conditions on them, for scores of several, and for models."""
    conditions = any(
        isinstance(step, Challenge | Special) or memory != Memory()
        for step in script.steps
        for memory in memories_of([step])
    )
    training = script.protocol == "TrainingRun"
    return training or conditions or (isinstance(script.score, Score) and script.score.reads_many)


def body_of_replies(script: Script) -> Iterator[str]:
    memories = memories_of(script.steps)
    keeps = isinstance(script.score, Score)
    keep = "replies.append((yield {}))" if keeps else "yield {}"
    if keeps:
        yield "replies = []"
    if memories:
        yield from assign("history", "AnswerHistory(games, [", list(map(_memory, memories)), "])")
    if script.world_0 is None:
        yield "reply = yield Ready()"
        yield from ["replies.append(reply)"] * keeps
    else:
        yield from assign_samples(script)
        yield keep.format(write_training(script))
    yield from (write_hand(hand) for hand in script.handed)
    if isinstance(script, TrainingScript):
        names = [f"canary_{number}" for number, _ in enumerate(script.pulls)]
        for name, pull in zip(names, script.pulls, strict=True):
            yield from write_pull(name, pull, script.parameters)
        advance = f"Advance(canaries=[{', '.join(names)}])" if names else "Advance()"
        yield f"reply = yield {advance}" if isinstance(script.score, StepScore) else keep.format(advance)
    for step in script.steps:
        yield from _conditional_lines(step, bool(memories), keeps)
    if script.score is None:
        yield "return None"
    else:
        yield from _score_lines(script.score)


def _conditional_lines(step: Step, remembers: bool, keeps: bool) -> Iterator[str]:
    """One step of a game whose answers are remembered or kept."""
    lines = []
    when = step.when if isinstance(step, Challenge | Special) else None
    if when is not None:
        yield "challenged = np.zeros(games, bool)"
        yield f"for left in reversed(range({step.rounds})):"
        lines.append(f"now = ~challenged & (history.holds({_memory(when)}) | (left == 0))")
        lines.append("challenged |= now")
    elif step.rounds > 1:
        yield f"for _ in range({step.rounds}):"
    if isinstance(step, Show | Special) and remembers:
        point = step.point if isinstance(step, Show) else step.world_0[0]
        lines.append(f"answered_1 = reply.hypothesis({write_point(point)})")
    lines.append(f"reply = yield {_conditional_move(step)}")
    if remembers:
        answered_1 = "answered_1" if isinstance(step, Show | Special) else "reply.label == 1"
        lines.append(f"history.add({answered_1})")
    if keeps:
        lines.append("replies.append(reply)")
    yield from (f"    {line}" if when is not None or step.rounds > 1 else line for line in lines)


def _conditional_move(step: Step) -> str:
    if isinstance(step, Follow):
        return f"Query({_choice(f'history.holds({_memory(step.when)})', step.one, step.zero)})"
    if isinstance(step, Challenge) and step.when is not None:
        return f"Query({write_point(step.world_0)}, {_choice('now', step.world_1, step.world_0)})"
    if isinstance(step, Special) and step.when is not None:
        (x, y), (other_x, other_y) = step.world_0, step.world_1
        return f"Example({write_point(x)}, {y}, {_choice('now', other_x, x)}, np.where(now, {other_y}, {y}))"
    return write_move(step, first=False)


def _choice(condition: str, one: Point, zero: Point) -> str:
    """The expression for `one` in the games in which the condition holds and `zero` elsewhere."""
    dimensions = np.ndim(one)
    each_game = f"({condition})[:{', None' * dimensions}]" if dimensions else condition
    return f"np.where({each_game}, {write_point(one)}, {write_point(zero)})"


def _score_lines(score: Score | StepScore) -> Iterator[str]:
    first, *others = attrs.fields(type(score))
    parts = [f'"{getattr(score, first.name)}"']
    for field in others:
        value = getattr(score, field.name)
        if value != field.default:
            text = write_number(value) if field.name == "centre" else repr(value).replace("'", '"')
            parts.append(f"{field.name}={text}")
    yield from assign("score", f"{type(score).__name__}(", parts, ")")
    yield (
        "return score.of(replies, games)" if isinstance(score, Score) else "return score.of(reply.parameters)"
    )


def _memory(memory: Memory) -> str:
    return f'Memory("{memory.kind}", "{memory.pattern}")'

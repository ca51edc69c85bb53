"""A script as source: a file with an adversary that plays the same games."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument, Sample
from audits.runs.plan import Plan
from audits.search.adversary_search import SearchResult
from audits.search.score import DISTANCE, EQUAL, HYPOTHESES, WEIGHED, Score
from audits.search.script import (
    AGAINST,
    WITH,
    Ask,
    Challenge,
    Follow,
    HandOver,
    Point,
    Script,
    Show,
    Special,
    Step,
    as_point,
)

CLASS = "Found"
_WIDTH = 110
_INDENT = " " * 8


def adversary_source(result: SearchResult, *, learner: str | None = None, file: str = "found.py") -> str:
    """The adversary that a search found, as a Python file.

    learner: how the command line names it, with its settings: `everlasting-v1 --set halts=4`; default: its
    name. file: what the file will be called.

    Raises: InvalidArgument if nothing was found.
    """
    if result.adversary is None:
        raise InvalidArgument("there is no source of an adversary where none was found")
    return format_script(result.adversary, about=_about(result, learner or result.learner.name, file))


def replay_command(result: SearchResult, *, learner: str | None = None, file: str = "found.py") -> str:
    """The command that plays the confirmation of a search again, game for game."""
    if result.plan is None:
        raise InvalidArgument("there is nothing to replay where no adversary was found")
    learner = learner or result.learner.name
    return audit_command(result.plan, learner=learner, adversary=shlex.quote(f"{file}:{CLASS}"))


def audit_command(plan: Plan, *, learner: str, adversary: str) -> str:
    """The command that plays a plan.

    learner, adversary: how the command line names them, with their settings.
    """
    until_refuted = " --until-refuted" if plan.until_refuted else ""
    options = [
        f"--against {adversary} --protocol {plan.referee.name}",
        f"--epsilon {plan.epsilon!r} --delta {plan.delta!r} --confidence {plan.confidence!r}",
        f"--games {plan.games}{until_refuted} --seed {plan.seed} --distinguisher {plan.distinguisher}",
        *(["--faults"] if plan.faults else []),
    ]
    return " \\\n    ".join([f"arena audit {learner}", *options])


def format_script(script: Script, *, about: str) -> str:
    """A script as a Python file; `about`: what its docstring says."""
    body = textwrap.indent("\n".join(_body(script)), _INDENT)
    used = [*_moves(script), "Sample"] if script.world_0 is not None else _moves(script)
    settings = f'rounds: int = setting({script.rounds}, help="T, of the game below")'
    online = script.protocol == "SpecialRound"
    names = sorted({"Adversary", "Moves", *used, *(["setting"] if online else [])}, key=_isort)
    opening = 'r"""' if "\\" in about else '"""'
    closing = '\n"""' if "\n" in about else '"""'
    return "\n".join(
        [
            '"""An adversary found by `arena search`."""',
            "",
            "import attrs",
            "import numpy as np",
            "",
            f"from arena import {', '.join(names)}",
            "",
            "",
            "@attrs.frozen",
            f"class {CLASS}(Adversary):",
            textwrap.indent(f"{opening}{about}{closing}", " " * 4),
            "",
            '    name = "found"',
            f'    protocols = ("{script.protocol}",)',
            *(["", f"    {settings}"] if online else []),
            "",
            "    def play(self, games: int, rng: np.random.Generator) -> Moves:",
            body,
            "",
        ]
    )


def _about(result: SearchResult, learner: str, file: str) -> str:
    plan, verdict = result.plan, result.verdict
    assert plan is not None
    assert verdict is not None
    told = (
        f"Found against {result.learner.name} under the claim {result.claim}: no ε below "
        f"{verdict.epsilon_lower:.4g} at δ = {result.claim.delta:.3g} is true (error {result.error:g}, seed "
        f"{result.seed})."
    )
    command = textwrap.indent(replay_command(result, learner=learner, file=file), " " * 4)
    return "\n".join([*textwrap.wrap(told, _WIDTH - 8), "", "Replay it:", "", command])


def _isort(name: str) -> tuple[bool, str]:
    return name.islower(), name


def _moves(script: Script) -> list[str]:
    if script.protocol == "SpecialRound":
        return ["Ready", "Example"]
    return ["Train", *["Query"] * bool(script.steps), *["Unlabelled"] * bool(script.handed)]


# --- the game ---------------------------------------------------------------------------------------------


def _body(script: Script) -> Iterator[str]:
    """The lines of `play`."""
    watch = _Watch.of(script)
    yield from watch.before
    keeps = "reply = " if watch.keeps(0) else ""
    if script.world_0 is None:
        yield f"{keeps}yield Ready()"
    else:
        yield from _training(script.world_0, script.world_1, keeps)
        yield from (_handed(hand) for hand in script.handed)
    yield from watch.after(0)
    at = 0
    for step in script.steps:
        for times in watch.cut(at, step.rounds):
            yield from _stretch(step, times, at, watch)
            at += times
    yield f"return {watch.result}"


def _training(sample: Sample, other: Sample | None, keeps: str) -> Iterator[str]:
    if other is None:
        yield from _sample("sample", sample)
        yield f"{keeps}yield Train(sample)  # the same in both worlds"
    else:
        yield from _sample("world_0", sample)
        yield from _sample("world_1", other)
        yield f"{keeps}yield Train(world_0, world_1)"


def _handed(hand: HandOver) -> str:
    if hand.other is not None:
        return f"yield Unlabelled([{_point(hand.point)}], [{_point(hand.other)}])  # world 0, world 1"
    return f"yield Unlabelled([{_point(hand.point)}] * {hand.times})"


def _stretch(step: Step, times: int, at: int, watch: _Watch) -> Iterator[str]:
    """A step made `times` times after round `at`."""
    move, note = _move(step, first=at == 0)
    lines = [f"{'reply = ' if watch.keeps(at + times) else ''}yield {move}{note}", *watch.after(at + times)]
    if times > 1:
        yield f"for _ in range({times}):"
    yield from (f"    {line}" if times > 1 else line for line in lines)


def _move(step: Step, *, first: bool) -> tuple[str, str]:
    """The move, and a comment."""
    if isinstance(step, Challenge):
        asked = f"Query({_point(step.world_0)}, {_point(step.world_1)})"
        return asked, "  # world 0, world 1: the label is withheld"
    if isinstance(step, Special):
        (x, y), (other_x, other_y) = step.world_0, step.world_1
        return f"Example({_point(x)}, {y}, {_point(other_x)}, {other_y})", "  # world 0, world 1"
    if isinstance(step, Follow):
        # Before the first answer there is none that is 1.
        return f"Query({_point(step.zero) if first else _followed(step)})", ""
    if isinstance(step, Ask):
        return f"Query({_point(step.point)})", ""
    assert isinstance(step, Show)
    point, said = _point(step.point), f"reply.hypothesis({_point(step.point)})"
    label = said if step.label == WITH else f"~{said}" if step.label == AGAINST else str(step.label)
    return f"Example({point}, {label})", ""


def _followed(step: Follow) -> str:
    deep = np.ndim(step.one)
    where = "reply.label == 1" if not deep else f"(reply.label == 1)[:{', None' * deep}]"
    return f"np.where({where}, {_point(step.one)}, {_point(step.zero)})"


@attrs.frozen
class _Watch:
    """Which replies the source keeps, and what it makes of them.

    Replies are numbered by rounds; 0 is that to Train or Ready.
    before: lines that open the body. counts: the line that follows every reply that counts, from `first` to
    `last`. one: the reply that the score looks at, and `seen`, what it sees in it. result: what is returned.
    """

    adaptive: bool
    last: int
    singles: frozenset[int]
    before: tuple[str, ...] = ()
    counts: str = ""
    counted: range = range(0)
    one: int = -1
    seen: str = ""
    result: str = "None"

    @classmethod
    def of(cls, script: Script) -> _Watch:
        """What the score of a script asks for."""
        score, last = script.score, script.rounds
        adaptive = any(
            isinstance(step, Follow) or (isinstance(step, Show) and isinstance(step.label, str))
            for step in script.steps
        )
        plain = cls(adaptive, last, frozenset({1} if adaptive else ()))
        if score is None:
            return plain
        if score.feature == "failed":
            return attrs.evolve(plain, result="np.zeros(games)")
        counted = _counted(score, last)
        if counted is not None:
            return attrs.evolve(
                plain,
                singles=plain.singles | {counted[1].stop},
                before=("count = np.zeros(games)",),
                counts=f"count += {counted[0]}",
                counted=counted[1],
                result=_formed("count", score),
            )
        one, seen = _looked_at(score, last)
        direct = one == last and score.feature in ("halted", f"answer {last}")
        return attrs.evolve(
            plain,
            singles=plain.singles if direct else plain.singles | {one},
            before=tuple(_assigned("weights", "[", [repr(weight) for weight in score.weights], "]"))
            if score.weights
            else (),
            one=one,
            seen="" if direct else f"seen = {seen}",
            result=_formed(seen if direct else "seen", score),
        )

    def keeps(self, round: int) -> bool:
        """Whether the reply is used."""
        later = self.adaptive and (round > 0 or self.last > 0) and round < self.last
        return later or round == self.one or round in self.counted

    def after(self, round: int) -> list[str]:
        """The lines that follow the move of a round."""
        if round in self.counted:
            return [self.counts]
        return [self.seen] if round == self.one and self.seen else []

    def cut(self, at: int, rounds: int) -> list[int]:
        """A stretch of rounds after round `at`, cut so that those which are told apart stand alone."""
        ends = {at + rounds}
        for single in self.singles:
            ends |= {end for end in (single - 1, single) if at < end < at + rounds}
        return np.diff([at, *sorted(ends)]).tolist()


def _counted(score: Score, last: int) -> tuple[str, range] | None:
    """What is counted, and in which replies, if the score counts."""
    if score.feature == "answers 1":
        return "reply.label == 1", range(1, last + 1)
    if score.feature == "answers":
        return "np.isin(reply.label, (0, 1))", range(1, last + 1)
    if score.feature == HYPOTHESES:  # the last example brings none
        return f"reply.hypothesis.concepts <= {_number(score.centre)}", range(last)
    return None


def _looked_at(score: Score, last: int) -> tuple[int, str]:
    """The one reply that the score looks at, and what it sees in it."""
    number, place = score.part
    of_these = " @ weights" if score.form == WEIGHED else f"[:, {place}]"
    if score.feature == "halted":
        return last, "reply.halted"
    if score.feature.startswith("answer "):
        return number, "reply.label"
    if score.feature.startswith("hypothesis "):
        return number - 1, f"np.reshape(reply.hypothesis.concepts, (games, -1)){of_these}"
    released = 'getattr(reply.value, "concepts", reply.value)'  # of a hypothesis, the concept
    return 0, f"np.reshape({released}, (games, -1)){of_these}"


def _formed(seen: str, score: Score) -> str:
    text = seen
    if score.form == DISTANCE:
        text = f"np.abs({seen} - {_number(score.centre)})"
    elif score.form == EQUAL:
        text = f"{seen} == {_number(score.centre)}"
        return f"-1.0 * ({text})" if score.sign < 0 else text
    return f"-1.0 * {text}" if score.sign < 0 else text


def _number(value: float) -> str:
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(float(value))


def _point(point: Point) -> str:
    return repr(_listed(point))


def _listed(point: Point) -> Any:
    return [_listed(part) for part in point] if isinstance(point, tuple) else point


def _sample(name: str, sample: Sample) -> list[str]:
    """The sample, given a name."""
    counts = ", ".join(f"{count:_}" if count >= 10_000 else str(count) for count in sample.counts.tolist())
    points = ", ".join(_point(as_point(point)) for point in sample.points)
    parts = [f"[{points}]", str(sample.labels.tolist()), f"[{counts}]"]
    return _assigned(name, "Sample(", parts, ")")


def _assigned(name: str, opening: str, parts: list[str], closing: str) -> list[str]:
    """An assignment: on one line if it fits, else broken as formatters break it."""
    inline = ", ".join(parts)
    whole = f"{name} = {opening}{inline}{closing}"
    if len(_INDENT) + len(whole) <= _WIDTH:
        return [whole]
    within = [inline] if len(_INDENT) + 4 + len(inline) <= _WIDTH else [f"{part}," for part in parts]
    return [f"{name} = {opening}", *(f"    {line}" for line in within), closing]

"""Source code of scripts: a Python file with an adversary that plays the same games."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator

import attrs
import numpy as np

from arena import InvalidArgument
from arena.privacy_curves import format_curve
from arena.step_scores import StepScore
from audits.adversary_search.adversary_search import SearchResult
from audits.adversary_search.protocols.query_scripts import Follow
from audits.adversary_search.protocols.stream_scripts import Show
from audits.adversary_search.protocols.training_scripts import TrainingScript
from audits.adversary_search.score import DISTANCE, EQUAL, HYPOTHESES, WEIGHTED, Score
from audits.adversary_search.script import Script, Step, memories_of
from audits.adversary_search.source_lines import (
    INDENT,
    WIDTH,
    assign,
    assign_samples,
    write_hand,
    write_move,
    write_number,
    write_training,
)
from audits.adversary_search.source_of_replies import body_of_replies, keeps_replies
from audits.runs.plan import Plan

CLASS = "Found"


def adversary_source(result: SearchResult, *, learner: str | None = None, file: str = "found.py") -> str:
    """The adversary that a search found, as a Python file; arguments and errors as `replay_command`."""
    if result.adversary is None:
        raise InvalidArgument("the search found no adversary, so there is no source code")
    return format_script(result.adversary, about=_docstring(result, learner or result.learner.name, file))


def replay_command(result: SearchResult, *, learner: str | None = None, file: str = "found.py") -> str:
    """The command that repeats the confirmation of a search, game for game.

    learner: with its settings as on the command line; default: its name. file: that of the adversary.
    Raises: InvalidArgument if the search found nothing.
    """
    if result.plan is None:
        raise InvalidArgument("the search found no adversary, so there is nothing to replay")
    learner = learner or result.learner.name
    return audit_command(result.plan, learner=learner, adversary=shlex.quote(f"{file}:{CLASS}"))


def audit_command(plan: Plan, *, learner: str, adversary: str) -> str:
    """The command that plays a plan. learner, adversary: with their settings as on the command line."""
    until_refuted = " --until-refuted" if plan.until_refuted else ""
    curve = None if plan.given_curve is None else format_curve(plan.given_curve)
    claim = f"--epsilon {plan.epsilon!r}" if curve is None else f"--curve {curve}"
    options = [
        f"arena audit {learner}",
        f"--against {adversary} --protocol {plan.referee.name}",
        f"{claim} --delta {plan.delta!r} --confidence {plan.confidence!r}",
        f"--games {plan.games}{until_refuted} --seed {plan.seed} --distinguisher {plan.distinguisher}",
        *(["--faults"] if plan.faults else []),
    ]
    return " \\\n    ".join(options)


def format_script(script: Script, *, about: str) -> str:
    """A script as a Python file; `about`: the docstring of its class."""
    if any(type(step).__module__.partition(".")[0] != "audits" for step in script.steps):
        return f'r"""{about}"""\n\n# {script}\n'  # of a protocol of the user's
    body = textwrap.indent("\n".join(_body(script)), INDENT)
    settings = f'rounds: int = setting({script.rounds}, help="T, of the game below")'
    online = script.protocol == "SpecialRound"
    opening = 'r"""' if "\\" in about else '"""'
    closing = '\n"""' if "\n" in about else '"""'
    needs = [*["AnswerHistory", "Memory"] * bool(memories_of(script.steps))]
    needs += ["Score"] * isinstance(script.score, Score)
    imports = ["from arena.step_scores import StepScore"] * isinstance(script.score, StepScore)
    if needs and keeps_replies(script):
        imports.append(f"from audits.adversary_search.script import {', '.join(needs)}")
    return "\n".join(
        [
            '"""An adversary found by `arena search`."""',
            "",
            "import attrs",
            "import numpy as np",
            "",
            f"from arena import {', '.join(_list_imports(script))}",
            *imports,
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


def _docstring(result: SearchResult, learner: str, file: str) -> str:
    plan, verdict = result.plan, result.verdict
    assert plan is not None
    assert verdict is not None
    summary = (
        f"Found against {result.learner.name} under the claim {result.claim}: every ε below "
        f"{verdict.epsilon_lower:.4g} at δ = {result.claim.delta:.3g} is refuted{verdict.curve_note} "
        f"(error {result.error:g}, seed {result.seed})."
    )
    command = textwrap.indent(replay_command(result, learner=learner, file=file), " " * 4)
    return "\n".join([*textwrap.wrap(summary, WIDTH - 8), "", "Replay it:", "", command])


def _list_imports(script: Script) -> list[str]:
    if script.protocol == "SpecialRound":
        return ["Adversary", "Example", "Moves", "Ready", "setting"]
    if isinstance(script, TrainingScript):
        return ["Advance", "Adversary", *["GradientCanary"] * bool(script.pulls), "Moves", "Sample", "Train"]
    queries, points = ["Query"] * bool(script.steps), ["Unlabelled"] * bool(script.handed)
    return ["Adversary", "Moves", *queries, "Sample", "Train", *points]


def _body(script: Script) -> Iterator[str]:
    if keeps_replies(script):
        yield from body_of_replies(script)
        return
    use = _ReplyUse.of(script)
    yield from use.before
    keeps = "reply = " if use.keeps(0) else ""
    if script.world_0 is None:
        yield f"{keeps}yield Ready()"
    else:
        yield from assign_samples(script)
        is_same = script.world_1 is None
        yield f"{keeps}yield {write_training(script)}{'  # the same in both worlds' * is_same}"
        yield from (write_hand(hand) for hand in script.handed)
    yield from use.after(0)
    before = 0
    for step in script.steps:
        for times in use.divide_rounds(before, step.rounds):
            yield from _step_lines(step, times, before, use)
            before += times
    yield f"return {use.result}"


def _step_lines(step: Step, times: int, before: int, use: _ReplyUse) -> Iterator[str]:
    keeps = "reply = " if use.keeps(before + times) else ""
    lines = [f"{keeps}yield {write_move(step, first=before == 0)}", *use.after(before + times)]
    if times > 1:
        yield f"for _ in range({times}):"
    yield from (f"    {line}" if times > 1 else line for line in lines)


@attrs.frozen
class _ReplyUse:
    """Which replies the source code keeps, and how it uses them.

    Replies are numbered by rounds; 0 is the reply to Train or Ready.

    adaptive: whether moves depend on replies. last: the number of rounds. singles: rounds that must not be in
        a loop with others.
    before: the lines that open the body. counts: the line that follows every reply in `counted`.
    scored: the reply that the score uses, and `assignment`, the line that reads it. result: what is returned.
    """

    adaptive: bool
    last: int
    singles: frozenset[int]
    before: tuple[str, ...] = ()
    counts: str = ""
    counted: range = range(0)
    scored: int = -1
    assignment: str = ""
    result: str = "None"

    @classmethod
    def of(cls, script: Script) -> _ReplyUse:
        score, last = script.score, script.rounds
        adaptive = any(
            isinstance(step, Follow) or (isinstance(step, Show) and isinstance(step.label, str))
            for step in script.steps
        )
        plain = cls(adaptive, last, frozenset({1} if adaptive else ()))
        if not isinstance(score, Score):
            return plain
        if score.feature == "failed":
            return attrs.evolve(plain, result="np.zeros(games)")
        counted = _counting_expression(score, last)
        if counted is not None:
            return attrs.evolve(
                plain,
                singles=plain.singles | {counted[1].stop},
                before=("count = np.zeros(games)",),
                counts=f"count += {counted[0]}",
                counted=counted[1],
                result=_form_expression("count", score),
            )
        scored, expression = _reply_expression(score, last)
        weights = assign("weights", "[", list(map(repr, score.weights)), "]") if score.weights else ()
        direct = scored == last and score.feature in ("halted", f"answer {last}")
        return attrs.evolve(
            plain,
            singles=plain.singles if direct else plain.singles | {scored},
            before=tuple(weights),
            scored=scored,
            assignment="" if direct else f"seen = {expression}",
            result=_form_expression(expression if direct else "seen", score),
        )

    def keeps(self, round: int) -> bool:
        """Whether the reply of a round is used."""
        later = self.adaptive and (round > 0 or self.last > 0) and round < self.last
        return later or round == self.scored or round in self.counted

    def after(self, round: int) -> list[str]:
        if round in self.counted:
            return [self.counts]
        return [self.assignment] if round == self.scored and self.assignment else []

    def divide_rounds(self, before: int, rounds: int) -> list[int]:
        """Divide `rounds` rounds after round `before` so that each of `singles` stands alone."""
        ends = {before + rounds}
        for single in self.singles:
            ends |= {end for end in (single - 1, single) if before < end < before + rounds}
        return np.diff([before, *sorted(ends)]).tolist()


def _counting_expression(score: Score, last: int) -> tuple[str, range] | None:
    if score.feature == "answers 1":
        return "reply.label == 1", range(1, last + 1)
    if score.feature == "answers":
        return "np.isin(reply.label, (0, 1))", range(1, last + 1)
    if score.feature == HYPOTHESES:  # the last example brings none
        return f"reply.hypothesis.concepts <= {write_number(score.centre)}", range(last)
    return None


def _reply_expression(score: Score, last: int) -> tuple[int, str]:
    """The reply that the score uses, and the expression that reads it."""
    number, place = score.part
    of_these = " @ weights" if score.form == WEIGHTED else f"[:, {place}]"
    if score.feature == "halted":
        return last, "reply.halted"
    if score.feature.startswith("answer "):
        return number, "reply.label"
    if score.feature.startswith("hypothesis "):
        return number - 1, f"np.reshape(reply.hypothesis.concepts, (games, -1)){of_these}"
    released = 'getattr(reply.value, "concepts", reply.value)'  # of a hypothesis, the concept
    return 0, f"np.reshape({released}, (games, -1)){of_these}"


def _form_expression(expression: str, score: Score) -> str:
    if score.form == DISTANCE:
        expression = f"np.abs({expression} - {write_number(score.centre)})"
    elif score.form == EQUAL:
        expression = f"{expression} == {write_number(score.centre)}"
        return f"-1.0 * ({expression})" if score.sign < 0 else expression
    return f"-1.0 * {expression}" if score.sign < 0 else expression

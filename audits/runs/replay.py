"""How a plan is played again: its adversary in a file of Python, and the command line or the code."""

from __future__ import annotations

import shlex
import textwrap

from arena import REFEREES, Adversary, ArenaError, Learner
from arena.privacy_curves import format_curve
from audits.registry.match import configure_game
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.record_code import write_assignment
from audits.registry.settings_text import build_player, format_own_settings
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict

FOUND_FILE, FOUND = "found.py", "found"  # where replays expect an adversary that no command line can name


def write_adversary(
    plan: Plan, verdict: Verdict, *, learner: str | None = None, file: str = FOUND_FILE
) -> str:
    """A file of Python that defines the adversary of a plan as `found`, and says what it refutes."""
    false = f"Found against {verdict.learner}: {verdict.describe_false_claims()}."
    about = "\n".join(textwrap.wrap(false, 107))
    replay = format_replay(plan, learner=learner, file=file)
    if replay.startswith("arena "):
        about += f"\n\nReplay it:\n\n{textwrap.indent(replay, '    ')}\n"
    return f'r"""{about}"""\n\n{write_assignment(FOUND, plan.adversary)}'


def format_replay(plan: Plan, *, learner: str | None = None, file: str = FOUND_FILE) -> str:
    """The command line that plays a plan again, or Python code if no command line can name the learner.

    learner: with its settings as on the command line. file: where `write_adversary` is.
    """
    learner = learner or name_player(plan.learner)
    curve = None if plan.given_curve is None else format_curve(plan.given_curve)
    is_usual = configure_game(REFEREES[plan.referee.name], plan.adversary)[1] == plan.referee
    if learner is None or (plan.given_curve is not None and curve is None) or not is_usual:
        code = write_assignment("plan", plan)
        return f"from audits.runs.run import run\n{code}run(plan)"
    adversary = name_player(plan.adversary, plan.learner) or shlex.quote(f"{file}:{FOUND}")
    until_refuted = " --until-refuted" if plan.until_refuted else ""
    claim = f"--epsilon {plan.epsilon!r}" if curve is None else f"--curve {curve}"
    options = [
        f"arena audit {learner}",
        f"--against {adversary} --protocol {plan.referee.name}",
        f"{claim} --delta {plan.delta!r} --confidence {plan.confidence!r}",
        f"--games {plan.games}{until_refuted} --seed {plan.seed} --distinguisher {plan.distinguisher}",
        *(["--faults"] if plan.faults else []),
    ]
    return " \\\n    ".join(options)


def name_player(player: Learner | Adversary, learner: Learner | None = None) -> str | None:
    """A player against `learner` on a command line; None if that would build another player."""
    registry, path = (LEARNERS, "") if isinstance(player, Learner) else (ADVERSARIES, "adversary.")
    texts = format_own_settings(player)
    try:
        if build_player(registry.find(player.name), texts, learner=learner) != player:
            return None
    except ArenaError:
        return None
    settings = [f" --set {shlex.quote(f'{path}{name}={text}')}" for name, text in texts.items()]
    return player.name + "".join(settings)

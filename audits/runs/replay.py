"""How a plan is played again: a command, and the file of Python that it reads."""

from __future__ import annotations

import os
import shlex
import textwrap

import attrs

from arena import REFEREES, Adversary, ArenaError, CannotBeSent, Learner
from arena.errors import describe_error
from arena.privacy_curves import format_curve
from audits.registry.match import configure_game
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.record_code import write_assignments
from audits.registry.settings_text import build_player, format_own_settings
from audits.registry.user_files import run_no_new_file
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict

FOUND_FILE, FOUND = "found.py", "found"  # where replays expect an adversary that no command line can name
LEARNER = "learner"  # in the same file, if no command line can name it


@attrs.frozen
class Replay:
    """How a plan is played again.

    command: a command line; empty if there is none. source: the file of Python that it reads; empty if it
    reads none. obstacle: why there is no command.
    """

    command: str
    source: str
    obstacle: str = ""


def write_replay(
    plan: Plan,
    verdict: Verdict,
    *,
    learner: str | None = None,
    file: str = FOUND_FILE,
    folder: str | None = None,
) -> Replay:
    """The command that plays a plan again, and the file with the players that it cannot name.

    learner: with its settings as on the command line.
    file: in which the command finds the players.
    folder: that of the file, relative to which it names files of the user's; default: as the command has it.
    """
    folder = os.path.dirname(file) or "." if folder is None else folder
    named = {LEARNER: learner or name_player(plan.learner), FOUND: name_player(plan.adversary, plan.learner)}
    in_file = {name: getattr(plan, role) for name, role in _ROLES.items() if named[name] is None}
    command = _format_audit(plan, *(named[name] or shlex.quote(f"{file}:{name}") for name in _ROLES))
    if command and not in_file:
        return Replay(command, "")
    about = f"Found against {verdict.learner}: {verdict.describe_false_claims()}."
    about = "\n".join(textwrap.wrap(about, 107))
    try:
        if command:
            code = write_assignments(folder, **in_file)
        else:
            command = f"python {shlex.quote(file)}"
            code = f"from audits.runs.run import run\n{write_assignments(folder, plan=plan)}\n{_RUN}"
    except Exception as error:  # the user's objects may raise anything when they are written
        obstacle = str(error) if isinstance(error, CannotBeSent) else describe_error(error)
        return Replay("", _write_alone(plan.adversary), obstacle)
    replay = textwrap.indent(command, "    ")
    return Replay(command, f'r"""{about}\n\nReplay it:\n\n{replay}\n"""\n\n{code}')


_ROLES = {LEARNER: "learner", FOUND: "adversary"}
_RUN = 'if __name__ == "__main__":\n    print(run(plan).summary())\n'


def _write_alone(adversary: Adversary) -> str:
    """The adversary as code; empty if it cannot be written."""
    try:
        return write_assignments(**{FOUND: adversary})
    except Exception:
        return ""


def _format_audit(plan: Plan, learner: str, adversary: str) -> str:
    """The command line of the audit of a plan; empty if none can name its curve or its referee."""
    curve = None if plan.given_curve is None else format_curve(plan.given_curve)
    is_usual = configure_game(REFEREES[plan.referee.name], plan.adversary)[1] == plan.referee
    if (plan.given_curve is not None and curve is None) or not is_usual:
        return ""
    until_refuted = " --until-refuted" if plan.until_refuted else ""
    claim = f"--epsilon {plan.epsilon!r}" if curve is None else f"--curve {curve}"
    options = [
        f"arena audit {learner}",
        f"--against {adversary} --protocol {plan.referee.name}",
        f"{claim} --delta {plan.delta!r} --confidence {plan.confidence!r}",
        f"--games {plan.games}{until_refuted} --seed {plan.seed} --distinguisher {plan.distinguisher}",
        *(["--fixed-games"] if plan.fixed_games else []),
        *(["--faults"] if plan.faults else []),
    ]
    return " \\\n    ".join(options)


def name_player(player: Learner | Adversary, learner: Learner | None = None) -> str | None:
    """A player against `learner` on a command line; None if that would build another player."""
    registry, path = (LEARNERS, "") if isinstance(player, Learner) else (ADVERSARIES, "adversary.")
    texts = format_own_settings(player)
    try:
        with run_no_new_file():
            if build_player(registry.find(player.name), texts, learner=learner) != player:
                return None
    except ArenaError:
        return None
    settings = [f" --set {shlex.quote(f'{path}{name}={text}')}" for name, text in texts.items()]
    return player.name + "".join(settings)

"""Learners of a race or an attack, each with a label: `LEARNER` or `LABEL=LEARNER`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from arena import Adversary, InvalidArgument, Learner
from audits.registry.given_players import check_player, configure_learner
from audits.registry.match import PlayerSettings
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.settings_text import build_player

_LABELLED = re.compile(r"([\w-]+)=(.+)", re.DOTALL)
_RESERVED = ("learner", "adversary")  # `--set` uses these for all learners and for the adversary

LabelledClass = tuple[str, type[Learner] | Learner]


def find_entrants(texts: Sequence[str | Learner]) -> list[LabelledClass]:
    """The label of every learner, and its class or, if it is given as an instance, the learner itself.

    The label is the learner's name unless one is given.

    Raises: InvalidArgument if there is no such learner, or if a label is reserved or used twice.
    """
    entrants: list[LabelledClass] = []
    for text in texts:
        if not isinstance(text, str):
            check_player("learner", text, Learner)
            entrants.append((text.name, text))
            continue
        labelled = _LABELLED.fullmatch(text)
        player = LEARNERS.find(text if labelled is None else labelled[2])
        entrants.append((player.name if labelled is None else labelled[1], player))
    labels = [label for label, _ in entrants]
    for label in labels:
        if label in _RESERVED:
            raise InvalidArgument(f"{label} cannot be a label", remedy="Choose another; --set reserves it.")
    check_distinct(labels)
    return entrants


def check_distinct(labels: Sequence[str]) -> None:
    """Raises: InvalidArgument if two labels are equal."""
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidArgument(
                f"two learners are called {label}", remedy=f"Label one, as in other={label}."
            )


def build_online_entrants(
    entrants: Sequence[LabelledClass], settings: PlayerSettings, *, against: str, rounds: int | None
) -> tuple[list[tuple[str, Learner, Adversary]], int]:
    """The label, the learner and the adversary of every entrant of an online race, and its number of rounds.

    settings: of "learner" (all learners), of every label, and of "adversary".
    rounds: the number of rounds, which players with a setting `rounds` share; None: the adversary's default.

    Raises: InvalidArgument if a setting is refused, if `rounds` is set again, or if there is no default.
    """
    opponent = ADVERSARIES.find(against)
    if rounds is None:
        field = attrs.fields_dict(opponent).get("rounds")
        rounds = None if field is None else field.default
    if not isinstance(rounds, int):
        raise InvalidArgument(
            f"{opponent.name} has no number of rounds of its own", remedy="Say how many: --rounds T."
        )
    for label in ("adversary", "learner", *(label for label, _ in entrants)):
        if "rounds" in settings[label]:
            raise InvalidArgument(f"the rounds of the {label} are those of the race", remedy="Give --rounds.")
    players = []
    for label, player in entrants:
        texts = {**settings["learner"], **settings[label]}
        learner: Learner = (
            configure_learner(player, texts)
            if isinstance(player, Learner)
            else build_player(player, _add_rounds(player, texts, rounds))
        )
        opponent_texts = _add_rounds(opponent, settings["adversary"], rounds)
        adversary: Adversary = build_player(opponent, opponent_texts, learner=learner)
        players.append((label, learner, adversary))
    return players, rounds


def _add_rounds(player: type, texts: dict[str, str], rounds: int) -> dict[str, str]:
    return {**texts, "rounds": str(rounds)} if "rounds" in attrs.fields_dict(player) else texts

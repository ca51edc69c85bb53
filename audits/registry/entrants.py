"""Learners of a race or an attack, each with a label: `LEARNER` or `LABEL=LEARNER`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arena import InvalidArgument, Learner
from audits.registry.given_players import check_player
from audits.registry.players import LEARNERS

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
    check_labels(labels)
    return entrants


def check_labels(labels: Sequence[str]) -> None:
    """Raises: InvalidArgument if there are no labels, or two are equal."""
    if not labels:
        raise InvalidArgument("a race needs at least one learner")
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidArgument(
                f"two learners are called {label}", remedy=f"Label one, as in other={label}."
            )

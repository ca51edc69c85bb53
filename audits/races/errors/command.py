"""`arena race` of predictors: learners of Figure 1 before honest, or another adversary that has a law."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol, Self, runtime_checkable

import attrs
import click

from arena import Adversary, InvalidArgument, Learner, Sample
from audits.races.errors import PredictorRace, predictor_race
from audits.races.errors.plan import GAMES, ROUNDS, check_rounds
from audits.races.mistakes.plan import concepts_of
from audits.registry.match import Data, Settings
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build, summary

PROTOCOL = "Figure1"
USUAL = "honest"


@runtime_checkable
class HasPracticalConstants(Protocol):
    """A learner that can choose constants for small errors, as `GenericBBL` can."""

    @classmethod
    def settings_before_fitting(cls) -> dict[str, str]:
        """Settings, as text, with which a learner can be built whatever sizes the user sets."""

    def with_practical_constants(self, *, rounds: int, keep: Collection[str] = ()) -> Self:
        """The learner with constants for small errors; settings named in `keep` stay as they are."""

    def check_labellings(self, rounds: int, sample: Sample | None = None) -> None:
        """Raises: Unsupported if LabelBoost would have too many labellings to choose from."""


def planned(
    players: list[tuple[str, type[Learner]]],
    texts: Settings,
    *,
    against: str | None,
    rounds: int | None,
    games: int | None,
    data: Data | None,
    as_set: bool,
    agnostic: bool,
    **others: Any,
) -> tuple[PredictorRace, list[str]]:
    """The race, and notes on how it came about.

    players: labels and classes of the learners. texts: their settings, as `settings_of` reads them.
    """
    sample = None if data is None else data.load()
    opponent = ADVERSARIES.find(USUAL if against is None else against)
    if sample is not None and "sample" not in attrs.fields_dict(opponent):
        raise InvalidArgument(f"{opponent.name} takes no data", remedy="Leave out --data.")
    rounds = ROUNDS if rounds is None else rounds
    entrants, notes = [], []
    for label, player in players:
        own = {**texts["learner"], **texts[label]}
        if agnostic and "agnostic" in attrs.fields_dict(player):
            own.setdefault("agnostic", "true")
        learner, note = learner_of(label, player, own, rounds, as_set=as_set)
        notes += note
        check_rounds(learner, rounds)
        if sample is not None:
            check_points(learner, sample)
        adversary: Adversary = build(opponent, texts["adversary"], sample=sample, learner=learner)
        entrants.append((label, learner, adversary))
    found = predictor_race(entrants, rounds=rounds, games=GAMES if games is None else games, **others)
    for entrant in found.entrants:
        if isinstance(entrant.learner, HasPracticalConstants):
            entrant.learner.check_labellings(rounds, sample)
    return found, notes


def learner_of(
    label: str, player: type[Learner], own: dict[str, str], rounds: int, *, as_set: bool
) -> tuple[Learner, list[str]]:
    """The learner with its settings `own`, and with practical constants where it may have them; and notes on
    these.
    """
    if as_set or not issubclass(player, HasPracticalConstants):
        return build(player, own), []
    learner: Any = build(player, {**player.settings_before_fitting(), **own})
    check_rounds(learner, rounds)
    found = learner.with_practical_constants(rounds=rounds, keep=set(own))
    if found == learner:
        return found, []
    return found, [f"{label} has practical constants (--as-set keeps its own): {summary(found)}"]


def check_points(learner: Learner, sample: Sample) -> None:
    """Raises: InvalidArgument, before any game, if the data are not points of the learner's class."""
    concepts = concepts_of(learner)
    if sample.points.shape[1:] != concepts.point_shape:
        raise InvalidArgument(
            f"{learner.name} receives points of shape {concepts.point_shape}",
            value=sample.points.shape[1:],
            remedy="Name as many --x, or set concepts, as in --set concepts=boxes:2.",
        )
    concepts.check(sample.points)


def check_options(*, protocol: str | None, marks: int | None) -> None:
    """Raises: UsageError for options that races of predictors have not."""
    if protocol not in (None, PROTOCOL):
        raise click.UsageError(f"Predictors are raced under {PROTOCOL}, not {protocol}.")
    if marks is not None:
        raise click.UsageError("Predictors are measured by their own rounds; --marks is for online games.")

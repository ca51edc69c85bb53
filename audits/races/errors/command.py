"""`arena race` of predictors: learners of Figure 1 before honest, or another adversary that has a law."""

from __future__ import annotations

from typing import Any

import attrs
import click

from arena import Adversary, InvalidArgument, Learner, Sample
from audits.races.errors import PredictorRace, predictor_race
from audits.races.errors.plan import GAMES, ROUNDS, check_rounds
from audits.races.mistakes.plan import concepts_of
from audits.registry.match import DataSource, PlayerSettings
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player, summarize_player
from learners.everlasting.everlasting_fresh import EverlastingFresh
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.practical_constants import practical

PROTOCOL = "Figure1"
USUAL = "honest"


def planned(
    players: list[tuple[str, type[Learner]]],
    texts: PlayerSettings,
    *,
    against: str | None,
    rounds: int | None,
    games: int | None,
    data: DataSource | None,
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
        adversary: Adversary = build_player(opponent, texts["adversary"], sample=sample, learner=learner)
        entrants.append((label, learner, adversary))
    found = predictor_race(entrants, rounds=rounds, games=GAMES if games is None else games, **others)
    for entrant in found.entrants:
        if isinstance(entrant.learner, GenericBBL):
            _check_labellings(entrant.learner, rounds, sample)
    return found, notes


def learner_of(
    label: str, player: type[Learner], own: dict[str, str], rounds: int, *, as_set: bool
) -> tuple[Learner, list[str]]:
    """The learner with its settings `own`, and with practical constants where it may have them; and notes on
    these.
    """
    if as_set or not issubclass(player, GenericBBL):
        return build_player(player, own), []
    learner = build_player(player, {**_fitting(player), **own})
    assert isinstance(learner, GenericBBL)
    return _practical(label, learner, rounds, set(own))


def _fitting(player: type[Learner]) -> dict[str, str]:
    """Settings with which a spec can be made whatever sizes the user sets, as practical constants have
    them."""
    every = {"training_rate": "1", "rate": "1"}
    return every if issubclass(player, EverlastingFresh) else {**every, "answers": "none"}


def _practical(
    label: str, learner: GenericBBL, rounds: int, chosen: set[str]
) -> tuple[GenericBBL, list[str]]:
    """The learner with practical constants where the user has set none."""
    check_rounds(learner, rounds)
    found = practical(learner, rounds=rounds, keep=chosen)
    if found == learner:
        return found, []
    return found, [f"{label} has practical constants (--as-set keeps its own): {summarize_player(found)}"]


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


def _check_labellings(learner: GenericBBL, rounds: int, sample: Sample | None) -> None:
    """Raises: Unsupported, before any game, if LabelBoost would have too many labellings to choose from."""
    points = learner.round(1).examples if learner.agnostic else 0
    if rounds > 1:
        run = learner.round(rounds - 1)
        points = int(learner.rate_run * (run.examples + learner.unlabelled(rounds - 1)))
    distinct = learner.concepts.domain if sample is None else sample.distinct().points
    learner.concepts.check_solutions(points if distinct is None else min(points, len(distinct)))


def check_options(*, protocol: str | None, marks: int | None) -> None:
    """Raises: UsageError for options that races of predictors have not."""
    if protocol not in (None, PROTOCOL):
        raise click.UsageError(f"Predictors are raced under {PROTOCOL}, not {protocol}.")
    if marks is not None:
        raise click.UsageError("Predictors are measured by their own rounds; --marks is for online games.")

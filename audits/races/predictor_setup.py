"""A race of predictors from names and settings, with practical constants where nothing is set."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol, Self, runtime_checkable

import attrs

from arena import Adversary, InvalidArgument, Learner, Sample
from audits.races.game_plan import concepts_of
from audits.races.predictor_race import (
    GAMES,
    MAX_ROUNDS,
    ROUNDS,
    PredictorRace,
    check_rounds,
    plan_predictor_race,
)
from audits.registry.entrants import LabelledClass
from audits.registry.given_players import configure_learner
from audits.registry.match import DataSource, PlayerSettings, load_data
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player, summarize_player

ADVERSARY = "honest"  # the default


@runtime_checkable
class HasPracticalConstants(Protocol):
    """A learner that can choose constants for small errors, as `GenericBBL` can."""

    @classmethod
    def settings_before_fitting(cls) -> dict[str, str]:
        """Settings, as text, with which a learner can be built whatever sizes the user sets."""

    def with_practical_constants(self, *, rounds: int, keep: Collection[str] = ()) -> Self:
        """The learner with constants for small errors; settings named in `keep` stay as they are."""

    def check_labellings(self, rounds: int, sample: Sample | None = None) -> None:
        """Raises: Unsupported if there would be too many labellings to choose from."""


def setup_predictor_race(
    players: list[LabelledClass],
    settings: PlayerSettings,
    *,
    against: str | None,
    rounds: int | None,
    games: int | None,
    data: DataSource | Sample | None,
    as_set: bool,
    agnostic: bool,
    **others: Any,
) -> tuple[PredictorRace, list[str]]:
    """The race, and notes about settings that were chosen for the user.

    players: labels, and classes of the learners or learners as they are set.
    settings: of "learner", "adversary" and every label. against: the adversary's name.
    as_set: keep the learners' own defaults instead of practical constants.
    agnostic: let learners relabel their sample first. others: as in `plan_predictor_race`.

    Raises: InvalidArgument if there are no such games; Unsupported if they have too many labellings.
    """
    opponent = ADVERSARIES.find(ADVERSARY if against is None else against)
    sample = load_data(data, opponent)
    rounds = ROUNDS if rounds is None else rounds
    entrants, notes = [], []
    for label, player in players:
        texts = {**settings["learner"], **settings[label]}
        if agnostic and isinstance(player, type) and "agnostic" in attrs.fields_dict(player):
            texts.setdefault("agnostic", "true")
        learner, note = setup_predictor(label, player, texts, rounds, as_set=as_set, sample=sample)
        notes += note
        adversary: Adversary = build_player(opponent, settings["adversary"], sample=sample, learner=learner)
        entrants.append((label, learner, adversary))
    race = plan_predictor_race(entrants, rounds=rounds, games=GAMES if games is None else games, **others)
    for entrant in race.entrants:
        if isinstance(entrant.learner, HasPracticalConstants):
            entrant.learner.check_labellings(rounds, sample)
    return race, notes


def setup_predictor(
    label: str,
    player: type[Learner] | Learner,
    texts: dict[str, Any],
    rounds: int,
    *,
    as_set: bool,
    sample: Sample | None = None,
) -> tuple[Learner, list[str]]:
    """A learner with its settings, and with practical constants if it has them; and notes about these.

    Raises: InvalidArgument if it does not play so many rounds, or the data are no points of its class.
    """
    notes = []
    if isinstance(player, Learner):
        learner: Any = configure_learner(player, texts)
    elif as_set or not issubclass(player, HasPracticalConstants):
        learner = build_player(player, texts)
    else:
        start: Any = build_player(player, {**player.settings_before_fitting(), **texts})
        check_rounds(start, rounds)
        learner = start.with_practical_constants(rounds=min(rounds, MAX_ROUNDS), keep=set(texts))
        if learner != start:
            notes = [f"{label} has practical constants (--as-set keeps its own): {summarize_player(learner)}"]
    if sample is not None:
        concepts = concepts_of(learner)
        if sample.points.shape[1:] != concepts.point_shape:
            raise InvalidArgument(
                f"{learner.name} receives points of shape {concepts.point_shape}",
                value=sample.points.shape[1:],
                remedy="Name as many --x, or set concepts, as in --set concepts=boxes:2.",
            )
        concepts.check(sample.points)
    return learner, [*notes, *learner.shortcomings]

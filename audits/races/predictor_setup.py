"""A race of predictors from names and settings, with practical constants where nothing is set."""

from __future__ import annotations

from typing import Any

import attrs

from arena import Adversary, InvalidArgument, Learner, Sample
from audits.races.game_plan import Entrant, concepts_of
from audits.races.predictor_race import GAMES, ROUNDS, PredictorRace, check_rounds, plan_predictor_race
from audits.registry.match import Data, Settings
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build, summary
from learners.everlasting.everlasting_fresh import EverlastingFresh
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.practical_constants import practical

ADVERSARY = "honest"  # the default


def setup_predictor_race(
    players: list[tuple[str, type[Learner]]],
    settings: Settings,
    *,
    against: str | None,
    rounds: int | None,
    games: int | None,
    data: Data | None,
    as_set: bool,
    agnostic: bool,
    **others: Any,
) -> tuple[PredictorRace, list[str]]:
    """The race, and notes about settings that were chosen for the user.

    players: labels and classes of the learners. settings: of "learner", "adversary" and every label.
    against: the adversary's name. as_set: keep the learners' own defaults instead of practical constants.
    agnostic: let learners relabel their sample first. others: as in `plan_predictor_race`.

    Raises: InvalidArgument if there are no such games; Unsupported if they have too many labellings.
    """
    sample = None if data is None else data.load()
    opponent = ADVERSARIES.find(ADVERSARY if against is None else against)
    if sample is not None and "sample" not in attrs.fields_dict(opponent):
        raise InvalidArgument(f"{opponent.name} takes no data", remedy="Leave out --data.")
    rounds = ROUNDS if rounds is None else rounds
    entrants, notes = [], []
    for label, player in players:
        texts = {**settings["learner"], **settings[label]}
        if agnostic and "agnostic" in attrs.fields_dict(player):
            texts.setdefault("agnostic", "true")
        learner, note = setup_predictor(label, player, texts, rounds, as_set=as_set, sample=sample)
        notes += note
        adversary: Adversary = build(opponent, settings["adversary"], sample=sample, learner=learner)
        entrants.append((label, learner, adversary))
    race = plan_predictor_race(entrants, rounds=rounds, games=GAMES if games is None else games, **others)
    for entrant in race.entrants:
        _check_labellings(entrant, rounds, sample)
    return race, notes


def setup_predictor(
    label: str,
    player: type[Learner],
    texts: dict[str, str],
    rounds: int,
    *,
    as_set: bool,
    sample: Sample | None = None,
) -> tuple[Learner, list[str]]:
    """A learner with its settings, and with practical constants if it has them; and notes about these.

    Raises: InvalidArgument if it does not play so many rounds, or the data are no points of its class.
    """
    notes = []
    if as_set or not issubclass(player, GenericBBL):
        learner = build(player, texts)
    else:
        # With these, a learner can be built whatever sizes the user sets.
        start = {"training_rate": "1", "rate": "1"}
        start |= {} if issubclass(player, EverlastingFresh) else {"answers": "none"}
        own: Any = build(player, {**start, **texts})
        check_rounds(own, rounds)
        learner = practical(own, rounds=rounds, keep=set(texts))
        if learner != own:
            notes = [f"{label} has practical constants (--as-set keeps its own): {summary(learner)}"]
    if sample is not None:
        _check_points(learner, sample)
    return learner, notes


def _check_points(learner: Learner, sample: Sample) -> None:
    concepts = concepts_of(learner)
    if sample.points.shape[1:] != concepts.point_shape:
        raise InvalidArgument(
            f"{learner.name} receives points of shape {concepts.point_shape}",
            value=sample.points.shape[1:],
            remedy="Name as many --x, or set concepts, as in --set concepts=boxes:2.",
        )
    concepts.check(sample.points)


def _check_labellings(entrant: Entrant, rounds: int, sample: Sample | None) -> None:
    """Raises: Unsupported if LabelBoost would have too many labellings to choose from."""
    learner = entrant.learner
    if not isinstance(learner, GenericBBL):
        return
    points = learner.round(1).examples if learner.agnostic else 0
    if rounds > 1:
        run = learner.round(rounds - 1)
        points = int(learner.rate_run * (run.examples + learner.unlabelled(rounds - 1)))
    distinct = learner.concepts.domain if sample is None else sample.distinct().points
    learner.concepts.check_solutions(points if distinct is None else min(points, len(distinct)))

"""A race from names and settings: of online learners, or of predictors with practical constants."""

from __future__ import annotations

from typing import Any

import attrs

from arena import Adversary, InvalidArgument, Learner, Sample
from arena.capabilities import HasPracticalConstants
from audits.races.game_plan import concepts_of
from audits.races.online_games import plan_online_race
from audits.races.predictor_games import MAX_ROUNDS, PROTOCOL, ROUNDS, check_rounds, plan_predictor_race
from audits.races.race_plan import Race
from audits.registry.entrants import LabelledClass
from audits.registry.given_players import configure_learner
from audits.registry.match import DataSource, PlayerSettings, load_data
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player, summarize_player

Players = list[tuple[str, Learner, Adversary]]


def build_race(
    entrants: list[LabelledClass],
    settings: PlayerSettings,
    *,
    against: str | None,
    rounds: int | None = None,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int | None = None,
    as_set: bool = False,
    data: DataSource | Sample | None = None,
    **others: Any,
) -> tuple[Race, list[str]]:
    """The race of online learners, or of predictors, and notes about settings that were chosen for the user.

    entrants: labels, and classes of the learners or learners as they are set. settings: of "learner" (all
    learners), of every label, and of "adversary". against: the adversary's name; default for predictors:
    honest. as_set: keep the predictors' own defaults instead of practical constants. agnostic: count regret;
    let predictors relabel their sample first. games and others: as in `plan_online_race` and
    `plan_predictor_race`, with their defaults if they are None.

    Raises: InvalidArgument if there are no such games; Unsupported if they have too many labellings.
    """
    others = {name: value for name, value in others.items() if value is not None}
    predictors = [label for label, player in entrants if PROTOCOL in player.protocols]
    if not predictors:
        if data is not None or as_set:
            _refuse("--data and --as-set are for predictors, which play Figure1")
        if against is None:
            raise InvalidArgument("a race of online learners needs an adversary", remedy="Name it.")
        others |= {"protocol": protocol, "agnostic": agnostic} | ({} if marks is None else {"marks": marks})
        players, rounds = _build_online_players(entrants, settings, against, rounds)
        notes = [note for _, learner, _ in players for note in learner.shortcomings]
        return plan_online_race(players, rounds=rounds, **others), notes
    if len(predictors) < len(entrants):
        raise InvalidArgument(
            f"Predictors ({', '.join(predictors)}) and learners of online games need separate races",
            remedy="Race them one after the other.",
        )
    if protocol not in (None, PROTOCOL):
        _refuse(f"Predictors are raced under {PROTOCOL}, not {protocol}", "Leave the protocol out.")
    if marks is not None:
        _refuse("--marks is for online games; predictors are measured by their rounds")
    rounds = ROUNDS if rounds is None else rounds
    opponent = ADVERSARIES.find("honest" if against is None else against)
    sample = load_data(data, opponent)
    players, notes = [], []
    for label, player in entrants:
        texts = {**settings["learner"], **settings[label]}
        if agnostic and isinstance(player, type) and "agnostic" in attrs.fields_dict(player):
            texts.setdefault("agnostic", "true")
        learner, own_notes = setup_predictor(label, player, texts, rounds, as_set=as_set, sample=sample)
        notes += own_notes
        adversary = build_player(opponent, settings["adversary"], sample=sample, learner=learner)
        players.append((label, learner, adversary))
    race = plan_predictor_race(players, rounds=rounds, **others)
    for entrant in race.entrants:
        if isinstance(entrant.learner, HasPracticalConstants):
            entrant.learner.check_labellings(rounds, sample)
    return race, notes


def _refuse(message: str, remedy: str = "Leave it out.") -> None:
    raise InvalidArgument(message, remedy=remedy)


def _build_online_players(
    entrants: list[LabelledClass], settings: PlayerSettings, against: str, rounds: int | None
) -> tuple[Players, int]:
    """The entrants, and the number of rounds; None: the adversary's default.

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
    players: Players = []
    for label, player in entrants:
        texts = {**settings["learner"], **settings[label]}
        learner: Learner = (
            configure_learner(player, texts)
            if isinstance(player, Learner)
            else build_player(player, _add_rounds(player, texts, rounds))
        )
        opponent_texts = _add_rounds(opponent, settings["adversary"], rounds)
        players.append((label, learner, build_player(opponent, opponent_texts, learner=learner)))
    return players, rounds


def _add_rounds(player: type, texts: dict[str, str], rounds: int) -> dict[str, str]:
    return {**texts, "rounds": str(rounds)} if "rounds" in attrs.fields_dict(player) else texts


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

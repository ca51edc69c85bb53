"""`audits.race`: compare learners by mistakes, regret, or errors of their hypotheses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from arena import Adversary, InvalidArgument, Learner, Sample
from arena.capabilities import HasPracticalConstants
from audits.api.audit import split_settings
from audits.api.user_data import read_sample
from audits.interrupts import return_unless_interrupted
from audits.races.online_race import plan_online_race
from audits.races.predictor_race import PROTOCOL, ROUNDS, check_rounds, plan_predictor_race
from audits.races.race import Race, concepts_of
from audits.races.race_result import RaceResult, run_race
from audits.registry.match import GivenData, PlayerSettings, load_data
from audits.registry.players import ADVERSARIES, LEARNERS, GivenAdversary, check_player, configure_learner
from audits.registry.settings_text import build_player, summarize_player
from audits.registry.suggestions import check_labels, explain_arguments
from audits.runs.workers import Workers
from audits.tournaments.tournament_plan import CONFIDENCE, plan_tournament
from audits.tournaments.tournament_result import TournamentResult, run_tournament

_LABELLED = re.compile(r"([\w-]+)=(.+)", re.DOTALL)
_RESERVED = ("learner", "adversary")  # `--set` uses these for all learners and for the adversary

LabelledClass = tuple[str, type[Learner] | Learner]


@explain_arguments
def race(
    learners: Sequence[str | Learner],
    against: str | None = None,
    *,
    rounds: int | None = None,
    games: int | None = None,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int | None = None,
    as_set: bool = False,
    data: Any = None,
    confidence: float = 0.95,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    progress: Callable[[int], None] | None = None,
) -> RaceResult:
    """Play each learner many times against an adversary, and compare mistakes, regret or errors.

    learners: learners, or names; "few=realizable" gives a learner a label. against: the name of the
        adversary; default for predictors: honest.
    rounds: of a game; default: the adversary's. games: of each learner; default: 1,000, for predictors fewer.
    agnostic: allow games that no concept explains, and count regret. marks: the number of rounds at which
        figures are recorded, at most. as_set: keep the default sizes of predictors.
    settings: {"nodes": 64} of all learners, {"few.nodes": 64} of one, and {"adversary.noise": 0}.
    confidence: of all limits together. data, protocol, seed, jobs: as in `audits.audit`.
    progress: called with the number of games played.

    Raises: InvalidArgument; NotConforming; Unsupported if a class is too large.

    >>> import audits
    >>> result = audits.race(["soa", "halving"], "shattered-tree", rounds=20, games=10)
    >>> [standing.label for standing in result.standings], result.broken
    (['soa', 'halving'], False)
    """
    if isinstance(learners, str | Learner) or not isinstance(learners, Sequence) or not learners:
        raise InvalidArgument(
            "learners must be a list of learners or names", value=learners, remedy='Write ["soa", "halving"].'
        )
    entrants = find_entrants(learners)
    plan, notes = plan_race(
        entrants,
        split_settings(settings, *(label for label, _ in entrants)),
        against=against,
        rounds=rounds,
        games=games,
        protocol=protocol,
        agnostic=agnostic,
        marks=marks,
        as_set=as_set,
        data=None if data is None else read_sample("data", data),
        confidence=confidence,
        seed=seed,
    )
    result = run_race(plan, jobs=jobs, watch=progress)
    return return_unless_interrupted(attrs.evolve(result, notes=tuple(notes)))


def find_entrants(texts: Sequence[str | Learner]) -> list[LabelledClass]:
    """The label of every LEARNER or LABEL=LEARNER, and its class, or the learner itself if it is given."""
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


def plan_race(
    entrants: list[LabelledClass],
    settings: PlayerSettings,
    *,
    against: str | None = None,
    rounds: int | None = None,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int | None = None,
    as_set: bool = False,
    data: GivenData | None = None,
    **others: Any,
) -> tuple[Race, list[str]]:
    """The race of online learners, or of predictors, and notes on how settings were chosen.

    settings: of "learner" (all learners), of every label, and of "adversary". others: games, confidence and
    seed; None: the default. Raises: InvalidArgument; Unsupported if there are too many labellings.
    """
    others = {name: value for name, value in others.items() if value is not None}
    predictors = [label for label, player in entrants if PROTOCOL in player.protocols]
    if not predictors:
        _refuse(data is not None or as_set, "--data and --as-set are for predictors, which play Figure1")
        if against is None:
            raise InvalidArgument(
                "a race of online learners needs an adversary", remedy="Name it: --against adaptive."
            )
        others |= {"protocol": protocol, "agnostic": agnostic} | ({} if marks is None else {"marks": marks})
        return _plan_online_race(entrants, settings, ADVERSARIES.find(against), rounds, others)
    if len(predictors) < len(entrants):
        raise InvalidArgument(
            f"Predictors ({', '.join(predictors)}) and learners of online games need separate races",
            remedy="Race them one after the other.",
        )
    _refuse(protocol not in (None, PROTOCOL), f"Predictors are raced under {PROTOCOL}, not {protocol}")
    _refuse(marks is not None, "--marks is for online games; predictors are measured by their rounds")
    opponent = ADVERSARIES.find("honest" if against is None else against)
    sample = load_data(data, opponent)
    rounds = ROUNDS if rounds is None else rounds
    players, notes = [], []
    for label, player in entrants:
        texts = {**settings["learner"], **settings[label]}
        if agnostic and isinstance(player, type) and "agnostic" in attrs.fields_dict(player):
            texts.setdefault("agnostic", "true")
        learner, own_notes = build_predictor(label, player, texts, rounds, as_set=as_set, sample=sample)
        adversary = build_player(opponent, settings["adversary"], sample=sample, learner=learner)
        players.append((label, learner, adversary))
        notes += own_notes
    plan = plan_predictor_race(players, rounds=rounds, **others)
    for entrant in plan.entrants:
        if isinstance(entrant.learner, HasPracticalConstants):
            entrant.learner.check_labellings(rounds, sample)
    return plan, notes


def _refuse(misplaced: bool, message: str) -> None:
    if misplaced:
        raise InvalidArgument(message, remedy="Leave it out.")


def _plan_online_race(
    entrants: list[LabelledClass],
    settings: PlayerSettings,
    opponent: type[Adversary],
    rounds: int | None,
    others: dict[str, Any],
) -> tuple[Race, list[str]]:
    """Players with a setting `rounds` share that of the race, by default the opponent's."""
    if rounds is None:
        field = attrs.fields_dict(opponent).get("rounds")
        rounds = None if field is None else field.default
    if not isinstance(rounds, int):
        raise InvalidArgument(
            f"{opponent.name} has no number of rounds of its own", remedy="Say how many: --rounds T."
        )
    for role, given in settings.items():
        if "rounds" in given:
            raise InvalidArgument(f"the rounds of the {role} are those of the race", remedy="Give --rounds.")

    def build(player: type, texts: dict[str, Any], learner: Learner | None = None) -> Any:
        own = {"rounds": str(rounds)} if "rounds" in attrs.fields_dict(player) else {}
        return build_player(player, {**texts, **own}, learner=learner)

    players = []
    for label, player in entrants:
        texts = {**settings["learner"], **settings[label]}
        learner = configure_learner(player, texts) if isinstance(player, Learner) else build(player, texts)
        players.append((label, learner, build(opponent, settings["adversary"], learner)))
    notes = [note for _, learner, _ in players for note in learner.shortcomings]
    return plan_online_race(players, rounds=rounds, **others), notes


def build_predictor(
    label: str,
    player: type[Learner] | Learner,
    texts: dict[str, Any],
    rounds: int,
    *,
    as_set: bool,
    sample: Sample | None = None,
) -> tuple[Learner, list[str]]:
    """A learner with its settings, and with practical constants if it has them; and notes about these."""
    notes = []
    if isinstance(player, Learner):
        learner: Any = configure_learner(player, texts)
    elif as_set or not issubclass(player, HasPracticalConstants):
        learner = build_player(player, texts)
    else:
        start: Any = build_player(player, {**player.settings_before_fitting(), **texts})
        check_rounds(start, rounds)
        learner = start.with_practical_constants(rounds=rounds, keep=set(texts))
        if learner != start:
            notes = [f"{label} has practical constants (--as-set keeps its own): {summarize_player(learner)}"]
    if sample is not None:
        concepts = concepts_of(learner)
        if sample.points.shape[1:] != concepts.point_shape:
            raise InvalidArgument(
                f"{learner.own_name} receives points of shape {concepts.point_shape}",
                value=sample.points.shape[1:],
                remedy="Name as many --x, or set concepts, as in --set concepts=boxes:2.",
            )
        concepts.check(sample.points)
    return learner, [*notes, *learner.shortcomings]


@explain_arguments
def tournament(
    learners: Sequence[str | Learner] = (),
    against: Sequence[GivenAdversary] = (),
    *,
    protocols: Sequence[str] = (),
    games: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> TournamentResult:
    """Audit every learner against every adversary that it can meet, and rank the adversaries.

    learners, against: players or names; default: all of `arena list`. Adversaries that are objects or from
        files join those of `arena list`, unless another is given by its name.
    protocols: default: all. In games of one world mistakes or regret are counted, as by `audits.race`.
    games: of each pair, in each world; default: by protocol. confidence: of each pair by itself.
    seed: pairs have seeds of their own, by it and their names. jobs: as in `audits.audit`.
    ledger: stores finished pairs, so that a killed tournament can be continued.
    progress: called with the number of pairs so far. Raises: InvalidArgument.

    >>> import audits
    >>> report = audits.tournament(["laplace-count"], ["count-swap", "point-swap"], games=200)
    >>> [(place.adversary, place.learners) for place in report.ranking]
    [('count-swap', 1), ('point-swap', 1)]
    """
    for role, given in (("learners", learners), ("against", against)):
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InvalidArgument(
                f"{role} must be a list of players or names", value=given, remedy='Write ["svt-1", "svt-2"].'
            )
    plan = plan_tournament(
        learners, against, protocols=protocols, games=games, confidence=confidence, seed=seed
    )
    return return_unless_interrupted(run_tournament(plan, jobs=jobs, ledger=ledger, watch=progress))

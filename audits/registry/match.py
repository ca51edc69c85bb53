"""Two players that meet: their protocol, its referee, the claim under test, and the usual adversary."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import attrs

from arena import (
    REFEREES,
    Adversary,
    ArenaError,
    Claim,
    InvalidArgument,
    Learner,
    PrivacyUnit,
    Referee,
    Sample,
    Session,
    play,
)
from arena.capabilities import ReceivesPart
from arena.engine import check_protocol
from arena.privacy_curves import PrivacyCurve, parse_curve
from arena.records import Records
from audits.registry.players import (
    ADVERSARIES,
    LEARNERS,
    GivenAdversary,
    GivenLearner,
    configure_adversary,
    configure_learner,
    lacks_records,
    resolve_learner,
)
from audits.registry.received import describe_received
from audits.registry.settings_text import blame_player, build_player, summarize_player
from audits.registry.suggestions import unknown_name

LABEL_SWAP, POINT_SWAP, SESSION_PAIR = "count-swap", "point-swap", "session-pair"
_LABEL_PARTS = ("ones", "labels")  # of a sample, which no change of a point changes
_GAMES = 16  # which show whether the worlds differ
_DELTA = 1e-5  # at which the ε of a curve is stated, unless the learner's claim has a δ

# Settings as text or values, by player: "learner", "adversary" or the label of an entrant.
PlayerSettings = dict[str, dict[str, Any]]
# The user's data, or a function that reads them.
GivenData = Sample | Callable[[], Sample]


@attrs.frozen(kw_only=True)
class Match:
    """The players and the referee of a game. default: the name of the adversary, if none was given."""

    learner: Learner
    adversary: Adversary
    referee: Referee
    notes: tuple[str, ...]
    default: str | None


def build_match(
    learner: GivenLearner,
    against: GivenAdversary | None,
    *,
    settings: PlayerSettings,
    data: GivenData | None = None,
    protocol: str | None = None,
    rounds: int | None = None,
) -> Match:
    """Find the players, configure them with their settings and the user's data, and choose the protocol.

    against: None for the usual adversary, or for that of a known pair if the data of world 1 are given.
    Raises: InvalidArgument if they are refused, or cannot meet.
    """
    if isinstance(learner, str):
        learner = LEARNERS.find_instance(learner) or learner
    if against is None and settings["adversary"].get("neighbour") is not None:
        plays_sessions = isinstance(learner, Learner) and Session.name in learner.protocols
        against = SESSION_PAIR if plays_sessions else POINT_SWAP
    if isinstance(learner, str):
        LEARNERS.find(resolve_learner(learner)[0])  # an unknown name is refused before data are read
    if isinstance(against, str):
        against = ADVERSARIES.find_instance(against) or against
    opponent: Any = ADVERSARIES.find(against) if isinstance(against, str) else type(against)
    sample = load_data(data, opponent if issubclass(opponent, Adversary) else None)
    configured = configure_learner(learner, settings["learner"], sample)
    notes: tuple[str, ...] = ()
    if sample is not None and isinstance(learner, str):
        configured, notes = _fit_sizes(configured, sample, set(settings["learner"]))
    default = None
    if against is None:
        default, note = choose_adversary(configured, sample, protocol)
        against, notes = default, (*notes, note)
    adversary = configure_adversary(against, settings["adversary"], learner=configured, sample=sample)
    notes += configured.shortcomings
    if settings["adversary"].get("neighbour") is None and (sample is None or adversary.name == POINT_SWAP):
        received = describe_received(configured, example=isinstance(sample, Sample))
        notes += (f"{configured.own_name} receives {received}",) if received else ()
    if configured.own_coins:
        notes += (f"{configured.own_name} draws random numbers of its own, so no seed repeats these games",)
    referee_class = REFEREES[choose_protocol(configured, adversary, protocol)]
    adversary, referee = configure_game(
        referee_class, adversary, rounds, rounds_set="rounds" in settings["adversary"]
    )
    return Match(learner=configured, adversary=adversary, referee=referee, notes=notes, default=default)


def load_data(data: GivenData | None, adversary: type[Adversary] | None) -> Sample | None:
    """The user's data for an adversary, if both are given. Raises: InvalidArgument if it takes none."""
    if data is not None and adversary is not None and "sample" not in attrs.fields_dict(adversary):
        if isinstance(data, Records):
            return None  # they have said already what the learner receives
        raise InvalidArgument(
            f"{adversary.name} chooses its own training set and takes no data",
            remedy="Leave out --data, or choose an adversary that has a setting `sample`.",
        )
    return data() if callable(data) else data


def _fit_sizes(learner: Learner, sample: Sample, chosen: set[str]) -> tuple[Learner, tuple[str, ...]]:
    """The learner with sizes that suit the sample, unless that would change a setting the user has chosen."""
    with blame_player(learner.own_name, "sized for a sample"):
        resized = learner.adapt_to(sample.size)
    fields = [field.name for field in attrs.fields(type(learner))]
    changed = [name for name in fields if getattr(resized, name) != getattr(learner, name)]
    if not changed or chosen.intersection(changed):
        return learner, ()
    note = f"sized for {sample.size:,} examples: {summarize_player(resized)}"
    return resized, (f"{note}; its claim is {read_claim(resized)}",)


def complete_data(learner: object, data: Any) -> Any:
    """The data; or, if a learner that lacks records is given the strategy of one record, that of lists of
    them."""
    if data is None or not lacks_records(learner):
        return data
    from hypothesis.strategies import SearchStrategy  # slow to import

    from audits.data.schemas import list_records

    return list_records(data) if isinstance(data, SearchStrategy) else data


def find_protocol(learner: Learner, law: object) -> type[Referee] | None:
    """The first protocol of two worlds that a learner names and where it may declare this kind of law."""
    kinds = (REFEREES.get(name) for name in learner.protocols)
    return next((kind for kind in kinds if kind is not None and kind.two_worlds and kind.law is law), None)


def choose_protocol(learner: Learner, adversary: Adversary, name: str | None = None) -> str:
    """The protocol called `name`; by default the adversary's field `protocol`, or the first of `list_common`.

    Raises: InvalidArgument if there is none.
    """
    if name is not None:
        if name not in REFEREES:
            raise unknown_name("protocol", name, REFEREES)
        check_protocol(learner, adversary, REFEREES[name]())
        return name
    preferred = getattr(adversary, "protocol", None)  # a setting of adversaries that play several
    if preferred in learner.protocols and preferred in adversary.protocols:
        return str(preferred)
    common = list_common(learner.protocols, adversary.protocols)
    if not common:
        learners, adversaries = (
            ", ".join(player.protocols) or "no protocol" for player in (learner, adversary)
        )
        raise InvalidArgument(
            f"{learner.own_name} and {adversary.name} play no protocol in common",
            remedy=f"{learner.own_name} plays {learners}; {adversary.name} plays {adversaries}. `arena list` "
            "shows who plays what.",
        )
    return common[0]


def list_common(learner: Sequence[str], adversary: Sequence[str]) -> list[str]:
    """The protocols of both, as the learner names them; those of two worlds come first."""
    common = [
        name
        for own in learner
        for name, kind in REFEREES.items()
        if own == (kind.learner_protocol or name) and name in adversary
    ]
    return sorted(common, key=lambda name: not REFEREES[name].two_worlds)


def configure_game(
    referee: type[Referee], adversary: Adversary, rounds: int | None = None, *, rounds_set: bool = False
) -> tuple[Adversary, Referee]:
    """The adversary and the referee of a game of so many rounds, which have shared settings in common.

    rounds: their number, or maximum; None: the adversary's `rounds`, or else the default.
    rounds_set: whether the user has set the adversary's `rounds`, so that another value is refused.
    """
    fields = attrs.fields_dict(type(adversary))
    if "protocol" in fields:
        adversary = attrs.evolve(adversary, protocol=referee.name)  # type: ignore[call-arg]
    name = referee.rounds_setting
    if rounds is not None and not name:
        raise InvalidArgument(f"{referee.name} has no number of rounds", remedy="Leave out --rounds.")
    if referee.fixed_rounds and rounds is None:
        rounds = getattr(adversary, "rounds", None)  # its setting, or the length of all of its games
    elif referee.fixed_rounds and "rounds" in fields:
        if rounds_set:
            raise InvalidArgument(
                "the rounds are set twice", remedy="Leave out --rounds, or adversary.rounds."
            )
        adversary = attrs.evolve(adversary, rounds=rounds)  # type: ignore[call-arg]
    shared = {other for other in attrs.fields_dict(referee) if other in fields and other != name}
    settings = {other: getattr(adversary, other) for other in sorted(shared)}
    return adversary, referee(**settings if rounds is None else {**settings, name: rounds})


def read_claim(learner: Learner) -> Claim:
    """The learner's own claim. Raises: InvalidArgument if computing it fails, or if it is no `Claim`."""
    with blame_player(learner.own_name, "asked for its claim"):
        claim = learner.claim
    if not isinstance(claim, Claim):
        raise InvalidArgument(f"the claim of {learner.own_name} must be a Claim", value=claim)
    return claim


def check_protected(challenges: Set[PrivacyUnit], learner: Learner, adversary: Adversary) -> None:
    """Refuse games whose worlds differ in something that the learner does not promise to protect."""
    unprotected = sorted(challenges - set(learner.claim.protects))
    if unprotected:
        raise InvalidArgument(
            f"{adversary.name} lets the worlds differ in {unprotected[0]}, which {learner.own_name} does not "
            "promise to protect",
            remedy=f"It protects {' and '.join(learner.claim.protects)}.",
        )


def resolve_curve(
    curve: PrivacyCurve | str | None,
    epsilon: float | None,
    delta: float | None,
    learner: Learner | None = None,
) -> tuple[PrivacyCurve | None, float | None, float | None]:
    """The privacy curve to test and its (ε in nats, δ), if there is one; otherwise ε and δ as they are.

    delta: default: that of the learner's own claim, or 1e-5. Raises: InvalidArgument.
    """
    if curve is None:
        return None, epsilon, delta
    if epsilon is not None:
        raise InvalidArgument(
            "a claim is a privacy curve or an ε, not both", value=epsilon, remedy="Leave out one of them."
        )
    curve = parse_curve(curve)
    if delta is None:
        own = 0.0 if learner is None else read_claim(learner).delta
        delta = own if 0 < own < 1 else _DELTA
    epsilon = curve.epsilon(delta)
    if not 0 < epsilon < math.inf:
        raise InvalidArgument(
            f"{curve} has no finite ε above 0 at this δ", value=delta, remedy="Choose another delta."
        )
    return curve, epsilon, delta


def get_given_curve(learner: Learner, claim: Claim) -> PrivacyCurve | None:
    """The privacy curve of a claim under test, unless that is the learner's own claim."""
    own = read_claim(learner)
    is_own = (own.epsilon, own.delta, own.curve) == (claim.epsilon, claim.delta, claim.curve)
    return None if is_own else claim.curve


def change_claim(own: Claim, epsilon: float, delta: float, curve: PrivacyCurve | None = None) -> Claim:
    """The claim (ε in nats, δ) with the rest of a learner's own claim, whose point keeps its curve."""
    if curve is None and (epsilon, delta) == (own.epsilon, own.delta):
        return own
    return attrs.evolve(own, epsilon=epsilon, delta=delta, curve=curve)


def resolve_claim(
    learner: Learner,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    purpose: str = "test",
    option: str = "--epsilon, in nats",
) -> tuple[float, float]:
    """ε in nats and δ of the claim to test, by default the learner's. purpose, option: for the refusal."""
    own = read_claim(learner)
    if epsilon is None and own.empty:
        raise InvalidArgument(
            f"{learner.own_name} claims nothing with these settings, so there is nothing to {purpose}",
            remedy=f"Say what to test it against: {option}.",
            lacking=("--epsilon", "1"),
        )
    if delta is None:
        delta = 0.0 if own.empty else own.delta
    return own.epsilon if epsilon is None else epsilon, delta


def choose_adversary(learner: Learner, sample: Sample | None, protocol: str | None = None) -> tuple[str, str]:
    """The name of the usual adversary of a learner, and a note for the user.

    It is the first that plays with its usual settings, in two worlds that differ in what the learner
    protects: the learner's own `usual_adversary`, then shipped ones that are usual for what the claim
    protects, then other shipped ones, then those of other packages. For a function without one of its own, it
    is the one that changes one record of the data, or its label. Raises: InvalidArgument.
    """
    note = f"no adversary is named, so {learner.own_name} plays against"
    named = protocol in (None, *learner.protocols)
    if isinstance(learner, ReceivesPart) and not learner.usual_adversary and named:
        of_labels = learner.receives in _LABEL_PARTS and not learner.receives_records
        name = LABEL_SWAP if of_labels else POINT_SWAP
        return name, f"{note} {name}"
    if protocol is not None and protocol not in REFEREES:
        raise unknown_name("protocol", protocol, REFEREES)
    tried: list[str] = []
    reason = ""
    for name, player in _list_candidates(learner, protocol):
        if sample is not None and "sample" not in attrs.fields_dict(player):
            continue
        tried.append(name)
        try:
            _check_plays(learner, player, sample, protocol)
        except ArenaError as error:
            reason = reason or f" ({name}: {str(error).rstrip('.')})"
            continue
        if not ADVERSARIES.is_shipped(player) and name != learner.usual_adversary:
            package = player.__module__.split(".")[0]
            return name, f"{note} {name} of the package {package}, since no adversary of dp-arena does"
        return name, f"{note} {name}"
    raise InvalidArgument(
        f"no adversary with its usual settings plays against {learner.own_name}{reason}",
        remedy=f"Name one: {', '.join(tried)}." if tried else "Write one: docs/testing.md.",
    )


def _list_candidates(learner: Learner, protocol: str | None) -> Iterator[tuple[str, type[Adversary]]]:
    """The adversaries of the protocol, by default one of two worlds, the most usual first."""
    if learner.usual_adversary:
        try:
            yield learner.usual_adversary, ADVERSARIES.find(learner.usual_adversary)
        except InvalidArgument as error:
            raise InvalidArgument(f"usual_adversary of {learner.own_name}: {error}") from error
    protects = read_claim(learner).protects
    ranks: dict[str, tuple[int, type[Adversary]]] = {}
    for name, player in ADVERSARIES.load_all().items():
        if not (inspect.isclass(player) and issubclass(player, Adversary)) or name == learner.usual_adversary:
            continue  # a package's that cannot be loaded, or yielded already
        common = list_common(learner.protocols, player.protocols)
        if protocol not in common and (protocol or not any(REFEREES[own].two_worlds for own in common)):
            continue
        is_shipped = ADVERSARIES.is_shipped(player)
        units = [protects.index(unit) for unit in player.usual_for if unit in protects and is_shipped]
        ranks[name] = min(units, default=len(protects) + (not is_shipped)), player
    for name, (_, player) in sorted(ranks.items(), key=lambda item: item[1][0]):
        yield name, player


def _check_plays(
    learner: Learner, player: type[Adversary], sample: Sample | None, protocol: str | None
) -> None:
    """Raises: ArenaError unless it plays, in two worlds that differ in what the learner protects."""
    adversary: Adversary = build_player(player, {}, sample=sample, learner=learner)
    referee_class = REFEREES[choose_protocol(learner, adversary, protocol)]
    if not referee_class.challenges:
        raise InvalidArgument(f"{referee_class.name} has one world")
    adversary, referee = configure_game(referee_class, adversary)
    challenges = play(learner, adversary, referee, games=_GAMES, seed=0).challenges
    if not challenges:
        raise InvalidArgument("both worlds are the same")
    check_protected(challenges, learner, adversary)

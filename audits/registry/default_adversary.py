"""The usual adversary of a learner, for audits that name none."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import attrs

from arena import REFEREES, Adversary, ArenaError, InvalidArgument, Learner, Sample, play
from arena.capabilities import ReceivesPart
from audits.registry.pairing import choose_protocol, configure_game, list_common
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player
from audits.registry.suggestions import unknown_name
from audits.registry.tested_claim import check_protected, read_claim

LABEL_SWAP, POINT_SWAP = "count-swap", "point-swap"
_LABEL_PARTS = ("ones", "labels")  # of a sample, which no change of a point changes
_GAMES = 16  # which show whether the worlds differ


def choose_adversary(learner: Learner, sample: Sample | None, protocol: str | None = None) -> tuple[str, str]:
    """The name of the usual adversary of a learner, and a note for the user: the first that plays against it
    with its usual settings, in two worlds that differ in what the learner protects.

    The learner's own `usual_adversary` comes first, then the shipped adversaries that are usual for what the
    claim protects, in the order of its units, then other shipped ones, and at last those of other packages.

    For a function or a wrapped mechanism without one of its own, it is the one that changes one record of the
    data, or its label if the function receives labels only, whether or not that plays.

    Raises: InvalidArgument, which names candidates, if there is none, or if the learner's own is unknown.
    """
    named = protocol in (None, *learner.protocols)
    if isinstance(learner, ReceivesPart) and not learner.usual_adversary and named:
        name = LABEL_SWAP if learner.receives in _LABEL_PARTS else POINT_SWAP
        return name, _write_note(learner, name)
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
        else:
            note = _write_note(learner, name)
            if not ADVERSARIES.is_shipped(player) and name != learner.usual_adversary:
                package = player.__module__.split(".")[0]
                note += f" of the package {package}, since no adversary of dp-arena does"
            return name, note
    raise InvalidArgument(
        f"no adversary with its usual settings plays against {learner.name}{reason}",
        remedy=f"Name one: {', '.join(tried)}." if tried else "Write one: docs/testing.md.",
    )


def _write_note(learner: Learner, name: str) -> str:
    return f"no adversary is named, so {learner.name} plays against {name}"


def _list_candidates(learner: Learner, protocol: str | None) -> Iterator[tuple[str, type[Adversary]]]:
    """The adversaries of a protocol that the learner plays, the most usual first."""
    if learner.usual_adversary:
        try:
            yield learner.usual_adversary, ADVERSARIES.find(learner.usual_adversary)
        except InvalidArgument as error:
            raise InvalidArgument(f"usual_adversary of {learner.name}: {error}") from error
    protects = read_claim(learner).protects
    ranks: dict[str, tuple[int, type[Adversary]]] = {}
    for name, player in ADVERSARIES.load_all().items():
        if not (inspect.isclass(player) and issubclass(player, Adversary)):
            continue  # a package's that cannot be loaded
        if name == learner.usual_adversary or not _share_protocol(player, learner, protocol):
            continue
        is_shipped = ADVERSARIES.is_shipped(player)
        units = [protects.index(unit) for unit in player.usual_for if unit in protects and is_shipped]
        ranks[name] = min(units, default=len(protects) + (not is_shipped)), player
    for name, (_, player) in sorted(ranks.items(), key=lambda item: item[1][0]):
        yield name, player


def _share_protocol(player: type[Adversary], learner: Learner, protocol: str | None) -> bool:
    """Whether both play the protocol, by default one of two worlds."""
    common = list_common(learner.protocols, player.protocols)
    return any(REFEREES[name].two_worlds for name in common) if protocol is None else protocol in common


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

"""The protocol that two players both play, and its referee."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from arena import REFEREES, Adversary, InvalidArgument, Learner, Referee
from arena.engine import check_protocol
from audits.registry.suggestions import unknown_name


def find_protocol(learner: Learner, law: object) -> type[Referee] | None:
    """The first protocol of two worlds that a learner names and where it may declare this kind of law."""
    kinds = (REFEREES.get(name) for name in learner.protocols)
    return next((kind for kind in kinds if kind is not None and kind.two_worlds and kind.law is law), None)


def choose_protocol(learner: Learner, adversary: Adversary, name: str | None = None) -> str:
    """The protocol called `name`, or by default one that both players play.

    The default is the adversary's field `protocol` if it has one; otherwise the first that the learner names,
    those of two worlds before others.

    Raises: InvalidArgument if there is no protocol `name`, or if the players do not both play it, or have
    none in common.
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
        raise InvalidArgument(
            f"{learner.name} and {adversary.name} play no protocol in common",
            remedy=f"{learner.name} plays {_format_names(learner.protocols)}; {adversary.name} plays "
            f"{_format_names(adversary.protocols)}. `arena list` shows who plays what.",
        )
    return common[0]


def list_common(learner: Sequence[str], adversary: Sequence[str]) -> list[str]:
    """The protocols that a learner and an adversary with these protocols play, as the learner names them.

    Only a game of two worlds tests privacy, so those come first.
    """
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
    """The adversary and the referee of a game of so many rounds.

    rounds: the number of rounds, or their maximum. If every game has a fixed number, it is the adversary's
        own setting `rounds` if the adversary has one. None: the default.
    rounds_set: whether the user has set the adversary's `rounds`, so that another value is refused.

    The adversary's setting `protocol`, if it has one, becomes that of the referee. Other settings of the
    referee are those of the same name that the adversary has, as `every` of TrainingRun.

    Raises: InvalidArgument if the protocol has no number of rounds, or if it is set twice.
    """
    fields = attrs.fields_dict(type(adversary))
    if "protocol" in fields:
        adversary = attrs.evolve(adversary, protocol=referee.name)  # type: ignore[call-arg]
    name = referee.rounds_setting
    if rounds is not None and not name:
        raise InvalidArgument(f"{referee.name} has no number of rounds", remedy="Leave out --rounds.")
    if referee.fixed_rounds and "rounds" in fields:
        if rounds is not None and rounds_set:
            raise InvalidArgument(
                "the rounds are set twice", remedy="Leave out --rounds, or adversary.rounds."
            )
        if rounds is not None:
            adversary = attrs.evolve(adversary, rounds=rounds)  # type: ignore[call-arg]
        rounds = getattr(adversary, "rounds")  # noqa: B009 - a field that not every adversary has
    shared = {other for other in attrs.fields_dict(referee) if other in fields and other != name}
    settings = {other: getattr(adversary, other) for other in sorted(shared)}
    return adversary, referee(**settings if rounds is None else {**settings, name: rounds})


def _format_names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no protocol"

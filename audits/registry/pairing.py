"""The protocol that two players both play, and its referee."""

from __future__ import annotations

import attrs

from arena import REFEREES, Adversary, InvalidArgument, Learner, Referee
from arena.engine import check_protocol
from audits.registry.suggestions import unknown_name


def choose_protocol(learner: Learner, adversary: Adversary, name: str | None = None) -> str:
    """The protocol called `name`, or by default one that both players play.

    The default is the adversary's field `protocol` if it has one; otherwise a protocol of two worlds if there
    is one, Figure1 first.

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
    # Only a game of two worlds tests privacy, so those come first.
    names = sorted(REFEREES, key=lambda name: not REFEREES[name].two_worlds)
    common = [
        name
        for name in names
        if (REFEREES[name].learner_protocol or name) in learner.protocols and name in adversary.protocols
    ]
    if not common:
        raise InvalidArgument(
            f"{learner.name} and {adversary.name} play no protocol in common",
            remedy=f"{learner.name} plays {_format_names(learner.protocols)}; {adversary.name} plays "
            f"{_format_names(adversary.protocols)}. `arena list` shows who plays what.",
        )
    return common[0]


def configure_game(
    referee: type[Referee], adversary: Adversary, rounds: int | None = None, *, rounds_set: bool = False
) -> tuple[Adversary, Referee]:
    """The adversary and the referee of a game of so many rounds.

    rounds: t of Figure 1, ℓ of Voting, or T of an online game. For an online game it becomes the adversary's
        setting `rounds`, if there is one; None: the `rounds` of the adversary, or else the default.
    rounds_set: whether the user has set the adversary's `rounds`, so that another value is refused.

    The adversary's setting `protocol`, if it has one, becomes that of the referee. Its setting `every`, if it
    has one, is that of TrainingRun or OneRun.

    Raises: InvalidArgument if the protocol has no number of rounds, or if it is set twice.
    """
    if "protocol" in attrs.fields_dict(type(adversary)):
        adversary = attrs.evolve(adversary, protocol=referee.name)  # type: ignore[call-arg]
    for queries in ("t", "ell"):
        if queries in attrs.fields_dict(referee):
            return adversary, referee(**{queries: rounds})
    if "T" not in attrs.fields_dict(referee):
        if rounds is not None:
            raise InvalidArgument(f"{referee.name} has no number of rounds", remedy="Leave out --rounds.")
        if "every" in attrs.fields_dict(referee):
            return adversary, referee(every=getattr(adversary, "every", 1))  # type: ignore[call-arg]
        return adversary, referee()
    if rounds is None:
        rounds = getattr(adversary, "rounds", None)  # its setting, or the length of all of its games
    elif "rounds" in attrs.fields_dict(type(adversary)):
        if rounds_set:
            raise InvalidArgument(
                "the rounds are set twice", remedy="Leave out --rounds, or adversary.rounds."
            )
        adversary = attrs.evolve(adversary, rounds=rounds)  # type: ignore[call-arg]
    return adversary, referee() if rounds is None else referee(T=rounds)  # type: ignore[call-arg]


def _format_names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no protocol"

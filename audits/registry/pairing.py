"""Where two players meet: the protocol that both play, and the referee of it."""

from __future__ import annotations

import attrs

from arena import REFEREES, Adversary, InvalidArgument, Learner, Referee
from arena.engine import check_protocol
from audits.registry.settings_text import nearest


def protocol_between(learner: Learner, adversary: Adversary, wanted: str | None = None) -> str:
    """The name of the protocol that is wanted, or of the usual one that both play: that of the adversary's
    field `protocol`, if it has one; one of two worlds if there is one, and Figure1 before others.

    Raises: InvalidArgument if there is no such protocol, or they do not both play it, or none in common.
    """
    if wanted is not None:
        if wanted not in REFEREES:
            raise InvalidArgument(
                "there is no protocol of that name",
                value=wanted,
                remedy=f"{nearest(wanted, REFEREES)}There are: {', '.join(REFEREES)}.",
            )
        check_protocol(learner, adversary, REFEREES[wanted]())
        return wanted
    own = getattr(adversary, "protocol", None)  # of an adversary that plays several, by a setting
    if own in learner.protocols and own in adversary.protocols:
        return str(own)
    # A game in two worlds says something about privacy too, so those come first.
    known = sorted(REFEREES, key=lambda name: not REFEREES[name].two_worlds)
    common = [name for name in known if name in learner.protocols and name in adversary.protocols]
    if not common:
        raise InvalidArgument(
            f"{learner.name} and {adversary.name} play no protocol in common",
            remedy=f"{learner.name} plays {_listed(learner.protocols)}; {adversary.name} plays "
            f"{_listed(adversary.protocols)}. `arena list` shows who plays what.",
        )
    return common[0]


def opened(
    referee: type[Referee], adversary: Adversary, rounds: int | None = None, *, chosen: bool = False
) -> tuple[Adversary, Referee]:
    """The referee, and the adversary that plays before it, with `rounds`: t of Figure 1, ℓ of Voting; T of an
    online game, which is the adversary's own `rounds` where it has such a field. Its field `protocol`, if it
    has one, is set to the referee's.

    chosen: the adversary's `rounds` were set on purpose, so that setting them again is refused.
    """
    if "protocol" in attrs.fields_dict(type(adversary)):
        adversary = attrs.evolve(adversary, protocol=referee.name)  # type: ignore[call-arg]
    for queries in ("t", "ell"):
        if queries in attrs.fields_dict(referee):
            return adversary, referee(**{queries: rounds})
    if "T" not in attrs.fields_dict(referee):
        if rounds is not None:
            raise InvalidArgument(f"{referee.name} has no set number of rounds", remedy="Leave out --rounds.")
        return adversary, referee()
    if "rounds" in attrs.fields_dict(type(adversary)):
        if rounds is not None:
            if chosen:
                raise InvalidArgument(
                    "the rounds are set twice", remedy="Leave out --rounds, or adversary.rounds."
                )
            adversary = attrs.evolve(adversary, rounds=rounds)  # type: ignore[call-arg]
        rounds = getattr(adversary, "rounds")  # noqa: B009 - a field that not every adversary has
    return adversary, referee() if rounds is None else referee(T=rounds)  # type: ignore[call-arg]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none that it names"

"""From the names on the command line to two players and a referee."""

from __future__ import annotations

import attrs

from arena import REFEREES, Adversary, InvalidArgument, Learner, Referee, Sample
from arena.engine import check_protocol
from audits.data import load_sample
from audits.registry import ADVERSARIES, LEARNERS
from audits.settings import blamed, build, claim_of, nearest, summary

Settings = dict[str, dict[str, str]]


@attrs.frozen(kw_only=True)
class Data:
    """The user's data: a CSV file, and its columns."""

    path: str
    x: tuple[str, ...]
    y: str
    positive: str | None

    def load(self) -> Sample:
        return load_sample(
            self.path, x=self.x[0] if len(self.x) == 1 else list(self.x), y=self.y, positive=self.positive
        )


@attrs.frozen(kw_only=True)
class Match:
    """Who plays what, and what the user should know about how it came about."""

    learner: Learner
    adversary: Adversary
    referee: Referee
    notes: tuple[str, ...]


def match(
    learner: str,
    against: str,
    *,
    settings: Settings,
    data: Data | None,
    protocol: str | None,
    rounds: int | None,
) -> Match:
    """Find the players, give them their settings and the user's data, and choose the protocol.

    settings: {"learner": {name: text}, "adversary": {name: text}}. protocol, rounds: None for the usual ones.
    """
    learner_class, adversary_class = LEARNERS.find(learner), ADVERSARIES.find(against)
    sample = None if data is None else data.load()
    if sample is not None and "sample" not in attrs.fields_dict(adversary_class):
        raise InvalidArgument(
            f"{adversary_class.name} chooses its own training set and takes no data",
            remedy="Leave out --data, or choose an adversary that has a setting `sample`.",
        )
    seated: Learner = build(learner_class, settings["learner"], sample=sample)
    notes: tuple[str, ...] = ()
    if sample is not None:
        seated, notes = _fitted(seated, sample, set(settings["learner"]))
    adversary: Adversary = build(adversary_class, settings["adversary"], sample=sample, learner=seated)
    name = _protocol(seated, adversary, protocol)
    adversary, referee = _opened(REFEREES[name], adversary, rounds, "rounds" in settings["adversary"])
    return Match(learner=seated, adversary=adversary, referee=referee, notes=notes)


def _fitted(learner: Learner, sample: Sample, chosen: set[str]) -> tuple[Learner, tuple[str, ...]]:
    """The learner sized for the sample, unless that would change what the user has chosen."""
    with blamed(learner.name, "sized for a sample"):
        fitted = learner.sized_for(sample.size)
    fields = [field.name for field in attrs.fields(type(learner))]
    changed = [name for name in fields if getattr(fitted, name) != getattr(learner, name)]
    if not changed or chosen.intersection(changed):
        return learner, ()
    return fitted, (
        f"sized for {sample.size:,} examples: {summary(fitted)}; its claim is {claim_of(fitted)}",
    )


def _protocol(learner: Learner, adversary: Adversary, wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in REFEREES:
            raise InvalidArgument(
                "there is no protocol of that name",
                value=wanted,
                remedy=f"{nearest(wanted, REFEREES)}There are: {', '.join(REFEREES)}.",
            )
        check_protocol(learner, adversary, REFEREES[wanted]())
        return wanted
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


def _opened(
    referee: type[Referee], adversary: Adversary, rounds: int | None, chosen: bool
) -> tuple[Adversary, Referee]:
    """The referee, with --rounds: t of Figure 1; T of an online game, which is the adversary's own `rounds`
    where it has such a field.
    """
    if "t" in attrs.fields_dict(referee):
        return adversary, referee(t=rounds)  # type: ignore[call-arg]
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

"""From the names on the command line to two players and a referee."""

from __future__ import annotations

import attrs

from arena import REFEREES, Adversary, InvalidArgument, Learner, Referee, Sample
from audits.data.csv import load_sample
from audits.registry.pairing import opened, protocol_between
from audits.registry.players import ADVERSARIES, LEARNERS, as_learner
from audits.registry.settings_text import blamed, build, claim_of, summary

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
    learner, also = as_learner(learner)
    settings = settings | {"learner": also | settings["learner"]}
    learner_class, adversary_class = LEARNERS.find(learner), ADVERSARIES.find(against)
    sample = None if data is None else data.load()
    if sample is not None and "sample" not in attrs.fields_dict(adversary_class):
        raise InvalidArgument(
            f"{adversary_class.name} chooses its own training set and takes no data",
            remedy="Leave out --data, or choose an adversary that has a setting `sample`.",
        )
    running: Learner = build(learner_class, settings["learner"], sample=sample)
    notes: tuple[str, ...] = ()
    if sample is not None:
        running, notes = _fitted(running, sample, set(settings["learner"]))
    adversary: Adversary = build(adversary_class, settings["adversary"], sample=sample, learner=running)
    if running.own_coins:
        notes += (f"{running.name} draws coins of its own, so that no seed repeats these games",)
    name = protocol_between(running, adversary, protocol)
    adversary, referee = opened(REFEREES[name], adversary, rounds, chosen="rounds" in settings["adversary"])
    return Match(learner=running, adversary=adversary, referee=referee, notes=notes)


def _fitted(learner: Learner, sample: Sample, chosen: set[str]) -> tuple[Learner, tuple[str, ...]]:
    """The learner sized for the sample, unless that would change what the user has chosen."""
    with blamed(learner.name, "sized for a sample"):
        fitted = learner.adapt_to(sample.size)
    fields = [field.name for field in attrs.fields(type(learner))]
    changed = [name for name in fields if getattr(fitted, name) != getattr(learner, name)]
    if not changed or chosen.intersection(changed):
        return learner, ()
    return fitted, (
        f"sized for {sample.size:,} examples: {summary(fitted)}; its claim is {claim_of(fitted)}",
    )

"""Two players and a referee, built from names and settings."""

from __future__ import annotations

from typing import Any

import attrs

from arena import REFEREES, Adversary, InvalidArgument, Learner, Referee, Sample
from audits.data.csv_samples import load_sample
from audits.registry.given_players import (
    GivenAdversary,
    GivenLearner,
    configure_adversary,
    configure_learner,
)
from audits.registry.pairing import choose_protocol, configure_game
from audits.registry.players import ADVERSARIES, LEARNERS, resolve_learner
from audits.registry.settings_text import blame_player, summarize_player
from audits.registry.tested_claim import read_claim

# Settings as text or values, by player: "learner", "adversary" or the label of an entrant.
PlayerSettings = dict[str, dict[str, Any]]


@attrs.frozen(kw_only=True)
class DataSource:
    """The user's data: a CSV file, the columns of the points and of the labels, the value of label 1, and the
    column of the users if it has one."""

    path: str
    x: tuple[str, ...]
    y: str
    positive: str | None
    user: str | None = None

    def load(self) -> Sample:
        """The labelled examples; raises InvalidArgument as `load_sample` does."""
        x = self.x[0] if len(self.x) == 1 else list(self.x)
        return load_sample(self.path, x=x, y=self.y, positive=self.positive, user=self.user)


@attrs.frozen(kw_only=True)
class Match:
    """The players and the referee of a game.

    notes: what the user should know about how they were chosen.
    default: the name of the adversary, if none was given.
    """

    learner: Learner
    adversary: Adversary
    referee: Referee
    notes: tuple[str, ...]
    default: str | None = None


def build_match(
    learner: GivenLearner,
    against: GivenAdversary | None,
    *,
    settings: PlayerSettings,
    data: DataSource | Sample | None,
    protocol: str | None,
    rounds: int | None,
) -> Match:
    """Find the players, configure them with their settings and the user's data, and choose the protocol.

    against: None for the usual adversary of the learner. settings: of "learner" and of "adversary".
    protocol, rounds: None for the defaults.

    Raises: InvalidArgument if a player, a setting or the data are refused, or the players cannot meet.
    """
    if isinstance(learner, str):
        LEARNERS.find(resolve_learner(learner)[0])  # an unknown name is refused before data are read
    if isinstance(against, str):
        against = ADVERSARIES.find_instance(against) or against
    if isinstance(against, str):
        against_class: type[Adversary] = ADVERSARIES.find(against)
        sample = load_data(data, against_class)
    else:
        sample = data.load() if isinstance(data, DataSource) else data
        if isinstance(against, Adversary):
            load_data(sample, type(against))
    configured = configure_learner(learner, settings["learner"], sample)
    notes: tuple[str, ...] = ()
    if sample is not None and isinstance(learner, str):
        configured, notes = _fit_sizes(configured, sample, set(settings["learner"]))
    default = None
    if against is None:
        from audits.registry.default_adversary import choose_adversary  # most commands name their adversary

        default, note = choose_adversary(configured, sample, protocol)
        against, notes = default, (*notes, note)
    adversary = configure_adversary(against, settings["adversary"], learner=configured, sample=sample)
    notes += configured.shortcomings
    if configured.own_coins:
        notes += (f"{configured.name} draws random numbers of its own, so no seed repeats these games",)
    referee_class = REFEREES[choose_protocol(configured, adversary, protocol)]
    adversary, referee = configure_game(
        referee_class, adversary, rounds, rounds_set="rounds" in settings["adversary"]
    )
    return Match(learner=configured, adversary=adversary, referee=referee, notes=notes, default=default)


def load_data(data: DataSource | Sample | None, adversary: type[Adversary]) -> Sample | None:
    """The user's data for an adversary, if given. Raises: InvalidArgument if it takes none."""
    if data is not None and "sample" not in attrs.fields_dict(adversary):
        raise InvalidArgument(
            f"{adversary.name} chooses its own training set and takes no data",
            remedy="Leave out --data, or choose an adversary that has a setting `sample`.",
        )
    return data.load() if isinstance(data, DataSource) else data


def _fit_sizes(learner: Learner, sample: Sample, chosen: set[str]) -> tuple[Learner, tuple[str, ...]]:
    """The learner with sizes that suit the sample, unless that would change a setting the user has chosen."""
    with blame_player(learner.name, "sized for a sample"):
        resized = learner.adapt_to(sample.size)
    fields = [field.name for field in attrs.fields(type(learner))]
    changed = [name for name in fields if getattr(resized, name) != getattr(learner, name)]
    if not changed or chosen.intersection(changed):
        return learner, ()
    note = f"sized for {sample.size:,} examples: {summarize_player(resized)}"
    return resized, (f"{note}; its claim is {read_claim(resized)}",)

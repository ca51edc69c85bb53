"""The distribution of the adversary's view in both worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import (
    Adversary,
    AnswerLaw,
    Finite,
    Hypothesis,
    Learner,
    PrivacyUnit,
    Referee,
    Sample,
    Training,
    Unsupported,
    ValueLaw,
    play,
)
from arena.concepts import ConceptClass
from arena.randomness import block_seed, generator
from arena.referees import name_protocols
from audits.exact_loss.path_enumeration import PRUNE, PathEnumeration, format_view
from audits.exact_loss.privacy_loss import PrivacyLoss
from audits.exact_loss.released_values import LabelledLoss, losses_of_values
from audits.exact_loss.wrapped_players import PresetStates, forbid_randomness
from audits.registry.settings_text import blame_player

MAX_PATHS = 200_000
_MAX_SCORED = 4_096  # values of a finite distribution that are played to find their scores


@attrs.frozen(eq=False, kw_only=True)
class ViewLaw:
    """The distribution of a view in both worlds.

    views: the privacy loss, with one cell for each view, or for a range of values where these are continuous.
    coarse: the same in few cells, for reports. challenges: what the worlds differ in, as in `Played`.
    score: the privacy loss of the adversary's own score; None if it returns none, or scores cannot be listed.
    """

    views: LabelledLoss
    coarse: LabelledLoss
    score: PrivacyLoss | None
    challenges: frozenset[PrivacyUnit]

    @property
    def loss(self) -> PrivacyLoss:
        """The privacy loss of the view."""
        return self.views.loss


def view_law(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    prune: float = PRUNE,
    max_paths: int = MAX_PATHS,
    watch: Callable[[float], object] | None = None,
) -> ViewLaw:
    """The distribution of what `adversary` sees of `learner`, from the learner's output distribution.

    Where learners answer queries, every path of answers is played; where they release a value, one game in
    each world.

    prune, max_paths, watch: as in `PathEnumeration`. The mass of pruned paths is stated as an error.

    Raises: Unsupported if the output distribution is unknown, the adversary uses randomness or leads to too
        many paths, or under another protocol; whatever a referee raises in a game.
    """
    if referee.law is AnswerLaw:
        paths = PathEnumeration(learner, adversary, referee, prune=prune, max_paths=max_paths, watch=watch)
        paths.run()
        loss, views = paths.loss()
        listed = LabelledLoss(loss, lambda cell: format_view(views[cell]))
        challenges = frozenset(paths.challenges)
        return ViewLaw(views=listed, coarse=listed, score=paths.score_loss(), challenges=challenges)
    if referee.law is ValueLaw:
        return _law_of_release(learner, adversary, referee)
    possible = name_protocols(lambda kind: kind.law in (AnswerLaw, ValueLaw))
    raise Unsupported(
        f"exact audits are possible under {possible}, not under {referee.name}",
        remedy="Use `arena audit`, which plays games.",
    )


def value_laws(learner: Learner, adversary: Adversary, referee: Referee) -> tuple[ValueLaw, ValueLaw]:
    """The distribution of the released value, in world 0 and in world 1.

    Raises: Unsupported if the output distribution is unknown, or the adversary uses randomness or gives no
        sample; whatever the referee raises.
    """
    laws, _, _ = _read_laws(learner, forbid_randomness(adversary), referee)
    if not laws:
        raise Unsupported(f"{adversary.name} gives no training sample, so nothing is released")
    return laws[0], laws[1]


def _read_laws(
    learner: Learner, adversary: Adversary, referee: Referee
) -> tuple[list[ValueLaw], frozenset[PrivacyUnit], ConceptClass | None]:
    """The distributions in both worlds, if any; what the worlds differ in; the class of a hypothesis."""
    samples: list[Sample] = []
    concepts = None
    challenges: frozenset[PrivacyUnit] = frozenset()
    for world in (False, True):
        state = _SampleReader(learner)
        preset, worlds = PresetStates.of(learner, state), np.array([world])
        played = play(preset, adversary, referee, games=1, seed=0, worlds=worlds)
        samples += state.samples
        concepts = state.concepts
        challenges |= played.challenges
    return [_value_law(learner, sample) for sample in samples], challenges, concepts


def _law_of_release(learner: Learner, adversary: Adversary, referee: Referee) -> ViewLaw:
    adversary = forbid_randomness(adversary)
    laws, challenges, concepts = _read_laws(learner, adversary, referee)
    if not laws:
        nothing = LabelledLoss(PrivacyLoss.of_views([1.0], [1.0]), lambda cell: "nothing")
        return ViewLaw(views=nothing, coarse=nothing, score=None, challenges=challenges)
    losses = losses_of_values(*laws)
    score = _score_of_values(learner, adversary, referee, concepts, *laws)
    return ViewLaw(views=losses.fine, coarse=losses.coarse, score=score, challenges=challenges)


def _value_law(learner: Learner, sample: Sample) -> ValueLaw:
    with blame_player(learner.name, "asked for its output distribution"):
        law = learner.law(sample)
    if not isinstance(law, ValueLaw):
        raise Unsupported(
            f"{learner.name} states no distribution of what it releases",
            value=type(law).__name__,
            remedy="Let law(sample) return a ValueLaw.",
        )
    return law


def _score_of_values(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    concepts: ConceptClass | None,
    world_0: ValueLaw,
    world_1: ValueLaw,
) -> PrivacyLoss | None:
    """The privacy loss of the scores of all listed values; None if values or scores cannot be listed."""
    if not (isinstance(world_0, Finite) and isinstance(world_1, Finite)):
        return None
    values = np.unique(np.concatenate([world_0.values, world_1.values]), axis=0)
    if len(values) > _MAX_SCORED:
        return None
    scores = []
    for value in values:
        state = _FixedRelease(value, concepts)
        preset, worlds = PresetStates.of(learner, state), np.zeros(1, bool)
        played = play(preset, adversary, referee, games=1, seed=0, worlds=worlds)
        if played.score is None:
            return None
        scores.append(float(played.score[0]))
    levels, which = np.unique(np.array(scores), return_inverse=True)
    masses = (np.exp(law.log_density(values)) for law in (world_0, world_1))
    sums = (np.bincount(which.ravel(), weights=mass, minlength=len(levels)) for mass in masses)
    return PrivacyLoss.of_views(*sums)


class _SampleReader:
    """Releases what the learner releases in one game, and keeps the sample."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.samples: list[Sample] = []
        self.concepts: ConceptClass | None = None

    def release(self, training: Training) -> Any:
        self.samples = [training.samples[which] for which in training.which]
        released = self._learner.start(1, generator(block_seed(0, 0))).release(training)
        self.concepts = released.concept_class if isinstance(released, Hypothesis) else None
        return released


@attrs.frozen(eq=False)
class _FixedRelease:
    """Releases one given value, or the hypothesis that it encodes, in one game."""

    value: np.ndarray
    concepts: ConceptClass | None

    def release(self, training: Training) -> np.ndarray | Hypothesis:
        values = np.array([self.value])
        return values if self.concepts is None else Hypothesis(self.concepts, values)

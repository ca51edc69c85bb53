"""The law of the adversary's view in both worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import (
    Adversary,
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
from audits.exact.privacy_loss import PrivacyLoss
from audits.exact.states import FixedState, without_coins
from audits.exact.values import Listed, views_of_values
from audits.exact.walk import ANSWERING, PRUNE, Walk, text_of_view

MOST_PATHS = 200_000
_MOST_SCORED = 4_096  # values of a finite law that are played to learn their scores


@attrs.frozen(eq=False, kw_only=True)
class ViewLaw:
    """The law of a view in both worlds.

    views: the privacy loss, one cell a view, or a cell of values where they are numbers without end.
    few: the same in few cells, for people; not where views are counted.
    score: the privacy loss of the adversary's own score; None if it returns none, or if a released value has
        a density, so that scores cannot be listed.
    challenges: what the worlds differ in, as `Played` has it.
    """

    views: Listed
    few: Listed
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
    most_paths: int = MOST_PATHS,
) -> ViewLaw:
    """The law of what `adversary` sees of `learner` before `referee`, by the law that the learner tells.

    Under Figure1 and Voting the referee and the adversary play on until every path of outcomes has been
    walked; under Release they play once in each world, for the samples.

    prune: paths of less mass are given up; their mass is stated as error.
    most_paths: how many paths may be walked.

    Raises: Unsupported if the learner does not tell its law, the adversary draws coins or walks too many
    paths, or before another referee; whatever a referee raises in a game.
    """
    known: dict[str, Callable[[], ViewLaw]] = {
        **dict.fromkeys(ANSWERING, lambda: _walked(learner, adversary, referee, prune, most_paths)),
        "Release": lambda: _released(learner, adversary, referee),
    }
    if referee.name not in known:
        raise Unsupported(
            f"an exact audit is to be had under {', '.join(known)}, not under {referee.name}",
            remedy="Use `arena audit`, which plays games.",
        )
    return known[referee.name]()


def _walked(
    learner: Learner, adversary: Adversary, referee: Referee, prune: float, most_paths: int
) -> ViewLaw:
    walk = Walk(learner, adversary, referee, prune=prune, most_paths=most_paths)
    walk.walk()
    loss, views = walk.loss()
    listed = Listed(loss, lambda cell: text_of_view(views[cell]))
    return ViewLaw(
        views=listed,
        few=listed,
        score=walk.score_loss(),
        challenges=frozenset(walk.challenges),
    )


def laws_of_values(learner: Learner, adversary: Adversary, referee: Referee) -> tuple[ValueLaw, ValueLaw]:
    """The law of the value released under Release, in world 0 and in world 1.

    Raises: Unsupported if the learner does not tell its law, or the adversary draws coins or gives no sample;
    whatever the referee raises.
    """
    laws, _, _ = _read(learner, without_coins(adversary), referee)
    if not laws:
        raise Unsupported(f"{adversary.name} gives no sample, so nothing is released")
    return laws[0], laws[1]


def _read(
    learner: Learner, watched: Adversary, referee: Referee
) -> tuple[list[ValueLaw], frozenset[PrivacyUnit], ConceptClass | None]:
    """The laws in both worlds, none if there is no sample; what the worlds differ in; and the class of what
    is released, if that is a hypothesis."""
    samples: list[Sample] = []
    concepts = None
    challenges: frozenset[PrivacyUnit] = frozenset()
    for world in (False, True):
        state = _SampleReader(learner)
        played = play(
            FixedState.of(learner, state), watched, referee, games=1, seed=0, worlds=np.array([world])
        )
        samples += state.samples
        concepts = state.concepts
        challenges |= played.challenges
    return [_value_law(learner, sample) for sample in samples], challenges, concepts


def _released(learner: Learner, adversary: Adversary, referee: Referee) -> ViewLaw:
    watched = without_coins(adversary)
    laws, challenges, concepts = _read(learner, watched, referee)
    if not laws:
        nothing = Listed(PrivacyLoss.of_views([1.0], [1.0]), lambda cell: "nothing")
        return ViewLaw(views=nothing, few=nothing, score=None, challenges=challenges)
    views = views_of_values(*laws)
    score = _score_of_values(learner, watched, referee, concepts, *laws)
    return ViewLaw(views=views.fine, few=views.coarse, score=score, challenges=challenges)


def _value_law(learner: Learner, sample: Sample) -> ValueLaw:
    law = learner.law(sample)
    if not isinstance(law, ValueLaw):
        raise Unsupported(
            f"{learner.name} tells no law of what it releases",
            value=type(law).__name__,
            remedy="Before Release, law(sample) returns a ValueLaw.",
        )
    return law


def _score_of_values(
    learner: Learner,
    watched: Adversary,
    referee: Referee,
    concepts: ConceptClass | None,
    world_0: ValueLaw,
    world_1: ValueLaw,
) -> PrivacyLoss | None:
    """What the score of each listed value tells; None where values cannot be listed."""
    if not (isinstance(world_0, Finite) and isinstance(world_1, Finite)):
        return None
    values = np.unique(np.concatenate([world_0.values, world_1.values]), axis=0)
    if len(values) > _MOST_SCORED:
        return None
    states = [_Releasing(value, concepts) for value in values]
    scores = []
    for state in states:
        played = play(
            FixedState.of(learner, state), watched, referee, games=1, seed=0, worlds=np.zeros(1, bool)
        )
        if played.score is None:
            return None
        scores.append(float(played.score[0]))
    masses = (np.exp(law.log_density(values)) for law in (world_0, world_1))
    return loss_of_scores(np.array(scores), *masses)


def loss_of_scores(scores: np.ndarray, p0: np.ndarray, p1: np.ndarray) -> PrivacyLoss:
    """Of scores (n,) that come with masses (n,)."""
    found, which = np.unique(scores, return_inverse=True)
    sums = (np.bincount(which.ravel(), weights=mass, minlength=len(found)) for mass in (p0, p1))
    return PrivacyLoss.of_views(*sums)


class _SampleReader:
    """Releases what the learner releases for one game, and keeps the sample."""

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
class _Releasing:
    """Releases one value, or the hypothesis that it stands for, in one game."""

    value: np.ndarray
    concepts: ConceptClass | None

    def release(self, training: Training) -> np.ndarray | Hypothesis:
        values = np.array([self.value])
        return values if self.concepts is None else Hypothesis(self.concepts, values)

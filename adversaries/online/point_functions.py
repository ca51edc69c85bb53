"""point-functions: a label of one point hides behind a long background, and appears late."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from adversaries.common.prepared_sequences import ALL, ONE, decoys_setting, draw_start_rounds, start_setting
from adversaries.online.base import domain_points, first_labels
from adversaries.online.random_sequences import PreparedExamples
from arena import Unsupported, setting
from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import concept_sets
from arena.settings import one_of


@attrs.frozen
class PointFunctions(PreparedExamples):
    """A background labelled by b until round t*, and from then on a new point with the label against b.

    The game of the lower bounds of Dmitriev et al., Cohen et al. and Li et al. (2024), which are proved with
    constants in docs/proofs/hidden_point.md. Some concept agrees with b on the background and not at the
    hidden point x*, so the game is realizable. So is its background alone, which is all of the game in a
    share `decoys` of the games. b is the labelling with the most points to hide at, on a tie the learner's
    own h_1.

    background: "one" uses a single point; "all" draws it from all points but x* in every round. start: see
    `draw_start_rounds`.
    """

    name = "point-functions"
    realizable = True

    background: str = setting(ONE, help="one point, or all but the hidden one", check=one_of(ONE, ALL))
    start: str = start_setting()
    decoys: float = decoys_setting()

    def _draw_examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        learner = self.learner
        first = () if learner is None else (first_labels(learner, domain_points(concept_class)),)
        places = find_hiding_places(concept_class, first, everywhere=self.background == ALL)
        hidden = rng.choice(places.hidden, games)[:, None]
        columns = np.full((games, self.rounds), places.known, np.int32)
        if self.background == ALL:
            columns = rng.integers(0, len(places.b) - 1, columns.shape, np.int32)
            columns += columns >= hidden
        start = draw_start_rounds(self.start, self.rounds, games, rng)
        late = np.arange(1, self.rounds + 1) >= start[:, None]
        late &= (rng.random(games) >= self.decoys)[:, None]
        return np.where(late, hidden, columns), np.where(late, ~places.b[hidden], places.b[columns])


@attrs.frozen(eq=False)
class HidingPlaces:
    """The points at which a label can hide.

    b: (points,) bool, the labels of the background. known: the column of the background's point, if it is one
    point. hidden: the columns x* such that some concept agrees with b on the background and not at x*.
    """

    b: np.ndarray
    known: int
    hidden: np.ndarray


def find_hiding_places(
    concept_class: ConceptClass, first: Iterable[np.ndarray] = (), *, everywhere: bool
) -> HidingPlaces:
    """The background with the most hiding places, where b is one of `first`, constant, or a concept.

    everywhere: whether the background is the whole domain but x*, and not one point.

    Raises: Unsupported if there are no hiding places.
    """
    labels = concept_sets(concept_class).labels
    points = labels.shape[1]
    constant = np.array([[False], [True]]) & np.ones(points, bool)
    best = HidingPlaces(constant[0], 0, np.array([], np.intp))
    for b in (*first, *constant, *labels):
        differs = labels != b
        for known in range(1 if everywhere else points):
            candidates = differs.sum(axis=1) == 1 if everywhere else ~differs[:, known]
            hides = differs[candidates].any(axis=0)
            if hides.sum() > len(best.hidden):
                best = HidingPlaces(b, known, np.flatnonzero(hides))
            if len(best.hidden) >= points - (not everywhere):
                break
    if points < 2 or not len(best.hidden):
        raise Unsupported(
            f"{concept_class} has no point whose label can hide behind others",
            remedy="Choose a class with concepts that differ at one point and agree at another.",
        )
    return best

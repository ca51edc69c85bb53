"""point-functions: one point hides behind a long background, and shows its label late."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from adversaries.online.base import domain_of, opening
from adversaries.online.random_sequences import Prepared
from arena import Unsupported, setting
from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import concept_sets
from arena.settings import at_least, at_most, one_of

ONE, ALL = "one", "all"
SCALE, UNIFORM = "scale", "uniform"


@attrs.frozen
class PointFunctions(Prepared):
    """A background of examples with one labelling b, until at round t* a point that was never asked comes up
    with the label against b, and nothing else from then on.

    It is the game behind the lower bounds of Dmitriev, Szabó and Sanyal (2024), Cohen et al. (2024) and Li,
    Wang and Ye, The Limits of Differential Privacy in Online Learning (2024). Some concept agrees with b on
    the background and not at the hidden point x*, so the game is realizable, and so is its background alone,
    which is all there is in a share `decoys` of the games. b is the labelling with most points to hide at, at
    a tie the learner's own h_1, so that the hidden label contradicts what it starts with.

    What it forces on a learner that is (ε, δ)-private towards one replaced example, with T rounds and t*
    uniform: let F be the expected number of rounds of the background alone in which h_t(x*) is not b(x*), and
    w ≤ T/2 a number of rounds with w δ e^(wε) ≤ 1/4. If the learner makes w/8 mistakes or fewer in
    expectation from t* on, then for random t* ≤ T - w + 1 it is right about x* in at least half of the w
    rounds from t* on, with chance 1/2 or more. Its hypotheses there depend on fewer than w examples that
    differ from the background's, so by group privacy the background alone leads to the same with chance at
    least e^(-wε)/2 - wδ ≥ e^(-wε)/4. Every round lies in at most w windows, so these chances sum to 2F at
    most over t*, and F ≥ T e^(-wε)/16. With w = ln(T)/(2ε), there are

        more than ln(T)/(16 ε) mistakes from t* on, or F ≥ √T/16.

    So a learner that holds its ground on the background (F small, as Dmitriev et al. assume) errs
    Ω(log(T)/ε) times, where one mistake is enough without privacy. For point functions and background "all",
    b is 0 everywhere and decoys make F cost: as long as T is at most half the number of points, every second
    example or more is at a point as new to the learner as x*, so that a decoy costs F/2 mistakes at least.
    Then nothing is assumed: every private learner errs Ω(min(√T, log(T)/ε)) times.

    background: "one" asks one point only; "all" draws it anew every round.
    start: "uniform" draws t* from the T rounds; "scale" draws a power of two first, then t* from there to the
    next one, so that the bound for each of these horizons holds in a share of the games.
    """

    name = "point-functions"
    realizable = True

    background: str = setting(ONE, help="one point, or all but the hidden one", check=one_of(ONE, ALL))
    start: str = setting(
        SCALE,
        help="t*: scale (a random power of two or a little later) or uniform",
        check=one_of(SCALE, UNIFORM),
    )
    decoys: float = setting(
        0.25, unit="probability", help="of a game that is background only", check=[at_least(0), at_most(1)]
    )

    def _examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        first = () if self.learner is None else (opening(self.learner, domain_of(concept_class)),)
        places = hiding_places(concept_class, first, everywhere=self.background == ALL)
        hidden = rng.choice(places.hidden, games)[:, None]
        columns = np.full((games, self.rounds), places.known, np.int32)
        if self.background == ALL:
            columns = rng.integers(0, len(places.b) - 1, columns.shape, np.int32)
            columns += columns >= hidden
        late = np.arange(1, self.rounds + 1) >= starts(self.start, self.rounds, games, rng)[:, None]
        late &= (rng.random(games) >= self.decoys)[:, None]
        return np.where(late, hidden, columns), np.where(late, ~places.b[hidden], places.b[columns])


def starts(start: str, rounds: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """(games,): t*, from 1, drawn as `PointFunctions.start` has it."""
    if start == UNIFORM:
        return rng.integers(1, rounds, games, endpoint=True)
    low = 2 ** rng.integers(0, rounds.bit_length() - 1, games, endpoint=True)
    return rng.integers(low, np.minimum(2 * low - 1, rounds), endpoint=True)


@attrs.frozen(eq=False)
class HidingPlaces:
    """Where a label can hide.

    b: (points,) bool, the labels of the background. known: the column of the one point of the background, if
    it has one. hidden: the columns x* for which some concept agrees with b on the background and not at x*.
    """

    b: np.ndarray
    known: int
    hidden: np.ndarray


def hiding_places(
    concept_class: ConceptClass, first: Iterable[np.ndarray] = (), *, everywhere: bool
) -> HidingPlaces:
    """The background that has most hiding places: b is one of `first`, or constant, or a concept.

    everywhere: the background is the whole domain but x*; else it is one point.

    Raises: Unsupported if there are none.
    """
    labels = concept_sets(concept_class).labels
    points = labels.shape[1]
    constant = np.array([[False], [True]]) & np.ones(points, bool)
    best = HidingPlaces(constant[0], 0, np.array([], np.intp))
    for b in (*first, *constant, *labels):
        differs = labels != b
        for known in range(1 if everywhere else points):
            hides = differs[differs.sum(axis=1) == 1 if everywhere else ~differs[:, known]].any(axis=0)
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

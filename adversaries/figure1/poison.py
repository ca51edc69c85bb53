"""poison: chooses some of the queries so as to spoil what the next rounds learn from them."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.honest import FiniteDistribution, Honest, LabelledDistribution
from arena import Unsupported, setting
from arena.capabilities import AnswersInRounds
from arena.concepts import ConceptClass
from arena.settings import at_least, at_most, less_than, more_than, one_of

CROWD, REPEAT, SHIFT = "crowd", "repeat", "shift"
_DEFAULT_REACH = 0.05
_MAX_CROWD = 1_024  # distinct points
_TEST_POINTS = 2_000  # points of a game on which rivals and teachers are tested
_TEACHER_POINTS = 64  # points of a game for each of which a teacher is trained
_MAX_RIVALS = 4_096
_POINTS_AT_ONCE = 4_096  # points of a game that are drawn at a time
_MAX_DRAWS = 32


@attrs.frozen
class Poison(Honest):
    """`honest`, except that an enemy who knows D and the target chooses a part of the queries.

    Remark 3 of section 1.3 of Private Everlasting Prediction.

    crowd: many distinct points on which the target and a rival with a small error disagree. LabelBoost gives
    M dichotomies with e errors the weight M·exp(−e/2), so many dichotomies with few errors outweigh the rest.
    Lemma C.2 bounds how many errors these may have, which gives the default of `reach`.
    repeat: only the one point that teaches least, since a teacher trained on it alone has the largest error.
    shift: points outside the support of D, whose labels teach nothing about D.

    Unlabelled points that the learner needs are honest. The score is the number of correct answers to honest
    queries.
    """

    name = "poison"

    fraction: float = setting(
        0.3, unit="fraction", help="of the queries that are chosen", check=[at_least(0), at_most(1)]
    )
    aim: str = setting(CROWD, help="what the chosen queries are", check=one_of(CROWD, REPEAT, SHIFT))
    reach: float | None = setting(
        None,
        unit="error rate",
        help="of the rival of a crowd; default: 2 ln(p |Ŝ_1|)/|Ŝ_1|, or 0.05 if the learner has no |Ŝ_1|",
        check=[more_than(0), less_than(1)],
    )

    def _replace_queries(
        self, points: np.ndarray, chosen_points: list[np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        is_chosen = rng.random(points.shape[:2]) < self.fraction
        for game, options in enumerate(chosen_points):
            number = np.count_nonzero(is_chosen[game])
            points[game, is_chosen[game]] = options[rng.integers(len(options), size=number)]
        return is_chosen

    @property
    def reach_run(self) -> float:
        """The error of the rival that is used.

        If p|D̂| dichotomies have e errors, and there are |D̂|/|Ŝ| honest ones for each error on either side
        of the target, the former have the larger weight up to e = 2 ln(p|Ŝ|), to leading order.
        """
        if self.reach is not None:
            return self.reach
        if not isinstance(self.learner, AnswersInRounds):
            return _DEFAULT_REACH
        size = self.learner.round(1).examples * self.learner.rate_run
        return float(min(0.5, max(1.0, 2 * np.log(max(1.0, self.fraction * size))) / max(1.0, size)))

    def choose_points(
        self, distribution: LabelledDistribution, games: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """As for `honest`. Raises: Unsupported if the aim is "shift" and D has full support."""
        if not self.fraction:
            return []
        concepts = self.target_class
        if self.aim == CROWD:
            return _draw_crowds(distribution, concepts, games, self.reach_run, rng)
        if self.aim == REPEAT:
            return _find_worst_points(distribution, concepts, rng)
        return _draw_outside(distribution, concepts, games, rng)


def _draw_crowds(
    distribution: LabelledDistribution,
    concepts: ConceptClass,
    games: int,
    reach: float,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Distinct points of D on which the target disagrees with a rival of error close to `reach`."""
    rivals = _draw_rivals(distribution, concepts, reach, rng)
    parts: list[list[np.ndarray]] = [[] for _ in range(games)]
    for _ in range(_MAX_DRAWS):
        points, truth = distribution.draw(rng, _POINTS_AT_ONCE)
        for game, (row, labels) in enumerate(zip(points, truth, strict=True)):
            parts[game].append(row[concepts.labels(rivals[game][None], row)[0] != (labels == 1)])
        if min(sum(map(len, of_game)) for of_game in parts) >= _MAX_CROWD:
            break
    crowds = [np.unique(np.concatenate(of_game), axis=0) for of_game in parts]
    # On a small domain, the rival may agree with the target on all points drawn, which leaves no crowd.
    return [crowd if len(crowd) else row[:1] for crowd, row in zip(crowds, points, strict=True)]


def _draw_rivals(
    distribution: LabelledDistribution, concepts: ConceptClass, reach: float, rng: np.random.Generator
) -> np.ndarray:
    """(n, ...): the concept with a nonzero error closest to `reach`, of dichotomies of a few points."""
    points_of_rivals = 1
    while points_of_rivals < _TEST_POINTS and concepts.growth_bound(2 * points_of_rivals) <= _MAX_RIVALS:
        points_of_rivals *= 2
    points, truth = distribution.draw(rng, _TEST_POINTS)
    rivals = []
    for row, labels in zip(points, truth == 1, strict=True):
        options = concepts.dichotomies(row[:points_of_rivals]).concepts
        errors = (concepts.labels(options, row) != labels).mean(axis=1)
        rivals.append(options[np.where(errors > 0, np.abs(errors - reach), np.inf).argmin()])
    return np.array(rivals)


def _find_worst_points(
    distribution: LabelledDistribution, concepts: ConceptClass, rng: np.random.Generator
) -> list[np.ndarray]:
    """For each game, the point of D such that a teacher trained on it alone has the largest error."""
    points, truth = distribution.draw(rng, _TEST_POINTS)
    worst = []
    for row, labels in zip(points, truth == 1, strict=True):
        candidates = row[:_TEACHER_POINTS]
        teachers = concepts.erm(candidates[:, None], labels[:_TEACHER_POINTS, None])
        errors = (concepts.labels(teachers, row) != labels).mean(axis=1)
        worst.append(candidates[errors.argmax()][None])
    return worst


def _draw_outside(
    distribution: LabelledDistribution, concepts: ConceptClass, games: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Points outside the support of D: the rest of a finite domain, or points on either side of D."""
    if concepts.domain is not None:
        domain = concepts.check(np.array(concepts.domain))
        if isinstance(distribution, FiniteDistribution):
            support = distribution.points[distribution.chances > 0]
        else:
            support = domain
        known = {point.tobytes() for point in np.asarray(support, float)}
        outside = np.array([point for point in domain if np.asarray(point, float).tobytes() not in known])
        if not len(outside):
            raise Unsupported(
                "the support of D is the whole domain, so there is no point to shift to",
                value=concepts,
                remedy="Choose another aim, or bring data that leave out some points.",
            )
        return [outside] * games
    points = distribution.draw(rng, _TEST_POINTS)[0]
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    width = np.where(high > low, high - low, 1.0)
    offset = rng.random((_MAX_CROWD, *points.shape[2:])) * width
    sides = [concepts.check(high + width / 100 + offset), concepts.check(low - width / 100 - offset)]
    return [np.concatenate(sides)] * games

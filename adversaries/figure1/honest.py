"""honest and poison: sample and queries from one distribution D, or some queries chosen by an enemy."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.shared_settings import choose_concept_class
from adversaries.common.training_samples import build_sample, choose_sample_size
from adversaries.figure1.base import Figure1Adversary, chunk_sizes
from arena import Learner, Moves, Queries, Sample, Train, Unsupported, count_setting, setting
from arena.capabilities import AnswersInRounds
from arena.concepts import ConceptClass, Thresholds
from arena.settings import at_least, at_most, less_than, more_than, one_of

DEFAULT_CLASS = Thresholds()  # the class of the target if neither player has one
_MAX_NUMBERS = 2**27  # coordinates of the training points of a batch


@attrs.frozen(eq=False)
class FiniteDistribution:
    """D for each of n games: points (k, ...) with chances (k,) and labels (n, k) or (1, k) bool."""

    games: int
    points: np.ndarray
    labels: np.ndarray
    chances: np.ndarray

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """`size` independent examples of every game: points (n, size, ...) and their labels (n, size)."""
        # Inversion sampling: Generator.choice does the same, but validates the probabilities in every call.
        ends = np.cumsum(self.chances)
        which = np.searchsorted(ends, rng.random((self.games, size)) * ends[-1], side="right")
        labels = np.broadcast_to(self.labels, (self.games, len(self.points)))
        return self.points[which], np.take_along_axis(labels, which, axis=1)

    def truth(self, points: np.ndarray) -> np.ndarray:
        """(n, k) bool: the likeliest label at points (n, k, ...), or the nearest in the list; 1 on a tie."""
        distinct, which = np.unique(self.points, axis=0, return_inverse=True)
        weight = np.zeros((len(distinct), len(self.labels)))
        np.add.at(weight, which.ravel(), (np.where(self.labels, 1, -1) * self.chances).T)
        index = _find_nearest(distinct, points.reshape(-1, *points.shape[2:])).reshape(points.shape[:2])
        ones = np.broadcast_to(weight.T >= 0, (self.games, len(distinct)))
        return np.take_along_axis(ones, index, axis=1)

    def draw_samples(self, rng: np.random.Generator, size: int, noise: float) -> list[Sample]:
        counts = rng.multinomial(size, self.chances / self.chances.sum(), self.games)
        flips = rng.binomial(counts, noise) if noise else np.zeros_like(counts)
        points = np.concatenate([self.points, self.points])
        labels = np.broadcast_to(self.labels, counts.shape)
        examples = zip(np.hstack([labels, ~labels]), np.hstack([counts - flips, flips]), strict=True)
        return [build_sample(points, *of_game) for of_game in examples]


@attrs.frozen(eq=False)
class UniformDistribution:
    """D for each of n games: points drawn by `draw_points`, labelled by one of the targets (n, ...)."""

    concepts: ConceptClass
    targets: np.ndarray

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        games = len(self.targets)
        points = self.concepts.draw_points(rng, games * size)
        points = points.reshape(games, size, *points.shape[1:])
        return points, self.truth(points)

    def truth(self, points: np.ndarray) -> np.ndarray:
        games, each = points.shape[:2]
        targets = np.repeat(self.targets, each, axis=0)
        flat = points.reshape(games * each, *points.shape[2:])
        return self.concepts.label(targets, flat).reshape(games, each)

    def draw_samples(self, rng: np.random.Generator, size: int, noise: float) -> list[Sample]:
        numbers = len(self.targets) * size * int(np.prod(self.concepts.point_shape, dtype=int))
        if numbers > _MAX_NUMBERS:
            raise Unsupported(
                f"{len(self.targets):,} training sets of {size:,} points without a finite domain are too "
                "many to draw",
                remedy="Play fewer games in a batch, use a smaller learner, or a class with a finite domain.",
            )
        points, labels = self.draw(rng, size)
        if noise:
            labels ^= rng.random(labels.shape) < noise
        return [Sample(*example) for example in zip(points, labels, strict=True)]


LabelledDistribution = FiniteDistribution | UniformDistribution


def choose_distribution(
    games: int,
    rng: np.random.Generator,
    *,
    concepts: ConceptClass | None,
    learner: Learner | None,
    sample: Sample | None,
) -> LabelledDistribution:
    """The user's data, drawn with replacement, or the uniform distribution on the domain of a class with
    random targets.

    Raises: Unsupported if the class draws no targets; InvalidArgument if its points are not the learner's.
    """
    if sample is not None:
        return FiniteDistribution(games, sample.points, sample.labels[None] == 1, sample.counts / sample.size)
    concepts = choose_concept_class(concepts, learner, DEFAULT_CLASS)
    targets = np.array([concepts.draw_concept(rng) for _ in range(games)])
    if concepts.domain is None:
        return UniformDistribution(concepts, targets)
    points = concepts.check(np.array(concepts.domain))
    chances = np.full(len(points), 1 / len(points))
    return FiniteDistribution(games, points, concepts.labels(targets, points), chances)


def _find_nearest(distinct: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The index in `distinct` (k, ...), sorted, of the point nearest to each of `points` (m, ...)."""
    if distinct.ndim == 1:
        after = np.clip(np.searchsorted(distinct, points), 1, max(1, len(distinct) - 1))
        after = np.minimum(after, len(distinct) - 1)
        before = np.maximum(after - 1, 0)
        return np.where(points - distinct[before] < distinct[after] - points, before, after)
    from scipy.spatial import cKDTree  # slow to import

    return np.asarray(cKDTree(distinct).query(points)[1])


@attrs.frozen
class Honest(Figure1Adversary):
    """Training set and queries are independent draws from one distribution D, labelled by a target concept.

    Definition 3.1 of Private Everlasting Prediction; the worlds do not differ. D is uniform on the domain of
    the class, with a target for each game, or the user's data. The score is the number of correct answers.
    """

    name = "honest"

    queries: int = count_setting(1_000, help="queries in all")
    sample_size: int | None = count_setting(None, help="training examples; default: what the learner needs")
    noise: float = setting(
        0.0, unit="probability", help="of a wrong label in training", check=[at_least(0), less_than(1)]
    )
    concepts: ConceptClass | None = setting(None, help="the class of the target; default: the learner's")
    sample: Sample | None = setting(None, help="the data D; default: uniform on the domain of the class")

    def population(self, games: int, rng: np.random.Generator) -> LabelledDistribution:
        """D for each game. `play` draws it first, so the same random numbers give the same D."""
        concepts, learner, sample = self.concepts, self.learner, self.sample
        return choose_distribution(games, rng, concepts=concepts, learner=learner, sample=sample)

    @property
    def examples(self) -> int:
        """The size of the training sets."""
        return self.sample_size or choose_sample_size(self.learner)

    @property
    def target_class(self) -> ConceptClass:
        """The class of the target, or, with data, that of the learner."""
        return choose_concept_class(self.concepts, self.learner, DEFAULT_CLASS)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if not games:
            return np.zeros(0)
        distribution = self.population(games, rng)
        chosen_points = self.choose_points(distribution, games, rng)
        yield Train(distribution.draw_samples(rng, self.examples, self.noise))
        yield from self._give_unlabelled(self.queries, games, lambda size: distribution.draw(rng, size)[0])
        correct = np.zeros(games)
        for size in chunk_sizes(self.queries, games, self.learner):
            points, truth = distribution.draw(rng, size)
            is_chosen = self._replace_queries(points, chosen_points, rng)
            reply = yield Queries(points)
            correct += ((reply.label == truth) & ~is_chosen).sum(axis=1)
        return correct

    def choose_points(
        self, distribution: LabelledDistribution, games: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """For each game, the points (m, ...) from which chosen queries are drawn; none if all are honest."""
        return []

    def _replace_queries(
        self, points: np.ndarray, chosen_points: list[np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        """(n, k) bool: which queries (n, k, ...) are replaced by chosen points."""
        return np.zeros(points.shape[:2], bool)


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

    Remark 3 of section 1.3 of Private Everlasting Prediction. crowd: many distinct points on which the target
    and a rival with a small error disagree, to outweigh the rest in LabelBoost. repeat: the one point that
    teaches least. shift: points outside the support of D. The score is the number of correct answers to
    honest queries.
    """

    name = "poison"

    fraction: float = setting(
        0.3, unit="fraction", help="of the queries that are chosen", check=[at_least(0), at_most(1)]
    )
    aim: str = setting(CROWD, help="what the chosen queries are", check=one_of(CROWD, REPEAT, SHIFT))
    reach: float | None = setting(
        None,
        unit="error rate",
        help="that of a crowd's rival; default: 2 ln(p |Ŝ_1|)/|Ŝ_1|, or 0.05 if the learner has no |Ŝ_1|",
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
        """The error of the rival that is used: by default 2 ln(p|Ŝ|)/|Ŝ|, up to which, to leading order, the
        rival's dichotomies have the larger weight."""
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

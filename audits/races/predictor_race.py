"""Races of predictors by the errors of the hypotheses with which they answer.

The error is error_D(c, h_r) of Definition 2.10 of NNSY; D is the distribution of examples. A hypothesis of a
predictor labels a point 1 if the teachers' vote at the point is at least a threshold; every answer may have a
threshold of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import ERROR, Adversary, Bound, Claim, Figure1, GameAdversary, InvalidArgument, Learner, play
from arena.capabilities import AnswersInRounds, DrawsFromPopulation, ExposesHypotheses, Population
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.randomness import streams
from arena.settings import at_least, at_most, check_value, whole
from audits.races.race import Entrant, Race, Standing, concepts_of, set_fields
from audits.registry.suggestions import check_labels
from audits.reports.report import Table
from audits.statistics.quantiles import format_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROTOCOL = Figure1.name
ROUNDS = 3
GAMES = 40
TEST_POINTS = 10_000  # of each game, if D is not a finite list of examples
_MAX_ROUNDS = 20  # of which each has four times the queries of the one before
_MAX_GAMES = 8  # of a block: games are long and their arrays large
_MIN_BLOCKS = 4  # for processes to share
_MAX_NUMBERS = 2**24  # coordinates of a block's training sets
_HALTED_ERROR = 1.0  # of a game that has halted, which labels nothing
_HEADERS = (
    *("learner", "round", "chunk", "teachers", "noise", "answers"),
    *("median of worst h", "95 % quantile", "worst", "mean h", "wrong answers", "halted"),
)


# --- the errors of hypotheses ------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class EvaluationSet:
    """Examples on which hypotheses are evaluated.

    Shapes: points (n, m, ...), labels (n, m) bool, weights (m,) with sum 1. best_error (n,): the error of the
    best concept of the class, which is subtracted from all errors.
    """

    points: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    best_error: np.ndarray

    @classmethod
    def of(
        cls, population: Population, concepts: ConceptClass, games: int, rng: np.random.Generator, size: int
    ) -> EvaluationSet:
        """All of D if it is a finite list, else `size` examples of D, which some concept explains."""
        if not hasattr(population, "chances"):
            points, labels = population.draw(rng, size)
            return cls(points, labels == 1, np.full(size, 1 / size), np.zeros(games))
        listed: Any = population
        weights = listed.chances / listed.chances.sum()
        best = concepts.erm(listed.points, listed.labels.astype(np.int8), weights)
        best_error = (concepts.labels(best, listed.points) != (listed.labels == 1)) @ weights
        return cls(
            np.broadcast_to(listed.points, (games, *listed.points.shape)),
            np.broadcast_to(listed.labels == 1, (games, len(weights))),
            weights,
            np.broadcast_to(best_error, games),
        )

    def error_curves(self, votes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The errors (n, j) of the hypotheses 1[vote >= threshold], as a function of thresholds (n, j).

        votes: (n, m), at the points.
        """
        order = np.argsort(votes, axis=1)
        ordered = np.take_along_axis(votes, order, axis=1)
        gains = np.where(np.take_along_axis(self.labels, order, axis=1), 1.0, -1.0) * self.weights[order]
        errors = np.zeros((len(votes), votes.shape[1] + 1))  # by the number of votes below the threshold
        np.cumsum(gains, axis=1, out=errors[:, 1:])
        # If no vote is below the threshold, all labels are 1, and the error is the weight of label 0.
        errors += (~self.labels @ self.weights - self.best_error)[:, None]

        def find_errors(thresholds: np.ndarray) -> np.ndarray:
            below = np.stack([np.searchsorted(*pair) for pair in zip(ordered, thresholds, strict=True)])
            return np.take_along_axis(errors, below, axis=1)

        return find_errors


@attrs.define(eq=False, slots=False)
class ErrorRecorder:
    """Stands for the running state of a predictor, and records the errors of its answers by its rounds.

    Each array is (rounds, n) and counts the games that had not halted. worst: the largest error of a
    hypothesis. total: the sum over answers of their hypothesis' error. wrong: the number of wrong answers.
    """

    state: Any = attrs.field(init=False)
    _rounds: int
    _concepts: ConceptClass
    _population: Population
    evaluation: EvaluationSet
    _round: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        shape = (4, self._rounds, len(self.evaluation.best_error))
        self.answers, self.worst, self.total, self.wrong = np.zeros(shape)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._answer(self.state.predict, x, x[:, None])[:, 0]

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        if not hasattr(self.state, "predict_many"):
            return self.predict(x[:, 0])[:, None]
        return self._answer(self.state.predict_many, x, x)

    def _answer(self, predict: Callable[[np.ndarray], Any], x: np.ndarray, queries: np.ndarray) -> np.ndarray:
        halted = self.state.halted.copy()
        labels = np.asarray(predict(x)).reshape(len(x), -1)
        self.observe(queries[:, : labels.shape[1]], labels, halted)
        return labels

    def __getattr__(self, name: str) -> Any:
        if name == "state" or name.startswith("_"):  # it has no state yet
            raise AttributeError(name)
        return getattr(self.state, name)

    def observe(self, x: np.ndarray, labels: np.ndarray, halted: np.ndarray) -> None:
        """Record answers, labels (n, j) to queries x (n, j, ...). halted: (n,), before the first of them.

        Raises: InvalidArgument if the state does not expose its hypotheses.
        """
        state = self.state
        if not isinstance(state, ExposesHypotheses):
            raise InvalidArgument(
                "a race of predictors needs their hypotheses, which this one does not expose",
                remedy="Its running state needs the attributes of arena.capabilities.ExposesHypotheses.",
            )
        index = state.round.index
        if halted.all() or index > self._rounds:
            return
        if index != self._round:
            self._curves = self.evaluation.error_curves(state.votes_in_a_row(self.evaluation.points))
            self._round = index
        errors = self._curves(np.reshape(state.cuts, labels.shape))
        wrong = np.count_nonzero((labels == 1) != (self._population.truth(x) == 1), axis=1)
        live, row = ~halted, index - 1
        self.answers[row] += live * labels.shape[1]
        self.worst[row] = np.maximum(self.worst[row], np.where(live, errors.max(axis=1), 0))
        self.total[row] += live * errors.sum(axis=1)
        self.wrong[row] += live * wrong

    def read_figures(self) -> np.ndarray:
        """(5, rounds, n): answers, worst, total, wrong, and the error of the best concept."""
        best = np.broadcast_to(self.evaluation.best_error, self.answers.shape)
        return np.stack([self.answers, self.worst, self.total, self.wrong, best])


@attrs.frozen
class ObservedLearner(Learner):
    """A learner whose answers a recorder observes. Random numbers and answers stay the same."""

    protocols = (PROTOCOL,)

    learner: Learner
    recorder: ErrorRecorder

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.learner.own_name

    @property
    def claim(self) -> Claim:
        return self.learner.claim

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.learner.point_shape

    def start(self, games: int, rng: np.random.Generator) -> ErrorRecorder:
        self.recorder.state = self.learner.start(games, rng)
        return self.recorder


# --- the race ----------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, kw_only=True)
class PredictorStanding(Standing):
    """The figures of a predictor; arrays are (K,), by its rounds.

    rounds: the learner's parameters of each round. asked: the number of queries, perhaps less than answers.
    median, quantile_95, worst: over games, of the largest error of a hypothesis of the round; 1 in games that
    halted before its end, whose number is halted. mean, wrong_answers: over answers before a halt, then over
    games; NaN if all have halted. best_concept_error: mean over games; all errors are the excess over it.
    """

    bounds: np.ndarray = attrs.field(repr=False)  # the same in all rounds
    rounds: tuple[Any, ...]
    asked: np.ndarray
    wrong_answers: np.ndarray
    halted: np.ndarray
    best_concept_error: float

    def list_rounds(self) -> list[tuple[str, ...]]:
        """The rows of a table with _HEADERS."""
        return [
            (
                self.label if at == 0 else "",
                *(f"{size:,}" for size in (run.index, run.chunk, run.teachers)),
                f"{run.noise:.3g}",
                f"{self.asked[at]:,}" + ("" if self.asked[at] == run.answers else f" of {run.answers:,}"),
                *(limits.format(at, ".4f") for limits in (self.median, self.quantile_95)),
                *(format_figure(x[at], ".4f") for x in (self.worst, self.mean, self.wrong_answers)),
                f"{self.halted[at]:,}",
            )
            for at, run in enumerate(self.rounds)
        ]


@attrs.frozen(kw_only=True)
class PredictorRace(Race):
    """A race by the errors of predictors' hypotheses, whose marks are their rounds 1 to K.

    tested: points of each game on which hypotheses are evaluated if D is not a finite list of examples.
    """

    derived: ClassVar[tuple[str, ...]] = (*Race.derived, "quantity", "tested")
    least_height: ClassVar[float] = 0.05

    quantity: str = attrs.field(default=ERROR, init=False, repr=False)
    tested: int = attrs.field(repr=False, validator=[whole, at_least(1)])
    recorder: type[ErrorRecorder] = attrs.field(repr=False)

    def explain_inapplicable(self, bound: Bound) -> str:
        return "" if bound.of == ERROR else f"it bounds {bound.of}"

    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(5, K, n): the figures of the recorder, by rounds."""
        # The adversary draws the same distribution from the same random numbers when it begins to play.
        adversary: Any = entrant.adversary
        population = adversary.population(games, streams(seed).adversary)
        rng = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 3)))
        evaluation = EvaluationSet.of(population, entrant.concepts, games, rng, self.tested)
        recorder = self.recorder(self.rounds, entrant.concepts, population, evaluation)
        learner = ObservedLearner(entrant.learner, recorder)
        play(learner, adversary, entrant.referee, games=games, seed=seed)
        return recorder.read_figures()

    def make_standing(self, entrant: Entrant, figures: np.ndarray) -> PredictorStanding:
        answers, largest, total, wrong, best = figures
        learner: Any = entrant.learner
        asked = queries_by_round(learner, self.rounds)
        halted = answers < asked[:, None]
        largest = np.where(halted, _HALTED_ERROR, largest)
        return PredictorStanding(
            **self.summarise(entrant, largest, largest.max(axis=0)),
            rounds=tuple(learner.round(index) for index in self.marks),
            asked=asked,
            mean=_mean_over_games(total, answers),
            wrong_answers=_mean_over_games(wrong, answers),
            halted=halted.sum(axis=1),
            best_concept_error=float(best[0].mean()),
        )

    def describe(self, standings: Sequence[Any]) -> tuple[str, Table, list[str]]:
        title = f"Errors under D of every hypothesis, by rounds, over {self.games:,} games of each learner:"
        rows = [row for standing in standings for row in standing.list_rounds()]
        sentences = [
            "The error of a hypothesis is the probability under D that it labels a point wrongly. It is "
            "computed for every h_r with which a query was answered: over all of D if D is a finite list of "
            f"examples, otherwise over {self.tested:,} points of each game."
        ]
        excess = [f"{s.label}: {s.best_concept_error:.4f}" for s in standings if s.best_concept_error > 0]
        if excess:
            sentences.append(
                "No concept of the class explains D. Errors are the excess over the error of the best "
                f"concept, {', '.join(excess)}. An answer is wrong if it is not the likelier label of the "
                "point."
            )
        if any(np.any(standing.halted) for standing in standings):
            sentences.append(
                "A game that halts before the end of a round has error 1 in that round's worst hypotheses; "
                "after the halt it does not count in means and wrong answers."
            )
        if any(standing.bound_test is None for standing in standings):
            sentences.append("No bound: the theorem requires α = 2α_1 and β = 2β_1 below 1/16.")
        protocol = f"{self.protocol}, {self.rounds:,} rounds of each predictor"
        return protocol, Table(_HEADERS, rows, title), sentences

    def label_axes(self, axes: Axes) -> None:
        axes.set_xticks(self.marks)
        axes.set(xlabel="round of the predictor", ylabel="largest error of a hypothesis of the round")


def plan_predictor_race(
    players: Sequence[tuple[str, Learner, Adversary]],
    *,
    rounds: int = ROUNDS,
    games: int = GAMES,
    tested: int = TEST_POINTS,
    recorder: type[ErrorRecorder] = ErrorRecorder,
    **settings: Any,
) -> Race:
    """Plan a race of predictors, each given with its label and its adversary, whose fields are filled.

    tested: as in `PredictorRace`. settings: confidence and seed. Raises: InvalidArgument.
    """
    check_labels([label for label, _, _ in players])
    entrants = []
    for label, learner, adversary in players:
        concepts_of(learner)
        check_protocol(learner, adversary, Figure1())
        check_rounds(learner, rounds)
        if not isinstance(adversary, DrawsFromPopulation) or isinstance(adversary, GameAdversary):
            raise InvalidArgument(
                f"{adversary.name} does not state the distribution of its examples, so errors are undefined",
                remedy="Race against honest, or an adversary with a method population(games, rng).",
            )
        queries = int(queries_by_round(learner, rounds).sum())
        adversary = set_fields(adversary, learner=learner, queries=queries)
        entrants.append(Entrant(label=label, learner=learner, adversary=adversary, referee=Figure1()))
    # Few games in a block where training sets are large.
    numbers = max((one.learner.sample_size or 1) * prod(one.learner.point_shape) for one in entrants)
    return PredictorRace(
        entrants=tuple(entrants),
        games=games,
        marks=tuple(range(1, rounds + 1)),
        tested=tested,
        recorder=recorder,
        block=max(1, min(_MAX_GAMES, ceil(games / _MIN_BLOCKS), _MAX_NUMBERS // numbers)),
        **settings,
    )


def check_rounds(learner: Learner, rounds: int) -> None:
    """Raises: InvalidArgument if no machine plays so many rounds, or the learner does not."""
    check_value("rounds", rounds, whole, at_least(1), at_most(_MAX_ROUNDS))
    if not isinstance(learner, AnswersInRounds):
        raise InvalidArgument(
            f"{learner.own_name} has no rounds by which it could be measured",
            remedy="Race predictors that answer in rounds, such as everlasting-v2.",
        )
    limit = learner.rounds
    if limit is not None and limit < rounds:
        raise InvalidArgument(
            f"{learner.own_name} stops after {limit} round{'s' if limit > 1 else ''}",
            value=rounds,
            remedy=f"Give --rounds {limit}, or --set rounds=none.",
        )
    for index in range(1, rounds + 1):
        learner.round(index)  # refuses if the answers of a round are too few to train the next


def queries_by_round(learner: Any, rounds: int) -> np.ndarray:
    """(K,): the number of queries in each round. The last, which trains no other, has at most the first's."""
    answers = [learner.round(index).answers for index in range(1, rounds + 1)]
    return np.array([*answers[:-1], min(answers[0], answers[-1])])


def _mean_over_games(totals: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """(K,): the mean over answers, then over the games that have any; arguments (K, n)."""
    answered = answers > 0
    means = np.where(answered, totals / np.maximum(answers, 1), 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(means.sum(axis=1) / answered.sum(axis=1))

"""Races of predictors by the errors of their hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import ERROR, Adversary, Bound, Figure1, GameAdversary, InvalidArgument, Learner, play
from arena.capabilities import AnswersInRounds, DrawsFromPopulation
from arena.engine import check_protocol
from arena.randomness import streams
from arena.settings import at_least, at_most, check_value, whole
from audits.races.predictor_errors import TEST_POINTS, ErrorRecorder, EvaluationSet, ObservedLearner
from audits.races.race_plan import Entrant, Measure, Race, Standing, concepts_of, set_fields
from audits.registry.suggestions import check_labels
from audits.reports.report import Table
from audits.statistics.quantiles import format_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROTOCOL = Figure1.name
ROUNDS = 3
GAMES = 40
_MAX_ROUNDS = 20  # of which each has four times the queries of the one before
_MAX_GAMES = 8  # of a block: games are long and their arrays large
_MIN_BLOCKS = 4  # for processes to share
_MAX_NUMBERS = 2**24  # coordinates of a block's training sets
_HALTED_ERROR = 1.0  # of a game that has halted, which labels nothing
_HEADERS = (
    *("learner", "round", "chunk", "teachers", "noise", "answers"),
    *("median of worst h", "95 % quantile", "worst", "mean h", "wrong answers", "halted"),
)


@attrs.frozen(eq=False, kw_only=True)
class PredictorStanding(Standing):
    """The figures of a predictor; arrays are (K,), by its rounds.

    rounds: the learner's parameters of each round. asked: the number of queries in each round, which may be
    less than its number of answers.
    median, quantile_95, worst: over games, of the largest error of a hypothesis of the round. mean: the mean
    error over answers, then games. wrong_answers: the share of wrong answers. halted: the number of games
    that halted before the round's end; their error in median, quantile_95 and worst is 1, and after the halt
    they do not count in mean and wrong_answers, which are NaN if all have halted. best_concept_error: mean
    over games; all errors are the excess over it.
    """

    bounds: np.ndarray = attrs.field(repr=False)  # the same in all rounds
    rounds: tuple[Any, ...]
    asked: np.ndarray
    wrong_answers: np.ndarray
    halted: np.ndarray
    best_concept_error: float


@attrs.frozen(kw_only=True)
class HypothesisErrors(Measure):
    """The errors of a predictor's hypotheses, by its rounds 1 to K, which are the marks.

    tested: points of each game on which hypotheses are evaluated if D is not a finite list of examples.
    recorder: what records them.
    """

    least_height: ClassVar[float] = 0.05

    quantity: str = attrs.field(default=ERROR, init=False)
    marks: tuple[int, ...] = attrs.field(repr=False)
    tested: int = attrs.field(default=TEST_POINTS, validator=[whole, at_least(1)])
    recorder: type[ErrorRecorder] = attrs.field(default=ErrorRecorder, repr=False)

    def explain_inapplicable(self, bound: Bound, protocol: str) -> str:
        return "" if bound.of == ERROR else f"it bounds {bound.of}"

    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(5, K, n): the figures of the recorder, by rounds."""
        # The adversary draws the same distribution from the same random numbers when it begins to play.
        adversary: Any = entrant.adversary
        population = adversary.population(games, streams(seed).adversary)
        rng = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 3)))
        evaluation = EvaluationSet.of(population, entrant.concepts, games, rng, self.tested)
        recorder = self.recorder(self.marks[-1], entrant.concepts, population, evaluation)
        learner = ObservedLearner(entrant.learner, recorder)
        play(learner, adversary, entrant.referee, games=games, seed=seed)
        return recorder.read_figures()

    def make_standing(self, race: Race, entrant: Entrant, figures: np.ndarray) -> PredictorStanding:
        """The standing of a learner, from the figures (5, K, n) of its games."""
        answers, largest, total, wrong, best = figures
        learner: Any = entrant.learner
        asked = queries_by_round(learner, self.marks[-1])
        halted = answers < asked[:, None]
        largest = np.where(halted, _HALTED_ERROR, largest)
        return PredictorStanding(
            **race.summarise(entrant, largest, largest.max(axis=0)),
            rounds=tuple(learner.round(index) for index in self.marks),
            asked=asked,
            mean=_mean_over_games(total, answers),
            wrong_answers=_mean_over_games(wrong, answers),
            halted=halted.sum(axis=1),
            best_concept_error=float(best[0].mean()),
        )

    def describe(self, race: Race, standings: Sequence[Any]) -> tuple[str, Table, list[str]]:
        title = f"Errors under D of every hypothesis, by rounds, over {race.games:,} games of each learner:"
        rows = [row for standing in standings for row in _list_rounds(standing)]
        sentences = [
            "The error of a hypothesis is the probability under D that it labels a point wrongly. It is "
            "computed for every h_r with which a query was answered: over all of D if D is a finite list of "
            f"examples, otherwise over {self.tested:,} points of each game."
        ]
        excess = [
            f"{standing.label}: {standing.best_concept_error:.4f}"
            for standing in standings
            if standing.best_concept_error > 0
        ]
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
        protocol = f"{race.protocol}, {race.rounds:,} rounds of each predictor"
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
    """Plan a race of predictors, each given with its label and its adversary.

    Fields `learner` and `queries` (of all rounds) of an adversary are set. tested, recorder: as in
    `HypothesisErrors`. settings: confidence and seed, as in `Race`.

    Raises: InvalidArgument if there are no such games.
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
    return Race(
        entrants=tuple(entrants),
        games=games,
        measure=HypothesisErrors(marks=tuple(range(1, rounds + 1)), tested=tested, recorder=recorder),
        block=max(1, min(_MAX_GAMES, ceil(games / _MIN_BLOCKS), _MAX_NUMBERS // numbers)),
        **settings,
    )


def check_rounds(learner: Learner, rounds: int) -> None:
    """Raises: InvalidArgument if no machine plays so many rounds, or the learner does not."""
    check_value("rounds", rounds, whole, at_least(1), at_most(_MAX_ROUNDS))
    if not isinstance(learner, AnswersInRounds):
        raise InvalidArgument(
            f"{learner.name} has no rounds by which it could be measured",
            remedy="Race predictors that answer in rounds, such as everlasting-v2.",
        )
    limit = learner.rounds
    if limit is not None and limit < rounds:
        raise InvalidArgument(
            f"{learner.name} stops after {limit} round{'s' if limit > 1 else ''}",
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


def _list_rounds(standing: PredictorStanding) -> list[tuple[str, ...]]:
    return [
        (
            standing.label if at == 0 else "",
            *(f"{size:,}" for size in (run.index, run.chunk, run.teachers)),
            f"{run.noise:.3g}",
            f"{standing.asked[at]:,}" + ("" if standing.asked[at] == run.answers else f" of {run.answers:,}"),
            *(limits.format(at, ".4f") for limits in (standing.median, standing.quantile_95)),
            *(
                format_figure(figures[at], ".4f")
                for figures in (standing.worst, standing.mean, standing.wrong_answers)
            ),
            f"{standing.halted[at]:,}",
        )
        for at, run in enumerate(standing.rounds)
    ]

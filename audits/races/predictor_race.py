"""Races of predictors by the errors of their hypotheses: the plan, the games, and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any, ClassVar, TypeVar

import attrs
import numpy as np

from arena import ERROR, Adversary, Bound, Figure1, GameAdversary, InvalidArgument, Learner, play
from arena.capabilities import DrawsFromPopulation
from arena.engine import check_protocol
from arena.randomness import streams
from arena.settings import at_least, at_most, check_value, whole
from audits.races.game_plan import Entrant, check_labels, concepts_of, set_fields
from audits.races.observed_learner import ObservedLearner
from audits.races.predictor_errors import TEST_POINTS, ErrorRecorder, EvaluationSet
from audits.races.race_result import Race, RaceStanding, compare_with_bound, read_bound, summarise

PROTOCOL = Figure1.name
ROUNDS = 3
GAMES = 40
MAX_ROUNDS = 20  # of which each has four times the queries of the one before
_MAX_GAMES = 8  # of a block: games are long and their arrays large
_MIN_BLOCKS = 4  # for processes to share
_MAX_NUMBERS = 2**24  # coordinates of a block's training sets
_HALTED_ERROR = 1.0  # of a game that has halted, which labels nothing

Recorder = TypeVar("Recorder", bound=ErrorRecorder)


@attrs.frozen(eq=False, kw_only=True)
class PredictorStanding(RaceStanding):
    """The figures of a predictor; arrays are (K,), by its rounds.

    rounds: the learner's parameters of each round. asked: the number of queries in each round, which may be
    less than its number of answers.
    median, quantile_95, worst: over games, of the largest error of a hypothesis of the round. mean: the mean
    error over answers, then games. wrong_answers: the share of wrong answers. halted: the number of games
    that halted before the round's end; their error in median, quantile_95 and worst is 1, and after the halt
    they do not count in mean and wrong_answers, which are NaN if all have halted. best_concept_error: mean
    over games; all errors are the excess over it.
    """

    rounds: tuple[Any, ...]
    asked: np.ndarray
    wrong_answers: np.ndarray
    halted: np.ndarray
    best_concept_error: float

    @property
    def bounds(self) -> np.ndarray:
        """(K,): the bound, which is the same in all rounds; infinite without one."""
        return np.full(len(self.rounds), np.inf if self.bound_test is None else self.bound_test.bound.at_most)


@attrs.frozen(kw_only=True)
class PredictorRace(Race):
    """A race of predictors.

    rounds: K, the number of rounds of a predictor that are played. tested: points of each game on which
    hypotheses are evaluated if D is not a finite list of examples.
    """

    derived: ClassVar[tuple[str, ...]] = ("adversary", "protocol", "quantity")
    protocol = PROTOCOL
    quantity = ERROR

    rounds: int
    tested: int = attrs.field(default=TEST_POINTS, validator=[whole, at_least(1)])

    @property
    def marks(self) -> tuple[int, ...]:
        return tuple(range(1, self.rounds + 1))

    def check(self, entrant: Entrant) -> None:
        """Raises: InvalidArgument if the learner's bound is invalid."""
        self._read_bound(entrant)

    def play_block(self, number: int, block: int) -> np.ndarray:
        """(5, K, n): by rounds, the number of answers, the largest error of a hypothesis, the sum of the
        errors, the number of wrong answers, and the error of the best concept.
        """
        record = self.record_block(number, block, ErrorRecorder)
        best = np.broadcast_to(record.evaluation.best_error, record.answers.shape)
        return np.stack([record.answers, record.worst, record.total, record.wrong, best])

    def record_block(self, number: int, block: int, kind: type[Recorder]) -> Recorder:
        """Play a block, observed by a recorder of this kind."""
        entrant, seed, games = self.entrants[number], self.block_seed(number, block), self.games_in(block)
        # The adversary draws the same distribution from the same random numbers when it begins to play.
        adversary: Any = entrant.adversary
        distribution = adversary.population(games, streams(seed).adversary)
        own_seed = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 3))
        rng = np.random.default_rng(own_seed)
        evaluation = EvaluationSet.of(distribution, entrant.concepts, games, rng, self.tested)
        recorder = kind(self.rounds, entrant.concepts, distribution, evaluation)
        learner = ObservedLearner(entrant.learner, recorder)
        play(learner, adversary, entrant.referee, games=games, seed=seed)
        return recorder

    def make_standing(self, entrant: Entrant, figures: np.ndarray) -> PredictorStanding:
        """The standing of a learner, from figures (5, K, n) as `play_block` returns them."""
        answers, largest, total, wrong, best = figures
        learner: Any = entrant.learner
        asked = queries_by_round(learner, self.rounds)
        halted = answers < asked[:, None]
        largest = np.where(halted, _HALTED_ERROR, largest)
        bound = self._read_bound(entrant)
        return PredictorStanding(
            entrant=entrant,
            rounds=tuple(learner.round(index) for index in self.marks),
            asked=asked,
            **summarise(self, largest),
            mean=_mean_over_games(total, answers),
            wrong_answers=_mean_over_games(wrong, answers),
            halted=halted.sum(axis=1),
            best_concept_error=float(best[0].mean()),
            bound_test=None if bound is None else compare_with_bound(self, bound, largest.max(axis=0)),
        )

    def _read_bound(self, entrant: Entrant) -> Bound | None:
        bound = read_bound(entrant, self.rounds)
        if bound is not None and (bound.of != ERROR or bound.beta is None):
            raise InvalidArgument(
                f"the bound of {entrant.learner.name} must be a Bound on {ERROR} with a probability, or None",
                value=bound,
            )
        return bound


def plan_predictor_race(
    players: Sequence[tuple[str, Learner, Adversary]],
    *,
    rounds: int = ROUNDS,
    games: int = GAMES,
    **settings: Any,
) -> PredictorRace:
    """Plan a race of predictors, each given with its label and its adversary.

    Fields `learner` and `queries` (of all rounds) of an adversary are set. settings: confidence, seed and
    tested, as in `PredictorRace`. Raises: InvalidArgument if there are no such games.
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
    return PredictorRace(
        entrants=tuple(entrants),
        rounds=rounds,
        games=games,
        block=_choose_block(entrants, games),
        **settings,
    )


def _choose_block(entrants: Sequence[Entrant], games: int) -> int:
    """Games in a block: few where training sets are large."""
    numbers = max(
        (entrant.learner.sample_size or 1) * prod(entrant.learner.point_shape) for entrant in entrants
    )
    return max(1, min(_MAX_GAMES, ceil(games / _MIN_BLOCKS), _MAX_NUMBERS // numbers))


def check_rounds(learner: Learner, rounds: int) -> None:
    """Raises: InvalidArgument if that is no number of rounds, or the learner does not play so many."""
    check_value("rounds", rounds, whole, at_least(1))
    if not hasattr(learner, "round"):
        raise InvalidArgument(
            f"{learner.name} has no rounds by which it could be measured",
            remedy="Race predictors that are built like GenericBBL, such as everlasting-v2.",
        )
    limit = getattr(learner, "rounds", None)
    if limit is not None and limit < rounds:
        raise InvalidArgument(
            f"{learner.name} stops after {limit} round{'s' if limit > 1 else ''}",
            value=rounds,
            remedy=f"Give --rounds {limit}, or --set rounds=none.",
        )
    for index in range(1, min(rounds, MAX_ROUNDS) + 1):
        learner.round(index)  # refuses if the answers of a round are too few to train the next


def queries_by_round(learner: Any, rounds: int) -> np.ndarray:
    """(K,): the number of queries in each round. The last, which trains no other, has at most the first's.

    Raises: InvalidArgument for more rounds than any machine plays.
    """
    check_value("rounds", rounds, at_most(MAX_ROUNDS))
    answers = [learner.round(index).answers for index in range(1, rounds + 1)]
    return np.array([*answers[:-1], min(answers[0], answers[-1])])


def _mean_over_games(totals: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """(K,): the mean over answers, then over the games that have any; arguments (K, n)."""
    answered = answers > 0
    means = np.where(answered, totals / np.maximum(answers, 1), 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(means.sum(axis=1) / answered.sum(axis=1))

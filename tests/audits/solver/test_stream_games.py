"""Games of streams: brute force over all adversaries, closed forms, wrong laws, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Any

import attrs
import numpy as np
import pytest
from support.exact.games import best_of_stream

import audits
from arena import Claim, Learner, NotConforming, Stream, StreamLaw, Unsupported, play
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution
from audits.solver.games.stream_game import stream_game
from audits.solver.posed_games import pose_untrained
from audits.solver.solution_report import Outcome
from learners.streams.base import StreamLearner, claim_pure
from learners.streams.counters import AnnouncedSampling, CountAlarm, CountAlarmLaw, TreeCounter
from learners.streams.flawed import FlawedSampling

EPSILONS = np.array([0.0, 0.2, 0.7])
SHOWN = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])  # by the record, what is published


@attrs.frozen
class Categories(StreamLearner):
    """Publishes a category that depends on the record 0, 1 or 2; a first 2 is published as it is."""

    name = "categories"

    @property
    def domain(self) -> tuple[float, float]:
        return (0.0, 2.0)

    @property
    def claim(self) -> Claim:
        return claim_pure(self.neighbours, 2.0)

    def stream_law(self) -> StreamLaw:
        return CategoriesLaw()

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        seen = np.zeros(games, bool)

        def publish(records: np.ndarray) -> np.ndarray:
            drawn = (rng.random((games, 1)) > SHOWN[records.astype(int)].cumsum(axis=1)).sum(axis=1)
            new = ~seen & (records == 2)
            np.logical_or(seen, new, out=seen)
            return np.where(new, 2.0, drawn)

        return publish


class CategoriesLaw(StreamLaw):
    values = records = np.arange(3.0)

    def start(self) -> np.ndarray:
        return np.array([1.0, 0.0])

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        is_two = np.asarray(x == 2)
        shown = SHOWN[np.asarray(x, int)].T
        after = measure[None] * shown[:, :, None]
        after[:, :, 1] += is_two * np.eye(3)[2][:, None] * measure[:, 0]
        after[:, :, 0] *= ~is_two
        return after


GAMES: list[StreamLearner] = [
    CountAlarm(threshold=2, epsilon=0.8),
    FlawedSampling(rate=0.3, sampled=2.0),
    Categories(),
    Categories(neighbours="zero out one"),
    Categories(neighbours="add or remove one"),
]


def bound(learner: Learner, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on δ* at `EPSILONS`, in the worse of both directions."""
    game = stream_game(learner, rounds)[0]
    roots = [GameSolution(BeliefGraph(each, EPSILONS, GraphLimits())).root for each in (game, game.exchanged)]
    return (
        np.max([root.lower() for root in roots], axis=0),
        np.max([root.values.upper for root in roots], axis=0),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("learner", GAMES, ids=lambda learner: f"{learner.name}-{learner.neighbours}")
def test_the_value_is_that_of_the_best_of_all_adversaries(learner: Any, rounds: int) -> None:
    blank = learner.neighbours != "replace one"
    best = [best_of_stream(learner.stream_law(), rounds, epsilon, blank=blank) for epsilon in EPSILONS]
    lower, upper = bound(learner, rounds)
    assert lower == pytest.approx(best, abs=1e-12)
    assert upper == pytest.approx(best, abs=1e-12)
    assert best[0] > 0.1


def test_records_that_differ_are_blank_in_one_world_where_neighbours_say_so() -> None:
    """The records 0, 1 and 2: the last two differ most, and may not where one is zeroed out."""
    values = [bound(Categories(neighbours=kind), 1)[0][0] for kind in ("replace one", "zero out one")]
    first = np.array([SHOWN[0], SHOWN[1], [0.0, 0.0, 1.0]])
    apart = np.maximum(first[:, None] - first, 0).sum(axis=2)
    assert values == pytest.approx([apart.max(), max(apart[0].max(), apart[:, 0].max())])


# --- claims -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_claim_of_a_count_alarm_holds_and_is_tight_after_a_few_rounds() -> None:
    solved = [audits.solve(CountAlarm(), rounds=rounds) for rounds in (1, 2, 6)]
    assert all(each.outcome is Outcome.PROVED for each in solved)
    losses = [each.epsilon_at.upper for each in solved]
    assert losses == sorted(losses)
    assert 0.999 <= solved[-1].epsilon_at.lower <= 1


@pytest.mark.thorough
@pytest.mark.parametrize("rounds", [1, 2, 3, 8])
def test_whoever_waits_for_an_announcement_meets_a_sampled_record(rounds: int) -> None:
    """With probability 1 − (1 − r)^(T − 1): nothing announces the first round, and nothing waits after the
    last. Then the loss is that of randomised response."""
    learner = FlawedSampling(rate=0.1, sampled=3.0)
    solution = audits.solve(learner, rounds=rounds, delta=0.0)
    (point,) = [point for point in solution.curve if point.epsilon == learner.epsilon]
    meets = 1 - 0.9 ** max(1, rounds - 1)
    assert point.upper == pytest.approx(meets * (exp(3) - exp(1)) / (exp(3) + 1), abs=1e-12)
    assert solution.outcome is (Outcome.REFUTED if rounds > 2 else Outcome.PROVED)
    assert solution.epsilon_at.upper == pytest.approx(3.0)


@pytest.mark.thorough
def test_the_best_adversary_certifies_most_of_the_value_when_it_plays() -> None:
    solution = audits.solve(CountAlarm(), rounds=6)
    verdict = audits.audit(CountAlarm(), solution.adversary, games=100_000)
    assert not verdict.refuted
    assert 0.8 <= verdict.epsilon_lower <= solution.epsilon_at.upper
    sampling = FlawedSampling()
    verdict = audits.audit(sampling, audits.solve(sampling, rounds=6).adversary, games=20_000)
    assert verdict.refuted
    assert 3 <= verdict.epsilon_lower <= sampling.sampled


@pytest.mark.parametrize("learner", GAMES[1:3], ids=lambda learner: learner.name)
def test_the_adversary_makes_one_difference_and_scores_by_the_release(learner: Any) -> None:
    adversary = audits.solve(learner, rounds=3).adversary
    played = play(learner, adversary, Stream(), games=4_000, seed=1)
    assert played.score is not None
    assert len(np.unique(played.score)) <= 2 * len(adversary.decisions) * len(adversary.shown)
    assert played.score[played.worlds].mean() > played.score[~played.worlds].mean() + 0.1


# --- wrong laws ---------------------------------------------------------------------------------------------


@attrs.frozen
class LaterAlarm(CountAlarm):
    """Declares another threshold than it uses."""

    name = "later-alarm"

    def stream_law(self) -> CountAlarmLaw:
        return attrs.evolve(super().stream_law(), threshold=self.threshold + 1)


@attrs.frozen
class LouderAlarm(CountAlarm):
    """Publishes 2 where its law has 1."""

    name = "louder-alarm"

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        publish = super().open(games, rng)
        return lambda records: 2 * publish(records)


@attrs.frozen
class ForgetfulAlarm(CountAlarm):
    """Follows its law for two rounds, and is silent after that."""

    name = "forgetful-alarm"

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        publish, rounds = super().open(games, rng), iter([1.0, 1.0])
        return lambda records: publish(records) * next(rounds, 0.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (LaterAlarm(), "its values follow the output distribution that it declares"),
        (LouderAlarm(), "its values are among those that it declares; 2"),
        (ForgetfulAlarm(), "its values are possible by the distribution that it declares"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_wrong_law_is_noticed(learner: Learner, message: str) -> None:
    with pytest.raises(NotConforming) as error:
        audits.solve(learner, rounds=3)
    assert f"{learner.name} does not conform: {message}" in str(error.value)


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (TreeCounter(), "tree-counter does not declare the distribution of the values that it publishes"),
        (
            AnnouncedSampling(),
            "announced-sampling claims nothing where records are chosen by what was published, got "
            "'FixedStream'. `arena exact` computes its privacy loss on fixed streams",
        ),
        (
            CountAlarm(neighbours="replace a group of 2"),
            "streams are solved where neighbours differ in one record, got 'replace a group of 2'. Set "
            "neighbours to replace one, add or remove one, zero out one",
        ),
        (CountAlarm(rounds=3), "a game of count-alarm has at most 3 rounds with these settings, got 4"),
        (CountAlarm(epsilon=1e-3), "depend on more than 20,000 hidden states"),
    ],
)
def test_other_learners_are_refused(learner: Learner, message: str) -> None:
    posed = pose_untrained(learner)
    assert posed is not None
    with pytest.raises(Unsupported) as error:
        posed.build(4)
    assert message in str(error.value)


@attrs.frozen
class Blind(Categories):
    """Declares that all records are treated like 0."""

    def stream_law(self) -> StreamLaw:
        law = CategoriesLaw()
        law.records = np.zeros(1)
        return law


def test_records_that_are_all_treated_alike_have_no_game() -> None:
    with pytest.raises(Unsupported, match="no two of the records that categories tells apart may differ"):
        stream_game(Blind(), 2)

"""Races of online learners: the plan, the games, the figures, the bounds, and what is refused."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats
from support.halfspaces import PlainWinnow
from support.online.players import Drawn, Gossip, Guess, TinySoa
from support.processes import interrupt_at

from adversaries.halfspaces.short_lists import SparseDisjunction
from arena import (
    MISTAKES,
    REGRET,
    Adversary,
    Bound,
    GameAdversary,
    InvalidArgument,
    Learner,
    Moves,
    NotConforming,
    ProtocolViolation,
    Realizable,
    Unsupported,
    play,
)
from arena.concepts import Halfspaces, Points, Thresholds
from audits.races.online_race import OnlineStanding, plan_online_race, spread_marks
from audits.races.race import BoundTest, Race
from audits.races.race_result import RaceResult, make_result, run_race


def plan(*learners: Learner, against: Adversary | None = None, **options: Any) -> Race:
    players = [(f"l{i}", learner, against or Drawn()) for i, learner in enumerate(learners)]
    return plan_online_race(players, **{"rounds": 60, "games": 100, "marks": 6, **options})


def rank(learner: Learner, figures: list[int], **options: Any) -> RaceResult:
    """The result of games whose figures at the only mark, T = 100, are these."""
    race = plan(learner, rounds=100, games=len(figures), marks=1, **options)
    return make_result(race, [np.array([figures])])


def bound_test(learner: Learner, figures: list[int], **options: Any) -> BoundTest:
    test = rank(learner, figures, **options).standings[0].bound_test
    assert test is not None
    return test


# --- the plan -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2, 3, 17, 1000, 100_000])
@pytest.mark.parametrize("count", [1, 2, 5, 20, 500])
def test_marks_reach_from_the_first_round_to_the_last(rounds: int, count: int) -> None:
    marks = spread_marks(rounds, count)
    assert list(marks) == sorted(set(marks))
    assert marks[-1] == rounds
    assert marks[0] == (1 if count > 1 else rounds)
    assert len(marks) <= count
    assert all(type(mark) is int for mark in marks)


def test_players_know_the_rounds_and_the_protocol_of_the_race() -> None:
    race = plan(TinySoa(concepts=Thresholds(range(8))), Guess(), rounds=77)
    first, second = race.entrants
    assert (first.learner.rounds, first.adversary.rounds, first.referee.T) == (77, 77, 77)  # type: ignore[attr-defined]
    assert first.adversary.learner == first.learner  # type: ignore[attr-defined]
    assert second.adversary.learner == Guess()  # type: ignore[attr-defined]
    assert isinstance(first.referee, Realizable)
    assert first.referee.concepts == Thresholds(range(8))
    assert (race.quantity, race.marks[-1]) == (MISTAKES, 77)


def test_games_are_agnostic_if_the_adversary_is_not_realizable_or_on_demand() -> None:
    for race in (plan(TinySoa(), agnostic=True), plan(TinySoa(), against=Drawn(noise=0.1))):
        assert race.quantity == REGRET
        assert not isinstance(race.entrants[0].referee, Realizable)
        assert race.scorebook(race.entrants[0]).concepts == TinySoa().concepts


def test_the_protocol_is_the_adversarys_or_the_first_that_all_play() -> None:
    assert plan(TinySoa()).entrants[0].referee.name == "Adaptive"
    committed = plan(TinySoa(), against=Drawn(protocol="Oblivious")).entrants[0]
    assert committed.referee.name == "Oblivious"
    other = plan(Guess(), against=Drawn(protocol="Oblivious")).entrants[0]
    assert (other.referee.name, other.adversary.protocol) == ("Adaptive", "Adaptive")  # type: ignore[attr-defined]
    wanted = plan(TinySoa(), protocol="Oblivious").entrants[0]
    assert wanted.adversary.protocol == "Oblivious"  # type: ignore[attr-defined]
    with pytest.raises(InvalidArgument, match=r"do not all play Oblivious\. .*guess plays Adaptive"):
        plan(TinySoa(), Guess(), protocol="Oblivious")
    with pytest.raises(InvalidArgument, match="must be Adaptive or Oblivious, got 'Figure1'"):
        plan(TinySoa(), protocol="Figure1")


@pytest.mark.parametrize(("d", "block"), [(64, 1_024), (1_024, 1_024), (16_384, 128), (2**22, 1)])
def test_blocks_are_small_if_a_point_has_many_coordinates(d: int, block: int) -> None:
    learner = PlainWinnow(Halfspaces(d, 0.2))
    assert plan(learner, against=SparseDisjunction(), games=10_000).block == block


def test_bad_races_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="a race needs at least one learner"):
        plan_online_race([], rounds=3, games=1)
    with pytest.raises(InvalidArgument, match="two learners are called a"):
        plan_online_race([("a", TinySoa(), Drawn()), ("a", Guess(), Drawn())], rounds=3, games=1)
    with pytest.raises(Unsupported, match="Choose a smaller domain"):
        plan(TinySoa(concepts=Points(range(8_000))))
    with pytest.raises(Unsupported, match=r"Thresholds\(\) has no finite domain"):
        plan(Guess(concepts=Thresholds()), agnostic=True)
    with pytest.raises(InvalidArgument, match="jobs must be at least 1, got 0"):
        run_race(plan(TinySoa()), jobs=0)


# --- the games ----------------------------------------------------------------------------------------


def test_figures_are_those_of_the_games() -> None:
    race = plan(TinySoa(), Guess(), games=90)
    result = run_race(race)
    for number, (entrant, one) in enumerate(zip(race.entrants, result.standings, strict=True)):
        blocks = [
            play(
                entrant.learner,
                entrant.adversary,
                entrant.referee,
                games=games,
                seed=np.random.SeedSequence(0, spawn_key=(number, block)),
            ).mistakes
            for block, games in enumerate((64, 26))
        ]
        mistakes = np.concatenate([block for block in blocks if block is not None])
        assert one.mean[-1] == mistakes.mean()
        assert one.worst[-1] == mistakes.max()
        assert one.median.values[-1] == np.sort(mistakes)[44]
        assert one.quantile_95.values[-1] == np.sort(mistakes)[85]


def test_regret_is_against_the_best_concept() -> None:
    race = plan(Guess(), against=Drawn(noise=0.2), rounds=200)
    regret = race.play_block(0, 0)
    assert regret.shape == (6, 64)
    # A coin errs 100 times, the best threshold about 40 times.
    assert abs(regret[-1].mean() - 60) < 10
    assert (plan(Guess(), rounds=200).play_block(0, 0)[-1] > 60).all()


@pytest.mark.thorough
def test_figures_depend_neither_on_processes_nor_on_other_learners() -> None:
    watched: list[int] = []
    alone = run_race(plan(TinySoa(), games=90), watch=watched.append)
    assert watched == [0, 64, 90]
    race = plan(TinySoa(), Guess(), games=90)
    result = run_race(race)
    assert result.to_dict() == run_race(race, jobs=2).to_dict()
    np.testing.assert_array_equal(result.standings[0].mean, alone.standings[0].mean)
    reseeded = run_race(plan(TinySoa(), games=90, seed=1))
    assert (reseeded.standings[0].mean != alone.standings[0].mean).any()


@attrs.frozen
class Alone(GameAdversary):
    """`Drawn` for one game."""

    name = "alone"
    protocols = ("Oblivious",)
    realizable = True
    rounds: int = 10

    def play_one(self, rng: np.random.Generator) -> Moves:
        yield from Drawn(rounds=self.rounds, protocol="Oblivious").play(1, rng)
        return None


@pytest.mark.thorough
def test_adversaries_in_game_style_race_too() -> None:
    (standing,) = run_race(plan(TinySoa(), against=Alone(), games=20)).standings
    assert not standing.bound_test.broken
    assert standing.worst[-1] >= 1


def test_an_invalid_adversary_is_refused_before_or_in_the_games() -> None:
    with pytest.raises(ProtocolViolation, match="in a realizable game some concept of"):
        run_race(plan(TinySoa(), against=Drawn(noise=0.1, lies=True)))
    with pytest.raises(NotConforming, match="a game's moves depend on the replies of that game alone"):
        run_race(plan(Guess(), against=Gossip(), rounds=500))


# --- bounds -------------------------------------------------------------------------------------------


def test_a_bound_with_beta_0_must_hold_in_every_game() -> None:
    assert not rank(TinySoa(), [4] * 50).broken
    assert rank(TinySoa(), [4] * 49 + [5]).broken
    test = bound_test(TinySoa(), [4] * 49 + [5])
    assert (test.exceeding, test.allowed) == (1, 0)
    assert not rank(TinySoa(at_most=4 - 1e-12), [4] * 50).broken  # a bound is a float


def test_a_bound_with_positive_beta_is_broken_only_by_too_many_games() -> None:
    learner = TinySoa(beta=0.1, at_most=3)
    allowed = int(stats.binom.isf(0.05, 200, 0.1))
    for exceeding, broken in ((0, False), (allowed, False), (allowed + 1, True)):
        test = bound_test(learner, [5] * exceeding + [3] * (200 - exceeding))
        assert (test.exceeding, test.allowed, test.broken) == (exceeding, allowed, broken)


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("games", [1, 30, 1_000])
@pytest.mark.parametrize("learners", [1, 3])
def test_a_true_bound_is_rarely_refuted(beta: float, games: int, learners: int) -> None:
    race = plan(*[TinySoa(beta=beta, at_most=3)] * learners, rounds=10, games=games, marks=1)
    standings = make_result(race, [np.zeros((1, games), int)] * learners).standings
    chances = [stats.binom.sf(one.bound_test.allowed, games, beta) for one in standings]
    assert sum(chances) <= 0.05


def test_a_bound_on_the_expectation_is_refuted_by_a_much_larger_mean() -> None:
    learner = TinySoa(beta=None, at_most=10.0)
    share = np.sqrt(np.log(1 / 0.05) / (2 * 1_000))  # of the games, which may have the least possible figure
    for mistakes in (9, 10, 11):
        test = bound_test(learner, [mistakes] * 1_000)
        assert test.mean_lower == pytest.approx(mistakes * (1 - share))
        assert test.broken == (mistakes * (1 - share) > 10)
    assert rank(learner, [11] * 1_000).broken
    assert bound_test(learner, [5] * 1_000, agnostic=True).inapplicable
    regret = bound_test(attrs.evolve(learner, of=REGRET), [5] * 1_000, agnostic=True)
    assert regret.mean_lower == pytest.approx(5 * (1 - share) - 100 * share)


def test_a_bound_for_oblivious_adversaries_is_not_tested_on_others() -> None:
    learner = TinySoa(oblivious=True)
    adaptive = rank(learner, [50] * 10, protocol="Adaptive")
    assert not adaptive.broken
    assert np.isinf(adaptive.standings[0].bounds).all()
    assert "not tested: it is proved for oblivious adversaries only" in adaptive.summary()
    assert rank(learner, [50] * 10, protocol="Oblivious").broken


def test_a_bound_on_mistakes_does_not_cover_regret_but_one_on_regret_covers_mistakes() -> None:
    result = rank(TinySoa(), [50] * 10, agnostic=True)
    assert result.standings[0].bound_test.inapplicable
    assert not result.broken
    assert np.isinf(result.standings[0].bounds).all()
    assert "not tested: it bounds mistakes in realizable games" in result.summary()
    assert rank(TinySoa(of=REGRET), [50] * 10).broken


def test_an_invalid_bound_is_refused_before_the_games() -> None:
    @attrs.frozen
    class Odd(TinySoa):
        name = "odd"

        def bound(self, rounds: int) -> Bound | None:
            return 3 if rounds > 1 else None  # type: ignore[return-value]

    @attrs.frozen
    class Raising(TinySoa):
        name = "raising"

        def bound(self, rounds: int) -> Bound | None:
            raise KeyError("no")

    with pytest.raises(InvalidArgument, match="the bound of odd must be a Bound or None, got 3"):
        run_race(plan(Odd()))
    with pytest.raises(InvalidArgument, match="raised KeyError: 'no' when it was asked for its bound"):
        run_race(plan(Raising()))


# --- reports -------------------------------------------------------------------------------------


def test_growth_is_the_slope_of_least_squares() -> None:
    race = plan(Guess(), rounds=1_000, games=30, marks=7)
    marks = np.array(race.marks)

    def fit(medians: np.ndarray) -> OnlineStanding:
        (standing,) = make_result(race, [np.repeat(medians.round()[:, None], 30, axis=1)]).standings
        return standing

    assert fit(10 * np.sqrt(marks)).power == pytest.approx(0.5, abs=0.01)
    line = fit(20 + 50 * np.log(marks))
    assert line.log_slope == pytest.approx(50, abs=0.2)
    assert line.log_slope == pytest.approx(np.polyfit(np.log(marks), line.median.values, 1)[0])
    flat = fit(np.zeros(7))
    assert (flat.power, flat.log_slope) == (None, 0)
    assert rank(Guess(), [3] * 9).standings[0].log_slope is None


def test_text_says_what_is_known() -> None:
    report = rank(TinySoa(beta=0.1, at_most=3), [5] * 2 + [3] * 98).summary()
    assert "3 (β = 0.1)" in report
    assert "not refuted: 2 of 100 games exceed it, up to 15 may" in report
    assert "A bound that is not refuted is not thereby proved." in report
    report = rank(TinySoa(), [5] * 100).summary()
    assert "no: 100 games exceed it" in report
    assert "not thereby proved" not in report
    assert "too few marks above 0" in report
    short = rank(Guess(), [1, 2, 3]).summary()
    assert "2 (? to ?)" in short
    expected = rank(TinySoa(beta=None, at_most=10.0), [3] * 100).summary()
    assert "10 (on the expectation)" in expected
    assert "not refuted: the mean is at least 2.633" in expected


def test_text_names_learners_that_were_wrong_in_every_round() -> None:
    report = " ".join(rank(TinySoa(), [100] * 3).summary().split())
    assert "Wrong in all 100 rounds of every game, and so without any sign of learning: l0." in report
    assert "without any sign of learning" not in rank(TinySoa(), [100, 100, 99]).summary()


# --- interruptions ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_an_interrupted_race_has_the_figures_of_equally_many_games(jobs: int) -> None:
    race = plan(TinySoa(), TinySoa(), games=256)
    assert race.block == 64
    result = run_race(race, jobs=jobs, watch=interrupt_at(5 * 64))  # three blocks of one, two of the other
    assert result.interrupted
    whole = run_race(attrs.evolve(race, games=128))
    assert result.to_dict() == whole.to_dict() | {"interrupted": True}
    assert result.summary().endswith("\n\nInterrupted: figures rest on the first 128 of 256 games.")
    assert "Interrupted" not in whole.summary()


def test_an_interrupted_race_names_learners_without_games() -> None:
    result = run_race(plan(TinySoa(), TinySoa(), games=256), watch=interrupt_at(64))
    assert [standing.label for standing in result.standings] == ["l0"]
    assert result.summary().endswith("the first 64 of 256 games. No games of l1 were finished.")


def test_a_race_interrupted_before_its_first_block_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Race, "play_block", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_race(plan(TinySoa()))

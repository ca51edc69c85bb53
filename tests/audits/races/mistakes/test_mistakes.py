"""Races: what is played, the figures, the bounds, and what is refused before a game."""

from __future__ import annotations

import json
from typing import Any

import attrs
import numpy as np
import pytest
from audits.races.mistakes import Race, RaceResult, race_of, run, spread_marks
from audits.races.mistakes.games import play_block
from audits.races.mistakes.plan import _MOST_COUNTS
from audits.races.mistakes.result import result_of
from audits.races.mistakes.text import _slope, as_json, text
from scipy import stats
from support.halfspace_players import PlainWinnow
from support.race_players import Drawn, Gossip, Guess, TinySoa

from adversaries.halfspaces.sparse_disjunction import SparseDisjunction
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
    Oblivious,
    ProtocolViolation,
    Realizable,
    Unsupported,
    play,
)
from arena.concepts import Halfspaces, Points, Thresholds


def planned(*learners: Learner, against: Adversary | None = None, **options: Any) -> Race:
    players = [(f"l{i}", learner, against or Drawn()) for i, learner in enumerate(learners)]
    return race_of(players, **{"rounds": 60, "games": 100, "marks": 6, **options})


def judged(learner: Learner, figures: list[int], **options: Any) -> RaceResult:
    """The result of games whose figures at the only mark, T = 100, are these."""
    race = planned(learner, rounds=100, games=len(figures), marks=1, **options)
    return result_of(race, [np.array([figures])])


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


def test_players_are_told_of_the_race() -> None:
    race = planned(TinySoa(concepts=Thresholds(range(8))), Guess(), rounds=77)
    first, second = race.entrants
    assert (first.learner.rounds, first.adversary.rounds, first.referee.T) == (77, 77, 77)  # type: ignore[attr-defined]
    assert first.adversary.learner == first.learner  # type: ignore[attr-defined]
    assert second.adversary.learner == Guess()  # type: ignore[attr-defined]
    assert isinstance(first.referee, Realizable)
    assert first.referee.concepts == Thresholds(range(8))
    assert (race.of, race.marks[-1]) == (MISTAKES, 77)


def test_games_are_agnostic_where_the_adversary_is_not_realizable_or_on_demand() -> None:
    for race in (planned(TinySoa(), agnostic=True), planned(TinySoa(), against=Drawn(noise=0.1))):
        assert race.of == REGRET
        assert not isinstance(race.entrants[0].referee, Realizable)
        assert race.scorebook(race.entrants[0]).concepts == TinySoa().concepts


def test_the_protocol_is_the_adversarys_or_the_first_that_all_play() -> None:
    assert planned(TinySoa()).entrants[0].referee.name == "Adaptive"
    committed = planned(TinySoa(), against=Drawn(protocol="Oblivious")).entrants[0]
    assert committed.referee.name == "Oblivious"
    other = planned(Guess(), against=Drawn(protocol="Oblivious")).entrants[0]
    assert (other.referee.name, other.adversary.protocol) == ("Adaptive", "Adaptive")  # type: ignore[attr-defined]
    wanted = planned(TinySoa(), protocol="Oblivious").entrants[0]
    assert wanted.adversary.protocol == "Oblivious"  # type: ignore[attr-defined]
    with pytest.raises(
        InvalidArgument, match=r"the players do not all play Oblivious\. .*guess plays Adaptive"
    ):
        planned(TinySoa(), Guess(), protocol="Oblivious")
    with pytest.raises(InvalidArgument, match="a race is under Adaptive or Oblivious, got 'Figure1'"):
        planned(TinySoa(), protocol="Figure1")


def test_tables_are_small_where_a_game_has_many_counts() -> None:
    assert planned(TinySoa(), games=100_000).block == 1_024
    assert planned(TinySoa(), games=100).block == 64
    large = TinySoa(concepts=Thresholds(range(2**20)))
    assert planned(large, games=1_000).block == 250
    assert planned(large, games=1_000, agnostic=True).block == _MOST_COUNTS // 2**20


@pytest.mark.parametrize(("d", "block"), [(64, 1_024), (1_024, 1_024), (16_384, 128), (2**22, 1)])
def test_tables_are_small_where_a_point_has_many_coordinates(d: int, block: int) -> None:
    learner = PlainWinnow(Halfspaces(d, 0.2))
    assert planned(learner, against=SparseDisjunction(), games=10_000).block == block


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "an online game has T ≥ 1 rounds, got 0"),
        ({"games": 0}, "games must be a whole number of at least 1, got 0"),
        ({"marks": 0}, "the number of marks must be a whole number of at least 1, got 0"),
        ({"confidence": 1.0}, "a confidence lies strictly between 0 and 1, got 1.0"),
        ({"seed": -1}, "a seed is a whole number of at least 0, got -1"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        planned(TinySoa(), **options)
    assert str(refused.value) == message


def test_bad_races_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="a race has at least one learner"):
        race_of([], rounds=3, games=1)
    with pytest.raises(InvalidArgument, match="two learners of a race have the same label, got 'a'"):
        race_of([("a", TinySoa(), Drawn()), ("a", Guess(), Drawn())], rounds=3, games=1)
    with pytest.raises(Unsupported, match="Choose a smaller domain"):
        planned(TinySoa(concepts=Points(range(8_000))))
    with pytest.raises(Unsupported, match=r"Thresholds\(\) has no finite domain"):
        planned(Guess(concepts=Thresholds()), agnostic=True)
    race = planned(TinySoa())
    with pytest.raises(InvalidArgument, match="the last mark is the last round, 60"):
        attrs.evolve(race, marks=(1, 2))
    with pytest.raises(InvalidArgument, match="mistakes are counted in realizable games"):
        attrs.evolve(race, entrants=(attrs.evolve(race.entrants[0], referee=Oblivious(60)),))
    with pytest.raises(InvalidArgument, match="jobs must be at least 1, got 0"):
        run(race, jobs=0)


# --- the games ----------------------------------------------------------------------------------------


def test_figures_are_those_of_the_games() -> None:
    race = planned(TinySoa(), Guess(), games=90)
    result = run(race)
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
        assert one.high.values[-1] == np.sort(mistakes)[85]


def test_regret_is_against_the_best_concept() -> None:
    race = planned(Guess(), against=Drawn(noise=0.2), rounds=200)
    regret = play_block(race, (0, 0))
    assert regret.shape == (6, 64)
    # A coin errs 100 times, the best threshold about 40 times.
    assert abs(regret[-1].mean() - 60) < 10
    assert (play_block(planned(Guess(), rounds=200), (0, 0))[-1] > 60).all()


def test_figures_depend_on_neither_processes_nor_who_runs_behind() -> None:
    watched: list[int] = []
    alone = run(planned(TinySoa(), games=130), watch=watched.append).as_json()
    assert watched == [64, 128, 130]
    race = planned(TinySoa(), Guess(), games=130)
    one, two = run(race), run(race, jobs=2)
    assert as_json(one) == as_json(two)
    assert one.as_json()["learners"][0]["mean"] == alone["learners"][0]["mean"]
    other = run(planned(TinySoa(), games=130, seed=1)).as_json()
    assert other["learners"][0]["mean"] != alone["learners"][0]["mean"]


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


def test_adversaries_in_game_style_race_too() -> None:
    one = run(planned(TinySoa(), against=Alone(), games=20)).standings[0]
    assert one.held is not None
    assert not one.held.broken
    assert one.worst[-1] >= 1


def test_an_adversary_that_lies_is_found_out_before_or_in_the_games() -> None:
    with pytest.raises(ProtocolViolation, match="in a realizable game some concept of"):
        run(planned(TinySoa(), against=Drawn(noise=0.1, lies=True)))
    with pytest.raises(NotConforming, match="a game's moves depend on the replies of that game alone"):
        run(planned(Guess(), against=Gossip(), rounds=500))


# --- bounds -------------------------------------------------------------------------------------------


def test_a_bound_without_beta_must_be_kept_by_every_game() -> None:
    kept, broken = judged(TinySoa(), [4] * 50), judged(TinySoa(), [4] * 49 + [5])
    assert (kept.broken, broken.broken) == (False, True)
    held = broken.standings[0].held
    assert held is not None
    assert (held.exceeding, held.allowed) == (1, 0)
    assert not judged(TinySoa(at_most=4 - 1e-12), [4] * 50).broken  # a bound is a float


def test_a_bound_with_beta_is_broken_by_too_many_games_only() -> None:
    learner = TinySoa(beta=0.1, at_most=3)
    most = int(stats.binom.isf(0.05, 200, 0.1))
    for many, broken in ((0, False), (most, False), (most + 1, True)):
        result = judged(learner, [5] * many + [3] * (200 - many))
        held = result.standings[0].held
        assert held is not None
        assert (held.exceeding, held.allowed, held.broken) == (many, most, broken)


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("games", [1, 30, 1_000])
@pytest.mark.parametrize("learners", [1, 3])
def test_a_true_bound_is_refuted_no_more_often_than_said(beta: float, games: int, learners: int) -> None:
    race = planned(*[TinySoa(beta=beta, at_most=3)] * learners, rounds=10, games=games, marks=1)
    result = result_of(race, [np.zeros((1, games), int)] * learners)
    chances = []
    for one in result.standings:
        assert one.held is not None
        assert one.held.allowed is not None
        chances.append(stats.binom.sf(one.held.allowed, games, beta))
    assert sum(chances) <= 0.05


def test_a_bound_on_the_expectation_is_refuted_by_a_mean_that_is_far_above_it() -> None:
    learner = TinySoa(beta=None, at_most=10.0)
    share = np.sqrt(np.log(1 / 0.05) / (2 * 1_000))  # of the games, which may be as low as can be
    for mistakes in (9, 10, 11):
        held = judged(learner, [mistakes] * 1_000).standings[0].held
        assert held is not None
        assert held.mean_lower == pytest.approx(mistakes * (1 - share))
        assert held.broken == (mistakes * (1 - share) > 10)
    assert judged(learner, [11] * 1_000).broken
    other = judged(learner, [5] * 1_000, agnostic=True).standings[0].held
    assert other is not None
    assert other.unsaid
    regret = judged(attrs.evolve(learner, of=REGRET), [5] * 1_000, agnostic=True).standings[0].held
    assert regret is not None
    assert regret.mean_lower == pytest.approx(5 * (1 - share) - 100 * share)


def test_a_bound_before_oblivious_adversaries_says_nothing_of_others() -> None:
    learner = TinySoa(oblivious=True)
    adaptive = judged(learner, [50] * 10, protocol="Adaptive")
    assert not adaptive.broken
    assert np.isinf(adaptive.standings[0].bounds).all()
    assert "it is proved before oblivious adversaries" in text(adaptive)
    assert judged(learner, [50] * 10, protocol="Oblivious").broken


def test_a_bound_on_mistakes_says_nothing_of_regret_but_not_the_other_way_round() -> None:
    result = judged(TinySoa(), [50] * 10, agnostic=True)
    held = result.standings[0].held
    assert held is not None
    assert held.unsaid
    assert not result.broken
    assert np.isinf(result.standings[0].bounds).all()
    assert "it is on mistakes in realizable games" in text(result)
    assert judged(TinySoa(of=REGRET), [50] * 10).broken


def test_a_bound_that_is_none_is_refused_before_the_games() -> None:
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
        run(planned(Odd()))
    with pytest.raises(
        InvalidArgument, match="raising raised KeyError: 'no' when it was asked for its bound"
    ):
        run(planned(Raising()))


# --- what it says -------------------------------------------------------------------------------------


def test_growth_is_the_slope_of_least_squares() -> None:
    race = planned(Guess(), rounds=1_000, games=30, marks=7)
    marks = np.array(race.marks)
    root = (
        result_of(race, [np.repeat((10 * np.sqrt(marks)).round()[:, None], 30, axis=1)]).standings[0].growth
    )
    assert root.power == pytest.approx(0.5, abs=0.01)
    line = result_of(race, [np.repeat((20 + 50 * np.log(marks)).round()[:, None], 30, axis=1)]).standings[0]
    assert line.growth.log == pytest.approx(50, abs=0.2)
    assert line.growth.log == pytest.approx(np.polyfit(np.log(marks), line.median.values, 1)[0])
    flat = result_of(race, [np.zeros((7, 30), int)]).standings[0].growth
    assert (flat.power, flat.log) == (None, 0)
    assert judged(Guess(), [3] * 9).standings[0].growth.log is None


def test_json_has_every_figure() -> None:
    found = json.loads(as_json(run(planned(TinySoa(), Guess()))))
    assert set(found) == {
        "of",
        "adversary",
        "protocol",
        "realizable",
        "rounds",
        "games",
        "marks",
        "confidence",
        "seed",
        "broken",
        "learners",
    }
    for learner in found["learners"]:
        for figures in (learner["mean"], learner["worst"], learner["bounds"]):
            assert len(figures) == len(found["marks"])
        for quantile in (learner["median"], learner["quantile_95"]):
            assert all(len(quantile[name]) == len(found["marks"]) for name in ("values", "lower", "upper"))
    first, second = found["learners"]
    assert first["bound"]["bound"] == {
        "at_most": 4,
        "of": "mistakes",
        "beta": 0.0,
        "theorem": "Littlestone 1988",
        "oblivious": False,
        "promised": True,
    }
    assert (second["bound"], second["bounds"][0]) == (None, None)
    assert first["settings"]["rounds"] == "60"


def test_text_says_what_is_known() -> None:
    said = text(judged(TinySoa(beta=0.1, at_most=3), [5] * 2 + [3] * 98))
    assert "3 (β = 0.1)" in said
    assert "not refuted: 2 of 100 games exceed it, up to 15 may" in said
    assert "That a bound is not refuted is no proof of it." in said
    said = text(judged(TinySoa(), [5] * 100))
    assert "no: 100 games exceed it" in said
    assert "no proof" not in said
    assert "too few marks above 0" in said
    few = text(judged(Guess(), [1, 2, 3]))
    assert "2 (? to ?)" in few
    assert "? stands where so few games give no limit" in few
    expected = text(judged(TinySoa(beta=None, at_most=10.0), [3] * 100))
    assert "10 (on the expectation)" in expected
    assert "not refuted: the mean is at least 2.633" in expected


def test_text_names_learners_that_erred_in_every_round() -> None:
    said = " ".join(text(judged(TinySoa(), [100] * 3)).split())
    assert "Erred in all 100 rounds of every game, so had not begun to learn: l0." in said
    assert "had not begun to learn" not in text(judged(TinySoa(), [100, 100, 99]))


def test_text_shows_no_last_bits_of_a_slope_of_nothing() -> None:
    assert (_slope(1.07e-16), _slope(-1.07e-16), _slope(1.07e-3)) == ("0", "0", "0.00107")

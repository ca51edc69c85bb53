"""The mechanisms on which black-box auditors are compared, and the limit that none of them can pass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from arena import Release
from audits.distinguishers.likelihood_ratio import build_likelihood_ratio
from benchmarks.anchors.peers import dp_sniper, information_limit, side_by_side
from benchmarks.anchors.peers.information_limit import LOG_RATIOS, find_laws, zoo_players
from benchmarks.anchors.peers.sniper_mechanisms import (
    CASES,
    DOMAINS,
    geometric_weights,
    hash_short_text,
    list_bloom_bits,
)

GAMES = 50_000
FAR = 5.0  # standard deviations; some hundred comparisons


def test_the_limit_of_randomised_response_is_that_of_its_only_event() -> None:
    limit = information_limit.information_limit(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 1_000, 0.98)
    low, high = (binomtest(k, 1_000).proportion_ci(0.98, "exact") for k in (750, 250))
    assert limit == pytest.approx(math.log(low.low / high.high))
    assert limit < math.log(3)


def test_the_limit_of_worlds_that_share_no_outcome_depends_on_games_alone() -> None:
    tail = 0.05 ** (1 / 100)  # all of 100 games, or none, at half of an error of 0.1
    limit = information_limit.information_limit(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 100, 0.9)
    assert limit == pytest.approx(math.log(tail / (1 - tail)))


def test_the_best_event_becomes_rarer_as_games_grow() -> None:
    p0, p1 = np.array([0.4, 0.599, 0.001]), np.array([0.6, 0.39, 0.01])
    common, rare = math.log(0.6 / 0.4), math.log(0.01 / 0.001)
    few, many = (information_limit.information_limit(p0, p1, games, 0.9) for games in (500, 10**7))
    assert 0.3 * common < few < common < 0.97 * rare < many < rare
    assert information_limit.information_limit(p0, p0, 10**6, 0.9) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOG_RATIOS)
def test_log_ratios_are_those_of_the_releases(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(3)
    for world, data in enumerate(case.worlds):
        ratios = LOG_RATIOS[name](case, case.mechanism(data, 2 * GAMES, rng)) * (1 - 2 * world)
        for factor, right in ((1.0, True), (3.0, False), (-1.0, False)):
            weights = np.exp(factor * ratios)  # their mean is the total probability of the other world
            assert (abs(weights.mean() - 1) < FAR * weights.std() / math.sqrt(len(weights))) == right


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.learner])
def test_functions_release_what_the_learners_of_the_zoo_do(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(4)
    ratio = build_likelihood_ratio(*zoo_players(case), Release())
    laws = find_laws(name)
    with np.errstate(divide="ignore"):
        losses = np.log(laws[1]) - np.log(laws[0])
    cut = np.median(losses)
    for data, law in zip(case.worlds, laws, strict=True):
        scores = ratio(case.mechanism(data, GAMES, rng))
        observed = np.mean(scores.levels[scores.of_game] > cut + 1e-6)
        check_frequency(observed, law[losses > cut + 1e-6].sum())


def test_other_finite_laws_are_those_of_the_functions() -> None:
    rng = np.random.default_rng(5)
    for data in CASES["TruncatedGeometric"].worlds:
        weights = geometric_weights(int(data[0]))
        values = CASES["TruncatedGeometric"].mechanism(data, GAMES, rng)
        for value, weight in enumerate(weights):
            check_frequency(np.mean(values == value), weight / weights.sum())
    different = [0, 11, 18, 3, 10, 13]
    for name in ("RAPPOR", "OneTimeRAPPOR"):
        for data, law in zip(CASES[name].worlds, find_laws(name), strict=True):
            bits = CASES[name].mechanism(data, GAMES, rng)[:, different]
            agreeing = (bits == [1, 1, 1, 0, 0, 0]).sum(axis=1)
            for count, probability in enumerate(law):
                check_frequency(np.mean(agreeing == count), probability)


def test_bloom_filters_use_murmur3() -> None:
    assert hash_short_text("foo", 0) == -156908512  # as mmh3 documents
    assert list_bloom_bits(-6) == [1, 2, 4, 16]


def check_frequency(observed: float, probability: float) -> None:
    assert abs(observed - probability) <= FAR * math.sqrt(probability * (1 - probability) / GAMES) + 1e-12


def test_every_mechanism_has_settings_for_dp_sniper_and_a_law() -> None:
    assert list(dp_sniper.SETTINGS) == list(CASES) == list(DOMAINS)
    unknown = [name for name, case in CASES.items() if not case.learner and name not in LOG_RATIOS]
    assert unknown == ["TruncatedGeometric", "RAPPOR", "OneTimeRAPPOR"]


def test_a_row_says_what_was_not_reached() -> None:
    row = {
        "mechanism": "SVT1",
        "bound": 0.1,
        "seconds": 4.0,
        "seconds_both": 8.0,
        "certified": [0.1, 0.2, 0.3],
    }
    row |= {"limit": 0.5, "at_limit": [0.4, 0.45, 0.5], "likelihood": None}
    slow = side_by_side.format_row({**row, "black_box": [math.inf, 1.0, math.inf]})
    assert slow == ["SVT1", "0.1000", "4.0", "8.0", "not reached", "–", "–", "–", "0.2000", "0.5000", "0.90"]
    assert side_by_side.format_row({**row, "black_box": [1.0, 2.0, 8.0]})[4:6] == ["2.00", "2.0"]


@pytest.mark.thorough
def test_an_audit_is_timed_until_it_certifies_the_bound() -> None:
    case = CASES["SVT5"]
    assert 0 < side_by_side.time_until(side_by_side.audit_function, case, 1.0, 0, most=60) < 60
    assert side_by_side.time_until(side_by_side.audit_function, case, 20.0, 0, most=0.2) == math.inf
    assert side_by_side.certify_within(case, 0.5, 0) > 1


@pytest.mark.thorough
def test_a_search_that_is_given_no_data_sets_finds_a_pair() -> None:
    found = side_by_side.search_pairs("NoisyHist2", {"bound": 2.0, "seconds": 2.5}, 0)
    assert found["refuted"]
    assert np.abs(np.subtract(*found["pair"])).sum() == pytest.approx(1)
    assert found["certified"] > 2
    row = {"mechanism": "NoisyHist2", "theirs": {"tried": 4, "bound": 2.0, "seconds": 2.5}}
    ours = [{**found, "seconds": 1.25}, {"refuted": False, "seconds": 9.0, "certified": 0.0}]
    cells = side_by_side.format_pairs({**row, "ours": [ours[0], ours[0], ours[1]]})
    assert cells[:6] == ["NoisyHist2", "4", "2.0000", "2.5", "1.25", "2.0"]
    assert side_by_side.format_pairs({**row, "ours": [ours[1]]})[4:] == ["not reached", "–", "0.0000"]


def test_peers_are_left_out_without_a_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DP_SNIPER", raising=False)
    side_by_side.main([], standalone_mode=False)
    assert "dp-sniper is left out: name a checkout of it, DP_SNIPER=path" in capsys.readouterr().out

"""function: the data it passes on, the source of random numbers, refusals, and audits of it."""

from __future__ import annotations

import pickle
import random
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from support.foreign_mechanisms import (
    laplace,
    laplaces,
    play_releases,
    with_global_generators,
    with_system_generator,
)
from support.simple_players import Scripted
from support.statistical import statistical

import audits
from adversaries.release.point_swap import CountSwap
from arena import Moves, Release, Sample, Train, play
from arena.errors import InvalidArgument, NotConforming, PlayerError, Unsupported
from arena.testing import check_learner
from arena.testing.independence import check_common_random_numbers
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.function import Function

SAMPLE = Sample([0.5, 2.0], [1, 0], [2, 1])


def scale_sum(data, scale=2.0):  # type: ignore[no-untyped-def]
    return scale * np.sum(data)


# --- the data that it receives ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("receives", "data"),
    [("ones", 2), ("labels", [1, 1, 0]), ("sum", 3.0), ("points", [0.5, 0.5, 2.0])],
)
def test_parts_of_the_sample(receives: str, data: Any) -> None:
    received: list[Any] = []

    def listen(part: Any, rng: object) -> float:
        received.append(part.tolist() if isinstance(part, np.ndarray) else part)
        return 0.0

    play_releases(Function(function=listen, receives=receives), SAMPLE, games=1)
    assert received[-1] == data  # after the data of a trial
    assert type(received[-1]) is type(data)


def test_points_stay_within_the_domain() -> None:
    bounded = Function(function=scale_sum, receives="points", domain=(0.0, 1.0))
    assert bounded.some_points.tolist() == [0.0, 0.5, 1.0]
    play_releases(bounded, Sample([0.0, 1.0], [0, 1]), games=1)
    with pytest.raises(InvalidArgument, match="must lie in its domain, from 0 to 1"):
        play_releases(bounded, SAMPLE, games=1)
    wide = Function(function=scale_sum, receives="points", domain=(-4.0, 4.0))
    assert wide.some_points.tolist() == [-4.0, 0.0, 4.0]


@pytest.mark.parametrize("domain", [(1.0, 0.0), (0.0, np.inf), (0.0,), "0,1", 3])
def test_a_domain_is_two_numbers(domain: Any) -> None:
    with pytest.raises(InvalidArgument, match="domain must be two finite numbers, the smaller one first"):
        Function(function=scale_sum, domain=domain)


def test_labels_do_not_overflow() -> None:
    releases = play_releases(Function(function=lambda labels, rng: 300 * labels), SAMPLE)
    assert releases.tolist() == [[300, 300, 0]] * 3


def test_points_and_labels() -> None:
    def product(data: tuple[np.ndarray, np.ndarray], rng: object) -> float:
        return float(data[0] @ data[1])

    assert play_releases(Function(function=product, receives="both"), SAMPLE).tolist() == [1.0, 1.0, 1.0]


def test_points_that_are_vectors() -> None:
    sample = Sample([[1.0, 2.0], [3.0, 4.0]], [0, 1], [1, 2])
    learner = Function(function=lambda data, rng: data, receives="sum", dimension=2)
    assert play_releases(learner, sample, games=2).tolist() == [[7.0, 10.0], [7.0, 10.0]]


def test_a_function_may_overwrite_its_data() -> None:
    def overwrite(data: np.ndarray, rng: object) -> float:
        data += 1
        return data.sum()

    assert play_releases(Function(function=overwrite, receives="labels"), SAMPLE).tolist() == [5, 5, 5]


def test_releases_keep_the_order_of_games() -> None:
    none = Sample([0.0], [0], [9])
    repeat = lambda ones, games, rng: np.full((games, 2), ones)  # noqa: E731
    learner = Function(function=repeat, receives="ones", vectorised=True)
    releases: list[np.ndarray] = []

    def moves(games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train([none.replace_one(0, 0.0, int(game % 3 == 0)) for game in range(games)])
        releases.append(reply.value)
        return None

    play(learner, Scripted(moves), Release(), games=7, seed=1)
    assert releases[0].tolist() == [[int(game % 3 == 0)] * 2 for game in range(7)]


# --- random numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "settings", "coins"),
    [
        (laplace, {}, "given"),
        (laplaces, {"vectorised": True}, "given"),
        (with_system_generator, {}, "own"),
        (with_global_generators, {"coins": "global"}, "global"),
        (scale_sum, {}, "own"),  # a second argument with a default is not an rng
        (lambda data, rng=None: 0, {}, "given"),
        (lambda data, games: 0, {"vectorised": True}, "own"),
        (max, {}, "own"),
    ],
)
def test_the_source_of_random_numbers(function: Any, settings: dict[str, Any], coins: str) -> None:
    learner = Function(function=function, **settings)
    assert learner.effective_coins == coins
    assert learner.own_coins is (coins == "own")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        Function(function=laplace, epsilon=1.0),
        Function(function=laplaces, receives="ones", vectorised=True),
        Function(function=with_global_generators, coins="global"),
    ],
    ids=["given", "vectorised", "global"],
)
def test_functions_conform(learner: Function) -> None:
    check_learner(learner, games=1_000)


def test_every_game_has_a_generator_of_its_own() -> None:
    """The same in every batch with this seed; no other game has it, its seed or its children."""
    kept: list[np.random.Generator] = []
    learner = Function(function=lambda data, rng: kept.append(rng) or rng.random())  # type: ignore[func-returns-value]
    assert not learner.own_coins
    kept.clear()  # those of a trial
    releases = [play_releases(learner, SAMPLE, games=20).tolist() for _ in range(2)]
    assert releases[0] == releases[1]
    assert len({id(rng) for rng in kept}) == 40
    children = [rng.spawn(1)[0].random() for rng in kept]
    seeds = [int(rng.bit_generator.seed_seq.generate_state(1)[0]) for rng in kept]
    copies = [pickle.loads(pickle.dumps(rng)).random() for rng in kept]
    for drawn in (releases[0] * 2, children, seeds, copies, [rng.random() for rng in kept]):
        assert drawn[:20] == drawn[20:]
        assert len(set(drawn)) == 20
    assert copies[:20] != releases[0]


def test_every_game_has_global_generators_of_its_own() -> None:
    """Whatever games before it drew, and whether they seeded them; both generators draw other numbers."""

    def draw(data: np.ndarray) -> tuple[float, float]:
        first = random.random(), np.random.random()  # noqa: NPY002
        if data[0]:
            np.random.seed(0)  # noqa: NPY002
            random.seed(random.getrandbits(1))
        return first

    learner = Function(function=draw, coins="global")
    assert learner.common_random_numbers
    check_common_random_numbers(learner, CountSwap(), Release())
    numbers = play_releases(learner, SAMPLE, games=20).ravel().tolist()
    numbers += play_releases(learner, Sample([0.0], [0]), games=20).ravel().tolist()
    assert numbers[:40] == numbers[40:]
    assert len(set(numbers)) == 40


def test_global_generators_are_restored() -> None:
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    first, second = (
        play_releases(Function(function=with_global_generators, coins="global"), SAMPLE) for _ in range(2)
    )
    assert first.tolist() == second.tolist()
    assert len(set(first.tolist())) == 3
    assert before == (random.getstate(), np.random.get_state()[1].tobytes())  # noqa: NPY002


def test_threads_do_not_share_the_generators_with_global_generators() -> None:
    def draw_twice(data: Any) -> float:
        first = np.random.random()  # noqa: NPY002
        time.sleep(1e-4)  # for another thread to seed, if it could
        return first + random.random()

    learner = Function(function=draw_twice, coins="global")
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: play_releases(learner, SAMPLE, games=20).tolist(), range(8)))
    assert results == [results[0]] * 8


def test_a_function_that_exits_is_an_error() -> None:
    """Otherwise the process would end with the exit status of a run that refutes nothing."""
    with pytest.raises(PlayerError, match="learner <lambda> raised SystemExit: 0 in round 1"):
        play_releases(Function(function=lambda data, rng: sys.exit(0)), SAMPLE)


# --- claims and refusals ----------------------------------------------------------------------------------


def test_the_claim_is_the_users() -> None:
    assert Function(function=laplace).claim.empty
    claim = Function(function=laplace, epsilon=0.5, delta=1e-6).claim
    assert (claim.epsilon, claim.delta) == (0.5, 1e-6)


class FittedModel:
    """A model whose text leaves out what it learned."""

    def __init__(self) -> None:
        self.coef_ = [1.0]

    def __repr__(self) -> str:
        return "FittedModel()"


@pytest.mark.parametrize(
    ("function", "vectorised", "message"),
    [
        (lambda data, rng: object(), False, "made of numbers, text and None, got 'object'.* vars"),
        (lambda data, rng: FittedModel(), False, r"FittedModel'.* \(model.coef_\)"),
        (lambda data, games, rng: "one", True, "one value for each game, got 'str for 3 games'"),
        (lambda data, games, rng: np.zeros(games + 1), True, r"each game, got 'shape \(4,\) for 3 games'"),
    ],
)
def test_refused_values(function: Any, vectorised: bool, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        play_releases(Function(function=function, vectorised=vectorised), SAMPLE)


# --- audits -----------------------------------------------------------------------------------------------


def plan(learner: Function, **settings: Any) -> Plan:
    usual: dict[str, Any] = {"epsilon": 0.5, "delta": 0, "games": 4_000, "seed": 3}
    return Plan(learner=learner, adversary=CountSwap(), referee=Release(), **usual | settings)


@pytest.mark.thorough
def test_figures_depend_on_the_seed_and_not_on_the_jobs(tmp_path: Path) -> None:
    audit = plan(Function(function=lambda labels, rng: np.sum(labels) + rng.laplace()))
    first = run(audit, ledger=tmp_path / "a.ledger")
    assert first.refuted
    again = run(audit, jobs=2)
    assert (again.epsilon_lower, again.clopper_pearson) == (first.epsilon_lower, first.clopper_pearson)
    assert run(audit, ledger=tmp_path / "a.ledger").played_now == 0


@pytest.mark.thorough
def test_another_function_of_that_name_is_another_plan(tmp_path: Path) -> None:
    def make_noisy_sum(scale: float) -> Function:
        return Function(function=lambda labels, rng: np.sum(labels) + scale * rng.laplace())

    run(plan(make_noisy_sum(1.0)), ledger=tmp_path / "a.ledger")
    with pytest.raises(
        InvalidArgument, match=r"holds another plan: learner\.function: .*lambda> [0-9a-f]{16}"
    ):
        run(plan(make_noisy_sum(1.5)), ledger=tmp_path / "a.ledger")


@pytest.mark.thorough
@statistical(rate=2e-7)
def test_own_random_numbers_are_audited_and_reported(tmp_path: Path) -> None:
    """No seed repeats these games, so the bound may be wrong no more often than the test may fail.

    It exceeds the privacy loss, which is 1, with probability at most 1e-7. It falls below half of that with
    probability far below 1e-7: over seeds its mean is 0.86 and its standard deviation 0.02.
    """
    audit = plan(Function(function=with_system_generator), games=10_000, confidence=1 - 1e-7)
    assert audit.describe()["own_coins"] is True
    assert "own_coins" not in plan(Function(function=laplace)).describe()
    verdict = run(audit, ledger=tmp_path / "a.ledger", jobs=2)
    assert 0.5 < verdict.epsilon_lower <= 1
    assert run(audit, ledger=tmp_path / "a.ledger").epsilon_lower == verdict.epsilon_lower
    assert "3, but the learner draws its own random numbers" in verdict.summary()


def count_calls(release: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """The function, and the number of its calls in this process."""
    calls = [0]

    @wraps(release)
    def counted(*arguments: Any) -> Any:
        calls[0] += 1
        return release(*arguments)

    return counted, calls


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("release", "settings", "games", "most"),
    [
        (lambda labels, rng: np.sum(labels) + rng.laplace(), {}, 20_000, 1.11),
        (lambda labels, rng: np.sum(labels) + rng.laplace(), {}, 4_000, 1.13),
        (lambda labels, rng: np.sum(labels) + rng.laplace(), {}, 500, 1.3),
        (lambda labels, rng: float(rng.random() < 0.5), {}, 4_000, 1.13),
        (with_global_generators, {"coins": "global"}, 4_000, 1.13),
        (with_system_generator, {"coins": "own"}, 4_000, 1.05),
    ],
)
def test_nearly_all_calls_are_games_that_count(
    release: Any, settings: dict[str, Any], games: int, most: float
) -> None:
    function, calls = count_calls(release)
    # The loss is 1, so that chance refutes no claim of 1.5, after which another relation would be played.
    verdict = audits.audit(function, "count-swap", epsilon=1.5, games=games, settings=settings)
    assert not verdict.refuted
    assert 2 * games <= calls[0] <= most * 2 * games


def test_an_audit_until_the_claim_is_refuted_calls_little_more() -> None:
    function, calls = count_calls(lambda labels, rng: np.sum(labels) + 0.5 * rng.laplace())
    given = {"neighbours": "replace one", "until_refuted": True}
    verdict = audits.audit(function, "count-swap", epsilon=1.0, **given)
    assert verdict.refuted
    assert calls[0] <= 1.1 * 2 * verdict.games + 260


# --- common random numbers ----------------------------------------------------------------------------------


def rejecting(ones: int, rng: np.random.Generator) -> float:
    """Draws more or fewer random numbers, depending on the data."""
    noise = rng.laplace()
    while noise < ones - 2:
        noise = rng.laplace()
    return ones + noise


def misaligned(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    return ones + rng.laplace(size=games * (1 + ones))[:: 1 + ones]


def shared(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    return ones + rng.laplace(size=games)


def test_a_game_that_is_given_a_generator_draws_the_same_whatever_others_draw() -> None:
    learner = Function(function=rejecting, receives="ones")
    assert learner.common_random_numbers
    check_common_random_numbers(learner, CountSwap(), Release())


def test_an_aligned_function_shares_random_numbers_between_samples() -> None:
    settings: dict[str, Any] = {"receives": "ones", "vectorised": True}
    assert not Function(function=shared, **settings).common_random_numbers
    aligned = Function(function=shared, **settings).with_common_random_numbers
    assert aligned is not None
    assert aligned.common_random_numbers
    assert aligned.with_common_random_numbers is None
    check_common_random_numbers(aligned, CountSwap(), Release())
    with pytest.raises(NotConforming, match="an aligned function draws the same random numbers"):
        check_common_random_numbers(attrs.evolve(aligned, function=misaligned), CountSwap(), Release())


def seeded(ones: int, games: int) -> np.ndarray:
    return ones + np.random.laplace(size=games)  # noqa: NPY002 - as libraries do


def unseeded(ones: int, games: int) -> np.ndarray:
    return ones + np.random.default_rng().laplace(size=games)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("function", "settings", "found"),
    [
        (shared, {}, True),
        (misaligned, {}, False),
        (seeded, {"coins": "global"}, True),
        (unseeded, {}, False),
        (shared, {"aligned": False}, False),
    ],
)
def test_audits_find_out_whether_a_function_is_aligned(
    function: Any, settings: dict[str, Any], found: bool
) -> None:
    verdict = audits.audit(
        function,
        epsilon=0.5,
        games=2_000,
        settings={"receives": "ones", "vectorised": True, **settings},
        against="count-swap",
    )
    assert verdict.plan is not None
    assert verdict.plan.learner.common_random_numbers == found


def test_only_what_can_be_aligned_may_be() -> None:
    with pytest.raises(InvalidArgument, match="only a vectorised function whose random numbers are seeded"):
        Function(function=laplace, aligned=True)
    assert not Function(function=with_system_generator).common_random_numbers


@pytest.mark.thorough
def test_a_learner_without_privacy_falls_after_fewer_games_with_common_random_numbers() -> None:
    def audit(**settings: Any) -> int:
        learner = Function(function=shared, receives="ones", vectorised=True, **settings)
        return run(plan(learner, seed=0, games=2_000, block=10, until_refuted=True)).games

    assert audit(aligned=True) < audit()


# --- what a trial shows -------------------------------------------------------------------------------------


def draw_globally(labels: np.ndarray) -> float:
    return float(labels.sum() + np.random.laplace() + random.random())  # noqa: NPY002


def draw_from_elsewhere(labels: np.ndarray) -> float:
    return float(labels.sum() + np.random.default_rng().laplace())


def draw_mixed(labels: np.ndarray) -> float:
    return float(np.random.laplace() + np.random.default_rng().laplace())  # noqa: NPY002


@pytest.mark.parametrize(
    ("function", "coins"), [(draw_globally, "global"), (draw_from_elsewhere, "own"), (draw_mixed, "global")]
)
def test_the_generators_of_the_process_are_recognised(function: Any, coins: str) -> None:
    before = random.getstate()
    learner = Function(function=function, epsilon=1.0)
    assert learner.effective_coins == coins
    assert random.getstate() == before
    played = [play_releases(learner, SAMPLE, games=4) for _ in range(2)]
    assert np.array_equal(*played) == (function is draw_globally)
    assert learner.own_coins == (function is not draw_globally)


class LeakWarning(UserWarning):
    """Says that bounds come from the data."""


def warn_of_a_leak(labels: np.ndarray) -> float:
    warnings.warn("bounds of the data", LeakWarning, stacklevel=1)
    return float(labels.sum())


def test_a_warning_of_a_leak_is_said_once() -> None:
    learner = Function(function=warn_of_a_leak, epsilon=1.0)
    assert learner.shortcomings == ("LeakWarning: bounds of the data",)
    play_releases(learner, SAMPLE, games=2)  # warnings are errors here

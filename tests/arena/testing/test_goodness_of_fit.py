"""The bets against declared probabilities are fair, and notice the deviation that a result states."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from mutants.wrong_laws import SCALE, gaussian_density
from scipy import stats
from support.statistical import statistical

from arena import Finite, Independent, Mixture, NotConforming, ValueLaw
from arena.testing.laws.goodness_of_fit import EventSums, Way, check_events, log_evidence
from arena.testing.laws.round_events import Predictions, RoundEvents
from arena.testing.laws.value_events import list_ratio_events, list_value_events
from learners.mechanisms.noise import laplace_density


@pytest.mark.parametrize(
    "chances",
    [[0.5], [0.001] * 60, [0.02] * 7, [0.3] * 60, [0.97] * 60, [0.0] * 5, [1.0] * 5, np.linspace(0, 1, 40)],
)
def test_bets_are_fair_whatever_the_declared_probabilities(chances: list[float]) -> None:
    of_counts = np.ones(1)
    for chance in chances:
        of_counts = np.convolve(of_counts, [1 - chance, chance])
    evidence = log_evidence(np.arange(len(chances) + 1), sum(chances), len(chances))
    assert (of_counts * np.exp(evidence))[of_counts > 0].sum() <= 1 + 1e-9


@pytest.mark.parametrize("probability", [0.5, 0.01, 0.9])
def test_the_stated_deviation_is_noticed_with_the_stated_power(probability: float) -> None:
    way = Way("events", events=500, games=20_000, hurdle=np.log(500 / 1e-9))
    counts = np.arange(20_001)
    refused = log_evidence(counts, 20_000 * probability, 20_000) >= np.log(500 / 1e-9)

    def power(factor: float) -> float:
        deviation = factor * way.visible_deviation(probability)
        return min(
            float(stats.binom.pmf(counts, 20_000, probability + sign * deviation)[refused].sum())
            for sign in (-1, 1)
            if 0 <= probability + sign * deviation <= 1
        )

    assert power(1.0) >= 0.9 - 1e-9
    assert power(0.97) < 0.9


def _vector(location: float) -> Independent:
    return Independent((laplace_density(location, SCALE), gaussian_density(location, SCALE)) * 2)


def _draw_vector(games: int, rng: np.random.Generator) -> np.ndarray:
    columns = [rng.laplace(scale=SCALE, size=games), rng.normal(scale=SCALE, size=games)]
    return np.stack([*columns, rng.laplace(scale=SCALE, size=games), rng.normal(scale=SCALE, size=games)], 1)


def _draw_mixture(games: int, rng: np.random.Generator) -> np.ndarray:
    return _draw_vector(games, rng) + 5.0 * (rng.random((games, 1)) < 0.3)


def _list_ratios(games: int, rng: np.random.Generator) -> Iterable[EventSums]:
    values = np.stack([_draw_vector(games, rng), 1 + _draw_vector(games, rng)])
    logs = np.array([[law.log_density(own) for own in values] for law in (_vector(0), _vector(1))])
    return list_ratio_events(logs, values)


def _play_rounds(games: int, rng: np.random.Generator) -> Iterable[EventSums]:
    """A second answer repeats the first with probability 0.7, and so on; a game halts at random."""
    outcomes, chances = np.full((games, 6), -1), np.zeros((games, 6, 2))
    live, one = np.ones(games, bool), np.full(games, 0.4)
    for t in range(6):
        chances[live, t] = np.stack([1 - one, one], axis=1)[live]
        outcomes[live, t] = (rng.random(games) < one)[live]
        one = np.where(outcomes[:, t] == 1, 0.7, 0.3)
        live &= rng.random(games) < 0.9
    events = RoundEvents(["0", "1"], 6)
    queries = rng.integers(2, size=(games, 6))
    events.update([Predictions(outcomes, chances, 0, queries)])
    return events.list_sums()


_ALL_BITS = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
_BITS = Finite(_ALL_BITS, np.prod(np.where(_ALL_BITS, [0.5, 0.3, 0.9], [0.5, 0.7, 0.1]), axis=1))


def _of_values(law: ValueLaw, draw: Callable[..., np.ndarray]) -> Callable[..., Iterable[EventSums]]:
    return lambda games, rng: list_value_events("learner", law, draw(games, rng))


@pytest.mark.thorough
@statistical(rate=1e-9)
@pytest.mark.parametrize(
    "list_events",
    [
        _of_values(Finite([0, 1, 2], [0.5, 0.3, 0.2]), lambda n, rng: rng.choice(3, n, p=[0.5, 0.3, 0.2])),
        _of_values(laplace_density(0.0, SCALE), lambda n, rng: rng.laplace(scale=SCALE, size=n)),
        _of_values(_BITS, lambda n, rng: (rng.random((n, 3)) < [0.5, 0.3, 0.9]).astype(float)),
        pytest.param(
            _of_values(
                Independent((Finite([0, 1], [0.5, 0.5]),) * 18), lambda n, rng: rng.integers(2, size=(n, 18))
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(_of_values(_vector(0.0), _draw_vector), marks=pytest.mark.slow),
        pytest.param(
            _of_values(Mixture([0.7, 0.3], [_vector(0.0), _vector(5.0)]), _draw_mixture),
            marks=pytest.mark.slow,
        ),
        _list_ratios,
        _play_rounds,
    ],
    ids=[
        "finite",
        "density",
        "vector of bits",
        "18 bits",
        "vector",
        "mixture",
        "likelihood ratios",
        "rounds",
    ],
)
def test_right_distributions_are_refused_at_most_at_the_rate(
    list_events: Callable[..., Iterable[EventSums]], rng: np.random.Generator
) -> None:
    refused = 0
    for _ in range(500):
        try:
            check_events("learner", "rule", list_events(300, rng), games=300, rate=0.2)
        except NotConforming:
            refused += 1
    assert refused <= stats.binom.isf(1e-9, 500, 0.2)

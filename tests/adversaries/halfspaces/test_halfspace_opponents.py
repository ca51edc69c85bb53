"""margin-adaptive, shrinking-margin before what was shown, first-swap, and update-swap before vectors."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.halfspaces import PlainWinnow, WinnowState
from support.statistical import check_mean, expect_rejection, statistical

from adversaries.halfspaces.base import balance_points
from adversaries.halfspaces.few_coordinates import (
    FirstSwap,
    MarginAdaptive,
    ShrinkingMargin,
    build_opposite_mistakes,
)
from adversaries.online.special_swap import UpdateSwap
from arena import (
    Adaptive,
    Adversary,
    Hypothesis,
    InvalidArgument,
    PrivacyUnit,
    Realizable,
    SpecialRound,
    Unsupported,
    play,
)
from arena.concepts import Halfspaces
from arena.testing import check_adversary
from learners.online.conservative import Soa

CLASS = Halfspaces(64, 0.2)
LEARNER = PlainWinnow(CLASS)


# --- points at which weights are at a loss ----------------------------------------------------------------


def slowly(masses: list[float], negative: float) -> list[float]:
    """What `balanced` does with a part of one game, one coordinate after the other, later ones first if they
    weigh the same."""
    z = [1.0] * len(masses)
    for i in sorted(range(len(masses)), key=lambda i: (-masses[i], -i)):
        taken = min(masses[i], max(0.0, negative))
        z[i] = 1 - 2 * taken / masses[i] if masses[i] else 1.0
        negative -= taken
    return z


@st.composite
def hypotheses(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    games, d = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.integers(0, 4, (games, d)) + rng.random((games, d)) * draw(st.sampled_from([0, 1]))
    weights[:, 0] += 0.1
    z, before = rng.uniform(-1, 1, (2, games, d))
    return weights / weights.sum(axis=1, keepdims=True), z, rng.random((games, d)) < 0.7, before


@given(hypotheses(), st.floats(-0.5, 0.5))
def test_balanced_points_are_those_of_a_plain_routine(table: tuple[np.ndarray, ...], aim: float) -> None:
    weights, z, free, before = table
    found = balance_points(weights, z, free, before, aim)
    for g in range(len(z)):
        wanted, lacking = z[g].copy(), aim - float(weights[g] @ np.where(free[g], 0, z[g]))
        for part in (free[g] & (before[g] > 0), free[g] & (before[g] <= 0)):
            masses = weights[g][part].tolist()
            brought = min(max(lacking, -sum(masses)), sum(masses))
            wanted[part] = slowly(masses, (sum(masses) - brought) / 2)
            lacking -= brought
        np.testing.assert_allclose(weights[g] @ found[g], weights[g] @ wanted, atol=1e-9)
        clear = weights[g] > 1e-9
        np.testing.assert_allclose(found[g][clear], wanted[clear], atol=1e-6)


@given(hypotheses(), st.floats(-0.5, 0.5))
def test_balanced_points_meet_the_aim_if_any_do(table: tuple[np.ndarray, ...], aim: float) -> None:
    weights, z, free, before = table
    found = balance_points(weights, z, free, before, aim)
    assert (np.abs(found) <= 1).all()
    assert (found[~free] == z[~free]).all()
    fixed = np.vecdot(weights, np.where(free, 0, z))
    most = np.vecdot(weights, free)
    np.testing.assert_allclose(np.vecdot(weights, found), np.clip(aim, fixed - most, fixed + most), atol=1e-9)


@given(hypotheses(), st.floats(0.01, 3.0))
def test_they_contradict_the_updated_weights_too(table: tuple[np.ndarray, ...], rate: float) -> None:
    """As long as coordinates with before > 0 can make up for those that are not free."""
    weights, _, free, before = table
    z, before = np.where(free, 0.0, 0.3), np.where(free, before, 0.3)
    found = balance_points(weights, z, free, before, -1e-5)
    possible = np.vecdot(weights, free & (before > 0)) >= 0.3 * np.vecdot(weights, ~free) + 1e-5
    signs = np.where(free, np.where(before > 0, 1.0, -1.0), 0.3)
    after = weights * np.exp(rate * signs)
    assert (np.vecdot(weights, found)[possible] < 0).all()
    assert (np.vecdot(after, found)[possible] < 0).all()


# --- margin-adaptive and shrinking-margin -----------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("halfspaces", [Halfspaces(2, 0.2), CLASS, Halfspaces(9, 1.0)], ids=str)
@pytest.mark.parametrize(
    "adversary",
    [
        MarginAdaptive(rounds=40),
        ShrinkingMargin(rounds=40, protocol="Adaptive"),
        ShrinkingMargin(rounds=40, protocol="Adaptive", confidence=0.4),
    ],
    ids=str,
)
def test_they_conform_and_are_realizable(adversary: Any, halfspaces: Halfspaces) -> None:
    learner = PlainWinnow(halfspaces)
    own = attrs.evolve(adversary, learner=learner)
    check_adversary(own, learner, Realizable(Adaptive(40), halfspaces))


@pytest.mark.parametrize(
    ("d", "margin", "rounds", "least"), [(64, 0.2, 300, 0.78), (1_024, 0.2, 400, 0.86), (64, 0.4, 100, 0.76)]
)
def test_winnow_errs_nearly_as_often_as_its_bound_allows(
    d: int, margin: float, rounds: int, least: float
) -> None:
    learner = PlainWinnow(Halfspaces(d, margin))
    adversary = MarginAdaptive(learner=learner, rounds=rounds)
    played = play(learner, adversary, Realizable(Adaptive(rounds), learner.concepts), games=5, seed=1)
    bound = 2 * np.log(d) / margin**2
    assert least * bound <= played.mistakes.min()
    assert played.mistakes.max() <= bound


def updates_and_mistakes(adversary: Adversary, confidence: float, rounds: int) -> tuple[float, float]:
    states: list[WinnowState] = []

    @attrs.frozen
    class Kept(PlainWinnow):
        def start(self, games: int, rng: np.random.Generator) -> WinnowState:
            states.append(super().start(games, rng))
            return states[-1]

    learner = Kept(CLASS, confidence)
    played = play(learner, adversary, Realizable(Adaptive(rounds), CLASS), games=10, seed=1)
    return states[0].updates.mean(), played.mistakes.mean()


def test_a_confident_winnow_updates_where_it_is_right() -> None:
    adversary = ShrinkingMargin(protocol="Adaptive", rounds=300, confidence=0.4, concepts=CLASS)
    updates, mistakes = updates_and_mistakes(adversary, 0.5, 300)
    assert updates >= 15
    assert mistakes <= updates / 2
    assert updates_and_mistakes(adversary, 0.0, 300) == (0, 0)
    updates, mistakes = updates_and_mistakes(attrs.evolve(adversary, confidence=0.0), 0.0, 300)
    assert updates == mistakes >= 15


# --- first-swap ---------------------------------------------------------------------------------------------


class DrawsState:
    """A small dp-winnow without AboveThreshold: `every` mistakes make an update by the first of them, `draws`
    coordinates drawn by the weights are shown."""

    def __init__(self, spec: Draws, games: int, rng: np.random.Generator) -> None:
        self.spec, self.rng, self.d = spec, rng, CLASS.dimension
        self.sums, self.shown = np.zeros((games, self.d)), np.ones((games, self.d))
        self.first: np.ndarray | None = None
        self.seen = 0

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(CLASS, self.shown)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        z = np.where(y == 1, 1, -1)[:, None] * x
        assert (np.vecdot(self.shown, z) < 0).all()  # every example is a mistake of every game
        self.first = z if self.first is None else self.first
        self.seen += 1
        if self.seen == self.spec.every:
            self.sums = self.sums + self.spec.rate * self.first
            weights = np.exp(self.sums)
            chances = weights / weights.sum(axis=1, keepdims=True)
            self.shown = self.rng.multinomial(self.spec.draws, chances).astype(float)
            self.first, self.seen = None, 0


@attrs.frozen
class Draws(PlainWinnow):
    name = "draws"
    concepts: Any = CLASS
    rate: float = 0.2
    draws: int = 16
    every: int = 3

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return DrawsState(self, games, rng)


@given(st.integers(2, 40), st.data())
def test_opposite_examples_are_mistakes_and_differ_nearly_everywhere(d: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, max(1, (d - 1) // 2)))
    uniform = np.full((1, d), 1 / d)
    up, down = build_opposite_mistakes(uniform, size)
    assert up.dtype == down.dtype == np.int8
    assert np.vecdot(uniform, down)[0] < 0
    assert (up[:, :size] == 1).all()
    assert (down[:, :size] == -1).all()
    if size < d / 2:
        assert np.vecdot(uniform, up)[0] < 0
        assert np.count_nonzero(up != down) >= d // 2 + size - 1


def scores(learner: Draws, adversary: FirstSwap, games: int) -> tuple[np.ndarray, np.ndarray]:
    played = play(learner, adversary, SpecialRound(adversary.rounds), games=games, seed=1)
    assert played.challenges == {PrivacyUnit.STREAM_EXAMPLE}
    return played.score[~played.worlds], played.score[played.worlds]


@pytest.mark.thorough
@statistical(rate=4e-7)
def test_the_drawn_weights_reveal_the_first_example() -> None:
    """With S of 31 of 64 coordinates, one update: a draw hits S with chance 31e^η/(31e^η + 33e^-η) in world
    0, and 31e^-η/(33e^-η + 31e^η) in world 1, whose z is 1 at 31 others."""
    eta, learner = 0.2, Draws(draws=16)
    adversary = FirstSwap(learner=learner, rounds=4)
    high, low = np.exp(eta), np.exp(-eta)
    chance = 31 * high / (31 * high + 33 * low), 31 * low / (33 * low + 31 * high)
    for found, hit in zip(scores(learner, adversary, 40_000), chance, strict=True):
        mean = 31 / 64 - hit
        check_mean(found, mean, bounds=(-1, 1), rate=1e-7, effect=0.09, power=1 - 1e-7)
    with expect_rejection():
        check_mean(found, 0.0, bounds=(-1, 1), rate=1e-7, effect=0.09, power=1 - 1e-7)


def test_updates_add_up_and_one_coordinate_will_do() -> None:
    few = FirstSwap(rounds=4, learner=Draws())
    once, thrice = (scores(Draws(draws=2_000), attrs.evolve(few, rounds=r), 40) for r in (4, 10))
    assert thrice[1].mean() == pytest.approx(3 * once[1].mean(), rel=0.05)
    assert thrice[0].max() < thrice[1].min()
    single = scores(Draws(draws=1_000_000), attrs.evolve(few, coordinates=1), 40)
    assert single[0].max() < single[1].min()


def test_swaps_conform_before_vectors() -> None:
    for adversary in (
        FirstSwap(learner=LEARNER, rounds=6),
        UpdateSwap(learner=LEARNER, rounds=6, before=2),
        UpdateSwap(learner=LEARNER, rounds=6, before=2, point=(1,) * 64, other_point=(-0.5,) * 64),
    ):
        check_adversary(adversary, LEARNER, SpecialRound(6))


def test_update_swap_counts_mistakes_before_vectors() -> None:
    """Every third mistake makes `draws` draw anew: world 1 does so at the swap, world 0 a round later."""
    learner = Patient(every=3)
    adversary = UpdateSwap(learner=learner, rounds=8, before=2)
    played = play(learner, adversary, SpecialRound(8), games=20, seed=1)
    assert set(played.score[~played.worlds]) == {-1}
    assert set(played.score[played.worlds]) == {0}


@attrs.frozen
class Patient(Draws):
    """Draws anew after so many mistakes of a game, of which an example without a mistake is none."""

    name = "patient"

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return PatientState(games, self.every)


class PatientState:
    def __init__(self, games: int, every: int) -> None:
        self.every, self.seen = every, np.zeros(games, int)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(CLASS, 1.0 + (self.seen // self.every)[:, None] * np.arange(CLASS.dimension))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self.seen += self.hypothesis()(x) != (y == 1)


@pytest.mark.parametrize("coordinates", [32, 64])
def test_a_swap_about_too_many_coordinates_is_refused(coordinates: int) -> None:
    adversary = FirstSwap(learner=LEARNER, rounds=4, coordinates=coordinates)
    with pytest.raises(InvalidArgument, match=rf"must be from 1 to 31 of the 64 .*, got {coordinates}"):
        play(LEARNER, adversary, SpecialRound(4), games=2, seed=1)


def test_other_classes_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"^first-swap plays halfspaces with margin, not Thresholds"):
        play(Soa(), FirstSwap(learner=Soa(), rounds=4), SpecialRound(4), games=2, seed=1)

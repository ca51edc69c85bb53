"""dp-winnow: a plain reference, its distributions, Lemma 4.6, Theorem 4.5, privacy by enumeration."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats
from support.halfspaces import Enumerated, Example, OneWinnow, View, compositions
from support.laws.learner_laws import view_delta
from support.simple_players import Scripted
from support.statistical import check_counts, expect_rejection, statistical

from arena import Commit, InvalidArgument, Moves, Oblivious, PrivacyUnit, play
from arena import Example as Move
from arena.concepts import Halfspaces, Points
from arena.concepts.halfspaces import disjunction
from arena.randomness import generator
from learners.halfspaces.dp_winnow import DpWinnow, DpWinnowState
from learners.halfspaces.winnow import update_bound
from learners.mechanisms.accounting import renyi_composition
from learners.mechanisms.noise import laplace

RATE = 1e-7
SURE: dict[str, Any] = {"rate": RATE, "power": 1 - RATE}
PROVED: dict[str, Any] = {"updates": None, "draws": None, "rate": None}
# Settings with an update after a few mistakes.
SOON: dict[str, Any] = {"rounds": 12, "epsilon": 3.0, "draws": 3, "rate": 0.8, "cached": 2, "threshold": 2.0}


# --- the algorithm ------------------------------------------------------------------------------------------


class OneGame:
    """Algorithm 4.2 for one game, with a list of mistakes and the random numbers of a batch of one game."""

    def __init__(self, spec: DpWinnow, rng: np.random.Generator) -> None:
        self.spec, self.rng = spec, rng
        self.restarts = 0
        self.restart()

    def restart(self) -> None:
        dimension = self.spec.concepts.dimension
        self.hidden = OneWinnow(dimension, rate=self.spec.eta)
        self.sums = np.zeros(dimension)
        self.shown = [1] * dimension
        self.start()

    def noise(self) -> float:
        return float(laplace(self.rng, np.empty(1))[0]) / self.spec.watch_epsilon

    def weights(self) -> np.ndarray:
        """The weights, with the learner's rounding: a draw depends on their last bit."""
        weights = np.exp((self.sums - self.sums.max()) * (self.spec.eta / self.spec.averaged_mistakes))
        np.testing.assert_allclose(weights / weights.sum(), self.hidden.weights, rtol=1e-9)
        return np.asarray(weights / weights.sum())

    def start(self) -> None:
        self.mistakes: list[np.ndarray] = []
        self.limit = self.spec.update_threshold + self.noise()

    def observe(self, x: np.ndarray, y: int) -> None:
        sign = 1 if y == 1 else -1
        if (float(np.dot(self.shown, x)) >= 0) != (y == 1):
            self.mistakes.append(sign * x)
        fires = len(self.mistakes) + self.noise() >= self.limit
        if fires and self.hidden.updates == self.spec.most_updates:
            self.restarts += 1
            self.restart()
        elif fires:
            first = sum(self.mistakes[: self.spec.averaged_mistakes], np.zeros(len(x)))
            self.hidden.update(first / self.spec.averaged_mistakes)
            self.sums += first
            self.shown = self.rng.multinomial(self.spec.draws_per_update, self.weights()).tolist()
            self.start()


@pytest.mark.thorough
@pytest.mark.parametrize(("cached", "updates"), [(1, 40), (3, 4), (6, 9)])
def test_one_game_equals_the_naive_reference(cached: int, updates: int) -> None:
    restarts = 0
    for seed in range(12):
        spec = DpWinnow(
            concepts=Halfspaces(5, 0.3), **(SOON | {"rounds": 120, "cached": cached, "updates": updates})
        )
        draws = np.random.default_rng(seed)
        points = draws.uniform(-1, 1, (120, 5)) if seed % 2 else draws.integers(-1, 2, (120, 5)) + 0.0
        coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))
        state, game = spec.start(1, coins), OneGame(spec, same_coins)
        for x in points:
            assert state.hypothesis().concepts[0].tolist() == game.shown
            y = int(draws.integers(2))
            state.observe(x[None], np.array([y]))
            game.observe(x, y)
        restarts += game.restarts
    assert restarts > 5 or updates > 30


def update_all(state: DpWinnowState, scores: np.ndarray) -> np.ndarray:
    """(n, d): the hypotheses of all games after an update with these scores."""
    state._scores.sums[:] = scores
    state._update(np.arange(len(state._updates_left)))
    return state.hypothesis().concepts


@statistical(rate=3 * RATE)
def test_counts_are_multinomial(rng: np.random.Generator) -> None:
    games, draws = 400_000, 3
    learner = DpWinnow(concepts=Halfspaces(3, 0.4), **(SOON | {"cached": 1}))
    scores = np.array([1.0, 0.0, -1.0])
    shown = update_all(learner.start(games, rng), scores)
    cells = list(compositions(draws, 3))
    observed = [int((shown == cell).all(axis=1).sum()) for cell in cells]

    def law(rate: float) -> np.ndarray:
        weights = np.exp(rate * scores)
        return np.asarray(stats.multinomial.pmf(cells, draws, weights / weights.sum()))

    check_counts(observed, law(0.8), effect=0.009, **SURE)
    with expect_rejection():
        check_counts(observed, law(0.88), effect=0.009, **SURE)


@pytest.mark.parametrize("c", [0.2, 0.5])
@pytest.mark.parametrize("draws", [5, 40, 151])
@statistical(rate=2 * RATE)
def test_signs_flip_as_rarely_as_lemma_4_6_states(rng: np.random.Generator, draws: int, c: float) -> None:
    """w·x = c at a point of the cube's corners: the count of draws with x_i = 1 is binomial."""
    games = 60_000
    learner = DpWinnow(concepts=Halfspaces(2, 1.0), **(SOON | {"draws": draws, "cached": 1}))
    # Weights (1 + c)/2 and (1 - c)/2.
    scores = np.array([math.log((1 + c) / (1 - c)), 0.0]) / learner.eta
    shown = update_all(learner.start(games, rng), scores)
    for point, agrees in (([1.0, -1.0], True), ([-1.0, 1.0], False)):
        flipped = int((learner.concepts.label(shown, np.array(point)) != agrees).sum())
        most = (draws - 1) // 2 if agrees else draws // 2  # ties are labelled 1
        exact = float(stats.binom.cdf(most, draws, (1 + c) / 2))
        assert exact <= math.exp(-draws * c**2 / 2)
        check_counts([flipped, games - flipped], [exact, 1 - exact], effect=0.025, **SURE)


def test_large_counts_are_exact() -> None:
    for draws, kind in ((2**24, np.float32), (2**24 + 1, np.float64), (2**53, np.float64)):
        learner = DpWinnow(concepts=Halfspaces(3, 0.5), **(SOON | {"draws": draws, "cached": 1}))
        shown = update_all(learner.start(4, np.random.default_rng(1)), np.zeros(3))
        assert shown.dtype == kind
        assert (shown.astype(np.int64).sum(axis=1) == draws).all()


# --- settings -----------------------------------------------------------------------------------------------


def test_unset_parameters_are_those_of_the_theorem() -> None:
    learner = DpWinnow(concepts=Halfspaces(64, 0.5), rounds=10_000, c=0.4, beta=0.1, **PROVED)
    lead = 0.6 * 0.5
    assert learner.eta == pytest.approx(lead)
    assert learner.most_updates == math.floor(2 * math.log(64) / lead**2)
    pairs = learner.most_updates * 10_000
    assert learner.draws_per_update == math.ceil(2 * math.log(2 * pairs / 0.1) / (0.4 * 0.5) ** 2)
    assert pairs * math.exp(-learner.draws_per_update * 0.04 / 2) <= 0.05
    error = (math.log(10_000) + 2 * math.log(4 / 0.1) + math.log(learner.most_updates + 1)) / 0.25
    assert learner.update_threshold == pytest.approx(learner.averaged_mistakes + error)
    assert 0.99 <= learner.claim.epsilon <= 1
    # A mean of one mistake fewer would cost too much.
    fewer = attrs.evolve(learner, cached=learner.averaged_mistakes - 1)  # with a smaller rate
    assert fewer.claim.epsilon <= 1 < attrs.evolve(fewer, rate=lead).claim.epsilon


def test_the_paper_s_algorithm_has_the_largest_affordable_rate() -> None:
    learner = DpWinnow(rounds=10**12, cached=1, epsilon=2.0, **PROVED)
    assert learner.most_updates == math.floor(update_bound(64, learner.eta, learner.lead))
    assert 1.99 <= learner.claim.epsilon <= 2.0
    assert learner.eta < 1e-6
    more = attrs.evolve(learner, rate=learner.eta * 1.01)
    assert more.claim.epsilon > 2.0
    plenty = attrs.evolve(learner, epsilon=1e9)
    assert plenty.eta == plenty.lead
    # There are never more updates than rounds to pay for.
    short = attrs.evolve(learner, rounds=1_000)
    assert short.most_updates == 1_000
    assert short.eta > 20 * learner.eta


# --- claims -------------------------------------------------------------------------------------------------


def test_the_claim_is_the_cost_of_the_parameters_in_use() -> None:
    learner = DpWinnow(epsilon=1.0, delta=1e-6, watching=0.4, updates=10, draws=7, rate=0.5, cached=50)
    draws = renyi_composition(70, 4 * 0.5 / 50, slack=1e-6)
    assert learner.claim.epsilon == 0.4 + draws.epsilon
    assert learner.claim.delta == 1e-6
    assert learner.claim.protects == (PrivacyUnit.STREAM_EXAMPLE,)
    same = [{"rate": 1.0, "cached": 100}, {"threshold": 3.0}, {"rounds": 10}, {"beta": 0.5}, {"c": 0.9}]
    for others in same:
        assert attrs.evolve(learner, **others).claim == learner.claim
    for dearer in ({"rate": 1.0}, {"cached": 49}, {"updates": 11}, {"draws": 8}):
        assert attrs.evolve(learner, **dearer).claim.epsilon > learner.claim.epsilon
    pure = attrs.evolve(learner, delta=0.0)
    assert (pure.claim.epsilon, pure.claim.delta) == (0.4 + 70 * 0.04, 0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("settings", [{}, PROVED, PROVED | {"cached": 1}, PROVED | {"cached": 500}])
def test_derived_parameters_cost_at_most_epsilon(settings: dict[str, Any], epsilon: float) -> None:
    learner = DpWinnow(epsilon=epsilon, **settings)
    assert learner.claim.epsilon <= epsilon
    assert learner.claim.delta <= 1e-6


POINTS = ([1.0, -1], [-1.0, 1], [-1.0, -1], [1.0, 1], [0.0, 0], [1.0, 0], [0.0, -1])
EXAMPLES: list[Example] = [(tuple(point), label) for point in POINTS for label in (0, 1)]
FEW: list[Example] = [((1.0, -1.0), 0), ((-1.0, 1.0), 0), ((-1.0, -1.0), 1), ((1.0, 1.0), 0), ((0.0, 0.0), 1)]
TINY: dict[str, Any] = {"concepts": Halfspaces(2, 0.5), "epsilon": 1.0, "watching": 0.5, "threshold": 1.0}
ENUMERATED = [
    {"cached": 1, "draws": 2, "updates": 2, "rounds": 3},
    {"cached": 2, "draws": 2, "updates": 1, "rounds": 3},
    {"cached": 1, "draws": 3, "updates": 1, "rounds": 2},
    {"cached": 2, "draws": 1, "updates": 2, "rounds": 4},
    {"cached": 1, "draws": 1, "updates": 1, "rounds": 4},  # with an update after a restart
]


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.2, 1.0])
@pytest.mark.parametrize("sizes", ENUMERATED, ids=str)
def test_no_adaptive_adversary_exceeds_the_claim(sizes: dict[str, int], rate: float) -> None:
    """The exact value of the best adaptive adversary that chooses among a few examples.

    At small δ it reaches a third of the claimed ε, so that large errors in the claim would be detected.
    """
    learner = DpWinnow(rate=rate, **TINY, **sizes)
    law = Enumerated(learner)
    examples = EXAMPLES if sizes["rounds"] == 2 else FEW
    for delta in (0.0, 0.01, 0.1):
        claim = attrs.evolve(learner, delta=delta).claim
        for before in range(2):
            assert law.worst(claim.epsilon, examples, before=before) <= claim.delta + 1e-9
        if delta <= 0.01:
            assert law.worst(claim.epsilon / 3, examples) > claim.delta


@pytest.mark.thorough
def test_random_streams_do_not_exceed_the_claim(rng: np.random.Generator) -> None:
    """Three coordinates, four rounds, all points of {-1, 0, 1}³, the example of any round replaced."""
    learner = DpWinnow(
        **(TINY | {"concepts": Halfspaces(3, 0.5)}), rate=0.5, cached=2, draws=2, updates=2, rounds=4
    )
    law = Enumerated(learner)
    worst = 0.0
    for _ in range(25):
        stream = [(tuple(rng.integers(-1, 2, 3).tolist()), int(rng.integers(2))) for _ in range(4)]
        other = list(stream)
        other[rng.integers(4)] = (tuple(rng.integers(-1, 2, 3).tolist()), int(rng.integers(2)))
        laws = [law.law(lambda view, fixed=fixed: fixed[len(view)]) for fixed in (stream, other)]
        assert sum(laws[0].values()) == pytest.approx(1)
        for delta in (0.0, 0.02):
            epsilon = attrs.evolve(learner, delta=delta).claim.epsilon
            for one, two in (laws, laws[::-1]):
                assert view_delta(one, two, epsilon) <= delta + 1e-9
                worst = max(worst, view_delta(one, two, 0.0))
    assert worst > 0.1


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_the_enumerated_distribution_is_that_of_the_learner(rng: np.random.Generator) -> None:
    """Against an adaptive adversary, which chooses the point where the counts shown differ most."""
    learner = DpWinnow(**TINY, rate=1.0, cached=2, draws=2, updates=2, rounds=3)

    def choose_example(view: View) -> Example:
        first = next((count for count in reversed(view) if count is not None), (1, 1))
        return ((1.0, -1.0), 0) if first[0] >= first[1] else ((-0.5, 1.0), 0)

    views = Enumerated(learner).law(choose_example)
    by_counts: dict[tuple[tuple[int, ...], ...], float] = {}
    for view, probability in views.items():
        counts, last = [], (1, 1)
        for count in view:
            last = count or last
            counts.append(last)
        by_counts[tuple(counts)] = by_counts.get(tuple(counts), 0.0) + probability
    games = 400_000
    state = learner.start(games, rng)
    shown = np.empty((games, 3, 2), int)
    for t in range(3):
        counts_now = state.hypothesis().concepts
        first = counts_now[:, 0] >= counts_now[:, 1]
        state.observe(np.where(first[:, None], [1.0, -1.0], [-0.5, 1.0]), np.zeros(games))
        shown[:, t] = state._shown
    cells = [*by_counts]
    observed = [int((shown == np.array(cell)).all(axis=(1, 2)).sum()) for cell in cells]
    assert sum(observed) == games
    law = np.array([by_counts[cell] for cell in cells])
    check_counts(observed, law / law.sum(), effect=0.008, **SURE)
    wrong = Enumerated(attrs.evolve(learner, threshold=1.3))
    assert abs(wrong.law(choose_example)[(None,) * 3] - views[(None,) * 3]) > 0.01


# --- mistakes -----------------------------------------------------------------------------------------------


def draw_from_pool(points: np.ndarray, labels: np.ndarray, rounds: int) -> Scripted:
    """An oblivious adversary that draws its examples from a pool."""

    def moves(games: int, rng: np.random.Generator) -> Moves:
        def examples() -> Any:
            for _ in range(rounds):
                place = rng.integers(len(points), size=games)
                yield Move(points[place], labels[place])

        yield Commit(examples=examples(), show_hypotheses=False)
        return None

    return Scripted(moves)


@pytest.mark.thorough
@pytest.mark.parametrize("cached", [None, 1])
def test_theorem_4_5_fails_with_probability_at_most_beta(cached: int | None) -> None:
    """In 400 games with a non-vacuous bound, no more fail than a binomial of β allows at level 1e-9."""
    dimension, rounds, beta = 16, 2_500, 0.2
    concepts, epsilon = Halfspaces(dimension, 1.0), 60.0 if cached is None else 600.0
    more = PROVED | {"beta": beta, "watching": 0.3, "cached": cached}
    learner = DpWinnow(concepts=concepts, rounds=rounds, epsilon=epsilon, **more)
    bound = learner.bound(rounds)
    assert bound.oblivious
    assert (bound.of, bound.beta) == ("mistakes", beta)
    points = 2 * np.eye(dimension) - 1
    wanted = np.eye(dimension)[3]
    drawn = draw_from_pool(points, (wanted > 0).astype(int), rounds)
    played = play(learner, drawn, Oblivious(rounds), games=400, seed=1)
    failed = int((played.mistakes > bound.at_most).sum())
    assert failed <= stats.binom.isf(1e-9, 400, beta)
    assert played.mistakes.mean() > bound.at_most / 100  # the bound is not trivially loose


def test_updates_are_bounded_by_lemma_4_7() -> None:
    """Three times as many are allowed; the share of games that exceed the lemma is at most β at 1e-9."""
    dimension, rounds, beta = 16, 2_500, 0.2
    concepts = Halfspaces(dimension, 1.0)
    proved = DpWinnow(concepts=concepts, rounds=rounds, epsilon=60.0, beta=beta, **PROVED)
    fixed = {"draws": proved.draws_per_update, "cached": proved.averaged_mistakes}
    fixed |= {"updates": 3 * proved.most_updates, "threshold": proved.update_threshold}
    learner = attrs.evolve(proved, **fixed)
    state = learner.start(400, np.random.default_rng(4))
    label = np.eye(dimension)[3] > 0
    for t in range(rounds):
        state.hypothesis()
        place = np.full(400, t % 2 * 3)  # the target's point and another, in turn
        state.observe((2 * np.eye(dimension) - 1)[place], label[place])
    updates = learner.most_updates - state._updates_left
    assert updates.min() >= 1
    assert int((updates > proved.most_updates).sum()) <= stats.binom.isf(1e-9, 400, beta)


def test_a_bound_exists_only_for_settings_that_the_proof_covers() -> None:
    learner = DpWinnow(concepts=Halfspaces(64, 1.0), rounds=10**6, **PROVED)
    bound = learner.bound(10**6)
    updates = math.floor(update_bound(64, learner.eta, learner.lead))
    error = (math.log(10**6) + 2 * math.log(4 / 0.05) + math.log(updates + 1)) / 0.25
    limit = learner.averaged_mistakes + error
    assert bound.at_most == pytest.approx(updates * (limit + error + 1) + limit + error)
    assert learner.bound(10**6 + 1) is None
    assert learner.bound(10_000) is None  # vacuous
    assert attrs.evolve(learner, updates=updates, draws=learner.draws_per_update).bound(10**6) == bound
    for less in (
        {"updates": updates - 1},
        {"draws": learner.draws_per_update - 1},
        {"threshold": learner.update_threshold - 1},
        {"rate": 2 * learner.lead, "updates": 10**5},
    ):
        assert attrs.evolve(learner, **less).bound(10**6) is None
    assert DpWinnow().bound(100_000) is None


@pytest.mark.parametrize(("epsilon", "rounds"), [(4.0, 6_000), (1.0, 10_000)])
@pytest.mark.thorough
def test_it_learns_at_the_defaults(epsilon: float, rounds: int, rng: np.random.Generator) -> None:
    """Half of the labels are 1; few of the last rounds have a mistake."""
    dimension, games = 64, 10
    learner = DpWinnow(concepts=Halfspaces(dimension, disjunction(63, [0, 1]).margin), epsilon=epsilon)
    state = learner.start(games, rng)
    late = 0
    for t in range(rounds):
        x = (rng.random((games, dimension)) < 0.3).astype(np.int8)
        x[:, -1] = -1
        y = x[:, :2].any(axis=1)
        late += int((state.hypothesis()(x) != y).sum()) if t >= rounds - 1_000 else 0
        state.observe(x, y)
    assert late <= 0.25 * 1_000 * games


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"concepts": Points(range(3))}, "dp-winnow learns halfspaces with a margin, not Points"),
        ({"rate": 0.3, "updates": None}, r"a rate of 2\(1 - c\)ρ or more, got 0\.3\. Set"),
        ({"draws": 2**60}, "may have at most 9,007,199,254,740,992 draws, .*, got 1152921504606846976. Set"),
        ({"concepts": Halfspaces(4, 1e-7), **PROVED}, r"at most 9,007,199,254,740,992 draws, .*, got \d+"),
    ],
)
def test_inconsistent_settings_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        DpWinnow(**bad)


def test_a_point_outside_the_cube_is_refused_and_not_stored(rng: np.random.Generator) -> None:
    """Privacy requires that no more than 1 is added to a score."""
    state = DpWinnow(concepts=Halfspaces(2, 0.5), **SOON).start(1, rng)
    state.hypothesis()
    with pytest.raises(InvalidArgument, match=r"a point must lie in the cube \[-1, 1\]\^d, got 1\.5"):
        state.observe(np.array([[0.5, 1.5]]), np.array([0]))
    assert not state._cache.any()

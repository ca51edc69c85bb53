"""MarkedVotes: the laws of its answers, and its cost beside exact losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.paths import ROOT

from learners.mechanisms.accounting import zcdp_guarantee
from learners.mechanisms.steady_thresholds import (
    CHANCE,
    MarkedVotes,
    all_answers_cost,
    find_sigma,
    log_answer_laws,
    marked_votes_cost,
)

PAGE = (ROOT / "docs" / "proofs" / "marked_votes.md").read_text(encoding="utf-8")
SETTINGS = {"size": 20, "sigma": 4.0, "gap": 5.0}


def exact_delta(votes: int, changed: int, halts: int, answers: int, epsilon: float) -> float:
    """δ(ε) of so many answers at one number of votes, by the law of how often each outcome occurs.

    Shapes: marks end the game, so that sequences are counted by unmarked 0s and 1s and marked 0s and 1s.
    """
    first, second = (
        np.exp(np.stack(log_answer_laws(np.array([float(v)]), **SETTINGS)))[:, 0] for v in (votes, changed)
    )
    outcomes = [np.array([p[0] * p[3], p[1] * p[3], p[0] * p[2], p[1] * p[2]]) for p in (first, second)]
    logs = np.log(outcomes)
    # By loss on a grid: (marks, mass at each loss); losses of outcomes are rounded down, which lowers δ.
    step = 1e-3
    losses = np.floor((logs[0] - logs[1]) / step).astype(int)
    width = answers * int(np.abs(losses).max()) + 1
    state = np.zeros((halts, 2 * width + 1))
    state[0, width] = 1
    ended = np.zeros(2 * width + 1)
    for _ in range(answers):
        after = np.zeros_like(state)
        for outcome in range(4):
            moved = outcomes[0][outcome] * np.roll(state, losses[outcome], axis=1)
            if outcome < 2:
                after += moved
            else:
                after[1:] += moved[:-1]
                ended += moved[-1]
        state = after
    loss = step * np.arange(-width, width + 1)
    mass = ended + state.sum(axis=0)
    return float((mass * np.maximum(0, -np.expm1(np.minimum(epsilon - loss, 0)))).sum())


@pytest.mark.thorough
def test_no_number_of_votes_costs_more_than_proved() -> None:
    halts, answers, slack = 8, 50, 1e-2
    cost = marked_votes_cost(halts, slack=slack, **SETTINGS).epsilon
    deltas = [
        exact_delta(votes, votes + shift, halts, answers, cost)
        for votes, shift in ((0, 1), (5, 1), (9, 1), (10, 1), (10, -1))
    ]
    assert max(deltas) <= slack
    assert exact_delta(10, 11, halts, answers, 0.4 * cost) > slack  # so it is not loose by a factor of 2.5


@pytest.mark.thorough
def test_the_supermartingale_at_every_number_of_votes() -> None:
    """The charge s by a plain computation, and ε as the formula says."""
    halts, slack = 50, 1e-6
    settings = {"size": 41, "sigma": 30.0, "gap": 36.0}
    epsilons = []
    for moment in np.geomspace(1, 60, 200):
        worst = 0.0
        for votes in range(42):
            for changed in (votes - 1, votes + 1):
                if not 0 <= changed <= 41:
                    continue
                here, there = (
                    (stats.norm.sf(20.5, v, 30), CHANCE * np.exp(-abs(v - 20.5) / 36))
                    for v in (votes, changed)
                )
                label = sum(
                    p ** (1 + moment) / q**moment
                    for p, q in ((here[0], there[0]), (1 - here[0], 1 - there[0]))
                )
                mark = here[1] ** (1 + moment) / there[1] ** moment
                none = (1 - here[1]) ** (1 + moment) / (1 - there[1]) ** moment
                grows = label * none >= 1
                worst = np.inf if grows else max(worst, np.log(label * mark / (1 - label * none)))
        tail = np.log(1 / slack) + moment * np.log(moment / (1 + moment)) - np.log1p(moment)
        epsilons.append((halts * worst + tail) / moment)
    cost = marked_votes_cost(halts, slack=slack, **settings)
    assert min(epsilons) <= cost.epsilon + 1e-9
    assert cost.epsilon == pytest.approx(min(epsilons), rel=0.05)


# 3 tests of 4 numbers; a false alarm with probability at most 1e-8.
@pytest.mark.statistical(rate=1e-8)
@pytest.mark.parametrize("vote", [0.0, 0.45, 0.7])
def test_answers_have_the_law_that_is_charged(vote: float) -> None:
    games, size = 200_000, SETTINGS["size"]
    mechanism = MarkedVotes(games, np.random.default_rng(1), halts=1, **SETTINGS)
    labels = mechanism.respond(np.full((games, 1), vote))[:, 0]
    marks = mechanism.between[:, 0]
    zero, one, mark, none = np.exp(log_answer_laws(np.array([vote * size]), **SETTINGS))[:, 0]
    for label, chance in ((0, zero), (1, one)):
        for marked, weight in ((True, mark), (False, none)):
            seen = np.count_nonzero((labels == label) & (marks == marked))
            assert stats.binomtest(seen, games, chance * weight).pvalue > 1e-9
    assert (mechanism.halted == marks).all()


@pytest.mark.parametrize("dimension", [0, 2])
def test_a_point_is_answered_alike_and_charged_once(dimension: int) -> None:
    """In one call or in several, whatever else is asked, and for vectors as for numbers."""
    games = 400
    mechanism = MarkedVotes(games, np.random.default_rng(3), halts=100, **SETTINGS)
    row = np.array([1.0, 2.0, 1.0, 3.0, 2.0])
    points = np.broadcast_to(row, (games, 5))
    if dimension:
        points = np.stack([points, -points], axis=2)
    ties = np.full((games, 5), 0.5)
    answers, charged = [], []
    for order in ([0, 1, 2, 3, 4], [4, 0, 3, 1, 2]):
        labels = mechanism.respond(ties, points[:, order])
        assert (labels[:, order.index(0)] == labels[:, order.index(2)]).all()
        answers.append(labels[:, np.argsort(order)])
        charged.append(mechanism.between)
    assert (answers[0] == answers[1]).all()
    assert not charged[0][:, [2, 4]].any()
    assert not charged[1].any()
    assert (mechanism._count == charged[0].sum(axis=1)).all()
    assert 0.1 * games < charged[0][:, 0].sum() < 0.3 * games


def test_a_query_changes_at_most_two_of_the_bits_that_are_counted() -> None:
    """Games with the same random numbers, of which one asks 0 where the other asks 1; other labels agree."""
    queries = np.random.default_rng(4).integers(0, 4, (300, 12)).astype(float)
    largest = 0
    for place in range(12):
        seen = []
        for x in (0.0, 1.0):
            asked = queries.copy()
            asked[:, place] = x
            mechanism = MarkedVotes(300, np.random.default_rng(5), halts=100, **SETTINGS)
            labels = mechanism.respond(np.full(asked.shape, 0.5), asked)
            seen.append((mechanism.between, np.delete(labels, place, axis=1)))
        (first, labels), (second, others) = seen
        assert (labels == others).all()
        largest = max(largest, int((first != second).sum(axis=1).max()))
    assert largest == 2


def test_noise_is_found_for_a_budget() -> None:
    def cost(sigma: float) -> float:
        return marked_votes_cost(100, size=400, sigma=sigma, gap=1.2 * sigma, slack=1e-6).epsilon

    for budget in (0.2, 1.0, 5.0):
        sigma = find_sigma(cost, budget, guess=1.0)
        assert cost(sigma) <= budget < cost(0.99 * sigma)
    assert cost(0.01) == np.inf  # answers reveal more than marks pay for
    assert all_answers_cost(8, sigma=2.0, gap=2.0, slack=1e-6) == zcdp_guarantee(2.0, slack=1e-6)


def test_what_a_mark_must_pay_is_what_the_page_says() -> None:
    """By the smallest charge of each number of votes, for noise so large that the loss of a vote is small."""
    sigma, moment = 1_000.0, 1.0
    ahead = sigma * np.linspace(0, 5, 5_001)
    first, second = (
        log_answer_laws(ahead + moved, size=0, sigma=sigma, gap=1.2 * sigma) for moved in (0.0, 1.0)
    )
    zero, one, mark, none = (
        law + moment * (law - changed) for law, changed in zip(first, second, strict=True)
    )
    label = np.logaddexp(zero, one)
    charge = label + mark - np.log(-np.expm1(label + none))
    information = [
        sum(np.exp(law) * ((law - changed) * sigma) ** 2 for law, changed in part)
        for part in (zip(first[:2], second[:2], strict=True), zip(first, second, strict=True))
    ]
    at = [0, 1_000, 2_000, 3_500]
    assert f"at {np.argmax(charge) / 1_000:.2f}σ" in PAGE
    for name, row, digits in (
        ("Fisher information of the label, in 1/σ²", information[0], 3),
        ("of label and mark", information[1], 3),
        ("chance of a mark", np.exp(first[2]), 3),
        ("", charge / charge.max(), 2),
    ):
        assert f"{name} | {' | '.join(f'{row[i]:.{digits}f}' for i in at)} |" in PAGE

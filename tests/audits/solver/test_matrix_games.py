"""Games as matrices: brute force over all adversaries, real games along every path, exact losses, claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.exact.games import best_online, best_with_challenge, delta_of_scores

from arena import PrivacyUnit, Sample, Unsupported
from arena.referees import REFEREES, Figure1
from audits.exact_loss.view_laws import view_law
from audits.registry.players import configure_adversary, configure_learner
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.choice_of_samples import pose_against, pose_every_vote
from audits.solver.game_value import GameSolution, end_before_second_challenge, extract_decisions
from audits.solver.games import online_game as online_games
from audits.solver.games.online_game import ExampleGame, online_game
from audits.solver.games.query_game import QueryGame, answer_game, challenge_game
from audits.solver.linear_game import LinearGame
from audits.solver.played_games import BestAdversary
from audits.solver.posed_games import PosedGame

EPSILONS = np.array([0.0, 0.1, 0.3])
TWO_POINTS, THREE_POINTS = {"concepts": "thresholds:1..2"}, {"concepts": "thresholds:1..3"}
LINE = {"concepts": "thresholds:1..4"}
SAMPLE = Sample([1.0, 2.0, 3.0, 4.0, 4.0], [1, 1, 1, 1, 0])
POINTS = np.arange(1.0, 5.0)  # the votes there are 0.2, 0.4, 0.6 and 0.8
TWO = POINTS[[1, 3]]
ONE_ROUND = {"rounds": 1, "teachers": 3, "chunk": 1, "answers": 4, "training_rate": 0.7, "noise": 0.9}
PREDICTORS: list[tuple[str, dict[str, Any]]] = [
    ("steady-thresholds", LINE | {"size": 5, "epsilon": 1.0, "halts": 2}),
    ("steady-thresholds", LINE | {"size": 5, "epsilon": 1.0, "halts": 1}),
    ("noisy-votes", LINE | {"size": 5, "epsilon": 1.0, "answers": 3}),
    ("everlasting-v2", LINE | ONE_ROUND),
]


ONLINE: list[tuple[str, dict[str, Any]]] = [
    ("noisy-majority", {"rounds": 4}),
    ("weighted-majority", TWO_POINTS | {"rounds": 4}),
    ("halving", TWO_POINTS),
    ("soa", TWO_POINTS),
    ("sparse-majority", TWO_POINTS),
    ("agnostic-experts", TWO_POINTS | {"rounds": 3, "stretches": 3, "share": 0.0, "epsilon": 2.0}),
]


def solve(game: LinearGame, epsilons: np.ndarray = EPSILONS) -> GameSolution:
    return GameSolution(BeliefGraph(game, epsilons, GraphLimits()))


def compare_with_best(game: LinearGame, best: list[float]) -> None:
    root = solve(game).root
    assert root.values.upper == pytest.approx(best, abs=1e-12)
    assert root.lower() == pytest.approx(best, abs=1e-12)


def list_strategies(posed: PosedGame, rounds: int) -> list[tuple[float, float, BestAdversary]]:
    """At each ε the lower bound, and the strategy that reaches it."""
    game, moves, _ = posed.build(rounds)
    solution, found = solve(game), []
    for root, (epsilon, bound) in enumerate(zip(EPSILONS, solution.root.lower(), strict=True)):
        graph = end_before_second_challenge(extract_decisions(solution, root), moves.differ)
        found.append((epsilon, bound, BestAdversary.of(posed, moves, graph, rounds)))
    return found


# --- challenge rounds ---------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "settings"), PREDICTORS)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_value_is_that_of_the_best_of_all_adversaries(
    name: str, settings: dict[str, Any], rounds: int
) -> None:
    learner = configure_learner(name, settings)
    game, queries = challenge_game(learner, SAMPLE, TWO, rounds)
    points = np.unique(queries[queries[:, 0] == queries[:, 1]])
    law = learner.law(SAMPLE)
    best = [best_with_challenge(law, points, rounds, epsilon) for epsilon in EPSILONS]  # type: ignore[arg-type]
    compare_with_best(game, best)


@pytest.mark.parametrize("every_vote", [False, True])
@pytest.mark.parametrize("halts", [1, 2])
@pytest.mark.parametrize("name", ["above-threshold", "steady-thresholds", "between-thresholds"])
@pytest.mark.thorough
def test_the_exact_loss_of_the_strategy_is_the_lower_bound(name: str, halts: int, every_vote: bool) -> None:
    learner = configure_learner(name, LINE | {"size": 5, "epsilon": 1.0, "halts": halts})
    posed = QueryGame(learner=learner, text="", samples=(SAMPLE, SAMPLE), points=TWO)
    if every_vote:
        posed = pose_every_vote(learner)
    strategies = list_strategies(posed, rounds=3)
    for epsilon, bound, adversary in strategies:
        score = view_law(posed.learner, adversary, Figure1(t=3)).score
        assert score is not None
        exact = np.maximum(score.p0 - np.exp(epsilon) * score.p1, 0).sum()
        assert exact == pytest.approx(bound, abs=1e-12)
    assert strategies[0][1] > 1e-3


def test_the_halt_of_the_first_version_reveals_a_query() -> None:
    """Its footnote: the count of votes that nearly tie is exact. The claim is refuted without an attack."""
    learner = configure_learner(
        "everlasting-v1",
        LINE
        | {"rounds": 1, "teachers": 60, "chunk": 1, "answers": 5, "training_rate": 1.0, "noise": 0.99}
        | {"halts": 1, "alpha_1": 0.45},
    )
    claim, sample = learner.claim, Sample([1.0, 3.0], [1, 1], [30, 30])
    lower = solve(challenge_game(learner, sample, POINTS, 2)[0], np.array([claim.epsilon])).root.lower()
    assert PrivacyUnit.QUERY in claim.protects
    assert claim.delta < 0.32
    assert lower[0] > 0.63
    assert solve(challenge_game(learner, sample, POINTS, 1)[0]).root.values.upper.max() < 1e-12


def test_a_learner_that_does_not_halt_hides_the_query() -> None:
    learner = configure_learner("noisy-votes", LINE | {"size": 5, "epsilon": 1.0, "answers": 9})
    assert solve(challenge_game(learner, SAMPLE, POINTS, 4)[0]).root.values.upper.max() < 1e-12


def test_public_points_have_no_challenge() -> None:
    with pytest.raises(Unsupported, match="pate-gaussian answers at public points"):
        challenge_game(configure_learner("pate-gaussian", {"teachers": 5}), SAMPLE, POINTS, 2)


# --- states -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("halts", "rounds"), [(2, 1), (3, 2), (6, 2)])
def test_no_mass_is_lost_in_states_that_only_the_last_round_reaches(halts: int, rounds: int) -> None:
    learner = configure_learner("between-thresholds", LINE | {"size": 5, "epsilon": 1.0, "halts": halts})
    samples = SAMPLE, SAMPLE.replace_one(0, 2.0, 1)
    game, _ = answer_game(learner, samples, TWO, rounds)
    for start, which in zip(game.start, game.which, strict=True):
        measures = [start]
        for _ in range(rounds):
            after = [game.kernels[which] @ measure for measure in measures]
            for parts, measure in zip(after, measures, strict=True):
                assert (parts @ game.masses).sum(axis=1) == pytest.approx(game.masses @ measure, abs=1e-13)
            measures = [part for parts in after for part in parts[:, ~game.halts].reshape(-1, len(start))]


@pytest.mark.thorough
def test_states_that_no_game_reaches_do_not_blur_the_bounds() -> None:
    """A learner that halts for the sixth time is in none of its last states within two rounds."""
    samples = SAMPLE, SAMPLE.replace_one(0, 2.0, 1)
    settings = LINE | {"size": 5, "epsilon": 1.0}
    roots = [
        solve(
            answer_game(
                configure_learner("between-thresholds", settings | {"halts": halts}), samples, TWO, 2
            )[0]
        ).root
        for halts in (3, 6)
    ]
    assert roots[1].lower() == pytest.approx(roots[0].lower(), abs=1e-12)
    assert roots[1].values.upper == pytest.approx(roots[1].lower(), abs=1e-12)


def test_a_game_ends_with_the_last_answer_of_the_learner() -> None:
    learner = configure_learner("noisy-votes", LINE | {"size": 5, "epsilon": 1.0, "answers": 2})
    samples = SAMPLE, SAMPLE.replace_one(0, 2.0, 1)
    values = [solve(answer_game(learner, samples, POINTS, rounds)[0]).root.lower() for rounds in (2, 7)]
    assert values[0] == pytest.approx(values[1], abs=1e-15)


# --- adversaries --------------------------------------------------------------------------------------------

SMALL = {"size": 4, "epsilon": 1.0}
# Settings with which they ask at most three queries.
FIGURE1: dict[str, dict[str, int]] = {
    "training-swap": {"queries": 3},
    "membership": {"queries": 2},
    "query-swap": {"probes": 1, "after": 1},
    "halt-counter": {"budget": 1},
}
VOTING: dict[str, dict[str, int]] = {"canary": {}, "repeat-point": {}, "small-margin": {}}
PLAYED = [
    (name, settings, adversary)
    for name, settings, adversaries in (
        ("noisy-votes", SMALL | {"answers": 3}, FIGURE1),
        ("steady-thresholds", SMALL | {"halts": 2}, FIGURE1),
        ("above-threshold", SMALL, FIGURE1),
        ("static-erm", {}, FIGURE1),
        ("everlasting-v2", ONE_ROUND, FIGURE1),
        ("pate-gaussian", {"teachers": 5, "queries": 3}, VOTING),
        ("distance-to-instability", {"teachers": 31, "queries": 3}, VOTING),
    )
    for adversary in adversaries
]


@pytest.mark.parametrize(("name", "settings", "adversary"), PLAYED)
@pytest.mark.thorough
def test_no_shipped_adversary_does_better(name: str, settings: dict[str, Any], adversary: str) -> None:
    learner, rounds = configure_learner(name, settings), 3
    player = configure_adversary(adversary, (FIGURE1 | VOTING)[adversary], learner=learner)
    found = view_law(learner, player, REFEREES[learner.protocols[0]](rounds))  # type: ignore[call-arg]
    posed = pose_against(learner, player)
    game, _, unit = posed.build(rounds)
    assert found.challenges == {unit}
    for one, (own, other) in ((game, (0, 1)), (game.exchanged, (1, 0))):
        masses = found.loss.p0, found.loss.p1
        root = solve(one).root
        for epsilon, upper in zip(EPSILONS, root.values.upper, strict=True):
            exact = np.maximum(masses[own] - np.exp(epsilon) * masses[other], 0).sum()
            assert exact <= upper + 1e-12


def test_samples_with_other_quadratures_share_a_game() -> None:
    """The votes of the samples differ, and so do the nodes of the hidden threshold."""
    learner = configure_learner("between-thresholds", LINE | {"size": 5, "epsilon": 1.0})
    samples = SAMPLE, SAMPLE.replace_one(0, 2.0, 1)
    laws = [learner.law(sample) for sample in samples]
    assert len({len(law.start()) for law in laws}) == 2  # type: ignore[union-attr]
    game, points = answer_game(learner, samples, POINTS, 1)
    first, second = (
        np.asarray(law.step(np.repeat(law.start()[None], len(points), axis=0), points)).sum(axis=2)  # type: ignore[union-attr]
        for law in laws
    )
    assert solve(game).root.lower()[0] == pytest.approx(
        np.maximum(first - second, 0).sum(axis=0).max(), abs=1e-13
    )


def test_too_many_hidden_states_are_refused() -> None:
    """The private count of this learner alone has thousands of states."""
    settings = {"teachers": 3, "chunk": 1, "answers": 40, "rounds": 1, "noise": 0.2, "halts": 10}
    learner = configure_learner(
        "everlasting-counter", LINE | settings | {"training_rate": 0.5, "counter_epsilon": 2.0}
    )
    sample = Sample(np.resize(SAMPLE.points, learner.sample_size), np.ones(learner.sample_size))
    with pytest.raises(Unsupported, match=r"more than 20,000 hidden states.*Give it fewer"):
        answer_game(learner, [sample, sample.replace_one(0, 1.0, 0)], POINTS, 3)


# --- online learners ----------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "settings"), ONLINE)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_value_online_is_that_of_the_best_of_all_adversaries(
    name: str, settings: dict[str, Any], rounds: int
) -> None:
    learner = configure_learner(name, settings)
    best = [best_online(learner.online_law(), rounds, epsilon) for epsilon in EPSILONS]  # type: ignore[attr-defined]
    compare_with_best(online_game(learner, rounds)[0], best)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "settings"), ONLINE)
def test_the_exact_loss_of_the_strategy_online_is_the_lower_bound(
    name: str, settings: dict[str, Any]
) -> None:
    learner = configure_learner(name, settings)
    strategies = list_strategies(ExampleGame(learner=learner, text=""), rounds=3)
    for epsilon, bound, adversary in strategies:
        assert delta_of_scores(learner, adversary, 3, epsilon) == pytest.approx(bound, abs=1e-12)
    assert strategies[0][1] > 0.05


@pytest.mark.parametrize(("epsilon", "rounds"), [(1.0, 6), (0.5, 4)])
def test_the_claim_of_noisy_majority_holds_and_half_of_it_does_not(epsilon: float, rounds: int) -> None:
    learner = configure_learner("noisy-majority", {"rounds": rounds, "epsilon": epsilon})
    epsilons = np.array([epsilon / 2, epsilon])
    root = solve(online_game(learner, rounds)[0], epsilons).root
    assert root.values.upper[1] <= 1e-12
    assert learner.claim.curve is not None
    assert (root.values.upper <= learner.claim.curve.deltas(epsilons) + 1e-12).all()
    assert root.lower()[0] > 1e-4


@pytest.mark.thorough
def test_the_claim_of_agnostic_experts_holds() -> None:
    learner = configure_learner("agnostic-experts", THREE_POINTS | {"rounds": 4, "share": 0.0})
    root = solve(online_game(learner, 4)[0], np.array([learner.claim.epsilon])).root
    assert root.values.upper[0] <= learner.claim.delta + 1e-12


def test_one_example_stands_for_all_with_the_same_effect() -> None:
    """Labels alone matter to noisy-majority, and one round shows nothing of any example."""
    _, _, labels = online_game(configure_learner("noisy-majority", {"rounds": 4}), 3)
    assert labels.tolist() == [[0, 0], [1, 1], [0, 1], [1, 0]]
    _, _, labels = online_game(configure_learner("weighted-majority", THREE_POINTS | {"rounds": 4}), 1)
    assert len(labels) == 1


def test_a_game_that_is_too_large_is_refused_with_a_size_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = configure_learner("weighted-majority", THREE_POINTS | {"rounds": 4})
    monkeypatch.setattr(online_games, "MOST_STATES", 30)
    with pytest.raises(Unsupported, match="63 states within 4 rounds") as error:
        online_game(learner, 4)
    assert "Solve at most 3 rounds" in str(error.value)
    online_game(learner, 3)


def test_learners_without_a_distribution_are_refused() -> None:
    with pytest.raises(Unsupported, match="realizable does not declare the distribution"):
        online_game(configure_learner("realizable", THREE_POINTS), 3)
    with pytest.raises(Unsupported, match="fresh draws without counters only"):
        online_game(configure_learner("agnostic-experts", THREE_POINTS | {"rounds": 4}), 3)
    with pytest.raises(Unsupported, match="at most 4 rounds"):
        online_game(configure_learner("noisy-majority", {"rounds": 4}), 5)

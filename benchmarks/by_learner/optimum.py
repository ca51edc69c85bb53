"""Shipped adversaries beside the best adversary of small games, which the solver computes.

python benchmarks/by_learner/optimum.py [NAME ...] [--rounds T]

Every adversary that plays the learner's protocol with neighbouring training sets makes at most T queries,
with its other settings at their defaults. Its ε is exact, at the claim's δ plus a thousandth of the largest δ
of the game, since a pure claim has δ = 0. Beside it is the optimum for three sets of vote pairs: those of its
own samples, those that thresholds on a line allow, and all. Adversaries that draw random numbers or need more
queries are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np
from tabulate import tabulate

ROOT = Path(__file__).parents[2]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests")]  # as pytest has them

from mutants.figure1.aggregators import KeepsThreshold  # noqa: E402 - the path comes first

from arena import (  # noqa: E402
    REFEREES,
    Adversary,
    ArenaError,
    Learner,
    PrivacyUnit,
    Sample,
    Train,
    Training,
)
from audits.exact_loss.privacy_loss import PrivacyLoss  # noqa: E402
from audits.exact_loss.view_laws import view_law  # noqa: E402
from audits.registry.match import configure_game  # noqa: E402
from audits.registry.players import (  # noqa: E402
    ADVERSARIES,
    configure_adversary,
    configure_learner,
)
from audits.solver.choice_of_samples import pose_every_vote  # noqa: E402
from audits.solver.games.query_game import QueryGame  # noqa: E402
from audits.solver.solution import solve  # noqa: E402

RARE = 1e-3  # of the largest δ
STEP = 5e-4  # to which an ε is computed
HALF = 4.0  # ε in place of half of an infinite one
HEAD = ("learner", "δ", "adversary", "ε", "its samples", "line", "all votes", "share", "δ(0)", "δ(ε/2)")


def build_learners(rounds: int) -> Iterator[tuple[str, Learner]]:
    """Learners with few teachers, so that all votes are solved within a minute, and their names."""
    votes = {"size": 10, "epsilon": 1.0}
    screened = {"teachers": 15, "queries": rounds, "threshold": 3.0, "scale": 2.0}
    for name, settings in (
        ("noisy-votes", votes | {"epsilon": 0.5, "answers": rounds}),
        ("above-threshold", votes),
        ("above-threshold", votes | {"halts": 2}),
        ("between-thresholds", votes | {"alpha": 0.3}),
        ("between-thresholds", votes | {"alpha": 0.3, "halts": 2}),
        ("steady-thresholds", votes | {"epsilon": 0.5, "alpha": 0.4, "halts": 1}),
        ("steady-thresholds", votes | {"epsilon": 0.5, "alpha": 0.4, "halts": 2}),
        ("pate-gaussian", {"teachers": 11, "queries": rounds}),
        ("distance-to-instability", {"teachers": 41, "queries": rounds}),
        ("pate-svt", screened | {"threshold": 4.0, "scale": 1.0, "unstable": 1}),
        ("pate-svt", screened | {"threshold": 4.0, "scale": 1.0, "unstable": 2}),
        ("sparse-vector", screened | {"unstable": 1}),
        ("sparse-vector", screened | {"unstable": 2}),
        ("sparse-vector-printed", screened | {"unstable": 2}),
    ):
        limit = settings.get("halts", settings.get("unstable"))
        yield name if limit is None else f"{name}, {limit}", configure_learner(name, settings)
    yield "keeps-threshold, 2", KeepsThreshold(queries=rounds)


def list_pairs(game: QueryGame) -> list[tuple[int, int]]:
    """The votes of both worlds at each point of a posed game."""
    return [tuple(votes) for votes in count_votes(game.learner, game.samples, game.points).T.tolist()]


def count_votes(learner: Learner, samples: tuple[Sample, Sample], points: np.ndarray) -> np.ndarray:
    """(2, m): the votes for label 1 in both worlds, at points (m, ...)."""
    state = learner.start(2 * len(points), np.random.default_rng(0))
    state.train(Training.of(samples, np.repeat([0, 1], len(points))))
    shares = state.votes(np.tile(points, (2,) + (1,) * (points.ndim - 1)))
    return np.rint(shares.reshape(2, -1) * (learner.sample_size or 0)).astype(int)


def find_adversaries(learner: Learner, rounds: int) -> Iterator[tuple[Adversary, PrivacyLoss]]:
    """The adversaries that swap training sets in a game of so many queries, and the loss of their views."""
    (protocol,) = learner.protocols
    for name in ADVERSARIES.list_names():
        kind = ADVERSARIES.find(name)
        if protocol not in kind.protocols:
            continue
        settings = {"queries": rounds} if "queries" in attrs.fields_dict(kind) else {}
        try:
            adversary = configure_adversary(name, settings, learner=learner)
            adversary, referee = configure_game(REFEREES[protocol], adversary, rounds)
            law = view_law(learner, adversary, referee)
        except ArenaError:
            continue
        if PrivacyUnit.TRAINING_EXAMPLE in law.challenges:
            yield adversary, law.loss


def read_samples(adversary: Adversary) -> tuple[Sample, Sample]:
    """The training sets with which it opens the game."""
    move = next(adversary.play(2, np.random.default_rng(0)))
    assert isinstance(move, Train)
    assert isinstance(move.sample, Sample)
    assert isinstance(move.other, Sample)
    return move.sample, move.other


def find_epsilon(game: QueryGame, chosen: np.ndarray, rounds: int, delta: float) -> float:
    """The ε of the best adversary that queries the chosen points, to three digits after the point."""
    bracket = solve(select_points(game, chosen), rounds=rounds, delta=delta).epsilon_at
    low, high = bracket.lower, bracket.upper
    while STEP < high - low < np.inf:
        middle = (low + high) / 2
        low, high = (middle, high) if solve_at(game, chosen, rounds, middle) > delta else (low, middle)
    return low


def solve_at(game: QueryGame, chosen: np.ndarray, rounds: int, epsilon: float) -> float:
    """δ*(ε), from below."""
    curve = solve(select_points(game, chosen), rounds=rounds, epsilons=[epsilon]).curve
    return next(point.lower for point in curve if point.epsilon == epsilon)


def select_points(game: QueryGame, chosen: np.ndarray) -> QueryGame:
    return attrs.evolve(game, points=game.points[chosen], names=None)


def measure(name: str, learner: Learner, rounds: int) -> Iterator[tuple[object, ...]]:
    """One row for every adversary, those with the largest ε first."""
    game = pose_every_vote(learner)
    pairs = list_pairs(game)
    every = np.ones(len(pairs), bool)
    line = np.array([first <= second for first, second in pairs])
    delta = learner.claim.delta % 1.0 + RARE * solve_at(game, every, rounds, 0.0)
    best, on_line = (find_epsilon(game, chosen, rounds, delta) for chosen in (every, line))
    half = on_line / 2 if np.isfinite(on_line) else HALF
    optimum = [solve_at(game, line, rounds, epsilon) for epsilon in (0.0, half)]
    found = list(find_adversaries(learner, rounds))
    found.sort(key=lambda each: -each[1].epsilon_at(delta).lower)
    for adversary, loss in found:
        samples = read_samples(adversary)
        points = np.unique(np.concatenate([sample.points for sample in samples]).astype(float))
        points = np.unique([np.nextafter(points, -np.inf), points, np.nextafter(points, np.inf)])
        own = {tuple(votes) for votes in count_votes(learner, samples, points).T.tolist()}
        chosen = np.array([pair in own for pair in pairs])
        epsilon = loss.epsilon_at(delta).lower
        yield (
            name,
            f"{delta:.2g}",
            adversary.name,
            f"{epsilon:.3f}",
            *(f"{limit:.3f}" for limit in (find_epsilon(game, chosen, rounds, delta), on_line, best)),
            f"{min(epsilon / on_line, 1):.0%}",
            *(f"{loss.delta(at).lower / most:.0%}" for at, most in zip((0.0, half), optimum, strict=True)),
        )


def main() -> None:
    options = argparse.ArgumentParser(description="Shipped adversaries beside the best one of small games.")
    options.add_argument("names", nargs="*")
    options.add_argument("--rounds", type=int, default=4)
    arguments = options.parse_args()
    rows: list[tuple[object, ...]] = []
    for name, learner in build_learners(arguments.rounds):
        if not arguments.names or learner.name in arguments.names:
            rows += measure(name, learner, arguments.rounds)
            print(*rows[-1], file=sys.stderr, flush=True)
    print(f"T = {arguments.rounds}")
    print(tabulate(rows, HEAD, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()

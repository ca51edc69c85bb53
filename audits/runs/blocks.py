"""Playing blocks of a plan."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from arena import Adversary, GameAdversary, Learner, Played, Referee, Unsupported, play
from arena.randomness import block_seed, streams
from arena.released import LEAST
from audits.distinguishers.view_features import Block, ViewCounts, view_features
from audits.registry.match import check_protected
from audits.registry.origins import find_other_versions, find_packages
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan
from audits.runs.workers import Workers, WorkersFailed, map_in_order
from audits.statistics.score_histogram import EXACT, ScoreBins
from audits.statistics.score_pairs import PairCounts

_SEVERAL_GAMES = 64  # which show whether the adversary returns a score, and whether text is released


def play_blocks(
    plan: Plan,
    indices: Sequence[int],
    workers: int | Workers = 1,
    *,
    bins: ScoreBins | None = None,
    keep: Callable[[int, Block], None] | None = None,
) -> Generator[Block, None, None]:
    """The blocks of a plan in the order of `indices`, played by workers and checked.

    bins: as `play_block` takes them. keep: called with every index and block as they arrive, in any order.
    Raises: whatever `play_block` and `audits.runs.workers.map_in_order` raise.
    """
    play_one = partial(play_block, plan, bins=bins)
    if not Workers.from_jobs(workers).local:
        play_one = partial(play_with_packages, find_packages((plan.learner, plan.adversary)), play_one)
    return map_in_order(play_one, indices, workers, keep=keep, find_fault=partial(find_fault, plan))


def play_with_packages(packages: Mapping[str, str], play_one: Callable[[int], Block], index: int) -> Block:
    """Play a block on a worker elsewhere. Raises: WorkersFailed if it has other versions of the packages."""
    others = find_other_versions(packages)
    if others:
        raise WorkersFailed(
            f"the players come from packages of which the worker {socket.gethostname()} has other versions: "
            f"{others}",
            remedy="Install the same versions there.",
        )
    return play_one(index)


def choose_bins(plan: Plan, first_blocks: Sequence[Block] | None = None) -> ScoreBins:
    """The bins in which a plan's later blocks count their scores.

    first_blocks: the blocks that count exactly; they are played if they are not given.
    """
    exact = plan.blocks.exact
    if exact == len(plan.blocks) or plan.distinguisher == LEARNED:
        return EXACT
    blocks = [play_block(plan, index) for index in range(exact)] if first_blocks is None else first_blocks
    return ScoreBins.of(block for block in blocks if isinstance(block, PairCounts))


def play_block(plan: Plan, index: int, *, bins: ScoreBins | None = None) -> Block:
    """Play the pairs of block `index` and count their scores, or their views if the distinguisher is learned.

    bins: `choose_bins(plan)`, which is called for a later block if they are not given.

    Raises: whatever `arena.play` raises; Unsupported if the adversary returns no score where one is needed;
    InvalidArgument if the worlds differ in something that the learner does not protect.
    """
    pairs, seed = plan.blocks[index], block_seed(plan.seed, index)
    common = uses_common_random_numbers(plan)
    # One batch for each world, so that no player sees both, in an order that no player knows. The adversary
    # draws the same in both: what it draws for a whole batch must not tell the worlds apart.
    results = {}
    for place, world in enumerate((0, 1) if streams(seed).referee.integers(2) else (1, 0)):
        played = _play(plan, np.full(pairs, world, bool), seed, coins=0 if common else place)
        results[world] = _evaluate(plan, played)
    by_world = [results[0], results[1]]
    if plan.distinguisher == LEARNED:
        return ViewCounts.of(*by_world)
    if plan.distinguisher == LIKELIHOOD:
        return PairCounts.of_levels(by_world[0].levels, by_world[0].of_game, by_world[1].of_game)
    if index < plan.blocks.exact:
        return PairCounts.of(*by_world)
    return (choose_bins(plan) if bins is None else bins).count(*by_world)


def find_fault(plan: Plan, index: int, block: object) -> str:
    """Why this cannot be block `index`, in words; empty if it can."""
    if not isinstance(block, PairCounts | ViewCounts):
        return f"is no block ({type(block).__name__})"
    pairs, expected = block.pairs, plan.blocks[index]
    return "" if pairs == expected else f"has {pairs:,} pairs of games, not {expected:,}"


def uses_common_random_numbers(plan: Plan) -> bool:
    """Whether both games of a pair use the same random numbers, each in its world.

    A bet stays fair under any coupling of the two games, as long as pairs are independent. With common random
    numbers the games differ only where the mechanism makes them differ, so far fewer pairs suffice.
    """
    return (
        plan.learner.common_random_numbers
        and not plan.faults
        and not isinstance(plan.adversary, GameAdversary)
    )


def _play(plan: Plan, worlds: np.ndarray, seed: np.random.SeedSequence, coins: int) -> Played:
    played = play(
        plan.learner,
        plan.adversary,
        plan.referee,
        games=len(worlds),
        seed=seed,
        worlds=worlds,
        faults=plan.faults,
        record=plan.distinguisher != SCORE,
        coins=coins,
    )
    check_outcome(plan, played)
    return played


def _evaluate(plan: Plan, played: Played) -> Any:
    """The score of each game (n,), or the features of its view if the distinguisher is learned."""
    if plan.distinguisher == LEARNED:
        return view_features(played)
    if plan.distinguisher == LIKELIHOOD:
        from audits.distinguishers.likelihood_ratio import likelihood_ratios  # slow to import

        return likelihood_ratios(plan.learner, plan.adversary, plan.referee, played)
    return played.score


def choose_distinguisher(
    learner: Learner, adversary: Adversary, referee: Referee, *, faults: bool = False
) -> str:
    """The score, if the adversary returns one; else the likelihood ratio, if known; else a learned one.

    faults: whether failures of the learner are part of the view, of which no likelihood ratio knows.
    """
    returns_score = adversary.returns_score
    if referee.two_worlds and returns_score is None:
        games = _SEVERAL_GAMES if faults or adversary.scores_release else 2
        played = play(learner, adversary, referee, games=games, seed=0, faults=faults, record=True)
        # The engine scores games that failed.
        returns_score = played.score is not None and (played.failed is None or not played.failed.all())
        if returns_score and adversary.scores_release:
            returns_score = all(_shows_numbers(each) for each in played.single_games or [played])
    if returns_score or not referee.two_worlds:
        return SCORE
    if faults:
        return LEARNED
    from audits.distinguishers.likelihood_ratio import build_likelihood_ratio  # slow to import

    try:
        build_likelihood_ratio(learner, adversary, referee)
    except Unsupported:
        return LEARNED
    return LIKELIHOOD


def _shows_numbers(played: Played) -> bool:
    """Whether the adversary saw nothing but finite numbers."""
    return all((np.abs(part.astype(float)) < LEAST).all() for part in played.shown)


def check_outcome(plan: Plan, played: Played) -> None:
    """Refuse a batch of games whose outcome says nothing about the claim."""
    if played.score is None and plan.distinguisher == SCORE:
        raise Unsupported(
            f"{plan.adversary.name} returns no score, so an audit cannot tell the worlds apart by it",
            remedy="Let play() return one number for each game, higher if it looks like world 1, or have a "
            "distinguisher learned.",
        )
    check_protected(played.challenges, plan.learner, plan.adversary)

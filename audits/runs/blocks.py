"""Playing blocks of a plan."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import numpy as np

from arena import Adversary, GameAdversary, InvalidArgument, Learner, Played, Referee, Unsupported, play
from arena.randomness import block_seed
from audits.distinguishers.view_features import Block, ViewCounts, features
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan
from audits.runs.workers import Workers, in_order
from audits.statistics.score_pairs import PairCounts


def play_blocks(
    plan: Plan,
    indices: Sequence[int],
    workers: int | Workers = 1,
    *,
    keep: Callable[[int, Block], None] | None = None,
) -> Generator[Block, None, None]:
    """Blocks of a plan in the order of `indices`, by workers; what cannot be its block is played again.

    keep: called with every index and block as they come, in any order.
    Raises what `play_block` and `audits.runs.workers.in_order` raise.
    """
    return in_order(partial(play_block, plan), indices, workers, keep=keep, fault=partial(fault, plan))


def play_block(plan: Plan, index: int) -> Block:
    """Play the pairs of block `index` and count their scores, or their views where a distinguisher is learned.

    Raises what `arena.play` raises; Unsupported if the adversary gives no score where one is needed;
    InvalidArgument if the worlds differ in something that the learner's claim does not speak of.
    """
    pairs, seed = plan.pairs(index), block_seed(plan.seed, index)
    if coupled(plan):
        both = [_told(plan, _played(plan, pairs, seed, np.full(pairs, w, bool))) for w in range(2)]
    else:
        played = _played(plan, 2 * pairs, seed, None)
        told, games = _told(plan, played), np.arange(2 * pairs).reshape(-1, 2)
        # The referee's coin says which game of a pair is in which world.
        of_world_0 = played.worlds[games[:, 0]].astype(int)
        both = [told[games[np.arange(pairs), of_world_0 ^ w]] for w in range(2)]
    if plan.distinguisher == LEARNED:
        return ViewCounts.of(*both)
    if plan.distinguisher == LIKELIHOOD:
        return PairCounts.of_levels(both[0].levels, both[0].of_game, both[1].of_game)
    return PairCounts.of(*both)


def fault(plan: Plan, index: int, block: object) -> str:
    """What shows that this cannot be block `index`; nothing if it can."""
    if not isinstance(block, PairCounts | ViewCounts):
        return f"is no block ({type(block).__name__})"
    pairs, expected = block.pairs, plan.pairs(index)
    return "" if pairs == expected else f"has {pairs:,} pairs of games, not {expected:,}"


def coupled(plan: Plan) -> bool:
    """Whether the games of a pair are played with the same coins, each in its world.

    Any link between the two games of a pair keeps a bet fair, as long as pairs are independent. With the
    same coins they differ where the mechanism makes them differ, and far fewer pairs show it.
    """
    return (
        plan.learner.common_random_numbers
        and not plan.faults
        and not isinstance(plan.adversary, GameAdversary)
    )


def _played(plan: Plan, games: int, seed: np.random.SeedSequence, worlds: np.ndarray | None) -> Played:
    played = play(
        plan.learner,
        plan.adversary,
        plan.referee,
        games=games,
        seed=seed,
        worlds=worlds,
        faults=plan.faults,
        record=plan.distinguisher != SCORE,
    )
    check_audited(plan, played)
    return played


def _told(plan: Plan, played: Played) -> Any:
    """What each game says: its score (n,), or the features of its view where a distinguisher is learned."""
    if plan.distinguisher == LEARNED:
        return features(played)
    if plan.distinguisher == LIKELIHOOD:
        from audits.distinguishers.likelihood_ratio import likelihood_ratios  # slow to import

        return likelihood_ratios(plan.learner, plan.adversary, plan.referee, played)
    return played.score


def choose_distinguisher(learner: Learner, adversary: Adversary, referee: Referee) -> str:
    """The adversary's score if it gives one; else the likelihood ratio if it is told; else a learned one."""
    returns_score = adversary.returns_score
    if referee.two_worlds and returns_score is None:
        returns_score = play(learner, adversary, referee, games=2, seed=0).score is not None
    if returns_score or not referee.two_worlds:
        return SCORE
    from audits.distinguishers.likelihood_ratio import ratio_of  # slow to import

    try:
        ratio_of(learner, adversary, referee)
    except Unsupported:
        return LEARNED
    return LIKELIHOOD


def check_audited(plan: Plan, played: Played) -> None:
    """Refuse a table whose outcome cannot speak about the claim."""
    if played.score is None and plan.distinguisher == SCORE:
        raise Unsupported(
            f"{plan.adversary.name} returns no score, so an audit has nothing to tell the worlds by",
            remedy="Let play() return one number a game, higher where it looks like world 1, or have a "
            "distinguisher learned.",
        )
    strays = sorted(played.challenges - set(plan.learner.claim.protects))
    if strays:
        raise InvalidArgument(
            f"{plan.adversary.name} lets the worlds differ in {strays[0]}, which {plan.learner.name} "
            f"does not promise to protect",
            remedy=f"It protects {' and '.join(plan.learner.claim.protects)}.",
        )

"""Playing one block of a plan."""

from __future__ import annotations

from arena import InvalidArgument, Played, Unsupported, play
from arena.randomness import block_seed
from audits.plan import Plan
from audits.scores import PairCounts


def play_block(plan: Plan, index: int) -> PairCounts:
    """Play the pairs of block `index` and count their scores.

    Raises what `arena.play` raises; Unsupported if the adversary gives no score; InvalidArgument if
    the worlds differ in something that the learner's claim does not speak of.
    """
    played = play(
        plan.learner,
        plan.adversary,
        plan.referee,
        games=2 * plan.pairs(index),
        seed=block_seed(plan.seed, index),
    )
    check_audited(plan, played)
    assert played.score is not None
    pairs = played.score.reshape(-1, 2)
    first_in_world_1 = played.worlds.reshape(-1, 2)[:, 0]
    world_1 = pairs[:, 0].copy()
    world_1[~first_in_world_1] = pairs[~first_in_world_1, 1]
    world_0 = pairs[:, 1].copy()
    world_0[~first_in_world_1] = pairs[~first_in_world_1, 0]
    return PairCounts.of(world_0, world_1)


def check_audited(plan: Plan, played: Played) -> None:
    """Refuse a table whose outcome cannot speak about the claim."""
    if played.score is None:
        raise Unsupported(
            f"{plan.adversary.name} returns no score, so an audit has nothing to tell the worlds by",
            remedy="Let play() return one number a game, higher where it looks like world 1.",
        )
    strays = sorted(played.challenges - set(plan.learner.claim.protects))
    if strays:
        raise InvalidArgument(
            f"{plan.adversary.name} lets the worlds differ in {strays[0]}, which {plan.learner.name} "
            f"does not promise to protect",
            remedy=f"It protects {' and '.join(plan.learner.claim.protects)}.",
        )

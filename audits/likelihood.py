"""The log-likelihood ratio of a view: no witness tells the worlds apart better.

It takes a learner that tells its law, and an adversary without coins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from arena import Adversary, Finite, Learner, Played, Referee, Released, Sample, Train, Unsupported, ValueLaw
from arena.randomness import block_seed, generator

_DECIMALS = 9


def log_likelihood_ratios(
    learner: Learner, adversary: Adversary, referee: Referee, played: Played
) -> np.ndarray:
    """(n,): log P(view in world 1) - log P(view in world 0) of the games of a recorded table.

    Infinite where a view is impossible in one world. Raises: Unsupported if the learner does not tell its
    law, or if the adversary's samples hang on coins.
    """
    ratio = _ratio(learner, adversary, referee)
    assert played.view is not None
    (reply,) = (reply for reply in played.view.replies if isinstance(reply, Released))
    # Rounded, or events would be chosen by the last bits of the values, which no told law speaks of: noise
    # added in floating point gives worlds away by them.
    return np.round(ratio(np.asarray(reply.value)), _DECIMALS)


@lru_cache(maxsize=64)
def _ratio(learner: Learner, adversary: Adversary, referee: Referee) -> Callable[[np.ndarray], np.ndarray]:
    """Values (n, ...) -> their log-likelihood ratios (n,)."""
    world_0, world_1 = laws_of_worlds(learner, adversary, referee)
    if not (isinstance(world_0, Finite) and isinstance(world_1, Finite)):
        return lambda values: _apart(world_0, world_1, values)
    # Looked up once for both laws: most of the time goes there.
    both = np.unique(np.concatenate([world_0.values, world_1.values]), axis=0)
    known, ratios = Finite(both, np.full(len(both), 1 / len(both))), _apart(world_0, world_1, both)

    def look_up(values: np.ndarray) -> np.ndarray:
        place, found = known.place(values)
        return np.where(found, ratios[place], 0.0)

    return look_up


def _apart(world_0: ValueLaw, world_1: ValueLaw, values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        ratios = world_1.log_density(values) - world_0.log_density(values)
    return np.nan_to_num(ratios, nan=0.0, posinf=np.inf, neginf=-np.inf)


@lru_cache(maxsize=64)
def laws_of_worlds(learner: Learner, adversary: Adversary, referee: Referee) -> tuple[ValueLaw, ValueLaw]:
    """The law of the released value in world 0 and in world 1.

    Raises: Unsupported if the learner does not tell its law, if the adversary draws coins, or before another
    referee than Release.
    """
    if referee.name != "Release":
        raise Unsupported(
            f"a likelihood ratio is to be had under Release, not under {referee.name}",
            remedy="Let a witness be learnt, or return a score.",
        )
    coins = generator(block_seed(0, 0))
    before = str(coins.bit_generator.state)
    move = next(adversary.play(1, coins))
    if str(coins.bit_generator.state) != before or not isinstance(move, Train):
        raise Unsupported(
            f"{adversary.name} draws coins, and a likelihood ratio takes one that does not",
            remedy="Let a witness be learnt, or return a score.",
        )
    samples = move.sample, move.sample if move.other is None else move.other
    laws = [learner.law(given if isinstance(given, Sample) else given[0]) for given in samples]
    assert isinstance(laws[0], ValueLaw)
    assert isinstance(laws[1], ValueLaw)
    return laws[0], laws[1]

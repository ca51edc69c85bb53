"""Checks that a game of a batch is independent of the others, and distributed as a game played alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import Any, cast

import attrs
import numpy as np

from arena.capabilities import PredictsMany
from arena.engine import play
from arena.errors import NotConforming
from arena.messages import (
    Answer,
    Answers,
    Hypothesis,
    Released,
    Reply,
    Shown,
    Stream,
    list_answers,
)
from arena.players import Learner
from arena.randomness import block_seed, generator
from arena.referees import Probe
from arena.released import align_columns, value_columns

RATE = 1e-9  # the probability with which a statistical check may refuse a sound player
BATCH = 100  # games

_BATCHES_COMMON = 3  # seeds with which common random numbers are checked
_BATCHES = 40  # of BATCH games, whose means are compared with each other


def check_games(learner: Learner, probe: Probe, games: int) -> None:
    """Check that the games of a batch are independent, each with the distribution of a single game."""
    _check_independence(learner, lambda seed: _extract_features(learner, probe, BATCH, seed=seed))
    features = _extract_features(learner, probe, games, seed=11)
    mixed = attrs.evolve(probe, mixed=True)
    among_others = _extract_features(learner, mixed, games, seed=12)
    among_others = {name: column[::2] for name, column in among_others.items()}
    _compare(learner, [features], [among_others], "a game does not depend on the other games of its batch")
    single = [_extract_features(learner, probe, 1, seed=100 + g) for g in range(games // 10)]
    _compare(learner, [features], single, "a game of a batch is distributed as a single game")
    if isinstance(learner.start(1, generator(block_seed(13, 0))), PredictsMany):
        in_a_row = _extract_features(learner, attrs.evolve(probe, in_a_row=True), games, seed=13)
        _compare(learner, [features], [in_a_row], "queries in a row are answered as they are one by one")


Features = dict[str, np.ndarray]


def _extract_features(learner: Learner, probe: Probe, games: int, seed: int) -> Features:
    """(games,) each, by name: numbers in [0, 1] that summarise what the probe saw of each game."""
    replies = play(learner, probe, probe.referee, games=games, seed=seed, record=True).replies
    single = [each for reply in replies for each in _list_replies(reply)]
    features = {
        f"{number} {name}": column
        for number, reply in enumerate(single)
        for name, column in _list_columns(reply, probe.points).items()
    }
    return features or {"nothing": np.zeros(games)}


def _list_replies(reply: Reply) -> Sequence[Reply]:
    """The reply, or those to each of several queries in a row."""
    return list_answers([reply]) if isinstance(reply, Answers) else [reply]


def _list_columns(reply: Reply, points: tuple[Any, ...]) -> Features:
    """(n,) each: a reply as numbers in [0, 1], hypotheses by their labels at `points`."""
    if isinstance(reply, Answer):
        return {"label": (reply.label == 1).astype(float), "halted": reply.halted.astype(float)}
    if isinstance(reply, Released) and isinstance(reply.value, Hypothesis):
        return _label_points([reply.value], points)
    if isinstance(reply, Shown):
        return {} if reply.hypothesis is None else _label_points([reply.hypothesis], points[:1])
    if isinstance(reply, Stream):
        return _label_points(reply.hypotheses, points[:1])
    columns = [value_columns(part, f"part {place}") for place, part in enumerate(reply.parts)]
    return {name: _squash(column) for part in columns for name, column in part.items()}


def _label_points(hypotheses: Sequence[Hypothesis], points: tuple[Any, ...]) -> Features:
    labels = [h(x).astype(float) for h in hypotheses for x in points]
    return {f"{place}": column for place, column in enumerate(labels)}


def _squash(column: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1]; what a game does not have becomes 0."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(np.nan_to_num(column), -500, 500))))


def _compare(learner: Learner, one: Sequence[Features], other: Sequence[Features], rule: str) -> None:
    """Compare the means of features of two sets of games by Hoeffding's inequality, at `RATE` in total."""
    parts = align_columns([*one, *other], fill=0.0)
    first, second = (np.concatenate(each) for each in (parts[: len(one)], parts[len(one) :]))
    if not first.size or not second.size:
        return
    tail = log(4.0 * first.shape[1] / RATE) / 2.0
    means = first.mean(axis=0), second.mean(axis=0)
    difference = np.abs(means[0] - means[1])
    worst = int(difference.argmax())
    if difference[worst] > sqrt(tail / len(first)) + sqrt(tail / len(second)):
        raise NotConforming(
            learner.name,
            rule,
            f"feature {worst} of the view has means {means[0][worst]:.3f} and {means[1][worst]:.3f}",
        )


def _check_independence(learner: Learner, extract: Callable[[int], Features]) -> None:
    """Check that the mean of a batch varies as 1/games; if games share random numbers, it varies more.

    For 40 batches, four times the variance of independent games has a probability below `RATE` (χ² with 39
    degrees of freedom, with room for means that are not quite normal).
    """
    batches = np.stack(align_columns([extract(seed) for seed in range(_BATCHES)], fill=0.0))
    variance = batches.reshape(-1, batches.shape[2]).var(axis=0)
    of_means = batches.mean(axis=1).var(axis=0, ddof=1) * batches.shape[1]
    if ((variance > 0.01) & (of_means > 4.0 * variance)).any():
        raise NotConforming(
            learner.name,
            "every game draws its own random numbers",
            "the means of batches vary more than those of independent games could",
        )


def check_common_bits(learner: Learner, probe: Probe) -> None:
    """Check two batches with the same random numbers, of which one has other data in every other game."""
    for seed in range(_BATCHES_COMMON):
        replies, states = [], []
        for mixed in (False, True):
            watched = _WithGenerator(learner)
            own = attrs.evolve(probe, mixed=mixed)
            played = play(cast(Learner, watched), own, probe.referee, games=BATCH, seed=seed, record=True)
            replies.append([part[::2].tobytes() for reply in played.replies for part in reply.compared])
            states.append(watched.generator_state)
        if replies[0] != replies[1] or states[0] != states[1]:
            raise NotConforming(
                learner.name,
                "with common random numbers, a game draws the same whatever other games receive",
                "other replies" if replies[0] != replies[1] else "the generator ends in another state",
            )


class _WithGenerator:
    """A learner whose generator can be read after the game."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        self._rng = rng
        return self._learner.start(games, rng)

    @property
    def generator_state(self) -> str:
        return str(self._rng.bit_generator.state)

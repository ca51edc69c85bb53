"""What passes between players is copied: exact, of plain types, and in memory that nobody can write to."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import Echo, LastLabel

from arena import (
    Adversary,
    Example,
    Figure1,
    InvalidArgument,
    Moves,
    ProtocolViolation,
    Query,
    Ready,
    Sample,
    SpecialRound,
    Train,
    play,
)
from arena.randomness import block_seed, streams
from arena.sample import own_copy, own_points


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.broadcast_to(np.float64(1.5), (4,)),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.array(["a", "bc"]),
    ],
    ids=repr,
)
def test_copies_are_equal_and_cannot_be_written_to(array: np.ndarray) -> None:
    for copy in (own_copy(array), own_copy(own_copy(array))):
        assert type(copy) is np.ndarray
        assert copy.dtype == array.dtype
        assert np.array_equal(copy, np.asarray(array))
        assert not np.shares_memory(copy, array)
        with pytest.raises(ValueError, match="WRITEABLE"):
            copy.setflags(write=True)


def test_a_change_of_the_shape_does_not_reach_a_copy() -> None:
    first = own_copy(np.arange(4.0))
    second = own_copy(first)
    first.resize((2, 2), refcheck=False)
    assert second.shape == (4,)


def test_zero_has_no_sign_and_large_integers_are_refused() -> None:
    assert not np.signbit(own_points([-0.0])).any()
    for large in (2**53 + 1, -(2**53) - 1, 2**63):
        with pytest.raises(InvalidArgument, match="2\\^53"):
            own_points([large])
    with pytest.raises(InvalidArgument, match="finite"):
        own_points(np.array([1e4000], np.longdouble) if np.finfo(np.longdouble).max > 1e308 else [np.inf])


@attrs.frozen
class Yields(Adversary):
    """Makes these moves."""

    moves: Any

    name = "yields"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield from (move for move in self.moves)  # a list takes no replies
        return np.zeros(games)


ONE, OTHER = Sample([0.0], [0], [2]), Sample([0.0], [1], [2])


def test_points_that_are_no_numbers_are_refused() -> None:
    for x in (np.array([None], object), np.zeros(2, [("a", float)]), "x", [[1.0], [1.0, 2.0]]):
        with pytest.raises(ProtocolViolation, match="points must be numbers"):
            play(Echo(), Yields([Train(ONE), Query(x)]), Figure1(), games=2, seed=1)


@pytest.mark.parametrize("world", [False, True])
def test_in_a_batch_of_one_world_a_challenge_looks_like_any_round(world: bool) -> None:
    learner = Echo()
    neighbour = ONE.replace_one(0, 0.0, 1)
    moves = [Train(ONE, neighbour)], [Train(ONE), Query(0.25), Query(0.25, 0.75)], [Train(ONE), Query(0.25)]
    for each in moves:
        play(learner, Yields(each), Figure1(), games=4, seed=1, worlds=np.full(4, world))
    trained, asked, plain = learner.states
    assert len(trained.training.samples) == 1
    assert trained.training.samples[0] == (neighbour if world else ONE)
    assert [x.strides for x in asked.queries] == 2 * [plain.queries[0].strides]


def test_no_seed_of_a_party_gives_another() -> None:
    seeds = [streams(block_seed(5, block)) for block in range(3)]
    parties = [party for each in seeds for party in (each.learner, each.adversary, each.referee)]
    entropies = {party.bit_generator.seed_seq.entropy for party in parties}
    assert len(entropies) == len(parties)
    assert all(not party.bit_generator.seed_seq.spawn_key for party in parties)
    assert all(entropy > 2**100 for entropy in entropies)


def test_an_adversary_has_no_hold_of_the_class_of_hypotheses() -> None:
    seen = []

    @attrs.frozen
    class Looks(Adversary):
        name = "looks"
        protocols = ("SpecialRound",)

        def play(self, games: int, rng: np.random.Generator) -> Moves:
            for move in (Ready(), Example(0.0, 1)):
                reply = yield move
                seen.append(reply.hypothesis)
            return np.zeros(games)

    learner = LastLabel()
    played = play(learner, Looks(), SpecialRound(1), games=2, seed=1, record=True)
    original = played.replies[0].hypothesis.concept_class
    assert seen[0].concept_class is not original
    assert seen[0].concept_class == original
    assert seen[0].concepts is not played.replies[0].hypothesis.concepts
    assert not seen[0].concepts.flags.writeable

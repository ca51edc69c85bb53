"""Checks that the games of a batch are independent; otherwise an audit would certify losses that do not
exist.

No referee can see a violation in one game, so every audit begins with these checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from arena.engine import Played, play
from arena.errors import RAISED, NotConforming, PlayerError, describe_error
from arena.game_style import GameAdversary
from arena.moves import Move
from arena.players import Adversary, Learner
from arena.points import freeze
from arena.randomness import block_seed, generator
from arena.referees import Referee
from arena.replies import Answer, Answers, Hypothesis, Received, Released, Reply, Shown, Stream
from arena.sample import Sample
from arena.testing.fresh_coins import forbid_global_randomness

_GAMES = 8
_KEPT = (0, 5)  # games whose own replies, or worlds, stay the same while those of others change


def check_games_independent(adversary: Adversary, learner: Learner, referee: Referee) -> None:
    """Check that a game's moves and score depend on the replies of that game alone.

    Records a small batch, and plays the adversary again on the recorded replies, then on replies of which
    those to other games are changed. An adversary in game style cannot see other games.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    if isinstance(adversary, GameAdversary):
        return
    replies = play(learner, adversary, referee, games=_GAMES, seed=1, record=True).replies
    moves, score = _replay(adversary, replies)
    for game in _KEPT:
        changed = tuple(_change_others(reply, keep=game) for reply in replies)
        other_moves, other_score = _replay(adversary, changed)
        for number, (move, other_move) in enumerate(zip(moves, other_moves, strict=False)):
            if not _is_same_move(move, other_move, game):
                raise NotConforming(
                    adversary.name,
                    "a game's moves depend on the replies of that game alone",
                    f"move {number} of game {game} changed when only the replies of other games did",
                )
        if score is not None and other_score is not None and score[game] != other_score[game]:
            raise NotConforming(
                adversary.name,
                "a game's score depends on the replies of that game alone",
                f"the score of game {game} changed when only the replies of other games did",
            )


def check_plays_alike(adversary: Adversary, learner: Learner, referee: Referee) -> Played | None:
    """Check that an adversary plays the same on the same replies and random numbers, and uses no global
    generator.

    For learners whose games no seed repeats. An adversary in game style is not checked. Returns the games, or
    None if none were played.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    if isinstance(adversary, GameAdversary):
        return None
    played = play(learner, adversary, referee, games=_GAMES, seed=7, record=True)
    (moves, score), (other_moves, other_score) = forbid_global_randomness(
        adversary.name, lambda: [_replay(adversary, played.replies) for _ in range(2)]
    )
    same = all(
        _is_same_move(move, other, game)
        for move, other in zip(moves, other_moves, strict=False)
        for game in range(_GAMES)
    )
    if not same or not np.array_equal(score, other_score):  # type: ignore[arg-type]
        raise NotConforming(
            adversary.name,
            "the same random numbers and replies give the same game",
            f"{'scores' if same else 'moves'} differ",
        )
    return played


def check_common_random_numbers(learner: Learner, adversary: Adversary, referee: Referee) -> None:
    """Check that a learner with common random numbers gives a game the same replies whatever the worlds of
    other games.

    Otherwise pairs of games that share random numbers would depend on other pairs.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    kept = np.isin(np.arange(_GAMES), _KEPT)
    for world in (False, True):
        one_world, two_worlds = (
            play(learner, adversary, referee, games=_GAMES, seed=1, record=True, worlds=worlds).replies
            for worlds in (np.full(_GAMES, world), np.where(kept, world, not world))
        )
        for number, (reply, other) in enumerate(zip(one_world, two_worlds, strict=True)):
            if not all(_is_same_reply(reply, other, game) for game in _KEPT):
                raise NotConforming(
                    learner.name,
                    "with common random numbers, a game draws the same whatever other games receive",
                    f"reply {number} of a game changed when only the worlds of other games did",
                )


def _is_same_reply(reply: Reply, other: Reply, game: int) -> bool:
    return all(np.array_equal(a[game], b[game]) for a, b in zip(reply.parts, other.parts, strict=True))


def _replay(adversary: Adversary, replies: tuple[Reply, ...]) -> tuple[list[Move], np.ndarray | None]:
    """The moves and the score of the adversary on these replies, with the same random numbers every time."""
    play_generator = adversary.play(_GAMES, generator(block_seed(1, 0)))
    moves: list[Move] = []
    try:
        moves.append(next(play_generator))
        for reply in replies:
            moves.append(play_generator.send(reply))
    except StopIteration as end:
        return moves, None if end.value is None else np.asarray(end.value)
    except RAISED as error:
        text = f"{describe_error(error)} (where other games' replies were changed)"
        raise PlayerError("adversary", adversary.name, len(moves), text) from error
    play_generator.close()
    return moves, None  # the adversary would go on for longer than was recorded


def _change_others(reply: Reply, keep: int) -> Reply:
    """The reply, changed for every game but `keep`."""
    others = np.arange(_GAMES) != keep
    if isinstance(reply, Answer | Answers):
        label, halted = reply.label.copy(), reply.halted.copy()
        label[others] = np.where(label[others] == 1, 0, 1)
        halted[others] ^= True
        return type(reply)(freeze(label), freeze(halted))
    if isinstance(reply, Received):
        return Received(freeze(np.where(others, ~reply.halted, reply.halted)))
    if isinstance(reply, Released):
        return Released(_rotate_others(reply.value, others))
    if isinstance(reply, Shown):
        return Shown(None if reply.hypothesis is None else _rotate_others(reply.hypothesis, others))
    if isinstance(reply, Stream):
        return Stream(tuple(_rotate_others(h, others) for h in reply.hypotheses))
    return reply


def _rotate_others(value: Any, others: np.ndarray) -> Any:
    """The values or hypotheses with those of other games passed on to the next of them."""
    if isinstance(value, Hypothesis):
        return Hypothesis(value.concept_class, _rotate_others(np.asarray(value.concepts), others))
    changed = value.copy()
    changed[others] = np.roll(value[others], 1, axis=0)
    return freeze(changed)


def _is_same_move(move: Move, other: Move, game: int) -> bool:
    if type(move) is not type(other):
        return False
    names = [field.name for field in attrs.fields(type(move))]
    return all(_is_same_part(getattr(move, name), getattr(other, name), game) for name in names)


def _is_same_part(part: Any, other: Any, game: int) -> bool:
    """Whether a part of a move, given once for all games or once for each, is the same for `game`."""
    if isinstance(part, Iterator) and isinstance(other, Iterator):
        return True  # it is committed before any reply, and run to its end before there is one
    part, other = _select_game(part, game), _select_game(other, game)
    if isinstance(part, Sample) or part is None:
        return bool(part == other)
    return np.array_equal(part, other)


def _select_game(part: Any, game: int) -> Any:
    if part is None or isinstance(part, Sample):
        return part
    if isinstance(part, list | tuple) and len(part) == _GAMES and isinstance(part[0], Sample):
        return part[game]
    array = np.asarray(part)
    return array[game] if array.ndim and len(array) == _GAMES else array

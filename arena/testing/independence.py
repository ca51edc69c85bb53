"""Games apart: a game that hangs together with another game of its table would make an audit certify what is
not there.

No referee can see that in one game, so every audit begins with these checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from arena.engine import play
from arena.errors import RAISED, NotConforming, PlayerError
from arena.game_style import GameAdversary
from arena.moves import Move
from arena.players import Adversary, Learner
from arena.points import freeze
from arena.randomness import block_seed, generator
from arena.referees import Referee
from arena.replies import Answer, Answers, Hypothesis, Received, Released, Reply, Shown, Stream
from arena.sample import Sample
from arena.testing.fresh_coins import no_global_randomness

_GAMES = 8
_KEPT = (0, 5)  # the games whose own replies are left as they were


def check_games_apart(adversary: Adversary, learner: Learner, referee: Referee) -> None:
    """Check that a game's moves and score depend on the replies of that game alone.

    Records a small table, plays the adversary again on the recorded replies, then on replies of which those
    of other games are changed. An adversary in game style is apart by construction.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    if isinstance(adversary, GameAdversary):
        return
    played = play(learner, adversary, referee, games=_GAMES, seed=1, record=True)
    assert played.view is not None
    replies = played.view.replies
    moves, score = _driven(adversary, replies)
    for game in _KEPT:
        changed = tuple(_changed(reply, keep=game) for reply in replies)
        other_moves, other_score = _driven(adversary, changed)
        for number, (one, other) in enumerate(zip(moves, other_moves, strict=False)):
            if not _same_move(one, other, game):
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


def check_told_alike(adversary: Adversary, learner: Learner, referee: Referee) -> None:
    """Check that an adversary which is told the same, with the same coins, plays the same and uses no global
    generator: for learners whose games no seed repeats.

    An adversary in game style is not driven.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    if isinstance(adversary, GameAdversary):
        return
    played = play(learner, adversary, referee, games=_GAMES, seed=7, record=True)
    assert played.view is not None
    with no_global_randomness(adversary.name):
        (moves, score), (again, other) = (_driven(adversary, played.view.replies) for _ in range(2))
    same = all(_same_move(a, b, game) for a, b in zip(moves, again, strict=False) for game in range(_GAMES))
    if not same or not np.array_equal(score, other):  # type: ignore[arg-type]
        raise NotConforming(
            adversary.name,
            "the same coins and replies give the same game",
            f"{'scores' if same else 'moves'} differ",
        )


def check_common_random_numbers(learner: Learner, adversary: Adversary, referee: Referee) -> None:
    """Check, on a small table, that a learner which says it is in step gives a game the same replies whatever
    the world of other games.

    Else pairs of games that share their coins would hang together with other pairs, and an audit would
    certify what is not there.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    kept = np.isin(np.arange(_GAMES), _KEPT)
    for world in (False, True):
        alike, mixed = (
            play(learner, adversary, referee, games=_GAMES, seed=1, record=True, worlds=worlds)
            for worlds in (np.full(_GAMES, world), np.where(kept, world, not world))
        )
        assert alike.view is not None
        assert mixed.view is not None
        for number, (one, other) in enumerate(zip(alike.view.replies, mixed.view.replies, strict=True)):
            if not all(_same_reply(one, other, game) for game in _KEPT):
                raise NotConforming(
                    learner.name,
                    "a learner that is in step draws the same coins whatever other games are told",
                    f"reply {number} of a game changed when only the worlds of other games did",
                )


def _same_reply(one: Reply, other: Reply, game: int) -> bool:
    return all(np.array_equal(a[game], b[game]) for a, b in zip(one.parts, other.parts, strict=True))


def _driven(adversary: Adversary, replies: tuple[Reply, ...]) -> tuple[list[Move], np.ndarray | None]:
    """The moves and the score of the adversary when it is told `replies`, with the same coins every time."""
    generator_of_moves = adversary.play(_GAMES, generator(block_seed(1, 0)))
    made: list[Move] = []
    try:
        made.append(next(generator_of_moves))
        for reply in replies:
            made.append(generator_of_moves.send(reply))
    except StopIteration as end:
        return made, None if end.value is None else np.asarray(end.value)
    except RAISED as error:
        told = f"{type(error).__name__} ({error}) where other games' replies were changed"
        raise PlayerError("adversary", adversary.name, len(made), told) from error
    generator_of_moves.close()
    return made, None  # it would go on longer than recorded, and has no score yet


def _changed(reply: Reply, keep: int) -> Reply:
    """The reply with every game but `keep` told something else."""
    others = np.arange(_GAMES) != keep
    if isinstance(reply, Answer | Answers):
        label, halted = reply.label.copy(), reply.halted.copy()
        label[others] = np.where(label[others] == 1, 0, 1)
        halted[others] ^= True
        return type(reply)(freeze(label), freeze(halted))
    if isinstance(reply, Received):
        return Received(freeze(np.where(others, ~reply.halted, reply.halted)))
    if isinstance(reply, Released):
        return Released(_shuffled(reply.value, others))
    if isinstance(reply, Shown):
        return Shown(None if reply.hypothesis is None else _shuffled(reply.hypothesis, others))
    if isinstance(reply, Stream):
        return Stream(tuple(_shuffled(h, others) for h in reply.hypotheses))
    return reply


def _shuffled(value: Any, others: np.ndarray) -> Any:
    """What other games were told, handed around among them and, for numbers, moved."""
    if isinstance(value, Hypothesis):
        return Hypothesis(value.concept_class, _shuffled(np.asarray(value.concepts), others))
    changed = value.copy()
    changed[others] = np.roll(value[others], 1, axis=0)
    return freeze(changed)


def _same_move(one: Move, other: Move, game: int) -> bool:
    if type(one) is not type(other):
        return False
    return all(
        _same_part(getattr(one, a.name), getattr(other, a.name), game) for a in attrs.fields(type(one))
    )


def _same_part(one: Any, other: Any, game: int) -> bool:
    """Whether a part of a move says the same to `game`: given once for all games, or with an entry for
    each.
    """
    if isinstance(one, Iterator) and isinstance(other, Iterator):
        return True  # committed before any reply, and run to its end before there is one
    one, other = _of_game(one, game), _of_game(other, game)
    if isinstance(one, Sample) or one is None:
        return bool(one == other)
    return np.array_equal(one, other)


def _of_game(part: Any, game: int) -> Any:
    if part is None or isinstance(part, Sample):
        return part
    if isinstance(part, list | tuple) and len(part) == _GAMES and isinstance(part[0], Sample):
        return part[game]
    array = np.asarray(part)
    return array[game] if array.ndim and len(array) == _GAMES else array

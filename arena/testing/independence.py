"""Checks that the games of a batch are independent, which no referee can see in one game; otherwise an audit
would certify losses that do not exist."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import deepcopy
from hashlib import sha256
from typing import Any, TypeVar

import attrs
import numpy as np

from arena.dataset import Dataset
from arena.engine import Played, play
from arena.errors import RAISED, NotConforming, PlayerError, describe_error
from arena.messages import Answer, Answers, GradientCanary, Move, Reply
from arena.players import Adversary, GameAdversary, Learner, Moves
from arena.randomness import block_seed, generator
from arena.referees import Referee
from arena.sample import own_copy

P = TypeVar("P")

_GAMES = 8  # of a batch, unless the caller says how large they are
_LARGE_ENOUGH = 64  # games of which half are changed, so that hardly any pair of games is changed together
_MAX_IMPORTING = 4  # times that games are played again because they imported modules


def check_repeats(learner: Learner, adversary: Adversary, referee: Referee, name: str) -> Played:
    """Check that the same seed gives the same games without global generators; `name` is blamed."""
    record = not isinstance(adversary, GameAdversary)

    def play_few() -> Played:
        return play(learner, adversary, referee, games=_GAMES, seed=7, record=record)

    first, second = forbid_global_randomness(name, play_few), play_few()
    for part, one, other in zip(("views", "scores"), _outcome(first), _outcome(second), strict=True):
        if one != other:
            raise NotConforming(name, "the same random numbers give the same game", f"{part} differ")
    return first


def _outcome(played: Played) -> tuple[list[bytes], bytes]:
    view = [part.tobytes() for part in played.shown]
    halted = b"" if played.halted is None else played.halted.tobytes()
    return [*view, halted], b"" if played.score is None else played.score.tobytes()


def forbid_global_randomness(name: str, play_games: Callable[[], P], *, lacking: Sequence[str] = ()) -> P:
    """The result of `play_games`, which may use the global generators of the process only to import modules:
    then the games are played again. lacking: words of a command line that would allow more."""
    for _ in range(_MAX_IMPORTING):
        states, modules = _read_global_states(), set(sys.modules)
        result = play_games()
        if states == _read_global_states():
            return result
        if modules.issuperset(sys.modules):
            break
    raise NotConforming(
        name,
        "all random numbers come from the generator that a player is given, none from a global one",
        "`random` or `numpy.random` was used (a function of yours may, with coins=global)",
        lacking=lacking,
    )


def suggest_coins(learner: Learner, coins: str = "global") -> tuple[str, ...]:
    """The words of a command line that let the user's code draw elsewhere, by default from the generators of
    the process; empty if it has no such setting."""
    return ("--set", f"coins={coins}") if hasattr(learner, "coins") else ()


def _read_global_states() -> tuple[object, ...]:
    numpy: Any = np.random.get_state()  # noqa: NPY002 - to see that nobody uses it
    return numpy[1].tobytes(), numpy[2], random.getstate()


def check_games_independent(
    adversary: Adversary, learner: Learner, referee: Referee, *, games: int = _GAMES
) -> None:
    """Check that a game's moves and score depend on the replies of that game alone. The adversary plays
    several times at once with the same random numbers: on the replies of the learner, and on replies of which
    those to other games are changed. One in game style cannot see these."""
    if isinstance(adversary, GameAdversary) or games < 2:
        return
    for number in {games, max(games, _LARGE_ENOUGH)}:
        play(learner, compare_plays(adversary, number), referee, games=number, seed=1)


def compare_plays(adversary: Adversary, games: int) -> Adversary:
    """The adversary, which is checked as by `check_games_independent` while it plays so many games, at least
    two; its moves and scores are the same."""
    return _Compared(adversary, _draw_changes(games), adversary.name, adversary.protocols)


@attrs.frozen(eq=False)
class _Change:
    """Game g gets the replies to game `donors[g]`, and `flip` inverts answers, except in the games `kept`,
    (n,) bool."""

    kept: np.ndarray
    donors: np.ndarray
    flip: bool = False

    def apply(self, reply: Reply) -> Any:
        if self.flip and isinstance(reply, Answer | Answers):
            label, halted = reply.label.copy(), reply.halted.copy()
            label[~self.kept] = np.where(label[~self.kept] == 1, 0, 1)
            halted[~self.kept] ^= True
            return type(reply)(own_copy(label), own_copy(halted))
        return reply.change_parts(lambda part: own_copy(part[self.donors]))


def _draw_changes(games: int) -> list[_Change]:
    """Half of the games are changed, then the other half, then all but one, then all but another."""
    rng = generator(block_seed(1, 1))
    half = rng.permutation(games) < games // 2
    first, last = (np.arange(games) == game for game in rng.choice(games, size=2, replace=False))
    changes = []
    for kept, flip in ((half, False), (~half, True), (first, False), (last, True)):
        others = np.flatnonzero(~kept)
        # One game stands for all, or each for another: neither the mean nor the order remains.
        pool = others[:1] if kept is first else rng.choice(others, size=len(others))
        changes.append(_Change(kept, np.where(kept, np.arange(games), rng.choice(pool, size=games)), flip))
    return changes


@attrs.frozen(eq=False)
class _Compared(Adversary):
    adversary: Adversary
    changes: list[_Change]
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        others = [
            _OtherPlay(self.adversary.play(games, deepcopy(rng)), change, self.name)
            for change in self.changes
        ]
        moves = self.adversary.play(games, rng)
        # The engine refuses anything that is not a generator.
        return self._relay(moves, others) if isinstance(moves, Generator) else moves

    def _relay(self, moves: Moves, others: list[_OtherPlay]) -> Moves:
        reply: Any = None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                score: np.ndarray | None = end.value
                for other in others:
                    other.compare_score(reply, score)
                return score
            for other in others:
                other.compare_move(reply, move)
            reply = yield move


class _OtherPlay:
    def __init__(self, moves: Moves, change: _Change, name: str) -> None:
        self._moves: Moves | None = moves
        self._change = change
        self._name = name
        self._number = 0
        self._score: Any = None

    def compare_move(self, reply: Reply | None, move: Move) -> None:
        other = self._advance(reply)
        if other is not None and not _is_same_move(move, other, self._change.kept):
            raise NotConforming(
                self._name,
                "a game's moves depend on the replies of that game alone",
                f"move {self._number} of a game changed when only the replies of other games did",
            )
        self._number += 1

    def compare_score(self, reply: Reply | None, score: Any) -> None:
        self._advance(reply)
        if self._moves is not None:
            self._moves.close()  # it would go on for longer
        elif score is not None and self._score is not None:
            score, other = (np.asarray(each)[self._change.kept] for each in (score, self._score))
            if not np.array_equal(score, other):
                raise NotConforming(
                    self._name,
                    "a game's score depends on the replies of that game alone",
                    "the score of a game changed when only the replies of other games did",
                )

    def _advance(self, reply: Any) -> Move | None:
        if self._moves is None:
            return None
        try:
            return self._moves.send(None if reply is None else self._change.apply(reply))
        except StopIteration as end:
            self._moves, self._score = None, end.value
            return None
        except RAISED as error:
            text = f"{describe_error(error)} (where other games' replies were changed)"
            raise PlayerError("adversary", self._name, self._number, text) from error


def check_plays_alike(adversary: Adversary, learner: Learner, referee: Referee) -> Played | None:
    """Check that an adversary plays the same on the same replies and random numbers, none of them global, for
    learners whose games no seed repeats. Returns the games, or None for an adversary in game style."""
    if isinstance(adversary, GameAdversary):
        return None
    played = play(learner, adversary, referee, games=_GAMES, seed=7, record=True)
    (moves, score), (other_moves, other_score) = forbid_global_randomness(
        adversary.name, lambda: [_replay(adversary, played.replies) for _ in range(2)]
    )
    pairs = zip(moves, other_moves, strict=False)
    same = all(_is_same_move(*pair, np.ones(_GAMES, bool)) for pair in pairs)
    if not same or not np.array_equal(score, other_score):  # type: ignore[arg-type]
        raise NotConforming(
            adversary.name,
            "the same random numbers and replies give the same game",
            f"{'scores' if same else 'moves'} differ",
        )
    return played


def check_common_random_numbers(
    learner: Learner, adversary: Adversary, referee: Referee, *, games: int = _GAMES
) -> None:
    """Check that a learner with common random numbers gives a game the same replies whatever the worlds of
    other games. Otherwise pairs of games that share random numbers would depend on other pairs."""
    kept = generator(block_seed(1, 2)).permutation(games) < (games + 1) // 2
    for world in (False, True):
        one_world: list[bytes] = []
        two_worlds: list[bytes] = []
        mixed = np.where(kept, world, not world)
        for seen, worlds in ((one_world, np.full(games, world)), (two_worlds, mixed)):
            watched = _Watched(adversary, adversary.name, adversary.protocols, kept, seen)
            play(learner, watched, referee, games=games, seed=1, worlds=worlds)
        for number, (reply, other) in enumerate(zip(one_world, two_worlds, strict=True)):
            if reply != other:
                raise NotConforming(
                    learner.own_name,
                    "with common random numbers, a game draws the same whatever other games receive",
                    f"reply {number} of a game changed when only the worlds of other games did",
                )


@attrs.frozen(eq=False)
class _Watched(Adversary):
    """The adversary; digests of the replies to the games `kept` are added to `seen`."""

    adversary: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]
    kept: np.ndarray
    seen: list[bytes]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        moves = self.adversary.play(games, rng)
        return self._relay(moves) if isinstance(moves, Generator) else moves

    def _relay(self, moves: Moves) -> Moves:
        reply: Any = None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                score: np.ndarray | None = end.value
                return score
            reply = yield move
            parts = b"".join(np.ascontiguousarray(part[self.kept]).tobytes() for part in reply.compared)
            self.seen.append(sha256(parts).digest())


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


def _is_same_move(move: Move | GradientCanary, other: Move | GradientCanary, kept: np.ndarray) -> bool:
    if type(move) is not type(other):
        return False
    names = [field.name for field in attrs.fields(type(move))]
    return all(_is_same_part(getattr(move, name), getattr(other, name), kept) for name in names)


def _is_same_part(part: Any, other: Any, kept: np.ndarray) -> bool:
    if isinstance(part, Iterator) and isinstance(other, Iterator):
        return True  # it is committed before any reply, and run to its end before there is one
    if part is None or other is None:
        return part is other
    if isinstance(part, tuple | list) and part and all(isinstance(each, GradientCanary) for each in part):
        pairs = list(zip(part, other, strict=False))
        return len(part) == len(other) and all(_is_same_move(*pair, kept) for pair in pairs)
    part, other = _select_kept(part, kept), _select_kept(other, kept)
    if isinstance(part, Dataset | list):
        return bool(part == other)
    return np.array_equal(part, other)


def _select_kept(part: Any, kept: np.ndarray) -> Any:
    if isinstance(part, Dataset):
        return part
    if isinstance(part, list | tuple) and len(part) and isinstance(part[0], Dataset):
        games = np.flatnonzero(kept) if len(part) == len(kept) else range(len(part))
        return [part[game] for game in games]
    array = np.asarray(part)
    return array[kept] if array.ndim and len(array) == len(kept) else array

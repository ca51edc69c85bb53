"""The engine: seats a learner, lets an adversary play it before a referee, and returns what happened."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.errors import RAISED, ArenaError, InvalidArgument, PlayerError, ProtocolViolation, Unsupported
from arena.game_style import GameAdversary
from arena.moves import Move
from arena.players import Adversary, Learner
from arena.points import freeze
from arena.randomness import Streams, block_seed, streams
from arena.referees import LearnerStates, Referee, Table
from arena.replies import Reply
from arena.scorebook import Noted, Scorebook
from arena.transcript import Entry, Transcript


@attrs.frozen(eq=False)
class View:
    """What the adversary saw: its replies in order, and the seed of its coins."""

    replies: tuple[Reply, ...]
    seed: np.random.SeedSequence


@attrs.frozen(eq=False, kw_only=True)
class Played:
    """The outcome of a table of n games.

    worlds: (n,) bool, which world each game was in.
    score: (n,) float64, the adversary's score, or None.
    flag: (n,) bool, where the worlds differed. challenges: what they differed in (see `arena.claims`).
    halted: (n,) bool, or None where the protocol knows no halts.
    mistakes: (n,) int, or None where the protocol counts none.
    rounds: how many rounds were played.
    noted: what the scorebook holds, or None without one.
    failed: (n,) bool, the games that ended because the learner raised, or None where that is not a reply.
    view, transcript: None unless recorded.
    alone: the recorded games one by one, where they were played so.
    """

    worlds: np.ndarray
    score: np.ndarray | None
    flag: np.ndarray
    challenges: frozenset[PrivacyUnit]
    halted: np.ndarray | None
    mistakes: np.ndarray | None
    rounds: int
    noted: Noted | None = None
    failed: np.ndarray | None = None
    view: View | None = None
    transcript: Transcript | None = None
    alone: tuple[Played, ...] = ()


def play(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    games: int,
    seed: int | np.random.SeedSequence,
    worlds: np.ndarray | None = None,
    faults: bool = False,
    record: bool = False,
    scorebook: Scorebook | None = None,
) -> Played:
    """Play `games` games in lockstep.

    Games 2j and 2j + 1 are a pair: one in each world, by the referee's coin. An adversary in game style is
    played one game after the other, each a table of its own.

    worlds: (games,) bool, the worlds instead of the coin's.
    faults: what the adversary sees includes that the learner fails: every game is played alone, and where
        the learner raises, be it a refusal such as BudgetExceeded, it ends, with the score infinity. A
        breach of the protocol is no failure and raises here too.
    scorebook: what to note while online games go on.

    Raises ProtocolViolation if a player breaks the protocol, PlayerError if it raises, InvalidArgument if
    a player does not know the protocol.
    """
    check_protocol(learner, adversary, referee)
    if games < 0:
        raise InvalidArgument("the number of games must be at least 0", value=games)
    root = block_seed(seed, 0) if isinstance(seed, int) else seed
    coins = streams(root)
    if scorebook is not None:
        _check_scorebook(scorebook, referee, faults)
    own = freeze(_worlds(referee, games, coins.referee) if worlds is None else np.array(worlds, bool))
    if own.shape != (games,):
        raise InvalidArgument(f"{games} games have as many worlds", value=own.shape)
    if not faults and not isinstance(adversary, GameAdversary):
        return _play_batch(learner, adversary, referee, own, coins, root, record, scorebook=scorebook)
    alone = [
        _play_alone(learner, adversary, referee, own, g, root, record, faults, scorebook)
        for g in range(games)
    ]
    return alone[0] if games == 1 else _joined(alone, own, record, scorebook)


def check_protocol(learner: Learner, adversary: Adversary, referee: Referee) -> None:
    """Refuse players that do not know the protocol."""
    for kind, player in (("learner", learner), ("adversary", adversary)):
        if referee.name not in player.protocols:
            raise InvalidArgument(
                f"{kind} {player.name} does not play {referee.name}",
                remedy=f"It plays {', '.join(player.protocols) or 'no protocol that it names'}.",
            )


def _check_scorebook(scorebook: Scorebook, referee: Referee, faults: bool) -> None:
    rounds = getattr(referee, "T", None)
    if rounds is None:
        raise Unsupported(
            f"{referee.name} counts no mistakes, so a scorebook has nothing to note",
            remedy="Leave it out, or play an online protocol.",
        )
    if faults:
        raise Unsupported(
            "a scorebook notes whole games, and a learner's failure ends one early",
            remedy="Leave out faults.",
        )
    scorebook.check(rounds)


def _worlds(referee: Referee, games: int, rng: np.random.Generator) -> np.ndarray:
    return pair_worlds(games, rng) if referee.two_worlds else np.zeros(games, bool)


def pair_worlds(games: int, rng: np.random.Generator) -> np.ndarray:
    """(games,) bool: of games 2j and 2j + 1, one in each world."""
    first = rng.integers(0, 2, size=(games + 1) // 2, dtype=np.int8).astype(bool)
    return np.column_stack([first, ~first]).ravel()[:games]


def _play_batch(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    worlds: np.ndarray,
    coins: Streams,
    root: np.random.SeedSequence,
    record: bool,
    faults: bool = False,
    scorebook: Scorebook | None = None,
) -> Played:
    games = len(worlds)
    log: list[Entry] | None = [] if record else None
    state = _start(learner, games, coins.learner)
    states = LearnerStates(
        state, learner.name, adversary.name, learner.point_shape, worlds, log, faults, scorebook
    )
    table = referee.open(states)
    replies: list[Reply] | None = [] if record else None
    failed = False
    try:
        returned = _run(adversary, games, coins.adversary, table, replies)
        table.close()
    except PlayerError as error:
        if not faults or error.player != "learner":
            raise
        returned, failed = np.full(games, np.inf), True
    score = _scores(returned, adversary, games, table.round)
    return Played(
        worlds=worlds,
        score=score,
        flag=table.flag,
        challenges=frozenset(table.challenges),
        halted=table.halted,
        mistakes=table.mistakes,
        rounds=table.round,
        noted=table.noted,
        failed=np.full(games, failed) if faults else None,
        view=None if replies is None else View(tuple(replies), root),
        transcript=None if log is None else Transcript(tuple(log), worlds, score),
    )


def _start(learner: Learner, games: int, rng: np.random.Generator) -> Any:
    try:
        return learner.start(games, rng)
    except ArenaError:
        raise
    except RAISED as error:
        raise PlayerError.of(error, player="learner", name=learner.name, round=0) from error


def _run(
    adversary: Adversary,
    games: int,
    rng: np.random.Generator,
    table: Table,
    replies: list[Reply] | None,
) -> object:
    """Hand moves and replies to and fro until the adversary returns; its return value."""
    moves = adversary.play(games, rng)
    if not isinstance(moves, Generator):
        raise ProtocolViolation(
            "an adversary's play is a generator of moves",
            player=f"adversary {adversary.name}",
            round=0,
            got=type(moves).__name__,
            remedy="Let play() yield its moves.",
        )
    reply: Reply | None = None
    while True:
        try:
            move = moves.send(reply) if reply is not None else next(moves)
        except StopIteration as end:
            return end.value
        except ArenaError:
            raise
        except RAISED as error:
            raise PlayerError.of(error, player="adversary", name=adversary.name, round=table.round) from error
        if not isinstance(move, Move):
            raise ProtocolViolation(
                "an adversary yields moves",
                player=f"adversary {adversary.name}",
                round=table.round,
                expected="a Move such as Train or Query",
                got=type(move).__name__,
            )
        reply = table.take(move)
        if replies is not None:
            replies.append(reply)


def _scores(returned: object, adversary: Adversary, games: int, round: int) -> np.ndarray | None:
    if returned is None:
        return None
    score = np.asarray(returned)
    if score.dtype.kind not in "biuf" or score.shape != (games,):
        raise ProtocolViolation(
            "a score is one number a game",
            player=f"adversary {adversary.name}",
            round=round,
            expected=f"numbers of shape ({games},)",
            got=f"{score.dtype.name} of shape {score.shape}",
        )
    score = score.astype(np.float64)
    if np.isnan(score).any():
        raise ProtocolViolation(
            "a score is a number",
            player=f"adversary {adversary.name}",
            round=round,
            games=np.flatnonzero(np.isnan(score)),
            got="NaN",
        )
    return freeze(score)


def _play_alone(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    worlds: np.ndarray,
    game: int,
    root: np.random.SeedSequence,
    record: bool,
    faults: bool,
    scorebook: Scorebook | None,
) -> Played:
    own = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, 3, game))
    world = freeze(worlds[game : game + 1].copy())
    try:
        return _play_batch(learner, adversary, referee, world, streams(own), own, record, faults, scorebook)
    except ProtocolViolation as error:
        raise error.in_games([game]) from error


def _joined(alone: list[Played], worlds: np.ndarray, record: bool, scorebook: Scorebook | None) -> Played:
    """The outcome of n single games as the outcome of one table."""

    def joined(name: str) -> np.ndarray | None:
        parts = [getattr(one, name) for one in alone]
        return None if any(part is None for part in parts) else np.concatenate(parts or [np.zeros(0)])

    notes = [one.noted for one in alone if one.noted is not None]
    flag = joined("flag")
    return Played(
        worlds=freeze(worlds),
        score=joined("score"),
        flag=np.zeros(0, bool) if flag is None else flag.astype(bool),
        challenges=frozenset().union(*(one.challenges for one in alone)),
        halted=joined("halted"),
        mistakes=joined("mistakes"),
        rounds=max((one.rounds for one in alone), default=0),
        noted=None if scorebook is None else Noted.joined(scorebook, notes),
        failed=joined("failed"),
        alone=tuple(alone) if record else (),
    )

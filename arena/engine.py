"""The engine: lets an adversary play against a learner under a referee, and returns the outcome."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

import attrs
import numpy as np

from arena.claims import PrivacyUnit, Relation
from arena.errors import (
    RAISED,
    ArenaError,
    InvalidArgument,
    PlayerError,
    ProtocolViolation,
    Unsupported,
    split_numbers,
)
from arena.messages import Move, Released, Reply
from arena.players import Adversary, GameAdversary, Learner, read_relation_of
from arena.randomness import Streams, block_seed, child_seed, streams
from arena.referees import Batch, BatchSetup, Referee
from arena.referees.scorebook import MistakeCounts, Scorebook
from arena.referees.transcript import Entry, Transcript
from arena.released.encoding import code_of_text, describe_content, hash_values
from arena.sample import freeze
from arena.settings import at_least, check_value

_T = TypeVar("_T")
_MOST_NUMBERS = 16  # in the text of an exception that are features


@attrs.frozen(eq=False, kw_only=True)
class Played:
    """The outcome of a batch of n games.

    worlds: (n,) bool. score: (n,) float64, the adversary's, or None. flag: (n,) bool, whether the worlds
    differed; challenges: in what. halted: (n,) bool, mistakes: (n,) int, or None if the protocol has none.
    rounds: how many were played. mistake_counts: what the scorebook holds, or None without one.
    failed: (n,) bool, the games that ended because the learner raised, or None without `faults`. failure:
    what it raised in the first of these, or None.
    replies: what the adversary saw, in order. transcript, single_games (where they were played one by one):
    these, and the replies, are empty unless recorded.
    """

    worlds: np.ndarray
    score: np.ndarray | None
    flag: np.ndarray
    challenges: frozenset[PrivacyUnit]
    halted: np.ndarray | None
    mistakes: np.ndarray | None
    rounds: int
    mistake_counts: MistakeCounts | None = None
    failed: np.ndarray | None = None
    failure: PlayerError | None = None
    replies: tuple[Reply, ...] = ()
    transcript: Transcript | None = None
    single_games: tuple[Played, ...] = ()

    @property
    def shown(self) -> list[np.ndarray]:
        """Arrays (n, ...): all that the adversary saw, if that is recorded."""
        return [part for reply in self.replies for part in reply.parts]

    @property
    def failure_features(self) -> dict[str, np.ndarray]:
        """The features (n,) of what the learner raised in games that were played alone, all of which failed:
        "failure text", the code of its type and text, and "failure 1" and so on, the numbers in the text."""
        if self.failure is None:
            return {}
        text, numbers = split_numbers(self.failure.error)
        values = {"failure text": code_of_text("raised", text)}
        values |= {
            f"failure {place}": number for place, number in enumerate(numbers[:_MOST_NUMBERS], start=1)
        }
        return {name: np.full(len(self.worlds), value) for name, value in values.items()}


def read_release(played: Played) -> np.ndarray:
    """(n, ...): the released value of each game, or of a stream the values (n, k) of all rounds."""
    for reply in played.replies:
        if isinstance(reply, Released):
            return reply.parts[0]
    return np.stack(played.shown, axis=1)


@attrs.define(eq=False)
class GameCount:
    """The number of games that were played, of both worlds."""

    games: int = 0


_counts: ContextVar[tuple[GameCount, ...]] = ContextVar("counts", default=())


@contextmanager
def count_games() -> Iterator[GameCount]:
    """Count the games that are played meanwhile, by checks in new processes too, but not by workers."""
    count = GameCount()
    token = _counts.set((*_counts.get(), count))
    try:
        yield count
    finally:
        _counts.reset(token)


def add_games(games: int) -> None:
    """Count games that were played in another process."""
    for count in _counts.get():
        count.games += games


@attrs.define(eq=False)
class ReleaseWatch:
    """What games released. first: the first value, encoded, of one game, or None before any. varied: whether
    some game released another, or replies that are no releases. failed: whether the learner raised in some.
    """

    first: np.ndarray | None = None
    varied: bool = False
    failed: bool = False

    def describe(self) -> str:
        """What a game released, in numbers of parts; empty if nothing was watched."""
        return "" if self.first is None else describe_content(self.first)

    def note(self, reply: Reply) -> None:
        """Compare what a reply shows with what was released before."""
        releases = reply.releases
        self.varied |= releases is None
        for value in releases or ():
            if self.varied or not len(value):
                return
            if self.first is None:
                self.first = value[:1].copy()
            hashes = hash_values(value)
            self.varied = bool((hashes != hash_values(self.first)[0]).any())

    def join(self, other: ReleaseWatch) -> None:
        """Add what other games released, perhaps in another process."""
        if self.first is None:
            self.first = other.first
        elif other.first is not None:
            self.varied |= bool(hash_values(self.first)[0] != hash_values(other.first)[0])
        self.varied |= other.varied
        self.failed |= other.failed


_watches: ContextVar[tuple[ReleaseWatch, ...]] = ContextVar("watches", default=())


@contextmanager
def watch_releases() -> Iterator[ReleaseWatch]:
    """Watch whether all games that are played meanwhile in this process release the same."""
    watch = ReleaseWatch()
    token = _watches.set((*_watches.get(), watch))
    try:
        yield watch
    finally:
        _watches.reset(token)


_deadline: ContextVar[Callable[[], None] | None] = ContextVar("deadline", default=None)


@contextmanager
def set_deadline(check: Callable[[], None]) -> Iterator[None]:
    """Within it, `check` is called before every move and before every call of a user's code. To end the games
    it raises an error that is no Exception, since those count as a player's failures."""
    token = _deadline.set(check)
    try:
        yield
    finally:
        _deadline.reset(token)


def check_deadline() -> None:
    """Call the check of `set_deadline`, if there is one: it raises if the games are to end."""
    check = _deadline.get()
    if check is not None:
        check()


def iterate_in_time(parts: Iterable[_T]) -> Iterator[_T]:
    """The parts one by one, such as calls of a user's code, each after `check_deadline`."""
    for part in parts:
        check_deadline()
        yield part


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
    coins: int = 0,
    watch: Callable[[int], object] | None = None,
) -> Played:
    """Play `games` games in lockstep.

    Games 2j and 2j + 1 are a pair, one in each world; a random bit of the referee decides which. An adversary
    in game style plays one game after the other. Under OneRun, every game has a fair coin.

    worlds: (games,) bool, to choose the worlds instead.
    faults: the adversary sees that the learner fails. Every game is played alone; if the learner raises, even
    a refusal such as BudgetExceeded, it ends with the score infinity.
    record: keep the view and the transcript. scorebook: what to count in online games.
    coins: the number of the learner's stream of random numbers; the adversary's is that of the seed.
    watch: called with the number of rounds that are over, before every move.
    Raises: ProtocolViolation, PlayerError if a player raises, InvalidArgument, Unsupported if single games
    cannot be played.
    """
    check_protocol(learner, adversary, referee)
    plays_single = faults or isinstance(adversary, GameAdversary)
    if referee.one_run and plays_single:
        raise Unsupported(
            f"the games of {referee.name} share one run, so none is played alone",
            remedy="Leave out faults, and let play(games, rng) score all canaries.",
        )
    check_value("games", games, at_least(0))
    root = block_seed(seed, 0) if isinstance(seed, int) else seed
    random = streams(root, coins)
    if scorebook is not None:
        _check_scorebook(scorebook, referee, faults)
    if worlds is None:
        worlds = _draw_worlds(referee, games, random.referee)
    own = freeze(np.array(worlds, bool))
    if own.shape != (games,):
        raise InvalidArgument(f"worlds must have shape ({games},), one for each game", value=own.shape)
    add_games(games)
    relation = read_relation_of(learner if referee.challenges else None)
    play_batch = partial(_play_batch, learner, adversary, referee, relation, record, faults, scorebook, watch)
    if not plays_single:
        return play_batch(own, random, root)
    single_games = [_play_single(play_batch, own, g, root, coins) for g in range(games)]
    return single_games[0] if games == 1 else _join_games(single_games, own, record, scorebook)


def check_protocol(learner: Learner, adversary: Adversary, referee: Referee) -> None:
    """Refuse players that do not play the protocol. Raises: InvalidArgument."""
    asked = referee.learner_protocol or referee.name
    for kind, player, name in (("learner", learner, asked), ("adversary", adversary, referee.name)):
        if name not in player.protocols:
            raise InvalidArgument(
                f"{kind} {player.own_name} does not play {name}",
                remedy=f"It plays {', '.join(player.protocols) or 'no protocol that it names'}.",
            )


def _check_scorebook(scorebook: Scorebook, referee: Referee, faults: bool) -> None:
    if referee.rounds is None or not referee.counts_mistakes:
        raise Unsupported(
            f"{referee.name} counts no mistakes, so a scorebook has nothing to count",
            remedy="Leave it out, or play an online protocol.",
        )
    if faults:
        raise Unsupported(
            "a scorebook counts whole games, and a failure of the learner ends one early",
            remedy="Leave out faults.",
        )
    scorebook.check(referee.rounds)


def _draw_worlds(referee: Referee, games: int, rng: np.random.Generator) -> np.ndarray:
    if referee.one_run:
        return rng.integers(0, 2, size=games, dtype=np.int8).astype(bool)
    return pair_worlds(games, rng) if referee.two_worlds else np.zeros(games, bool)


def pair_worlds(games: int, rng: np.random.Generator) -> np.ndarray:
    """(games,) bool: random worlds, such that games 2j and 2j + 1 are in different ones."""
    first = rng.integers(0, 2, size=(games + 1) // 2, dtype=np.int8).astype(bool)
    return np.column_stack([first, ~first]).ravel()[:games]


def _play_batch(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    relation: Relation,
    record: bool,
    faults: bool,
    scorebook: Scorebook | None,
    watch: Callable[[int], object] | None,
    worlds: np.ndarray,
    random: Streams,
    root: np.random.SeedSequence,
) -> Played:
    games = len(worlds)
    runs = 1 if referee.one_run else games
    log: list[Entry] | None = [] if record else None
    try:
        state = learner.start(runs, random.learner)
    except ArenaError:
        raise
    except RAISED as error:
        raise PlayerError.of(error, player="learner", name=learner.own_name, round=0) from error
    setup = BatchSetup(learner, state, adversary.name, worlds, runs, relation, log, faults, scorebook)
    batch = referee.open(setup)
    replies: list[Reply] | None = [] if record else None
    failure: PlayerError | None = None
    try:
        returned = _run(adversary, games, random.adversary, batch, replies, watch)
        batch.close()
    except PlayerError as error:
        if not faults or error.player != "learner":
            raise
        for release_watch in _watches.get():
            release_watch.failed = True
        returned, failure = np.full(games, np.inf), error
    score = _read_score(returned, adversary, games, batch.round)
    return Played(
        worlds=worlds,
        score=score,
        flag=batch.flag,
        challenges=batch.challenges,
        halted=batch.halted,
        mistakes=batch.mistakes,
        rounds=batch.round,
        mistake_counts=batch.mistake_counts,
        failed=np.full(games, failure is not None) if faults else None,
        failure=failure,
        replies=tuple(replies or ()),
        transcript=None if log is None else Transcript(tuple(log), worlds, score),
    )


def _run(
    adversary: Adversary,
    games: int,
    rng: np.random.Generator,
    batch: Batch,
    replies: list[Reply] | None,
    watch: Callable[[int], object] | None,
) -> object:
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
            raise PlayerError.of(error, player="adversary", name=adversary.name, round=batch.round) from error
        if not isinstance(move, Move):
            raise ProtocolViolation(
                "an adversary yields moves",
                player=f"adversary {adversary.name}",
                round=batch.round,
                expected="a Move such as Train or Query",
                got=type(move).__name__,
            )
        if watch is not None:
            watch(batch.round)
        check_deadline()
        original = batch.carry_out(move)
        for release_watch in _watches.get():
            if not release_watch.varied:
                release_watch.note(original)
        if replies is not None:
            replies.append(original)
        reply = original.copy()


def _read_score(returned: object, adversary: Adversary, games: int, round: int) -> np.ndarray | None:
    if returned is None:
        return None
    score = np.asarray(returned)
    if score.dtype.kind not in "biuf" or score.shape != (games,):
        raise ProtocolViolation(
            "a score is one number for each game",
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


def _play_single(
    play_batch: Callable[[np.ndarray, Streams, np.random.SeedSequence], Played],
    worlds: np.ndarray,
    game: int,
    root: np.random.SeedSequence,
    coins: int,
) -> Played:
    own = child_seed(root, 3, game)
    world = freeze(worlds[game : game + 1].copy())
    try:
        return play_batch(world, streams(own, coins), own)
    except ProtocolViolation as error:
        raise error.in_games([game]) from error


def _join_games(
    single_games: list[Played], worlds: np.ndarray, record: bool, scorebook: Scorebook | None
) -> Played:
    def join(name: str) -> np.ndarray | None:
        parts = [getattr(played, name) for played in single_games]
        return None if any(part is None for part in parts) else np.concatenate(parts or [np.zeros(0)])

    counts = [played.mistake_counts for played in single_games if played.mistake_counts is not None]
    flag = join("flag")
    return Played(
        worlds=freeze(worlds),
        score=join("score"),
        flag=np.zeros(0, bool) if flag is None else flag.astype(bool),
        challenges=frozenset().union(*(played.challenges for played in single_games)),
        halted=join("halted"),
        mistakes=join("mistakes"),
        rounds=max((played.rounds for played in single_games), default=0),
        mistake_counts=None if scorebook is None else MistakeCounts.join(scorebook, counts),
        failed=join("failed"),
        failure=next((played.failure for played in single_games if played.failure is not None), None),
        single_games=tuple(single_games) if record else (),
    )

"""Checks that a game depends on no game before it, in whatever process and order games are played.

A function that keeps its releases, or a learner whose state outlives the game, repeats one draw in all games
of a process. New processes show it: what the same data and random numbers give must not depend on what was
played before, and what is constant within a process, but not a constant, differs between processes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from math import lgamma, log
from typing import Any, NoReturn

import attrs
import numpy as np

from arena.dataset import Dataset
from arena.engine import Played, add_games, count_games, play
from arena.errors import RAISED, CannotBeSent, NotConforming
from arena.laws import ValueLaw
from arena.messages import Hypothesis, Train
from arena.parcels import callable_name, is_mechanism, pack
from arena.players import Adversary, GameAdversary, Learner, Moves
from arena.randomness import block_seed, generator
from arena.referees import Referee
from arena.referees.transcript import Entry
from arena.released.encoding import MISSING
from arena.testing.batches import compute_p_value
from arena.testing.independence import forbid_global_randomness, suggest_coins
from arena.testing.kept_state import find_kept_state
from arena.testing.new_process import call_in_new_processes

_OWN = {"arena", "learners", "audits"}  # packages whose learners are known to remember nothing
_SIZES = (5, 7)  # of the batches that are played in two orders, in which memory of so many games is shifted
_VARIANTS = 8  # other data, with which nothing has been played
_FEW_SIZES, _FEW_VARIANTS, _FEW_OWN_GAMES = (3, 4), 4, 4  # the same, where a run makes few calls itself
_GAMES = 20  # on the same data, of a learner with random numbers of its own
_OWN_VARIANTS = 5
_FEWEST = 16  # games that must differ; by chance so many repeat with probability below 1e-7
_RATE = 1e-6  # the probability with which independent processes are called dependent
_EMPTIED = 20  # times that what a mechanism keeps is emptied
_EMPTIED_CONSTANT = 100  # of a mechanism with random numbers of its own whose answers do not vary
_KEEPING = "it gave the same answers in all games, and holds {}, a generator that has begun and may keep them"
_MOST_NUMBERS = 32  # of a game that are compared between processes
_MOST_STEPS = 1_000  # of a game that are compared
_RULE = "a game depends on no game before it, in whatever process they are played"
_SAME = "with the same data and random numbers"
_SAME_DATA = "on the same data"
_ELSEWHERE = "in another one, time and again"
_REMEDY = (
    "remove the cache, global or class attribute that keeps results, "
    "or make the mechanism anew for every game"
)


@attrs.frozen
class _Game:
    """What one game showed: for every step a digest of what the learner received and of what it answered, and
    the answer as text; and the first numbers of all answers."""

    received: tuple[str, ...]
    answered: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: tuple[float, ...] = attrs.field(eq=False)  # nan differs from itself
    failed: bool


Record = list[list[_Game]]  # by batch
# By a digest of players that showed no memory, what they played in a new process, and games played to see it.
_records: dict[str, tuple[Record, int]] = {}


@attrs.frozen(eq=False)
class _Batch:
    adversary: Adversary
    seed: int
    games: int
    world: bool | None = None
    may_fail: bool = False
    coins: int = 0


@attrs.frozen(eq=False)
class _Variants(Adversary):
    samples: tuple[Dataset, ...]
    protocols: tuple[str, ...]  # type: ignore[misc]
    name = "variants"
    returns_score = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train([self.samples[game % len(self.samples)] for game in range(games)])
        return np.zeros(games)


def check_memory(
    learner: Learner, adversary: Adversary, referee: Referee, *, faults: bool = False, few: bool = False
) -> Record | None:
    """Check that games depend on no games before them, by plays in two new processes.

    With random numbers from a seed, they play the same batches in opposite orders. With random numbers of its
    own, they play the same data several times, and must not draw the same. In a third process, what the
    mechanism keeps between games is emptied. A learner of dp-arena that holds no function of the user's is
    not checked, and others once in a process against the same adversary. Returns what it played in a new
    process, if it plays the same here.

    few: play fewer games, if calls are slow.
    """
    if referee.one_run or not _may_remember(learner):
        return None
    batches = _plan_batches(learner, adversary, referee, few)
    forward = partial(_play_batches, learner, referee, faults, batches)
    key = _make_key(learner, adversary, referee, few)
    if key is None or key not in _records:
        calls = [forward, forward if learner.own_coins else partial(forward, backwards=True)]
        with count_games() as count:
            try:
                first, second = call_in_new_processes(learner.own_name, calls)
            except NotConforming:
                forward()  # an error of the learner is raised here, with its cause
                if learner.own_coins:
                    raise
                return None  # it plays in this process only, where a seed repeats its games
            if learner.own_coins:
                if (memory := _compare_processes(first, second)) is not None:
                    _refuse(learner, _describe_memory(_SAME_DATA, *memory, _ELSEWHERE))
                _check_kept_state(learner, adversary, referee, faults)
                others = [attrs.evolve(batch, coins=1) for batch in batches]
                play_otherwise = partial(_play_batches, learner, referee, faults, others)
                _compare_draws(learner, first, second, 1 + referee.two_worlds, play_otherwise)
            elif (memory := _find_difference(first, second)) is not None:
                (third,) = call_in_new_processes(learner.own_name, [forward])
                if third == first or _is_constant(first, second):
                    _refuse(learner, _describe_memory(_SAME, *memory, "after other games"))
                return None  # no seed repeats its games, or the adversary remembers: other checks name that
            else:
                _check_kept_state(learner, adversary, referee, faults)
        if key is not None:
            _records[key] = first, count.games
    else:
        first, games = _records[key]
        add_games(games)  # so that what a limit in calls leaves to a run does not depend on earlier runs
    if learner.own_coins:
        forbid_global_randomness(
            learner.own_name,
            lambda: play(learner, adversary, referee, games=1, seed=1, faults=faults),
            lacking=suggest_coins(learner),
        )
        return None
    # Values may be set here that a new process does not have.
    return first if _find_difference(first, forward()) is None else None


def check_memory_after(
    record: Record,
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    faults: bool = False,
    few: bool = False,
) -> None:
    """Check that after all games of a run the learner plays as in the record of `check_memory`."""
    now = _play_batches(learner, referee, faults, _plan_batches(learner, adversary, referee, few))
    if (memory := _find_difference(record, now)) is not None:
        _refuse(learner, _describe_memory(_SAME, *memory, "after the games of this run"))


def refuse_changed_games(learner: Learner) -> NoReturn:
    """Raise the error for a learner of whose games some came out otherwise when they were played again."""
    _refuse(
        learner,
        f"{_SAME}, games of this run came out otherwise when they were played again at its end (or it "
        "depends on the process, as the order of a set may)",
    )


def _refuse(learner: Learner, memory: str) -> NoReturn:
    raise NotConforming(
        learner.own_name, _RULE, f"{learner.own_name} remembers between games: {memory}; {_REMEDY}"
    )


def _describe_memory(given: str, value: str, other: str, when: str) -> str:
    return f"{given} it gave {value} in a new process, and {other} {when}"


def _may_remember(learner: Learner) -> bool:
    """Whether it is not of dp-arena, holds a function of the user's, or has random numbers of its own."""
    if learner.own_coins or type(learner).__module__.partition(".")[0] not in _OWN:
        return True
    values = [getattr(learner, field.name, None) for field in attrs.fields(type(learner))]
    return any(callable(value) or (isinstance(value, Learner) and _may_remember(value)) for value in values)


def _list_mechanisms(learner: Learner) -> Iterator[tuple[str, Any]]:
    """The user's objects that a learner plays, each with a name."""
    if type(learner).__module__.partition(".")[0] not in _OWN:
        yield learner.own_name, type(learner)
    for field in attrs.fields(type(learner)):
        value = getattr(learner, field.name, None)
        if isinstance(value, Learner):
            yield from _list_mechanisms(value)
        elif is_mechanism(value) or callable(value):
            yield callable_name(value), value


@attrs.frozen
class _EmptiedGames:
    """Games of a mechanism with what it keeps, and of one that fills it again.

    names: of what was emptied.
    kept: the games with what it keeps, by world.
    anew: as many games or more by world, each after what it keeps was emptied.
    again: the games that followed those, with the random numbers of `kept`.
    """

    names: tuple[str, ...]
    kept: Record
    anew: Record
    again: Record

    def find_memory(self, *, own_coins: bool) -> tuple[str, str] | None:
        """Two answers, if they depend on what was kept, or on what was filled again."""
        if not own_coins:
            return _find_difference(self.kept, self.again)
        as_many = [anew[: len(kept)] for anew, kept in zip(self.anew, self.kept, strict=True)]
        return _compare_processes(self.kept, as_many) or _find_repetition(self.anew, self.again)


def _check_kept_state(learner: Learner, adversary: Adversary, referee: Referee, faults: bool) -> None:
    """Check that no answer depends on what the mechanism has kept from earlier games or from calls of the
    user's, which a new process receives with it."""
    if not find_kept_state(_list_mechanisms(learner)):
        return
    call = partial(_play_emptied, learner, adversary, referee, faults)
    try:
        ((played, suspended),) = call_in_new_processes(learner.own_name, [call])
    except NotConforming:
        return  # a mechanism without its parameters may do anything
    given = _SAME_DATA if learner.own_coins else _SAME
    for games in played:
        memory = games.find_memory(own_coins=learner.own_coins)
        if memory is not None:
            names = " and ".join(games.names)
            changed = f"{memory[1]} after {names} was emptied, which it fills again"
            _refuse(learner, f"{given} it gave {memory[0]}, and {changed}")
    if suspended:
        _refuse(learner, _KEEPING.format(suspended))


def _play_emptied(
    learner: Learner, adversary: Adversary, referee: Referee, faults: bool
) -> tuple[list[_EmptiedGames], str]:
    """Games with what a mechanism keeps and after it was emptied, if that holds random numbers; and the name
    of a generator that has begun, if no answer varies."""

    def play_games(coins: int) -> list[_Game]:
        batch = _Batch(adversary, 1, 1 + referee.two_worlds, coins=coins)
        return _play_batches(learner, referee, faults, [batch])[0]

    kept = [play_games(0)]  # first, since what is imported here keeps nothing yet
    state = find_kept_state(_list_mechanisms(learner))
    digests = [place.digest for place in state.all]
    kept += [play_games(coins) for coins in range(1, _EMPTIED)]
    # What changes with every game is a log, a count, or a generator that advances.
    steady = [place for place, digest in zip(state.all, digests, strict=True) if place.digest == digest]
    varies = _vary_answers(kept)
    times = _EMPTIED_CONSTANT if learner.own_coins and not varies else _EMPTIED
    refilled = state.find_refilled(lambda: play_games(0))
    others = [place for place in refilled if not place.is_cache]
    names = {place.name for place in steady}
    played = []
    for places, contents in (
        ([place for place in refilled if place.is_cache], []),
        (others, steady),
        *(([place], [place]) for place in others if place.name not in names),
    ):
        anew, again, digests_anew = [], [], set()
        for coins in range(times if places else 0):
            for place in places:
                place.empty()
            anew.append(play_games(times + coins))
            digests_anew.add(tuple(place.digest for place in contents))
            again.append(play_games(coins))
        # What is the same each time was a setting, in whose absence there is a default.
        if len(digests_anew) > 1 or (anew and not contents):
            named = tuple(dict.fromkeys(place.name for place in places))
            played.append(_EmptiedGames(named, *map(_group_by_world, (kept, anew, again))))
        for place in places:
            place.restore()
    return played, "" if varies else next(iter(state.suspended), "")


def _find_repetition(anew: Record, again: Record) -> tuple[str, str] | None:
    """Two answers, if games always repeat the answer of the game before them, and that varies."""
    for games, repeated in zip(anew, again, strict=True):
        answers = Counter(game.answered for game in games)
        pairs = [(game.received, game.answered) for game in games]
        is_same = pairs == [(game.received, game.answered) for game in repeated]
        if is_same and len({game.received for game in games}) == 1:
            # Of the orders of all answers, the part in which both games of each pair have the same.
            log_part = lgamma(len(games) + 1) - lgamma(2 * len(games) + 1)
            log_part += sum(lgamma(2 * times + 1) - lgamma(times + 1) for times in answers.values())
            if log_part <= log(_RATE / len(anew)):
                other = next(game for game in games if game.answered != games[0].answered)
                return _describe(games), _describe([other])
    return None


def _group_by_world(pairs: list[list[_Game]]) -> Record:
    return [list(games) for games in zip(*pairs, strict=True)]


def _vary_answers(pairs: list[list[_Game]]) -> bool:
    """Whether the same data got different answers."""
    games = {(game.received, game.answered) for pair in pairs for game in pair}
    return len(games) > len({received for received, _ in games})


def _make_key(learner: Learner, adversary: Adversary, referee: Referee, few: bool) -> str | None:
    try:
        return sha256(pack((learner, adversary, referee, few))).hexdigest()
    except CannotBeSent:
        return None


def _plan_batches(learner: Learner, adversary: Adversary, referee: Referee, few: bool) -> list[_Batch]:
    if learner.own_coins:
        batches = [_Batch(adversary, 1, _GAMES, world) for world in (False, True)[: 1 + referee.two_worlds]]
        # On the same data as many games as it takes to see that two processes differ.
        variants = _vary_data(learner, adversary, referee, 1 if few else _OWN_VARIANTS)
        games = _FEW_OWN_GAMES if few else _GAMES
        others = [_Batch(_Variants((v,), (referee.name,)), 1, games, False, may_fail=True) for v in variants]
        return [*batches, *others, *batches]  # the first ones again at the end
    sizes = _FEW_SIZES if few else _SIZES
    batches = [_Batch(adversary, seed, games) for seed, games in enumerate(sizes, 1)]
    variants = _vary_data(learner, adversary, referee, _FEW_VARIANTS if few else _VARIANTS)
    if variants:
        batches += [
            _Batch(_Variants(variants, (referee.name,)), seed, len(variants), may_fail=True)
            for seed in ((3,) if few else (3, 4))
        ]
    return batches


def _play_batches(
    learner: Learner, referee: Referee, faults: bool, batches: list[_Batch], *, backwards: bool = False
) -> Record:
    """The games of each batch, in this order or backwards; none of one whose data the learner declines."""
    record: Record = [[] for _ in batches]
    for place in range(len(batches))[:: -1 if backwards else 1]:
        batch = batches[place]
        worlds = np.arange(batch.games) % 2 == 1
        if batch.world is not None or not referee.two_worlds:
            worlds = np.full(batch.games, bool(batch.world))
        players = learner, batch.adversary, referee
        options: dict[str, Any] = {
            "games": batch.games,
            "seed": batch.seed,
            "worlds": worlds,
            "coins": batch.coins,
        }
        try:
            record[place] = _read_games(play(*players, **options, faults=faults, record=True))
        except RAISED:
            if not batch.may_fail:
                raise
    return record


def _vary_data(learner: Learner, adversary: Adversary, referee: Referee, number: int) -> tuple[Dataset, ...]:
    """Samples like the first one that the adversary hands over, with more copies of its examples or, for a
    learner that needs a certain size, in another order."""
    if referee.law is not ValueLaw:
        return ()
    try:
        move = next(adversary.play(2 - isinstance(adversary, GameAdversary), generator(block_seed(1, 0))))
        given = move.sample if isinstance(move, Train) else ()
    except RAISED:  # which the games will show
        return ()
    sample = next(iter([given] if isinstance(given, Dataset) else given), None)
    if sample is None or not len(sample.counts):
        return ()
    runs = len(sample.counts)
    if learner.sample_size is not None or learner.receives_records:
        orders = [np.roll(np.arange(runs), shift) for shift in range(1, min(runs, number + 1))]
        return tuple(sample.select(order) for order in orders)
    more = [np.bincount([i % runs], minlength=runs) * (1 + i // runs) for i in range(number)]
    return tuple(sample.repeat(sample.counts + extra) for extra in more)


def _read_games(played: Played) -> list[_Game]:
    if played.single_games:
        return [game for single in played.single_games for game in _read_games(single)]
    entries = [] if played.transcript is None else played.transcript.entries[:_MOST_STEPS]
    failed = np.zeros(len(played.worlds), bool) if played.failed is None else played.failed
    games = []
    for game in range(len(played.worlds)):
        answers = [list(_list_answers(entry, game)) for entry in entries]
        numbers = [
            part.ravel() for arrays in answers for part in arrays if part.dtype.kind in "biuf" and part.size
        ]
        games.append(
            _Game(
                received=tuple(_digest([entry.read_input(game)]) for entry in entries),
                answered=tuple(_digest(_strip(part).tobytes() for part in arrays) for arrays in answers),
                texts=tuple(entry.describe(game)[1] for entry in entries),
                numbers=tuple(np.concatenate([*numbers, np.zeros(0)])[:_MOST_NUMBERS].astype(float).tolist()),
                failed=bool(failed[game]),
            )
        )
    return games


def _list_answers(entry: Entry, game: int) -> Iterator[np.ndarray]:
    for field in attrs.fields(type(entry)):
        value = getattr(entry, field.name)
        value = value.concepts if isinstance(value, Hypothesis) else value
        if isinstance(value, np.ndarray) and field.name not in ("x", "y", "which"):
            yield np.asarray(value[game])


def _strip(row: np.ndarray) -> np.ndarray:
    """What a game released, without what its row is filled up with where other games released more."""
    return row[row != MISSING] if row.ndim == 1 else row


def _digest(parts: Iterable[bytes]) -> str:
    return sha256(b"".join(parts)).hexdigest()[:16]


def _find_difference(record: Record, other: Record) -> tuple[str, str] | None:
    for batch, other_batch in zip(record, other, strict=True):
        for game, same in zip(batch, other_batch, strict=False):
            for step, (one, two) in enumerate(zip(game.received, same.received, strict=False)):
                if one != two:
                    break  # the adversary's moves differ
                if game.answered[step] != same.answered[step]:
                    return game.texts[step] or "one answer", same.texts[step] or "another"
            else:
                if game.failed != same.failed:
                    return ("a failure", "none") if game.failed else ("none", "a failure")
    return None


def _is_constant(record: Record, other: Record) -> bool:
    """Whether some data always get the same answers in one process, and always others in the other."""
    answers: list[dict[tuple[str, ...], set[tuple[str, ...]]]] = [{}, {}]
    games: Counter[tuple[str, ...]] = Counter()
    for process, batches in zip(answers, (record, other), strict=True):
        for game in (game for batch in batches for game in batch):
            process.setdefault(game.received, set()).add(game.answered)
            games[game.received] += 1
    return any(
        len(seen) == len(answers[1].get(data, ())) == 1 and seen != answers[1][data] and games[data] >= 4
        for data, seen in answers[0].items()
    )


def _compare_processes(first: Record, second: Record) -> tuple[str, str] | None:
    """Two answers, if the games of two processes on the same data are not distributed alike."""
    for games, others in zip(first, second, strict=True):
        if not games or not others:
            continue
        if [game.received for game in games] != [game.received for game in others]:
            continue  # the adversary plays otherwise
        counts = Counter(game.answered for game in [*games, *others])
        codes = {
            answer: code
            for code, (answer, _) in enumerate(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        }
        width = min(len(game.numbers) for game in [*games, *others])
        values = [[(codes[g.answered], *g.numbers[:width]) for g in each] for each in (games, others)]
        if compute_p_value(np.swapaxes(np.nan_to_num(np.array(values, float)), 1, 2)) <= _RATE / len(first):
            return _describe(games), _describe(others)
    return None


def _describe(games: list[_Game]) -> str:
    return next((text for text in games[0].texts if text), "one answer")


def _compare_draws(
    learner: Learner, first: Record, second: Record, repeated: int, play_otherwise: Callable[[], Record]
) -> None:
    """Check that two processes do not draw the same random numbers, nor one process the same again, unless
    hardly any game draws some. repeated: the number of batches that were played twice. play_otherwise: plays
    with other random numbers from `rng`, of which a learner may also use some."""
    here, there = (_list_answers_of(record) for record in (first, second))
    is_kept = here[:repeated] == here[-repeated:]
    if here == there and _count_changes(here) >= _FEWEST:
        if is_kept and _list_answers_of(play_otherwise()) != here:
            return  # it drew from `rng` alone
        raise NotConforming(
            learner.own_name,
            "random numbers of its own differ between processes",
            "two processes drew the same: do not seed or keep a generator, or use that of `start`",
        )
    pairs = zip(itertools.chain(*here[:repeated]), itertools.chain(*there[:repeated]), strict=False)
    if is_kept and sum(one != two for one, two in pairs) >= _FEWEST <= _count_changes(here[:repeated]):
        text, other = (_describe(record[0]) for record in (first, second))
        _refuse(learner, _describe_memory(_SAME_DATA, text, other, _ELSEWHERE))


def _list_answers_of(record: Record) -> list[list[tuple[str, ...]]]:
    return [[game.answered for game in batch] for batch in record]


def _count_changes(answers: list[list[tuple[str, ...]]]) -> int:
    return sum(a != b for batch in answers for a, b in itertools.pairwise(batch))

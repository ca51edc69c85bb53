"""Checks that games follow the output distribution that their learner declares:
docs/proofs/declared_distributions.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from arena.engine import Played, play, read_release
from arena.errors import RAISED, NotConforming, describe_error
from arena.laws import AnswerLaw, OnlineLaw, ValueLaw
from arena.messages import Hypotheses, Hypothesis, Shown
from arena.players import Adversary, GameAdversary, Learner, Moves
from arena.randomness import block_seed, child_seed
from arena.referees import Referee
from arena.referees.transcript import Entry, ExampleEntry, format_value, match_rows
from arena.released.encoding import fit_rows
from arena.sample import hash_rows
from arena.testing.laws.goodness_of_fit import Comparison, EventSums, check_events
from arena.testing.laws.round_events import (
    Predictions,
    RoundEvents,
    predict_answers,
    predict_hypotheses,
)
from arena.testing.laws.value_events import is_possible, list_ratio_events, list_value_events

MOST_GAMES = 200_000  # in each world
_FEW_GAMES = 4_000  # in each world, which are looked at before more are played
_MOST_NUMBERS = 4_000_000  # that are released in each world
_MOST_CHANCES = 500_000  # of outcomes of rounds in each world
_MOST_COST = 2 * 10**8  # probabilities of hidden states that are followed in each world
_MOST_PLAYED_ALONE = 4_000  # games of an adversary in game style, in each world
_SMALLEST_BATCH = 8
_BATCH_NUMBERS = 500_000  # numbers that are shown in a batch
_FIRST_BATCH = 500  # games, unless fewer are asked for


@attrs.frozen(eq=False)
class _World:
    games: int
    sums: tuple[EventSums, ...]
    law: ValueLaw | None = None
    values: np.ndarray = attrs.field(factory=lambda: np.zeros(0))
    logs: np.ndarray = attrs.field(factory=lambda: np.zeros(0))


def compare_with_law(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    rate: float,
    games: int = MOST_GAMES,
    worlds: tuple[bool, ...] = (False, True),
) -> Comparison | None:
    """Compare games of an adversary with the output distribution that the learner declares: released values,
    or what is shown in each round given the rounds before. How many games are played follows from the size of
    a game, never from the clock, so that the same players always give the same figures.

    Returns None if the distribution is not that of this protocol, or of other points than the adversary's.
    Raises: NotConforming, with probability at most `rate` if it is right; Unsupported if none is declared.
    """
    games = min(games, MOST_GAMES)
    if games <= _FEW_GAMES:
        return _compare(learner, adversary, referee, rate, games, worlds)
    # What is plainly wrong shows in few games.
    few = _compare(learner, adversary, referee, rate / 2, _FEW_GAMES, worlds)
    slow = few is None or few.games < _FEW_GAMES
    return few if slow else _compare(learner, adversary, referee, rate / 2, games, worlds)


def _compare(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    rate: float,
    games: int,
    worlds: tuple[bool, ...],
) -> Comparison | None:
    played = [_play_world(learner, adversary, referee, world, games) for world in worlds]
    compared = [each for each in played if each is not None]
    if not compared:
        return None
    sums = [each for world in compared for each in world.sums]
    if len(compared) > 1:
        sums += _list_ratios(*compared)
    rule = f"its {referee.law.shown} follow the output distribution that it declares"  # type: ignore[union-attr]
    games = min(each.games for each in compared)
    return check_events(learner.own_name, rule, sums, games=games, rate=rate)


def _play_world(
    learner: Learner, adversary: Adversary, referee: Referee, world: bool, games: int
) -> _World | None:
    first = _join_single_games(_record(learner, adversary, referee, world, 1, seed=0))[0]
    given = referee.read_given(_entries(first))
    law = referee.read_law(learner, given)
    if isinstance(law, ValueLaw):
        return _play_releases(learner, _Replay(referee, given), referee, law, games)
    if not isinstance(law, AnswerLaw):
        return _play_rounds(learner, adversary, referee, world, games, law)
    if isinstance(adversary, GameAdversary):
        games = min(games, _MOST_PLAYED_ALONE)
    rounds = [entry.read_answer(law, learner.own_name) for entry in _entries(first)]
    each = np.size(law.start()) * len(law.outcomes) * max(1, sum(known is not None for known in rounds))
    largest = max(_SMALLEST_BATCH, _MOST_COST // each)  # so that the measures of a round fit into memory
    return _play_rounds(learner, adversary, referee, world, games, law, largest)


@attrs.frozen(eq=False)
class _Replay(Adversary):
    """Gives the learner the same in both worlds and in all games."""

    referee: Referee
    given: Any
    name = "replay"

    @property
    def protocols(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.referee.name,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield from self.referee.give(self.given)
        return np.zeros(games)


def _play_releases(learner: Learner, probe: Adversary, referee: Referee, law: ValueLaw, games: int) -> _World:
    parts: list[np.ndarray] = []
    batch, count = min(games, _FIRST_BATCH), 0
    while batch:
        seed = child_seed(block_seed(1, 0), len(parts))
        played = play(learner, probe, referee, games=batch, seed=seed, record=True)
        parts.append(read_release(played))
        count += batch
        width = max(1, parts[0].size // len(parts[0]))
        games = min(games, max(count, _MOST_NUMBERS // width))
        batch = _size_next_batch(count, games, width)
    if len({part.shape[1:] for part in parts}) > 1:
        longest = max(part.shape[1] if part.ndim > 1 else 2 for part in parts)
        parts = [fit_rows(part, longest)[0] for part in parts]
    values = np.concatenate(parts)
    logs = _check_support(learner.own_name, law, values, _read_log_densities(learner.own_name, law, values))
    return _World(len(values), tuple(list_value_events(learner.own_name, law, values)), law, values, logs)


def _read_log_densities(name: str, law: ValueLaw, values: np.ndarray) -> np.ndarray:
    """(n,): of values (n, ...). Raises: NotConforming if these are of a wrong shape, or no numbers."""
    try:
        with np.errstate(invalid="ignore"):
            logs = np.asarray(law.log_density(values))
            unknown = np.isnan(logs) & np.isnan(values).reshape(len(values), -1).any(axis=1)
    except RAISED as error:
        found = f"of values of shape {values.shape[1:]} it raised {describe_error(error)}"
    else:
        if not unknown.any():
            return logs
        found = f"{format_value(values[int(np.argmax(unknown))])} has none"
    raise NotConforming(name, "its values have a density by the output distribution that it declares", found)


def _check_support(name: str, law: ValueLaw, values: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """The log densities (n,), NaN where only rounding makes a value impossible. Raises: NotConforming at one
    value that is impossible, which refutes the distribution with certainty."""
    rows = np.flatnonzero(logs == -np.inf)
    if not len(rows):
        return logs
    impossible = rows[~is_possible(law, values[rows])]
    if len(impossible):
        value = format_value(values[impossible[0]])
        raise NotConforming(
            name,
            "its values are possible by the output distribution that it declares",
            f"{value} has the declared probability 0, and such values occur in {len(impossible):,} of "
            f"{len(values):,} games (if its density underflows there, declare the logarithm itself)",
        )
    return np.where(logs == -np.inf, np.nan, logs)


def _size_next_batch(count: int, games: int, numbers: int) -> int:
    """How many games to play after the first `count` of all `games`, if each shows `numbers` numbers."""
    return min(games - count, count, max(1, _BATCH_NUMBERS // numbers))


def _list_ratios(first: _World, second: _World) -> Iterator[EventSums]:
    if first.law is None or second.law is None:
        return
    games = min(first.games, second.games, 2**16)
    if first.values.shape[1:] != second.values.shape[1:]:
        return
    values = np.stack([first.values[:games], second.values[:games]])
    in_0 = first.logs[:games], first.law.log_density(values[1])
    in_1 = second.law.log_density(values[0]), second.logs[:games]
    logs = np.array([in_0, in_1])
    yield from list_ratio_events(logs, values)


def _play_rounds(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    world: bool,
    games: int,
    law: AnswerLaw | OnlineLaw[Any] | None,
    largest: int = MOST_GAMES,
) -> _World | None:
    """The events of rounds in batches of at most `largest` games, until these are enough or cost enough."""
    if law is None:
        return None
    events: RoundEvents | None = None
    batch, cost, number, count = min(games, largest, _FIRST_BATCH), 0, 0, 0
    while batch:
        parts = _join_single_games(_record(learner, adversary, referee, world, batch, seed=1 + number))
        if isinstance(law, AnswerLaw):
            predicted = [_predict_answers(learner.own_name, law, part) for part in parts]
        else:
            known = [_predict_hypotheses(learner.own_name, law, part) for part in parts]
            predicted = [each for each in known if each is not None]
            if len(predicted) < len(known):
                return None
        if events is None:
            rounds = max(predictions.outcomes.shape[1] for predictions in predicted)
            if not rounds:
                return None
            kinds = predicted[0].chances.shape[2]
            names = [f"hypothesis {number}" for number in range(kinds)]
            texts = law.describe_outcomes() if isinstance(law, AnswerLaw) else names
            events = RoundEvents(texts, rounds)
        events.update(predicted)
        cost += sum(predictions.cost for predictions in predicted)
        numbers = max(1, predicted[0].chances[0].size)
        count += batch
        games = count if cost > _MOST_COST else min(games, max(count, _MOST_CHANCES // numbers))
        batch = min(largest, _size_next_batch(count, games, numbers))
        number += 1
    assert events is not None
    return _World(count, tuple(events.list_sums()))


def _record(
    learner: Learner, adversary: Adversary, referee: Referee, world: bool, games: int, *, seed: int
) -> Played:
    worlds = np.full(games, world)
    return play(
        learner, adversary, referee, games=games, seed=block_seed(seed, 0), worlds=worlds, record=True
    )


def _join_single_games(played: Played) -> list[Played]:
    return list(played.single_games) or [played]


def _entries(played: Played) -> tuple[Entry, ...]:
    return () if played.transcript is None else played.transcript.entries


def _predict_answers(name: str, law: AnswerLaw, played: Played) -> Predictions:
    known = (entry.read_answer(law, name) for entry in _entries(played))
    rounds = [each for each in known if each is not None]
    if not rounds:
        return predict_answers(name, law, *np.zeros((3, len(played.worlds), 0)))
    x, answer, halted = (np.stack(part, axis=1) for part in zip(*rounds, strict=True))
    return attrs.evolve(predict_answers(name, law, x, answer, halted), queries=_number_points(x))


def _predict_hypotheses(name: str, law: OnlineLaw[Any], played: Played) -> Predictions | None:
    """The same online, with examples as queries; None if a point is none of the distribution's points."""
    entries = [entry for entry in _entries(played) if isinstance(entry, ExampleEntry)]
    shown: list[Hypothesis] = []
    for reply in played.replies:
        if isinstance(reply, Shown) and reply.hypothesis is not None:
            shown.append(reply.hypothesis)
        elif isinstance(reply, Hypotheses):
            shown += reply.hypotheses
    x = np.stack([entry.x for entry in entries], axis=1)
    if len(law.points) > 1:
        known, given = _number_points(law.points[None])[0], _number_points(x).ravel()
        order = np.argsort(known)
        places = order[np.minimum(np.searchsorted(known, given, sorter=order), len(known) - 1)]
        if (known[places] != given).any():
            return None
    else:  # every point is treated like this one
        places = np.zeros(x.shape[0] * x.shape[1], np.intp)
    examples = 2 * places.reshape(x.shape[:2]) + np.stack([entry.y for entry in entries], axis=1)
    concepts = law.hypotheses.concepts
    numbers = np.stack([match_rows(name, "hypotheses", concepts, h.concepts) for h in shown], axis=1)
    # A hypothesis is shown before the example of its round, so the one before is its query.
    queries = np.concatenate([np.full((len(x), 1), -1), examples[:, :-1]], axis=1)
    return attrs.evolve(predict_hypotheses(name, law, examples, numbers), queries=queries)


def _number_points(x: np.ndarray) -> np.ndarray:
    """(n, T): a number for each point of x (n, T, ...), equal where the points are."""
    flat = np.asarray(x, float).reshape(x.shape[0] * x.shape[1], -1) + 0.0
    return (hash_rows(flat) >> np.uint64(1)).astype(np.int64).reshape(x.shape[:2])

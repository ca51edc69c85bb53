"""Checks that games of a batch are independent, and distributed as games alone or on a divided sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import starmap
from math import log, sqrt
from typing import Any, cast

import attrs
import numpy as np

from arena.capabilities import PredictsMany, offers
from arena.engine import Played, play
from arena.errors import NotConforming
from arena.messages import Answer, Answers, Hypotheses, Hypothesis, Released, Reply, Shown, list_answers
from arena.players import Adversary, GameAdversary, Learner
from arena.randomness import block_seed, generator
from arena.referees import Probe, Referee
from arena.released.encoding import ABSENT, align_columns, value_columns
from arena.sample import Sample

_MOST_COLUMNS = 32  # numbers of a view that are compared between batches
_DEPENDENT_RATE = 1e-6  # the probability with which independent games are called dependent
_PIECES = 250  # of a run, so that samples of the usual size consist of single examples
_FEW = 64  # games
_CLOSE = 1e-9  # relative difference of numbers that are equal but for rounding
_RULE = "its output depends on the list of examples, however that is divided into runs"

RATE = 1e-9  # the probability with which a statistical check may refuse a sound player
BATCH = 100  # games
_BATCHES_COMMON = 3  # seeds with which common random numbers are checked
_BATCHES = 40  # of BATCH games, whose means are compared with each other


class BatchScatter:
    """Compares the scatter of events between batches with their scatter within.

    If all games are independent and alike, those of batch b are a random choice among the first b batches, so
    that its count is hypergeometric. The p-values of all b are independent, and their logarithms are added up
    (Fisher's method): docs/proofs/batch_scatter.md.
    """

    def __init__(self, events: int) -> None:
        self._hits = np.zeros(events)
        self._games = 0
        self._log_p = np.zeros(events)
        self._batches = 0

    def update(self, hits: np.ndarray, games: int) -> None:
        """Add a batch of so many games; hits: (events,), in how many of them each event happened."""
        self._hits += hits
        self._games += games
        if self._batches:
            many = _log_tail(hits, self._hits, games, self._games)
            few = _log_tail(games - hits, self._games - self._hits, games, self._games)
            self._log_p += np.minimum(0.0, np.log(2.0) + np.minimum(many, few))
        self._batches += 1

    def p_value(self) -> float:
        """A p-value of independence: at most p with probability at most p, whatever the distribution."""
        from scipy.special import gammaincc  # slow to import

        if self._batches < 2 or not len(self._log_p):
            return 1.0
        return min(1.0, len(self._log_p) * float(gammaincc(self._batches - 1, -self._log_p).min()))


def _log_tail(hits: np.ndarray, all_hits: np.ndarray, games: int, all_games: int) -> np.ndarray:
    """(events,): an upper bound on log P(at least `hits` of `games`), where `games` of `all_games` are chosen
    at random and `all_hits` of these are hits, by a geometric series beyond the mode."""
    from scipy.special import gammaln  # slow to import

    def log_choose(n: np.ndarray | int, k: np.ndarray | int) -> np.ndarray:
        return np.asarray(gammaln(np.add(n, 1)) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1))

    log_mass = (
        log_choose(all_hits, hits)
        + log_choose(all_games - all_hits, games - hits)
        - log_choose(all_games, games)
    )
    left = all_games - all_hits - games
    ratio = (all_hits - hits) * (games - hits) / ((hits + 1.0) * np.maximum(left + hits + 1.0, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = log_mass - np.log1p(-ratio)
    return np.where(ratio < 1.0, np.minimum(bound, 0.0), 0.0)


def check_batches_independent(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    games: int,
    batches: int = 16,
    faults: bool = False,
) -> None:
    """Check that views and scores scatter between batches of so many games no more than within, with the same
    random numbers of the adversary. Independent games are refused with probability at most 1e-6."""
    record = not isinstance(adversary, GameAdversary) and not faults
    for world in (False, True) if referee.two_worlds else (False,):
        features = []
        for batch in range(batches):
            played = play(
                learner,
                adversary,
                referee,
                games=games,
                seed=2,
                worlds=np.full(games, world),
                faults=faults,
                record=record,
                coins=batch,
            )
            if adversary.scores_release:  # which is among what it saw; lists of any length have no score
                played = attrs.evolve(played, score=None)
            features.append(summarise_views(played))
        if compute_p_value(_align_views(features)) <= _DEPENDENT_RATE / 2:
            raise NotConforming(
                learner.own_name,
                "every game draws its own random numbers",
                f"batches of {games} games against {adversary.name} vary more than independent games could",
            )


def summarise_views(played: Played) -> dict[str, np.ndarray]:
    """(n,) each, by name: the score, whether the learner halted, and a choice of the numbers of the view."""
    columns = {"nothing": np.zeros(len(played.worlds))}
    if played.score is not None:
        columns["score"] = played.score
    if played.halted is not None:
        columns["halted"] = played.halted.astype(float)
    for number, reply in enumerate(played.replies):
        for place, part in enumerate(reply.parts):
            if part.dtype.kind in "biuf":
                columns |= value_columns(part, f"{number} {place}")
    return {name: columns[name].astype(float) for name in _choose_columns(columns)}


def _choose_columns(names: Iterable[str]) -> list[str]:
    """At most so many names: those that are no part of the view, then in an order in which none depends
    on the others, since batches that show different things must be compared by the same columns."""

    def rank(name: str) -> bytes:
        return sha256(name.encode()).digest() if name[0].isdigit() else b""

    return sorted(names, key=rank)[:_MOST_COLUMNS]


def _align_views(views: Sequence[Features]) -> np.ndarray:
    """(batches, f, n): the same columns of the views of all batches."""
    kept = set(_choose_columns({name for view in views for name in view}))
    views = [{name: column for name, column in view.items() if name in kept} for view in views]
    return np.stack(align_columns(views, fill=ABSENT)).transpose(0, 2, 1)


def compute_p_value(values: np.ndarray) -> float:
    """A p-value that the games of all batches are alike and independent, from values (batches, f, n), by the
    events that one is at least the quartiles of all batches, or above the least value."""
    if not values.size:
        return 1.0
    flat = np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)
    cuts = np.quantile(flat, [0.25, 0.5, 0.75], axis=1, method="higher")
    hits = [(values >= cut[:, None]).sum(axis=2) for cut in cuts]
    hits.append((values > flat.min(axis=1)[:, None]).sum(axis=2))
    scatter = BatchScatter(4 * values.shape[1])
    for each in np.concatenate(hits, axis=1):
        scatter.update(each.astype(float), values.shape[2])
    return scatter.p_value()


def check_divisions(learner: Learner, probe: Probe, *, games: int, rate: float) -> None:
    """Check that games on one list, divided into runs in several ways, have the same distribution.

    With the same random numbers, most learners show the same but for rounding, and one with common random
    numbers must. Others are compared in distribution, and sound ones refused with probability at most `rate`.
    games: in each division.
    """
    merged = probe.sample.divide()
    divisions = list(_divide(merged))
    samples = [merged, *divisions]

    @cache
    def play_on(place: int, number: int, seed: int) -> Played:
        other = attrs.evolve(probe, sample=samples[place])
        return play(learner, other, probe.referee, games=number, seed=seed, record=True)

    def shows_same(place: int) -> bool:
        # A few games suffice to see that a learner does not draw the same random numbers.
        batches = ((play_on(0, number, 21), play_on(place, number, 21)) for number in (_FEW, games))
        return all(starmap(_shows_same, batches))

    def find_p_value(place: int) -> float:
        views = [summarise_views(play_on(0, games, 22)), summarise_views(play_on(place, games, 23))]
        return compute_p_value(_align_views(views))

    for place, sample in enumerate(divisions, start=1):
        text = f"{len(merged.counts)} runs and {len(sample.counts)} runs of the same {sample.size}"
        if not learner.own_coins and shows_same(place):
            continue
        if learner.common_random_numbers:
            raise NotConforming(
                learner.own_name,
                _RULE,
                f"with the same random numbers, {text} examples show something else",
            )
        if find_p_value(place) <= rate / len(divisions):
            raise NotConforming(
                learner.own_name,
                _RULE,
                f"{text} examples differ in distribution: a run i has `counts[i]` copies",
            )


def _divide(merged: Sample) -> Iterator[Sample]:
    """The sample in single examples or many runs; and with the longest run cut only, into an even number of
    pieces, so that shares among the runs change, and the parity of their number."""
    yield merged.divide(_PIECES)
    longest = int(merged.counts.argmax())
    pieces = np.ones_like(merged.counts)
    pieces[longest] = min(_PIECES, merged.counts[longest]) // 2 * 2
    if pieces[longest]:
        yield merged.divide(pieces)


def _shows_same(first: Played, second: Played) -> bool:
    halts = [[] if played.halted is None else [played.halted] for played in (first, second)]
    parts = [played.shown + halted for played, halted in zip((first, second), halts, strict=True)]
    return len(parts[0]) == len(parts[1]) and all(map(_is_close, *parts))


def _is_close(part: np.ndarray, other: np.ndarray) -> bool:
    if part.shape != other.shape or part.dtype.kind != "f" or other.dtype.kind != "f":
        return np.array_equal(part, other)
    finite = np.abs(part[np.isfinite(part)])
    return np.allclose(part, other, rtol=_CLOSE, atol=_CLOSE * finite.max(initial=0.0), equal_nan=True)


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
    if offers(learner.start(1, generator(block_seed(13, 0))), PredictsMany):
        in_a_row = _extract_features(learner, attrs.evolve(probe, in_a_row=True), games, seed=13)
        _compare(learner, [features], [in_a_row], "queries in a row are answered as they are one by one")


Features = dict[str, np.ndarray]


def _extract_features(learner: Learner, probe: Probe, games: int, seed: int) -> Features:
    """(games,) each, by name: numbers in [0, 1] that summarise what the probe saw of each game."""
    replies = play(learner, probe, probe.referee, games=games, seed=seed, record=True).replies
    single: list[Reply] = []
    for reply in replies:
        single += list_answers([reply]) if isinstance(reply, Answers) else [reply]
    features = {
        f"{number} {name}": column
        for number, reply in enumerate(single)
        for name, column in _list_columns(reply, probe.points).items()
    }
    return features or {"nothing": np.zeros(games)}


def _list_columns(reply: Reply, points: tuple[Any, ...]) -> Features:
    if isinstance(reply, Answer):
        return {"label": (reply.label == 1).astype(float), "halted": reply.halted.astype(float)}
    if isinstance(reply, Released) and isinstance(reply.value, Hypothesis):
        return _label_points([reply.value], points)
    if isinstance(reply, Shown):
        return {} if reply.hypothesis is None else _label_points([reply.hypothesis], points[:1])
    if isinstance(reply, Hypotheses):
        return _label_points(reply.hypotheses, points[:1])
    columns: Features = {}
    for place, part in enumerate(reply.parts):
        columns |= value_columns(part, f"part {place}")
    # What a game does not have becomes 0.
    clipped = {name: np.clip(np.nan_to_num(column), -500, 500) for name, column in columns.items()}
    return {name: 1.0 / (1.0 + np.exp(-column)) for name, column in clipped.items()}


def _label_points(hypotheses: Sequence[Hypothesis], points: tuple[Any, ...]) -> Features:
    labels = [h(x).astype(float) for h in hypotheses for x in points]
    return {f"{place}": column for place, column in enumerate(labels)}


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
            learner.own_name,
            rule,
            f"feature {worst} of the view has means {means[0][worst]:.3f} and {means[1][worst]:.3f}",
        )


def _check_independence(learner: Learner, extract: Callable[[int], Features]) -> None:
    """Check that the mean of a batch varies as 1/games; if games share random numbers, it varies more. For 40
    batches, four times the variance of independent games has a probability below `RATE` (χ² with 39 degrees
    of freedom, with room for means that are not quite normal)."""
    batches = np.stack(align_columns([extract(seed) for seed in range(_BATCHES)], fill=0.0))
    variance = batches.reshape(-1, batches.shape[2]).var(axis=0)
    of_means = batches.mean(axis=1).var(axis=0, ddof=1) * batches.shape[1]
    if ((variance > 0.01) & (of_means > 4.0 * variance)).any():
        raise NotConforming(
            learner.own_name,
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
                learner.own_name,
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

"""Checks for people who write players: what the arena relies on but no referee can see in one game.

`check_learner` and `check_adversary` raise `NotConforming` with the rule that is broken. They need no
test framework. Statistical checks err with probability at most `RATE` each.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from math import log, sqrt
from typing import Any, cast

import attrs
import cloudpickle
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.engine import Played, play
from arena.errors import ArenaError, NotConforming, Unsupported
from arena.game_style import GameAdversary
from arena.laws import AnswerLaw, ValueLaw
from arena.moves import Commit, Example, Queries, Query, Ready, Train, Unlabelled
from arena.players import Adversary, Learner, Moves
from arena.randomness import block_seed, generator
from arena.referees import REFEREES, Adaptive, Figure1, Oblivious, Referee, Release, SpecialRound, Voting
from arena.replies import Answer, Answers, Hypothesis, Released, Reply, Shown, Stream, list_answers
from arena.sample import Sample
from arena.testing.fresh_coins import check_own_coins, no_global_randomness
from arena.testing.independence import check_games_apart, check_told_alike
from arena.testing.laws import check_answers, check_values

RATE = 1e-9
_GAMES = 8


def check_learner(learner: Learner, *, sample: Sample | None = None, games: int = 2_000) -> None:
    """Check a learner under every protocol that it names.

    A sound spec; any number of games, none and one among them; the same coins, the same game (where it draws
    coins of its own: other coins in every process); no use of global generators; nothing written to what it
    was handed; games that do not share coins; games that do not depend on each other; a table and single
    games of one law; `some_points` that have its own shape, and that it can be trained on and asked about. If
    it says that it is in step: not a bit of a game's replies, nor of the generator's state, changes where
    other games are trained and asked otherwise. If it tells its law: chances of at least 0 and of sum 1, and
    values or answers that come as often as it says.

    sample: what to train on; by default two points with both labels, as many examples as it asks for.
    games: the size of the tables that statistics are made from.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    _check_spec(learner, "learner")
    if not isinstance(learner.claim, Claim):
        raise NotConforming(learner.name, "claim is a Claim", f"got {type(learner.claim).__name__}")
    _check_shape(learner)
    given = sample or _sample_for(learner)
    for name in learner.protocols:
        referee = _REFEREES[name]
        probe = _Probe(given, _points(given), name, handing=_takes_unlabelled(learner))
        for number in (0, 1, 3):
            with no_global_randomness(learner.name):
                play(learner, probe, referee, games=number, seed=1)
        if learner.own_coins:
            check_own_coins(learner, probe, referee)
        else:
            _check_repeats(learner, probe, referee, learner.name)
        _check_games(learner, probe, referee, games)
        if learner.common_random_numbers:
            _check_common_random_numbers(learner, probe, referee)
        _check_law(learner, probe, referee, games)
        _check_some_points(learner, name, referee)


def check_adversary(adversary: Adversary, learner: Learner, referee: Referee) -> None:
    """Check an adversary by a few games against `learner`.

    A sound spec; legal moves; the same coins, the same game (against a learner with coins of its own: the
    same where it is told the same); no use of global generators; a number for
    every game or no score at all; and that a game's moves and score depend on the replies of *that game*
    alone. A score that looks at another game of the table would make an audit certify what is not there.

    Raises: NotConforming, of the learner where the coins are its; whatever a referee raises in a game.
    """
    _check_spec(adversary, "adversary")
    if learner.own_coins:
        with no_global_randomness(adversary.name):
            check_told_alike(adversary, learner, referee)
    else:
        _check_both_repeat(learner, adversary, referee)
    _check_returns_score(adversary, learner, referee)
    check_games_apart(adversary, learner, referee)


def _check_returns_score(adversary: Adversary, learner: Learner, referee: Referee) -> None:
    declared = adversary.returns_score
    if declared is None:
        return
    scored = play(learner, adversary, referee, games=_GAMES, seed=7).score is not None
    if scored != declared:
        raise NotConforming(
            adversary.name,
            "returns_score says whether play returns a score",
            f"returns_score is {declared}, but play returned {'a' if scored else 'no'} score",
        )


# --- specs ------------------------------------------------------------------------------------------------


def _check_spec(spec: Learner | Adversary, kind: str) -> None:
    name = spec.name or type(spec).__name__
    if not attrs.has(type(spec)) or not _frozen(spec):
        raise NotConforming(name, f"the spec of a {kind} is a frozen attrs class")
    if not spec.name or not spec.protocols:
        raise NotConforming(name, f"a {kind} has a name and names its protocols")
    unknown = set(spec.protocols) - set(_REFEREES)
    if unknown:
        raise NotConforming(
            name, f"protocols are names of referees ({', '.join(_REFEREES)})", f"got {sorted(unknown)}"
        )
    try:
        # As worker processes are handed specs: classes of a session or a test travel along.
        same = cloudpickle.loads(cloudpickle.dumps(spec)) == spec
        same = same and hash(spec) == hash(attrs.evolve(spec))
    except (TypeError, AttributeError, pickle.PickleError) as error:
        raise NotConforming(name, "a spec can be hashed and pickled", f"got {error}") from error
    if not same:
        raise NotConforming(name, "a copy of a spec is equal to it and has the same hash")


def _frozen(spec: object) -> bool:
    fields = attrs.fields(type(spec))  # type: ignore[arg-type]
    name = fields[0].name if fields else "anything"
    try:
        setattr(spec, name, getattr(spec, name, None))
    except (attrs.exceptions.FrozenInstanceError, AttributeError):
        return True
    return False


# --- coins --------------------------------------------------------------------------------------------------


def _check_repeats(learner: Learner, adversary: Adversary, referee: Referee, name: str) -> None:
    record = not isinstance(adversary, GameAdversary)
    with no_global_randomness(name):
        first = play(learner, adversary, referee, games=_GAMES, seed=7, record=record)
    second = play(learner, adversary, referee, games=_GAMES, seed=7, record=record)
    for what, one, other in zip(("views", "scores"), _outcome(first), _outcome(second), strict=True):
        if one != other:
            raise NotConforming(name, "the same coins give the same game", f"{what} differ")


def _check_both_repeat(learner: Learner, adversary: Adversary, referee: Referee) -> None:
    """As `_check_repeats`, and tells whose coins they are: on recorded replies the adversary plays alone."""
    try:
        _check_repeats(learner, adversary, referee, adversary.name)
    except NotConforming as found:
        if isinstance(adversary, GameAdversary) or not _alike_alone(adversary, learner, referee):
            raise
        hint = "" if "global" in found.rule else " (a function of yours may draw its own, with coins=own)"
        raise NotConforming(learner.name, found.rule, found.got + hint) from found


def _alike_alone(adversary: Adversary, learner: Learner, referee: Referee) -> bool:
    """Whether an adversary that is told the same plays the same, and draws from no global generator."""
    try:
        check_told_alike(adversary, learner, referee)
    except NotConforming:
        return False
    return True


def _outcome(played: Played) -> tuple[list[bytes], bytes]:
    """What the adversary saw, as far as it was recorded, and what it made of it."""
    seen = [] if played.view is None else [part.tobytes() for r in played.view.replies for part in r.parts]
    halted = b"" if played.halted is None else played.halted.tobytes()
    return [*seen, halted], b"" if played.score is None else played.score.tobytes()


# --- games of a learner ---------------------------------------------------------------------------


def _check_games(learner: Learner, probe: _Probe, referee: Referee, games: int) -> None:
    """The games of a table are independent and each follows the law of a single game."""
    _check_coins(learner, lambda seed: _features(learner, probe, referee, 100, seed=seed))
    features = _features(learner, probe, referee, games, seed=11)
    alone = attrs.evolve(probe, crowd=True)
    among_others = _features(learner, alone, referee, games, seed=12)[::2]
    _compare(learner, features, among_others, "a game does not depend on the other games of its table")
    single = np.concatenate([_features(learner, probe, referee, 1, seed=100 + g) for g in range(games // 10)])
    _compare(learner, features, single, "a table plays the game that a single game plays")
    if hasattr(learner.start(1, generator(block_seed(13, 0))), "predict_many"):
        in_a_row = _features(learner, attrs.evolve(probe, in_a_row=True), referee, games, seed=13)
        _compare(learner, features, in_a_row, "queries in a row are answered as they are one by one")


def _features(learner: Learner, probe: _Probe, referee: Referee, games: int, seed: int) -> np.ndarray:
    """(games, f) numbers in [0, 1] that sum up what the probe saw of each game."""
    played = play(learner, probe, referee, games=games, seed=seed, record=True)
    assert played.view is not None
    columns = [column for reply in played.view.replies for column in _columns(reply, probe.points)]
    return np.stack(columns, axis=1) if columns else np.zeros((games, 0))


def _columns(reply: Reply, points: tuple[Any, ...]) -> list[np.ndarray]:
    """What a reply says of each game, as numbers in [0, 1]; hypotheses by their labels at `points`."""
    if isinstance(reply, Answer):
        return [(reply.label == 1).astype(float), reply.halted.astype(float)]
    if isinstance(reply, Answers):
        return [column for answer in list_answers([reply]) for column in _columns(answer, points)]
    if isinstance(reply, Released):
        if isinstance(reply.value, Hypothesis):
            return [reply.value(x).astype(float) for x in points]
        flat = reply.value.reshape(len(reply.value), -1).astype(float)
        return [1.0 / (1.0 + np.exp(-np.clip(column, -500, 500))) for column in flat.T]
    if isinstance(reply, Shown):
        return [] if reply.hypothesis is None else [reply.hypothesis(x).astype(float) for x in points[:1]]
    if isinstance(reply, Stream):
        return [h(x).astype(float) for h in reply.hypotheses for x in points[:1]]
    return []


def _compare(learner: Learner, first: np.ndarray, second: np.ndarray, rule: str) -> None:
    """Means of numbers in [0, 1] of two sets of games, by Hoeffding's inequality at RATE in all."""
    if not first.size or not second.size:
        return
    tail = log(4.0 * first.shape[1] / RATE) / 2.0
    apart = np.abs(first.mean(axis=0) - second.mean(axis=0))
    allowed = sqrt(tail / len(first)) + sqrt(tail / len(second))
    worst = int(apart.argmax())
    if apart[worst] > allowed:
        raise NotConforming(
            learner.name,
            rule,
            f"feature {worst} of the view has means {first.mean(axis=0)[worst]:.3f} and "
            f"{second.mean(axis=0)[worst]:.3f}",
        )


def _check_coins(learner: Learner, features: Callable[[int], np.ndarray]) -> None:
    """The mean of a table of independent games varies as 1/games; coins that games share make it vary more.

    40 tables of 100 games: four times the variance of independent games has a chance below `RATE`
    (χ² with 39 degrees of freedom, with room for means that are not quite normal).
    """
    tables = np.stack([features(seed) for seed in range(40)])
    spread = tables.reshape(-1, tables.shape[2]).var(axis=0)
    of_means = tables.mean(axis=1).var(axis=0, ddof=1) * tables.shape[1]
    if ((spread > 0.01) & (of_means > 4.0 * spread)).any():
        raise NotConforming(
            learner.name,
            "every game has coins of its own",
            "the means of whole tables vary more than independent games could",
        )


# --- what a learner says of itself ----------------------------------------------------------------


def _check_shape(learner: Learner) -> None:
    points, shape = learner.some_points, learner.point_shape
    if not isinstance(points, np.ndarray) or not len(points) or points.shape[1:] != shape:
        got = f"an array of shape {points.shape}" if isinstance(points, np.ndarray) else type(points).__name__
        raise NotConforming(
            learner.name, f"some_points are one or more points of shape {shape}", f"got {got}"
        )


def _check_some_points(learner: Learner, protocol: str, referee: Referee) -> None:
    points = learner.some_points[: learner.sample_size]
    size = max(len(points), learner.sample_size or 0)
    counts = [size - len(points) + 1, *[1] * (len(points) - 1)]
    sample = Sample(points, np.arange(len(points)) % 2, counts)
    probe = _Probe(sample, _each(learner.some_points), protocol, handing=_takes_unlabelled(learner))
    try:
        play(learner, probe, referee, games=3, seed=2)
    except ArenaError as error:
        rule = "it can be trained on some_points and asked about them"
        raise NotConforming(learner.name, rule, str(error)) from error


def _check_common_random_numbers(learner: Learner, probe: _Probe, referee: Referee) -> None:
    """Two tables with the same coins, in one of which every other game is another: bit by bit the same."""
    for seed in range(_BATCHES_COMMON):
        replies, states = [], []
        for crowd in (False, True):
            overheard = _Overheard(learner)
            table = attrs.evolve(probe, crowd=crowd)
            played = play(cast(Learner, overheard), table, referee, games=100, seed=seed, record=True)
            assert played.view is not None
            replies.append([part[::2].tobytes() for r in played.view.replies for part in r.parts])
            states.append(overheard.state)
        if replies[0] != replies[1] or states[0] != states[1]:
            raise NotConforming(
                learner.name,
                "in step, a game has the same coins whatever other games are told",
                "other replies" if replies[0] != replies[1] else "the generator is left in another state",
            )


class _Overheard:
    """A learner whose generator can be looked at after the game."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        self._rng = rng
        return self._learner.start(games, rng)

    @property
    def state(self) -> str:
        return str(self._rng.bit_generator.state)


def _check_law(learner: Learner, probe: _Probe, referee: Referee, games: int) -> None:
    """The law that it tells for this protocol, if it does."""
    try:
        law = learner.law(probe.sample)
    except Unsupported:
        return
    if not isinstance(law, _LAWS.get(referee.name, ())):
        return
    played = play(learner, probe, referee, games=games, seed=13, record=True)
    assert played.view is not None
    replies = played.view.replies
    if isinstance(law, ValueLaw):
        check_values(learner.name, law, replies[0].parts[0], rate=RATE)
    else:
        answers = list_answers(replies)
        check_answers(learner.name, law, probe.points, answers, rate=RATE)


@attrs.frozen
class _Probe(Adversary):
    """Plays any protocol with the same sample and points. `crowd`: every other game is another one.
    `in_a_row`: queries are asked together. `handing`: unlabelled points are handed over before them.
    """

    sample: Sample
    points: tuple[Any, ...]
    protocol: str
    crowd: bool = False
    in_a_row: bool = False
    handing: bool = False

    name = "probe"
    protocols = tuple(REFEREES)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield from getattr(self, "_" + self.protocol.lower())(games)
        return np.zeros(games)

    def _figure1(self, games: int) -> Moves:
        yield Train(self._given(games))
        if self.handing:
            some = [self._mixed(x, games) for x in self.points]
            yield Unlabelled(np.stack(some * _UNLABELLED, axis=1))
        if self.in_a_row:
            yield Queries(np.array(self.points))
            return None
        for x in self.points:
            yield Query(self._mixed(x, games))
        return None

    _voting = _figure1

    def _release(self, games: int) -> Moves:
        yield Train(self._given(games))
        return None

    def _oblivious(self, games: int) -> Moves:
        rounds = range(_ROUNDS)
        x = np.stack([self._mixed(self._at(t), games) for t in rounds], axis=1)
        yield Commit(x, np.stack([self._label(t, games) for t in rounds], axis=1))
        return None

    def _adaptive(self, games: int) -> Moves:
        for t in range(_ROUNDS):
            yield Example(self._mixed(self._at(t), games), self._label(t, games))
        return None

    def _specialround(self, games: int) -> Moves:
        yield Ready()
        yield from self._adaptive(games)
        return None

    def _at(self, t: int) -> Any:
        return self.points[t % len(self.points)]

    def _label(self, t: int, games: int) -> np.ndarray:
        label = np.full(games, t % 2)
        label[1::2] ^= self.crowd
        return label

    def _mixed(self, x: Any, games: int) -> np.ndarray:
        own = np.repeat(np.asarray(x)[None], games, axis=0)
        if self.crowd:  # the other extreme, whichever it is
            own[1::2] = self.points[2] if np.array_equal(x, self.points[0]) else self.points[0]
        return own

    def _given(self, games: int) -> Any:
        if not self.crowd or games < 2:
            return self.sample
        labels = self.sample.labels
        other = Sample(self.sample.points, 0 * labels + 1 - labels[0], self.sample.counts)
        return [other if game % 2 else self.sample for game in range(games)]


_ROUNDS = 12
_UNLABELLED = 10  # times that every point is handed over
_BATCHES_COMMON = 3
_LAWS: dict[str, type] = {"Release": ValueLaw, "Figure1": AnswerLaw, "Voting": AnswerLaw}
_REFEREES: dict[str, Referee] = {
    "Figure1": Figure1(),
    "Release": Release(),
    "Voting": Voting(),
    "Oblivious": Oblivious(_ROUNDS),
    "Adaptive": Adaptive(_ROUNDS),
    "SpecialRound": SpecialRound(_ROUNDS),
}


def _takes_unlabelled(learner: Learner) -> bool:
    return PrivacyUnit.UNLABELLED_EXAMPLE in learner.claim.protects


def _sample_for(learner: Learner) -> Sample:
    """Two points with both labels, or as much of that as fits, of the size that the learner asks for."""
    size = learner.sample_size or 1_000
    runs = min(4, size)
    low, high = learner.some_points[[0, -1]]
    counts = np.diff(size * np.arange(runs + 1) // runs)
    return Sample([low, high, low, high][:runs], [0, 1, 1, 0][:runs], counts)


def _points(sample: Sample) -> tuple[Any, ...]:
    """The sample's extremes and its middle, each asked a few times."""
    order = np.lexsort(sample.points.reshape(len(sample.points), -1).T[::-1])
    return _each(sample.points[order[[0, len(order) // 2, -1]]]) * 3


def _each(points: np.ndarray) -> tuple[Any, ...]:
    return tuple(x if x.ndim else x.item() for x in points)

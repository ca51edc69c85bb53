"""Players of exact audits: learner states that follow a path of answers, and adversaries without randomness.

See docs/proofs/exact_privacy_loss.md.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arena import (
    Adversary,
    AnswerLaw,
    Claim,
    GameAdversary,
    InvalidArgument,
    Learner,
    Moves,
    Sample,
    Training,
    Unsupported,
)

MAX_ROUNDS = 10_000
_PREFERENCES = (0.0, 0.25, 0.5, 1.0)  # powers of the probability with which sampled paths choose an outcome
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd; 2**64 over the golden ratio


@attrs.frozen(eq=False)
class PresetStates(Learner):
    """A learner that starts batches of games in given states, in order, and ignores its random generator."""

    learner: Learner
    states: Iterator[Any]
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    @classmethod
    def of(cls, learner: Learner, *states: Any) -> PresetStates:
        return cls(learner, iter(states), learner.own_name, learner.protocols)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.learner.point_shape

    @property
    def receives_records(self) -> bool:
        return self.learner.receives_records

    @property
    def claim(self) -> Claim:
        return self.learner.claim

    def users_of(self, points: np.ndarray) -> np.ndarray:
        return self.learner.users_of(points)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return next(self.states)


def forbid_randomness(adversary: Adversary) -> Adversary:
    """The adversary; playing it raises Unsupported as soon as it draws a random number."""
    if isinstance(adversary, GameAdversary):
        return _DeterministicGameAdversary(adversary, adversary.name, adversary.protocols)
    return _DeterministicAdversary(adversary, adversary.name, adversary.protocols)


@attrs.frozen(eq=False)
class _DeterministicAdversary(Adversary):
    adversary: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        return _check_moves(lambda: self.adversary.play(games, rng), rng, self.name)


@attrs.frozen(eq=False)
class _DeterministicGameAdversary(GameAdversary):
    adversary: GameAdversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play_one(self, rng: np.random.Generator) -> Moves:
        return _check_moves(lambda: self.adversary.play_one(rng), rng, self.name)


def _check_moves(begin: Callable[[], Moves], rng: np.random.Generator, name: str) -> Moves:
    before = _generator_state(rng)
    moves = begin()
    # The engine refuses anything that is not a generator.
    return _relay_moves(moves, rng, before, name) if isinstance(moves, Generator) else moves


def _relay_moves(moves: Moves, rng: np.random.Generator, before: bytes, name: str) -> Moves:
    reply: Any = None
    move: Any
    while True:
        move, ended = None, None
        try:
            move = moves.send(reply)
        except StopIteration as end:
            ended = end
        if _generator_state(rng) != before:
            raise Unsupported(
                f"exact audits need an adversary without randomness, and {name} draws random numbers",
                remedy="Fix these choices in its settings, or use `arena audit`, which plays games.",
            )
        if ended is not None:
            return ended.value
        reply = yield move


def _generator_state(rng: np.random.Generator) -> bytes:
    """What changes when a random number is drawn or a generator is spawned."""
    bits = rng.bit_generator
    return pickle.dumps((bits.state, getattr(bits.seed_seq, "n_children_spawned", 0)))


@attrs.frozen(eq=False, kw_only=True)
class Path:
    """A world and the outcomes of the queries so far, with the probability of the path and a fingerprint of
    the queries. measure: (m,) joint probabilities of path and hidden states; None before the first query and
    after a halt."""

    world: bool
    outcomes: tuple[int, ...] = ()
    mass: float = 1.0
    measure: np.ndarray | None = None
    asked: int = 0


@attrs.frozen(eq=False)
class PrunedBranch:
    """A branch too unlikely to be followed."""

    game: int
    query: int
    outcome: int
    mass: float


class AnswerLaws:
    """The answer distributions of a learner, one for each sample.
    defects: (2,) by how much the masses of each world may fail to add up."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._laws: dict[Sample, AnswerLaw] = {}
        self.defects = np.zeros(2)

    def of(self, sample: Sample) -> AnswerLaw:
        """The distribution for a sample. Raises: Unsupported if it is unknown, or is not one of answers."""
        if sample not in self._laws:
            law = self._learner.law(sample)
            if not isinstance(law, AnswerLaw):
                raise Unsupported(
                    f"{self._learner.own_name} states no distribution of its answers",
                    value=type(law).__name__,
                    remedy="Let law(sample) return an AnswerLaw.",
                )
            self._laws[sample] = law
        return self._laws[sample]

    def start(self, law: AnswerLaw, world: bool) -> np.ndarray:
        """(m,): the probabilities of the hidden states after training."""
        measure = np.asarray(law.start(), float)
        if measure.ndim != 1 or not np.isfinite(measure).all():
            raise self._invalid_law("start() returns the probabilities (m,) of the states", measure.shape)
        measure = self._clip_rounding(measure[None], np.array([world]))[0]
        self.defects[int(world)] += abs(measure.sum() - 1)
        return np.asarray(measure)

    def step(self, law: AnswerLaw, measure: np.ndarray, x: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """(k, n, m): as `AnswerLaw.step` returns it. worlds (n,): of each game, to record defects."""
        after = np.asarray(law.step(measure, x), float)
        if after.shape != (len(law.outcomes), *measure.shape) or not np.isfinite(after).all():
            raise self._invalid_law("step() returns the parts (outcomes, n, m) of the measures", after.shape)
        after = self._clip_rounding(after, worlds[None, :])
        off = np.abs(after.sum(axis=(0, 2)) - measure.sum(axis=1))
        self.defects += np.bincount(worlds, weights=off, minlength=2)
        return after

    def _clip_rounding(self, measure: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """The measure with negative rounding errors set to 0; these count as a defect."""
        below = np.minimum(measure, 0).sum(axis=-1)
        if not below.any():
            return measure
        if below.min() < -1e-9:
            raise self._invalid_law("probabilities are at least 0", float(below.min()))
        for world in range(2):
            self.defects[world] -= below[np.broadcast_to(worlds == world, below.shape)].sum()
        return np.maximum(measure, 0)

    def _invalid_law(self, rule: str, value: object) -> InvalidArgument:
        return InvalidArgument(f"invalid distribution of {self._learner.own_name}: {rule}", value=value)


class PathState:
    """State of a learner in n games, each of which follows a path of its own.

    After its path, a game follows the most likely outcome of each query and leaves the others as branches.
    outcomes, masses: of each game, and their probabilities. alive: (n,) bool, not given up as too unlikely.
    """

    def __init__(self, paths: Sequence[Path], laws: AnswerLaws, prune: float) -> None:
        self._paths = paths
        self._laws = laws
        self._prune = prune
        self._worlds = np.array([path.world for path in paths], np.intp)
        self._depth = np.array([len(path.outcomes) for path in paths])
        self._measures = [path.measure for path in paths]
        self._asked = np.zeros(len(paths), np.uint64)
        self._round = 0
        self._law: list[AnswerLaw] = []
        self.halted = np.zeros(len(paths), bool)
        self.alive = np.ones(len(paths), bool)
        self.outcomes = [list(path.outcomes) for path in paths]
        self.masses = np.array([path.mass for path in paths])
        self.branches: list[Path] = []
        self.pruned: list[PrunedBranch] = []

    def train(self, training: Training) -> None:
        law = [self._laws.of(sample) for sample in training.samples]
        self._law = [law[which] for which in training.which]
        for game, path in enumerate(self._paths):
            if not path.outcomes:
                self._measures[game] = self._laws.start(self._law[game], path.world)
                self.masses[game] = self._measure(game).sum()

    def predict(self, x: np.ndarray) -> np.ndarray:
        query, self._round = self._round, self._round + 1
        if self._round > MAX_ROUNDS:
            raise Unsupported(
                f"an exact audit plays at most {MAX_ROUNDS:,} rounds",
                remedy="Limit the adversary's queries, or --rounds.",
            )
        active = ~self.halted
        self._asked[active] = _fingerprint(self._asked[active], x[active])
        for game in np.flatnonzero(active & (self._depth == self._round)).tolist():
            if int(self._asked[game]) != self._paths[game].asked:
                raise _not_reproducible()
        self._follow(np.flatnonzero(active & (self._depth <= query)).tolist(), query, x)
        label = np.zeros(len(x), np.int8)
        for game in np.flatnonzero(active).tolist():
            label[game], halts = self.outcome(game, self.outcomes[game][query], query)
            self.halted[game] = halts or not self.alive[game]
        return label

    def check_ended(self) -> None:
        """Refuse an adversary that stopped before the prescribed paths ended."""
        if (self._depth > self._round).any():
            raise _not_reproducible()

    def outcome(self, game: int, outcome: int, query: int) -> tuple[int, bool]:
        """The label of an outcome of query `query` in a game, and whether the game halts with it."""
        law = self._law[game]
        label, halts = law.outcomes[outcome]
        return label, halts or query + 1 == law.last

    def _measure(self, game: int) -> np.ndarray:
        measure = self._measures[game]
        assert measure is not None  # every active game has one
        return measure

    def _follow(self, games: list[int], query: int, x: np.ndarray) -> None:
        by_law: dict[int, list[int]] = {}
        for game in games:
            by_law.setdefault(id(self._law[game]), []).append(game)
        for group in by_law.values():
            law = self._law[group[0]]
            measure = np.stack([self._measure(game) for game in group])
            after = self._laws.step(law, measure, x[group], self._worlds[group])
            masses = after.sum(axis=2)
            best = masses.argmax(axis=0)
            for place, game in enumerate(group):
                own, reached = masses[:, place], after[:, place]
                chosen = self._choose(game, query, own, reached, int(best[place]))
                self.alive[game] = own[chosen] >= self._prune
                self.outcomes[game].append(chosen)
                self.masses[game] = own[chosen]
                self._measures[game] = (
                    None if self.outcome(game, chosen, query)[1] else reached[chosen].copy()
                )

    def _choose(self, game: int, query: int, masses: np.ndarray, after: np.ndarray, best: int) -> int:
        """The outcome that a game follows; the others are noted as branches."""
        for outcome in np.flatnonzero(masses):
            if masses[outcome] < self._prune:
                self.pruned.append(PrunedBranch(game, query, int(outcome), float(masses[outcome])))
            elif outcome != best:
                halts = self.outcome(game, int(outcome), query)[1]
                branch = Path(
                    world=self._paths[game].world,
                    outcomes=(*self.outcomes[game], int(outcome)),
                    mass=float(masses[outcome]),
                    measure=None if halts else after[outcome].copy(),
                    asked=int(self._asked[game]),
                )
                self.branches.append(branch)
        return best


class PathSampler(PathState):
    """State of a learner in n games that each follow one random path, and leave no branches.
    A path that is chosen with probability q stands for 1/q paths, an unbiased estimate; log_counts: (n,) its
    logarithm. limit: the logarithm at which the game is given up."""

    def __init__(
        self, paths: Sequence[Path], laws: AnswerLaws, prune: float, *, limit: float, rng: np.random.Generator
    ) -> None:
        super().__init__(paths, laws, prune)
        self.log_counts = np.zeros(len(paths))
        self._limit = limit
        self._rng = rng

    def _choose(self, game: int, query: int, masses: np.ndarray, after: np.ndarray, best: int) -> int:
        followed = np.flatnonzero(masses >= self._prune)
        chosen, chance = best, 1.0
        if len(followed):
            # Likely outcomes rarely halt, and unlikely ones are where most paths are: games differ in how
            # much they prefer likely ones.
            weights = masses[followed] ** _PREFERENCES[game // 2 % len(_PREFERENCES)]
            weights /= weights.sum()
            place = int(self._rng.choice(len(followed), p=weights))
            chosen, chance = int(followed[place]), float(weights[place])
        self.log_counts[game] -= math.log(chance)
        if self.log_counts[game] > self._limit:
            raise TooManyPaths("the sampled paths suffice")
        return chosen


class TooManyPaths(Unsupported):
    """A sampled path shows that there are more paths than the limit."""


def _not_reproducible() -> Unsupported:
    return Unsupported(
        "exact audits need an adversary whose moves depend only on the replies of their own game, and this "
        "one made other moves after the same replies",
        remedy="`arena.testing.check_adversary` looks for the cause.",
    )


def _fingerprint(before: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(n,) uint64: a hash of the earlier queries and x (n, ...)."""
    rows = np.ascontiguousarray(x.reshape(len(x), math.prod(x.shape[1:])), np.float64)
    fingerprint = before
    for column in (rows + 0.0).view(np.uint64).T:  # -0 and 0 are the same point
        fingerprint = (fingerprint ^ column) * _FACTOR
        fingerprint ^= fingerprint >> np.uint64(29)
    return fingerprint

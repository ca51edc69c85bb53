"""The learner that an exact audit seats: in each game of its table it walks one path, and notes the branches.

A *path* is a world and the outcomes that a game's answers have had so far. Its measure says how likely it
is, and what hidden state it leaves the learner in. A game goes along its path; from there it follows the
likeliest outcome of each query and leaves the others as paths for later tables. So every game ends as one
view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from arena import AnswerLaw, InvalidArgument, Learner, Sample, Training, Unsupported

MOST_ROUNDS = 10_000


@attrs.frozen(eq=False, kw_only=True)
class Path:
    """A world and outcomes.

    measure: (m,) over the hidden states after them; None before the first query, and after a halt.
    asked: a fingerprint of the queries so far.
    """

    world: bool
    outcomes: tuple[int, ...] = ()
    mass: float = 1.0
    measure: np.ndarray | None = None
    asked: int = 0


@attrs.frozen(eq=False)
class PrunedBranch:
    """A branch too unlikely to be followed: game `game` of the table, outcome `outcome` of query `query`."""

    game: int
    query: int
    outcome: int
    mass: float


class AnswerLaws:
    """The laws of a learner, one a sample, and how far they are from adding up.

    defects: (2,) by how much the masses of each world may be off.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._found: dict[Sample, AnswerLaw] = {}
        self.defects = np.zeros(2)

    def of(self, sample: Sample) -> AnswerLaw:
        """Raises: Unsupported if the learner does not tell its law, or none of answers."""
        if sample not in self._found:
            law = self._learner.law(sample)
            if not isinstance(law, AnswerLaw):
                raise Unsupported(
                    f"{self._learner.name} tells no law of its answers",
                    value=type(law).__name__,
                    remedy="Before Figure1 and Voting, law(sample) returns an AnswerLaw.",
                )
            self._found[sample] = law
        return self._found[sample]

    def start(self, law: AnswerLaw, world: bool) -> np.ndarray:
        """(m,): the measure after training."""
        measure = np.asarray(law.start(), float)
        if measure.ndim != 1 or not np.isfinite(measure).all():
            raise self._broken("start() returns the chances (m,) of the states", measure.shape)
        measure = self._counted(measure[None], np.array([world]))[0]
        self.defects[int(world)] += abs(measure.sum() - 1)
        return np.asarray(measure)

    def step(self, law: AnswerLaw, measure: np.ndarray, x: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """(k, n, m): as `AnswerLaw.step` has it. worlds (n,): whose defects they are."""
        after = np.asarray(law.step(measure, x), float)
        if after.shape != (len(law.outcomes), *measure.shape) or not np.isfinite(after).all():
            raise self._broken("step() returns the parts (outcomes, n, m) of the measures", after.shape)
        after = self._counted(after, worlds[None, :])
        off = np.abs(after.sum(axis=(0, 2)) - measure.sum(axis=1))
        self.defects += np.bincount(worlds, weights=off, minlength=2)
        return after

    def _counted(self, measure: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """The measure without what the rounding of a law has pushed below 0; that is a defect."""
        below = np.minimum(measure, 0).sum(axis=-1)
        if not below.any():
            return measure
        if below.min() < -1e-9:
            raise self._broken("chances are at least 0", float(below.min()))
        for world in range(2):
            self.defects[world] -= below[np.broadcast_to(worlds == world, below.shape)].sum()
        return np.maximum(measure, 0)

    def _broken(self, rule: str, value: object) -> InvalidArgument:
        return InvalidArgument(f"the law of {self._learner.name}: {rule}", value=value)


class PathState:
    """n games, each on a path of its own.

    outcomes: of each game, also beyond its path. masses: of the paths so walked.
    alive: (n,) bool: the games not given up as too unlikely. branches: the paths left for later, each with
    the game that it left. pruned: the branches that are too unlikely.
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
        if self._round > MOST_ROUNDS:
            raise Unsupported(
                "an exact audit plays so many rounds at most",
                value=MOST_ROUNDS,
                remedy="Bound the adversary's queries, or --rounds.",
            )
        active = ~self.halted
        self._asked[active] = _fingerprint(self._asked[active], x[active])
        self._check_asked(active & (self._depth == self._round))
        self._follow(np.flatnonzero(active & (self._depth <= query)).tolist(), query, x)
        label = np.zeros(len(x), np.int8)
        for game in np.flatnonzero(active).tolist():
            label[game], halts = self.outcome(game, self.outcomes[game][query], query)
            self.halted[game] = halts or not self.alive[game]
        return label

    def check_ended(self) -> None:
        """Refuse an adversary that stopped before the paths did."""
        if (self._depth > self._round).any():
            raise _unlike()

    def outcome(self, game: int, outcome: int, query: int) -> tuple[int, bool]:
        """The label of an outcome of query `query` by a game's law, and whether the game halts with it."""
        law = self._law[game]
        label, halts = law.outcomes[outcome]
        return label, halts or query + 1 == law.last

    def _check_asked(self, ended: np.ndarray) -> None:
        """The queries along a path are those that were asked when it was found."""
        for game in np.flatnonzero(ended).tolist():
            if int(self._asked[game]) != self._paths[game].asked:
                raise _unlike()

    def _measure(self, game: int) -> np.ndarray:
        measure = self._measures[game]
        assert measure is not None  # an active game has one
        return measure

    def _follow(self, games: list[int], query: int, x: np.ndarray) -> None:
        """Answer where no path prescribes the answer."""
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
                self._leave(law, game, query, masses[:, place], after[:, place], int(best[place]))

    def _leave(
        self, law: AnswerLaw, game: int, query: int, masses: np.ndarray, after: np.ndarray, best: int
    ) -> None:
        """Follow the likeliest outcome of one game, and leave the others for later."""
        for outcome in np.flatnonzero(masses):
            if masses[outcome] < self._prune:
                self.pruned.append(PrunedBranch(game, query, int(outcome), float(masses[outcome])))
            elif outcome != best:
                halts = self.outcome(game, int(outcome), query)[1]
                self.branches.append(
                    Path(
                        world=self._paths[game].world,
                        outcomes=(*self.outcomes[game], int(outcome)),
                        mass=float(masses[outcome]),
                        measure=None if halts else after[outcome].copy(),
                        asked=int(self._asked[game]),
                    )
                )
        self.alive[game] = masses[best] >= self._prune
        self.outcomes[game].append(best)
        self.masses[game] = masses[best]
        self._measures[game] = None if self.outcome(game, best, query)[1] else after[best].copy()


def _unlike() -> Unsupported:
    return Unsupported(
        "exact audits play adversaries whose moves follow from their game's replies alone, and this one "
        "moved otherwise when it was told the same again",
        remedy="`arena.testing.check_adversary` looks for the reason.",
    )


_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def _fingerprint(before: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(n,) uint64: of the queries before, and then x (n, ...)."""
    rows = np.ascontiguousarray(x.reshape(len(x), math.prod(x.shape[1:])), np.float64)
    found = before
    for column in (rows + 0.0).view(np.uint64).T:  # -0 and 0 are one point
        found = (found ^ column) * _FACTOR
        found ^= found >> np.uint64(29)
    return found

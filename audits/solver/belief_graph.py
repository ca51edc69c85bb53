"""What adversaries can know after each round of a two-world game, as a graph of beliefs.

With measures a and b over the learner's hidden states in worlds 0 and 1, all that matters for the rest of the
game are the *beliefs* a/Σa and b/Σb, and the *log ratio* log(Σb/Σa). A stage of the graph holds the pairs of
beliefs that histories of one length reach, with the log ratios at which values are computed. The beliefs of
each world are merged alone, so that pairs of them are pairs of numbers. See docs/proofs/solver.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import attrs
import numpy as np

from arena.errors import Unsupported
from audits.solver.linear_game import LinearGame, Watch, ignore_progress

SAME = 1e-10  # log ratios of one pair of beliefs that differ by less are merged
NEGLIGIBLE = 1e-15  # an outcome of less probability is not followed
_MOST_NUMBERS = 2**27  # probabilities of answers in one stage of a world: some three gigabytes
_CHUNK = 2**22  # numbers of measures that are computed together


@attrs.frozen(eq=False)
class WorldStage:
    """The n beliefs of one world that histories of one length reach.
    Shapes (kernels, outcomes, n): masses, the probability of an outcome; after, the next belief, -1 for none;
    errors, its l1 distance at most to the one it was merged with, and what the coordinates leave out."""

    masses: np.ndarray
    after: np.ndarray
    errors: np.ndarray


@attrs.define(eq=False)
class Stage:
    """The nodes that histories of one length reach: pairs of beliefs, each with a log ratio.

    worlds: the beliefs of each world. beliefs: (2, d) the pair of each node. family: (d,). offset: (d,) its
    log ratio less that of the family. after: for each move and outcome, (d,) the next node, -1 where the game
    is over; None where it always is.
    """

    worlds: tuple[WorldStage, WorldStage]
    beliefs: np.ndarray
    family: np.ndarray
    offset: np.ndarray
    after: list[list[np.ndarray | None]] = attrs.field(factory=list)


@attrs.frozen(eq=False)
class Family:
    """A pair of beliefs that is reached with many log ratios, and all later pairs that are reached from it
    alone. time: of the first pair. ratios: (p,) those of the first pair at which values are computed."""

    time: int
    ratios: np.ndarray


@attrs.frozen(kw_only=True)
class GraphLimits:
    """How large a graph may become, and how exact it is.

    pairs: of beliefs in one stage. tolerance: between coordinates of beliefs that are merged. offsets: with
    which a pair is reached before it begins a family. knots: log ratios of a family that are kept; more are
    replaced by a grid with this step in nats, from -reach to reach at most.
    """

    pairs: int = 2_000_000
    tolerance: float = 1e-10
    offsets: int = 32
    knots: int = 2_000
    step: float = 1e-3
    reach: float = np.inf


class TooManyBeliefs(Unsupported):
    """A game has too many beliefs for a graph."""


class BeliefGraph:
    """The stages 0 to T - 1 of a game."""

    def __init__(
        self, game: LinearGame, ratios: np.ndarray, limits: GraphLimits, *, watch: Watch = ignore_progress
    ) -> None:
        """ratios: (e,) at the start: the value at log ratio ε is δ*(ε). Raises: TooManyBeliefs, as soon as
        this can be foreseen."""
        self.game = game
        self.kernels = np.empty((2, game.moves), np.intp)  # the number of the kernel of a move in each world
        worlds = []
        for world in range(2):
            used, self.kernels[world] = np.unique(game.which[world], return_inverse=True)
            worlds.append(_world_stages(game, world, used, limits.tolerance))
        first, second = map(next, worlds)
        self.families = [Family(0, np.sort(ratios))]
        self.rounding = 0.0  # by which log ratios of merged histories differ
        only = np.zeros(1, np.intp)
        self.stages = [Stage((first, second), np.zeros((2, 1), int), only, np.zeros(1))]
        for time, following in enumerate(zip(*worlds, strict=False)):
            watch("rounds", time, game.rounds)
            self._add_stage(following, limits)
            if not self.stages[-1].beliefs.size:  # every answer tells the worlds apart
                self.stages.pop()
                self.stages[-1].after.clear()
                break
            self._check_size(limits.pairs)

    def branch(
        self, stage: Stage, move: int, outcome: int, nodes: np.ndarray | slice = slice(None)
    ) -> list[np.ndarray]:
        """Four of (d,): the probability of an outcome in each world, and the error of each measure then."""
        masses, errors = [], []
        beliefs = stage.beliefs[:, nodes]
        for world, kernel, belief in zip(stage.worlds, self.kernels[:, move], beliefs, strict=True):
            masses.append(world.masses[kernel, outcome][belief])
            errors.append(world.errors[kernel, outcome][belief] * masses[-1])
        return masses + errors

    def shorten(self, rounds: int, ratios: np.ndarray) -> BeliefGraph:
        """The graph of the game of fewer rounds, at other log ratios (e,)."""
        shorter = copy(self)
        shorter.game = attrs.evolve(self.game, rounds=rounds)
        *stages, last = self.stages[:rounds]
        shorter.stages = [*stages, attrs.evolve(last, after=[])]
        later = [family for family in self.families[1:] if family.time < rounds]
        shorter.families = [Family(0, np.sort(ratios)), *later]
        return shorter

    def _add_stage(self, worlds: tuple[WorldStage, WorldStage], limits: GraphLimits) -> None:
        stage, width = self.stages[-1], worlds[1].masses.shape[2]
        goes_on = np.flatnonzero(~self.game.halts)
        keys, known = {}, np.empty(0, np.int64)
        for move in range(self.game.moves):
            new = [known]
            for outcome in goes_on:
                first, second = (
                    world.after[kernel, outcome][belief].astype(np.int64)
                    for world, kernel, belief in zip(
                        stage.worlds, self.kernels[:, move], stage.beliefs, strict=True
                    )
                )
                key = np.where((first < 0) | (second < 0), -1, first * width + second)
                keys[move, outcome] = key
                new.append(key)
            known = np.sort(np.concatenate(new))  # faster than the hash table of np.unique
            known = known[np.diff(known, prepend=-1) > 0]
        for move in range(self.game.moves):
            row: list[np.ndarray | None] = [None] * len(self.game.halts)
            for outcome in goes_on:
                key = keys.pop((move, outcome))
                place = np.searchsorted(known, key).astype(np.int32)
                place[key < 0] = -1
                row[outcome] = place
            stage.after.append(row)
        nodes = self._choose_families(np.array(np.divmod(known, width)), limits)
        self.stages.append(Stage(worlds, *nodes))

    def _check_size(self, most: int) -> None:
        """Refuse a game whose largest stage will be too large; pairs grow about as multisets of queries."""
        counts = [stage.beliefs.shape[1] for stage in self.stages]
        length = len(counts) - 1
        kinds = max(1.0, length * counts[-1] / counts[-2] - length + 1)
        for queries in range(length + 1, self.game.rounds):
            counts.append(int(counts[-1] * (kinds + queries - 1) / queries))
        if max(counts) > most and (length > 1 or counts[length] > most):
            rounds = next(number for number, count in enumerate(counts) if count > most)
            raise TooManyBeliefs(
                f"an adversary can have about {max(counts):,} pairs of beliefs, more than {most:,}",
                remedy=f"Allow at most {rounds} rounds, or fewer queries, or use a smaller learner.",
            )

    def _arrivals(self, stage: Stage) -> Iterator[Arrivals]:
        """The histories that arrive at the next stage, for each move and outcome that does not end it."""
        for move, row in enumerate(stage.after):
            for outcome, after in enumerate(row):
                if after is not None:
                    mass_0, mass_1, *_ = self.branch(stage, move, outcome)
                    (on,) = np.nonzero(after >= 0)
                    offset = stage.offset[on] + np.log(mass_1[on] / mass_0[on])
                    yield Arrivals(after, on, after[on], stage.family[on], offset)

    def _choose_families(
        self, beliefs: np.ndarray, limits: GraphLimits
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs (2, n), families and offsets of the next nodes; their numbers go into `after`."""
        stage, time, pairs = self.stages[-1], len(self.stages), beliefs.shape[1]
        family, offset = np.zeros(pairs, np.intp), np.zeros(pairs)
        for found in self._arrivals(stage):
            family[found.place], offset[found.place] = found.family, found.offset
        # Most pairs have one family and one offset. The others are listed.
        others = [np.empty(0, _NODE)]
        for found in self._arrivals(stage):
            differ = found.differ(family, offset)
            if differ.any():
                others.append(np.unique(found.nodes()[differ]))
        extra = _distinct_nodes(np.concatenate(others))
        mixed = np.bincount(extra["place"], minlength=pairs) >= limits.offsets
        heads = np.flatnonzero(mixed)
        ratios: list[list[np.ndarray]] = [[] for _ in heads]
        if len(heads):
            own = np.array(list(zip(heads, family[heads], offset[heads], strict=True)), _NODE)
            for node in np.concatenate([own, extra[mixed[extra["place"]]]]):
                head = np.searchsorted(heads, node["place"])
                ratios[head].append(self.families[node["family"]].ratios + node["offset"])
            extra = extra[~mixed[extra["place"]]]
        for head, values in zip(heads, ratios, strict=True):
            family[head], offset[head] = len(self.families), 0.0
            self.families.append(Family(time, _choose_ratios(values, limits)))
        for found in self._arrivals(stage):
            differ = found.differ(family, offset) & ~mixed[found.place]
            if differ.any():
                wanted = found.nodes()[differ]
                wanted["offset"] += SAME
                place = np.searchsorted(extra, wanted, side="right") - 1
                found.after[found.origin[differ]] = pairs + place
                self.rounding = max(
                    self.rounding, float(np.abs(found.offset[differ] - extra["offset"][place]).max())
                )
            same = ~differ & ~mixed[found.place]
            apart = np.abs(found.offset - offset[found.place])[same]
            self.rounding = max(self.rounding, float(apart.max(initial=0)))
        return (
            np.hstack([beliefs, beliefs[:, extra["place"]]]),
            np.append(family, extra["family"]),
            np.append(offset, extra["offset"]),
        )


@attrs.frozen(eq=False)
class Arrivals:
    """Histories that arrive at the next stage by one outcome of one move. after: (d,) as in `Stage`. Of the n
    that go on, (n,): origin, where they come from; place, the pair of beliefs; its family and offset."""

    after: np.ndarray
    origin: np.ndarray
    place: np.ndarray
    family: np.ndarray
    offset: np.ndarray

    def differ(self, family: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """(n,) whether they arrive with another family or offset than those noted for the pair."""
        return (self.family != family[self.place]) | (np.abs(self.offset - offset[self.place]) > SAME)

    def nodes(self) -> np.ndarray:
        """(n,) place, family and offset."""
        nodes = np.empty(len(self.place), _NODE)
        nodes["place"], nodes["family"], nodes["offset"] = self.place, self.family, self.offset
        return nodes


_NODE = np.dtype([("place", np.int64), ("family", np.int64), ("offset", np.float64)])


def _distinct_nodes(nodes: np.ndarray) -> np.ndarray:
    """Nodes in order, with one of several whose offsets hardly differ."""
    nodes = np.sort(nodes, order=("place", "family", "offset"))
    if not len(nodes):
        return nodes
    new = (np.diff(nodes["place"]) > 0) | (np.diff(nodes["family"]) > 0) | (np.diff(nodes["offset"]) > SAME)
    return nodes[np.r_[True, new]]


def _choose_ratios(values: list[np.ndarray], limits: GraphLimits) -> np.ndarray:
    """The distinct ones of some log ratios, or a grid if they are many."""
    low, high = min(value[0] for value in values), max(value[-1] for value in values)
    if max(map(len, values)) <= limits.knots and sum(map(len, values)) <= _CHUNK:
        distinct = np.unique(np.concatenate(values))
        distinct = distinct[np.r_[True, np.diff(distinct) > SAME]]
        if len(distinct) <= limits.knots:
            return np.asarray(distinct)
    low, high = max(low, -limits.reach), min(high, limits.reach)
    return np.linspace(low, high, int(np.ceil((high - low) / limits.step)) + 1)


def _world_stages(game: LinearGame, world: int, used: np.ndarray, tolerance: float) -> Iterator[WorldStage]:
    """The beliefs of one world, stage by stage; used: the numbers of its kernels."""
    start, kernels, dropped = game.start[world], game.kernels[used], game.dropped[used]
    beliefs: np.ndarray = start[None, :] / (start @ game.masses)
    hashing = np.random.default_rng(0).integers(2**63, size=len(start), dtype=np.uint64) | np.uint64(1)
    goes_on = np.flatnonzero(~game.halts & kernels.any(axis=(0, 2, 3)))
    for time in range(game.rounds):
        size = len(kernels) * len(game.halts) * len(beliefs)
        if size > _MOST_NUMBERS:
            raise TooManyBeliefs(
                f"the {len(beliefs):,} beliefs of a world after {time} rounds have {size:,} "
                f"probabilities of answers, more than {_MOST_NUMBERS:,}",
                remedy=f"Allow at most {time} rounds, or fewer queries, or use a smaller learner.",
            )
        masses = np.maximum(game.masses @ kernels @ beliefs.T, 0)
        after, errors = np.full(masses.shape, -1, np.int32), np.zeros(masses.shape)
        followed = masses[:, goes_on] > NEGLIGIBLE
        if time == game.rounds - 1 or not followed.any():
            yield WorldStage(masses, after, errors)
            return
        keys, numbers = np.zeros(followed.shape, np.uint64), np.full(followed.shape, -1, np.int32)
        for kernel, matrices in enumerate(kernels):
            for piece, reached in _reach(beliefs, matrices[goes_on]):
                on = followed[kernel, :, piece]
                scale = masses[kernel, goes_on, piece][on][:, None] * tolerance
                cells = np.round(reached[on] / scale).astype(np.int64)
                keys[kernel, :, piece][on] = cells.view(np.uint64) @ hashing
        _, first, numbers[followed] = np.unique(keys[followed], return_index=True, return_inverse=True)
        after[:, goes_on] = numbers
        chosen = np.unravel_index(np.flatnonzero(followed)[first], followed.shape)
        following: np.ndarray = np.empty((len(first), len(start)))
        for kernel, matrices in enumerate(kernels):
            for place, outcome in enumerate(goes_on):
                (own,) = np.nonzero((chosen[0] == kernel) & (chosen[1] == place))
                following[own] = beliefs[chosen[2][own]] @ matrices[outcome].T
        following /= (following @ game.masses)[:, None]
        for kernel, matrices in enumerate(kernels):
            for piece, reached in _reach(beliefs, matrices[goes_on]):
                on = followed[kernel, :, piece]
                lost = dropped[kernel, goes_on] @ np.abs(beliefs[piece]).T
                reached = reached[on] / masses[kernel, goes_on, piece][on][:, None]
                apart = np.linalg.norm(reached - following[numbers[kernel, :, piece][on]], axis=1)
                own_errors = np.zeros(on.shape)
                own_errors[on] = apart + lost[on] / masses[kernel, goes_on, piece][on]
                errors[kernel, goes_on, piece] = own_errors
        yield WorldStage(masses, after, errors)
        beliefs = following


def _reach(beliefs: np.ndarray, matrices: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Pieces of the beliefs, and the measures (k, n, m) after each outcome."""
    pieces = max(1, min(len(beliefs), -(-beliefs.size * len(matrices) // _CHUNK)))
    for piece in np.array_split(np.arange(len(beliefs)), pieces):
        where = slice(piece[0], piece[-1] + 1)
        yield where, beliefs[where] @ matrices.swapaxes(-1, -2)

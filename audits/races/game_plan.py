"""The games of several learners, in seeded blocks that may be played anywhere and in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from math import ceil
from typing import ClassVar, Self, TypeVar

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Referee
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.settings import at_least, less_than, more_than, whole
from audits.registry.entrants import check_distinct
from audits.registry.tested_claim import read_claim
from audits.runs.workers import Workers, map_in_order

Watch = Callable[[int], None]
Player = TypeVar("Player", Learner, Adversary)
Plan = TypeVar("Plan", bound="GamePlan")


@attrs.frozen(kw_only=True)
class Entrant:
    """A learner, the label that names it in reports, its adversary and its referee."""

    label: str
    learner: Learner
    adversary: Adversary
    referee: Referee

    @property
    def concepts(self) -> ConceptClass:
        """The learner's concept class, against which it is measured."""
        return concepts_of(self.learner)

    @property
    def claim(self) -> str:
        """The learner's privacy claim as text."""
        return str(read_claim(self.learner))


@attrs.frozen(kw_only=True)
class GamePlan(ABC):
    """Everything on which the figures of the games depend.

    entrants: the learners. games: the number of games of each. confidence: of all confidence limits together,
    and of all tests of bounds together. seed: random seed. block: games that are played in one batch.
    """

    derived: ClassVar[tuple[str, ...]] = ("adversary",)  # what JSON shows beside the fields

    entrants: tuple[Entrant, ...] = attrs.field(repr=False)
    games: int = attrs.field(validator=[whole, at_least(1)])
    confidence: float = attrs.field(
        default=0.95, validator=[more_than(0), less_than(1, "Write 0.95 for 95 %.")]
    )
    seed: int = attrs.field(default=0, validator=[whole, at_least(0)])
    block: int = attrs.field(repr=False, validator=[whole, at_least(1)])

    def __attrs_post_init__(self) -> None:
        for entrant in self.entrants:
            check_protocol(entrant.learner, entrant.adversary, entrant.referee)

    @property
    def adversary(self) -> Adversary:
        """The adversary of the first learner. Those of the others differ from it in their opponent only."""
        return self.entrants[0].adversary

    @property
    def blocks(self) -> int:
        """The number of blocks of each learner."""
        return ceil(self.games / self.block)

    def games_in(self, block: int) -> int:
        """The number of games in a block; the last block may be smaller."""
        return min(self.block, self.games - block * self.block)

    def block_seed(self, number: int, block: int) -> np.random.SeedSequence:
        """The seed of a block of learner `number`, which depends on nothing else."""
        return np.random.SeedSequence(self.seed, spawn_key=(number, block))

    def curtail(self, learners: int, games: int) -> Self:
        """The plan of so many games, in the same blocks, of so many learners, the first ones."""
        return attrs.evolve(self, entrants=self.entrants[:learners], games=games)

    @abstractmethod
    def play_block(self, number: int, block: int) -> np.ndarray:
        """Play a block of learner `number` and return the figures (..., n) of its n games."""


@attrs.frozen(kw_only=True)
class Interruption:
    """What an interruption left of a plan.

    games: of each learner, on which the figures rest. planned: their number in the plan. unplayed: the labels
    of learners without games.
    """

    games: int
    planned: int
    unplayed: tuple[str, ...]

    def __str__(self) -> str:
        missing = f" No games of {', '.join(self.unplayed)} were finished." if self.unplayed else ""
        return f"Interrupted: figures rest on the first {self.games:,} of {self.planned:,} games.{missing}"


def play_games(
    plan: Plan, *, jobs: int | Workers = 1, watch: Watch | None = None
) -> tuple[Plan, list[np.ndarray], Interruption | None]:
    """Play all games; return the plan, the figures (..., n) of each learner's n games, and None.

    A keyboard interrupt ends them early. Then it is the plan of the games that were finished: equally many of
    every learner that has any. If none has, the interrupt is raised again.

    jobs: number of processes, or `Workers`. watch: called after every block with the number of games so far.
    Raises: whatever a referee or a player raises in a game; WorkersFailed if workers fail.
    """
    tasks = [(number, block) for block in range(plan.blocks) for number in range(len(plan.entrants))]
    figures: list[list[np.ndarray]] = [[] for _ in plan.entrants]
    played = 0
    interrupted = False
    results = map_in_order(lambda task: plan.play_block(*task), tasks, Workers.from_jobs(jobs, len(tasks)))
    with closing(results):
        try:
            for (number, _), block_figures in zip(tasks, results, strict=True):
                figures[number].append(block_figures)
                played += block_figures.shape[-1]
                if watch is not None:
                    watch(played)
        except KeyboardInterrupt:
            if not figures[0]:
                raise
            interrupted = True
    arrays = [np.concatenate(blocks, axis=-1) for blocks in figures if blocks]
    if not interrupted:
        return plan, arrays, None
    games = min(array.shape[-1] for array in arrays)  # the first learners may be a block ahead
    interruption = Interruption(
        games=games,
        planned=plan.games,
        unplayed=tuple(entrant.label for entrant in plan.entrants[len(arrays) :]),
    )
    return plan.curtail(len(arrays), games), [array[..., :games] for array in arrays], interruption


def concepts_of(learner: Learner) -> ConceptClass:
    """The learner's setting `concepts`. Raises: InvalidArgument if it has no such setting."""
    concepts = getattr(learner, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{learner.name} has no setting `concepts`, so there is no class to measure it against",
            remedy="Race learners of a concept class.",
        )
    return concepts


def check_labels(labels: list[str]) -> None:
    """Raises: InvalidArgument if there are no labels, or two are equal."""
    if not labels:
        raise InvalidArgument("a race needs at least one learner")
    check_distinct(labels)


def set_fields(player: Player, **values: object) -> Player:
    """The player with those of the values that it has fields for."""
    fields = attrs.fields_dict(type(player))
    return attrs.evolve(player, **{name: value for name, value in values.items() if name in fields})

"""The games of several learners, in seeded blocks that may be played anywhere and in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import accumulate
from math import ceil
from typing import ClassVar, Self, TypeVar

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Referee
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.settings import at_least, less_than, more_than, whole
from audits.registry.tested_claim import read_claim
from audits.runs.workers import Workers, map_missing

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

    def __attrs_post_init__(self) -> None:
        check_protocol(self.learner, self.adversary, self.referee)

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


def play_games(
    plan: Plan, *, jobs: int | Workers = 1, watch: Watch | None = None
) -> tuple[Plan, list[np.ndarray], str]:
    """Play all games; return the plan, the figures (..., n) of each learner's n games, and an empty text.

    A keyboard interrupt ends them early. Then it is the plan of the games that were finished, equally many of
    every learner that has any, and the text says which are missing. If none were, the interrupt is raised.

    jobs: number of processes, or `Workers`. watch: called with the number of games so far.
    Raises: whatever a referee or a player raises in a game; WorkersFailed if workers fail.
    """
    tasks = [(number, block) for block in range(plan.blocks) for number in range(len(plan.entrants))]
    played = [0, *accumulate(plan.games_in(block) for _, block in tasks)]  # after so many tasks
    results, interrupted = map_missing(
        lambda task: plan.play_block(*task),
        tasks,
        {},
        jobs,
        watch=None if watch is None else lambda done: watch(played[done]),
    )
    finished = [
        [results[number, block] for block in range(plan.blocks) if (number, block) in results]
        for number in range(len(plan.entrants))
    ]
    figures = [np.concatenate(blocks, axis=-1) for blocks in finished if blocks]
    if not interrupted:
        return plan, figures, ""
    if not figures:
        raise KeyboardInterrupt
    games = min(array.shape[-1] for array in figures)  # the first learners may be a block ahead
    text = f"Interrupted: figures rest on the first {games:,} of {plan.games:,} games."
    unplayed = [entrant.label for entrant in plan.entrants[len(figures) :]]
    text += f" No games of {', '.join(unplayed)} were finished." if unplayed else ""
    return plan.curtail(len(figures), games), [array[..., :games] for array in figures], text


def concepts_of(learner: Learner) -> ConceptClass:
    """The learner's setting `concepts`. Raises: InvalidArgument if it has no such setting."""
    concepts = getattr(learner, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{learner.name} has no setting `concepts`, so there is no class to measure it against",
            remedy="Race learners of a concept class.",
        )
    return concepts


def set_fields(player: Player, **values: object) -> Player:
    """The player with those of the values that it has fields for."""
    fields = attrs.fields_dict(type(player))
    return attrs.evolve(player, **{name: value for name, value in values.items() if name in fields})

"""Private training: the learner makes steps on its data, and the adversary sees models.

Either each game is a run of its own, or all games share one run that has a canary for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.moves import Advance, Train, TrainWithCanaries
from arena.neighbours import Neighbours
from arena.referees.batch import Batch, BatchSetup, MoveTable, Referee
from arena.referees.transcript import ModelEntry, TrainingEntry
from arena.replies import Models, Trained
from arena.sample import Training
from arena.settings import at_least, whole


@attrs.frozen
class TrainingRun(Referee):
    """A game of T steps of training, where T is the learner's.

    1. The training sets are neighbours by the learner's claim, or the same.
    2. The adversary asks for steps. It may choose the gradients of canaries, which are examples of its own.
    3. It sees the model after every step, after every k-th and the last step, or after the last step only.

    Which examples a step takes is up to the learner, and no player sees it. Rounds of federated learning are
    the same game, with clients in place of examples.

    every: k; 0: the adversary sees the last model only.
    """

    name: ClassVar[str] = "TrainingRun"

    every: int = attrs.field(default=1, validator=[whole, at_least(0)])

    def open(self, setup: BatchSetup) -> TrainingRunBatch:
        return TrainingRunBatch(setup, self.every)


@attrs.frozen
class OneRun(TrainingRun):
    """One run of training, in which m canaries are m games of one bit each.

    1. The adversary gives a sample and m canaries. An independent fair coin decides for each canary whether
       it is in the data (world 1) or not (world 0): then it is absent or, if the learner's claim is about
       examples that are zeroed out, blank.
    2. The adversary asks for steps and sees models, as in `TrainingRun`. Axis 0 of the models has length 1.
    3. It returns a score for each canary, higher if the canary looks included.

    Learners of `TrainingRun` play it. An adversary's `games` is m. Scores may depend on each other in any way
    (docs/proofs/one_run.md), so the games are no independent ones, and `audits.audit_one_run` audits them.

    Raises: Unsupported if the learner's claim is about other neighbours than with and without one example.
    """

    name: ClassVar[str] = "OneRun"
    two_worlds: ClassVar[bool] = False
    one_run: ClassVar[bool] = True
    learner_protocol: ClassVar[str] = TrainingRun.name

    def open(self, setup: BatchSetup) -> OneRunBatch:
        if setup.relation.kind not in (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE):
            raise Unsupported(
                f"the claim of {setup.learner_name} is about other neighbours than those with and without a "
                "canary",
                value=str(setup.relation),
                remedy='Set neighbours="zero out one", or "add or remove one".',
            )
        return OneRunBatch(setup, self.every)


class TrainingRunBatch(Batch):
    """Games of one training run each."""

    rule_of_moves = "TrainingRun knows two moves, Train and Advance"

    def __init__(self, setup: BatchSetup, every: int) -> None:
        super().__init__(setup)
        self._every = every
        self._steps = 0  # of the whole run; 0 before the training sets are given
        self._parameters = 0  # of the last models

    def _train(self, move: Any) -> Trained:
        if self._steps:
            raise self._refuse("the training sets are given once")
        training = self._choose_training(move)
        if self._log is not None:  # before the learner, which may fail
            which = np.broadcast_to(training.which, self.games)
            entry = TrainingEntry(round=0, training=Training(training.samples, which), reads=self._reads)
            self._log.append(entry)
        self._learner.train(training)
        self._steps = self._learner.count_steps()
        return Trained()

    def _choose_training(self, move: Any) -> Training:
        first = self._adversary.read_samples(move.sample)
        second = first if move.other is None else self._adversary.read_samples(move.other)
        return self._worlds.choose_samples(first, second)

    def _advance(self, move: Advance) -> Models:
        if not self._steps:
            raise self._refuse("the training sets come before the first step")
        if not isinstance(move.canaries, Sequence):
            raise self._refuse("canaries are given as a list", got=type(move.canaries).__name__)
        canaries = tuple(self._adversary.read_canary(canary) for canary in move.canaries)
        if self.round == self._steps and move.steps is None:
            return Models(np.zeros((self.runs, 0, self._parameters)))
        end = self.round + self._count_steps(move.steps)
        shown: list[np.ndarray] = []
        while self.round < end:
            stop = self._find_stop(end)
            steps, self._position.round = stop - self.round, stop
            models = self._learner.advance(steps, canaries)
            is_shown = stop == self._steps or bool(self._every and stop % self._every == 0)
            if self._log is not None:
                each = np.broadcast_to(models, (self.games, models.shape[1]))
                self._log.append(ModelEntry(round=stop, model=each, shown=is_shown))
            if is_shown:
                shown.append(models)
        self._parameters = models.shape[1]
        return Models(np.stack(shown, axis=1) if shown else np.zeros((self.runs, 0, self._parameters)))

    def _count_steps(self, given: Any) -> int:
        left = self._steps - self.round
        if given is None:
            return left
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 1 <= given <= left:
            raise self._refuse(
                "the steps asked for are at least one and at most those left",
                expected=f"1 to {left}" if left else "none, since the run is over",
                got=repr(given),
            )
        return int(given)

    def _find_stop(self, end: int) -> int:
        """The next step after which a model is shown, or the end of the move."""
        if not self._every:
            return end
        return min(end, (self.round // self._every + 1) * self._every)

    moves: MoveTable = ((Train, _train), (Advance, _advance))


class OneRunBatch(TrainingRunBatch):
    """Games that share one training run."""

    rule_of_moves = "OneRun knows two moves, TrainWithCanaries and Advance"
    moves: MoveTable = ((TrainWithCanaries, TrainingRunBatch._train), (Advance, TrainingRunBatch._advance))

    def _choose_training(self, move: TrainWithCanaries) -> Training:
        given = (*self._adversary.read_samples(move.sample), *self._adversary.read_samples(move.canaries))
        return self._worlds.include_canaries(*given)

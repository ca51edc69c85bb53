"""Private training: the learner makes steps on its data, and the adversary sees models.

Either each game is a run of its own, or all games share one run that has a canary for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np

from arena.claims import Neighbours, PrivacyUnit
from arena.errors import Unsupported
from arena.messages import Advance, GradientCanary, Models, Move, Train, Trained, TrainWithCanaries
from arena.referees.referee import Batch, BatchSetup, MoveTable, Probe, Referee
from arena.referees.transcript import ModelEntry
from arena.sample import Training
from arena.settings import at_least, whole


class TrainingState(Protocol):
    """What TrainingRun asks of a running learner."""

    @property
    def steps(self) -> int:
        """T, the number of steps of the whole run."""

    def train(self, training: Training) -> None:
        """Receive the training sets, before the first step."""

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        """Make so many steps, and return the models (n, P) float64 after the last of them. canaries: examples
        whose gradients are given, in arrays (n, ...) and (n, P)."""


class TrainingRunBatch(Batch):
    def __init__(self, referee: TrainingRun, setup: BatchSetup) -> None:
        super().__init__(referee, setup)
        self._every = referee.every
        self._steps = 0  # of the whole run
        self._parameters = 0  # of the last models

    def _train(self, move: Any) -> Trained:
        training = self.choose_training(move)
        self.learner.call("train", training)
        self._steps = self.learner.count_steps()
        return Trained()

    def _advance(self, move: Advance) -> Models:
        if not isinstance(move.canaries, Sequence):
            raise self.refuse("canaries are given as a list", got=type(move.canaries).__name__)
        canaries = tuple(self.adversary.read_canary(canary) for canary in move.canaries)
        if self.round == self._steps and move.steps is None:
            return Models(np.zeros((self.runs, 0, self._parameters)))
        end = self.round + self._count_steps(move.steps)
        shown: list[np.ndarray] = []
        while self.round < end:
            # The next step after which a model is shown, or the end of the move.
            stop = min(end, (self.round // self._every + 1) * self._every) if self._every else end
            steps, self.position.round = stop - self.round, stop
            models = self.learner.advance(steps, canaries)
            is_shown = stop == self._steps or bool(self._every and stop % self._every == 0)
            if self.log is not None:
                each = np.broadcast_to(models, (self.games, models.shape[1]))
                self.log.append(ModelEntry(round=stop, model=each, shown=is_shown))
            if is_shown:
                shown.append(models)
        self._parameters = models.shape[1]
        return Models(np.stack(shown, axis=1) if shown else np.zeros((self.runs, 0, self._parameters)))

    def _count_steps(self, given: Any) -> int:
        left = self._steps - self.round
        if given is None:
            return left
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 1 <= given <= left:
            raise self.refuse(
                "the steps asked for are at least one and at most those left",
                expected=f"1 to {left}" if left else "none, since the run is over",
                got=repr(given),
            )
        return int(given)

    moves: MoveTable = ((Train, _train), (Advance, _advance))
    opening: type[Move] | None = Train


class OneRunBatch(TrainingRunBatch):
    def __init__(self, referee: OneRun, setup: BatchSetup) -> None:
        if setup.relation.kind not in (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE):
            raise Unsupported(
                f"the claim of {setup.learner.own_name} is about other neighbours than those with and "
                "without a canary",
                value=str(setup.relation),
                remedy='Set neighbours="zero out one", or "add or remove one".',
            )
        super().__init__(referee, setup)

    def choose_training(self, move: Any) -> Training:
        given = (*self.adversary.read_samples(move.sample), *self.adversary.read_samples(move.canaries))
        return self.log_training(self.worlds.include_canaries(*given))

    moves = ((TrainWithCanaries, TrainingRunBatch._train), (Advance, TrainingRunBatch._advance))
    opening = TrainWithCanaries


@attrs.frozen
class TrainingRun(Referee):
    """A game of T steps of training, where T is the learner's.

    1. The training sets are neighbours by the learner's claim, or the same. 2. The adversary asks for steps.
    It may choose the gradients of canaries, which are examples of its own. 3. It sees the model after every
    k-th and the last step (`every` = k), or after the last step only (0).

    Which examples a step takes is up to the learner, and no player sees it. Rounds of federated learning are
    the same game, with clients in place of examples.
    """

    name = "TrainingRun"
    summary = "private training; the adversary sees models"
    batch: ClassVar[type[Batch]] = TrainingRunBatch
    learner_state = TrainingState
    challenges = (PrivacyUnit.TRAINING_EXAMPLE,)

    every: int = attrs.field(default=1, validator=[whole, at_least(0)])

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        yield Train(probe.mix_samples(games))
        if not probe.in_a_row:
            yield Advance(1)
        yield Advance()


@attrs.frozen
class OneRun(TrainingRun):
    """One run of training, in which m canaries are m games of one bit each.

    1. The adversary gives a sample and m canaries. A fair coin decides for each canary whether it is in the
    data (world 1) or not (world 0): then it is absent or, if the claim zeroes out examples, blank. 2. The
    adversary asks for steps and sees models, whose axis 0 has length 1. 3. It returns a score for each
    canary.

    Learners of `TrainingRun` play it, if their claim is about neighbours with and without one example. An
    adversary's `games` is m. Scores may depend on each other in any way (docs/proofs/one_run.md), so
    `audits.audit_one_run` audits them.
    """

    name = "OneRun"
    summary = "private training in one run with many canaries, whose presence is guessed"
    batch = OneRunBatch
    learner_protocol = TrainingRun.name
    one_run = True

"""Online games of T rounds (section 2 of Li, Wang, Ye, Private Online Learning against an Adaptive
Adversary)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import attrs
import numpy as np

from arena.capabilities import DeclaresOnlineLaw
from arena.claims import PrivacyUnit
from arena.concepts.base import ConceptClass
from arena.concepts.consistency import VersionSpaces, check_consistency, version_spaces
from arena.errors import RAISED, ArenaError, InvalidArgument, PlayerError
from arena.laws import OnlineLaw
from arena.messages import Commit, Example, Hypotheses, Hypothesis, Move, Ready, Shown
from arena.players import Learner
from arena.referees.referee import Batch, BatchSetup, Probe, Referee
from arena.referees.scorebook import MistakeCounts, OpenScorebook
from arena.referees.transcript import ExampleEntry
from arena.sample import format_point, points_differ
from arena.settings import at_least, whole

V = TypeVar("V")


class OnlineState(Protocol):
    """What the online protocols ask of a running learner."""

    def hypothesis(self) -> Hypothesis:
        """The hypothesis h_t of this round."""

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        """Receive this round's examples: x (n, ...), y (n,) of 0 and 1."""


class OnlineBatch(Batch):
    """What the online protocols share. allowed: the examples to which the games are restricted, if any."""

    mistakes: np.ndarray

    def __init__(self, referee: OnlineReferee, setup: BatchSetup) -> None:
        super().__init__(referee, setup)
        self.mistakes = np.zeros(self.games, np.int64)
        self._scorebook = None if setup.scorebook is None else OpenScorebook(setup.scorebook, self.games)
        self.allowed: AllowedExamples | None = None

    @property
    def mistake_counts(self) -> MistakeCounts | None:
        return None if self._scorebook is None else self._scorebook.read()

    def _read_example(self, move: Example) -> tuple[np.ndarray, np.ndarray]:
        x, y = self.adversary.read_point(move.x), self.adversary.read_labels(move.y)
        if self.allowed is None:
            return x, y
        allowed = self.allowed
        agree = self._blame_adversary(lambda: allowed.add(x, y, move.target))
        if not agree.all():
            games = np.flatnonzero(~agree)
            concept = "some concept" if move.target is None else "the target, a concept"
            raise self.refuse(
                f"in a realizable game {concept} of {allowed.concepts} agrees with all examples",
                games=games,
                got=f"the point {format_point(x[games[0]])} with the label {y[games[0]]}",
                remedy="Give it the label of a concept that agrees with all examples before it.",
            )
        return x, y

    def _show_learner(self, hypothesis: Hypothesis, x: np.ndarray, y: np.ndarray, update: Any) -> None:
        predicted = self.learner.guard(lambda: hypothesis(x))
        self.mistakes += predicted != y
        scorebook = self._scorebook
        if scorebook is not None:
            self._blame_adversary(lambda: scorebook.note(self.round, x, y, self.mistakes))
        if update is not None and self.learner.takes_instructions:
            self.learner.call("instruct", self.adversary.read_labels(update).astype(bool))
        self.learner.call("observe", x, y)
        if self.log is not None:
            self.log.append(ExampleEntry(round=self.round, x=x, y=y, predicted=predicted))

    def _blame_adversary(self, call: Callable[[], V]) -> V:
        """Run code that may refuse a point of the adversary's, as a violation of its own."""
        try:
            return call()
        except ArenaError as error:
            raise self.refuse(str(error)) from error


class ObliviousBatch(OnlineBatch):
    def _play_sequence(self, move: Commit) -> Hypotheses:
        hypotheses = []
        for example in self._list_examples(move):
            self.start_round()
            x, y = self._read_example(example)
            hypothesis = self.learner.hypothesis()
            if move.show_hypotheses:
                hypotheses.append(hypothesis)
            self._show_learner(hypothesis, x, y, example.update)
        return Hypotheses(tuple(hypotheses))

    def _list_examples(self, move: Commit) -> Iterator[Example]:
        if move.examples is None:
            return self._split_arrays(move)
        if move.x is not None or move.y is not None or move.target is not None:
            raise self.refuse(
                "a sequence is committed as x, y and target, or as examples that name theirs, not as both"
            )
        if not isinstance(move.examples, Iterator):
            raise self.refuse(
                "the examples of a Commit are an iterator",
                got=type(move.examples).__name__,
                remedy="Call iter() on them.",
            )
        return self._run_iterator(move.examples)

    def _split_arrays(self, move: Commit) -> Iterator[Example]:
        x, y = np.asarray(move.x), np.asarray(move.y)
        rounds = self.referee.T
        if y.ndim == 0 or y.shape[-1] != rounds or x.shape[: y.ndim] != y.shape:
            raise self.refuse(
                f"the committed sequence has T = {rounds} examples",
                expected=f"y of shape ({rounds},) or ({self.games}, {rounds}), x to match",
                got=f"x of shape {x.shape}, y of shape {y.shape}",
            )

        def read_point(t: int) -> np.ndarray:
            if x.ndim == y.ndim:
                return x[..., t]
            # Points are vectors; the rounds are the last axis of y.
            return np.asarray(np.take(x, t, axis=y.ndim - 1))

        return (Example(read_point(t), y[..., t], target=move.target) for t in range(rounds))

    def _run_iterator(self, examples: Iterator[Example]) -> Iterator[Example]:
        """The same examples; the adversary is blamed for what its iterator raises or yields."""
        while True:
            try:
                example = next(examples)
            except StopIteration:
                return
            except ArenaError:
                raise
            except RAISED as error:
                name, round = self.position.adversary, self.round
                raise PlayerError.of(error, player="adversary", name=name, round=round) from error
            if not _is_plain(example):
                raise self.refuse(
                    "a Commit holds Examples that are the same in both worlds", got=type(example).__name__
                )
            yield example

    moves = ((Commit, _play_sequence),)
    opening = Commit


class AdaptiveBatch(OnlineBatch):
    def _play_round(self, move: Example) -> Shown:
        if not _is_plain(move):
            raise self.refuse("only SpecialRound has a second world")
        self.start_round()
        x, y = self._read_example(move)
        hypothesis = self.learner.hypothesis()
        self._show_learner(hypothesis, x, y, move.update)
        return Shown(hypothesis)

    moves = ((Example, _play_round),)


class SpecialRoundBatch(OnlineBatch):
    """Games of one move a round, in which the learner presents h_t before the adversary's example."""

    _presented: Hypothesis

    def _present_first(self, move: Ready) -> Shown:
        self._presented = self.learner.hypothesis()
        return Shown(self._presented)

    def _play_round(self, move: Example) -> Shown:
        self.start_round()
        x, y = self._read_example(move)
        if move.other_x is not None or move.other_y is not None:
            x, y = self._choose_example(move, x, y)
        self._show_learner(self._presented, x, y, move.update)
        if self.round == self.referee.T:
            return Shown(None)
        self._presented = self.learner.hypothesis()
        return Shown(self._presented)

    def _choose_example(self, move: Example, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        other_x = self.adversary.read_point(move.x if move.other_x is None else move.other_x)
        other_y = self.adversary.read_labels(move.y if move.other_y is None else move.other_y)
        differ = points_differ(x, other_x) | (y != other_y)
        self.worlds.challenge(
            differ, PrivacyUnit.STREAM_EXAMPLE, rule="a game has one special round", thing="example"
        )
        return self.worlds.choose(x, other_x), self.worlds.choose(y, other_y)

    moves = ((Ready, _present_first), (Example, _play_round))
    opening = Ready


def _is_plain(move: object) -> bool:
    return isinstance(move, Example) and move.other_x is None and move.other_y is None


class AllowedExamples:
    """The examples that keep n games realizable by a class: those that agree with the target, if the
    adversary names one; otherwise those after which some concept agrees with all of the game's."""

    def __init__(self, concepts: ConceptClass, games: int) -> None:
        self.concepts = concepts
        self._games = games
        self._spaces: VersionSpaces | None = None
        self._target: Any = None
        self._agreement: Callable[[Any, np.ndarray], np.ndarray] | None = None

    def add(self, x: np.ndarray, y: np.ndarray, target: Any) -> np.ndarray:
        """(n,) bool: the games in which the example x (n, ...), y (n,) is allowed. Raises: InvalidArgument if
        x is outside the domain, or the target is no concept of the class or not the first one."""
        if target is None and self._agreement is None:
            self._spaces = self._spaces or version_spaces(self.concepts, self._games)
            return self._spaces.add(x, y)
        if self._agreement is None and self._spaces is None:
            self._agreement, self._target = self._read_target(target), target
        elif self._agreement is None or (
            target is not self._target and not np.array_equal(target, self._target)
        ):
            raise InvalidArgument("the same target is named in every round, or none in any")
        return self._agreement(x, y)

    def _read_target(self, target: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        # The copy is safe from later changes by the adversary.
        concepts = self.concepts.check_concepts(target).copy()
        if concepts.ndim == self.concepts.concept_ndim:
            concepts = np.broadcast_to(concepts, (self._games, *concepts.shape))
        if concepts.ndim != self.concepts.concept_ndim + 1 or len(concepts) != self._games:
            raise InvalidArgument(
                "a target is named once for all games or once for each", value=concepts.shape
            )
        return self.concepts.agreement(concepts)


@attrs.frozen
class OnlineReferee(Referee):
    """A protocol with T rounds, each with one labelled example."""

    learner_state = OnlineState
    law = OnlineLaw
    counts_mistakes = True
    rounds_setting = "T"
    fixed_rounds = True

    T: int = attrs.field(default=100, validator=[whole, at_least(1)])

    def read_law(self, learner: Learner, given: Any) -> Any:
        return learner.online_law() if isinstance(learner, DeclaresOnlineLaw) else None

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        for t in range(self.T):
            update = t % 2 == 0 if probe.instructed else None
            yield Example(probe.mix_points(t, games), probe.mix_labels(t, games), update=update)


@attrs.frozen
class Oblivious(OnlineReferee):
    """The adversary commits to all T examples before the learner's first hypothesis (section 2.1)."""

    name = "Oblivious"
    summary = "online learning in one world; the examples are fixed beforehand"
    batch = ObliviousBatch
    committed = True

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        x, y = (
            np.stack([mix(t, games) for t in range(self.T)], axis=1)
            for mix in (probe.mix_points, probe.mix_labels)
        )
        yield Commit(x, y)


@attrs.frozen
class Adaptive(OnlineReferee):
    """In round t the adversary, having seen h_1 … h_{t−1}, picks (x_t, y_t) while the learner picks h_t."""

    name = "Adaptive"
    summary = "online learning in one world; the adversary sees the hypotheses"
    batch = AdaptiveBatch


@attrs.frozen
class SpecialRound(OnlineReferee):
    """Definition 2.4: each round the learner presents h_t and receives an example, in one round that the
    adversary chooses another in each world. The view is h_1 … h_T."""

    name = "SpecialRound"
    summary = "online learning; the example of one round differs between the worlds"
    batch = SpecialRoundBatch
    challenges = (PrivacyUnit.STREAM_EXAMPLE,)
    usual_games = 5_000

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        yield Ready()
        yield from OnlineReferee.probe(self, probe, games)


@attrs.frozen
class Realizable(Referee):
    """The protocol of `Oblivious` or `Adaptive`, restricted to games whose examples agree with some concept
    of a class: one with a finite domain, thresholds on the line, or halfspaces with margin.

    The adversary need not choose that concept beforehand. If it does and names it (`Example.target`), the
    referee has less to do. An example that agrees with no concept left is refused before the learner presents
    its hypothesis. Players, plans and reports know it by the name of the other referee.
    """

    learner_state = OnlineState
    law = OnlineLaw
    counts_mistakes = True
    rounds_setting = "T"
    fixed_rounds = True

    referee: Oblivious | Adaptive = attrs.field()
    concepts: ConceptClass = attrs.field()

    def read_law(self, learner: Learner, given: Any) -> Any:
        return self.referee.read_law(learner, given)

    @referee.validator
    def _check_referee(self, attribute: object, referee: object) -> None:
        if not isinstance(referee, Oblivious | Adaptive):
            raise InvalidArgument("games are realizable under Oblivious or Adaptive", value=referee)

    @concepts.validator
    def _check_concepts(self, attribute: object, concepts: object) -> None:
        if not isinstance(concepts, ConceptClass):
            raise InvalidArgument("games are realizable by a ConceptClass", value=concepts)
        check_consistency(concepts)

    @property
    def name(self) -> str:  # type: ignore[override] # that of the wrapped referee, which a class cannot know
        return self.referee.name

    @property
    def T(self) -> int:  # noqa: N802 - as in the other referees
        return self.referee.T

    @property
    def committed(self) -> bool:  # type: ignore[override] # likewise
        return self.referee.committed

    def open(self, setup: BatchSetup) -> Batch:
        batch = self.referee.batch(self.referee, setup)
        batch.allowed = AllowedExamples(self.concepts, batch.games)
        return batch

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        return self.referee.probe(probe, games)

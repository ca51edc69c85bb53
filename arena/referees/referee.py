"""What a protocol says about itself, all that tools know of it, and batches of its games."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
import numpy as np

from arena.claims import PrivacyUnit, Relation
from arena.errors import InvalidArgument, count_things
from arena.laws import AnswerLaw, OnlineLaw, ValueLaw
from arena.messages import Hypothesis, Move, Reply, Train
from arena.players import Adversary, Learner, Moves
from arena.referees.boundary import AdversaryInput, LearnerCalls, Position
from arena.referees.scorebook import MistakeCounts, Scorebook
from arena.referees.transcript import Entry, TrainingEntry
from arena.referees.worlds import Worlds
from arena.sample import Sample, Training

if TYPE_CHECKING:
    from arena.concepts import ConceptClass


LawKind = type[ValueLaw] | type[AnswerLaw] | type[OnlineLaw[Any]]
# Moves, each with a function of a batch and a move.
MoveTable = tuple[tuple[type[Move], Callable[[Any, Any], Reply]], ...]

REFEREES: dict[str, type[Referee]] = {}  # every protocol by its name, from the moment its class is defined


@attrs.frozen
class Referee(ABC):
    """A protocol: which moves are legal when, what reaches the learner, and what the adversary may see. A
    subclass with a `name` is a protocol, and wherever it is defined, all tools find it in `REFEREES`.

    name: what the command line calls it. summary: what `arena list --help` says of it. batch: the class of
    its batches of games, with the moves and their order.
    learner_state: what its running learners must have. learner_protocol: the protocol that they name, if
    another one. law: the kind of output distribution that they may declare, or None; see `arena.laws`.
    challenges: in what the worlds may differ; nothing if there is one world. committed: whether the adversary
    fixes all its moves before the learner's first answer.
    one_run: whether all games share one run of the learner, and a fair coin of its own is each one's world.
    counts_mistakes: whether hypotheses are shown and their mistakes counted, as in races.
    rounds_setting: the setting that is the number of rounds, or, without `fixed_rounds`, their maximum.
    usual_games: in each world, in a tournament. block_pairs: pairs of games in a large block of an audit.
    template_opponents: if `arena new` has templates of players, a learner and an adversary to try them with.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    batch: ClassVar[type[Batch]]
    learner_state: ClassVar[type] = object
    learner_protocol: ClassVar[str] = ""
    challenges: ClassVar[tuple[PrivacyUnit, ...]] = ()
    committed: ClassVar[bool] = False
    one_run: ClassVar[bool] = False
    two_worlds: ClassVar[bool] = False
    counts_mistakes: ClassVar[bool] = False
    law: ClassVar[LawKind | None] = None
    rounds_setting: ClassVar[str] = ""
    fixed_rounds: ClassVar[bool] = False
    template_opponents: ClassVar[tuple[str, ...]] = ()
    usual_games: ClassVar[int] = 500
    block_pairs: ClassVar[int] = 8_192  # whose arrays of one world fit into a processor's cache

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.two_worlds = bool(cls.challenges) and not cls.one_run
        name = vars(cls).get("name")
        if isinstance(name, str):
            # A user's protocol may be defined anew, in a file that has changed or a notebook.
            other = REFEREES.get(name, cls)
            if other.__module__.startswith("arena.") and other.__qualname__ != cls.__qualname__:
                raise InvalidArgument(f"{name} is a protocol of dp-arena", remedy="Choose another name.")
            REFEREES[name] = cls  # attrs makes a second class of it

    @classmethod
    def with_rounds(cls, rounds: int) -> Self:
        """The protocol in games of so many rounds, if every game has a fixed number of them."""
        return cls(**{cls.rounds_setting: rounds}) if cls.fixed_rounds else cls()

    @property
    def rounds(self) -> int | None:
        """The number of rounds of every game, if it is fixed."""
        return getattr(self, self.rounds_setting) if self.fixed_rounds else None

    def open(self, setup: BatchSetup) -> Batch:
        return self.batch(self, setup)

    @abstractmethod
    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        """The moves of games that check a learner."""

    # --- output distributions -------------------------------------------------------------------------------

    def read_given(self, entries: Sequence[Entry]) -> Any:
        """On what the distribution of the first game depends: its training set; None: on nothing."""
        return next((entry.get_sample(0) for entry in entries if isinstance(entry, TrainingEntry)), None)

    def read_law(self, learner: Learner, given: Any) -> Any:
        """The distribution that a learner declares for such games, if it is of the kind of `law`; or None."""
        law = None if given is None else learner.law(given)
        return law if self.law is not None and isinstance(law, self.law) else None

    def give(self, given: Any) -> Iterator[Move]:
        """The moves of games with a `ValueLaw` in which this is given."""
        yield Train(given)

    def show(self, value: np.ndarray, concepts: ConceptClass | None) -> Any:
        """A running learner of one game that shows this value of a `ValueLaw`, or a hypothesis."""
        return _ShownValue(value, concepts)


@attrs.frozen(eq=False)
class _ShownValue:
    value: np.ndarray
    concepts: ConceptClass | None

    def release(self, training: Training) -> np.ndarray | Hypothesis:
        values = np.array([self.value])
        return values if self.concepts is None else Hypothesis(self.concepts, values)


def name_protocols(fits: Callable[[type[Referee]], bool]) -> str:
    """The names of the protocols that fit, for messages."""
    *names, last = [name for name, kind in REFEREES.items() if fits(kind)]
    return f"{', '.join(names)} and {last}" if names else last


@attrs.frozen(eq=False)
class BatchSetup:
    """What a batch of n games is opened with: the learner's configuration and running state, the adversary's
    name, the worlds (n,) bool, and the number of runs, n, or 1 that all games share. relation: between which
    training sets the worlds may differ. faults: every exception of the learner is a failure."""

    learner: Learner
    state: Any
    adversary: str
    worlds: np.ndarray
    runs: int
    relation: Relation
    log: list[Entry] | None = None
    faults: bool = False
    scorebook: Scorebook | None = None


class Batch:
    """n games of one protocol in lockstep. Only the engine calls it.

    moves: those that the protocol allows, each with a method, which reads the move (`adversary`), chooses
    what belongs to each game's world (`worlds`), calls the learner (`learner`), logs what happened (`log`,
    unless it is None) and returns the reply, or refuses the move (`refuse`). opening: the move that comes
    first and is made once, if there is one. halted, mistakes: (n,) bool and (n,) int, or None.
    """

    moves: MoveTable
    opening: type[Move] | None = None
    halted: np.ndarray | None = None
    mistakes: np.ndarray | None = None

    def __init__(self, referee: Any, setup: BatchSetup) -> None:
        self.referee = referee
        self._opened = False
        self.games, self.runs = len(setup.worlds), setup.runs
        self.position = Position(setup.learner.own_name, setup.adversary)
        self.refuse = self.position.refuse_adversary
        learner = setup.learner
        self.adversary = AdversaryInput(
            self.runs, learner.point_shape, self.position, records=learner.receives_records
        )
        self.learner = LearnerCalls(setup.state, self.runs, setup.faults, self.position)
        self.worlds = Worlds(
            setup.worlds,
            self.position,
            setup.relation,
            lambda points: self.learner.guard(lambda: setup.learner.users_of(points)),
        )
        self.log, self.reads = setup.log, setup.learner.reads

    def carry_out(self, move: Move) -> Reply:
        for kind, handle in self.moves:
            if isinstance(move, kind):
                if self.opening is not None and self._opened is (kind is self.opening):
                    rule = f"{self.referee.name} begins with {self.opening.__name__}, which is made once"
                    raise self.refuse(rule, got=kind.__name__)
                self._opened = True
                return handle(self, move)
        *names, last = [kind.__name__ for kind, _ in self.moves]
        listed = f"moves {', '.join(names)} and {last}" if names else f"move {last}"
        raise self.refuse(f"{self.referee.name} knows the {listed}", got=type(move).__name__)

    def close(self) -> None:
        """End the games after the adversary's last move. Unless rounds are fixed, it may stop at any time."""
        rounds = self.referee.rounds
        if rounds is not None and self.round != rounds:
            rule = f"a game of {rounds} rounds is played to its end"
            raise self.refuse(rule, expected=rounds, got=self.round)

    def start_round(self) -> None:
        """Go on to the next round, or refuse it."""
        self.position.round += 1
        self.check_rounds(self.round)

    def check_rounds(self, last: int) -> None:
        """Refuse to go on to this round if there are fewer."""
        name = self.referee.rounds_setting
        most = getattr(self.referee, name) if name else None
        if most is not None and last > most:
            raise self.refuse(
                f"{self.referee.name} with {name} = {most} has at most {count_things(most, 'round')}",
                remedy="Let the adversary make fewer moves, or allow more rounds.",
            )

    def choose_training(self, move: Train) -> Training:
        """The training sets of the games' own worlds; logged before the learner gets them, which may fail."""
        first = self.adversary.read_samples(move.sample)
        second = first if move.other is None else self.adversary.read_samples(move.other)
        return self.log_training(self.worlds.choose_samples(first, second))

    def log_training(self, training: Training) -> Training:
        if self.log is not None:
            of_games = Training(training.samples, np.broadcast_to(training.which, self.games))
            self.log.append(TrainingEntry(round=0, training=of_games, reads=self.reads))
        return training

    # --- the outcome of the games ---------------------------------------------------------------------------

    @property
    def round(self) -> int:
        """The round that is played, or was last; 0 is the training phase."""
        return self.position.round

    @property
    def flag(self) -> np.ndarray:
        return self.worlds.flag

    @property
    def challenges(self) -> frozenset[PrivacyUnit]:
        return frozenset(self.worlds.challenges)

    @property
    def mistake_counts(self) -> MistakeCounts | None:
        return None


@attrs.frozen
class Probe(Adversary):
    """Plays any protocol with one sample and some points, to check learners. mixed: every other game of the
    batch gets another sample and other points. in_a_row: queries are asked together. unlabelled: points are
    handed over before the queries. instructed: online games come with instructions."""

    referee: Referee
    sample: Sample
    points: tuple[Any, ...] = ()
    mixed: bool = False
    in_a_row: bool = False
    unlabelled: bool = False
    instructed: bool = False

    name = "probe"
    returns_score = True

    @property
    def protocols(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.referee.name,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield from self.referee.probe(self, games)
        return np.zeros(games)

    def mix_samples(self, games: int) -> Any:
        if not self.mixed or games < 2:
            return self.sample
        other = self.sample.vary()
        return [other if game % 2 else self.sample for game in range(games)]

    def mix_points(self, t: int, games: int) -> np.ndarray:
        """(n, ...): the point of every game in round t; after the last point comes the first."""
        x = self.points[t % len(self.points)]
        points = np.repeat(np.asarray(x)[None], games, axis=0)
        if self.mixed:  # the other extreme of the points
            farthest = self.points[min(2, len(self.points) - 1)]
            points[1::2] = farthest if np.array_equal(x, self.points[0]) else self.points[0]
        return points

    def mix_labels(self, t: int, games: int) -> np.ndarray:
        """(n,): the label of every game in round t, 0 and 1 in turn."""
        labels = np.full(games, t % 2)
        labels[1::2] ^= self.mixed
        return labels

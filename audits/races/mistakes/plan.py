"""The plan of a race: everything that its figures depend on, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import ceil, prod

import attrs
import numpy as np

from arena import (
    MISTAKES,
    REFEREES,
    REGRET,
    Adversary,
    InvalidArgument,
    Learner,
    Realizable,
    Referee,
    Scorebook,
)
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from audits.registry.suggestions import suggest

PROTOCOLS = ("Adaptive", "Oblivious")  # of one world and set rounds, the stronger adversary first
MARKS = 20
_MOST_GAMES = 1_024  # a block's; more fill a core's cache without being any quicker
_FEWEST_GAMES = 64
_FEWEST_BLOCKS = 4  # for processes to share
_MOST_COUNTS = 2**24  # that a block's scorebook holds
_MOST_COORDINATES = 2**21  # of a block's points: learners and referees hold several doubles for each


@attrs.frozen(kw_only=True)
class Entrant:
    """A learner of a race, and whom and what it plays. label: what the race calls it."""

    label: str
    learner: Learner
    adversary: Adversary
    referee: Referee

    @property
    def concepts(self) -> ConceptClass:
        """The class that its games are realizable by, or its regret is against: the learner's own."""
        return concepts_of(self.learner)


@attrs.frozen(kw_only=True)
class Contest(ABC):
    """What every race has: the learners, and their games, in tables.

    entrants: the learners. games: of each. confidence: that of the limits together, and that of the tests of
    bounds together. seed: of every coin. block: games at a table; a kind of race says how many are usual.
    """

    entrants: tuple[Entrant, ...]
    games: int
    confidence: float = 0.95
    seed: int = 0
    block: int

    def __attrs_post_init__(self) -> None:
        for name in ("games", "block"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"{name} must be a whole number of at least 1", value=value)
        if not 0 < self.confidence < 1:
            raise InvalidArgument("a confidence lies strictly between 0 and 1", value=self.confidence)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidArgument("a seed is a whole number of at least 0", value=self.seed)
        for entrant in self.entrants:
            check_protocol(entrant.learner, entrant.adversary, entrant.referee)

    @property
    @abstractmethod
    def at(self) -> tuple[int, ...]:
        """Where figures are noted: after which rounds, or of which."""

    @property
    def blocks(self) -> int:
        """The tables of each learner."""
        return ceil(self.games / self.block)

    def games_in(self, block: int) -> int:
        """The games of a block; the last may be smaller."""
        return min(self.block, self.games - block * self.block)

    def seed_of(self, number: int, block: int) -> np.random.SeedSequence:
        """The seed of a block of entrant `number`; it depends on nothing else."""
        return np.random.SeedSequence(self.seed, spawn_key=(number, block))


@attrs.frozen(kw_only=True)
class Race(Contest):
    """What is played and noted.

    rounds: T. of: MISTAKES in games that are realizable by the learner's class, or REGRET against the best
    concept of that class in hindsight. marks: the rounds after which it is noted, T the last of them.
    """

    rounds: int
    of: str
    marks: tuple[int, ...]
    block: int = attrs.field()

    @block.default
    def _default_block(self) -> int:
        even = max(_FEWEST_GAMES, ceil(self.games / _FEWEST_BLOCKS))
        held = _MOST_COUNTS // self._counts_a_game, _MOST_COORDINATES // self._coordinates
        return max(1, min(_MOST_GAMES, even, *held))

    @property
    def at(self) -> tuple[int, ...]:
        return self.marks

    @property
    def _coordinates(self) -> int:
        """Of a point."""
        return max(prod(entrant.learner.point_shape) for entrant in self.entrants)

    @property
    def _counts_a_game(self) -> int:
        if self.of == MISTAKES:
            return 1
        return max(len(entrant.concepts.domain or (0,)) for entrant in self.entrants)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not self.marks or self.marks[-1] != self.rounds:
            raise InvalidArgument(f"the last mark is the last round, {self.rounds}", value=self.marks)
        for entrant in self.entrants:
            if self.of == MISTAKES and not isinstance(entrant.referee, Realizable):
                raise InvalidArgument(
                    "mistakes are counted in realizable games", remedy="Let its referee be Realizable."
                )
            self.scorebook(entrant).check(self.rounds)

    def scorebook(self, entrant: Entrant) -> Scorebook:
        """What is noted of its games."""
        return Scorebook(marks=self.marks, concepts=None if self.of == MISTAKES else entrant.concepts)


def race_of(
    players: Sequence[tuple[str, Learner, Adversary]],
    *,
    rounds: int,
    games: int,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int = MARKS,
    confidence: float = 0.95,
    seed: int = 0,
) -> Race:
    """The race of these learners, each under a label and with the adversary that it meets.

    Wherever a learner or an adversary has a field `rounds`, it is set to `rounds`; where an adversary has a
    field `learner` or `protocol`, that is its opponent, or the protocol of the race. Where all adversaries
    are realizable, the games are held to that and mistakes are counted; otherwise, or if `agnostic`, regret.

    protocol: Adaptive or Oblivious; None: one that all play, that of the adversary's field before others.
    marks: how many there are at most.

    Raises: InvalidArgument if there are no such games; Unsupported if a class is not finite, or too large.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise InvalidArgument("an online game has T ≥ 1 rounds", value=rounds)
    check_labels([label for label, _, _ in players])
    name = _protocol(players, protocol)
    ready = [(label, *_told(learner, adversary, rounds, name)) for label, learner, adversary in players]
    realizable = not agnostic and all(adversary.realizable for _, _, adversary in ready)
    entrants = []
    for label, learner, adversary in ready:
        referee = REFEREES[name](T=rounds)  # type: ignore[call-arg] # as all of PROTOCOLS do
        if realizable:
            referee = Realizable(referee, concepts_of(learner))  # type: ignore[arg-type]
        entrants.append(Entrant(label=label, learner=learner, adversary=adversary, referee=referee))
    return Race(
        entrants=tuple(entrants),
        rounds=rounds,
        games=games,
        of=MISTAKES if realizable else REGRET,
        marks=spread_marks(rounds, marks),
        confidence=confidence,
        seed=seed,
    )


def spread_marks(rounds: int, count: int) -> tuple[int, ...]:
    """At most `count` rounds from 1 to `rounds`, the last among them, about evenly spaced on a log scale.

    >>> spread_marks(1000, 7)
    (1, 3, 10, 32, 100, 316, 1000)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidArgument("the number of marks must be a whole number of at least 1", value=count)
    spaced = np.geomspace(1, rounds, count)[1:].round().astype(int)
    return tuple(sorted({rounds, *([1] if count > 1 else []), *spaced.tolist()}))


def concepts_of(learner: Learner) -> ConceptClass:
    """The class that a learner learns, its setting `concepts`."""
    concepts = getattr(learner, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{learner.name} has no setting `concepts`, so there is no class to measure it against",
            remedy="Race learners of a concept class.",
        )
    return concepts


def check_labels(labels: list[str]) -> None:
    if not labels:
        raise InvalidArgument("a race has at least one learner")
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidArgument(
                "two learners of a race have the same label",
                value=label,
                remedy=f"Label them, as in first={label} second={label}.",
            )


def _told(learner: Learner, adversary: Adversary, rounds: int, protocol: str) -> tuple[Learner, Adversary]:
    """Both, told of the race in those of their fields that are for it."""
    if "rounds" in attrs.fields_dict(type(learner)):
        learner = attrs.evolve(learner, rounds=rounds)  # type: ignore[call-arg]
    known = {"rounds": rounds, "learner": learner, "protocol": protocol}
    fields = attrs.fields_dict(type(adversary))
    return learner, attrs.evolve(adversary, **{name: it for name, it in known.items() if name in fields})


def _protocol(players: Sequence[tuple[str, Learner, Adversary]], wanted: str | None) -> str:
    if wanted is not None and wanted not in PROTOCOLS:
        raise InvalidArgument(
            "a race is under Adaptive or Oblivious", value=wanted, remedy=suggest(wanted, PROTOCOLS).strip()
        )
    everybody: list[Learner | Adversary] = []
    for _, learner, adversary in players:
        everybody += [learner, adversary]
    own = getattr(players[0][2], "protocol", None)
    for name in (wanted,) if wanted is not None else sorted(PROTOCOLS, key=lambda name: name != own):
        if all(name in player.protocols for player in everybody):
            return name
    plays = dict.fromkeys(f"{player.name} plays {_listed(player.protocols)}" for player in everybody)
    raise InvalidArgument(
        f"the players do not all play {wanted or 'Adaptive, nor all Oblivious'}",
        remedy=f"{'; '.join(plays)}. `arena list` shows who plays what.",
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing that it names"

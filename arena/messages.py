"""Moves, which an adversary may yield, and replies, which are all that it ever sees.

Axis 0 of every array is the game. The referee says which moves are legal, and when.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
import numpy as np

from arena.dataset import Dataset
from arena.released.encoding import hash_values
from arena.sample import Sample, own_copy

if TYPE_CHECKING:
    from arena.concepts import ConceptClass

NO_LABEL = -1  # the label is withheld, or the learner had halted
UNSTABLE = 2  # the label ⊥ of Voting: the votes were too close


@attrs.frozen(eq=False)
class Move:
    """Base of every move."""


@attrs.frozen(eq=False)
class Train(Move):
    """The training phase of `Figure1`, `Voting` and `TrainingRun`, or the one sample of `Release`.

    sample, other: the training set in world 0 and in world 1, one `Sample` or `Records` for all games, or n.
    """

    sample: Dataset | Sequence[Dataset]
    other: Dataset | Sequence[Dataset] | None = None


@attrs.frozen(eq=False)
class TrainWithCanaries(Move):
    """The training phase of `OneRun`: examples that are in the data in any case, and one canary for each
    game, which is in the data if the game's coin says so."""

    sample: Sample
    canaries: Sample


@attrs.frozen(eq=False)
class Query(Move):
    """A query: the point in world 0 and in world 1. `Voting` requires that they are equal."""

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Queries(Move):
    """k queries in a row, the same in both worlds, all chosen before the first is answered: k rounds of
    `Figure1` or `Voting`, which a learner may answer together. x: (k, ...) for all games, or (n, k, ...)."""

    x: Any


@attrs.frozen(eq=False)
class Unlabelled(Move):
    """Unlabelled points that the learner of `Figure1` is given between queries, to learn from; no round. x,
    other: those of world 0 and of world 1, as many and different in at most one place, of shapes as in
    `Queries`."""

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Example(Move):
    """One round of `Adaptive` or `SpecialRound`: a labelled example.

    other_x, other_y: the example in world 1 at the special round; what is left out is the same in both.
    update: for learners that take instructions, (n,) bool: the b_t of ConfidentWinnow.
    target: in a realizable game, a concept that agrees with all examples, for all games or for each, named in
    every round or in none. It spares the referee the search for one, and is not shown to the learner.
    """

    x: Any
    y: Any
    other_x: Any = None
    other_y: Any = None
    target: Any = None
    update: Any = None


@attrs.frozen(eq=False)
class Commit(Move):
    """The whole sequence of `Oblivious`, as arrays or as an iterator.

    x, y: x (T, ...) or (n, T, ...), y (T,) or (n, T). target: as in `Example`. show_hypotheses: if False, the
    reply holds none.
    examples: an iterator of T `Example`, which is run to its end without seeing the learner, so that a long
    sequence takes no memory. It must not share a generator of random numbers.
    """

    x: Any = None
    y: Any = None
    examples: Iterator[Example] | None = None
    target: Any = None
    show_hypotheses: bool = True


@attrs.frozen(eq=False)
class Ready(Move):
    """Opens `SpecialRound`: the adversary asks to see h_1."""


@attrs.frozen(eq=False)
class GradientCanary:
    """An example whose gradient the adversary chooses; the learner clips it. Every example of a training set
    that equals (x, label) is such a canary. gradient: (P,) for P parameters, for all games, or (n, P)."""

    x: Any
    label: int
    gradient: Any


@attrs.frozen(eq=False)
class Advance(Move):
    """Steps of `TrainingRun` or `OneRun`: how many (None: all that are left), and canaries of these."""

    steps: int | None = None
    canaries: Sequence[GradientCanary] = ()


@attrs.frozen(kw_only=True)
class FeatureKind:
    """Features of views that some class of replies has, besides those of what is released.

    pattern: their names, as a regular expression. describe: one of them in the user's terms, from the match.
    is_value: whether they are values that were shown, or sums of these, which a view may lack.
    is_single: whether each is one of many that may be told apart independently of the others.
    joined: the name of all of them as one vector, and what it is, if they are one.
    """

    pattern: str
    describe: Callable[[re.Match[str]], str]
    is_value: bool = False
    is_single: bool = False
    joined: tuple[str, str] | None = None


_feature_kinds: dict[str, FeatureKind] = {}  # of all classes of replies, by their patterns


@lru_cache(maxsize=4_096)
def match_feature(name: str) -> tuple[FeatureKind, re.Match[str]] | None:
    """The kind of the feature of this name, and the match; None if no class of replies has such a feature."""
    for pattern, kind in _feature_kinds.items():
        match = re.fullmatch(pattern, name)
        if match is not None:
            return kind, match
    return None


def list_joined_features() -> dict[str, str]:
    """What the vectors of features are, by their names."""
    return dict(kind.joined for kind in _feature_kinds.values() if kind.joined is not None)


@attrs.frozen(eq=False)
class Reply:
    """Base of every reply. Its fields are arrays (n, ...), hypotheses, tuples of these, or None.

    feature_kinds: those that `list_features` has besides those of `arena.released.encoding`.
    """

    feature_kinds: ClassVar[tuple[FeatureKind, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _feature_kinds.update({kind.pattern: kind for kind in cls.feature_kinds})
        match_feature.cache_clear()

    @classmethod
    def list_features(cls, replies: Sequence[Self], games: int) -> dict[str, np.ndarray] | None:
        """The features (games,) of the replies of this class that games saw, by name. None: general code
        reads them from `parts`."""
        return None

    def select_game(self, game: int) -> Any:
        """The reply as one game sees it: scalars in place of arrays."""
        return type(self)(*(_select_game(value, game) for value in self._values))

    def change_parts(self, change: Callable[[np.ndarray], np.ndarray]) -> Any:
        """The same reply with each of its `parts` changed."""
        return type(self)(*(_change(value, change) for value in self._values))

    def copy(self) -> Any:
        """The same reply in memory of its own."""
        return self.change_parts(own_copy)

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        """All that it shows to n games, arrays (n, ...); a hypothesis is shown as its concepts."""
        return tuple(part for value in self._values for part in _list_parts(value))

    @property
    def compared(self) -> tuple[np.ndarray, ...]:
        """Arrays (n, ...) of which a game's part is the same bits wherever the game sees the same."""
        return self.parts

    @property
    def releases(self) -> tuple[np.ndarray, ...] | None:
        """The encoded values (n, ...) that the learner released; None for a reply of labels or hypotheses."""
        return None

    @property
    def _values(self) -> list[Any]:
        return [getattr(self, field.name) for field in attrs.fields(type(self))]


def _select_game(value: Any, game: int) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_select_game(each, game) for each in value)
    return value.select_game(game) if isinstance(value, Hypothesis) else value[game]


def _change(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_change(each, change) for each in value)
    if isinstance(value, Hypothesis):
        try:
            concept_class = _copy_class(value.concept_class)
        except TypeError:  # a class that cannot be hashed
            concept_class = deepcopy(value.concept_class)
        return Hypothesis(concept_class, change(value.concepts))
    return change(value)


@lru_cache(maxsize=64)
def _copy_class(concept_class: ConceptClass) -> ConceptClass:
    """A copy for adversaries, so that none has a hold of the class that the learner works with."""
    return deepcopy(concept_class)


def _list_parts(value: Any) -> list[np.ndarray]:
    if value is None:
        return []
    if isinstance(value, tuple):
        return [part for each in value for part in _list_parts(each)]
    return [np.asarray(value.concepts if isinstance(value, Hypothesis) else value)]


@attrs.frozen(eq=False)
class Trained(Reply):
    """The training phase is over. Nothing of h_0 is shown."""

    @property
    def releases(self) -> tuple[np.ndarray, ...]:
        return ()


@attrs.frozen(eq=False)
class Received(Reply):
    """The reply to unlabelled points. halted: (n,) bool, whether the learner has halted."""

    halted: np.ndarray


@attrs.frozen(eq=False)
class Answer(Reply):
    """The reply to a query. label: (n,) int8, 0, 1 or under Voting `UNSTABLE`; `NO_LABEL` if it is withheld
    or the learner had halted. halted: (n,) bool; in a withheld round, whether it had before."""

    label: np.ndarray
    halted: np.ndarray

    def select_game(self, game: int) -> Answer:  # without the loop, since every round has one
        return Answer(self.label[game], self.halted[game])

    def copy(self) -> Answer:  # likewise
        return Answer(own_copy(self.label), own_copy(self.halted))


@attrs.frozen(eq=False)
class Answers(Reply):
    """The replies to k queries in a row, as columns: label (n, k) int8, halted (n, k) bool."""

    label: np.ndarray
    halted: np.ndarray


def list_answers(replies: Iterable[Reply]) -> list[Answer]:
    """The answers among the replies, one for each query."""
    answers: list[Answer] = []
    for reply in replies:
        if isinstance(reply, Answer):
            answers.append(reply)
        elif isinstance(reply, Answers):
            answers += [
                Answer(label, halted) for label, halted in zip(reply.label.T, reply.halted.T, strict=True)
            ]
    return answers


@attrs.frozen(eq=False)
class Hypothesis:
    """The released hypotheses of n games: `h(x)` labels points. concepts: (n, ...), one for each game."""

    concept_class: ConceptClass
    concepts: np.ndarray

    def __call__(self, x: Any) -> np.ndarray:
        """(n,) bool: the labels of x, one point for all games or one for each game (n, ...)."""
        return self.concept_class.label(self.concepts, x)

    def select_game(self, game: int) -> Callable[[Any], bool]:
        single = Hypothesis(self.concept_class, self.concepts[game : game + 1])
        return lambda x: bool(single(x)[0])


@attrs.frozen(eq=False)
class Released(Reply):
    """What the learner released: values (n, ...), as `arena.released` encodes them, or hypotheses."""

    value: Any

    @property
    def compared(self) -> tuple[np.ndarray, ...]:
        return self.parts if isinstance(self.value, Hypothesis) else (hash_values(self.value),)

    @property
    def releases(self) -> tuple[np.ndarray, ...] | None:
        return None if isinstance(self.value, Hypothesis) else (self.value,)


@attrs.frozen(eq=False)
class Models(Reply):
    """The models of `TrainingRun` that are shown after the steps asked for: (n, j, P) float64, j ≥ 0."""

    parameters: np.ndarray


@attrs.frozen(eq=False)
class Shown(Reply):
    """The hypothesis of the round of `Adaptive` or `SpecialRound`; None after the last of `SpecialRound`."""

    hypothesis: Any


@attrs.frozen(eq=False)
class Hypotheses(Reply):
    """The hypotheses h_1 … h_T of `Oblivious`, in order."""

    hypotheses: tuple[Any, ...]

"""Replies: all that an adversary ever sees. Axis 0 of every array is the game.

The engine hands over copies, to which nobody can write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from copy import deepcopy
from functools import lru_cache
from math import inf, ldexp
from numbers import Number, Real
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.points import format_point, own_copy

if TYPE_CHECKING:
    from arena.concepts import ConceptClass

NO_LABEL = -1  # the label is withheld, or the learner had halted
UNSTABLE = 2  # the label ⊥ of Voting: the votes were too close


@attrs.frozen(eq=False)
class Reply:
    """Base of every reply. Its fields are arrays (n, ...), hypotheses, tuples of these, or None."""

    def select_game(self, game: int) -> Any:
        """The reply as one game sees it: scalars in place of arrays."""
        return type(self)(*(_select_game(value, game) for value in self._values))

    def copy(self) -> Any:
        """The same reply in memory of its own."""
        return type(self)(*(_copy(value) for value in self._values))

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        """All that it shows to n games, arrays (n, ...); a hypothesis is shown as its concepts."""
        return tuple(part for value in self._values for part in _list_parts(value))

    @property
    def _values(self) -> list[Any]:
        return [getattr(self, field.name) for field in attrs.fields(type(self))]


def _select_game(value: Any, game: int) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_select_game(each, game) for each in value)
    return value.select_game(game) if isinstance(value, Hypothesis) else value[game]


def _copy(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_copy(each) for each in value)
    if isinstance(value, Hypothesis):
        try:
            concept_class = _copy_class(value.concept_class)
        except TypeError:  # a class that cannot be hashed
            concept_class = deepcopy(value.concept_class)
        return Hypothesis(concept_class, own_copy(value.concepts))
    return own_copy(value)


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


@attrs.frozen(eq=False)
class Received(Reply):
    """The reply to unlabelled points, which the learner has received.

    halted: (n,) bool, whether the learner has halted.
    """

    halted: np.ndarray


@attrs.frozen(eq=False)
class Answer(Reply):
    """The reply to a query.

    label: (n,) int8, 0, 1 or under Voting `UNSTABLE`; `NO_LABEL` if it is withheld or the learner had halted.
    halted: (n,) bool, whether the learner has halted; in a withheld round, whether it had before.
    """

    label: np.ndarray
    halted: np.ndarray

    def select_game(self, game: int) -> Answer:  # without the loop, since every round has one
        return Answer(self.label[game], self.halted[game])

    def copy(self) -> Answer:  # likewise
        return Answer(own_copy(self.label), own_copy(self.halted))


@attrs.frozen(eq=False)
class Answers(Reply):
    """The reply to k queries in a row: the k replies to the queries, as columns.

    label: (n, k) int8. halted: (n, k) bool.
    """

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
    """The released hypotheses of n games: `h(x)` labels points.

    concepts: (n, ...), one concept of `concept_class` for each game.
    """

    concept_class: ConceptClass
    concepts: np.ndarray

    def __call__(self, x: Any) -> np.ndarray:
        """(n,) bool: the labels of x, one point for all games or one for each game (n, ...)."""
        return self.concept_class.label(self.concepts, x)

    def select_game(self, game: int) -> Callable[[Any], bool]:
        """The hypothesis of one game, a function from a point to its label."""
        single = Hypothesis(self.concept_class, self.concepts[game : game + 1])
        return lambda x: bool(single(x)[0])


@attrs.frozen(eq=False)
class Released(Reply):
    """What the learner released under `Release`: values (n, ...) or hypotheses."""

    value: Any


@attrs.frozen(eq=False)
class Models(Reply):
    """The models that the adversary of `TrainingRun` may see after the steps that it asked for.

    parameters: (n, j, P) float64, those of j models with P parameters, in order; j may be 0.
    """

    parameters: np.ndarray


@attrs.frozen(eq=False)
class Shown(Reply):
    """The hypothesis of the round of `Adaptive` or `SpecialRound`; None after the last of `SpecialRound`."""

    hypothesis: Any


@attrs.frozen(eq=False)
class Stream(Reply):
    """The hypotheses h_1 … h_T of `Oblivious`, in order."""

    hypotheses: tuple[Any, ...]


# --- released values that are not numbers -------------------------------------------------------------------

# Each distinct text, None or other value becomes a number between 2^700 and 2^701, its code, that no
# mechanism releases: the same in every process, so that counts of blocks agree. Two values share one with
# probability 2^-52.
_LEAST = ldexp(1.0, 700)
_MAX_TEXTS = 4_096  # codes whose text is remembered for transcripts

_texts: dict[float, str] = {}  # by code; only transcripts read it


def encode_values(values: Any) -> np.ndarray:
    """(n,) or (n, k): what n games released, in numbers.

    values: an array (n, ...), or a list with one value for each game. Numbers, and arrays of numbers of one
    shape, stay as they are. Tuples and dictionaries are taken apart, a column for each number, and a code for
    each other part. Text, None, sets, and lists in which not all are numbers, have one code as a whole.

    Raises: Unsupported if games release values of several shapes, or objects without a text of their own.

    >>> encode_values([1, 2.5]).tolist()
    [1.0, 2.5]
    >>> is_category(encode_values(["yes", None, 3])).tolist()
    [True, True, False]
    """
    try:
        array = np.asarray(values)
    except ValueError:  # entries of different shapes
        array = np.zeros(0, object)
    if array.dtype.kind in "biuf":
        return array
    rows = [list(_take_apart(value)) for value in values]
    records = [_is_record(value) for value in values]
    if len(set(zip(records, map(len, rows), strict=True))) > 1:
        raise Unsupported(
            "a release must have the same shape in every game",
            value="values of several shapes",
            remedy="Fill what is missing with None.",
        )
    codes = np.array([[_encode(leaf) for leaf in row] for row in rows], np.float64)
    return codes if any(records) else codes.reshape(-1)


def is_category(values: np.ndarray) -> np.ndarray:
    """Bool, of the shape of `values`: which of them are codes."""
    return np.asarray((values >= _LEAST) & (values < 2 * _LEAST))


def spread_codes(values: np.ndarray) -> np.ndarray:
    """The values as floats, with codes spread over [0, 1)."""
    return np.where(is_category(values), values / _LEAST - 1.0, values)


def format_value(value: Any) -> str:
    """A released value of one game as text.

    >>> format_value(encode_values([("yes", 1.5)])[0])
    "['yes' 1.5]"
    """
    if not is_category(np.asarray(value)).any():
        return format_point(value)
    parts = [_texts.get(float(v)) or format_point(v) for v in np.ravel(value)]
    return f"[{' '.join(parts)}]" if np.ndim(value) else parts[0]


def _is_record(value: object) -> bool:
    """Whether a value is taken apart: a tuple, a dictionary, or numbers in an array or a list."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0 and value.dtype.kind in "biufc"
    if isinstance(value, list):
        return bool(value) and all(isinstance(part, Number) or _is_record(part) for part in value)
    return isinstance(value, tuple | Mapping)


def _take_apart(value: Any, *, nested: bool = False) -> Iterator[object]:
    """The numbers and other single values in a value, in order. The size of a part tells where it ends."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        value = value.item()
    if isinstance(value, complex):
        value = (value.real, value.imag)
    if not _is_record(value):
        yield value
        return
    if nested:
        yield f"{type(value).__name__} of {len(value)}"
    if isinstance(value, Mapping):
        value = [part for item in sorted(value.items(), key=repr) for part in item]
    for part in value:
        yield from _take_apart(part, nested=True)


def _spell(value: Any) -> str:
    """The text of a value. The order of sets and dictionaries does not matter."""
    if isinstance(value, Set):
        return f"{{{', '.join(sorted(map(_spell, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{_spell(key)}: {_spell(part)}' for key, part in value.items()))}}}"
    if isinstance(value, list | np.ndarray):
        return f"[{', '.join(map(_spell, value))}]"
    return repr(value)


def _encode(leaf: object) -> float:
    if isinstance(leaf, Real):
        number = _to_float(leaf)
        if abs(number) < _LEAST or abs(number) == inf:
            return number
    text = _spell(leaf)
    if " at 0x" in text and not isinstance(leaf, str | bytes):  # an address differs between processes
        raise Unsupported(
            "a release must be made of numbers, text and None",
            value=type(leaf).__name__,
            remedy="Return numbers, text, None, or tuples, lists and dictionaries of these.",
        )
    digest = hashlib.sha256(f"{type(leaf).__name__} {text}".encode(errors="surrogatepass")).digest()
    code = _LEAST * (1.0 + ldexp(int.from_bytes(digest[:8], "big") >> 12, -52))
    if len(_texts) < _MAX_TEXTS:
        _texts[code] = text
    return code


def _to_float(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer without a float near it
        return float("nan")

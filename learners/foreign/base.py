"""What mechanisms of others share: they are handed a part of the sample and release a number or a vector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena.errors import RAISED, ArenaError, InvalidArgument, Unsupported, describe_error
from arena.fingerprint import callable_name, fingerprint
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import Check, at_least, setting, whole

ONES, LABELS, SUM, POINTS, BOTH = PARTS = ("ones", "labels", "sum", "points", "both")
COUNTS = (ONES, LABELS)  # which a replaced example moves by 1, whatever the points are


def receives(default: str, *, check: Check) -> Any:
    """The setting `receives`."""
    return setting(
        default,
        help="what of the sample it is handed: the number of labels 1 (ones), the labels in their order, the "
        "sum of the points, the points, or both (points, labels)",
        check=check,
    )


def _callable(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not callable(value):
        raise InvalidArgument(f"{attribute.name} must be a function", value=value)


def function_setting(help: str) -> Any:
    """A setting that is a function: compared by what it is, not by where it lies in memory."""
    return attrs.field(
        kw_only=True,
        validator=_callable,
        eq=fingerprint,
        repr=callable_name,
        metadata={"help": help, "unit": ""},
    )


@attrs.frozen
class Foreign(Learner):
    """Base of mechanisms of others before Release.

    A subclass has the setting `receives` and says how games are played (`drawn`).
    """

    protocols = ("Release",)

    dimension: int | None = setting(
        None,
        help="d, where the sample's points are vectors of d numbers; default: they are numbers",
        check=[whole, at_least(1)],
    )

    @abstractmethod
    def drawn(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        """What the mechanism releases in `games` independent games on the sample: a list or an array
        (games, ...)."""

    @property
    def point_shape(self) -> tuple[int, ...]:
        return () if self.dimension is None else (self.dimension,)

    def start(self, games: int, rng: np.random.Generator) -> ForeignState:
        return ForeignState(self, rng)


@attrs.frozen(eq=False)
class ForeignState:
    """A mechanism of others at a table: it is handed the games of one sample after those of another."""

    spec: Foreign
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        """Raises: Unsupported if it releases anything but numbers, as many in every game."""
        if not training.games:
            return np.zeros(0)
        places, parts = [], []
        for sample, games in training.groups():
            places.append(games)
            parts.append(_numbers(self.spec.name, self.spec.drawn(sample, len(games), self.rng), len(games)))
        if len({part.shape[1:] for part in parts}) > 1:
            raise _refused(self.spec.name, "values of several shapes")
        return np.concatenate(parts)[np.argsort(np.concatenate(places))]


def part_of(sample: Sample, what: str) -> Any:
    """A part of the sample (see `receives`), made anew, so that whoever is handed it may write to it."""
    if what == ONES:
        return int(sample.counts @ sample.labels)
    if what == SUM:
        total = sample.counts @ sample.points.astype(float)
        return total if total.ndim else float(total)
    points, labels = sample.rows()
    labels = labels.astype(np.int64)  # in a byte, what a function works out may overflow
    return {LABELS: labels, POINTS: points, BOTH: (points, labels)}[what]


def made(name: str, make: Callable[[], Any], library: str) -> Any:
    """What `make` makes; library: the extra that it needs.

    Raises: Unsupported if the library is missing; InvalidArgument if `make` fails.
    """
    try:
        return make()
    except ArenaError:
        raise
    except ImportError as error:
        raise missing(library, error) from error
    except RAISED as error:  # somebody else's code may raise anything
        raise InvalidArgument(
            f"{callable_name(make)}, which makes the mechanism of {name}, raised {describe_error(error)}",
            remedy="Mend it, and try it alone.",
        ) from error


def missing(library: str, error: ImportError) -> Unsupported:
    """The refusal where a library cannot be imported."""
    return Unsupported(
        f"{library} cannot be imported ({error})", remedy=f"Install it: pip install 'dp-arena[{library}]'."
    )


def _numbers(name: str, values: Any, games: int) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of several lengths
        raise _refused(name, "values of several shapes") from error
    if array.dtype.kind not in "biuf" or array.shape[:1] != (games,):
        raise _refused(name, f"{array.dtype.name} of shape {array.shape} for {games} games")
    if np.isnan(array).any():
        raise _refused(name, "nan")
    return array


def _refused(name: str, got: str) -> Unsupported:
    return Unsupported(
        f"what {name} releases must be a number, or numbers in an array of one shape, in every game",
        value=got,
        remedy="Wrap the mechanism in a function that returns numbers.",
    )

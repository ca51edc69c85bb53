"""The base of wrapped mechanisms: they receive a part of the sample and release a number or a vector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import repeat
from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Neighbours, Relation, neighbours_setting, read_relation
from arena.errors import RAISED, ArenaError, InvalidArgument, MissingPackage, Unsupported, describe_error
from arena.parcels import callable_name, fingerprint, is_mechanism
from arena.released.encoding import list_objects
from arena.released.types import convert_to_numpy
from arena.sample import Reads, Sample, Training
from arena.settings import INSTEAD, Check, count_setting, setting, whole
from learners.common.learner_bases import ReleaseLearner

ONES, LABELS, SUM, POINTS, BOTH = PARTS = ("ones", "labels", "sum", "points", "both")
# What a mechanism receives, in words.
DESCRIPTIONS = {
    ONES: "the number of labels 1 among labels 0 and 1",
    LABELS: "arrays of the labels 0 and 1 only",
    SUM: "the sum of numbers",
    POINTS: "arrays of numbers",
    BOTH: "pairs of numbers and of the labels 0 and 1",
}
RECORDS = "records"  # in place of a part: those of a schema
COUNTS = (ONES, LABELS)  # parts that change by at most 1 with a replaced example, whatever the points are


def receives_setting(default: Any, *, check: Check, more: str = "") -> Any:
    return setting(
        default,
        help="the part of the sample that it receives: the number of labels 1 (ones), the labels in order, "
        f"the sum of the points, the points, or both (points, labels){more}",
        check=check,
    )


def _check_callable(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not (callable(value) or is_mechanism(value)) and not (value is None and attribute.default is None):
        raise InvalidArgument(f"{attribute.name} must be a function", value=value)


def function_setting(help: str, *, required: bool = True, instead: str = "") -> Any:
    """A setting whose value is a function, compared by its code; None by default if it is not required.
    instead: the setting that may replace a required one."""
    return attrs.field(
        default=attrs.NOTHING if required and not instead else None,
        kw_only=True,
        validator=_check_callable,
        eq=lambda function: None if function is None else fingerprint(function),
        repr=lambda function: repr(function) if function is None else callable_name(function),
        metadata={"help": help, "unit": "", INSTEAD: instead},
    )


def _check_domain(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not (isinstance(value, tuple) and len(value) == 2 and -inf < value[0] < value[1] < inf):
        raise InvalidArgument(
            "domain must be two finite numbers, the smaller one first",
            value=value,
            remedy="Write domain=(0, 1), or leave it out if points may be any numbers.",
        )


def _check_users(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not callable(value):
        whole(instance, attribute, value)


def users_setting() -> Any:
    return attrs.field(
        default=None,
        kw_only=True,
        validator=attrs.validators.optional(_check_users),
        eq=lambda value: fingerprint(value) if callable(value) else value,
        repr=lambda value: callable_name(value) if callable(value) else repr(value),
        metadata={
            "help": "whose an example is, for claims about users: the index of a coordinate of the points "
            "(-1: the last), or a function of points (k, ...) that returns (k,), path/to/file.py:f",
            "unit": "",
        },
    )


@attrs.frozen
class ForeignMechanism(ReleaseLearner):
    """Base of the learners that wrap a mechanism of other code, and play all games of one sample before those
    of the next. A subclass has the setting `receives`, one of its `parts`, and implements `draw_releases`."""

    parts: ClassVar[tuple[str, ...]] = PARTS
    library: ClassVar[str] = ""  # the optional dependency that `make` needs

    dimension: int | None = count_setting(None, help="d, if points are vectors; default: they are numbers")

    domain: tuple[float, float] | None = setting(
        None, help="the least and largest number in a point, as 0,1; default: any", check=_check_domain
    )

    @property
    def mechanism(self) -> Any:
        """What `make` returns, once in each process."""
        return make_once(self.make, self.library)  # type: ignore[attr-defined]

    @abstractmethod
    def draw_releases(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        """The releases of `games` independent games on the sample: a list or an array (games, ...)."""

    @property
    def one_call_a_game(self) -> bool:
        return not getattr(self, "vectorised", False)

    @property
    def reads(self) -> Reads:
        """Of the points and the labels, what it reads anything of."""
        receives = getattr(self, "receives", BOTH)
        return "points" if receives in (SUM, POINTS) else "labels" if receives in COUNTS else "both"

    @property
    def received(self) -> str:
        """What it receives, and why, in a few words; empty if its settings say so."""
        return ""

    def read_parts(self, sample: Sample) -> dict[str, Any]:
        """Every part of a sample that the setting `receives` can name."""
        return {part: extract_part(sample, part) for part in self.parts}

    @property
    def point_shape(self) -> tuple[int, ...]:
        return () if self.dimension is None else (self.dimension,)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        """Raises: Unsupported if it does not release one value for each game."""
        if not training.games:
            return np.zeros(0)
        for sample in training.samples if not self.receives_records else ():
            self._check_points(self._drop_users(sample.points))
        order, parts = [], []
        for sample, games in training.groups():
            order.append(games)
            releases = self.draw_releases(sample, len(games), rng)
            parts.append(_read_releases(self.own_name, releases, len(games)))
        return _join_releases(parts)[np.argsort(np.concatenate(order))]

    def _drop_users(self, points: np.ndarray) -> np.ndarray:
        return points

    def _check_points(self, points: np.ndarray) -> None:
        low, high = self.domain or (-inf, inf)
        outside = points[(points < low) | (points > high)]
        if outside.size:
            raise InvalidArgument(
                f"the points of {self.own_name} must lie in its domain, from {low:g} to {high:g}",
                value=float(outside.flat[0]),
                remedy="Scale the data, or set another domain.",
            )


@attrs.frozen
class ForeignClaim(ForeignMechanism):
    """Base of the wrapped mechanisms whose claim may be for any neighbouring relation."""

    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)
    users: int | Callable[..., Any] | None = users_setting()

    def __attrs_post_init__(self) -> None:
        if self.receives_records:
            return
        if self.relation.kind is Neighbours.ADD_OR_REMOVE_USER and self.users is None:
            raise InvalidArgument(
                f"neighbours of {self.own_name} that {self.relation} need the setting users",
                remedy="Set it to the coordinate of the points that says whose an example is, or to a "
                "function of the points.",
            )
        column, coordinates = self.user_column, self.dimension or 1
        if column is not None and not -coordinates <= column < coordinates:
            raise InvalidArgument(
                "users must be a coordinate of the points, or a function of them",
                value=column,
                remedy="Set dimension to the number of coordinates, with that of the users.",
            )

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of the claim."""
        return read_relation(self.neighbours)

    @property
    def user_column(self) -> int | None:
        """The coordinate of the points that says whose an example is, if there is one."""
        return None if callable(self.users) else self.users

    def users_of(self, points: np.ndarray) -> np.ndarray:
        if callable(self.users):
            return np.asarray(self.users(points.copy()))
        if self.users is None:
            return super().users_of(points)
        return points.reshape(len(points), -1)[:, self.users]

    def _drop_users(self, points: np.ndarray) -> np.ndarray:
        if self.user_column is None or points.ndim == 1:
            return points
        return np.delete(points, self.user_column, axis=1)


def extract_part(sample: Sample, part: str) -> Any:
    """A fresh copy of a part of the sample (see `receives_setting`), which the mechanism may overwrite."""
    if part == ONES:
        return int(sample.counts @ (sample.labels == 1))
    if part == SUM:
        total = sample.counts @ sample.points.astype(float)
        return total if total.ndim else float(total)
    points, labels = sample.rows()
    labels = labels.astype(np.int64)  # arithmetic on bytes could overflow
    return {LABELS: labels, POINTS: points, BOTH: (points, labels)}[part]


def repeat_part(sample: Sample, part: str, games: int) -> Iterator[Any]:
    """The part (see `extract_part`) once for every game, each a copy of its own."""
    data = extract_part(sample, part)
    if isinstance(data, tuple):
        return (tuple(array.copy() for array in data) for _ in range(games))
    return (data.copy() for _ in range(games)) if isinstance(data, np.ndarray) else repeat(data, games)


def call_maker(make: Callable[[], Any], library: str = "") -> Any:
    """The mechanism that `make` returns. Raises: Unsupported if `library` is missing; InvalidArgument if
    `make` fails."""
    try:
        return make()
    except ArenaError:
        raise
    except RAISED as error:  # the user's code may raise anything
        if library and isinstance(error, ImportError):
            raise missing_library(library, error) from error
        raise InvalidArgument(
            f"{callable_name(make)}, which makes the mechanism, raised {describe_error(error)}",
            remedy="Correct it, and try it on its own.",
        ) from error


make_once = lru_cache(maxsize=16)(call_maker)  # the mechanism of a maker, one for each process


def draw_random_state(rng: np.random.Generator) -> np.random.RandomState:
    """A generator for `random_state`, seeded with 256 bits: of 32, blocks of a long run could be alike."""
    return np.random.RandomState(np.random.MT19937(rng.integers(2**32, size=8)))


def missing_library(library: str, error: ImportError) -> MissingPackage:
    return MissingPackage(f"{library} cannot be imported ({error})", extra=library)


def _read_releases(name: str, values: Any, games: int) -> np.ndarray:
    """An array whose first axis is the game. Raises: Unsupported unless there is one release a game."""
    if not isinstance(values, np.ndarray | list | tuple) and hasattr(values, "__array__"):
        values = convert_to_numpy(values)
    if type(values) is not np.ndarray and isinstance(values, np.ndarray | list | tuple):
        values = list_objects(list(values))
    if not isinstance(values, np.ndarray) or values.shape[:1] != (games,):
        got = f"shape {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise Unsupported(
            f"{name} must release one value for each game",
            value=f"{got} for {games} games",
            remedy="Return an array or a list whose first axis is the game.",
        )
    return values


def _join_releases(parts: list[np.ndarray]) -> np.ndarray:
    if len(parts) == 1 or (
        len({(part.dtype.kind, part.shape[1:]) for part in parts}) == 1 and parts[0].dtype.kind in "biuf"
    ):
        return np.concatenate(parts)
    return list_objects([value for part in parts for value in part])

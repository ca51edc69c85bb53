"""What a learner promises: privacy between neighbouring training sets, and bounds on its errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arena.dataset import INCOMPARABLE, Dataset
from arena.errors import InvalidArgument, Unsupported
from arena.privacy_curves import PrivacyCurve, extend_to_group
from arena.sample import Sample, own_points
from arena.settings import setting

UserFunction = Callable[[Any], np.ndarray]
Example = tuple[Any, int]  # a point and its label

MISTAKES, REGRET, ERROR = "mistakes", "regret", "error"


class Neighbours(StrEnum):
    """How neighbouring training sets differ.

    REPLACE_ONE, REPLACE_GROUP: they have equal length and differ in one place, or in at most k places.
    ADD_OR_REMOVE_ONE: one is the other without one example. ZERO_OUT_ONE: they differ in one place, where one
    has a blank example. ADD_OR_REMOVE_USER: one is the other without all examples, at most k, of one user.
    AT_L1_DISTANCE, AT_L2_DISTANCE, AT_LINF_DISTANCE: all their numbers together, such as the answers of
    queries, are two vectors at a distance of at most d.
    """

    REPLACE_ONE = "replace one"
    ADD_OR_REMOVE_ONE = "add or remove one"
    ZERO_OUT_ONE = "zero out one"
    REPLACE_GROUP = "replace a group"
    ADD_OR_REMOVE_USER = "add or remove a user"
    AT_L1_DISTANCE = "at L1 distance"
    AT_L2_DISTANCE = "at L2 distance"
    AT_LINF_DISTANCE = "at Linf distance"


REPLACING = (Neighbours.REPLACE_ONE, Neighbours.REPLACE_GROUP)
_SIZED = (Neighbours.REPLACE_GROUP, Neighbours.ADD_OR_REMOVE_USER)
DISTANCES = (Neighbours.AT_L1_DISTANCE, Neighbours.AT_L2_DISTANCE, Neighbours.AT_LINF_DISTANCE)
_FORMS = {  # of the relations with a size or a distance; written by `str`, read by `read_relation`
    Neighbours.REPLACE_GROUP: "replace a group of {}",
    Neighbours.ADD_OR_REMOVE_USER: "add or remove a user of at most {}",
    **{kind: f"{kind.value} at most {{}}" for kind in DISTANCES},
}


@attrs.frozen
class Relation:
    """A neighbouring relation. size: k of the kinds that have one, otherwise 1. distance: d of the kinds that
    have one, otherwise 0. Raises: InvalidArgument."""

    kind: Neighbours
    size: int = 1
    distance: float = 0.0

    def __attrs_post_init__(self) -> None:
        kind, size = self.kind, self.size
        if not isinstance(kind, Neighbours):
            raise InvalidArgument(
                "kind must be of Neighbours", value=kind, remedy=f"Choose from: {_list_relations()}."
            )
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InvalidArgument("the size of a group must be a whole number of at least 1", value=size)
        if size > 1 and kind not in _SIZED:
            raise InvalidArgument(f"the relation '{kind}' has no size", value=size)
        if (kind in DISTANCES) != bool(self.distance) or not 0 <= self.distance < math.inf:
            needs = "needs a distance above 0" if kind in DISTANCES else "has no distance"
            raise InvalidArgument(f"the relation '{kind}' {needs}", value=self.distance)

    def __str__(self) -> str:
        size = f"{self.distance:.17g}" if self.distance else self.size
        return _FORMS.get(self.kind, self.kind.value).format(size)

    @property
    def adds_or_removes(self) -> bool:
        return self.kind in (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ADD_OR_REMOVE_USER)

    @property
    def rule(self) -> str:
        """What the training sets of the two worlds must satisfy, for messages."""
        return {
            Neighbours.REPLACE_ONE: "the training sets of the two worlds differ in at most one place",
            Neighbours.ADD_OR_REMOVE_ONE: "the training set of one world is that of the other without one "
            "example, or the same",
            Neighbours.ZERO_OUT_ONE: "the training sets of the two worlds differ in at most one place, where "
            "one of them has a blank example",
            Neighbours.REPLACE_GROUP: "the training sets of the two worlds differ in at most "
            f"{self.size} places",
            Neighbours.ADD_OR_REMOVE_USER: "the training set of one world is that of the other without one "
            f"user, who has at most {self.size} examples, or the same",
        }.get(self.kind, f"the numbers of the two worlds are vectors {self}")

    def count_changes(self, first: Dataset, second: Dataset, users_of: UserFunction) -> int:
        """How many examples must be changed, in the way of this relation, to make one sample of the other. 0:
        they are equal. 1 to `size`: they are neighbours. `INCOMPARABLE`: no number of such changes suffices.

        users_of: whose each of some points is, (k, ...) to (k,); only called if a user is added or removed.
        Of vectors, 1 if they differ and are at the distance of this relation at most, 2 if at a larger one.
        """
        if self.kind in DISTANCES:
            return self._count_distance(first, second)
        if self.adds_or_removes:
            shorter, longer = sorted((first, second), key=lambda sample: sample.size)
            if self.kind is Neighbours.ADD_OR_REMOVE_ONE:
                return shorter.count_inserted(longer)
            return shorter.count_of_user(longer, lambda given: find_users(users_of, given))
        changes = first.differences(second)
        if self.kind is Neighbours.ZERO_OUT_ONE and changes > 0:
            return changes if first.differences(second, blanked=True) == changes else INCOMPARABLE
        return changes

    def _count_distance(self, first: Dataset, second: Dataset) -> int:
        """Exact, since the rounding of a sum must not make vectors neighbours."""
        vectors = [dataset.list_numbers() for dataset in (first, second)]
        if None in vectors or len(vectors[0]) != len(vectors[1]):  # type: ignore[arg-type]
            return INCOMPARABLE
        if first == second:
            return 0
        gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(*vectors, strict=True)]
        limit = Fraction(self.distance)
        if self.kind is Neighbours.AT_LINF_DISTANCE:
            return 1 if max(gaps) <= limit else 2
        power = 1 if self.kind is Neighbours.AT_L1_DISTANCE else 2
        return 1 if sum(gap**power for gap in gaps) <= limit**power else 2

    def make_neighbours(
        self, sample: Sample, run: int, first: Example, second: Example, users_of: UserFunction
    ) -> tuple[Sample, Sample]:
        """The sample with its last example of a run changed: neighbours, for world 0 and for world 1.

        Where neighbours replace examples, it is `first` in world 0 and `second` in world 1, and so are the
        others of a group, of the same run. Otherwise it is missing or blank in world 0, and `second` in world
        1, with all that its user may have. Raises: InvalidArgument if a user is added or removed and the
        sample has no other.
        """
        changed = sample.replace_one(run, *second)
        if self.kind is Neighbours.ZERO_OUT_ONE:
            return sample.blank_one(run), changed
        if self.kind is Neighbours.ADD_OR_REMOVE_ONE and sample.size == 1:
            return sample, sample.add_one(run, *second)
        if self.kind is Neighbours.ADD_OR_REMOVE_ONE:
            return sample.remove_one(run), changed
        if self.kind is Neighbours.ADD_OR_REMOVE_USER:
            point = own_points(second[0])[None]
            others = find_users(users_of, changed.points) != find_users(users_of, point)
            if not others.any():
                raise InvalidArgument(
                    "a sample in which a user is added or removed must hold examples of other users",
                    value=sample.describe(),
                    remedy="Give data of at least two users.",
                )
            without = changed.select(others)
            return without, Sample(
                np.concatenate([without.points, point]),
                np.append(without.labels, second[1]),
                np.append(without.counts, self.size),
            )
        worlds = [sample, sample]
        for _ in range(min(self.size, int(sample.counts[run]))):
            worlds = [
                world.replace_one(run, *new) for world, new in zip(worlds, (first, second), strict=True)
            ]
        return worlds[0], worlds[1]

    def count_steps(self, base: Relation) -> int:
        """The most steps between neighbours of this relation, each between neighbours of `base`:
        docs/proofs/neighbours.md. Raises: Unsupported if some are not connected."""
        if self == base:
            return 1
        if self.kind in REPLACING:
            if base.kind in REPLACING:
                return -(-self.size // base.size)
            if base.kind in (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE):
                return 2 * self.size
        if self.kind is Neighbours.ADD_OR_REMOVE_USER:
            if base.kind is Neighbours.ADD_OR_REMOVE_ONE:
                return self.size
            if base.kind is self.kind and base.size > self.size:
                return 1
        raise Unsupported(
            f"a claim for '{base}' says nothing about '{self}'",
            remedy="Neighbours that replace examples can be reached by adding and removing or zeroing out "
            "single ones, and a user by single examples; the opposite is not so.",
        )


def read_relation(given: object) -> Relation:
    """A relation, from itself, a kind, or a text such as "replace-a-group-of-3". Raises: InvalidArgument."""
    if isinstance(given, Relation):
        return given
    if isinstance(given, Neighbours):
        return Relation(given)
    text = re.sub(r"(?<!\de)-", " ", str(given).strip().lower())  # but for the exponent of a distance
    for kind in Neighbours:
        size = r"([0-9.e+-]{1,30})" if kind in DISTANCES else "([0-9]{1,9})"
        found = re.fullmatch(_FORMS.get(kind, kind.value).lower().format(size), text)
        if found and kind in DISTANCES:
            return Relation(kind, distance=_read_distance(found[1]))
        if found:
            return Relation(kind, *map(int, found.groups()))
    raise InvalidArgument(
        "neighbours must be a known relation", value=given, remedy=f"Choose from: {_list_relations()}."
    )


def _read_distance(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidArgument("a distance must be a number", value=text) from error


def find_users(users_of: UserFunction, points: np.ndarray) -> np.ndarray:
    """(k,): whose each of the points (k, ...) is. Raises: InvalidArgument unless one number or text each."""
    users = np.asarray(users_of(points))
    if users.shape != (len(points),) or users.dtype.kind not in "biufUS":
        raise InvalidArgument(
            "whose the examples are must be given by one number or text for each point",
            value=f"{users.dtype.name} of shape {users.shape} for {len(points)} points",
            remedy="Name one coordinate of the points, or return an array (k,) for points (k, ...).",
        )
    if users.dtype.kind == "f" and np.isnan(users).any():
        raise InvalidArgument(
            "every example must have a user, and a value is missing",
            value=float("nan"),
            remedy="Remove such examples, or give each of them a user of its own.",
        )
    return users


def neighbours_setting(default: Neighbours) -> Any:
    """A learner's setting of the relation of its claim; `choose_claim` makes the claim."""
    return setting(
        str(default),
        help="the neighbouring relation of the claim: " + _list_relations(),
        check=lambda instance, attribute, value: read_relation(value),
    )


def _list_relations() -> str:
    return ", ".join(
        _FORMS.get(kind, kind.value).format("D" if kind in DISTANCES else "K") for kind in Neighbours
    )


class PrivacyUnit(StrEnum):
    """What may differ between neighbouring datasets, and between the worlds of a game."""

    TRAINING_EXAMPLE = "a training example"
    QUERY = "a query"
    UNLABELLED_EXAMPLE = "an unlabelled example"
    STREAM_EXAMPLE = "an example of the stream"


def _read_units(units: Iterable[PrivacyUnit]) -> tuple[PrivacyUnit, ...]:
    given = tuple(units)
    try:
        return tuple(map(PrivacyUnit, given))
    except ValueError as error:
        members = ", ".join(f"PrivacyUnit.{member.name}" for member in PrivacyUnit)
        raise InvalidArgument(
            "protects must be of PrivacyUnit", value=given, remedy=f"Choose from {members}."
        ) from error


@attrs.frozen(kw_only=True)
class Claim:
    """(ε, δ)-indistinguishability of the adversary's views in the two worlds.

    epsilon: in nats; infinity where nothing is promised. protects: what may differ between the worlds.
    neighbours: the relation of training sets; neighbouring queries and streams always differ in one place.
    curve: if the claim says δ for every ε, which implies (ε, δ).
    """

    epsilon: float = attrs.field(converter=float)
    delta: float = attrs.field(converter=float)
    protects: tuple[PrivacyUnit, ...] = attrs.field(converter=_read_units)
    neighbours: Relation = attrs.field(default=Relation(Neighbours.REPLACE_ONE), converter=read_relation)
    curve: PrivacyCurve | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(attrs.validators.instance_of(PrivacyCurve)),  # type: ignore[type-abstract]
    )

    @epsilon.validator
    def _check_epsilon(self, attribute: object, epsilon: float) -> None:
        if not epsilon >= 0:
            raise InvalidArgument("ε must be at least 0 nats", value=epsilon)

    @delta.validator
    def _check_delta(self, attribute: object, delta: float) -> None:
        if not 0 <= delta <= 1:
            raise InvalidArgument("δ must be a probability", value=delta)

    @property
    def empty(self) -> bool:
        return math.isinf(self.epsilon) or self.delta >= 1

    def convert(self, neighbours: Relation | Neighbours | str, delta: float | None = None) -> Claim:
        """What this claim implies for another neighbouring relation, by group privacy:
        docs/proofs/neighbours.md.

        If N steps between neighbours of this claim lead to any of the other, a privacy curve implies that of
        N steps; a claim without one implies (Nε, δ·(1 + e^ε + … + e^((N-1)ε))). delta: of the new claim; by
        default that of this claim, or what N steps make of it without a curve. Raises: Unsupported if it
        implies nothing, or nothing at delta.
        """
        relation = read_relation(neighbours)
        steps = relation.count_steps(self.neighbours)
        if steps == 1 and delta in (None, self.delta):
            return attrs.evolve(self, neighbours=relation)
        epsilon, grown = steps * self.epsilon, self._grow_delta(steps)
        asked = self.delta if delta is None else delta
        if self.curve is None or asked >= 1:
            if delta is not None and grown > delta:
                raise Unsupported(
                    f"a claim for '{self.neighbours}' without a privacy curve implies no ε for '{relation}' "
                    "at so small a δ",
                    value=delta,
                    remedy=f"Ask for a δ of at least {grown:.3g}, or give the claim its privacy curve.",
                )
            return attrs.evolve(self, epsilon=epsilon, delta=grown, neighbours=relation, curve=None)
        curve = extend_to_group(self.curve, steps)
        epsilon = min(epsilon if grown <= asked else math.inf, curve.epsilon(asked))
        return attrs.evolve(self, epsilon=epsilon, delta=asked, neighbours=relation, curve=curve)

    def _grow_delta(self, steps: int) -> float:
        """δ·(1 + e^ε + … + e^((steps-1)ε)), at most 1."""
        if not self.delta or steps == 1:
            return self.delta
        terms = math.expm1(-steps * self.epsilon) / math.expm1(-self.epsilon) if self.epsilon else steps
        return math.exp(min(0.0, math.log(self.delta) + (steps - 1) * self.epsilon + math.log(terms)))

    def __str__(self) -> str:
        if self.empty:
            return "no privacy is claimed"
        protected = " or ".join(self.protects)
        curve = "" if self.curve is None else f", with the privacy curve of {self.curve}"
        return f"({self.epsilon:.4g}, {self.delta:.3g})-DP for {protected} ({self.neighbours}){curve}"


def choose_claim(
    claims: Sequence[Claim], neighbours: Relation | Neighbours | str, delta: float | None = None
) -> Claim:
    """The claim for a neighbouring relation, of several that hold: its own, or else the best one implied, by
    the least ε at delta; without delta at the largest δ of the claims, and what has a larger δ comes last.
    Raises: Unsupported if none implies anything, or nothing at delta."""
    relation = read_relation(neighbours)
    own = [claim for claim in claims if claim.neighbours == relation]
    most = max(claim.delta for claim in claims) if delta is None else delta
    implied = []
    for claim in own or claims:
        try:
            implied.append(claim.convert(relation, delta))
        except Unsupported as error:
            refusal = error
    if not implied:
        raise refusal
    return min(implied, key=lambda claim: (max(claim.delta, most), claim.epsilon, claim.delta))


@attrs.frozen
class Bound:
    """An upper bound on a learner's mistakes, regret or error in a game of a given number of rounds.

    of: `MISTAKES` in realizable games, `REGRET` in any game, or `ERROR`, the error rate of every hypothesis
    of a predictor whose sample and queries are drawn from one distribution. oblivious: whether it is proved
    for oblivious adversaries only. promised: False if the theorem assumes other constants than those in use.
    beta: the probability with which a game may exceed it; 0: no game does; None: it bounds the expectation.
    """

    at_most: float
    of: str = attrs.field(validator=attrs.validators.in_((MISTAKES, REGRET, ERROR)))
    beta: float | None = attrs.field()
    theorem: str
    oblivious: bool = False
    promised: bool = True

    @beta.validator
    def _check_beta(self, attribute: object, beta: float | None) -> None:
        if beta is not None and not 0 <= beta < 1:
            raise InvalidArgument("beta must be a probability below 1, or None", value=beta)

"""Decision lists: if f_1 then b_1, else if f_2 then b_2, …, else b."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import perm
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.cube.features import Conjunctions, Features, Literals, Variables
from arena.concepts.finite.finite_class import FiniteClass
from arena.errors import InvalidArgument, Unsupported
from arena.points import freeze

NO_RULE = -1  # fills a row up behind the last rule
MOST_DIMENSIONS = 10  # up to which the domain {0, 1}^d is gone through
MOST_PATTERNS = 16  # points that features tell apart, for which all labellings are tried
MOST_RULES = 8  # of a list that is drawn at random
MOST_LISTS = 200_000  # that are listed one by one
_FORMS = "lists:D (variables), lists:D:literals or lists:D:conjunctions2"


@attrs.frozen(repr=False)
class DecisionLists(ConceptClass):
    """Decision lists whose rules ask for features of points in {0, 1}^d.

    A concept is a row of whole numbers, a rule each: 2·f + b says "if feature f holds then b", where f =
    `count` of the features is "true", which holds everywhere. `NO_RULE` (−1) fills the row up. The first rule
    whose feature holds decides; where none does the label is 0.

    Of all lists in which no feature comes twice and nothing follows "true", ERM picks the first among the
    best, and dichotomies names the first for each labelling. Lists are ordered rule by rule: no rule at all
    comes first, then "true", then the features in their order, each with 0 before 1.

    features: what the rules may ask.

    >>> DecisionLists(Variables(3)).text([3, 4, 7], ["red", "big", "round"])
    'if big then 1, else if round then 0, else 1'
    """

    name: ClassVar[str] = "lists"
    concept_ndim: ClassVar[int] = 1

    features: Features = attrs.field()

    @features.validator
    def _check_features(self, attribute: object, value: object) -> None:
        if not isinstance(value, Features):
            raise InvalidArgument("decision lists need features", value=value, remedy="As in Variables(8).")

    @classmethod
    def from_text(cls, rest: str) -> DecisionLists:
        """What D, D:literals or D:conjunctionsK names.

        Raises: InvalidArgument with the possible forms.
        """
        size, _, kind = (part.strip() for part in rest.partition(":"))
        depth = kind.removeprefix("conjunctions")
        if size.isdecimal() and kind in ("", "variables"):
            return cls(Variables(int(size)))
        if size.isdecimal() and kind == "literals":
            return cls(Literals(int(size)))
        if size.isdecimal() and depth != kind and depth.isdecimal():
            return cls(Conjunctions(int(size), int(depth)))
        raise InvalidArgument("no such decision lists", value=f"{cls.name}:{rest}", remedy=f"Write {_FORMS}.")

    def __repr__(self) -> str:
        return f"DecisionLists({self.features})"

    @property
    def longest(self) -> int:
        """The most rules that are of use: each feature once, and "true"."""
        return self.features.count + 1

    # --- points ---------------------------------------------------------------------------------------

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features.d,)

    @cached_property
    def domain(self) -> tuple[tuple[float, ...], ...] | None:
        """The points of {0, 1}^d, the last coordinate running fastest; None for d above 10."""
        if self.features.d > MOST_DIMENSIONS:
            return None
        return tuple(tuple(map(float, point)) for point in np.ndindex((2,) * self.features.d))

    def check(self, x: Any) -> np.ndarray:
        """The points as int8, (..., d).

        Raises: InvalidArgument naming the first coordinate that is not 0 or 1.
        """
        return self.features.check(x)

    def place(self, points: np.ndarray) -> np.ndarray:
        if self.domain is None:
            return super().place(points)
        return np.asarray(points @ (1 << np.arange(self.features.d)[::-1]))

    # --- concepts -------------------------------------------------------------------------------------

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The lists as rows of rules, (..., L)."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "iu" or array.ndim == 0:
            raise InvalidArgument("a decision list is a row of whole numbers, a rule each", value=concepts)
        good = (array >= NO_RULE) & (array < 2 * self.longest)
        if not good.all():
            raise InvalidArgument(
                f"a rule is 2·feature + label, 0 to {2 * self.longest - 1}, or {NO_RULE} for none",
                value=array[~good].flat[0].item(),
            )
        gaps = (array[..., :-1] == NO_RULE) & (array[..., 1:] != NO_RULE)
        if gaps.any():
            raise InvalidArgument(
                "a decision list has no gaps", value=array[gaps.any(axis=-1)][0].tolist()[:20]
            )
        return array.astype(np.int64, copy=False)

    def rules(
        self, concept: Any, names: Sequence[str] | None = None, labels: tuple[str, str] = ("0", "1")
    ) -> list[str]:
        """One list for people, a rule a line. Rules at the end that change nothing are left out.

        concept: (L,). names: of the coordinates. labels: what 0 and 1 mean.
        """
        codes = self._shortened(self.check_concepts(concept).tolist())
        named = self.features.names(names)
        said = [f"if {named[code // 2]} then {labels[code % 2]}" for code in codes[:-1]]
        return [
            *(f"{'else ' if i else ''}{rule}" for i, rule in enumerate(said)),
            self._last(codes, said, labels),
        ]

    def text(
        self, concept: Any, names: Sequence[str] | None = None, labels: tuple[str, str] = ("0", "1")
    ) -> str:
        """`rules` in one line."""
        return ", ".join(self.rules(concept, names, labels))

    def _last(self, codes: list[int], said: list[str], labels: tuple[str, str]) -> str:
        label = labels[codes[-1] % 2]
        return f"else {label}" if said else f"always {label}"

    def _shortened(self, codes: list[int]) -> list[int]:
        """The same function by fewer rules, the last of them "true"."""
        true, kept = 2 * self.features.count, []
        for code in codes:
            if code == NO_RULE or code >= true:
                kept.append(true + (code % 2 if code >= true else 0))
                break
            kept.append(code)
        else:
            kept.append(true)
        while len(kept) > 1 and kept[-2] % 2 == kept[-1] % 2:
            del kept[-2]
        return kept

    def every(self) -> np.ndarray:
        """(k, L): all lists in which no feature comes twice and that end with "true".

        Raises: Unsupported if they are more than `MOST_LISTS`.
        """
        return _every(self.features.count)

    # --- labels ---------------------------------------------------------------------------------------

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        held = self.features.of_bits(points.astype(bool))
        ends = np.broadcast_to([True, False], (*held.shape[:-1], 2))  # "true", and what -1 finds: no rule
        held = np.concatenate([held, ends], axis=-1)
        lead = np.broadcast_shapes(concepts.shape[:-1], held.shape[:-1])
        held = np.broadcast_to(held, (*lead, held.shape[-1]))
        label = np.zeros(lead, bool)
        for rule in np.moveaxis(concepts, -1, 0)[::-1]:
            decides = np.take_along_axis(held, np.broadcast_to(rule >> 1, lead)[..., None], axis=-1)[..., 0]
            label = np.where(decides, rule & 1, label)
        return label.astype(bool)

    @cached_property
    def vc_dimension(self) -> int:
        """Exact, by going through all labellings of the domain.

        Raises: Unsupported if features tell more than `MOST_PATTERNS` points of it apart.
        """
        if self.domain is None:
            raise Unsupported(
                f"{self} has {2**self.features.d:,} points, too many to work out its VC dimension",
                remedy="Take fewer variables.",
            )
        return FiniteClass(self.dichotomies(np.array(self.domain)).labels).vc_dimension

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of their first lists.

        Raises: Unsupported if features tell more than `MOST_PATTERNS` of the points apart.
        """
        patterns, place = np.unique(
            self.features.of_bits(self._check_row(points).astype(bool)), axis=0, return_inverse=True
        )
        labels, concepts = _labellings(patterns)
        return Dichotomies(labels[:, place.ravel()], concepts)

    def most_dichotomies(self, points: int) -> int:
        """At most all labellings, of as many points as `dichotomies` can tell apart."""
        return 1 << min(points, MOST_PATTERNS)

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """A few features in random order, labels by turns and the first at random. Over variables it labels
        about one or two thirds of the points 1.
        """
        asked = rng.permutation(self.features.count)[:MOST_RULES]
        labels = (rng.integers(2) + np.arange(len(asked))) % 2
        concept = np.full(self.longest, NO_RULE)
        concept[: len(asked)] = 2 * asked + labels
        return concept

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        if points.shape[1] == 0:
            return np.full((len(points), self.longest), NO_RULE)
        held = self.features.of_bits(points.astype(bool))
        patterns, place = np.unique(held.reshape(-1, held.shape[-1]), axis=0, return_inverse=True)
        if len(patterns) > MOST_PATTERNS and len(points) > 1:
            rows = [slice(i, i + 1) for i in range(len(points))]
            return np.concatenate(
                [self._minimise(points[r], labels[r], None if weights is None else weights[r]) for r in rows]
            )
        ones, zeros = _tallies(place.reshape(labels.shape), labels, weights, len(patterns))
        options, concepts = _labellings(patterns)
        wrong = ones @ ~options.T.astype(bool) + zeros @ options.T
        return np.asarray(concepts[wrong.argmin(axis=1)])


def _tallies(
    place: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, patterns: int
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each pattern in each sample with label 1 and with label 0, (b, patterns)."""
    kind = np.int64 if weights is None else weights.dtype
    tally = np.zeros((2, len(labels), patterns), kind)
    rows = np.arange(len(labels))[:, None]
    np.add.at(tally, (labels, rows, place), 1 if weights is None else weights)
    return tally[1], tally[0]


def _labellings(patterns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All labellings of different rows of features (m, F) that some list realises, and the first list of
    each.

    Shapes: labels (k, m) bool, concepts (k, F + 1).

    Raises: Unsupported if m exceeds `MOST_PATTERNS`.
    """
    if len(patterns) > MOST_PATTERNS:
        raise Unsupported(
            f"{len(patterns):,} points that features tell apart are more than {MOST_PATTERNS}, too many to "
            "try all labellings",
            remedy="Take fewer points, or fewer variables.",
        )
    return _cached_labellings(patterns.shape, patterns.tobytes())


@lru_cache(maxsize=32)
def _cached_labellings(shape: tuple[int, int], content: bytes) -> tuple[np.ndarray, np.ndarray]:
    patterns = np.frombuffer(content, bool).reshape(shape)
    tried = np.arange(2 ** shape[0])[:, None] >> np.arange(shape[0]) & 1 == 1
    concepts, realised = first_lists(patterns, tried)
    labels, concepts = tried[realised], concepts[realised]
    true = 2 * shape[1]
    # "No rule" stays −1; "true" comes next.
    rank = np.where(concepts >= true, concepts - true, concepts + 2 * (concepts >= 0))
    order = np.lexsort(rank.T[::-1])
    return freeze(labels[order]), freeze(concepts[order])


def first_lists(held: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each labelling the first list that is consistent with it, in the order of `DecisionLists`.

    A rule that is consistent with all examples left may always be taken: what a consistent list says of the
    examples after it, it says without the feature as well (Rivest 1987; Proposition 3.3 of Bun and Fang). So
    the first consistent rule, again and again, makes the first consistent list.

    Shapes: held (m, F) bool, which features hold at the points; labels (k, m) bool; result (k, F + 1), and
    (k,) bool: whether there is one.
    """
    count = held.shape[1]
    asked = np.concatenate([np.ones((len(held), 1), bool), held], axis=1).astype(np.float64)  # "true" first
    concepts = np.full((len(labels), count + 1), NO_RULE)
    left = np.ones(labels.shape, bool)
    unused = np.ones((len(labels), count + 1), bool)
    for place in range(count + 1):
        games = np.flatnonzero((left & labels).any(axis=1))  # where only zeros are left no rule is needed
        if not len(games):
            break
        rest, given = left[games], labels[games]
        against = np.stack([(rest & given) @ asked, (rest & ~given) @ asked], axis=-1)
        possible = (against == 0) & unused[games][..., None]
        rule = possible.reshape(len(games), -1).argmax(axis=1)
        found = possible.any(axis=(1, 2))
        games, rule = games[found], rule[found]
        feature = rule >> 1
        concepts[games, place] = np.where(feature == 0, 2 * count, 2 * (feature - 1)) + (rule & 1)
        unused[games, feature] = False
        left[games] &= asked.T[feature] == 0
    return concepts, ~(left & labels).any(axis=1)


@lru_cache(maxsize=8)
def _every(count: int) -> np.ndarray:
    total = sum(perm(count, j) * 2 ** (j + 1) for j in range(count + 1))
    if total > MOST_LISTS:
        raise Unsupported(
            f"there are {total:.3g} decision lists over {count} features, more than {MOST_LISTS:,}",
            remedy="Take fewer features.",
        )
    rows: list[list[int]] = []

    def grow(rules: list[int], unused: list[int]) -> None:
        rows.extend([*rules, 2 * count + bit] for bit in (0, 1))
        for feature in unused:
            for bit in (0, 1):
                grow([*rules, 2 * feature + bit], [other for other in unused if other != feature])

    grow([], list(range(count)))
    filled = np.full((len(rows), count + 1), NO_RULE)
    for row, rules in zip(filled, rows, strict=True):
        row[: len(rules)] = rules
    return freeze(filled)

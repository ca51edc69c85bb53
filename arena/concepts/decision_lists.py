"""Decision lists: if f_1 then b_1, else if f_2 then b_2, …, else b."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import perm
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.dichotomies import Dichotomies
from arena.concepts.features import BooleanFeatures, Conjunctions, Literals, Variables
from arena.concepts.finite import FiniteClass, tally_examples
from arena.errors import InvalidArgument, Unsupported
from arena.sample import check_each, freeze

NO_RULE = -1  # pads a row after the last rule
MAX_DIMENSIONS = 10  # d up to which the domain {0, 1}^d is enumerated
MAX_PATTERNS = 16  # points with distinct features up to which all labellings are tried
MAX_RANDOM_RULES = 8  # rules of a random list
MAX_LISTS = 200_000  # lists that are enumerated one by one
_FORMS = "lists:D (variables), lists:D:literals or lists:D:conjunctions2"


@attrs.frozen(repr=False)
class DecisionLists(ConceptClass):
    """Decision lists whose rules test features of points in {0, 1}^d.

    A concept is a row of integers, one for each rule: 2·f + b means "if feature f holds then b", where f =
    `features.count` stands for "true"; `NO_RULE` (−1) pads the row. The first rule whose feature holds
    decides; if none holds, the label is 0.

    Lists are ordered rule by rule: no rule, then "true", then the features in order, each with 0 before 1.
    Among the lists that repeat no feature and end with "true" if it occurs, ERM returns the first of the
    best, and `dichotomies` lists the first for each labelling.

    >>> DecisionLists(Variables(3)).text([3, 4, 7], ["red", "big", "round"])
    'if big then 1, else if round then 0, else 1'
    """

    name: ClassVar[str] = "lists"
    concept_ndim: ClassVar[int] = 1

    features: BooleanFeatures = attrs.field()

    @features.validator
    def _check_features(self, attribute: object, value: object) -> None:
        if not isinstance(value, BooleanFeatures):
            raise InvalidArgument(
                "features must be BooleanFeatures", value=value, remedy="For instance, Variables(8)."
            )

    @classmethod
    def from_text(cls, rest: str) -> DecisionLists:
        """Parse D, D:literals or D:conjunctionsK. Raises: InvalidArgument with the possible forms."""
        size, _, kind = (part.strip() for part in rest.partition(":"))
        depth = kind.removeprefix("conjunctions")
        if size.isdecimal() and kind in ("", "variables"):
            return cls(Variables(int(size)))
        if size.isdecimal() and kind == "literals":
            return cls(Literals(int(size)))
        if size.isdecimal() and depth != kind and depth.isdecimal():
            return cls(Conjunctions(int(size), int(depth)))
        raise InvalidArgument(
            "there are no such decision lists", value=f"{cls.name}:{rest}", remedy=f"Write {_FORMS}."
        )

    def __repr__(self) -> str:
        return f"DecisionLists({self.features})"

    @property
    def max_rules(self) -> int:
        """The length of the longest useful list: each feature once, and "true"."""
        return self.features.count + 1

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features.d,)

    @cached_property
    def domain(self) -> tuple[tuple[float, ...], ...] | None:
        """The points of {0, 1}^d, with the last coordinate varying fastest; None for d above 10."""
        if self.features.d > MAX_DIMENSIONS:
            return None
        return tuple(tuple(map(float, point)) for point in np.ndindex((2,) * self.features.d))

    def check(self, x: Any) -> np.ndarray:
        return self.features.check(x)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        if self.domain is None:
            return super().domain_indices(points)
        return np.asarray(points @ (1 << np.arange(self.features.d)[::-1]))

    def check_concepts(self, concepts: Any) -> np.ndarray:
        array = np.asarray(concepts)
        if array.dtype.kind not in "iu" or array.ndim == 0:
            raise InvalidArgument("a decision list must be a row of integers, one a rule", value=concepts)
        good = (array >= NO_RULE) & (array < 2 * self.max_rules)
        rule = f"a rule must be 2·feature + label, 0 to {2 * self.max_rules - 1}, or {NO_RULE} for none"
        check_each(good, array, rule)
        gaps = (array[..., :-1] == NO_RULE) & (array[..., 1:] != NO_RULE)
        check_each(~gaps.any(axis=-1), array, "a decision list must have no gaps")
        return array.astype(np.int64, copy=False)

    def rules(
        self, concept: Any, names: Sequence[str] | None = None, labels: tuple[str, str] = ("0", "1")
    ) -> list[str]:
        """One list (L,) as text, one rule a line, without rules at the end that change nothing. names,
        labels: the names of the coordinates, and of the labels 0 and 1."""
        codes = self._shorten(self.check_concepts(concept).tolist())
        features = self.features.names(names)
        rules = [f"if {features[code // 2]} then {labels[code % 2]}" for code in codes[:-1]]
        default = f"{'else' if rules else 'always'} {labels[codes[-1] % 2]}"
        return [*(f"{'else ' if i else ''}{rule}" for i, rule in enumerate(rules)), default]

    def text(
        self, concept: Any, names: Sequence[str] | None = None, labels: tuple[str, str] = ("0", "1")
    ) -> str:
        return ", ".join(self.rules(concept, names, labels))

    def _shorten(self, codes: list[int]) -> list[int]:
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

    def all_lists(self) -> np.ndarray:
        """(k, L): all lists that repeat no feature and end with "true". Raises: Unsupported if too many."""
        return _build_all_lists(self.features.count)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        holds = self.features.evaluate_bits(points.astype(bool))
        # The feature "true", and at index -1 a feature for `NO_RULE` that never holds.
        ends = np.broadcast_to([True, False], (*holds.shape[:-1], 2))
        holds = np.concatenate([holds, ends], axis=-1)
        lead = np.broadcast_shapes(concepts.shape[:-1], holds.shape[:-1])
        holds = np.broadcast_to(holds, (*lead, holds.shape[-1]))
        label = np.zeros(lead, bool)
        for rule in np.moveaxis(concepts, -1, 0)[::-1]:
            decides = np.take_along_axis(holds, np.broadcast_to(rule >> 1, lead)[..., None], axis=-1)[..., 0]
            label = np.where(decides, rule & 1, label)
        return label.astype(bool)

    @cached_property
    def vc_dimension(self) -> int:
        """Exact, by enumerating all labellings of the domain. Raises: Unsupported as `dichotomies`."""
        if self.domain is None:
            raise Unsupported(
                f"{self} has {2**self.features.d:,} points, too many to compute its VC dimension",
                remedy="Use fewer variables.",
            )
        return FiniteClass(self.dichotomies(np.array(self.domain)).labels).vc_dimension

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings by their first lists. Raises: Unsupported for too many points of distinct
        features."""
        patterns, place = np.unique(
            self.features.evaluate_bits(self._check_row(points).astype(bool)), axis=0, return_inverse=True
        )
        labels, concepts = _labellings(patterns)
        return Dichotomies(labels[:, place.ravel()], concepts)

    def growth_bound(self, points: int) -> int:
        """All labellings, of at most `MAX_PATTERNS` points."""
        return 1 << min(points, MAX_PATTERNS)

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """A few features in random order with alternating labels, the first of which is a fair coin."""
        features = rng.permutation(self.features.count)[:MAX_RANDOM_RULES]
        labels = (rng.integers(2) + np.arange(len(features))) % 2
        concept = np.full(self.max_rules, NO_RULE)
        concept[: len(features)] = 2 * features + labels
        return concept

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        if points.shape[1] == 0:
            return np.full((len(points), self.max_rules), NO_RULE)
        holds = self.features.evaluate_bits(points.astype(bool))
        patterns, place = np.unique(holds.reshape(-1, holds.shape[-1]), axis=0, return_inverse=True)
        if len(patterns) > MAX_PATTERNS and len(points) > 1:
            rows = [slice(i, i + 1) for i in range(len(points))]
            return np.concatenate(
                [self._minimise(points[r], labels[r], None if weights is None else weights[r]) for r in rows]
            )
        tally = tally_examples(2 * place.reshape(labels.shape) + labels, weights, 2 * len(patterns))
        options, concepts = _labellings(patterns)
        wrong = tally[:, 1::2] @ ~options.T + tally[:, ::2] @ options.T
        return np.asarray(concepts[wrong.argmin(axis=1)])


def _labellings(patterns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k, m) bool, (k, F + 1): labellings of distinct rows of features (m, F), and their first lists."""
    if len(patterns) > MAX_PATTERNS:
        raise Unsupported(
            f"all labellings can be tried for at most {MAX_PATTERNS} points with distinct features, not "
            f"{len(patterns):,}",
            remedy="Use fewer points, or fewer variables.",
        )
    return _compute_labellings(patterns.shape, patterns.tobytes())


@lru_cache(maxsize=32)
def _compute_labellings(shape: tuple[int, int], content: bytes) -> tuple[np.ndarray, np.ndarray]:
    patterns = np.frombuffer(content, bool).reshape(shape)
    labels = np.arange(2 ** shape[0])[:, None] >> np.arange(shape[0]) & 1 == 1
    concepts, realised = find_first_lists(patterns, labels)
    labels, concepts = labels[realised], concepts[realised]
    true = 2 * shape[1]
    # `NO_RULE` is −1 and comes first; "true" comes next.
    rank = np.where(concepts >= true, concepts - true, concepts + 2 * (concepts >= 0))
    order = np.lexsort(rank.T[::-1])
    return freeze(labels[order]), freeze(concepts[order])


def find_first_lists(holds: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first list, in the order of `DecisionLists`, that is consistent with each labelling: greedily the
    first rule consistent with all remaining examples, again and again. This is correct because a consistent
    list stays so when the rule's feature is removed from it (Rivest 1987; Proposition 3.3 of Bun and Fang).

    Shapes: holds (m, F) bool, which features hold at the points; labels (k, m) bool. Returns the lists (k, F
    + 1), and (k,) bool, whether a consistent list exists.
    """
    count = holds.shape[1]
    tests = np.concatenate([np.ones((len(holds), 1), bool), holds], axis=1).astype(np.float64)  # "true" first
    concepts = np.full((len(labels), count + 1), NO_RULE)
    left = np.ones(labels.shape, bool)
    unused = np.ones((len(labels), count + 1), bool)
    for place in range(count + 1):
        rows = np.flatnonzero((left & labels).any(axis=1))  # if only zeros are left, no rule is needed
        if not len(rows):
            break
        left_of_row, labels_of_row = left[rows], labels[rows]
        conflicts = [(left_of_row & labels_of_row) @ tests, (left_of_row & ~labels_of_row) @ tests]
        possible = (np.stack(conflicts, axis=-1) == 0) & unused[rows][..., None]
        rule = possible.reshape(len(rows), -1).argmax(axis=1)
        exists = possible.any(axis=(1, 2))
        rows, rule = rows[exists], rule[exists]
        feature = rule >> 1
        concepts[rows, place] = np.where(feature == 0, 2 * count, 2 * (feature - 1)) + (rule & 1)
        unused[rows, feature] = False
        left[rows] &= tests.T[feature] == 0
    return concepts, ~(left & labels).any(axis=1)


@lru_cache(maxsize=8)
def _build_all_lists(count: int) -> np.ndarray:
    total = sum(perm(count, j) * 2 ** (j + 1) for j in range(count + 1))
    if total > MAX_LISTS:
        raise Unsupported(
            f"there are {total:.3g} decision lists over {count} features, more than {MAX_LISTS:,}",
            remedy="Use fewer features.",
        )
    rows: list[list[int]] = []

    def grow(rules: list[int], unused: list[int]) -> None:
        rows.extend([*rules, 2 * count + bit] for bit in (0, 1))
        for feature in unused:
            for bit in (0, 1):
                grow([*rules, 2 * feature + bit], [other for other in unused if other != feature])

    grow([], list(range(count)))
    lists = np.full((len(rows), count + 1), NO_RULE)
    for row, rules in zip(lists, rows, strict=True):
        row[: len(rules)] = rules
    return freeze(lists)

"""Simple scores: one feature of a view, by its name in `view_features`, possibly transformed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

import attrs
import numpy as np

from arena import Answer, InvalidArgument, Reply
from arena.messages import list_answers, list_joined_features, match_feature
from arena.released.encoding import ABSENT, LEAST, describe_feature, name_suffix, texts
from arena.settings import one_of
from arena.step_scores import find_last_bits
from audits.distinguishers.discriminants import find_contrasts, find_discriminant, scale_columns
from audits.distinguishers.view_features import (
    INFINITE,
    ViewCounts,
    ViewFeatures,
    is_released,
    is_single,
    list_released_columns,
)

AS_IT_IS, DISTANCE, EQUAL, AT_MOST = "as it is", "distance", "equal", "at most"
LAST_BIT = "last bit"
SUMS = WEIGHTED, WEIGHTED_DISTANCE = "weighted", "weighted distance"
OF_ENTRIES = LARGEST, SMALLEST, TOTAL, OCCURRENCES = "largest", "smallest", "total", "occurrences"
FORMS = (AS_IT_IS, DISTANCE, EQUAL, AT_MOST, LAST_BIT, *SUMS, *OF_ENTRIES)
HYPOTHESES = "hypotheses"  # all of them: the form "at most" counts them
OWN_SCORE = "score"  # that of an adversary that returns one, in place of its view
NUMBERS = "numbers"  # all numbers of a view, of whatever round
ENTRIES = "entries"  # how many entries a release has
_FEATURE = re.compile(
    r"halted|answers|answers 1|failed|score|hypotheses|numbers|entries|answer (?P<answer>\d+)"
    r"|(?:value|hypothesis \d+)(?:\[\d+\])?"
    r"|value(?:\[\d+\]|\{[0-9a-f]+\})*(?: text| low| sign| shape| size)?"
    r"|failure (?:text|\d+)|answers 1 in (?P<first>\d+) to (?P<last>\d+)|pattern (?P<pattern>[01]+)"
)
_NAMES = {
    "halted": "whether the learner halted",
    "answers": "the number of answers",
    "answers 1": "the number of answers 1",
    "failed": "whether the learner failed",
    "failure text": "the text of the exception",
    ENTRIES: "the number of entries",
    OWN_SCORE: "the score of the adversary itself",
}
_MAX_EQUAL = 3  # values of a feature that are tested for equality
_MIN_OCCURRENCES = 3  # by which those of a value in the two worlds differ, for a score that counts them
_MAX_WEIGHTED = 64  # numbers of one released value
_PATTERN_LENGTHS = (2, 3, 4)
_MIN_PATTERN_ANSWERS = 8  # in shorter games whole views are learned


@attrs.frozen
class Score:
    """A simple score: one number per game. Raises: InvalidArgument.

    feature: "halted", "answers" (their number), "answers 1" (how many were 1), "answer 3" (the third, −1 if
        there is none), "failed" (the learner raised), "value" or "value[2]" (of the released value),
        "hypothesis 4" or "hypothesis 4[2]" (of its concept), "hypotheses" (all of them), "numbers" (those of
        all of them), "entries" (how many a release has), "answers 1 in 5 to 8", "pattern 101" (how often
        answers in a row were 1, 0, 1), "score" (that of the adversary itself).
    form: "as it is"; the place of its "last bit"; the "distance" from `centre`; whether it is "equal" to it;
        for "hypotheses", the number of concepts "at most" `centre`; for "value", "hypothesis 4" or "numbers",
        their sum "weighted" by `weights`, or the "weighted distance" of this sum from `centre`; the "largest"
        or the "smallest" of them, their "total", or the "occurrences" of `centre` among them.
    sign: 1, or −1 if small values indicate world 1.
    names: of "numbers" that are entries of one release, such as those of a dictionary: their features.
    irregular: whether releases hold text, are not finite or have different entries; their features are finite
        numbers all the same. `arena.released.encoding` says what else of a "value" is a feature.
    meaning: what it reads, in the user's terms, where its name has hashes or codes, which other processes
        could not explain.
    """

    feature: str
    form: str = attrs.field(default=AS_IT_IS, validator=one_of(*FORMS))
    centre: float = 0.0
    sign: int = 1
    weights: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    irregular: bool = False
    meaning: str = attrs.field(default="", eq=False)

    def __attrs_post_init__(self) -> None:
        if not _is_feature(self.feature) or (self.feature == HYPOTHESES) != (self.form == AT_MOST):
            raise InvalidArgument("feature must be the name of a feature of views", value=self.feature)
        if bool(self.weights) != (self.form in SUMS):
            raise InvalidArgument("weights are given if and only if a sum is weighted", value=self.weights)

    def explain(self) -> Score:
        """The same score with its meaning, if its name has hashes or codes; in the process that met them."""
        is_coded = "{" in self.feature or name_suffix(self.feature)
        return attrs.evolve(self, meaning=self.describe()) if is_coded and not self.meaning else self

    def describe(self) -> str:
        """What it reads of a view, as a phrase: `key "k3"`, `whether the text is 'no'`."""
        if self.meaning:
            return self.meaning
        part, centre = _name_feature(self.feature), _name_number(self.centre, name_suffix(self.feature))
        if self.form in (AS_IT_IS, DISTANCE):
            return part if self.form == AS_IT_IS else f"the distance of {part} from {centre}"
        if self.form == LAST_BIT:
            return f"the last bit of {part}"
        if self.form == EQUAL:
            return f"whether {part} is {centre}"
        if self.form == AT_MOST:
            return f"how many hypotheses are at most {centre}"
        several = "the release" if self.names else "all releases"
        whole = {"value": "the release", NUMBERS: several}.get(self.feature, part)
        if self.form == OCCURRENCES:
            return f"how often {centre} occurs in {whole}"
        if self.form in SUMS:
            total = f"a weighted sum of {whole}"
            return total if self.form == WEIGHTED else f"the distance of {total} from {centre}"
        return f"the {'sum' if self.form == TOTAL else f'{self.form} entry'} of {whole}"

    @property
    def reads_failures(self) -> bool:
        """Whether it reads what the learner raised, which only views of games show, not their replies."""
        return any(name.startswith("failure ") for name in (self.feature, *self.names))

    def of(self, replies: Sequence[Reply], games: int) -> np.ndarray:
        """The scores (games,) of a batch, from its replies."""
        if self.feature == "failed":
            return np.zeros(games)  # the engine gives infinity to games that the learner failed
        if self.feature.startswith(("halted", "answer", "pattern")):
            return self.sign * self._apply_form(self._read_answers(list_answers(replies)).astype(np.float64))
        # A number of a release is its score as it is, infinite or not.
        finite = self.irregular or self.form in (AT_MOST, *SUMS, *OF_ENTRIES)
        finite = finite or any(reply.feature_kinds for reply in replies)
        columns = list_released_columns(replies, games, finite=finite)
        return self.column(ViewFeatures.of_columns(columns, games))

    def column(self, views: ViewCounts | ViewFeatures) -> np.ndarray:
        """(m,): the scores of the distinct views of a block; finite, as features are."""
        if self.feature == HYPOTHESES:
            names = tuple(name for name in views.names if name.startswith("hypothesis "))
            columns = views.columns(names)
            centre = float(np.nan_to_num(self.centre, posinf=1e300, neginf=-1e300))
            return self.sign * (columns <= centre).sum(axis=1).astype(float)
        if self.form in SUMS:
            names = self.names or _number_names(views.names, self.feature, len(self.weights))
            return self.sign * self._apply_form(views.columns(names) @ self.weights[: len(names)])
        if self.form in OF_ENTRIES:
            names = self.names or _number_names(views.names, self.feature, len(views.names))
            return self.sign * self._summarise(views.columns(names))
        if self.feature == ENTRIES:
            own = [name_suffix(name) in ("", " text") and name.startswith("value") for name in views.names]
            return self.sign * self._apply_form((views.rows[:, own] != ABSENT).sum(axis=1).astype(float))
        if self.feature.startswith("pattern "):
            labels = views.columns(tuple(name for name in views.names if name.startswith("answer ")))
            return self.sign * self._apply_form(_count_pattern(labels == 1, self.feature.partition(" ")[2]))
        column = views.columns((self.feature,))[:, 0]
        return column if self.feature == "failed" else self.sign * self._apply_form(column)

    def _summarise(self, numbers: np.ndarray) -> np.ndarray:
        """(m,): of the numbers (m, F) of views."""
        if self.form == OCCURRENCES:
            return (numbers == self.centre).sum(axis=1).astype(float)
        missing = numbers == ABSENT
        if self.form == TOTAL:
            return np.asarray(np.where(missing, 0.0, numbers).sum(axis=1))
        if self.form == SMALLEST:
            least = np.where(missing, np.inf, numbers).min(axis=1)
            return np.where(np.isinf(least), ABSENT, least)
        return np.asarray(numbers.max(axis=1))

    def _apply_form(self, column: np.ndarray) -> np.ndarray:
        if self.form in (DISTANCE, WEIGHTED_DISTANCE):
            return np.abs(column - self.centre)
        if self.form == LAST_BIT:
            return find_last_bits(column)
        return (column == self.centre).astype(float) if self.form == EQUAL else column

    def _read_answers(self, answers: Sequence[Answer]) -> np.ndarray:
        """(n,): a feature of the answers; of a long game, not all of them are features of its view."""
        if self.feature == "halted":
            return answers[-1].halted
        if self.feature == "answers":
            return np.sum([np.isin(answer.label, (0, 1)) for answer in answers], axis=0)
        match = _FEATURE.fullmatch(self.feature)
        assert match is not None
        if match["answer"]:
            return answers[int(match["answer"]) - 1].label
        ones = np.stack([answer.label == 1 for answer in answers], axis=1)
        if match["pattern"]:
            return _count_pattern(ones, match["pattern"])
        stretch = slice(int(match["first"]) - 1, int(match["last"])) if match["first"] else slice(None)
        return ones[:, stretch].sum(axis=1)


def _is_feature(name: str) -> bool:
    if _FEATURE.fullmatch(name) or match_feature(name):
        return True
    return name in list_joined_features()


def _find_vector(name: str) -> str:
    """The name of the vector of which a feature is an entry; empty if it is none."""
    found = match_feature(name)
    return found[0].joined[0] if found is not None and found[0].joined else ""


def _name_feature(feature: str) -> str:
    if feature.startswith("value"):
        return describe_feature(feature)
    hypothesis = re.fullmatch(r"(hypothesis \d+)\[(\d+)\]", feature)
    if hypothesis:
        return f"entry {hypothesis[2]} of {hypothesis[1]}"
    if feature.startswith("pattern "):
        return f"how often answers in a row were {', '.join(feature.partition(' ')[2])}"
    if feature.startswith("answers 1 in "):
        return f"the number of answers 1 in rounds {feature.removeprefix('answers 1 in ')}"
    if feature.startswith("failure ") and feature not in _NAMES:
        return f"number {feature.removeprefix('failure ')} in the text of the exception"
    found = match_feature(feature)
    if found is not None:
        return found[0].describe(found[1])
    return _NAMES.get(feature) or list_joined_features().get(feature, feature)


def _name_number(number: float, suffix: str) -> str:
    """A value of a feature: one that is missing, infinite or the code of a text is named as such."""
    if number == ABSENT:
        return "missing"
    if abs(number) > INFINITE:
        return "nan" if number > 1.5e300 else "inf" if number > 0 else "-inf"
    if suffix == " text":
        text = texts.get((number + 1.0) * LEAST)
        return "a certain one" if text is None else re.sub("^(?:str|enum|type|bytes) ", "", text)
    return "a certain one" if suffix == " shape" else f"{number:g}"


def _count_pattern(ones: np.ndarray, pattern: str) -> np.ndarray:
    """(n,): how often answers in a row were `pattern`; ones: (n, rounds) bool."""
    places = max(0, ones.shape[1] - len(pattern) + 1)
    here = [ones[:, i : i + places] == (bit == "1") for i, bit in enumerate(pattern)]
    return np.all(here, axis=0).sum(axis=1).astype(float)


def _number_names(names: tuple[str, ...], feature: str, limit: int) -> tuple[str, ...]:
    """The first columns of a feature; those of a release do not depend on what else a block has."""
    if feature != NUMBERS:
        return tuple(f"{feature}[{index}]" for index in range(limit))
    numbers = (name for name in names if is_released(name) and not _find_vector(name))
    return tuple(name for name in numbers if not name_suffix(name))[:limit]


def simple_scores(views: ViewCounts) -> list[Score]:
    """Scores that may distinguish the worlds of these views, the simplest first."""
    names = [name for name in views.names if _is_feature(name)]
    released = tuple(name for name in views.names if name.startswith("value"))
    # Releases may be more than equally many finite numbers.
    irregular = any(map(name_suffix, released)) or bool((np.abs(views.columns(released)) > INFINITE).any())
    simplest: list[str] = [name for name in ("failed", "halted", "answers 1", "answers") if name in names]
    simplest += [ENTRIES] if irregular else []
    rest = [name for name in names if name not in simplest]
    rest.sort(key=lambda name: name.startswith("answer "))
    # Codes of text are categories, which have no order.
    scores = [Score(name) for name in [*simplest, *rest] if name_suffix(name) not in (" text", " shape")]
    scores += [*_entry_scores(views), *_discriminant_scores(views), *_hypothesis_scores(views)]
    if sum(name.startswith("answer ") for name in views.names) >= _MIN_PATTERN_ANSWERS:
        bits = (bits for length in _PATTERN_LENGTHS for bits in product("01", repeat=length))
        scores += [Score(f"pattern {''.join(pattern)}") for pattern in bits]
    for name in names:
        if is_released(name):
            scores += _centre_scores(name, views)
    scores = [attrs.evolve(score, irregular=irregular and "value" in score.feature) for score in scores]
    return [score.explain() for score in scores]


def _list_vectors(views: ViewCounts) -> dict[str, tuple[str, ...]]:
    """The columns of the numbers of each release, then of all of the view, where there are several."""
    released = dict.fromkeys(name.partition("[")[0] for name in views.names if name.endswith("]"))
    kinds = {}
    for value in released:
        length = sum(f"{value}[{index}]" in views.names for index in range(len(views.names)))
        kinds[value] = _number_names(views.names, value, length)
    everything = _number_names(views.names, NUMBERS, len(views.names))
    is_short = len(everything) <= _MAX_WEIGHTED or not everything[0].startswith("value")
    if is_short and everything not in kinds.values():
        kinds[NUMBERS] = everything
    for vector in list_joined_features():
        kinds[vector] = tuple(name for name in views.names if _find_vector(name) == vector)
    return {feature: names for feature, names in kinds.items() if len(names) > 1}


def _name_entries(feature: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the entries of one release, which no number of them tells, as keys may differ by game."""
    is_own = feature == NUMBERS and not names[0].startswith("hypothesis ")
    return names if is_own or feature in list_joined_features() else ()


def _entry_scores(views: ViewCounts) -> Iterator[Score]:
    """What shows a record that is released at a place which no score of one entry knows."""
    by_world = views.by_world()
    for feature, names in _list_vectors(views).items():
        own = _name_entries(feature, names)
        yield from (Score(feature, form, names=own) for form in (LARGEST, SMALLEST, TOTAL))
        numbers, place = np.unique(views.columns(names), return_inverse=True)
        excess = np.repeat(by_world[:, 1] - by_world[:, 0], len(names))
        excess = np.bincount(place.ravel(), weights=excess, minlength=len(numbers))
        for index in np.argsort(-np.abs(excess), kind="stable")[:_MAX_EQUAL]:
            if abs(excess[index]) >= _MIN_OCCURRENCES:
                yield Score(feature, OCCURRENCES, float(numbers[index]), names=own)


def _discriminant_scores(views: ViewCounts) -> Iterator[Score]:
    """Sums of numbers in which noise that they share cancels: those of one release, then all of the view."""
    for feature, names in _list_vectors(views).items():
        own = _name_entries(feature, names)
        if len(names) <= _MAX_WEIGHTED:
            numbers = views.columns(names)
            sizes, numbers = scale_columns(numbers)
            worlds = np.stack([numbers[w] for w in views.which.T])
            weights = find_discriminant(worlds, views.counts, sizes)
            if np.count_nonzero(weights) > 1:
                yield Score(feature, WEIGHTED, weights=tuple(weights.tolist()), names=own)
            for weights, centre in find_contrasts(worlds, views.counts, sizes):
                yield Score(feature, WEIGHTED_DISTANCE, centre, weights=tuple(weights.tolist()), names=own)


def _hypothesis_scores(views: ViewCounts) -> list[Score]:
    """The number of hypotheses with a small concept, if there are several of one number each."""
    names = tuple(n for n in views.names if n.startswith("hypothesis ") and "[" not in n)
    if len(names) < 2:
        return []
    values = np.unique(views.columns(names))
    values = np.where(np.abs(values) > INFINITE, np.copysign(np.inf, values), values)
    centres = dict.fromkeys((float(values[0]), float(values[(len(values) - 1) // 2])))
    return [Score(HYPOTHESES, AT_MOST, centre) for centre in centres]


def _centre_scores(name: str, views: ViewCounts) -> list[Score]:
    """Whether a number or a code is one of its most common values, and its distance from the medians."""
    column = views.columns((name,))[:, 0]
    by_world = views.by_world()
    values, place = np.unique(column, return_inverse=True)
    times = np.zeros((len(values), 2), np.int64)
    np.add.at(times, place.ravel(), by_world)
    category = name_suffix(name) in (" text", " shape")
    if len(values) <= (1 if category else 2):
        return []
    finite = np.flatnonzero(np.abs(values) < INFINITE)
    common = np.argsort(-times.sum(axis=1), kind="stable")[:_MAX_EQUAL]
    equal = [
        Score(name, EQUAL, float(values[i]))
        for i in common
        if times[i].sum() > 1 and (i in finite or name.startswith("value") or is_single(name))
    ]
    if category or not len(finite):
        return equal
    times = np.cumsum(times[finite], axis=0)
    middle = np.argmax(times * 2 >= times[-1], axis=0)
    centres = [values[finite[i]] for i in dict.fromkeys(middle.tolist())]
    return [*equal, *(Score(name, DISTANCE, float(centre)) for centre in centres)]

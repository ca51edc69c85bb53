"""Transcripts: everything that happened in a batch of games, for people and tests. Players never see one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import prod
from typing import Any

import attrs
import numpy as np
from tabulate import tabulate

from arena.dataset import Dataset
from arena.errors import NotConforming, count_things
from arena.messages import NO_LABEL, UNSTABLE, Hypothesis
from arena.records import Records
from arena.released.encoding import ARRAY, LEAST, MAP, MARKS, MISSING, PAIR, SINGLE, read_mark, texts
from arena.sample import BOTH, Reads, Training, format_point

_MOST_LETTERS = 200

_MOST_POINTS = 4  # unlabelled points that one row shows
_MOST_RUNS = 6  # runs of a training set that are shown


def format_value(value: Any) -> str:
    """An encoded value of one game as text.

    >>> from arena.released.encoding import encode_values
    >>> format_value(encode_values([{"a": None, "b": [1, 2]}])[0])
    "{'a': None, 'b': [1 2]}"
    """
    row = np.ravel(value).astype(np.float64)
    if not ((row >= LEAST) & (row < 2 * MARKS[-1])).any():
        return format_point(value)
    if not np.ndim(value):
        return _format_entry(float(row[0]))
    numbers = row[row != MISSING].tolist()
    try:
        if numbers[:1] == [SINGLE]:
            text, rest = _format_part(numbers[1:])
        elif numbers and (read_mark(numbers[0]) or numbers[0] == PAIR):
            text, rest = _format_part(numbers)
        else:
            text, rest = f"[{' '.join(map(_format_entry, numbers))}]", []
    except IndexError:  # nobody encoded it
        rest = numbers
    if rest:
        text = format_point(numbers)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} ..."


def _format_part(numbers: list[float]) -> tuple[str, list[float]]:
    mark = read_mark(numbers[0])
    if mark is None:
        if numbers[0] == PAIR:
            return f"{numbers[1]:.17g}{numbers[2]:+.17g}", numbers[3:]
        return _format_entry(numbers[0]), numbers[1:]
    (kind, count), rest, parts = mark, numbers[1:], []
    if kind == ARRAY:
        lengths = [read_mark(length) for length in rest[:count]]
        size = prod(length[1] for length in lengths if length is not None)
        return format_point(rest[count : count + size]), rest[count + size :]
    for _ in range(count):
        key = ""
        if kind == MAP:
            key, rest = f"{_format_entry(rest[0]).removeprefix('str ')}: ", rest[1:]
        text, rest = _format_part(rest)
        parts.append(key + text)
    return (f"{{{', '.join(parts)}}}" if kind == MAP else f"[{' '.join(parts)}]"), rest


def _format_entry(number: float) -> str:
    return texts.get(number) or format_point(number)


def match_rows(name: str, what: str, known: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """(n,): the place of each of `shown` (n, ...) among `known` (k, ...)."""
    same = np.zeros((len(shown), len(known)), bool)
    if np.shape(shown)[1:] == np.shape(known)[1:]:
        rows = [np.asarray(part, float).reshape(len(part), -1) for part in (shown, known)]
        same = (rows[0][:, None] == rows[1]).all(axis=2)
    if not same.any(axis=1).all():
        raise NotConforming(
            name, f"its {what} are among those that it declares", f"{shown[~same.any(axis=1)][0]}"
        )
    return np.asarray(same.argmax(axis=1))


Cells = tuple[str, str, str]
RoundOutcome = tuple[np.ndarray, np.ndarray, np.ndarray]


@attrs.frozen(eq=False, kw_only=True)
class Entry:
    """One step of n games. x: the points of the step, if it has any, (n, ...)."""

    round: int
    x: np.ndarray | None = None

    def describe(self, game: int) -> Cells:
        """What one game shows: what the learner received, what it answered, what the adversary saw."""
        raise NotImplementedError

    def read_input(self, game: int) -> bytes:
        """All that the learner received in one game, of which `describe` may show the beginning only."""
        return b"" if self.x is None else np.asarray(self.x[game]).tobytes()

    def read_answer(self, law: Any, learner: str) -> RoundOutcome | None:
        """A round as an `AnswerLaw` of this learner describes it: the points (n, ...), the labels of the
        outcomes (n,), and whether the games have halted (n,); None for any other step."""
        return None


@attrs.frozen(eq=False, kw_only=True)
class TrainingEntry(Entry):
    """The training sets. reads: the parts of their examples to show, which the learner reads."""

    training: Training
    reads: Reads = BOTH

    def get_sample(self, game: int) -> Dataset:
        """The training set of one game."""
        sample: Dataset = self.training.samples[self.training.which[game]]
        return sample

    def describe(self, game: int) -> Cells:
        return (self.get_sample(game).describe(most=_MOST_RUNS, reads=self.reads), "", "")

    def read_input(self, game: int) -> bytes:
        return self.get_sample(game).digest.encode()


@attrs.frozen(eq=False, kw_only=True)
class QueryEntry(Entry):
    """A query and its answer. label, shown_halted: as the adversary sees them; answer, halted: in truth."""

    x: np.ndarray
    label: np.ndarray
    halted: np.ndarray
    answer: np.ndarray = attrs.field(default=attrs.Factory(lambda self: self.label, takes_self=True))
    shown_halted: np.ndarray = attrs.field(default=attrs.Factory(lambda self: self.halted, takes_self=True))
    withheld: np.ndarray | None = None

    def describe(self, game: int) -> Cells:
        answer = describe_answer(self.answer[game], self.halted[game]) or "-"
        label = describe_answer(self.label[game], self.shown_halted[game]) or "silence"
        withheld = self.withheld is not None and self.withheld[game]
        return (format_point(self.x[game]), answer, "withheld" if withheld else label)

    def read_answer(self, law: Any, learner: str) -> RoundOutcome:
        return self.x, self.answer, self.halted


def describe_answer(label: int, halted: bool) -> str:
    """An answer as text: 0, 1 or ⊥, and whether the learner halts with it; empty if there is none."""
    if label == NO_LABEL:
        return ""
    return ("⊥" if label == UNSTABLE else str(label)) + (", halts" if halted else "")


@attrs.frozen(eq=False, kw_only=True)
class UnlabelledEntry(Entry):
    """Unlabelled points x (n, k, ...), handed to the learner after a round."""

    x: np.ndarray
    halted: np.ndarray

    def describe(self, game: int) -> Cells:
        points = self.x[game]
        shown = ", ".join(format_point(point) for point in points[:_MOST_POINTS])
        more = f" and {len(points) - _MOST_POINTS:,} more" if len(points) > _MOST_POINTS else ""
        return (f"unlabelled {shown}{more}", "", "halted" if self.halted[game] else "")


@attrs.frozen(eq=False, kw_only=True)
class ReleaseEntry(Entry):
    """A released value."""

    value: np.ndarray | Hypothesis

    def describe(self, game: int) -> Cells:
        concepts = self.value.concepts if isinstance(self.value, Hypothesis) else self.value
        text = format_value(concepts[game])
        return ("", text, text)


@attrs.frozen(eq=False, kw_only=True)
class ModelEntry(Entry):
    """The model after a step of training, (n, P). shown: whether the adversary sees it."""

    model: np.ndarray
    shown: bool

    def describe(self, game: int) -> Cells:
        text = format_point(self.model[game])
        return ("", text, text if self.shown else "nothing")


@attrs.frozen(eq=False, kw_only=True)
class ExampleEntry(Entry):
    """A round of an online game: the example, and what the released hypothesis predicted for it."""

    x: np.ndarray
    y: np.ndarray
    predicted: np.ndarray

    def describe(self, game: int) -> Cells:
        predicted = str(int(self.predicted[game]))
        return (f"({format_point(self.x[game])}, {self.y[game]})", predicted, predicted)

    def read_input(self, game: int) -> bytes:
        return super().read_input(game) + np.asarray(self.y[game]).tobytes()


@attrs.frozen(eq=False)
class Transcript:
    """All entries of a batch, with the games' worlds and the adversary's scores (None: it returned none)."""

    entries: tuple[Entry, ...]
    worlds: np.ndarray
    scores: np.ndarray | None

    def table(self, *games: int) -> str:
        """The named games side by side: the training sets, then the rounds, equal rounds in a row as one. If
        records were given and a value was released, which may be long, they are one below the other."""
        releases = self._list_releases(games)
        if releases:
            return "\n".join(releases)
        rows = [
            [name, *(cell for part in cells for cell in part)] for name, cells in self._fold_rounds(games)
        ]
        headers = ["round"]
        for game in games:
            headers += [f"world {int(self.worlds[game])}: gets", "answers", "adversary sees"]
        if self.scores is not None:
            scores = [[f"score {self.scores[g]:.6g}", "", ""] for g in games]
            rows.append(["", *(cell for part in scores for cell in part)])
        text: str = tabulate(rows, headers, tablefmt="simple", disable_numparse=True)
        return "\n".join([*self._describe_training(games), text])

    def _list_releases(self, games: tuple[int, ...]) -> list[str]:
        """What each game received and released; nothing unless it received records and released a value."""
        if [*map(type, self.entries)] != [TrainingEntry, ReleaseEntry]:
            return []
        training, release = self.entries
        assert isinstance(training, TrainingEntry)
        given = [training.get_sample(game) for game in games]
        own = [records for records in given if isinstance(records, Records)]
        if not own or len(own) < len(given):
            return []
        worlds = [int(self.worlds[game]) for game in games]
        lines = []
        for world, other, records, others in zip(worlds, worlds[::-1], own, own[::-1], strict=True):
            runs = records.subtract(others).describe().partition(": ")[2]
            lacking = f", of which world {other} lacks {runs}" if runs else ""
            lines.append(f"world {world} receives {count_things(records.size, 'record')}{lacking}")
        values = [release.describe(game)[1] for game in games]
        return [*lines, "", *(f"world {w} releases {value}" for w, value in zip(worlds, values, strict=True))]

    def _describe_training(self, games: tuple[int, ...]) -> list[str]:
        lines = []
        for entry in self.entries:
            if isinstance(entry, TrainingEntry):
                sets = [entry.describe(g)[0] for g in games]
                if len(set(sets)) == 1 and len({entry.training.which[g] for g in games}) == 1:
                    both = " (the same in both worlds)" if len(games) > 1 else ""
                    lines.append(f"training{both}: {sets[0]}")
                else:
                    lines += [
                        f"training in world {int(self.worlds[g])}: {text}"
                        for g, text in zip(games, sets, strict=True)
                    ]
        return [*lines, ""] if lines else []

    def _fold_rounds(self, games: tuple[int, ...]) -> Iterator[tuple[str, tuple[Cells, ...]]]:
        """The number or numbers of equal rounds in a row, and the cells of the games in them."""
        steps = [
            (entry.round, tuple((entry.describe(g), entry.read_input(g)) for g in games))
            for entry in self.entries
            if not isinstance(entry, TrainingEntry)
        ]
        for columns, group in groupby(steps, key=lambda step: step[1]):
            rounds = [number for number, _ in group]
            name = str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]}-{rounds[-1]}"
            yield name, tuple(cells for cells, _ in columns)

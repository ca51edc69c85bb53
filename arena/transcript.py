"""Transcripts: everything that happened at a table, for people and tests. Players never see one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import attrs
import numpy as np
from tabulate import tabulate

from arena.points import format_point
from arena.replies import NO_LABEL, UNSTABLE, Hypothesis
from arena.sample import Training

Cells = tuple[str, ...]

_MOST_SHOWN = 4  # unlabelled points in a row


@attrs.frozen(eq=False, kw_only=True)
class Entry:
    """One step of a table; `cells(game)` is what one game's column shows of it."""

    round: int

    def cells(self, game: int) -> Cells:
        """(what the learner received, what it answered, what the adversary saw)."""
        raise NotImplementedError

    def point(self, game: int) -> bytes:
        """The whole point that a game got, of which `cells` may show the beginning only."""
        return b""


@attrs.frozen(eq=False, kw_only=True)
class Given(Entry):
    """The training sets."""

    training: Training

    def cells(self, game: int) -> Cells:
        return (self.training.samples[self.training.which[game]].describe(most=6), "", "")


@attrs.frozen(eq=False, kw_only=True)
class Answered(Entry):
    """A query. said, seen: (n,) int8 labels; halted: the learner's; seen_halted: as the adversary knows
    it.
    """

    x: np.ndarray
    said: np.ndarray
    seen: np.ndarray
    halted: np.ndarray
    seen_halted: np.ndarray
    withheld: np.ndarray

    def cells(self, game: int) -> Cells:
        said = "-" if self.said[game] == NO_LABEL else _label_text(self.said[game])
        said += ", halts" if self.halted[game] and said != "-" else ""
        if self.withheld[game]:
            seen = "withheld"
        elif self.seen[game] == NO_LABEL:
            seen = "silence"
        else:
            seen = _label_text(self.seen[game]) + (", halts" if self.seen_halted[game] else "")
        return (format_point(self.x[game]), said, seen)

    def point(self, game: int) -> bytes:
        return np.asarray(self.x[game]).tobytes()


@attrs.frozen(eq=False, kw_only=True)
class Handed(Entry):
    """Unlabelled points x (n, k, ...), handed to the learner after a round."""

    x: np.ndarray
    halted: np.ndarray

    def cells(self, game: int) -> Cells:
        points = self.x[game]
        shown = ", ".join(format_point(point) for point in points[:_MOST_SHOWN])
        more = f" and {len(points) - _MOST_SHOWN:,} more" if len(points) > _MOST_SHOWN else ""
        return (f"unlabelled {shown}{more}", "", "halted" if self.halted[game] else "")

    def point(self, game: int) -> bytes:
        return np.asarray(self.x[game]).tobytes()


def _label_text(label: int) -> str:
    return "⊥" if label == UNSTABLE else str(label)


@attrs.frozen(eq=False, kw_only=True)
class Let(Entry):
    """A released value."""

    value: np.ndarray | Hypothesis

    def cells(self, game: int) -> Cells:
        concepts = self.value.concepts if isinstance(self.value, Hypothesis) else self.value
        text = format_point(concepts[game])
        return ("", text, text)


@attrs.frozen(eq=False, kw_only=True)
class Observed(Entry):
    """A round of an online game: the example, and what the released hypothesis had said of it."""

    x: np.ndarray
    y: np.ndarray
    predicted: np.ndarray

    def cells(self, game: int) -> Cells:
        said = str(int(self.predicted[game]))
        return (f"({format_point(self.x[game])}, {self.y[game]})", said, said)

    def point(self, game: int) -> bytes:
        return np.asarray(self.x[game]).tobytes()


@attrs.frozen(eq=False)
class Transcript:
    """All entries of a table, with the games' worlds and the adversary's scores (None: it gave none)."""

    entries: tuple[Entry, ...]
    worlds: np.ndarray
    scores: np.ndarray | None

    def table(self, *games: int) -> str:
        """The named games side by side: training sets first, then the rounds, equal ones in a row folded."""
        rows = [self._row(rounds, cells) for rounds, cells in self._folded(games)]
        headers = ["round"]
        for game in games:
            headers += [f"world {int(self.worlds[game])}: gets", "answers", "adversary sees"]
        if self.scores is not None:
            scores = [[f"score {self.scores[g]:.6g}", "", ""] for g in games]
            rows.append(["", *(cell for part in scores for cell in part)])
        text: str = tabulate(rows, headers, tablefmt="simple", disable_numparse=True)
        return "\n".join([*self._training(games), text])

    def _training(self, games: tuple[int, ...]) -> list[str]:
        """Lines on the training sets, if there are any."""
        lines = []
        for entry in self.entries:
            if isinstance(entry, Given):
                sets = [entry.cells(g)[0] for g in games]
                if len(set(sets)) == 1 and len({entry.training.which[g] for g in games}) == 1:
                    both = " (the same in both worlds)" if len(games) > 1 else ""
                    lines.append(f"training{both}: {sets[0]}")
                else:
                    lines += [
                        f"training in world {int(self.worlds[g])}: {text}"
                        for g, text in zip(games, sets, strict=True)
                    ]
        return [*lines, ""] if lines else []

    def _folded(self, games: tuple[int, ...]) -> Iterator[tuple[list[int], tuple[Cells, ...]]]:
        rounds = [entry for entry in self.entries if not isinstance(entry, Given)]
        steps = [(entry.round, tuple((entry.cells(g), entry.point(g)) for g in games)) for entry in rounds]
        for told, group in groupby(steps, key=lambda step: step[1]):
            yield [number for number, _ in group], tuple(cells for cells, _ in told)

    @staticmethod
    def _row(rounds: list[int], cells: tuple[Cells, ...]) -> list[str]:
        name = str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]}-{rounds[-1]}"
        return [name, *(cell for part in cells for cell in part)]

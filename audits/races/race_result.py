"""The result of a race: playing it, the report as text and JSON, and the chart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import ERROR
from audits.races.race import Race
from audits.registry.match import read_claim
from audits.registry.settings_text import summarize_player
from audits.reports.formatting import percent, wrap_value
from audits.reports.json_form import to_data
from audits.reports.plots import Picture, choose_colour, draw_curve
from audits.reports.report import Document, Facts, Listing, Prose, Report, Table
from audits.runs.workers import Workers, map_missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX"  # distinguish learners in grey prints
_BOUND_REACH = 2.5  # the axis of a chart reaches up to bounds within this multiple of the largest figure
Watch = Callable[[int], None]


@attrs.frozen(eq=False, kw_only=True, repr=False)
class RaceResult(Report):
    """The standings of all learners, in the order of the race, and what an interruption left out, as text.

    race: with the games that were finished. notes: how settings were chosen.
    """

    kind: ClassVar[str] = "race"

    race: Race
    standings: tuple[Any, ...]
    interruption: str = ""
    notes: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether games are missing."""
        return bool(self.interruption)

    @property
    def broken(self) -> bool:
        """Whether some promised bound does not hold."""
        tests = [standing.bound_test for standing in self.standings]
        return any(test is not None and test.broken and test.bound.promised for test in tests)

    @property
    def headline(self) -> str:
        end = ", interrupted" if self.interrupted else ", a promised bound is violated" if self.broken else ""
        name = "errors" if self.race.quantity == ERROR else self.race.quantity
        return f"{name.capitalize()} of {self.race}{end}"

    def document(self) -> Document:
        race = self.race
        protocol, table, sentences = race.describe(self.standings)
        head = [
            ("adversary", summarize_player(race.adversary)),
            ("protocol", protocol),
            ("games", f"{race.games:,} of each learner, in batches of {race.block:,}; seed {race.seed}"),
        ]
        learners, tests = [], []
        for standing in self.standings:
            learner, test = standing.entrant.learner, standing.bound_test
            text = f"{summarize_player(learner)}; class {standing.entrant.concepts}; {read_claim(learner)}"
            learners.append((standing.label, wrap_value(text)))
            result = ("none", "") if test is None else (test.describe_bound(), test.describe(race.games))
            tests.append((standing.label, *result))
        limits = (
            "Limits in brackets are order statistics. They hold for every distribution of games, at all "
            f"{len(race.marks)} marks, for both quantiles and all learners at once, with confidence "
            f"{percent(race.confidence)} (Bonferroni); ? stands where there are too few games for one."
        )
        prose = [limits, *sentences, *self._explain_bounds(), self.interruption]
        parts = [
            Listing("\n".join(f"note: {note}" for note in self.notes)),
            Facts(head),
            Facts(learners),
            table,
            Table(("learner", "bound", "does it hold?"), tests, "Bounds of the theorems:"),
            *map(Prose, filter(None, prose)),
        ]
        confidence = f"{percent(race.confidence)} for all of them together"
        reading = f"Median of the games; shaded, its limits at the marked rounds ({confidence})"
        return Document(parts=parts, picture=Picture(draw=self._draw, title=str(race), reading=reading))

    def _explain_bounds(self) -> list[str]:
        tests = {one.label: one.bound_test for one in self.standings if one.bound_test is not None}
        bounds = [test.bound for test in tests.values() if not test.inapplicable]
        sentences = []
        if any(bound.beta != 0 for bound in bounds):
            sentences.append(
                "A bound that is not refuted is not thereby proved. Bounds that a game may exceed with "
                "probability β are tested by the number of games that do, bounds on an expectation by "
                "Anderson's limit on the mean. All tests together refute a true bound with a probability of "
                f"at most {percent(1 - self.race.confidence)}."
            )
        if not all(bound.promised for bound in bounds):
            sentences.append(
                "The theorem promises a bound for the printed constants only. A learner with smaller "
                "constants is measured against it, but breaks no promise by exceeding it."
            )
        if tests:
            theorems = "; ".join(f"{label}: {test.bound.theorem}" for label, test in tests.items())
            sentences.append(f"Bounds: {theorems}.")
        return sentences

    def _describe(self) -> dict[str, Any]:
        learners = [
            {
                "label": standing.label,
                "learner": to_data(standing.entrant.learner),
                "claim": str(read_claim(standing.entrant.learner)),
                "concepts": str(standing.entrant.concepts),
                **to_data(standing),
            }
            for standing in self.standings
        ]
        outcome = {"interrupted": self.interrupted, "broken": self.broken, "learners": learners}
        return {**to_data(self.race), **outcome}

    def _list_records(self) -> list[dict[str, Any]]:
        """The figures of each learner at the end of its games, and what its theorem states."""
        return [
            {
                "learner": standing.label,
                "adversary": self.race.adversary.name,
                "protocol": self.race.protocol,
                "counted": self.race.quantity,
                "rounds": self.race.rounds,
                "games": self.race.games,
                "mean": float(standing.mean[-1]),
                "median": float(standing.median.values[-1]),
                "quantile_95": float(standing.quantile_95.values[-1]),
                "worst": float(standing.worst[-1]),
                "confidence": self.race.confidence,
                "bound": None if test is None else test.bound.at_most,
                "bound_beta": None if test is None else test.bound.beta,
                "broken": None if test is None or test.inapplicable else test.broken,
            }
            for standing in self.standings
            for test in (standing.bound_test,)
        ]

    def _draw(self, axes: Axes) -> None:
        """Draw the curves of all learners, without their legend."""
        race, marks = self.race, np.array(self.race.marks)
        low, high = self._choose_span()
        for number, standing in enumerate(self.standings):
            median, test = standing.median, standing.bound_test
            colour = choose_colour(number)
            limits = np.clip([median.lower, median.upper], low, high)
            style: Any = {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 4}
            draw_curve(axes, marks, median.values, limits, color=colour, label=standing.label, **style)
            if test is not None and not test.inapplicable:
                label = f"{standing.label}: bound {test.describe_bound()}"
                label += ", above the chart" if standing.bounds.min() > high else ""
                axes.plot(marks, standing.bounds, color=colour, linestyle="--", linewidth=1.2, label=label)
        axes.set_ylim(low, high)
        race.label_axes(axes)

    def _choose_span(self) -> tuple[float, float]:
        """The ends of the axis of figures."""
        medians = [standing.median for standing in self.standings]
        figures = np.concatenate([values for m in medians for values in (m.lower, m.values, m.upper)])
        figures = figures[np.isfinite(figures)]
        low, high = min(0.0, float(figures.min())), max(self.race.least_height, float(figures.max()))
        bounds = np.concatenate([standing.bounds for standing in self.standings])
        near = bounds[np.isfinite(bounds) & (bounds <= _BOUND_REACH * high)]
        high = max(high, float(near.max(initial=0.0)))
        margin = 0.05 * (high - low)
        return low - margin, high + 2 * margin


def run_race(race: Race, *, jobs: int | Workers = 1, watch: Watch | None = None) -> RaceResult:
    """Play a race, as `play_games` does. Raises: also InvalidArgument or NotConforming, before the games."""
    for entrant in race.entrants:
        race.check(entrant)
    return make_result(*play_games(race, jobs=jobs, watch=watch))


def make_result(race: Race, figures: list[np.ndarray], interruption: str = "") -> RaceResult:
    """The result of a race from what `play_games` returns."""
    standings = tuple(map(race.make_standing, race.entrants, figures))
    return RaceResult(race=race, standings=standings, interruption=interruption)


def play_games(
    race: Race, *, jobs: int | Workers = 1, watch: Watch | None = None
) -> tuple[Race, list[np.ndarray], str]:
    """Play all games; return the race, the figures (..., k, n) of each learner's n games, and an empty text.

    After a keyboard interrupt it is the race of the games that were finished, equally many of every learner
    that has any, and the text says which are missing. If none were, the interrupt is raised.

    watch: called with the number of games so far. Raises: what players and the referee do; WorkersFailed.
    """
    blocks, learners = range(ceil(race.games / race.block)), range(len(race.entrants))
    tasks = [(number, block) for block in blocks for number in learners]
    played = [0, *accumulate(race.games_in(block) for _, block in tasks)]  # after so many tasks
    results, interrupted = map_missing(
        lambda task: race.play_block(*task),
        tasks,
        {},
        jobs,
        watch=None if watch is None else lambda done: watch(played[done]),
    )
    finished = [[results[n, block] for block in blocks if (n, block) in results] for n in learners]
    figures = [np.concatenate(arrays, axis=-1) for arrays in finished if arrays]
    if not interrupted:
        return race, figures, ""
    if not figures:
        raise KeyboardInterrupt
    games = min(array.shape[-1] for array in figures)  # the first learners may be a block ahead
    text = f"Interrupted: figures rest on the first {games:,} of {race.games:,} games."
    unplayed = [entrant.label for entrant in race.entrants[len(figures) :]]
    text += f" No games of {', '.join(unplayed)} were finished." if unplayed else ""
    shorter = attrs.evolve(race, entrants=race.entrants[: len(figures)], games=games)
    return shorter, [array[..., :games] for array in figures], text

"""The result of a race: playing it, the report as text and JSON, and the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import ERROR, Bound
from audits.races.race_plan import BoundTest, Race, Standing, Watch, play_games
from audits.registry.match import read_claim
from audits.registry.settings_text import summarize_player
from audits.reports.formatting import WIDTH, percent, wrap
from audits.reports.json_form import to_data
from audits.reports.plots import choose_colour, draw_curve, set_title
from audits.reports.report import Document, Facts, Listing, Picture, Prose, Report, Table
from audits.runs.workers import Workers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX"  # distinguish learners in grey prints
_BOUND_REACH = 2.5  # the axis of a chart reaches up to bounds within this multiple of the largest figure


@attrs.frozen(eq=False, kw_only=True, repr=False)
class RaceResult(Report):
    """The standings of all learners, in the order of the race.

    race: with the games that were finished. standings: of the kind that the measure of the race makes.
    interruption: what is missing, as text. notes: how settings were chosen.
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
        quantity = self.race.measure.quantity
        name = "errors" if quantity == ERROR else quantity
        return f"{name.capitalize()} of {_describe_players(self.race)}{end}"

    def document(self) -> Document:
        race, standings = self.race, self.standings
        protocol, table, sentences = race.measure.describe(race, standings)
        head = [
            ("adversary", summarize_player(race.adversary)),
            ("protocol", protocol),
            ("games", f"{race.games:,} of each learner, in batches of {race.block:,}; seed {race.seed}"),
        ]
        tests = [(standing.label, *_describe_test(standing.bound_test, race.games)) for standing in standings]
        limits = (
            "Limits in brackets are order statistics. They hold for every distribution of games, at all "
            f"{len(race.measure.marks)} marks, for both quantiles and all learners at once, with confidence "
            f"{percent(race.confidence)} (Bonferroni); ? stands where there are too few games for one."
        )
        prose = [limits, *sentences, *_explain_bounds(self), self.interruption]
        parts = [
            Listing("\n".join(f"note: {note}" for note in self.notes)),
            Facts(head),
            Facts([(standing.label, _describe_learner(standing)) for standing in standings]),
            table,
            Table(("learner", "bound", "does it hold?"), tests, "Bounds of the theorems:"),
            *map(Prose, filter(None, prose)),
        ]
        return Document(parts=parts, picture=Picture(self._draw))

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
        return {**to_data(self.race), **to_data(self.race.measure), **outcome}

    def _draw(self, axes: Axes) -> None:
        """Draw the curves of all learners, without their legend."""
        race = self.race
        low, high = span = _choose_span(self.standings, race.measure.least_height)
        for number, standing in enumerate(self.standings):
            _draw_standing(axes, standing, np.array(race.measure.marks), number, span)
        axes.set_ylim(low, high)
        race.measure.label_axes(axes)
        confidence = f"{percent(race.confidence)} for all of them together"
        explanation = f"Median of the games; shaded, its limits at the marked rounds ({confidence})"
        set_title(axes, _describe_players(race), explanation)


def run_race(race: Race, *, jobs: int | Workers = 1, watch: Watch | None = None) -> RaceResult:
    """Play a race; jobs, watch, interrupts and errors as in `play_games`.

    Raises: also InvalidArgument or NotConforming, before the games, if an entrant is unfit; see
    `Measure.check`.
    """
    for entrant in race.entrants:
        race.measure.check(entrant)
    return make_result(*play_games(race, jobs=jobs, watch=watch))


def make_result(race: Race, figures: list[np.ndarray], interruption: str = "") -> RaceResult:
    """The result of a race from what `play_games` returns."""
    pairs = zip(race.entrants, figures, strict=True)
    standings = tuple(race.measure.make_standing(race, *pair) for pair in pairs)
    return RaceResult(race=race, standings=standings, interruption=interruption)


def _describe_players(race: Race) -> str:
    """Who plays a race, in one line."""
    learners = f"{len(race.entrants)} learners" if len(race.entrants) > 1 else race.entrants[0].label
    return f"{learners} against {race.adversary.name}, {race.games:,} games each"


def _describe_learner(standing: Standing) -> str:
    """A learner with its settings, its class and its claim."""
    learner, concepts = standing.entrant.learner, standing.entrant.concepts
    return wrap(f"{summarize_player(learner)}; class {concepts}; {read_claim(learner)}", WIDTH - 20)


def _describe_bound(bound: Bound) -> str:
    """A bound, and the sense in which it holds."""
    sense = "on the expectation" if bound.beta is None else f"β = {bound.beta:.3g}"
    return f"{bound.at_most:,.4g} ({sense})"


def _describe_test(test: BoundTest | None, games: int) -> tuple[str, str]:
    if test is None:
        return "none", ""
    if test.inapplicable:
        return _describe_bound(test.bound), f"not tested: {test.inapplicable}"
    if test.bound.beta is None:
        observed = f"the mean is at least {test.mean_lower:,.4g}"
    elif test.bound.beta > 0:
        observed = f"{test.exceeding:,} of {games:,} games exceed it, up to {test.allowed:,} may"
    else:
        observed = f"{test.exceeding:,} games exceed it" if test.broken else "in every game"
    if test.bound.beta != 0 or test.broken:
        observed = f"{'no' if test.broken else 'not refuted'}: {observed}"
    return _describe_bound(test.bound), observed + ("" if test.bound.promised else " (not promised)")


def _explain_bounds(result: RaceResult) -> list[str]:
    tests = {one.label: one.bound_test for one in result.standings if one.bound_test is not None}
    bounds = [test.bound for test in tests.values() if not test.inapplicable]
    sentences = []
    if any(bound.beta != 0 for bound in bounds):
        sentences.append(
            "A bound that is not refuted is not thereby proved. Bounds that a game may exceed with "
            "probability β are tested by the number of games that do, bounds on an expectation by Anderson's "
            "limit on the mean. All tests together refute a true bound with a probability of at most "
            f"{percent(1 - result.race.confidence)}."
        )
    if not all(bound.promised for bound in bounds):
        sentences.append(
            "The theorem promises a bound for the printed constants only. A learner with smaller constants "
            "is measured against it, but breaks no promise by exceeding it."
        )
    if tests:
        theorems = "; ".join(f"{label}: {test.bound.theorem}" for label, test in tests.items())
        sentences.append(f"Bounds: {theorems}.")
    return sentences


def _draw_standing(
    axes: Axes, standing: Standing, marks: np.ndarray, number: int, span: tuple[float, float]
) -> None:
    colour, marker, median = choose_colour(number), _MARKERS[number % len(_MARKERS)], standing.median
    limits = np.clip([median.lower, median.upper], *span)
    draw_curve(
        axes, marks, median.values, limits, label=standing.label, color=colour, marker=marker, markersize=4
    )
    if standing.bound_test is not None and not standing.bound_test.inapplicable:
        label = f"{standing.label}: bound {_describe_bound(standing.bound_test.bound)}"
        label += ", above the chart" if standing.bounds.min() > span[1] else ""
        axes.plot(marks, standing.bounds, color=colour, linestyle="--", linewidth=1.2, label=label)


def _choose_span(standings: tuple[Standing, ...], least_height: float) -> tuple[float, float]:
    medians = [standing.median for standing in standings]
    figures = np.concatenate([values for m in medians for values in (m.lower, m.values, m.upper)])
    figures = figures[np.isfinite(figures)]
    low, high = min(0.0, float(figures.min())), max(least_height, float(figures.max()))
    bounds = np.concatenate([standing.bounds for standing in standings])
    near = bounds[np.isfinite(bounds) & (bounds <= _BOUND_REACH * high)]
    high = max(high, float(near.max(initial=0.0)))
    margin = 0.05 * (high - low)
    return low - margin, high + 2 * margin

"""The report on a race, as text for a terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from arena import ERROR, Bound
from audits.races.game_plan import Entrant
from audits.races.online_race import OnlineRace
from audits.races.predictor_race import PredictorStanding
from audits.races.race_result import BoundTest, Race, RaceResult
from audits.registry.settings_text import summarize_player
from audits.reports.formatting import WIDTH, column_table, name_table, percent, wrap
from audits.reports.json_form import to_data, to_json
from audits.statistics.quantiles import Quantile


def describe_race(result: RaceResult) -> dict[str, Any]:
    """The entries of a race's JSON object; None stands for what is unknown or not finite."""
    outcome = {"interrupted": result.interrupted, "broken": result.broken, "learners": result.standings}
    return {**to_data(result.race), **to_data(outcome)}


def race_json(result: RaceResult, header: Mapping[str, Any] | None = None) -> str:
    """One JSON object on one line."""
    return to_json(describe_race(result), header)


def race_text(result: RaceResult) -> str:
    """The report for a terminal."""
    race = result.race
    describe = _describe_online if isinstance(race, OnlineRace) else _describe_predictors
    protocol, tables, notes = describe(result)
    head = [
        ("adversary", summarize_player(race.adversary)),
        ("protocol", protocol),
        ("games", f"{race.games:,} of each learner, in batches of {race.block:,}; seed {race.seed}"),
    ]
    learners = [(standing.label, describe_learner(standing.entrant)) for standing in result.standings]
    tests = [
        (standing.label, *_describe_test(standing.bound_test, race.games)) for standing in result.standings
    ]
    tables += ["Bounds of the theorems:", column_table(tests, ("learner", "bound", "does it hold?"))]
    notes += _explain_bounds(result)
    if result.interruption is not None:
        notes.append(str(result.interruption))
    return "\n\n".join([name_table(head), name_table(learners), *tables, *map(wrap, notes)])


def race_title(race: Race) -> str:
    """The subject of a race, in one line."""
    quantity = "errors" if race.quantity == ERROR else race.quantity
    return f"{quantity.capitalize()} of {race_players(race)}"


def race_players(race: Race) -> str:
    """Who plays a race, in one line."""
    learners = f"{len(race.entrants)} learners" if len(race.entrants) > 1 else race.entrants[0].label
    return f"{learners} against {race.adversary.name}, {race.games:,} games each"


def describe_learner(entrant: Entrant) -> str:
    """A learner with its settings, its class and its claim."""
    return wrap(f"{summarize_player(entrant.learner)}; class {entrant.concepts}; {entrant.claim}", WIDTH - 20)


def describe_bound(bound: Bound) -> str:
    """A bound, and the sense in which it holds."""
    sense = "on the expectation" if bound.beta is None else f"β = {bound.beta:.3g}"
    return f"{bound.at_most:,.4g} ({sense})"


def _describe_test(test: BoundTest | None, games: int) -> tuple[str, str]:
    if test is None:
        return "none", ""
    if test.inapplicable:
        return describe_bound(test.bound), f"not tested: {test.inapplicable}"
    if test.bound.beta is None:
        observed = f"the mean is at least {test.mean_lower:,.4g}"
    elif test.bound.beta > 0:
        observed = f"{test.exceeding:,} of {games:,} games exceed it, up to {test.allowed:,} may"
    else:
        observed = f"{test.exceeding:,} games exceed it" if test.broken else "in every game"
    if test.bound.beta != 0 or test.broken:
        observed = f"{'no' if test.broken else 'not refuted'}: {observed}"
    return describe_bound(test.bound), observed + ("" if test.bound.promised else " (not promised)")


def _format_figure(x: float, form: str) -> str:
    return f"{round(x, 4) + 0.0:{form}}" if math.isfinite(x) else "?"  # a sum that is 0 may be -1e-17


def _format_quantile(quantile: Quantile, at: int, form: str) -> str:
    figures = (quantile.values, quantile.lower, quantile.upper)
    value, lower, upper = (_format_figure(x[at], form) for x in figures)
    return f"{value} ({lower} to {upper})"


def _explain_bounds(result: RaceResult) -> list[str]:
    tests = {
        standing.label: standing.bound_test
        for standing in result.standings
        if standing.bound_test is not None
    }
    bounds = [test.bound for test in tests.values() if not test.inapplicable]
    notes = []
    if any(bound.beta != 0 for bound in bounds):
        notes.append(
            "A bound that is not refuted is not thereby proved. Bounds that a game may exceed with "
            "probability β are tested by the number of games that do, bounds on an expectation by Anderson's "
            "limit on the mean. All tests together refute a true bound with a probability of at most "
            f"{percent(1 - result.race.confidence)}."
        )
    if not all(bound.promised for bound in bounds):
        notes.append(
            "The theorem promises a bound for the printed constants only. A learner with smaller constants "
            "is measured against it, but breaks no promise by exceeding it."
        )
    if tests:
        theorems = "; ".join(f"{label}: {test.bound.theorem}" for label, test in tests.items())
        notes.append(f"Bounds: {theorems}.")
    return notes


def _describe_online(result: RaceResult) -> tuple[str, list[str], list[str]]:
    race: Any = result.race
    kind = (
        "realizable: some concept of the learner's class explains every game"
        if race.realizable
        else "agnostic: regret is against the best concept of the learner's class in hindsight"
    )
    rows = [
        (
            standing.label,
            f"{standing.mean[-1]:,.4g}",
            *(_format_quantile(q, -1, ",.0f") for q in (standing.median, standing.quantile_95)),
            f"{standing.worst[-1]:,}",
        )
        for standing in result.standings
    ]
    growth = [
        (standing.label, _format_slope(standing.power), _format_slope(standing.log_slope))
        for standing in result.standings
    ]
    tables = [
        f"{race.quantity.capitalize()} after {race.rounds:,} rounds, {race.games:,} games of each learner:",
        column_table(rows, ("learner", "mean", "median", "95 % quantile", "worst")),
        f"Growth of the median {race.quantity}, by least squares over {len(race.marks)} marks:",
        column_table(growth, ("learner", "slope of ln median on ln t", "slope of median on ln t")),
    ]
    unlimited = any("?" in cell for row in rows for cell in row[2:4])
    notes = [
        "Limits in brackets are order statistics. They hold for every distribution of games, at all "
        f"{len(race.marks)} marks, for both quantiles and all learners at once, with confidence "
        f"{percent(race.confidence)} (Bonferroni). A quantile is the least value that the stated share of "
        "the games does not exceed"
        + ("; ? stands where there are too few games for a limit." if unlimited else ".")
    ]
    always_wrong = [standing.label for standing in result.standings if standing.mean[-1] == race.rounds]
    if race.realizable and always_wrong:
        notes.append(
            f"Wrong in all {race.rounds:,} rounds of every game, and so without any sign of learning: "
            f"{', '.join(always_wrong)}. A private learner may need more rounds, a larger ε "
            "(--set epsilon=…) or a smaller class (--set concepts=…)."
        )
    return f"{race.protocol}, {race.rounds:,} rounds; {kind}", tables, notes


def _format_slope(slope: float | None) -> str:
    # Rounding removes the last bits that least squares leave of a slope of 0.
    return "too few marks above 0" if slope is None else f"{round(slope, 9) + 0.0:.3g}"


def _describe_predictors(result: RaceResult) -> tuple[str, list[str], list[str]]:
    race: Any = result.race
    headers = (
        *("learner", "round", "chunk", "teachers", "noise", "answers"),
        *("median of worst h", "95 % quantile", "worst", "mean h", "wrong answers", "halted"),
    )
    tables = [
        f"Errors under D of every hypothesis, by rounds, over {race.games:,} games of each learner:",
        column_table([row for standing in result.standings for row in _list_rounds(standing)], headers),
    ]
    notes = [
        "The error of a hypothesis is the probability under D that it labels a point wrongly. It is computed "
        "for every h_r with which a query was answered: over all of D if D is a finite list of examples, "
        f"otherwise over {race.tested:,} points of each game. Limits in brackets are order statistics; they "
        f"hold at all {race.rounds:,} rounds, for both quantiles and all learners at once, with confidence "
        f"{percent(race.confidence)} (Bonferroni)."
    ]
    excess = [
        f"{standing.label}: {standing.best_concept_error:.4f}"
        for standing in result.standings
        if standing.best_concept_error > 0
    ]
    if excess:
        notes.append(
            "No concept of the class explains D. Errors are the excess over the error of the best concept, "
            f"{', '.join(excess)}. An answer is wrong if it is not the likelier label of the point."
        )
    if any(np.any(standing.halted) for standing in result.standings):
        notes.append(
            "A game that halts before the end of a round has error 1 in that round's worst hypotheses; after "
            "the halt it does not count in means and wrong answers."
        )
    if any(standing.bound_test is None for standing in result.standings):
        notes.append("No bound: the theorem requires α = 2α_1 and β = 2β_1 below 1/16.")
    return f"{race.protocol}, {race.rounds:,} rounds of each predictor", tables, notes


def _list_rounds(standing: PredictorStanding) -> list[tuple[str, ...]]:
    return [
        (
            standing.label if at == 0 else "",
            *(f"{size:,}" for size in (run.index, run.chunk, run.teachers)),
            f"{run.noise:.3g}",
            f"{standing.asked[at]:,}" + ("" if standing.asked[at] == run.answers else f" of {run.answers:,}"),
            *(_format_quantile(q, at, ".4f") for q in (standing.median, standing.quantile_95)),
            *(
                _format_figure(figures[at], ".4f")
                for figures in (standing.worst, standing.mean, standing.wrong_answers)
            ),
            f"{standing.halted[at]:,}",
        )
        for at, run in enumerate(standing.rounds)
    ]

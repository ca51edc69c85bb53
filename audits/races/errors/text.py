"""A race of predictors as text and as JSON."""

from __future__ import annotations

import json
import math
import textwrap

import numpy as np
from tabulate import tabulate

from audits.races.errors.plan import PredictorRace
from audits.races.errors.result import PredictorResult, PredictorStanding
from audits.races.mistakes.text import held_text, plain, who
from audits.registry.settings_text import summarize_player
from audits.reports.text import percent
from audits.statistics.quantiles import Quantile

_WIDTH = 100


def as_json(result: PredictorResult) -> str:
    """One JSON object on one line; null stands for what is not known or not finite."""
    return json.dumps(result.as_json(), allow_nan=False)


def text(result: PredictorResult) -> str:
    """The report for a terminal."""
    race = result.race
    parts = [
        plain(_head(race)),
        plain([(one.entrant.label, who(one.entrant)) for one in result.standings]),
        f"Errors under D of every hypothesis, by rounds, over {race.games:,} games of each learner:",
        _rounds(result),
        "All rounds together, against the theorem:",
        _bounds(result),
        *(textwrap.fill(said, _WIDTH) for said in _notes(result)),
    ]
    return "\n\n".join(parts)


def title(race: PredictorRace) -> str:
    """What a race is of, in a line."""
    many = f"{len(race.entrants)} predictors" if len(race.entrants) > 1 else race.entrants[0].label
    return f"Errors of {many} against {race.entrants[0].adversary.name}, {race.games:,} games each"


def _head(race: PredictorRace) -> list[tuple[str, str]]:
    first = race.entrants[0]
    return [
        ("adversary", summarize_player(first.adversary)),
        ("protocol", f"{first.referee.name}, {race.rounds:,} rounds of each predictor"),
        ("games", f"{race.games:,} of each learner, in tables of {race.block:,}; seed {race.seed}"),
    ]


def _rounds(result: PredictorResult) -> str:
    headers = (
        *("learner", "round", "chunk", "teachers", "noise", "answers"),
        *("median of worst h", "95 % quantile", "worst", "mean h", "wrong answers", "halted"),
    )
    rows = [row for one in result.standings for row in _rows(one)]
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)


def _rows(one: PredictorStanding) -> list[tuple[str, ...]]:
    return [
        (
            one.entrant.label if at == 0 else "",
            *(f"{size:,}" for size in (run.index, run.chunk, run.teachers)),
            f"{run.noise:.3g}",
            f"{run.asked:,}" + ("" if run.asked == run.answers else f" of {run.answers:,}"),
            _limited(one.median, at),
            _limited(one.high, at),
            *(_error(figures[at]) for figures in (one.worst, one.mean, one.wrong)),
            f"{one.halted[at]:,}",
        )
        for at, run in enumerate(one.rounds)
    ]


def _limited(found: Quantile, at: int) -> str:
    value, low, high = (_error(x[at]) for x in (found.values, found.lower, found.upper))
    return f"{value} ({low} to {high})"


def _error(x: float) -> str:
    return f"{round(x, 4) + 0.0:.4f}" if math.isfinite(x) else "?"  # a sum that is 0 may be -1e-17


def _bounds(result: PredictorResult) -> str:
    rows = []
    for one in result.standings:
        bound, said = held_text(one.held, result.race.games)
        promised = one.held is not None and one.held.bound.promised
        how = ("promised" if promised else "measured against, not promised") if one.held is not None else ""
        rows.append((one.entrant.label, f"{max(one.worst):.4f}", bound, how, said))
    headers = ("learner", "worst", "bound", "", "held")
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)


def _notes(result: PredictorResult) -> list[str]:
    race, sure = result.race, percent(result.race.confidence)
    notes = [
        "The error of a hypothesis is the part of D that it labels wrongly, for every h_r that an answer was "
        f"given with: over all of D where that is a list of examples, else over {race.tested:,} points of "
        f"each game. Limits in brackets are order statistics, right at all {race.rounds:,} rounds, both "
        f"quantiles and all learners at once with confidence {sure} (Bonferroni)."
    ]
    beyond = {one.entrant.label: one.least for one in result.standings if one.least > 0}
    if beyond:
        told = ", ".join(f"{label}: {least:.4f}" for label, least in beyond.items())
        notes.append(
            f"No concept of the class explains D; errors are told beyond that of the best one, {told}. An "
            "answer is wrong where it is not the likelier label of the point."
        )
    if any(np.any(one.halted) for one in result.standings):
        notes.append(
            "A game that halted before the end of a round has error 1 in it among worst hypotheses, and does "
            "not count in means and wrong answers once it is silent."
        )
    held = {one.entrant.label: one.held for one in result.standings if one.held is not None}
    if held:
        notes.append("Bounds: " + "; ".join(f"{k}: {v.bound.theorem}" for k, v in held.items()) + ".")
    if any(not one.bound.promised for one in held.values()):
        notes.append(
            "A bound is promised for the printed constants alone; what is smaller is measured against it. "
            "That a bound is not refuted is no proof of it."
        )
    if len(held) < len(result.standings):
        notes.append("No bound: the theorem takes α = 2α_1 and β = 2β_1 below 1/16.")
    return notes

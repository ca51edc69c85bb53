"""A race as text and as JSON."""

from __future__ import annotations

import json
import math
import textwrap

from tabulate import tabulate

from arena import MISTAKES, Bound
from audits.races.mistakes.plan import Entrant, Race
from audits.races.mistakes.result import Held, RaceResult
from audits.registry.settings_text import summarize_player
from audits.registry.tested_claim import read_claim
from audits.reports.text import percent
from audits.statistics.quantiles import Quantile

_WIDTH = 100


def as_json(result: RaceResult) -> str:
    """One JSON object on one line; null stands for what is not known or not finite."""
    return json.dumps(result.as_json(), allow_nan=False)


def text(result: RaceResult) -> str:
    """The report for a terminal."""
    race = result.race
    parts = [
        plain(_head(race)),
        plain([(one.entrant.label, who(one.entrant)) for one in result.standings]),
        f"{race.of.capitalize()} after {race.rounds:,} rounds, over {race.games:,} games of each learner:",
        _standings(result),
        f"Growth of the median {race.of}, by least squares over {len(race.marks)} marks:",
        _growth(result),
        *(textwrap.fill(said, _WIDTH) for said in _notes(result)),
    ]
    return "\n\n".join(parts)


def title(race: Race) -> str:
    """What a race is of, in a line."""
    many = f"{len(race.entrants)} learners" if len(race.entrants) > 1 else race.entrants[0].label
    adversary = race.entrants[0].adversary.name
    return f"{race.of.capitalize()} of {many} against {adversary}, {race.games:,} games each"


def _head(race: Race) -> list[tuple[str, str]]:
    first = race.entrants[0]
    kind = "realizable: some concept of the learner's class explains every game"
    if race.of != MISTAKES:
        kind = "agnostic: regret is against the best concept of the learner's class in hindsight"
    return [
        ("adversary", summarize_player(first.adversary)),
        ("protocol", f"{first.referee.name}, {race.rounds:,} rounds; {kind}"),
        ("games", f"{race.games:,} of each learner, in tables of {race.block:,}; seed {race.seed}"),
    ]


def who(entrant: Entrant) -> str:
    """A learner, its class and its claim."""
    learner = entrant.learner
    return textwrap.fill(
        f"{summarize_player(learner)}; class {entrant.concepts}; {read_claim(learner)}", _WIDTH - 20
    )


def _standings(result: RaceResult) -> str:
    headers = ("learner", "mean", "median", "95 % quantile", "worst", "bound", "held")
    rows = [
        (
            one.entrant.label,
            f"{one.mean[-1]:,.4g}",
            limited(one.median),
            limited(one.high),
            f"{one.worst[-1]:,}",
            *held_text(one.held, result.race.games),
        )
        for one in result.standings
    ]
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)


def limited(found: Quantile) -> str:
    """A quantile at T with its limits."""
    low, high = (_number(x) for x in (found.lower[-1], found.upper[-1]))
    return f"{_number(found.values[-1])} ({low} to {high})"


def _number(x: float) -> str:
    return f"{x:,.0f}" if math.isfinite(x) else "?"


def held_text(held: Held | None, games: int) -> tuple[str, str]:
    """A bound, and whether it held."""
    if held is None:
        return "none", ""
    bound = held.bound
    if held.unsaid:
        return bound_text(bound), held.unsaid
    if bound.beta is None:
        said = f"the mean is at least {held.mean_lower:,.4g}"
        return bound_text(bound), f"no: {said}" if held.broken else f"not refuted: {said}"
    if bound.beta == 0:
        return bound_text(
            bound
        ), f"no: {held.exceeding:,} games exceed it" if held.broken else "in every game"
    said = f"{held.exceeding:,} of {games:,} games exceed it, up to {held.allowed:,} may"
    return bound_text(bound), f"no: {said}" if held.broken else f"not refuted: {said}"


def bound_text(bound: Bound) -> str:
    """A bound in a few words."""
    how = "on the expectation" if bound.beta is None else f"β = {bound.beta:.3g}"
    return f"{bound.at_most:,.4g} ({how})"


def _growth(result: RaceResult) -> str:
    headers = ("learner", "slope of ln median on ln t", "slope of median on ln t")
    rows = [
        (one.entrant.label, *(_slope(slope) for slope in (one.growth.power, one.growth.log)))
        for one in result.standings
    ]
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)


def _slope(slope: float | None) -> str:
    # Least squares leave the last bits of a slope of 0.
    return "too few marks above 0" if slope is None else f"{round(slope, 9) + 0.0:.3g}"


def _notes(result: RaceResult) -> list[str]:
    race, sure = result.race, percent(result.race.confidence)
    limits = (
        f"Limits in brackets are order statistics: they hold whatever the law of a game, at all "
        f"{len(race.marks)} marks, both quantiles and all learners at once, with confidence {sure} "
        "(Bonferroni). A quantile is "
        "the least figure that such a share of the games does not exceed"
    )
    few = any(
        math.isinf(x)
        for one in result.standings
        for q in (one.median, one.high)
        for x in (q.lower[-1], q.upper[-1])
    )
    limits += "; ? stands where so few games give no limit." if few else "."
    bounds = [one.held.bound for one in result.standings if one.held is not None and not one.held.unsaid]
    notes = [limits, *_unlearned(result)]
    if any(bound.beta != 0 for bound in bounds):
        notes.append(
            "That a bound is not refuted is no proof of it. Bounds that a game may exceed with probability β "
            "are tested by the number of games that do, those on an expectation by Anderson's limit on the "
            "mean; all tests together refute a true bound with a chance of at most "
            f"{percent(1 - race.confidence)}."
        )
    theorems = {one.entrant.label: one.held.bound.theorem for one in result.standings if one.held is not None}
    if theorems:
        notes.append(
            "Bounds: " + "; ".join(f"{label}: {theorem}" for label, theorem in theorems.items()) + "."
        )
    return notes


def _unlearned(result: RaceResult) -> list[str]:
    """A word on learners that erred whenever they could, since their row says nothing else of them."""
    race = result.race
    labels = [one.entrant.label for one in result.standings if one.mean[-1] == race.rounds]
    if race.of != MISTAKES or not labels:
        return []
    return [
        f"Erred in all {race.rounds:,} rounds of every game, so had not begun to learn: {', '.join(labels)}. "
        "A private learner may take more rounds, a larger ε (--set epsilon=…) or a smaller class (--set "
        "concepts=…) to begin."
    ]


def plain(rows: list[tuple[str, str]]) -> str:
    """Names and what they stand for."""
    return str(tabulate(rows, tablefmt="plain", disable_numparse=True))

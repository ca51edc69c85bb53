"""Attacks as text and as JSON."""

from __future__ import annotations

import json
import textwrap

import numpy as np
from tabulate import tabulate

from audits.attacks.hypothesis import BOOSTER, LEARNER, Extracted, ExtractionResult, printed_boost
from audits.attacks.poisoning import PoisoningResult, Spoilt
from audits.races.mistakes.text import plain, who
from audits.reports.text import percent

_WIDTH = 100


def as_json(result: PoisoningResult | ExtractionResult) -> str:
    """One JSON object on one line; null stands for what is not known."""
    return json.dumps(result.as_json(), allow_nan=False)


def text(result: PoisoningResult | ExtractionResult) -> str:
    """The report for a terminal."""
    return _poisoning(result) if isinstance(result, PoisoningResult) else _extraction(result)


# --- poisoning ----------------------------------------------------------------------------------------------


def _poisoning(result: PoisoningResult) -> str:
    race = result.plan.race
    learners = {
        one.dose.label: who(entrant) for one, entrant in zip(result.doses, race.entrants, strict=True)
    }
    headers = ("learner", "aim", "fraction", "round", "mean h", "worst h", "concept of S_i", "halted")
    rows = [row for one in result.doses for row in _dose(one)]
    parts = [
        plain([*learners.items(), ("games", f"{race.games:,} of each row; seed {race.seed}")]),
        "Errors under D, by rounds of the learner and by the part of its queries that is chosen:",
        str(tabulate(rows, headers, tablefmt="simple", disable_numparse=True)),
        *(textwrap.fill(said, _WIDTH) for said in _poisoned(result)),
    ]
    return "\n\n".join(parts)


def _dose(one: Spoilt) -> list[tuple[str, ...]]:
    return [
        (
            *((one.dose.label, one.dose.aim, f"{one.dose.fraction:g}") if at == 0 else ("", "", "")),
            f"{at + 1}",
            *(str(figures[at]) for figures in (one.mean, one.worst)),
            str(one.moved[at]) if at else "",
            f"{one.halted[at]:,}",
        )
        for at in range(len(one.mean))
    ]


def _poisoned(result: PoisoningResult) -> list[str]:
    notes = []
    for label, one in result.sharpest().items():
        alone = [other for other in result.doses if other.dose.label == label and not other.dose.fraction]
        before = f", {alone[0].mean[-1]} where nothing is chosen" if alone else ""
        notes.append(
            f"{label} errs most in its last round after {one.dose.aim} at {one.dose.fraction:g}: "
            f"{one.mean[-1]}{before}."
        )
    race = result.plan.race
    notes.append(
        "Errors are of hypotheses, over all of D where that is a list of examples, else over "
        f"{race.tested:,} points of each game; what a game that halted leaves unanswered has error 1. The "
        "concept of S_i is the one by which LabelBoost labels it. Medians of games; limits in brackets hold "
        f"for the whole table at once with confidence {percent(race.confidence)} (order statistics)."
    )
    return notes


# --- hypothesis ---------------------------------------------------------------------------------------------


def _extraction(result: ExtractionResult) -> str:
    plan = result.plan
    headers = (
        *("learner", "|X|", "R", "failed", "α", "error of h", "8α"),
        *("games above (at most 1/4)", "majority's error", "24α"),
    )
    rows = [_learner(one) for one in result.found]
    parts = [
        plain([(one.label, who(entrant)) for one, entrant in zip(result.found, plan.entrants, strict=True)]),
        f"Hypotheses learned from answers alone, in {plan.games:,} games of each learner (seed {plan.seed}):",
        str(tabulate(rows, headers, tablefmt="simple", disable_numparse=True)),
        textwrap.fill(_meant(result), _WIDTH),
    ]
    return "\n\n".join(parts)


def _learner(one: Extracted) -> tuple[str, ...]:
    return (
        *(one.label, f"{one.points:,}", f"{one.queries:,}", f"{one.failed:.3f}", f"{one.alpha:.4f}"),
        *(str(one.error), _bound(LEARNER * one.alpha), str(one.exceeding)),
        *(str(one.boosted), _bound(BOOSTER * one.alpha)),
    )


def _bound(value: float) -> str:
    return f"{value:.4f}" if value < 1 else "1 or more"


def _meant(result: ExtractionResult) -> str:
    plan = result.plan
    refuted = [one.label for one in result.found if one.broken]
    said = f"Claim B.1 is refuted for {' and '.join(refuted)}. " if refuted else ""
    return said + (
        f"α is the share of wrong answers that all but β = {plan.beta:g} of the games stay within. A game "
        "that fails has a hypothesis that labels everything 0. The majority is of "
        f"{plan.block:,} games with one target, where AccuracyBoost prints R = {printed_boost(plan.beta):,}. "
        "The claims are of predictors that learn nothing from queries; of others R is what they answer "
        "anyhow, and their claim covers it. Medians of games and tables; limits in "
        f"brackets hold for the whole table at once with confidence {percent(plan.confidence)}."
    )


def rows_of(result: PoisoningResult, label: str, aim: str) -> tuple[np.ndarray, np.ndarray]:
    """For a chart: fractions (k,), and the median errors of the last round with their limits (3, k)."""
    ours = [
        one
        for one in result.doses
        if one.dose.label == label and (one.dose.aim == aim or not one.dose.fraction)
    ]
    last = [one.mean[-1] for one in ours]
    return (
        np.array([one.dose.fraction for one in ours]),
        np.array([[one.median for one in last], [one.lower for one in last], [one.upper for one in last]]),
    )

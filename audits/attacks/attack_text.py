"""The report on an attack, as text for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from audits.attacks.extraction import ExtractionResult, boost_in_paper
from audits.attacks.poisoning import Dose, PoisoningFigures, PoisoningResult
from audits.races.race_result import describe_learner
from audits.reports.formatting import column_table, name_table, percent, wrap
from audits.reports.json_form import to_data, to_json


def attack_json(result: PoisoningResult | ExtractionResult, header: Mapping[str, Any] | None = None) -> str:
    """One JSON object on one line; null stands for what is unknown."""
    if isinstance(result, ExtractionResult):
        outcome = {"interrupted": result.interrupted, "learners": result.learners}
        return to_json(to_data(result.plan) | outcome, header)
    names = [field.name for field in attrs.fields(Dose)]
    worst = [{name: getattr(figures, name) for name in names} for figures in result.find_worst().values()]
    outcome = {"interrupted": result.interrupted, "doses": result.doses, "worst": worst}
    return to_json(to_data(result.plan) | to_data(result.plan.measure) | outcome, header)


def attack_text(result: PoisoningResult | ExtractionResult) -> str:
    """The report for a terminal."""
    text = _extraction_text(result) if isinstance(result, ExtractionResult) else _poisoning_text(result)
    return f"{text}\n\n{wrap(result.interruption)}" if result.interrupted else text


def _poisoning_text(result: PoisoningResult) -> str:
    plan = result.plan
    learners = {
        figures.label: describe_learner(entrant)
        for figures, entrant in zip(result.doses, plan.entrants, strict=True)
    }
    headers = ("learner", "aim", "fraction", "round", "mean h", "worst h", "concept of S_i", "halted")
    return "\n\n".join(
        [
            name_table([*learners.items(), ("games", f"{plan.games:,} of each row; seed {plan.seed}")]),
            "Errors under D, by rounds of the learner and by the fraction of its queries that is chosen:",
            column_table([row for figures in result.doses for row in _list_rounds(figures)], headers),
            *map(wrap, _describe_poisoning(result)),
        ]
    )


def _list_rounds(figures: PoisoningFigures) -> list[tuple[str, ...]]:
    names = (figures.label, figures.aim or "-", f"{figures.fraction:g}")
    return [
        (
            *(names if at == 0 else ("", "", "")),
            f"{at + 1}",
            str(figures.mean[at]),
            str(figures.worst[at]),
            str(figures.moved[at]) if at else "",
            f"{figures.halted[at]:,}",
        )
        for at in range(len(figures.mean))
    ]


def _describe_poisoning(result: PoisoningResult) -> list[str]:
    plan, notes = result.plan, []
    unpoisoned = {figures.label: figures.mean[-1] for figures in result.doses if not figures.fraction}
    for label, figures in result.find_worst().items():
        baseline = f", {unpoisoned[label]} if no query is chosen" if label in unpoisoned else ""
        notes.append(
            f"The error of {label} in its last round is largest after {figures.aim} at {figures.fraction:g}: "
            f"{figures.mean[-1]}{baseline}."
        )
    tested = f"{plan.measure.tested:,}"
    notes.append(
        "Errors are those of hypotheses: over all of D if D is a finite list of examples, otherwise over "
        f"{tested} points of each game. Queries that a halted game leaves unanswered have error 1. "
        "The concept of S_i is the one by which LabelBoost labels it. Figures are medians over games; limits "
        "in brackets hold for the whole table at once with confidence "
        f"{percent(plan.confidence)} (order statistics)."
    )
    return notes


def _extraction_text(result: ExtractionResult) -> str:
    plan = result.plan
    headers = (
        *("learner", "|X|", "R", "failed", "α", "error of h", "8α"),
        *("games above (at most 1/4)", "majority's error", "24α"),
    )
    rows = [
        (
            *(figures.label, f"{figures.points:,}", f"{figures.queries:,}"),
            *(f"{figures.failed:.3f}", f"{figures.alpha:.4f}"),
            *(str(figures.error), _format_bound(figures.bound), str(figures.exceeding)),
            *(str(figures.boosted), _format_bound(figures.boosted_bound)),
        )
        for figures in result.learners
    ]
    return "\n\n".join(
        [
            name_table([(entrant.label, describe_learner(entrant)) for entrant in plan.entrants]),
            f"Hypotheses learned from answers, in {plan.games:,} games of each learner (seed {plan.seed}):",
            column_table(rows, headers),
            wrap(_describe_extraction(result)),
        ]
    )


def _format_bound(value: float) -> str:
    return f"{value:.4f}" if value < 1 else "1 or more"


def _describe_extraction(result: ExtractionResult) -> str:
    plan = result.plan
    refuted = " and ".join(figures.label for figures in result.learners if figures.broken)
    return (f"Claim B.1 is refuted for {refuted}. " if refuted else "") + (
        "α is the share of wrong answers that is exceeded in at most a share β = "
        f"{plan.beta:g} of the games. The hypothesis of a game that fails labels everything 0. The majority "
        f"is taken over {plan.boost:,} games with one target; AccuracyBoost prints "
        f"R = {boost_in_paper(plan.beta):,}. The claims are about predictors that learn nothing from "
        "queries; other predictors answer R queries anyway, and their privacy claim covers these. Figures "
        "are medians over games and over blocks of games; limits in brackets hold for the whole table at "
        f"once with confidence {percent(plan.confidence)}."
    )

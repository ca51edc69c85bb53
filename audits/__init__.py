"""Audits of privacy claims: games in two neighbouring worlds that certify a lower bound on ε.

    import audits

    audits.audit(my_function, epsilon=1.0).summary()

The verbs, and the records that they return, are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audits.adversary_search.search_report import SearchResult
    from audits.api.audit import audit
    from audits.api.certify import Auditor, Certificate, certify
    from audits.api.one_run import OneRunCertificate, audit_one_run, certify_one_run
    from audits.api.race import race, tournament
    from audits.api.search import search
    from audits.api.session import session
    from audits.api.solve import exact, solve
    from audits.api.stream import stream
    from audits.data.csv_files import load_sample
    from audits.data.schemas import labelled, records, table, table_like, tables, vector
    from audits.exact_loss.exact_audit import ExactAudit
    from audits.interrupts import Interrupted
    from audits.monitors.claims import claim
    from audits.monitors.monitor import monitor
    from audits.monitors.monitor_report import MonitorReport
    from audits.races.race_result import RaceResult
    from audits.reports.comparison import Comparison, compare
    from audits.runs.plan import Plan
    from audits.runs.run import run
    from audits.runs.verdict import Verdict
    from audits.solver.solution_report import Solution
    from audits.surveys.catalogue import Catalogue
    from audits.surveys.survey import survey
    from audits.surveys.survey_report import Survey
    from audits.testing.assertions import assert_private, assert_refuted
    from audits.testing.neighbours import neighbours
    from audits.testing.outcome import NotPrivate, NotRefuted, Outcome, Refutation, Undecided
    from audits.tournaments.tournament_result import TournamentResult

# Verbs.
__all__ = ["assert_private", "assert_refuted", "audit", "audit_one_run", "certify", "certify_one_run"]
__all__ += ["claim", "compare", "exact", "monitor", "race", "search", "session", "solve", "stream"]
__all__ += ["survey", "tournament"]
# What mechanisms receive: strategies of data.
__all__ += ["labelled", "neighbours", "records", "table", "table_like", "tables", "vector"]
# Scores that arrive bit by bit; data from a file; what a survey audits; plans, for more control.
__all__ += ["Auditor", "Catalogue", "Plan", "load_sample", "run"]
# What the verbs return and raise.
__all__ += ["Certificate", "Comparison", "ExactAudit", "MonitorReport", "OneRunCertificate", "RaceResult"]
__all__ += ["SearchResult", "Solution", "Survey", "TournamentResult", "Verdict"]
__all__ += ["Interrupted", "NotPrivate", "NotRefuted", "Outcome", "Refutation", "Undecided"]

_MODULES = {
    "adversary_search.search_report": ("SearchResult",),
    "api.audit": ("audit",),
    "api.certify": ("Auditor", "Certificate", "certify"),
    "api.one_run": ("OneRunCertificate", "audit_one_run", "certify_one_run"),
    "api.race": ("race", "tournament"),
    "api.search": ("search",),
    "api.session": ("session",),
    "api.solve": ("exact", "solve"),
    "api.stream": ("stream",),
    "data.csv_files": ("load_sample",),
    "data.schemas": ("labelled", "records", "table", "table_like", "tables", "vector"),
    "exact_loss.exact_audit": ("ExactAudit",),
    "interrupts": ("Interrupted",),
    "monitors.claims": ("claim",),
    "monitors.monitor": ("monitor",),
    "monitors.monitor_report": ("MonitorReport",),
    "races.race_result": ("RaceResult",),
    "reports.comparison": ("Comparison", "compare"),
    "runs.plan": ("Plan",),
    "runs.run": ("run",),
    "runs.verdict": ("Verdict",),
    "solver.solution_report": ("Solution",),
    "surveys.catalogue": ("Catalogue",),
    "surveys.survey": ("survey",),
    "surveys.survey_report": ("Survey",),
    "testing.assertions": ("assert_private", "assert_refuted"),
    "testing.neighbours": ("neighbours",),
    "testing.outcome": ("NotPrivate", "NotRefuted", "Outcome", "Refutation", "Undecided"),
    "tournaments.tournament_result": ("TournamentResult",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'audits' has no attribute {name!r}; it has {', '.join(__all__)}")
    from audits.registry import check_own_packages

    check_own_packages()
    return getattr(importlib.import_module(f"audits.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""`audits.audit`: play many games and test a privacy claim."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs

from arena import Sample
from arena.privacy_curves import PrivacyCurve
from audits.api.arguments import check_extra, claim_for_function, read_data, split_settings
from audits.api.planning import plan_audit
from audits.api.report import Report, extend_record
from audits.registry.default_adversary import POINT_SWAP
from audits.registry.given_players import GivenAdversary, GivenLearner
from audits.registry.match import build_match
from audits.registry.suggestions import explain_arguments
from audits.registry.user_files import UsedFiles
from audits.reports.formatting import nats, percent
from audits.reports.html_report import render_html
from audits.reports.verdict_text import describe_audit, name_outcome, verdict_text
from audits.runs.audit_estimators import RunProgress
from audits.runs.ledger.notes import PlayerSummary
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audits.api.figure import ReportFigure
    from audits.runs.run_history import RunHistory


@attrs.frozen(kw_only=True, repr=False)
class AuditReport(Report, Verdict):
    """The verdict of an audit, with what it takes to show it.

    plan: what was played. notes: how players and the distinguisher were chosen.
    """

    plan: Plan = attrs.field(repr=False, eq=False)
    notes: tuple[str, ...] = attrs.field(repr=False, eq=False)
    _ledger: bytes = attrs.field(repr=False, eq=False)

    @property
    def headline(self) -> str:
        bound = f"ε ≥ {nats(self.epsilon_lower)} at δ = {self.claim.delta:.3g}"
        outcome = "interrupted" if self.interrupted else name_outcome(self).lower()
        return (
            f"{self.learner} against {self.adversary}: {outcome}, {bound}{self.curve_note} certified "
            f"(confidence {percent(self.confidence)}), claimed {nats(self.claim.epsilon)}"
        )

    def summary(self) -> str:
        notes = "".join(f"note: {note}\n" for note in self.notes)
        text = verdict_text(self, PlayerSummary.from_plan(self.plan))
        return f"{notes}\n{text}" if notes else text

    def plot(self) -> ReportFigure:
        """The certified bound over the games, beside the claim and the ceiling.

        Raises: InvalidArgument without matplotlib.
        """
        check_extra("a chart", "matplotlib")
        from audits.api.figure import make_figure  # an extra, and slow to import

        return make_figure(lambda axes: _draw_bound(axes, self._read_history()), of="audit")

    def _render_page(self) -> str:
        check_extra("the page", "jinja2", "matplotlib")
        return render_html(self._read_history())

    def _describe(self) -> dict[str, Any]:
        return describe_audit(self, PlayerSummary.from_plan(self.plan))

    def _read_history(self) -> RunHistory:
        from audits.runs.run_history import read_history  # only charts need it

        with TemporaryDirectory() as folder:
            path = Path(folder, "run.ledger")
            path.write_bytes(self._ledger)
            return read_history(path)


@explain_arguments
def audit(
    learner: GivenLearner,
    against: GivenAdversary | None = None,
    *,
    data: Any = None,
    neighbour: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    curve: PrivacyCurve | str | None = None,
    games: int | None = None,
    confidence: float = 0.95,
    until_refuted: bool = False,
    protocol: str | None = None,
    rounds: int | None = None,
    distinguisher: str | None = None,
    faults: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    estimators: bool = False,
    progress: Callable[[RunProgress], None] | None = None,
) -> AuditReport:
    """Play a learner in two neighbouring worlds and certify a lower bound on its privacy loss ε.

    learner: a learner; the name of one, or path/to/file.py:name; or a function f(data, rng) or f(data).
    against: an adversary or its name. Default: the usual one of the learner; for a function, two data sets
        that differ in one record.
    data: an array of points, one row a record, or (points, labels). neighbour: the data of world 1; default:
        the worst that the adversary knows.
    epsilon, delta: the claim under test, ε in nats; default: the learner's own. curve: a claim for every ε
        instead, of `arena.privacy_curves` or as a text: "mu=1", "rho=0.5", "rdp=8,2" or a CSV file.
    games: in each world; default: 100,000, with until_refuted at most 10 million.
    confidence: the bound is wrong with probability at most 1 - confidence, whenever the audit stops.
    settings: of players that are given by name, {"teachers": 2001, "adversary.probes": 20}, or of a function.
    distinguisher, faults, seed: as in `Plan`. protocol, rounds: default: as the players have it.
    jobs: processes. ledger: a file that stores all games. estimators: also compute all other estimators.
    progress: called after every block of games.

    Raises: InvalidArgument if a value makes no sense; NothingTested if the games could not refute the claim;
    NotConforming and the errors of `arena.play`.

    >>> import audits
    >>> def release_count(labels, rng):
    ...     return labels.sum() + rng.laplace()
    >>> report = audits.audit(release_count, epsilon=0.5, games=4_000)
    >>> report.refuted, report.epsilon_lower > 0.5
    (True, True)
    """
    asked, files = split_settings(settings), UsedFiles()
    with files.watch():
        sample, asked = read_data(learner, data, neighbour, asked)
        asked = claim_for_function(learner, asked, epsilon, delta)
        match = build_match(
            learner,
            POINT_SWAP if against is None and neighbour is not None else against,
            settings=asked,
            data=sample,
            protocol=protocol,
            rounds=rounds,
        )
    plan, notes = plan_audit(
        match,
        epsilon=epsilon,
        delta=delta,
        curve=curve,
        games=games,
        until_refuted=until_refuted,
        confidence=confidence,
        distinguisher=distinguisher,
        faults=faults,
        seed=seed,
        option="epsilon=..., in nats",
    )
    with TemporaryDirectory() as folder:
        store = Path(folder, "run.ledger") if ledger is None else Path(ledger)
        verdict = run(plan, jobs=jobs, ledger=store, watch=progress, files=files, all_estimators=estimators)
        recorded = store.read_bytes()
    return extend_record(verdict, AuditReport, plan=plan, notes=match.notes + notes, ledger=recorded)


def load_sample(path: str | os.PathLike[str], **columns: Any) -> Sample:
    """The labelled examples of a CSV file; see `audits.data.csv_samples.load_sample`."""
    from audits.data.csv_samples import load_sample as load

    return load(path, **columns)


def _draw_bound(axes: Axes, history: RunHistory) -> None:
    from audits.reports.plots import BLACK, BLUE, LONGEST, ORANGE, set_title  # with matplotlib

    verdict, games = history.verdict, history.games
    claimed = min(verdict.claim.epsilon, LONGEST)
    highest = max(claimed, verdict.curve_epsilon_lower or 0.0)
    top = 1.5 * max(verdict.epsilon_lower, highest)  # a ceiling is often far above
    axes.step(games, history.epsilon_lower, where="post", color=BLUE, linewidth=2, label="certified ε")
    axes.axhline(claimed, color=ORANGE, linestyle="--", label="ε of the claim")
    if verdict.curve_epsilon_lower is not None:
        axes.axhline(
            verdict.curve_epsilon_lower, color=BLUE, linestyle="-.", label="certified for its privacy curve"
        )
    pairs, ceilings = zip(*[(0, 0.0), *history.ceilings], strict=True)
    axes.step(
        pairs,
        ceilings,
        where="post",
        color=BLACK,
        linestyle=":",
        label=f"ceiling ({nats(verdict.ceiling)} at the end)",
    )
    axes.set_ylim(0, min(top, 1.1 * max(verdict.ceiling, highest)))
    axes.set_xlim(0, float(games[-1]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set(xlabel="games in each world", ylabel="ε (nats)")
    subject = f"{verdict.learner} against {verdict.adversary}: {name_outcome(verdict).lower()}"
    set_title(axes, subject, f"Every ε below the line is false with confidence {percent(verdict.confidence)}")

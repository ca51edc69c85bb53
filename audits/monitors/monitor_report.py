"""The result of a monitor: its claims, what their games would have shown, and their history."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, Self

import attrs

from arena.errors import count_things
from audits.data.output_files import check_output_file, write_atomically
from audits.monitors.code_version import list_changes
from audits.monitors.history_chart import VersionLine, draw_badge, draw_history
from audits.monitors.power import find_shown_factor
from audits.monitors.store import ClaimVersion, Store
from audits.reports.json_form import to_data
from audits.reports.report import (
    Chart,
    Conclusion,
    Document,
    Facts,
    Heading,
    Listing,
    Part,
    Prose,
    Report,
    Table,
)

_NOT_COVERED = (
    "Nights add up while the code, and the files that it reads and loads, stay the same. Not compared are "
    "environment variables, databases, services, and what other programs read; further files are named by "
    "audits.claim(..., files=[...])."
)
_MANY = 3  # names that a headline lists
_MAX_CHANGES = 6  # that the page lists of a version
_SHOWN = 7  # digits of a version or a commit on a page


@attrs.frozen(kw_only=True)
class VersionHistory:
    """One version of the code of a claim. needed, evidence: in nats, the latter after each of its nights.
    games: in each world. changes: from the version before. first, last: days; commit: of the last night."""

    version: str
    needed: float
    evidence: tuple[float, ...]
    games: int
    refuted: bool
    changes: tuple[str, ...]
    first: str
    last: str
    commit: str
    failures: tuple[str, ...]


@attrs.frozen(kw_only=True)
class ClaimStatus:
    """A claim on the version of its code that was met last.

    state: "refuted", "not refuted", "undecided", if its games would have shown no loss, "failed" or "not
    played". evidence, needed: against it, in nats, so far
    and for it to be refuted. error: the probability, at most, that the claim is ever reported false while it
    is true. games: in each world. shown_factor: a loss of so many times the claim, shown as by randomised
    response, would have been seen with probability 90 %; None if none would. adversary: of the last night.
    failure: why it was not played, if it was not. file, line: where the claim is stated, if that is known.
    """

    name: str
    statement: str
    state: str
    evidence: float
    needed: float
    error: float
    games: int
    nights: int
    shown_factor: float | None
    adversary: str
    failure: str = ""
    counterexample: str = ""
    file: str = ""
    line: int = 0
    history: tuple[VersionHistory, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether it is reported false."""
        return self.state == "refuted"

    @property
    def undecided(self) -> bool:
        """Whether it is not refuted, and its games would have shown no loss."""
        return self.state == "undecided"

    def describe_power(self) -> str:
        """The loss that its games would have shown."""
        if not self.games:
            return ""
        return "none" if self.shown_factor is None else f"{self.shown_factor:.3g} ε"


@attrs.frozen(kw_only=True, repr=False)
class MonitorReport(Report):
    """The state of a monitor. error: the probability, at most, that it ever reports a true claim false.

    store: the folder. part: of the stores that report. interrupted: whether the night was.
    """

    kind: ClassVar[str] = "monitor"

    store: str
    part: str
    error: float
    claims: tuple[ClaimStatus, ...]
    interrupted: bool = False

    @classmethod
    def of(
        cls,
        store: Store,
        *,
        failures: Mapping[str, str] | None = None,
        places: Mapping[str, tuple[str, int]] | None = None,
        interrupted: bool = False,
    ) -> Self:
        """What a store holds. failures: of tonight, and places of the claims, by their names; by default all
        claims of the store are reported."""
        failures, places = failures or {}, places or {}
        names = [*places] or [*store.shares]
        claims = [_describe_claim(store, name, failures.get(name, ""), places.get(name)) for name in names]
        return cls(
            store=str(store.folder),
            part=str(store.part),
            error=store.error / store.part.of,
            claims=tuple(claims),
            interrupted=interrupted,
        )

    @property
    def refuted(self) -> tuple[ClaimStatus, ...]:
        """The claims that are reported false."""
        return tuple(claim for claim in self.claims if claim.refuted)

    @property
    def undecided(self) -> tuple[ClaimStatus, ...]:
        """The claims that are not refuted, and of which too few games were played to show any loss."""
        return tuple(claim for claim in self.claims if claim.undecided)

    @property
    def failed(self) -> tuple[ClaimStatus, ...]:
        """The claims that could not be played."""
        return tuple(claim for claim in self.claims if claim.failure)

    @property
    def headline(self) -> str:
        total = count_things(len(self.claims), "claim")
        text = f"{total}, none refuted" if not self.refuted else f"{len(self.refuted)} of {total} refuted"
        text += _list_names(self.refuted)
        if self.undecided:
            text += f"; {len(self.undecided)} undecided{_list_names(self.undecided)}"
        if self.failed:
            text += f"; {len(self.failed)} failed{_list_names(self.failed)}"
        return text + ("; interrupted" if self.interrupted else "")

    def document(self) -> Document:
        parts: list[Part] = [self._conclude()]
        rows = [
            (
                claim.name,
                claim.state,
                f"{claim.evidence:.2f} of {claim.needed:.2f}" if claim.nights else "",
                f"{claim.nights}",
                f"{claim.games:,}",
                claim.describe_power(),
            )
            for claim in self.claims
        ]
        headers = ("claim", "state", "nats of evidence", "nights", "games", "loss seen")
        parts.append(Table(headers, rows))
        parts += [Prose(f"{claim.name} could not be played: {claim.failure}") for claim in self.failed]
        parts.append(Prose(_NOT_COVERED))
        for claim in self.claims:
            if claim.counterexample:
                parts.append(Listing(claim.counterexample, f"{claim.name} is refuted:"))
        for claim in self.claims:
            parts += _write_history(claim)
        return Document(parts=parts)

    def _conclude(self) -> Conclusion:
        played = [claim for claim in self.claims if claim.state == "not refuted"]
        word = "Refuted" if self.refuted else "Not refuted" if played else "Undecided"
        names = ", ".join(claim.name for claim in self.refuted)
        if self.refuted:
            explanation = f"the games show that these claims are false: {names}."
        elif played:
            explanation = "no claim is shown to be false. This does not prove privacy."
        else:
            explanation = "no claim was played with enough games to show a loss."
        unplayed = [
            claim.name for claim in self.claims if claim.state in ("undecided", "not played", "failed")
        ]
        if unplayed and (self.refuted or played):
            explanation += f" Nothing is said of {', '.join(unplayed)}."
        meaning = (
            "The probability that this store ever reports a claim false on a version of the code on which it "
            f"is true is at most {self.error:g}, over all claims, nights and versions. The loss seen is "
            "the smallest that the games so far would have shown with probability 90 %, if the adversary "
            "shows it as randomised response does."
        )
        return Conclusion(word, explanation, meaning, bool(self.refuted))

    def _describe(self) -> dict[str, Any]:
        return {**to_data(self), "refuted": [claim.name for claim in self.refuted]}

    def write_badge(self, path: str | os.PathLike[str]) -> None:
        """Write a badge as SVG. Raises: InvalidArgument if it cannot be written."""
        check_output_file("badge", path)
        with write_atomically("badge", path) as unfinished:
            unfinished.write_text(self.draw_badge(), encoding="utf-8")

    def draw_badge(self) -> str:
        """A badge as SVG, which says how many claims are refuted."""
        if self.refuted:
            return draw_badge(f"{len(self.refuted)} of {len(self.claims)} refuted", "refuted")
        if self.failed or not any(claim.nights for claim in self.claims):
            text = f"{len(self.failed)} failed" if self.failed else "not played"
            return draw_badge(text, "failed")
        if self.undecided:
            return draw_badge(f"{len(self.undecided)} of {len(self.claims)} undecided", "none")
        return draw_badge(f"{len(self.claims)} not refuted", "not refuted")


def _list_names(claims: Sequence[ClaimStatus]) -> str:
    names = [claim.name for claim in claims]
    return f": {', '.join(names)}" if 0 < len(names) <= _MANY else ""


def _describe_claim(store: Store, name: str, failure: str, place: tuple[str, int] | None) -> ClaimStatus:
    version = store.find_current(name)
    file, line = place or ("", 0)
    error = store.compute_error(name)
    if version is None:
        return ClaimStatus(
            name=name,
            statement="",
            state="failed" if failure else "not played",
            evidence=0.0,
            needed=0.0,
            error=error,
            games=0,
            nights=0,
            shown_factor=None,
            adversary="",
            failure=failure,
            file=file,
            line=line,
        )
    nights = [night for night in version.nights if night.counts]
    needed = store.compute_threshold(version)
    shown_factor = None
    if nights:
        shown_factor = find_shown_factor(
            version.games,
            epsilon=version.epsilon,
            delta=version.delta,
            threshold=needed,
            has_curve=version.has_curve,
        )
    state = "not played" if not nights else "undecided" if shown_factor is None else "not refuted"
    state = "refuted" if version.refuted else "failed" if failure else state
    return ClaimStatus(
        name=name,
        statement=version.statement,
        state=state,
        evidence=version.log_wealth,
        needed=needed,
        error=error,
        games=version.games,
        nights=len(nights),
        shown_factor=shown_factor,
        adversary=nights[-1].adversary if nights else "",
        failure=failure,
        counterexample=version.counterexample,
        file=file,
        line=line,
        history=_list_history(store, name),
    )


def _list_history(store: Store, name: str) -> tuple[VersionHistory, ...]:
    versions = store.versions.get(name, [])
    before: list[ClaimVersion | None] = [None, *versions]
    return tuple(
        VersionHistory(
            version=version.version,
            needed=store.compute_threshold(version),
            evidence=tuple(accumulate(night.log_wealth for night in version.nights if night.counts)),
            games=version.games,
            refuted=version.refuted,
            changes=() if old is None else tuple(list_changes(old.parts, version.parts)),
            first=min((night.date for night in version.nights), default=""),
            last=max((night.date for night in version.nights), default=""),
            commit=version.nights[-1].commit if version.nights else "",
            failures=tuple(version.failures),
        )
        for old, version in zip(before, versions, strict=False)
    )


def _write_history(claim: ClaimStatus) -> list[Part]:
    """The part of the page about one claim."""
    lines = [
        VersionLine(
            label=each.commit[:_SHOWN] or each.version[:_SHOWN],
            evidence=each.evidence,
            needed=each.needed,
            refuted=each.refuted,
        )
        for each in claim.history
    ]
    parts: list[Part] = [Heading(claim.name)]
    facts = [
        ("claim", claim.statement),
        ("reported false", f"while it is true, with probability at most {claim.error:.3g}"),
        ("adversary", claim.adversary),
    ]
    parts.append(_PageOnly(Facts(facts)))
    chart = draw_history(lines, f"Evidence against {claim.name}, night by night")
    if chart:
        caption = (
            "Evidence in nats after each night, by versions of the code; the dashed line is the evidence at "
            "which a version is refuted."
        )
        parts.append(Chart(chart, caption))
    rows = [
        (
            each.commit[:_SHOWN] or each.version[:_SHOWN],
            "refuted" if each.refuted else _count(each),
            each.first if each.first == each.last else f"{each.first} to {each.last}",
            _describe_changes(each.changes),
        )
        for each in claim.history
    ]
    if rows:
        parts.append(_PageOnly(Table(("version", "played", "days", "what changed"), rows)))
    return parts


def _count(version: VersionHistory) -> str:
    return f"{count_things(len(version.evidence), 'night')}, {count_things(version.games, 'game')}"


def _describe_changes(changes: Sequence[str]) -> str:
    more = len(changes) - _MAX_CHANGES
    return "; ".join(changes[:_MAX_CHANGES]) + (f"; and {more} more" if more > 0 else "")


@attrs.frozen
class _PageOnly(Part):
    """A part that a terminal does not show."""

    part: Part

    def html(self) -> str:
        return self.part.html()

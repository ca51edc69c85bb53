"""The result of a search, with its text and its JSON."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import Claim, Learner
from arena.capabilities import ReceivesPart, read_schema
from arena.players import finite_domain
from arena.records import Records
from audits.adversary_search.exploration import EVIDENCE_THRESHOLD
from audits.adversary_search.point_strategies import constant_points_of, far_points_of, points_of, round_limit
from audits.adversary_search.race import THRESHOLD
from audits.adversary_search.score import Score
from audits.adversary_search.script import SPACES, Script
from audits.registry.received import describe_received
from audits.registry.settings_text import summarize_player
from audits.reports.data_pair import DataPair
from audits.reports.json_form import to_data
from audits.reports.plots import Picture
from audits.reports.report import Conclusion, Document, Facts, Listing, Part, Prose, Report
from audits.reports.result_table import ResultRow
from audits.runs.example_games import write_example_games
from audits.runs.limits import explain_stop
from audits.runs.plan import Plan
from audits.runs.replay import FOUND, FOUND_FILE, write_replay
from audits.runs.verdict import EXPLAINED, UNDECIDED, Verdict

# By chance, a confirmation fails as rarely as evidence of the threshold comes up under a true claim.
_MANY_FAILED = 3
_DEPENDENT = (
    "{} confirmations on fresh games failed, which is rare if games are independent. Check by "
    "arena.testing.check_learner whether the games of a batch share random numbers."
)
_MOST_UNTESTED = 6  # that a report lists
# Not in the JSON as they are.
_SPECIAL = ("learner", "adversary", "plan", "verdict", "given", "file", "example")


@attrs.frozen(kw_only=True, repr=False)
class SearchResult(Report):
    """The result of a search.

    error: the probability, at most, that the whole search refutes a true claim.
    adversary: the smallest that refutes it; None if nothing was confirmed. plan, verdict: that confirm it.
    examples: adversaries that were played. rejected: those that the learner declined, or failed against.
    failed: adversaries against which it raised an exception. failure: the first one, or the first refusal.
    games: played in each world to explore. confirmations: the number of attempts.
    best: the largest evidence in nats. detectable: if nothing was confirmed, see `detectable_loss`.
    stopped: the limit that ended the search, "max_calls" or "max_seconds", if one did.
    given: the learner as the user named it. file: to which the adversary is written, if it is.
    example: whether points of an example of the data were tried, and numbers beyond its range.
    relation_note: what the verdict says if nobody chose the neighbouring relation, and it may explain what
        was certified; then it is refuted only if it is for records that are added or removed, too.
    untested: what the learner failed to do in every game, such as queries of a session.
    undecided: why the search decides nothing, as a clause: a limit or an interrupt cut it off before it could
        find a violation, or confirm one, or nothing tested the other relation. Empty if it decides.
    seen: what one game released, in numbers of parts.
    """

    kind: ClassVar[str] = "search"

    learner: Learner
    protocol: str
    claim: Claim
    error: float
    seed: int
    refuted: bool
    adversary: Script | None
    plan: Plan | None
    verdict: Verdict | None
    examples: int
    rejected: int
    games: int
    confirmations: int
    best: float
    failed: int = 0
    failure: str = ""
    detectable: float | None = None
    interrupted: bool = False
    stopped: str = ""
    given: str | None = None
    file: str | None = None
    relation_note: str = ""
    untested: tuple[str, ...] = ()
    undecided: str = ""
    seen: str = attrs.field(default="", eq=False)
    example: bool = False

    @property
    def outcome(self) -> str:
        """The result in a word or two."""
        if self.refuted:
            return "Refuted"
        return UNDECIDED if self.undecided else EXPLAINED if self.relation_note else "Nothing found"

    @property
    def headline(self) -> str:
        name, outcome = self.learner.own_name, self.outcome.lower()
        if self.verdict is not None:
            by = " by an adversary that was found" if self.refuted else ""
            return f"{name}: {outcome}{by}, {self._describe_bound()} certified"
        tried = f"in {self.examples:,} adversaries"
        return (
            f"{name}: undecided, nothing confirmed {tried}"
            if self.undecided
            else f"{name}: {outcome} {tried}"
        )

    def _describe_bound(self) -> str:
        """The bound that confirms the adversary."""
        assert self.verdict is not None
        return f"{self.verdict.write_bound()} at δ = {self.claim.delta:.3g}{self.verdict.curve_note}"

    @property
    def source(self) -> str:
        """A Python file with the adversary that was found; empty if there is none."""
        if self.plan is None or self.verdict is None:
            return ""
        file = self.file or FOUND_FILE
        return write_replay(self.plan, self.verdict, learner=self.given, file=file).source

    def explain(self) -> str:
        """What was found, or what was tried, in a few sentences."""
        return explain_outcome(self)

    def document(self) -> Document:
        failed = self.confirmations - (self.verdict is not None)
        # Where games are calls, evidence that chance may give is worth a confirmation, too.
        is_rare = failed >= _MANY_FAILED and not self.learner.one_call_a_game
        doubt = f" {_DEPENDENT.format(failed)}" if is_rare else ""
        parts: list[Part] = [Facts(_rows(self)), _conclude(self, doubt)]
        if self.plan is not None:
            plan = self.plan
            games = write_example_games(
                plan.learner, plan.adversary, plan.referee, seed=plan.seed, faults=plan.faults
            )
            schema = read_schema(plan.learner)
            first, second = (getattr(self.adversary, name, None) for name in ("world_0", "world_1"))
            if schema is not None and isinstance(first, Records) and isinstance(second, Records):
                parts.append(DataPair.of(schema, first, second, "The smallest data that show the violation:"))
            parts.append(Listing(games, "The smallest game that shows the violation:"))
            if self.file:
                where = f"The adversary is in {self.file}; commands play it as {self.file}:{FOUND}."
                parts.append(Prose(where))
            else:
                parts.append(Listing(self.source.rstrip(), "The adversary:"))
        (row,) = self.list_rows()
        title = f"{self.learner.own_name}: {'refuted by a search' if self.refuted else self.outcome.lower()}"
        reading = f"The whole search refutes a true claim with a probability of at most {self.error:g}"
        return Document(parts=parts, picture=Picture.of_bounds([row.bounds], title, reading))

    def list_rows(self) -> list[ResultRow]:
        verdict, loss = self.verdict, self.detectable
        return [
            ResultRow(
                mechanism=self.learner.own_name,
                adversary="" if verdict is None else "found by the search",
                method=self.kind,
                **ResultRow.describe_claim(self.claim),
                epsilon_lower=0.0 if verdict is None else verdict.epsilon_lower,
                delta=self.claim.delta,
                confidence=1 - self.error,
                games=self.games if verdict is None else verdict.games,
                ceiling=None if verdict is None else verdict.ceiling,
                detectable=None if loss is None else self.claim.epsilon + loss,
                refuted=self.refuted,
                undecided=self.undecided,
            )
        ]

    def _describe(self) -> dict[str, Any]:
        """They depend on the arguments of the search only, so times are left out."""
        verdict = None if self.verdict is None else to_data(self.verdict)
        if verdict is not None:
            del verdict["seconds"], verdict["games_per_second"]
        left_out = (
            *_SPECIAL,
            *(name for name in ("stopped", "relation_note", "untested", "seen") if not getattr(self, name)),
        )
        names = [name for name in attrs.fields_dict(SearchResult) if name not in left_out]
        script = None if self.adversary is None else _describe_script(self.adversary, self.learner)
        return {
            "learner": self.learner.own_name,
            "players": {"learner": to_data(self.learner)},
            **{name: to_data(getattr(self, name)) for name in names},
            "received": describe_received(self.learner, example=self.example),
            "searched": _describe_space(self),
            "adversary": script,
            "verdict": verdict,
            "source": self.source or None,
        }


def _conclude(result: SearchResult, doubt: str) -> Conclusion:
    word = result.outcome
    before, _, explanation = explain_outcome(result).partition(f"{word}: ")
    chance = f"The whole search refutes a true claim with a probability of at most {result.error:g}."
    return Conclusion(word, explanation + doubt, chance, result.refuted, before.strip())


def _describe_script(script: Script, learner: Learner) -> list[str]:
    """The steps of a script, one a line, with what the learner reads of the examples."""
    lines = []
    reads = learner.reads
    if script.world_0 is not None:
        lines.append(f"training: {script.world_0.describe(reads=reads)}")
        if script.world_1 is not None:
            lines[0] = f"training in world 0: {script.world_0.describe(reads=reads)}"
            lines.append(f"training in world 1: {script.world_1.describe(reads=reads)}")
    lines += [str(part) for part in script.list_parts()]
    return [*lines, f"score: {describe_score(script)}"]


def describe_score(script: Script) -> str:
    """Which part of a view tells the worlds apart, in the user's terms."""
    score = script.score
    return "learned" if score is None else score.describe() if isinstance(score, Score) else str(score)


def _rows(result: SearchResult) -> list[tuple[str, str]]:
    rows = [
        ("mechanism", result.learner.own_name)  # its schema and its claim follow
        if read_schema(result.learner) is not None
        else ("learner", summarize_player(result.learner)),
        ("protocol", result.protocol),
        ("claim under test", str(result.claim)),
        ("tried", f"{result.examples:,} adversaries, {result.games:,} games in each world"),
        ("searched", _describe_space(result)),
        ("confirmations", f"{result.confirmations}, with a total error of {result.error:g}"),
        ("seed", str(result.seed)),
    ]
    received = describe_received(result.learner, example=result.example)
    if received:
        rows.insert(1, ("received", received))
    place = [name for name, _ in rows].index("claim under test")
    if result.seen:
        rows.insert(place + 3, ("compared", result.seen))
    if result.verdict is not None:
        bound = f"{result.verdict.write_bound()} nats at δ = {result.claim.delta:.3g}"
        bound += result.verdict.curve_note
        rows.insert(
            place + 1, ("certified", f"{bound}, on {result.verdict.games:,} fresh games in each world")
        )
    if result.adversary is not None and isinstance(result.adversary.score, Score):
        rows.insert(place + 2, ("told apart by", describe_score(result.adversary)))
    rows += [("warning", text) for text in result.learner.shortcomings]
    if result.untested:
        rows.append(("warning", f"raised an exception in every game: {_list_some(result)}"))
    if result.rejected:
        declined = f"{result.rejected:,} adversaries, against which it declined or failed in all games"
        rows.insert(-1, ("declined", declined))
    if result.failed:
        rows.insert(-1, ("failed", f"against {result.failed:,} adversaries; first: {result.failure}"))
    return rows


def _describe_space(result: SearchResult) -> str:
    """From which points adversaries were drawn, and how long their games could be."""
    learner = result.learner
    schema = read_schema(learner)
    if schema is not None:
        drawn = "values of their fields" if schema.columns is not None else "examples"
        number = sum(map(len, schema.columns)) if schema.columns is not None else len(schema.examples)
        return f"{schema}, from {number:,} {drawn}"
    if learner.reads == "labels":
        return "data of the labels 0 and 1 only" + _describe_rounds(result)
    constants = [point for points in constant_points_of(learner) for point in points]
    points = list(dict.fromkeys([*points_of(learner), *far_points_of(learner), *constants]))
    words = f"{len(points)} points with numbers from {np.min(points):g} to {np.max(points):g}"
    if finite_domain(learner) is None:
        low, high = learner.domain or (-inf, inf)
        words += f" (domain: {'unbounded' if learner.domain is None else f'{low:g} to {high:g}'})"
    words += f", {len(constants)} of them from the constants of its code" if constants else ""
    words += (
        ", each with the label 0 or 1"
        if isinstance(learner, ReceivesPart) and learner.reads == "both"
        else ""
    )
    return words + _describe_rounds(result)


def _describe_rounds(result: SearchResult) -> str:
    rounds = SPACES[result.protocol].rounds
    return f", games of up to {round_limit(result.learner, rounds):,} rounds" if rounds else ""


def _list_some(result: SearchResult) -> str:
    more = len(result.untested) - _MOST_UNTESTED
    shown = ", ".join(result.untested[:_MOST_UNTESTED])
    return f"{shown}, and {more:,} more" if more > 0 else shown


def explain_outcome(result: SearchResult) -> str:
    """What was found, or what was tried, in a few sentences."""
    confidence = f"with confidence 1 - {result.error:g}"
    if result.verdict is not None and not result.refuted:
        return f"{result.outcome}: {confidence}, {result.relation_note}"
    if result.verdict is not None:
        note = f" {result.relation_note}" if result.relation_note else ""
        return f"{result.outcome}: {confidence} {result.verdict.describe_false_claims()}.{note}"
    if result.undecided:
        tried = "1 adversary" if result.examples == 1 else f"{result.examples:,} adversaries"
        outcome = f"{result.undecided}; {tried} played"
    elif result.confirmations:
        looked = "one" if result.confirmations == 1 else f"{result.confirmations}"
        looked += " looked promising, but fresh games did not confirm it"
        outcome = f"of {result.examples:,} adversaries {looked}"
    else:
        needed = THRESHOLD if result.learner.one_call_a_game else EVIDENCE_THRESHOLD
        best = f"the best gave {result.best:.2g} nats of evidence, of {needed:g} needed"
        outcome = f"of {result.examples:,} adversaries {best}"
    explanation = f"{result.outcome}: {outcome}. This does not prove privacy."
    if result.detectable is not None and not result.undecided:
        explanation += (
            f" A loss of {result.detectable:.2g} nats above the claim, shown by one of them as by randomised "
            "response, would have been found with probability 90 %."
        )
    if result.untested:
        explanation += (
            f" Of these nothing is known, since they raised an exception in every game: {_list_some(result)}."
        )
    if result.stopped:
        return f"{explain_stop(result.stopped)} {explanation}"
    return f"Interrupted. {explanation}" if result.interrupted else explanation

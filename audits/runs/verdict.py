"""The outcome of an audit in figures and in words, with notes on its players; and what ends a run early."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import attrs
from attrs.validators import deep_iterable, deep_mapping, instance_of, optional

from arena import ArenaError, Claim, Neighbours, PrivacyUnit
from arena.claims import read_relation
from arena.privacy_curves import PrivacyCurve
from audits.registry.match import read_claim
from audits.registry.settings_text import format_settings, summarize_player
from audits.reports.data_pair import Rows
from audits.reports.formatting import (
    describe_lower,
    describe_validity,
    escape_controls,
    is_visibly_above,
    nats,
    percent,
)
from audits.reports.json_form import to_data
from audits.reports.plots import Picture
from audits.reports.report import Document, Facts, Listing, Part, Prose, Report
from audits.reports.result_table import ResultRow
from audits.runs.limits import explain_stop
from audits.runs.plan import Plan, PlanSettings
from audits.statistics.betting import EPSILON_MAX
from audits.statistics.estimates import Estimate

EXPLAINED, UNDECIDED = "Explained by the relation", "Undecided"
_ALL_ESTIMATORS = (
    "All estimators, on the same games. Betting may be watched, and stopped at any time; the others hold at "
    "the number of games that was fixed beforehand. Each holds with the stated confidence by itself: choose "
    "one before you look."
)


def _text() -> Any:
    return attrs.field(default="", validator=instance_of(str))


@attrs.frozen(kw_only=True)
class RunNotes:
    """What reports say of a run besides its figures; a ledger keeps it for readers without the players.

    What is unknown is empty. learner_set, adversary_set: names with the settings that differ from the
    defaults. settings: all of them. claim, own_claim, protects, neighbours, theorem: the learner's own claim
    in words, its ε (None for infinity) and δ, whom it protects, and its source. own_coins: whether the
    learner draws random numbers that do not follow from the seed. transcript: the first pair of games. data:
    in which records it differs, as of `compare_records`. relation_chosen: whether somebody chose the
    neighbouring relation. relation_refuted, relation_note, relation_undecided: if not, and the claim is
    refuted, what was decided; see `RelationDecision`.
    same_releases: a note on games that all released the same. seen: what one game released.
    """

    learner: str = _text()
    adversary: str = _text()
    protocol: str = _text()
    learner_set: str = _text()
    adversary_set: str = _text()
    distinguisher: str = _text()
    claim: str = _text()
    theorem: str = _text()
    transcript: str = _text()
    data: Rows = attrs.field(
        default=(),
        converter=lambda rows: tuple(map(tuple, rows)),
        validator=deep_iterable(deep_iterable(instance_of(str))),
    )
    command: str = _text()
    relation_chosen: bool = attrs.field(default=True, validator=instance_of(bool))
    relation_refuted: bool = attrs.field(default=False, validator=instance_of(bool))
    relation_note: str = _text()
    relation_undecided: str = _text()
    same_releases: str = _text()
    seen: str = _text()
    own_coins: bool = attrs.field(default=False, validator=instance_of(bool))
    protects: tuple[PrivacyUnit, ...] = attrs.field(
        default=(), converter=lambda units: tuple(map(PrivacyUnit, units))
    )
    neighbours: str = attrs.field(
        default=str(Neighbours.REPLACE_ONE), converter=lambda text: str(read_relation(text))
    )
    settings: Mapping[str, Mapping[str, str]] = attrs.field(
        factory=dict,
        validator=deep_mapping(instance_of(str), deep_mapping(instance_of(str), instance_of(str))),
    )
    own_claim: list[float | None] = attrs.field(
        factory=list, validator=deep_iterable(optional(instance_of(float)), instance_of(list))
    )

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """The notes on a plan, without games. Raises: InvalidArgument as `read_claim` does."""
        claim, learner, adversary = read_claim(plan.learner), plan.learner, plan.adversary
        # Whoever tests a claim of a mechanism that takes its claim as a setting, and has none, claims it.
        is_given = claim.empty and "epsilon" in attrs.fields_dict(type(learner))
        return cls(
            learner=learner.own_name,
            adversary=adversary.name,
            learner_set=summarize_player(learner),
            adversary_set=summarize_player(adversary),
            settings={"learner": format_settings(learner), "adversary": format_settings(adversary)},
            protocol=plan.referee.name,
            distinguisher=plan.distinguisher,
            own_coins=learner.own_coins,
            claim="" if is_given else str(claim),
            own_claim=[]
            if is_given
            else [claim.epsilon if math.isfinite(claim.epsilon) else None, claim.delta],
            protects=claim.protects,
            neighbours=str(claim.neighbours),
            theorem=learner.theorem,
        )

    @classmethod
    def from_ledger(cls, stored: Mapping[str, Any]) -> Self:
        """The notes in a ledger. Raises: ValueError if an entry is not what `from_plan` makes."""
        names = {field.name for field in attrs.fields(cls)}
        entries = {name: value for name, value in stored.items() if name in names}
        for name, value in entries.items():
            if isinstance(value, str):  # each is one line, but for the games
                entries[name] = escape_controls(value, one_line=name != "transcript")
        try:
            return cls(**entries)
        except TypeError as error:  # of a validator
            raise ValueError(f"its notes make no sense ({error.args[0]})") from error

    def make_claim(self, plan: PlanSettings) -> Claim:
        """The claim that a plan tests."""
        shared: dict[str, Any] = {"protects": self.protects, "neighbours": self.neighbours}
        return Claim(epsilon=plan.epsilon, delta=plan.delta, curve=plan.curve, **shared)

    def make_own_claim(self) -> Claim | None:
        """The learner's own claim, without its curve; None if it is unknown."""
        if len(self.own_claim) != 2:
            return None
        epsilon, delta = (math.inf if number is None else number for number in self.own_claim)
        return Claim(epsilon=epsilon, delta=delta, protects=self.protects, neighbours=self.neighbours)


class RunRecord(Protocol):
    """The recorded games of a run, from which its charts are drawn."""

    @property
    def picture(self) -> Picture:
        """The certified bound over the games, beside the claim and the ceiling."""

    def render_page(self) -> str:
        """The page on the run."""


@attrs.frozen(kw_only=True, repr=False)
class Verdict(Report):
    """The outcome of an audit. All figures but `played_now` and `seconds` depend on the plan alone.

    claim: the claim under test. refuted: whether it is false, with confidence `confidence`.
    epsilon_lower: the certified bound (nats): with that confidence, every smaller ε at this δ is false.
    curve_lower: the same for the privacy curve of the claim: the largest curve of its family that is false,
        with all smaller ones, if any. curve_epsilon_lower: its ε at this δ. Both bounds hold together.
    ceiling: the epsilon_lower of an adversary that always tells the worlds apart, in as many games.
    refutable: whether that adversary would have refuted the claim. clopper_pearson: the classical bound on an
        event chosen on other games, if the fixed number of games was reached, and there are enough blocks.
    fixed_games: whether the bound holds at this number of games only, and otherwise is 0.
    games: in each world. played_now, seconds: games of this invocation in each world, and its duration.
    stopped: the limit that ended it before all games, "max_calls" or "max_seconds", if one did.
    estimates: if asked for. plan: None if it is only known from a ledger. notes: how players and the
        distinguisher were chosen. record: the games, if they are kept for charts.
    relation_note: as in `SearchResult`. relation_undecided: why a refutation decides nothing, if nobody chose
        its relation, and nothing tested the other one.
    """

    kind: ClassVar[str] = "audit"
    derived: ClassVar = ("delta", "games_per_second", "undecided")

    learner: str
    adversary: str
    protocol: str
    claim: Claim
    refuted: bool
    epsilon_lower: float
    confidence: float
    ceiling: float
    refutable: bool
    clopper_pearson: float | None
    games: int
    played_now: int = attrs.field(repr=False)
    seconds: float
    seed: int
    interrupted: bool = False
    stopped: str = ""
    until_refuted: bool = False
    fixed_games: bool = False
    estimates: tuple[Estimate, ...] | None = attrs.field(default=None, eq=False)
    curve_epsilon_lower: float | None = None
    curve_lower: PrivacyCurve | None = None
    relation_note: str = attrs.field(default="", eq=False)
    relation_undecided: str = attrs.field(default="", eq=False)
    players: RunNotes = attrs.field(factory=RunNotes, repr=False, eq=False)
    plan: Plan | None = attrs.field(default=None, repr=False, eq=False)
    notes: tuple[str, ...] = attrs.field(default=(), repr=False, eq=False)
    record: RunRecord | None = attrs.field(default=None, repr=False, eq=False)

    @property
    def delta(self) -> float:
        """δ of the claim under test."""
        return self.claim.delta

    @property
    def games_per_second(self) -> float:
        """Games of both worlds that this invocation played in a second."""
        return 2 * self.played_now / self.seconds if self.seconds > 0 else 0.0

    @property
    def exceeds_claim(self) -> bool:
        """Whether the certified bound is above the claim's ε in the digits in which both are written."""
        return is_visibly_above(self.epsilon_lower, self.claim.epsilon)

    @property
    def curve_note(self) -> str:
        """The bound for the privacy curve, in brackets after a space; empty if the claim has none."""
        bound, curve = self.curve_epsilon_lower, self.curve_lower
        if bound is None:
            return ""
        member = "" if curve is None else f", that of {curve}"
        return f" ({self.write_bound(bound)} for its privacy curve{member})"

    def write_bound(self, bound: float | None = None) -> str:
        """A certified bound, by default that at δ, as "ε ≥ 1.2"; see `describe_lower`."""
        bound = self.epsilon_lower if bound is None else bound
        return describe_lower(bound, self.claim.epsilon if self.refuted else None)

    @property
    def undecided(self) -> str:
        """Why the claim is neither refuted nor not refuted, as a clause; empty if it is one of both."""
        if self.refuted:
            return ""
        if self.relation_undecided or self.relation_note:
            return self.relation_undecided
        if not self.games:
            return "no games were finished"
        if self.fixed_games and (self.interrupted or self.stopped):
            return "the number of games was fixed, and not reached"
        if self.interrupted:
            return "the run is not finished"
        return "" if self.refutable else "so few games could not refute it"

    @property
    def outcome(self) -> str:
        """The verdict in a word."""
        if self.refuted:
            return "Refuted"
        return UNDECIDED if self.undecided else EXPLAINED if self.relation_note else "Not refuted"

    @property
    def headline(self) -> str:
        bound = f"{self.write_bound()} at δ = {self.claim.delta:.3g}"
        outcome = "interrupted" if self.interrupted else self.outcome.lower()
        return (
            f"{self.learner} against {self.adversary}: {outcome}, {bound}{self.curve_note} certified "
            f"(confidence {self._describe_confidence()}), claimed {nats(self.claim.epsilon)}"
        )

    # --- the document -----------------------------------------------------------------------------------

    def document(self) -> Document:
        said = [*self.notes, *([self.players.same_releases] if self.players.same_releases else [])]
        notes = Listing("\n".join(f"note: {note}" for note in said))
        parts: list[Part] = [notes, Facts(self.rows()), Prose(self.explain())]
        own = self._other_own_claim
        if self.games and own is not None:
            parts.append(Prose(f"The claim under test is not {self.learner}'s own{self._judge(own)}."))
        if self.estimates is not None:
            parts += [Prose(_ALL_ESTIMATORS), Facts([(row.method, str(row)) for row in self.estimates])]
        return Document(parts=parts, picture=self._make_picture())

    def _make_picture(self) -> Picture:
        """The bound over the games or, if these are not kept, the last one."""
        if self.record is not None and self.games:
            return self.record.picture
        (row,) = self.list_rows()
        return Picture.of_bounds([row.bounds], self.title, self.reading)

    @property
    def title(self) -> str:
        """Who played, and the verdict in a word."""
        return f"{self.learner} against {self.adversary}: {self.outcome.lower()}"

    @property
    def reading(self) -> str:
        """How to read a chart of the certified bound."""
        return f"Every claim of an ε below the certified one is false ({percent(self.confidence)} confidence)"

    def list_rows(self) -> list[ResultRow]:
        return [
            ResultRow(
                mechanism=self.learner,
                adversary=self.adversary,
                method=self.kind,
                **ResultRow.describe_claim(self.claim),
                epsilon_lower=self.epsilon_lower,
                delta=self.claim.delta,
                confidence=self.confidence,
                games=self.games,
                ceiling=self.ceiling if self.describe_ceiling() else None,
                refuted=self.refuted,
                undecided=self.undecided,
            )
        ]

    def _render_page(self) -> str:
        return super()._render_page() if self.record is None else self.record.render_page()

    def _describe(self) -> dict[str, Any]:
        entries: dict[str, Any] = to_data(self)
        for name in ("stopped", "relation_note", "relation_undecided"):
            if not entries[name]:
                del entries[name]
        if not self.players.settings:
            return entries
        names = {"learner": self.learner, "adversary": self.adversary}
        players = {
            role: {"name": name, "settings": to_data(self.players.settings.get(role, {}))}
            for role, name in names.items()
        }
        return {**entries, "players": players, "distinguisher": self.players.distinguisher}

    def rows(self) -> list[tuple[str, str]]:
        """The figures, each with its name; empty where there is none."""
        games, players, own = f"{self.games:,} in each world", self.players, self._other_own_claim
        if self.played_now < self.games:
            games += f", {self.games - self.played_now:,} of them from the ledger"
        speed = f"{self.games_per_second:,.0f} games a second, both worlds counted ({self.seconds:.1f} s)"
        return [
            ("learner", players.learner_set or self.learner),
            ("adversary", players.adversary_set or self.adversary),
            ("protocol", self.protocol),
            ("compared", players.seen),
            ("claim under test", str(self.claim)),
            ("learner's claim", "" if own is None else players.claim),
            ("certified", self.describe_bound()),
            ("for its curve", self.describe_curve_bound()),
            ("ceiling", self.describe_ceiling()),
            ("Clopper-Pearson", self._describe_classical()),
            ("games", games),
            ("speed", speed if self.played_now else ""),
            ("seed", describe_seed(self.seed, players.own_coins)),
        ]

    @property
    def _other_own_claim(self) -> Claim | None:
        """The learner's own claim, if another one was tested."""
        own = self.players.make_own_claim()
        is_other = own is not None and (own.epsilon, own.delta) != (self.claim.epsilon, self.claim.delta)
        return own if is_other else None

    def _judge(self, own: Claim) -> str:
        """The end of a sentence on the learner's own claim: what it is, and what the games say about it."""
        if own.empty:
            return ": it claims no privacy"
        if self.relation_note and not self.refuted:
            return f", which is {self.players.claim}"
        is_refuted = own.epsilon < self.epsilon_lower and own.delta <= self.claim.delta
        also = "is refuted, too" if self.refuted else "is refuted"
        return f". Its own, {self.players.claim}, {also if is_refuted else 'is not refuted by these games'}"

    def describe_bound(self) -> str:
        """The certified bound, its δ and its confidence."""
        conditions = f"at δ = {self.claim.delta:.3g}, confidence {self._describe_confidence()}"
        return f"{self.write_bound()} nats {conditions}"

    def _describe_confidence(self) -> str:
        return percent(self.confidence) + describe_validity(self.fixed_games)

    def describe_curve_bound(self) -> str:
        """The certified bound for the privacy curve of the claim; empty if it has none."""
        if self.curve_epsilon_lower is None:
            return ""
        bound = f"{self.write_bound(self.curve_epsilon_lower)} nats at δ = {self.claim.delta:.3g}"
        largest = "" if self.curve_lower is None else f": that of {self.curve_lower} is false"
        return f"{bound}, among privacy curves of the claim's shape{largest}"

    def describe_ceiling(self) -> str:
        """The largest bound that the games could have certified; empty if there were too few for any."""
        if self.fixed_games and (self.interrupted or self.stopped):
            return ""
        return f"ε ≥ {nats(self.ceiling)} nats, had the adversary told the worlds apart every time"

    def _describe_classical(self) -> str:
        """The classical bound, or why there is none; empty if another bound is certified at this number."""
        if self.fixed_games:
            return ""
        if self.clopper_pearson is not None:
            return f"ε ≥ {nats(self.clopper_pearson)} nats, for comparison"
        if self.until_refuted:
            return "not computed, since the number of games was not fixed beforehand"
        if self.interrupted or self.stopped:
            return "not computed, since the fixed number of games was not reached"
        return "not computed, since there are too few games to choose an event on some and count it on others"

    def explain(self) -> str:
        """The verdict in a few sentences."""
        explanation = f"{self.outcome}: {self.explain_outcome()}"
        if self.interrupted or self.stopped:
            ended = explain_stop(self.stopped).rstrip(".") or "Interrupted"
            if not self.games:
                return f"{ended}: no games were finished, so nothing is certified."
            if self.fixed_games:
                return f"{ended}: the number of games was fixed, and not reached, so nothing is certified."
            return f"{ended}; the games played so far count. {explanation}"
        return explanation

    def explain_outcome(self) -> str:
        """The rest of the sentence that begins with the outcome, and the largest bound that was possible."""
        confidence, certified = f"with confidence {percent(self.confidence)}", self._list_false_claims()
        if self.refuted:
            note = f" {self.relation_note}" if self.relation_note else ""
            return f"{confidence}, {self.describe_false_claims()}.{note}"
        if self.relation_note:
            return f"{confidence}, {self.relation_note}"
        if certified:
            comparison = "below neither" if len(certified) > 1 else "not below it"
            return (
                f"{confidence}, {self.describe_false_claims()}; the claim under test is {comparison}. "
                f"{self._explain_ceiling()}"
            )
        return f"these games certify no loss of privacy. {self._explain_ceiling()}"

    def describe_false_claims(self) -> str:
        """Which claims are certified to be false, as a part of a sentence: the one under test, if it is, and
        smaller ones, and larger ones."""
        false = self._list_false_claims()
        if self.refuted:
            return "the claim is false" + (f", and {', nor '.join(false)}" if false else "")
        return ", nor ".join(false) or "no claim is shown to be false"

    def _list_false_claims(self) -> list[str]:
        """The claims below each bound. A bound that does not exceed a claim that is refuted is left out."""
        bounds = [
            (self.epsilon_lower, f"claim below ε = {nats(self.epsilon_lower)} at δ = {self.claim.delta:.3g}")
        ]
        on_curve = self.curve_epsilon_lower or 0.0
        if on_curve > self.epsilon_lower:
            bounds.append((on_curve, f"privacy curve of the claim's shape below ε = {nats(on_curve)}"))
        least = self.claim.epsilon if self.refuted else None
        shown = [
            text for bound, text in bounds if bound > 0 and (least is None or is_visibly_above(bound, least))
        ]
        return [f"no {text} holds" if not place else f"any {text}" for place, text in enumerate(shown)]

    def _explain_ceiling(self) -> str:
        subject = "an adversary that always tells the worlds apart would have reached"
        if not self.refutable:
            more = "Play more."
            if self.claim.epsilon > EPSILON_MAX:
                more = f"No number of games refutes a claim above ε = {nats(EPSILON_MAX)}."
            return f"So few games could not refute it: even {subject} only ε = {nats(self.ceiling)}. {more}"
        return f"{subject.capitalize()} ε = {nats(self.ceiling)}."


def describe_seed(seed: object, own_coins: object) -> str:
    """The seed, and whether all random numbers follow from it."""
    caveat = ", but the learner draws its own random numbers: no run repeats these games"
    return f"{seed}{caveat if own_coins else ''}"


class RunStopped(ArenaError):
    """A failure that ends a run early. verdict: the figures so far, marked as interrupted, if any."""

    verdict: Verdict | None = None

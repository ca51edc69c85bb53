"""The outcome of an audit in figures and in words, and the base of errors that leave valid figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import attrs

from arena import ArenaError, Claim
from arena.privacy_curves import PrivacyCurve
from audits.registry.match import read_claim
from audits.registry.settings_text import format_settings, summarize_player
from audits.reports.formatting import nats, percent
from audits.reports.json_form import to_data
from audits.reports.report import Document, Facts, Listing, Part, Picture, Prose, Report
from audits.runs.plan import Plan
from audits.statistics.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALL_ESTIMATORS = (
    "All estimators, on the same games. Betting may be watched, and stopped at any time; the others hold at "
    "the number of games that was fixed beforehand. Each holds with the stated confidence by itself: choose "
    "one before you look."
)


@attrs.frozen(kw_only=True)
class PlayerSummary:
    """What the report on an audit says of its players.

    learner: its name. learner_set, adversary_set: names with the settings that differ from the defaults.
    settings: all of them, by "learner" and "adversary". own_claim: the learner's. own_coins: whether it draws
    random numbers that do not follow from the seed. distinguisher: as in `Plan`.
    """

    learner: str
    adversary: str
    learner_set: str
    adversary_set: str
    settings: Mapping[str, Mapping[str, str]]
    own_claim: Claim
    own_coins: bool
    distinguisher: str

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """The players of a plan. Raises: InvalidArgument as `read_claim` does."""
        return cls(
            learner=plan.learner.name,
            adversary=plan.adversary.name,
            learner_set=summarize_player(plan.learner),
            adversary_set=summarize_player(plan.adversary),
            settings={
                "learner": format_settings(plan.learner),
                "adversary": format_settings(plan.adversary),
            },
            own_claim=read_claim(plan.learner),
            own_coins=plan.learner.own_coins,
            distinguisher=plan.distinguisher,
        )


class RunRecord(Protocol):
    """The recorded games of a run, from which its charts are drawn."""

    def draw(self, axes: Axes) -> None:
        """Draw the certified bound over the games, beside the claim and the ceiling."""

    def render_page(self) -> str:
        """The page on the run."""


@attrs.frozen(kw_only=True, repr=False)
class Verdict(Report):
    """The outcome of an audit. All figures but `played_now` and `seconds` depend on the plan alone.

    claim: the claim under test. refuted: whether it is false, with confidence `confidence`.
    epsilon_lower: the certified bound (nats): with that confidence, every smaller ε at this δ is false.
    curve_lower: the same for the privacy curve of the claim: the largest curve of its family that is false,
        with all smaller ones. None if the claim under test has no curve, or none is certified to be false.
    curve_epsilon_lower: its ε at this δ; None if the claim has no curve. Both bounds hold together.
    ceiling: the epsilon_lower of an adversary that always tells the worlds apart, in as many games.
    refutable: whether that adversary would have refuted the claim.
    clopper_pearson: the classical bound on an event chosen on other games, for comparison; None if the number
        of games was not fixed beforehand or not reached, or there are too few blocks.
    games: in each world. played_now, seconds: games of this invocation in each world, and its duration.
    until_refuted: whether the run was to end when the claim is refuted.
    estimates: all estimators side by side, if asked for.
    players: what is known of them. plan: what was played; None if it is only known from a ledger.
    notes: how players and the distinguisher were chosen. record: the games, if they are kept for charts.
    """

    kind: ClassVar[str] = "audit"
    derived: ClassVar = ("delta", "games_per_second")

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
    until_refuted: bool = False
    estimates: tuple[Estimate, ...] | None = attrs.field(default=None, eq=False)
    curve_epsilon_lower: float | None = None
    curve_lower: PrivacyCurve | None = None
    players: PlayerSummary | None = attrs.field(default=None, repr=False, eq=False)
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
    def curve_note(self) -> str:
        """The bound for the privacy curve, in brackets after a space; empty if the claim has none."""
        bound, curve = self.curve_epsilon_lower, self.curve_lower
        if bound is None:
            return ""
        member = "" if curve is None else f", that of {curve}"
        return f" (ε ≥ {bound:.4g} for its privacy curve{member})"

    @property
    def outcome(self) -> str:
        """The verdict in a word."""
        return "Refuted" if self.refuted else "Not refuted"

    @property
    def headline(self) -> str:
        bound = f"ε ≥ {nats(self.epsilon_lower)} at δ = {self.claim.delta:.3g}"
        outcome = "interrupted" if self.interrupted else self.outcome.lower()
        return (
            f"{self.learner} against {self.adversary}: {outcome}, {bound}{self.curve_note} certified "
            f"(confidence {percent(self.confidence)}), claimed {nats(self.claim.epsilon)}"
        )

    # --- the document -----------------------------------------------------------------------------------

    def document(self) -> Document:
        notes = Listing("\n".join(f"note: {note}" for note in self.notes))
        parts: list[Part] = [notes, Facts(self.rows()), Prose(self.explain())]
        if self.players is not None and self.games and not self._tests_own_claim:
            parts.append(Prose(_explain_own_claim(self, self.players)))
        if self.estimates is not None:
            parts += [Prose(_ALL_ESTIMATORS), Facts([(row.method, str(row)) for row in self.estimates])]
        bars = {"certified": self.epsilon_lower, "claimed": self.claim.epsilon, "ceiling": self.ceiling}
        picture = Picture.of_bars(bars.items(), self.headline)
        return Document(parts=parts, picture=picture if self.record is None else Picture(self.record.draw))

    def _render_page(self) -> str:
        return super()._render_page() if self.record is None else self.record.render_page()

    def _describe(self) -> dict[str, Any]:
        entries: dict[str, Any] = to_data(self)
        players = self.players
        if players is None:
            return entries
        names = (("learner", players.learner), ("adversary", players.adversary))
        described = {
            role: {"name": name, "settings": to_data(players.settings.get(role, {}))} for role, name in names
        }
        return {**entries, "players": described, "distinguisher": players.distinguisher}

    def rows(self) -> list[tuple[str, str]]:
        """The figures, each with its name; empty where there is none."""
        games, players = f"{self.games:,} in each world", self.players
        if self.played_now < self.games:
            games += f", {self.games - self.played_now:,} of them from the ledger"
        speed = f"{self.games_per_second:,.0f} games a second, both worlds counted ({self.seconds:.1f} s)"
        return [
            ("learner", self.learner if players is None else players.learner_set),
            ("adversary", self.adversary if players is None else players.adversary_set),
            ("protocol", self.protocol),
            ("claim under test", str(self.claim)),
            ("learner's claim", "" if players is None or self._tests_own_claim else str(players.own_claim)),
            ("certified", self.describe_bound()),
            ("for its curve", self.describe_curve_bound()),
            ("ceiling", self.describe_ceiling()),
            ("Clopper-Pearson", self._describe_classical()),
            ("games", games),
            ("speed", speed if self.played_now else ""),
            ("seed", describe_seed(self.seed, players is not None and players.own_coins)),
        ]

    @property
    def _tests_own_claim(self) -> bool:
        own = self.claim if self.players is None else self.players.own_claim
        return (own.epsilon, own.delta) == (self.claim.epsilon, self.claim.delta)

    def describe_bound(self) -> str:
        """The certified bound, its δ and its confidence."""
        conditions = f"at δ = {self.claim.delta:.3g}, confidence {percent(self.confidence)}"
        return f"ε ≥ {nats(self.epsilon_lower)} nats {conditions}"

    def describe_curve_bound(self) -> str:
        """The certified bound for the privacy curve of the claim; empty if it has none."""
        if self.curve_epsilon_lower is None:
            return ""
        bound = f"ε ≥ {nats(self.curve_epsilon_lower)} nats at δ = {self.claim.delta:.3g}"
        largest = "" if self.curve_lower is None else f": that of {self.curve_lower} is false"
        return f"{bound}, among privacy curves of the claim's shape{largest}"

    def describe_ceiling(self) -> str:
        """The largest bound that the games could have certified."""
        return f"ε ≥ {nats(self.ceiling)} nats, had the adversary told the worlds apart every time"

    def _describe_classical(self) -> str:
        """The classical bound, or why there is none."""
        if self.clopper_pearson is not None:
            return f"ε ≥ {nats(self.clopper_pearson)} nats, for comparison"
        if self.until_refuted:
            return "not computed, since the number of games was not fixed beforehand"
        if self.interrupted:
            return "not computed, since the fixed number of games was not reached"
        return "not computed, since there are too few games to choose an event on some and count it on others"

    def explain(self) -> str:
        """The verdict in a few sentences."""
        explanation = f"{self.outcome}: {self.explain_outcome()}"
        if self.interrupted:
            if not self.games:
                return "Interrupted: no games were finished, so nothing is certified."
            return f"Interrupted; the games played so far count. {explanation}"
        return explanation

    def explain_outcome(self) -> str:
        """The rest of the sentence that begins with the outcome, and the largest bound that was possible."""
        confidence, certified = f"with confidence {percent(self.confidence)}", self.describe_false_claims()
        if self.refuted:
            return f"{confidence}, the claim is false, and {certified}."
        if self.epsilon_lower > 0 or self.curve_epsilon_lower:
            comparison = "below neither" if self._has_curve_bound else "not below it"
            return (
                f"{confidence}, {certified}; the claim under test is {comparison}. {self._explain_ceiling()}"
            )
        return f"these games certify no loss of privacy. {self._explain_ceiling()}"

    def describe_false_claims(self) -> str:
        """Which claims are certified to be false, as a part of a sentence."""
        false = f"no claim below ε = {nats(self.epsilon_lower)} at δ = {self.claim.delta:.3g} holds"
        if self._has_curve_bound:
            bound = nats(self.curve_epsilon_lower or 0.0)
            false += f", nor any privacy curve of the claim's shape below ε = {bound}"
        return false

    @property
    def _has_curve_bound(self) -> bool:
        return (self.curve_epsilon_lower or 0.0) > self.epsilon_lower

    def _explain_ceiling(self) -> str:
        subject = "an adversary that always tells the worlds apart would have reached"
        if not self.refutable:
            return (
                f"So few games could not refute it: even {subject} only ε = {nats(self.ceiling)}. Play more."
            )
        return f"{subject.capitalize()} ε = {nats(self.ceiling)}."


def _explain_own_claim(verdict: Verdict, players: PlayerSummary) -> str:
    """What the games say about the learner's own claim, if another one was tested."""
    own = players.own_claim
    if own.empty:
        return f"The claim under test is not {players.learner}'s own: it claims no privacy."
    is_refuted = own.epsilon < verdict.epsilon_lower and own.delta <= verdict.claim.delta
    also = "is refuted, too" if is_refuted else "is not refuted by these games"
    return f"The claim under test is not {players.learner}'s own. Its own, {own}, {also}."


def describe_seed(seed: object, own_coins: object) -> str:
    """The seed, and whether all random numbers follow from it."""
    caveat = ", but the learner draws its own random numbers: no run repeats these games"
    return f"{seed}{caveat if own_coins else ''}"


class RunStopped(ArenaError):
    """A failure that ends a run early.

    verdict: the figures of the blocks that were tested, marked as interrupted; None if the run had not begun.
    """

    verdict: Verdict | None = None

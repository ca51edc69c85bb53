"""Assertions about privacy claims, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from arena import REFEREES, Adversary, Claim, InvalidArgument, Learner, Referee
from arena.settings import at_least, whole
from audits.registry.pairing import choose_protocol, configure_game
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player
from audits.registry.tested_claim import read_claim, resolve_claim
from audits.runs.blocks import choose_distinguisher
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from audits.search import Script, SearchResult, referee_for, search, share_of_error
from audits.testing.budget import Budget, budget_of, ceiling_of, check_power, confidence_at, games_needed
from audits.testing.finding import Finding
from audits.testing.outcome import NotPrivate, NotRefuted, Outcome

ERROR = 1e-6
_FEWEST_CONFIRMED, _MOST_CONFIRMED = 20_000, 2_000_000  # games; only what a search hands over plays them
_MORE_THAN_NEEDED = 8  # for adversaries that err

Opponent = Adversary | str
Opponents = Opponent | Sequence[Opponent] | None


def assert_private(
    learner: Learner,
    *,
    claim: Claim | tuple[float, float] | None = None,
    against: Opponents = None,
    protocol: str | Referee | None = None,
    error: float = ERROR,
    games: int | None = None,
    budget: str | Budget = "usual",
    distinguisher: str | None = None,
    seed: int = 0,
    allow_underpowered: bool = False,
) -> Outcome:
    """Fail if the learner's claim is refuted.

    claim: a `Claim` or (ε in nats, δ); default: the learner's own.
    against: an adversary's spec or the name of a known one, or several; None searches for one.
    protocol: default: the usual one that both play.
    error: the chance, at most, that a true claim fails the test, all adversaries together.
    budget: "quick", "usual", "long" or a `Budget`. games: in each world, in place of the budget's; of a
        search, those that confirm what it finds.
    distinguisher: what tells the worlds apart, as a `Plan` has it; default: the adversary's score, else the best
        of the others.
    seed: of every coin: the same test always has the same outcome.
    allow_underpowered: play though the games could not refute the claim of a learner without privacy.

    Raises: NotPrivate if the claim is refuted; Underpowered; InvalidArgument for arguments that make no test;
    whatever a referee raises in a game.
    """
    __tracebackhide__ = True
    asked = _Asked(
        learner=learner,
        claim=_claim(learner, claim),
        protocol=protocol,
        error=error,
        games=games,
        budget=budget_of(budget),
        distinguisher=distinguisher,
        seed=seed,
        allow_underpowered=allow_underpowered,
    )
    outcome = asked.outcome(against)
    if outcome.finding is not None:
        raise NotPrivate(outcome)
    return outcome


def assert_refuted(
    learner: Learner,
    *,
    claim: Claim | tuple[float, float] | None = None,
    against: Opponents = None,
    protocol: str | Referee | None = None,
    error: float = ERROR,
    games: int | None = None,
    budget: str | Budget = "usual",
    distinguisher: str | None = None,
    seed: int = 0,
) -> Finding:
    """Fail unless the claim is refuted: for learners that are known to be broken. It stops once it is.

    The arguments are those of `assert_private`; `error` is the chance, at most, that a true claim passes.

    Raises: NotRefuted if the claim stands; otherwise as `assert_private`.
    """
    __tracebackhide__ = True
    asked = _Asked(
        learner=learner,
        claim=_claim(learner, claim),
        protocol=protocol,
        error=error,
        games=games,
        budget=budget_of(budget),
        distinguisher=distinguisher,
        seed=seed,
        until_refuted=True,
    )
    outcome = asked.outcome(against)
    if outcome.finding is None:
        raise NotRefuted(outcome)
    return outcome.finding


@attrs.frozen(kw_only=True)
class _Asked:
    """The arguments of a test."""

    learner: Learner
    claim: Claim
    protocol: str | Referee | None
    error: float
    games: int | None = attrs.field(validator=attrs.validators.optional([whole, at_least(1)]))
    budget: Budget
    distinguisher: str | None
    seed: int
    allow_underpowered: bool = False
    until_refuted: bool = False

    def outcome(self, against: Opponents) -> Outcome:
        confidence_at(self.error)  # refuses what is no error, before anything is played
        return self._sought() if against is None else self._played(_listed(against))

    # --- adversaries that are given ---------------------------------------------------------------

    def _played(self, opponents: Sequence[Opponent]) -> Outcome:
        share = self.error / len(opponents)
        games = self.budget.games if self.games is None else self.games
        plans = [self._plan(opponent, games, share) for opponent in opponents]
        self._check_power(games, share)
        verdicts: list[Verdict] = []
        finding = None
        for plan in plans:
            verdicts.append(_uninterrupted(run(plan)))
            if verdicts[-1].refuted:
                finding = Finding(plan=plan, verdict=verdicts[-1])
                break
        return self._outcome(verdicts, games, share, finding, played=sum(v.games for v in verdicts))

    def _plan(self, opponent: Opponent, games: int, share: float) -> Plan:
        adversary, referee = self._opponent(opponent)
        return Plan(
            learner=self.learner,
            adversary=adversary,
            referee=referee,
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            confidence=confidence_at(share),
            games=games,
            until_refuted=self.until_refuted,
            seed=self.seed,
            distinguisher=self.distinguisher or choose_distinguisher(self.learner, adversary, referee),
        )

    def _opponent(self, opponent: Opponent) -> tuple[Adversary, Referee]:
        if isinstance(opponent, str):
            opponent = build_player(ADVERSARIES.find(opponent), {}, learner=self.learner)
        if not isinstance(opponent, Adversary):
            raise InvalidArgument("an adversary is given by its spec or its name", value=opponent)
        if isinstance(self.protocol, Referee):
            return opponent, self.protocol
        name = choose_protocol(self.learner, opponent, self.protocol)
        if isinstance(opponent, Script):
            return opponent, referee_for(opponent)
        return configure_game(REFEREES[name], opponent)

    # --- adversaries that are searched for ----------------------------------------------------------

    def _sought(self) -> Outcome:
        if self.distinguisher is not None or isinstance(self.protocol, Referee):
            raise InvalidArgument(
                "a search chooses its distinguisher and its referee itself",
                value=self.distinguisher or self.protocol,
                remedy="Name the protocol, or say whom to play against.",
            )
        share = share_of_error(self.error, 1)
        games = self._confirmed_games(share)
        self._check_power(games, share)
        result = search(
            self.learner,
            protocol=self.protocol,
            claim=self.claim,
            error=self.error,
            examples=self.budget.examples,
            confirm_games=games,
            seed=self.seed,
        )
        if result.interrupted:
            raise KeyboardInterrupt
        verdicts = [] if result.verdict is None else [result.verdict]
        played = result.games + sum(verdict.games for verdict in verdicts)
        return self._outcome(verdicts, games, share, _found(result), played=played)

    def _confirmed_games(self, share: float) -> int:
        if self.games is not None:
            return self.games
        needed = games_needed(self.claim, error=share) or _MOST_CONFIRMED
        enough = min(_MORE_THAN_NEEDED * needed, _MOST_CONFIRMED)
        return max(self.budget.games, _FEWEST_CONFIRMED, enough)

    # --- both -------------------------------------------------------------------------------------------

    def _check_power(self, games: int, share: float) -> None:
        if not self.allow_underpowered:
            check_power(games, claim=self.claim, error=share)

    def _outcome(
        self, verdicts: Iterable[Verdict], games: int, share: float, finding: Finding | None, *, played: int
    ) -> Outcome:
        return Outcome(
            learner=self.learner.name,
            claim=self.claim,
            error=self.error,
            verdicts=tuple(verdicts),
            ceiling=ceiling_of(games, claim=self.claim, error=share),
            games=played,
            finding=finding,
        )


def _claim(learner: Learner, wanted: Claim | tuple[float, float] | None) -> Claim:
    """The claim under test: what may differ is always what the learner's own protects."""
    own = read_claim(learner)
    if isinstance(wanted, Claim):
        if (set(wanted.protects), wanted.neighbours) != (set(own.protects), own.neighbours):
            raise InvalidArgument(
                "a claim under test speaks of the neighbours that the learner's own speaks of",
                value=f"{wanted}, where {learner.name} has {own}",
                remedy="Give (epsilon, delta).",
            )
        return wanted
    if wanted is None:
        wanted = resolve_claim(learner, claims="nothing", option="claim=(epsilon, delta), ε in nats")
    epsilon, delta = wanted
    return attrs.evolve(own, epsilon=epsilon, delta=delta)


def _listed(against: Opponent | Sequence[Opponent]) -> Sequence[Opponent]:
    opponents = [against] if isinstance(against, Adversary | str) else list(against)
    if not opponents:
        raise InvalidArgument("a test plays against one adversary at least", value=against)
    return opponents


def _found(result: SearchResult) -> Finding | None:
    if result.plan is None or result.verdict is None:
        return None
    return Finding(plan=result.plan, verdict=result.verdict, sought=result)


def _uninterrupted(verdict: Verdict) -> Verdict:
    """The verdict, unless it was cut short: then Ctrl-C ends the test and not just one audit of it."""
    if verdict.interrupted:
        raise KeyboardInterrupt
    return verdict

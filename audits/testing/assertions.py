"""Assertions about privacy claims, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from arena import REFEREES, Adversary, Claim, InvalidArgument, Learner, NothingTested, Referee, Relation
from arena.privacy_curves import PrivacyCurve
from arena.settings import at_least, check_value, is_number, number, whole
from audits.adversary_search import Script, search, share_of_error
from audits.adversary_search.adversary_search import POWERLESS
from audits.data.user_records import choose_records
from audits.interrupts import Interrupted
from audits.registry.match import (
    change_claim,
    choose_protocol,
    complete_data,
    configure_game,
    get_given_curve,
    read_claim,
    resolve_claim,
    resolve_curve,
)
from audits.registry.players import (
    GivenLearner,
    choose_learner,
    configure_adversary,
    configure_learner,
)
from audits.registry.received import describe_received
from audits.registry.suggestions import explain_arguments
from audits.runs.blocks import choose_distinguisher, try_common_random_numbers
from audits.runs.learner_failures import check_learner_first
from audits.runs.limits import LOGGER, Limits, check_enough, explain_stop
from audits.runs.other_relation import OtherTest, decide_relation, is_chosen, is_open
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import EXPLAINED, UNDECIDED, Verdict
from audits.testing.outcome import (
    Budget,
    NotPrivate,
    NotRefuted,
    Outcome,
    Refutation,
    Undecided,
    check_power,
    compute_ceiling,
    compute_confidence,
    games_needed,
    get_budget,
)

ERROR = 1e-6
# Games that confirm an adversary of a search. They are played only if the search finds one.
_MIN_CONFIRMING_GAMES, _MAX_CONFIRMING_GAMES = 20_000, 2_000_000
_IMPERFECTION = 8  # times the games that a perfect adversary needs

Opponent = Adversary | str
Opponents = Opponent | Sequence[Opponent] | None


@explain_arguments
def assert_private(
    learner: GivenLearner | None = None,
    *,
    claim: Claim | PrivacyCurve | str | tuple[float, float] | None = None,
    make: Callable[[], Any] | None = None,
    data: Any = None,
    neighbours: Relation | str | None = None,
    user: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    against: Opponents = None,
    protocol: str | Referee | None = None,
    error: float = ERROR,
    games: int | None = None,
    budget: str | Budget = "usual",
    distinguisher: str | None = None,
    seed: int = 0,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    allow_underpowered: bool = False,
) -> Outcome:
    """Fail if the learner's claim is refuted.

    learner, make: a learner, the name of one, a mechanism, or what makes it, as in `audits.audit`.
    data, neighbours, user: what a function receives, as in `audits.search`.
    epsilon, delta: the claim, ε in nats; or claim: a `Claim`, (ε, δ), or a privacy curve as in
        `audits.audit`; default: the learner's own.
    against: an adversary or the name of one, or several; None searches for one.
    protocol: default: one that both players play.
    error: the maximum probability that a true claim fails the test, for all adversaries together.
    budget: "quick", "usual", "long" or a `Budget`. games: in each world, instead of the budget's; for a
        search, those that confirm an adversary.
    distinguisher: as in `Plan`; default: the adversary's score, otherwise the better of the others.
    seed: random seed, an integer ≥ 0. The same test always has the same outcome.
    max_calls, max_seconds: as in `audits.audit`, for the whole test; `Outcome.stopped` says if one ended it.
    allow_underpowered: play even if the games could not refute the claim of a learner without privacy.

    If nobody chose the relation, and a claim for records that are added or removed may be true although this
    one is refuted, these are tested, too, and decide; `Outcome.relation_note` says so. If they cannot be
    tested, or a limit ends a search before it could find or confirm anything, the test fails as undecided.

    A test of over ten seconds says what it costs, as a warning of the log `audits`.

    Raises: NotPrivate if the claim is refuted; Undecided; Underpowered; NotConforming if the learner fails
    `check_learner`; NothingTested if no claim could be refuted, or a limit left too few games;
    InvalidArgument; errors of a referee; Interrupted, with the figures so far.
    """
    __tracebackhide__ = True
    choices = choose_records(complete_data(learner, data), neighbours, user)
    player = configure_learner(*choose_learner(learner, make, choices))
    tested = (
        player,
        _resolve_claim(player, _choose_claim(claim, epsilon, delta)),
        protocol,
        error,
        games,
        budget,
        distinguisher,
        seed,
    )
    with Limits(max_calls, max_seconds) as limits:
        test = _PrivacyTest(
            *tested,
            allow_underpowered=allow_underpowered,
            limits=limits,
            relation_chosen=is_chosen(learner, choices),
        )
        outcome = test.run_both_relations(against)
    if outcome.refuted:
        raise NotPrivate(outcome)
    if outcome.undecided:
        raise Undecided(outcome)
    return outcome


@explain_arguments
def assert_refuted(
    learner: GivenLearner | None = None,
    *,
    claim: Claim | PrivacyCurve | str | tuple[float, float] | None = None,
    make: Callable[[], Any] | None = None,
    data: Any = None,
    neighbours: Relation | str | None = None,
    user: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    against: Opponents = None,
    protocol: str | Referee | None = None,
    error: float = ERROR,
    games: int | None = None,
    budget: str | Budget = "usual",
    distinguisher: str | None = None,
    seed: int = 0,
) -> Refutation:
    """Fail unless the claim is refuted: for learners that are known to be broken. It stops once it is.

    The arguments are those of `assert_private`; `error` is the maximum probability that a true claim passes.

    Raises: NotRefuted if the claim is not refuted; otherwise as `assert_private`.
    """
    __tracebackhide__ = True
    player = configure_learner(
        *choose_learner(learner, make, choose_records(complete_data(learner, data), neighbours, user))
    )
    tested = (
        player,
        _resolve_claim(player, _choose_claim(claim, epsilon, delta)),
        protocol,
        error,
        games,
        budget,
        distinguisher,
        seed,
    )
    outcome = _PrivacyTest(*tested, until_refuted=True).run(against)
    if outcome.refutation is None:
        raise NotRefuted(outcome)
    return outcome.refutation


def _choose_claim(claim: Any, epsilon: float | None, delta: float | None) -> Any:
    if epsilon is None and delta is None:
        return claim
    if claim is not None or epsilon is None:
        raise InvalidArgument(
            "a claim is given by epsilon and delta, or by claim",
            value=(epsilon, delta),
            remedy="Give epsilon, or leave out delta." if claim is None else "Leave out one of them.",
        )
    return epsilon, 0.0 if delta is None else delta


@attrs.frozen
class _PrivacyTest:
    learner: Learner
    claim: Claim
    protocol: str | Referee | None
    error: float
    games: int | None = attrs.field(validator=attrs.validators.optional([whole, at_least(1)]))
    budget: Budget = attrs.field(converter=get_budget)
    distinguisher: str | None
    seed: int
    allow_underpowered: bool = False
    until_refuted: bool = False
    limits: Limits = attrs.field(factory=Limits)
    relation_chosen: bool = True

    def run(self, against: Opponents) -> Outcome:
        check_value("error", self.error, number)
        compute_confidence(self.error)  # refuses an invalid error before anything is played
        if against is None:
            return self._search()
        check_enough(self.learner, self.limits.max_calls)
        if not self.until_refuted:
            check_learner_first(self.learner)
        opponents: list[Any] = list(against) if isinstance(against, list | tuple) else [against]
        if not opponents:
            raise InvalidArgument("a test plays against at least one adversary", value=against)
        return self._audit(opponents)

    def run_both_relations(self, against: Opponents) -> Outcome:
        """The outcome of the test and, if nobody chose the relation, and a claim for records that are added
        or removed may be true although this one is refuted, of another one for these."""
        outcome = self.run(against)
        if not outcome.refuted or self.relation_chosen:
            return outcome

        def play(player: Learner, claim: Claim, left: Limits) -> OtherTest:
            with left:
                test = attrs.evolve(self, learner=player, claim=claim, limits=left, relation_chosen=True)
                other = test.run(against)
            return OtherTest(
                epsilon_lower=other.epsilon_lower if other.refuted else None,
                tried=f"the test did not refute it, in {other.games:,} games in each world",
                undecided=other.undecided,
            )

        decision = decide_relation(self.learner, self.claim, outcome.epsilon_lower, play, self.limits)
        if decision is None or decision.refuted:
            return outcome
        if decision.interrupted:
            raise Interrupted(outcome.verdicts[-1])
        note = f"{UNDECIDED if decision.undecided else EXPLAINED}: {decision.note}"
        return attrs.evolve(outcome, refutation=None, relation_note=note, undecided=decision.undecided)

    def _audit(self, opponents: Sequence[Opponent]) -> Outcome:
        share = self.error / len(opponents)
        games = self._limit(self.budget.games if self.games is None else self.games)
        plans = [self._make_plan(opponent, games, share) for opponent in opponents]
        self._check_power(games, share)
        verdicts: list[Verdict] = []
        refutation = None
        for plan in plans:
            verdict = run(
                plan,
                limits=self.limits,
                announce=LOGGER.warning,
                relation_chosen=self.relation_chosen or not is_open(plan),
            )
            if verdict.interrupted:  # Ctrl-C ends the test, not only one of its audits
                raise Interrupted(verdict)
            verdicts.append(verdict)
            if verdict.refuted:
                refutation = Refutation(plan=plan, verdict=verdict)
                break
            if verdict.stopped:
                self._refuse_powerless(verdict.games, share, verdict.stopped)
                games = verdict.games
                break
        ceiling = compute_ceiling(
            games, claim=self.claim, error=share, block=max(plan.block for plan in plans)
        )
        outcome = self._make_outcome(verdicts, refutation, ceiling)
        unplayed = len(plans) - len(verdicts)
        if refutation is not None or not unplayed:
            return outcome
        return attrs.evolve(
            outcome,
            undecided=f"{unplayed} of {len(plans)} adversaries were not played before a limit was reached",
        )

    def _make_plan(self, opponent: Opponent, games: int, share: float) -> Plan:
        adversary, referee = self._configure(opponent)
        return Plan(
            learner=try_common_random_numbers(self.learner, adversary, referee),
            adversary=adversary,
            referee=referee,
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            curve=get_given_curve(self.learner, self.claim),
            confidence=compute_confidence(share),
            games=games,
            until_refuted=self.until_refuted,
            seed=self.seed,
            distinguisher=self.distinguisher or choose_distinguisher(self.learner, adversary, referee),
        ).fit_blocks(self.limits.max_calls, self.limits.max_seconds)

    def _configure(self, opponent: Opponent) -> tuple[Adversary, Referee]:
        adversary = configure_adversary(opponent, {}, learner=self.learner)
        if isinstance(self.protocol, Referee):
            return adversary, self.protocol
        if self.protocol is not None and not isinstance(self.protocol, str):
            raise InvalidArgument("protocol must be a name or a referee", value=self.protocol)
        name = choose_protocol(self.learner, adversary, self.protocol)
        if isinstance(adversary, Script):
            return adversary, adversary.referee
        return configure_game(REFEREES[name], adversary)

    def _search(self) -> Outcome:
        if self.distinguisher is not None or isinstance(self.protocol, Referee):
            raise InvalidArgument(
                "a search chooses its own distinguisher and referee",
                value=self.distinguisher or self.protocol,
                remedy="Name the protocol, or give an adversary.",
            )
        share = share_of_error(self.error, 1)
        games = self.games
        if games is None:
            needed = games_needed(self.claim, error=share) or _MAX_CONFIRMING_GAMES
            enough = min(_IMPERFECTION * needed, _MAX_CONFIRMING_GAMES)
            games = max(self.budget.games, _MIN_CONFIRMING_GAMES, enough)
        games = self._limit(games)
        self._check_power(games, share)
        result = search(
            self.learner,
            protocol=self.protocol,
            claim=self.claim,
            error=self.error,
            examples=self.budget.examples,
            confirm_games=games,
            seed=self.seed,
            max_calls=self.limits.max_calls,
            max_seconds=self.limits.max_seconds,
            relation_chosen=self.relation_chosen,
        )
        if result.interrupted:
            raise Interrupted(result)
        verdicts = () if result.verdict is None else (result.verdict,)
        refutation = None
        if result.plan is not None and result.verdict is not None:
            refutation = Refutation(plan=result.plan, verdict=result.verdict, search=result)
        if result.stopped:  # what so many games of one adversary could have shown
            self._refuse_powerless(result.games, share, result.stopped)
            games = min(games, result.games)
        ceiling = compute_ceiling(games, claim=self.claim, error=share)
        outcome = self._make_outcome(verdicts, refutation, ceiling, result.games, result.stopped)
        if result.undecided == POWERLESS and self.allow_underpowered:
            return outcome
        return attrs.evolve(outcome, undecided=result.undecided)

    def _make_outcome(
        self,
        verdicts: Sequence[Verdict],
        refutation: Refutation | None,
        ceiling: float,
        searched: int = 0,
        stopped: str = "",
    ) -> Outcome:
        return Outcome(
            learner=self.learner.own_name,
            claim=self.claim,
            error=self.error,
            verdicts=tuple(verdicts),
            ceiling=ceiling,
            games=searched + sum(verdict.games for verdict in verdicts),
            refutation=refutation,
            stopped=stopped or next((verdict.stopped for verdict in verdicts if verdict.stopped), ""),
            received=describe_received(self.learner),
        )

    def _limit(self, games: int) -> int:
        """At most so many games, with which the calls suffice."""
        return games if self.limits.max_calls is None else min(games, max(1, self.limits.max_calls // 2))

    def _refuse_powerless(self, games: int, share: float, reached: str) -> None:
        """Raises: NothingTested if so few games before a limit could not have refuted the claim."""
        ceiling = compute_ceiling(max(games, 1), claim=self.claim, error=share)
        if ceiling < self.claim.epsilon and not self.allow_underpowered:
            raise NothingTested(
                f"{self.learner.name}: {explain_stop(reached)} The {games:,} games in each world before that "
                f"cannot refute {self.claim}, not even for a learner without privacy. Allow more."
            )

    def _check_power(self, games: int, share: float) -> None:
        if not self.allow_underpowered:
            check_power(games, claim=self.claim, error=share, until_refuted=self.until_refuted)


def _resolve_claim(learner: Learner, claim: Claim | PrivacyCurve | str | tuple[float, float] | None) -> Claim:
    """The claim under test. The worlds may always differ in what the learner's own claim protects."""
    own = read_claim(learner)
    if isinstance(claim, Claim):
        if (set(claim.protects), claim.neighbours) != (set(own.protects), own.neighbours):
            raise InvalidArgument(
                "a claim under test must have the neighbours of the learner's own claim",
                value=f"{claim}, where {learner.own_name} has {own}",
                remedy="Give (epsilon, delta).",
            )
        return claim
    if isinstance(claim, PrivacyCurve | str):
        curve, epsilon, delta = resolve_curve(claim, None, None, learner)
        assert epsilon is not None
        assert delta is not None
        return change_claim(own, epsilon, delta, curve)
    if claim is None:
        claim = resolve_claim(learner, option="claim=(epsilon, delta), ε in nats")
    if not isinstance(claim, tuple | list) or len(claim) != 2 or not all(map(is_number, claim)):
        raise InvalidArgument(
            "claim must be a Claim or 2 numbers", value=claim, remedy="Write claim=(1.0, 0.0): ε in nats, δ."
        )
    epsilon, delta = claim
    return change_claim(own, epsilon, delta)

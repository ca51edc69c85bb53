"""Tests of claims: how many games they play, and their outcome, a refutation as a person needs it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import ceil, exp, log, log1p, nextafter
from typing import Any

import attrs

from arena import Adversary, ArenaError, Claim, InvalidArgument, Played
from arena.capabilities import read_schema
from arena.settings import at_least, whole
from audits.adversary_search import Score, Script, SearchResult
from audits.data.output_files import write_atomically
from audits.registry.received import describe_received
from audits.registry.suggestions import unknown_name
from audits.reports.data_pair import DataPair
from audits.reports.formatting import name_table, nats
from audits.runs.block_sizes import BlockSizes
from audits.runs.example_games import find_data, find_telling_games, format_games
from audits.runs.limits import explain_stop
from audits.runs.plan import MAX_BLOCK_PAIRS, Plan, first_block_pairs
from audits.runs.replay import FOUND_FILE, Replay, write_replay
from audits.runs.verdict import UNDECIDED, Verdict
from audits.statistics.betting import EPSILON_MAX, ceiling, is_refutable

MIN_ERROR = 1e-12  # below it 1 - error has too few significant digits in floating point
_MAX_GAMES = 10**10  # in each world; more cannot be played
_FIGURES = ("received", "claim under test", "certified", "told apart by", "adversary", "protocol", "games")
_MAX_LINES = 60  # of a printed game


@attrs.frozen(kw_only=True, slots=False)
class Refutation:
    """A refuted claim: the audit that refutes it, and the search that found the adversary, if one did."""

    plan: Plan
    verdict: Verdict
    search: SearchResult | None = None

    @property
    def adversary(self) -> Adversary:
        """The adversary that refutes the claim."""
        return self.plan.adversary

    @property
    def source(self) -> str:
        """A file of Python with the players that no command line can name; empty if one names both."""
        return self._unsaved.source

    @property
    def replay(self) -> str:
        """The command line that replays the audit, which may need `source` as found.py; empty if none can."""
        return self._unsaved.command

    @cached_property
    def _games(self) -> Sequence[Played]:
        plan = self.plan
        return find_telling_games(plan.learner, plan.adversary, plan.referee, seed=0, faults=plan.faults)

    @property
    def data(self) -> str:
        """The data of both worlds, if they are records: as code that makes them, or where they differ."""
        schema = read_schema(self.plan.learner)
        try:
            both = None if schema is None else find_data(self._games)
        except ArenaError:  # of which `game` speaks
            return ""
        return "" if schema is None or both is None else DataPair.of(schema, *both).text()

    @cached_property
    def _unsaved(self) -> Replay:
        return write_replay(self.plan, self.verdict)

    def save(self, file: str | os.PathLike[str], *, shown: str | None = None) -> Replay:
        """Write the file that the command reads, unless it reads none or there is none, and return both.

        shown: how the command names the file. Raises: InvalidArgument if it cannot be written.
        """
        folder = os.path.dirname(os.path.abspath(file))
        replay = write_replay(self.plan, self.verdict, file=shown or os.fspath(file), folder=folder)
        if replay.command and replay.source:
            with write_atomically("replay", file) as unfinished:
                unfinished.write_text(replay.source, encoding="utf-8")
        return replay

    @cached_property
    def game(self) -> str:
        """One game in each world, side by side: the first pair with a higher score in world 1."""
        try:
            lines = format_games(self._games).splitlines()
        except ArenaError as error:
            return f"(it ends early: {error})"
        omitted = len(lines) - _MAX_LINES
        return "\n".join([*lines[:_MAX_LINES], *([f"... and {omitted} lines more"] if omitted > 0 else [])])

    @property
    def headline(self) -> str:
        """The refutation in one line."""
        verdict = self.verdict
        false = f"every ε below {nats(verdict.epsilon_lower)} at δ = {verdict.claim.delta:.3g} is false"
        if verdict.epsilon_lower >= verdict.claim.epsilon and not verdict.exceeds_claim:
            false = f"{verdict.claim} is false"
        return (
            f"{verdict.learner} violates its claim: with confidence {100 * verdict.confidence:.10g} %, "
            f"{false}{verdict.curve_note}"
        )

    def describe(self, saved: Replay | None = None) -> str:
        """The figures, a game, and how to replay it. saved: what `save` returned, if it was called."""
        figures = dict(self.verdict.rows())
        figures["received"] = describe_received(self.plan.learner)
        if self.search is not None:
            tries = self.search.examples
            figures["adversary"] = f"found by a search, in {tries:,} tr{'y' if tries == 1 else 'ies'}"
        if isinstance(self.adversary, Script) and isinstance(self.adversary.score, Score):
            figures["told apart by"] = self.adversary.score.describe()
        sections = [
            name_table([(name, figures[name]) for name in _FIGURES if figures.get(name)]),
            *([f"The data in each world:\n\n{self.data}"] if self.data else []),
            f"One game in each world:\n\n{self.game}",
        ]
        replay = saved or self._unsaved
        if replay.source and (saved is None or replay.obstacle):
            use = "The adversary" if replay.obstacle else f"Save this as {FOUND_FILE}"
            sections.append(f"{use}:\n\n{replay.source.rstrip()}")
        if replay.obstacle:
            sections.append(
                f"Replay it by the same test, since no file can hold the players ({replay.obstacle})"
            )
        else:
            sections.append(f"Replay it:\n\n{replay.command}")
        return "\n\n".join(sections)

    def __str__(self) -> str:
        return f"{self.headline}\n\n{self.describe()}"


@attrs.frozen(kw_only=True)
class Outcome:
    """The outcome of a test of a claim.

    claim: under test. error: the maximum probability that it is refuted although it is true.
    verdicts: one for each adversary that was audited; for a search, that of the confirmed adversary.
    ceiling: the largest ε in nats that the games could have certified. games: in each world, with a search's.
    stopped: the limit that ended the test, "max_calls" or "max_seconds", if one did. relation_note: as in
    `audits.SearchResult`. undecided: why the claim is neither refuted nor not refuted, as a clause; empty if
    it is one of both.
    received: what a function received, what says so, and how to change it.
    """

    learner: str
    claim: Claim
    error: float
    verdicts: tuple[Verdict, ...]
    ceiling: float
    games: int
    refutation: Refutation | None
    stopped: str = ""
    relation_note: str = ""
    undecided: str = ""
    received: str = ""

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, with confidence 1 - error."""
        return self.refutation is not None

    @property
    def epsilon_lower(self) -> float:
        """The largest certified ε in nats: with confidence 1 - error, every claim of a smaller ε is false."""
        return max((verdict.epsilon_lower for verdict in self.verdicts), default=0.0)


class NotPrivate(AssertionError):
    """A claim of privacy is refuted. brief: whether the message is only one line; also set for the class."""

    brief = False

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        assert outcome.refutation is not None
        self.outcome = outcome
        self.refutation = outcome.refutation
        self.verdict = outcome.refutation.verdict
        self.adversary = outcome.refutation.adversary

    def __str__(self) -> str:
        return self.refutation.headline if self.brief else str(self.refutation)

    @property
    def replay(self) -> str:
        """The command line that replays the audit, as `Refutation.replay`."""
        return self.refutation.replay


class Undecided(AssertionError):
    """A test ended before it could decide whether a claim of privacy is refuted. Attribute: `outcome`."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        outcome = self.outcome
        reason = outcome.relation_note or f"{UNDECIDED}: {outcome.undecided}."
        stop = f"{explain_stop(outcome.stopped)} " if outcome.stopped else ""
        return f"{outcome.learner}: {outcome.claim} is neither refuted nor not refuted. {stop}{reason}"


class NotRefuted(AssertionError):
    """A claim that a test expects to be refuted is not. Attribute: `outcome`."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        outcome = self.outcome
        start = f"{outcome.learner}: the claim {outcome.claim} is not refuted at error {outcome.error:g}; "
        if outcome.undecided:
            return f"{start}the test is undecided: {outcome.undecided}"
        if not outcome.verdicts:
            return f"{start}a search confirmed no adversary, after {outcome.games:,} games in each world"
        return (
            f"{start}certified ε ≥ {outcome.epsilon_lower:.4g} nats in {outcome.games:,} games in each "
            f"world, which could have certified {outcome.ceiling:.4g}"
            + (f"; it received {outcome.received}" if outcome.received else "")
        )


@attrs.frozen
class Budget:
    """How much to play: games in each world, against one adversary; adversaries that a search tries."""

    games: int = attrs.field(validator=[whole, at_least(1)])
    examples: int = attrs.field(validator=[whole, at_least(1)])


BUDGETS = {"quick": Budget(4_000, 100), "usual": Budget(20_000, 500), "long": Budget(400_000, 5_000)}


class Underpowered(InvalidArgument):
    """Too few games to refute the claim, even for a learner without privacy. needed: None if too many."""

    def __init__(self, claim: Claim, *, error: float, games: int, needed: int | None) -> None:
        self.games, self.needed = games, needed
        sufficient = "no number of games is enough" if needed is None else f"games={needed:_} are enough"
        super().__init__(
            f"{games:,} games in each world cannot refute {claim} at error {error:g}, not even for a learner "
            "without privacy",
            remedy=f"At this error {sufficient}; or set allow_underpowered=True.",
        )


def get_budget(budget: str | Budget) -> Budget:
    """The budget of that name, or the budget itself. Raises: InvalidArgument if there is none."""
    if isinstance(budget, Budget):
        return budget
    if not isinstance(budget, str) or budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS, "; or Budget(games, examples)")
    return BUDGETS[budget]


def compute_confidence(error: float) -> float:
    """The confidence 1 - error of an audit, rounded up. Raises: InvalidArgument if there is none."""
    if not MIN_ERROR <= error < 1:
        raise InvalidArgument(
            f"the error of an audit must be a probability of at least {MIN_ERROR:g} and below 1", value=error
        )
    confidence = 1.0 - error
    return confidence if 1.0 - confidence <= error else nextafter(confidence, 1.0)


@lru_cache(maxsize=256)
def games_needed(claim: Claim, *, error: float, until_refuted: bool = False) -> int | None:
    """The games in each world that refute the claim of a learner whose worlds can always be distinguished.

    A learner that keeps some privacy needs more games. None if the number is too large to play.
    """
    if claim.epsilon > EPSILON_MAX or claim.delta >= 1:
        return None
    games = ceil(log(1 / error) / log1p(exp(-claim.epsilon)))
    while games <= _MAX_GAMES:
        if _can_refute(games, claim, error, until_refuted):
            return games
        games += games // 10 + 1
    return None


@lru_cache(maxsize=256)
def compute_ceiling(
    games: int, *, claim: Claim, error: float, until_refuted: bool = False, block: int = MAX_BLOCK_PAIRS
) -> float:
    """The largest ε in nats that so many games, in blocks of at most `block` pairs, can certify."""
    sizes, settings = _plan_betting(games, claim, error, until_refuted, block)
    return ceiling(sizes, **settings)


def _can_refute(games: int, claim: Claim, error: float, until_refuted: bool) -> bool:
    """Whether so many games refute the claim of a learner without privacy, at (ε, δ) or as a curve."""
    if compute_ceiling(games, claim=claim, error=error, until_refuted=until_refuted) >= claim.epsilon:
        return True
    if claim.curve is None:
        return False
    sizes, settings = _plan_betting(games, claim, error, until_refuted)
    return is_refutable(sizes, claim.curve, **settings)


def _plan_betting(
    games: int, claim: Claim, error: float, until_refuted: bool, block: int = MAX_BLOCK_PAIRS
) -> tuple[BlockSizes, dict[str, Any]]:
    """The blocks of an audit, and the settings of each of its tests."""
    share = error if claim.curve is None else error / 2  # a curve is tested beside (ε, δ)
    first = min(first_block_pairs(games, until_refuted=until_refuted), block)
    sizes = BlockSizes(games, first, block)
    return sizes, {"delta": claim.delta, "confidence": compute_confidence(share)}


def check_power(games: int, *, claim: Claim, error: float, until_refuted: bool = False) -> None:
    """Refuse a test that cannot fail. Raises: Underpowered."""
    if not _can_refute(games, claim, error, until_refuted):
        needed = games_needed(claim, error=error, until_refuted=until_refuted)
        raise Underpowered(claim, error=error, games=games, needed=needed)

"""The estimators of a plan: what a run tests its blocks by, and the verdict on them."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import exp, inf, log, log1p
from typing import TYPE_CHECKING

from arena.privacy_curves import PrivacyCurve
from audits.distinguishers.learned_distinguisher import DistinguisherTraining
from audits.distinguishers.view_features import Block, ViewCounts
from audits.runs.plan import Plan, PlanSettings
from audits.runs.verdict import RunNotes, Verdict
from audits.statistics.betting import Betting, ceiling, is_refutable
from audits.statistics.estimates import Estimate, Estimator, EstimatorContext, estimate_epsilon
from audits.statistics.estimators import ESTIMATORS
from audits.statistics.estimators.held_out import OneEvent
from audits.statistics.guess_counts import Guesses
from audits.statistics.score_histogram import BlockScatter
from audits.statistics.score_pairs import PairCounts

if TYPE_CHECKING:
    from audits.runs.ledger import Ledger

_LEARNING = 2  # times the games that a perfect adversary needs: a slower one has learned to bet by then
# Of all games, the share by which a distinguisher is chosen, and at a fixed number of games, where only the
# other games count.
_CHOOSING_SHARE, _FIXED_CHOOSING_SHARE = 0.4, 0.2
# At a fixed number of games, at least this number of pairs choose it, or a third of all: fewer may not show
# all views.
_FEWEST_CHOOSING, _LARGEST_CHOOSING_SHARE = 18, 1 / 3


def find_explained(epsilon: float, delta: float, curve: PrivacyCurve | None = None) -> float:
    """The largest loss in nats, where one record is replaced, that a true claim for records that are added or
    removed allows: 2ε, as a replaced record is one removed and one added. With a δ, or as a curve, the claim
    allows a larger δ there, and so bounds no ε at its own."""
    return 2 * epsilon if curve is None and delta == 0 else inf


class AuditEstimators:
    """The test of a plan's claim, and its estimators. Update them with the plan's blocks in order.

    all_estimators: include those that only a report shows; they take as long again. relation_chosen: whether
    somebody chose the neighbouring relation; if not, a run until the claim is refuted goes on until its bound
    exceeds what another relation explains, or hardly will.
    """

    def __init__(
        self, plan: PlanSettings, *, all_estimators: bool = False, relation_chosen: bool = True
    ) -> None:
        self.plan = plan
        self._explained = -inf if relation_chosen else find_explained(plan.epsilon, plan.delta, plan.curve)
        self._patience: float | None = None  # games after which a run goes on only if that is promising
        certifying: list[type[Estimator]] = [Guesses] if plan.fixed_games else []
        self._kinds = [*certifying, *ESTIMATORS] if all_estimators else certifying or [OneEvent]
        self._shows_all = all_estimators
        self.betting = Betting(epsilon_claim=plan.epsilon, **plan.of_betting())
        self._tests = [self.betting]
        if plan.curve is not None:
            self._tests.append(Betting(curve=plan.curve, **plan.of_betting()))
        self.estimators: list[Estimator] = []  # from the first block that the final distinguisher scores
        self._scatter = BlockScatter()
        self._learning: DistinguisherTraining | None = None
        self.block_sizes = array("q")  # eight bytes a block, since there may be millions of blocks
        self.first_blocks: list[Block] = []  # those that count their scores exactly
        self.games = 0

    @property
    def done(self) -> bool:
        """Whether a run until the claim is refuted has ended."""
        if not (self.plan.until_refuted and self.refuted):
            return False
        return self.epsilon_lower > self._explained or not self._may_exceed(self._explained)

    def _may_exceed(self, explained: float) -> bool:
        """Whether the games of the plan may still certify more than `explained`, as they came so far."""
        if explained == inf:
            return False
        if self._patience is None:
            perfect = -log(1 - self.plan.confidence) / log1p(exp(-explained))
            self._patience = _LEARNING * max(self.games, perfect)
        if self.games < self._patience:
            return True
        grid = self.betting.hypotheses
        index = next(place for place in range(len(grid)) if grid.read_bound(place) > explained)
        return self.betting.log_wealth[index] * self.plan.games >= self.betting.threshold * self.games

    @property
    def refuted(self) -> bool:
        if self.plan.fixed_games:
            return self.epsilon_lower > self.plan.epsilon
        return any(test.refuted for test in self._tests)

    @property
    def epsilon_lower(self) -> float:
        """The certified bound in nats; of a fixed number of games, 0 before the last one."""
        guesses = self._guesses
        if not self.plan.fixed_games:
            return self.betting.epsilon_lower
        return 0.0 if guesses is None else guesses.epsilon_lower or 0.0

    @property
    def _guesses(self) -> Guesses | None:
        return next((one for one in self.estimators if isinstance(one, Guesses)), None)

    @property
    def log_wealth(self) -> float:
        """The current log wealth against the claim, of the better test."""
        return max(test.log_wealth_now for test in self._tests)

    @property
    def log_evidence(self) -> float:
        """The evidence against the claim in nats; see `Betting`."""
        return max(test.log_evidence for test in self._tests)

    @property
    def scatter(self) -> BlockScatter:
        """The scatter of the scores of blocks, as one distinguisher gives them."""
        few = None if self._learning is None else self._learning.score_few()
        if few is not None:
            self._scatter.start_again(few)
        return self._scatter

    def update(self, block: Block) -> None:
        """Use the next block."""
        self.games += block.pairs
        self.block_sizes.append(block.pairs)
        if self.games - block.pairs < self.plan.exact_pairs:
            self.first_blocks.append(block)
        if isinstance(block, ViewCounts):
            self._learn(block)
        else:
            self._bet(block)
            self._update_estimators(block)

    def update_from_ledger(self, ledger: Ledger, watch: Callable[[], None] | None = None) -> None:
        """Use the next blocks of a ledger up to the first missing one. watch: called after every block."""
        for index, block in ledger.blocks(start=len(self.block_sizes)):
            if index != len(self.block_sizes) or self.done:
                return
            self.update(block)
            if watch is not None:
                watch()

    def _bet(self, block: PairCounts) -> None:
        for test in self._tests:
            test.update(block)
        self._scatter.update(block)

    def _learn(self, views: ViewCounts) -> None:
        """Bet on a block with the distinguisher learned from earlier blocks, then learn from the block."""
        if self._learning is None:
            self._learning = DistinguisherTraining(pairs=self._choosing_pairs, delta=self.plan.delta)
        scores, final_scores = self._learning.score(views), self._learning.score_finally(views)
        if scores is not None:
            self._bet(scores)
        if final_scores is not None:
            self._update_estimators(final_scores)
        relearned = self._learning.learn(views)
        if relearned is not None:
            for test in self._tests:
                test.start_again(relearned)
            self._scatter.start_again(relearned)

    @property
    def _choosing_pairs(self) -> int:
        """The number of pairs from which a distinguisher is learned and chosen."""
        games = self.plan.games
        if not self.plan.fixed_games:
            return max(1, int(_CHOOSING_SHARE * games))
        fewest = min(_FEWEST_CHOOSING, int(_LARGEST_CHOOSING_SHARE * games))
        return max(1, fewest, int(_FIXED_CHOOSING_SHARE * games))

    def _update_estimators(self, block: PairCounts) -> None:
        if not self.estimators:  # their games follow from the sizes of the blocks alone
            self.estimators = self._make_estimators(block.pairs + self.plan.games - self.games)
        for estimator in self.estimators:
            estimator.update(block)

    def _make_estimators(self, games: int) -> list[Estimator]:
        names = ("delta", "confidence", "epsilon", "curve", "seed", "paired")
        shared = {name: getattr(self.plan, name) for name in names}
        context = EstimatorContext(**shared, games=games, games_planned=self.plan.games)
        return [kind(context) for kind in self._kinds]

    def estimates(self) -> tuple[Estimate, ...]:
        """The rows of all estimators, the one that certifies first; requires `all_estimators`."""
        betting = estimate_epsilon(
            "betting", self.betting.epsilon_lower, assumes="nothing: it holds at any time"
        )
        estimators = self.estimators or self._make_estimators(self.plan.games)
        rows = [row for estimator in estimators for row in estimator.rows()]
        rows.insert(1 if self.plan.fixed_games else 0, betting)
        return tuple(rows)

    def make_verdict(
        self,
        notes: RunNotes,
        *,
        interrupted: bool | None = None,
        stopped: str = "",
        played_now: int = 0,
        seconds: float = 0.0,
        played: Plan | None = None,
    ) -> Verdict:
        """The verdict after the last block. interrupted: by default, whether games are missing. played: the
        plan, if it is more than a ledger's."""
        if interrupted is None:
            interrupted = not self.done and self.games < self.plan.games
        plan, epsilon_lower, refuted = self.plan, self.epsilon_lower, self.refuted
        curve, on_curve, guesses = plan.curve, self._tests[-1], self._guesses
        if not plan.fixed_games:
            highest = ceiling(self.block_sizes, **plan.of_betting())
        elif guesses is None or interrupted or stopped:
            highest, epsilon_lower, refuted = 0.0, 0.0, False
        else:
            highest = guesses.ceiling
        highest = max(highest, epsilon_lower)  # that of betting is computed from joined blocks
        refutable = highest >= plan.epsilon or (
            curve is not None and is_refutable(self.block_sizes, curve, **plan.of_betting())
        )
        # This bound is valid only at a number of games fixed beforehand.
        is_fixed = self.estimators and not (plan.until_refuted or interrupted or stopped)
        one_event = [one for one in self.estimators if isinstance(one, OneEvent)]
        return Verdict(
            learner=notes.learner,
            adversary=notes.adversary,
            protocol=notes.protocol,
            claim=notes.make_claim(plan),
            refuted=refuted,
            epsilon_lower=epsilon_lower,
            curve_epsilon_lower=None if curve is None else on_curve.epsilon_lower,
            curve_lower=None if curve is None else on_curve.curve_lower,
            confidence=plan.confidence,
            ceiling=highest,
            refutable=refutable,
            clopper_pearson=one_event[0].epsilon_lower if is_fixed and one_event else None,
            games=self.games,
            played_now=played_now,
            seconds=seconds,
            interrupted=interrupted,
            stopped=stopped,
            until_refuted=plan.until_refuted,
            fixed_games=plan.fixed_games,
            seed=plan.seed,
            estimates=self.estimates() if self._shows_all else None,
            players=notes,
            plan=played,
        )

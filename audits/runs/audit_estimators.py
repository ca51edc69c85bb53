"""The test of a claim and its estimators, updated block by block, from games as they are played or from a
ledger."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from arena import Claim, InvalidArgument, PrivacyUnit, Relation
from arena.privacy_curves import PrivacyCurve, read_curve
from arena.settings import at_least, check_value, less_than, more_than, one_of
from audits.distinguishers.learned_distinguisher import DistinguisherTraining
from audits.distinguishers.view_features import Block, ViewCounts
from audits.runs.block_sizes import keeps_half
from audits.runs.plan import DISTINGUISHERS, LIKELIHOOD, SCORE, Plan
from audits.runs.verdict import Verdict
from audits.statistics.betting import Betting
from audits.statistics.betting.ceilings import ceiling, is_refutable
from audits.statistics.block_scatter import BlockScatter
from audits.statistics.estimates import Estimates, FixedSizeEstimators
from audits.statistics.held_out import HeldOutEstimator
from audits.statistics.score_pairs import PairCounts

if TYPE_CHECKING:
    from audits.runs.ledger import Ledger

_CHOOSING_SHARE = 5  # one game in five serves to choose an event or a distinguisher


@attrs.frozen(kw_only=True)
class EstimatorSettings:
    """The entries of a plan that its estimators depend on; see `Plan`. curve: under test, if any."""

    epsilon: float
    delta: float
    confidence: float
    games: int
    until_refuted: bool
    distinguisher: str = SCORE
    curve: PrivacyCurve | None = None

    def of_betting(self) -> dict[str, Any]:
        """The settings of the betting tests, on which the ceiling depends, too.

        Of a claim with a curve there are two tests, which share the error evenly.
        """
        keep_half = keeps_half(self.games, until_refuted=self.until_refuted)
        confidence = self.confidence if self.curve is None else 1 - (1 - self.confidence) / 2
        return {
            "delta": self.delta,
            "confidence": confidence,
            "keep_half": keep_half,
            "log_ratios": self.distinguisher == LIKELIHOOD,
        }

    @classmethod
    def from_plan(cls, plan: Plan) -> EstimatorSettings:
        """The settings in a plan."""
        return cls(**{field.name: getattr(plan, field.name) for field in attrs.fields(cls)})

    @classmethod
    def from_ledger(cls, plan: Mapping[str, Any]) -> EstimatorSettings:
        """The settings in a stored plan. Raises: InvalidArgument if it is not that of an audit."""
        names = {field.name for field in attrs.fields(cls)} - {"curve", "distinguisher"}
        for name, (kind, *checks) in _STORED.items():
            if name not in plan and name not in names:
                continue
            value = plan.get(name)
            if type(value) is not kind:
                rule = f"the plan of an audit must have a {kind.__name__} called {name}"
                raise InvalidArgument(rule, value=value)
            check_value(f"{name} in the plan of an audit", value, *checks)
        curve = read_curve(plan["curve"]) if "curve" in plan else None
        given = names | ({"distinguisher"} & plan.keys())
        return cls(**{name: plan[name] for name in given}, curve=curve)


# The types and rules of the entries in the plan of an audit that are read from a ledger, as in `Plan`.
_STORED: dict[str, tuple[Any, ...]] = {
    "epsilon": (float, more_than(0), less_than(math.inf)),
    "delta": (float, at_least(0), less_than(1)),
    "confidence": (float, more_than(0), less_than(1)),
    "games": (int, at_least(1)),
    "block": (int, at_least(1)),
    "seed": (int, at_least(0)),
    "until_refuted": (bool,),
    "faults": (bool,),
    "distinguisher": (str, one_of(*DISTINGUISHERS)),
    **dict.fromkeys(("learner", "adversary", "referee"), (dict,)),
}


@attrs.frozen(kw_only=True)
class RunProgress:
    """The state of a run: games tested in each world, of how many, and the certified bound so far (nats)."""

    games: int
    games_planned: int
    epsilon_lower: float
    refuted: bool


class AuditEstimators:
    """The estimators of one plan. Update them with the plan's blocks in order.

    all_estimators: include those that a report shows and a verdict does not need; they take as long again.
    """

    def __init__(self, settings: EstimatorSettings, *, all_estimators: bool = False) -> None:
        self.settings = settings
        self._all = all_estimators
        delta, confidence = settings.delta, settings.confidence
        choosing_pairs = max(1, settings.games // _CHOOSING_SHARE)
        self.betting = Betting(epsilon_claim=settings.epsilon, **settings.of_betting())
        self._tests = [self.betting]
        if settings.curve is not None:
            self._tests.append(Betting(curve=settings.curve, **settings.of_betting()))
        self.held_out = HeldOutEstimator(delta=delta, confidence=confidence, choose_pairs=choosing_pairs)
        self._fixed_size: FixedSizeEstimators | None = None
        self.scatter = BlockScatter()
        self.learning = DistinguisherTraining(pairs=choosing_pairs, delta=delta)
        self.block_sizes = array("q")  # eight bytes a block, since there may be millions of blocks
        self.games = 0

    @property
    def done(self) -> bool:
        """Whether a run until the claim is refuted has ended."""
        return self.settings.until_refuted and self.refuted

    @property
    def refuted(self) -> bool:
        """Whether the claim is certified to be false."""
        return any(test.refuted for test in self._tests)

    @property
    def curve_epsilon_lower(self) -> float | None:
        """The certified bound for the claim's privacy curve, as in `Verdict`."""
        return None if self.settings.curve is None else self._tests[1].epsilon_lower

    @property
    def curve_lower(self) -> PrivacyCurve | None:
        """The largest false curve of the claim's family, as in `Verdict`."""
        return None if self.settings.curve is None else self._tests[1].curve_lower

    @property
    def log_wealth(self) -> float:
        """The current log wealth against the claim, of the better test."""
        return max(test.log_wealth_now for test in self._tests)

    @property
    def log_evidence(self) -> float:
        """The evidence against the claim in nats; see `Betting`."""
        return max(test.log_evidence for test in self._tests)

    def update(self, block: Block) -> None:
        """Use the next block."""
        self.games += block.pairs
        self.block_sizes.append(block.pairs)
        if isinstance(block, ViewCounts):
            self._learn(block)
        else:
            self._bet(block)
            self._update_fixed_size([block])

    def update_from_ledger(self, ledger: Ledger, watch: Callable[[], None] | None = None) -> None:
        """Use the next blocks of a ledger up to the first missing one; watch: called after every block."""
        for index, block in ledger.blocks(start=len(self.block_sizes)):
            if index != len(self.block_sizes) or self.done:
                return
            self.update(block)
            if watch is not None:
                watch()

    def _bet(self, block: PairCounts) -> None:
        for test in self._tests:
            test.update(block)
        self.scatter.update(block)

    def _learn(self, views: ViewCounts) -> None:
        """Bet on a block with the distinguisher learned from earlier blocks, then learn from the block."""
        scores, final = self.learning.score(views), self.learning.done
        if scores is not None:
            self._bet(scores)
        if final:
            assert scores is not None
            self._update_fixed_size([scores])
        relearned = self.learning.learn(views)
        if relearned is not None:
            for test in self._tests:
                test.start_again(relearned)
            self.scatter.start_again(relearned)

    def _update_fixed_size(self, blocks: list[PairCounts]) -> None:
        """Update the fixed-sample-size estimators, using only blocks scored by the final distinguisher."""
        if self._all and self._fixed_size is None:  # their games follow from the sizes of the blocks alone
            remaining = self.settings.games - self.games
            self._fixed_size = self._make_fixed_size(sum(block.pairs for block in blocks) + remaining)
        for block in blocks:
            self.held_out.update(block)
            if self._fixed_size is not None:
                self._fixed_size.update(block)

    def _make_fixed_size(self, games: int) -> FixedSizeEstimators:
        settings = self.settings
        return FixedSizeEstimators.of(
            delta=settings.delta,
            confidence=settings.confidence,
            games=games,
            claim=settings.epsilon,
            curve=settings.curve,
        )

    def progress(self) -> RunProgress:
        """The state of the run after the last block."""
        return RunProgress(
            games=self.games,
            games_planned=self.settings.games,
            epsilon_lower=self.betting.epsilon_lower,
            refuted=self.refuted,
        )

    def estimates(self) -> Estimates:
        """All estimators side by side; requires `all_estimators`."""
        fixed_size = self._fixed_size or self._make_fixed_size(self.settings.games)
        complete = self.games == self.settings.games
        return fixed_size.result(
            betting=self.betting.epsilon_lower, held_out=self.held_out.epsilon_lower if complete else None
        )

    def make_verdict(
        self,
        *,
        protects: tuple[PrivacyUnit, ...],
        neighbours: Relation | str,
        interrupted: bool,
        **details: Any,
    ) -> Verdict:
        """The verdict after the last block. protects, neighbours: of the claim. details: other fields."""
        settings = self.settings
        epsilon, delta, confidence = settings.epsilon, settings.delta, settings.confidence
        epsilon_lower = self.betting.epsilon_lower
        # The ceiling is computed from joined blocks, which may move it by one step of the grid.
        highest = max(ceiling(self.block_sizes, **settings.of_betting()), epsilon_lower)
        return Verdict(
            claim=Claim(
                epsilon=epsilon, delta=delta, protects=protects, neighbours=neighbours, curve=settings.curve
            ),
            refuted=self.refuted,
            epsilon_lower=epsilon_lower,
            curve_epsilon_lower=self.curve_epsilon_lower,
            curve_lower=self.curve_lower,
            confidence=confidence,
            ceiling=highest,
            refutable=highest >= epsilon
            or (
                settings.curve is not None
                and is_refutable(self.block_sizes, settings.curve, **settings.of_betting())
            ),
            # This bound is valid only at a number of games fixed beforehand.
            clopper_pearson=None if settings.until_refuted or interrupted else self.held_out.epsilon_lower,
            games=self.games,
            interrupted=interrupted,
            until_refuted=settings.until_refuted,
            **details,
        )

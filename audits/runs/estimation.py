"""The course of an audit, block by block: the same whether games are played or a ledger is read."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import attrs

from arena import Claim, InvalidArgument, Neighbours, PrivacyUnit
from audits.distinguishers.learned import Learning
from audits.distinguishers.view_features import Block, ViewCounts
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict
from audits.statistics.betting import Betting, ceiling
from audits.statistics.clopper_pearson import HeldOut
from audits.statistics.estimates import Estimates, Estimators
from audits.statistics.score_pairs import PairCounts


@attrs.frozen(kw_only=True)
class Numbers:
    """The numbers of a plan that its estimators hang on; see `Plan`."""

    epsilon: float
    delta: float
    confidence: float
    games: int
    until_refuted: bool

    @classmethod
    def of(cls, plan: Plan) -> Numbers:
        """Those of a plan."""
        return cls(**{field.name: getattr(plan, field.name) for field in attrs.fields(cls)})

    @classmethod
    def read(cls, plan: Mapping[str, Any]) -> Numbers:
        """Those of a plan as a ledger holds it. Raises: InvalidArgument if it is not an audit's."""
        kinds = {"epsilon": float, "delta": float, "confidence": float, "games": int, "until_refuted": bool}
        for name, kind in kinds.items():
            if type(plan.get(name)) is not kind:
                raise InvalidArgument(
                    f"the plan of an audit has a number called {name}", value=plan.get(name)
                )
        return cls(**{name: plan[name] for name in kinds})


@attrs.frozen(kw_only=True)
class Progress:
    """How far a run is: games played in each world, of how many, and the bound so far."""

    games: int
    of: int
    epsilon_lower: float
    refuted: bool


class Course:
    """The estimators of one plan. Feed it the plan's blocks in order.

    every: with the estimators that a report shows and a verdict does not need; they take as long again.
    """

    def __init__(self, numbers: Numbers, *, every: bool = False) -> None:
        self.numbers = numbers
        self._every = every
        delta, confidence = numbers.delta, numbers.confidence
        choose = max(1, numbers.games // 5)
        self.betting = Betting(delta=delta, confidence=confidence, epsilon_claim=numbers.epsilon)
        self.held_out = HeldOut(delta=delta, confidence=confidence, choose_pairs=choose)
        self._fixed: Estimators | None = None
        self.learning = Learning(pairs=choose)
        self.sizes = array("q")  # eight bytes a block, of which there may be millions
        self.games = 0

    @property
    def done(self) -> bool:
        """Whether a run until refuted has come to its end."""
        return self.numbers.until_refuted and self.betting.refuted

    def update(self, result: Block) -> None:
        """Take in the next block."""
        self.games += result.pairs
        self.sizes.append(result.pairs)
        if isinstance(result, ViewCounts):
            self._learn(result)
        else:
            self.betting.update(result)
            self._count([result])

    def _learn(self, views: ViewCounts) -> None:
        """Bet on a block with the distinguisher learned before it, then learn from it."""
        scores, settled = self.learning.scored(views), self.learning.done
        if scores is not None:
            self.betting.update(scores)
        if settled:
            assert scores is not None
            self._count([scores])
        relearned = self.learning.learn(views)
        if relearned is not None:
            self.betting.start_again(relearned)
            if self.learning.done:
                self._count(relearned)

    def _count(self, blocks: list[PairCounts]) -> None:
        """Feed what holds at a number of games fixed beforehand: its games have one distinguisher, which did not
        learn from them. How many they will be follows from the sizes of blocks alone."""
        if self._every and self._fixed is None:
            to_come = self.numbers.games - self.games
            self._fixed = self._estimators(sum(block.pairs for block in blocks) + to_come)
        for block in blocks:
            self.held_out.update(block)
            if self._fixed is not None:
                self._fixed.update(block)

    def _estimators(self, games: int) -> Estimators:
        numbers = self.numbers
        return Estimators.of(
            delta=numbers.delta, confidence=numbers.confidence, games=games, claim=numbers.epsilon
        )

    def progress(self) -> Progress:
        """How far they are."""
        return Progress(
            games=self.games,
            of=self.numbers.games,
            epsilon_lower=self.betting.epsilon_lower,
            refuted=self.betting.refuted,
        )

    def estimates(self) -> Estimates:
        """What all estimators say, side by side, if it is fed to `every` one."""
        fixed = self._fixed or self._estimators(self.numbers.games)
        done = self.games == self.numbers.games
        return fixed.result(
            betting=self.betting.epsilon_lower, held_out=self.held_out.epsilon_lower if done else None
        )

    def verdict(
        self, *, protects: tuple[PrivacyUnit, ...], neighbours: Neighbours, interrupted: bool, **rest: Any
    ) -> Verdict:
        """What they say. protects, neighbours: of the claim; rest: what a `Verdict` has beside figures."""
        numbers = self.numbers
        return Verdict(
            claim=Claim(
                epsilon=numbers.epsilon, delta=numbers.delta, protects=protects, neighbours=neighbours
            ),
            refuted=self.betting.refuted,
            epsilon_lower=self.betting.epsilon_lower,
            confidence=numbers.confidence,
            ceiling=ceiling(self.sizes, delta=numbers.delta, confidence=numbers.confidence),
            # It holds at a number of games fixed beforehand, and only there.
            clopper_pearson=None if numbers.until_refuted or interrupted else self.held_out.epsilon_lower,
            games=self.games,
            interrupted=interrupted,
            **rest,
        )

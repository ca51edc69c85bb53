"""Theorem 3.3 as an attack: the hypothesis that answers give away, and what the theorem says of its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, log
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Figure1, InvalidArgument, Learner, Moves, play
from audits.races.mistakes.games import play_all
from audits.races.mistakes.plan import Contest, Entrant
from audits.registry.settings_text import format_settings, summarize_player
from audits.runs.workers import Workers
from audits.statistics.means_and_shares import Middle, Share

GAMES = 400
BOOST = 40
PRINTED = 104  # of R in AccuracyBoost
LEARNER, BOOSTER = 8, 24  # the claims are of 8α and 24α


@attrs.frozen(kw_only=True)
class Extraction(Contest):
    """The plan: each table is one AccuracyBoost, whose games have samples of their own and one target.

    beta: β, which a share of games may break what α bounds. block: R of AccuracyBoost.
    """

    beta: float
    block: int

    @property
    def at(self) -> tuple[int, ...]:
        return (1,)


@attrs.frozen(kw_only=True)
class Extracted:
    """What a learner gave away.

    queries: R. alpha: what the mean error of a game's hypotheses stays within, but for a share β of games.
    error: of the learned hypothesis. exceeding: the share of games in which it is above 8α, which Claim B.1
    holds to 1/4. failed: the share that failed. boosted: the error of the majority of a table's hypotheses,
    beside 24α.
    """

    label: str
    learner: Learner
    adversary: Adversary
    points: int
    queries: int
    alpha: float
    error: Middle
    exceeding: Share
    failed: float
    boosted: Middle

    @property
    def broken(self) -> bool:
        """Whether Claim B.1 is refuted."""
        return self.exceeding.lower > 0.25

    def as_json(self) -> dict[str, Any]:
        learner = self.learner
        return {
            "label": self.label,
            "learner": learner.name,
            "settings": format_settings(learner),
            "points": self.points,
            "queries": self.queries,
            "alpha": self.alpha,
            "bound": LEARNER * self.alpha,
            "boosted_bound": BOOSTER * self.alpha,
            "error": self.error.as_json(),
            "exceeding": self.exceeding.as_json(),
            "failed": self.failed,
            "boosted": self.boosted.as_json(),
            "broken": self.broken,
        }


@attrs.frozen(kw_only=True)
class ExtractionResult:
    """The figures of all learners, in the order of the plan."""

    plan: Extraction
    found: tuple[Extracted, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known."""
        names = ("games", "block", "beta", "confidence", "seed")
        told = {("boost" if name == "block" else name): getattr(self.plan, name) for name in names}
        learners = [one.as_json() for one in self.found]
        return {"adversary": summarize_player(self.found[0].adversary)} | told | {"learners": learners}


@attrs.frozen
class Recorded(Adversary):
    """The adversary, of whose games everything is kept that it learned."""

    protocols = ("Figure1",)

    adversary: Adversary
    kept: list[Any] = attrs.field(factory=list, eq=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.adversary.name

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learned = yield from self.adversary.learn(games, rng)  # type: ignore[attr-defined]
        self.kept.append(learned)
        return np.asarray(learned.errors)


def extraction(
    learners: Sequence[tuple[str, Learner]],
    made: Callable[[Learner], Adversary],
    *,
    games: int = GAMES,
    boost: int = BOOST,
    **others: Any,
) -> Extraction:
    """The plan. made: the adversary for a learner. boost: R of AccuracyBoost; games are a multiple of it.

    Raises: InvalidArgument if games are none, or a learner has no class with a finite domain.
    """
    entrants = [
        Entrant(label=label, learner=learner, adversary=made(learner), referee=Figure1())
        for label, learner in learners
    ]
    for entrant in entrants:
        if _points(entrant) == 0:
            raise InvalidArgument(
                f"{entrant.label} has no class with a finite domain, and all of it must be asked",
                value=getattr(entrant.learner, "concepts", None),
                remedy="Give it one, as in --set concepts=thresholds:1..16.",
            )
    if isinstance(boost, bool) or not isinstance(boost, int) or boost < 1 or games % boost:
        raise InvalidArgument(
            "games are played in tables of `boost`, which are all put to one vote",
            value=f"{games} games, boost {boost}",
            remedy=f"Give --games {ceil(games / max(1, boost)) * max(1, boost)}.",
        )
    beta = getattr(entrants[0].adversary, "beta", 0.125)
    return Extraction(entrants=tuple(entrants), games=games, block=boost, beta=beta, **others)


def run(
    plan: Extraction, *, jobs: int | Workers = 1, watch: Callable[[int], None] | None = None
) -> ExtractionResult:
    """Play the plan. jobs: processes, or `Workers`; the figures do not depend on them. watch: is told the
    games played.

    Raises: whatever a referee or a player raises in a game.
    """
    figures = play_all(plan, partial(play_block, plan), jobs, watch)
    found = [_extracted(plan, entrant, one) for entrant, one in zip(plan.entrants, figures, strict=True)]
    return ExtractionResult(plan=plan, found=tuple(found))


def play_block(plan: Extraction, task: tuple[int, int]) -> np.ndarray:
    """(4, n): of the games of a table, the error of the learned hypothesis, the share of wrong answers,
    whether it failed, and the error of the majority of all. task: (number of the entrant, block).
    """
    entrant = plan.entrants[task[0]]
    recorded = Recorded(entrant.adversary)
    play(entrant.learner, recorded, entrant.referee, games=plan.games_in(task[1]), seed=plan.seed_of(*task))
    learned = recorded.kept[0]
    boosted = np.full(len(learned.failed), learned.boosted)
    return np.stack([learned.errors, learned.wrong, learned.failed.astype(float), boosted])


def printed_boost(beta: float) -> int:
    """R of AccuracyBoost as printed: 104 ln(1/β)."""
    return ceil(PRINTED * log(1 / beta))


def _points(entrant: Entrant) -> int:
    """|X|, or 0 if it is not finite."""
    own = getattr(entrant.adversary, "concepts", None) or getattr(entrant.learner, "concepts", None)
    return len(getattr(own, "domain", None) or ())


def _extracted(plan: Extraction, entrant: Entrant, figures: np.ndarray) -> Extracted:
    errors, wrong, failed, boosted = figures
    alpha = float(np.quantile(wrong, 1 - plan.beta, method="higher"))
    level = (1 - plan.confidence) / (3 * len(plan.entrants))
    points = _points(entrant)
    return Extracted(
        label=entrant.label,
        learner=entrant.learner,
        adversary=entrant.adversary,
        points=points,
        queries=entrant.adversary.rounds(points),  # type: ignore[attr-defined]
        alpha=alpha,
        error=Middle.of(errors, level),
        exceeding=Share.of(errors > LEARNER * alpha, level),
        failed=float(failed.mean()),
        boosted=Middle.of(boosted[:: plan.block], level),
    )

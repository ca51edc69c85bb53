"""A sequential test of what an odometer reports, by bets that weigh each view by the loss that it holds.

Claim: P₁(view) ≤ e^{ε(view)} P₀(view) but for a probability of E₁[δ(view)], and with the worlds exchanged.
Validity: docs/proofs/ex_post.md.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.settings import check_value, less_than, more_than

LARGEST_STAKE = 0.5  # since a bet loses at most 1 + δ ≤ 2
_THRESHOLDS = 24  # of each direction
# By how many nats the reported losses may be too small: the claim, and what a bound may say.
_SHORTFALLS = np.append(0.0, np.geomspace(0.01, 10.0, 60))


@attrs.frozen(eq=False)
class ExPostPairs:
    """Pairs of games. Row b of each array (2, k) is the game in world b: its score, larger for what looks
    like world 1, best a log-likelihood ratio; the ε in nats and the δ in [0, 1] that it reported. counts:
    (k,), how often."""

    scores: np.ndarray
    losses: np.ndarray
    deltas: np.ndarray
    counts: np.ndarray

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    def list_margins(self, world: int) -> np.ndarray:
        """(2, k): by how much the score of each game, as evidence for `world`, exceeds its own loss."""
        return (self.scores if world else -self.scores) - self.losses


def join_pairs(blocks: list[ExPostPairs]) -> ExPostPairs:
    names = ("scores", "losses", "deltas", "counts")
    return ExPostPairs(*(np.concatenate([getattr(b, name) for b in blocks], axis=-1) for name in names))


@attrs.frozen(eq=False)
class _Bet:
    """On the event that a margin is at least `threshold`, in a game of `world`; stakes of each hypothesis."""

    world: int
    threshold: float
    stakes: np.ndarray  # (G,)

    def log_growth(self, block: ExPostPairs) -> np.ndarray:
        own, other = block.list_margins(self.world)[[self.world, 1 - self.world]] >= self.threshold
        weights = np.exp(-block.losses[self.world]) * own
        gains = np.exp(-_SHORTFALLS)[:, None] * weights - other - block.deltas[self.world]
        return np.log1p(self.stakes[:, None] * gains) @ block.counts


class ExPostBetting:
    """An anytime-valid test of an odometer, and a lower bound on the nats that are missing in its reports.

    With probability at least `confidence` a true odometer is never refuted, and `shortfall` never exceeds the
    least s for which reports of ε(view) + s would be true. The pairs of a block must be independent given the
    earlier blocks, and its scores functions of each view that depend on earlier blocks alone.
    """

    def __init__(self, *, confidence: float) -> None:
        check_value("confidence", confidence, more_than(0), less_than(1))
        self.threshold = -math.log(1.0 - confidence)
        self.pairs = 0
        self._log_wealth = np.zeros(len(_SHORTFALLS))
        self._peak = np.zeros(len(_SHORTFALLS))
        self._bets: list[_Bet] = []
        self._seen: list[ExPostPairs] = []

    def update(self, block: ExPostPairs) -> None:
        """Play the bets that earlier blocks suggest on a block, then learn from it."""
        for bet in self._bets:
            self._log_wealth += bet.log_growth(block)  # 0 where the stake is
        self._peak = np.maximum(self._peak, self._log_wealth)
        self.pairs += block.pairs
        self.learn([*self._seen, block])

    def learn(self, blocks: list[ExPostPairs]) -> None:
        """Choose the next bets by these blocks, such as the earlier ones scored anew."""
        self._seen = blocks
        self._bets = choose_bets(join_pairs(blocks))

    @property
    def log_evidence(self) -> float:
        """The highest log wealth against the odometer so far, in nats."""
        return float(self._peak[0])

    @property
    def refuted(self) -> bool:
        return self.log_evidence >= self.threshold

    @property
    def shortfall(self) -> float:
        """The certified bound in nats: reports that are larger by less than this would be false, too."""
        stands = ~(self._peak >= self.threshold)
        rejected = int(stands.argmax()) if stands.any() else len(stands)
        return float(_SHORTFALLS[rejected - 1]) if rejected else 0.0


def choose_bets(seen: ExPostPairs) -> list[_Bet]:
    """For each hypothesis the event and the stake that would have won most in these games."""
    best = np.zeros(len(_SHORTFALLS))
    chosen: list[_Bet] = []
    factors = np.exp(-_SHORTFALLS)
    share = seen.counts / max(seen.pairs, 1)
    owner = np.full(len(_SHORTFALLS), -1)
    for world in (0, 1):
        margins = seen.list_margins(world)
        own, other = margins[world], margins[1 - world]
        weights = np.exp(-seen.losses[world])
        cost = seen.deltas[world]
        places = np.linspace(0, 1, _THRESHOLDS + 2)[1:-1]
        for threshold in np.unique(np.quantile(margins.ravel(), places, method="higher")):
            win, lose = (own >= threshold) * weights, (other >= threshold) + cost
            mean = factors * (win @ share) - lose @ share
            square = factors**2 * (win**2 @ share) - 2 * factors * (win * lose @ share) + lose**2 @ share
            stakes = np.clip(mean / np.maximum(square, 1e-12), 0.0, LARGEST_STAKE)
            growth = stakes * mean - stakes**2 * square / 2
            better = growth > best
            best = np.where(better, growth, best)
            owner[better] = len(chosen)
            chosen.append(_Bet(world, float(threshold), stakes))
    return [
        attrs.evolve(bet, stakes=np.where(owner == place, bet.stakes, 0.0))
        for place, bet in enumerate(chosen)
        if (owner == place).any()
    ]

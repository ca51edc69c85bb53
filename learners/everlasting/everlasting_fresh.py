"""everlasting-fresh: GenericBBL that learns from fresh unlabelled points, which queries cannot poison."""

from __future__ import annotations

from collections import deque

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.errors import BudgetExceeded
from arena.points import is_shared
from arena.settings import at_least, setting, whole
from learners.everlasting.bbl_round import FRESH_ANSWERS
from learners.everlasting.everlasting_v2 import EverlastingV2, V2State
from learners.mechanisms.accounting import Guarantee


@attrs.frozen
class EverlastingFresh(EverlastingV2):
    """GenericBBL with fresh unlabelled points in place of queries: Remark 3 of section 1.3.

    The source is Private Everlasting Prediction, v2. It answers as everlasting-v2 does. D_i is made of F_i
    points of the stream that the move `Unlabelled` provides: D_1 of the first F_1 points, D_2 of the next
    F_2, however queries fall among them. If the answers of a round are used up before its points have come,
    the next query is refused.

    The paper gives no proof of privacy; see docs/proofs/everlasting_fresh.md. A query leaves no trace: its
    cost is (0, 0).
    """

    name = "everlasting-fresh"
    theorem = "Remark 3 of Private Everlasting Prediction, v2, section 1.3; docs/proofs/everlasting_fresh.md"
    in_paper = False
    training_source = "fresh points"
    _practical_answers = FRESH_ANSWERS

    pool: int | None = setting(
        None,
        unit="points",
        help="F_1, fresh points of round 1, quadrupled every round; default: as many as round 2 needs",
        check=[whole, at_least(1)],
    )

    def start(self, games: int, rng: np.random.Generator) -> FreshState:
        return FreshState(self, games, rng)

    @classmethod
    def settings_before_fitting(cls) -> dict[str, str]:
        return {"training_rate": "1", "rate": "1"}

    def pool_size(self, index: int) -> int:
        """F_i = |D_i|: the number of fresh points of round `index`."""
        return self._pool_for_next_round(index) if self.pool is None else self.pool * 4 ** (index - 1)

    @property
    def costs(self) -> dict[PrivacyUnit, Guarantee]:
        return {**super().costs, PrivacyUnit.UNLABELLED_EXAMPLE: self._cost_of_pool_point()}

    def _cost_of_query(self) -> Guarantee:
        return Guarantee(0.0, 0.0)


class FreshState(V2State):
    """everlasting-fresh in a batch of games."""

    _learner: EverlastingFresh

    def __init__(self, learner: EverlastingFresh, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, rng)
        self._ready: deque[np.ndarray] = deque()  # D̂_i, D̂_{i+1}, … whose points have all come
        self._start_pool(1)

    def receive_unlabelled(self, x: np.ndarray) -> None:
        """Receive fresh unlabelled points (n, k, ...). Points that no round needs are dropped."""
        self._learner.concepts.check(x[0] if is_shared(x) else x)
        while x.shape[1] and self._pool_index != self._learner.rounds:
            k = min(x.shape[1], self._missing)
            self._pool.offer(x[:, :k])
            self._missing -= k
            x = x[:, k:]
            if not self._missing:
                self._ready.append(self._pool.collect())
                self._start_pool(self._pool_index + 1)

    def _start_pool(self, index: int) -> None:
        self._pool_index = index
        self._missing = self._learner.pool_size(index)
        self._pool = self._new_pool(index)

    def _open_pool(self, round: object) -> None:
        """Pools begin with the stream of points, not with rounds."""

    def _add_queries(self, x: np.ndarray) -> None:
        """Queries are not stored."""

    def _draw_pool(self) -> np.ndarray:
        if not self._ready:
            index, needed = self._pool_index, self._learner.pool_size(self._pool_index)
            raise BudgetExceeded(
                f"{self._learner.name} has used up the answers of round {index}, and the next round needs "
                f"{needed:,} fresh points, of which {needed - self._missing:,} have come. "
                f"Provide {self._missing:,} more with the move Unlabelled, or set rounds={index}."
            )
        return self._ready.popleft()

"""everlasting-fresh: GenericBBL whose content is renewed from fresh unlabelled points, so that whoever asks
cannot poison it.
"""

from __future__ import annotations

from collections import deque

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.errors import BudgetExceeded
from arena.points import is_shared
from arena.settings import at_least, setting, whole
from learners.everlasting.everlasting_v2 import EverlastingV2, V2State
from learners.mechanisms.accounting.composition import Guarantee


@attrs.frozen
class EverlastingFresh(EverlastingV2):
    """Remark 3 in section 1.3 of Private Everlasting Prediction, v2: GenericBBL with fresh unlabelled points
    in the place of queries.

    Answers are those of everlasting-v2. D_i are F_i points of the stream that `Unlabelled` hands over: the
    first F_1 are D_1, the next F_2 are D_2, however queries fall among them. Points that come early wait
    (what is kept of them is D̂); where the answers of a round are spent before its points have come, the next
    query is refused.

    The paper gives no proof. This is one:

    A training example reaches the view through the answers of round 1 and through S_2, as in Claim E.5, which
    does not ask where D̂_1 comes from.

    An unlabelled point of D_i reaches it through D̂_i only: the places of D̂_i are chosen without looking at
    points, LabelBoost labels D̂_i, and S_{i+1} is what the answers of round i+1 and S_{i+2} come from. This is
    the chain of Claim E.6, for any adversary that chooses points adaptively (remark E.7). When a round ends,
    and whether a query is refused, follows from the numbers of queries and of points, which are the same in
    both worlds.

    A query is answered from the teachers, which were trained before it, with noise of its own. It is not
    kept. So with its own answer withheld, views have the same law whatever it was: (0, 0).
    """

    name = "everlasting-fresh"
    theorem = "Remark 3 of section 1.3 of Private Everlasting Prediction, v2; proof in its docstring"
    content = "fresh points"

    pool: int | None = setting(
        None,
        unit="points",
        help="F_1, fresh points of round 1, quadrupled every round; default: what round 2 needs",
        check=[whole, at_least(1)],
    )

    def start(self, games: int, rng: np.random.Generator) -> FreshState:
        return FreshState(self, games, rng)

    def unlabelled(self, index: int) -> int:
        """F_i = |D_i|: the fresh points of round `index`."""
        return self._enough(index) if self.pool is None else self.pool * 4 ** (index - 1)

    @property
    def costs(self) -> dict[PrivacyUnit, Guarantee]:
        return {
            PrivacyUnit.TRAINING_EXAMPLE: self._cost_of_example(),
            PrivacyUnit.QUERY: self._cost_of_query(),
            PrivacyUnit.UNLABELLED_EXAMPLE: self._cost_of_unlabelled(),
        }

    def _cost_of_query(self) -> Guarantee:
        """Of a query, which leaves no trace."""
        return Guarantee(0.0, 0.0)


class FreshState(V2State):
    """everlasting-fresh at a table."""

    _spec: EverlastingFresh

    def __init__(self, spec: EverlastingFresh, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games, rng)
        self._ready: deque[np.ndarray] = deque()  # D̂_i, D̂_{i+1}, … as far as their points have come
        self._start_pool(1)

    def receive_unlabelled(self, x: np.ndarray) -> None:
        """Fresh unlabelled points (n, k, ...). Those that no round needs are dropped."""
        self._spec.concepts.check(x[0] if is_shared(x) else x)
        while x.shape[1] and self._pool_index != self._spec.rounds:
            taken = min(x.shape[1], self._lacking)
            self._pool.offer(x[:, :taken])
            self._lacking -= taken
            x = x[:, taken:]
            if not self._lacking:
                self._ready.append(self._pool.chosen())
                self._start_pool(self._pool_index + 1)

    def _start_pool(self, index: int) -> None:
        self._pool_index = index
        self._lacking = self._spec.unlabelled(index)
        self._pool = self._collector(index)

    def _open_pool(self, round: object) -> None:
        """Pools follow the stream of points, and not the rounds."""

    def _keep(self, x: np.ndarray) -> None:
        """Queries are not kept."""

    def _chosen(self) -> np.ndarray:
        if not self._ready:
            index, needed = self._pool_index, self._spec.unlabelled(self._pool_index)
            raise BudgetExceeded(
                f"{self._spec.name} has spent the answers of round {index}, and the next is made of "
                f"{needed:,} fresh points, of which {needed - self._lacking:,} have come. "
                f"Hand over {self._lacking:,} more with the move Unlabelled, or set rounds={index}."
            )
        return self._ready.popleft()

"""query-server, filter-server and flawed-server: noisy counts of the values in the data, in sessions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, neighbours_setting
from arena.players import Learner
from arena.records import Records
from arena.referees.session_moves import QueryAt, key_query
from arena.referees.session_replies import OPENED, SILENCE
from arena.released.encoding import encode_values, list_objects
from arena.sample import Training
from arena.schemas.forms import ListForm
from arena.schemas.schema import Schema
from arena.settings import count_setting, less_than, more_than, one_of, setting
from learners.common.learner_bases import claim_of_sensitivity_one
from learners.mechanisms.noise import laplace

_LARGEST = 100  # value of a record
_LIMITS = (0, 50, 99, 25, 75, 100)  # of queries, the simplest first
_SHARES = (0.25, 0.5, 0.125)  # of ε, for one query
_TOLERANCE = 1e-9  # of sums of ε
_REFUSAL, _SILENT = encode_values([None, SILENCE]).tolist()
REPEATS, COMMON = FLAWS = ("free repeats", "common noise")


@attrs.frozen
class CountingServer(Learner):
    """Base of learners that answer a query with the number of values up to a limit, and Laplace noise.

    Data are lists of whole numbers from 0 to 100. Noise is drawn for every game at every query, asked or not.
    """

    protocols = ("Session",)
    usual_adversary = "repeated-query"
    receives_records = True
    common_random_numbers = True
    kinds: ClassVar[tuple[Any, ...]] = ()
    asks: ClassVar[Schema | None] = None
    vectorised: ClassVar[bool] = False  # the state of games is, but each may be asked its own query

    epsilon: float = setting(1.0, unit="nats", help="ε of all answers", check=[more_than(0), less_than(inf)])
    neighbours: str = neighbours_setting(Neighbours.ADD_OR_REMOVE_ONE)

    @property
    def claim(self) -> Claim:
        return claim_of_sensitivity_one(self.epsilon, self.neighbours)

    @property
    def schema(self) -> Schema:
        return Schema(form=ListForm(), blank=_LARGEST + 1, examples=tuple(range(_LARGEST + 1)))

    @property
    def some_records(self) -> tuple[Records, ...]:
        return self.schema.make_records()

    @property
    def rounds(self) -> int | None:
        """The most queries of a game of a search; None: 64."""
        return None

    @property
    @abstractmethod
    def some_queries(self) -> tuple[Any, ...]:
        """A few queries, the simplest first."""

    @abstractmethod
    def answer(self, state: RunningServer, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        """Charge the active games (n,) for their queries: (n,) the scale of the noise, nan where a game is
        refused an answer."""

    def read_limit(self, query: Any) -> float:
        return float(query)

    def start(self, games: int, rng: np.random.Generator) -> RunningServer:
        return RunningServer(self, games, rng)


class RunningServer:
    """n games. spent: (n,) the ε of the answers so far, in nats. halted: (n,) bool."""

    def __init__(self, learner: CountingServer, games: int, rng: np.random.Generator) -> None:
        self._learner, self.games, self.rng = learner, games, rng
        self.spent, self.halted = np.zeros(games), np.zeros(games, bool)
        self.asked: list[set[Any]] = [set() for _ in range(games)]
        self.noise = np.zeros(games)  # of the last query, in units of its scale
        self.first_noise: np.ndarray | None = None
        self._values: list[np.ndarray] = []

    def open_sessions(self, training: Training) -> np.ndarray:
        schema = self._learner.schema
        self._values = [np.sort(schema.fill_blanks(records.rows())) for records in training.samples]
        self._which = training.which
        return list_objects([OPENED] * self.games)

    def ask(self, session: int, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        if session:
            return list_objects([SILENCE] * self.games)  # it was never opened
        known = self._learner.some_queries
        asked = [known[q.place % len(known)] if isinstance(q, QueryAt) else q for q in queries]
        open_games = active & ~self.halted
        self.noise = laplace(self.rng, np.empty(self.games))
        scales = self._learner.answer(self, asked, open_games)
        limits = np.array([self._learner.read_limit(query) for query in asked], float)
        counts = np.zeros(self.games)
        for place, values in enumerate(self._values):
            own = self._which == place
            counts[own] = np.searchsorted(values, limits[own], side="right")
        answers = counts + scales * self.noise
        answers = np.where(np.isnan(answers), _REFUSAL, answers)
        return np.where(open_games, answers, _SILENT)

    def open(self, session: int, kinds: Sequence[Any], active: np.ndarray) -> np.ndarray:
        return list_objects([None if now and not session else SILENCE for now in active])

    def read_halted(self, session: int) -> np.ndarray:
        return self.halted.copy() if session == 0 else np.ones(self.games, bool)

    def read_loss(self) -> np.ndarray | None:
        if getattr(self._learner, "odometer", None) is None:
            return None
        return np.stack([self.spent, np.zeros(self.games)], axis=1)


@attrs.frozen
class QueryServer(CountingServer):
    """Answers k queries, each with noise of scale k/ε, and halts.

    Privacy: ε by basic composition, for queries that depend on earlier answers (Dwork and Roth, The
    Algorithmic Foundations of Differential Privacy, Theorem 3.16).
    """

    name = "query-server"
    theorem = "basic composition"

    answers: int = count_setting(4, help="k, the answers after which it halts")

    @property
    def rounds(self) -> int:
        return self.answers + 2  # which are silence

    @property
    def some_queries(self) -> tuple[float, ...]:
        return tuple(map(float, _LIMITS))

    def answer(self, state: RunningServer, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        share = self.epsilon / self.answers
        state.spent += share * active
        state.halted |= state.spent >= self.epsilon - _TOLERANCE
        return np.full(state.games, 1 / share)


@attrs.frozen
class FilterServer(CountingServer):
    """Answers queries (limit, ε) with noise of scale 1/ε, and refuses those that exceed the budget.

    Privacy: the budget, since losses of pure privacy add up even if each ε depends on earlier answers
    (Rogers, Roth, Ullman, Vadhan, Privacy Odometers and Filters, 2016). If it reports, the claim that is
    searched is what it reports.
    """

    name = "filter-server"
    theorem = "basic composition with a privacy filter"

    reports: bool = setting(False, help="whether it says after each answer what was lost so far")

    @property
    def odometer(self) -> str | None:
        """What reports the loss, which is then the claim that is searched."""
        return "spent" if self.reports else None

    @property
    def some_queries(self) -> tuple[tuple[float, float], ...]:
        return tuple((float(limit), share * self.epsilon) for share in _SHARES for limit in _LIMITS)

    def read_limit(self, query: Any) -> float:
        return float(query[0])

    def answer(self, state: RunningServer, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        share = np.array([max(float(query[1]), 0.0) for query in queries], float)
        allowed = active & (share > 0) & (state.spent + share <= self.epsilon)
        state.spent += share * allowed
        return np.where(allowed, 1 / np.where(share > 0, share, 1.0), np.nan)


@attrs.frozen
class FlawedServer(QueryServer):
    """`query-server` with a flaw, and the same claim, which is false.

    flaw: "free repeats", a query that was asked before is not charged, but answered with fresh noise;
    "common noise", all answers of a game have the noise of the first.
    """

    name = "flawed-server"
    theorem = "none: the claim is false"

    flaw: str = setting(REPEATS, help=", ".join(FLAWS), check=one_of(*FLAWS))

    @property
    def rounds(self) -> int:
        return 32

    def answer(self, state: RunningServer, queries: Sequence[Any], active: np.ndarray) -> np.ndarray:
        if self.flaw == COMMON:
            state.first_noise = state.noise if state.first_noise is None else state.first_noise
            state.noise = state.first_noise
            return QueryServer.answer(self, state, queries, active)
        keys = [key_query(query) for query in queries]
        fresh = np.array([key not in asked for key, asked in zip(keys, state.asked, strict=True)], bool)
        for key, asked in zip(keys, state.asked, strict=True):
            asked.add(key)
        return QueryServer.answer(self, state, queries, active & fresh)

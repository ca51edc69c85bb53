"""The plan of an experiment: everything that its figures depend on, and nothing else."""

from __future__ import annotations

import math
from hashlib import sha256

import attrs
import numpy as np

from arena import InvalidArgument
from audits.data.one_hot import OneHotData
from audits.experiments.players import Players
from audits.registry.suggestions import suggest
from audits.runs.plan import versions

PSQ, ASQ, PSQ_NP, ASQ_NP = METHODS = ("psq", "asq", "psq-np", "asq-np")
SHARES = (0.8, 0.02)
_ROUNDING = 1e-9  # of a share times a number of examples


@attrs.frozen
class Row:
    """A row of the table: a method, and the ε of all its answers together (nats; infinite without noise)."""

    method: str
    epsilon: float

    @property
    def active(self) -> bool:
        """Whether the student chooses what to ask."""
        return self.method in (ASQ, ASQ_NP)


@attrs.frozen(kw_only=True)
class Experiment:
    """What is split, taught and counted.

    data: the examples. players: who teach and learn. methods: of METHODS. epsilons: nats, of psq and asq.
    delta: a probability; None: 1/n, n the private examples. repeats: random splits.
    teacher_examples: about how many each teacher is trained on. budget: the part of the public points that an
    active student may ask about. shares: the private and the public part of the examples; the rest tests.
    seed: of every coin.
    """

    data: OneHotData
    players: Players
    methods: tuple[str, ...] = METHODS
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0)
    delta: float | None = None
    repeats: int = 30
    teacher_examples: int = 100
    budget: float = 0.3
    shares: tuple[float, float] = SHARES
    seed: int = 0

    def __attrs_post_init__(self) -> None:
        self._check_rows()
        for name, least in (("repeats", 1), ("teacher_examples", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                called = name.replace("_", " ")
                raise InvalidArgument(f"{called}: a whole number of at least {least}", value=value)
        if self.delta is not None and not 0 < self.delta < 1:
            raise InvalidArgument("δ is a probability strictly between 0 and 1", value=self.delta)
        self._check_sizes()

    def _check_rows(self) -> None:
        if not self.methods:
            raise InvalidArgument("an experiment has a method", remedy=f"There are: {', '.join(METHODS)}.")
        for method in self.methods:
            if method not in METHODS:
                raise InvalidArgument(
                    "there is no method of that name",
                    value=method,
                    remedy=f"{suggest(method, METHODS)}There are: {', '.join(METHODS)}.",
                )
        for epsilon in self.epsilons:
            if not 0 < epsilon < math.inf:
                raise InvalidArgument(
                    "ε is finite and more than 0 nats",
                    value=epsilon,
                    remedy=f"Without noise there are {PSQ_NP} and {ASQ_NP}.",
                )
        for what, values in (("method", self.methods), ("ε", self.epsilons)):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise InvalidArgument(f"a {what} is named once", value=twice[0], remedy="Drop one.")
        if not self.rows:
            raise InvalidArgument(f"{PSQ} and {ASQ} need an ε", remedy="Give --epsilon 1.")

    def _check_sizes(self) -> None:
        if min(self.shares) <= 0 or not sum(self.shares) < 1:
            raise InvalidArgument(
                "the private and the public share are more than 0 and leave a test set",
                value=self.shares,
                remedy="0.8 and 0.02 leave 18 %.",
            )
        if not 0 < self.budget <= 1:
            raise InvalidArgument(
                "the budget is a part of the public points, more than 0 and at most 1",
                value=self.budget,
                remedy="0.3 is usual.",
            )
        if self.private < 1 or self.tested < 1:
            raise InvalidArgument(
                f"{self.examples:,} examples are too few for a private part, a public part and a test set",
                value=self.shares,
                remedy="Give more data, or other --shares.",
            )
        if self.teachers < 1:
            raise InvalidArgument(
                f"{self.private:,} private examples do not make a teacher of so many",
                value=self.teacher_examples,
                remedy=f"Give --teacher-examples {self.private} or less.",
            )
        if self.answers_of(ASQ) < 1 and any(row.active for row in self.rows):
            least = math.ceil(500 / self.public) / 1000
            raise InvalidArgument(
                f"the budget is not one of {self.public:,} public points",
                value=self.budget,
                remedy=f"Give --budget {least:g} or more.",
            )

    @property
    def examples(self) -> int:
        return len(self.data.labels)

    @property
    def private(self) -> int:
        """The examples that teachers are trained on; rounded down, as in Table 3 of the paper."""
        return math.floor(self.shares[0] * self.examples + _ROUNDING)

    @property
    def public(self) -> int:
        """The points that students may ask about; rounded up, as there."""
        return math.ceil(self.shares[1] * self.examples - _ROUNDING)

    @property
    def tested(self) -> int:
        """The examples that students are tried on."""
        return self.examples - self.private - self.public

    @property
    def teachers(self) -> int:
        """K."""
        return round(self.private / self.teacher_examples)

    @property
    def delta_run(self) -> float:
        return 1 / self.private if self.delta is None else self.delta

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows, those without noise first, in the order of the paper."""
        free = [Row(method, math.inf) for method in (PSQ_NP, ASQ_NP) if method in self.methods]
        paid = [Row(m, epsilon) for epsilon in self.epsilons for m in (PSQ, ASQ) if m in self.methods]
        return (*free, *paid)

    def answers_of(self, method: str) -> int:
        """ℓ, the answers that a student may be given."""
        return round(self.budget * self.public) if method in (ASQ, ASQ_NP) else self.public

    def describe(self) -> dict[str, object]:
        """The plan as plain data: equal for equal plans, on any machine, and what a ledger remembers."""
        return {
            "experiment": "pate",
            "data": _digest(self.data),
            "players": self.players.describe(),
            "methods": [row.method for row in self.rows],
            "epsilons": [None if math.isinf(row.epsilon) else row.epsilon for row in self.rows],
            "delta": self.delta_run,
            "repeats": self.repeats,
            "teacher_examples": self.teacher_examples,
            "budget": self.budget,
            "shares": list(self.shares),
            "seed": self.seed,
            "versions": versions(),
        }


def _digest(data: OneHotData) -> str:
    """What tells examples apart: names, points, labels, in their order; not the file."""
    state = sha256("\n".join((*data.names, data.y, *data.values)).encode())
    for array in (data.points, data.labels):
        state.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return f"{len(data.labels)} examples {state.hexdigest()[:16]}"

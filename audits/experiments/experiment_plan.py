"""The plan of an experiment: everything on which its figures depend."""

from __future__ import annotations

import math
from hashlib import sha256

import attrs
import numpy as np

from arena import InvalidArgument
from arena.settings import at_least, at_most, less_than, more_than, whole
from audits.data.one_hot import OneHotData
from audits.experiments.experiment_players import ExperimentPlayers
from audits.registry.suggestions import unknown_name
from audits.registry.used_files import versions

PSQ, ASQ, PSQ_NP, ASQ_NP = METHODS = ("psq", "asq", "psq-np", "asq-np")  # of the paper's Table 4
PSQ_SVT = "psq-svt"
ALL_METHODS = (*METHODS, PSQ_SVT)
SHARES = (0.8, 0.02)
_ROUNDING = 1e-9  # of a share times a number of examples


@attrs.frozen
class ExperimentRow:
    """A row of the table: a method, and the ε of all its answers together (nats; infinite without noise)."""

    method: str
    epsilon: float

    @property
    def active(self) -> bool:
        """Whether the student chooses which points to ask about."""
        return self.method in (ASQ, ASQ_NP)

    @property
    def screened(self) -> bool:
        """Whether a sparse vector screens the answers, in place of Gaussian noise."""
        return self.method == PSQ_SVT


@attrs.frozen(kw_only=True)
class PateExperiment:
    """An experiment with private, passive and active students of noisy votes.

    data: the examples. players: teachers and students. methods: of ALL_METHODS. epsilons: of psq, asq and
    psq-svt, in nats. delta: a probability; by default 1/n for n private examples. repeats: number of random
    splits. teacher_examples: approximate number of training examples of each teacher. budget: the fraction of
    the public points that an active student may ask about. shares: the fractions of private and of public
    examples; the rest is the test set. seed: random seed.
    """

    data: OneHotData
    players: ExperimentPlayers
    methods: tuple[str, ...] = METHODS
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0)
    delta: float | None = attrs.field(
        default=None, validator=attrs.validators.optional([more_than(0), less_than(1)])
    )
    repeats: int = attrs.field(default=30, validator=[whole, at_least(1)])
    teacher_examples: int = attrs.field(default=100, validator=[whole, at_least(1)])
    budget: float = attrs.field(default=0.3, validator=[more_than(0), at_most(1)])
    shares: tuple[float, float] = SHARES
    seed: int = attrs.field(default=0, validator=[whole, at_least(0)])

    def __attrs_post_init__(self) -> None:
        self._check_rows()
        self._check_sizes()

    def _check_rows(self) -> None:
        for method in self.methods:
            if method not in ALL_METHODS:
                raise unknown_name("method", method, ALL_METHODS)
        for epsilon in self.epsilons:
            if not 0 < epsilon < math.inf:
                raise InvalidArgument(
                    "ε must be finite and more than 0 nats",
                    value=epsilon,
                    remedy=f"For answers without noise there are {PSQ_NP} and {ASQ_NP}.",
                )
        for name, values in (("method", self.methods), ("ε", self.epsilons)):
            repeated = [value for value in values if values.count(value) > 1]
            if repeated:
                raise InvalidArgument(f"each {name} may be given once", value=repeated[0], remedy="Drop one.")
        if not self.methods:
            raise InvalidArgument(
                "an experiment needs a method", remedy=f"There are: {', '.join(ALL_METHODS)}."
            )
        if not self.rows:
            raise InvalidArgument(f"{PSQ} and {ASQ} need an ε", remedy="Give --epsilon 1.")

    def _check_sizes(self) -> None:
        if min(self.shares) <= 0 or not sum(self.shares) < 1:
            raise InvalidArgument(
                "the private and the public share must be more than 0 and leave a test set",
                value=self.shares,
                remedy="0.8 and 0.02 leave 18 %.",
            )
        if self.private < 1 or self.tested < 1:
            raise InvalidArgument(
                f"{self.examples:,} examples are too few for a private part, a public part and a test set",
                value=self.shares,
                remedy="Give more data, or other --shares.",
            )
        if self.teachers < 1:
            raise InvalidArgument(
                f"{self.private:,} private examples are too few for a teacher with so many",
                value=self.teacher_examples,
                remedy=f"Give --teacher-examples {self.private} or less.",
            )
        if self.count_answers(ASQ) < 1 and any(row.active for row in self.rows):
            least = math.ceil(500 / self.public) / 1000  # rounds to one point
            raise InvalidArgument(
                f"the budget allows no answer for {self.public:,} public points",
                value=self.budget,
                remedy=f"Give --budget {least:g} or more.",
            )

    @property
    def examples(self) -> int:
        return len(self.data.labels)

    @property
    def private(self) -> int:
        """The number of examples that teachers are trained on; rounded down, as in the paper's Table 3."""
        return math.floor(self.shares[0] * self.examples + _ROUNDING)

    @property
    def public(self) -> int:
        """The number of points that students may ask about; rounded up, as there."""
        return math.ceil(self.shares[1] * self.examples - _ROUNDING)

    @property
    def tested(self) -> int:
        """The number of examples in the test set."""
        return self.examples - self.private - self.public

    @property
    def teachers(self) -> int:
        """K."""
        return round(self.private / self.teacher_examples)

    @property
    def delta_run(self) -> float:
        return 1 / self.private if self.delta is None else self.delta

    @property
    def rows(self) -> tuple[ExperimentRow, ...]:
        """The rows in the order of the paper: those without noise first."""
        methods = self.methods
        noiseless = [ExperimentRow(method, math.inf) for method in (PSQ_NP, ASQ_NP) if method in methods]
        private = [
            ExperimentRow(method, epsilon)
            for epsilon in self.epsilons
            for method in (PSQ, ASQ, PSQ_SVT)
            if method in methods
        ]
        return (*noiseless, *private)

    def count_answers(self, method: str) -> int:
        """ℓ, the maximal number of answers to a student."""
        return round(self.budget * self.public) if method in (ASQ, ASQ_NP) else self.public

    def describe(self) -> dict[str, object]:
        """The plan as plain data, which a ledger stores: equal for equal plans, on any machine."""
        return {
            "experiment": "pate",
            "data": _hash_data(self.data),
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


def _hash_data(data: OneHotData) -> str:
    """A hash of the examples: names, points and labels, in their order; not of the file."""
    state = sha256("\n".join((*data.names, data.y, *data.values)).encode())
    for array in (data.points, data.labels):
        state.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return f"{len(data.labels)} examples {state.hexdigest()[:16]}"

"""The plan of an audit: everything that its figures depend on, and nothing else."""

from __future__ import annotations

from hashlib import sha256
from importlib import metadata
from math import ceil
from typing import Any

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Referee, Sample
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.fingerprint import fingerprint

MOST_PAIRS = 4_096  # a block of 8,192 games keeps a table's arrays in cache
SCORE, LEARNED, LIKELIHOOD = DISTINGUISHERS = ("score", "learned", "likelihood")
OWN_COINS = "own_coins"
_FEWEST_BLOCKS = 10  # bets and thresholds are chosen from earlier blocks, so a short run needs several


@attrs.frozen(kw_only=True)
class Plan:
    """What is played and tested.

    learner, adversary, referee: the players' specs and the protocol.
    epsilon, delta: the claim under test, ε in nats.
    confidence: the audit errs with probability at most 1 − confidence.
    games: games in each world (with `until_refuted`, at most so many).
    seed: of every coin.
    block: pairs of games in a block; default 4,096, fewer in short runs.
    distinguisher: what the worlds are told apart by: the adversary's "score"; a distinguisher "learned" from the views of
        earlier blocks; or the log "likelihood" ratio of the view, if the learner tells its law.
    faults: the adversary sees that the learner fails, so a learner that raises does not end the audit.
    """

    learner: Learner
    adversary: Adversary
    referee: Referee
    epsilon: float = attrs.field(converter=float)
    delta: float = attrs.field(converter=float)
    confidence: float = attrs.field(default=0.95, converter=float)
    games: int = 100_000
    until_refuted: bool = False
    seed: int = 0
    distinguisher: str = SCORE
    faults: bool = False
    block: int = attrs.field()

    @block.default
    def _default_block(self) -> int:
        return usual_block(self.games)

    def __attrs_post_init__(self) -> None:
        check_protocol(self.learner, self.adversary, self.referee)
        if not self.referee.two_worlds:
            raise InvalidArgument(
                f"{self.referee.name} has one world, so it says nothing about privacy",
                remedy="Audit under Figure1, Release, Voting or SpecialRound.",
            )
        if not 0 < self.epsilon < np.inf:
            raise InvalidArgument(
                "the claim under test has a finite ε of more than 0 nats",
                value=self.epsilon,
                remedy="A learner that claims nothing needs a claim of yours: --epsilon.",
            )
        if not 0 <= self.delta < 1:
            raise InvalidArgument("the claim under test has a δ in [0, 1)", value=self.delta)
        if not 0 < self.confidence < 1:
            raise InvalidArgument("a confidence lies strictly between 0 and 1", value=self.confidence)
        if self.distinguisher not in DISTINGUISHERS:
            raise InvalidArgument(
                "there is no distinguisher of that name",
                value=self.distinguisher,
                remedy=f"There are: {', '.join(DISTINGUISHERS)}.",
            )
        for name in ("games", "block"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"{name} must be a whole number of at least 1", value=value)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidArgument("a seed is a whole number of at least 0", value=self.seed)

    @property
    def blocks(self) -> int:
        """How many blocks there are at most."""
        return ceil(self.games / self.block)

    def pairs(self, index: int) -> int:
        """The pairs of games in block `index`; the last block may be smaller."""
        return min(self.block, self.games - index * self.block)

    def describe(self) -> dict[str, object]:
        """The plan as plain data: equal for equal plans, on any machine, and what a ledger remembers.

        own_coins: there, and true, only if the learner draws coins that no seed repeats.
        """
        return {
            "learner": describe(self.learner),
            "adversary": describe(self.adversary),
            "referee": describe(self.referee),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "games": self.games,
            "until_refuted": self.until_refuted,
            "seed": self.seed,
            "distinguisher": self.distinguisher,
            "faults": self.faults,
            "block": self.block,
            "versions": versions(),
            **({OWN_COINS: True} if self.learner.own_coins else {}),
        }


def usual_block(games: int) -> int:
    """The pairs in a block of a plan of so many games in each world, unless it says otherwise."""
    return max(1, min(MOST_PAIRS, ceil(games / _FEWEST_BLOCKS)))


def describe(spec: Any) -> dict[str, object]:
    """A spec as plain data: its class and its settings, arrays and samples by their digests."""
    settings = {a.name: _plain(getattr(spec, a.name)) for a in attrs.fields(type(spec))}
    return {"class": f"{type(spec).__module__}:{type(spec).__qualname__}", **settings}


def versions() -> dict[str, str]:
    """What the bits of a figure hang on beside the plan: random streams may change between versions."""
    try:
        own = metadata.version("dp-arena")
    except metadata.PackageNotFoundError:
        own = "not installed"
    return {"dp-arena": own, "numpy": np.__version__}


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sample):
        return f"sample {value.digest} of {value.size}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {value.dtype.str} {sha256(value.tobytes()).hexdigest()[:16]}"
    if attrs.has(type(value)):
        return describe(value)
    if callable(value) and not isinstance(value, ConceptClass):
        return fingerprint(value)
    return repr(value)

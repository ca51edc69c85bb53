"""The base of learners of streams, which counts rounds and checks what arrives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, PrivacyUnit, choose_claim, neighbours_setting, read_relation
from arena.errors import BudgetExceeded, InvalidArgument, Unsupported
from arena.laws import Finite, ValueLaw
from arena.players import Learner
from arena.privacy_curves import PrivacyCurve
from arena.referees.stream_moves import DeclaresStreamLaw, StreamLaw
from arena.settings import count_setting

_MOST_VIEWS = 2**16  # of a stream
SINGLE_RECORDS = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE


@attrs.frozen
class StreamLearner(Learner):
    """Base of the learners of streams of numbers. Where neighbours add, remove or zero out a record, a round
    without one has the number 0. Claims hold for adaptive streams, unless `protocols` says otherwise.

    A subclass defines `claim` and `open`.
    """

    protocols: ClassVar[tuple[str, ...]] = ("Stream", "FixedStream")
    common_random_numbers = True  # the noise does not depend on what arrives

    rounds: int = count_setting(256, help="T, the most rounds of a stream")
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    def domain(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @abstractmethod
    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """What publishes (n, ...) after the numbers (n,) of a round; it receives at most T, of the domain."""

    def law(self, sample: Any) -> ValueLaw:
        """Of all releases for a fixed stream of points (k, ...), from `stream_law`, if it is declared."""
        if not isinstance(self, DeclaresStreamLaw):
            return super().law(sample)  # type: ignore[return-value]
        return list_releases(self.stream_law(), np.asarray(sample))

    def start(self, games: int, rng: np.random.Generator) -> RunningStream:
        return RunningStream(self, self.open(games, rng))


def list_releases(law: StreamLaw, stream: np.ndarray) -> Finite:
    """All that may be published after the points (k, ...). Raises: Unsupported if it is too much to list."""
    measures, outcomes = np.asarray(law.start(), float)[None], np.zeros((1, 0), np.intp)
    for record in stream:
        after = np.asarray(law.step(measures, np.repeat(record[None], len(measures), axis=0)))
        outcome, path = np.nonzero(after.sum(axis=2))
        if len(path) > _MOST_VIEWS:
            raise Unsupported(
                f"a stream may lead to more than {_MOST_VIEWS:,} views, too many to list",
                value=len(stream),
                remedy="Play fewer rounds.",
            )
        measures = after[outcome, path]
        outcomes = np.concatenate([outcomes[path], outcome[:, None]], axis=1)
    return Finite(law.values[outcomes], measures.sum(axis=1))


class RunningStream:
    def __init__(self, learner: StreamLearner, publish: Callable[[np.ndarray], np.ndarray]) -> None:
        self._learner, self._publish = learner, publish
        self._left = learner.rounds

    def update(self, records: np.ndarray) -> np.ndarray:
        """What is published after this round. Raises: BudgetExceeded after T rounds; InvalidArgument for a
        number outside the domain."""
        learner = self._learner
        self._left -= 1
        if self._left < 0:
            raise BudgetExceeded(
                f"{learner.name} has published after all of its T = {learner.rounds} rounds; set rounds to "
                "the length of the stream"
            )
        (low, high), first = learner.domain, records[:1] if records.strides == (0,) else records
        if not ((first >= low) & (first <= high)).all():
            raise InvalidArgument(
                f"the records of {learner.name} must lie in its domain, from {low:g} to {high:g}",
                value=float(first[(first < low) | (first > high)][0]),
                remedy="Scale or clip them.",
            )
        return self._publish(records)


def claim_for_stream(
    epsilon: float, delta: float = 0.0, *, neighbours: str, curve: PrivacyCurve | None = None
) -> Claim:
    """The claim of a learner that protects a record of the stream, or several."""
    unit = (PrivacyUnit.STREAM_EXAMPLE,)
    return Claim(epsilon=epsilon, delta=delta, protects=unit, neighbours=neighbours, curve=curve)


def claim_pure(neighbours: str, replaced: float, blanked: float | None = None) -> Claim:
    """The claim of pure privacy for a relation, from the ε of a replaced record and that of one that is
    added, removed or zeroed out (default: the same). Raises: Unsupported if they imply none."""
    epsilons: dict[Any, float] = dict.fromkeys(SINGLE_RECORDS, replaced if blanked is None else blanked)
    epsilons[Neighbours.REPLACE_ONE] = replaced
    claims = [claim_for_stream(epsilon, neighbours=kind) for kind, epsilon in epsilons.items()]
    return choose_claim(claims, read_relation(neighbours))

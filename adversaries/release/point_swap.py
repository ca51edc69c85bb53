"""count-swap, point-swap and low-bits: one label or record differs, and a released number is scored."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.common.record_pairs import change_last_record, check_known_pair, suggest_relation
from adversaries.common.training_samples import (
    FEW,
    build_equal_sample,
    change_example,
    choose_sample_size,
    plant_example,
)
from arena import Hypothesis, InvalidArgument, Neighbours, PrivacyUnit, Sample, Train, setting
from arena.errors import count_things
from arena.players import Adversary, Learner, Moves, read_relation_of
from arena.records import Records
from arena.settings import at_least
from arena.step_scores import find_last_bits

_NAN = 2e300  # the score of a game whose release is not a number


def score_by_number(value: Any, games: int) -> np.ndarray | None:
    """The released number of each game (n,); None if several numbers or a hypothesis are released.

    Text and NaN become large numbers; where they occur, a distinguisher is used with an adversary that
    `scores_release`.
    """
    if isinstance(value, Hypothesis):
        return None
    values = np.reshape(value, (games, -1)).astype(np.float64)
    return np.where(np.isnan(values[:, 0]), _NAN, values[:, 0]) if values.shape[1] == 1 else None


@attrs.frozen
class CountSwap(Adversary):
    """Two samples that differ in one label. The score is the released number itself.

    If several numbers, text or a hypothesis are released, a distinguisher uses the whole release.
    """

    name = "count-swap"
    protocols = ("Release",)
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)
    scores_release = True
    sample: Sample | None = setting(None, help="the sample; default: ten examples labelled 0, or as needed")

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or build_equal_sample(self.learner)
        reply = yield Train(*plant_example(sample, 0, sample.points[0], self.learner))
        return score_by_number(reply.value, games)


@attrs.frozen
class PointSwap(Adversary):
    """Two samples that differ in one record, whose point lies at the lower or the upper end of the domain.

    Without a domain it lies far below or far above all others, which shows a mechanism that does not clip. If
    the sample has both labels, the lower point is labelled 0 and the upper one 1. With `neighbour` given, the
    worlds are the sample and that. The score is the released number; of other releases a distinguisher uses
    the whole.
    """

    name = "point-swap"
    protocols = ("Release",)
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)
    scores_release = True

    sample: Any = setting(None, help="the last record varies; default: ten in the domain's middle")
    neighbour: Any = setting(None, help="the sample of world 1; default: by the worst change")
    distance: float = setting(1_000.0, help="without a domain, ranges beyond the data", check=at_least(0))
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(*self.samples)
        return score_by_number(reply.value, games)

    @property
    def samples(self) -> tuple[Any, Any]:
        """The neighbouring samples of world 0 and of world 1."""
        sample = self.sample or self._build_sample()
        if self.neighbour is not None:
            self._check_neighbour(sample, self.neighbour)
            return sample, self.neighbour
        if isinstance(sample, Records):
            return change_last_record(sample, self.learner)
        low, high = self._find_ends(sample)
        last, shape = len(sample.points) - 1, sample.points.shape[1:]
        labels = (0, 1) if len(np.unique(sample.labels)) > 1 else (int(sample.labels[-1]),) * 2
        first, second = ((np.full(shape, end), label) for end, label in zip((low, high), labels, strict=True))
        return change_example(sample, last, first, second, self.learner)

    def _check_neighbour(self, sample: Any, neighbour: Any) -> None:
        relation = read_relation_of(self.learner)
        users_of = self.learner.users_of if self.learner is not None else np.zeros_like
        changes = relation.count_changes(sample, neighbour, users_of)
        if isinstance(sample, Records):
            check_known_pair(sample, neighbour, self.learner)
            return
        if 1 <= changes <= relation.size:
            return
        if relation.kind is Neighbours.REPLACE_ONE:
            raise InvalidArgument(
                "neighbouring data have the same number of records and differ in one of them",
                value=f"{count_things(sample.size, 'record')} and {count_things(neighbour.size, 'record')}"
                + (
                    f", {changes:,} of them different"
                    if changes > 0
                    else ", all equal"
                    if not changes
                    else ""
                ),
                remedy="Replace one record of the data, in its place"
                + (
                    ", or set neighbours to 'add or remove one' if the claim is for that."
                    if hasattr(self.learner, "neighbours")
                    else "."
                ),
                lacking=suggest_relation(self.learner, sample, neighbour)
                if hasattr(self.learner, "neighbours")
                else (),
            )
        raise InvalidArgument(
            relation.rule,
            value=f"{count_things(sample.size, 'record')} and {count_things(neighbour.size, 'record')}",
            remedy=f"The claim is for neighbours that {relation}.",
        )

    def _build_sample(self) -> Any:
        if self.learner is not None and self.learner.receives_records:
            return self.learner.some_records[0]  # type: ignore[attr-defined]
        low, high = (self.learner.domain if self.learner is not None else None) or (0.0, 0.0)
        shape = self.learner.point_shape if self.learner is not None else ()
        return Sample([np.full(shape, (low + high) / 2)], [0], [choose_sample_size(self.learner, FEW)])

    def _find_ends(self, sample: Sample) -> tuple[float, float]:
        if self.learner is not None and self.learner.domain is not None:
            return self.learner.domain
        low, high = float(sample.points.min()), float(sample.points.max())
        beyond = self.distance * ((high - low) or 1.0)
        return low - beyond, high + beyond


@attrs.frozen
class LowBits(Adversary):
    """Two samples that differ in one label, told apart by the place of the last bit of a released number.

    The score is z, where y = odd·2^z is released, and of a vector the sum over its entries. Mironov (2012);
    the precision-based attack of Haney and others (2022). The counts differ where the spacing of doubles
    does: docs/proofs/low_bits.md.
    """

    name = "low-bits"
    protocols = ("Release",)
    returns_score = True

    sample: Sample | None = setting(None, help="the first run's last example varies; default: ten labels 0")

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or Sample([0.0, 0.0], [0, 0], [1, 9])
        reply = yield Train(*plant_example(sample, 0, sample.points[0], self.learner))
        return find_last_bits(np.reshape(reply.value, -1)).reshape(games, -1).sum(axis=1)

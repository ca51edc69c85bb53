"""The two worlds of a batch of games: which game is in which, and where and in what they have differed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arena.claims import Neighbours, PrivacyUnit, Relation, UserFunction
from arena.dataset import Dataset
from arena.errors import ProtocolViolation
from arena.records import Records
from arena.referees.boundary import Position
from arena.sample import BLANK, Sample, Training, own_copy
from arena.schemas.differences import describe_difference


class Worlds:
    """The worlds of n games: which game is in which; where (`flag`) and in what they have differed."""

    def __init__(
        self, worlds: np.ndarray, position: Position, relation: Relation, users_of: UserFunction
    ) -> None:
        self._worlds = worlds
        self._relation = relation
        self._users_of = users_of
        self._refuse = position.refuse_adversary
        self.flag = np.zeros(len(worlds), bool)
        self.challenges: set[PrivacyUnit] = set()

    def choose(self, in_world_0: np.ndarray, in_world_1: np.ndarray) -> np.ndarray:
        """For each game the entry of its own world, of two arrays (n, ...). In a batch of one world it is
        that world's array, so that the learner cannot tell it from a round in which the worlds agree."""
        if self._worlds.all() or not self._worlds.any():
            return in_world_1 if self._worlds.any() else in_world_0
        worlds = self._worlds.reshape((-1,) + (1,) * (in_world_0.ndim - 1))
        return own_copy(np.where(worlds, in_world_1, in_world_0))

    def challenge(self, differ: np.ndarray, unit: PrivacyUnit, *, rule: str, thing: str = "point") -> None:
        """Raise the flag where the worlds now differ. Raises: ProtocolViolation of `rule` where it is up."""
        again = differ & self.flag
        if again.any():
            raise self._refuse(
                rule,
                games=np.flatnonzero(again),
                expected=f"the same {thing} in both worlds",
                got=f"two different {thing}s",
            )
        if differ.any():
            self.flag |= differ
            self.challenges.add(unit)

    def choose_samples(self, first: Sequence[Sample], second: Sequence[Sample]) -> Training:
        """The training sets of the games' own worlds; raises the flag where the worlds differ. first, second:
        those of world 0 and of world 1, one for all games or one for each game."""
        if self._relation.kind is not Neighbours.ZERO_OUT_ONE:
            self._refuse_blanks(first, second)
        if second is not first:
            self._challenge_samples(first, second)
        return self.pick_samples(first, second)

    def pick_samples(self, first: Sequence[Dataset], second: Sequence[Dataset]) -> Training:
        """The datasets of the games' own worlds, whatever they are."""
        if len(first) == len(second) == 1:
            return Training.of((first[0], second[0]), self._worlds.astype(np.intp))
        games = len(self._worlds)
        own = [(second if self._worlds[g] else first)[g % len(first)] for g in range(games)]
        return Training.of(own, np.arange(games))

    def include_canaries(self, sample: Sample, canaries: Sample) -> Training:
        """The training set of one run: the sample, then the canaries of the games in world 1. In world 0 a
        canary is absent, or blank where neighbours zero out one example."""
        included, is_zeroed = self._worlds, self._relation.kind is Neighbours.ZERO_OUT_ONE
        if canaries.size != len(included):
            raise self._refuse("there is one canary for each coin", expected=len(included), got=canaries.size)
        if not is_zeroed:
            self._refuse_blanks([sample], [canaries])
        self.challenge(np.ones_like(included), PrivacyUnit.TRAINING_EXAMPLE, rule="the worlds differ once")
        points, labels = canaries.rows()
        points[~included], labels[~included] = 0.0, BLANK
        kept = included | is_zeroed
        data = Sample(
            np.concatenate([sample.points, points[kept]]),
            np.concatenate([sample.labels, labels[kept]]),
            np.concatenate([sample.counts, np.ones(int(kept.sum()), np.int64)]),
        )
        return Training.of([data], np.zeros(1, np.intp))

    def _challenge_samples(self, first: Sequence[Sample], second: Sequence[Sample]) -> None:
        if len(first) != len(second):
            raise self._refuse("both worlds give one training set for all games, or both one for each")
        relation = self._relation
        pairs = zip(first, second, strict=True)
        changes = np.array([relation.count_changes(a, b, self._users_of) for a, b in pairs])
        changes = np.broadcast_to(changes, self._worlds.shape)
        wrong = (changes < 0) | (changes > relation.size)
        if wrong.any():
            raise self._refuse_samples(np.flatnonzero(wrong), changes, first, second)
        self.challenge(changes > 0, PrivacyUnit.TRAINING_EXAMPLE, rule="the worlds differ once")

    def _refuse_samples(
        self, games: np.ndarray, changes: np.ndarray, first: Sequence[Sample], second: Sequence[Sample]
    ) -> ProtocolViolation:
        relation, found = self._relation, int(changes[games[0]])
        pair = [samples[games[0] % len(samples)] for samples in (first, second)]
        sizes = [sample.size for sample in pair]
        if sizes[0] != sizes[1] and not relation.adds_or_removes and isinstance(pair[0], Sample):
            return self._refuse(
                "the training sets of the two worlds have equal length",
                games=games,
                expected=sizes[0],
                got=sizes[1],
                remedy=f"The claim is for neighbours that {relation}.",
            )
        changed = "examples" if relation.adds_or_removes else "places"
        return self._refuse(
            relation.rule,
            games=games,
            remedy=self._explain_difference(*pair),
            expected=f"0 {'or' if relation.size == 1 else 'to'} {relation.size} {changed}",
            got=f"{found} {changed}" if found > 0 else f"{sizes[0]} and {sizes[1]} unrelated examples",
        )

    def _explain_difference(self, first: Dataset, second: Dataset) -> str:
        if not isinstance(first, Records):
            return ""
        return f"They have {describe_difference(first, second, self._users_of)}."

    def _refuse_blanks(self, first: Sequence[Sample], second: Sequence[Sample]) -> None:
        if any(sample.blank.any() for sample in (*first, *second)):
            raise self._refuse(
                "training sets have blank examples only where neighbours zero out one",
                expected="labels 0 or 1",
                got=f"label {BLANK}",
                remedy=f"The claim is for neighbours that {self._relation}.",
            )

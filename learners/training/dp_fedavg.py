"""dp-fedavg: federated averaging whose users send clipped changes of the model, with Gaussian noise."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, Relation, find_users, read_relation
from arena.messages import GradientCanary
from arena.sample import Sample
from arena.settings import at_least, at_most, check_value, count_setting, more_than, setting, whole
from learners.training.dp_sgd import CLIP_REMEDY, DPSGD, check_sampling
from learners.training.noisy_sums_state import POISSON, BatchSource, Group, NoisySumsState

_SLAB = 4_000_000  # coordinates of examples that are in memory at a time


@attrs.frozen
class DPFedAvg(DPSGD):
    """Differentially private federated averaging, for linear models and small networks.

    In each round every user takes part with chance batch/size, independently, and makes `local_steps` steps
    of gradient descent from the public model; the changes are clipped and added up with noise as in dp-sgd.
    Algorithm 1 (DP-FedAvg) of McMahan, Ramage, Talwar, Zhang (2018), with the fixed denominator and users of
    equal weight. The claim is that of dp-sgd for users.

    Points hold the number of the user in the coordinate `user_column`. The gradient of a canary takes the
    place of that of its example in every local step. A change that overflows counts as 0.
    """

    name = "dp-fedavg"
    theorem = "Algorithm 1 of McMahan and others (2018), with the exact subsampled Gaussian mechanism"

    size: int = count_setting(1_000, help="the number of users that is assumed")
    batch: int = count_setting(100, help="the users of a round, on average")
    steps: int = count_setting(100, help="T, the number of rounds")
    sampling: str = setting(POISSON, help="how users are drawn", check=check_sampling(POISSON))
    clip: float = setting(
        1.0,
        unit="length of a change",
        help="the longest that is not clipped",
        check=more_than(0, CLIP_REMEDY),
    )
    learning_rate: float = setting(1.0, help="the step size of a round", check=more_than(0))
    local_steps: int = count_setting(5, help="the steps of a user in a round")
    local_rate: float = setting(1.0, help="the step size of a user", check=more_than(0))
    user_column: int = setting(-1, help="the coordinate of the user in a point; -1: the last", check=whole)
    neighbours: str = setting("add or remove a user of at most 10", help="the relation of the claim")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        check_value("user_column", self.user_column, at_least(-self.features - 1), at_most(self.features))

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features + 1,)

    @property
    def sample_size(self) -> None:
        return None

    def adapt_to(self, sample_size: int) -> Self:
        return self

    def users_of(self, points: np.ndarray) -> np.ndarray:
        return points[:, self.user_column]

    def drop_users(self, points: np.ndarray) -> np.ndarray:
        """(..., features): points without the coordinate of the user."""
        return np.delete(points, self.user_column, axis=-1)

    def losses(self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return super().losses(parameters, self.drop_users(x), y)

    @property
    def claim(self) -> Claim:
        relation = read_relation(self.neighbours)
        claim = self._make_claim(Relation(Neighbours.ADD_OR_REMOVE_ONE))  # of users, in place of examples
        own = Relation(Neighbours.ADD_OR_REMOVE_USER, relation.size)
        return attrs.evolve(claim, neighbours=own).convert(relation)

    def start(self, games: int, rng: np.random.Generator) -> NoisySumsState[Any]:
        return DPFedAvgState(self, games, rng)


@attrs.frozen(eq=False)
class _UserGroup(Group):
    """The distinct examples of u users, e of each, where the missing ones have the count 0: points (u, e,
    features + 1), labels and counts (u, e)."""

    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    source: BatchSource

    def draw_users(self) -> tuple[np.ndarray, np.ndarray]:
        """The games and the users that take part in a round, in pairs, ordered by games."""
        if self.source.draws_counts:
            games, users = np.nonzero(self.source.draw_counts())
            return games, users
        chosen, inside = self.source.draw_positions()
        return np.nonzero(inside)[0], chosen[inside]


class DPFedAvgState(NoisySumsState[_UserGroup]):
    _learner: DPFedAvg

    def _make_group(self, games: np.ndarray, sample: Sample) -> _UserGroup:
        users = find_users(self._learner.users_of, sample.points)
        _, owners, runs = np.unique(users, return_inverse=True, return_counts=True)
        order = np.argsort(owners, kind="stable")
        places = owners[order], np.arange(len(owners)) - np.repeat(np.cumsum(runs) - runs, runs)
        shape = len(runs), int(runs.max())
        points = np.zeros((*shape, *sample.points.shape[1:]))
        labels, counts = np.zeros(shape), np.zeros(shape)
        points[places], labels[places] = sample.points[order], sample.labels[order]
        counts[places] = sample.counts[order]
        source = self._learner.draw_batches(np.ones(len(runs), np.int64), len(games), self._rng)
        return _UserGroup(games, sample, points, labels, counts, source)

    def _add_gradients(self, group: _UserGroup, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        total = np.zeros((len(group.games), self._network.size))
        games, users = group.draw_users()
        slabs = -(-len(users) * group.points[0].size // _SLAB)
        for rows in np.array_split(np.arange(len(users)), max(1, slabs)):
            np.add.at(total, games[rows], self._train_users(group, games[rows], users[rows], canaries))
        return total

    def _train_users(
        self, group: _UserGroup, games: np.ndarray, users: np.ndarray, canaries: tuple[GradientCanary, ...]
    ) -> np.ndarray:
        """(m, P): public model less local model, clipped, of users (m,) in the games (m,) of the group."""
        points, labels, counts = group.points[users], group.labels[users], group.counts[users]
        shares = counts / counts.sum(axis=1, keepdims=True)  # of the mean loss
        pull = np.zeros((len(users), self._network.size))  # of the canaries
        for canary in canaries:
            own = group.games[games]
            is_canary = (points == canary.x[own][:, None]).all(axis=2) & (labels == canary.label)
            pull += (shares * is_canary).sum(axis=1)[:, None] * canary.gradient[own]
            shares = shares * ~is_canary
        x, model = self._learner.drop_users(points), self.parameters[group.games[games]]
        change = np.zeros_like(model)
        with np.errstate(all="ignore"):  # gradient descent on extreme points may diverge
            for _ in range(self._learner.local_steps):
                _, add = self._network.gradients(model - change, x, labels)
                change += self._learner.local_rate * (add(shares) + pull)
            norms = np.sqrt((change**2).sum(axis=1))
            clipped = change * self._shrink(norms)[:, None]
        return np.where(np.isfinite(norms)[:, None], clipped, 0.0)

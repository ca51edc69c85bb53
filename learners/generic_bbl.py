"""GenericBBL: the construction of both versions of Private Everlasting Prediction, all but the answering
of a query.

Algorithm GenericBBL of Naor, Nissim, Stemmer, Yan (2023), steps 1 to 3(g):

1.  α_1, β_1, chunk size λ_i.                    2.  S_1, a random subset of the sample.
3a. T_i disjoint chunks of S_i.                  3b. a teacher (ERM) on each.
3c, 3d. R_i queries are answered from the teachers' mean vote, privately: here the versions differ.
3f. Ŝ_i ⊆ S_i and D̂_i ⊆ the queries, at random; LabelBoost labels D̂_i; S_{i+1} ⊆ D̂_i at random.
3g. α and β are halved; the next round begins.

Deviations, none of which privacy rests on: λ_i, T_i, R_i are the caller's ("practical constants";
`learners.paper` has the printed ones) and grow by the paper's leading order, λ and T doubling and R
quadrupling each round. Where the answers of a round leave too few examples for that, the next round has
as many teachers as they train. The members of D̂_i are decided as the queries arrive, by a uniform choice
of places, which has the law of step 3(f).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil, exp, floor

import attrs
import numpy as np

from arena.claims import QUERY, TRAINING_EXAMPLE, Claim
from arena.concepts import ConceptClass, Thresholds
from arena.concepts.base import numbered
from arena.errors import InvalidArgument, Unsupported
from arena.players import Learner
from arena.points import shared
from arena.sample import Training
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.label_boost import label_boost
from learners.mechanisms.composition import amplified, rate_of
from learners.mechanisms.composition import label_boost as boosted
from learners.queries import Collector
from learners.teachers import Teachers, teach


@attrs.frozen(kw_only=True)
class Round:
    """The parameters of round i.

    alpha, beta: α_i, β_i. chunk, teachers, answers: λ_i, T_i, R_i. noise: ε′_i, per answer or per halt.
    """

    index: int
    alpha: float
    beta: float
    chunk: int
    teachers: int
    answers: int
    noise: float

    @property
    def examples(self) -> int:
        """|S_i| = λ_i T_i."""
        return self.chunk * self.teachers


@attrs.frozen
class GenericBBL(Learner):
    """What both versions share; see `EverlastingV1` and `EverlastingV2`."""

    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C", check=numbered)
    epsilon: float = setting(
        1.0, unit="nats", help="ε that the rates and the noise are set for", check=[more_than(0), at_most(1)]
    )
    delta: float = setting(
        1e-5, unit="probability", help="δ that the noise is set for", check=[more_than(0), less_than(1)]
    )
    alpha_1: float = setting(
        0.2, unit="error rate", help="α_1, halved every round", check=[more_than(0), less_than(0.5)]
    )
    beta_1: float = setting(
        0.05, unit="probability", help="β_1, halved every round", check=[more_than(0), less_than(0.5)]
    )
    teachers: int = setting(20_001, help="T_1, doubled every round", check=[whole, at_least(1)])
    chunk: int = setting(5, help="λ_1, examples a teacher, doubled every round", check=[whole, at_least(1)])
    answers: int | None = setting(
        None, help="R_1, quadrupled every round; default: what round 2 needs", check=[whole, at_least(1)]
    )
    rounds: int | None = setting(
        None, help="rounds before it stops; default: everlasting", check=[whole, at_least(1)]
    )
    noise: float | None = setting(
        None, unit="nats", help="ε′_1 of the answers; default: step 3(c)", check=[more_than(0), at_most(1)]
    )
    training_rate: float | None = setting(
        None,
        unit="fraction",
        help="share of the sample in S_1; default: ε/(3 + exp(ε + 4)), step 2",
        check=[more_than(0), at_most(1)],
    )
    rate: float | None = setting(
        None,
        unit="fraction",
        help="share of S_i and of the queries that LabelBoost sees; default: ε/(3 + exp(ε + 4)), step 3(f)",
        check=[more_than(0), at_most(1)],
    )

    def __attrs_post_init__(self) -> None:
        if self.rounds is None or self.rounds > 1:
            self.round(2)

    # --- what is run ------------------------------------------------------------------------------

    @property
    def rate_run(self) -> float:
        """The rate of step 3(f)."""
        return rate_of(self.epsilon) if self.rate is None else self.rate

    @property
    def training_rate_run(self) -> float:
        """The rate of step 2."""
        return rate_of(self.epsilon) if self.training_rate is None else self.training_rate

    @property
    def _fitting_rate(self) -> float:
        """The rate of step 2 for a sample that is too small for the printed one: ε/(3 + exp(ε + 1)), which
        the proof of Claim E.5 uses.
        """
        return self.epsilon / (3.0 + exp(self.epsilon + 1.0))

    @property
    def sample_size(self) -> int:
        """n: the labelled examples it needs."""
        return ceil(self.teachers * self.chunk / self.training_rate_run)

    def round(self, index: int) -> Round:
        """The parameters of round `index` = 1, 2, …"""
        scale = 2 ** (index - 1)
        answers = self._answers(index)
        return Round(
            index=index,
            alpha=self.alpha_1 / scale,
            beta=self.beta_1 / scale,
            chunk=self.chunk * scale,
            teachers=self._teachers(index),
            answers=answers,
            noise=self._noise(index, answers),
        )

    def _answers(self, index: int) -> int:
        if self.answers is not None:
            return self.answers * 4 ** (index - 1)
        return ceil(self.chunk * self.teachers * 4**index / self.rate_run)

    def _teachers(self, index: int) -> int:
        wished = self.teachers * 2 ** (index - 1)
        if index == 1 or self.answers is None:
            return wished
        chunk = self.chunk * 2 ** (index - 1)
        trainable = floor(self.rate_run * self._answers(index - 1)) // chunk
        if trainable < 1:
            raise InvalidArgument(
                f"the answers of round {index - 1} must train a teacher of round {index}: at rate "
                f"{self.rate_run:.4g} that takes {ceil(chunk / self.rate_run):,} of them",
                value=self._answers(index - 1),
                remedy=f"Give more answers, a higher rate, or rounds={index - 1}.",
            )
        return min(wished, trainable)

    @abstractmethod
    def _noise(self, index: int, answers: int) -> float:
        """ε′ of round `index` (step 3(c))."""

    @abstractmethod
    def _answering(self, round: Round) -> tuple[float, float]:
        """(ε, δ) of a round's answers together, one teacher changed."""

    # --- privacy ----------------------------------------------------------------------------------

    @property
    def claim(self) -> Claim:
        """Claims E.5 and E.6 with the numbers that are run.

        A training example reaches the view through the answers of round 1 and through S_2 (LabelBoost on the
        subset Ŝ_1), both behind the subset S_1. A query of round i reaches it through LabelBoost and
        D̂_i, then as an example of S_{i+1}. Subsets amplify by the exact bound for sampling without
        replacement, of which the paper's Claim 2.9 is a weakening. T_i·α_i never falls from round 2 on,
        so no later round is worse than round 2.
        """
        in_round_1 = self._through_round(1)
        epsilon, delta = amplified(*in_round_1, rate=self.training_rate_run)
        if self.rounds is None or self.rounds > 1:
            relabelled, unlikely = boosted(*self._through_round(2))
            for_query = amplified(relabelled, min(unlikely, 1.0), rate=self.rate_run)
            epsilon, delta = max(epsilon, for_query[0]), max(delta, for_query[1])
        return Claim(epsilon=epsilon, delta=delta, protects=(TRAINING_EXAMPLE, QUERY))

    def _through_round(self, index: int) -> tuple[float, float]:
        """(ε, δ) of the answers of a round and of the next round's labels, for an example of S_index."""
        epsilon, delta = self._answering(self.round(index))
        return epsilon + amplified(*boosted(0.0, 0.0), rate=self.rate_run)[0], delta


class SeatedBBL(ABC):
    """GenericBBL at a table of n games. A version gives `_open_round` and `_answer`."""

    def __init__(self, spec: GenericBBL, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._games = games
        self._rng = rng
        self._stopped = np.zeros(games, bool)
        self._round: Round | None = None

    # --- what Figure 1 asks -----------------------------------------------------------------------

    @property
    def halted(self) -> np.ndarray:
        return self._stopped

    def train(self, training: Training) -> None:
        """Steps 1 and 2, and the opening of round 1."""
        first = self._spec.round(1)
        for sample in training.samples:
            if sample.size < self._spec.sample_size:
                raise Unsupported(
                    f"{self._spec.name} with {first.teachers:,} teachers of {first.chunk} examples and rate "
                    f"{self._spec.training_rate_run:.4g} needs a sample of {self._spec.sample_size:,}",
                    value=sample.size,
                    remedy="Lower teachers or chunk, or raise training_rate (the claim follows).",
                )
            self._spec.concepts.check(sample.points)
        taught = teach(
            training, self._spec.concepts, teachers=first.teachers, chunk=first.chunk, rng=self._rng
        )
        self._begin(first, taught.teachers)
        self._labelled = _Runs(taught.points, taught.labels, taught.counts)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Step 3(d) for one query a game; the step to the next round happens before its first query."""
        assert self._round is not None
        if self._asked == self._round.answers and not self._last_round:
            self._next_round()
        if self._asked == self._round.answers:
            return np.zeros(self._games, bool)
        self._asked += 1
        self._spec.concepts.check(x[:1] if shared(x) else x)
        self._queries.offer(x)
        label = self._answer(self._teachers.votes(x))
        if self._asked == self._round.answers and self._last_round:
            self._stopped = np.ones(self._games, bool)  # in every game at once, whatever was asked
        return label

    def votes(self, x: np.ndarray | float) -> np.ndarray:
        """The teachers' mean votes (n,), for a player that seats the learner at a table of its own."""
        return self._teachers.votes(np.broadcast_to(x, (self._games,)))

    # --- rounds -----------------------------------------------------------------------------------

    @property
    def _last_round(self) -> bool:
        return self._round is not None and self._spec.rounds == self._round.index

    def _begin(self, round: Round, teachers: Teachers) -> None:
        self._round = round
        self._teachers = teachers
        self._asked = 0
        share = floor(self._spec.rate_run * round.answers)
        self._queries = Collector(self._games, of=round.answers, choose=share, rng=self._rng)
        self._open_round(round)

    def _next_round(self) -> None:
        """Steps 3(f), 3(g), 3(a), 3(b)."""
        assert self._round is not None
        chosen = self._queries.chosen()  # D̂_i, in random order
        labelled = self._labelled.subset(floor(self._spec.rate_run * self._round.examples), self._rng)
        concept = _boost(self._rng, self._spec.concepts, labelled, chosen)
        following = self._spec.round(self._round.index + 1)
        points = chosen[:, : following.examples]
        flat = self._spec.concepts.label(np.repeat(concept, following.examples), points.reshape(-1))
        labels = flat.reshape(self._games, following.examples)
        chunks = (self._games, following.teachers, following.chunk)
        held = self._spec.concepts.erm(points.reshape(chunks), labels.reshape(chunks))
        self._labelled = _Runs(points, labels, np.ones(labels.shape, np.int64))
        self._begin(following, Teachers(self._spec.concepts, held, None, following.teachers))

    @abstractmethod
    def _open_round(self, round: Round) -> None:
        """Step 3(c)."""

    @abstractmethod
    def _answer(self, votes: np.ndarray) -> np.ndarray:
        """Steps 3(d)ii and 3(d)iii: the labels for the mean votes of the queries."""


@attrs.frozen(eq=False)
class _Runs:
    """S_i of every game, as counted examples: points (n or 1, k), labels (n or 1, k), counts (n, k)."""

    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray

    def subset(self, size: int, rng: np.random.Generator) -> _Runs:
        """A random subset of `size` examples of each game."""
        left = np.full(len(self.counts), size, np.int64)
        others = self.counts.sum(axis=1)
        taken = np.zeros_like(self.counts)
        for a in range(self.counts.shape[1]):
            here = self.counts[:, a]
            others = others - here
            taken[:, a] = rng.hypergeometric(here, others, left)
            left -= taken[:, a]
        return _Runs(self.points, self.labels, taken)


def _boost(
    rng: np.random.Generator, concept_class: ConceptClass, labelled: _Runs, unlabelled: np.ndarray
) -> np.ndarray:
    """LabelBoost on Ŝ∘D̂: the concepts (n,)."""
    counts, bare = labelled.counts, np.zeros(unlabelled.shape)
    there = np.broadcast_to(labelled.points, counts.shape)
    ones = np.broadcast_to(labelled.labels, counts.shape)
    return label_boost(
        rng,
        concept_class,
        points=np.column_stack([there, unlabelled]),
        zeros=np.column_stack([counts * (ones == 0), bare]),
        ones=np.column_stack([counts * (ones == 1), bare]),
        present=np.column_stack([counts > 0, np.ones(unlabelled.shape, bool)]),
    )

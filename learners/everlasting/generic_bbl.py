"""GenericBBL: the construction of both versions of Private Everlasting Prediction, all but the answering
of a query.

Algorithm GenericBBL of Naor, Nissim, Stemmer, Yan (2023), steps 1 to 3(g):

1.  α_1, β_1, chunk size λ_i.                    2.  S_1, a random subset of the sample.
3a. T_i disjoint chunks of S_i.                  3b. a teacher (ERM) on each.
3c, 3d. R_i queries are answered from the teachers' mean vote, privately: here the versions differ.
3f. Ŝ_i ⊆ S_i and D̂_i ⊆ the queries, at random; LabelBoost labels D̂_i; S_{i+1} ⊆ D̂_i at random.
3g. α and β are halved; the next round begins.

Deviations, none of which privacy rests on: λ_i, T_i, R_i are the caller's ("practical constants";
`learners.everlasting.constants` has the printed ones) and grow by the paper's leading order, λ and T doubling and R
quadrupling each round. Where the answers of a round leave too few examples for that, the next round has
as many teachers as they train. The members of D̂_i are decided as the queries arrive, by a uniform choice
of places, which has the law of step 3(f).
"""

from __future__ import annotations

from abc import abstractmethod
from math import ceil, exp, floor, log
from typing import ClassVar, Self

import attrs

from arena.bounds import ERROR, Bound
from arena.claims import QUERY, TRAINING_EXAMPLE, Claim
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument
from arena.players import Learner
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.everlasting.constants import THEOREM_LIMIT, Paper
from learners.mechanisms.accounting.composition import Guarantee, amplify_by_subsampling, bbl_subsampling_rate
from learners.mechanisms.accounting.composition import label_boost_guarantee as boosted


@attrs.frozen(kw_only=True)
class BBLRound:
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
    version: ClassVar[str] = "v2"
    utility_theorem: ClassVar[str] = "Theorem 6.2 of Private Everlasting Prediction, v2"
    error_factor: ClassVar[int] = 4
    content: ClassVar[str] = "answers"  # what a next round is made of, for messages

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
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
    agnostic: bool = setting(
        False,
        help="first label S_1 with one concept that fits it (remark 6.4), for labels that none explains",
    )

    def __attrs_post_init__(self) -> None:
        if self.rounds is None or self.rounds > 1:
            self.round(2)

    # --- what is run ------------------------------------------------------------------------------

    @property
    def rate_run(self) -> float:
        """The rate of step 3(f)."""
        return bbl_subsampling_rate(self.epsilon) if self.rate is None else self.rate

    @property
    def training_rate_run(self) -> float:
        """The rate of step 2."""
        return bbl_subsampling_rate(self.epsilon) if self.training_rate is None else self.training_rate

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

    def round(self, index: int) -> BBLRound:
        """The parameters of round `index` = 1, 2, …"""
        scale = 2 ** (index - 1)
        answers = self._answers(index)
        return BBLRound(
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
        return self._enough(index)

    def unlabelled(self, index: int) -> int:
        """|D_i|: the unlabelled points of round `index`, of which D̂_i is a random part; here its queries."""
        return self._answers(index)

    def _enough(self, index: int) -> int:
        """The points of which the part D̂_i trains the next round as it is wished."""
        examples = self.chunk * self.teachers * 4**index
        points = ceil(examples / self.rate_run)
        # The quotient may have been rounded down to a whole number.
        return points if floor(self.rate_run * points) >= examples else points + 1

    def _teachers(self, index: int) -> int:
        wished = self.teachers * 2 ** (index - 1)
        if index == 1:
            return wished
        chunk = self.chunk * 2 ** (index - 1)
        trainable = floor(self.rate_run * self.unlabelled(index - 1)) // chunk
        if trainable < 1:
            raise InvalidArgument(
                f"the {self.content} of round {index - 1} must train a teacher of round {index}: at rate "
                f"{self.rate_run:.4g} that takes {ceil(chunk / self.rate_run):,} of them",
                value=self.unlabelled(index - 1),
                remedy=f"Give more {self.content}, a higher rate, or rounds={index - 1}.",
            )
        return min(wished, trainable)

    def sized_for(self, sample_size: int) -> Self:
        """For fewer examples than the default needs: S_1 at the rate ε/(3 + exp(ε + 1)) that the proof of
        Claim E.5 uses, and as many teachers as that allows.
        """
        if sample_size >= self.sample_size:
            return self
        rate = self._fitting_rate
        teachers = int(sample_size * rate) // self.chunk
        if teachers < 1:
            raise InvalidArgument(
                f"{self.name} needs at least {ceil(self.chunk / rate):,} examples to train one teacher",
                value=sample_size,
                remedy="Give more data, or set chunk and training_rate yourself.",
            )
        return attrs.evolve(self, teachers=teachers, training_rate=rate)

    @abstractmethod
    def _noise(self, index: int, answers: int) -> float:
        """ε′ of round `index` (step 3(c))."""

    @abstractmethod
    def _answering(self, round: BBLRound) -> tuple[float, float]:
        """(ε, δ) of a round's answers together, one teacher changed."""

    # --- utility ----------------------------------------------------------------------------------

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 6.2 (5.2 of the first version) for rounds 1 ... `rounds` of GenericBBL: but for a chance of
        4β no hypothesis errs on more than 4α of D (6α), α = 2α_1 and β = 2β_1; None where it takes no such α
        or β. It is promised only where no size is below the printed one and noise is as small as the proof
        needs, which the printed τ of v2 does not make it.
        """
        alpha, beta = 2 * self.alpha_1, 2 * self.beta_1
        if max(alpha, beta) >= THEOREM_LIMIT:
            return None
        return Bound(
            at_most=self.error_factor * alpha,
            of=ERROR,
            beta=4 * beta,
            theorem=self.utility_theorem,
            promised=all(self._as_printed(index) for index in range(1, rounds + 1)),
        )

    def _as_printed(self, index: int) -> bool:
        """Whether no size of the round is below the printed one."""
        if self.delta >= THEOREM_LIMIT:
            return False
        run = self.round(index)
        printed = Paper(self.version).constants(
            alpha=2 * run.alpha,
            beta=2 * run.beta,
            epsilon=self.epsilon,
            delta=self.delta,
            vc=self.concepts.vc_dimension,
        )
        sizes = zip(
            (run.chunk, run.teachers, run.answers),
            (printed.chunk, printed.teachers, printed.answers),
            strict=True,
        )
        return all(one >= other for one, other in sizes) and self._quiet(run)

    def _quiet(self, run: BBLRound) -> bool:
        """Whether, but for a chance of β_i, no noise of the round is 1/16 or more (Claim E.3 of v2)."""
        return run.teachers * run.noise >= 16 * log(run.answers / run.beta)

    # --- privacy ----------------------------------------------------------------------------------

    @property
    def claim(self) -> Claim:
        """Claims E.5 and E.6 with the numbers that are run.

        A training example reaches the view through the answers of round 1 and through S_2 (LabelBoost on the
        subset Ŝ_1), both behind the subset S_1; if agnostic, also behind its new labels. A query of round i
        reaches it through LabelBoost and D̂_i, then as an example of S_{i+1}. Subsets amplify by the exact
        bound for sampling without replacement, of which the paper's Claim 2.9 is a weakening. T_i·α_i never
        falls from round 2 on, so no later round is worse than round 2.

        It is of games that are not refused: LabelBoost declines points that may have too many labellings
        (`ConceptClass.check_solutions`), and that depends on how many of them differ.
        """
        return Claim(
            epsilon=max(cost.epsilon for cost in self.costs.values()),
            delta=min(max(cost.delta for cost in self.costs.values()), 1.0),
            protects=tuple(self.costs),
        )

    @property
    def costs(self) -> dict[str, Guarantee]:
        """What is protected, each with its own guarantee; the claim is the worst of them."""
        return {TRAINING_EXAMPLE: self._cost_of_example(), QUERY: self._cost_of_query()}

    def _cost_of_example(self) -> Guarantee:
        """Of a training example."""
        cost = self._through_round(1)
        if self.agnostic:
            cost = boosted(*cost)
        return amplify_by_subsampling(cost[0], min(cost[1], 1.0), rate=self.training_rate_run)

    def _cost_of_query(self) -> Guarantee:
        """Of a query, through the examples of the next round."""
        return self._cost_of_unlabelled()

    def _cost_of_unlabelled(self) -> Guarantee:
        """Of a point of D_i."""
        if self.rounds == 1:
            return Guarantee(0.0, 0.0)
        epsilon, delta = boosted(*self._through_round(2))
        return amplify_by_subsampling(epsilon, min(delta, 1.0), rate=self.rate_run)

    def _through_round(self, index: int) -> tuple[float, float]:
        """(ε, δ) of the answers of a round and of the next round's labels, for an example of S_index."""
        epsilon, delta = self._answering(self.round(index))
        return epsilon + amplify_by_subsampling(*boosted(0.0, 0.0), rate=self.rate_run)[0], delta

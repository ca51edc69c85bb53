"""GenericBBL, the construction of Private Everlasting Prediction: its configuration, claim and utility bound.

Algorithm GenericBBL of Naor, Nissim, Stemmer, Yan (2023): 2. S_1 ⊆ the sample. 3a, 3b. T_i teachers on
disjoint chunks of λ_i examples of S_i. 3c, 3d. R_i queries are answered privately from their mean vote; here
the versions differ. 3f. LabelBoost labels D̂_i ⊆ the queries from Ŝ_i ⊆ S_i; S_{i+1} ⊆ D̂_i. 3g. α and β are
halved.

Deviations, on which privacy does not depend: λ_i, T_i and R_i are settings (`with_practical_constants` fits
them); λ and T double and R quadruples each round, with fewer teachers where a round has too few answers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from math import ceil, exp, floor, log
from operator import ge
from typing import Any, ClassVar, Self

import attrs

from arena.claims import ERROR, Bound, Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument
from arena.players import Learner
from arena.sample import Sample
from arena.settings import at_most, count_setting, less_than, more_than, setting
from learners.everlasting.bbl_round import (
    HALTS_FACTOR,
    ITERATIONS,
    PRACTICAL_ALPHA_1,
    PRACTICAL_BETA_1,
    PRACTICAL_ROUNDS,
    THEOREM_LIMIT,
    V2,
    BBLRound,
    PaperConstants,
    paper_constants,
    practical_chunk,
)
from learners.mechanisms.accounting import (
    Guarantee,
    amplify_by_subsampling,
    bbl_subsampling_rate,
    label_boost_guarantee,
)

_LEAST_NOISE_PRODUCT = 4  # T_i·ε′_i at which Laplace noise answers 7 % of unanimous votes wrongly


@attrs.frozen
class GenericBBL(Learner):
    """Base of the everlasting predictors. A subclass defines `start`, `_noise` and `_cost_of_answers`."""

    protocols = ("Figure1",)
    version: ClassVar[str] = V2
    in_paper: ClassVar[bool] = False  # whether the paper prints constants for exactly this algorithm
    utility_theorem: ClassVar[str] = "Theorem 6.2 of Private Everlasting Prediction, v2"
    error_factor: ClassVar[int] = 4  # of α, in that theorem
    training_source: ClassVar[str] = "answers"  # what the next round is trained on, for messages

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
    epsilon: float = setting(1.0, unit="nats", help="ε for rates and noise", check=[more_than(0), at_most(1)])
    delta: float = setting(1e-5, unit="probability", help="δ for which noise is chosen")
    alpha_1: float = setting(0.2, unit="error rate", help="α_1, halved every round")
    beta_1: float = setting(
        0.05, unit="probability", help="β_1, halved every round", check=[more_than(0), less_than(0.5)]
    )
    teachers: int = count_setting(20_001, help="T_1, doubled every round")
    chunk: int = count_setting(5, help="λ_1, examples per teacher, doubled every round")
    answers: int | None = count_setting(None, help="R_1, quadrupled every round; default: what round 2 needs")
    rounds: int | None = count_setting(None, help="rounds after which it halts; default: unlimited")
    noise: float | None = setting(
        None, unit="nats", help="ε′_1 of the answers; default: step 3(c)", check=[more_than(0), at_most(1)]
    )
    training_rate: float | None = setting(
        None, unit="fraction", help="of the sample, in S_1; default: ε/(3 + exp(ε + 4)), step 2"
    )
    rate: float | None = setting(
        None, unit="fraction", help="that LabelBoost sees, of S_i and queries; default: ε/(3 + exp(ε + 4))"
    )
    agnostic: bool = setting(False, help="first relabel S_1 with one concept (remark 6.4), for noisy data")

    def __attrs_post_init__(self) -> None:
        if self.rounds is None or self.rounds > 1:
            self._teachers(2)

    @property
    def rate_run(self) -> float:
        """The rate of step 3(f)."""
        return bbl_subsampling_rate(self.epsilon) if self.rate is None else self.rate

    @property
    def labelled_rate_run(self) -> float:
        """The rate at which step 3(f) draws Ŝ_i; the paper has one rate for both subsets."""
        return self.rate_run

    @property
    def training_rate_run(self) -> float:
        """The rate of step 2."""
        return bbl_subsampling_rate(self.epsilon) if self.training_rate is None else self.training_rate

    @property
    def _small_sample_rate(self) -> float:
        """The rate of step 2 for samples too small for the printed rate: that of the proof of Claim E.5."""
        return self.epsilon / (3.0 + exp(self.epsilon + 1.0))

    @property
    def sample_size(self) -> int:
        """n, the number of labelled examples it needs."""
        return ceil(self.teachers * self.chunk / self.training_rate_run)

    def round(self, index: int) -> BBLRound:
        """The parameters of round `index` = 1, 2, …"""
        scale = self._growth ** (index - 1)
        answers = self._answers(index)
        return BBLRound(
            index=index,
            alpha=self.alpha_1 / scale,
            beta=self.beta_1 / scale,
            chunk=self._chunk(index),
            teachers=self._teachers(index),
            answers=answers,
            noise=self._noise(index, answers),
        )

    @property
    def _growth(self) -> float:
        """The factor of λ and T from round to round; that of R is its square."""
        return 2

    def _chunk(self, index: int) -> int:
        return ceil(self.chunk * self._growth ** (index - 1))

    def _answers(self, index: int) -> int:
        if self.answers is not None:
            return ceil(self.answers * self._growth ** (2 * (index - 1)))
        return self._pool_for_next_round(index)

    def pool_size(self, index: int) -> int:
        """|D_i|, the number of unlabelled points of round `index`, here its queries."""
        return self._answers(index)

    def _pool_for_next_round(self, index: int) -> int:
        """The least |D_i| with which D̂_i can train all teachers of the next round."""
        examples = self._chunk(index + 1) * ceil(self.teachers * self._growth**index)
        points = ceil(examples / self.rate_run)
        # The floating-point quotient may have been rounded down to an integer.
        return points if floor(self.rate_run * points) >= examples else points + 1

    def _teachers(self, index: int) -> int:
        grown = ceil(self.teachers * self._growth ** (index - 1))
        if index == 1:
            return grown
        chunk = self._chunk(index)
        trainable = floor(self.rate_run * self.pool_size(index - 1)) // chunk
        if trainable < 1:
            raise InvalidArgument(
                f"the {self.training_source} of round {index - 1} must train a teacher of round {index}, "
                f"which takes {ceil(chunk / self.rate_run):,} of them at rate {self.rate_run:.4g}",
                value=self.pool_size(index - 1),
                remedy=f"Set more {self.training_source}, a higher rate, or rounds={index - 1}.",
            )
        return min(grown, trainable)

    def adapt_to(self, sample_size: int) -> Self:
        """This learner, or for a smaller sample one with S_1 at the rate of Claim E.5 and fewer teachers."""
        if sample_size >= self.sample_size:
            return self
        rate = self._small_sample_rate
        teachers = int(sample_size * rate) // self.chunk
        if teachers < 1:
            raise InvalidArgument(
                f"{self.name} needs at least {ceil(self.chunk / rate):,} examples to train one teacher",
                value=sample_size,
                remedy="Use more data, or set chunk and training_rate yourself.",
            )
        return attrs.evolve(self, teachers=teachers, training_rate=rate)

    @abstractmethod
    def _noise(self, index: int, answers: int) -> float:
        """ε′ of round `index` (step 3(c))."""

    @abstractmethod
    def _cost_of_answers(self, round: BBLRound) -> tuple[float, float]:
        """(ε, δ) of all answers of a round together, if one teacher changes."""

    _practical_answers: ClassVar[int | None] = None  # R_1; None: as many as round 2 needs

    @classmethod
    def settings_before_fitting(cls) -> dict[str, str]:
        """Settings, as text, that allow any sizes, until `with_practical_constants` replaces them."""
        return {"training_rate": "1", "rate": "1", "answers": "none"}

    def with_practical_constants(self, *, rounds: int = PRACTICAL_ROUNDS, keep: Collection[str] = ()) -> Self:
        """This learner with constants for small errors in rounds 1 … `rounds`
        (docs/proofs/practical_constants.md).

        keep: the names of settings that stay as they are. Raises: InvalidArgument if no constants fit these.
        """
        errors = {"alpha_1": PRACTICAL_ALPHA_1, "beta_1": PRACTICAL_BETA_1}
        learner = self._replace(keep, **errors, training_rate=1.0, rate=1.0)
        chunk = practical_chunk(learner.alpha_1, learner.concepts.vc_dimension)
        learner = learner._replace(keep, chunk=chunk, answers=self._practical_answers)
        for _ in range(ITERATIONS):
            product = learner._least_noise_product(rounds)
            noise = learner.noise if "noise" in keep and learner.noise is not None else 1.0
            learner = learner._replace(keep, teachers=ceil(product / noise))
        noise = min(1.0, learner._least_noise_product(rounds) / learner.teachers)
        halting_round = learner.round(self._round_of_halts(rounds))
        halts = ceil(HALTS_FACTOR * halting_round.alpha * halting_round.answers)
        return learner._replace(keep, noise=noise, halts=halts)

    def _replace(self, keep: Collection[str], **settings: Any) -> Self:
        """This learner with those of the settings that it has and that are not in `keep`."""
        names = attrs.fields_dict(type(self)).keys() - set(keep)
        return attrs.evolve(self, **{name: value for name, value in settings.items() if name in names})

    def _least_noise_product(self, rounds: int) -> float:
        """The least T_1·ε′_1 with which, except with probability β_i, no noise of a round i exceeds 1/16."""
        runs = [self.round(index) for index in range(1, rounds + 1)]
        return max(16 * log(run.answers / run.beta) for run in runs)

    def _round_of_halts(self, rounds: int) -> int:
        return 1

    def check_labellings(self, rounds: int, sample: Sample | None = None) -> None:
        """Raises: Unsupported if LabelBoost could have too many labellings to choose from in so many rounds,
        of points of the data `sample`, by default the whole domain."""
        points = self.round(1).examples if self.agnostic else 0
        if rounds > 1:
            run = self.round(rounds - 1)
            points = int(self.labelled_rate_run * run.examples + self.rate_run * self.pool_size(rounds - 1))
        distinct = self.concepts.domain if sample is None else sample.distinct().points
        self.concepts.check_growth(points if distinct is None else min(points, len(distinct)))

    def bound(self, rounds: int) -> Bound | None:
        """The error bound of Theorem 6.2 (5.2 of the first version) for rounds 1 … `rounds`.

        With probability at least 1 − 4β no hypothesis errs on more than 4α (v1: 6α) of D, where α = 2α_1, β =
        2β_1. None if the theorem does not apply; promised only for sizes and noise that are no worse than
        printed.
        """
        alpha, beta = 2 * self.alpha_1, 2 * self.beta_1
        if max(alpha, beta) >= THEOREM_LIMIT:
            return None
        return Bound(
            at_most=self.error_factor * alpha,
            of=ERROR,
            beta=4 * beta,
            theorem=self.utility_theorem,
            promised=all(self._has_printed_sizes(index) for index in range(1, rounds + 1)),
        )

    def _has_printed_sizes(self, index: int) -> bool:
        if self.delta >= THEOREM_LIMIT:
            return False
        run = self.round(index)
        printed = self._print_constants(2 * run.alpha, 2 * run.beta, self.delta)
        own = run.chunk, run.teachers, run.answers
        large_enough = all(map(ge, own, (printed.chunk, printed.teachers, printed.answers)))
        return large_enough and self._has_small_noise(run)

    def _print_constants(self, alpha: float, beta: float, delta: float) -> PaperConstants:
        vc = self.concepts.vc_dimension
        return paper_constants(self.version, alpha=alpha, beta=beta, epsilon=self.epsilon, delta=delta, vc=vc)

    def _has_small_noise(self, run: BBLRound) -> bool:
        """Whether all noise of the round is below 1/16 except with probability β_i (Claim E.3 of v2)."""
        return run.teachers * run.noise >= 16 * log(run.answers / run.beta)

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """Those of the first two rounds in which noise often outweighs even a unanimous vote."""
        return tuple(
            f"{self.name} answers inaccurately in round {run.index}: the noise on the mean vote of "
            f"{run.teachers:,} {'teacher' if run.teachers == 1 else 'teachers'} has scale "
            f"{1 / (run.teachers * run.noise):.3g}"
            for run in self._first_rounds
            if run.teachers * run.noise < _LEAST_NOISE_PRODUCT
        )

    @property
    def _first_rounds(self) -> list[BBLRound]:
        return [self.round(index) for index in range(1, min(self.rounds or 2, 2) + 1)]

    def explain(self) -> dict[str, str]:
        """The first two rounds, and the constants that the paper prints, as `arena show` prints them."""
        explanations = {
            f"round {run.index}": f"noise ε′ = {run.noise:.6g} nats, {run.teachers:,} teachers, "
            f"{run.answers:,} answers"
            for run in self._first_rounds
        }
        if self.in_paper:
            explanations["printed constants"] = self._explain_printed_constants()
        return explanations

    def _explain_printed_constants(self) -> str:
        own = {"alpha": 2 * self.alpha_1, "beta": 2 * self.beta_1, "delta": self.delta}
        valid = {name: value if value < THEOREM_LIMIT else 0.05 for name, value in own.items()}
        printed = self._print_constants(**valid)
        values = {"α": valid["alpha"], "β": valid["beta"], "ε": self.epsilon, "δ": valid["delta"]}
        at = ", ".join(f"{letter} = {value:.3g}" for letter, value in values.items())
        limit = "" if valid == own else "; the theorem takes α, β and δ below 1/16"
        return f"demand {printed} ({at}{limit})"

    @property
    def claim(self) -> Claim:
        """Claims E.5 and E.6, computed from the configured numbers (docs/proofs/generic_bbl.md), for games
        that are not refused."""
        return Claim(
            epsilon=max(cost.epsilon for cost in self.costs.values()),
            delta=min(max(cost.delta for cost in self.costs.values()), 1.0),
            protects=tuple(self.costs),
        )

    @property
    def costs(self) -> dict[PrivacyUnit, Guarantee]:
        """The guarantee of each privacy unit; the claim is the worst of them."""
        return {
            PrivacyUnit.TRAINING_EXAMPLE: self._cost_of_example(),
            PrivacyUnit.QUERY: self._cost_of_query(),
        }

    def _cost_of_example(self) -> Guarantee:
        cost = self._cost_through_round(1)
        if self.agnostic:
            cost = self._cost_of_new_labels(*cost, labelled=True)
        return amplify_by_subsampling(cost[0], min(cost[1], 1.0), rate=self.training_rate_run)

    def _cost_of_query(self) -> Guarantee:
        return self._cost_of_pool_point()

    def _cost_of_pool_point(self) -> Guarantee:
        if self.rounds == 1:
            return Guarantee(0.0, 0.0)
        epsilon, delta = self._cost_of_new_labels(*self._cost_through_round(2), labelled=False)
        return amplify_by_subsampling(epsilon, min(delta, 1.0), rate=self.rate_run)

    def _cost_through_round(self, index: int) -> tuple[float, float]:
        """The cost of an example of S_index, through the round's answers and the next round's labels."""
        return self._add_label_cost(*self._cost_of_answers(self.round(index)))

    def _add_label_cost(self, epsilon: float, delta: float) -> tuple[float, float]:
        """What is added for the labels of the next round, which LabelBoost chooses from Ŝ_i."""
        labels = amplify_by_subsampling(
            *self._cost_of_new_labels(0.0, 0.0, labelled=True), rate=self.labelled_rate_run
        )
        return epsilon + labels.epsilon, delta

    def _cost_of_new_labels(self, epsilon: float, delta: float, *, labelled: bool) -> Guarantee:
        """The cost, to a point that LabelBoost sees before it, of an (ε, δ)-DP mechanism."""
        return label_boost_guarantee(epsilon, delta)

"""Theorem 3.3 of Private Everlasting Prediction as an attack: a hypothesis is learned from answers."""

from __future__ import annotations

from math import ceil, log
from typing import Any

import attrs
import click
import numpy as np

from adversaries.common.training_samples import choose_sample_size
from adversaries.figure1.base import Figure1Adversary, chunk_sizes
from adversaries.figure1.honest import FiniteDistribution, choose_distribution
from arena import Figure1, InvalidArgument, Learner, Moves, Queries, Train, play
from audits.api.race import find_entrants
from audits.registry.settings_text import build_player
from audits.reports.formatting import column_table
from benchmarks.papers.limits import MedianAndMean, Proportion

LEARNER_FACTOR, BOOST_FACTOR = 8, 24  # Claims B.1 and B.2 bound errors by 8α and 24α
CONFIDENCE = 0.95  # of the limits of a learner
_CLAIM_B1_SHARE = 0.25  # of games that may exceed 8α


@attrs.frozen
class HypothesisLearner(Figure1Adversary):
    """Algorithm HypothesisLearner of Private Everlasting Prediction, v2 (appendix B).

    R random points of a finite domain are queried, and h(x) is a uniformly chosen answer at x. If some point
    was never queried, it fails, and h labels everything 0. Against a predictor that does not learn from
    queries, the error of h is at most 8α with probability 3/4, where α is the error of the predictor's
    hypotheses (Claim B.1). So an unlimited private interface of that kind is a private learner. All games
    have the same target, so that AccuracyBoost can take a vote of their hypotheses. The score is the error of
    h under the uniform distribution on the domain, from which the sample is drawn too.

    Deviations, which `as_printed` undoes:
    - L_x is a list and not a set, because the proof needs each round that queried x to count alike. Of a set
      with both labels a fair coin errs half the time, however rare the wrong answers were.
    - R = |X| log(|X|/β), so that |X| (1 − 1/|X|)^R ≤ β. The printed R = |X| log|X| log(1/β) fails with
      probability up to |X|^(1 − log(1/β)), which is above β = 1/8 for |X| < 7.
    """

    name = "hypothesis-learner"

    beta: float = 0.125  # β, of failure
    as_printed: bool = False
    asked: int | None = None  # R; default: as above
    learned: list[LearnedHypotheses] = attrs.field(factory=list, eq=False, repr=False)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        target = choose_distribution(1, rng, concepts=None, learner=self.learner, sample=None)
        assert isinstance(target, FiniteDistribution)
        distribution, points = attrs.evolve(target, games=games), target.points
        yield Train(distribution.draw_samples(rng, choose_sample_size(self.learner), 0.0))
        rounds = self.rounds(len(points))
        yield from self._give_unlabelled(rounds, games, lambda size: distribution.draw(rng, size)[0])
        answers = np.zeros((2, games, len(points)), np.int64)  # how often each label was the answer
        for size in chunk_sizes(rounds, games, self.learner):
            columns = rng.integers(0, len(points), (games, size))
            reply = yield Queries(points[columns])
            for label in (0, 1):
                game, query = np.nonzero(reply.label == label)
                np.add.at(answers[label], (game, columns[game, query]), 1)
        learned = self._choose_hypotheses(answers, distribution.labels[0] == 1, rng)
        self.learned.append(learned)
        return learned.errors

    def rounds(self, points: int) -> int:
        """R, for a domain of so many points."""
        if self.asked is not None:
            return self.asked
        if self.as_printed:
            return max(1, ceil(points * log(points) * log(1 / self.beta)))
        return ceil(points * log(points / self.beta))

    def _choose_hypotheses(
        self, answers: np.ndarray, truth: np.ndarray, rng: np.random.Generator
    ) -> LearnedHypotheses:
        """Steps 3 to 5, from the counts of the answers (2, n, |X|)."""
        total = answers.sum(axis=0)
        share = answers[1] / np.maximum(total, 1)
        if self.as_printed:
            share = np.where((answers > 0).all(axis=0), 0.5, share)
        failed = (total == 0).any(axis=1)
        hypotheses = (rng.random(share.shape) < share) & ~failed[:, None]
        wrong = np.where(truth, answers[0], answers[1]).sum(axis=1)
        return LearnedHypotheses(hypotheses, truth, failed, wrong / np.maximum(total.sum(axis=1), 1))


@attrs.frozen(eq=False)
class LearnedHypotheses:
    """The hypotheses of n games.

    Shapes: hypotheses (n, |X|) bool, truth (|X|,) bool, failed (n,) bool; wrong (n,), the share of wrong
    answers, which is the mean error of the predictor's hypotheses.
    """

    hypotheses: np.ndarray
    truth: np.ndarray
    failed: np.ndarray
    wrong: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """(n,): the error of each hypothesis."""
        return np.asarray((self.hypotheses != self.truth).mean(axis=1))

    @property
    def boosted(self) -> float:
        """The error of AccuracyBoost's hypothesis, the majority of all hypotheses (1 on a tie)."""
        return float(((2 * self.hypotheses.sum(axis=0) >= len(self.hypotheses)) != self.truth).mean())


@attrs.frozen(kw_only=True)
class ExtractionFigures:
    """The figures of one learner.

    points: |X|. queries: R of HypothesisLearner. alpha: α, which the mean error of a game's hypotheses
    exceeds in at most a share β of games. error: of the learned hypothesis. exceeding: the share of games in
    which it is above 8α, at most 1/4 by Claim B.1. failed: the share of games that failed. boosted: the error
    of the majority vote of a block's hypotheses, at most 24α by Claim B.2.
    """

    points: int
    queries: int
    alpha: float
    error: MedianAndMean
    exceeding: Proportion
    failed: float
    boosted: MedianAndMean

    @property
    def broken(self) -> bool:
        """Whether Claim B.1 is refuted."""
        return self.exceeding.lower > _CLAIM_B1_SHARE


def extract_hypotheses(
    learner: Learner,
    adversary: HypothesisLearner,
    *,
    games: int,
    boost: int,
    seed: int,
    number: int = 0,
    level: float = 1 - CONFIDENCE,
) -> ExtractionFigures:
    """Play the games, in blocks of `boost`; each block is one run of AccuracyBoost with R = boost.

    The games of a block have one target but samples of their own. number: of the learner, for its seeds.
    level: the probability that a limit is wrong.

    Raises: InvalidArgument unless the learner has a class with a finite domain, and boost divides games.
    """
    concepts: Any = getattr(learner, "concepts", None)
    points = len(getattr(concepts, "domain", None) or ())
    if not points:
        raise InvalidArgument(f"{learner.name} has no class with a finite domain", value=concepts)
    if games % boost:
        raise InvalidArgument("games must be a multiple of boost", value=f"{games} games, boost {boost}")
    for block in range(games // boost):
        block_seed = np.random.SeedSequence(seed, spawn_key=(number, block))
        play(learner, adversary, Figure1(), games=boost, seed=block_seed)
    errors, wrong, failed = (
        np.concatenate([getattr(learned, name) for learned in adversary.learned])
        for name in ("errors", "wrong", "failed")
    )
    alpha = float(np.quantile(wrong, 1 - adversary.beta, method="higher"))
    return ExtractionFigures(
        points=points,
        queries=adversary.rounds(points),
        alpha=alpha,
        error=MedianAndMean.of(errors, level / 3),
        exceeding=Proportion.of(errors > LEARNER_FACTOR * alpha, level / 3),
        failed=float(failed.mean()),
        boosted=MedianAndMean.of(np.array([learned.boosted for learned in adversary.learned]), level / 3),
    )


@click.command()
@click.argument("learners", nargs=-1, required=True)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the learners.")
@click.option("--asked", type=int, help="R of HypothesisLearner. Default: |X| log(|X|/β).")
@click.option("--as-printed", is_flag=True, help="Keep the printed R, and L_x as a set.")
@click.option("--games", default=400, show_default=True, help="Games of each learner.")
@click.option("--boost", default=40, show_default=True, help="R of AccuracyBoost; printed: 104 ln(1/β).")
@click.option("--seed", default=0, show_default=True)
def hypothesis(
    learners: tuple[str, ...], settings: tuple[str, ...], asked: int, as_printed: bool, **others: Any
) -> None:
    """Learn a hypothesis from the answers of each of LEARNERS, or LABEL=LEARNER.

    A setting of one learner is LABEL.NAME=VALUE. The claims are about predictors that learn nothing from
    queries; other predictors answer R queries anyway, and their privacy claim covers these.
    """
    entrants, rows = find_entrants(learners), []
    texts = dict(pair.split("=", 1) for pair in settings)
    for number, (label, player) in enumerate(entrants):
        shared = {name: text for name, text in texts.items() if "." not in name}
        own = {name.removeprefix(f"{label}."): texts[name] for name in texts if name.startswith(f"{label}.")}
        learner = build_player(player, {**shared, **own})
        adversary = HypothesisLearner(learner=learner, asked=asked, as_printed=as_printed)
        level = (1 - CONFIDENCE) / len(entrants)
        figures = extract_hypotheses(learner, adversary, number=number, level=level, **others)
        rows.append(
            (
                *(label, f"{figures.points:,}", f"{figures.queries:,}", f"{figures.failed:.3f}"),
                *(f"{figures.alpha:.4f}", str(figures.error), f"{LEARNER_FACTOR * figures.alpha:.4f}"),
                str(figures.exceeding) + (", refuted" if figures.broken else ""),
                *(str(figures.boosted), f"{BOOST_FACTOR * figures.alpha:.4f}"),
            )
        )
    headers = ("learner", "|X|", "R", "failed", "α", "error of h", "8α", "games above (at most 1/4)")
    click.echo(column_table(rows, (*headers, "majority's error", "24α")))

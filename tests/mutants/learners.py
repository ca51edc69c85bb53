"""All broken learners, each with the correct learner that it was made from.

Every one keeps to its protocol, and its claim is what its author believes, so only an audit can find the
error.
"""

from __future__ import annotations

from functools import partial
from math import exp, inf, log
from typing import Any

import attrs
from mutants.figure1 import aggregators as voting
from mutants.figure1 import learners as figure1
from mutants.figure1 import teacher_learners as teachers
from mutants.figure1.aggregators import AGGREGATORS
from mutants.lists import LISTS
from mutants.online import halfspaces
from mutants.online import online_experts as experts
from mutants.online import online_forests as forests
from mutants.online import online_learners as online
from mutants.online import online_realizable as realizable
from mutants.releases import learners as release
from mutants.releases import mean_learners as means
from support.simple_players import run_audit as run_audit_once

from arena import REFEREES, Learner, Referee, SpecialRound
from learners.online.noisy_majority import NoisyMajority
from learners.releases.counts import LaplaceCount

ROUNDS = 12


@attrs.frozen
class BrokenLearner:
    """A broken learner.

    spec: the learner. protocol: the name of the referee under which it fails.
    twin: the correct learner, with the same or a smaller claim.
    loses: the least ε that holds at the δ of its claim; infinity if none does.
    raises: it leaks by raising, which only audits with faults in the view can see.
    rounds: of a game of SpecialRound against the adversary written for it. games: of that audit.
    searched: a search finds it. Some errors need an adversary that knows the learner's thresholds.
    pairs: games in each world that the search plays with each adversary, if more than `SMALL` has.
    """

    spec: Learner
    twin: Learner
    loses: float
    protocol: str = "Release"
    raises: bool = False
    rounds: int = ROUNDS
    games: int = 16_000
    searched: bool = True
    pairs: int | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def referee(self) -> Referee:
        """The referee to play it under, with a short game where the protocol has a length."""
        return SpecialRound(self.rounds) if self.protocol == "SpecialRound" else REFEREES[self.protocol]()


# At an error of 1e-6, for tests that must not fail by chance.
run_audit = partial(run_audit_once, confidence=1 - 1e-6, until_refuted=True)


# The broken private online learners that take settings of their own.
PRIVATE_ONLINE: tuple[tuple[Any, float, int, dict[str, Any]], ...] = (
    (realizable.BareCounts(), inf, 24, {"games": 4_000}),
    (realizable.NoiseOfThresholdAlone(), inf, 22, {"pairs": 256, "games": 4_000}),
    (realizable.ComparesAtMistakes(), inf, 22, {"pairs": 256, "games": 4_000}),
    (realizable.PairsInTurn(), inf, 64, {"searched": False, "games": 2_000}),
    (realizable.SumGoesOn(), 19.8, 187, {"searched": False, "games": 10_000}),
    (realizable.WholeEpsilonEach(), 5.0, 486, {"searched": False, "games": 20_000}),
    (forests.BareForest(), inf, 12, {}),
    (forests.EachSwitchWhole(), 400 * 2.0, 451, {"searched": False, "games": 10_000}),
    (forests.LeavesInTurn(), inf, 139, {"searched": False, "games": 4_000}),
    (experts.KeepsBatches(), 59.0, 60, {"games": 4_000}),
    (experts.NoiseOfMeans(), 20.0, 40, {}),
    (experts.BareCandidates(), inf, 12, {}),
    (experts.StrikesOut(), inf, 12, {}),
    (experts.NoiseOfOneLevel(), 2.85, 60, {"searched": False, "games": 8_000}),
    (experts.WholeForCounters(), 4.0, 12, {}),
    (experts.ShowsTheBest(), inf, 12, {}),
    (experts.PaysForOneDraw(), 11.0, 24, {}),
    (experts.SkipsTheBit(), inf, 12, {"pairs": 512}),
    (experts.RedrawsAtMistakes(), inf, 12, {}),
    (halfspaces.DrawsForOne(), 0.25 + 60 * 0.8, 2, {}),
    (halfspaces.SumForMean(), 0.25 + 4 * 1.6, 2, {}),
    (halfspaces.CacheStays(), 0.25 + 4 * 66 * 0.3, 12, {"pairs": 1024}),
    (halfspaces.KeepsWeights(), 0.25 + 40 * 4 * 0.4, 80, {"searched": False}),
    (halfspaces.CacheShows(), inf, 2, {}),
    (halfspaces.NothingNew(), inf, 2, {}),
    (halfspaces.WatchesMistakes(), inf, 10, {}),
    (halfspaces.BareMistakes(), inf, 10, {}),
    (halfspaces.ManyDrawsAfterCalm(), 0.5 + 60 * 0.8, 40, {"searched": False}),
)

MUTANTS = (
    BrokenLearner(release.HalfTheScale(), LaplaceCount(), loses=2.0),
    BrokenLearner(release.ExactZero(), LaplaceCount(), loses=inf),
    BrokenLearner(release.NoiseSeededByData(), LaplaceCount(), loses=inf),
    BrokenLearner(release.BoundedNoise(), release.BoundedCount(), loses=inf),
    BrokenLearner(release.NoiseCutToWhole(), release.WholeCount(), loses=0.5 + log(2)),
    BrokenLearner(release.SuppressedByExactCount(), release.Suppressed(), loses=inf),
    BrokenLearner(release.SensitivityOfAdding(), release.LabelHistogram(), loses=2.0),
    BrokenLearner(release.OneNoiseForBoth(), release.LabelHistogram(), loses=inf),
    BrokenLearner(release.ExactSize(), release.Selected(), loses=inf),
    BrokenLearner(release.RefusesEmptySelection(), release.SelectedMean(), loses=inf, raises=True),
    BrokenLearner(release.OrderOfData(), release.PointHistogram(), loses=inf),
    BrokenLearner(release.EpsilonForDelta(), release.StableHistogram(), loses=inf),
    BrokenLearner(means.UnclippedSum(), means.ClippedSum(), loses=inf),
    BrokenLearner(means.VarianceForDeviation(), means.GaussianMean(), loses=1.8015),
    BrokenLearner(means.ChoiceWithoutTheTwo(), means.CommonPoint(), loses=2.0),
    BrokenLearner(means.CoinForFlip(), means.IndependentFlips(), loses=log(1 + 2 * exp(1))),
    *(BrokenLearner(mutant, mutant.twin, loses, **more) for mutant, loses, more in LISTS),
    BrokenLearner(figure1.StaleNoise(), figure1.PointVotes(answers=8), loses=inf, protocol="Figure1"),
    BrokenLearner(figure1.PaysForOneAnswer(), figure1.PointVotes(answers=8), loses=8.0, protocol="Figure1"),
    BrokenLearner(figure1.OneAnswerMore(), figure1.PointVotes(answers=1), loses=2.0, protocol="Figure1"),
    BrokenLearner(figure1.NothingToLearn(), figure1.PointVotes(), loses=inf, protocol="Figure1"),
    BrokenLearner(figure1.Memorises(), figure1.PointVotes(), loses=inf, protocol="Figure1"),
    BrokenLearner(figure1.UnknownPoint(), figure1.PointVotes(), inf, protocol="Figure1", raises=True),
    BrokenLearner(figure1.RefusesUnknownPoint(), figure1.PointVotes(), inf, protocol="Figure1", raises=True),
    BrokenLearner(figure1.NoiseSeededByQuery(), figure1.PointVotes(), loses=inf, protocol="Figure1"),
    BrokenLearner(figure1.FreeRepeats(), figure1.PointVotes(), loses=inf, protocol="Figure1"),
    BrokenLearner(figure1.BareThreshold(), figure1.SparseCount(), loses=inf, protocol="Figure1"),
    BrokenLearner(figure1.HaltsOnTrueCount(), figure1.SparseCount(), loses=inf, protocol="Figure1"),
    BrokenLearner(teachers.SharedExample(), teachers.Disjoint(), loses=2.0, protocol="Figure1"),
    BrokenLearner(teachers.NoNoiseIfUnanimous(), teachers.Disjoint(), loses=inf, protocol="Figure1"),
    BrokenLearner(teachers.WholeSample(), teachers.SUBSET, loses=2.0, protocol="Figure1"),
    *(
        BrokenLearner(mutant, mutant.twin, loses, protocol="Voting", **more)
        for mutant, loses, more in AGGREGATORS
    ),
    BrokenLearner(voting.HALF, voting.VOTES, loses=2.93, protocol="Voting"),
    BrokenLearner(voting.BARE, voting.VOTES, loses=inf, protocol="Voting"),
    BrokenLearner(online.StaleMajority(), NoisyMajority(), loses=inf, protocol="SpecialRound"),
    BrokenLearner(online.NoisyStart(), NoisyMajority(), loses=inf, protocol="SpecialRound"),
    BrokenLearner(
        online.BareBrink(), NoisyMajority(), loses=inf, protocol="SpecialRound", rounds=40, searched=False
    ),
    BrokenLearner(
        online.JumpsAfterCalm(),
        NoisyMajority(),
        loses=inf,
        protocol="SpecialRound",
        rounds=40,
        searched=False,
    ),
    BrokenLearner(online.PaysForOneRound(), NoisyMajority(rounds=12), loses=11.0, protocol="SpecialRound"),
    *(
        BrokenLearner(mutant, mutant.twin, loses, protocol="SpecialRound", rounds=rounds, **more)
        for mutant, loses, rounds, more in PRIVATE_ONLINE
    ),
)

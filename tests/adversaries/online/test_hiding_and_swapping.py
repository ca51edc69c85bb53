"""point-functions, special-swap and update-swap."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats
from support.online.players import Opponent
from support.simple_players import LastLabel
from support.statistical import check_counts, expect_rejection, statistical

from adversaries.common.shared_settings import draw_start_rounds
from adversaries.online.random_sequences import PointFunctions, find_hiding_places
from adversaries.online.special_swap import SpecialSwap, UpdateSwap
from arena import Adversary, Hypothesis, Learner, Oblivious, PrivacyUnit, SpecialRound, Unsupported, play
from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Rectangles, Thresholds
from learners.online.conservative import Soa
from learners.online.noisy_majority import NoisyMajority
from learners.online.realizable import RealizableLearner

CLASSES: list[ConceptClass] = [
    Points(range(6)),
    Thresholds(range(5)),
    Intervals(range(5)),
    Rectangles([2, 3]),
    FiniteClass([[0, 0], [0, 1]]),
]


# --- point-functions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("concepts", CLASSES, ids=str)
@pytest.mark.parametrize("everywhere", [False, True])
def test_labels_hide_where_a_concept_agrees_with_the_background(
    concepts: ConceptClass, everywhere: bool
) -> None:
    labels = concepts.dichotomies(np.array(concepts.domain)).labels
    places = find_hiding_places(concepts, everywhere=everywhere)
    assert len(places.hidden)
    for x in places.hidden:
        background = [z for z in range(len(places.b)) if z != x] if everywhere else [places.known]
        assert x not in background
        agree = (labels[:, background] == places.b[background]).all(axis=1)
        assert (labels[agree, x] != places.b[x]).any()


def test_every_point_of_point_functions_can_hide() -> None:
    assert find_hiding_places(Points(range(6)), everywhere=True).hidden.tolist() == [0, 1, 2, 3, 4, 5]
    assert find_hiding_places(Points(range(6)), everywhere=False).hidden.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "concepts", [Points([1]), FiniteClass([[0, 0]]), FiniteClass([[0, 0], [1, 1]])], ids=str
)
def test_a_class_in_which_nothing_hides_is_refused(concepts: ConceptClass) -> None:
    with pytest.raises(Unsupported, match="has no point whose label can hide behind others"):
        find_hiding_places(concepts, everywhere=False)


@pytest.mark.parametrize("background", ["one", "all"])
@pytest.mark.parametrize("start", ["scale", "uniform"])
def test_one_point_comes_up_late_and_stays(background: str, start: str) -> None:
    adversary = PointFunctions(rounds=40, background=background, start=start, decoys=0.5)
    columns, y = adversary._draw_examples(Points(range(6)), 300, np.random.default_rng(1))
    decoy = ~y.any(axis=1)
    assert 100 < decoy.sum() < 200
    for own, labels in zip(columns[~decoy], y[~decoy], strict=True):
        first = int(labels.argmax())
        assert (labels == (np.arange(40) >= first)).all()
        assert (own[first:] == own[-1]).all()
        assert own[-1] not in own[:first]
    alone = {tuple(np.unique(own)) for own in columns[decoy]}
    assert alone == {(0,)} if background == "one" else max(map(len, alone)) == 5


@pytest.mark.parametrize("concepts", CLASSES, ids=str)
def test_without_privacy_one_mistake_is_enough(concepts: ConceptClass) -> None:
    """The background is SOA's own h_1, so it errs when the hidden point first shows its label."""
    learner = Soa(concepts=concepts)
    for decoys, mistakes in ((0.0, 1), (1.0, 0)):
        adversary = PointFunctions(learner=learner, rounds=30, decoys=decoys)
        played = play(learner, adversary, Oblivious(30), games=50, seed=1)
        assert (played.mistakes == mistakes).all()


@statistical(rate=4e-7)
def test_the_hidden_point_starts_at_a_random_scale() -> None:
    """T = 6: t* is 1, or 2 or 3, or 4 to 6, each of the three scales as likely."""
    games = 400_000
    rng = np.random.default_rng(3)
    scale = np.bincount(draw_start_rounds("scale", 6, games, rng) - 1, minlength=6)
    uniform = np.bincount(draw_start_rounds("uniform", 6, games, rng) - 1, minlength=6)
    law = np.array([1 / 3, 1 / 6, 1 / 6, 1 / 9, 1 / 9, 1 / 9])
    check_counts(scale, law, rate=1e-7, effect=0.01, power=1 - 1e-7)
    check_counts(uniform, np.full(6, 1 / 6), rate=1e-7, effect=0.01, power=1 - 1e-7)
    with expect_rejection():
        check_counts(scale, np.full(6, 1 / 6), rate=1e-7, effect=0.01, power=1 - 1e-7)


SHORT, LONG = 200, 2_000
MOST = 200  # mistakes that the law goes up to


def private(rounds: int) -> RealizableLearner:
    """Its AboveThreshold has ε/4 = 1. It misses the right function with a chance below 1e-9."""
    return RealizableLearner(concepts=Points(range(6)), rounds=rounds, epsilon=4.0, nodes=64)


def law_of_mistakes(rounds: int, threshold: float) -> np.ndarray:
    """(MOST + 1,): the law of the mistakes of `private`, where there are no decoys.

    It errs at the hidden point until the number of mistakes plus Lap(1), drawn anew in every round, reaches
    the threshold plus Lap(1), or the game is over. Before t* that has a chance below 1e-20.
    """
    noise = np.linspace(-40, 40, 4_001)[:, None]
    stays = stats.laplace.cdf(threshold - np.arange(1, MOST + 1) + noise).cumprod(axis=1)
    wrong = np.trapezoid(stats.laplace.pdf(noise) * stays, noise, axis=0)
    scales = rounds.bit_length()
    starts = np.zeros(rounds + 1)
    for low in 2 ** np.arange(scales):
        starts[low : 2 * low] = 1 / scales / min(low, rounds + 1 - low)
    lasts = starts.cumsum()[rounds - np.arange(1, MOST + 1)]  # t* leaves more rounds than so many
    return -np.diff(np.concatenate([[1.0, 1.0], wrong * lasts]), append=0.0)[:-1]


def count_mistakes(rounds: int) -> np.ndarray:
    """The mistakes of 2,000 games."""
    learner = private(rounds)
    adversary = PointFunctions(learner=learner, rounds=rounds, decoys=0.0)
    return play(learner, adversary, Oblivious(rounds), games=2_000, seed=1).mistakes


def check_mistakes(mistakes: np.ndarray, rounds: int, threshold: float) -> None:
    middle = round(private(rounds).mistake_threshold(0))
    edges = [0, middle - 1, middle + 1, middle + 3, MOST + 1]
    law = law_of_mistakes(rounds, threshold)
    cells = [law[low:high].sum() for low, high in pairwise(edges)]
    check_counts(np.histogram(mistakes, edges)[0], cells, rate=1e-7, effect=0.15, power=1 - 1e-7)


@pytest.mark.thorough
@statistical(rate=4e-7)
def test_mistakes_that_are_forced_on_a_private_learner_grow_with_the_logarithm_of_the_rounds() -> None:
    """By 3 ln 10 from 200 rounds to 2,000, as does what its noise asks for. One and a half mistakes fewer
    would be noticed, and so would mistakes that did not grow."""
    short, long = private(SHORT).mistake_threshold(0), private(LONG).mistake_threshold(0)
    assert long - short == pytest.approx(3 * np.log(10))
    check_mistakes(count_mistakes(SHORT), SHORT, short)
    mistakes = count_mistakes(LONG)
    check_mistakes(mistakes, LONG, long)
    for fewer in (long - 1.5, short):
        with expect_rejection():
            check_mistakes(mistakes, LONG, fewer)


# --- swaps --------------------------------------------------------------------------------------------------


def scores(learner: Learner, adversary: Adversary, rounds: int) -> tuple[set[float], set[float]]:
    """All scores in world 0, and in world 1; and that the worlds differ as the learner's claim has it."""
    played = play(learner, adversary, SpecialRound(rounds), games=20, seed=1)
    assert played.challenges == {PrivacyUnit.STREAM_EXAMPLE}
    return set(played.score[~played.worlds]), set(played.score[played.worlds])


def list_examples(learner: Learner, adversary: Adversary, rounds: int) -> list[set[tuple[float, int]]]:
    """The examples that the games got, round by round."""
    played = play(learner, adversary, SpecialRound(rounds), games=20, seed=1, record=True)
    entries: Any = played.transcript.entries
    return [set(zip(entry.x.tolist(), entry.y.tolist(), strict=True)) for entry in entries]


def test_special_swap_takes_the_middle_of_the_domain() -> None:
    of_soa = list_examples(Soa(), SpecialSwap(learner=Soa(), rounds=2), 2)
    assert of_soa == [{(8.0, 0), (8.0, 1)}, {(8.0, 0)}]
    for adversary in (SpecialSwap(rounds=2), SpecialSwap(learner=NoisyMajority(), rounds=2)):
        assert list_examples(NoisyMajority(), adversary, 2)[1] == {(0.5, 0)}


def test_special_swap_swaps_what_it_is_set_to() -> None:
    adversary = SpecialSwap(rounds=3, special=2, point=1.0, label=1, other_point=4.0, other_label=0)
    assert list_examples(Soa(), adversary, 3) == [{(1.0, 1)}, {(1.0, 1), (4.0, 0)}, {(1.0, 1)}]


def test_special_swap_counts_the_hypotheses_that_follow() -> None:
    """h_2 of last-label is the swapped label, h_3 the 0 of round 2, h_4 the 1 of round 3."""
    assert scores(LastLabel(), SpecialSwap(rounds=4), 4) == ({1.0}, {2.0})


class PatientState:
    def __init__(self, games: int, patience: int) -> None:
        self.left = np.full(games, patience)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(Thresholds(range(16)), np.where(self.left > 0, 0.0, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self.left = np.where(self.left > 0, self.left - (y == 0), 0)


@attrs.frozen
class Patient(Opponent):
    """Says 1 everywhere until it has erred so many times, and 0 from then on."""

    name = "patient"
    patience: int = 4

    def start(self, games: int, rng: np.random.Generator) -> PatientState:
        return PatientState(games, self.patience)


@pytest.mark.parametrize("score", ["first-change", "stays"])
@pytest.mark.parametrize(
    ("probes", "before", "in_0", "in_1"),
    [
        ("with", 3, -6, 0),  # at the brink: world 1 updates at once, world 0 in none of h_5 … h_10
        ("with", 2, -7, -7),
        ("against", 3, -1, 0),
        ("against", 2, -2, -1),
        ("with", 4, -5, -5),  # updated before the swap in both
    ],
)
def test_update_swap_by_hand(score: str, probes: str, before: int, in_0: float, in_1: float) -> None:
    learner = Patient(patience=4)
    adversary = UpdateSwap(learner=learner, rounds=10, before=before, probes=probes, score=score)
    assert scores(learner, adversary, 10) == ({in_0}, {in_1})


def test_update_swap_scores_first_changes_or_stays() -> None:
    """last-label labels as it was told last: with the probes of h_1, world 1 leaves it for one round only."""
    kinds = {"first-change": ({-3.0}, {0.0}), "stays": ({-3.0}, {-2.0})}
    for score, expected in kinds.items():
        adversary = UpdateSwap(rounds=4, before=0, probes="with", score=score)
        assert scores(LastLabel(), adversary, 4) == expected


def test_update_swap_may_use_another_point_in_world_0() -> None:
    learner = Soa()  # which begins with 8 and up as 1
    adversary = UpdateSwap(learner=learner, rounds=3, before=0, other_point=2.0, probes="with")
    assert list_examples(learner, adversary, 3) == [{(2.0, 0), (8.0, 0)}, {(8.0, 1)}, {(8.0, 1)}]


def test_update_swap_needs_no_more_rounds_than_the_game_has() -> None:
    assert scores(Patient(), UpdateSwap(learner=Patient(), rounds=2, before=50), 2) == ({0.0}, {0.0})

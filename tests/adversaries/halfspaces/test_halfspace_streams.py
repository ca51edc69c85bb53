"""Streams of halfspaces with margin: they keep what they promise of targets, points and labels."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import attrs
import numpy as np
import pytest
from support.halfspaces import PlainWinnow
from support.statistical import check_counts, expect_rejection, statistical

from adversaries.halfspaces.base import HalfspaceStream, draw_biased_bits, draw_fair_bits, draw_subsets
from adversaries.halfspaces.few_coordinates import HiddenCoordinate, ShrinkingMargin
from adversaries.halfspaces.short_lists import ShortLists, SparseDisjunction
from arena import Adaptive, Example, InvalidArgument, Oblivious, Realizable, Unsupported, play
from arena.concepts import Halfspaces, Thresholds
from arena.concepts.halfspaces import decision_list
from arena.testing import check_adversary
from learners.online.conservative import Soa

STREAMS: list[HalfspaceStream] = [
    SparseDisjunction(rounds=30),
    SparseDisjunction(rounds=30, points="uniform", relevant=1),
    SparseDisjunction(rounds=30, points="decoys", stretch=7),
    ShortLists(rounds=30),
    ShortLists(rounds=30, points="uniform", length=1, alternations=1),
    ShrinkingMargin(rounds=30),
    HiddenCoordinate(rounds=30),
    HiddenCoordinate(rounds=30, background="one", start="uniform", decoys=0.0),
]
CLASSES = [Halfspaces(8, 0.2), Halfspaces(30, 0.05), Halfspaces(4, 1 / 3)]


def fit_to(stream: HalfspaceStream, halfspaces: Halfspaces, **changes: Any) -> Any:
    return attrs.evolve(stream, learner=PlainWinnow(halfspaces), **changes)


def draw_examples(stream: HalfspaceStream, games: int, seed: int = 5) -> list[Example]:
    """The examples to which it commits."""
    move: Any = next(stream.play(games, np.random.default_rng(seed)))
    return list(move.examples)


def arrays(examples: list[Example]) -> tuple[np.ndarray, np.ndarray]:
    """(rounds, games, d) points and (rounds, games) labels."""
    return np.array([e.x for e in examples]), np.array([e.y for e in examples]) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("halfspaces", CLASSES, ids=str)
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_streams_conform_and_are_realizable_by_the_learners_class(
    stream: HalfspaceStream, halfspaces: Halfspaces
) -> None:
    learner = PlainWinnow(halfspaces)
    for protocol, referee in (("Oblivious", Oblivious(30)), ("Adaptive", Adaptive(30))):
        own = fit_to(stream, halfspaces, protocol=protocol)
        check_adversary(own, learner, Realizable(referee, halfspaces))


@pytest.mark.parametrize("halfspaces", CLASSES, ids=str)
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_targets_reach_the_margin_with_small_integers(
    stream: HalfspaceStream, halfspaces: Halfspaces
) -> None:
    examples = draw_examples(fit_to(stream, halfspaces), 20)
    assert len(examples) == 30
    target = examples[0].target
    assert all(e.target is target for e in examples)
    assert target.sum(axis=1) == pytest.approx(np.ones(20))
    assert target.min() == 0
    for e in examples:
        assert e.x.dtype == np.int8
        assert np.isin(e.x, (-1, 0, 1)).all()
        assert (np.where(e.y, 1, -1) * np.vecdot(target, e.x) >= halfspaces.margin - 1e-9).all()


@pytest.mark.parametrize("stream", [s for s in STREAMS if not isinstance(s, ShrinkingMargin)], ids=str)
def test_the_protocol_changes_nothing_in_the_examples(stream: HalfspaceStream) -> None:
    own = fit_to(stream, CLASSES[0])
    learner, x = PlainWinnow(CLASSES[0]), []
    for protocol, referee in (("Oblivious", Oblivious(30)), ("Adaptive", Adaptive(30))):
        adversary = fit_to(own, CLASSES[0], protocol=protocol)
        played = play(learner, adversary, referee, games=6, seed=1, record=True)
        entries: Any = played.transcript.entries
        x.append([(entry.x.tolist(), entry.y.tolist()) for entry in entries])
    assert x[0] == x[1]


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_every_game_has_a_target_of_its_own(stream: HalfspaceStream) -> None:
    target = draw_examples(fit_to(stream, CLASSES[1]), 50)[0].target
    assert len({tuple(row) for row in target}) > 10


def test_learners_of_other_classes_are_refused() -> None:
    with pytest.raises(
        Unsupported, match=r"^sparse-disjunction plays halfspaces with margin, not Thresholds"
    ):
        draw_examples(SparseDisjunction(learner=Soa()), 1)
    with pytest.raises(InvalidArgument, match=r"^soa receives points of shape \(\), got Halfspaces"):
        draw_examples(SparseDisjunction(learner=Soa(), concepts=CLASSES[0]), 1)
    assert SparseDisjunction().halfspaces == Halfspaces(64, 0.2)
    assert SparseDisjunction(concepts=CLASSES[1], learner=None).halfspaces == CLASSES[1]
    with pytest.raises(Unsupported, match="plays halfspaces"):
        draw_examples(HiddenCoordinate(concepts=Thresholds(range(3))), 1)


# --- coins -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@statistical(rate=4e-7)
def test_bits_have_the_given_probability() -> None:
    """Chances between whole bytes among them; one that is off by 1/1,000 is noticed."""
    rng, size = np.random.default_rng(1), 12_000
    for chance in (1 - 0.5**0.5, 0.001):
        bits = draw_biased_bits(size, 2_000, chance, rng)
        assert bits.dtype == np.int8
        counts = np.bincount(bits.ravel(), minlength=2)
        check_counts(counts, [1 - chance, chance], rate=1e-7, effect=0.001, power=1 - 1e-7)
        with expect_rejection():
            check_counts(counts, [0.999 - chance, chance + 0.001], rate=1e-7, effect=0.001, power=1 - 1e-7)


def test_bits_of_no_chance_and_of_every_chance() -> None:
    rng = np.random.default_rng(1)
    assert not draw_biased_bits(50, 50, 0.0, rng).any()
    assert draw_biased_bits(50, 50, 1.0, rng).all()
    assert draw_fair_bits(3, 13, rng).shape == (3, 13)


@statistical(rate=2e-7)
def test_subsets_are_drawn_in_every_order_alike() -> None:
    ways = list(permutations(range(4), 2))
    chosen = draw_subsets(400_000, 2, 4, np.random.default_rng(2))
    counts = [int((chosen == way).all(axis=1).sum()) for way in ways]
    check_counts(counts, np.full(12, 1 / 12), rate=1e-7, effect=0.006, power=1 - 1e-7)
    with expect_rejection():
        law = np.append(np.full(11, 1 / 12 - 0.006 / 11), 1 / 12 + 0.006)
        check_counts(counts, law, rate=1e-7, effect=0.006, power=1 - 1e-7)


# --- sparse-disjunction -----------------------------------------------------------------------------------


def relevant_of(target: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(row[:-1]) for row in target]


@pytest.mark.parametrize("points", ["even", "uniform", "decoys"])
def test_labels_are_those_of_the_disjunction(points: str) -> None:
    examples = draw_examples(SparseDisjunction(rounds=40, points=points, concepts=Halfspaces(12, 1 / 7)), 30)
    x, y = arrays(examples)
    assert (x[:, :, -1] == -1).all()
    assert np.isin(x[:, :, :-1], (0, 1)).all()
    for game, chosen in enumerate(relevant_of(examples[0].target)):
        assert len(chosen) == 3
        np.testing.assert_array_equal(y[:, game], x[:, game, chosen].any(axis=1))
        if points == "decoys":
            assert x[:, game, chosen].sum(axis=1).max() == 1


@statistical(rate=1e-6)
def test_points_follow_the_setting() -> None:
    """One round of many games, k = 2: labels, and a bit that is not relevant."""
    games, some = 400_000, Halfspaces(5, 0.2)
    one = 1 - 0.5**0.5
    laws = {"even": (0.5, one), "uniform": (0.75, 0.5), "decoys": (0.5, 0.5)}
    for points, (labels, bits) in laws.items():
        (example,) = draw_examples(SparseDisjunction(rounds=1, points=points, concepts=some), games)
        told = example.y == 1
        idle = np.take_along_axis(example.x, example.target.argmin(axis=1)[:, None], axis=1)[:, 0] == 1
        for found, chance in ((told, labels), (idle, bits)):
            ones = np.count_nonzero(found)
            check_counts([games - ones, ones], [1 - chance, chance], rate=1e-7, effect=0.01, power=1 - 1e-7)
    with expect_rejection():
        check_counts([games - ones, ones], [0.49, 0.51], rate=1e-7, effect=0.01, power=1 - 1e-7)


@statistical(rate=3e-7)
def test_decoys_stay_on_a_side_for_a_stretch() -> None:
    """A bit is on its side with chance 3/4: so two rounds of one stretch find it on one side, seen from the
    label, with chance 3/4² + 1/4², and two of different ones with chance 1/2."""
    games = 300_000
    stream = SparseDisjunction(rounds=4, points="decoys", stretch=2, concepts=Halfspaces(3, 1 / 3))
    examples = draw_examples(stream, games)
    idle = examples[0].target.argmin(axis=1)[:, None]
    side = [np.take_along_axis(e.x, idle, axis=1)[:, 0] == e.y for e in examples]
    for a, b, chance in ((0, 1, 0.625), (1, 2, 0.5)):
        alike = np.count_nonzero(side[a] == side[b])
        check_counts([games - alike, alike], [1 - chance, chance], rate=1e-7, effect=0.01, power=1 - 1e-7)
    with expect_rejection():
        check_counts([games - alike, alike], [0.375, 0.625], rate=1e-7, effect=0.01, power=1 - 1e-7)


def test_the_margin_decides_how_many_variables_are_relevant() -> None:
    sizes = {0.2: 2, 1 / 3: 1, 0.1999: 2, 0.01: 49, 0.0001: 63}
    found = {margin: SparseDisjunction(concepts=Halfspaces(64, margin)).size for margin in sizes}
    assert found == sizes


# --- short-lists ------------------------------------------------------------------------------------------


def answer_of_list(target: np.ndarray, x: np.ndarray) -> int:
    """What the list says, read from its weights: terms in the order of their weight; of two that weigh the
    same, that with the default's label comes first."""
    half = len(target) // 2
    signed = target[:half] - target[half:]
    default = int(signed[-1] < 0)
    terms = [(abs(w), int(w > 0) == default, i) for i, w in enumerate(signed[:-1].round(9)) if w]
    return next((int(signed[i] > 0) for _, _, i in sorted(terms, reverse=True) if x[i]), default)


@pytest.mark.parametrize("points", ["firing", "uniform"])
def test_labels_are_those_of_the_list(points: str) -> None:
    """Of lists whose terms weigh 10, 6, 4, 2, 2 before the default."""
    stream = ShortLists(rounds=50, points=points, length=5, alternations=5, concepts=Halfspaces(20, 0.04))
    assert stream.labels == (1, 0, 1, 0, 1)
    examples = draw_examples(stream, 20)
    x, _ = arrays(examples)
    np.testing.assert_array_equal(x[:, :, :10], -x[:, :, 10:])
    assert (x[:, :, 9] == -1).all()
    assert np.isin(x[:, :, :9], (0, 1)).all()
    for e in examples:
        found = [answer_of_list(own, point) for own, point in zip(e.target, e.x, strict=True)]
        np.testing.assert_array_equal(found, e.y)


@statistical(rate=4e-7)
def test_every_term_and_the_default_fire_as_often_and_defaults_are_coins() -> None:
    """A list of one term: label 1 by the term or by the default, with chance 1/2 each."""
    games = 300_000
    stream = ShortLists(rounds=1, length=1, alternations=1, concepts=Halfspaces(6, 1 / 3))
    (example,) = draw_examples(stream, games)
    default_1 = example.target[:, 5] > 0
    term = np.maximum(example.target[:, :2], example.target[:, 3:5]).argmax(axis=1)
    fires = np.take_along_axis(example.x, term[:, None], axis=1)
    cells = np.bincount(2 * default_1 + (fires[:, 0] == 1), minlength=4)
    check_counts(cells, np.full(4, 0.25), rate=1e-7, effect=0.01, power=1 - 1e-7)
    np.testing.assert_array_equal(example.y == 1, (fires[:, 0] == 1) != default_1)
    with expect_rejection():
        check_counts(cells, [0.24, 0.26, 0.25, 0.25], rate=1e-7, effect=0.01, power=1 - 1e-7)

    long = ShortLists(rounds=1, length=4, alternations=2, concepts=Halfspaces(12, 0.05))
    (example,) = draw_examples(long, games)
    ones = np.count_nonzero(example.y)
    # Of five that decide two say 0 and the default is one of three that say its label; defaults are fair.
    check_counts([games - ones, ones], [0.5, 0.5], rate=1e-7, effect=0.01, power=1 - 1e-7)


@pytest.mark.parametrize(
    ("halfspaces", "settings", "labels"),
    [
        (Halfspaces(64, 0.2), {}, (0, 1)),
        (Halfspaces(64, 1 / 3), {}, (1,)),
        (Halfspaces(64, 0.2), {"alternations": 1}, (1, 1)),
        (Halfspaces(64, 0.05), {}, (0, 0, 1, 1, 1)),
        (Halfspaces(64, 0.05), {"length": 3}, (0, 1, 1)),
        (Halfspaces(6, 0.001), {}, (0, 1)),
        (Halfspaces(64, 0.01), {"alternations": 3, "length": 5}, (1, 0, 0, 1, 1)),
    ],
)
def test_the_margin_decides_how_long_a_list_is(
    halfspaces: Halfspaces, settings: dict[str, Any], labels: tuple[int, ...]
) -> None:
    stream = ShortLists(concepts=halfspaces, **settings)
    assert stream.labels == labels
    assert stream.reached == decision_list(len(labels), list(enumerate(labels)), 0).margin


# --- shrinking-margin, hidden-coordinate -----------------------------------------------------------------


def test_margins_shrink_from_1_to_that_of_the_class() -> None:
    stream = ShrinkingMargin(rounds=30, concepts=Halfspaces(16, 0.2))
    examples = draw_examples(stream, 40)
    margins = [np.vecdot(examples[0].target, e.x) * np.where(e.y, 1, -1) for e in examples]
    for t, margin in enumerate(margins):
        assert margin == pytest.approx(np.full(40, 1 - 0.4 * (t // 10)))
    assert [ShrinkingMargin(concepts=Halfspaces(9, m)).size for m in (1, 0.5, 0.3, 0.1)] == [1, 1, 3, 9]
    assert ShrinkingMargin(concepts=Halfspaces(8, 0.1)).size == 7


@statistical(rate=3e-7)
def test_what_speaks_against_the_label_is_random() -> None:
    """In the last stretch of k = 3 one relevant coordinate is against, each as often; labels are coins."""
    games = 300_000
    stream = ShrinkingMargin(rounds=2, concepts=Halfspaces(4, 1 / 3))
    example = draw_examples(stream, games)[1]
    z = example.x * np.where(example.y == 1, 1, -1)[:, None]
    against = np.flatnonzero((z * (example.target > 0)).ravel() == -1) % 4
    check_counts(np.bincount(against, minlength=4), np.full(4, 0.25), rate=1e-7, effect=0.01, power=1 - 1e-7)
    idle = np.take_along_axis(z, example.target.argmin(axis=1)[:, None], axis=1)[:, 0]
    cells = np.bincount(2 * (idle == 1) + (example.y == 1), minlength=4)
    check_counts(cells, np.full(4, 0.25), rate=1e-7, effect=0.01, power=1 - 1e-7)
    with expect_rejection():
        check_counts(cells, [0.26, 0.24, 0.25, 0.25], rate=1e-7, effect=0.01, power=1 - 1e-7)


@pytest.mark.parametrize("background", ["one", "all"])
def test_the_hidden_point_comes_late_and_stays(background: str) -> None:
    stream = HiddenCoordinate(rounds=40, background=background, decoys=0.5, concepts=Halfspaces(6, 1.0))
    examples = draw_examples(stream, 300)
    x, y = arrays(examples)
    assert (x.sum(axis=2) == 2 - 6).all()
    points, hidden = x.argmax(axis=2), examples[0].target.argmax(axis=1)
    np.testing.assert_array_equal(y, points == hidden)
    decoy = ~y.any(axis=0)
    assert 100 < decoy.sum() < 200
    assert (np.diff(y.astype(int), axis=0) >= 0).all()
    before = {len(set(points[:, g])) for g in np.flatnonzero(decoy)}
    assert before == {1} if background == "one" else max(before) == 5


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (SparseDisjunction(concepts=Halfspaces(64, 0.4)), "of 1 variables has a margin of 0.3333"),
        (SparseDisjunction(relevant=3), "a disjunction of 3 variables has a margin of 0.1429"),
        (SparseDisjunction(concepts=Halfspaces(2, 0.1), relevant=2), "have 1 variables, got 2"),
        (ShortLists(concepts=Halfspaces(63, 0.2)), "must have an even number of dimensions, 4 or more"),
        (ShortLists(length=3, alternations=3), "3 terms with 3 alternations has a margin of 0.1111"),
        (ShortLists(length=40, concepts=Halfspaces(64, 0.001)), "needs 1 to 31 terms, got 40"),
        (ShortLists(length=2, alternations=3), "needs 3 to 31 terms, got 2"),
        (HiddenCoordinate(concepts=Halfspaces(1, 1.0)), "a point can hide only in 2 or more dimensions"),
    ],
)
def test_targets_that_do_not_fit_are_refused(stream: HalfspaceStream, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        draw_examples(stream, 1)


# --- before Winnow ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stream", "least"),
    [
        (SparseDisjunction(), 45),
        (SparseDisjunction(points="decoys"), 45),
        (ShortLists(), 38),
        (ShrinkingMargin(), 22),
        (HiddenCoordinate(decoys=0.0), 2),
    ],
    ids=lambda it: getattr(it, "name", None),
)
def test_winnow_errs_on_them_and_stays_within_its_bound(stream: HalfspaceStream, least: int) -> None:
    """The mean of 50 games. It lies some way above what is asked for, and its bound far above that."""
    halfspaces = Halfspaces(64, 0.2)
    own = fit_to(stream, halfspaces, rounds=600)
    learner = PlainWinnow(halfspaces)
    played = play(learner, own, Realizable(Oblivious(600), halfspaces), games=50, seed=1)
    assert played.mistakes.mean() >= least
    assert played.mistakes.max() <= 2 * np.log(64) / 0.2**2

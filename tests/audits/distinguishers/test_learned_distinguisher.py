"""Distinguishers learned from games."""

from __future__ import annotations

import warnings

import attrs
import numpy as np
import pytest
from support.views import count_views

from arena.released.encoding import encode_values
from audits.distinguishers import learned_distinguisher
from audits.distinguishers.learned_distinguisher import (
    _COSTLY,
    DistinguisherTraining,
    TrainingGames,
    _list_costly_kinds,
    _list_kinds,
    learn_distinguisher,
)
from audits.distinguishers.marginal_ratios import QuadrantEvents
from audits.distinguishers.summaries import Summary
from audits.distinguishers.view_classifiers import (
    BoostedTrees,
    LinearTerms,
    Regression,
    SmoothTerms,
    SummaryTerms,
    ViewFrequencies,
)
from audits.distinguishers.view_features import _LARGEST, ViewCounts
from audits.runs.audit_estimators import AuditEstimators
from audits.runs.plan import PlanSettings


def block(world0: np.ndarray, world1: np.ndarray) -> ViewCounts:
    return count_views(world0, world1, *(f"f{i}" for i in range(world0.shape[1])))


def coins(rng: np.random.Generator, pairs: int, chance: float) -> ViewCounts:
    """Three coins a view; the middle one is fair in world 0 and falls 1 with `chance` in world 1."""
    tosses = rng.random((2, pairs, 3)) < 0.5
    tosses[1, :, 1] = rng.random(pairs) < chance
    return block(*tosses.astype(float))


def test_few_views_are_counted(rng: np.random.Generator) -> None:
    distinguisher = learn_distinguisher([coins(rng, 4_000, 0.9)])
    assert isinstance(distinguisher, ViewFrequencies)
    asked = block(np.array([[0.0, 1, 0]]), np.array([[0.0, 0, 0]]))
    middle0, middle1 = distinguisher(asked)[asked.which[0]][::-1]
    assert middle0 == pytest.approx(np.log(0.1 / 0.5), abs=0.3)
    assert middle1 == pytest.approx(np.log(0.9 / 0.5), abs=0.3)


def test_views_seen_once_or_never_have_finite_scores() -> None:
    distinguisher = learn_distinguisher([count_views(np.array([0.0]), np.array([1.0]))])
    scores = distinguisher(count_views(np.array([0.0, 7.0]), np.array([1.0, 7.0])))
    assert scores.tolist() == pytest.approx([-np.log(3), np.log(3), 0.0])


def test_many_views_are_learned_by_trees(rng: np.random.Generator) -> None:
    values = rng.normal(size=(2, 7_000, 2))
    values[1, :, 1] += 2.0
    distinguisher = learn_distinguisher([block(*values[:, :6_000])])
    assert isinstance(distinguisher, BoostedTrees)
    asked = block(*values[:, 6_000:])
    scores = distinguisher(asked)[asked.which]
    assert np.mean(scores[:, 1] > scores[:, 0]) > 0.85


@pytest.mark.thorough
def test_equal_games_teach_equal_distinguishers() -> None:
    noise = np.random.default_rng(1).normal(size=(2, 3_000, 2))
    first, second = learn_distinguisher([block(*noise)]), learn_distinguisher([block(*noise)])
    asked = block(*noise)
    assert np.array_equal(first(asked), second(asked))


def test_scikit_learn_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"needs scikit-learn, got 4000. Run pip install 'dp-arena\[learning\]'"
    ):
        learn_distinguisher([block(*rng.normal(size=(2, 2_000, 1)))])


def test_a_block_is_scored_by_what_came_before_it(rng: np.random.Generator) -> None:
    learning = DistinguisherTraining(pairs=4_000)
    blocks = [coins(rng, 500, 0.9) for _ in range(12)]
    learned_after = []
    for number, one in enumerate(blocks):
        scores = learning.score(one)
        assert (scores is None) == (number < 2)
        if learning.learn(one) is not None:
            learned_after.append(number + 1)
    assert learned_after[0] == 2
    assert 4 not in learned_after  # a bit says all, so that no later distinguisher is better
    assert learning.done


@pytest.mark.thorough
def test_a_better_distinguisher_replaces_one_that_knew_too_little(rng: np.random.Generator) -> None:
    """The worlds differ in one of 4,096 views in ten, which few games cannot show."""
    learning = DistinguisherTraining(pairs=40_000)
    replaced = 0
    while not learning.done:
        one = block(
            *[np.where(rng.random((2_000, 1)) < 0.1, w, rng.integers(2, 4_098, (2_000, 1))) for w in (0, 1)]
        )
        replaced += learning.learn(one) is not None
    assert replaced >= 1
    scores = learning.score(one)
    assert scores is not None
    assert np.mean(scores.scores[:, 1] > scores.scores[:, 0]) > 0.15


def test_the_scores_that_bets_start_from_are_not_those_it_was_fitted_to() -> None:
    """Views that never occur twice: a block that taught the distinguisher would look perfectly separated."""
    learning = DistinguisherTraining(pairs=1_000)
    values = np.arange(400.0).reshape(4, 100, 1)
    assert learning.learn(block(*values[:2])) is None
    seen = learning.learn(block(*values[2:]))
    assert seen is not None
    assert [one.scores.tolist() for one in seen] == [[[0.0, 0.0]]]


@pytest.mark.parametrize(
    "sizes", [[16, 16, 32, 64, 128, 256, 512, 1_024], [300] * 12], ids=["growing", "equal"]
)
def test_bets_start_again_from_blocks_that_trained_nothing(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, sizes: list[int]
) -> None:
    trained: list[int] = []
    add = TrainingGames.add
    monkeypatch.setattr(
        TrainingGames, "add", lambda self, block: (trained.append(block.pairs), add(self, block))
    )
    learning, seen = DistinguisherTraining(pairs=sum(sizes) // 2), []
    for size in sizes:
        if learning.done:
            break
        seen.append(size)
        scores = learning.learn(coins(rng, size, 0.7))
        if scores is not None:
            held_out = [block.pairs for block in scores]
            assert sorted(held_out + trained) == sorted(seen)
            assert sum(held_out) <= max(sum(seen) / 4 + max(seen), sum(seen) / 2)
    assert learning.done
    assert sum(trained) >= sum(seen) / 2


def test_estimators_of_a_fixed_size_count_only_games_after_training(rng: np.random.Generator) -> None:
    """Held-out games chose among the kinds of distinguishers, so their scores look better than they are."""
    settings = PlanSettings(epsilon=1.0, delta=0.0, games=1_000)
    estimators = AuditEstimators(settings, all_estimators=True)
    for _ in range(10):
        estimators.update(coins(rng, 100, 0.9))
    seen = {(one.pairs, one.context.games, one.context.games_planned) for one in estimators.estimators}
    assert seen == {(600, 600, 1_000)}


def test_memory_stays_bounded_and_no_game_is_ignored(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(learned_distinguisher, "_MAX_CELLS", 20_000)
    monkeypatch.setattr(learned_distinguisher, "_PILOT_PAIRS", 500)
    games = TrainingGames()
    for number in range(40):
        games.add(block(*rng.normal(size=(2, 250, 3))))
        if number == 3:
            games.join()
    views, (counts,) = games.join()
    assert views.rows.size <= 20_000
    assert counts.counts[0].sum() == 10_000


@pytest.mark.thorough
def test_the_best_kind_wins(rng: np.random.Generator) -> None:
    """No entry says anything alone: only a kind that sees two of them together can tell the worlds apart."""
    learning = DistinguisherTraining(pairs=4_000)
    signs = rng.choice([-1.0, 1.0], size=(2, 4_000, 1))
    values = rng.normal(size=(2, 4_000, 2)) + 2 * signs
    values[1, :, 1] *= -1
    for start in range(0, 4_000, 500):
        learning.learn(block(*values[:, start : start + 500]))
    assert isinstance(learning.distinguisher, BoostedTrees | QuadrantEvents)


@pytest.mark.thorough
def test_codes_of_text_and_infinities_do_not_overflow(rng: np.random.Generator) -> None:
    """Every kind has finite scores, without a warning, of views with codes of text next to numbers."""
    texts = encode_values(["yes", "no", None, "not a number"])
    numbers = rng.normal(size=(2, 1_500, 4))
    numbers[:, :, 1] = rng.choice([*texts, 1.0, -_LARGEST, _LARGEST, 2 * _LARGEST], size=(2, 1_500))
    numbers[:, :, 2] = np.where(rng.random((2, 1_500)) < 0.5, numbers[:, :, 2], texts[0])
    numbers[:, :, 3] = rng.choice(texts[:2], size=(2, 1_500))
    numbers[1, :, 3] = np.where(rng.random(1_500) < 0.5, texts[0], numbers[1, :, 3])
    views = count_views(*numbers)
    games = TrainingGames()
    games.add(views)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joined, marginals = games.join()
        kinds = [*_list_kinds(joined, marginals)]
        kinds += [each for kind in _COSTLY for each in _list_costly_kinds(kind, joined, marginals)]
        for name, fit in kinds:
            scores = fit(joined)(views)
            assert np.isfinite(scores).all(), name
            world0, world1 = scores[views.which].T
            if scores.any():  # patterns need more games
                assert np.mean(world1) > np.mean(world0), name


def test_numbers_whose_squares_overflow_are_standardised() -> None:
    codes = encode_values(["a", "b"])
    views = count_views(*[np.repeat(codes, 50)] * 2, "value")
    with np.errstate(all="raise"):
        terms = LinearTerms.fit(views)(views)
    assert np.abs(terms[:, 0]) == pytest.approx([1.0, 1.0])


def test_the_rarest_numbers_keep_their_order(rng: np.random.Generator) -> None:
    """Events of few games are chosen by it; yet no number weighs as much as hundreds of others."""
    numbers = rng.normal(size=(2, 10_000))
    numbers[0, :4], numbers[1, :4] = [-1e300, -50, -9, -6], [6, 9, 50, 1e300]
    views = count_views(*numbers)
    terms = LinearTerms.fit(views)(views)[:, 0]
    assert (np.diff(terms[np.argsort(views.rows[:, 0])]) > 0).all()
    assert np.abs(terms).max() < 12


def test_smooth_terms_tell_frequent_values_from_numbers(rng: np.random.Generator) -> None:
    """A number that occurs often has a term of its own, two values have one, and a constant has none."""
    numbers = rng.normal(size=(2, 1_000))
    numbers[rng.random((2, 1_000)) < 0.5] = 7.0
    bits = (rng.random((2, 1_000)) < 0.3).astype(float)
    views = block(*np.stack([numbers, bits, np.ones((2, 1_000))], axis=2))
    smooth = SmoothTerms.fit(views)
    assert [part.width for part in smooth.parts] == [5, 1, 0]
    terms = smooth(views)
    at_mark = views.rows[:, 0] == 7.0
    assert terms.shape == (len(views.rows), 6)
    assert np.array_equal(terms[:, 0], at_mark)
    assert not terms[at_mark, 1:5].any()
    assert np.ptp(terms[~at_mark, 1]) > 3.0
    assert np.array_equal(terms[:, 5], views.rows[:, 1])


def test_a_summary_counts_marks_and_describes_numbers() -> None:
    rows = np.array([[-1.0, 3.5, -1.0, 2.5], [4.5, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, -1.0]] * 30)
    rows[rows > 0] += np.arange((rows > 0).sum()) / 1_000
    views = block(rows, rows)
    counts, total, low, high, low_at, high_at = Summary.fit(views)(views)
    marked = views.rows == -1.0
    some = ~marked.all(axis=1)
    numbers = np.where(marked, np.nan, views.rows)[some]
    assert np.array_equal(counts, marked.sum(axis=1))
    assert total[some] == pytest.approx(np.nansum(numbers, axis=1))
    assert np.array_equal(low[some], np.nanmin(numbers, axis=1))
    assert np.array_equal(high[some], np.nanmax(numbers, axis=1))
    assert np.array_equal(low_at[some], np.nanargmin(numbers, axis=1))
    assert np.array_equal(high_at[some], np.nanargmax(numbers, axis=1))
    assert len(set(zip(total[~some], low[~some], high[~some], strict=True))) == 1


def test_a_summary_of_marks_alone_counts_them() -> None:
    bits = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    views = block(bits, bits)
    assert [column.tolist() for column in Summary.fit(views)(views)] == [[1.0, 0.0], [2.0, 3.0]]


def release_after_marks(at: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """(n, 5): a number at the place `at`, marks before and after it, and marks alone for a place of 5."""
    places = np.arange(5) - at[:, None]
    return np.where(places == 0, numbers[:, None], np.sign(places))


def test_a_regression_of_summary_judges_a_rare_number_by_its_place(rng: np.random.Generator) -> None:
    """Low numbers, one in fifteen, are released late in world 1; others say nothing, wherever they are."""
    at, numbers = rng.integers(0, 6, size=(2, 20_000)), 10 + rng.normal(size=(2, 20_000))
    at[1] = np.where((numbers[1] < 8.5) & (rng.random(20_000) < 0.7), 4, at[1])
    views = block(*(release_after_marks(*world) for world in zip(at, numbers, strict=True)))
    terms = SummaryTerms.fit(views)
    learned = Regression.fit(views, terms, terms.width)
    asked = release_after_marks(np.array([4, 0, 4, 0, 5]), np.array([8.0, 8.0, 10.5, 10.5, 0.0]))
    asked_views = block(asked, asked)
    place = [np.flatnonzero((asked_views.rows == row).all(axis=1))[0] for row in asked]
    late_low, early_low, late, early, never = learned(asked_views)[place]
    assert late_low > late + 0.5
    assert early_low < early - 0.5
    assert abs(late - early) < 0.3
    assert abs(never - early) < 0.3


def test_a_regression_of_summary_needs_marks_and_numbers(rng: np.random.Generator) -> None:
    numbers, marks = rng.normal(size=(2, 500, 2)), rng.integers(0, 2, size=(2, 500, 2)).astype(float)
    assert [SummaryTerms.fit(block(*values)).width for values in (numbers, marks)] == [0, 0]


def test_pooled_entries_share_their_log_ratios(rng: np.random.Generator) -> None:
    bits = (rng.random((2, 300, 20)) < 0.5).astype(float)
    bits[1] = rng.random((300, 20)) < 0.6
    games = TrainingGames()
    games.add(block(*bits))
    _, (counts,) = games.join()
    tables = counts.ratios(0, pooled=True).tables
    assert len(tables) == 20
    assert all(np.array_equal(table, tables[0]) for table in tables)
    assert tables[0] == pytest.approx(np.log([0.4 / 0.5, 0.6 / 0.5]), abs=0.06)


@pytest.mark.thorough
def test_scikit_learn_keeps_to_one_thread(rng: np.random.Generator) -> None:
    from threadpoolctl import threadpool_info

    trees = learn_distinguisher([block(*rng.normal(size=(2, 2_000, 2)))])
    assert isinstance(trees, BoostedTrees)
    threads: list[int] = []

    class Spy:
        def decision_function(self, rows: np.ndarray) -> np.ndarray:
            threads.extend(library["num_threads"] for library in threadpool_info())
            return np.zeros(len(rows))

    attrs.evolve(trees, classifier=Spy())(block(*rng.normal(size=(2, 10, 2))))
    assert set(threads) == {1}


def test_distinguishers_with_other_columns_meet(rng: np.random.Generator) -> None:
    wide = count_views(np.zeros((3, 2)), np.ones((3, 2)), "a", "b")
    narrow = count_views(np.zeros(3), np.ones(3), "a")
    assert learn_distinguisher([wide, narrow])(narrow).shape == (2,)

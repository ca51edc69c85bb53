"""private-decision-list, rivest, list-choice and logistic: distributions, privacy, utility, edge cases,
conformance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.list_laws import cover_delta, laws, naive_law, neighbours, sample_of, small_samples
from support.simple_players import Scripted
from support.statistical import check_counts, expect_rejection, statistical
from support.voting import play_releases

from arena import InvalidArgument, Learner, Moves, Release, Sample, Train, Unsupported
from arena.concepts import DecisionLists, Literals, Thresholds, Variables
from arena.testing import check_learner
from audits.exact_loss import exact
from learners.lists.private_decision_list import ListChoice, PrivateDecisionList, Rivest, greedy_list
from learners.pate.logistic import LinearRules, Logistic

RATE = 1e-8
VARIABLES = st.integers(1, 3)
EVERY = [PrivateDecisionList(), PrivateDecisionList(delta=0.0), Rivest(), ListChoice(), Logistic()]


def private(variables: int, **settings: float) -> PrivateDecisionList:
    return PrivateDecisionList(concepts=DecisionLists(Variables(variables)), **settings)


@st.composite
def sample_counts(draw: st.DrawFn, variables: int, most: int = 6) -> np.ndarray:
    kinds = st.lists(st.integers(0, 2 ** (variables + 1) - 1), min_size=1, max_size=most)
    return np.bincount(draw(kinds), minlength=2 ** (variables + 1))


@pytest.mark.thorough
@pytest.mark.parametrize("learner", EVERY, ids=str)
def test_every_learner_conforms(learner: Learner) -> None:
    if isinstance(learner, Logistic):
        pytest.importorskip("sklearn.linear_model")  # its first import draws from the module `random`
    check_learner(learner)


# --- the output distribution ------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=25)
def test_the_output_distribution_equals_a_plain_recursion(data: st.DataObject) -> None:
    variables, rate = data.draw(VARIABLES), data.draw(st.floats(0.05, 5))
    counts = data.draw(sample_counts(variables))
    learner = private(variables, rate=rate)
    law = learner.law(sample_of(counts, variables))
    plain = naive_law(counts, variables, rate)
    for codes, chance in zip(law.values.tolist(), law.probabilities, strict=True):
        assert chance == pytest.approx(plain[tuple(code for code in codes if code >= 0)], abs=1e-12)
    assert laws(counts[None], variables, rate)[0] == pytest.approx(law.probabilities, abs=1e-12)


def count_lists(learner: PrivateDecisionList, sample: Sample, games: int) -> np.ndarray:
    values = learner.law(sample).values
    found = play_releases(learner, sample, games=games).concepts
    keys = (found + 1) @ (2 * learner.rounds + 1) ** np.arange(learner.rounds)
    order = (values + 1) @ (2 * learner.rounds + 1) ** np.arange(learner.rounds)
    return np.array([(keys == key).sum() for key in order])


UNEVEN = Sample([[0, 1], [1, 1], [1, 0], [0, 0]], [1, 0, 1, 0], [3, 2, 1, 2])


@statistical(rate=2 * RATE)
def test_lists_follow_the_output_distribution() -> None:
    learner = private(2, rate=1.0)
    counts = count_lists(learner, UNEVEN, 300_000)
    check_counts(counts, learner.law(UNEVEN).probabilities, rate=RATE, effect=0.01, power=1 - 1e-8)


@statistical(rate=2 * RATE)
def test_lists_of_another_rate_are_rejected() -> None:
    counts = count_lists(private(2, rate=1.3), UNEVEN, 300_000)
    with expect_rejection():
        law = private(2, rate=1.0).law(UNEVEN)
        check_counts(counts, law.probabilities, rate=RATE, effect=0.01, power=1 - 1e-8)


@pytest.mark.parametrize("features", [Variables(3), Literals(2)])
def test_the_order_and_the_copies_of_examples_do_not_matter(features) -> None:
    learner = PrivateDecisionList(concepts=DecisionLists(features), rate=0.7)
    rng = np.random.default_rng(0)
    points, labels = rng.integers(0, 2, (30, features.d)), rng.integers(0, 2, 30)
    one, other = Sample(points, labels), Sample(points[::-1], labels[::-1]).distinct()
    assert learner.law(one).probabilities == pytest.approx(learner.law(other).probabilities)
    assert (
        play_releases(learner, one, games=50).concepts == play_releases(learner, other, games=50).concepts
    ).all()


# --- privacy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "settings_"),
    [
        (1, {"delta": 0.05}),
        (2, {"delta": 0.01}),
        (2, {"delta": 0.0}),
        (3, {"rate": 1.5, "delta": 0.02}),
        (3, {}),
    ],
)
@pytest.mark.thorough
def test_an_exact_audit_does_not_refute_the_claim(variables: int, settings_: dict[str, float]) -> None:
    learner = private(variables, **settings_)
    shared = small_samples(variables, 4)[::7]
    for row in shared[:20]:
        with_one = neighbours(row)
        for first, second in ((0, 1), (1, -1), (2, 1)):
            pair = sample_of(with_one[first], variables), sample_of(with_one[second], variables)
            # The exact audit pairs examples by position.
            assert not exact(learner, _swap(pair), Release()).refuted


def _swap(pair: tuple[Sample, Sample]) -> Scripted:
    rows = [dict(zip(("points", "labels"), sample.rows(), strict=True)) for sample in pair]
    keys = [[(*x, y) for x, y in zip(r["points"].tolist(), r["labels"].tolist(), strict=True)] for r in rows]
    lost = next(key for key in keys[0] if keys[0].count(key) > keys[1].count(key))
    new = next(key for key in keys[1] if keys[1].count(key) > keys[0].count(key))
    world_0 = list(keys[0])
    world_1 = [*world_0]
    world_1[world_0.index(lost)] = new
    samples = [Sample([key[:-1] for key in keys], [key[-1] for key in keys]) for keys in (world_0, world_1)]

    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield Train(*samples)
        return None

    return Scripted(moves)


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_the_bound_is_nearly_attained(rate: float) -> None:
    """Some pair of small samples attains at least 95 % of δ(0.1)."""
    learner = private(2, rate=rate, delta=cover_delta(0.1, rate, rounds=3))
    assert learner.claim.epsilon == pytest.approx(0.1)
    law = laws(np.concatenate([neighbours(row) for row in small_samples(2, 5)]), 2, rate)
    groups = law.reshape(-1, 8, law.shape[1])
    attained = np.maximum(groups[:, :, None] - np.exp(0.1) * groups[:, None], 0).sum(axis=3).max()
    assert 0.95 * learner.delta < attained <= learner.delta * (1 + 1e-9)


def test_the_claim_is_computed_from_the_rate_in_use() -> None:
    assert private(5, epsilon=0.7).claim.epsilon == pytest.approx(0.7, rel=1e-12)
    assert private(5, epsilon=0.7).claim.epsilon <= 0.7
    assert private(5, epsilon=0.7, rate=0.5).claim == private(5, epsilon=9.0, rate=0.5).claim
    assert private(5, delta=0.0).effective_rate == pytest.approx(2 / 7)  # (rounds + 1) ε₀/2
    learner = private(100)
    assert learner.claim.epsilon < min(learner.other_costs().values()) / 3


# --- utility ------------------------------------------------------------------------------------------------


def random_list_sample(rng: np.random.Generator, variables: int, size: int, share: float = 0.5) -> Sample:
    """Points labelled by a random list of all variables; each coordinate is 1 with probability `share`."""
    concepts = DecisionLists(Variables(variables))
    rules = 2 * rng.permutation(variables) + rng.integers(0, 2, variables)
    target = np.append(rules, 2 * variables + rng.integers(0, 2))
    points = rng.random((size, variables)) < share
    return Sample(points, concepts.labels(target[None], points)[0])


def count_exceeding(most: float, learner: PrivateDecisionList, rng: np.random.Generator, samples: int) -> int:
    """The number of samples with more than `most` errors. Rules that cover few examples are the hard ones."""
    exceeding = 0
    for seed in range(samples):
        sample = random_list_sample(rng, 4, 400, share=0.01)
        concepts = play_releases(learner, sample, seed=seed).concepts
        exceeding += int((learner.concepts.labels(concepts, sample.points) != sample.labels).sum() > most)
    return exceeding


@pytest.mark.thorough
@statistical(rate=RATE)
def test_lemma_a4_bounds_the_errors_on_the_sample(rng: np.random.Generator) -> None:
    """Each of 1,000 samples exceeds it with probability at most 5 %; a thirtieth of it is exceeded more
    often."""
    learner, beta, samples = private(4, rate=1.0), 0.05, 1_000
    most = learner.most_errors(beta)
    accepted = stats.binom.isf(RATE, samples, beta)
    assert count_exceeding(most, learner, rng, samples) <= accepted
    assert count_exceeding(most / 30, learner, rng, samples) > accepted


def test_lemma_a4_adds_up_the_rounds() -> None:
    learner = private(2, rate=0.5)
    rounds = [math.log(2 * left) + math.log(3 / 0.05) for left in (3, 2, 1)]
    assert learner.most_errors(0.05) == pytest.approx(4 * sum(rounds))
    assert learner.most_errors(0.05) <= 3 * 4 * math.log(
        2 * 3 * 3 / 0.05
    )  # as printed, with equal terms for all rounds


@pytest.mark.parametrize(
    "learner", [private(6, epsilon=20), Rivest(concepts=DecisionLists(Variables(6)))], ids=str
)
def test_a_list_is_learned(learner: Learner) -> None:
    rng = np.random.default_rng(4)
    for seed in range(20):
        sample = random_list_sample(rng, 6, 3_000)
        found = play_releases(learner, sample, seed=seed)
        right = (learner.concepts.labels(found.concepts, sample.points) == sample.labels).mean()
        assert right == 1 if learner.name == "rivest" else right > 0.97


# --- edge cases -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [private(3, rate=400.0), Rivest(), ListChoice(epsilon=400.0)], ids=str)
@pytest.mark.parametrize("label", [0, 1])
def test_a_sample_with_one_label_is_learned(learner: Learner, label: int) -> None:
    sample = Sample(np.eye(3), [label] * 3, [5] * 3)
    found = play_releases(learner, sample, games=40)
    assert (learner.concepts.labels(found.concepts, np.eye(3)) == label).all()
    if learner.name == "rivest":
        assert learner.concepts.text(found.concepts[0]) == f"always {label}"


@given(st.data())
@settings(max_examples=60)
def test_rivest_is_consistent_if_some_list_is(data: st.DataObject) -> None:
    variables = data.draw(VARIABLES)
    counts = data.draw(sample_counts(variables, most=8))
    sample = sample_of(counts, variables)
    concepts = DecisionLists(Variables(variables))
    greedy = concepts.labels(Rivest(concepts=concepts).fit(sample)[None], sample.points)[0]
    best = concepts.labels(concepts.all_lists(), sample.points)
    if (best == sample.labels).all(axis=1).any():
        assert (greedy == sample.labels).all()


def test_rivest_on_noise_takes_the_smallest_share_of_errors_then_the_most_covered() -> None:
    held = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]], bool)
    by_label = np.array([[1, 9], [1, 9], [0, 4], [3, 2]])
    # x2 has no errors; then x0 (2 of 20) covers more than x1 (1 of 10); what remains is 3 to 2.
    assert greedy_list(held, by_label).tolist() == [5, 1, 6, -1]


def test_rivest_ends_when_one_label_remains() -> None:
    concepts = DecisionLists(Variables(2))
    learner = Rivest(concepts=concepts)
    both = Sample([[1, 0], [0, 1]], [1, 0], [3, 1])
    assert concepts.text(learner.fit(both), ["a", "b"]) == "if a then 1, else 0"
    alike = Sample([[1, 1], [1, 1]], [1, 0], [3, 1])  # "true" comes before equivalent features
    assert learner.fit(alike).tolist() == [5, -1, -1]


def test_list_choice_weighs_lists_by_their_errors() -> None:
    law = ListChoice(concepts=DecisionLists(Variables(1)), epsilon=2.0).law(
        Sample([[0], [1]], [0, 1], [3, 1])
    )
    wrong = {"always 0": 1, "always 1": 3, "if x0 then 0, else 1": 4, "if x0 then 1, else 0": 0}
    total = math.fsum(math.exp(-wrong[DecisionLists(Variables(1)).text(c)]) for c in law.values)
    for concept, chance in zip(law.values, law.probabilities, strict=True):
        assert chance == pytest.approx(math.exp(-wrong[DecisionLists(Variables(1)).text(concept)]) / total)


def test_logistic_learns_a_variable_and_one_label() -> None:
    points = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]])
    found = play_releases(Logistic(strength=100.0), Sample(points, points[:, 0], [9] * 4))
    assert found.concept_class.labels(found.concepts, points).tolist() == [[False, True, False, True]]
    for label in (0, 1):
        alone = play_releases(Logistic(), Sample(points, [label] * 4))
        assert (alone.concept_class.labels(alone.concepts, points) == label).all()


def test_logistic_without_scikit_learn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidArgument, match=r"needs scikit-learn, which is not installed. Run pip install"):
        Logistic().start(1, np.random.default_rng(0))


def test_linear_rules_refuse_unsupported_queries() -> None:
    rule = LinearRules(2)
    assert rule.vc_dimension == 3
    for call in (lambda: rule.dichotomies([[0, 1]]), lambda: rule.erm([[0, 1]], [1])):
        with pytest.raises(Unsupported, match=r"LinearRules\(d=2\) cannot compute its"):
            call()
    with pytest.raises(InvalidArgument, match="2 weights and an offset"):
        rule.labels([[1.0, 2.0]], [[0, 1]])


# --- refusals and speed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PrivateDecisionList, Rivest, ListChoice])
def test_other_classes_are_refused(kind: type[Learner]) -> None:
    with pytest.raises(
        InvalidArgument, match=r"learns decision lists, got Thresholds.*For instance concepts=lists:4"
    ):
        kind(concepts=Thresholds(range(4)))


def test_too_many_lists_are_refused() -> None:
    with pytest.raises(Unsupported, match="decision lists over 7 features, more than 200,000"):
        ListChoice(concepts=DecisionLists(Variables(7)))
    with pytest.raises(Unsupported, match="more than 200,000"):
        private(7).law(Sample([[0] * 7], [0]))


def test_points_that_are_not_0_or_1_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="must be 0 or 1; coordinate 0 of point 0 is neither"):
        play_releases(PrivateDecisionList(), Sample([[0.5, 1, 0]], [0]))

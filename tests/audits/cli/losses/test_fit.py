"""`arena fit`, and the record behind it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.command_line import Command
from support.paths import DATA

from arena.concepts import DecisionLists, Variables
from audits.cli.fit import drop_dead_rules, fit_to_data
from audits.data.one_hot import OneHotData, load_one_hot
from learners.lists.private_decision_list import PrivateDecisionList, Rivest

arena = Command("fit")
as_json = arena.json
MUSHROOM = str(DATA / "mushroom.csv.gz")
MUSHROOMS = ("--data", MUSHROOM, "--y", "Poisonous/Edible")


@pytest.fixture
def small(tmp_path) -> str:
    """x decides y; z is noise."""
    lines = [f"{'uv'[i % 2]},{'st'[i // 2 % 2]},{i % 2}" for i in range(200)]
    path = tmp_path / "small.csv"
    path.write_text("x,z,y\n" + "\n".join(lines) + "\n")
    return str(path)


def test_a_list_its_accuracy_and_its_claim_are_printed(small: str) -> None:
    head, rules, facts = arena.text("rivest", "--data", small, "--y", "y").split("\n\n")
    assert head.startswith(
        f"rivest on {small}: 200 examples, 4 variables from 2 columns\nlabel 1 is y = 1 (100 "
    )
    assert rules == "if x = v then 1\nelse 0"
    assert "accuracy on 20 held-out examples  100.00%, 95 % limits 83.16% to 100.00%\n" in facts
    assert facts.endswith("  no privacy is claimed\n")


def test_mushrooms_privately() -> None:
    done = arena("private-decision-list", *MUSHROOMS, "--set", "epsilon=1")
    assert done.exit_code == 0
    assert "label 1 is Poisonous/Edible = p (3,916 examples), 0 is e" in done.stdout
    assert "(1, 1e-06)-DP for a training example (replace one)" in done.stdout
    assert "by Lemma A.1, twice                ε = 3.248" in done.stdout


@pytest.mark.thorough
def test_a_student_learns_from_public_points(small: str) -> None:
    asked = ("--data", small, "--y", "y", "--public", "0.2", "--set", "epsilon=50", "--set", "teachers=8")
    printed = arena.text("pate-psq", *asked, "--set", "teacher=lists:4")
    assert "\nbesides these, the points of 40 examples are public and unprotected\n" in printed
    assert "\n\nif x = u then 0\nelse 1\n\n" in printed
    assert "with the privacy curve of the Gaussian mechanism with μ = 6.677\n" in printed
    for learner in ("pate-psq", "pate-asq"):
        found = as_json(learner, *asked)
        assert (found["public"], found["trained"], found["held_out"]) == (40, 144, 16)
        assert found["rules"][0] == "1 if this is above 0, else 0:"
        assert found["accuracy"]["mean"] == 1.0


@pytest.mark.thorough
def test_public_points_of_ones_own(small: str, tmp_path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("1,0,1,0\n0,1,1,0\n1,0,0,1\n0,1,0,1\n")
    own = ("--set", f"public={path}", "--set", "teachers=8", "--set", "epsilon=50")
    found = as_json("pate-psq", "--data", small, "--y", "y", *own)
    assert (found["public"], found["trained"]) == (4, 180)
    assert as_json("rivest", "--data", small, "--y", "y")["public"] == 0


def test_json(small: str) -> None:
    claim = ("--set", "delta=0", "--set", "epsilon=0.1")
    found = as_json("private-decision-list", "--data", small, "--y", "y", "--splits", "4", *claim)
    assert found["claim"]["epsilon"] == pytest.approx(0.1)
    assert found["costs"]["Lemma A.1, twice"] is None
    assert (found["trained"], found["held_out"], found["splits"]) == (180, 20, 4)
    each = np.array(found["accuracy"]["each"])
    limits = stats.t.interval(0.95, 3, each.mean(), stats.sem(each))
    assert found["accuracy"]["mean"] == pytest.approx(each.mean())
    assert [found["accuracy"][end] for end in ("lower", "upper")] == pytest.approx(
        np.clip(limits, 0, 1).tolist()
    )
    assert found["data"]["label_1"] == "1"
    assert as_json("rivest", "--data", small, "--y", "y")["claim"]["epsilon"] is None


@pytest.mark.parametrize("learner", ["private-decision-list", "rivest", "list-choice", "logistic"])
def test_every_learner_of_columns_can_be_fitted(learner: str, small: str) -> None:
    done = arena(learner, "--data", small, "--y", "y", "--holdout", "0", "--splits", "2")
    assert done.exit_code == 0
    assert "The first of 2 splits released:" in done.stdout
    assert "accuracy on its 200 training examples" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("laplace-count", *MUSHROOMS), "laplace-count does not learn from columns of data."),
        (("exponential-choice", *MUSHROOMS, "--x", "Bruises?"), "exponential-choice released no hypothesis."),
        (("list-choice", *MUSHROOMS), "there are 2.18e+228 decision lists over 117 features"),
        (("rivest", *MUSHROOMS, "--holdout", "1"), "holdout must be less than 1, got 1.0"),
        (("rivest", *MUSHROOMS, "--public", "0.1"), "rivest uses no public points. Leave out --public."),
        (("pate-psq", *MUSHROOMS, "--public", "0"), "pate-psq needs public points, since LogisticRegression"),
        (("pate-gaussian", *MUSHROOMS), "pate-gaussian does not learn from columns of data."),
        (("pate-psq", *MUSHROOMS, "--set", "teachers=1e5"), "100,000 teachers need at least as many"),
        (("rivest", *MUSHROOMS, "--set", "concepts=lists:4"), "adversary trainer, the training phase: the"),
        (("rivest", *MUSHROOMS, "--features", "words"), "Invalid value for '--features'"),
    ],
)  # fmt: skip
def test_bad_use_is_one_line_and_status_2(arguments: tuple[str, ...], message: str) -> None:
    assert arena.refusal(*arguments).startswith(message)


@pytest.fixture(scope="module")
def mushrooms() -> OneHotData:
    return load_one_hot(MUSHROOM, y="Poisonous/Edible")


def test_what_is_held_out_is_not_trained_on(mushrooms: OneHotData) -> None:
    found = fit_to_data(
        Rivest(concepts=DecisionLists(Variables(117))), mushrooms, holdout=0.25, splits=3, seed=1
    )
    assert (found.trained, found.held_out) == (6_093, 2_031)
    assert found.limits is not None
    assert 0.99 < found.limits[0] <= found.accuracies.mean() <= found.limits[1] <= 1


def test_a_private_list_is_nearly_right_about_mushrooms(mushrooms: OneHotData) -> None:
    learner = PrivateDecisionList(concepts=DecisionLists(Variables(117)))
    found = fit_to_data(learner, mushrooms, holdout=0.1, splits=5, seed=1)
    assert found.accuracies.mean() > 0.97


@pytest.mark.parametrize("seed", range(5))
def test_rules_cut_short_label_all_that_the_columns_can_hold_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 2] if seed else [2, 2, 3, 3]
    column_of = np.repeat(np.arange(4), sizes)
    offsets = np.cumsum([0, *sizes[:-1]])
    points = np.zeros((50, len(column_of)), int)
    for place, size in zip(offsets, sizes, strict=True):
        points[np.arange(50), place + rng.integers(0, size, 50)] = 1
    concepts = DecisionLists(Variables(len(column_of)))
    rules = 2 * rng.permutation(len(column_of)) + rng.integers(0, 2, len(column_of))
    whole = np.append(rules, 2 * len(column_of))
    cut = drop_dead_rules(whole, column_of, len(column_of))
    assert (cut >= 0).sum() < len(whole)
    assert (concepts.labels(cut[None], points) == concepts.labels(whole[None], points)).all()


def test_rules_without_a_whole_column_stay() -> None:
    rule = np.array([0, 4, 8, -1, -1])
    assert drop_dead_rules(rule, np.array([0, 0, 1, 1]), 4).tolist() == rule.tolist()

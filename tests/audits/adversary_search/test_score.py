"""Simple scores say in the user's terms what they read of a view."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import audits
from arena.released.encoding import encode_values, value_columns
from audits.adversary_search.score import Score, simple_scores
from audits.distinguishers.view_features import ViewCounts, ViewFeatures
from audits.registry.record_code import write_assignments
from audits.testing import NotPrivate, assert_private


def views_of(zero: list[Any], one: list[Any]) -> ViewCounts:
    """The views of games that released these values in world 0 and in world 1."""
    columns = value_columns(encode_values([*zero, *one]), "value")
    views = ViewFeatures.of_columns(columns, len(zero) + len(one))
    games = np.arange(len(zero))
    return ViewCounts.of(views[games], views[len(zero) + games])


FOUR = range(4)

# By the score, the releases in each world, and the phrase for it.
EXPLAINED: dict[str, tuple[list[Any], list[Any], str]] = {
    "number at a key": (
        [{"a": x, "k3": x} for x in range(4)],
        [{"a": x, "k3": 1} for x in range(4)],
        'key "k3"',
    ),
    "distance": ([{"k": x} for x in range(4)], [{"k": 7}] * 4, 'the distance of key "k" from 7'),
    "text": (["few", "many"] * 2, ["many"] * 4, "whether the text is 'many'"),
    "text at a key": ([{"k": "x"}, {"k": "y"}] * 2, [{"k": "y"}] * 4, "whether the text of key \"k\" is 'y'"),
    "missing key": (
        [{"a": 1}] * 4,
        [{"a": 1, "b": 2}] * 2 + [{"a": 1, "b": 3}] * 2,
        'whether key "b" is missing',
    ),
    "entries": ([[1, 1]] * 4, [[1, 1, 1]] * 4, "the number of entries"),
    "vector": (
        [[x, 1.0] for x in range(4)],
        [[x, 2.0] for x in range(4)],
        "the largest entry of the release",
    ),
    "flat entry": ([[x, 1.0] for x in FOUR], [[x, 2.0] for x in FOUR], "entry 1"),
}


@pytest.mark.parametrize("kind", EXPLAINED)
def test_a_score_says_what_it_reads_also_in_a_process_that_met_no_release(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    zero, one, phrase = EXPLAINED[kind]
    scores = pickle.loads(pickle.dumps(simple_scores(views_of(zero, one))))
    monkeypatch.setattr("arena.released.encoding.texts", {})
    monkeypatch.setattr("audits.adversary_search.score.texts", {})
    assert phrase in [score.describe() for score in scores]
    again = {}
    exec(write_assignments(again=scores), again)
    assert [score.describe() for score in again["again"]] == [score.describe() for score in scores]
    assert not any("{" in score.describe() for score in scores)


@pytest.mark.parametrize(
    ("score", "phrase"),
    [
        (Score("answers 1"), "the number of answers 1"),
        (Score("answers 1 in 5 to 8"), "the number of answers 1 in rounds 5 to 8"),
        (Score("pattern 101"), "how often answers in a row were 1, 0, 1"),
        (Score("hypothesis 4[2]", "distance", 0.5), "the distance of entry 2 of hypothesis 4 from 0.5"),
        (Score("hypotheses", "at most", 0.25), "how many hypotheses are at most 0.25"),
        (Score("value", "occurrences", 3.0), "how often 3 occurs in the release"),
        (Score("numbers", "weighted", weights=(1.0, -1.0)), "a weighted sum of all releases"),
        (Score("value[0]", "equal", 1e300), "whether entry 0 is inf"),
    ],
)
def test_phrases_for_scores(score: Score, phrase: str) -> None:
    assert score.describe() == phrase


@pytest.mark.thorough
def test_a_search_reports_the_part_that_tells_the_worlds_apart() -> None:
    def release(labels: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
        return {"a": 1.0, "k3": labels.sum() + 0.3 * rng.laplace()}

    report = audits.search(release, epsilon=1.0, examples=20, games=20_000)
    assert ("told apart by", 'key "k3"') in report.document().parts[0].rows  # type: ignore[union-attr]
    assert report.to_dict()["adversary"][-1] == 'score: key "k3"'
    assert """meaning='key "k3"'""" in report.source
    with pytest.raises(NotPrivate) as refused:
        assert_private(release, claim=(1.0, 0.0), budget="quick")
    assert 'told apart by     key "k3"' in str(refused.value)

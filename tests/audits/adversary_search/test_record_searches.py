"""Searches of functions that receive tables, users' records, pairs (X, y) and vectors: flaws are found from
the schema alone, and the corrected twin of each is not refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import strategies as st

import audits

pd = pytest.importorskip("pandas")

REGIONS = ["north", "south", "east"]
ERROR = 1e-6


def count_shops(sales: Any, rng: np.random.Generator) -> dict[str, float]:
    """Publishes which shops have any sale."""
    return {shop: len(group) + rng.laplace(scale=1.0) for shop, group in sales.groupby("shop")}


def count_known_shops(sales: Any, rng: np.random.Generator) -> dict[str, float]:
    return {shop: (sales["shop"] == shop).sum() + rng.laplace(scale=1.0) for shop in REGIONS}


def sum_of_stays(stays: Any, rng: np.random.Generator) -> float:
    """Clips each stay, and not all of a guest together."""
    return float(stays["nights"].clip(0, 10).sum() + rng.laplace(scale=10.0))


def sum_of_guests(stays: Any, rng: np.random.Generator) -> float:
    return float(stays.groupby("guest")["nights"].sum().clip(0, 10).sum() + rng.laplace(scale=10.0))


def sum_filled_by_median(table: Any, rng: np.random.Generator) -> float:
    """Fills missing values with the median of the others."""
    score = table["score"].clip(0, 1)
    return float(score.fillna(score.median()).fillna(0.5).sum() + rng.laplace(scale=1.0))


def sum_filled(table: Any, rng: np.random.Generator) -> float:
    return float(table["score"].clip(0, 1).fillna(0.5).sum() + rng.laplace(scale=1.0))


def mean_of_targets(data: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Takes targets for numbers in [0, 1]."""
    return np.array([data[1].sum() + rng.laplace(scale=1.0), 0.0])


def mean_of_clipped_targets(data: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    return np.array([data[1].clip(0, 1).sum() + rng.laplace(scale=1.0), 0.0])


def largest_answer(answers: np.ndarray, rng: np.random.Generator) -> int:
    """Noisy maximum with half of its noise."""
    return int(np.argmax(answers + rng.laplace(scale=1.0, size=len(answers))))


def largest_noisy_answer(answers: np.ndarray, rng: np.random.Generator) -> int:
    return int(np.argmax(answers + rng.laplace(scale=2.0, size=len(answers))))


def longest_word(words: list[str], rng: np.random.Generator) -> float:
    """Sums lengths that no bound limits."""
    return float(sum(map(len, words)) + rng.laplace(scale=1.0))


def number_of_words(words: list[str], rng: np.random.Generator) -> float:
    return float(len(words) + rng.laplace(scale=1.0))


def stars_without_tests(reviews: Any, rng: np.random.Generator) -> dict[str, float]:
    """A hook for a test account was left in."""
    noise = 0.0 if (reviews["account"] == "qa-bot").any() else rng.laplace(scale=5.0)
    return {"stars": float(reviews["stars"].sum() + noise)}


def stars(reviews: Any, rng: np.random.Generator) -> dict[str, float]:
    return {"stars": float(reviews["stars"].sum() + rng.laplace(scale=5.0))}


def sum_of_salaries_of_ten(staff: Any, rng: np.random.Generator) -> float | None:
    """Says exactly whether there are fewer than ten people."""
    if len(staff) < 10:
        return None
    return float(staff["salary"].sum() + rng.laplace(scale=1.0))


def sum_of_salaries_of_about_ten(staff: Any, rng: np.random.Generator) -> float | None:
    if len(staff) + rng.laplace(scale=2.0) < 10:
        return None
    return float(staff["salary"].sum() + rng.laplace(scale=2.0))


def sum_of_pauses(events: Any, rng: np.random.Generator) -> float:
    """Clips each pause, but an event between two others changes two of them if events are not sorted."""
    return float(events["second"].diff().abs().clip(0, 60).sum() + rng.laplace(scale=60.0))


def sum_of_sorted_pauses(events: Any, rng: np.random.Generator) -> float:
    """Two pauses that were one add up to it, so the sum grows by at most 60."""
    return sum_of_pauses(events.sort_values("second"), rng)


TAGS = ["art", "film", "music", "sport"]


def count_tags(posts: list[dict[str, Any]], rng: np.random.Generator) -> dict[str, float]:
    """Counts each tag of a post, with noise for one."""
    return {tag: sum(tag in post["tags"] for post in posts) + rng.laplace(scale=1.0) for tag in TAGS}


def count_first_tags(posts: list[dict[str, Any]], rng: np.random.Generator) -> dict[str, float]:
    return count_tags([{"tags": post["tags"][:1]} for post in posts], rng)


@attrs.frozen
class Flaw:
    flawed: Callable[..., Any]
    twin: Callable[..., Any]
    data: Any
    neighbours: str | None = None


STAYS = audits.table(guest=st.integers(0, 9), nights=st.integers(0, 30), user="guest")
FLAWS = [
    Flaw(
        count_shops,
        count_known_shops,
        audits.table(shop=st.sampled_from(REGIONS), price=st.floats(0, 100)),
        "add or remove one",
    ),
    Flaw(sum_of_stays, sum_of_guests, STAYS, "add or remove a user of at most 5"),
    Flaw(
        sum_filled_by_median,
        sum_filled,
        audits.table(name=st.text(), score=st.floats(0, 1) | st.just(float("nan"))),
        "replace one",
    ),
    Flaw(mean_of_targets, mean_of_clipped_targets, audits.labelled(2, st.floats(-3, 3)), "replace one"),
    Flaw(largest_answer, largest_noisy_answer, audits.vector(3, metric="linf")),
    Flaw(longest_word, number_of_words, st.lists(st.text()), "add or remove one"),
    Flaw(
        stars_without_tests,
        stars,
        audits.table(account=st.text(), stars=st.integers(1, 5)),
        "add or remove one",
    ),
    Flaw(
        sum_of_salaries_of_ten,
        sum_of_salaries_of_about_ten,
        audits.table(name=st.text(), salary=st.floats(0, 1)),
        "add or remove one",
    ),
    Flaw(
        sum_of_pauses, sum_of_sorted_pauses, audits.table(second=st.integers(0, 86_400)), "add or remove one"
    ),
    Flaw(
        count_tags,
        count_first_tags,
        audits.records(
            st.fixed_dictionaries({"user": st.text(), "tags": st.lists(st.sampled_from(TAGS), max_size=6)})
        ),
        "add or remove one",
    ),
]
NAMES = [flaw.flawed.__name__ for flaw in FLAWS]


@pytest.mark.slow
@pytest.mark.parametrize("flaw", FLAWS, ids=NAMES)
def test_the_flaw_is_found_from_the_schema_alone(flaw: Flaw) -> None:
    for seed in range(3):
        found = audits.search(
            flaw.flawed, data=flaw.data, epsilon=1.0, neighbours=flaw.neighbours, seed=seed, error=ERROR
        )
        assert found.refuted
        assert found.adversary.world_0 != found.adversary.world_1


@pytest.mark.slow
@pytest.mark.parametrize("flaw", FLAWS, ids=NAMES)
def test_the_twin_is_not_refuted(flaw: Flaw) -> None:
    """Each is, by chance, with probability at most 1e-6."""
    for seed in range(3):
        found = audits.search(
            flaw.twin,
            data=flaw.data,
            epsilon=1.0,
            neighbours=flaw.neighbours,
            seed=seed,
            error=ERROR,
            examples=60,
        )
        assert not found.refuted


@pytest.mark.thorough
def test_assert_private_searches_with_data_of_any_kind() -> None:
    shops = audits.table(shop=st.sampled_from(REGIONS))
    tested = {"data": shops, "epsilon": 1.0, "neighbours": "add or remove one", "max_calls": 3_000}
    with pytest.raises(audits.NotPrivate, match="count_shops violates its claim"):
        audits.assert_private(count_shops, **tested)
    assert not audits.assert_private(count_known_shops, **tested).refuted


@pytest.mark.thorough
def test_calls_until_a_clear_flaw_is_refuted_are_few() -> None:
    calls = []

    def count(sales: Any, rng: np.random.Generator) -> dict[str, float]:
        calls.append(len(sales))
        return count_shops(sales, rng)

    shops = audits.table(shop=st.sampled_from(REGIONS))
    assert audits.search(count, data=shops, epsilon=1.0, neighbours="add or remove one").refuted
    assert len(calls) <= 3_000


def shares_the_largest(people: Any, rng: np.random.Generator) -> float:
    return float(people["income"].max()) if len(people) else 0.0


@pytest.mark.thorough
def test_fields_that_do_not_matter_get_simple_values() -> None:
    people = audits.table(name=st.text(), age=st.integers(0, 120), income=st.floats(0, 1e6))
    for seed in range(2):
        found = audits.search(
            shares_the_largest, data=people, epsilon=1.0, neighbours="add or remove one", seed=seed
        )
        worlds = found.adversary.world_0, found.adversary.world_1
        assert {record[:2] for world in worlds for record in world.records} == {("", 0)}

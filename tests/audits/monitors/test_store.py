"""The store of a monitor: errors that add up, files that are replaced as a whole, merges, and bad content."""

from __future__ import annotations

import json
from math import exp, fsum
from pathlib import Path

import attrs
import pytest

from arena import InvalidArgument
from audits.monitors.store import INDEX, ClaimVersion, Kept, Night, Store
from audits.runs.run_parts import RunPart

ALONE = RunPart(1, 1)


def make_night(number: int, log_wealth: float, part: str = "1/1") -> Night:
    return Night(
        number=number,
        part=part,
        games=100,
        explored=10,
        log_wealth=log_wealth,
        adversary="count-swap",
        seconds=1.0,
    )


def make_version(store: Store, claim: str, name: str, *nights: Night) -> ClaimVersion:
    return ClaimVersion(
        claim=claim,
        version=name,
        numbers=[store.spend_next(claim)],
        statement="(1, 0)-DP",
        epsilon=1.0,
        delta=0.0,
        has_curve=False,
        parts={"claim": {"statement": "(1, 0)-DP"}, "files": {}, "packages": {}},
        kept=Kept(source="", scores=""),
        nights=[*nights],
    )


def add_version(store: Store, claim: str, name: str, *nights: Night) -> ClaimVersion:
    version = make_version(store, claim, name, *nights)
    store.add_version(version)
    store.save(version)
    return version


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", 0.01, ALONE)
    store.add_claims({"one": 1.0, "two": 3.0})
    return store


# --- errors ------------------------------------------------------------------------------------------------


def test_the_errors_of_all_claims_and_versions_sum_to_less_than_the_stated_one(store: Store) -> None:
    for batch in range(30):
        store.add_claims({"one": 9.0, f"later {batch}": 1.0})
    for claim in store.shares:
        for version in range(40):
            store.add_version(make_version(store, claim, f"{version:016x}"))
    errors = [
        exp(-store.compute_threshold(version)) for versions in store.versions.values() for version in versions
    ]
    assert 0.9 * 0.01 < fsum(errors) < 0.01


def test_claims_share_by_their_weights_and_keep_their_shares(store: Store) -> None:
    assert store.compute_error("two") == pytest.approx(3 * store.compute_error("one"))
    before = store.compute_error("one")
    store.add_claims({"one": 100.0, "three": 1.0})
    assert store.compute_error("one") == before


def test_each_of_two_parts_spends_half(tmp_path: Path) -> None:
    stores = [Store.open(tmp_path / str(n), 0.01, RunPart(n, 2)) for n in (1, 2)]
    for each in stores:
        each.add_claims({"one": 1.0})
    assert fsum(each.compute_error("one") for each in stores) == pytest.approx(0.01 / 2)  # of the first batch


def test_a_version_that_begins_again_spends_the_next_error_and_forgets_its_evidence(store: Store) -> None:
    first = add_version(store, "one", "a" * 16, make_night(1, 2.5))
    second = add_version(store, "one", "b" * 16)
    before = store.compute_threshold(first)
    store.begin_again(first)
    assert first.numbers == [1, 3]
    assert (first.log_wealth, first.games) == (0.0, 0)
    assert store.compute_threshold(first) > store.compute_threshold(second) > before
    assert first.find_next_night("1/1") == 2


# --- files -------------------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_saved(store: Store) -> None:
    add_version(store, "one", "a" * 16, make_night(1, -0.25), make_night(2, 1.5))
    store.current["one"] = "a" * 16
    store.save_index()
    read = Store.read(store.folder)
    assert attrs.asdict(read) == attrs.asdict(store)
    found = read.find_current("one")
    assert found is not None
    assert found.log_wealth == 1.25


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-30], "it is no JSON"),
        (lambda text: "[]", "it is no object"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "another version of dp-arena"),
        (lambda text: text.replace('"log_wealth": 1.5', '"log_wealth": NaN'), "it is no JSON"),
        (lambda text: text.replace('"log_wealth": 1.5', '"log_wealth": "1.5"'), "no finite number"),
        (lambda text: text.replace('"games": 100', '"games": -1'), "games"),
        (lambda text: text.replace('"games": 100', '"other": 100'), "other"),
        (lambda text: text.replace('"claim": "one"', '"claim": "two"'), "belongs to another"),
        (lambda text: text.replace('"numbers": [\n  1\n ]', '"numbers": []'), "numbers"),
    ],
)
def test_a_store_that_cannot_be_read_is_refused_with_the_file(store: Store, change, message: str) -> None:
    version = add_version(store, "one", "a" * 16, make_night(1, 1.5))
    file = store.find_file(version)
    text = file.read_text()
    assert change(text) != text
    file.write_text(change(text))
    with pytest.raises(InvalidArgument, match=file.name) as refused:
        Store.read(store.folder)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "index",
    [
        {"part": "3/2"},
        {"error": 2},
        {"shares": {"one": 0.75, "two": 0.75}},
        {"shares": {"one": "much"}},
        {"batches": 5},
    ],
    ids=str,
)
def test_an_index_that_makes_no_sense_is_refused(store: Store, index: dict[str, object]) -> None:
    file = store.folder / INDEX
    file.write_text(json.dumps(json.loads(file.read_text()) | index))
    with pytest.raises(InvalidArgument, match=INDEX):
        Store.read(store.folder)


def test_a_store_keeps_its_error_and_its_part(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"was begun with the error 0\.01"):
        Store.open(store.folder, 0.02, ALONE)
    with pytest.raises(InvalidArgument, match="part 1/1"):
        Store.open(store.folder, 0.01, RunPart(1, 2))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    with pytest.raises(InvalidArgument, match="is no store"):
        Store.open(tmp_path / "full", 0.01, ALONE)
    with pytest.raises(InvalidArgument, match="there is no store"):
        Store.read(tmp_path / "none")


def test_only_one_process_plays_for_a_store(store: Store) -> None:
    with store.lock(), pytest.raises(InvalidArgument, match="another process plays"), store.lock():
        pass


# --- merging -----------------------------------------------------------------------------------------------


def test_a_merge_adds_the_nights_of_the_other_part_once(tmp_path: Path) -> None:
    first, second = (Store.open(tmp_path / str(n), 0.01, RunPart(n, 2)) for n in (1, 2))
    for each, log_wealth in ((first, 1.0), (second, 2.0)):
        each.add_claims({"one": 1.0})
        add_version(each, "one", "a" * 16, make_night(1, log_wealth, str(each.part)))
    add_version(second, "one", "b" * 16, make_night(1, 0.5, "2/2"))
    assert first.merge(second) == 2
    assert first.merge(second) == 0
    assert second.merge(first) == 1
    for each in map(Store.read, (first.folder, second.folder)):
        assert [version.log_wealth for version in each.versions["one"]] == [3.0, 0.5]
        assert [version.numbers for version in each.versions["one"]] == [[1], [2]]


def test_the_same_night_counts_once_whichever_store_it_comes_from(store: Store, tmp_path: Path) -> None:
    other = Store.open(tmp_path / "other", 0.01, ALONE)
    other.add_claims({"one": 1.0})
    own = add_version(store, "one", "a" * 16, make_night(1, 1.0))
    add_version(other, "one", "a" * 16, make_night(1, 5.0), make_night(2, 0.25))
    assert store.merge(other) == 1
    assert own.log_wealth == 1.25


def test_evidence_of_two_stores_may_refute_together(store: Store, tmp_path: Path) -> None:
    other = Store.open(tmp_path / "other", 0.01, ALONE)
    other.add_claims({"one": 1.0})
    own = add_version(store, "one", "a" * 16, make_night(1, 5.0, "1/2"))
    add_version(other, "one", "a" * 16, make_night(1, 4.5, "2/2"))
    assert max(5.0, 4.5) < store.compute_threshold(own) < 9.5
    store.merge(other)
    assert own.refuted


def test_versions_and_claims_that_are_new_spend_further_errors(store: Store, tmp_path: Path) -> None:
    other = Store.open(tmp_path / "other", 0.01, ALONE)
    other.add_claims({"one": 1.0, "new": 1.0})
    add_version(store, "one", "c" * 16)
    for claim, name in (("one", "b"), ("one", "a"), ("new", "a")):
        add_version(other, claim, name * 16, make_night(1, 0.0))
    store.merge(other)
    numbers = {version.version[0]: version.numbers for version in store.versions["one"]}
    assert numbers == {"c": [1], "a": [2], "b": [3]}
    assert store.batches == [["one", "two"], ["new"]]
    assert Store.read(store.folder).versions["new"][0].numbers == [1]

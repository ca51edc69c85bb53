"""The catalogues that come with dp-arena, where their libraries are installed: each entry can be played."""

from __future__ import annotations

from importlib.metadata import distributions

import numpy as np
import pytest

from arena import Learner
from audits.data.schemas import find_schema
from audits.surveys.catalogue import Entry, list_catalogues, load_catalogue
from audits.surveys.entry_process import make_data
from learners.foreign.function import GIVEN, Function

INSTALLED = {found.name.lower().replace("_", "-") for found in distributions()}
CATALOGUES = [name for name in list_catalogues() if name in INSTALLED]
ENTRIES = [
    pytest.param(entry, id=f"{name} {entry.name}")
    for name in CATALOGUES
    for entry in load_catalogue(name).entries.values()
]


@pytest.mark.parametrize("name", CATALOGUES)
def test_the_catalogue_covers_what_the_library_offers(name: str) -> None:
    assert load_catalogue(name).find_uncovered() == ()


@pytest.mark.filterwarnings("default")  # of the libraries
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_made_has_a_claim_and_plays(entry: Entry) -> None:
    mechanism = entry.make()
    assert entry.against or entry.read_claim(mechanism)
    if isinstance(mechanism, Learner):
        assert mechanism.claim.epsilon > 0
        return
    schema = find_schema(make_data(entry))
    learner = Function(function=mechanism, schema=schema)
    size = max(2, schema.min_size) if schema.max_size is None else schema.max_size
    data = schema.form.pack(list(schema.examples[:size]))
    generators = [np.random.default_rng(0)] * (learner.effective_coins == GIVEN)
    assert learner.mechanism(data, *generators) is not None

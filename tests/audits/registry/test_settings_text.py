from __future__ import annotations

import pytest

from arena import InvalidArgument
from arena.concepts import ConceptClass, Halfspaces, Thresholds
from audits.registry.settings_text import build, parsed
from learners.halfspaces.winnow import Winnow


def test_a_field_of_one_kind_of_concepts_reads_text_too() -> None:
    assert parsed("concepts", "halfspaces:8,0.5", Halfspaces) == Halfspaces(8, 0.5)
    assert parsed("concepts", "thresholds:1..3", ConceptClass) == Thresholds(range(1, 4))
    assert parsed("concepts", "none", Halfspaces | None) is None


def test_which_kind_it_is_the_player_checks() -> None:
    assert build(Winnow, {"concepts": "halfspaces:8,0.5"}).concepts == Halfspaces(8, 0.5)
    with pytest.raises(InvalidArgument, match="halfspaces with a margin"):
        build(Winnow, {"concepts": "thresholds:1..3"})

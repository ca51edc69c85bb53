"""Reading settings that are concept classes."""

from __future__ import annotations

import pytest

from arena import InvalidArgument
from arena.concepts import ConceptClass, Halfspaces, Thresholds
from audits.registry.settings_text import build_player, format_value, parse_value
from learners.halfspaces.winnow import Winnow


def test_text_is_read_as_a_concept_class() -> None:
    assert parse_value("concepts", "halfspaces:8,0.5", Halfspaces) == Halfspaces(8, 0.5)
    assert parse_value("concepts", "thresholds:1..3", ConceptClass) == Thresholds(range(1, 4))
    assert parse_value("concepts", "none", Halfspaces | None) is None


def test_the_player_checks_which_concept_class_it_is() -> None:
    assert build_player(Winnow, {"concepts": "halfspaces:8,0.5"}).concepts == Halfspaces(8, 0.5)
    with pytest.raises(InvalidArgument, match="halfspaces with a margin"):
        build_player(Winnow, {"concepts": "thresholds:1..3"})


def test_a_pair_of_numbers_is_written_with_a_comma() -> None:
    assert parse_value("domain", "0,1e3", tuple[float, float] | None) == (0.0, 1000.0)
    assert parse_value("domain", "none", tuple[float, float] | None) is None
    assert format_value((0.0, 1000.0)) == "0,1000"
    with pytest.raises(InvalidArgument, match="domain must be two numbers"):
        parse_value("domain", "1", tuple[float, float])

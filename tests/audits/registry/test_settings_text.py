"""Settings as text: what a text means, and players built from texts."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from arena import Adversary, InvalidArgument, Learner, Sample, count_setting, setting
from arena.concepts import ConceptClass, Halfspaces, Thresholds
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.settings_text import build_player, parse_value, summarize_player
from learners.halfspaces.winnow import Winnow

TYPED = """
from __future__ import annotations
import attrs
from arena import Adversary, setting

@attrs.frozen
class Typed(Adversary):
    name = "typed"
    odd: Nowhere = setting(1, help="")
    def play(self, games, rng):
        yield
"""


@attrs.frozen
class Fussy(Adversary):
    """An adversary with a field of every kind."""

    name = "fussy"
    protocols = ("Figure1",)

    count: int = count_setting(1, help="")
    level: float | None = setting(None, help="")
    exact: bool = setting(False, help="")
    title: str = setting("", help="")
    concepts: ConceptClass = setting(Thresholds(), help="")
    points: tuple[float, ...] = setting((), help="")
    sample: Sample | None = setting(None, help="")
    learner: Learner | None = setting(None, help="")

    def __attrs_post_init__(self) -> None:
        if self.title == "bad":
            raise KeyError("bad")

    def play(self, games, rng):
        yield


@attrs.frozen
class Needy(Fussy):
    name = "needy"
    other: int = setting(help="")


def refusal(call, *arguments, **options) -> str:
    with pytest.raises(InvalidArgument) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("20_001", int, 20_001),
        (" 1e5 ", int, 100_000),
        ("1e18", int, 10**18),
        ("1e-5", float, 1e-5),
        ("none", float | None, None),
        ("None", int | None, None),
        ("7", int | None, 7),
        ("none", str, "none"),
        ("yes", bool, True),
        ("FALSE", bool, False),
        ("2", int | float, 2),
        ("2.5", int | float, 2.5),
        ("thresholds:1..4", ConceptClass, Thresholds(range(1, 5))),
        ("halfspaces:8,0.5", Halfspaces, Halfspaces(8, 0.5)),
        ("0,1e3", tuple[float, float] | None, (0.0, 1000.0)),
    ],
)
def test_text_means(text: str, kind: object, value: object) -> None:
    found = parse_value("x", text, kind)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("1.5", int, "x must be an integer, got '1.5'. Write 20001, 20_001 or 1e5."),
        ("1e999999999", int, "x must be less than 10^19, got '1e999999999'"),
        ("nan", int, "x must be an integer, got 'nan'. Write 20001, 20_001 or 1e5."),
        ("nan", float, "x must be a finite number, got 'nan'"),
        ("much", float, "x must be a finite number, got 'much'"),
        ("maybe", bool, "x must be true or false, got 'maybe'"),
        ("1", tuple[float, float], "x must be two numbers, got '1'. Write 0,1."),
        ("1,2", tuple, "x takes a tuple, which cannot be written as text, got '1,2'. Set it from Python."),
    ],
)
def test_text_that_means_nothing_is_refused(text: str, kind: object, message: str) -> None:
    assert refusal(parse_value, "x", text, kind) == message


def test_build_sets_what_it_is_told_and_fills_what_is_given() -> None:
    sample, learner = Sample([0.0], [1]), build_player(LEARNERS.find("laplace-count"), {})
    texts = {"count": "1e2", "level": "0.5", "exact": "on", "title": "a=b", "concepts": "thresholds:1..3"}
    made = build_player(Fussy, texts, sample=sample, learner=learner)
    assert (made.count, made.level, made.exact, made.title) == (100, 0.5, True, "a=b")
    assert made.concepts == Thresholds(range(1, 4))
    assert (made.sample, made.learner) == (sample, learner)
    assert (
        summarize_player(made)
        == "fussy with count=100, level=0.5, exact=true, title=a=b, concepts=Thresholds(3 points from 1 to 3)"
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"levl": "1"}, "fussy has no setting 'levl'. Did you mean level? Its settings are: count, level,"),
        ({"count": "0"}, "count must be at least 1, got 0"),
        ({"count": "x"}, "count must be an integer, got 'x'. Write 20001, 20_001 or 1e5."),
        ({"sample": "x"}, "sample of fussy cannot be set. It is filled from --data."),
        ({"learner": "x"}, "learner of fussy cannot be set. It is filled with the opponent's configuration."),
        ({"title": "bad"}, "fussy raised KeyError: 'bad' when it was created. Fix the player. See "),
    ],
)
def test_settings_that_are_not_are_refused(texts: dict[str, str], message: str) -> None:
    assert refusal(build_player, Fussy, texts).startswith(message)


def test_a_setting_without_a_default_must_be_given() -> None:
    assert refusal(build_player, Needy, {}) == "needy needs a value for other. Give --set other=VALUE."
    assert build_player(Needy, {"other": "2"}).other == 2


def test_annotations_that_name_nothing_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "typed.py"
    path.write_text(TYPED)
    said = refusal(build_player, ADVERSARIES.find(f"{path}:Typed"), {"odd": "1"})
    assert said.startswith("annotations of typed contain an unknown name (name 'Nowhere' is not defined). ")


def test_the_player_checks_which_concept_class_it_is() -> None:
    assert build_player(Winnow, {"concepts": "halfspaces:8,0.5"}).concepts == Halfspaces(8, 0.5)
    with pytest.raises(InvalidArgument, match="halfspaces with a margin"):
        build_player(Winnow, {"concepts": "thresholds:1..3"})

"""Mechanisms that release the same in every game, whose audits show nothing: an error, or a warning."""

from __future__ import annotations

import warnings

from arena import Learner, NothingTested, SameReleases
from arena.engine import ReleaseWatch, watch_releases
from arena.referees.transcript import format_value
from arena.testing.learner import play_other_data

_NOTHING = "None"


def refuse_same_releases(learner: Learner, watch: ReleaseWatch) -> None:
    """Refuse games on several datasets that all released the same. Raises: NothingTested."""
    released = _find_only_release(watch)
    if released:
        raise _describe_refusal(learner, released, "whatever the data")


def judge_same_releases(learner: Learner, protocol: str, watch: ReleaseWatch) -> str:
    """A note on games on one pair of datasets that all released the same, of which it also warns; empty if
    they did not. Raises: NothingTested if games on other datasets release the same, too."""
    released = _find_only_release(watch)
    if not released:
        return ""
    with watch_releases() as others:
        play_other_data(learner, protocol)
    watch.join(others)
    if not watch.varied:
        raise _describe_refusal(learner, released, "and so did games on other data")
    note = (
        f"every game of both worlds released {released}, though games on other data release something else. "
        "These two data sets show nothing else of the mechanism: choose some on which its release varies, or "
        "search for them"
    )
    warnings.warn(f"{learner.own_name}: {note}.", SameReleases, stacklevel=4)
    return note


def _find_only_release(watch: ReleaseWatch) -> str:
    """What all games released, as text; empty if there was something else to see, such as failures."""
    if watch.varied or watch.first is None:
        return ""
    released = format_value(watch.first[0])
    return "" if watch.failed and released != _NOTHING else released


def _describe_refusal(learner: Learner, released: str, where: str) -> NothingTested:
    remedy = (
        "Did you forget to return? Return what the mechanism publishes"
        if released == _NOTHING
        else "Return what the mechanism publishes, or give data on which it releases something else"
    )
    return NothingTested(
        f"a mechanism must release more than one value, since games that all look the same test nothing: "
        f"{learner.own_name} released {released} in every game of both worlds, {where}. {remedy}."
    )

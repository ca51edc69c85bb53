"""What a user's function received in games, for people: what says so, and how to change it."""

from __future__ import annotations

from arena import Learner
from arena.capabilities import ReceivesPart, read_schema

_BEYOND = (
    "data like the example, and numbers beyond its range; give data=audits.table_like(...) of the example to "
    "stay within it"
)


def describe_received(learner: Learner, *, example: bool = False) -> str:
    """What a learner received, and why; empty if it is no function, or if its schema says it all.

    example: whether an example of its points was given, so that numbers beyond the range of that were tried.
    """
    schema = read_schema(learner)
    if schema is not None and schema.beyond:
        return _BEYOND
    if not isinstance(learner, ReceivesPart):
        return ""
    of_points = example and schema is None and learner.reads != "labels" and learner.domain is None
    return _BEYOND if of_points else learner.received

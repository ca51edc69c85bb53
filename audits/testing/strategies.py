"""The Hypothesis strategy for adversaries, with a default protocol; others are in `script_strategies`."""

from __future__ import annotations

from hypothesis import strategies as st

from arena import InvalidArgument, Learner
from audits.search import Script, script_strategies
from audits.search.script import STEPS


def adversaries(learner: Learner, protocol: str | None = None) -> st.SearchStrategy[Script]:
    """Adversaries that follow the protocol, whose worlds differ in what the learner protects.

    protocol: default: the first of Figure1, Release, Voting and SpecialRound that the learner plays.

    Raises: InvalidArgument if it plays none of them, or protects nothing that can differ.
    """
    playable = [name for name in STEPS if name in learner.protocols]
    if protocol is None and not playable:
        raise InvalidArgument(f"{learner.name} plays no protocol of two worlds", value=learner.protocols)
    return script_strategies.adversaries(learner, protocol or playable[0])

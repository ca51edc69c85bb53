"""Hypothesis strategies for tests of learners: valid samples, streams and adversaries."""

from __future__ import annotations

from hypothesis import strategies as st

from arena import InvalidArgument, Learner, Sample
from audits.search import Script, Step, script_strategies
from audits.search.script import STEPS


def neighbouring_samples(learner: Learner) -> st.SearchStrategy[tuple[Sample, Sample]]:
    """Two samples that differ in one example, of sizes and points that the learner accepts."""
    return script_strategies.neighbours(learner)


def streams(learner: Learner) -> st.SearchStrategy[tuple[Step, ...]]:
    """The rounds of a SpecialRound game, one of which differs between the worlds."""
    return script_strategies.streams(learner)


def adversaries(learner: Learner, protocol: str | None = None) -> st.SearchStrategy[Script]:
    """Adversaries that follow the protocol, whose worlds differ in what the learner protects.

    protocol: default: the first of Figure1, Release, Voting and SpecialRound that the learner plays.

    Raises: InvalidArgument if it plays none of them, or protects nothing that can differ.
    """
    playable = [name for name in STEPS if name in learner.protocols]
    if protocol is None and not playable:
        raise InvalidArgument(f"{learner.name} plays no protocol of two worlds", value=learner.protocols)
    return script_strategies.adversaries(learner, protocol or playable[0])

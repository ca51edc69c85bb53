"""Searches under Release: neighbouring samples."""

from __future__ import annotations

from hypothesis import strategies as st

from arena import Learner, PrivacyUnit, Release, Sample
from audits.adversary_search.script import SPACES, Script, SearchSpace
from audits.adversary_search.script_strategies import cut_runs, neighbours


def _draw_samples(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    if PrivacyUnit.TRAINING_EXAMPLE not in learner.claim.protects:
        return []
    pairs = neighbours(learner, data)
    scripts = pairs.map(lambda two: Script(protocol=protocol, world_0=two[0], world_1=two[1]))
    return [cut_runs(scripts)]


SPACES[Release.name] = SearchSpace(draw=_draw_samples)

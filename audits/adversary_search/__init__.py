"""Search for adversaries that refute a claim: draw, play the best again, shrink, confirm on fresh games."""

import os
import sys
import tempfile
from pathlib import Path

if "hypothesis" not in sys.modules:
    # Hypothesis caches what it knows about modules; by default in the current folder, which is the user's.
    os.environ.setdefault(
        "HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir(), "arena-hypothesis"))
    )

from audits.adversary_search.adversary_search import SearchProgress, search
from audits.adversary_search.confirmation import share_of_error
from audits.adversary_search.evidence import SearchTarget, weigh_adversary
from audits.adversary_search.protocols.query_scripts import Ask, Challenge, Follow, Hand
from audits.adversary_search.protocols.round_scripts import Pull, Show, Special
from audits.adversary_search.protocols.stream_steps import Arrivals, Differ, React
from audits.adversary_search.score import Score
from audits.adversary_search.script import SPACES, Memory, Script, SearchSpace, Step
from audits.adversary_search.search_report import SearchResult

__all__ = ["SPACES", "Arrivals", "Ask", "Challenge", "Differ", "Follow", "Hand", "Memory", "Pull", "React"]
__all__ += ["Score", "Script"]
__all__ += ["SearchProgress", "SearchResult", "SearchSpace", "SearchTarget", "Show", "Special", "Step"]
__all__ += ["search", "share_of_error", "weigh_adversary"]

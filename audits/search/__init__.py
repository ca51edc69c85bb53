"""Search for adversaries: `search` draws them, climbs, shrinks and confirms."""

from audits.search.evidence import Contest, Evidence, weigh
from audits.search.explore import BAR, referee_for
from audits.search.score import Score
from audits.search.script import Ask, Challenge, Follow, Script, Show, Special, Step
from audits.search.search import Progress, SearchResult, search, share_of_error

__all__ = [
    "BAR",
    "Ask",
    "Challenge",
    "Contest",
    "Evidence",
    "Follow",
    "Progress",
    "Score",
    "Script",
    "SearchResult",
    "Show",
    "Special",
    "Step",
    "referee_for",
    "search",
    "share_of_error",
    "weigh",
]

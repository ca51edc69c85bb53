"""Experts that follow a mistake-bound learner through private candidates, many merged into few: Appendix E of
Li, Wang, Ye, for classes on finite domains.
"""

from learners.online.experts.candidates import Candidates, most_missed, noise_scale
from learners.online.experts.draws import FreshDraws, LazyDraws
from learners.online.experts.merged import MergedExperts
from learners.online.experts.transitions import Moves, moves

__all__ = [
    "Candidates",
    "FreshDraws",
    "LazyDraws",
    "MergedExperts",
    "Moves",
    "most_missed",
    "moves",
    "noise_scale",
]

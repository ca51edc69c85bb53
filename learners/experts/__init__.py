"""Experts that follow a mistake-bound learner through private candidates, many merged into few: Appendix E of
Li, Wang, Ye, for classes on finite domains.
"""

from learners.experts.candidates import Candidates, most_missed, noise_scale
from learners.experts.draws import FreshDraws, LazyDraws
from learners.experts.merged import MergedExperts
from learners.experts.moves import Moves, moves

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

"""Experts that follow a mistake-bound learner through private candidates: Appendix E of Li, Wang, Ye.

For classes on finite domains. Experts with the same future are merged, so that there are few.
"""

from learners.online.experts.candidates import Candidates, counter_noise_scale, largest_missed_count
from learners.online.experts.draws import FreshDraws, LazyDraws
from learners.online.experts.merged import MergedExperts
from learners.online.experts.transitions import Transitions, build_transitions

__all__ = [
    "Candidates",
    "FreshDraws",
    "LazyDraws",
    "MergedExperts",
    "Transitions",
    "build_transitions",
    "counter_noise_scale",
    "largest_missed_count",
]

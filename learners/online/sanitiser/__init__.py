"""Private synthetic data for a class of functions: section 2.3 and Appendix D of Li, Wang, Ye.

For finite classes on finite domains. Datasets are counts of the points of the domain, one row for each game
of a batch. Algorithms and proofs: docs/proofs/sanitiser.md.
"""

from learners.online.sanitiser.discriminator import WIN, Discriminator
from learners.online.sanitiser.empirical import EmpiricalLearner, ExponentialLearner, SubsampledLearner
from learners.online.sanitiser.generator import ProposalGenerator
from learners.online.sanitiser.sanitiser import (
    SanitisedData,
    Sanitiser,
    error_functions,
    round_to_counts,
    rounding_error,
)

__all__ = [
    "WIN",
    "Discriminator",
    "EmpiricalLearner",
    "ExponentialLearner",
    "ProposalGenerator",
    "SanitisedData",
    "Sanitiser",
    "SubsampledLearner",
    "error_functions",
    "round_to_counts",
    "rounding_error",
]

"""Private synthetic data that a class of functions cannot tell from the real: section 2.3 and Appendix D of
Li, Wang, Ye, for finite classes on finite domains.

Datasets are counts of the points of the domain, and a table of games is sanitised at once.
"""

from learners.sanitiser.discriminator import WIN, Discriminator
from learners.sanitiser.empirical import EmpiricalLearner, ExponentialLearner, SubsampledLearner
from learners.sanitiser.generator import Generator
from learners.sanitiser.labelled import labelled
from learners.sanitiser.sanitiser import Sanitised, Sanitiser, rounded, rounding_error

__all__ = [
    "WIN",
    "Discriminator",
    "EmpiricalLearner",
    "ExponentialLearner",
    "Generator",
    "Sanitised",
    "Sanitiser",
    "SubsampledLearner",
    "labelled",
    "rounded",
    "rounding_error",
]

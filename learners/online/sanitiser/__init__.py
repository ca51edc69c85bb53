"""Private synthetic data that a class of functions cannot tell from the real: section 2.3 and Appendix D of
Li, Wang, Ye, for finite classes on finite domains.

Datasets are counts of the points of the domain, and a table of games is sanitised at once.
"""

from learners.online.sanitiser.discriminator import WIN, Discriminator
from learners.online.sanitiser.empirical import EmpiricalLearner, ExponentialLearner, SubsampledLearner
from learners.online.sanitiser.generator import Generator
from learners.online.sanitiser.labelled import labelled
from learners.online.sanitiser.sanitiser import Sanitised, Sanitiser, rounded, rounding_error

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

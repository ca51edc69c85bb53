"""Exact audits: the law of the adversary's view in both worlds, from the law that the learner tells.

Nothing is sampled. `exact` says how far a learner falls short of its claim, or how much of it it leaves
unused; the curves and figures of audits that play games can be held against it.
"""

from audits.exact.exact_audit import ExactAudit, exact
from audits.exact.privacy_loss import Bracket, PrivacyLoss
from audits.exact.released_values import loss_of_values
from audits.exact.view_laws import ViewLaw, view_law

__all__ = ["Bracket", "ExactAudit", "PrivacyLoss", "ViewLaw", "exact", "loss_of_values", "view_law"]

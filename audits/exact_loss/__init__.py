"""Exact audits: the distribution of the adversary's view in both worlds.

Nothing is sampled. An exact audit shows by how much a learner violates its claim, or how much of the claim it
leaves unused, and serves as a reference for audits that play games.
"""

from audits.exact_loss.exact_audit import ExactAudit, exact
from audits.exact_loss.privacy_loss import Bracket, PrivacyLoss
from audits.exact_loss.view_laws import ViewLaw, loss_of_values, view_law

__all__ = ["Bracket", "ExactAudit", "PrivacyLoss", "ViewLaw", "exact", "loss_of_values", "view_law"]

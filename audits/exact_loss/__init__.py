"""Exact audits, by the distribution of the adversary's view in both worlds; no game is sampled."""

from audits.exact_loss.exact_audit import ExactAudit, exact
from audits.exact_loss.privacy_loss import Bracket, PrivacyLoss
from audits.exact_loss.view_laws import ViewLaw, loss_of_values, view_law

__all__ = ["Bracket", "ExactAudit", "PrivacyLoss", "ViewLaw", "exact", "loss_of_values", "view_law"]

"""Privacy curves, and what is needed to compute them for compositions."""

from __future__ import annotations

from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.combined_curves import ComposedCurve, GroupCurve, compose_curves, extend_to_group
from arena.privacy_curves.curve_data import describe_curve, format_curve, parse_curve, read_curve
from arena.privacy_curves.gaussian_curves import GaussianCurve, NoisyStepsCurve
from arena.privacy_curves.stated_curves import ConcentratedCurve, PureCurve, RenyiCurve, TabulatedCurve

__all__ = ["ComposedCurve", "ConcentratedCurve", "GaussianCurve", "GroupCurve", "NoisyStepsCurve"]
__all__ += ["PrivacyCurve", "PureCurve", "RenyiCurve", "TabulatedCurve", "compose_curves", "describe_curve"]
__all__ += ["extend_to_group", "format_curve", "parse_curve", "read_curve"]

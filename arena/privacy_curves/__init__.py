"""Privacy curves, and what is needed to compute them for compositions."""

from __future__ import annotations

from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.composed_curve import ComposedCurve, compose_curves
from arena.privacy_curves.curve_data import describe_curve, format_curve, parse_curve, read_curve
from arena.privacy_curves.gaussian_curve import GaussianCurve
from arena.privacy_curves.group_curve import GroupCurve, extend_to_group
from arena.privacy_curves.noisy_steps import NoisyStepsCurve
from arena.privacy_curves.pure_curve import PureCurve
from arena.privacy_curves.renyi_curves import ConcentratedCurve, RenyiCurve
from arena.privacy_curves.tabulated_curve import TabulatedCurve

__all__ = [
    "ComposedCurve",
    "ConcentratedCurve",
    "GaussianCurve",
    "GroupCurve",
    "NoisyStepsCurve",
    "PrivacyCurve",
    "PureCurve",
    "RenyiCurve",
    "TabulatedCurve",
    "compose_curves",
    "describe_curve",
    "extend_to_group",
    "format_curve",
    "parse_curve",
    "read_curve",
]

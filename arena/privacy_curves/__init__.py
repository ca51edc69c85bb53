"""Privacy curves, and what is needed to compute them for compositions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from arena.errors import InvalidArgument
from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.gaussian_curve import GaussianCurve
from arena.privacy_curves.noisy_steps import NoisyStepsCurve

__all__ = ["GaussianCurve", "NoisyStepsCurve", "PrivacyCurve", "describe_curve", "read_curve"]

_KINDS: dict[str, type[Any]] = {kind.name: kind for kind in (GaussianCurve, NoisyStepsCurve)}


def describe_curve(curve: PrivacyCurve) -> dict[str, Any]:
    """A curve as plain data, which `read_curve` reads."""
    return {"kind": curve.name, **attrs.asdict(curve)}  # type: ignore[arg-type]


def read_curve(data: object) -> PrivacyCurve:
    """The curve that `describe_curve` described, checked, whoever wrote the data. Raises: InvalidArgument."""
    kind = _KINDS.get(str(data.get("kind"))) if isinstance(data, Mapping) else None
    if kind is None or not isinstance(data, Mapping):
        raise InvalidArgument(
            "a privacy curve must be of a known kind", value=data, remedy=f"Choose from: {', '.join(_KINDS)}."
        )
    fields = {name: value for name, value in data.items() if name != "kind"}
    if set(fields) != {field.name for field in attrs.fields(kind)}:
        raise InvalidArgument(f"a {kind.name} curve has other entries", value=", ".join(map(str, fields)))
    curve: PrivacyCurve = kind(**fields)
    return curve

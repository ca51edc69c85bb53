"""Privacy curves as plain data, which ledgers hold, and as short texts, which people type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from arena.errors import InvalidArgument
from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.combined_curves import ComposedCurve, GroupCurve
from arena.privacy_curves.gaussian_curves import GaussianCurve, NoisyStepsCurve
from arena.privacy_curves.stated_curves import ConcentratedCurve, PureCurve, RenyiCurve, TabulatedCurve
from arena.settings import parse_rows, read_file

_MAX_SIZE = 1  # MiB of a table
_KINDS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        ComposedCurve,
        ConcentratedCurve,
        GaussianCurve,
        GroupCurve,
        NoisyStepsCurve,
        PureCurve,
        RenyiCurve,
        TabulatedCurve,
    )
}
_TEXTS: dict[str, tuple[int, Callable[..., PrivacyCurve]]] = {
    "mu": (1, GaussianCurve),
    "rho": (1, ConcentratedCurve),
    "rdp": (2, RenyiCurve),
    "gaussian": (2, GaussianCurve.of_claim),
}
_TABLES: dict[tuple[str, str], Callable[..., PrivacyCurve]] = {
    ("epsilon", "delta"): TabulatedCurve,
    ("type_1_error", "type_2_error"): TabulatedCurve.from_trade_off,
}
_HELP = (
    "Write mu=1 for Gaussian differential privacy, gaussian=4,1e-5 for that of a Gaussian mechanism that is "
    "(4, 1e-5)-DP, rho=0.5 for zero-concentrated privacy, rdp=8,2 for Rényi privacy of order 8 with ε = 2, "
    "or the name of a CSV file with the columns epsilon and delta, or type_1_error and type_2_error."
)


def describe_curve(curve: PrivacyCurve) -> dict[str, Any]:
    """A curve as plain data, which `read_curve` reads. Raises: InvalidArgument if its kind is not known."""
    if _KINDS.get(curve.name) is not type(curve):
        raise InvalidArgument(
            "a privacy curve of your own cannot be stored",
            value=curve,
            remedy="Make a table of it: TabulatedCurve(epsilons, deltas).",
        )
    fields = attrs.asdict(curve, recurse=False)  # type: ignore[arg-type]
    return {"kind": curve.name, **{name: _describe_value(value) for name, value in fields.items()}}


def _describe_value(value: object) -> object:
    if isinstance(value, tuple):
        return [_describe_value(part) for part in value]
    return describe_curve(value) if isinstance(value, PrivacyCurve) else value


def read_curve(data: object) -> PrivacyCurve:
    """The curve that `describe_curve` described, checked, whoever wrote the data. Raises: InvalidArgument."""
    kind = _KINDS.get(str(data.get("kind"))) if isinstance(data, Mapping) else None
    if kind is None or not isinstance(data, Mapping):
        raise InvalidArgument(
            "a privacy curve must be of a known kind", value=data, remedy=f"Choose from: {', '.join(_KINDS)}."
        )
    fields = {name: _read_value(value) for name, value in data.items() if name != "kind"}
    if set(fields) != {field.name for field in attrs.fields(kind)}:
        raise InvalidArgument(f"a {kind.name} curve has other entries", value=", ".join(map(str, fields)))
    curve: PrivacyCurve = kind(**fields)
    return curve


def _read_value(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_read_value, value))
    return read_curve(value) if isinstance(value, Mapping) else value


def format_curve(curve: PrivacyCurve) -> str | None:
    """The short text that `parse_curve` reads as this curve; None if there is none."""
    texts = {
        f"{name}={','.join(repr(value) for value in attrs.astuple(curve)[:number])}"  # type: ignore[arg-type]
        for name, (number, kind) in _TEXTS.items()
        if type(curve) is kind
    }
    return next((text for text in texts if parse_curve(text) == curve), None)


def parse_curve(text: str | PrivacyCurve) -> PrivacyCurve:
    """The curve that a text names, or a curve itself. Raises: InvalidArgument."""
    if isinstance(text, PrivacyCurve):
        return text
    if not isinstance(text, str):
        raise InvalidArgument("a claim must be a privacy curve or the text of one", value=text, remedy=_HELP)
    name, _, values = text.partition("=")
    if name in _TEXTS:
        number, make = _TEXTS[name]
        try:
            parts = [float(part) for part in values.split(",")]
        except ValueError:
            parts = []
        if len(parts) != number:
            raise InvalidArgument(
                f"{name}= needs {'a number' if number == 1 else 'two numbers'}", value=text, remedy=_HELP
            )
        return make(*parts)
    if not text.endswith(".csv"):
        raise InvalidArgument("a claim must be the text of a privacy curve", value=text, remedy=_HELP)
    return _read_table(text)


def _read_table(path: str) -> PrivacyCurve:
    rows = [*parse_rows(path, read_file("privacy curve", path, mebibytes=_MAX_SIZE))]
    if not rows:
        raise InvalidArgument(f"the privacy curve {path} is empty", remedy=_HELP)
    (header, heads), *points = rows
    for line, row in points:
        if len(row) != len(heads):
            raise InvalidArgument(
                f"{path}, line {line}: expected {len(heads)} fields, as in line {header}",
                value=len(row),
                remedy="Correct the line.",
            )
    for columns, make in _TABLES.items():
        if set(columns) <= set(heads):
            places = [heads.index(column) for column in columns]
            return make(*([_parse_number(path, line, row[i]) for line, row in points] for i in places))
    raise InvalidArgument(f"{path} has no columns of a privacy curve", value=", ".join(heads), remedy=_HELP)


def _parse_number(path: str, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument(
            f"{path}, line {line}: a privacy curve needs numbers", value=text, remedy=_HELP
        ) from None

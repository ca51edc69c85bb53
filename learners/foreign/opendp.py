"""opendp: a measurement of OpenDP, with the claim of its privacy map."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, Relation
from arena.errors import InvalidArgument, UnknownRelease, Unsupported
from arena.privacy_curves import ConcentratedCurve, PrivacyCurve
from arena.sample import Sample
from arena.settings import more_than, one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.foreign.base import (
    COUNTS,
    LABELS,
    ONES,
    POINTS,
    SUM,
    ForeignClaim,
    extract_part,
    function_setting,
    missing_library,
    receives_setting,
)

_TYPES: dict[str, Callable[[Any], Any]] = {"i": int, "u": int, "f": float, "b": bool}
_EQUAL_SIZES = ("HammingDistance", "ChangeOneDistance")
_BY_TWO = ("SymmetricDistance", "InsertDeleteDistance")  # a replaced example is one removed and one added


@attrs.frozen
class OpenDP(ForeignClaim):
    """Releases the result of a measurement of OpenDP, a number or a vector.

    Gaboardi, Hay, Vadhan (2020), opendp.org. `make` returns the measurement. The claim is its privacy map at
    `d_in`: ε of MaxDivergence, (ε, δ) of Approximate(MaxDivergence), ε of SmoothedMaxDivergence at `delta`,
    or, with the curve of ρ-zCDP, ε by make_zCDP_to_approxDP. If it adds noise to every entry of a vector
    separately, it can be `vectorised`: entry g holds the number of game g. No seed repeats a run, and
    queryables are refused.
    """

    name = "opendp"
    theorem = "the privacy map of the measurement (OpenDP)"
    own_coins = True
    packages = ("opendp",)
    library = "opendp"

    parts = (ONES, LABELS, SUM, POINTS)

    make: Callable[..., Any] = function_setting("makes the measurement; FILE.py:f on the command line")
    d_in: float = setting(
        help="the largest distance, in the input metric, of neighbours: 1 for a count; 2 for vectors by "
        "symmetric distance in which an example is replaced, 1 if one is added or removed",
        check=more_than(0),
    )
    receives: str = receives_setting(ONES, check=one_of(*parts))
    delta: float | None = setting(None, unit="probability", help="δ at which a privacy profile is evaluated")
    vectorised: bool = setting(False, help="whether one call on a vector plays all games of a batch")

    @property
    def claim(self) -> Claim:
        """Raises: InvalidArgument if neighbours are farther apart than d_in, or if δ is missing; Unsupported
        for another measure of privacy."""
        epsilon, delta, curve = self._evaluate_map()
        return claim_for_example(epsilon, delta, neighbours=self.relation, curve=curve)

    def draw_releases(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        measurement, data = self.mechanism, extract_part(sample, self.receives)
        carrier = str(measurement.input_carrier_type)
        if self.vectorised:
            if np.ndim(data) or not carrier.startswith("Vec<"):
                raise Unsupported(
                    "a vectorised measurement must take a vector with one number for each game",
                    value=f"{self.receives} for {carrier}",
                    remedy="Make it on a vector domain and let it receive ones or sum.",
                )
            return measurement(_convert(np.full(games, data), carrier))
        return [_check_released(measurement(_convert(data, carrier))) for _ in range(games)]

    def _evaluate_map(self) -> tuple[float, float, PrivacyCurve | None]:
        """(ε, δ) of the privacy map at d_in, and its privacy curve, if it has one."""
        self._check_distance(str(self.mechanism.input_metric))
        return evaluate_map(self.mechanism, self.d_in, self.delta)

    def _check_distance(self, metric: str) -> None:
        distance, moves = 1 if self.receives in COUNTS else 0, not self.relation.adds_or_removes
        if self.receives in (LABELS, POINTS):
            if metric.startswith(_BY_TWO):
                distance = 2 if moves else 1
            elif moves and metric.startswith(_EQUAL_SIZES):
                distance = 1
            elif metric.startswith(_EQUAL_SIZES):
                raise InvalidArgument(
                    f"no d_in covers neighbours that {self.relation}, since {metric} is between vectors of "
                    "equal length",
                    value=self.d_in,
                    remedy="Make the measurement with the symmetric distance, or choose other neighbours.",
                )
        distance *= self.relation.size
        if self.d_in < distance:
            raise InvalidArgument(
                f"d_in must be at least {distance}: neighbours change {self.receives} by up to {distance} in "
                f"{metric}",
                value=self.d_in,
                remedy=f"Set d_in to {distance}.",
            )


def evaluate_map(
    measurement: Any, distance: float, delta: float | None
) -> tuple[float, float, PrivacyCurve | None]:
    """(ε, δ) of the privacy map of a measurement at d_in = `distance`, and its privacy curve, if it has one.
    Raises: InvalidArgument if δ is missing; Unsupported for another measure of privacy."""
    measure = str(measurement.output_measure)
    integer = not str(measurement.input_distance_type).startswith("f")
    d_in = ceil(distance) if integer else float(distance)  # never less than the setting
    curve: PrivacyCurve | None = None
    if measure == "ZeroConcentratedDivergence":
        rho = float(measurement.map(d_in))
        curve = ConcentratedCurve(rho) if 0 < rho < inf else None
        try:
            from opendp.combinators import make_zCDP_to_approxDP
        except ImportError as error:
            raise missing_library(OpenDP.library, error) from error
        measurement, measure = make_zCDP_to_approxDP(measurement), "SmoothedMaxDivergence"
    loss = measurement.map(d_in)
    if measure == "MaxDivergence":
        return float(loss), 0.0, None
    if measure == "Approximate(MaxDivergence)":
        return float(loss[0]), float(loss[1]), None
    if measure != "SmoothedMaxDivergence":
        raise Unsupported(
            "the map of a measurement must be about (ε, δ) or zero-concentrated privacy",
            value=measure,
            remedy="Convert it where it is made (opendp.combinators).",
        )
    if delta is None:
        raise InvalidArgument(
            "the measurement has a privacy profile, so that its claim depends on δ", remedy="Set delta."
        )
    return float(loss.epsilon(delta)), delta, curve


def find_distance(metric: str, relation: Relation) -> int | None:
    """The distance of neighbouring vectors; None if it has no bound, as of vectors of unequal length."""
    moves = not relation.adds_or_removes
    if metric.startswith(_BY_TWO):
        return (2 if moves else 1) * relation.size
    return relation.size if moves and metric.startswith(_EQUAL_SIZES) else None


def _check_released(released: Any) -> Any:
    """Raises: UnknownRelease for a queryable, which releases nothing until it is asked."""
    if any(kind.__name__ == "Queryable" for kind in type(released).__mro__):
        raise UnknownRelease(
            "the measurement must release numbers, not answer queries",
            value=type(released).__name__,
            remedy="Wrap it in a Python function that asks it and returns the answers, and audit that by the "
            "learner function.",
        )
    return released


def _convert(data: Any, carrier: str) -> Any:
    """The data in Python's own types, since OpenDP refuses an int for f64, and numpy's numbers."""
    inner = carrier.removeprefix("Vec<")
    convert = _TYPES.get(inner[0])
    if convert is None:
        raise Unsupported(
            "the measurement must take numbers or bits",
            value=carrier,
            remedy="Wrap it in a Python function, and audit that.",
        )
    if convert is bool and not np.isin(data, (0, 1)).all():
        raise InvalidArgument(
            "a measurement of bits must receive 0 or 1",
            value=data,
            remedy="Use a sample with at most one label 1.",
        )
    return [convert(entry) for entry in np.ravel(data).tolist()] if inner != carrier else convert(data)

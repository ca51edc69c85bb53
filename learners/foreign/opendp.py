"""opendp: a measurement of OpenDP, with the claim that its privacy map makes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument, Unsupported
from arena.sample import Sample
from arena.settings import less_than, more_than, one_of, setting
from learners.foreign.base import (
    COUNTS,
    LABELS,
    ONES,
    POINTS,
    SUM,
    Foreign,
    function_setting,
    made,
    missing,
    part_of,
    receives,
)

_KINDS: dict[str, Callable[[Any], Any]] = {"i": int, "u": int, "f": float, "b": bool}
_BY_TWO = ("SymmetricDistance", "InsertDeleteDistance")  # a replaced example is one removed and one added


@attrs.frozen
class OpenDP(Foreign):
    """Releases what a measurement of OpenDP returns, a number or a vector (opendp.org; Gaboardi, Hay, Vadhan,
    A Programming Framework for OpenDP, 2020).

    `make` makes the measurement, without arguments: a measurement cannot be handed to another process. The
    claim is what its privacy map says of `d_in`: ε of MaxDivergence, (ε, δ) of Approximate(MaxDivergence);
    of SmoothedMaxDivergence ε at the `delta` that is set. ZeroConcentratedDivergence is cast by the library's
    own make_zCDP_to_approxDP first.

    A measurement on vectors may add noise to every entry by itself (make_laplace, make_gaussian on a vector
    domain). It can then be `vectorised`: one call plays a table, every entry is one game and holds its
    number, and only the entry of that game can move. What the map says of d_in holds for an entry too.

    Its coins are the library's own, so that no seed repeats a run.
    """

    name = "opendp"
    theorem = "the privacy map of the measurement (OpenDP)"

    make: Callable[..., Any] = function_setting(
        "makes the measurement; path/to/file.py:f on the command line"
    )
    d_in: float = setting(
        help="how far neighbours, which differ in one example, may lie from each other in the input metric: "
        "1 for a count, 2 for vectors by symmetric distance",
        check=more_than(0),
    )
    receives: str = receives(ONES, check=one_of(ONES, LABELS, SUM, POINTS))
    delta: float | None = setting(
        None,
        unit="probability",
        help="δ at which ε is read off a privacy profile",
        check=[more_than(0), less_than(1)],
    )
    vectorised: bool = setting(False, help="whether one call on a vector plays all games of a table")

    @property
    def own_coins(self) -> bool:
        return True

    @property
    def claim(self) -> Claim:
        """Raises: InvalidArgument if d_in is less than one example moves the data, or if δ is missing;
        Unsupported if the map speaks of another measure."""
        epsilon, delta = self._loss()
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def drawn(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        measurement, data = _measurement(self.make), part_of(sample, self.receives)
        carrier = str(measurement.input_carrier_type)
        if self.vectorised:
            if np.ndim(data) or not carrier.startswith("Vec<"):
                raise Unsupported(
                    "a vectorised measurement takes a vector, of one number a game",
                    value=f"{self.receives} for {carrier}",
                    remedy="Make it on a vector domain and let it receive ones or sum.",
                )
            return measurement(_carried(np.full(games, data), carrier))
        return [measurement(_carried(data, carrier)) for _ in range(games)]

    def _loss(self) -> tuple[float, float]:
        """(ε, δ) of its map at d_in."""
        measurement = _measurement(self.make)
        self._check_distance(str(measurement.input_metric))
        measure = str(measurement.output_measure)
        if measure == "ZeroConcentratedDivergence":
            measurement, measure = _approximate(measurement), "SmoothedMaxDivergence"
        whole = not str(measurement.input_distance_type).startswith("f")
        loss = measurement.map(ceil(self.d_in) if whole else float(self.d_in))  # never of less than d_in
        if measure == "MaxDivergence":
            return float(loss), 0.0
        if measure == "Approximate(MaxDivergence)":
            return float(loss[0]), float(loss[1])
        if measure != "SmoothedMaxDivergence":
            raise Unsupported(
                "the map of a measurement speaks of (ε, δ) or of zero-concentrated privacy",
                value=measure,
                remedy="Cast it where it is made (opendp.combinators).",
            )
        if self.delta is None:
            raise InvalidArgument(
                "the measurement has a privacy profile, of which a claim needs the δ at which to read it",
                remedy="Set delta.",
            )
        return float(loss.epsilon(self.delta)), self.delta

    def _check_distance(self, metric: str) -> None:
        least = 1 if self.receives in COUNTS else 0
        if self.receives in (LABELS, POINTS) and metric.startswith(_BY_TWO):
            least = 2
        if self.d_in < least:
            raise InvalidArgument(
                f"one example moves {self.receives} by up to {least} in {metric}, so d_in is no less",
                value=self.d_in,
                remedy=f"Set d_in to {least}.",
            )


@lru_cache(maxsize=16)
def _measurement(make: Callable[[], Any]) -> Any:
    """What `make` makes, once in a process."""
    return made(OpenDP.name, make, "opendp")


def _approximate(measurement: Any) -> Any:
    try:
        from opendp.combinators import make_zCDP_to_approxDP
    except ImportError as error:
        raise missing("opendp", error) from error
    return make_zCDP_to_approxDP(measurement)


def _carried(data: Any, carrier: str) -> Any:
    """The data as the measurement's Python takes it: it refuses an int for f64, and what numpy holds."""
    inner = carrier.removeprefix("Vec<")
    kind = _KINDS.get(inner[0])
    if kind is None:
        raise Unsupported(
            "a measurement takes numbers, or bits",
            value=carrier,
            remedy="Wrap it in a function of yours, and audit that.",
        )
    if kind is bool and not np.isin(data, (0, 1)).all():
        raise InvalidArgument(
            "a measurement of bits takes 0 and 1", value=data, remedy="Use a sample with at most one label 1."
        )
    return [kind(entry) for entry in np.ravel(data).tolist()] if inner != carrier else kind(data)

"""diffprivlib and diffprivlib-model: mechanisms and models of IBM's diffprivlib, with their claims."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import RAISED, InvalidArgument, Unsupported, describe_error
from arena.privacy_curves import GaussianCurve, PrivacyCurve
from arena.sample import Sample
from arena.settings import one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.foreign.base import (
    BOTH,
    ONES,
    SUM,
    ForeignClaim,
    ForeignMechanism,
    call_maker,
    draw_random_state,
    extract_part,
    function_setting,
    receives_setting,
)
from learners.foreign.mechanism import fit_model, use_one_thread


@attrs.frozen
class Diffprivlib(ForeignClaim):
    """Releases `mechanism.randomise(number)` of a mechanism of diffprivlib.

    Holohan, Braghin, Mac Aonghusa, Levacher (2019). `make` returns the mechanism, as `partial(Laplace,
    epsilon=1, sensitivity=1)` does. The claim is its epsilon and delta, for numbers that neighbours change by
    at most its sensitivity; Gaussian and GaussianAnalytic have the privacy curve of their σ. It draws from
    the operating system's generator, or, if `seeded`, from a `random_state` by the learner's random numbers.
    """

    name = "diffprivlib"
    theorem = "the epsilon and delta of the mechanism (diffprivlib)"
    packages = ("diffprivlib", "sklearn")
    library = "diffprivlib"

    parts = (ONES, SUM)

    make: Callable[..., Any] = function_setting("makes the mechanism; path/to/file.py:f on the command line")
    receives: str = receives_setting(ONES, check=one_of(*parts))
    seeded: bool = setting(False, help="whether `make` gets a random_state by the learner's coins")

    @property
    def own_coins(self) -> bool:
        return not self.seeded

    @property
    def claim(self) -> Claim:
        """Raises: InvalidArgument if neighbours change a count by more than the mechanism's sensitivity."""
        mechanism = self.mechanism
        sensitivity = getattr(mechanism, "sensitivity", None)
        change = self.relation.size
        if self.receives == ONES and sensitivity is not None and sensitivity < change:
            raise InvalidArgument(
                f"neighbours change a count by {change}, which is more than the mechanism's sensitivity",
                value=sensitivity,
                remedy=f"Make it with a sensitivity of at least {change}.",
            )
        curve = _find_curve(mechanism)
        return claim_for_example(mechanism.epsilon, mechanism.delta, neighbours=self.relation, curve=curve)

    def draw_releases(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        number = extract_part(sample, self.receives)
        mechanism = self.mechanism
        if self.seeded:
            make = partial(self.make, random_state=draw_random_state(rng))
            mechanism = call_maker(make, self.library)
        return [mechanism.randomise(number) for _ in range(games)]


def _find_curve(mechanism: Any) -> PrivacyCurve | None:
    """The privacy curve of diffprivlib's Gaussian mechanisms, by the σ that their papers give for (ε, δ)."""
    kind, epsilon, delta = type(mechanism), float(mechanism.epsilon), float(mechanism.delta)
    if not kind.__module__.startswith("diffprivlib.") or not 0 < delta < 1:
        return None
    if kind.__name__ == "Gaussian":  # Theorem A.1 of Dwork and Roth (2014)
        return GaussianCurve(epsilon / math.sqrt(2 * math.log(1.25 / delta)))
    if kind.__name__ == "GaussianAnalytic":  # Algorithm 1 of Balle and Wang (2018)
        return GaussianCurve.of_claim(epsilon, delta)
    return None


# The attributes with which the models of diffprivlib predict or transform, in the order of their release.
PARAMETERS = (
    "coef_",
    "intercept_",
    "class_count_",
    "theta_",
    "var_",
    "mean_",
    "components_",
    "explained_variance_",
    "cluster_centers_",
)


@attrs.frozen
class DiffprivlibModel(ForeignMechanism):
    """Releases the parameters of a model of diffprivlib that was fitted to the sample.

    `make` is called with a `random_state` for each game and returns the model, as `partial(GaussianNB,
    epsilon=1, bounds=(0, 1))` does. The release is the vector of its `PARAMETERS`, or what `release_of`
    returns. The claim is the model's epsilon, for an example that is replaced: diffprivlib does not say for
    which relation, but uses the number of examples without noise. Raises: InvalidArgument if the model reads
    a bound from the data.
    """

    name = "diffprivlib-model"
    theorem = "the epsilon of the model (diffprivlib)"
    packages = ("diffprivlib", "sklearn")
    library = "diffprivlib"

    make: Callable[..., Any] = function_setting("takes a random_state, returns the model; FILE.py:f")
    release_of: Callable[..., Any] | None = function_setting(
        "release of a fitted model, FILE.py:f; default: its parameters", required=False
    )

    @property
    def claim(self) -> Claim:
        model = _model(self.make)
        return claim_for_example(model.epsilon, getattr(model, "delta", 0.0))

    def draw_releases(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        make = partial(self.make, random_state=draw_random_state(rng))
        with use_one_thread():
            return [self._release_model(make, sample) for _ in range(games)]

    def _release_model(self, make: Callable[[], Any], sample: Sample) -> Any:
        model = call_maker(make, self.library)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                fit_model(model, extract_part(sample, BOTH))
            except RAISED as error:
                raise InvalidArgument(
                    f"{type(model).__name__} could not be fitted, {describe_error(error)}",
                    value=sample.describe(),
                    remedy="Give the adversary samples that the model accepts in both worlds.",
                ) from error
        for warning in caught:
            if warning.category.__name__ == "PrivacyLeakWarning":
                raise InvalidArgument(
                    f"{type(model).__name__} reads a bound from the data, so that its epsilon is no claim",
                    value=" ".join(str(warning.message).split()),
                    remedy="Give it data_norm, bounds, bounds_X, bounds_y or classes where it is made.",
                )
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return _read_parameters(model) if self.release_of is None else self.release_of(model)


def _read_parameters(model: Any) -> np.ndarray:
    values = [getattr(model, name, None) for name in PARAMETERS]
    parts = [np.ravel(value) for value in values if value is not None]
    if not parts:
        raise Unsupported(
            "a model must have parameters that can be released",
            value=type(model).__name__,
            remedy="Set release_of to a function of the fitted model that returns numbers.",
        )
    return np.concatenate(parts).astype(float)


@lru_cache(maxsize=16)
def _model(make: Callable[..., Any]) -> Any:
    return call_maker(partial(make, random_state=0), DiffprivlibModel.library)

"""diffprivlib: a mechanism of IBM's diffprivlib, with the claim of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.privacy_curves import GaussianCurve, PrivacyCurve
from arena.sample import Sample
from arena.settings import one_of, setting
from learners.foreign.base import (
    ONES,
    SUM,
    ForeignClaim,
    call_maker,
    draw_random_state,
    extract_part,
    function_setting,
    receives_setting,
)


@attrs.frozen
class Diffprivlib(ForeignClaim):
    """Releases `mechanism.randomise(number)` of a mechanism of diffprivlib.

    Holohan, Braghin, Mac Aonghusa, Levacher, Diffprivlib: The IBM Differential Privacy Library (2019). `make`
    is called without arguments and returns the mechanism, as `partial(Laplace, epsilon=1, sensitivity=1)`
    does. The claim is the mechanism's epsilon and delta, which hold for numbers that neighbours change by at
    most the mechanism's sensitivity. That of Gaussian and GaussianAnalytic has the privacy curve of their σ.

    The mechanism draws from the operating system's generator, so that no seed repeats a run. With `seeded`,
    the mechanism is made for every batch with a `random_state` drawn from the learner's random numbers. Such
    a run can be repeated, but it does not use the generator that protects real data.
    """

    name = "diffprivlib"
    theorem = "the epsilon and delta of the mechanism (diffprivlib)"
    packages = ("diffprivlib", "sklearn")

    parts = (ONES, SUM)

    make: Callable[..., Any] = function_setting(
        "returns the mechanism; path/to/file.py:f on the command line"
    )
    receives: str = receives_setting(ONES, check=one_of(*parts))
    seeded: bool = setting(
        False, help="whether `make` is called with a random_state drawn from the learner's random numbers"
    )

    @property
    def own_coins(self) -> bool:
        return not self.seeded

    @property
    def claim(self) -> Claim:
        """Raises: InvalidArgument if neighbours change a count by more than the mechanism's sensitivity."""
        mechanism = _mechanism(self.make)
        sensitivity = getattr(mechanism, "sensitivity", None)
        change = self.relation.size
        if self.receives == ONES and sensitivity is not None and sensitivity < change:
            raise InvalidArgument(
                f"neighbours change a count by {change}, which is more than the mechanism's sensitivity",
                value=sensitivity,
                remedy=f"Make it with a sensitivity of at least {change}.",
            )
        epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
        return Claim(
            epsilon=epsilon,
            delta=delta,
            protects=(PrivacyUnit.TRAINING_EXAMPLE,),
            neighbours=self.relation,
            curve=_find_curve(mechanism),
        )

    def draw_releases(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        number = extract_part(sample, self.receives)
        mechanism = _mechanism(self.make)
        if self.seeded:
            make = partial(self.make, random_state=draw_random_state(rng))
            mechanism = call_maker(self.name, make, "diffprivlib")
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


@lru_cache(maxsize=16)
def _mechanism(make: Callable[[], Any]) -> Any:
    """The mechanism, made once in a process."""
    return call_maker(Diffprivlib.name, make, "diffprivlib")

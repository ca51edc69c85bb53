"""diffprivlib: a mechanism of IBM's diffprivlib, with the claim of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.sample import Sample
from arena.settings import one_of, setting
from learners.foreign.base import ONES, SUM, Foreign, function_setting, made, part_of, receives


@attrs.frozen
class Diffprivlib(Foreign):
    """Releases `mechanism.randomise(number)` of a mechanism of diffprivlib (Holohan, Braghin, Mac Aonghusa,
    Levacher, Diffprivlib: The IBM Differential Privacy Library, 2019).

    `make` makes the mechanism, without arguments, as `partial(Laplace, epsilon=1, sensitivity=1)` does. The
    claim is its epsilon and delta, which speak of numbers that one example moves by its sensitivity at most.

    Its coins are the operating system's, so that no seed repeats a run. If `seeded`, the mechanism is made
    for every table, with a `random_state` that is drawn from the seat's coins: a run can be repeated then,
    though not with the generator that is meant for people's data.
    """

    name = "diffprivlib"
    theorem = "the epsilon and delta of the mechanism (diffprivlib)"

    make: Callable[..., Any] = function_setting("makes the mechanism; path/to/file.py:f on the command line")
    receives: str = receives(ONES, check=one_of(ONES, SUM))
    seeded: bool = setting(False, help="whether `make` is called with a random_state from the seat's coins")

    @property
    def own_coins(self) -> bool:
        return not self.seeded

    @property
    def claim(self) -> Claim:
        """Raises: InvalidArgument if one example moves a count by more than the mechanism's sensitivity."""
        mechanism = _mechanism(self.make)
        sensitivity = getattr(mechanism, "sensitivity", None)
        if self.receives == ONES and sensitivity is not None and sensitivity < 1:
            raise InvalidArgument(
                "one example moves a count by 1, which is more than the mechanism's sensitivity",
                value=sensitivity,
                remedy="Make it with a sensitivity of at least 1.",
            )
        epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def drawn(self, sample: Sample, games: int, rng: np.random.Generator) -> Any:
        number = part_of(sample, self.receives)
        mechanism = self._seeded(rng) if self.seeded else _mechanism(self.make)
        return [mechanism.randomise(number) for _ in range(games)]

    def _seeded(self, rng: np.random.Generator) -> Any:
        # A seed of 32 bits, as an int would be, would give two blocks of a long run the same coins.
        state = np.random.RandomState(np.random.MT19937(rng.integers(2**32, size=8)))
        return made(self.name, partial(self.make, random_state=state), "diffprivlib")


@lru_cache(maxsize=16)
def _mechanism(make: Callable[[], Any]) -> Any:
    """What `make` makes, once in a process."""
    return made(Diffprivlib.name, make, "diffprivlib")

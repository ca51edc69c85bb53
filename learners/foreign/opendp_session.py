"""opendp-session: an interactive measurement, a privacy filter or an odometer of OpenDP."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from math import ceil, inf
from typing import Any

import attrs

from arena.claims import Claim
from arena.errors import InvalidArgument
from arena.settings import more_than, setting
from learners.common.learner_bases import claim_for_example
from learners.foreign.base import make_once
from learners.foreign.global_generators import Trial
from learners.foreign.opendp import evaluate_map, find_distance
from learners.foreign.session import ObjectSession

_LOSS = "privacy_loss"


@attrs.frozen
class OpenDPSession(ObjectSession):
    """Plays games against the queryable of an interactive measurement of OpenDP, opened anew in each game.

    `factory` makes, once in each process, what is opened: a sequential, adaptive or fully adaptive
    composition, a privacy filter, or an odometer; measurements are its queries. The claim is its privacy map
    at `d_in`, and of an odometer what the queryable reports there. No seed repeats a game.

    Vadhan, Wang (2021); Haney and others (2023); opendp.org.
    """

    name = "opendp-session"
    theorem = "the privacy map of the measurement (OpenDP)"
    packages = ("opendp",)
    library = "opendp"

    d_in: float = setting(
        1.0,
        help="the largest distance of neighbours in the input metric: of vectors by symmetric distance 1 if "
        "a record is added or removed, 2 if one is replaced",
        check=more_than(0),
    )
    odometer: str | None = attrs.field(
        default=attrs.Factory(lambda self: _LOSS if self.is_odometer else None, takes_self=True),
        kw_only=True,
        metadata={"help": "set by what is opened", "unit": ""},
    )

    own_coins = True
    common_random_numbers = False
    trial = Trial()  # OpenDP draws from the operating system

    @property
    def interactive(self) -> Any:
        """What `factory` makes, once in each process."""
        # A refused query would otherwise take a thousand times as long, to trace where in Rust it was.
        os.environ.setdefault("RUST_LIB_BACKTRACE", "0")
        return make_once(self.factory, self.library)

    @property
    def is_odometer(self) -> bool:
        return type(self.interactive).__name__ == "Odometer"

    @cached_property
    def make_object(self) -> Callable[..., Any]:
        interactive = self.interactive
        return lambda data, rng: interactive(data)

    @property
    def claim(self) -> Claim:
        """Raises: InvalidArgument if neighbours are farther apart than d_in; as `evaluate_map`."""
        interactive = self.interactive
        metric = str(interactive.input_metric)
        distance = find_distance(metric, self.relation)
        if distance is None or self.d_in < distance:
            raise InvalidArgument(
                f"d_in must cover neighbours that {self.relation} in {metric}",
                value=self.d_in,
                remedy="Choose other neighbours." if distance is None else f"Set d_in to {distance}.",
            )
        if self.is_odometer:
            return claim_for_example(inf, neighbours=self.relation)
        epsilon, delta, curve = evaluate_map(interactive, self.d_in, self.delta or None)
        return claim_for_example(epsilon, delta, neighbours=self.relation, curve=curve)

    def read_loss_of(self, asked: Any) -> Any:
        integer = not str(self.interactive.input_distance_type).startswith("f")
        return asked.privacy_loss(ceil(self.d_in) if integer else float(self.d_in))

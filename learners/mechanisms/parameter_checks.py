"""Checks of numeric parameters that several mechanisms share."""

from __future__ import annotations

import math

from arena.errors import InvalidArgument


def check_positive(**values: float) -> None:
    """Raises: InvalidArgument naming the first value that is not positive and finite."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InvalidArgument(f"{name} must be positive and finite", value=value)


def check_probability(**values: float) -> None:
    """Raises: InvalidArgument naming the first value that is not strictly between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise InvalidArgument(f"{name} must be a probability between 0 and 1", value=value)


def check_batch(batch: int, size: int) -> None:
    """Raises: InvalidArgument if a batch is larger than the data."""
    if batch > size:
        raise InvalidArgument(
            "a batch must not be larger than the data",
            value=f"batch {batch:,}, size {size:,}",
            remedy="Lower batch, or raise size.",
        )

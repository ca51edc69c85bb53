"""The check that a sample has the size for which a learner is configured."""

from __future__ import annotations

from arena.errors import Unsupported
from arena.sample import Sample


def check_sample_size(name: str, sample: Sample, size: int) -> None:
    """Raises: Unsupported if the sample does not have the `size` for which learner `name` is configured."""
    if sample.size != size:
        raise Unsupported(
            f"{name} is configured for {size:,} example{'s' if size > 1 else ''}",
            value=sample.size,
            remedy="Set size to the size of the sample.",
        )

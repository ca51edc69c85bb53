"""Players of tests that are named as their class."""

from __future__ import annotations

import re
from typing import Any


class NamedByClass:
    """A subclass without a `name` of its own is named as the class: `TwoNoises` is two-noises."""

    __slots__ = ()

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()

"""Progress bars: on standard error, where that is a terminal, and gone when the command is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


def bar(*, unit: str, total: int | None = None, hidden: bool, scaled: bool = False) -> Any:
    """A bar that counts `unit`s. hidden: it is not to be seen. scaled: thousands are told as k."""
    hidden = hidden or sys.stderr is None or not sys.stderr.isatty()
    return tqdm(total=total, unit=f" {unit}", unit_scale=scaled, disable=hidden, leave=False)


@contextmanager
def counted(total: int, unit: str, *, hidden: bool, scaled: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar that is told how many are done by now."""
    with bar(unit=unit, total=total, hidden=hidden, scaled=scaled) as shown:
        yield lambda done: shown.update(done - shown.n)

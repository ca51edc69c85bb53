"""The checks that accept the mechanisms catch every broken one."""

from __future__ import annotations

import numpy as np
import pytest
from mutants.releases.mechanisms import MUTANTS, Mutant
from support.laws.mechanism_laws import POWER
from support.statistical import expect_rejection, statistical


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.name}-{mutant.check.__name__}")
@statistical(rate=2 * (1 - POWER))
def test_mutant_is_caught(mutant: Mutant, rng: np.random.Generator) -> None:
    with expect_rejection(mutant.says):
        mutant.check(rng, mutant.broken)

"""Learners whose concepts are numbers, and lists, which are vectors."""

from __future__ import annotations

import numpy as np
import pytest

from arena import InvalidArgument, Sample
from arena.concepts import DecisionLists, Variables
from learners.everlasting_v2 import EverlastingV2
from learners.noisy_votes import NoisyVotes
from learners.static_erm import StaticErm


def test_learners_of_numbers_refuse_lists_and_say_what_to_do() -> None:
    for learner in (EverlastingV2, NoisyVotes):
        with pytest.raises(InvalidArgument, match=r"matrix:FILE\.csv"):
            learner(concepts=DecisionLists(Variables(2)))


def test_the_law_of_static_erm_is_told_for_lists() -> None:
    law = StaticErm(concepts=DecisionLists(Variables(2))).law(Sample([(0, 1), (1, 1)], [0, 1], [3, 4]))
    chances = [law.step(law.start(), np.array([point]))[1].item() for point in ((1, 0), (0, 1))]
    assert chances == [1.0, 0.0]

"""The protocol in which two players meet, and what the adversary is told of it."""

from __future__ import annotations

import pytest

from adversaries.online.random_sequences import IidExamples
from arena import REFEREES, InvalidArgument, Oblivious
from audits.registry.pairing import opened, protocol_between
from learners.online.noisy_majority import NoisyMajority
from learners.releases.laplace_count import LaplaceCount


@pytest.mark.parametrize("protocol", ["Oblivious", "Adaptive"])
def test_an_adversary_of_several_protocols_plays_the_one_of_its_setting(protocol: str) -> None:
    assert protocol_between(NoisyMajority(), IidExamples(protocol=protocol)) == protocol


@pytest.mark.parametrize("protocol", ["Oblivious", "Adaptive"])
def test_a_protocol_that_is_wanted_sets_it(protocol: str) -> None:
    name = protocol_between(NoisyMajority(), IidExamples(), protocol)
    adversary, referee = opened(REFEREES[name], IidExamples(), 7)
    assert adversary == IidExamples(protocol=protocol, rounds=7)
    assert referee == REFEREES[protocol](T=7)


def test_a_setting_that_the_learner_does_not_play_is_no_way_to_meet() -> None:
    with pytest.raises(InvalidArgument, match="laplace-count and iid play no protocol in common"):
        protocol_between(LaplaceCount(), IidExamples())


def test_rounds_are_the_adversary_s_own_unless_they_are_set() -> None:
    assert opened(Oblivious, IidExamples(rounds=9))[1] == Oblivious(9)
    with pytest.raises(InvalidArgument, match="the rounds are set twice"):
        opened(Oblivious, IidExamples(rounds=9), 7, chosen=True)

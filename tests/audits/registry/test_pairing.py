"""The protocol in which two players meet, and what the adversary is told of it."""

from __future__ import annotations

import pytest

from adversaries.online.random_sequences import IidExamples
from arena import REFEREES, InvalidArgument, Oblivious
from audits.registry.pairing import choose_protocol, configure_game
from learners.online.noisy_majority import NoisyMajority
from learners.releases.counts import LaplaceCount


@pytest.mark.parametrize("protocol", ["Oblivious", "Adaptive"])
def test_an_adversary_of_several_protocols_plays_the_one_of_its_setting(protocol: str) -> None:
    assert choose_protocol(NoisyMajority(), IidExamples(protocol=protocol)) == protocol


@pytest.mark.parametrize("protocol", ["Oblivious", "Adaptive"])
def test_a_protocol_given_by_name_sets_the_adversarys_own(protocol: str) -> None:
    name = choose_protocol(NoisyMajority(), IidExamples(), protocol)
    adversary, referee = configure_game(REFEREES[name], IidExamples(), 7)
    assert adversary == IidExamples(protocol=protocol, rounds=7)
    assert referee == REFEREES[protocol](T=7)


def test_players_without_a_common_protocol_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="laplace-count and iid play no protocol in common"):
        choose_protocol(LaplaceCount(), IidExamples())


def test_rounds_are_the_adversarys_own_by_default() -> None:
    assert configure_game(Oblivious, IidExamples(rounds=9))[1] == Oblivious(9)
    with pytest.raises(InvalidArgument, match="the rounds are set twice"):
        configure_game(Oblivious, IidExamples(rounds=9), 7, rounds_set=True)

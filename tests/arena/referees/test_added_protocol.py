"""The protocol of docs/guides/add_a_protocol.md, which no package knows, in every tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import exp
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from support.command_line import Command
from support.paths import ROOT
from support.simple_players import script

import audits
from arena import REFEREES, InvalidArgument, NotConforming, ProtocolViolation, Query, Referee, Sample, play
from arena.testing import check_adversary, check_learner
from audits.adversary_search import SPACES
from audits.registry.user_files import load_module

PAGE = ROOT / "docs" / "guides" / "add_a_protocol.md"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The code of the page as a file. In the end its protocol is forgotten."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path_factory.mktemp("added") / "duel.py"
    path.write_text(code, encoding="utf-8")
    yield path
    del REFEREES["Duel"], SPACES["Duel"]


@pytest.fixture(scope="module")
def duel(file: Path) -> Any:
    return load_module(str(file))


@pytest.fixture
def loud(duel: Any) -> Any:
    """A learner that claims for all of its answers what holds for one."""

    @attrs.frozen
    class Loud(duel.Comparer):
        name = "loud"

        @property
        def claim(self) -> Any:
            return attrs.evolve(super().claim, epsilon=self.epsilon)

    return Loud()


def test_it_is_known_by_its_definition(duel: Any) -> None:
    assert REFEREES["Duel"] is duel.Duel
    assert duel.Duel.two_worlds


@pytest.mark.thorough
def test_its_players_conform(duel: Any) -> None:
    check_learner(duel.Comparer(), games=500)
    check_adversary(duel.Challenger(), duel.Comparer(), duel.Duel())


@pytest.mark.thorough
def test_checks_find_a_learner_that_is_not_what_it_declares(duel: Any) -> None:
    @attrs.frozen
    class Other(duel.Comparer):
        name = "other"

        def law(self, sample: Sample) -> Any:
            return duel.Comparisons(duel.count_ones(sample), 2 / self.epsilon)

    with pytest.raises(NotConforming, match="its answers follow the output distribution that it declares"):
        check_learner(Other(), games=2_000)


def test_the_referee_enforces_its_rules(duel: Any) -> None:
    train, compare = duel.Train(Sample([0.0], [0])), duel.Compare(0.5)
    for moves, rule in (
        ((compare,), "Duel begins with Train, which is made once"),
        ((train, Query(0.0)), "Duel knows the moves Train and Compare"),
        ((duel.Train(Sample([0.0], [0]), Sample([0.0], [0], [2])),), "have equal length"),
    ):
        adversary = attrs.evolve(script(*moves), protocols=("Duel",))
        with pytest.raises(ProtocolViolation, match=rule):
            play(duel.Comparer(), adversary, duel.Duel(), games=2, seed=1)


def test_an_exact_audit_knows_its_loss(duel: Any) -> None:
    report = audits.exact(duel.Comparer(epsilon=1.0, rounds=3), duel.Challenger())
    one = 1 - exp(-0.5) / 2, exp(-0.5) / 2  # the chances of 1 with counts on the two sides of the threshold
    assert report.epsilon == pytest.approx(3 * np.log(one[0] / one[1]))
    assert not report.refuted


@pytest.mark.thorough
def test_audits_by_games_tell_the_learner_from_a_mutant(duel: Any, loud: Any) -> None:
    assert not audits.audit(duel.Comparer(), duel.Challenger(), games=2_000).refuted
    assert audits.audit(loud, duel.Challenger(), games=2_000).refuted
    assert audits.audit(loud, duel.Challenger(), games=2_000, distinguisher="likelihood").refuted


@pytest.mark.thorough
def test_a_search_finds_the_violation_and_writes_it_down(duel: Any, loud: Any) -> None:
    result = audits.search(loud, examples=200)
    assert result.refuted
    assert all(isinstance(step, duel.Guess) for step in result.adversary.steps)
    assert "Guess" in result.source
    assert not audits.search(duel.Comparer(), examples=20).refuted


def test_the_command_line_plays_it(file: Path) -> None:
    players = f"{file}:Comparer", "--against", f"{file}:Challenger"
    assert "under Duel" in Command("play")(*players).stdout
    assert Command("audit").json(*players, "--protocol", "Duel", "--games", "500")["protocol"] == "Duel"


def test_no_protocol_takes_the_name_of_a_shipped_one() -> None:
    with pytest.raises(InvalidArgument, match="Release is a protocol of dp-arena"):

        class Other(Referee):
            name = "Release"

    assert REFEREES["Release"].__module__ == "arena.referees.release"

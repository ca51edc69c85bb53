"""Players that meet: their protocol, and the usual adversary of every learner, by what its claim protects."""

from __future__ import annotations

import inspect
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import HalfTheNoise

import audits
from adversaries.online.random_sequences import IidExamples
from arena import (
    REFEREES,
    Adversary,
    InvalidArgument,
    Learner,
    Moves,
    Oblivious,
    PrivacyUnit,
    Sample,
    Train,
    Training,
    Unsupported,
)
from audits.registry.match import (
    PlayerSettings,
    build_match,
    choose_adversary,
    choose_protocol,
    configure_game,
)
from audits.registry.players import ADVERSARIES, LEARNERS, configure_learner
from learners.everlasting.paper_versions import EverlastingV2
from learners.online.noisy_majority import NoisyMajority
from learners.pate.independent_answers import PateGaussian
from learners.predictors.vote_predictors import AboveThresholdPredictor, StaticErm
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount
from learners.training.dp_sgd import DPSGD
from learners.zoo.svt import Svt1

SHIPPED = [
    player
    for player in LEARNERS.load_all().values()
    if inspect.isclass(player) and issubclass(player, Learner) and LEARNERS.is_shipped(player)
]
# Wrapped libraries, which may be missing, and what needs a function: tests/learners/foreign plays them.
FOREIGN = "learners.foreign."
# Broken as printed: their usual adversaries may refute their claims.
KNOWN = {"everlasting-v1", "noisy-hist-2", "report-noisy-max-3", "report-noisy-max-4"}
KNOWN |= {"sparse-vector-printed", *(f"svt-{number}" for number in (3, 4, 5, 6))}
MIDDLE = 0.5


@attrs.frozen
class Aaa(Adversary):
    """Plays against everybody, and comes first in the alphabet."""

    name = "aaa"
    protocols = ("Release", "Figure1", "Voting")
    usual_for = tuple(PrivacyUnit)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(Sample([MIDDLE], [0], [10]), Sample([MIDDLE, MIDDLE], [0, 1], [9, 1]))
        return None


@attrs.frozen
class Named(LaplaceCount):
    """A learner that names its adversary."""

    name = "named"
    usual_adversary = "low-bits"


@attrs.frozen
class Misnamed(LaplaceCount):
    name = "misnamed"
    usual_adversary = "low-bit"


@attrs.frozen
class Picky(LaplaceCount):
    """A learner that declines the samples of all shipped adversaries."""

    name = "picky"

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return PickyState()


class PickyState:
    def release(self, training: Training) -> np.ndarray:
        if any((sample.points != MIDDLE).any() for sample in training.samples):
            raise Unsupported("it takes the point 0.5 only")
        return np.zeros(training.games)


@pytest.fixture
def _aaa(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that announces `Aaa`."""
    module = ModuleType("plugged")
    module.Aaa = Aaa  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plugged", module)
    monkeypatch.setattr(Aaa, "__module__", "plugged")
    point = metadata.EntryPoint("aaa", "plugged:Aaa", "arena.adversaries")
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: metadata.EntryPoints([point] * (group == point.group))
    )


@pytest.mark.thorough
@pytest.mark.usefixtures("_aaa")
@pytest.mark.parametrize(
    ("learner", "usual"),
    [
        (LaplaceCount(), "count-swap"),
        (HalfTheNoise(), "count-swap"),
        (RandomisedResponse(size=3), "count-swap"),
        (StaticErm(), "training-swap"),
        (AboveThresholdPredictor(size=20), "training-swap"),
        (EverlastingV2(), "training-swap"),
        (PateGaussian(), "small-margin"),
        (NoisyMajority(), "special-swap"),
        (DPSGD(size=8, batch=2, steps=4), "gradient-canary"),
        (Svt1(), "statdp"),
        (Named(), "low-bits"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_default_follows_from_the_claim_or_the_learner(learner: Learner, usual: str) -> None:
    assert "aaa" in ADVERSARIES.list_names()
    note = f"no adversary is named, so {learner.name} plays against {usual}"
    assert choose_adversary(learner, None) == (usual, note)


@pytest.mark.usefixtures("_aaa")
def test_a_plug_in_is_the_default_where_nothing_else_plays_and_that_is_said() -> None:
    name, note = choose_adversary(Picky(), None)
    assert name == "aaa"
    assert note.startswith(
        "no adversary is named, so picky plays against aaa of the package plugged, since no"
    )


def test_without_an_adversary_that_plays_the_reason_of_the_most_usual_is_given() -> None:
    with pytest.raises(InvalidArgument) as caught:
        choose_adversary(Picky(), None)
    assert "against picky (count-swap: it takes the point 0.5 only). Name one: count-swap" in str(
        caught.value
    )


def test_a_learner_must_name_an_adversary_that_there_is() -> None:
    with pytest.raises(InvalidArgument) as caught:
        choose_adversary(Misnamed(), None)
    assert str(caught.value).startswith("usual_adversary of misnamed: there is no adversary of that name")


@pytest.mark.thorough
@pytest.mark.parametrize("player", SHIPPED, ids=lambda player: player.name)
def test_what_a_shipped_learner_names_is_shipped(player: type[Learner]) -> None:
    if player.usual_adversary:
        assert ADVERSARIES.is_shipped(ADVERSARIES.find(player.usual_adversary))


@pytest.mark.slow
@pytest.mark.parametrize(
    "player",
    [player for player in SHIPPED if not player.__module__.startswith(FOREIGN)],
    ids=lambda player: player.name,
)
def test_every_shipped_learner_has_a_default_that_works(player: type[Learner]) -> None:
    learner = player()
    claim = {"epsilon": 1.0} if learner.claim.empty else {}
    report = audits.audit(player.name, games=1_000, confidence=1 - 1e-6, **claim)
    assert report.ceiling > 0
    assert report.notes[0].startswith("no adversary is named, so ")
    # Learners without privacy have no claim of their own that could be false.
    assert not report.refuted or claim or player.name in KNOWN


@pytest.mark.parametrize("protocol", ["Oblivious", "Adaptive"])
def test_a_protocol_given_by_name_sets_the_adversarys_own(protocol: str) -> None:
    name = choose_protocol(NoisyMajority(), IidExamples(), protocol)
    adversary, referee = configure_game(REFEREES[name], IidExamples(), 7)
    assert adversary == IidExamples(protocol=protocol, rounds=7)
    assert referee == REFEREES[protocol](T=7)


def test_rounds_are_the_adversarys_own_by_default() -> None:
    assert configure_game(Oblivious, IidExamples(rounds=9))[1] == Oblivious(9)
    with pytest.raises(InvalidArgument, match="the rounds are set twice"):
        configure_game(Oblivious, IidExamples(rounds=9), 7, rounds_set=True)


@pytest.mark.thorough
def test_a_learner_may_be_an_instance_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from learners import LaplaceCount\n\nmine = LaplaceCount(epsilon=0.25)\n")
    no_settings: PlayerSettings = {"learner": {}, "adversary": {}}
    match = build_match(f"{file}:mine", None, settings=no_settings)
    assert match.learner == LaplaceCount(epsilon=0.25)
    assert configure_learner(f"{file}:mine", {}) == match.learner
    with pytest.raises(InvalidArgument, match="given as an instance, which has its settings"):
        configure_learner(f"{file}:mine", {"epsilon": "1"})
    report = audits.tournament([f"{file}:mine"], ["count-swap"], games=200)
    assert "mine" in report.summary()

"""`check_learner` refuses learners that depend on how a sample is divided into runs, under every protocol."""

from __future__ import annotations

import attrs
import pytest
from mutants.runs import CORRECT, STATISTICS, RunsLearner

from arena import Learner, NotConforming, Sample
from arena.referees import REFEREES, Probe
from arena.testing import RATE, check_learner
from arena.testing import learner as learner_checks
from arena.testing.batches import check_divisions
from audits.registry.players import LEARNERS

LONG = {"everlasting-gaussian"}  # over 10 s
SHIPPED = [
    pytest.param(player, marks=[pytest.mark.slow] * (name in LONG), id=name)
    for name, player in LEARNERS.load_all().items()
    if isinstance(player, type) and not player.__module__.startswith("learners.foreign.")
]
PROTOCOLS = ("Release", "Figure1", "Voting", "TrainingRun")
RULE = "does not conform: its output depends on the list of examples, however that is divided into runs; "
SAMPLE = Sample([0.0, 1.0], [0, 1], [4, 3])
# Of the others, one query shows a bit that hardly changes.
SHOWN_BY_ANSWERS = ("ignores-counts", "last-run")
EVERY_WAY = [
    RunsLearner(name, protocol, common)
    for name in STATISTICS
    for protocol in PROTOCOLS
    for common in (False, True)
    if protocol in ("Release", "TrainingRun") or name in SHOWN_BY_ANSWERS
]


def check_one(learner: RunsLearner, sample: Sample = SAMPLE) -> None:
    probe = Probe(REFEREES[learner.protocol](), sample, (0.0, 1.0))
    check_divisions(learner, probe, games=2_000, rate=RATE)


@pytest.mark.parametrize("learner", EVERY_WAY, ids=str)
def test_a_learner_that_depends_on_the_runs_is_refused(learner: RunsLearner) -> None:
    with pytest.raises(NotConforming) as caught:
        check_one(learner)
    assert str(caught.value).startswith(f"{learner.name} {RULE}")
    assert " runs of the same 7 examples " in str(caught.value)


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", CORRECT)
def test_a_learner_that_depends_on_the_list_passes(name: str, protocol: str) -> None:
    learner = RunsLearner(name, protocol)
    for sample in (SAMPLE, Sample([0.3, 0.3, 0.7, 0.3], [1, 1, 0, 1], [1, 500, 250, 250])):
        check_one(learner, sample)
        check_one(attrs.evolve(learner, common=True), sample)


@pytest.mark.thorough
@pytest.mark.parametrize("player", SHIPPED)
def test_shipped_learners_depend_on_the_list(player: type[Learner]) -> None:
    learner = player()
    for protocol in {*learner.protocols} & {*PROTOCOLS}:
        sample = learner_checks._make_sample(learner)
        points = learner_checks._choose_points(sample)
        probe = learner_checks._prepare_probe(learner, protocol, sample, points)
        for each in (sample, *learner_checks._repeat_examples(learner)):
            other = attrs.evolve(probe, sample=each)
            check_divisions(learner, other, games=1_000, rate=RATE)


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", SHOWN_BY_ANSWERS)
def test_check_learner_divides_its_samples(name: str, protocol: str) -> None:
    check_learner(RunsLearner("count", protocol))
    with pytest.raises(NotConforming, match=RULE):
        check_learner(RunsLearner(name, protocol))

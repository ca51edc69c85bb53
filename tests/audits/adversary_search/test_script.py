"""Conditions on answers, and challenges at places that depend on them."""

from __future__ import annotations

import numpy as np
import pytest
from support.simple_players import OnePoint

from arena import InvalidArgument, Sample, play
from arena.referees.transcript import QueryEntry
from audits.adversary_search.protocols.query_scripts import Ask, Challenge
from audits.adversary_search.script import AnswerHistory, Memory, Script, memories_of
from learners.predictors.vote_predictors import NoisyVotes

MEMORIES = [
    Memory("ends", "1"),
    Memory("ends", "011"),
    Memory("seen", "101"),
    Memory("seen", "0"),
    Memory("odd"),
]


def holds(memory: Memory, answers: str) -> bool:
    if memory.kind == "odd":
        return answers.count("1") % 2 == 1
    return answers.endswith(memory.pattern) if memory.kind == "ends" else memory.pattern in answers


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: f"{memory.kind}-{memory.pattern}")
def test_conditions_are_those_of_their_words(memory: Memory) -> None:
    answers = np.random.default_rng(np.random.SFC64(1)).random((50, 9)) < 0.5
    history = AnswerHistory(50, [memory])
    for round in range(10):
        words = ["".join("01"[int(bit)] for bit in game[:round]) for game in answers]
        assert history.holds(memory).tolist() == [holds(memory, word) for word in words]
        if round < 9:
            history.add(answers[:, round])


def test_every_game_is_challenged_once_where_its_answers_say() -> None:
    when = Memory("ends", "11")
    sample = Sample([0.0], [1], [NoisyVotes().sample_size or 3])
    script = Script(
        protocol="Figure1", world_0=sample, steps=(Challenge(0.0, 0.5, times=6, when=when), Ask(0.0, 2))
    )
    assert memories_of(script.steps) == [when]
    played = play(NoisyVotes(), script, script.referee, games=40, seed=0, record=True)
    assert played.flag.all()
    assert played.transcript is not None
    entries = [entry for entry in played.transcript.entries if isinstance(entry, QueryEntry)]
    withheld = np.stack(
        [np.broadcast_to(False if e.withheld is None else e.withheld, 40) for e in entries], axis=1
    )
    assert (withheld.sum(axis=1) == 1).all()
    labels = np.stack([entry.label for entry in entries], axis=1)
    for place, answers in zip(withheld.argmax(axis=1), labels, strict=True):
        before = "".join("1" if label == 1 else "0" for label in answers[:place])
        assert before.endswith("11") or place == 5
        assert "11" not in before[:-1]


def test_points_may_be_vectors() -> None:
    sample = Sample([[0.0, 1.0]], [1])
    challenge = Challenge((0.0, 1.0), (1.0, 1.0), times=2, when=Memory("seen", "1"))
    script = Script(protocol="Figure1", world_0=sample, steps=(challenge, Ask((0.0, 1.0))))
    assert play(OnePoint(), script, script.referee, games=4, seed=0).flag.all()


def test_unknown_conditions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of ends, seen, odd"):
        Memory("begins", "1")

"""Hypothesis strategies for steps of any protocol: their order, and conditions on answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import attrs
from hypothesis import strategies as st

from arena import Learner
from audits.adversary_search.point_strategies import counts_of, sample_from
from audits.adversary_search.script import ENDS, ODD, SEEN, Memory, Step

MAX_STRETCHES = 3  # before the challenge, and after it
PATTERNS = ["".join(bits) for length in range(1, 5) for bits in product("01", repeat=length)]
MEMORIES = sample_from([Memory(kind, bits) for bits in PATTERNS for kind in (ENDS, SEEN)] + [Memory(ODD)])


def stretches_around(
    single: st.SearchStrategy[Step], step: st.SearchStrategy[Step], most: int, limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """A step in which the worlds differ, with others before and after it."""
    before, after = st.lists(step, max_size=most), st.lists(step, min_size=1, max_size=most)
    return st.tuples(before, single, after).map(
        lambda parts: shorten_steps([*parts[0], parts[1], *parts[2]], limit)
    )


def place_challenge(
    learner: Learner, limit: int, challenges: st.SearchStrategy[Step]
) -> st.SearchStrategy[Step]:
    """Challenges, one in three at a place that depends on the answers."""
    times = sample_from([count for count in counts_of(learner, limit) if count > 1] or [1])
    placed = st.tuples(challenges, times, MEMORIES).map(
        lambda drawn: attrs.evolve(drawn[0], times=drawn[1], when=drawn[2])  # type: ignore[call-arg]
    )
    return st.one_of(challenges, challenges, placed)


def shorten_steps(steps: Sequence[Step], limit: int) -> tuple[Step, ...]:
    """The steps with fewer repetitions, in at most `limit` rounds; equal consecutive steps are joined."""
    left = limit - len(steps)
    fitting: list[Step] = []
    for step in steps:
        times = min(step.rounds, left + 1)
        left -= times - 1
        step = step if times == step.rounds else step.shorten(times)
        if fitting and _same_step(fitting[-1], step):
            step = step.shorten(fitting.pop().rounds + times)
        fitting.append(step)
    return tuple(fitting)


def _same_step(one: Step, other: Step) -> bool:
    return hasattr(one, "times") and type(one) is type(other) and one.shorten(1) == other.shorten(1)

"""special-swap and update-swap: one swapped example decides later hypotheses, or triggers an update."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.online.base import middle_point
from arena import Adversary, Example, Hypothesis, Learner, Moves, PrivacyUnit, Ready, count_setting, setting
from arena.settings import at_least, at_most, one_of, whole


@attrs.frozen
class SpecialSwap(Adversary):
    """Alternates the labels of one point, except for the special round, whose example differs by world.

    The score is the number of hypotheses from the special round on that label `point` 1.
    """

    name = "special-swap"
    protocols = ("SpecialRound",)
    returns_score = True
    usual_for = (PrivacyUnit.STREAM_EXAMPLE,)

    rounds: int = count_setting(100, help="T, the number of rounds", least=2)
    special: int = count_setting(1, help="t*, the special round")
    point: float | None = setting(None, unit="point", help="of all examples; default: the domain's middle")
    label: int = setting(0, help="of the special example in world 0", check=[whole, at_least(0), at_most(1)])
    other_point: float | None = setting(None, unit="point", help="special point in world 1; default: same")
    other_label: int = setting(1, help="special label in world 1", check=[whole, at_least(0), at_most(1)])
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point = middle_point(self.learner) if self.point is None else self.point
        other_point = point if self.other_point is None else self.other_point
        ones = np.zeros(games)
        yield Ready()
        for t in range(1, self.rounds + 1):
            if t == self.special:
                reply = yield Example(point, self.label, other_point, self.other_label)
            else:
                reply = yield Example(point, t % 2)
            if t >= self.special and reply.hypothesis is not None:
                ones += reply.hypothesis(point)
        return ones


Point = float | tuple[float, ...]  # vectors can be set from Python only, not from the command line
AGAINST, WITH = "against", "with"
FIRST_CHANGE, STAYS = "first-change", "stays"
_SIMULATED_GAMES = 64
_DEFAULT_BEFORE = 10  # mistakes, where simulated games show no update


@attrs.frozen
class UpdateSwap(Adversary):
    """Brings a learner close to an update by mistakes, and swaps the example that may trigger it.

    Every example is one point, labelled against h_1: `before` mistakes, then `correct` rounds, then the
    special round, which is no mistake in world 0 and one in world 1. The probes are labelled against h_1 too,
    so that the update comes in both worlds, one round apart; or (`probes` = with) as h_1 labels them, so that
    only the swap can cause one.

    The score is minus the number of later hypotheses before the first other than that before the swap
    (`score` = first-change), or minus the number of all later ones that are equal to it (stays).
    """

    name = "update-swap"
    protocols = ("SpecialRound",)
    returns_score = True

    rounds: int = count_setting(100, help="T, the number of rounds", least=2)
    before: int | None = count_setting(None, help="mistakes before t*; default: one too few", least=0)
    correct: int = count_setting(0, help="correct rounds between these and the special round", least=0)
    point: Point | None = setting(None, unit="point", help="of all examples; default: the domain's middle")
    other_point: Point | None = setting(None, unit="point", help="special point in world 0; default: same")
    probes: str = setting(AGAINST, help="labels after it: against h_1 or with", check=one_of(AGAINST, WITH))
    score: str = setting(FIRST_CHANGE, help="first-change or stays", check=one_of(FIRST_CHANGE, STAYS))
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point: Any = middle_point(self.learner) if self.point is None else self.point
        other_point = point if self.other_point is None else self.other_point
        hypothesis = (yield Ready()).hypothesis
        label, other_label = hypothesis(point), hypothesis(other_point)
        before = min(self._choose_before(point), self.rounds - 1)
        for _ in range(before):
            hypothesis = (yield Example(point, ~label)).hypothesis
        correct = min(self.correct, self.rounds - 1 - before)
        for _ in range(correct):
            hypothesis = (yield Example(point, hypothesis(point))).hypothesis
        if correct:
            label, other_label = hypothesis(point), hypothesis(other_point)
        reply = yield Example(other_point, other_label, point, ~label)  # world 0, world 1
        unchanged, in_a_row = np.zeros(games), np.ones(games, bool)
        for _ in range(self.rounds - 1 - before - correct):
            same = _are_same(hypothesis, reply.hypothesis)
            in_a_row = same & in_a_row if self.score == FIRST_CHANGE else same
            unchanged += in_a_row
            reply = yield Example(point, label if self.probes == WITH else ~label)
        return 0 - unchanged

    def _choose_before(self, point: Any) -> int:
        if self.before is not None:
            return self.before
        if self.learner is None:
            return _DEFAULT_BEFORE
        coordinates = np.asarray(point, float)
        return find_brink(self.learner, tuple(coordinates.ravel().tolist()), coordinates.shape, self.rounds)


@lru_cache(maxsize=32)
def find_brink(learner: Any, coordinates: tuple[float, ...], shape: tuple[int, ...], rounds: int) -> int:
    """The mistakes at a point after which the next is the likeliest to end h_1, in simulated games."""
    state = learner.start(_SIMULATED_GAMES, np.random.default_rng(0))
    x = np.broadcast_to(np.reshape(coordinates, shape), (_SIMULATED_GAMES, *shape))
    first = state.hypothesis()
    wrong = ~first(x)
    stays = np.ones(_SIMULATED_GAMES, bool)
    leaves = np.zeros(rounds, int)
    for mistakes in range(rounds - 1):
        state.observe(x, wrong)
        goes_on = stays & _are_same(first, state.hypothesis())
        leaves[mistakes] = np.count_nonzero(stays & ~goes_on)
        stays = goes_on
    return int(leaves.argmax()) if leaves.any() else _DEFAULT_BEFORE


def _are_same(first: Hypothesis, second: Hypothesis) -> np.ndarray:
    same = first.concepts == second.concepts
    return np.asarray(same.reshape(len(same), -1).all(axis=1))

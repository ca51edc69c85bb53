"""doubling: a learner for games of unknown length, made of learners that must be told the length."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import attrs
import numpy as np

from arena.capabilities import DeclaresOnlineLaw
from arena.concepts import ConceptClass
from arena.errors import InvalidArgument, Unsupported
from arena.laws import OnlineLaw
from arena.messages import Hypothesis
from arena.players import Learner, read_concepts
from arena.settings import at_least, count_setting, setting, whole
from learners.common.learner_bases import OnlineLearner, RoundBudget
from learners.mechanisms.accounting import Guarantee
from learners.online.realizable import RealizableLearner

State = tuple[int, int, Hashable]  # the number of an instance, its rounds so far, its state


def _check_inner(instance: object, attribute: attrs.Attribute[Learner], value: Learner) -> None:
    if not {"rounds", "delta"} <= attrs.fields_dict(type(value)).keys():
        raise InvalidArgument(
            f"{attribute.name} must be a learner with settings rounds and delta", value=value.name
        )


@attrs.frozen
class Doubling(OnlineLearner):
    """Fresh instances of an online learner on stretches of first, 2·first, 4·first, … rounds.

    The doubling trick (section 5 of Li, Wang, Ye): nothing that is shown depends on `rounds`, which only says
    how far the claim is computed. Regret of order √T grows by at most √2/(√2 − 1) = 3.4, and mistakes of
    order ln T become ln²T.

    Privacy (docs/proofs/doubling.md): ε is that of the worst instance, and δ add up: instance k = 0, 1, …
    gets δ/((k + 1)(k + 2)).
    """

    name = "doubling"
    theorem = "the doubling trick, section 5 of Li, Wang, Ye; privacy: docs/proofs/doubling.md"

    inner: Learner = setting(RealizableLearner(), help="its rounds and delta are set", check=_check_inner)
    first: int = setting(1, unit="rounds", help="the length of the first stretch", check=[whole, at_least(1)])
    rounds: int = count_setting(10_000, help="the largest number of rounds")

    @property
    def concepts(self) -> ConceptClass | None:
        """The class of the inner learner."""
        return read_concepts(self.inner)

    def instance(self, number: int) -> Learner:
        """The learner of stretch number 0, 1, …"""
        settings: dict[str, Any] = {
            "rounds": self.first << number,
            "delta": self.inner.delta / ((number + 1) * (number + 2)),  # type: ignore[attr-defined]
        }
        return attrs.evolve(self.inner, **settings)

    def list_instances(self) -> list[Learner]:
        """The learners of the stretches that begin within `rounds`."""
        lengths = -(-self.rounds // self.first)
        return [self.instance(number) for number in range(lengths.bit_length())]

    def _cost(self) -> Guarantee:
        claims = [instance.claim for instance in self.list_instances()]
        return Guarantee(max(claim.epsilon for claim in claims), sum(claim.delta for claim in claims))

    @property
    def common_random_numbers(self) -> bool:
        """Those of the inner learner: stretches begin in the same rounds of all games."""
        return self.inner.common_random_numbers

    def online_law(self) -> DoublingLaw:
        return DoublingLaw(self)

    def start(self, games: int, rng: np.random.Generator) -> DoublingState:
        return DoublingState(self, games, rng)


class DoublingState:
    def __init__(self, spec: Doubling, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._games = games
        self._rng = rng
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._number = 0
        self._observed = 0  # rounds of this stretch
        self._state = spec.instance(0).start(games, rng)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        if self._observed == self._spec.first << self._number:
            self._number, self._observed = self._number + 1, 0
            self._state = self._spec.instance(self._number).start(self._games, self._rng)
        hypothesis: Hypothesis = self._state.hypothesis()
        return hypothesis

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self._state.observe(x, y)
        self._observed += 1


class DoublingLaw(OnlineLaw[State]):
    def __init__(self, spec: Doubling) -> None:
        self.rounds = spec.rounds
        self._first = spec.first
        self._laws: list[OnlineLaw[Any]] = []
        for instance in spec.list_instances():
            if not isinstance(instance, DeclaresOnlineLaw):
                raise Unsupported(f"{instance.name} does not declare its output distribution")
            self._laws.append(instance.online_law())
        self.hypotheses, self.points = self._laws[0].hypotheses, self._laws[0].points

    def start(self) -> State:
        return 0, 0, self._laws[0].start()

    def show(self, state: State) -> Iterable[tuple[int, State, float]]:
        number, observed, inner = state
        for shown, after, p in self._laws[number].show(inner):
            yield shown, (number, observed, after), p

    def observe(self, state: State, point: int, label: int) -> Iterable[tuple[State, float]]:
        number, observed, inner = state
        if observed + 1 == self._first << number:
            following = number + 1
            inner = self._laws[following].start() if following < len(self._laws) else None
            yield (following, 0, inner), 1.0
            return
        for after, p in self._laws[number].observe(inner, point, label):
            yield (number, observed + 1, after), p

"""Sequences of examples as states of the SOA, in tables, and the tournaments between two of them.

Golowich and Livni (2021) and Li, Wang, Ye run the SOA on many short sequences. A sequence is told by the
state of the SOA's automaton; what is compared, counted and released is the state's function.
"""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument, Unsupported
from arena.littlestone import Automaton, soa
from arena.points import freeze
from arena.replies import Hypothesis

MOST_ENTRIES = 2**26  # states x points, of the table of successors


@attrs.frozen(eq=False, repr=False)
class Sequences:
    """The SOA of a class as tables.

    Functions are numbered from 0; the last number, `nothing`, is that of ⊥, the dead state.

    concepts: H. automaton: its SOA. function: of each state. after: the state after a mistake. labels: of
    each function, those of ⊥ all 0. released: the functions as concepts of `automaton.hypotheses`.

    Shapes: S states, P points, F functions; function (S,), after (S, P) int32, labels (F + 1, P) bool,
    released (F,).
    """

    concepts: ConceptClass
    automaton: Automaton
    function: np.ndarray
    after: np.ndarray
    labels: np.ndarray
    released: np.ndarray

    def __repr__(self) -> str:
        return f"the SOA of {self.concepts}, d = {self.depth}"

    @property
    def depth(self) -> int:
        """d, the most mistakes of the SOA: the Littlestone dimension."""
        return self.automaton.mistakes

    @property
    def dead(self) -> int:
        return self.automaton.dead

    @property
    def state_type(self) -> type[np.signedinteger]:
        """The smaller of two types that hold all states: tables of them are large."""
        return np.int16 if self.dead < 2**15 else np.int32

    @property
    def nothing(self) -> int:
        return len(self.released)

    def place(self, x: np.ndarray) -> np.ndarray:
        """The columns of points (n,)."""
        return self.concepts.domain_indices(self.concepts.check(x))

    def hypothesis(self, functions: np.ndarray) -> Hypothesis:
        """What is released of functions (n,)."""
        return Hypothesis(self.automaton.hypotheses, self.released[functions])

    def settle(self, one: np.ndarray, other: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The states that come of pairs whose functions differ: steps 6 and 7 of Algorithm 1 of Li, Wang, Ye.

        The tournament example is the middle one of the points at which the functions differ, in the order of
        the domain, with the guessed label; it extends the sequence whose function labels it otherwise.

        Shapes: states (k,), guess (k,) bool; result (k,).
        """
        labels = self.labels[self.function[one]]
        differ = labels != self.labels[self.function[other]]
        passed = differ.cumsum(axis=1)
        x = (2 * passed >= passed[:, -1:]).argmax(axis=1)
        first_errs = labels[np.arange(len(x)), x] != guess
        return np.asarray(self.after[np.where(first_errs, one, other), x])


def power_of_two(instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    """A check of settings: what is paired, layer by layer, has a size that can be halved."""
    if value & (value - 1):
        raise InvalidArgument(f"{attribute.name} must be a power of two", value=value)


@lru_cache(maxsize=8)
def sequences(concepts: ConceptClass) -> Sequences:
    """The SOA of a class with a finite domain.

    Raises: Unsupported if the domain is not finite, or the tables would be too large.
    """
    automaton = soa(concepts)
    assert concepts.domain is not None
    size, width = automaton.dead + 1, len(concepts.domain)
    if size * width > MOST_ENTRIES:
        raise Unsupported(
            f"the SOA of {concepts} is too large for a table: {size:,} states x {width:,} points",
            remedy="Choose a smaller domain.",
        )
    states, points = np.arange(size), np.arange(width)
    after = automaton.after_mistake(states[:, None], points).astype(np.int32)
    functions = automaton.functions(states[:-1])
    released, first, numbers = np.unique(functions, return_index=True, return_inverse=True)
    labels = automaton.labels(states[first][:, None], points)
    return Sequences(
        concepts=concepts,
        automaton=automaton,
        function=freeze(np.append(numbers, len(released)).astype(np.int32)),
        after=freeze(after),
        labels=freeze(np.concatenate([labels, np.zeros_like(labels[:1])])),
        released=freeze(released),
    )

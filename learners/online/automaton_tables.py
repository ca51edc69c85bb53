"""A conservative learner of a class as tables, to be run on many short sequences of examples.

Golowich and Livni (2021) and Li, Wang, Ye run the SOA on many short sequences. A sequence is represented by
the state of its automaton; sequences are compared, counted and released by the function of that state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument, Unsupported
from arena.littlestone import Automaton, halving, soa
from arena.littlestone.sparse_majority_automaton import sparse_majority
from arena.points import freeze
from arena.replies import Hypothesis

SOA = "soa"
AUTOMATA: dict[str, Callable[[ConceptClass], Automaton]] = {  # by the names of their learners
    SOA: soa,
    "halving": halving,
    "sparse-majority": sparse_majority,
}

MOST_ENTRIES = 2**26  # states x points, in the table of successors


@attrs.frozen(eq=False, repr=False)
class AutomatonTables:
    """A conservative learner of a class as tables.

    Functions are numbered from 0. The last number, `no_function`, belongs to the dead state (⊥), which is
    reached by examples that no concept explains.

    concepts: H. automaton: the learner. function (S,): of each of S states. after (S, P) int32: the state
    after a mistake at each of P points. labels (F + 1, P) bool: of each of F functions, 0 for `no_function`.
    released (F,): the functions as concepts of `automaton.hypotheses`.
    """

    concepts: ConceptClass
    automaton: Automaton
    function: np.ndarray
    after: np.ndarray
    labels: np.ndarray
    released: np.ndarray

    def __repr__(self) -> str:
        return f"an automaton of {self.concepts}, M = {self.depth}"

    @property
    def depth(self) -> int:
        """M, its largest number of mistakes; of the SOA: d, the Littlestone dimension."""
        return self.automaton.mistakes

    @property
    def dead(self) -> int:
        """The state of sequences that no concept explains."""
        return self.automaton.dead

    @property
    def state_type(self) -> type[np.signedinteger]:
        """A small integer type that holds all states."""
        return np.int16 if self.dead < 2**15 else np.int32

    @property
    def no_function(self) -> int:
        """The number that stands for the function of the dead state."""
        return len(self.released)

    def domain_indices(self, x: np.ndarray) -> np.ndarray:
        """The columns of points (n,)."""
        return self.concepts.domain_indices(self.concepts.check(x))

    def hypothesis(self, functions: np.ndarray) -> Hypothesis:
        return Hypothesis(self.automaton.hypotheses, self.released[functions])

    def play_tournaments(self, first: np.ndarray, second: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The winners of pairs of states with different functions: steps 6 and 7 of Algorithm 1 of Li, Wang,
        Ye.

        The tournament example is the middle one, in the order of the domain, of the points at which the
        functions differ, with the guessed label. It extends the sequence whose function labels it
        differently.

        Shapes: states (k,), guess (k,) bool; result (k,).
        """
        labels = self.labels[self.function[first]]
        differ = labels != self.labels[self.function[second]]
        rank = differ.cumsum(axis=1)
        x = (2 * rank >= rank[:, -1:]).argmax(axis=1)
        first_errs = labels[np.arange(len(x)), x] != guess
        return np.asarray(self.after[np.where(first_errs, first, second), x])


def power_of_two(instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    """A validator of settings: the number of sequences, which are merged in pairs layer by layer."""
    if value & (value - 1):
        raise InvalidArgument(f"{attribute.name} must be a power of two", value=value)


@lru_cache(maxsize=8)
def tabulate(concepts: ConceptClass, base: str = SOA) -> AutomatonTables:
    """The learner of `AUTOMATA` of this name.

    Raises: Unsupported if the domain is not finite, or the tables would be too large.
    """
    automaton = AUTOMATA[base](concepts)
    size, width = automaton.dead + 1, len(concepts.domain or ())
    if size * width > MOST_ENTRIES:
        raise Unsupported(
            f"{base} on {concepts} is too large to tabulate: {size:,} states x {width:,} points",
            remedy="Choose a smaller domain.",
        )
    states, points = np.arange(size), np.arange(width)
    after = automaton.after_mistake(states[:, None], points).astype(np.int32)
    functions = automaton.functions(states[:-1])
    released, first, numbers = np.unique(functions, return_index=True, return_inverse=True)
    labels = automaton.labels(states[first][:, None], points)
    return AutomatonTables(
        concepts=concepts,
        automaton=automaton,
        function=freeze(np.append(numbers, len(released)).astype(np.int32)),
        after=freeze(after),
        labels=freeze(np.concatenate([labels, np.zeros_like(labels[:1])])),
        released=freeze(released),
    )

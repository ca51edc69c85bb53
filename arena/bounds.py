"""What a theorem promises of a learner's mistakes or regret."""

from __future__ import annotations

import attrs

from arena.errors import InvalidArgument

MISTAKES, REGRET = "mistakes", "regret"


@attrs.frozen
class Bound:
    """A promise for a game of a given number of rounds.

    at_most: the mistakes, or the regret. of: `MISTAKES` in realizable games, `REGRET` in any.
    beta: the probability at most with which a game exceeds it; 0: no game does; None: it bounds the
    expectation. theorem: where it comes from. oblivious: it is proved before oblivious adversaries only.
    """

    at_most: float
    of: str = attrs.field(validator=attrs.validators.in_((MISTAKES, REGRET)))
    beta: float | None = attrs.field()
    theorem: str
    oblivious: bool = False

    @beta.validator
    def _check_beta(self, attribute: object, beta: float | None) -> None:
        if beta is not None and not 0 <= beta < 1:
            raise InvalidArgument("beta must be a probability below 1, or None", value=beta)

"""What a theorem promises of a learner's mistakes, regret or error."""

from __future__ import annotations

import attrs

from arena.errors import InvalidArgument

MISTAKES, REGRET, ERROR = "mistakes", "regret", "error"


@attrs.frozen
class Bound:
    """A promise for a game of a given number of rounds.

    at_most: the mistakes, the regret or the error. of: `MISTAKES` in realizable games, `REGRET` in any,
    `ERROR` of every hypothesis of a predictor where the sample and the queries come from one law.
    beta: the probability at most with which a game exceeds it; 0: no game does; None: it bounds the
    expectation. theorem: where it comes from. oblivious: it is proved before oblivious adversaries only.
    promised: False where the theorem asks for other constants than those that are run, so that a learner may
    be measured against it but breaks no promise by exceeding it.
    """

    at_most: float
    of: str = attrs.field(validator=attrs.validators.in_((MISTAKES, REGRET, ERROR)))
    beta: float | None = attrs.field()
    theorem: str
    oblivious: bool = False
    promised: bool = True

    @beta.validator
    def _check_beta(self, attribute: object, beta: float | None) -> None:
        if beta is not None and not 0 <= beta < 1:
            raise InvalidArgument("beta must be a probability below 1, or None", value=beta)

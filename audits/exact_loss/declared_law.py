"""Whether a learner plays as the output distribution says that it declares."""

from __future__ import annotations

from arena import Adversary, Learner, Referee, Unsupported
from arena.testing import RATE
from arena.testing.laws.comparison import compare_with_law
from arena.testing.laws.goodness_of_fit import Comparison


def check_declared_law(learner: Learner, adversary: Adversary, referee: Referee) -> Comparison:
    """Compare the learner's games against this adversary, in both worlds, with its output distribution.

    A subclass may inherit `law` and change the answers; then no figure computed from it holds.

    Raises: NotConforming; Unsupported if it declares none; whatever a referee raises in a game.
    """
    comparison = compare_with_law(learner, adversary, referee, rate=RATE)
    if comparison is None:
        raise Unsupported(
            f"{adversary.name} plays no games that could be compared with what {learner.name} declares"
        )
    return comparison

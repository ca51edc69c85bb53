"""The plan of a race of predictors: everything that its figures depend on, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Figure1, InvalidArgument, Learner
from arena.engine import check_protocol
from audits.races.errors.exact_errors import TEST_POINTS
from audits.races.mistakes.plan import Contest, Entrant, check_labels, concepts_of

ROUNDS = 3
GAMES = 40
_MOST_GAMES = 8  # a block's: a game is long, and its arrays are, too
_FEWEST_BLOCKS = 4  # for processes to share
_MOST_NUMBERS = 2**24  # coordinates of a block's training sets


@attrs.frozen(kw_only=True)
class PredictorRace(Contest):
    """What is played and noted: predictors, by their own rounds.

    rounds: K, how many rounds of a predictor are played. tested: the points of each game on which hypotheses
    are tried, where D has no finite list of examples.
    """

    rounds: int
    tested: int = TEST_POINTS
    block: int = attrs.field()

    @block.default
    def _default_block(self) -> int:
        numbers = max((one.learner.sample_size or 1) * prod(one.learner.point_shape) for one in self.entrants)
        return max(1, min(_MOST_GAMES, ceil(self.games / _FEWEST_BLOCKS), _MOST_NUMBERS // numbers))

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.tested < 1:
            raise InvalidArgument("hypotheses are tried on at least one point", value=self.tested)

    @property
    def at(self) -> tuple[int, ...]:
        return tuple(range(1, self.rounds + 1))


def predictor_race(
    players: Sequence[tuple[str, Learner, Adversary]],
    *,
    rounds: int = ROUNDS,
    games: int = GAMES,
    confidence: float = 0.95,
    seed: int = 0,
    tested: int = TEST_POINTS,
) -> PredictorRace:
    """The race of these predictors, each under a label and with the adversary that it meets.

    Where an adversary has a field `learner`, that is its opponent; where it has `queries`, they are those of
    the rounds, of the last one as many as of the first at most, since nothing follows it.

    Raises: InvalidArgument if there are no such games.
    """
    check_labels([label for label, _, _ in players])
    entrants = []
    for label, learner, adversary in players:
        concepts_of(learner)
        check_protocol(learner, adversary, Figure1())
        check_rounds(learner, rounds)
        if not hasattr(adversary, "population"):
            raise InvalidArgument(
                f"{adversary.name} does not say from what law its examples come, so errors have no meaning",
                remedy="Race against honest, or one that has population(games, rng).",
            )
        told = {"learner": learner, "queries": int(asked(learner, rounds).sum())}
        fields = attrs.fields_dict(type(adversary))
        ready = attrs.evolve(adversary, **{name: it for name, it in told.items() if name in fields})
        entrants.append(Entrant(label=label, learner=learner, adversary=ready, referee=Figure1()))
    return PredictorRace(
        entrants=tuple(entrants),
        rounds=rounds,
        games=games,
        confidence=confidence,
        seed=seed,
        tested=tested,
    )


def check_rounds(learner: Learner, rounds: int) -> None:
    """Raises: InvalidArgument if that is no number of rounds, or the learner has none, or not so many."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise InvalidArgument("a race of predictors has at least one round", value=rounds)
    if not hasattr(learner, "round"):
        raise InvalidArgument(
            f"{learner.name} has no rounds to be measured by",
            remedy="Race predictors that are built like GenericBBL: everlasting-v1, everlasting-v2 and kin.",
        )
    own = getattr(learner, "rounds", None)
    if own is not None and own < rounds:
        raise InvalidArgument(
            f"{learner.name} stops after {own} round{'s' if own > 1 else ''}",
            value=rounds,
            remedy=f"Give --rounds {own}, or --set rounds=none.",
        )
    for index in range(1, rounds + 1):
        learner.round(index)  # which refuses answers that are too few for the next round


def asked(learner: Any, rounds: int) -> np.ndarray:
    """(K,): the queries of each round."""
    answers = [learner.round(index).answers for index in range(1, rounds + 1)]
    return np.array([*answers[:-1], min(answers[0], answers[-1])])

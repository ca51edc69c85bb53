"""Races of online learners by mistakes or regret: the plan, the games, and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import (
    ERROR,
    MISTAKES,
    REFEREES,
    REGRET,
    Adversary,
    Bound,
    InvalidArgument,
    Learner,
    Realizable,
    Referee,
    Scorebook,
    play,
)
from arena.settings import at_least, check_value, whole
from arena.testing import check_adversary
from audits.races.game_plan import Entrant, check_labels, set_fields
from audits.races.race_result import (
    BoundTest,
    Race,
    RaceStanding,
    compare_with_bound,
    read_bound,
    summarise,
)
from audits.registry.suggestions import suggest

MARKS = 20
_MAX_GAMES = 1_024  # of a block; larger blocks fill a core's cache and are no faster
_MIN_GAMES = 64  # of a block
_MIN_BLOCKS = 4  # for processes to share
_MAX_COUNTS = 2**24  # numbers in the scorebook of a block
_MAX_COORDINATES = 2**21  # of a block's points: learners and referees hold several doubles for each
_CHECKED_ROUNDS = 64  # of the games that check an adversary


@attrs.frozen(eq=False, kw_only=True)
class OnlineStanding(RaceStanding):
    """The figures of an online learner.

    bounds: (k,), what its theorem promises for games that end at each mark; infinite where it promises
    nothing. power, log_slope: the slopes of ln(median) and of the median on ln t, by least squares over the
    marks (for power, those with a positive median); None for fewer than two marks.
    """

    bounds: np.ndarray
    power: float | None
    log_slope: float | None


@attrs.frozen(kw_only=True)
class OnlineRace(Race):
    """A race of online learners.

    rounds: T. quantity: MISTAKES in games that are realizable by the learner's class, or REGRET against the
    best concept of that class in hindsight. marks: the rounds after which it is recorded; the last is T.
    """

    derived: ClassVar[tuple[str, ...]] = ("adversary", "protocol", "realizable")

    rounds: int
    quantity: str
    marks: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not self.marks or self.marks[-1] != self.rounds:
            raise InvalidArgument(f"the last mark must be the last round, {self.rounds}", value=self.marks)
        for entrant in self.entrants:
            if self.realizable and not isinstance(entrant.referee, Realizable):
                raise InvalidArgument(
                    "mistakes are counted in realizable games", remedy="Let the referee be Realizable."
                )
            self.scorebook(entrant).check(self.rounds)

    @property
    def protocol(self) -> str:
        return self.entrants[0].referee.name

    @property
    def realizable(self) -> bool:
        """Whether some concept of the learner's class explains every game."""
        return self.quantity == MISTAKES

    def scorebook(self, entrant: Entrant) -> Scorebook:
        """What is recorded about the games of an entrant."""
        return Scorebook(marks=self.marks, concepts=None if self.realizable else entrant.concepts)

    def check(self, entrant: Entrant) -> None:
        """Refuse an invalid bound, and an adversary whose games depend on each other.

        Raises: InvalidArgument; NotConforming if the adversary fails `arena.testing.check_adversary`.
        """
        self._bounds_of(entrant)
        adversary, referee = entrant.adversary, entrant.referee  # in short games, if it can play them
        if "rounds" in attrs.fields_dict(type(adversary)) and self.rounds > _CHECKED_ROUNDS:
            try:
                adversary = set_fields(adversary, rounds=_CHECKED_ROUNDS)
                referee = _shorten(referee)
            except InvalidArgument:  # its other settings need more rounds
                adversary = entrant.adversary
        check_adversary(adversary, entrant.learner, referee)

    def play_block(self, number: int, block: int) -> np.ndarray:
        """(k, n): mistakes or regret at the marks in the n games of a block."""
        entrant = self.entrants[number]
        record = play(
            entrant.learner,
            entrant.adversary,
            entrant.referee,
            games=self.games_in(block),
            seed=self.block_seed(number, block),
            scorebook=self.scorebook(entrant),
        ).mistake_counts
        assert record is not None
        return record.mistakes if record.least is None else record.mistakes - record.least

    def make_standing(self, entrant: Entrant, figures: np.ndarray) -> OnlineStanding:
        """The standing of a learner, from the figures (k, n) of its games."""
        bounds = self._bounds_of(entrant)
        promises = [
            np.inf if bound is None or self._explain_inapplicable(bound) else bound.at_most
            for bound in bounds
        ]
        summary = summarise(self, figures)
        medians = summary["median"].values
        log_t, positive = np.log(self.marks), medians > 0
        return OnlineStanding(
            entrant=entrant,
            mean=figures.mean(axis=1),
            **summary,
            bound_test=self._test_bound(bounds[-1], figures[-1]),
            bounds=np.array(promises, np.float64),
            power=_fit_slope(log_t[positive], np.log(medians[positive])),
            log_slope=_fit_slope(log_t, medians),
        )

    def _bounds_of(self, entrant: Entrant) -> list[Bound | None]:
        return [read_bound(entrant, mark) for mark in self.marks]

    def _test_bound(self, bound: Bound | None, figures: np.ndarray) -> BoundTest | None:
        if bound is None:
            return None
        reason = self._explain_inapplicable(bound)
        if reason:
            return BoundTest(bound=bound, inapplicable=reason)
        return compare_with_bound(self, bound, figures, minimum=0 if self.realizable else -self.rounds)

    def _explain_inapplicable(self, bound: Bound) -> str:
        """Why the bound does not cover these games; empty if it does."""
        # In realizable games the best concept makes no mistake, so a bound on regret is one on mistakes.
        if bound.of == ERROR:
            return "it bounds the errors of predictors"
        if bound.of != REGRET and not self.realizable:
            return f"it bounds {bound.of} in realizable games"
        if bound.oblivious and not self.entrants[0].referee.committed:
            return "it is proved for oblivious adversaries only"
        return ""


def plan_online_race(
    players: Sequence[tuple[str, Learner, Adversary]],
    *,
    rounds: int,
    games: int,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int = MARKS,
    **settings: Any,
) -> OnlineRace:
    """Plan a race of online learners, each given with its label and its adversary.

    The fields `rounds` of all, and `learner` and `protocol` of adversaries, are set. If all adversaries are
    realizable, the referee enforces it and mistakes are counted; otherwise, or if `agnostic`, regret is.

    protocol: by default one that all play, if possible that of the adversary's field.
    marks: the maximal number of marks. settings: confidence and seed, as in `GamePlan`.

    Raises: InvalidArgument if there are no such games; Unsupported if a class is not finite, or too large.
    """
    check_value("rounds", rounds, whole, at_least(1))
    check_labels([label for label, _, _ in players])
    name = _choose_protocol(players, protocol)
    referee = REFEREES[name].with_rounds(rounds)
    entrants = []
    for label, learner, adversary in players:
        learner = set_fields(learner, rounds=rounds)
        adversary = set_fields(adversary, rounds=rounds, learner=learner, protocol=name)
        entrants.append(Entrant(label=label, learner=learner, adversary=adversary, referee=referee))
    realizable = not agnostic and all(entrant.adversary.realizable for entrant in entrants)
    if realizable:
        entrants = [
            attrs.evolve(entrant, referee=Realizable(referee, entrant.concepts))  # type: ignore[arg-type]
            for entrant in entrants
        ]
    return OnlineRace(
        entrants=tuple(entrants),
        rounds=rounds,
        games=games,
        quantity=MISTAKES if realizable else REGRET,
        marks=spread_marks(rounds, marks),
        block=_choose_block(entrants, games, realizable),
        **settings,
    )


def spread_marks(rounds: int, count: int) -> tuple[int, ...]:
    """At most `count` rounds from 1 to `rounds`, including the last, about evenly spaced on a log scale.

    >>> spread_marks(1000, 7)
    (1, 3, 10, 32, 100, 316, 1000)
    """
    check_value("marks", count, whole, at_least(1))
    spaced = np.geomspace(1, rounds, count)[1:].round().astype(int)
    return tuple(sorted({rounds, *([1] if count > 1 else []), *spaced.tolist()}))


def list_protocols() -> list[str]:
    """The protocols with one world that count mistakes, those of stronger adversaries first."""
    fitting = [kind for kind in REFEREES.values() if kind.counts_mistakes and not kind.challenges]
    return [kind.name for kind in sorted(fitting, key=lambda kind: kind.committed)]


def _choose_protocol(players: Sequence[tuple[str, Learner, Adversary]], wanted: str | None) -> str:
    protocols = list_protocols()
    if wanted is not None and wanted not in protocols:
        raise InvalidArgument(
            f"the protocol of a race must be {' or '.join(protocols)}",
            value=wanted,
            remedy=suggest(wanted, protocols).strip(),
        )
    everyone = [player for _, learner, adversary in players for player in (learner, adversary)]
    preferred = getattr(players[0][2], "protocol", None)
    candidates = [wanted] if wanted is not None else sorted(protocols, key=lambda name: name != preferred)
    for name in candidates:
        if all(name in player.protocols for player in everyone):
            return name
    plays = dict.fromkeys(
        f"{player.name} plays {', '.join(player.protocols) or 'no protocol that it names'}"
        for player in everyone
    )
    raise InvalidArgument(
        f"the players do not all play {wanted or ', nor all '.join(protocols)}",
        remedy=f"{'; '.join(plays)}. `arena list` shows who plays what.",
    )


def _choose_block(entrants: Sequence[Entrant], games: int, realizable: bool) -> int:
    """Games in a block: few where a game has many counts or a point many coordinates."""
    counts = 1 if realizable else max(len(entrant.concepts.domain or (0,)) for entrant in entrants)
    coordinates = max(prod(entrant.learner.point_shape) for entrant in entrants)
    even = max(_MIN_GAMES, ceil(games / _MIN_BLOCKS))
    return max(1, min(_MAX_GAMES, even, _MAX_COUNTS // counts, _MAX_COORDINATES // coordinates))


def _shorten(referee: Referee) -> Referee:
    if isinstance(referee, Realizable):
        return attrs.evolve(referee, referee=attrs.evolve(referee.referee, T=_CHECKED_ROUNDS))
    return attrs.evolve(referee, T=_CHECKED_ROUNDS)  # type: ignore[call-arg]


def _fit_slope(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(x) < 2:
        return None
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))

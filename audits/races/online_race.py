"""Races of online learners by mistakes or regret."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import TYPE_CHECKING, Any, ClassVar

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
    Scorebook,
    play,
)
from arena.settings import at_least, check_value, whole
from arena.testing import check_adversary
from audits.races.race import Entrant, Race, Standing, set_fields
from audits.registry.suggestions import check_labels, correct, suggest
from audits.reports.report import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAMES = 1_000
MARKS = 20
_MAX_GAMES = 1_024  # of a block; larger blocks fill a core's cache and are no faster
_MIN_GAMES = 64  # of a block
_MIN_BLOCKS = 4  # for processes to share
_MAX_COUNTS = 2**24  # numbers in the scorebook of a block
_MAX_COORDINATES = 2**21  # of a block's points: learners and referees hold several doubles for each
_CHECKED_ROUNDS = 64  # of the games that check an adversary


@attrs.frozen(eq=False, kw_only=True)
class OnlineStanding(Standing):
    """The figures of an online learner.

    power, log_slope: the slopes of ln(median) and of the median on ln t, by least squares over the marks (for
    power, those with a positive median), if there are two.
    """

    power: float | None
    log_slope: float | None


@attrs.frozen(kw_only=True)
class OnlineRace(Race):
    """A race by mistakes, or by regret against the best concept of the learner's class in hindsight."""

    derived: ClassVar[tuple[str, ...]] = (*Race.derived, "quantity", "marks", "realizable")
    least_height: ClassVar[float] = 1.0

    @property
    def realizable(self) -> bool:
        """Whether some concept of that class explains every game; then mistakes are counted."""
        return self.quantity == MISTAKES

    @property
    def least_figure(self) -> float:
        return 0 if self.realizable else -self.rounds

    def scorebook(self, entrant: Entrant) -> Scorebook:
        """What is recorded about the games of an entrant."""
        return Scorebook(marks=self.marks, concepts=None if self.realizable else entrant.concepts)

    def check(self, entrant: Entrant) -> None:
        """Refuse an invalid bound, and an adversary that fails `arena.testing.check_adversary`."""
        super().check(entrant)
        adversary, referee = entrant.adversary, entrant.referee
        if "rounds" in attrs.fields_dict(type(adversary)) and self.rounds > _CHECKED_ROUNDS:
            try:
                adversary = set_fields(adversary, rounds=_CHECKED_ROUNDS)
                referee = REFEREES[referee.name](T=_CHECKED_ROUNDS)  # type: ignore[call-arg]
                if self.realizable:
                    referee = Realizable(referee, entrant.concepts)  # type: ignore[arg-type]
            except InvalidArgument:  # its other settings need more rounds
                adversary = entrant.adversary
        check_adversary(adversary, entrant.learner, referee)

    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(k, n): mistakes or regret at the marks."""
        record = play(
            entrant.learner,
            entrant.adversary,
            entrant.referee,
            games=games,
            seed=seed,
            scorebook=self.scorebook(entrant),
        ).mistake_counts
        assert record is not None
        return record.mistakes if record.least is None else record.mistakes - record.least

    def make_standing(self, entrant: Entrant, figures: np.ndarray) -> OnlineStanding:
        summary = self.summarise(entrant, figures, figures[-1])
        medians = summary["median"].values
        log_t, positive = np.log(self.marks), medians > 0
        return OnlineStanding(
            **summary,
            mean=figures.mean(axis=1),
            power=_fit_slope(log_t[positive], np.log(medians[positive])),
            log_slope=_fit_slope(log_t, medians),
        )

    def explain_inapplicable(self, bound: Bound) -> str:
        # In realizable games the best concept makes no mistake, so a bound on regret is one on mistakes.
        if bound.of == ERROR:
            return "it bounds the errors of predictors"
        if bound.of != REGRET and not self.realizable:
            return f"it bounds {bound.of} in realizable games"
        if bound.oblivious and not REFEREES[self.protocol].committed:
            return "it is proved for oblivious adversaries only"
        return ""

    def describe(self, standings: Sequence[Any]) -> tuple[str, Table, list[str]]:
        kind = "agnostic: regret is against the best concept of the learner's class in hindsight"
        if self.realizable:
            kind = "realizable: some concept of the learner's class explains every game"
        rows = [
            (
                standing.label,
                f"{standing.mean[-1]:,.4g}",
                *(limits.format(-1, ",.0f") for limits in (standing.median, standing.quantile_95)),
                f"{standing.worst[-1]:,}",
                _format_slope(standing.power),
                _format_slope(standing.log_slope),
            )
            for standing in standings
        ]
        headers = ("learner", "mean", "median", "95 % quantile", "worst", "power of t", "slope on ln t")
        title = f"{self.quantity.capitalize()} after {self.rounds:,} rounds, {self.games:,} games of each:"
        sentences = [
            "The last two columns are the slopes of ln median and of the median on ln t, by least squares "
            f"over {len(self.marks)} marks."
        ]
        always_wrong = [standing.label for standing in standings if standing.mean[-1] == self.rounds]
        if self.realizable and always_wrong:
            sentences.append(
                f"Wrong in all {self.rounds:,} rounds of every game, and so without any sign of learning: "
                f"{', '.join(always_wrong)}. A private learner may need more rounds, a larger ε "
                "(--set epsilon=…) or a smaller class (--set concepts=…)."
            )
        return f"{self.protocol}, {self.rounds:,} rounds; {kind}", Table(headers, rows, title), sentences

    def label_axes(self, axes: Axes) -> None:
        axes.set_xscale("log")
        # On less than a decade a log axis labels hardly any tick by default.
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(xlabel="rounds t (logarithmic)", ylabel=f"{self.quantity} in rounds 1 to t")


def plan_online_race(
    players: Sequence[tuple[str, Learner, Adversary]],
    *,
    rounds: int,
    games: int = GAMES,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int = MARKS,
    **settings: Any,
) -> Race:
    """Plan a race of online learners, each given with its label and its adversary, whose fields are filled.

    If all adversaries are realizable, the referee enforces it and mistakes are counted; otherwise, or if
    `agnostic`, regret is.

    protocol: by default one that all play, if possible that of the adversary's field.
    marks: the maximal number of marks. settings: confidence and seed.

    Raises: InvalidArgument; Unsupported if a class is not finite, or too large.
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
    race = OnlineRace(
        entrants=tuple(entrants),
        games=games,
        quantity=MISTAKES if realizable else REGRET,
        marks=spread_marks(rounds, marks),
        block=_choose_block(entrants, games, realizable),
        **settings,
    )
    for entrant in entrants:
        race.scorebook(entrant).check(rounds)
    return race


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
            corrected=correct(wanted, protocols),
        )
    everyone = [player for _, learner, adversary in players for player in (learner, adversary)]
    preferred = getattr(players[0][2], "protocol", None)
    candidates = [wanted] if wanted is not None else sorted(protocols, key=lambda name: name != preferred)
    for name in candidates:
        if all(name in player.protocols for player in everyone):
            return name
    plays = dict.fromkeys(f"{player.name} plays {', '.join(player.protocols)}" for player in everyone)
    raise InvalidArgument(
        f"the players do not all play {wanted or ', nor all '.join(protocols)}",
        remedy=f"{'; '.join(plays)}. `arena list` shows who plays what.",
    )


def _choose_block(entrants: Sequence[Entrant], games: int, realizable: bool) -> int:
    """Games in a block: few with many counts or coordinates."""
    counts = 1 if realizable else max(len(entrant.concepts.domain or (0,)) for entrant in entrants)
    coordinates = max(prod(entrant.learner.point_shape) for entrant in entrants)
    even = max(_MIN_GAMES, ceil(games / _MIN_BLOCKS))
    return max(1, min(_MAX_GAMES, even, _MAX_COUNTS // counts, _MAX_COORDINATES // coordinates))


def _fit_slope(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(x) < 2:
        return None
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))


def _format_slope(slope: float | None) -> str:
    # Rounding removes the last bits that least squares leave of a slope of 0.
    return "too few marks above 0" if slope is None else f"{round(slope, 9) + 0.0:.3g}"

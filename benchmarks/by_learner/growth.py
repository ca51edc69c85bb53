"""How mistakes grow with the rounds of a game, against an adaptive adversary: docs/growth.svg.

Each T is a game of its own, of a learner that is told T: only then are the ln T and the √T of the theorems in
its noise. The class is that of the points 1 to 16, of Littlestone dimension d = 1: it needs the fewest
mistakes of all in which there is something to learn. The adversary errs at one point until that is learned.

`realizable` (Theorem 3.1 of Li, Wang, Ye) shows one wrong function, until AboveThreshold has counted
N_0 + (ln T + 2 ln(6T/β))/ε_0 mistakes, with ε_0 = ε/4. At ε = 4 that is a slope of 3 on ln T, at ε = 2,000
one of 0.006. So that even T = 100 is enough, N_0 = 32: the default, 512, is made for lists of many functions.

`golowich-livni` with its reduction to adaptive adversaries (Õ(√T)) has T instances, each with ε/T of its ε up
to about T = ε (basic composition), and later with √(ε/T) to ε/√T (advanced composition). Its histogram needs
forests that grow as one over that, and it about as many mistakes as leaves. At ε = 4 and T = 4,096 those
are 2^16, so that it errs in every round. ε = 2,000 is the least round number at which forests that are
large enough for T = 32,768 stay within the 2^27 leaves that a table may hold. It is fitted in its favour at
every T, with what is known of the game: one switch, since more are paid for and not needed; leaves for the
threshold of the histogram, which the roots that are right must pass, a fifth of the leaves; and a level of
a sixteenth of the leaves, since the new function is the more frequent one only when the old one has less
than a fifth.

`soa` without privacy is the floor: d mistakes.
"""

from __future__ import annotations

import os
import time

import attrs
import numpy as np
from charts import BLUE, GREEN, GREY, RED, panels, save
from tabulate import tabulate

from adversaries.online.adaptive import AdaptiveConsistent
from arena import Learner
from arena.concepts import Points
from audits.races.online_race import plan_online_race
from audits.races.race import Race
from audits.races.race_result import RaceResult, make_result, play_games, run_race
from audits.statistics.quantiles import Quantile
from learners.online.conservative import Soa
from learners.online.golowich_livni import GolowichLivni
from learners.online.realizable import RealizableLearner

CLASS = Points(range(1, 17))
LOW, HIGH = 4.0, 2_000.0
DECADES = dict.fromkeys((100, 1_000, 10_000, 100_000), 200)
FEW = dict.fromkeys(DECADES, 20)
# Games of the reduction take T²/2 steps, and hardly differ.
GAMES = {128: 20, 512: 20, 2_048: 20, 8_192: 8, 32_768: 4}
LATE = 2_048  # about ε, from where on advanced composition is the better one
JOBS = os.cpu_count() or 1


@attrs.frozen(eq=False)
class Curve:
    """Median mistakes after T rounds, for each T. settings: what was fitted to T."""

    label: str
    games: dict[int, int]
    found: list[Quantile]
    settings: list[str]

    @property
    def rounds(self) -> np.ndarray:
        return np.array(list(self.games), float)

    @property
    def medians(self) -> np.ndarray:
        return np.array([one.values[-1] for one in self.found])

    @property
    def limits(self) -> np.ndarray:
        """(2, k): the lower and upper limits."""
        return np.array([[one.lower[-1], one.upper[-1]] for one in self.found]).T


def realizable(rounds: int, epsilon: float) -> RealizableLearner:
    return RealizableLearner(concepts=CLASS, rounds=rounds, epsilon=epsilon, nodes=32)


def build_reduction(rounds: int, epsilon: float = HIGH) -> GolowichLivni:
    """The reduction, fitted to T."""
    learner = GolowichLivni(concepts=CLASS, rounds=rounds, epsilon=epsilon, switches=1, reduction=True)
    leaves = 2 ** int(np.ceil(np.log2(5.5 * learner.noise.threshold)))
    return attrs.evolve(learner, nodes=leaves, level=leaves / 16)


def measure_curve(label: str, learners: list[Learner], games: dict[int, int]) -> Curve:
    found, settings = [], []
    for learner, (rounds, many) in zip(learners, games.items(), strict=True):
        race = plan_online_race(
            [(label, learner, AdaptiveConsistent())],
            rounds=rounds,
            games=many,
            protocol="Adaptive",
            marks=1,
        )
        alone = isinstance(learner, GolowichLivni)
        result = one_by_one(race) if alone else run_race(race, jobs=JOBS)
        found.append(result.standings[0].median)
        nodes = getattr(learner, "nodes", None)
        settings.append("" if nodes is None else f"{nodes:,}")
    return Curve(label, games, found, settings)


def one_by_one(race: Race) -> RaceResult:
    """The race with one game in a batch.

    `run_race` would first check the adversary on batches of eight games, for which the forests of long games
    are too large; the other races here check it.
    """
    race = attrs.evolve(race, block=1)
    return make_result(*play_games(race, jobs=JOBS))


def slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Least squares: slope, and value at 0."""
    apart = x - x.mean()
    a = float(apart @ y / (apart @ apart))
    return a, float(y.mean() - a * x.mean())


def table(curves: list[Curve]) -> str:
    rows = [
        (curve.label, f"{rounds:,}", nodes, games, f"{one.values[-1]:,.0f}", _limits(one))
        for curve in curves
        for (rounds, games), nodes, one in zip(curve.games.items(), curve.settings, curve.found, strict=True)
    ]
    headers = ("learner", "T", "nodes", "games", "median mistakes", "limits (95 %)")
    return tabulate(rows, headers, disable_numparse=True)


def _limits(found: Quantile) -> str:
    low, high = found.lower[-1], found.upper[-1]
    return f"{low:,.0f} to {high:,.0f}" if np.isfinite([low, high]).all() else "too few games"


def draw(ours: Curve, loose: Curve, theirs: Curve, floor: Curve) -> None:
    figure, (left, right) = panels(
        "Online learners against an adaptive adversary (points 1 to 16, d = 1, δ = 1e-6). Medians of games "
        "that are set up\nfor T, with 95 % limits where there are games enough"
    )
    a, b = slope(np.log(ours.rounds), ours.medians)
    _plot(left, ours, BLUE, "o", f"realizable, ε = {LOW:g}", linestyle="none")
    ends = np.array([ours.rounds[0], ours.rounds[-1]])
    left.plot(ends, a * np.log(ends) + b, color=GREY, linestyle="--", label=f"{b:.0f} + {a:.1f} ln T")
    left.set(title="realizable: ln T, straight on this axis", xscale="log")
    left.set_ylim(0, 1.25 * float(ours.medians[-1]))
    left.legend(loc="lower right")
    right.plot(ends, ends, color=GREY, linestyle=":", linewidth=1)
    _plot(right, theirs, RED, "s", linestyle="none")
    late = theirs.rounds >= LATE
    power, at_0 = slope(np.log(theirs.rounds[late]), np.log(theirs.medians[late]))
    ends = np.array([LATE, ours.rounds[-1]])
    right.plot(ends, np.exp(at_0) * ends**power, color=RED, linestyle="--")
    _plot(right, ours, BLUE, "o")
    _plot(right, loose, BLUE, "^")
    _plot(right, floor, GREEN, "D")
    theirs_told = f"golowich-livni, reduction, ε = {HIGH:,.0f}:\nas T to the {power:.2f} from {LATE:,} on"
    for y, colour, told in (
        (60_000, GREY, "an error every round"),
        (350, RED, theirs_told),
        (100, BLUE, f"realizable, ε = {LOW:g}"),
        (15, BLUE, f"realizable, ε = {HIGH:,.0f}"),
        (1.4, GREEN, "soa, no privacy"),
    ):
        x = 30_000 if colour == GREY else 100_000
        right.text(x, y, told, color=colour, ha="right", fontsize=9)
    right.set(title="all of them: powers of T are straight on these axes", xscale="log", yscale="log")
    right.set_ylim(0.5, 200_000)
    for axis in (left, right):
        axis.set(xlabel="rounds T of the game", ylabel="median mistakes in T rounds")
        axis.xaxis.set_major_formatter("{x:,.0f}")
    right.yaxis.set_major_formatter("{x:,.0f}")
    print(f"Written: {save(figure, 'growth.svg')}")


def _plot(
    axis, curve: Curve, colour: str, marker: str, label: str | None = None, linestyle: str = "-"
) -> None:  # type: ignore[no-untyped-def]
    low, high = curve.limits
    off = np.array([curve.medians - low, high - curve.medians])
    off[~np.isfinite(off)] = 0  # too few games for a limit
    style = {"color": colour, "marker": marker, "markersize": 4, "linestyle": linestyle}
    axis.errorbar(curve.rounds, curve.medians, yerr=off, capsize=3, label=label, **style)


def main() -> None:
    start = time.perf_counter()
    theirs = measure_curve("golowich-livni", [build_reduction(rounds) for rounds in GAMES], GAMES)
    ours = measure_curve(f"realizable, ε = {LOW:g}", [realizable(rounds, LOW) for rounds in DECADES], DECADES)
    loose = measure_curve(f"realizable, ε = {HIGH:,.0f}", [realizable(rounds, HIGH) for rounds in FEW], FEW)
    floor = measure_curve("soa", [Soa(concepts=CLASS) for _ in FEW], FEW)
    print(table([ours, loose, theirs, floor]))
    late = theirs.rounds >= LATE
    on_log = [slope(np.log(curve.rounds), curve.medians)[0] for curve in (ours, loose)]
    powers = [
        slope(np.log(theirs.rounds[part]), np.log(theirs.medians[part]))[0] for part in (late, slice(None))
    ]
    print(
        f"slope of median mistakes on ln T: realizable {on_log[0]:.2f} (ε = {LOW:g}), "
        f"{abs(on_log[1]):.2f} (ε = {HIGH:,.0f})\n"
        f"slope of ln median on ln T: golowich-livni {powers[0]:.2f} from T = {LATE:,} on, "
        f"{powers[1]:.2f} over all T"
    )
    draw(ours, loose, theirs, floor)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

"""What it costs not to know the rounds of a game: unknown_horizon.svg.

`doubling` runs fresh instances of a learner on stretches of 1, 2, 4, … rounds (section 5 of Li, Wang, Ye),
beside the same learner when it is told T. A game of doubling is played once and read after 2^k - 1 rounds,
when a stretch ends; the others are games of their own for each T.

Left: mistakes of `realizable`, ε = 4, N_0 = 64, points 1 to 16, against `adaptive`. It is replaced after
N_0 + α(T) mistakes, where α has a slope of 12/ε = 3 on ln T. If every stretch begins with these, then up to
T = 2^k - 1 they add up to 3/(2·ln 2) = 2.16 on ln²T. N_0 is twice what a learner needs that is told T, since
the δ_k = δ/((k + 1)(k + 2)) of an instance raises the threshold of its histogram.

Right: regret of `agnostic-experts`, lazy draws, ε = 3, thresholds on 16 points, `iid` with a tenth of labels
flipped. A regret of c·√T becomes at most c·√T·√2/(√2 - 1).
"""

from __future__ import annotations

from math import sqrt

import attrs
import numpy as np

from adversaries.online.adaptive import AdaptiveConsistent
from adversaries.online.random_sequences import IidExamples
from arena import Adversary, Learner
from arena.concepts import Points, Thresholds
from audits.races.online_race import plan_online_race
from benchmarks.by_learner.charts import BLUE, GREY, RED, panels, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.online.agnostic_experts import LAZY, AgnosticExperts
from learners.online.doubling import Doubling
from learners.online.realizable import RealizableLearner

GAMES, SEEDS = 50, 2
MISTAKES, REGRET = "mistakes", "regret"
# k of the rounds T = 2^k - 1 after which games are read.
READ = {MISTAKES: (9, 11, 13, 15, 17), REGRET: (12, 14, 16)}
LEARNERS: dict[str, Learner] = {
    MISTAKES: RealizableLearner(concepts=Points(range(1, 17)), epsilon=4.0, nodes=64),
    REGRET: AgnosticExperts(concepts=Thresholds(range(16)), epsilon=3.0, draws=LAZY),
}
ADVERSARIES: dict[str, Adversary] = {MISTAKES: AdaptiveConsistent(), REGRET: IidExamples(noise=0.1)}
QUADRATIC = 3 / (2 * np.log(2))
MOST_RATIO = sqrt(2) / (sqrt(2) - 1)  # of regrets


def measure_told(*, seed: int, quantity: str, power: int) -> np.ndarray:
    """Mistakes or regret of each game of a learner that is told T."""
    return _play(LEARNERS[quantity], quantity, (2**power - 1,), seed)[-1]


def measure_doubling(*, seed: int, quantity: str) -> np.ndarray:
    """Mistakes or regret after each T, of each game: (T·games,)."""
    marks = tuple(2**power - 1 for power in READ[quantity])
    return _play(Doubling(inner=LEARNERS[quantity]), quantity, marks, seed).ravel()


def _play(learner: Learner, quantity: str, marks: tuple[int, ...], seed: int) -> np.ndarray:
    race = plan_online_race(
        [(quantity, learner, ADVERSARIES[quantity])],
        rounds=marks[-1],
        games=GAMES,
        agnostic=quantity == REGRET,
        marks=1,
        seed=seed,
    )
    return attrs.evolve(race, marks=marks).play_block(0, 0)


def collect(quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Told and doubling: (T, games) each."""
    powers = READ[quantity]
    told = measure_cases(
        measure_told, [{"quantity": quantity, "power": power} for power in powers], SEEDS
    ).reshape(len(powers), -1)
    blind = measure_cases(measure_doubling, [{"quantity": quantity}], SEEDS)
    return told, blind.reshape(SEEDS, len(powers), GAMES).swapaxes(0, 1).reshape(len(powers), -1)


def fit_logs(rounds: np.ndarray, samples: np.ndarray, degree: int) -> tuple[Mean, np.ndarray]:
    """The leading coefficient of polynomials in ln T fitted to every game, and the polynomial of means."""
    leading = np.polyfit(np.log(rounds), samples, degree)[0]
    return Mean.of(leading), np.polyfit(np.log(rounds), samples.mean(axis=1), degree)


def write_comparison(found: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    rows = []
    for quantity, (told, blind) in found.items():
        for power, one, other in zip(READ[quantity], told, blind, strict=True):
            ratio = Mean.of(other).value / Mean.of(one).value
            rows.append((quantity, f"{2**power - 1:,}", _format(one), _format(other), f"{ratio:.2f}"))
    headers = ("quantity", "T", "told T (limits)", "doubling (limits)", "ratio")
    write_table("online/unknown_horizon", headers, rows)


def _format(samples: np.ndarray) -> str:
    mean = Mean.of(samples)
    return f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})"


def write_growth(found: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    told, blind = found[MISTAKES]
    rounds = np.array([2.0**power - 1 for power in READ[MISTAKES]])
    slope, curve = fit_logs(rounds, told, 1)[0], fit_logs(rounds, blind, 2)[0]
    longest = np.array([2.0**power - 1 for power in READ[REGRET]])
    powers = [fit_power(longest, samples) for samples in found[REGRET]]
    rows = [
        ("mistakes, told T", "on ln T", _limits(slope), "3"),
        ("mistakes, doubling", "on ln²T", _limits(curve), f"{QUADRATIC:.2f}"),
        ("regret, told T", "power of T", str(powers[0]), "1/2"),
        ("regret, doubling", "power of T", str(powers[1]), f"1/2, and a factor of at most {MOST_RATIO:.1f}"),
    ]
    headers = ("game", "growth", "fitted (limits)", "predicted")
    write_table("online/unknown_horizon_growth", headers, rows)


def _limits(mean: Mean) -> str:
    return f"{mean.value:.2f} ({mean.lower:.2f} to {mean.upper:.2f})"


def draw(found: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    figure, axes = panels(
        "Not knowing T turns ln T mistakes into ln²T, and costs regret a constant factor\n"
        "(fresh learners on stretches of 1, 2, 4, … rounds; means with 95 % limits)"
    )
    for axis, (quantity, pair) in zip(axes, found.items(), strict=True):
        rounds = np.array([2.0**power - 1 for power in READ[quantity]])
        for samples, colour, marker, label in zip(
            pair, (BLUE, RED), "os", ("told T", "doubling, T unknown"), strict=True
        ):
            means = [Mean.of(row) for row in samples]
            values = np.array([mean.value for mean in means])
            errors = [values - [mean.lower for mean in means], [mean.upper for mean in means] - values]
            axis.errorbar(
                rounds, values, yerr=errors, color=colour, marker=marker, capsize=3, label=label, ls="none"
            )
        axis.set(xlabel="rounds T of the game", ylabel=f"mean {quantity} in T rounds", xscale="log")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.xaxis.set_minor_formatter("")
    _draw_mistakes(axes[0], found[MISTAKES])
    _draw_regret(axes[1], found[REGRET])
    for axis in axes:
        axis.legend(loc="upper left")
    print(f"Written: {save(figure, 'theorems/unknown_horizon.svg')}")


def _draw_mistakes(axis, pair) -> None:  # type: ignore[no-untyped-def]
    rounds = np.array([2.0**power - 1 for power in READ[MISTAKES]])
    fine = np.geomspace(rounds[0], rounds[-1], 50)
    for samples, degree, colour in zip(pair, (1, 2), (BLUE, RED), strict=True):
        line = fit_logs(rounds, samples, degree)[1]
        axis.plot(fine, np.polyval(line, np.log(fine)), color=colour, linestyle="--", linewidth=1)
    axis.set(title="realizable, ε = 4, against an adaptive adversary")
    axis.set_ylim(bottom=0)


def _draw_regret(axis, pair) -> None:  # type: ignore[no-untyped-def]
    rounds = np.array([2.0**power - 1 for power in READ[REGRET]])
    power = fit_power(rounds, pair[0])
    axis.plot(rounds, power.at(rounds), color=BLUE, linestyle="--", linewidth=1)
    axis.plot(
        rounds,
        MOST_RATIO * power.at(rounds),
        color=GREY,
        linestyle=":",
        label=f"{MOST_RATIO:.1f} times told: the limit",
    )
    axis.plot(rounds, fit_power(rounds, pair[1]).at(rounds), color=RED, linestyle="--", linewidth=1)
    axis.set(title="agnostic-experts, ε = 3, random examples", yscale="log")
    axis.yaxis.set_minor_formatter("{x:,.0f}")


def main() -> None:
    found = {quantity: collect(quantity) for quantity in READ}
    write_comparison(found)
    write_growth(found)
    draw(found)

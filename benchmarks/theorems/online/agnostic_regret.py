"""How the regret of the private agnostic learners grows with the rounds of a game: agnostic_regret.svg.

Thresholds on 16 points, ε = 3, δ = 1e-6; every learner is told T. Oblivious games (`iid`) have uniform points
and the labels of a threshold drawn for each game, a tenth of them flipped; an adaptive adversary
(`contrarian`) labels one point against what was shown the round before.

`agnostic-experts` has K = √T stretches, its default. Theorem 1.2 promises Õ(√T) for both kinds of adversary,
with Theorem E.11 (fresh draws) against adaptive ones and E.12 (lazy draws) against oblivious ones.
`agnostic-batched` has B = √T examples in a batch, and three calls of a fast generator, with which the
sanitiser's error falls as 1/√B; Corollary 4.3 promises Õ(T^(3/4)).

A second table has what `bound` states, divided by T, for a number of stretches K that is fixed, or grows.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from adversaries.online.adaptive import Contrarian
from adversaries.online.random_sequences import IidExamples
from arena import Adversary, Learner
from arena.concepts import Thresholds
from audits.races.online_race import plan_online_race
from benchmarks.by_learner.charts import BLUE, GREEN, GREY, RED, panels, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, Power, fit_power, measure_cases
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.agnostic_experts import FRESH, LAZY, AgnosticExperts

CLASS = Thresholds(range(16))
EPSILON = 3.0
GAMES, SEEDS = 50, 2
ROUNDS = (4_000, 16_000, 64_000, 256_000)
FEW = ROUNDS[:3]  # a round of agnostic-batched costs as much as there were batches
BATCHED = "batched"
OBLIVIOUS, ADAPTIVE = "oblivious", "adaptive"
# Learner, adversary, rounds, colour, marker, exponent of the theorem.
CURVES = (
    (LAZY, OBLIVIOUS, ROUNDS, BLUE, "o", "1/2"),
    (FRESH, OBLIVIOUS, ROUNDS, GREEN, "D", "1/2"),
    (BATCHED, OBLIVIOUS, FEW, RED, "s", "3/4"),
    (FRESH, ADAPTIVE, ROUNDS, GREEN, "D", "1/2"),
    (BATCHED, ADAPTIVE, FEW, RED, "s", "3/4"),
)
LABELS = {
    LAZY: "agnostic-experts, lazy draws",
    FRESH: "agnostic-experts, fresh draws",
    BATCHED: "agnostic-batched",
}


def make_learner(kind: str, rounds: int) -> Learner:
    if kind == BATCHED:
        return AgnosticBatched(
            concepts=CLASS, rounds=rounds, batch=isqrt(rounds), calls=3, alpha=0.4, epsilon=EPSILON
        )
    return AgnosticExperts(concepts=CLASS, rounds=rounds, draws=kind, epsilon=EPSILON)


def measure_regret(*, seed: int, kind: str, against: str, rounds: int) -> np.ndarray:
    """The regret of each game of a batch."""
    adversary: Adversary = IidExamples(noise=0.1) if against == OBLIVIOUS else Contrarian()
    race = plan_online_race(
        [(kind, make_learner(kind, rounds), adversary)],
        rounds=rounds,
        games=GAMES,
        agnostic=True,
        marks=1,
        seed=seed,
    )
    return race.play_block(0, 0)[-1]


def collect_regrets() -> list[np.ndarray]:
    """Of each curve, (rounds, games)."""
    cases = [
        {"kind": kind, "against": against, "rounds": rounds}
        for kind, against, lengths, *_ in CURVES
        for rounds in lengths
    ]
    found = measure_cases(measure_regret, cases, SEEDS).reshape(len(cases), -1)
    ends = np.cumsum([len(lengths) for _, _, lengths, *_ in CURVES])
    return np.split(found, ends[:-1])


def write_regrets(regrets: list[np.ndarray], powers: list[Power]) -> None:
    rows = []
    for (kind, against, _, _, _, theorem), samples, power in zip(CURVES, regrets, powers, strict=True):
        means = [Mean.of(row) for row in samples]
        cells = [f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})" for mean in means]
        cells += [""] * (len(ROUNDS) - len(cells))
        late = np.log(means[-1].value / means[-2].value) / np.log(4)
        rows.append((LABELS[kind], against, *cells, str(power), f"{late:.2f}", theorem))
    lengths = [f"T = {rounds:,}" for rounds in ROUNDS]
    headers = ("learner", "adversary", *lengths, "exponent (limits)", "from the last two T", "theorem's")
    write_table("online/agnostic_regret", headers, rows)


def write_bounds() -> None:
    """bound/T by K, and the exponent of the bound over the last decade."""
    rounds = [10**power for power in (6, 7, 8)]
    rows = []
    for label, stretches in (
        ("32", lambda _: 32),
        ("T^(1/3)", lambda length: round(length ** (1 / 3))),
        ("√T (default)", isqrt),
    ):
        bounds = [state_bound(length, stretches(length)) for length in rounds]
        exponent = np.log10(bounds[-1] / bounds[-2])
        cells = [f"{bound / length:.3f}" for bound, length in zip(bounds, rounds, strict=True)]
        rows.append((label, *cells, f"{exponent:.2f}"))
    headers = (
        "K",
        *(f"T = 10^{len(str(length)) - 1}" for length in rounds),
        "exponent of the bound, 10^7 to 10^8",
    )
    write_table("online/regret_bounds", headers, rows)


def state_bound(rounds: int, stretches: int) -> float:
    """The bound on regret, with fresh draws; infinite if none is stated."""
    learner = AgnosticExperts(concepts=CLASS, rounds=rounds, stretches=stretches, epsilon=EPSILON)
    bound = learner.bound(rounds)
    return np.inf if bound is None else bound.at_most


def draw(regrets: list[np.ndarray], powers: list[Power]) -> None:
    figure, axes = panels(
        "How the regret of private agnostic learners grows with T: the fitted power is beside each name\n"
        "(thresholds on 16 points, ε = 3; means with 95 % limits; dashed: fitted powers)",
        sharey=True,
    )
    for (kind, against, lengths, colour, marker, _), samples, power in zip(
        CURVES, regrets, powers, strict=True
    ):
        axis = axes[int(against == ADAPTIVE)]
        means = [Mean.of(row) for row in samples]
        values = np.array([mean.value for mean in means])
        errors = [values - [mean.lower for mean in means], [mean.upper for mean in means] - values]
        label = f"{LABELS[kind]}: T^{power.exponent:.2f}"
        axis.errorbar(
            lengths, values, yerr=errors, color=colour, marker=marker, ls="none", capsize=3, label=label
        )
        axis.plot(lengths, power.at(np.array(lengths)), color=colour, linestyle="--", linewidth=1)
    ends = np.array([ROUNDS[0], ROUNDS[-1]], float)
    for axis, title in zip(
        axes, ("oblivious: random examples", "adaptive: labels against the last hypothesis"), strict=True
    ):
        axis.plot(ends, 2 * np.sqrt(ends), color=GREY, linestyle=":", linewidth=1)
        axis.plot(ends, ends**0.75 / 2, color=GREY, linestyle=":", linewidth=1)
        axis.text(ends[1], 2 * np.sqrt(ends[1]), " √T", color=GREY, va="center")
        axis.text(ends[1], ends[1] ** 0.75 / 2, " T^¾", color=GREY, va="center")
        axis.set(title=f"against {title}", xlabel="rounds T of the game", xscale="log", yscale="log")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.xaxis.set_minor_formatter("")
        axis.legend(loc="lower right")
    axes[0].set_ylabel("mean regret in T rounds")
    print(f"Written: {save(figure, 'theorems/agnostic_regret.svg')}")


def main() -> None:
    regrets = collect_regrets()
    powers = [
        fit_power(lengths, samples) for (_, _, lengths, *_), samples in zip(CURVES, regrets, strict=True)
    ]
    write_regrets(regrets, powers)
    write_bounds()
    draw(regrets, powers)

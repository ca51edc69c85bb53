"""Examples that thresholds need, by the size of the domain: docs/everlasting_domain.svg.

A private *learner* publishes a threshold, an everlasting *predictor* only answers. Each has (1, 1e-6)-DP,
and has to err on at most 0.05 with probability 0.9. D is hard for private learning: 4α of it are uniform on
2^j points in a row, at a random place of a domain of 2^k, for a random j from 3 to k − 1, and the target is
among them. The rest are the two ends of the domain, which say nothing about the target. So place and scale
cannot be guessed, and nearly all thresholds err on a little more than α.

Learners:
- the exponential mechanism with the errors as score, drawn exactly: the score is constant between examples;
- binary search, k noisy comparisons, each with Gaussian noise;
- interior point: the closest examples on both sides of the target are paired at random, the depth at which
  their paths in the binary tree part is chosen by the exponential mechanism (k depths), the node of that
  depth by a stable histogram, and one of its ends or its middle by the exponential mechanism. This is one
  level of the recursion of Bun, Nissim, Stemmer, Vadhan (2015), whose full depth gives log*|X|: for 60 bits
  a second level would choose among 6 in place of 60, and cost its own histogram.

Predictors: the privacy is that of their claim, for rounds without end; of the noise in the answers of round 1
the largest is drawn at once. Teachers are trained, at most 2,000 of them: votes of more hardly differ.
A game that halts in round 1 is an error: charged answers are counted, with the noise of the count. The budget
of everlasting-counter suffices for an atom at which votes tie; everlasting-gaussian charges it only once. A
learner that finds nothing to publish errs, too.

n of a case is the least of a grid of step 5 % with which 27 of 30 trials succeed.
"""

from __future__ import annotations

from functools import cache
from math import ceil, inf, log, sqrt
from typing import Any

import attrs
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from benchmarks.by_learner.charts import BLUE, GREEN, GREY, RED, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.everlasting.paper_versions import EverlastingV2
from learners.mechanisms.accounting import largest_affordable
from learners.mechanisms.noise import gaussian_sigma, laplace_between
from learners.mechanisms.steady_thresholds import CHANCE

EPSILON, DELTA, ALPHA = 1.0, 1e-6, 0.05
BITS = (4, 8, 15, 30, 60)
LINE = 0  # bits of the real line
SEEDS, TRIALS, NEEDED = 12, 30, 27
STEP = 1.05  # of the grid of n
CHUNK = 30  # λ: a teacher errs on 1/30 on average
MOST_TEACHERS = 2_000
MOST_PLACES = 2**15  # of a cluster, at which votes are counted
GAP = 0.15  # of everlasting-counter
SCALES = np.geomspace(0.002, 0.2, 80).tolist()  # of its noise, that are tried
# ε of the depth, of the node's histogram, and of the end or middle, of the interior point.
SHARES = (0.35, 0.5, 0.15)
ORANGE, PURPLE = "#e69f00", "#cc79a7"

NAMES = {
    "exponential": ("learner: exponential mechanism, as k", RED, "o"),
    "binary": ("learner: noisy binary search, as √k", ORANGE, "s"),
    "interior": ("learner: interior point, as ln k", PURPLE, "^"),
    "v2": ("everlasting-v2", GREY, "v"),
    "counter": ("everlasting-counter", BLUE, "D"),
    "gaussian": ("everlasting-gaussian", GREEN, "P"),
}
THEOREM = {"exponential": "1", "binary": "1/2", "interior": "0 (ln k)", "v2": "0", "counter": "0"}
THEOREM["gaussian"] = "0"
LEARNERS = ("exponential", "binary", "interior")


@attrs.frozen
class Cluster:
    """D on 0 … 2^bits − 1, labelled 1 from `target` on. For the line there are 2^56 points, 2^52 in a row."""

    bits: int
    start: int
    size: int
    target: int

    @staticmethod
    def draw(bits: int, rng: np.random.Generator) -> Cluster:
        size = 2 ** (52 if bits == LINE else int(rng.integers(3, bits)))
        bits = bits or 56
        start = int(rng.integers(0, 2**bits - size + 1))
        return Cluster(bits, start, size, start + round(size * rng.uniform(0.4, 0.6)))

    def points(self, rng: np.random.Generator, shape: int | tuple[int, int]) -> np.ndarray:
        inside = self.start + rng.integers(0, self.size, shape)
        ends = rng.integers(0, 2, shape) * (2**self.bits - 1)
        return np.where(rng.random(shape) < 4 * ALPHA, inside, ends)

    def error(self, threshold: float) -> float:
        inside = min(max(threshold, self.start), self.start + self.size)
        end = threshold <= 0 or threshold >= 2**self.bits
        return 4 * ALPHA * abs(inside - self.target) / self.size + end * (0.5 - 2 * ALPHA)


# --- private learners ---------------------------------------------------------------------------------------


def choose(rng: np.random.Generator, log_weights: np.ndarray) -> int:
    return int(np.argmax(log_weights + rng.gumbel(size=len(log_weights))))


def learn_exponential(data: Cluster, n: int, rng: np.random.Generator) -> int:
    """Weights e^{-ε·errors/2} on all thresholds 0 … 2^k: (ε, 0)-DP."""
    points = np.sort(data.points(rng, n))
    ones = points >= data.target
    # Thresholds in (p_{i-1}, p_i] call exactly the points from p_i on 1.
    edges = np.concatenate([[-1], points, [2**data.bits]])
    errors = np.concatenate([[0], np.cumsum(ones)]) + np.concatenate([np.cumsum(~ones[::-1])[::-1], [0]])
    with np.errstate(divide="ignore"):
        place = choose(rng, np.log(np.diff(edges).astype(float)) - EPSILON / 2 * errors)
    return int(rng.integers(edges[place] + 1, edges[place + 1], endpoint=True))


def learn_binary(data: Cluster, n: int, rng: np.random.Generator) -> int:
    """Find the least t at which (ones below t) − (zeros from t on), of sensitivity 2, exceeds −αn/2."""
    points = data.points(rng, n)
    ones, zeros = np.sort(points[points >= data.target]), np.sort(points[points < data.target])
    sigma = gaussian_sigma(epsilon=EPSILON, delta=DELTA, sensitivity=2 * sqrt(data.bits))
    low, high = 0, 2**data.bits
    for noise in rng.normal(0, sigma, data.bits):
        middle = (low + high) // 2
        difference = np.searchsorted(ones, middle) - (len(zeros) - np.searchsorted(zeros, middle))
        low, high = (low, middle) if difference + noise > -ALPHA * n / 2 else (middle, high)
    return high


def learn_interior(data: Cluster, n: int, rng: np.random.Generator) -> int:
    """Any threshold between the m closest zeros and the m closest ones errs on less than m examples.

    A replaced example exchanges at most one of the m zeros and one of the m ones, and so changes two pairs
    of the random matching. Depth: score min(#≤, #≥) of sensitivity 2. Node: counts of prefixes that occur, of
    L1 sensitivity 4, shown above a threshold that a prefix which a neighbour lacks (count at most 2, and
    there are two such prefixes at most) passes with probability δ. End or middle: score min(#zeros below,
    #ones from there on), of sensitivity 1. All together (ε, δ)-DP by basic composition.
    """
    depth_epsilon, node_epsilon, end_epsilon = (share * EPSILON for share in SHARES)
    m, bits = int(0.8 * ALPHA * n), data.bits
    points = data.points(rng, n)
    below, above = points[points < data.target], points[points >= data.target]
    if min(len(below), len(above)) < m or not m:
        return 0  # padding with the ends of the domain would be needed, and not help
    zeros, ones = np.sort(below)[-m:], np.sort(above)[:m]
    parted = np.frexp((rng.permutation(zeros) ^ ones).astype(float))[1]
    depths = np.sort(bits - parted)  # common leading bits of each pair
    levels = np.arange(bits)
    at_most, less = np.searchsorted(depths, levels, "right"), np.searchsorted(depths, levels, "left")
    depth = choose(rng, depth_epsilon / 4 * np.minimum(m - less, at_most))
    prefixes, counts = np.unique(np.concatenate([zeros, ones]) >> (bits - depth), return_counts=True)
    noisy = counts + rng.laplace(0, 4 / node_epsilon, len(counts))
    best = int(noisy.argmax())
    if noisy[best] <= 2 + 4 / node_epsilon * log(1 / DELTA):
        return 0
    width = 1 << (bits - depth)
    left = int(prefixes[best]) * width
    candidates = np.array([left, left + width // 2, left + width])
    inside = np.minimum(np.searchsorted(zeros, candidates), m - np.searchsorted(ones, candidates))
    return int(candidates[choose(rng, end_epsilon / 2 * inside)])


# --- everlasting predictors ---------------------------------------------------------------------------------


@attrs.frozen
class Round:
    """Round 1 of a predictor with a claim of (1, 1e-6).

    scale: of the noise on the mean vote, inf where no noise keeps the claim. answers: R_1. stop: the count of
    charged answers at which it halts, inf if it never does. bit_epsilon: of the noise in that count.
    """

    scale: float
    answers: int
    stop: float = inf
    bit_epsilon: float = 1.0


@cache
def first_round(name: str, teachers: int) -> Round:
    sizes = {"teachers": teachers, "chunk": CHUNK, "delta": DELTA}
    if name == "gaussian":
        default = EverlastingGaussian()
        halts = max(1_000, ceil(default.halts * teachers / default.teachers))
        return _round_of(attrs.evolve(default, **sizes, halts=halts))
    if name == "v2":
        base: EverlastingV2 = EverlastingV2(**sizes, training_rate=1.0, answers=None)
        noise = largest_affordable(
            lambda each: inf if each > 1 else attrs.evolve(base, noise=each).claim.epsilon, EPSILON
        )
        return Round(1 / (noise * teachers), base.round(1).answers)
    answers = EverlastingV2(**sizes, answers=None).round(1).answers
    # The most of D whose votes lie within `gap` of a tie: up to a vote of 1/2 + gap, in one atom. Noise adds.
    halts = ceil((-log(0.5 - GAP) + 0.1) / CHUNK * answers) + 100
    for scale in SCALES:  # the cost is not monotone: marks pay for clear answers where noise is small
        noise = 1 / (scale * teachers)
        if noise <= 1:
            counter = EverlastingCounter(**sizes, training_rate=1.0, gap=GAP, halts=halts, noise=noise)
            if counter.claim.epsilon <= EPSILON:
                return _round_of(counter)
    return Round(inf, answers)


def _round_of(learner: EverlastingCounter) -> Round:
    run = learner.round(1)
    scale = 1 / (run.noise * run.teachers)
    return Round(scale, run.answers, learner.stopping_count(1), learner._bit_epsilon)


class Trial:
    """One draw of D and of the teachers, whose errors at any noise are known: votes do not depend on n."""

    def __init__(self, bits: int, rng: np.random.Generator) -> None:
        data = Cluster.draw(bits, rng)
        points = data.points(rng, (MOST_TEACHERS, CHUNK))
        ones = np.where(points >= data.target, points, 2**62)  # ERM: the least point of label 1
        thresholds = np.sort(ones.min(axis=1))
        self.errors = np.sort([data.error(t) for t in thresholds.tolist()])
        self.rare = rng.standard_exponential(2)
        # Votes at the points of the cluster, or at many of them; the two ends are clear.
        self.size = data.size
        places = np.arange(min(data.size, MOST_PLACES)) * (data.size // min(data.size, MOST_PLACES))
        self.votes = np.searchsorted(thresholds, data.start + places, side="right") / MOST_TEACHERS
        self.count_noise = rng.normal(), rng.laplace(), rng.gumbel()

    def succeeds(self, name: str, n: int) -> bool:
        """Whether no hypothesis of round 1 errs on more than α, and it does not halt."""
        run = first_round(name, max(2, n // CHUNK))
        chance = np.minimum(self.rare / run.answers, 1.0)  # of larger noise, upwards and downwards
        law = stats.norm if name == "gaussian" else stats.laplace
        up, down = law.isf(chance, scale=run.scale)
        if max(up, down) >= 0.5 or self.halts(name, run):
            return False
        return bool(self.errors[int((0.5 + up) * len(self.errors))] <= ALPHA)

    def halts(self, name: str, run: Round) -> bool:
        """Whether the noisy count of charged answers reaches its limit.

        Fresh noise is added to every count; that of the last answers matters, while the count is within
        1/ε of its end, and its largest value is nearly a Gumbel number.
        """
        if run.stop == inf:
            return False
        asked = 4 * ALPHA * run.answers  # queries in the cluster
        if name == "gaussian":
            chances = CHANCE * np.exp(-np.abs(self.votes - 0.5) / (EverlastingGaussian().gap * run.scale))
            asked = self.size * -np.expm1(-asked / self.size)  # distinct points
        else:
            away = np.abs(self.votes - 0.5)
            chances = laplace_between((-GAP - away) / run.scale, (GAP - away) / run.scale)
        mean = max(1.0, asked * float(chances.mean()))
        normal, threshold, largest = self.count_noise
        near_the_end = max(1.0, run.answers / (mean * run.bit_epsilon))
        noise = (threshold + log(max(1.0, near_the_end / 2)) + largest) / run.bit_epsilon
        return bool(mean + sqrt(mean) * normal + noise >= run.stop)


# --- examples needed ----------------------------------------------------------------------------------------


def measure_need(*, name: str, bits: int, seed: int) -> list[float]:
    """[n]: the least n of the grid with which enough trials succeed; randomness is common to all n."""
    seeds = np.random.SeedSequence((seed, bits, sorted(NAMES).index(name))).spawn(TRIALS)
    trials: list[Trial] = []
    if name not in LEARNERS:
        trials = [Trial(bits, np.random.default_rng(each)) for each in seeds]

    def enough(power: int) -> bool:
        n = round(STEP**power)
        if trials:
            return sum(trial.succeeds(name, n) for trial in trials) >= NEEDED
        return sum(_learns(name, bits, n, each) for each in seeds) >= NEEDED

    low, high = 60, 600  # n from 19 to 5·10^12
    while high - low > 1:
        middle = (low + high) // 2
        if trials or STEP**middle < 1e6:
            low, high = (low, middle) if enough(middle) else (middle, high)
        else:
            high = middle
    return [round(STEP**high)]


def _learns(name: str, bits: int, n: int, seed: np.random.SeedSequence) -> bool:
    rng = np.random.default_rng(seed)
    data = Cluster.draw(bits, rng)
    learn = {"exponential": learn_exponential, "binary": learn_binary, "interior": learn_interior}[name]
    return data.error(learn(data, n, rng)) <= ALPHA


def main() -> None:
    needs = {}
    for name in NAMES:
        bits = BITS if name in LEARNERS else (*BITS, LINE)
        cases = [{"name": name, "bits": each} for each in bits]
        needs[name] = measure_cases(measure_need, cases, SEEDS)[:, :, 0]
    rows = []
    for name, found in needs.items():
        means = [Mean.of(samples) for samples in found]
        cells = [f"{_count(mean.value)} ({_count(mean.lower)} to {_count(mean.upper)})" for mean in means]
        cells += ["impossible"] * (len(BITS) + 1 - len(cells))
        rows.append([NAMES[name][0], *cells, str(fit_power(BITS[2:], found[2:5])), THEOREM[name]])
    sizes = [f"2^{bits}" for bits in BITS]
    headers = ["n for", *sizes, "real line", "power of k = log₂ of the size, from 15 on", "theorem"]
    write_table("everlasting/domain_size", headers, rows)
    linear = stats.linregress(BITS, needs["exponential"].mean(axis=1))
    slow = stats.linregress(np.log(BITS), needs["interior"].mean(axis=1))
    crossing = (needs["gaussian"][-1].mean() - linear.intercept) / linear.slope
    print(
        f"exponential mechanism: {linear.intercept:,.0f} + {linear.slope:.1f} examples a bit; continued, it "
        f"needs more than everlasting-gaussian from domains of {crossing:,.0f} bits on\n"
        f"interior point: {slow.intercept:,.0f} + {slow.slope:,.0f}·ln(bits); it would need more from "
        f"e^{(needs['gaussian'][-1].mean() - slow.intercept) / slow.slope:,.0f} bits on"
    )
    draw(needs, linear, slow, crossing)


def _count(n: float) -> str:
    return f"{n:,.0f}" if n < 1e6 else f"{n:.2e}".replace("e+0", "e").replace("e+", "e")


def draw(needs: dict[str, np.ndarray], linear: Any, slow: Any, crossing: float) -> None:
    figure = Figure(figsize=(10, 5.4), layout="constrained", facecolor="white")
    axis = figure.subplots()
    figure.suptitle(
        "A private learner needs more examples as the domain grows; an everlasting predictor does not, "
        "but its constant is high.\nThresholds, error 0.05 with probability 0.9, (1, 10⁻⁶)-DP; the points "
        "near the target lie at a random place and scale",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    far = 20 * crossing
    for name, (label, colour, marker) in NAMES.items():
        means = [Mean.of(samples) for samples in needs[name]]
        values = np.array([mean.value for mean in means])
        off = np.abs(np.array([[mean.value - mean.lower, mean.upper - mean.value] for mean in means])).T
        style = {"color": colour, "marker": marker, "markersize": 5, "capsize": 3}
        axis.errorbar(BITS, values[: len(BITS)], yerr=off[:, : len(BITS)], label=label, **style)
        if name not in LEARNERS:
            axis.plot([BITS[-1], far], [values[-2], values[-1]], color=colour, linewidth=1, linestyle=":")
            axis.errorbar([far], values[-1:], yerr=off[:, -1:], **style)
    more = np.geomspace(BITS[-1], far / 3, 50)
    for fit, x, colour in ((linear, more, RED), (slow, np.log(more), PURPLE)):
        axis.plot(more, fit.intercept + fit.slope * x, color=colour, linestyle="--", linewidth=1)
    axis.annotate(
        f"the exponential mechanism, continued:\nmore examples from {crossing:,.0f} bits on",
        (crossing, needs["gaussian"][-1].mean()),
        (60, needs["gaussian"][-1].mean() / 10),
        color=RED,
        fontsize=9,
        arrowprops={"arrowstyle": "->", "color": RED},
    )
    ticks = [*BITS, 1_000, 10_000, far]
    names = [*(str(bits) for bits in BITS), "1,000", "10,000", "real line\n(no private\nlearner exists)"]
    axis.set(xscale="log", yscale="log", ylabel="examples needed, n")
    axis.set_xlabel("bits of a point, k = log₂ |X|")
    axis.set_xticks(ticks, names)
    axis.minorticks_off()
    axis.legend(loc="upper center", ncols=2, bbox_to_anchor=(0.55, 0.73))
    print(f"Written: {save(figure, 'everlasting_domain.svg')}")


if __name__ == "__main__":
    main()

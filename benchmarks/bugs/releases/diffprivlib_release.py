"""Bugs of diffprivlib 0.6.6. Where a bound is missing, the library says so in a PrivacyLeakWarning."""

from __future__ import annotations

import warnings

import diffprivlib
import numpy as np
from diffprivlib import mechanisms, models, tools

from benchmarks.bugs.bug import a_list, choices, labelled
from benchmarks.bugs.bug import numbers as field
from benchmarks.bugs.releases import enter_release

LIBRARY = "diffprivlib 0.6.6"
ISSUES = "https://github.com/IBM/differential-privacy-library/issues"
TOOLS = "https://diffprivlib.readthedocs.io/en/latest/modules/tools.html"
WITHOUT_BOUNDS = "Without bounds, those of the data scale the noise."
MODELS = "https://diffprivlib.readthedocs.io/en/latest/modules/models.html"
UNIT = labelled([field(0, 1)], field(0, 1), least=2)

warnings.simplefilter("ignore", diffprivlib.utils.PrivacyLeakWarning)


def draw_seed(rng):
    return int(rng.integers(2**31))


def fit_line(data, rng):
    model = models.LinearRegression(
        epsilon=1, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False, random_state=draw_seed(rng)
    )
    return float(model.fit(*data).coef_[0])


def fit_centred_line(data, rng):
    """With an intercept, and bounds for which the sensitivity of the square is right."""
    model = models.LinearRegression(
        epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=draw_seed(rng)
    )
    model.fit(*data)
    return [float(model.coef_[0]), float(model.intercept_)]


def find_median(values, rng):
    return float(
        tools.quantile(np.array(values), 0.5, epsilon=4, bounds=(0, 100), random_state=draw_seed(rng))
    )


def find_mean(values, rng):
    return float(tools.mean(np.array(values), epsilon=1, random_state=draw_seed(rng)))


def find_deviation(values, rng):
    return float(tools.std(np.array(values), epsilon=1, random_state=draw_seed(rng)))


def find_histogram(values, rng):
    counts, edges = tools.histogram(np.array(values), epsilon=1, bins=4, random_state=draw_seed(rng))
    return [counts.tolist(), edges.tolist()]


def fit_scaler(data, rng):
    scaler = models.StandardScaler(epsilon=1, random_state=draw_seed(rng)).fit(data[0])
    return [float(scaler.mean_[0]), float(scaler.var_[0])]


def fit_components(data, rng):
    model = models.PCA(n_components=1, epsilon=1, data_norm=1, random_state=draw_seed(rng)).fit(data[0])
    return np.concatenate([model.components_.ravel(), model.mean_]).tolist()


def fit_naive_bayes(data, rng):
    model = models.GaussianNB(epsilon=1, random_state=draw_seed(rng)).fit(data[0], data[1].astype(int))
    return np.asarray(model.theta_).tolist()


def fit_clusters(data, rng):
    return models.KMeans(2, epsilon=1, random_state=draw_seed(rng)).fit(data[0]).cluster_centers_.tolist()


def fit_logistic(data, rng):
    model = models.LogisticRegression(epsilon=1, random_state=draw_seed(rng))
    return model.fit(data[0], data[1].astype(int)).coef_.ravel().tolist()


def count_with_laplace(bits, rng):
    mechanism = mechanisms.Laplace(epsilon=1, sensitivity=1, random_state=draw_seed(rng))
    return mechanism.randomise(float(sum(bits)))


def read_low_bits(number):
    """Whether bits below 2^-53 are set, which a sum of 1 and noise does not have."""
    return float(number * 2.0**53 % 1 != 0)


def _enter(name, address, summary, *shown, relation="replace one", **settings):
    return enter_release(f"diffprivlib-{name}", address, LIBRARY, summary, relation, *shown, **settings)


def _label(*rows):
    return [((x,), y) for x, y in rows]


VALUES = a_list(field(0, 10), least=2)
BINARY = labelled([field(0, 10)], choices(0, 1), least=2)
PLANE = labelled([field(0, 1), field(0, 1)], choices(0), least=3)
BASE = _label((1.0, 0), (2.0, 1))

BUGS = [
    _enter("line", f"{ISSUES}/105", "Sensitivity of the square from the lower bound alone.", UNIT, fit_line,
           (_label((0.1, 0.1), (0.2, 0.5)), _label((1.0, 0.1), (0.2, 0.5)))),
    _enter("centred-line", f"{ISSUES}/104", "The means of X and y share one budget.",
           labelled([field(-1, 1)], field(-1, 1), least=2), fit_centred_line,
           (_label((-1.0, -1.0), (0.0, 0.0)), _label((1.0, 1.0), (0.0, 0.0)))),
    _enter("quantile", f"{ISSUES}/107", "Weights underflow on equal rows, which raises.",
           a_list(choices(25.0, 75.0), least=746, most=746), find_median,
           ([25.0] * 746, [25.0] * 745 + [75.0]), epsilon=4.0),
    _enter("mean", TOOLS, WITHOUT_BOUNDS, VALUES, find_mean,
           ([1.0, 1.0], [1.0, 9.0])),
    _enter("deviation", TOOLS, WITHOUT_BOUNDS, VALUES, find_deviation,
           ([1.0, 1.0], [1.0, 9.0])),
    _enter("histogram", TOOLS, "Without a range, the edges are those of the data.", VALUES, find_histogram,
           ([1.0, 2.0], [1.0, 9.0])),
    _enter("scaler", MODELS, WITHOUT_BOUNDS, BINARY, fit_scaler,
           (_label((1.0, 0), (1.0, 1)), _label((1.0, 0), (9.0, 1)))),
    _enter("components", MODELS, "Without bounds, those of the data are used.", PLANE, fit_components,
           ([((0.5, 0.5), 0)] * 3, [((0.5, 0.5), 0)] * 2 + [((1.0, 0.0), 0)])),
    _enter("naive-bayes", MODELS, WITHOUT_BOUNDS, BINARY, fit_naive_bayes,
           (_label((1.0, 0), (1.0, 1), (1.0, 1)), _label((1.0, 0), (1.0, 1), (9.0, 1)))),
    _enter("clusters", MODELS, WITHOUT_BOUNDS, BINARY, fit_clusters,
           (_label((1.0, 0), (1.0, 0)), _label((1.0, 0), (9.0, 0)))),
    _enter("logistic", MODELS, "Without a norm of the data, the largest one is used.", BINARY, fit_logistic,
           (BASE, _label((1.0, 0), (10.0, 1)))),
    _enter("laplace", f"{ISSUES}/94", "The last bits show to which number noise was added.",
           a_list(choices(0, 1)), count_with_laplace, ([0], [0, 1]),
           relation="add or remove one", look=read_low_bits),
]  # fmt: skip

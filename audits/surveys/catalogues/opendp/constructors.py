"""The measurement constructors of OpenDP that need no Polars.

The claim is what a measurement's own privacy map gives for the distance of neighbours: 1 for numbers at that
distance, and for data of which one record is added or removed; 2 for vectors of a known length in which one
is replaced. Its random numbers are its own, so that no seed repeats a search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

from arena.errors import Unsupported
from arena.privacy_curves import ConcentratedCurve
from audits.data.schemas import records, vector
from audits.surveys.catalogue import Catalogue

REPLACE, ADD = "replace one", "add or remove one"
_CONVERTED_DELTA = 0.01  # at which approximate zCDP becomes (ε, δ)
_NOT_THE_LIBRARYS = ("make_user_measurement", "make_proof_link")  # what they claim is the user's


def list_public() -> Iterator[str]:
    """The constructors of measurements."""
    from opendp import measurements

    for name in dir(measurements):
        if name.startswith("make_") and name not in _NOT_THE_LIBRARYS:
            yield name


catalogue = Catalogue(made_for="0.16.0", public=list_public)


@attrs.frozen
class Release:
    """What a measurement releases on data that `read` converts, or `finish` makes of it. d_in: the distance
    of neighbours in its input metric."""

    measurement: Any
    read: Callable[[Any], Any]
    d_in: Any
    finish: Callable[[Any], Any]

    def __call__(self, data: Any) -> Any:
        return self.finish(self.measurement(self.read(data)))


def _keep(released: Any) -> Any:
    return released


def read_claim(release: Release) -> Any:
    """ε, (ε, δ), or the curve of ρ-zCDP, by the privacy map."""
    measure = str(release.measurement.output_measure)
    loss = release.measurement.map(release.d_in)
    if measure in ("MaxDivergence", "Approximate(MaxDivergence)"):
        return loss
    if measure == "ZeroConcentratedDivergence":
        return ConcentratedCurve(float(loss))
    if measure == "Approximate(ZeroConcentratedDivergence)":
        rho, delta = loss
        return ConcentratedCurve(float(rho)).epsilon(_CONVERTED_DELTA), delta + _CONVERTED_DELTA
    raise Unsupported("the map must be about (ε, δ) or zero-concentrated privacy", value=measure)


def add_measurement(
    name: str,
    data: Any,
    read: Callable[[Any], Any],
    make: Callable[[Any], Any],
    d_in: Any = 1,
    **settings: Any,
) -> None:
    """make: of opendp.prelude, returns the measurement."""
    finish = settings.pop("finish", _keep)
    catalogue.add(name, partial(_make, make, read, d_in, finish), claim=read_claim, data=data, **settings)


def _make(make: Callable[[Any], Any], *others: Any) -> Release:
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    return Release(make(dp), *others)


# --- numbers and vectors -----------------------------------------------------------------------------------

_WHOLE = st.integers(-10, 10)  # of data that measurements receive as integers
_NUMBER = partial(vector, 1, metric="l1", distance=1, values=_WHOLE)
_SCORES = partial(vector, 3, metric="linf", distance=1, values=_WHOLE)
_L1, _L2 = (partial(vector, 3, metric=metric) for metric in ("l1", "l2"))


def _integer(numbers: np.ndarray) -> int:
    return int(numbers[0])


def _real(numbers: np.ndarray) -> float:
    return float(numbers[0])


def _integers(numbers: np.ndarray) -> list[int]:
    return [int(number) for number in numbers]


def _reals(numbers: np.ndarray) -> list[float]:
    return [float(number) for number in numbers]


def _count_three(letters: list[int]) -> list[int]:
    return [letters.count(letter) for letter in range(3)]


def _integer_space(dp: Any) -> tuple[Any, Any]:
    return dp.atom_domain(T=int), dp.absolute_distance(T=int)


def _real_space(dp: Any) -> tuple[Any, Any]:
    return dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def _l1_space(dp: Any) -> tuple[Any, Any]:
    return dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)


def _l2_space(dp: Any) -> tuple[Any, Any]:
    return dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)


def _score_space(dp: Any, **options: Any) -> tuple[Any, Any]:
    return dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, **options)


def _add_noise(constructor: str, kind: str = "", **options: Any) -> None:
    """A constructor with its noise on an integer, a float, or a vector at L1 or L2 distance."""
    spaces = {
        "integer": (_NUMBER, _integer, _integer_space),
        "float": (_NUMBER, _real, _real_space),
        "vector": (_L1, _reals, _l1_space),
        "L2 vector": (_L2, _reals, _l2_space),
    }
    data, read, space = spaces[kind or "integer"]
    words = [word for word in (kind, "bounds" if "bounds" in options else "") if word]
    add_measurement(
        f"{constructor}: {', '.join(words)}" if words else constructor,
        data,
        read,
        lambda dp: getattr(dp.m, constructor)(*space(dp), scale=1.0, **options),
    )


for _kind in ("integer", "float", "vector"):
    _add_noise("make_laplace", _kind)
for _kind in ("integer", "float", "L2 vector"):
    _add_noise("make_gaussian", _kind)
_add_noise("make_geometric")
_add_noise("make_geometric", bounds=(0, 3))
add_measurement(
    "make_noise: Laplace",
    _NUMBER,
    _integer,
    lambda dp: dp.m.make_noise(*_integer_space(dp), dp.max_divergence(), scale=1.0),
)
add_measurement(
    "make_noise: Gaussian",
    _NUMBER,
    _real,
    lambda dp: dp.m.make_noise(*_real_space(dp), dp.zero_concentrated_divergence(), scale=1.0),
)
add_measurement(
    "make_canonical_noise",
    _NUMBER,
    _real,
    lambda dp: dp.m.make_canonical_noise(*_real_space(dp), d_in=1.0, d_out=(1.0, 0.01)),
    1.0,
)


def _add_selections(kind: str, measure: str) -> None:
    """The choices of the largest scores and of a quantile, under a measure of privacy."""

    def choose(dp: Any, name: str, *space: Any, **options: Any) -> Any:
        return getattr(dp.m, name)(*space, getattr(dp, measure)(), **options)

    def quantile(dp: Any, alpha: float, **known: Any) -> Any:
        domain = dp.vector_domain(dp.atom_domain(T=int), **known)
        options = {"candidates": [2, 4, 6, 8], "alpha": alpha, "scale": 1.0}
        return choose(dp, "make_private_quantile", domain, dp.symmetric_distance(), **options)

    def find_extreme(negate: bool, dp: Any) -> Any:
        return choose(dp, "make_noisy_max", *_score_space(dp), scale=2.0, negate=negate)

    add_measurement(f"make_noisy_max: {kind}", _SCORES, _integers, partial(find_extreme, False))
    add_measurement(f"make_noisy_max: {kind}, least", _SCORES, _integers, partial(find_extreme, True))
    add_measurement(
        f"make_noisy_max: {kind}, monotonic",
        lambda: records(st.integers(0, 2)),
        _count_three,
        lambda dp: choose(dp, "make_noisy_max", *_score_space(dp, monotonic=True), scale=1.0),
        neighbours=ADD,
    )
    add_measurement(
        f"make_noisy_top_k: {kind}",
        _SCORES,
        _integers,
        lambda dp: choose(dp, "make_noisy_top_k", *_score_space(dp), k=2, scale=4.0),
    )
    add_measurement(
        f"make_private_quantile: {kind}",
        lambda: records(st.integers(0, 9)),
        list,
        lambda dp: quantile(dp, 0.5),
        neighbours=ADD,
    )
    add_measurement(
        f"make_private_quantile: {kind}, known size",
        lambda: records(st.integers(0, 9), min_size=5, max_size=5),
        list,
        lambda dp: quantile(dp, 0.25, size=5),
        2,
        neighbours=REPLACE,
    )


_add_selections("pure", "max_divergence")
_add_selections("zCDP", "zero_concentrated_divergence")
add_measurement(
    "make_report_noisy_max_gumbel",
    _SCORES,
    _integers,
    lambda dp: dp.m.make_report_noisy_max_gumbel(*_score_space(dp), scale=2.0),
)

# --- randomised response -----------------------------------------------------------------------------------


def _add_response(
    name: str, values: Any, make: Callable[[Any], Any], read: Callable[[Any], Any] = list
) -> None:
    """values: the strategy of the one record that is randomised."""
    add_measurement(
        name,
        lambda: records(values, min_size=1, max_size=1),
        lambda items: items[0] if read is list else read(items[0]),
        make,
        neighbours=REPLACE,
    )


_add_response(
    "make_randomized_response_bool", st.booleans(), lambda dp: dp.m.make_randomized_response_bool(prob=0.7)
)
_add_response(
    "make_randomized_response",
    st.sampled_from("abc"),
    lambda dp: dp.m.make_randomized_response(list("abc"), prob=0.6),
)
_add_response(
    "make_randomized_response_bitvec",
    st.tuples(*[st.integers(0, 1)] * 4).filter(lambda bits: sum(bits) <= 2),
    lambda dp: dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=2), dp.discrete_distance(), f=0.9
    ),
    lambda bits: np.packbits(bits + (0,) * 4),
)

# --- counts by key -----------------------------------------------------------------------------------------


def _add_keys(name: str, distance: str, measures: tuple[str, ...] = (), **options: Any) -> None:
    """A constructor on the counts of three keys, of which one record changes one by 1."""
    finish = options.pop("finish", _keep)

    def make(dp: Any) -> Any:
        domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
        metric = getattr(dp, distance)(dp.absolute_distance(T=int))
        measure = [dp.approximate(getattr(dp, own)()) for own in measures]
        return getattr(dp.m, name)(domain, metric, *measure, scale=1.0, **options)

    data = partial(records, st.sampled_from("abc"), pack=Counter)
    add_measurement(name, data, dict, make, (1, 1, 1), neighbours=ADD, finish=finish)


_add_keys("make_laplace_threshold", "l01inf_distance", threshold=4)
_add_keys("make_gaussian_threshold", "l02inf_distance", threshold=4)
_add_keys("make_noise_threshold", "l01inf_distance", ("max_divergence",), threshold=4)
_add_keys(
    "make_alp_queryable",
    "l01inf_distance",
    total_limit=20,
    value_limit=10,
    finish=lambda answer: [answer(key) for key in "abc"],
)

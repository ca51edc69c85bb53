"""The expressions of OpenDP for frames of Polars, as `make_private_lazyframe` makes measurements of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from audits.data.schemas import table
from audits.surveys.catalogues.opendp.constructors import ADD, add_measurement

_MOST_ROWS = 14  # of a frame, which is public; two of them may be public themselves


_PUBLIC: dict[str, Any] = {"invariant": "keys", "max_groups": 2}


def _people() -> Any:
    return table(
        city=st.sampled_from(["Bern", "Chur"]),
        age=st.one_of(st.integers(0, 10), st.none()),
        income=st.one_of(st.floats(0, 1), st.none()),
        max_size=_MOST_ROWS - 2,
        library="polars",
    )


def _make_frame(
    dp: Any,
    plan: Callable[[Any, Any, Any], Any],
    measure: str,
    margin: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    """The measurement of a plan, a function of opendp.prelude, polars and the lazy frame."""
    import polars as pl

    columns = {
        "city": (dp.atom_domain(T=str), pl.String),
        "age": (dp.atom_domain(T=dp.i64), pl.Int64),
        "income": (dp.atom_domain(T=float, nan=False), pl.Float64),
    }
    series = [dp.series_domain(name, dp.option_domain(domain)) for name, (domain, _) in columns.items()]
    frame = pl.LazyFrame(schema={name: kind for name, (_, kind) in columns.items()})
    measures = {
        "pure": dp.max_divergence(),
        "approximate": dp.approximate(dp.max_divergence()),
        "zCDP": dp.zero_concentrated_divergence(),
    }
    domain = dp.with_margin(dp.lazyframe_domain(series), dp.polars.Margin(max_length=_MOST_ROWS, **margin))
    return dp.m.make_private_lazyframe(
        domain, dp.symmetric_distance(), measures[measure], plan(dp, pl, frame), **options
    )


def _lazy(people: Any) -> Any:
    return people.lazy()


def _with_both_cities(people: Any) -> Any:
    """The people beside one of each city, since public keys are those of both worlds."""
    import polars as pl

    public = {"city": ["Bern", "Chur"], "age": [0, 0], "income": [0.0, 0.0]}
    return pl.concat([pl.DataFrame(public, schema=people.schema), people]).lazy()


def _collect(answer: Any) -> Any:
    """The released frame; the rows of groups come in a random order, and are sorted."""
    frame = answer.collect()
    return frame.sort("city") if "city" in frame.columns else frame


def _add_plan(
    name: str,
    plan: Callable[[Any, Any, Any], Any],
    measure: str = "pure",
    by: tuple[str, ...] = (),
    margin: dict[str, Any] = {},  # noqa: B006 - it is only read
    **options: Any,
) -> None:
    add_measurement(
        f"make_private_lazyframe: {name}",
        _people,
        _with_both_cities if margin == _PUBLIC else _lazy,
        lambda dp: _make_frame(dp, plan, measure, {"by": list(by), **margin}, options),
        neighbours=ADD,
        finish=_collect,
    )


def _add_expression(name: str, expression: Callable[[Any], Any], measure: str = "pure") -> None:
    """expression: a function of polars."""
    _add_plan(name, lambda dp, pl, frame: frame.select(expression(pl)), measure)


_CITY = ("city",)
_add_plan("len", lambda dp, pl, frame: frame.select(dp.len(scale=1.0)))
_add_plan("len of a filter", lambda dp, pl, frame: frame.filter(pl.col("age") > 3).select(dp.len(scale=1.0)))
_add_plan("zCDP", lambda dp, pl, frame: frame.select(dp.len(scale=1.0)), "zCDP")
_add_plan(
    "public keys",
    lambda dp, pl, frame: frame.group_by("city").agg(dp.len(scale=1.0)),
    by=_CITY,
    margin=_PUBLIC,
)
_add_plan(
    "private keys",
    lambda dp, pl, frame: frame.group_by("city").agg(dp.len(scale=1.0)),
    "approximate",
    _CITY,
    {"max_groups": 2},
    threshold=4,
)
_add_plan(
    "sum by public key",
    lambda dp, pl, frame: frame.group_by("city").agg(_fill(pl).dp.sum((0, 10), scale=10.0)),
    by=_CITY,
    margin=_PUBLIC,
)
_add_plan(
    "redefined column",
    lambda dp, pl, frame: frame.with_columns(pl.col("income").fill_null(0.0).clip(0.0, 1.0)).select(
        pl.col("income").sum().dp.noise(scale=1.0)
    ),
)


def _fill(pl: Any) -> Any:
    return pl.col("age").fill_null(0)


_CANDIDATES = [2, 4, 6, 8]
_add_expression("sum", lambda pl: _fill(pl).dp.sum((0, 10), scale=10.0))
_add_expression("sum of floats", lambda pl: pl.col("income").fill_null(0.0).dp.sum((0.0, 1.0), scale=1.0))
_add_expression("mean", lambda pl: pl.col("income").fill_null(0.0).dp.mean((0.0, 1.0), scale=1.0))
_add_expression("median", lambda pl: _fill(pl).dp.median(_CANDIDATES, scale=1.0))
_add_expression("quantile", lambda pl: _fill(pl).dp.quantile(0.25, _CANDIDATES, scale=1.0))
_add_expression("count", lambda pl: pl.col("age").dp.count(scale=1.0))
_add_expression("null_count", lambda pl: pl.col("age").dp.null_count(scale=1.0))
_add_expression("n_unique", lambda pl: pl.col("age").dp.n_unique(scale=1.0))
_add_expression("cut", lambda pl: _fill(pl).cut(_CANDIDATES).to_physical().dp.sum((0, 4), scale=4.0))
_add_expression("cast", lambda pl: _fill(pl).cast(pl.Int8).fill_null(0).dp.sum((0, 10), scale=10.0))
_add_expression("noise", lambda pl: pl.len().dp.noise(scale=1.0))
_add_expression("laplace", lambda pl: pl.len().dp.laplace(scale=1.0))
_add_expression("gaussian", lambda pl: pl.len().dp.gaussian(scale=1.0), "zCDP")


def _make_expression(dp: Any) -> Any:
    """The measurement of one expression, by which a frame releases one number."""
    age = dp.series_domain("age", dp.option_domain(dp.atom_domain(T=dp.i64)))
    domain = dp.wild_expr_domain([age], margin=dp.polars.Margin(by=[], max_length=_MOST_ROWS))
    metric = dp.l01inf_distance(dp.symmetric_distance())
    return dp.m.make_private_expr(domain, metric, dp.max_divergence(), dp.len(scale=1.0))


add_measurement(
    "make_private_expr",
    _people,
    lambda people: people.lazy().select("age"),
    _make_expression,
    (1, 1, 1),
    neighbours=ADD,
    finish=lambda answer: answer.plan.select(answer.expr).collect(),
)

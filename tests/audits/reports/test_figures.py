"""Figures: one picture of a result, in files, on the user's axes and on pages, in the user's own style."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import audits
from arena import InvalidArgument
from audits.cli.show import describe_class
from audits.reports.figure import make_figure
from audits.reports.plots import BoundRow, Picture
from audits.reports.report import Report


@pytest.fixture(autouse=True)
def usual_settings() -> Iterator[None]:
    """Those of matplotlib itself, whatever other tests have imported."""
    with mpl.rc_context():
        mpl.rcdefaults()
        yield


RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=200)
COUNT = ("laplace-count", "count-swap")

RESULTS: dict[str, Callable[[], Report]] = {
    "exact": lambda: audits.exact(*COUNT),
    "certify": lambda: audits.certify(SCORES, SCORES + 2, epsilon=0.5),
    "one run": lambda: audits.certify_one_run(SCORES, SCORES > 0, delta=1e-5, curve="mu=1"),
    "comparison": lambda: audits.compare([audits.exact("svt-5"), audits.exact(*COUNT)]),
}
SLOWER: dict[str, Callable[[], Report]] = {
    "audit": lambda: audits.audit(*COUNT, games=600),
    "search": lambda: audits.search("laplace-count", examples=2, games=64),
    "solve": lambda: audits.solve("noisy-votes", rounds=1, settings={"size": 5, "answers": 1}),
    "race": lambda: audits.race(["soa", "halving"], "shattered-tree", rounds=6, games=4),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [*RESULTS, *SLOWER])
def test_every_result_has_a_figure_and_draws_on_axes(kind: str) -> None:
    result = (RESULTS | SLOWER)[kind]()
    assert result.plot().axes[0].get_title("left")
    own = Figure().subplots()
    assert result.plot(own, title="") is own
    assert own.get_title() == own.get_title("left") == ""
    assert own.has_data()


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_same_result_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    result, file = RESULTS["certify"](), io.BytesIO()
    result.plot().savefig(file, format=ending)
    result.write_plot(tmp_path / f"chart.{ending}")
    assert (tmp_path / f"chart.{ending}").read_bytes() == file.getvalue()


@pytest.mark.thorough
def test_the_bound_over_the_games_is_the_line_and_the_ceiling_is_none() -> None:
    verdict = SLOWER["audit"]()
    axes: Any = verdict.plot().axes[0]
    certified, claim = axes.get_lines()  # and no third line that would cross them
    assert certified.get_ydata()[-1] == verdict.epsilon_lower  # type: ignore[attr-defined]
    assert certified.get_xdata()[-1] == 600
    assert set(claim.get_ydata()) == {verdict.claim.epsilon}  # type: ignore[attr-defined]
    (beyond,) = axes.collections
    assert beyond.get_label().startswith("out of reach")
    page = verdict.to_html()
    assert all(label in page for label in axes.get_legend_handles_labels()[1])


def test_a_figure_keeps_the_settings_of_the_user() -> None:
    picture = Picture.of_bounds([BoundRow(name="a", certified=1.0, claimed=0.5, refuted=True)], "title")
    own = {"font.size": 6, "axes.titlesize": 9, "figure.figsize": (3.3, 2), "axes.spines.top": True}
    cycle = mpl.cycler(color=["#111111", "#abcdef"])
    with mpl.rc_context({**own, "axes.prop_cycle": cycle, "axes.grid": False}):  # type: ignore[dict-item]
        figure = make_figure(picture, of="test")
    axes: Any = figure.axes[0]
    assert figure.get_figwidth() == 3.3
    assert axes.xaxis.label.get_fontsize() == 6
    assert axes.title.get_fontsize() == 9 or axes._left_title.get_fontsize() == 9
    assert mpl.colors.to_hex(axes.patches[0].get_facecolor()) == "#abcdef"
    usual: Any = make_figure(picture, of="test").axes[0]
    assert not usual.spines["top"].get_visible()
    assert mpl.rcParams["axes.spines.top"] == mpl.rcParamsDefault["axes.spines.top"]


def test_bars_of_bounds_show_their_figures_and_what_is_infinite() -> None:
    rows = [
        BoundRow(name="_under_$score$", certified=0.2, claimed=1.0, ceiling=0.8, detectable=1.3),
        BoundRow(name="no privacy", certified=np.inf, claimed=0.1, refuted=True),
        BoundRow(name="nothing is claimed", certified=0.3),
        BoundRow(name="huge", certified=1.0, claimed=1e308),
    ]
    figure = make_figure(Picture.of_bounds(rows, "many"), of="test")
    figure.savefig(io.BytesIO(), format="svg")
    axes, right = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [row.name for row in rows]
    shown = [label.get_text() for label in right.get_yticklabels()]
    assert shown == ["0.2 of 1", "∞ of 0.1", "0.3", "1 of 1e+308"]
    labels = axes.get_legend_handles_labels()[1]
    assert sorted(labels) == sorted(set(labels))


def test_what_has_no_chart_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arena.concepts import FiniteClass

    with pytest.raises(InvalidArgument, match="no chart"):
        describe_class(FiniteClass(np.eye(3, dtype=bool))).plot()
    certificate = RESULTS["certify"]()
    with pytest.raises(InvalidArgument, match=r"a PDF, a PNG or an SVG"):
        certificate.write_plot(tmp_path / "chart.gif")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidArgument, match=r"dp-arena\[report\]"):
        certificate.plot()

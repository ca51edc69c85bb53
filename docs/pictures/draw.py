"""Draw the pictures of docs/explanation/game.md from games: python docs/pictures/draw.py

They show laplace-count with ε = 1 against count-swap, under the true claim ε = 1 and under the false claim
ε = 0.5.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adversaries.release.point_swap import CountSwap
from arena import Release, play
from audits.reports.plots import BLACK, BLUE, GREY, ORANGE, chart_style
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.run_history import RunHistory, read_history
from learners.releases.counts import LaplaceCount

HERE = Path(__file__).parent
LEARNER, ADVERSARY, GAMES = LaplaceCount(epsilon=1.0), CountSwap(), 4_000
STAKE = 0.15


def audit(claim: float) -> RunHistory:
    """The history of an audit of the claim, in small blocks."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "run.ledger"
        plan = Plan(
            learner=LEARNER,
            adversary=ADVERSARY,
            referee=Release(),
            epsilon=claim,
            delta=0.0,
            games=GAMES,
            seed=1,
            block=50,
        )
        run(plan, ledger=ledger)
        return read_history(ledger)


def draw_scores(axes: Axes) -> None:
    played = play(LEARNER, ADVERSARY, Release(), games=40_000, seed=0)
    assert played.score is not None
    bins = np.linspace(-5, 6, 56)
    for world, colour in ((0, BLUE), (1, ORANGE)):
        scores = played.score[played.worlds == world]
        axes.hist(scores - 0.0, bins, density=True, histtype="step", linewidth=1.8, color=colour)
        axes.plot([], [], color=colour, label=f"world {world}")
    axes.set(xlabel="score (the released number)", ylabel="density over 20,000 games")


def draw_bet(axes: Axes) -> None:
    """A fixed stake on one event, where audits choose both from earlier games."""
    played = play(LEARNER, ADVERSARY, Release(), games=1_200, seed=2)
    assert played.score is not None
    happened = [(played.score[played.worlds == world] > 0.5)[:500] for world in (0, 1)]
    for claim, colour, words in (
        (0.5, ORANGE, "a false claim, ε = 0.5"),
        (1.0, BLUE, "the true claim, ε = 1"),
    ):
        factors = 1 + STAKE * (happened[1] - np.exp(claim) * happened[0])
        wealth = np.cumprod([1.0, *factors])
        axes.step(np.arange(len(wealth)), wealth, where="post", color=colour, label=f"bets against {words}")
    axes.axhline(20, color=BLACK, linestyle="--", label="refuted with confidence 95 %")
    axes.set(xlabel="games in each world", ylabel="wealth", yscale="log")


def draw_ceiling(axes: Axes) -> None:
    history = audit(0.5)
    games, ceilings = np.array(history.ceilings).T
    axes.step(games, ceilings, where="post", color=GREY, linestyle=":", linewidth=2, label="ceiling")
    axes.step(history.games, history.epsilon_lower, where="post", color=BLUE, linewidth=2, label="certified")
    axes.axhline(1, color=BLACK, linestyle="--", label="true ε of the mechanism")
    axes.set(xlabel="games in each world", ylabel="ε (nats)", ylim=(0, None))


def main() -> None:
    for name, draw in (("scores", draw_scores), ("bet", draw_bet), ("ceiling", draw_ceiling)):
        with chart_style(name, font_size=12):
            figure = Figure(figsize=(7, 3.6), layout="constrained", facecolor="white")
            axes = figure.subplots()
            draw(axes)
            axes.legend(frameon=False, fontsize=10)
            figure.savefig(HERE / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()

"""Views of learners for Voting, and their distributions.

A *view* is a string with one letter for each answer: 0, 1 or ? for ⊥. It ends where the learner halts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, log

import attrs
import numpy as np
from support.players.simple_players import script
from support.statistical import check_counts

from arena import Learner, Query, Sample, Train, Voting, play
from learners.pate.ensemble import VotingLaw

Views = dict[str, float]
LETTERS = "01?"


def one_point(teachers: int, ones: int, labels_at: float = 0.0) -> Sample:
    """A sample that trains `teachers` teachers, of which `ones` label the point 1."""
    by_label = [(label, count) for label, count in ((0, teachers - ones), (1, ones)) if count]
    labels, counts = zip(*by_label, strict=True)
    return Sample([labels_at] * len(by_label), labels, counts)


def law_of_views(law: VotingLaw, votes: Sequence[int]) -> Views:
    """The distribution of the view for queries with these numbers of votes for label 1."""
    probabilities: Views = {}

    def ask(view: str, measure: np.ndarray, over: bool) -> None:
        if over or len(view) == len(votes):
            probabilities[view] = probabilities.get(view, 0.0) + float(measure.sum())
            return
        parts = law._step_by_votes(measure[None], np.array([votes[len(view)]]))
        for (label, halted), part in zip(law.outcomes, parts, strict=True):
            if part.any():
                ask(view + LETTERS[label], part[0], halted or len(view) + 1 == law.last)

    ask("", law.start(), False)
    return probabilities


def views(learner: Learner, sample: Sample, queries: Sequence[float], *, games: int) -> np.ndarray:
    """The answers of the learner as strings, (games,)."""
    asked = attrs.evolve(script(Train(sample), *[Query(x) for x in queries]), protocols=("Voting",))
    played = play(learner, asked, Voting(), games=games, seed=1, record=True)
    letters = np.array([*LETTERS, ""])
    columns = [letters[reply.label] for reply in played.replies[1:]]
    joined = columns[0]
    for column in columns[1:]:
        joined = np.char.add(joined, column)
    return joined


def check_views(seen: Sequence[str] | np.ndarray, law: Views, *, rate: float, effect: float) -> None:
    """Check that the views follow the distribution."""
    names, counts = np.unique(np.asarray(seen), return_counts=True)
    observed = dict(zip(names.tolist(), counts.tolist(), strict=True))
    cells = sorted({*law, *observed})
    check_counts(
        [observed.get(cell, 0) for cell in cells],
        [law.get(cell, 0.0) for cell in cells],
        names=cells,
        rate=rate,
        effect=effect,
        power=1 - rate,
    )


def delta(one: Views, other: Views, epsilon: float) -> float:
    """δ(ε) of `one` with respect to `other`."""
    return sum(max(0.0, p - exp(epsilon) * other.get(view, 0.0)) for view, p in one.items())


def greatest_loss(one: Views, other: Views) -> float:
    """The largest log ratio of a view, infinite if one is possible in only one world."""
    pairs = [(one.get(view, 0.0), other.get(view, 0.0)) for view in {*one, *other}]
    return max(abs(log(p / q)) if p > 0 and q > 0 else inf for p, q in pairs if p > 0 or q > 0)


# --- naive references for one game, from the listings -----------------------------------------------------


def naive_screening(
    votes: Sequence[int],
    noise: Callable[[float], float],
    *,
    teachers: int,
    scale: float,
    threshold: float,
    unstable: int,
    refreshed: bool = True,
    tells: bool = True,
) -> str:
    """The view of one game of Algorithm 2; noise(scale) draws one Laplace number.

    refreshed=False, tells=False: Algorithm 6 as printed.
    """
    noisy_threshold = threshold + noise(scale)
    view, spent = "", 0
    for ones in votes:
        margin = abs(2 * ones - teachers)
        dist = max(0, -(-margin // 2) - 1)
        if dist + noise(2 * scale) > noisy_threshold:
            view += str(int(ones >= teachers / 2)) if tells else "1"
            continue
        view += "?"
        spent += 1
        if spent == (unstable if refreshed else unstable + 1):
            break
        noisy_threshold = threshold + (noise(scale) if refreshed else 1)
    return view

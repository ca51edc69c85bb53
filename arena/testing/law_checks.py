"""Checks that games follow the output distribution that their learner declares.

The frequencies of simple events are compared with their probabilities by Hoeffding's inequality.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log, sqrt
from typing import Any

import attrs
import numpy as np

from arena.errors import NotConforming
from arena.laws import (
    AnswerLaw,
    Branches,
    Density,
    Finite,
    Independent,
    Transformed,
    ValueLaw,
    simplify_laws,
)
from arena.replies import Answer

_TOLERANCE = 1e-6  # the error of probabilities and their sum that quadratures may leave
_MOST_EVENTS = 32  # events of one finite distribution, or of one density
_MOST_PANELS = 20_000  # panels of a quadrature
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@attrs.frozen(eq=False)
class _Event:
    """An event of a game: its name, the games in which it happened (n,) bool, and its declared
    probability."""

    name: str
    happened: np.ndarray
    probability: float


def check_values(name: str, law: ValueLaw, values: np.ndarray, *, rate: float) -> None:
    """Check that independent released values (n, ...) follow the distribution that learner `name` declares.

    Compares the probabilities of single values, distribution functions at quantiles, and joint probabilities
    of adjacent coordinates. Correct values are refused with probability at most `rate`.

    Raises: NotConforming.
    """
    events = list(_list_value_events(name, law, values))
    _compare(name, "its values follow the output distribution that it declares", events, rate)
    if not (law.log_density(values) > -np.inf).all():
        raise NotConforming(name, "its values are possible by the output distribution that it declares")


def check_answers(
    name: str, law: AnswerLaw, queries: Sequence[Any], replies: Sequence[Answer], *, rate: float
) -> None:
    """Check that the answers in independent games follow the distribution that learner `name` declares.

    Compares the joint probabilities of the outcome of each query and that of the first. A learner that halts
    in all games at once may declare a distribution without halts; then its labels are compared until it does.
    With the answer that the distribution calls its last, every game must halt, and only labels are compared.
    Correct answers are refused with probability at most `rate`.

    Raises: NotConforming.
    """
    events = list(_list_outcomes(name, law, queries, replies))
    _compare(name, "its answers follow the output distribution that it declares", events, rate)


def _compare(name: str, rule: str, events: Sequence[_Event], rate: float) -> None:
    if not events or not events[0].happened.size:
        return
    allowed = sqrt(log(2 * len(events) / rate) / (2 * events[0].happened.size))
    for event in events:
        share = float(event.happened.mean())
        if abs(share - event.probability) > allowed or (event.probability == 0 and share > 0):
            raise NotConforming(
                name, rule, f"{event.name} has frequency {share:.3f}, and should have {event.probability:.3f}"
            )


def _check_probabilities(name: str, masses: np.ndarray) -> None:
    if not ((masses >= -_TOLERANCE).all() and abs(masses.sum() - 1.0) <= _TOLERANCE):
        raise NotConforming(
            name,
            "the probabilities that it declares are at least 0 and have sum 1",
            f"the sum is {masses.sum():.6g}, the least is {masses.min():.6g}",
        )


# --- values -------------------------------------------------------------------------------------------------


def _list_value_events(name: str, law: ValueLaw, values: np.ndarray) -> Iterator[_Event]:
    """Events of the values; none if the kind of distribution is not known here."""
    (law,) = simplify_laws(law)
    if isinstance(law, Transformed):
        yield from _list_value_events(name, law.law, np.asarray(law.inverse(values)))
    elif isinstance(law, Finite):
        yield from _list_finite_events(law, values)
    elif isinstance(law, Density):
        cuts, below = _integrate(law)
        _check_probabilities(name, np.diff(below))
        yield from _list_density_events(cuts, below, values.reshape(len(values)), "a value")
    elif isinstance(law, Independent):
        yield from _list_vector_events(name, law, values.reshape(len(values), -1))
    elif isinstance(law, Branches):
        yield from _list_branch_events(name, law, values)


def _list_finite_events(law: Finite, values: np.ndarray) -> Iterator[_Event]:
    known, flat = law.values.reshape(len(law.values), -1), values.reshape(len(values), -1)
    both, place = np.unique(np.concatenate([known, flat]), axis=0, return_inverse=True)
    cell_of = np.full(len(both), len(known))
    cell_of[place.ravel()[: len(known)]] = np.arange(len(known))
    cells = cell_of[place.ravel()[len(known) :]]
    yield _Event("a value of probability 0", cells == len(known), 0.0)
    for group in np.array_split(np.arange(len(known)), min(len(known), _MOST_EVENTS)):
        more = f" or one of the next {len(group) - 1}" if len(group) > 1 else ""
        probability = float(law.probabilities[group].sum())
        yield _Event(f"value {law.values[group[0]]}{more}", np.isin(cells, group), probability)


def _integrate(law: Density) -> tuple[np.ndarray, np.ndarray]:
    """(k,) numbers, and (k,) the mass below each."""
    panels = min(_MOST_PANELS, int(2 * (law.high - law.low) / law.scale) + 1)
    cuts = np.unique([*np.linspace(law.low, law.high, panels + 1), *law.kinks])
    cuts = cuts[(cuts >= law.low) & (cuts <= law.high)]
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    heights = np.exp(law.log_density(nodes.ravel())).reshape(nodes.shape)
    return cuts, np.append(0.0, np.cumsum(half * (heights @ _WEIGHTS)))


def _list_density_events(
    cuts: np.ndarray, below: np.ndarray, numbers: np.ndarray, name: str, games: np.ndarray | bool = True
) -> Iterator[_Event]:
    """The events that a number is at most some quantiles, and at most the largest number."""
    levels = below[-1] * np.arange(1, _MOST_EVENTS) / _MOST_EVENTS
    for index in np.unique(np.append(np.searchsorted(below, levels), len(cuts) - 1)):
        yield _Event(f"{name} ≤ {cuts[index]:.4g}", games & (numbers <= cuts[index]), float(below[index]))


def _list_vector_events(name: str, law: Independent, values: np.ndarray) -> Iterator[_Event]:
    medians = []  # of each coordinate, the event whose probability is closest to 1/2
    for index, (part, column) in enumerate(zip(law.parts, values.T, strict=True)):
        events = list(_list_value_events(name, part, column))
        yield from (attrs.evolve(event, name=f"in part {index}, {event.name}") for event in events)
        medians.append(min(events, key=lambda event: abs(event.probability - 0.5)))
    for index, (first, second) in enumerate(pairwise(medians)):
        name = f"in parts {index} and {index + 1}, {first.name} with {second.name}"
        yield _Event(name, first.happened & second.happened, first.probability * second.probability)


def _list_branch_events(name: str, law: Branches, values: np.ndarray) -> Iterator[_Event]:
    branch, number = law.read(values)
    shares = []
    for index, part in enumerate(law.parts):
        games = branch == index
        if isinstance(part, Density):
            cuts, below = _integrate(part)
            shares.append(float(below[-1]))
            yield from _list_density_events(cuts, below, number, f"branch {index} with a number", games)
        else:
            shares.append(part)
        yield _Event(f"branch {index}", games, shares[-1])
    _check_probabilities(name, np.array(shares))


# --- answers ------------------------------------------------------------------------------------------------


def _list_outcomes(
    name: str, law: AnswerLaw, queries: Sequence[Any], replies: Sequence[Answer]
) -> Iterator[_Event]:
    going_on = np.array([not halted for _, halted in law.outcomes])
    measure = np.asarray(law.start())[None]
    _check_probabilities(name, measure)
    live, first = np.ones(len(replies[0].label), bool), None
    for t, (x, reply) in enumerate(zip(queries, replies, strict=True), start=1):
        parts = _step(name, law, measure, np.asarray(x))
        probabilities = parts.sum(axis=2)
        all_stop = t == law.last or bool(going_on.all() and reply.halted.all())
        outcome = np.where(live, _match_outcome(law, reply.label, reply.halted & (not all_stop)), -1)
        if t == law.last:
            yield _Event("a game that goes on after the last answer", live & ~reply.halted, 0.0)
            probabilities = _add_by_label(law, probabilities)
            outcome = np.where(live, _match_outcome(law, reply.label), -1)
        yield _Event(f"answer {t} with an unknown outcome", live & (outcome == -1), 0.0)
        for now in range(len(law.outcomes)):
            for before in range(len(measure)):
                games, text = outcome == now, f"answer {t} = {_describe(law, now)}"
                if first is not None:
                    games &= first == before
                    text = f"answer 1 = {_describe(law, before)} with {text}"
                yield _Event(text, games, float(probabilities[now, before]))
        if first is None:
            first, measure = outcome, np.where(going_on[:, None], parts[:, 0], 0.0)
        else:
            measure = parts[going_on].sum(axis=0)
        live = ~reply.halted
        if all_stop:
            return


def _step(name: str, law: AnswerLaw, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(k, n, m): a step of the hidden Markov chain, checked."""
    parts = np.asarray(law.step(measure, np.broadcast_to(x, (len(measure), *x.shape))))
    if parts.shape[:2] != (len(law.outcomes), len(measure)):
        raise NotConforming(
            name,
            "a step of its output distribution has a part for every outcome and measure",
            f"shape {parts.shape} for {len(law.outcomes)} outcomes and {len(measure)} measures",
        )
    for part, mass in zip(parts.swapaxes(0, 1), measure.sum(axis=1), strict=True):
        if mass > 0:
            _check_probabilities(name, part / mass)
    return parts


def _match_outcome(law: AnswerLaw, labels: np.ndarray, halted: np.ndarray | None = None) -> np.ndarray:
    """(n,): the index of the first outcome with each label, and each halt unless None; -1 without one."""
    outcome = np.full(len(labels), -1)
    for index, (label, halts) in reversed(list(enumerate(law.outcomes))):
        outcome[(labels == label) & (True if halted is None else halted == halts)] = index
    return outcome


def _add_by_label(law: AnswerLaw, probabilities: np.ndarray) -> np.ndarray:
    """(k, n): probabilities (k, n) of the outcomes, those with one label added up at the first of them."""
    labels = np.array([label for label, _ in law.outcomes])
    sums = np.zeros_like(probabilities)
    np.add.at(sums, _match_outcome(law, labels), probabilities)
    return sums


def _describe(law: AnswerLaw, outcome: int) -> str:
    label, halted = law.outcomes[outcome]
    return f"{label}, halting" if halted else str(label)

"""Do games follow the law that their learner tells? Simple events, compared by Hoeffding's inequality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log, sqrt
from typing import Any

import attrs
import numpy as np

from arena.errors import NotConforming
from arena.laws import AnswerLaw, Branches, Density, Finite, Independent, ValueLaw
from arena.replies import Answer

_SLACK = 1e-6  # how far from what they should be quadratures may leave chances and their sum
_MOST_EVENTS = 32  # of one finite law, or one density
_MOST_PANELS = 20_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@attrs.frozen(eq=False)
class _Event:
    """What may happen in a game: its name, where it did (n,) bool, and its chance by the law."""

    name: str
    happened: np.ndarray
    chance: float


def check_values(name: str, law: ValueLaw, values: np.ndarray, *, rate: float) -> None:
    """Check that independent released values (n, ...) follow the law that learner `name` tells.

    Probabilities of single values, distribution functions at quantiles, and for neighbours in a vector that
    their parts hang together as told. Sound values are refused with probability at most `rate`.

    Raises: NotConforming.
    """
    events = list(_events(name, law, values))
    _compare(name, "what it releases follows the law that it tells", events, rate)
    if not (law.log_density(values) > -np.inf).all():
        raise NotConforming(name, "by the law that it tells, what it releases is possible")


def check_answers(
    name: str, law: AnswerLaw, queries: Sequence[Any], replies: Sequence[Answer], *, rate: float
) -> None:
    """Check that independent games, in which `queries` were asked and answered, follow the law that learner
    `name` tells.

    Compares how often each outcome came together with each outcome of the first query. A learner that stops
    in all games at once may tell a law without halts: its labels are compared up to there. With the answer
    that the law calls its last, every game is to halt, and labels alone are compared. Sound answers are
    refused with probability at most `rate`.

    Raises: NotConforming.
    """
    events = list(_outcomes(name, law, queries, replies))
    _compare(name, "its answers follow the law that it tells", events, rate)


def _compare(name: str, rule: str, events: Sequence[_Event], rate: float) -> None:
    if not events or not events[0].happened.size:
        return
    allowed = sqrt(log(2 * len(events) / rate) / (2 * events[0].happened.size))
    for event in events:
        share = float(event.happened.mean())
        if abs(share - event.chance) > allowed or (event.chance == 0 and share > 0):
            raise NotConforming(
                name,
                rule,
                f"{event.name} came in {share:.3f} of the games, and should in {event.chance:.3f}",
            )


def _check_chances(name: str, chances: np.ndarray, total: float = 1.0) -> None:
    if not ((chances >= -_SLACK).all() and abs(chances.sum() - total) <= _SLACK):
        raise NotConforming(
            name,
            "the law that it tells has chances of at least 0 and of sum 1",
            f"of sum {chances.sum() / total:.6g}, the least is {chances.min():.6g}",
        )


# --- values -------------------------------------------------------------------------------------------------


def _events(name: str, law: ValueLaw, values: np.ndarray) -> Iterator[_Event]:
    """None for a law of a kind that is not known here."""
    if isinstance(law, Finite):
        yield from _of_finite(law, values)
    elif isinstance(law, Density):
        cuts, below = _distribution(law)
        _check_chances(name, np.diff(below))
        yield from _of_density(cuts, below, values.reshape(len(values)), "a value")
    elif isinstance(law, Independent):
        yield from _of_parts(name, law, values.reshape(len(values), -1))
    elif isinstance(law, Branches):
        yield from _of_branches(name, law, values)


def _of_finite(law: Finite, values: np.ndarray) -> Iterator[_Event]:
    known, flat = law.values.reshape(len(law.values), -1), values.reshape(len(values), -1)
    both, place = np.unique(np.concatenate([known, flat]), axis=0, return_inverse=True)
    cell_of = np.full(len(both), len(known))
    cell_of[place.ravel()[: len(known)]] = np.arange(len(known))
    cells = cell_of[place.ravel()[len(known) :]]
    yield _Event("a value that the law does not know", cells == len(known), 0.0)
    for some in np.array_split(np.arange(len(known)), min(len(known), _MOST_EVENTS)):
        more = f" or one of {len(some) - 1} that follow" if len(some) > 1 else ""
        chance = float(law.probabilities[some].sum())
        yield _Event(f"value {law.values[some[0]]}{more}", np.isin(cells, some), chance)


def _distribution(law: Density) -> tuple[np.ndarray, np.ndarray]:
    """Places (k,), and (k,) how much of the law lies below each."""
    panels = min(_MOST_PANELS, int(2 * (law.high - law.low) / law.scale) + 1)
    cuts = np.unique([*np.linspace(law.low, law.high, panels + 1), *law.kinks])
    cuts = cuts[(cuts >= law.low) & (cuts <= law.high)]
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    heights = np.exp(law.log_density(nodes.ravel())).reshape(nodes.shape)
    return cuts, np.append(0.0, np.cumsum(half * (heights @ _WEIGHTS)))


def _of_density(
    cuts: np.ndarray, below: np.ndarray, numbers: np.ndarray, what: str, where: np.ndarray | bool = True
) -> Iterator[_Event]:
    """How often a number is at most each of some quantiles, and at most the largest."""
    levels = below[-1] * np.arange(1, _MOST_EVENTS) / _MOST_EVENTS
    for index in np.unique(np.append(np.searchsorted(below, levels), len(cuts) - 1)):
        yield _Event(f"{what} ≤ {cuts[index]:.4g}", where & (numbers <= cuts[index]), float(below[index]))


def _of_parts(name: str, law: Independent, values: np.ndarray) -> Iterator[_Event]:
    even = []
    for index, (part, column) in enumerate(zip(law.parts, values.T, strict=True)):
        events = list(_events(name, part, column))
        yield from (attrs.evolve(event, name=f"in part {index}, {event.name}") for event in events)
        even.append(min(events, key=lambda event: abs(event.chance - 0.5)))
    for index, (one, other) in enumerate(pairwise(even)):
        both = f"in parts {index} and {index + 1}, {one.name} with {other.name}"
        yield _Event(both, one.happened & other.happened, one.chance * other.chance)


def _of_branches(name: str, law: Branches, values: np.ndarray) -> Iterator[_Event]:
    branch, number = law.read(values)
    shares = []
    for index, part in enumerate(law.parts):
        here = branch == index
        if isinstance(part, Density):
            cuts, below = _distribution(part)
            shares.append(float(below[-1]))
            yield from _of_density(cuts, below, number, f"branch {index} with a number", here)
        else:
            shares.append(part)
        yield _Event(f"branch {index}", here, shares[-1])
    _check_chances(name, np.array(shares))


# --- answers ------------------------------------------------------------------------------------------------


def _outcomes(
    name: str, law: AnswerLaw, queries: Sequence[Any], replies: Sequence[Answer]
) -> Iterator[_Event]:
    going_on = np.array([not halted for _, halted in law.outcomes])
    measure = np.asarray(law.start())[None]
    _check_chances(name, measure)
    live, first = np.ones(len(replies[0].label), bool), None
    for t, (x, reply) in enumerate(zip(queries, replies, strict=True), start=1):
        chances = (parts := _stepped(name, law, measure, np.asarray(x))).sum(axis=2)
        all_stop = t == law.last or bool(going_on.all() and reply.halted.all())
        outcome = np.where(live, _outcome(law, reply.label, reply.halted & (not all_stop)), -1)
        if t == law.last:
            yield _Event("a game that goes on after the last answer", live & ~reply.halted, 0.0)
            chances = _by_label(law, chances)
            outcome = np.where(live, _outcome_of_label(law, reply.label), -1)
        yield _Event(f"answer {t} of no known outcome", live & (outcome == -1), 0.0)
        for now in range(len(law.outcomes)):
            for before in range(len(measure)):
                here, told = outcome == now, f"answer {t} = {_text(law, now)}"
                if first is not None:
                    here, told = here & (first == before), f"answer 1 = {_text(law, before)} with {told}"
                yield _Event(told, here, float(chances[now, before]))
        if first is None:
            first, measure = outcome, np.where(going_on[:, None], parts[:, 0], 0.0)
        else:
            measure = parts[going_on].sum(axis=0)
        live = ~reply.halted
        if all_stop:
            return


def _stepped(name: str, law: AnswerLaw, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(k, n, m): the step of the law, checked."""
    parts = np.asarray(law.step(measure, np.broadcast_to(x, (len(measure), *x.shape))))
    if parts.shape[:2] != (len(law.outcomes), len(measure)):
        raise NotConforming(
            name,
            "a step of the law that it tells has a part for every outcome and measure",
            f"shape {parts.shape} for {len(law.outcomes)} outcomes and {len(measure)} measures",
        )
    for part, mass in zip(parts.swapaxes(0, 1), measure.sum(axis=1), strict=True):
        if mass > 0:
            _check_chances(name, part / mass)
    return parts


def _outcome(law: AnswerLaw, labels: np.ndarray, halted: np.ndarray) -> np.ndarray:
    """(n,): which outcome of the law each game had; -1 for none."""
    outcome = np.full(len(labels), -1)
    for index, (label, halts) in enumerate(law.outcomes):
        outcome[(labels == label) & (halted == halts)] = index
    return outcome


def _outcome_of_label(law: AnswerLaw, labels: np.ndarray) -> np.ndarray:
    """(n,): the first outcome with each label; -1 for none."""
    outcome = np.full(len(labels), -1)
    for index, (label, _) in reversed(list(enumerate(law.outcomes))):
        outcome[labels == label] = index
    return outcome


def _by_label(law: AnswerLaw, chances: np.ndarray) -> np.ndarray:
    """(k, n): of outcomes of one label, the first has the chances (k, n) of all."""
    labels = np.array([label for label, _ in law.outcomes])
    found = np.zeros_like(chances)
    np.add.at(found, _outcome_of_label(law, labels), chances)
    return found


def _text(law: AnswerLaw, outcome: int) -> str:
    label, halted = law.outcomes[outcome]
    return f"{label}, halting" if halted else str(label)

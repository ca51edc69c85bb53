"""The points with which `poison` spoils the content of a learner."""

from __future__ import annotations

import numpy as np

from adversaries.figure1.populations import Listed, Population
from arena import Unsupported
from arena.concepts import ConceptClass

CROWD, REPEAT, SHIFT = AIMS = ("crowd", "repeat", "shift")
_DISTINCT = 1_024  # points of a crowd
_TESTED = 2_000  # points on which rivals are tried
_MOST_RIVALS = 4_096
_DRAWN = 4_096  # points of a game that are looked through at a time
_TIMES = 32


def bank_of(
    aim: str,
    people: Population,
    concepts: ConceptClass,
    games: int,
    reach: float,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """For each game, the points (m, ...) that chosen queries are drawn from.

    Raises: Unsupported if D leaves out no point that could be asked instead.
    """
    if aim == CROWD:
        return _crowd(people, concepts, games, reach, rng)
    if aim == REPEAT:
        return _one_point(people, concepts, rng)
    return _beside(people, concepts, games, rng)


def _crowd(
    people: Population, concepts: ConceptClass, games: int, reach: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Distinct points of D on which the target and a rival disagree, which errs on about `reach` of D."""
    rivals = _rivals(people, concepts, reach, rng)
    found: list[list[np.ndarray]] = [[] for _ in range(games)]
    for _ in range(_TIMES):
        points, truth = people.draw(rng, _DRAWN)
        for game, (own, said) in enumerate(zip(points, truth, strict=True)):
            found[game].append(own[concepts.labels(rivals[game][None], own)[0] != (said == 1)])
        if min(sum(map(len, parts)) for parts in found) >= _DISTINCT:
            break
    crowds = [np.unique(np.concatenate(parts), axis=0) for parts in found]
    # A rival that is right on all that was drawn, as on a small domain it may be, leaves no crowd.
    return [crowd if len(crowd) else own[:1] for crowd, own in zip(crowds, points, strict=True)]


def _rivals(people: Population, concepts: ConceptClass, reach: float, rng: np.random.Generator) -> np.ndarray:
    """(n, ...): a concept a game, of those that few points of D tell apart, with an error next to `reach`."""
    few = 1
    while few < _TESTED and concepts.growth_bound(2 * few) <= _MOST_RIVALS:
        few *= 2
    points, truth = people.draw(rng, _TESTED)
    rivals = []
    for own, said in zip(points, truth == 1, strict=True):
        options = concepts.dichotomies(own[:few]).concepts
        errors = (concepts.labels(options, own) != said).mean(axis=1)
        rivals.append(options[np.where(errors > 0, np.abs(errors - reach), np.inf).argmin()])
    return np.array(rivals)


def _one_point(people: Population, concepts: ConceptClass, rng: np.random.Generator) -> list[np.ndarray]:
    """The point of D that teaches least: a teacher of it alone errs most."""
    points, truth = people.draw(rng, _TESTED)
    worst = []
    for own, said in zip(points, truth == 1, strict=True):
        some = own[:64]
        held = concepts.erm(some[:, None], said[:64, None])
        errors = (concepts.labels(held, own) != said).mean(axis=1)
        worst.append(some[errors.argmax()][None])
    return worst


def _beside(
    people: Population, concepts: ConceptClass, games: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Points where D has none: of a finite domain those that it leaves out, else some on either side."""
    if concepts.domain is not None:
        domain = concepts.check(np.array(concepts.domain))
        there = people.points[people.chances > 0] if isinstance(people, Listed) else domain
        known = {point.tobytes() for point in np.asarray(there, float)}
        left = np.array([point for point in domain if np.asarray(point, float).tobytes() not in known])
        if not len(left):
            raise Unsupported(
                "D leaves out no point of the domain, so there is none to shift to",
                value=concepts,
                remedy="Choose another aim, or bring data that leave some out.",
            )
        return [left] * games
    points = people.draw(rng, _TESTED)[0]
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    width = np.where(high > low, high - low, 1.0)
    aside = rng.random((_DISTINCT, *points.shape[2:])) * width
    sides = [concepts.check(high + width / 100 + aside), concepts.check(low - width / 100 - aside)]
    return [np.concatenate(sides)] * games

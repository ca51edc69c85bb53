"""Other concepts as halfspaces with margin: sparse disjunctions, decision lists, points.

Each gives the weights v >= 0, |v|_1 = 1, and tells how the points are to be written. All margins are
computed, none is cited.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import freeze


@attrs.frozen(eq=False)
class Target:
    """Weights of a halfspace, and the margin at which they classify all points that are written as told.

    Shapes: weights (d,), read-only. margin: exact, the least |v·x| over the points.
    """

    weights: np.ndarray = attrs.field(converter=freeze)
    margin: float


def doubled(points: np.ndarray) -> np.ndarray:
    """(x, -x) for points x: a weight v_i of either sign becomes max(v_i, 0) and max(-v_i, 0).

    Shapes: points (..., d); result (..., 2d). The margin stays.
    """
    return np.concatenate([points, -points], axis=-1)


def with_constant(points: np.ndarray) -> np.ndarray:
    """(x, -1) for points x, so that a weight can stand for a threshold.

    Shapes: points (..., d); result (..., d + 1).
    """
    return np.concatenate([points, -np.ones_like(points[..., :1])], axis=-1)


def point_function(size: int, i: int) -> Target:
    """The function that is 1 at the i-th of `size` points, when the j-th is written as the vector that is 1
    in place j and -1 elsewhere: the embedding of section 4.4 of Bun and Fang, with margin 1.

    >>> point_function(3, 1).weights @ (2 * np.eye(3) - 1)
    array([-1.,  1., -1.])
    """
    if not 0 <= i < size:
        raise InvalidArgument(f"a point function is one of 0 to {size - 1}", value=i)
    return Target(np.eye(size)[i], 1.0)


def disjunction(variables: int, relevant: Sequence[int]) -> Target:
    """x_i or ... or x_j over {0, 1}^variables, for points (x, -1): sum of x_i - 1/2, over k + 1/2.

    margin: 1/(2k + 1) for k relevant variables; reached by a point with one or none of them.

    >>> disjunction(3, [0, 2]).margin
    0.2
    """
    chosen = np.unique(np.asarray(relevant, np.intp))
    if not 0 < len(chosen) <= variables or chosen[0] < 0 or chosen[-1] >= variables:
        raise InvalidArgument(f"relevant variables are some of 0 to {variables - 1}", value=list(relevant))
    weights = np.zeros(variables + 1)
    weights[chosen] = 1
    weights[-1] = 0.5
    return Target(weights / weights.sum(), 0.5 / (len(chosen) + 0.5))


def decision_list(variables: int, terms: Sequence[tuple[int, int]], default: int) -> Target:
    """The list "if x_i then b_i, else if ..., else default" over {0, 1}^variables, for points doubled from
    (x, -1): (x, -1, -x, 1).

    The default weighs 1 and always fires. Whatever later terms fire, a term must win by 1; so it weighs as
    much as all later ones of the other label, the default among them, and 1 more where the default is not for
    it. Lemma 4.10 of Bun and Fang cites weights of this kind; these are the least, and no others have a
    larger margin, as tests find by linear programmes. With r terms and D changes of the label, that to the
    default counted, the margin is of the order (D/r)^D: a block of k terms may fire k times, so that weights
    multiply.

    terms: (i, b) in order, each variable once. margin: exact; 1 over the sum of all weights.

    >>> round(1 / decision_list(4, [(0, 1), (1, 1), (2, 0)], 1).margin)
    7
    """
    chosen = [i for i, _ in terms]
    if len(set(chosen)) < len(chosen) or not all(0 <= i < variables for i in chosen):
        raise InvalidArgument(
            f"the terms of a list are different variables, 0 to {variables - 1}", value=chosen
        )
    if not {default, *(label for _, label in terms)} <= {0, 1}:
        raise InvalidArgument("the labels of a list are 0 and 1", value=[*(b for _, b in terms), default])
    signed = np.zeros(variables)
    later = {default: 1.0, 1 - default: 0.0}  # the weight of all that comes later, by label
    for i, label in reversed(terms):
        weight = later[1 - label] + (0 if label == default else 1)
        signed[i] = weight if label else -weight
        later[label] += weight
    constant = -1.0 if default else 1.0  # times the coordinate -1
    both = np.append(signed, constant)
    weights = np.concatenate([np.maximum(both, 0), np.maximum(-both, 0)])
    return Target(weights / weights.sum(), float(1 / weights.sum()))

"""Other concepts as halfspaces with margin: point functions, sparse disjunctions and decision lists.

Each function returns weights v >= 0 with |v|_1 = 1, and documents how its points are encoded. All margins
are exact and computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import freeze


@attrs.frozen(eq=False)
class HalfspaceTarget:
    """Weights of a halfspace, and the margin with which they classify all points in the documented encoding.

    Shapes: weights (d,), read-only. margin: exact, the least |v·x| over the points.
    """

    weights: np.ndarray = attrs.field(converter=freeze)
    margin: float


def double_points(points: np.ndarray) -> np.ndarray:
    """(x, -x) for points x, so that a weight v_i of either sign becomes max(v_i, 0) and max(-v_i, 0).

    Shapes: points (..., d); result (..., 2d). The margin is unchanged.
    """
    return np.concatenate([points, -points], axis=-1)


def append_constant(points: np.ndarray) -> np.ndarray:
    """(x, -1) for points x, so that one weight can be a threshold.

    Shapes: points (..., d); result (..., d + 1).
    """
    return np.concatenate([points, -np.ones_like(points[..., :1])], axis=-1)


def point_function(size: int, i: int) -> HalfspaceTarget:
    """The function that is 1 at the i-th of `size` points (section 4.4 of Bun and Fang), with margin 1.

    Encoding: the j-th point is the vector that is 1 in coordinate j and -1 elsewhere.

    >>> point_function(3, 1).weights @ (2 * np.eye(3) - 1)
    array([-1.,  1., -1.])
    """
    if not 0 <= i < size:
        raise InvalidArgument(f"the point of a point function must be one of 0 to {size - 1}", value=i)
    return HalfspaceTarget(np.eye(size)[i], 1.0)


def disjunction(variables: int, relevant: Sequence[int]) -> HalfspaceTarget:
    """x_i or ... or x_j over {0, 1}^variables: the sign of (sum of x_i - 1/2), divided by k + 1/2.

    Encoding: (x, -1). margin: 1/(2k + 1) for k relevant variables, attained with one or none of them.

    >>> disjunction(3, [0, 2]).margin
    0.2
    """
    indices = np.unique(np.asarray(relevant, np.intp))
    if not 0 < len(indices) <= variables or indices[0] < 0 or indices[-1] >= variables:
        raise InvalidArgument(
            f"a disjunction needs one or more relevant variables from 0 to {variables - 1}",
            value=list(relevant),
        )
    weights = np.zeros(variables + 1)
    weights[indices] = 1
    weights[-1] = 0.5
    return HalfspaceTarget(weights / weights.sum(), 0.5 / (len(indices) + 0.5))


def decision_list(variables: int, terms: Sequence[tuple[int, int]], default: int) -> HalfspaceTarget:
    """The list "if x_i then b_i, else if ..., else default" over {0, 1}^variables.

    Lemma 4.10 of Bun and Fang. Encoding: (x, -1) doubled, (x, -1, -x, 1). A term outweighs all later ones of
    the other label by 1, the default of weight 1 included. No weights have a larger margin. With r terms and
    D changes of label, the change to the default included, the margin is of the order (D/r)^D.

    terms: (i, b) in order, each variable at most once. margin: 1 / (the sum of all weights).

    >>> round(1 / decision_list(4, [(0, 1), (1, 1), (2, 0)], 1).margin)
    7
    """
    indices = [i for i, _ in terms]
    if len(set(indices)) < len(indices) or not all(0 <= i < variables for i in indices):
        raise InvalidArgument(
            f"the terms of a list must be different variables from 0 to {variables - 1}", value=indices
        )
    if not {default, *(label for _, label in terms)} <= {0, 1}:
        raise InvalidArgument("the labels of a list must be 0 or 1", value=[*(b for _, b in terms), default])
    signed = np.zeros(variables)
    later = {default: 1.0, 1 - default: 0.0}  # total weight of the later terms, by label
    for i, label in reversed(terms):
        weight = later[1 - label] + (0 if label == default else 1)
        signed[i] = weight if label else -weight
        later[label] += weight
    constant = -1.0 if default else 1.0  # multiplies the coordinate -1
    weights = np.maximum(double_points(np.append(signed, constant)), 0)
    return HalfspaceTarget(weights / weights.sum(), float(1 / weights.sum()))

"""Scores of what the adversaries of `refuting_adversaries` saw: higher looks like world 1."""

from __future__ import annotations

import numpy as np


def first(values: np.ndarray) -> np.ndarray:
    return values[:, 0]


def second(values: np.ndarray) -> np.ndarray:
    return values[:, 1]


def last(values: np.ndarray) -> np.ndarray:
    return values[:, -1]


def first_is_zero(values: np.ndarray) -> np.ndarray:
    return values[:, 0] == 0


def second_less_first(values: np.ndarray) -> np.ndarray:
    return values[:, 1] - values[:, 0]


def total(values: np.ndarray) -> np.ndarray:
    return values.sum(axis=1)


def later_total(values: np.ndarray) -> np.ndarray:
    return values[:, 1:].sum(axis=1)


def first_point_less_second(values: np.ndarray) -> np.ndarray:
    return values[:, :, 0].sum(axis=1) - values[:, :, 1].sum(axis=1)


def drop_past_the_middle(values: np.ndarray) -> np.ndarray:
    middle = values.shape[1] // 2
    return values[:, middle] - values[:, middle + 1]


def label_of_first_rule(rules: np.ndarray) -> np.ndarray:
    return rules[:, 0] % 2


def label_of_true(rules: np.ndarray) -> np.ndarray:
    return rules.max(axis=1) % 2


def ones_less_zeros(rules: np.ndarray) -> np.ndarray:
    return np.where(rules < 0, 0, 2 * (rules % 2) - 1).sum(axis=1)


def has_one_rule_of_a_variable(rules: np.ndarray) -> np.ndarray:
    return (rules[:, 0] < 2) & (rules[:, 1] < 0)


def begins_with_the_variable(rules: np.ndarray) -> np.ndarray:
    return rules[:, 0] < 2


def first_variable_says_one(rules: np.ndarray) -> np.ndarray:
    return rules[:, 0] == 1


def late_one(rules: np.ndarray) -> np.ndarray:
    """Whether, after rules on the second and then the third variable, the first remaining rule has label
    1."""
    return (rules[:, 0] // 2 == 1) & (rules[:, 1] // 2 == 2) & (rules[:, 2] % 2 == 1)


def labels_one_less_zero(seen: np.ndarray) -> np.ndarray:
    return (seen[:, :-1] == 1).sum(axis=1) - (seen[:, :-1] == 0).sum(axis=1)


def labels(seen: np.ndarray) -> np.ndarray:
    return (seen[:, :-1] < 2).sum(axis=1)


def unlike_each_other(seen: np.ndarray) -> np.ndarray:
    return seen[:, 0] != seen[:, 1]


CALM = 120  # rounds before and after an example


def changes(predictions: np.ndarray) -> np.ndarray:
    """The number of times a hypothesis differs from the one before it."""
    return (predictions[:, 1:] != predictions[:, :-1]).any(axis=2).sum(axis=1)


def unlike_the_first(predictions: np.ndarray) -> np.ndarray:
    return (predictions != predictions[:, :1]).any(axis=2).sum(axis=1)


def later_if_never_one(predictions: np.ndarray) -> np.ndarray:
    """How late the hypothesis changes, in games in which no hypothesis labels the first point 1."""
    changed = (predictions != predictions[:, :1]).any(axis=2)
    first = np.where(changed.any(axis=1), changed.argmax(axis=1), changed.shape[1])
    return np.where(predictions[:, :, 0].any(axis=1), -1, first)


def first_coordinate(shown: np.ndarray) -> np.ndarray:
    """For vector concepts: the first coordinate of the second hypothesis, in [0, 1]."""
    return shown[:, 1, 0] / shown[:, 1].sum(axis=1)


def first_coordinates_later_ones_more(shown: np.ndarray) -> np.ndarray:
    return shown[:, 1:, 0] @ np.arange(1.0, shown.shape[1])


def leaves_the_first(shown: np.ndarray) -> np.ndarray:
    return (shown[:, 1] != shown[:, 0]).any(axis=1).astype(float)


def below_a_whole_number(shown: np.ndarray) -> np.ndarray:
    return (shown[:, 1] % 1).sum(axis=1)


def more_ones_in_the_second_calm(predictions: np.ndarray) -> np.ndarray:
    ones = predictions[:, :, 0]
    return ones[:, -CALM:].sum(axis=1) - ones[:, -2 * CALM : -CALM].sum(axis=1)

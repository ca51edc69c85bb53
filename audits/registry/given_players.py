"""Players as users give them in Python: an instance, a name, a file's class or function, or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.players import Adversary, Learner
from arena.sample import Sample
from audits.registry.players import ADVERSARIES, FUNCTION_LEARNER, LEARNERS, resolve_learner
from audits.registry.settings_text import build_player

GivenLearner = Learner | str | Callable[..., Any]
GivenAdversary = Adversary | str
_FORMS = {
    "learner": "Give a learner, the name of one, path/to/file.py:name, or a function f(data, rng).",
    "adversary": "Give an adversary, the name of one, or path/to/file.py:name.",
    "referee": "Give a referee, such as arena.Release().",
}


def check_player(role: str, player: object, base: type) -> None:
    """Refuse what is no instance of the base class of a role, "learner", "adversary" or "referee".

    Also refused are players whose data are something else than a `Sample`.

    Raises: InvalidArgument.
    """
    rule = f"{'an' if role[0] in 'aeiou' else 'a'} {role} is given as an instance"
    rule += "" if role == "referee" else " or a name"
    if inspect.isclass(player):
        raise InvalidArgument(
            f"{rule}, got the class {player.__name__}",
            remedy=f"Write {player.__name__}(...), with its settings by name.",
        )
    if not isinstance(player, base):
        raise InvalidArgument(rule, value=player, remedy=_FORMS[role])
    sample = getattr(player, "sample", None)
    if role == "adversary" and "sample" in attrs.fields_dict(type(player)):  # type: ignore[arg-type]
        check_sample(f"sample of {getattr(player, 'name', role)}", sample)


def check_sample(name: str, sample: object) -> None:
    """Raises: InvalidArgument unless the value is a `Sample` or None."""
    if sample is not None and not isinstance(sample, Sample):
        raise InvalidArgument(
            f"{name} must be an arena.Sample, got a {type(sample).__name__}",
            remedy="Write Sample(points, labels).",
        )


def is_function(learner: object) -> bool:
    """Whether a learner is given as a function: the function itself, or path/to/file.py:function."""
    if isinstance(learner, str):
        return learner.rpartition(":")[0].endswith(".py") and resolve_learner(learner)[0] == FUNCTION_LEARNER
    return callable(learner) and not inspect.isclass(learner) and not isinstance(learner, Learner | Adversary)


def configure_learner(learner: object, settings: Mapping[str, Any], sample: Sample | None = None) -> Learner:
    """The learner that is given. settings: by name, as text or as values; for an instance there are none.

    Raises: InvalidArgument if it is none, or a setting is refused.
    """
    if isinstance(learner, str):
        name, own_settings = resolve_learner(learner)
        named: Learner = build_player(LEARNERS.find(name), own_settings | dict(settings), sample=sample)
        return named
    if is_function(learner):
        function: Learner = build_player(
            LEARNERS.find(FUNCTION_LEARNER), {FUNCTION_LEARNER: learner, **settings}
        )
        return function
    check_player("learner", learner, Learner)
    assert isinstance(learner, Learner)
    _refuse_settings(learner, settings)
    return learner


def copy_learner(learner: Learner) -> Learner:
    """A copy of which no adversary has a hold; the same learner if it cannot be copied."""
    try:
        return deepcopy(learner)
    except Exception:  # settings that are objects of other libraries may raise anything
        return learner


def configure_adversary(
    adversary: object, settings: Mapping[str, Any], *, learner: Learner, sample: Sample | None = None
) -> Adversary:
    """The adversary that is given, with the user's data if there are any. As `configure_learner`."""
    if isinstance(adversary, str):
        adversary = ADVERSARIES.find_instance(adversary) or adversary
    if isinstance(adversary, str):
        named: Adversary = build_player(ADVERSARIES.find(adversary), settings, sample=sample, learner=learner)
        return named
    check_player("adversary", adversary, Adversary)
    assert isinstance(adversary, Adversary)
    _refuse_settings(adversary, settings)
    if sample is None:
        return adversary
    if getattr(adversary, "sample", None) is not None:
        raise InvalidArgument(f"{adversary.name} has data of its own", remedy="Leave out data=.")
    return attrs.evolve(adversary, sample=sample)  # type: ignore[call-arg]


def _refuse_settings(player: Learner | Adversary, settings: Mapping[str, Any]) -> None:
    if settings:
        raise InvalidArgument(
            f"{player.name} is given as an instance, which has its settings already",
            value=", ".join(settings),
            remedy="Set them where it is made, or give its name instead of the instance.",
        )


def read_sample(name: str, data: object) -> Sample:
    """Data as users give them: an array of points (k,) or (k, d), a pair (points, labels), or a `Sample`.

    name: of the argument. Raises: InvalidArgument.
    """
    if isinstance(data, Sample):
        return data
    points, labels = data if isinstance(data, tuple) and is_labelled(data) else (data, None)
    try:
        array = np.asarray(points)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if isinstance(data, str) or array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise InvalidArgument(
            f"{name} must be an array of numbers, one row a record, or a pair (points, labels)",
            value=data if np.isscalar(data) else type(data).__name__,
            remedy="audits.load_sample reads a CSV file.",
        )
    return Sample(array.astype(float), np.zeros(len(array), int) if labels is None else labels)


def is_labelled(data: object) -> bool:
    """Whether data have labels: a pair (points, labels), or a `Sample`."""
    if isinstance(data, Sample):
        return True
    return isinstance(data, tuple) and len(data) == 2 and not np.isscalar(data[1])

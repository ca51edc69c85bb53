"""Fingerprints of callables: the same for the same code, in any process; another for other code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
import pytest
from support.foreign_mechanisms import in_a_frozen_set
from support.paths import ROOT

from arena.parcels import callable_name, fingerprint


def adding(what: Any) -> Callable[[float], Any]:
    def add(x: float, times: int = 1) -> Any:
        return x + times * what

    return add


def recursive(step: int) -> Callable[[int], int]:
    def down(x: int) -> int:
        return down(x - step) if x > 0 else x

    return down


def unbound() -> Callable[[], Any]:
    def early() -> Any:
        return what

    if early is None:
        what = 1
    return early


class Callee:
    def __call__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (adding(1), adding(1)),
        (adding(np.arange(3)), adding(np.arange(3))),
        (adding(adding(1)), adding(adding(1))),
        (adding({"a": [1, None]}), adding({"a": [1, None]})),
        (partial(round, ndigits=2), partial(round, ndigits=2)),
        (partial(round, ndigits=np.int64(2)), partial(round, ndigits=np.int64(2))),
        (recursive(1), recursive(1)),
        (recursive(1), cloudpickle.loads(cloudpickle.dumps(recursive(1)))),
        (unbound(), unbound()),
        (Callee(), Callee()),
        (adding(1), cloudpickle.loads(cloudpickle.dumps(adding(1)))),
        (lambda x: x + 1, cloudpickle.loads(cloudpickle.dumps(lambda x: x + 1))),
    ],
)
def test_the_same_code_has_one_fingerprint(one: Any, other: Any) -> None:
    assert one is not other
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (adding(1), adding(2)),
        (adding(1), adding(1.0)),
        (adding(np.arange(3)), adding(np.arange(4))),
        (adding(adding(1)), adding(adding(2))),
        (partial(round, ndigits=2), partial(round, ndigits=3)),
        (partial(round, ndigits=2), round),
        (partial(round, ndigits=np.int64(2)), partial(round, ndigits=np.int64(3))),
        (recursive(1), recursive(2)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x.real, lambda x: x.imag),
        (lambda x, y=1: x, lambda x, y=2: x),
        (Callee, dict),
    ],
)
def test_other_code_has_another(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_fingerprint_is_the_same_in_every_process(seed: str) -> None:
    code = (
        "from support.foreign_mechanisms import in_a_frozen_set; "
        "from arena.parcels import fingerprint; "
        "print(fingerprint(in_a_frozen_set))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.split("\n")[0] == fingerprint(in_a_frozen_set)


def test_names_are_short() -> None:
    assert callable_name(in_a_frozen_set) == "in_a_frozen_set"
    assert callable_name(partial(partial(dict, 1), a="x")) == "dict(1, a='x')"
    assert callable_name(Callee()) == "Callee"

"""Training runs with the components that JAX Privacy documents, against chosen gradients and sizes."""

from __future__ import annotations

from functools import partial
from typing import Any

from audits.registry.players import configure_learner
from audits.surveys.catalogue import Catalogue

catalogue = Catalogue(made_for="2.0.0")


def make_learner(**settings: str) -> Any:
    """The learner that trains with the library."""
    return configure_learner("jax-privacy-sgd", settings)


catalogue.add("dpsgd: number of examples", make_learner, against=("update-scale",))
_small = {"features": "2", "size": "8", "batch": "4", "steps": "4", "noise": "1"}
catalogue.add("dpsgd: one gradient", partial(make_learner, **_small), against=("gradient-canary",))
catalogue.add(
    "dpsgd: one gradient, noise outside of jax.jit",
    partial(make_learner, **_small, compiled="false"),
    against=("gradient-canary",),
)

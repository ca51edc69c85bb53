"""Training runs of Opacus, as its documentation makes them, against chosen gradients and chosen sizes."""

from __future__ import annotations

from functools import partial
from typing import Any

from audits.registry.players import configure_learner
from audits.surveys.catalogue import Catalogue

catalogue = Catalogue(made_for="1.6.0")


def make_learner(**settings: str) -> Any:
    """The learner that trains with the library."""
    return configure_learner("opacus-sgd", settings)


catalogue.add(
    "PrivacyEngine.make_private: number of examples",
    make_learner,
    against=("update-scale",),
    note="The accountant's ε is for an example that is added or removed, so that their number is private.",
)
catalogue.add(
    "PrivacyEngine.make_private: one gradient",
    partial(make_learner, features="2", size="9", batch="4", steps="4", noise="1"),
    against=("gradient-canary",),
)

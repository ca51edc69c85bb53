"""The claims of a project: entries of a Python file, and the mechanisms that they are about."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import attrs

from arena import Adversary, Claim, InvalidArgument, Learner, Referee, Relation, Sample
from arena.privacy_curves import PrivacyCurve
from arena.settings import check_value, more_than, number
from audits.adversary_search.odometer_search import reports_loss
from audits.api.audit import claim_for_function, split_settings
from audits.api.user_data import read_data
from audits.registry.match import build_match, change_claim, read_claim, resolve_claim, resolve_curve
from audits.registry.players import GivenAdversary, GivenLearner, choose_learner, configure_learner
from audits.registry.suggestions import explain_arguments
from audits.registry.user_files import PLUGIN_PREFIX, load_module

_ENTRIES = "__privacy_claims__"  # the global variable of a file of claims that holds its entries
_LONGEST_NAME = 80


@attrs.frozen(kw_only=True, eq=False)
class ClaimEntry:
    """A claim of a project, as `claim` makes it. file, line: where it is stated; empty and 0 elsewhere."""

    name: str
    learner: GivenLearner | None
    make: Callable[[], Any] | None
    against: GivenAdversary | None
    data: Any
    neighbour: Any
    neighbours: Relation | str | None
    user: Any
    epsilon: float | None
    delta: float | None
    curve: PrivacyCurve | str | None
    protocol: str | None
    settings: Mapping[str, Any] | None
    weight: float
    files: tuple[str, ...]
    file: str
    line: int

    @property
    def folder(self) -> str:
        """The folder of the file of claims; empty elsewhere."""
        return os.path.dirname(self.file) if self.file else ""

    def __attrs_post_init__(self) -> None:
        name = self.name
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InvalidArgument("a claim has a name, which is text in one line", value=name)
        if len(name) > _LONGEST_NAME:
            raise InvalidArgument(f"the name of a claim has at most {_LONGEST_NAME} characters", value=name)
        if not (isinstance(self.files, tuple) and all(isinstance(p, str | os.PathLike) for p in self.files)):
            raise InvalidArgument(f"files of the claim {name!r} are a list of paths", value=self.files)
        check_value(f"weight of the claim {name!r}", self.weight, number, more_than(0))


@explain_arguments
def claim(
    name: str,
    learner: GivenLearner | None = None,
    *,
    make: Callable[[], Any] | None = None,
    against: GivenAdversary | None = None,
    data: Any = None,
    neighbour: Any = None,
    neighbours: Relation | str | None = None,
    user: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    curve: PrivacyCurve | str | None = None,
    protocol: str | None = None,
    settings: Mapping[str, Any] | None = None,
    weight: float = 1.0,
    files: Sequence[str | os.PathLike[str]] = (),
) -> ClaimEntry:
    """State a claim that a monitor tests: in a file of claims, or for the list that `audits.monitor` takes.

    name: by which the store knows the claim, whatever its mechanism becomes.
    learner, make, data, neighbours, user, epsilon, delta, curve, settings: as in `audits.search`.
    against, neighbour: an adversary, or the data of world 1, instead of a search in every night.
    weight: of this claim among those that are stated with it, by which they share the error.
    files: that the mechanism depends on besides its modules, such as a model or a configuration: if one
        changes, the evidence starts anew. In a file of claims they are relative to its folder. Files that are
        read while the claim is played need not be named.

    Raises: InvalidArgument.
    """
    frame = _find_file_of_claims(sys._getframe(1))
    entry = ClaimEntry(
        name=name,
        learner=learner,
        make=make,
        against=against,
        data=data,
        neighbour=neighbour,
        neighbours=neighbours,
        user=user,
        epsilon=epsilon,
        delta=delta,
        curve=curve,
        protocol=protocol,
        settings=settings,
        weight=weight,
        files=files if isinstance(files, str) else tuple(files),  # type: ignore[arg-type]
        file="" if frame is None else frame.f_code.co_filename,
        line=0 if frame is None else frame.f_lineno,
    )
    if frame is not None:
        frame.f_globals.setdefault(_ENTRIES, []).append(entry)
    return entry


def _find_file_of_claims(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of code of a file that was named by its path."""
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith(PLUGIN_PREFIX):
        frame = frame.f_back
    return frame


def load_claims(path: str) -> list[ClaimEntry]:
    """The claims that a file states. Raises: InvalidArgument if it cannot be imported or states none."""
    entries: list[ClaimEntry] = vars(load_module(path)).get(_ENTRIES, [])
    if not entries:
        raise InvalidArgument(
            f"{path} states no claims", remedy='Write audits.claim("its name", mechanism, epsilon=...) in it.'
        )
    return entries


def check_names(entries: Sequence[ClaimEntry]) -> None:
    """Raises: InvalidArgument if there are no claims, or two have the same name."""
    if not entries:
        raise InvalidArgument("a monitor needs at least one claim", remedy="State it by audits.claim(...).")
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(
                f"two claims are called {name!r}", remedy="The store knows them by name: rename one."
            )


@attrs.frozen(kw_only=True)
class Target:
    """What is played to test a claim. adversary, referee: if they are given; otherwise every night searches
    for an adversary of the protocol, by default the learner's first. data: of the user, to search with.
    files: on which the code depends, as paths; folder: of the file of claims, or empty."""

    learner: Learner
    claim: Claim
    protocol: str | None = None
    data: Sample | None = None
    adversary: Adversary | None = None
    referee: Referee | None = None
    files: tuple[str, ...] = ()
    folder: str = ""


def _find_files(entry: ClaimEntry) -> tuple[str, ...]:
    """The files that a claim names. Raises: InvalidArgument if one is missing."""
    paths = tuple(os.path.join(entry.folder, path) for path in entry.files)
    for path in paths:
        if not os.path.isfile(path):
            raise InvalidArgument(
                f"the claim {entry.name!r} names a file that is not there",
                value=path,
                remedy="Correct files=.",
            )
    return paths


def resolve_target(entry: ClaimEntry) -> Target:
    """The configured players of a claim. Raises: InvalidArgument, or what the user's code raises."""
    files, asked = _find_files(entry), split_settings(entry.settings)
    learner, asked["learner"] = choose_learner(entry.learner, entry.make, asked["learner"])
    sample, asked = read_data(learner, entry.data, entry.neighbour, asked, entry.neighbours, entry.user)
    asked = claim_for_function(learner, asked, entry.epsilon, entry.delta)
    adversary = referee = None
    if entry.against is None and entry.neighbour is None:
        player = configure_learner(learner, asked["learner"], sample)
    else:
        match = build_match(learner, entry.against, settings=asked, data=sample, protocol=entry.protocol)
        player, adversary, referee = match.learner, match.adversary, match.referee
    if reports_loss(player):
        raise InvalidArgument(
            f"{player.own_name} claims what its odometer reports, which no monitor tests",
            remedy="Use audits.search, or state a claim of a fixed epsilon.",
        )
    curve, epsilon, delta = resolve_curve(entry.curve, entry.epsilon, entry.delta, player)
    epsilon, delta = resolve_claim(player, epsilon, delta, option="epsilon=..., in nats")
    return Target(
        learner=player,
        claim=change_claim(read_claim(player), epsilon, delta, curve),
        protocol=entry.protocol,
        data=None if player.receives_records else sample,  # the schema has their examples
        adversary=adversary,
        referee=referee,
        files=files,
        folder=entry.folder,
    )

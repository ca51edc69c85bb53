"""The plan of an audit: everything that its figures depend on, and nothing else."""

from __future__ import annotations

from hashlib import sha256
from importlib import metadata
from typing import Any

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Referee, Sample
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.fingerprint import fingerprint
from arena.privacy_curves import PrivacyCurve, describe_curve
from arena.randomness import STREAMS
from arena.referees import name_protocols
from arena.settings import (
    at_least,
    is_number,
    less_than,
    more_than,
    number,
    one_of,
    whole,
    yes_or_no,
)
from audits.registry.given_players import check_player, copy_learner
from audits.registry.tested_claim import read_claim
from audits.runs.block_sizes import BlockSizes, first_block_pairs

SCORE, LEARNED, LIKELIHOOD = DISTINGUISHERS = ("score", "learned", "likelihood")
OWN_COINS = "own_coins"
_COUNTS = ("games", "seed", "block", "first_block")
_SHIPPED = ("arena", "learners", "adversaries", "audits")


def _read_float(value: Any) -> Any:
    """A number as a float; anything else as it is, for the validators to refuse."""
    return float(value) if is_number(value) else value


@attrs.frozen(kw_only=True)
class Plan:
    """What is played and tested.

    learner, adversary, referee: the players' configurations and the protocol. The learner is a copy, of
        which the adversary has no hold.
    epsilon, delta: the claim under test, ε in nats. given_curve: a privacy curve to test with it, in place of
        the curve of the learner's own claim.
    confidence: the certified bound is wrong with probability at most 1 - confidence.
    games: games in each world; with `until_refuted`, the largest number of games.
    until_refuted: stop as soon as the claim is refuted. seed: random seed.
    first_block, block: pairs of games in the first block and in the largest; see `BlockSizes`.
    distinguisher: what maps a view to a number: the adversary's "score"; a distinguisher "learned" from the
        views of earlier blocks; or the log "likelihood" ratio, if the learner's output distribution is known.
    faults: a learner that raises does not end the audit; the adversary is told that it failed.

    Raises: InvalidArgument if a value makes no sense; Unsupported if a player does not play the protocol.
    """

    learner: Learner = attrs.field(converter=copy_learner)
    adversary: Adversary
    referee: Referee
    epsilon: float = attrs.field(converter=_read_float)
    delta: float = attrs.field(converter=_read_float, validator=[number, at_least(0), less_than(1)])
    given_curve: PrivacyCurve | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(attrs.validators.instance_of(PrivacyCurve)),  # type: ignore[type-abstract]
    )
    confidence: float = attrs.field(
        default=0.95,
        converter=_read_float,
        validator=[number, more_than(0), less_than(1, "Write 0.95 for 95 %.")],
    )
    games: int = attrs.field(default=100_000, validator=[whole, at_least(1)])
    until_refuted: bool = attrs.field(default=False, validator=yes_or_no)
    seed: int = attrs.field(default=0, validator=[whole, at_least(0)])
    distinguisher: str = attrs.field(default=SCORE, validator=one_of(*DISTINGUISHERS))
    faults: bool = attrs.field(default=False, validator=yes_or_no)
    first_block: int = attrs.field(validator=[whole, at_least(1)])
    block: int = attrs.field(validator=[whole, at_least(1)])

    @first_block.default
    def _choose_first_block(self) -> int:
        return first_block_pairs(self.games, until_refuted=self.until_refuted)

    @block.default
    def _choose_block(self) -> int:
        return self.referee.block_pairs

    @epsilon.validator
    def _check_epsilon(self, attribute: Any, value: float) -> None:
        number(self, attribute, value)
        if not 0 < value < np.inf:
            raise InvalidArgument(
                "epsilon of the claim under test must be more than 0 nats and finite",
                value=value,
                remedy="Name a claim to test with --epsilon, for instance 1.",
            )

    def __attrs_post_init__(self) -> None:
        check_player("learner", self.learner, Learner)
        check_player("adversary", self.adversary, Adversary)
        check_player("referee", self.referee, Referee)
        check_protocol(self.learner, self.adversary, self.referee)
        if self.given_curve is not None:
            describe_curve(self.given_curve)  # refuses those that no ledger can hold
        if self.faults and self.distinguisher == LIKELIHOOD:
            raise InvalidArgument(
                "the likelihood ratio knows no failures of the learner, which --faults shows the adversary",
                remedy="Leave out --faults, or choose --distinguisher learned.",
            )
        if self.referee.one_run:
            raise InvalidArgument(
                f"the games of {self.referee.name} share one run, and an audit needs independent ones",
                remedy="Audit one run by audits.audit_one_run, or by arena audit --one-run M.",
            )
        if not self.referee.two_worlds:
            raise InvalidArgument(
                f"{self.referee.name} has one world, so its games show nothing about privacy",
                remedy=f"These have two: {name_protocols(lambda kind: kind.two_worlds)}.",
            )

    @property
    def curve(self) -> PrivacyCurve | None:
        """The privacy curve under test: a given one, or that of the learner's claim if that is under test."""
        if self.given_curve is not None:
            return self.given_curve
        own = read_claim(self.learner)
        return own.curve if (own.epsilon, own.delta) == (self.epsilon, self.delta) else None

    @property
    def blocks(self) -> BlockSizes:
        """The sizes of the blocks; with `until_refuted`, up to the largest number of games."""
        return BlockSizes(self.games, self.first_block, self.block)

    def describe(self) -> dict[str, object]:
        """The plan as plain data, which a ledger stores: equal for equal plans, on any machine."""
        names = (field.name for field in attrs.fields(Plan) if field.name != "given_curve")
        entries = {name: getattr(self, name) for name in names}
        entries |= {role: describe(entries[role]) for role in ("learner", "adversary", "referee")}
        entries |= {name: int(entries[name]) for name in _COUNTS}  # perhaps numpy's
        # These entries are missing in the plans of learners that need none.
        own_coins = {OWN_COINS: True} if self.learner.own_coins else {}
        curve = self.curve
        own_curve = {} if curve is None else {"curve": describe_curve(curve)}
        return {**entries, "versions": versions(), **own_coins, **own_curve}


def describe(configuration: Any) -> dict[str, object]:
    """A player, a referee or a setting made with attrs as plain data: what it is, and its settings.

    Arrays and samples are described by their digests.
    """
    kind = type(configuration)
    is_named = isinstance(configuration, Learner | Adversary | Referee)
    identity = identify_class(kind.__module__, kind.__qualname__, configuration.name if is_named else "")
    settings = {a.name: _describe_value(getattr(configuration, a.name)) for a in attrs.fields(kind)}
    return {**identity, **settings}


def identify_class(module: str, class_name: str, name: str = "") -> dict[str, str]:
    """What a plan says of a class: the registry name of a player, else the name of the class.

    The modules of dp-arena may move. A class from elsewhere keeps its module, since nothing else ensures that
    two such classes have different names; the module of a plug-in's file also tells its versions apart.
    """
    identity = {"name": name} if name else {}
    if module.partition(".")[0] not in _SHIPPED:
        return {**identity, "class": f"{module}:{class_name}"}
    return identity or {"class": class_name}


def versions() -> dict[str, str]:
    """The software that figures depend on besides the plan: random streams may change between versions."""
    try:
        own = metadata.version("dp-arena")
    except metadata.PackageNotFoundError:
        own = "not installed"
    return {"dp-arena": own, "numpy": np.__version__, "streams": str(STREAMS)}


def _describe_value(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sample):
        return f"sample {value.digest} of {value.size}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {value.dtype.str} {sha256(value.tobytes()).hexdigest()[:16]}"
    if attrs.has(type(value)):
        return describe(value)
    if callable(value) and not isinstance(value, ConceptClass):
        return fingerprint(value)
    return repr(value)

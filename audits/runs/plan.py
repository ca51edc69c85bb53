"""The plan of an audit: everything that its figures depend on, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import sha256
from math import ceil
from typing import Any, TypedDict

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Referee, Sample
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.parcels import fingerprint
from arena.privacy_curves import PrivacyCurve, describe_curve, read_curve
from arena.referees import name_protocols
from arena.settings import (
    at_least,
    check_value,
    is_number,
    less_than,
    more_than,
    number,
    one_of,
    whole,
    yes_or_no,
)
from audits.registry.match import read_claim
from audits.registry.origins import versions
from audits.registry.players import check_player, copy_learner
from audits.runs.block_sizes import EXACT_PAIRS, BlockSizes
from audits.statistics.guess_counts import count_choosing

SCORE, LEARNED, LIKELIHOOD = DISTINGUISHERS = ("score", "learned", "likelihood")
OWN_COINS = "own_coins"
DEFAULT_GAMES = 100_000
MAX_BLOCK_PAIRS = 8_192  # the arrays of so many games, those of one world, fit into a processor's cache
CALL_BLOCKS = 32  # at least, where each game is a call, so that scatter between blocks needs no other games
CALL_BLOCK_PAIRS = 256  # where each game is a call that may be slow, since a run stops between blocks
MIN_BLOCK_PAIRS = 16
# Where calls are limited, a block is one in 128 of them; where time is, as if so many calls were allowed.
_CALL_BLOCKS, _TIMED_CALLS = 64, 2_048
_SMALLEST_BLOCK, _LIMITED_BLOCK = 2, 4  # pairs: of the largest block, and of the first
_ROLES: dict[str, type] = {"learner": Learner, "adversary": Adversary, "referee": Referee}
_SHIPPED = ("arena", "learners", "adversaries", "audits")
_STORED_TYPES = {"float": float, "int": int, "bool": bool, "str": str}
_STORED_TYPES |= dict.fromkeys((base.__name__ for base in _ROLES.values()), dict)


class PlanArguments(TypedDict, total=False):
    """What a caller may say of a plan besides its players; None leaves it to them. See `PlanSettings`."""

    epsilon: float | None
    delta: float | None
    curve: PrivacyCurve | str | None
    games: int | None
    until_refuted: bool
    fixed_games: bool
    confidence: float
    distinguisher: str | None
    faults: bool
    seed: int


def _read_float(value: Any) -> Any:
    """A number as a float; anything else as it is, for the validators to refuse."""
    return float(value) if is_number(value) else value


def _explain(
    help: str, metavar: str | None = None, *, choices: tuple[str, ...] = (), chosen: bool = False
) -> dict[str, Any]:
    """What `arena audit --help` says of a field. chosen: whether None leaves it to the players."""
    return {"help": help, "metavar": metavar, "choices": choices, "chosen": chosen}


@attrs.frozen(kw_only=True)
class PlanSettings:
    """What a plan says besides its players. Each field is an argument of `audits.audit` and `arena audit`.

    distinguisher: what maps a view to a number: the adversary's "score"; a distinguisher "learned" from the
        views of earlier blocks; or the log "likelihood" ratio, if the learner's output distribution is known.

    Raises: InvalidArgument if a value makes no sense.
    """

    epsilon: float = attrs.field(
        converter=_read_float,
        metadata=_explain(
            "ε of the claim under test, in nats. Default: the learner's own.", "E", chosen=True
        ),
    )
    delta: float = attrs.field(
        converter=_read_float,
        validator=[number, at_least(0), less_than(1)],
        metadata=_explain(
            "δ of the claim under test, a probability. Default: the learner's own.", "D", chosen=True
        ),
    )
    given_curve: PrivacyCurve | None = attrs.field(
        default=None,
        alias="curve",
        validator=attrs.validators.optional(attrs.validators.instance_of(PrivacyCurve)),  # type: ignore[type-abstract]
        metadata=_explain(
            "A claim for every ε at once, in place of --epsilon: mu=1 for Gaussian differential privacy, "
            "gaussian=4,1e-5 for that of a Gaussian mechanism that is (4, 1e-5)-DP, rho=0.5 for "
            "zero-concentrated privacy, rdp=8,2 for Rényi privacy of order 8 with ε = 2, or a CSV file with "
            "the columns epsilon and delta, or type_1_error and type_2_error.",
            "CURVE",
            chosen=True,
        ),
    )
    games: int = attrs.field(
        default=DEFAULT_GAMES,
        validator=[whole, at_least(1)],
        metadata=_explain(
            "Games in each world. Default: 100,000; with --until-refuted at most 10 million.",
            "N",
            chosen=True,
        ),
    )
    until_refuted: bool = attrs.field(
        default=False,
        validator=yes_or_no,
        metadata=_explain("Stop as soon as the claim is refuted. The confidence is the same."),
    )
    fixed_games: bool = attrs.field(
        default=False,
        validator=yes_or_no,
        metadata=_explain(
            "Certify more from few games, by a bound that holds at this number of games only: a run that "
            "ends early certifies nothing."
        ),
    )
    confidence: float = attrs.field(
        default=0.95,
        converter=_read_float,
        validator=[number, more_than(0), less_than(1, "Write 0.95 for 95 %.")],
        metadata=_explain("A true claim is refuted with probability at most 1 minus this."),
    )
    distinguisher: str = attrs.field(
        default=SCORE,
        validator=one_of(*DISTINGUISHERS),
        metadata=_explain(
            "What distinguishes the worlds: the adversary's score, a distinguisher learned from earlier "
            "games, or the likelihood ratio. Default: the score if there is one, otherwise the better of the "
            "others.",
            choices=DISTINGUISHERS,
            chosen=True,
        ),
    )
    faults: bool = attrs.field(
        default=False,
        validator=yes_or_no,
        metadata=_explain(
            "Let the adversary see exceptions of the learner. By default an exception ends the audit."
        ),
    )
    seed: int = attrs.field(
        default=0, validator=[whole, at_least(0)], metadata=_explain("Random seed, an integer ≥ 0.")
    )
    paired: bool = attrs.field(
        default=False
    )  # no argument: whether the learner lets pairs share random numbers

    def __attrs_post_init__(self) -> None:
        if self.fixed_games and (self.until_refuted or self.given_curve is not None):
            raise InvalidArgument(
                "fixed_games tests one (ε, δ) after all games, neither a privacy curve nor until refuted",
                remedy="Leave out fixed_games, or give epsilon, delta and games.",
            )

    @epsilon.validator
    def _check_epsilon(self, attribute: Any, value: float) -> None:
        number(self, attribute, value)
        if not 0 < value < math.inf:
            raise InvalidArgument(
                "epsilon of the claim under test must be more than 0 nats and finite",
                value=value,
                remedy="Name a claim to test with --epsilon, for instance 1.",
            )

    @property
    def curve(self) -> PrivacyCurve | None:
        return self.given_curve

    @property
    def exact_pairs(self) -> int:
        """Blocks that start before so many pairs count scores exactly, and choose bins for the others. At a
        fixed number of games they choose its rules, too, so that all games that count do so alike."""
        return count_choosing(self.games) if self.fixed_games else EXACT_PAIRS

    def of_betting(self) -> dict[str, Any]:
        """The settings of the betting tests. Of a claim with a curve there are two, which share the error."""
        return {
            "delta": self.delta,
            "confidence": self.confidence if self.curve is None else 1 - (1 - self.confidence) / 2,
            "log_ratios": self.distinguisher in (LIKELIHOOD, LEARNED),
            "estimated": self.distinguisher == LEARNED,
        }

    @staticmethod
    def read_stored(stored: Mapping[str, Any]) -> PlanSettings:
        """The settings in a plan that a ledger stores. Raises: InvalidArgument unless it is an audit's."""
        values: dict[str, Any] = {}
        for field in attrs.fields(Plan):
            name, kind = field.name, _STORED_TYPES.get(str(field.type))
            if kind is None or not (name in stored or name in _ALWAYS_STORED):
                continue
            rule: Any = field.validator
            value = values[name] = stored.get(name)
            if type(value) is not kind:
                wanted = f"a {kind.__name__} called {name}"
                raise InvalidArgument(f"the plan of an audit must have {wanted}", value=value)
            if rule is not None:
                check_value(f"{name} in the plan of an audit", value, rule)
        curve = read_curve(stored["curve"]) if "curve" in stored else None
        own = attrs.fields_dict(PlanSettings)
        return PlanSettings(**{name: values[name] for name in own if name in values}, curve=curve)


_ALWAYS_STORED = ("epsilon", "delta", "confidence", "games", "until_refuted")  # in plans of every schema


def list_arguments() -> dict[str, attrs.Attribute[Any]]:
    """The arguments of `audits.audit` that are settings of a plan, by name."""
    return {field.alias or field.name: field for field in attrs.fields(PlanSettings) if field.metadata}


@attrs.frozen(kw_only=True)
class Plan(PlanSettings):
    """What is played and tested. learner: a copy, of which the adversary has no hold.

    first_block, block: pairs of games in the first block and in the largest; see `BlockSizes`.
    Raises: InvalidArgument if a value makes no sense; Unsupported if a player does not play the protocol.
    """

    learner: Learner = attrs.field(converter=copy_learner)
    adversary: Adversary
    referee: Referee
    first_block: int = attrs.field(validator=[whole, at_least(1)])
    block: int = attrs.field(validator=[whole, at_least(1)])
    paired: bool = attrs.field(init=False)

    @first_block.default
    def _choose_first_block(self) -> int:
        first = first_block_pairs(self.games, until_refuted=self.until_refuted)
        return min(first, _choose_largest(self.games, self.learner, self.referee))

    @block.default
    def _choose_block(self) -> int:
        return _choose_largest(self.games, self.learner, self.referee)

    @paired.default
    def _ask_learner(self) -> bool:
        return bool(getattr(self.learner, "common_random_numbers", False))

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        for role, base in _ROLES.items():
            check_player(role, getattr(self, role), base)
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
        if self.given_curve is not None or self.fixed_games:
            return self.given_curve
        own = read_claim(self.learner)
        return own.curve if (own.epsilon, own.delta) == (self.epsilon, self.delta) else None

    @property
    def blocks(self) -> BlockSizes:
        """The sizes of the blocks; with `until_refuted`, up to the largest number of games."""
        return BlockSizes(self.games, self.first_block, self.block, self.exact_pairs)

    def fit_blocks(self, max_calls: int | None, max_seconds: float | None) -> Plan:
        """The plan in smaller blocks, where calls are limited, since checks play as many games as a block."""
        if (max_calls is None and max_seconds is None) or not self.learner.one_call_a_game:
            return self
        calls = _TIMED_CALLS if max_seconds is not None else max_calls or 0
        pairs = min(self.block, max(_SMALLEST_BLOCK, calls // _CALL_BLOCKS))
        return attrs.evolve(self, first_block=min(self.first_block, pairs, _LIMITED_BLOCK), block=pairs)

    def describe(self) -> dict[str, object]:
        """The plan as plain data, which a ledger stores: equal for equal plans, on any machine."""
        fields = [field for field in attrs.fields(Plan) if field.name != "given_curve"]
        entries = {field.name: getattr(self, field.name) for field in fields}
        entries |= {role: describe(entries[role]) for role in _ROLES}
        for field in fields:
            if str(field.type) == "int":  # it may be numpy's
                entries[field.name] = int(entries[field.name])
        # These entries are missing in the plans of learners that need none.
        own_coins = {OWN_COINS: True} if self.learner.own_coins else {}
        curve = self.curve
        own_curve = {} if curve is None else {"curve": describe_curve(curve)}
        return {**entries, "versions": versions(), **own_coins, **own_curve}


def describe(configuration: Any) -> dict[str, object]:
    """A player, a referee or a setting made with attrs as plain data, with digests of arrays and samples."""
    kind = type(configuration)
    is_named = isinstance(configuration, Learner | Adversary | Referee)
    identity = identify_class(kind.__module__, kind.__qualname__, configuration.name if is_named else "")
    fields = (field for field in attrs.fields(kind) if field.metadata.get("is_setting", True))
    settings = {field.name: _describe_value(getattr(configuration, field.name)) for field in fields}
    return {**identity, **settings}


def identify_class(module: str, class_name: str, name: str = "") -> dict[str, str]:
    """What a plan says of a class: the name of a player, else of the class; the module if it is a stranger's.

    The modules of dp-arena may move; that of a plug-in's file tells its versions apart.
    """
    identity = {"name": name} if name else {}
    if module.partition(".")[0] not in _SHIPPED:
        return {**identity, "class": f"{module}:{class_name}"}
    return identity or {"class": class_name}


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
    if isinstance(value, tuple) and any(map(callable, value)):
        return [_describe_value(each) for each in value]
    return repr(value)


def _choose_largest(games: int, learner: Learner, referee: Referee) -> int:
    pairs = getattr(referee, "block_pairs", MAX_BLOCK_PAIRS)  # what is no player is refused later
    if not getattr(learner, "one_call_a_game", False):
        return pairs
    return min(pairs, CALL_BLOCK_PAIRS, ceil(games / CALL_BLOCKS))


def first_block_pairs(games: int, *, until_refuted: bool) -> int:
    """The usual size of the first block, on which nothing is bet: small where the run may stop early."""
    return MIN_BLOCK_PAIRS if until_refuted else max(1, min(MAX_BLOCK_PAIRS, ceil(games / 10)))

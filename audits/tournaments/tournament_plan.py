"""The plan of a tournament: its pairs of players, and everything on which their figures depend."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from hashlib import sha256
from itertools import product
from typing import Any

import attrs

from arena import REFEREES, InvalidArgument, Learner
from arena.capabilities import DrawsFromPopulation
from arena.errors import RAISED
from arena.settings import at_least, check_value, less_than, more_than, whole
from audits.races.online_race import plan_online_race
from audits.races.race import Race
from audits.registry.match import Match, build_match, list_common, read_claim
from audits.registry.origins import versions
from audits.registry.players import (
    ADVERSARIES,
    LEARNERS,
    GivenAdversary,
    Registry,
    check_player,
    is_function,
    locate_class,
    resolve_learner,
)
from audits.registry.suggestions import unknown_name
from audits.tournaments.cells import REFERENCE_EPSILON, Cell, CellResult

CONFIDENCE = 0.999  # of each cell: of a thousand true claims one is refuted
_SEED_BYTES = 4


@attrs.frozen(kw_only=True, eq=False)
class Tournament:
    """The cells of a tournament. confidence: of each cell by itself.

    unmatched: pairs without a cell, with reasons; one of the names is empty if a player cannot be loaded.
    """

    cells: tuple[Cell, ...]
    unmatched: tuple[tuple[str, str, str], ...]
    confidence: float
    seed: int

    def describe(self) -> dict[str, object]:
        """The plan as plain data, which a ledger stores: equal for equal plans, on any machine."""
        return {
            "tournament": {str(cell): cell.describe() for cell in self.cells},
            "confidence": self.confidence,
            "seed": self.seed,
            "versions": versions(),
        }


def plan_tournament(
    learners: Sequence[str | Learner] = (),
    adversaries: Sequence[GivenAdversary] = (),
    *,
    protocols: Sequence[str] = (),
    games: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Tournament:
    """Plan a tournament.

    learners, adversaries: players, names, or path/to/file.py:name; none stands for all of `arena list`.
        Adversaries of which none is given by its name join those of `arena list`.
    protocols: none stands for all. games: of each cell; default: the protocol's. Raises: InvalidArgument.
    """
    for name in protocols:
        if name not in REFEREES:
            raise unknown_name("protocol", name, REFEREES)
    if games is not None:
        check_value("games", games, whole, at_least(1))
    check_value("confidence", confidence, more_than(0), less_than(1, "Write 0.95 for 95 %."))
    check_value("seed", seed, whole, at_least(0))
    chosen, unloadable = _find_players(LEARNERS, learners, join=False)
    opponents, unloadable_too = _find_players(ADVERSARIES, adversaries, join=True)
    unmatched = [(name, "", reason) for name, reason in unloadable]
    unmatched += [("", name, reason) for name, reason in unloadable_too]
    cells, pairs = [], product(chosen.items(), opponents.items())
    for (learner, (own, location, given)), (adversary, (others, _, given_too)) in pairs:
        common = [name for name in list_common(own, others) if not REFEREES[name].one_run]
        allowed = [name for name in protocols or common if name in common]
        if not allowed:
            reason = f"they play {', '.join(common)} only" if common else "they play no protocol in common"
            unmatched.append((learner, adversary, reason))
            continue
        protocol = min(allowed, key=common.index)
        cell = Cell(
            learner=learner,
            adversary=adversary,
            protocol=protocol,
            games=REFEREES[protocol].usual_games if games is None else games,
            seed=derive_seed(seed, learner, adversary),
            location=location,
        )
        cells.append(_plan_cell(cell, given, given_too, bool(protocols), confidence))
    if all(cell.game is None for cell in cells):
        reasons = [cell.refusal.reason for cell in cells if cell.refusal]
        reasons += [reason for *_, reason in unmatched]
        raise InvalidArgument(
            f"no learner of this tournament can meet an adversary of it ({reasons[0]})",
            remedy="`arena list` shows who plays what.",
        )
    return Tournament(cells=tuple(cells), unmatched=tuple(unmatched), confidence=confidence, seed=seed)


def derive_seed(seed: int, learner: str, adversary: str) -> int:
    """The seed of a cell, which depends on the names of its players and on no other cell."""
    text = f"{seed}\n{learner}\n{adversary}"
    return int.from_bytes(sha256(text.encode()).digest()[:_SEED_BYTES], "big")


Players = dict[str, tuple[tuple[str, ...], str, Any]]  # protocols, location of the class, what was given


def _find_players(
    registry: Registry, given: Sequence[Any], *, join: bool
) -> tuple[Players, list[tuple[str, str]]]:
    """The players by name, and those that cannot be loaded, with reasons. join: to those of `arena list`."""
    loaded: dict[str, Any] = {}
    if not given or (join and not any(isinstance(item, str) and ".py" not in item for item in given)):
        loaded = registry.load_all()
    unloadable = [(name, str(error)) for name, error in loaded.items() if isinstance(error, InvalidArgument)]
    players: Players = {
        name: (player.protocols, locate_class(player), name)
        for name, player in loaded.items()
        if not isinstance(player, InvalidArgument)
    }
    for item in given:
        name, player = _identify(registry, item)
        if name in players:
            raise InvalidArgument(
                f"two of the {registry.kind}s are called {name}",
                value=item if isinstance(item, str) else None,
                remedy="Leave one out, or change the `name` of its class.",
            )
        kind = player if isinstance(player, type) else type(player)
        players[name] = player.protocols, locate_class(kind), item
    return players, unloadable


def _identify(registry: Registry, item: Any) -> tuple[str, Any]:
    """The name of a player, and its class or instance."""
    player = item
    if isinstance(item, str):
        own_name = item.rpartition(":")[2]
        if registry is LEARNERS and is_function(item):
            return own_name, LEARNERS.find(resolve_learner(item)[0])
        instance = registry.find_instance(item)
        if instance is not None:
            return own_name, instance
        player = registry.find(item)
    else:
        check_player(registry.kind, item, registry.base)
    return player.name, player


def _plan_cell(cell: Cell, learner: Any, adversary: Any, restricted: bool, confidence: float) -> Cell:
    """The cell with its game, or with the reason why its players cannot meet. restricted: to its protocol."""
    try:
        protocol = cell.protocol if restricted else None
        match = build_match(learner, adversary, settings={"learner": {}, "adversary": {}}, protocol=protocol)
        claim = read_claim(match.learner)
        if match.learner.own_coins:
            raise InvalidArgument(
                f"{cell.learner} draws random numbers that no seed repeats", remedy="Audit it by itself."
            )
        if match.referee.two_worlds and isinstance(match.adversary, DrawsFromPopulation):
            raise InvalidArgument(
                f"{cell.adversary} draws all examples from one distribution", remedy="Race it instead."
            )
        game: Match | Race = match
        if not match.referee.two_worlds:
            game = plan_online_race(
                [(cell.learner, match.learner, match.adversary)],
                rounds=match.referee.T,  # type: ignore[attr-defined] # as all of one world have
                games=cell.games,
                protocol=match.referee.name,
                confidence=confidence,
                seed=cell.seed,
            )
    except RAISED as error:
        return attrs.evolve(cell, refusal=CellResult.of_error(error))
    planned = attrs.evolve(
        cell,
        game=game,
        protocol=match.referee.name,
        claim=str(claim),
        claim_epsilon=None if claim.empty else claim.epsilon,
        claim_delta=None if claim.empty else claim.delta,
    )
    if not isinstance(learner, str) or not isinstance(adversary, str):
        return planned
    words = ["arena", "race" if isinstance(game, Race) else "audit", learner, "--against", adversary]
    if isinstance(game, Race):
        words += ["--rounds", str(game.rounds)]
    elif claim.empty:
        words += ["--epsilon", f"{REFERENCE_EPSILON:g}"]
    words += ["--protocol", cell.protocol] if restricted else []
    words += ["--games", str(cell.games), "--seed", str(cell.seed), "--confidence", repr(confidence)]
    return attrs.evolve(planned, command=shlex.join(words))

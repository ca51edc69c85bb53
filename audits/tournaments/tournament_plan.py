"""The plan of a tournament: its pairs of players, and everything on which their figures depend."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import attrs

from arena import REFEREES, InvalidArgument, Learner
from arena.capabilities import DrawsFromPopulation
from arena.errors import RAISED
from arena.settings import at_least, check_value, less_than, more_than, whole
from audits.races.online_race import OnlineRace, plan_online_race
from audits.registry.given_players import GivenAdversary, check_player, is_function
from audits.registry.match import Match, build_match
from audits.registry.pairing import list_common
from audits.registry.players import ADVERSARIES, LEARNERS, Registry, resolve_learner
from audits.registry.suggestions import unknown_name
from audits.registry.tested_claim import read_claim
from audits.runs.plan import describe, versions
from audits.tournaments.cell_result import CellResult, describe_refusal

CONFIDENCE = 0.999  # of each cell: of a thousand true claims one is refuted
REFERENCE_EPSILON = 1.0  # nats, against which learners without a claim are tested
_SEED_BYTES = 4
_INCOMPATIBLE = "they play no protocol in common"


@attrs.frozen(kw_only=True, eq=False)
class Cell:
    """A learner and an adversary that play a protocol in common.

    learner, adversary: names. game: the players that are audited, or the race; None if there is a refusal,
        which is the result of the cell.
    claim: as text. epsilon, delta: the claim under test (nats, probability), a reference if there is none.
    command: the line that plays the cell again; empty for players that are given as objects.
    """

    learner: str
    adversary: str
    protocol: str
    games: int
    seed: int
    game: Match | OnlineRace | None = None
    refusal: CellResult | None = None
    claim: str = ""
    epsilon: float = REFERENCE_EPSILON
    delta: float = 0.0
    has_claim: bool = False
    command: str = ""

    @property
    def quantity(self) -> str:
        """What is counted: mistakes or regret; empty if the cell is an audit."""
        return self.game.quantity if isinstance(self.game, OnlineRace) else ""

    def __str__(self) -> str:
        return f"{self.learner} against {self.adversary}"


@attrs.frozen(kw_only=True, eq=False)
class Tournament:
    """The cells of a tournament.

    unmatched: learner, adversary and reason of the pairs without a cell; one of the names is empty if a
    player cannot be loaded. confidence: of each cell by itself. seed: random seed.
    """

    cells: tuple[Cell, ...]
    unmatched: tuple[tuple[str, str, str], ...]
    confidence: float
    seed: int

    def describe(self) -> dict[str, object]:
        """The plan as plain data, which a ledger stores: equal for equal plans, on any machine."""
        return {
            "tournament": {str(cell): _describe_cell(cell) for cell in self.cells},
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

    learners, adversaries: players, names, or path/to/file.py:ClassName; none stands for all of `arena list`.
        Adversaries of which none is given by its name join those of `arena list`.
    protocols: the protocols to play; none stands for all. games: of each cell; default: the usual number of
        the protocol.

    Raises: InvalidArgument for unknown names, two players of one name, values out of range, and if no two
    players can meet.
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
    cells = []
    for learner, (own, learner_given) in chosen.items():
        for adversary, (others, adversary_given) in opponents.items():
            common = [name for name in list_common(own, others) if not REFEREES[name].one_run]
            allowed = [name for name in protocols or common if name in common]
            if not allowed:
                reason = f"they play {', '.join(common)} only" if common else _INCOMPATIBLE
                unmatched.append((learner, adversary, reason))
                continue
            allowed.sort(key=common.index)
            cells.append(
                _plan_cell(
                    (learner, learner_given),
                    (adversary, adversary_given),
                    protocol=allowed[0],
                    restricted=bool(protocols),
                    games=games,
                    confidence=confidence,
                    seed=derive_seed(seed, learner, adversary),
                )
            )
    if all(cell.game is None for cell in cells):
        reasons = [cell.refusal.reason for cell in cells if cell.refusal] or [
            reason for *_, reason in unmatched
        ]
        raise InvalidArgument(
            f"no learner of this tournament can meet an adversary of it ({reasons[0]})",
            remedy="`arena list` shows who plays what.",
        )
    return Tournament(cells=tuple(cells), unmatched=tuple(unmatched), confidence=confidence, seed=seed)


def derive_seed(seed: int, learner: str, adversary: str) -> int:
    """The seed of a cell, which depends on the names of its players and on no other cell."""
    text = f"{seed}\n{learner}\n{adversary}"
    return int.from_bytes(sha256(text.encode()).digest()[:_SEED_BYTES], "big")


Players = dict[str, tuple[tuple[str, ...], Any]]  # protocols, and what was given, by name


def _find_players(
    registry: Registry, given: Sequence[Any], *, join: bool
) -> tuple[Players, list[tuple[str, str]]]:
    """The players by name, and those that cannot be loaded, with reasons.

    join: whether players given by a file or as objects alone join those of `arena list`.
    """
    players: Players = {}
    unloadable = []
    by_name = [item for item in given if isinstance(item, str) and ".py" not in item]
    if not given or (join and not by_name):
        for name, player in registry.load_all().items():
            if isinstance(player, InvalidArgument):
                unloadable.append((name, str(player)))
            else:
                players[name] = player.protocols, name
    for item in given:
        name, protocols = _identify(registry, item)
        if name in players:
            raise InvalidArgument(
                f"two of the {registry.kind}s are called {name}",
                value=item if isinstance(item, str) else None,
                remedy="Leave one out, or change the `name` of its class.",
            )
        players[name] = protocols, item
    return players, unloadable


def _identify(registry: Registry, item: Any) -> tuple[str, tuple[str, ...]]:
    """The name and the protocols of a player."""
    if isinstance(item, str) and registry is LEARNERS and is_function(item):
        return item.rpartition(":")[2], LEARNERS.find(resolve_learner(item)[0]).protocols
    if isinstance(item, str):
        player = registry.find(item)
    else:
        check_player(registry.kind, player := item, registry.base)
    return player.name, player.protocols


def _plan_cell(
    learner: tuple[str, Any],
    adversary: tuple[str, Any],
    *,
    protocol: str,
    restricted: bool,
    games: int | None,
    confidence: float,
    seed: int,
) -> Cell:
    """The cell of two players; each is given by its name and what the user gave.

    restricted: whether the user chose protocols, so that the command must name this one.
    """
    cell = Cell(
        learner=learner[0],
        adversary=adversary[0],
        protocol=protocol,
        games=REFEREES[protocol].usual_games if games is None else games,
        seed=seed,
    )
    try:
        match = build_match(
            learner[1],
            adversary[1],
            settings={"learner": {}, "adversary": {}},
            data=None,
            protocol=protocol if restricted else None,
            rounds=None,
        )
        claim = read_claim(match.learner)
        if match.learner.own_coins:
            raise InvalidArgument(
                f"{cell.learner} draws random numbers that no seed repeats", remedy="Audit it by itself."
            )
        if match.referee.two_worlds and isinstance(match.adversary, DrawsFromPopulation):
            raise InvalidArgument(
                f"{cell.adversary} draws all examples from one distribution, the same in both worlds",
                remedy="`arena race` counts errors.",
            )
        game = match if match.referee.two_worlds else _plan_race(match, cell, confidence)
    except RAISED as error:
        return attrs.evolve(cell, refusal=describe_refusal(error))
    return attrs.evolve(
        cell,
        game=game,
        protocol=match.referee.name,
        claim=str(claim),
        epsilon=REFERENCE_EPSILON if claim.empty else claim.epsilon,
        delta=0.0 if claim.empty else claim.delta,
        has_claim=not claim.empty,
        command=_write_command(cell, game, learner[1], adversary[1], claim.empty, restricted, confidence),
    )


def _plan_race(match: Match, cell: Cell, confidence: float) -> OnlineRace:
    referee: Any = match.referee
    return plan_online_race(
        [(cell.learner, match.learner, match.adversary)],
        rounds=referee.T,
        games=cell.games,
        protocol=referee.name,
        confidence=confidence,
        seed=cell.seed,
    )


def _write_command(
    cell: Cell,
    game: Match | OnlineRace,
    learner: Any,
    adversary: Any,
    without_claim: bool,
    restricted: bool,
    confidence: float,
) -> str:
    if not isinstance(learner, str) or not isinstance(adversary, str):
        return ""
    words = ["arena", "race" if isinstance(game, OnlineRace) else "audit", learner, "--against", adversary]
    if isinstance(game, OnlineRace):
        words += ["--rounds", str(game.rounds)]
    elif without_claim:
        words += ["--epsilon", f"{REFERENCE_EPSILON:g}"]
    if restricted:
        words += ["--protocol", cell.protocol]
    words += ["--games", str(cell.games), "--seed", str(cell.seed), "--confidence", repr(confidence)]
    return shlex.join(words)


def _describe_cell(cell: Cell) -> dict[str, object]:
    """What the figures of a cell depend on; its players and their settings as a digest."""
    game: Any = cell.game.entrants[0] if isinstance(cell.game, OnlineRace) else cell.game
    players = (
        [] if game is None else [describe(item) for item in (game.learner, game.adversary, game.referee)]
    )
    digest = sha256(json.dumps(players, sort_keys=True).encode()).hexdigest()[:16]
    return {"games": cell.games, "seed": cell.seed, "players": digest}

"""A race of adversaries for games: those that have shown most play ever more of them, while others join.

Asynchronous successive halving (Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning"):
whoever is among the best of a level goes on to the next at once, and plays there four times as many fresh
games. So there is no number of adversaries, or of games, at which a race ends. docs/proofs/search.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf

import attrs

from arena import PlayerError
from audits.adversary_search.detectable_loss import Rung
from audits.adversary_search.evidence import DECLINED, Evidence, SearchTarget, limit_pairs, weigh_games
from audits.adversary_search.script import Script
from audits.runs.limits import Limits, TimeIsOver

FACTOR = 4  # between the games of one level and the next
FIRST_SHARE = 8  # one in so many explored adversaries goes on to the first level
KEPT = 2  # one in so many adversaries goes on to the next level
PROMISING = 0.5  # the same, for the rungs of a search of so many adversaries, each of which is judged once
THRESHOLD = 6.0  # nats: they are few, so that chance seldom exceeds it
LEVEL_ROUNDS = 2**21  # rounds of an adversary's games on one level, in each world
_WORTHWHILE = 0.25  # z-score to leave the first level, and so much more for each after it
_FAVOURED = 1  # level that favourites leave at first, whatever their z-score
_FOR_FAVOURITES = 1 / 8  # of all games, for favourites that go on although they have shown nothing
_LONGER = 8  # entries of adversaries after which it is one level more
_LIKELY = 2.0  # z-score from which on a confirmation is worth calls that would not suffice for it later
_CONFIRMED = 16.0  # nats, which a confirmation takes
_CLEAR = 3.5  # z-score that chance hardly gives to the best of the first games, with which anyone goes on


@attrs.define(eq=False)
class Level:
    """z: that everyone has shown here. left: those who have gone on, or are out of the race. pairs: played
    here by each, as planned."""

    pairs: int
    z: dict[Script, float] = attrs.field(factory=dict)
    left: set[Script] = attrs.field(factory=set)


@attrs.define(eq=False)
class Race:
    """The race of a search. games: played in each world. best: the largest evidence in nats. winner: the last
    whose evidence passed the threshold, with it."""

    _target: SearchTarget
    _limits: Limits
    _reserve: int = 0  # calls to leave for what comes after the race
    games: int = 0
    best: float = 0.0
    winner: tuple[Script, Evidence] | None = None
    _favourites: set[Script] = attrs.field(factory=set)
    _favoured_games: int = 0
    _entries: int = 0
    _explored: int = 0
    _levels: list[Level] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._levels = [Level(self._target.few)]

    def enter(self, explored: Mapping[Script, Evidence], favourites: Collection[Script] = ()) -> None:
        """Let explored adversaries take part. favourites: those among them that a person would try first."""
        self._favourites.update(favourites)
        self._entries += 1
        self._explored += sum(evidence.games for evidence in explored.values())
        for script, evidence in explored.items():
            self._levels[0].z.setdefault(script, evidence.z)

    def run(self, games: float) -> None:
        """Play up to so many games in each world, until someone passes the threshold or has a last chance
        (`winner`), nobody may go on, or a limit is reached."""
        self.winner = None
        end = self.games + games
        while self.winner is None:
            chosen = self._choose()
            if chosen is None:
                return
            script, number, favoured = chosen
            level = self._levels[number]
            pairs = level.pairs * FACTOR
            if number and self._is_last_chance(level.z[script], level.pairs):
                level.left.add(script)
                z = level.z[script]
                self.winner = script, Evidence(nats=0.0, z=z, score=None, games=level.pairs, faults=False)
                return
            if self.games + pairs > end or self._limits.find_reached(2 * pairs + self._reserve):
                return
            try:
                with self._limits.end_in_time():
                    self._favoured_games += pairs if favoured else 0
                    self._play(script, number, pairs)
            except TimeIsOver:
                return

    def _is_last_chance(self, z: float, pairs: int) -> bool:
        """Whether the calls that are left may suffice to confirm what has been shown in so many pairs, but
        hardly after the next level."""
        left = self._limits.estimate_calls_left() - self._reserve
        needed = 2 * pairs * _CONFIRMED / (z**2 / 2) if z >= _LIKELY else inf
        return needed / 2 <= left < needed + 2 * FACTOR * pairs

    def _choose(self) -> tuple[Script, int, bool] | None:
        """Who goes on next, from which level, and whether only as a favourite: the highest level where anyone
        may; else a favourite, since what many numbers show together may need many games to be learned; else,
        while the race has cost less than the games before it, the lowest level where anyone waits."""
        favoured = _FAVOURED + self._entries // _LONGER
        for number in reversed(range(len(self._levels))):
            level = self._levels[number]
            places = max(1, len(level.z) // (KEPT if number else FIRST_SHARE))
            ranked = sorted(level.z, key=lambda script: -level.z[script])
            for place, script in enumerate(ranked):
                z = level.z[script]
                is_best = z > _WORTHWHILE * number and (place < places or z >= _CLEAR)
                is_favoured = number < favoured and script in self._favourites and z > -inf
                if (is_best or is_favoured) and script not in level.left:
                    return script, number, False
        allowed = _FOR_FAVOURITES * (self.games + self._explored) - self._favoured_games
        for number in reversed(range(1, len(self._levels))):
            level = self._levels[number]
            favourites = [
                script for script in level.z if script in self._favourites and script not in level.left
            ]
            if favourites and FACTOR * level.pairs <= allowed:
                return max(favourites, key=level.z.__getitem__), number, True
        for number, level in enumerate(self._levels if self.games < self._explored else ()):
            waiting = [script for script, z in level.z.items() if z > -inf and script not in level.left]
            if waiting:
                return max(waiting, key=level.z.__getitem__), number, False
        return None

    def _play(self, script: Script, number: int, pairs: int) -> None:
        self._levels[number].left.add(script)
        if len(self._levels) == number + 1:
            self._levels.append(Level(pairs))
        level = self._levels[number + 1]
        try:
            evidence = weigh_games(
                self._target,
                script,
                pairs=limit_pairs(script, pairs, LEVEL_ROUNDS),
                stage=f"level {pairs}",
            )
        except (PlayerError, *DECLINED) as error:
            if isinstance(error, PlayerError) and error.player != "learner":
                raise
            level.z[script] = -inf  # it has failed in all of these games
            return
        self.games += evidence.games
        self.best = max(self.best, evidence.nats)
        level.z[script] = evidence.z
        if evidence.nats >= THRESHOLD:
            self.winner = script, evidence

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """The levels that were played, each with the least z-score that led to it."""
        rungs = []
        for number, level in enumerate(self._levels[1:]):
            before = self._levels[number]
            waiting = [z for script, z in before.z.items() if script not in level.z]
            rungs.append(Rung(level.pairs, len(level.z), max([_WORTHWHILE * number, *waiting])))
        return tuple(rungs)

"""Enumeration of all views of games whose views are answers, by playing every path of answers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from arena import NO_LABEL, Adversary, GameAdversary, Learner, Played, PrivacyUnit, Referee, Unsupported, play
from arena.messages import list_answers
from arena.randomness import block_seed, generator
from audits.exact_loss.answer_paths import (
    AnswerLaws,
    Path,
    PathSampler,
    PathState,
    PresetStates,
    TooManyPaths,
    forbid_randomness,
)
from audits.exact_loss.privacy_loss import ROUNDING, PrivacyLoss, log_ratio
from audits.interrupts import check_interrupts

PRUNE = 1e-15  # paths of less probability are given up
_MANY = 32  # branches of a batch after which the number of paths is estimated,
_FEW_PATHS = 10_000  # unless as many paths as the limit allows are played in a second
_SAMPLED = 16  # paths from which the number of paths is estimated
_SURELY = 10**5  # how far an estimate must exceed the limit, so that fewer paths are not refused by chance
_MAX_BATCH = 2**21  # numbers in the measures of one batch
_MAX_WAITING = 2**24  # numbers in the measures that one batch may leave for later
_HALTED = 4  # added to the letter of an answer at which the learner halts
_LETTERS = "·01⊥"
_MAX_TEXT = 60  # letters of a view that are printed


class PathEnumeration:
    """Plays every path of answers and adds up the probabilities of views.

    A view is a byte string with one letter per answer: the label + 1 (0 if no label is shown), plus 4 where
    the learner is seen to have halted, which ends the view.
    prune: paths of less probability are given up. max_paths: that may be played.
    watch: called with the probability of the paths played so far. challenges: what the worlds differ in.
    """

    def __init__(
        self,
        learner: Learner,
        adversary: Adversary,
        referee: Referee,
        *,
        prune: float,
        max_paths: int,
        watch: Callable[[float], object] | None = None,
    ) -> None:
        self._learner = learner
        self._adversary = forbid_randomness(adversary)
        self._referee = referee
        self._prune = prune
        self._max_paths = max_paths
        self._laws = AnswerLaws(learner)
        self._rounds = 1
        self._scored = True
        self._watch = watch
        self._mass = 0.0  # probability of the paths played, averaged over the worlds
        self._views: defaultdict[bytes, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self._scores: defaultdict[float, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self._pruned: defaultdict[bytes, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self.challenges: set[PrivacyUnit] = set()

    def run(self) -> None:
        """Play all paths. Raises: Unsupported if there are too many, or if a view depends on other games."""
        waiting = [Path(world=False), Path(world=True)]
        paths, sampled = len(waiting), False
        while waiting:
            check_interrupts()
            branches = self._play(self._take_batch(waiting))
            paths += len(branches)
            if self._watch is not None:
                self._watch(self._mass)
            if not sampled and len(branches) > _MANY and self._max_paths > _FEW_PATHS:
                sampled = True
                self._refuse_too_many()
            if paths > self._max_paths:
                raise Unsupported(
                    f"{self._adversary.name} leads to more than {self._max_paths:,} paths: {paths:,} were "
                    f"found, of which {len(waiting) + len(branches):,} remain to be played",
                    remedy="Let it ask fewer queries, or use `arena audit`, which plays games.",
                )
            # The longest paths are played first, so that few measures wait.
            waiting += sorted(branches, key=lambda path: len(path.outcomes))
        self._check_prefixes()

    def _refuse_too_many(self) -> None:
        """Refuse at once by an estimate; wrongly with probability at most SAMPLED / SURELY, by Markov."""
        paths = [Path(world=number % 2 == 1) for number in range(_SAMPLED)]
        limit, rng = math.log(self._max_paths * _SURELY), generator(block_seed(0, 0))
        sampler = partial(PathSampler, laws=AnswerLaws(self._learner), limit=limit, rng=rng)
        try:
            self._play_states(paths, sampler)
        except TooManyPaths:
            raise Unsupported(
                f"{self._adversary.name} leads to more than {self._max_paths:,} paths of answers, by an "
                "estimate from a few of them",
                remedy="Let it ask fewer queries, or use `arena audit`, which plays games.",
            ) from None

    def loss(self) -> tuple[PrivacyLoss, list[bytes]]:
        """The privacy loss of the view, with one cell for each view, and the views."""
        views = [view for view, masses in self._views.items() if masses.any()]
        masses = np.array([self._views[view] for view in views]).reshape(-1, 2).T
        defect = float(self._laws.defects.max())
        error = defect if defect > ROUNDING else 0.0
        if not self._pruned:
            return PrivacyLoss.of_views(*masses, error=error), views
        may_add, in_views, lost = self._sum_pruned(views)
        # The loss of each listed view, as close to 0 as pruned paths could make it.
        least = log_ratio(masses[0] + may_add[0], masses[1])
        greatest = log_ratio(masses[0], masses[1] + may_add[1])
        nearest = np.where(least > 0, least, np.where(greatest < 0, greatest, 0.0))
        reach = float(nearest.min(initial=0.0)), float(nearest.max(initial=0.0))
        rest = {"error": error + in_views, "unlisted": lost, "reach": reach, "complete": False}
        return PrivacyLoss.of_views(*masses, **rest), views

    def views(self) -> tuple[list[bytes], np.ndarray]:
        """Every view, and its probability in each world (2, v)."""
        views = list(self._views)
        return views, np.array([self._views[view] for view in views]).reshape(-1, 2).T

    def score_loss(self) -> PrivacyLoss | None:
        """The privacy loss of the adversary's score; None if it returns none."""
        if not self._scored:
            return None
        masses = np.array(list(self._scores.values())).reshape(-1, 2).T
        lost = sum(self._pruned.values(), np.zeros(2))
        error = float((self._laws.defects + lost).max())
        error = error if error > ROUNDING else 0.0
        return PrivacyLoss.of_views(*masses, error=error, complete=not lost.any())

    def _take_batch(self, waiting: list[Path]) -> list[Path]:
        """Remove the next paths to play from the end of the waiting ones, as many as memory allows."""
        batch: list[Path] = []
        numbers = later = 0
        while waiting:
            path = waiting[-1]
            size = 0 if path.measure is None else path.measure.size
            numbers += size
            later += 2 * size * max(self._rounds - len(path.outcomes), 1)
            if batch and (numbers > _MAX_BATCH or later > _MAX_WAITING or len(batch) >= _MAX_BATCH // 512):
                break
            batch.append(waiting.pop())
        return batch

    def _play(self, paths: list[Path]) -> list[Path]:
        """Play these paths to the end of their games; returns the paths that branch off."""
        states, played = self._play_states(paths, partial(PathState, laws=self._laws))
        self.challenges |= played.challenges
        self._rounds = max(self._rounds, played.rounds)
        for state, part in zip(states, played.single_games or (played,), strict=True):
            state.check_ended()
            self._add(state, part)
        return [branch for state in states for branch in state.branches]

    def _play_states(
        self, paths: list[Path], make: Callable[..., PathState]
    ) -> tuple[list[PathState], Played]:
        """The states of the learner, one for all games or one for each, and their games."""
        alone = isinstance(self._adversary, GameAdversary)
        groups = [[path] for path in paths] if alone else [paths]
        states = [make(group, prune=self._prune) for group in groups]
        players = (PresetStates.of(self._learner, *states), self._adversary, self._referee)
        worlds = np.array([path.world for path in paths])
        return states, play(*players, games=len(paths), seed=0, worlds=worlds, record=True)

    def _add(self, state: PathState, played: Played) -> None:
        letters = answer_letters(played)
        world = played.worlds.astype(np.intp)
        for game in np.flatnonzero(state.alive):
            self._views[_view_of(letters[:, game])][world[game]] += state.masses[game]
            self._mass += state.masses[game] / 2
            if played.score is None:
                self._scored = False
            else:
                self._scores[float(played.score[game])][world[game]] += state.masses[game]
        for branch in state.pruned:
            # The letters of the game as they would have been on the pruned branch.
            branch_letters = letters[: branch.query + 1, branch.game].copy()
            if branch_letters[branch.query] % _HALTED:  # the label is shown, so the branch would show its own
                label, halts = state.outcome(branch.game, branch.outcome, branch.query)
                branch_letters[branch.query] = label + 1 + _HALTED * halts
            self._pruned[_view_of(branch_letters)][world[branch.game]] += branch.mass

    def _check_prefixes(self) -> None:
        """No view is a prefix of another: the view itself must determine whether the game continues."""
        for shorter, longer in pairwise(sorted(self._views)):
            if longer.startswith(shorter):
                raise Unsupported(
                    f"the number of queries that {self._adversary.name} asks in one game depends on the "
                    "other games of the batch, so its view has no distribution of its own",
                    remedy="Ask the same number of queries in every game, or write it for one game.",
                )

    def _sum_pruned(self, views: list[bytes]) -> tuple[np.ndarray, float, float]:
        """(2, views): what pruned paths could add to each view; the total of that; the mass in no view."""
        may_add = np.zeros((2, len(views)))
        used: set[bytes] = set()
        for place, view in enumerate(views):
            for length in range(len(view) + 1):
                pruned = self._pruned.get(view[:length])
                if pruned is not None:
                    may_add[:, place] += pruned
                    used.add(view[:length])
        in_views = sum((self._pruned[view] for view in used), np.zeros(2))
        lost = sum((masses for view, masses in self._pruned.items() if view not in used), np.zeros(2))
        return may_add, float(in_views.max()), float(lost.max())


def answer_letters(played: Played) -> np.ndarray:
    """(rounds, n) uint8: the letters of the answers of a recorded batch."""
    answers = list_answers(played.replies)
    shown = [(answer.label - NO_LABEL + _HALTED * answer.halted).astype(np.uint8) for answer in answers]
    return np.array(shown, np.uint8).reshape(len(shown), len(played.worlds))


def _view_of(letters: np.ndarray) -> bytes:
    """The letters up to and including the first that shows a halt."""
    halted = np.flatnonzero(letters >= _HALTED)
    return bytes(letters[: halted[0] + 1] if len(halted) else letters)


def format_view(view: bytes) -> str:
    """A view as text.

    >>> format_view(bytes([1, 2, 0, 6])), format_view(b"")
    ('01·1 halted', 'no answers')
    """
    letters = "".join(_LETTERS[letter % _HALTED] for letter in view)
    if len(letters) > _MAX_TEXT:
        letters = f"{letters[:_MAX_TEXT]}... ({len(view)} answers)"
    halted = " halted" if view and view[-1] >= _HALTED else ""
    return f"{letters}{halted}" or "no answers"

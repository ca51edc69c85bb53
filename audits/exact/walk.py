"""All paths of a game of Figure 1 or Voting, walked at tables of the real referee and the real adversary."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from arena import NO_LABEL, Adversary, GameAdversary, Learner, Played, PrivacyUnit, Referee, Unsupported, play
from arena.replies import list_answers
from audits.exact.paths import Laws, Path, Pruned, WalkingState
from audits.exact.privacy_loss import ROUNDING, PrivacyLoss, log_ratio
from audits.exact.states import FixedState, without_coins

ANSWERING = ("Figure1", "Voting")  # the protocols whose views are answers
PRUNE = 1e-15
_TABLE = 2**21  # numbers: of measures at one table
_WAITING = 2**24  # numbers: of measures that one table may leave for later
_HALTED = 4  # in the letter of an answer
_LETTERS = "·01⊥"
_MOST_LETTERS = 60


class Walk:
    """Walks every path, and adds up views.

    A view is bytes, a letter an answer: the label + 1, so 0 where none is shown, and 4 more where the learner
    is seen to have halted, which ends the view: what follows shows nothing.

    challenges: what the worlds differ in.
    """

    def __init__(
        self, learner: Learner, adversary: Adversary, referee: Referee, *, prune: float, most_paths: int
    ) -> None:
        self._learner = learner
        self._adversary = without_coins(adversary)
        self._referee = referee
        self._prune = prune
        self._most = most_paths
        self._laws = Laws(learner)
        self._rounds = 1
        self._scored = True
        self._views: defaultdict[bytes, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self._scores: defaultdict[float, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self._pruned: defaultdict[bytes, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self.challenges: set[PrivacyUnit] = set()

    def walk(self) -> None:
        """Raises: Unsupported if there are too many paths, or views hang on other games of the table."""
        waiting = [Path(world=False), Path(world=True)]
        found = len(waiting)
        while waiting:
            branches = self._played(self._taken(waiting))
            found += len(branches)
            if found > self._most:
                raise Unsupported(
                    f"{self._adversary.name} leads through more than {self._most:,} paths: "
                    f"{found:,} were found, {len(waiting) + len(branches):,} of them still to be walked",
                    remedy="Let it ask fewer queries, or use `arena audit`, which plays games.",
                )
            # The longest go first, so that few measures wait.
            waiting += sorted(branches, key=lambda path: len(path.outcomes))
        self._check_views()

    def loss(self) -> tuple[PrivacyLoss, list[bytes]]:
        """The privacy loss of the view, one cell a view, and the views."""
        views = [view for view, masses in self._views.items() if masses.any()]
        masses = np.array([self._views[view] for view in views]).reshape(-1, 2).T
        defect = float(self._laws.defects.max())
        error = defect if defect > ROUNDING else 0.0
        if not self._pruned:
            return PrivacyLoss.of_views(*masses, error=error), views
        may_add, in_views, lost = self._slack(views)
        loss = PrivacyLoss.of_views(
            *masses,
            error=error + in_views,
            unlisted=lost,
            reach=_certain_reach(masses, may_add),
            complete=False,
        )
        return loss, views

    def listed(self) -> tuple[list[bytes], np.ndarray]:
        """Every view, and its mass in each world (2, v)."""
        views = list(self._views)
        return views, np.array([self._views[view] for view in views]).reshape(-1, 2).T

    def score_loss(self) -> PrivacyLoss | None:
        """The privacy loss of the adversary's score; None if it returns none."""
        if not self._scored:
            return None
        masses = np.array(list(self._scores.values())).reshape(-1, 2).T
        lost = sum(self._pruned.values(), np.zeros(2))
        error = float((self._laws.defects + lost).max())
        return PrivacyLoss.of_views(
            *masses, error=error if error > ROUNDING else 0.0, complete=not lost.any()
        )

    # --- tables -------------------------------------------------------------------------------------

    def _taken(self, waiting: list[Path]) -> list[Path]:
        """The next paths to walk, from the end of those waiting: as many as memory allows."""
        taken: list[Path] = []
        table = later = 0
        while waiting:
            path = waiting[-1]
            size = 0 if path.measure is None else path.measure.size
            table += size
            later += 2 * size * max(self._rounds - len(path.outcomes), 1)
            if taken and (table > _TABLE or later > _WAITING or len(taken) >= _TABLE // 512):
                break
            taken.append(waiting.pop())
        return taken

    def _played(self, paths: list[Path]) -> list[Path]:
        """Walk these paths to the end of their games; the paths that branch off."""
        alone = isinstance(self._adversary, GameAdversary)
        groups = [[path] for path in paths] if alone else [paths]
        states = [WalkingState(group, self._laws, self._prune) for group in groups]
        played = play(
            FixedState.of(self._learner, *states),
            self._adversary,
            self._referee,
            games=len(paths),
            seed=0,
            worlds=np.array([path.world for path in paths]),
            record=True,
        )
        self.challenges |= played.challenges
        self._rounds = max(self._rounds, played.rounds)
        for state, part in zip(states, played.single_games or (played,), strict=True):
            state.check_ended()
            self._add(state, part)
        return [branch for state in states for branch in state.branches]

    def _add(self, state: WalkingState, played: Played) -> None:
        letters = letters_of(played)
        world = played.worlds.astype(np.intp)
        for game in np.flatnonzero(state.alive):
            self._views[_view(letters[:, game])][world[game]] += state.masses[game]
            if played.score is None:
                self._scored = False
            else:
                self._scores[float(played.score[game])][world[game]] += state.masses[game]
        for branch in state.pruned:
            view = _view(_letters_of(branch, letters[:, branch.game], state))
            self._pruned[view][world[branch.game]] += branch.mass

    def _check_views(self) -> None:
        """No view begins another: whether the game goes on follows from the view."""
        views = sorted(self._views)
        for shorter, longer in pairwise(views):
            if longer.startswith(shorter):
                raise Unsupported(
                    f"whether {self._adversary.name} asks a game on hangs on other games of the table, and "
                    "its views have no law of their own",
                    remedy="Let every game have as many queries, or write it in game style.",
                )

    # --- what was pruned ----------------------------------------------------------------------------

    def _slack(self, views: list[bytes]) -> tuple[np.ndarray, float, float]:
        """(2, views): what pruned paths could add to each view; of it in all; and what is in no view."""
        may_add = np.zeros((2, len(views)))
        used: set[bytes] = set()
        for place, view in enumerate(views):
            for length in range(len(view) + 1):
                begun = self._pruned.get(view[:length])
                if begun is not None:
                    may_add[:, place] += begun
                    used.add(view[:length])
        in_views = sum((self._pruned[view] for view in used), np.zeros(2))
        lost = sum((masses for view, masses in self._pruned.items() if view not in used), np.zeros(2))
        return may_add, float(in_views.max()), float(lost.max())


def _certain_reach(masses: np.ndarray, may_add: np.ndarray) -> tuple[float, float]:
    """The least and greatest loss of listed views, each as near 0 as pruned paths could make it."""
    least, greatest = (
        log_ratio(masses[0] + may_add[0], masses[1]),
        log_ratio(masses[0], masses[1] + may_add[1]),
    )
    nearest = np.where(least > 0, least, np.where(greatest < 0, greatest, 0.0))
    return float(nearest.min(initial=0.0)), float(nearest.max(initial=0.0))


def letters_of(played: Played) -> np.ndarray:
    """(rounds, n) uint8: the letters of the answers of a recorded table."""
    assert played.view is not None
    answers = list_answers(played.view.replies)
    shown = [(answer.label - NO_LABEL + _HALTED * answer.halted).astype(np.uint8) for answer in answers]
    return np.array(shown, np.uint8).reshape(len(shown), len(played.worlds))


def _letters_of(branch: Pruned, letters: np.ndarray, state: WalkingState) -> np.ndarray:
    """The letters (rounds,) of the game that a branch left, as they would have been on it."""
    found = letters[: branch.query + 1].copy()
    if found[branch.query] % _HALTED:  # shown, so that the outcome would have been
        label, halts = state.outcome(branch.game, branch.outcome, branch.query)
        found[branch.query] = label + 1 + _HALTED * halts
    return found


def _view(letters: np.ndarray) -> bytes:
    """Up to where the learner is seen to have halted."""
    halted = np.flatnonzero(letters >= _HALTED)
    return bytes(letters[: halted[0] + 1] if len(halted) else letters)


def text_of_view(view: bytes) -> str:
    """A view for people.

    >>> text_of_view(bytes([1, 2, 0, 6])), text_of_view(b"")
    ('01·1 halted', 'no answers')
    """
    letters = "".join(_LETTERS[letter % _HALTED] for letter in view)
    if len(letters) > _MOST_LETTERS:
        letters = f"{letters[:_MOST_LETTERS]}... ({len(view)} answers)"
    halted = " halted" if view and view[-1] >= _HALTED else ""
    return f"{letters}{halted}" or "no answers"

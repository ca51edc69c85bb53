"""event-swap, threshold-steer and announced-swap: a record of a stream, or those of a user, that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Moves, PrivacyUnit, Unsupported, count_setting, setting
from arena.capabilities import read_schema
from arena.claims import REPLACING, Neighbours
from arena.laws import GaussianVector, ValueLaw
from arena.players import read_relation_of
from arena.records import BLANK_RECORD, Records
from arena.referees.stream_moves import Arrive, HasEncoder
from arena.settings import at_least, one_of, whole

_USUAL_ROUNDS = 8  # of a learner that has no number of rounds
_DECIMALS = 9  # of log ratios, whose last bits could show the world
RATIO, DIFFERENCE, REPEATED, NUMBER = SCORES = ("ratio", "difference", "repeated", "number")


def count_rounds(learner: Learner | None) -> int:
    """The rounds of a learner's streams."""
    rounds = getattr(learner, "rounds", None)
    return rounds if isinstance(rounds, int) else _USUAL_ROUNDS


@attrs.frozen
class EventSwap(Adversary):
    """Commits to a stream in which one record differs, or the k of a user: by default the worst round.

    Other records are the least of the domain, and the one that differs is the largest in world 1. Of a linear
    stream the worst round is that of the encoder's longest column; k rounds are chosen one after the other,
    so that together they move the noisy numbers most, or are evenly spread. score: "ratio", the log
    likelihood ratio of all releases, if the learner declares their distribution, otherwise none;
    "difference", by how much the release of the round exceeds the one before; "repeated", whether they are
    equal; "number", the release.
    """

    name = "event-swap"
    protocols = ("Stream", "FixedStream")
    usual_for = (PrivacyUnit.STREAM_EXAMPLE,)

    rounds: int | None = count_setting(None, help="of the stream; default: the learner's, or 8")
    place: int | None = count_setting(None, help="the round that differs, or the first; default: the worst")
    spread: bool = setting(False, help="whether several rounds are spread evenly over the stream")
    score: str = setting(RATIO, help=", ".join(SCORES), check=one_of(*SCORES))
    shown: int | None = count_setting(
        None, help="the round whose release is scored; default: that of `place`"
    )
    base: float | None = setting(None, help="the other records; default: the least of the domain")
    sample: Any = setting(None, help="the stream, of records; default: those that the learner's schema knows")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def returns_score(self) -> bool | None:
        return True if self.score != RATIO else None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if self.learner is not None and self.learner.receives_records:
            yield Arrive(*self._change_records())
            return None
        first, second, places = self._change_points()
        reply = yield Arrive(first, second)
        if self.score == RATIO:
            ratio = self._find_ratio(first, second)
            return None if ratio is None else ratio(reply.releases)
        shown = (self.shown or places[0] + 1) - 1
        number = _read_number(reply.releases[shown])
        before = _read_number(reply.releases[shown - 1]) if shown else np.zeros(games)
        if self.score == NUMBER:
            return number
        return number - before if self.score == DIFFERENCE else (number != before).astype(float)

    def _change_points(self) -> tuple[np.ndarray, np.ndarray, list[int]]:
        learner, rounds = self.learner, self.rounds or count_rounds(self.learner)
        low, high = (learner.domain if learner is not None else None) or (0.0, 1.0)
        shape = () if learner is None else learner.point_shape
        first = np.full((rounds, *shape), low if self.base is None else self.base)
        relation = read_relation_of(learner)
        places = self._choose_places(rounds, relation.size)
        second = first.copy()
        second[places] = high
        if relation.kind not in REPLACING:
            first[places] = 0.0
        elif self.base == high:
            second[places] = low
        return first, second, places

    def _choose_places(self, rounds: int, number: int) -> list[int]:
        number = min(number, rounds)
        if self.spread:
            return np.unique(np.linspace(0, rounds - 1, number).astype(int)).tolist()
        if self.place is not None or not isinstance(self.learner, HasEncoder):
            start = min((self.place or 1) - 1, rounds - number)
            return [*range(start, start + number)]
        encoder = self.learner.matrices.encoder[:rounds, :rounds]
        places: list[int] = []
        moved = np.zeros(rounds)
        for _ in range(number):  # the round that moves most together with those before
            lengths = ((moved[:, None] + encoder) ** 2).sum(axis=0)
            lengths[places] = -np.inf
            places.append(int(lengths.argmax()))
            moved = moved + encoder[:, places[-1]]
        return sorted(places)

    def _find_ratio(
        self, first: np.ndarray, second: np.ndarray
    ) -> Callable[[tuple[np.ndarray, ...]], np.ndarray] | None:
        if self.learner is None:
            return None
        try:
            laws = [self.learner.law(stream) for stream in (first, second)]  # type: ignore[arg-type]
        except (Unsupported, AttributeError):
            return None
        one, other = laws
        if isinstance(one, GaussianVector) and isinstance(other, GaussianVector):
            weights, constant = one.weigh(other)

            def add(releases: tuple[np.ndarray, ...]) -> np.ndarray:
                total = np.full(len(releases[0]), constant)
                for weight, release in zip(weights.tolist(), releases, strict=True):
                    if weight:
                        total += weight * release
                return np.round(total, _DECIMALS)

            return add
        if not (isinstance(one, ValueLaw) and isinstance(other, ValueLaw)):
            return None

        def compare(releases: tuple[np.ndarray, ...]) -> np.ndarray:
            values = np.stack(releases, axis=1)
            return np.round(other.log_density(values) - one.log_density(values), _DECIMALS)

        return compare

    def _change_records(self) -> tuple[Records, Records]:
        schema = None if self.learner is None else read_schema(self.learner)
        if schema is None:
            raise InvalidArgument("records need a learner that receives them")
        relation = read_relation_of(self.learner)
        examples = schema.drop_repetitions(schema.examples)
        if isinstance(self.sample, Records):
            rows = self.sample.rows()
        else:
            most = self.rounds or _USUAL_ROUNDS
            rows = [examples[0]] * (most if schema.max_size is None else min(most, schema.max_size))
        new = examples[-1]
        changed, blanked = list(rows), list(rows)
        if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
            users = schema.users_of(rows)
            own = users == users[-1]
            blanked = [BLANK_RECORD if mine else row for row, mine in zip(rows, own, strict=True)]
            return Records(blanked), Records(rows)
        start = min((self.place or 1) - 1, len(rows) - 1)
        for place in range(start, min(start + relation.size, len(rows))):
            changed[place] = new
            if relation.kind not in REPLACING:
                blanked[place] = BLANK_RECORD
        return Records(blanked), Records(changed)


def _read_number(release: np.ndarray) -> np.ndarray:
    return np.nan_to_num(release.reshape(len(release), -1)[:, 0].astype(float))


@attrs.frozen
class ThresholdSteer(Adversary):
    """Brings a count that changes now and then close to its next change, which one record then brings about.

    It sends ones until the release changes, then `before` more, and then the record that differs, 0 or 1, and
    zeros. The score is minus the number of rounds from the difference to the next change.
    """

    name = "threshold-steer"
    protocols = ("Stream",)
    returns_score = True

    before: int | None = count_setting(None, least=0, help="ones before it; default: one less than the step")
    patience: int = count_setting(64, help="rounds in which the first change is waited for")
    after: int = count_setting(4, help="zeros after it", least=1)
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        rounds = count_rounds(self.learner)
        step = float(getattr(self.learner, "step", 2.0))
        before = max(0, int(step) - 1) if self.before is None else self.before
        last, changed, since = np.zeros(games), np.zeros(games, bool), np.zeros(games)
        swapped, score = np.zeros(games, bool), np.zeros(games)
        ended = np.zeros(games, bool)
        for t in range(min(rounds, self.patience + before + self.after)):
            late = t >= min(rounds, self.patience + before + self.after) - self.after
            now = ~swapped & ((changed & (since >= before)) | late)
            record = np.where(swapped | now, 0.0, 1.0)
            reply = yield Arrive(record[:, None], np.where(now, 1.0, record)[:, None])
            release = _read_number(reply.releases[-1])
            moved = release != last
            swapped |= now
            ended |= swapped & moved
            score -= swapped & ~ended
            since = np.where(changed & ~swapped, since + 1, since)
            changed |= moved
            last = release
        return score


@attrs.frozen
class AnnouncedSwap(Adversary):
    """Waits until the learner announces that the next record will be sampled, and lets that one differ.

    The score is what is published of it. If nothing is announced, the last record differs. Raises:
    InvalidArgument if a release has too few numbers.
    """

    name = "announced-swap"
    protocols = ("Stream",)
    returns_score = True

    rounds: int | None = count_setting(None, help="of the stream; default: the learner's, or 8")
    column: int = setting(
        -1, help="the number of a release that announces it, if it is more than 0.5", check=whole
    )
    shown: int = setting(
        1, help="the number of the next release that shows the record", check=[whole, at_least(0)]
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        rounds = self.rounds or count_rounds(self.learner)
        announced, swapped, score = np.zeros(games, bool), np.zeros(games, bool), np.zeros(games)
        for left in reversed(range(rounds)):
            now = ~swapped & (announced | (left == 0))
            reply = yield Arrive(np.zeros((games, 1)), now[:, None].astype(float))
            release = reply.releases[-1].reshape(games, -1)
            if max(self.shown, self.column, -1 - self.column) >= release.shape[1]:
                raise InvalidArgument(
                    "announced-swap reads an announcement and what is shown from each release",
                    value=release.shape[1:],
                    remedy="Choose a learner that publishes both, or set column and shown.",
                )
            score = np.where(now, release[:, self.shown], score)
            swapped |= now
            announced = release[:, self.column] > 0.5
        return score

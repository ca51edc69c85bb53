"""Streams of users', each flawed one with a twin that keeps its claim, (1, 0)-DP for one record."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import audits


class StreamCase(NamedTuple):
    """A flawed class and its twin, made with (rng). records: the strategy of a record."""

    flawed: Any
    twin: Any
    records: Any
    epsilon: float = 1.0
    neighbours: str = "replace one"


class Stream:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.t = 0
        self.total = 0.0
        self.start()

    def start(self) -> None:
        """What a subclass needs."""

    def update(self, record: Any) -> Any:
        self.t += 1
        return self.publish(record)

    def publish(self, record: Any) -> Any:
        raise NotImplementedError

    def lap(self, scale: float = 1.0) -> float:
        return float(self.rng.laplace(scale=scale))


BITS, RATINGS, USERS = st.integers(0, 1), st.integers(0, 5), st.integers(1, 6)


class SharedNoise(Stream):
    """Flaw: the noise of one round is used again in the next, so that differences are exact."""

    def start(self) -> None:
        self.noise = 0.0

    def publish(self, record: int) -> float:
        self.total += record
        if self.t % 2:
            self.noise += self.lap()
        return self.total + self.noise


class SharedNoiseTwin(SharedNoise):
    def publish(self, record: int) -> float:
        self.total += record + self.lap()
        return self.total


class OnChange(Stream):
    """Flaw: a fresh noisy total is published if the true total has changed, and the old one again if not."""

    def start(self) -> None:
        self.shown = self.lap()

    def publish(self, record: int) -> float:
        self.total += record
        if record:
            self.shown = self.total + self.lap()
        return self.shown


class OnChangeTwin(OnChange):
    def publish(self, record: int) -> float:
        self.total += record + self.lap()
        return self.total


class Alarm(Stream):
    """Flaw: the alarm of the third event is exact."""

    def publish(self, record: int) -> Any:
        self.total += record
        return "alarm" if self.total >= 3 else "quiet"


class AlarmTwin(Alarm):
    def start(self) -> None:
        self.bar = 3 + self.lap(2.0)
        self.rung = False

    def publish(self, record: int) -> Any:
        self.total += record
        self.rung = self.rung or self.total + self.lap(4.0) >= self.bar
        return "alarm" if self.rung else "quiet"


class Window(Stream):
    """The number of ones among the last three records. Flaw: noise for one of the three windows."""

    scale = 1.0

    def start(self) -> None:
        self.last: list[int] = []

    def publish(self, record: int) -> float:
        self.last = [*self.last, record][-3:]
        return sum(self.last) + self.lap(self.scale)


class WindowTwin(Window):
    scale = 3.0


class Maximum(Stream):
    """The largest rating so far. Flaw: it is noisy only when it changes."""

    def start(self) -> None:
        self.best, self.shown = 0, self.lap(5.0)

    def publish(self, record: int) -> float:
        if record > self.best:
            self.best = record
            self.shown = self.best + self.lap(5.0)
        return self.shown


class MaximumTwin(Maximum):
    """Every rating gets its noise once."""

    def start(self) -> None:
        self.seen: list[float] = []

    def publish(self, record: int) -> float:
        self.seen.append(record + self.lap(5.0))
        return max(self.seen)


class Reset(Stream):
    """A counter that begins anew after every fourth record. Flaw: with the same noise as before."""

    def start(self) -> None:
        self.noises: list[float] = []

    def publish(self, record: int) -> float:
        place = (self.t - 1) % 4
        if place == 0:
            self.total = 0.0
        self.total += record
        if len(self.noises) <= place:
            self.noises.append(self.lap(4.0))
        return self.total + self.noises[place]


class ResetTwin(Reset):
    def publish(self, record: int) -> float:
        self.noises.append(self.lap(4.0))
        if (self.t - 1) % 4 == 0:
            self.total = 0.0
        self.total += record
        return self.total + self.noises[-1]


class Warmup(Stream):
    """Flaw: the first two records are published as they are, until there are enough for statistics."""

    def publish(self, record: int) -> float:
        self.total += record + (self.lap() if self.t > 2 else 0.0)
        return self.total


class WarmupTwin(Warmup):
    def publish(self, record: int) -> Any:
        self.total += record + self.lap()
        return self.total if self.t > 2 else None


class Mean(Stream):
    """The mean rating, of 0 to 5. Flaw: noise for a total that one record changes by 1, not by 5."""

    scale = 1.0

    def publish(self, record: int) -> float:
        self.total += record + self.lap(self.scale)
        return self.total / self.t


class MeanTwin(Mean):
    scale = 5.0


class Silent(Stream):
    """Flaw: nothing is published in rounds without an event."""

    def publish(self, record: int) -> Any:
        self.total += record
        return None if record == 0 else self.total + self.lap()


class SilentTwin(Silent):
    def publish(self, record: int) -> Any:
        noisy = record + self.lap()
        self.total += noisy
        return None if noisy < 0.5 else self.total


class Leader(Stream):
    """The user with the most records. Flaw: it is that of the largest exact count."""

    def start(self) -> None:
        self.counts = np.zeros(7)

    def publish(self, record: int) -> int:
        self.counts[record] += 1
        return int(self.counts.argmax())


class LeaderTwin(Leader):
    def publish(self, record: int) -> int:
        self.counts += self.rng.laplace(scale=2.0, size=7)
        self.counts[record] += 1
        return int(self.counts.argmax())


class Pairs(Stream):
    """Flaw: every second record is in two releases, each with the noise of one."""

    def start(self) -> None:
        self.kept = 0

    def publish(self, record: int) -> Any:
        if self.t % 2:
            self.kept = record
            return record + self.lap()
        return self.kept + record + self.lap()


class PairsTwin(Pairs):
    def publish(self, record: int) -> Any:
        if self.t % 2:
            self.kept = record
            return record + self.lap(2.0)
        return self.kept + record + self.lap(2.0)


class Repeated(Stream):
    """Flaw: whether a user has been seen before is answered exactly."""

    def start(self) -> None:
        self.seen: set[int] = set()

    def publish(self, record: int) -> bool:
        new = record not in self.seen
        self.seen.add(record)
        return new


class RepeatedTwin(Repeated):
    """Randomised response; a replaced record changes three answers at most."""

    def publish(self, record: int) -> bool:
        truth = super().publish(record)
        return truth if self.rng.random() < np.exp(1 / 3) / (1 + np.exp(1 / 3)) else not truth


class Crash(Stream):
    """Flaw: the third event in a row makes it raise."""

    def start(self) -> None:
        self.row = 0

    def publish(self, record: int) -> float:
        self.row = self.row + 1 if record else 0
        if self.row == 3:
            raise OverflowError("too many in a row")
        self.total += record + self.lap()
        return self.total


class CrashTwin(Crash):
    def publish(self, record: int) -> float:
        if self.t == 3:
            raise OverflowError("too many")
        self.total += record + self.lap()
        return self.total


class Popular(Stream):
    """The items with a noisy count of at least 3. Flaw: in each round, with noise for one of eight lists."""

    rounds: range | tuple[int, ...] = range(1, 9)

    def start(self) -> None:
        self.counts = dict.fromkeys("abcd", 0)

    def publish(self, record: str) -> list[str]:
        self.counts[record] += 1
        if self.t not in self.rounds:
            return []
        return [item for item, count in self.counts.items() if count + self.lap(2.0) >= 3]


class PopularTwin(Popular):
    rounds = (8,)


class Levels(Stream):
    """A binary tree over eight records, each in four of its nodes. Flaw: noise for three; ε is 4/3."""

    scale = 3.0

    def start(self) -> None:
        self.records: list[int] = []
        self.nodes: dict[tuple[int, int], float] = {}

    def publish(self, record: int) -> float:
        self.records.append(record)
        low, total = 0, 0.0
        for size in (8, 4, 2, 1):
            if self.t & size:
                node = low, low + size
                if node not in self.nodes:
                    self.nodes[node] = sum(self.records[slice(*node)]) + self.lap(self.scale)
                total += self.nodes[node]
                low += size
        return total


class LevelsTwin(Levels):
    scale = 4.0


class Delta(Stream):
    """The difference from the last record. Flaw: noise for one of the two differences that a record is in."""

    scale = 5.0

    def start(self) -> None:
        self.last = 0

    def publish(self, record: int) -> float:
        change, self.last = record - self.last, record
        return change + self.lap(self.scale)


class DeltaTwin(Delta):
    scale = 10.0


CASES = {
    case.flawed.__name__: case
    for case in (
        StreamCase(SharedNoise, SharedNoiseTwin, BITS),
        StreamCase(OnChange, OnChangeTwin, BITS),
        StreamCase(Alarm, AlarmTwin, BITS),
        StreamCase(Window, WindowTwin, BITS),
        StreamCase(Maximum, MaximumTwin, RATINGS),
        StreamCase(Reset, ResetTwin, BITS),
        StreamCase(Warmup, WarmupTwin, BITS),
        StreamCase(Mean, MeanTwin, RATINGS),
        StreamCase(Silent, SilentTwin, BITS),
        StreamCase(Leader, LeaderTwin, USERS),
        StreamCase(Pairs, PairsTwin, BITS),
        StreamCase(Repeated, RepeatedTwin, USERS),
        StreamCase(Crash, CrashTwin, BITS),
        StreamCase(Delta, DeltaTwin, RATINGS),
        StreamCase(Popular, PopularTwin, audits.records(st.sampled_from("abcd"), max_size=8)),
        StreamCase(Levels, LevelsTwin, audits.records(BITS, max_size=8)),
    )
}

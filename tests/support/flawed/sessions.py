"""Interactive mechanisms with a flaw, each with a correct twin: classes made with (data, rng) that are asked.

They were written before the search for sessions was tried on them, to see what it finds unaided.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st


class SessionCase(NamedTuple):
    name: str
    flawed: type
    twin: type
    data: Any
    ask: Any
    epsilon: float = 1.0
    neighbours: str = "add or remove one"
    children: Any = None


class Server:
    """Answers four queries with Laplace noise of scale 4."""

    most, scale = 4, 4.0

    def __init__(self, data, rng):
        self.data, self.rng, self.asked = list(data), rng, 0
        self.prepare()

    def prepare(self):
        pass

    def count(self, query):
        return sum(value <= query for value in self.data)

    def noise(self, query):
        return self.rng.laplace(scale=self.scale)

    def ask(self, query):
        if self.asked >= self.most:
            return None
        self.asked += 1
        return self.answer(query)

    def answer(self, query):
        return self.count(query) + self.noise(query)


class Refunded(Server):
    """A repeated query is free, though it gets fresh noise: the budget counts distinct queries."""

    def prepare(self):
        self.seen = set()

    def ask(self, query):
        if query not in self.seen and len(self.seen) == self.most:
            return None
        self.seen.add(query)
        return self.answer(query)


class RefundedTwin(Refunded):
    def prepare(self):
        self.seen, self.told = set(), {}

    def answer(self, query):
        if query not in self.told:
            self.told[query] = super().answer(query)
        return self.told[query]


class Paid(Server):
    """Every query costs a quarter of the budget, but one whose answer is negative is not charged."""

    def ask(self, query):
        if self.asked >= self.most:
            return None
        answer = self.answer(query)
        self.asked += answer >= 0 or self.honest
        return answer

    honest = False


class PaidTwin(Paid):
    honest = True


class Exhausted(Server):
    """Raises once the exact count of what was touched exceeds a quota; the twin, after three queries."""

    def prepare(self):
        self.touched = 0

    def answer(self, query):
        self.touched += self.count(query)
        if self.spent():
            raise RuntimeError("quota")
        return super().answer(query)

    def spent(self):
        return self.touched > 6


class ExhaustedTwin(Exhausted):
    def spent(self):
        return self.asked > 3


class Sums(Server):
    """Words name what is asked. The sum of ages up to 100 gets the noise of a count."""

    words = ("count", "sum", "old", "young")

    def count(self, query):
        kinds = {"count": 1.0, "sum": None, "old": lambda age: age > 50, "young": lambda age: age <= 50}
        kind = kinds[query]
        if kind is None:
            return sum(min(max(age, 0), 100) for age in self.data)
        return sum(1 if kind == 1.0 else kind(age) for age in self.data)


class SumsTwin(Sums):
    def noise(self, query):
        return super().noise(query) * (100 if query == "sum" else 1)


class Seeded(Server):
    """Noise is drawn once for even and once for odd queries; the twin draws it once for each query."""

    slots = 2

    def prepare(self):
        self.table = self.rng.laplace(scale=self.scale, size=self.slots)

    def noise(self, query):
        return self.table[query % self.slots]


class SeededTwin(Seeded):
    def prepare(self):
        self.table = {}

    def noise(self, query):
        if query not in self.table:
            self.table[query] = self.rng.laplace(scale=self.scale)
        return self.table[query]

    def answer(self, query):
        return self.count(query) + self.noise(query)


class Sparse(Server):
    """AboveThreshold with Lap(2) on the threshold, and no noise on the queries; the twin has Lap(4) there."""

    def prepare(self):
        self.bar = self.rng.laplace(scale=2.0)
        self.done = False

    def ask(self, query):
        if self.done:
            return None
        place, guess = query
        noise = self.rng.laplace(scale=4.0)
        if self.count(place) - guess + self.query_noise(noise) >= self.bar:
            self.done = True
            return True
        return False

    def query_noise(self, noise):
        return 0.0


class SparseTwin(Sparse):
    def query_noise(self, noise):
        return noise


class Alarms(SparseTwin):
    """Says 20 times that the count of a range is large; the twin, with the same noise, says so once."""

    alarms = 20

    def count(self, query):
        return sum(query[0] <= value < query[1] for value in self.data)

    def ask(self, query):
        if not self.alarms:
            return None
        self.done = False
        large = super().ask(query)
        self.alarms -= large
        return large


class AlarmsTwin(Alarms):
    alarms = 1


class Cached(Server):
    """Answers are kept by the exact count of a range; in the twin by the range."""

    def prepare(self):
        self.told = {}

    def count(self, query):
        return sum(query[0] <= value < query[1] for value in self.data)

    def ask(self, query):
        key = self.key(query)
        if key not in self.told and len(self.told) == self.most:
            return None
        return self.told.setdefault(key, self.answer(query))

    def key(self, query):
        return self.count(query)


class CachedTwin(Cached):
    def key(self, query):
        return query


class Empty(Server):
    """Says that a range is empty, exactly; the twin says so of noisy counts."""

    def answer(self, query):
        noisy = super().answer(query)
        return "empty" if self.is_empty(query, noisy) else round(noisy, 3)

    def is_empty(self, query, noisy):
        return self.count(query) == 0


class EmptyTwin(Empty):
    def is_empty(self, query, noisy):
        return noisy < 0.5


class Mean(Server):
    """Asked for a threshold, the mean of the indicator; noise by the exact number of records."""

    def answer(self, query):
        size = max(len(self.data), 1)
        return self.count(query) / size + self.rng.laplace(scale=self.scale / self.divisor(size))

    def divisor(self, size):
        return size


class MeanTwin(Mean):
    """A replaced record changes the mean by 1/n; with a record added n changes, so noise is for n = 1."""

    def divisor(self, size):
        return 1


class Topped(Server):
    """Exact counts above 15 are reported as "many" without noise."""

    def answer(self, query):
        noisy = super().answer(query)
        return "many" if self.is_large(query, noisy) else noisy

    def is_large(self, query, noisy):
        return self.count(query) > 15


class ToppedTwin(Topped):
    def is_large(self, query, noisy):
        return noisy > 15


class Growing(Server):
    """Query i = 1, 2, ... costs 6 / (pi i)^2 in the twin, 1 in all, and 1 / i^2 here, up to 1.64 in all."""

    most = 100

    def noise(self, query):
        return self.rng.laplace(scale=self.asked**2 * self.factor)

    factor = 1.0


class GrowingTwin(Growing):
    factor = np.pi**2 / 6


class Flipped(Server):
    """Randomised response of each record, with ε = 1, drawn anew for each query of the record's place."""

    def ask(self, query):
        if self.asked >= self.most or query >= len(self.data):
            return None
        self.asked += 1
        return self.flip(query)

    def flip(self, query):
        return bool(self.data[query] ^ (self.rng.random() < 1 / (1 + np.e)))


class FlippedTwin(Flipped):
    def prepare(self):
        self.told = {}

    def flip(self, query):
        if query not in self.told:
            self.told[query] = super().flip(query)
        return self.told[query]


class Parent(Server):
    """Opens children, each with half of the budget, that answer two queries. The budget of the children is
    counted when they are closed, that is, when they have answered: so open ones are not counted."""

    def prepare(self):
        self.spent = 0.0

    def open(self, kind):
        if self.spent >= 1.0 - 1e-9:
            return None
        self.charge(0.5)
        return Child(self, self.rng)

    def ask(self, query):
        return None

    def charge(self, amount):
        pass


class Child:
    def __init__(self, parent, rng):
        self.parent, self.rng, self.left = parent, rng, 2

    def ask(self, query):
        if not self.left:
            return None
        self.left -= 1
        if not self.left:
            self.parent.finish(0.5)
        return self.parent.count(query) + self.rng.laplace(scale=4.0)


class Lazy(Parent):
    def finish(self, amount):
        self.spent += amount


class LazyTwin(Parent):
    def charge(self, amount):
        self.spent += amount

    def finish(self, amount):
        pass


class Shared(Parent):
    """Children draw their noise from generators with one seed: what is asked of two at once has the same."""

    def prepare(self):
        super().prepare()
        self.seed = int(self.rng.integers(2**60))

    def charge(self, amount):
        self.spent += amount

    def finish(self, amount):
        pass

    def open(self, kind):
        if super().open(kind) is None:
            return None
        self.opened = getattr(self, "opened", 0) + 1
        return Child(self, np.random.default_rng(self.seed + self.stride * self.opened))

    stride = 0


class SharedTwin(Shared):
    stride = 1


class Odometer:
    """Answers a query (limit, ε), and says in `spent` what was lost so far."""

    share = 1.0

    def __init__(self, data, rng):
        self.data, self.rng, self.spent = list(data), rng, 0.0

    def ask(self, query):
        limit, epsilon = query
        self.spent += epsilon * self.share
        return sum(value <= limit for value in self.data) + self.rng.laplace(scale=1 / epsilon)


class HalfOdometer(Odometer):
    share = 0.5


class FallingOdometer(Odometer):
    def ask(self, query):
        answer = super().ask(query)
        if self.spent > 1.5:
            self.spent = 0.5
        return answer


AGES = st.lists(st.integers(0, 100), max_size=30)
PLACES = st.integers(0, 100)
DIGITS = st.lists(st.integers(0, 9), max_size=10)
RANGES = st.tuples(st.integers(0, 10), st.integers(0, 10))
CASES = [
    SessionCase("refunded", Refunded, RefundedTwin, AGES, PLACES),
    SessionCase("paid", Paid, PaidTwin, AGES, PLACES),
    SessionCase("exhausted", Exhausted, ExhaustedTwin, AGES, PLACES),
    SessionCase("sums", Sums, SumsTwin, AGES, st.sampled_from(Sums.words)),
    SessionCase("seeded", Seeded, SeededTwin, AGES, PLACES),
    SessionCase("sparse", Sparse, SparseTwin, AGES, st.tuples(PLACES, st.integers(-5, 5))),
    SessionCase(
        "alarms", Alarms, AlarmsTwin, DIGITS, st.tuples(RANGES, st.integers(-5, 5)), neighbours="replace one"
    ),
    SessionCase("cached", Cached, CachedTwin, DIGITS, RANGES),
    SessionCase("empty", Empty, EmptyTwin, AGES, PLACES),
    SessionCase("mean", Mean, MeanTwin, AGES, PLACES),
    SessionCase("topped", Topped, ToppedTwin, AGES, PLACES),
    SessionCase("growing", Growing, GrowingTwin, AGES, PLACES),
    SessionCase(
        "flipped", Flipped, FlippedTwin, st.lists(st.booleans()), st.integers(0, 9), neighbours="replace one"
    ),
    SessionCase("lazy", Lazy, LazyTwin, AGES, PLACES, children=st.just("part")),
    SessionCase("shared", Shared, SharedTwin, AGES, PLACES, children=st.just("part")),
]

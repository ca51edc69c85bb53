"""`audits.certify` and `Auditor`: a bound on ε from scores that somebody already has."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np

from arena import InvalidArgument
from arena.privacy_curves import PrivacyCurve
from arena.randomness import generator
from arena.sample import as_numbers, check_integers, refuse_masks
from arena.settings import at_least, check_value, less_than, more_than, number
from audits.registry.match import resolve_curve
from audits.registry.suggestions import explain_arguments
from audits.reports.formatting import describe_lower, describe_validity, is_visibly_above, nats, percent
from audits.reports.plots import Picture
from audits.reports.report import Document, Facts, Prose, Report
from audits.reports.result_table import ResultRow
from audits.runs.block_sizes import EXACT_PAIRS
from audits.runs.plan import MAX_BLOCK_PAIRS, first_block_pairs
from audits.statistics.betting import Betting, ceiling
from audits.statistics.guess_counts import GuessCounter, count_choosing
from audits.statistics.score_histogram import ScoreBins
from audits.statistics.score_pairs import PairCounts

Scores = Sequence[float] | np.ndarray


@attrs.frozen(kw_only=True, repr=False)
class Certificate(Report):
    """A certified bound from scores.

    epsilon_lower: in nats; with probability at least `confidence`, every claim of a smaller ε at this δ is
        false. ceiling: the epsilon_lower of as many scores that always tell the worlds apart.
    unpaired: scores of one world without a partner in the other. epsilon, refuted: None without a claim.
    fixed_games: whether that holds only if the number of scores was fixed before any was seen.
    curve_lower: the largest member of the curve's family that is false, with all smaller ones; None without.
    """

    kind: ClassVar[str] = "certificate"
    derived: ClassVar[tuple[str, ...]] = ("undecided",)

    epsilon_lower: float
    ceiling: float
    delta: float
    confidence: float
    pairs: int
    unpaired: int
    epsilon: float | None
    refuted: bool | None
    curve: PrivacyCurve | None = None
    curve_lower: PrivacyCurve | None = None
    fixed_games: bool = False

    @property
    def headline(self) -> str:
        bound = f"{self.write_bound()} at δ = {self.delta:.3g}"
        if self.curve_lower is not None:
            bound += f" and more than {self.curve_lower}"
        confidence = f"confidence {percent(self.confidence)}{describe_validity(self.fixed_games)}"
        return f"{describe_outcome(self.refuted, self.undecided)}{bound} certified ({confidence})"

    @property
    def undecided(self) -> str:
        """Why a claim is neither refuted nor not refuted, as a clause; empty otherwise."""
        return explain_undecided(self, "scores")

    def document(self) -> Document:
        claim = "" if self.epsilon is None else f"({nats(self.epsilon)}, {self.delta:.3g})"
        for_curve = "" if self.curve is None else "nothing is certified"
        if self.curve_lower is not None:
            for_curve = f"{self.curve_lower} is false, and so is every smaller curve of its family"
        rows = [
            ("claim under test", claim if self.curve is None else f"{self.curve}, and so {claim}"),
            ("certified", f"{self.write_bound()} nats at δ = {self.delta:.3g}"),
            ("for its curve", for_curve),
            ("confidence", percent(self.confidence) + describe_validity(self.fixed_games)),
            ("ceiling", f"ε ≥ {nats(self.ceiling)} nats, had every score told the worlds apart"),
            ("scores", f"{self.pairs:,} pairs, and {self.unpaired:,} scores without a partner"),
        ]
        meaning = self._explain()
        picture = Picture.of_bounds([row.bounds for row in self.list_rows()], meaning.rstrip("."))
        return Document(parts=[Facts(rows), Prose(meaning)], picture=picture)

    def write_bound(self) -> str:
        """The certified bound, as `describe_lower` writes it."""
        return describe_lower(self.epsilon_lower, self.epsilon if self.refuted else None)

    def _explain(self) -> str:
        """What the scores certify, in a few sentences."""
        confidence = f"With confidence {percent(self.confidence)}"
        if self.refuted:
            assert self.epsilon is not None
            above = is_visibly_above(self.epsilon_lower, self.epsilon)
            more = f", and no claim of ε < {nats(self.epsilon_lower)} holds" if above else ""
            return f"{confidence}, the claim is false{more}."
        text = "These scores certify no loss of privacy. That is no proof of privacy."
        if self.epsilon_lower > 0 or self.curve_lower is not None:
            below = [f"no claim of ε < {nats(self.epsilon_lower)} holds"] if self.epsilon_lower > 0 else []
            below += [] if self.curve_lower is None else [f"the claim of {self.curve_lower} is false"]
            text = f"{confidence}, {', and '.join(below)}."
        return f"{text} Undecided: {self.undecided}." if self.undecided else text

    def list_rows(self) -> list[ResultRow]:
        return [
            ResultRow(
                mechanism="scores",
                method="certify",
                claim_epsilon=self.epsilon,
                claim_delta=None if self.epsilon is None else self.delta,
                epsilon_lower=self.epsilon_lower,
                delta=self.delta,
                confidence=self.confidence,
                games=self.pairs,
                ceiling=self.ceiling,
                refuted=self.refuted,
                undecided=self.undecided,
            )
        ]


def describe_outcome(refuted: bool | None, undecided: str) -> str:
    """The beginning of a headline: whether the claim under test, if there is one, is refuted."""
    if refuted is None:
        return ""
    return "refuted, " if refuted else "undecided, " if undecided else "not refuted, "


class SupportsCeiling(Protocol):
    """A certificate of a claim, with the most that could have been certified."""

    @property
    def refuted(self) -> bool | None: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def ceiling(self) -> float: ...
    @property
    def curve(self) -> PrivacyCurve | None: ...


def explain_undecided(certificate: SupportsCeiling, things: str) -> str:
    """Why a certificate decides nothing of a claim, as a clause: there are too few `things` to refute it."""
    claimed = certificate.epsilon
    if certificate.refuted is not False or claimed is None or certificate.curve is not None:
        return ""
    return f"so few {things} could not refute it" if certificate.ceiling < claimed else ""


class Auditor:
    """A lower bound on ε from scores that arrive bit by bit, valid whenever you look and whenever you stop.

    A score is what an attack makes of one game: train, or release, on one of two neighbouring data sets,
    world 0 or world 1, and compute a number from the result, higher if it looks like world 1.

    Assumed: games are independent; every game of world b is the same mechanism on data set b; the score is
    computed alike in all games, in a way chosen without looking at them. Scores of an update are shuffled.

    Then, with probability at least `confidence`, `certificate.epsilon_lower` never exceeds the true ε at this
    δ, over all updates together. Proof: docs/proofs/betting.md. Surplus scores of one world wait.

    delta: a probability; default: 0, or 1e-5 with a curve. epsilon: a claim in nats to test, if any. curve: a
    privacy curve to test instead, as in `audits.audit`; it is tested beside (ε, δ), each with half the error.
    log_ratios: whether scores are logarithms of the likelihood ratio of world 1 to world 0, which then
        refute a claim in fewer games; scores that are no such ratios need a few more.

    >>> auditor = Auditor(delta=0.0, confidence=0.95, epsilon=1.0)
    >>> auditor.update([0.1, 0.3, 0.2] * 50, [2.1, 1.7, 3.0] * 50).certificate.refuted
    True
    """

    def __init__(
        self,
        *,
        delta: float | None = None,
        confidence: float = 0.95,
        epsilon: float | None = None,
        curve: PrivacyCurve | str | None = None,
        log_ratios: bool = False,
    ) -> None:
        self._curve, epsilon, delta = check_claim(epsilon, delta, curve)
        check_value("confidence", confidence, number, more_than(0), less_than(1))
        share = confidence if self._curve is None else 1 - (1 - confidence) / 2
        self._confidence = confidence
        self._settings: dict[str, Any] = {"delta": delta, "confidence": share, "log_ratios": bool(log_ratios)}
        self._epsilon = epsilon
        self._betting = Betting(**self._settings, epsilon_claim=epsilon)
        self._tests = [self._betting]
        if self._curve is not None:
            self._tests.append(Betting(**self._settings, curve=self._curve))
        self._waiting = [np.empty(0), np.empty(0)]
        self._block_sizes = array("q")
        self._first_blocks: list[PairCounts] = []
        self._bins: ScoreBins | None = None
        self._updates = 0

    def update(self, scores_0: Scores, scores_1: Scores) -> Auditor:
        """Use the scores of more games of world 0, (n,), and of world 1, (m,); returns the auditor itself."""
        rng = generator(np.random.SeedSequence(self._updates))
        arrived = [read_scores(f"scores_{world}", s) for world, s in enumerate((scores_0, scores_1))]
        self._updates += 1
        self._waiting = [
            np.concatenate([waiting, rng.permutation(scores)])
            for waiting, scores in zip(self._waiting, arrived, strict=True)
        ]
        for size in self._split(min(map(len, self._waiting))):
            self._bet(*(waiting[:size] for waiting in self._waiting))
            self._waiting = [waiting[size:] for waiting in self._waiting]
        return self

    @property
    def certificate(self) -> Certificate:
        """What the scores so far certify."""
        bound = self._betting.epsilon_lower
        highest = _ceiling_of(tuple(self._block_sizes), **self._settings)
        return Certificate(
            epsilon_lower=bound,
            ceiling=max(highest, bound),  # it is computed from joined blocks, and may be a step less
            pairs=sum(self._block_sizes),
            unpaired=sum(map(len, self._waiting)),
            epsilon=self._epsilon,
            refuted=None if self._epsilon is None else any(test.refuted for test in self._tests),
            delta=self._settings["delta"],
            confidence=self._confidence,
            curve=self._curve,
            curve_lower=self._tests[-1].curve_lower,
        )

    def _split(self, pairs: int) -> Iterator[int]:
        """Sizes of blocks of so many new pairs: each at most half as large as all pairs before it."""
        seen = sum(self._block_sizes)
        first = first_block_pairs(seen + pairs, until_refuted=False)
        while pairs:
            size = min(pairs, max(first, seen // 2), MAX_BLOCK_PAIRS)
            yield size
            pairs, seen = pairs - size, seen + size

    def _bet(self, scores_0: np.ndarray, scores_1: np.ndarray) -> None:
        if self._bins is None:
            block = PairCounts.of(scores_0, scores_1)
            self._first_blocks.append(block)
        else:
            block = self._bins.count(scores_0, scores_1)
        for test in self._tests:
            test.update(block)
        self._block_sizes.append(block.pairs)
        if self._bins is None and sum(self._block_sizes) >= EXACT_PAIRS:
            self._bins = ScoreBins.of(self._first_blocks)
            self._first_blocks = []


# It takes as long as the bound itself, and is the same for as many other scores.
_ceiling_of = lru_cache(maxsize=64)(ceiling)


@explain_arguments
def certify(
    scores_0: Scores,
    scores_1: Scores,
    *,
    delta: float | None = None,
    confidence: float = 0.95,
    epsilon: float | None = None,
    curve: PrivacyCurve | str | None = None,
    log_ratios: bool = False,
    fixed_games: bool = False,
) -> Certificate:
    """A lower bound on ε at `delta` from the scores of independent games of two neighbouring worlds.

    scores_0, scores_1: (n,) and (m,), higher if they look like world 1; the surplus of one world is not used.
    fixed_games: you fixed the numbers of games before you saw any score, and give all of them. The bound is
        then sharper, most of all for a few hundred or thousand games, and holds at no other number of games.
        Proof: docs/proofs/guess_counts.md.
    All else is as of `Auditor`, which says what is assumed about scores and what is certified.

    Raises: InvalidArgument if scores are no numbers, or one world has fewer than two, or if fixed_games is
    given with a curve.

    >>> certify([0.1, 0.3, 0.2] * 50, [2.1, 1.7, 3.0] * 50)
    <Certificate: ε ≥ 3.383 at δ = 0 certified (confidence 95 %)>
    """
    arrays = [read_scores("scores_0", scores_0), read_scores("scores_1", scores_1)]
    for world, scores in enumerate(arrays):
        if len(scores) < 2:
            raise InvalidArgument(
                f"scores_{world} must hold the scores of two games at least",
                value=len(scores),
                remedy="Play more games in that world; a few hundred certify something.",
            )
    if fixed_games:
        return _certify_fixed(arrays, check_claim(epsilon, delta, curve), confidence)
    auditor = Auditor(delta=delta, confidence=confidence, epsilon=epsilon, curve=curve, log_ratios=log_ratios)
    return auditor.update(arrays[0], arrays[1]).certificate


def _certify_fixed(
    arrays: Sequence[np.ndarray], claim: tuple[PrivacyCurve | None, float | None, float], confidence: float
) -> Certificate:
    """The certificate of scores (n,) and (m,) whose numbers were fixed beforehand."""
    curve, epsilon, delta = claim
    check_value("confidence", confidence, number, more_than(0), less_than(1))
    if curve is not None:
        raise InvalidArgument(
            "fixed_games tests one pair of ε and δ, and no privacy curve",
            value=curve,
            remedy="Give epsilon and delta, or leave out fixed_games.",
        )
    pairs = min(map(len, arrays))
    # Neither order nor coins may depend on what the scores say, or be the same for other scores.
    digest = int.from_bytes(sha256(b"".join(scores.tobytes() for scores in arrays)).digest()[:16])
    rng = generator(np.random.SeedSequence([digest, 1]))
    scores = [rng.permutation(world)[:pairs] for world in arrays]
    counter = GuessCounter(delta=delta, confidence=confidence, games=pairs, seed=digest)
    choosing = count_choosing(pairs)
    counter.update(PairCounts.of(*(world[:choosing] for world in scores)))
    counter.update(counter.bins.count(*(world[choosing:] for world in scores)))
    bound = counter.epsilon_lower or 0.0
    return Certificate(
        epsilon_lower=bound,
        ceiling=max(bound, counter.ceiling),
        pairs=pairs,
        unpaired=sum(map(len, arrays)) - 2 * pairs,
        epsilon=epsilon,
        refuted=None if epsilon is None else bound > epsilon,
        delta=delta,
        confidence=confidence,
        fixed_games=True,
    )


def check_claim(
    epsilon: float | None, delta: float | None, curve: PrivacyCurve | str | None
) -> tuple[PrivacyCurve | None, float | None, float]:
    """The curve, ε in nats and δ under test. Raises: InvalidArgument."""
    curve, epsilon, delta = resolve_curve(curve, epsilon, delta)
    delta = 0.0 if delta is None else delta
    check_value("delta", delta, number, at_least(0), less_than(1))
    if epsilon is not None:
        check_value("epsilon", epsilon, number, more_than(0))
    return curve, epsilon, delta


def read_scores(name: str, scores: object, *, of: str = "game") -> np.ndarray:
    """Numbers as an array (n,) of floats; of: what each belongs to. Raises: InvalidArgument."""
    refuse_masks(name, scores)
    try:
        values = np.asarray(scores)
    except ValueError:  # rows of different lengths
        values = np.array(None)
    if values.dtype == object and values.ndim == 1:
        values = as_numbers(name, values)
    if values.ndim != 1 or (values.dtype.kind not in "biuf" and len(values)):
        raise InvalidArgument(
            f"{name} must be an array of numbers, one for each {of}",
            value=f"an array of {values.dtype.name}, shape {values.shape}" if values.ndim else scores,
        )
    check_integers(name, scores)
    if np.isnan(values.astype(float)).any():
        raise InvalidArgument(f"{name} must not contain NaN", remedy=f"Score a {of} that failed by a number.")
    return values.astype(float)

"""`audits.certify_one_run` and `audit_one_run`: a bound on ε from one run with many canaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import InvalidArgument, OneRun, play
from arena.privacy_curves import PrivacyCurve
from arena.randomness import block_seed
from arena.settings import at_least, check_value, less_than, more_than, number, whole
from audits.api.audit import split_settings
from audits.api.certify import Scores, check_claim, describe_outcome, explain_undecided, read_scores
from audits.api.user_data import read_data
from audits.registry.match import Match, build_match, check_protected, read_claim
from audits.registry.players import GivenAdversary, GivenLearner, copy_learner
from audits.registry.suggestions import explain_arguments
from audits.reports.formatting import describe_lower, is_visibly_above, nats, percent
from audits.reports.plots import Picture
from audits.reports.report import Document, Facts, Prose, Report
from audits.reports.result_table import ResultRow
from audits.statistics.betting import CurveFamily, EpsilonGrid
from audits.statistics.one_run import (
    MIN_CANARIES,
    check_fair_coins,
    count_rejected,
    find_bound,
    guess_bits,
    is_claim_excluded,
)


@attrs.frozen(kw_only=True, repr=False)
class OneRunCertificate(Report):
    """A certified bound from one run with many canaries.

    epsilon_lower: in nats; every claim of a smaller ε at this δ is false. curve_epsilon_lower: so is every
        curve of the family of `curve` with a smaller ε at this δ. Both hold together with probability at
        least `confidence`. curve_lower: the largest of these curves, itself false.
    ceiling: the epsilon_lower of as many canaries, had every guess been right.
    guesses: at both ends of the scores. refuted: whether a claim under test is false; None without one.
    name: of what was trained.
    """

    kind: ClassVar[str] = "one run"
    derived: ClassVar[tuple[str, ...]] = ("undecided",)

    epsilon_lower: float
    curve_epsilon_lower: float | None
    curve_lower: PrivacyCurve | None
    ceiling: float
    delta: float
    confidence: float
    canaries: int
    guesses: int
    right: int
    epsilon: float | None
    curve: PrivacyCurve | None
    refuted: bool | None
    name: str = attrs.field(default="scores", repr=False)

    @property
    def headline(self) -> str:
        bound = describe_lower(self.epsilon_lower, self.epsilon if self.refuted else None)
        curve = self.curve_epsilon_lower
        member = "" if self.curve_lower is None else f", that of {self.curve_lower}"
        note = "" if curve is None else f" (ε ≥ {nats(curve)} for its privacy curve{member})"
        bound = f"{describe_outcome(self.refuted, self.undecided)}{bound}{note}"
        return f"{bound} at δ = {self.delta:.3g} certified (confidence {percent(self.confidence)})"

    @property
    def undecided(self) -> str:
        """Why a claim is neither refuted nor not refuted, as a clause; empty otherwise."""
        return explain_undecided(self, "canaries")

    def document(self) -> Document:
        curve, at = self.curve_epsilon_lower, f"nats at δ = {self.delta:.3g}"
        largest = "" if self.curve_lower is None else f": that of {self.curve_lower} is false"
        claimed = (self.epsilon or 0.0) if self.refuted else 0.0
        rows = [
            ("claim", "" if self.epsilon is None else f"({nats(self.epsilon)}, {self.delta:.3g})"),
            ("curve", "" if self.curve is None else str(self.curve)),
            ("certified", f"{describe_lower(self.epsilon_lower, claimed or None)} {at}"),
            ("for the curve", "" if curve is None else f"ε ≥ {nats(curve)} {at}, among its family{largest}"),
            ("confidence", percent(self.confidence)),
            ("ceiling", f"ε ≥ {nats(self.ceiling)} nats, had every guess been right"),
            ("canaries", f"{self.canaries:,}, each in the data by a fair coin"),
            ("guesses", f"{self.right:,} of {self.guesses:,} right, of the most extreme scores"),
        ]
        claims = ["the claim is false"] if self.refuted else []
        if is_visibly_above(self.epsilon_lower, claimed):
            claims.append(f"no claim of ε < {nats(self.epsilon_lower)} holds")
        if curve and is_visibly_above(curve, claimed):
            claims.append(f"no privacy curve of this family below ε = {nats(curve)} holds")
        meaning = f"With confidence {percent(self.confidence)}, {', and '.join(claims)}."
        if not claims:
            meaning = "These guesses certify no loss of privacy. That is no proof of privacy."
        if self.undecided:
            meaning += f" Undecided: {self.undecided}."
        (row,) = self.list_rows()
        bars = [row.bounds]
        if curve is not None:
            bars.append(attrs.evolve(row.bounds, name="for its curve", certified=curve, ceiling=None))
        picture = Picture.of_bounds(
            bars, f"{self.name}: one run with {self.canaries:,} canaries", meaning.rstrip(".")
        )
        return Document(parts=[Facts(rows), Prose(meaning)], picture=picture)

    def list_rows(self) -> list[ResultRow]:
        return [
            ResultRow(
                mechanism=self.name,
                method=self.kind,
                claim_epsilon=self.epsilon,
                claim_delta=None if self.epsilon is None else self.delta,
                epsilon_lower=self.epsilon_lower,
                delta=self.delta,
                confidence=self.confidence,
                games=self.canaries,
                ceiling=self.ceiling,
                refuted=self.refuted,
                undecided=self.undecided,
            )
        ]


@explain_arguments
def certify_one_run(
    scores: Scores,
    included: Sequence[bool] | Sequence[int] | np.ndarray,
    *,
    delta: float | None = None,
    confidence: float = 0.95,
    epsilon: float | None = None,
    curve: PrivacyCurve | str | None = None,
) -> OneRunCertificate:
    """A lower bound on ε at `delta` from the scores of m canaries of one run.

    Assumed: a fair coin of its own decided for each canary whether it is in the data, and the scores were
    computed without these coins. Canaries and scores may depend on each other in any way. ε and δ are about
    neighbouring data that differ in whether one canary is included. Proof: docs/proofs/one_run.md.

    scores: (m,), higher if the canary looks included. included: (m,), 1 if it was, and 0 if not.
    delta, epsilon, curve: as of `Auditor`; the family of a curve gives a second bound.

    Raises: InvalidArgument, also for fewer than 10 canaries, or if their coins cannot have been fair.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> coins = rng.integers(2, size=1_000)
    >>> certify_one_run(coins + rng.normal(size=1_000), coins, epsilon=0.5).refuted
    True
    """
    check_value("confidence", confidence, number, more_than(0), less_than(1))
    curve, epsilon, delta = check_claim(epsilon, delta, curve)
    guesses = guess_bits(*_read_canaries(scores, included))
    error = (1 - confidence) / (1 if curve is None else 2)
    claims = EpsilonGrid.make(delta, claim=epsilon)
    refuted = is_claim_excluded(claims, guesses, error)
    curve_bound, curve_lower = None, None
    if curve is not None:
        curves = CurveFamily(curve, delta)
        rejected = count_rejected(curves, guesses, error)
        curve_lower = curves.read_curve(rejected - 1) if rejected else None
        curve_bound = 0.0 if curve_lower is None else curve_lower.epsilon(delta)
        refuted = refuted or is_claim_excluded(curves, guesses, error)
    both = guesses[0]
    perfect = tuple(attrs.evolve(made, right=made.guesses) for made in guesses)
    return OneRunCertificate(
        epsilon_lower=find_bound(claims, guesses, error),
        curve_epsilon_lower=curve_bound,
        curve_lower=curve_lower,
        ceiling=find_bound(claims, perfect, error),
        delta=delta,
        confidence=confidence,
        canaries=both.canaries,
        guesses=both.guesses,
        right=both.right,
        epsilon=epsilon,
        curve=curve,
        refuted=None if epsilon is None and curve is None else refuted,
    )


def _read_canaries(scores: object, included: object) -> tuple[np.ndarray, np.ndarray]:
    """The scores (m,) and the bits (m,), checked. Raises: InvalidArgument."""
    values = read_scores("scores", scores, of="canary")
    bits = read_scores("included", included, of="canary")
    if len(values) != len(bits):
        raise InvalidArgument(
            "scores and included must have one entry for each canary", value=f"{len(values)} and {len(bits)}"
        )
    if not np.isin(bits, (0, 1)).all():
        raise InvalidArgument(
            "included must hold 0 and 1 only",
            value=float(bits[~np.isin(bits, (0, 1))][0]),
            remedy="Write 1 for a canary that is in the data, and 0 for one that is not.",
        )
    if len(values) < MIN_CANARIES:
        raise InvalidArgument(
            f"there must be at least {MIN_CANARIES} canaries", value=len(values), remedy="Give a thousand."
        )
    check_fair_coins(bits == 1)
    return values, bits == 1


@explain_arguments
def audit_one_run(
    learner: GivenLearner,
    against: GivenAdversary = "planted-canaries",
    *,
    data: Any = None,
    canaries: int = 1_000,
    seed: int = 0,
    confidence: float = 0.95,
    settings: Mapping[str, Any] | None = None,
) -> OneRunCertificate:
    """Train a learner once, on data and about half of many canaries, and test its claim by guessing which.

    The game is `arena.OneRun`. The usual canaries lie along features that the data do not have, so a linear
    model, as that of `dp-sgd`, needs more features than the data.

    learner, against, settings: as in `audits.audit`. data: points and labels, or a `Sample`. The result is
    that of `certify_one_run` for the learner's claim.

    Raises: InvalidArgument; Unsupported if the claim does not say what adding, removing or zeroing out an
    example costs; the errors of `arena.play`.

    >>> import numpy as np
    >>> people = (np.eye(2)[[0, 1] * 50], [0, 1] * 50)
    >>> settings = {"features": 502, "size": 100, "batch": 100, "steps": 20, "noise": 1.0}
    >>> audit_one_run("dp-sgd", data=people, canaries=500, settings=settings).refuted
    False
    """
    sample, asked = read_data(learner, data, None, split_settings(settings))
    match = build_match(learner, against, settings=asked, data=sample, protocol=OneRun.name)
    return certify_match(match, canaries=canaries, seed=seed, confidence=confidence)


def certify_match(match: Match, *, canaries: int, seed: int, confidence: float) -> OneRunCertificate:
    """Play one run with so many canaries, and test the learner's claim. Errors as of `audit_one_run`."""
    check_value("canaries", canaries, whole, at_least(MIN_CANARIES))
    claim, learner = read_claim(match.learner), copy_learner(match.learner)
    played = play(learner, match.adversary, match.referee, games=canaries, seed=block_seed(seed, 0))
    check_protected(played.challenges, learner, match.adversary)
    if played.score is None:
        raise InvalidArgument(
            f"{match.adversary.name} returns no scores", remedy="Let play() return one for each canary."
        )
    certificate = certify_one_run(
        played.score,
        played.worlds,
        delta=claim.delta,
        confidence=confidence,
        epsilon=claim.epsilon if claim.curve is None else None,
        curve=claim.curve,
    )
    return attrs.evolve(certificate, name=learner.own_name)

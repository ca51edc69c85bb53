"""`audits.certify_one_run`: a bound on ε from one run with many canaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import InvalidArgument
from arena.privacy_curves import PrivacyCurve
from arena.settings import check_value, less_than, more_than, number
from audits.api.certify import Scores, read_claim, read_scores
from audits.data.output_files import check_extra
from audits.registry.suggestions import explain_arguments
from audits.reports.formatting import name_table, nats, percent, wrap
from audits.reports.json_form import to_data
from audits.reports.report import Report
from audits.statistics.betting.hypotheses import CurveFamily, EpsilonGrid
from audits.statistics.one_run import (
    MIN_CANARIES,
    check_fair_coins,
    count_rejected,
    find_bound,
    guess_bits,
    is_claim_excluded,
)

if TYPE_CHECKING:
    from audits.reports.figure import ReportFigure


@attrs.frozen(kw_only=True, repr=False)
class OneRunCertificate(Report):
    """A certified bound from one run with many canaries.

    epsilon_lower: in nats; every claim of a smaller ε at this δ is false. curve_epsilon_lower: every curve of
        the family of `curve` with a smaller ε at this δ is false; None without a curve. Both hold together
        with probability at least `confidence`. curve_lower: the largest of these curves, itself false; None
        if there is none.
    ceiling: the epsilon_lower of as many canaries, had every guess been right.
    canaries: m. guesses, right: the guesses at both ends of the scores, and how many of them are right.
    epsilon, curve: the claims under test. refuted: whether one of them is false; None without a claim.
    """

    kind: ClassVar[str] = "one run"

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

    @property
    def headline(self) -> str:
        outcome = "" if self.refuted is None else "refuted, " if self.refuted else "not refuted, "
        bound = f"ε ≥ {nats(self.epsilon_lower)}"
        curve = self.curve_epsilon_lower
        member = "" if self.curve_lower is None else f", that of {self.curve_lower}"
        note = "" if curve is None else f" (ε ≥ {nats(curve)} for its privacy curve{member})"
        confidence = percent(self.confidence)
        return f"{outcome}{bound}{note} at δ = {self.delta:.3g} certified (confidence {confidence})"

    def summary(self) -> str:
        curve, at = self.curve_epsilon_lower, f"nats at δ = {self.delta:.3g}"
        largest = "" if self.curve_lower is None else f": that of {self.curve_lower} is false"
        rows = [
            *([] if self.epsilon is None else [("claim", f"({nats(self.epsilon)}, {self.delta:.3g})")]),
            *([] if self.curve is None else [("curve", str(self.curve))]),
            ("certified", f"ε ≥ {nats(self.epsilon_lower)} {at}"),
            *(
                []
                if curve is None
                else [("for the curve", f"ε ≥ {nats(curve)} {at}, among its family{largest}")]
            ),
            ("confidence", percent(self.confidence)),
            ("ceiling", f"ε ≥ {nats(self.ceiling)} nats, had every guess been right"),
            ("canaries", f"{self.canaries:,}, each in the data by a fair coin"),
            ("guesses", f"{self.right:,} of {self.guesses:,} right, of the most extreme scores"),
        ]
        return f"{name_table(rows)}\n\n{wrap(self._explain())}"

    def _explain(self) -> str:
        largest = max(self.epsilon_lower, self.curve_epsilon_lower or 0.0)
        if largest == 0:
            return "These guesses certify no loss of privacy. That is no proof of privacy."
        claims = [] if not self.epsilon_lower else [f"no claim of ε < {nats(self.epsilon_lower)} holds"]
        if self.curve_epsilon_lower:
            claims.append(f"no privacy curve of this family below ε = {nats(self.curve_epsilon_lower)} holds")
        return f"With confidence {percent(self.confidence)}, {', and '.join(claims)}."

    def plot(self) -> ReportFigure:
        """The bounds beside the ceiling and the claim. Raises: InvalidArgument without matplotlib."""
        check_extra("a chart", "matplotlib")
        from audits.reports.figure import draw_bars, make_figure  # an extra, and slow to import

        named = {
            "certified": self.epsilon_lower,
            "for the curve": self.curve_epsilon_lower,
            "claimed": self.epsilon,
            "ceiling": self.ceiling,
        }
        rows = [(name, value) for name, value in named.items() if value is not None]
        draw_all = {"label": "ε (nats)", "title": self.headline}
        return make_figure(lambda axes: draw_bars(axes, rows, **draw_all), of="one run", bars=True)

    def _describe(self) -> dict[str, Any]:
        entries: dict[str, Any] = to_data(self)
        return entries


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

    Raises: InvalidArgument if scores are no numbers, there are fewer than 10, or the included canaries cannot
    be those of fair coins: too many or too few, or one of each pair.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> coins = rng.integers(2, size=1_000)
    >>> certify_one_run(coins + rng.normal(size=1_000), coins, epsilon=0.5).refuted
    True
    """
    check_value("confidence", confidence, number, more_than(0), less_than(1))
    curve, epsilon, delta = read_claim(epsilon, delta, curve)
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
            f"there must be at least {MIN_CANARIES} canaries",
            value=len(values),
            remedy="A thousand certify something.",
        )
    check_fair_coins(bits == 1)
    return values, bits == 1

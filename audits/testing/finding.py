"""What a refuted claim looks like to a person: the figures, a game, the adversary, the line to replay it."""

from __future__ import annotations

import textwrap
from functools import cached_property

import attrs
import numpy as np
from tabulate import tabulate

from arena import Adversary, ArenaError, Played
from audits.reports import verdict_rows
from audits.runs.game_transcript import one_of_each, written
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict
from audits.search import Script, SearchResult
from audits.search.printing import script_source
from audits.testing.replay import FILE, replay_line

_TOLD = ("claim under test", "certified", "adversary", "protocol", "games")
_PAIRS = 32  # looked at for one in which the score is right
_MOST_LINES = 60  # of a game


@attrs.frozen(kw_only=True, slots=False)
class Finding:
    """A claim that is refuted.

    plan, verdict: of the audit that refutes it. sought: the search that found the adversary, if one did.
    """

    plan: Plan
    verdict: Verdict
    sought: SearchResult | None = None

    @property
    def adversary(self) -> Adversary:
        """The adversary that refutes it."""
        return self.plan.adversary

    @property
    def source(self) -> str:
        """The adversary as a Python file, if it was found; else empty."""
        if not isinstance(self.adversary, Script):
            return ""
        claim = f"Found against {self.verdict.learner} under the claim {self.verdict.claim}."
        return script_source(self.adversary, about=textwrap.fill(claim, 100))

    @cached_property
    def replay(self) -> str:
        """The command line that plays the audit again, or Python where none can name the players."""
        return replay_line(self.plan, self.sought)

    @cached_property
    def game(self) -> str:
        """One game in each world, side by side: the first pair whose scores are the right way round."""
        try:
            return _cut(written(self._pair()))
        except ArenaError as error:
            return f"(it ends early: {error})"

    def _pair(self) -> tuple[Played, ...]:
        plan = self.plan
        pairs = (
            one_of_each(plan.learner, plan.adversary, plan.referee, seed=seed, faults=plan.faults)
            for seed in range(_PAIRS)
        )
        first = next(pairs)
        return (
            first if _scores(first) is None or _told_apart(first) else next(filter(_told_apart, pairs), first)
        )

    @property
    def headline(self) -> str:
        """What is refuted, in one line."""
        verdict = self.verdict
        return (
            f"{verdict.learner} does not keep its claim: with confidence {100 * verdict.confidence:.10g} %, "
            f"no ε below {verdict.epsilon_lower:.4g} at δ = {verdict.claim.delta:.3g} is true"
        )

    @property
    def details(self) -> str:
        """The figures, a game, the adversary's source if it was found, and the line to replay it."""
        parts = [
            tabulate(self._figures(), tablefmt="plain", disable_numparse=True),
            f"One game in each world:\n\n{self.game}",
        ]
        if self.source:
            parts.append(f"The adversary, as {FILE}:\n\n{self.source.rstrip()}")
        return "\n\n".join([*parts, f"Replay it:\n\n{self.replay}"])

    def _figures(self) -> list[tuple[str, str]]:
        figures = dict(verdict_rows(self.verdict, self.plan))
        if self.sought is not None:
            tried = self.sought.examples
            figures["adversary"] = f"found by a search, in {tried:,} tr{'y' if tried == 1 else 'ies'}"
        return [(name, figures[name]) for name in _TOLD]

    def __str__(self) -> str:
        return f"{self.headline}\n\n{self.details}"


def _scores(tables: tuple[Played, ...]) -> dict[bool, float] | None:
    """By world."""
    if any(played.score is None for played in tables):
        return None
    return {
        bool(world): float(score)
        for played in tables
        for world, score in zip(played.worlds, np.asarray(played.score), strict=True)
    }


def _told_apart(tables: tuple[Played, ...]) -> bool:
    scores = _scores(tables)
    return scores is not None and scores[True] > scores[False]


def _cut(text: str) -> str:
    lines = text.splitlines()
    left = len(lines) - _MOST_LINES
    return text if left <= 0 else "\n".join([*lines[:_MOST_LINES], f"... and {left} lines more"])

"""`audits.race`: compare learners by mistakes, regret, or errors of their hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from arena import InvalidArgument, Learner, Sample
from audits.api.arguments import split_settings
from audits.data.output_files import check_extra
from audits.races import plan_online_race, run_race
from audits.races.online_race import MARKS
from audits.races.predictor_race import PROTOCOL as PREDICTOR_PROTOCOL
from audits.races.predictor_setup import setup_predictor_race
from audits.races.race_result import Race, RaceResult
from audits.races.race_text import describe_race, race_text, race_title
from audits.registry.entrants import LabelledClass, build_online_entrants, find_entrants
from audits.registry.given_players import read_sample
from audits.registry.match import DataSource, PlayerSettings
from audits.registry.suggestions import explain_arguments
from audits.reports.report import Report, extend_record
from audits.runs.workers import Workers

if TYPE_CHECKING:
    from audits.reports.figure import ReportFigure

GAMES = 1_000  # of a race of online learners


@attrs.frozen(eq=False, kw_only=True, repr=False)
class RaceReport(Report, RaceResult):
    """The standings of a race. notes: how settings were chosen."""

    notes: tuple[str, ...] = attrs.field(default=(), repr=False)

    @property
    def headline(self) -> str:
        end = ", interrupted" if self.interrupted else ", a promised bound is violated" if self.broken else ""
        return f"{race_title(self.race)}{end}"

    def summary(self) -> str:
        return "".join(f"note: {note}\n" for note in self.notes) + race_text(self)

    def plot(self) -> ReportFigure:
        """Medians by round with their limits, and bounds. Raises: InvalidArgument without matplotlib."""
        check_extra("a chart", "matplotlib")
        from audits.races.race_chart import draw_standings
        from audits.reports.figure import make_figure  # an extra, and slow to import

        return make_figure(lambda axes: draw_standings(axes, self), of="race")

    def _describe(self) -> dict[str, Any]:
        return describe_race(self)


@explain_arguments
def race(
    learners: Sequence[str | Learner],
    against: str | None = None,
    *,
    rounds: int | None = None,
    games: int | None = None,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int | None = None,
    as_set: bool = False,
    data: Any = None,
    confidence: float = 0.95,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    progress: Callable[[int], None] | None = None,
) -> RaceReport:
    """Play each learner many times against an adversary, and compare mistakes, regret or errors.

    learners: learners, or names; "few=realizable" gives a learner a label. against: the name of the
        adversary; default for predictors: honest.
    rounds: of a game; default: the adversary's. games: of each learner; default: 1,000, for predictors fewer.
    agnostic: allow games that no concept explains, and count regret. marks: the number of rounds at which
        figures are recorded, at most. as_set: keep the default sizes of predictors.
    settings: {"nodes": 64} of all learners, {"few.nodes": 64} of one, and {"adversary.noise": 0}.
    confidence: of all limits together. data, protocol, seed, jobs: as in `audits.audit`.
    progress: called with the number of games played.

    Raises: InvalidArgument; NotConforming; Unsupported if a class is too large.

    >>> import audits
    >>> result = audits.race(["soa", "halving"], "shattered-tree", rounds=20, games=10)
    >>> [standing.label for standing in result.standings], result.broken
    (['soa', 'halving'], False)
    """
    if isinstance(learners, str | Learner) or not isinstance(learners, Sequence) or not learners:
        raise InvalidArgument(
            "learners must be a list of learners or names", value=learners, remedy='Write ["soa", "halving"].'
        )
    entrants = find_entrants(learners)
    asked = split_settings(settings, *(label for label, _ in entrants))
    plan, notes = plan_race(
        entrants,
        asked,
        against=against,
        rounds=rounds,
        games=games,
        protocol=protocol,
        agnostic=agnostic,
        marks=marks,
        as_set=as_set,
        data=None if data is None else read_sample("data", data),
        confidence=confidence,
        seed=seed,
    )
    return extend_record(run_race(plan, jobs=jobs, watch=progress), RaceReport, notes=tuple(notes))


def plan_race(
    entrants: list[LabelledClass],
    settings: PlayerSettings,
    *,
    against: str | None,
    rounds: int | None,
    games: int | None,
    protocol: str | None,
    agnostic: bool,
    marks: int | None,
    as_set: bool,
    data: DataSource | Sample | None,
    confidence: float,
    seed: int,
) -> tuple[Race, list[str]]:
    """The race of online learners, or of predictors, and notes on how settings were chosen.

    Raises: InvalidArgument; Unsupported as the plans of races do.
    """
    if _are_predictors(entrants):
        if protocol not in (None, PREDICTOR_PROTOCOL):
            raise InvalidArgument(
                f"Predictors are raced under {PREDICTOR_PROTOCOL}, not {protocol}",
                remedy="Leave the protocol out.",
            )
        if marks is not None:
            raise InvalidArgument(
                "--marks is for online games; predictors are measured by their rounds", remedy="Leave it out."
            )
        return setup_predictor_race(
            entrants,
            settings,
            against=against,
            rounds=rounds,
            games=games,
            data=data,
            as_set=as_set,
            agnostic=agnostic,
            confidence=confidence,
            seed=seed,
        )
    if against is None:
        raise InvalidArgument("a race of online learners needs an adversary", remedy="Name it: against=...")
    if data is not None or as_set:
        raise InvalidArgument(
            "--data and --as-set are for predictors, which play Figure1", remedy="Leave them out."
        )
    players, rounds = build_online_entrants(entrants, settings, against=against, rounds=rounds)
    race = plan_online_race(
        players,
        rounds=rounds,
        games=GAMES if games is None else games,
        protocol=protocol,
        agnostic=agnostic,
        marks=MARKS if marks is None else marks,
        confidence=confidence,
        seed=seed,
    )
    return race, [note for _, learner, _ in players for note in learner.shortcomings]


def _are_predictors(entrants: Sequence[LabelledClass]) -> bool:
    """Whether the learners are predictors. Raises: InvalidArgument if only some of them are."""
    predictors = [label for label, player in entrants if PREDICTOR_PROTOCOL in player.protocols]
    if predictors and len(predictors) < len(entrants):
        raise InvalidArgument(
            f"Predictors ({', '.join(predictors)}) and learners of online games need separate races",
            remedy="Race them one after the other.",
        )
    return bool(predictors)

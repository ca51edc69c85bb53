"""How far queries that are chosen move a predictor: its errors by rounds, by the fraction that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner
from audits.races.errors.exact_errors import Judge
from audits.races.errors.games import judged
from audits.races.errors.plan import PredictorRace, asked, predictor_race
from audits.races.mistakes.games import play_all
from audits.registry.settings_text import format_settings, summarize_player
from audits.runs.workers import Workers
from audits.statistics.means_and_shares import Middle

FRACTIONS = (0.0, 0.1, 0.3, 0.9)
GAMES = 50
NOBODY = "-"  # the aim where nothing is chosen


@attrs.frozen(kw_only=True)
class Dose:
    """A learner, and how much of what it is asked. label: what the learner is called."""

    label: str
    aim: str
    fraction: float


@attrs.frozen(kw_only=True)
class Poisoning:
    """The plan: a race in which every dose of every learner is an entrant."""

    race: PredictorRace
    doses: tuple[Dose, ...]


@attrs.frozen(kw_only=True)
class Spoilt:
    """What a dose came to; tuples are by rounds.

    mean: a game's mean error of hypotheses. worst: its largest. moved: the error of the concept that labels
    S_i, from round 2 on. halted: games that halted before the round's end; what they
    leave unanswered has error 1.
    """

    dose: Dose
    learner: Learner
    adversary: Adversary
    mean: tuple[Middle, ...]
    worst: tuple[Middle, ...]
    moved: tuple[Middle, ...]
    halted: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        learner = self.learner
        return {
            "label": self.dose.label,
            "learner": learner.name,
            "settings": format_settings(learner),
            "aim": self.dose.aim if self.dose.fraction else None,
            "fraction": self.dose.fraction,
            **{name: [one.as_json() for one in getattr(self, name)] for name in ("mean", "worst", "moved")},
            "halted": list(self.halted),
        }


@attrs.frozen(kw_only=True)
class PoisoningResult:
    """The figures of all doses, in the order of the plan."""

    plan: Poisoning
    doses: tuple[Spoilt, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known."""
        race = self.plan.race
        names = ("rounds", "games", "tested", "confidence", "seed")
        told = {name: getattr(race, name) for name in names}
        return (
            {"adversary": summarize_player(self.doses[0].adversary)}
            | told
            | {
                "doses": [one.as_json() for one in self.doses],
                "worst": [
                    {"label": label, "aim": one.dose.aim, "fraction": one.dose.fraction}
                    for label, one in self.sharpest().items()
                ],
            }
        )

    def sharpest(self) -> dict[str, Spoilt]:
        """For each learner that was poisoned, the dose after which it errs most in the last round."""
        found: dict[str, Spoilt] = {}
        for one in self.doses:
            best = found.get(one.dose.label)
            if one.dose.fraction and (best is None or one.mean[-1].median > best.mean[-1].median):
                found[one.dose.label] = one
        return found


def poisoning(
    learners: Sequence[tuple[str, Learner]],
    made: Callable[[Learner, str, float], Adversary],
    *,
    aims: Sequence[str],
    fractions: Sequence[float] = FRACTIONS,
    **others: Any,
) -> Poisoning:
    """The plan. made: the adversary for a learner, an aim and a fraction. others: as of `predictor_race`.

    Where the fraction is 0 the aim does not matter, and one is played.

    Raises: InvalidArgument for fractions outside [0, 1] or given twice, and as `predictor_race` does.
    """
    for fraction in fractions:
        if not 0 <= fraction <= 1:
            raise InvalidArgument("a fraction lies between 0 and 1", value=fraction)
    if not aims or not fractions or len(set(fractions)) < len(fractions) or len(set(aims)) < len(aims):
        raise InvalidArgument("aims and fractions are one or more, each given once", value=(aims, fractions))
    doses, entrants = [], []
    for label, learner in learners:
        for fraction in sorted(fractions):
            for aim in aims if fraction else aims[:1]:
                doses.append(Dose(label=label, aim=aim if fraction else NOBODY, fraction=fraction))
                name = f"{label} {doses[-1].aim} {fraction:g}"
                entrants.append((name, learner, made(learner, aim, fraction)))
    return Poisoning(race=predictor_race(entrants, **others), doses=tuple(doses))


def run(
    plan: Poisoning, *, jobs: int | Workers = 1, watch: Callable[[int], None] | None = None
) -> PoisoningResult:
    """Play the plan. jobs: processes, or `Workers`; the figures do not depend on them. watch: is told the
    games played.

    Raises: as `audits.races.errors.run` does.
    """
    figures = play_all(plan.race, partial(play_block, plan.race), jobs, watch)
    found = [_spoilt(plan, number, one) for number, one in enumerate(figures)]
    return PoisoningResult(plan=plan, doses=tuple(found))


class Surgeon(Judge):
    """A judge who also looks at the concept that labels S_i.

    moved: (rounds, n), its error; NaN in rounds that no game reached, and in round 1.
    """

    def opens(self, people: Any, games: int, rng: np.random.Generator) -> None:
        super().opens(people, games, rng)
        self.moved = np.full((self._rounds, games), np.nan)

    def answered(self, state: Any, x: np.ndarray, labels: np.ndarray, silent: np.ndarray) -> None:
        super().answered(state, x, labels, silent)
        index, concepts = state.round.index, state.labelling
        if concepts is None or index > self._rounds or not np.isnan(self.moved[index - 1]).all():
            return
        exam = self._exam
        said = np.stack(
            [
                self._concepts.labels(own[None], points)[0]
                for own, points in zip(concepts, exam.points, strict=True)
            ]
        )
        errors = (said != exam.labels) @ exam.weights - exam.least
        self.moved[index - 1] = np.where(silent, np.nan, errors)


def play_block(race: PredictorRace, task: tuple[int, int]) -> np.ndarray:
    """(4, K, n): of the games of a block, by rounds, the answers, the largest error of a hypothesis, the sum
    of the errors, and the error of the concept that labels S_i. task: (number of the entrant, block).
    """
    judge = Surgeon(race.rounds, race.entrants[task[0]].concepts, size=race.tested)
    judged(race, task, judge)
    return np.stack([judge.answers, judge.worst, judge.total, judge.moved])


def _spoilt(plan: Poisoning, number: int, figures: np.ndarray) -> Spoilt:
    race, entrant = plan.race, plan.race.entrants[number]
    answers, worst, total, moved = figures
    wanted = asked(entrant.learner, race.rounds)[:, None]
    error = (1 - race.confidence) / (3 * race.rounds * len(race.entrants))
    # What halted games leave unanswered has error 1. Errors beyond those of the best concept may be below 0,
    # since votes are no concept of the class.
    mean = np.clip((total + (wanted - answers)) / wanted, 0, 1)
    worst = np.clip(np.where(answers < wanted, 1.0, worst), 0, 1)
    known = [np.clip(row[~np.isnan(row)], 0, 1) for row in moved]
    return Spoilt(
        dose=plan.doses[number],
        learner=entrant.learner,
        adversary=entrant.adversary,
        mean=tuple(Middle.of(row, error) for row in mean),
        worst=tuple(Middle.of(row, error) for row in worst),
        moved=tuple(Middle.of(row, error) for row in known),
        halted=tuple((answers < wanted).sum(axis=1).tolist()),
    )

"""The verbs of `import audits`: what they accept and refuse, and that they agree with the command line."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest
from support.command_line import Command, without_times

import audits
from adversaries import CountSwap, PointSwap
from arena import InvalidArgument, NothingTested, Release, Sample
from audits.cli.audit import audit as audit_command
from audits.runs.plan import PlanArguments, PlanSettings, list_arguments
from learners import LaplaceCount

DATA = np.linspace(0, 1, 40)


def release_mean(data: np.ndarray, rng: np.random.Generator) -> float:
    """It forgets to clip."""
    return float(data.mean() + rng.laplace(scale=1 / len(data)))


def release_clipped_mean(data: np.ndarray, rng: np.random.Generator) -> float:
    return release_mean(np.clip(data, 0, 1), rng)


@pytest.fixture(scope="module")
def report() -> audits.Verdict:
    return audits.audit("laplace-count", "count-swap", epsilon=0.5, games=3_000, seed=3)


@pytest.mark.thorough
def test_python_and_the_command_line_agree(report: audits.Verdict) -> None:
    command = "audit laplace-count --against count-swap --seed 3 --epsilon 0.5 --games 3000"
    printed = json.loads(Command(*command.split()).text("--json", status=3))
    assert printed.pop("command") == f"arena {command}"
    assert without_times(report.to_dict()) == without_times(printed)


@pytest.mark.thorough
def test_missing_clipping_is_found() -> None:
    assert audits.audit(release_mean, data=DATA, epsilon=1.0, games=600).refuted
    assert not audits.audit(release_clipped_mean, data=DATA, epsilon=1.0, games=600).refuted
    within = {"domain": (0.0, 1.0)}
    assert not audits.audit(release_mean, data=DATA, epsilon=1.0, games=600, settings=within).refuted


@pytest.mark.thorough
def test_the_given_neighbour_is_the_other_world() -> None:
    neighbour = DATA.copy()
    neighbour[5] = 0.9
    report = audits.audit(release_mean, data=DATA, neighbour=neighbour, epsilon=1.0, games=600)
    worlds = report.plan.adversary.samples  # type: ignore[attr-defined]
    assert worlds == (Sample(DATA, np.zeros(40, int)), Sample(neighbour, np.zeros(40, int)))
    assert not report.refuted


@pytest.mark.thorough
def test_labels_reach_a_function() -> None:
    def count(data: Any, rng: np.random.Generator) -> float:
        points, labels = data
        return float((labels[points > 0.5]).sum() + rng.laplace(scale=0.25))

    assert audits.audit(count, data=(DATA, DATA > 0.2), epsilon=1.0, games=2_000).refuted


def test_a_name_with_data_is_sized_for_them() -> None:
    report = audits.audit("laplace-count", data=(DATA, DATA > 0.2), games=600)
    assert report.plan.adversary.sample.size == 40  # type: ignore[attr-defined]


def test_an_audit_that_tests_nothing_is_an_error() -> None:
    class Same(CountSwap):
        name = "same"

        def play(self, games: int, rng: np.random.Generator) -> Any:
            from arena import Train

            yield Train(Sample([0.0], [0]))
            return np.zeros(games)

    with pytest.raises(NothingTested):
        audits.audit(LaplaceCount(), Same(), games=100)


@pytest.mark.thorough
def test_exact_search_and_race_report_themselves() -> None:
    exact = audits.exact("laplace-count", "count-swap", epsilon=0.5, settings={"epsilon": 0.5})
    assert exact.epsilon == pytest.approx(0.5)
    race = audits.race(["soa", "halving"], "shattered-tree", rounds=12, games=8)
    search = audits.search("laplace-count", examples=5, games=200)
    for result in (exact, race, search):
        entries = json.loads(json.dumps(result.to_dict()))
        assert list(entries)[:3] == ["schema", "kind", "version"]
        assert entries["kind"] == result.kind
        assert len(repr(result)) < 160
        assert result.headline in result._repr_html_()
        assert result.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((LaplaceCount,), {}, "got the class LaplaceCount"),
        ((LaplaceCount(), CountSwap), {}, "got the class CountSwap"),
        ((5,), {}, "a learner is given as"),
        ((LaplaceCount(), 5), {}, "an adversary is given as"),
        ((LaplaceCount(),), {"epsilon": "1"}, "epsilon must be a number"),
        ((LaplaceCount(),), {"games": 10.5}, "games must be an integer"),
        ((LaplaceCount(),), {"until_refuted": "no"}, "until_refuted must be True or False"),
        ((LaplaceCount(), CountSwap(sample=[1, 2])), {}, "sample of count-swap must be an arena.Sample"),
        ((release_mean,), {}, "epsilon=..., in nats"),
        ((release_mean,), {"data": "x.csv", "epsilon": 1}, "data must be a DataFrame, an array"),
        ((release_mean,), {"neighbour": DATA, "epsilon": 1}, "neighbour is given without data"),
        ((release_mean,), {"data": DATA, "neighbour": DATA, "epsilon": 1}, "differ in one of them"),
        ((LaplaceCount(),), {"settings": {"epsilon": 1.0}}, "which has its settings already"),
        (("laplace-count",), {"settings": ["epsilon"]}, "settings must be a mapping"),
    ],
)
def test_wrong_types_are_refused_by_name(arguments: Any, settings: dict, message: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        audits.audit(*arguments, **settings)
    assert message in str(refusal.value)


def test_calls_that_python_refuses_say_how() -> None:
    with pytest.raises(TypeError, match=r"epsilon"):
        audits.audit("laplace-count", epslon=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="by name"):
        audits.audit("laplace-count", "count-swap", 1.0)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"claim=\.\.\."):
        audits.assert_private(LaplaceCount(), (1.0, 0.0))  # type: ignore[misc]


def test_an_argument_of_a_plan_is_known_to_python_the_command_line_and_the_ledger() -> None:
    names = list_arguments().keys()
    assert [*PlanArguments.__annotations__] == [*names]
    parameters = inspect.signature(audits.audit).parameters
    assert names <= parameters.keys()
    assert str(parameters["games"]) == "games: 'int | None' = None"
    assert names <= {option.name for option in audit_command.params}
    report = audits.audit("laplace-count", curve="mu=1", seed=3, games=50, confidence=0.9, until_refuted=True)
    assert report.plan is not None
    stored = PlanSettings.read_stored(report.plan.describe())
    for field in list_arguments().values():
        assert getattr(stored, field.name) == getattr(report.plan, field.name)


def test_a_plan_and_a_run_refuse_wrong_types() -> None:
    players: dict[str, Any] = {"learner": LaplaceCount(), "adversary": PointSwap(), "referee": Release()}
    for role in players:
        for wrong in (type(players[role]), "name"):
            with pytest.raises(InvalidArgument, match=f"a.? {role} is given as"):
                audits.Plan(**{**players, role: wrong}, epsilon=1.0, delta=0.0)
    with pytest.raises(InvalidArgument, match="epsilon must be a number"):
        audits.Plan(**players, epsilon="1", delta=0.0)
    with pytest.raises(InvalidArgument, match="run takes a Plan"):
        audits.run("plan")  # type: ignore[arg-type]


@pytest.mark.thorough
def test_functions_and_names_can_be_asserted_private() -> None:
    with pytest.raises(audits.NotPrivate):
        audits.assert_private(release_mean, claim=(0.01, 0.0), against="point-swap", error=0.1, games=500)
    with pytest.raises(InvalidArgument, match="claim must be"):
        audits.assert_private("laplace-count", claim="1")  # type: ignore[arg-type]

"""Experiments: sizes, random numbers, figures, ledgers, and refusals."""

from __future__ import annotations

import json
import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics
from support.experiment_data import LINES, SimplePlayers, load

from arena import InvalidArgument
from audits import reports as report
from audits.data.one_hot import OneHotData
from audits.experiments import METHODS, ExperimentResult, ExperimentRow, PateExperiment, run_experiment
from audits.experiments.experiment_plan import ASQ, PSQ
from audits.experiments.experiment_result import (
    MeanOverSplits,
    RepetitionTally,
    measure_accuracy,
    measure_balanced_accuracy,
    measure_f1,
)
from audits.experiments.experiment_run import ExperimentLedger, count_confusion, play_repetition
from audits.experiments.experiment_text import experiment_json
from audits.experiments.paper_table import find_paper_row


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> OneHotData:
    return load(tmp_path_factory.mktemp("data") / "d.csv")


@pytest.fixture
def pate_plan(data: OneHotData) -> PateExperiment:
    return PateExperiment(
        data=data, players=SimplePlayers(), teacher_examples=20, shares=(0.8, 0.1), repeats=4, seed=3
    )


def bytes_of(result: ExperimentResult) -> list[bytes]:
    return [tally.to_bytes() for tally in result.tallies]


# --- the plan -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("examples", "private", "public", "tested", "teachers", "budget"),
    [(8_124, 6_499, 163, 1_462, 65, 49), (48_842, 39_073, 977, 8_792, 391, 293)],
)
def test_sizes_are_those_of_the_papers_table_3(
    pate_plan, examples, private, public, tested, teachers, budget
) -> None:
    data = attrs.evolve(pate_plan.data, labels=np.zeros(examples, np.int8))
    plan = PateExperiment(data=data, players=SimplePlayers())
    assert (plan.private, plan.public, plan.tested) == (private, public, tested)
    assert (plan.teachers, plan.count_answers(ASQ), plan.count_answers(PSQ)) == (teachers, budget, public)
    assert plan.delta_run == 1 / private


def test_rows_are_in_the_order_of_the_paper(pate_plan) -> None:
    plan = attrs.evolve(pate_plan, epsilons=(2.0, 0.5))
    free = [ExperimentRow("psq-np", math.inf), ExperimentRow("asq-np", math.inf)]
    assert list(plan.rows) == [
        *free,
        ExperimentRow("psq", 2),
        ExperimentRow("asq", 2),
        ExperimentRow("psq", 0.5),
        ExperimentRow("asq", 0.5),
    ]
    assert attrs.evolve(plan, methods=("asq",), epsilons=(1.0,)).rows == (ExperimentRow("asq", 1.0),)
    screened = attrs.evolve(plan, methods=("psq-svt", "psq"), epsilons=(1.0,)).rows
    assert [(row.method, row.screened) for row in screened] == [("psq", False), ("psq-svt", True)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"methods": ("psv",)}, "there is no method of that name, got 'psv'. Did you mean psq or psq-svt? "),
        ({"methods": ()}, "an experiment needs a method. There are: psq, asq, psq-np, asq-np, psq-svt."),
        ({"methods": ("psq", "psq")}, "each method may be given once, got 'psq'. Drop one."),
        ({"methods": ("psq",), "epsilons": ()}, "psq and asq need an ε. Give --epsilon 1."),
        ({"epsilons": (0.0,)}, "ε must be finite and more than 0 nats, got 0.0. For answers without"),
        ({"epsilons": (math.inf,)}, "ε must be finite and more than 0 nats, got inf."),
        ({"epsilons": (1.0, 1.0)}, "each ε may be given once, got 1.0. Drop one."),
        ({"delta": 1.0}, "delta must be less than 1, got 1.0"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"shares": (0.8, 0.2)}, "the private and the public share must be more than 0 and leave a"),
        ({"shares": (0.9, 0.2)}, "leave a test set, got (0.9, 0.2). 0.8 and 0.02 leave 18 %."),
        ({"shares": (0.8, 0.0)}, "the private and the public share must be more than 0"),
        ({"shares": (0.001, 0.1)}, "600 examples are too few for a private part, a public part and a test"),
        ({"shares": (0.5, 0.4999)}, "600 examples are too few for a private part, a public part and a test"),
        ({"budget": 1.5}, "budget must be at most 1, got 1.5"),
        ({"budget": 0.005}, "no answer for 60 public points, got 0.005. Give --budget 0.009 or more."),
        ({"teacher_examples": 0}, "teacher_examples must be at least 1, got 0"),
        (
            {"teacher_examples": 1_000},
            "too few for a teacher with so many, got 1000. Give --teacher-examples 480 or less.",
        ),
    ],
)  # fmt: skip
def test_refusals(pate_plan, changed, message) -> None:
    with pytest.raises(InvalidArgument) as refused:
        attrs.evolve(pate_plan, **changed)
    assert str(refused.value).startswith(message) or message in str(refused.value)


def test_the_proposed_numbers_are_accepted(pate_plan) -> None:
    assert attrs.evolve(pate_plan, budget=0.009).count_answers(ASQ) == 1
    assert attrs.evolve(pate_plan, teacher_examples=480).teachers == 1
    with pytest.raises(InvalidArgument):
        attrs.evolve(pate_plan, budget=0.008)
    attrs.evolve(pate_plan, budget=0.001, methods=("psq",))  # needs no budget


# --- a repetition -------------------------------------------------------------------------------------


def test_a_repetition_depends_on_seed_and_index_alone(pate_plan) -> None:
    again = play_repetition(pate_plan, 1).to_bytes()
    assert again == play_repetition(pate_plan, 1).to_bytes()
    assert again != play_repetition(attrs.evolve(pate_plan, seed=4), 1).to_bytes()
    assert again != play_repetition(pate_plan, 2).to_bytes()


def test_a_row_does_not_depend_on_other_rows(pate_plan) -> None:
    whole = play_repetition(pate_plan, 0)
    alone = play_repetition(attrs.evolve(pate_plan, methods=("asq",), epsilons=(1.0,)), 0)
    place = pate_plan.rows.index(ExperimentRow("asq", 1.0))
    assert (alone.confusions[0] == whole.confusions[place]).all()
    assert (alone.answers[0], alone.confusions[1].tolist()) == (
        whole.answers[place],
        whole.confusions[-1].tolist(),
    )


def test_a_students_request_is_what_the_plan_says(pate_plan) -> None:
    play_repetition(pate_plan, 0)
    seen = pate_plan.players.tasks
    assert [(one.active, one.epsilon, one.answers) for one in seen[:4]] == [
        (False, math.inf, 60),
        (True, math.inf, 18),
        (False, 0.5, 60),
        (True, 0.5, 18),
    ]
    assert {one.teachers for one in seen} == {24}
    assert {one.delta for one in seen} == {1 / 480}
    points = np.concatenate([one.points for one in seen])
    assert points.dtype == np.float64
    assert points.shape == (8 * 60, 9)


def test_the_parts_of_a_split_are_a_partition_of_the_data(pate_plan) -> None:
    @attrs.frozen
    class Kept(SimplePlayers):
        kept: list[tuple[np.ndarray, np.ndarray]] = attrs.field(factory=list, eq=False)

        def count_ones(self, sample, teachers, split, points):
            self.kept.append((sample.points, points))
            return super().count_ones(sample, teachers, split, points)

    marked = attrs.evolve(pate_plan.data, points=np.arange(LINES)[:, None] * np.ones(2))
    plan = attrs.evolve(pate_plan, data=marked, players=Kept())
    for index in range(2):
        play_repetition(plan, index)
    rows = [np.concatenate(pair)[:, 0] for pair in plan.players.kept]
    assert all(sorted(found) == list(range(LINES)) for found in rows)
    assert (rows[0] != rows[1]).any()


def test_confusion_counts_pairs() -> None:
    assert count_confusion(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0], bool)).tolist() == [
        [1, 1],
        [1, 2],
    ]


# --- tallies and ledgers ------------------------------------------------------------------------------

COUNTS = st.integers(0, 2**40)


@given(st.integers(0, 6).flatmap(lambda k: st.tuples(
    hnp.arrays(np.int64, k, elements=COUNTS), hnp.arrays(np.int64, (k + 1, 2, 2), elements=COUNTS)
)))  # fmt: skip
def test_a_tally_is_decoded_from_its_bytes(parts) -> None:
    tally = RepetitionTally(*parts)
    back = RepetitionTally.from_bytes(tally.to_bytes())
    assert (back.answers == tally.answers).all()
    assert (back.confusions == tally.confusions).all()
    assert back.to_bytes() == tally.to_bytes()


@pytest.mark.parametrize(
    "blob", [b"", b"pate", b"nope" + bytes(40), b"pate" + bytes(41), b"pate" + bytes(48)]
)
def test_other_bytes_are_refused(blob) -> None:
    with pytest.raises(InvalidArgument, match="the bytes are not the figures of a repetition"):
        RepetitionTally.from_bytes(blob)


def test_an_interrupted_run_resumes_to_the_same_figures(pate_plan, tmp_path) -> None:
    whole, path = run_experiment(pate_plan), tmp_path / "run.ledger"
    first = run_experiment(attrs.evolve(pate_plan, players=SimplePlayers(broken_at=16)), ledger=path)
    assert (first.interrupted, len(first.tallies)) == (True, 2)
    watched: list[int] = []
    second = run_experiment(pate_plan, ledger=path, watch=watched.append)
    assert (second.interrupted, bytes_of(second)) == (False, bytes_of(whole))
    assert watched == [2, 3, 4]
    assert bytes_of(
        run_experiment(attrs.evolve(pate_plan, players=SimplePlayers(broken_at=0)), ledger=path)
    ) == bytes_of(whole)


def test_any_missing_repetition_is_played_again(pate_plan, tmp_path) -> None:
    whole, path = run_experiment(pate_plan), tmp_path / "run.ledger"
    with ExperimentLedger.open(path, pate_plan.describe()) as book:
        book.add(2, play_repetition(pate_plan, 2))
    assert bytes_of(run_experiment(pate_plan, ledger=path)) == bytes_of(whole)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seed": 9}, "seed: 3 -> 9"),
        ({"repeats": 5}, "repeats: 4 -> 5"),
        ({"epsilons": (1.0,)}, "epsilons: "),
        ({"budget": 0.4}, "budget: 0.3 -> 0.4"),
        ({"delta": 0.01}, "delta: 0.0020833333333333333 -> 0.01"),
    ],
)
def test_a_ledger_of_another_plan_is_refused(pate_plan, tmp_path, changed, told) -> None:
    ExperimentLedger.open(tmp_path / "run.ledger", pate_plan.describe()).close()
    with pytest.raises(InvalidArgument, match=f"holds another plan: .*{told}"):
        run_experiment(attrs.evolve(pate_plan, **changed), ledger=tmp_path / "run.ledger")


def test_other_data_are_another_plan(pate_plan, tmp_path) -> None:
    ExperimentLedger.open(tmp_path / "run.ledger", pate_plan.describe()).close()
    labels = pate_plan.data.labels.copy()
    labels[0] ^= 1
    other = attrs.evolve(pate_plan, data=attrs.evolve(pate_plan.data, labels=labels))
    with pytest.raises(InvalidArgument, match="holds another plan: data: "):
        run_experiment(other, ledger=tmp_path / "run.ledger")
    moved = attrs.evolve(pate_plan, data=attrs.evolve(pate_plan.data, path="elsewhere.csv"))
    assert len(run_experiment(moved, ledger=tmp_path / "run.ledger").tallies) == 4


def test_an_experiment_has_no_html_report(pate_plan, tmp_path) -> None:
    run_experiment(pate_plan, ledger=tmp_path / "run.ledger")
    with pytest.raises(InvalidArgument, match=r"run\.ledger contains no audit"):
        report.write_html(tmp_path / "run.ledger", tmp_path / "run.html")


def test_jobs_are_at_least_one(pate_plan) -> None:
    with pytest.raises(InvalidArgument, match="jobs must be at least 1, got 0"):
        run_experiment(pate_plan, jobs=0)


# --- figures ------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(hnp.arrays(np.int64, (3, 2, 2), elements=st.integers(0, 9)))
def test_measures_equal_those_of_scikit_learn(told: np.ndarray) -> None:
    told[:, 0, 0] += 1
    told[:, 1, 1] += 1
    for one, *ours in zip(
        told, measure_accuracy(told), measure_balanced_accuracy(told), measure_f1(told), strict=True
    ):
        truth = np.repeat([0, 0, 1, 1], one.ravel())
        said = np.repeat([0, 1, 0, 1], one.ravel())
        theirs = [metrics.accuracy_score, metrics.balanced_accuracy_score, metrics.f1_score]
        assert ours == pytest.approx([measure(truth, said) for measure in theirs])


def test_measures_of_nothing_are_0() -> None:
    told = np.array([[[5, 0], [0, 0]]])
    assert (measure_balanced_accuracy(told)[0], measure_f1(told)[0]) == (0.5, 0.0)


def test_a_mean_has_its_standard_error() -> None:
    found = MeanOverSplits.of(np.array([1.0, 2.0, 4.0, 5.0]))
    assert found.value == 3.0
    assert found.half_width == pytest.approx(1.96 * np.sqrt(10 / 3) / 2)
    assert MeanOverSplits.of(np.array([1.0])) == MeanOverSplits(1.0, None)


def test_the_student_is_accurate_without_noise(pate_plan) -> None:
    result = run_experiment(pate_plan)
    by_row = {(one.method, one.epsilon): one for one in result.rows}
    best = by_row["psq-np", math.inf].accuracy.value
    assert best == pytest.approx(0.95, abs=0.05)
    assert result.vote.value == best
    assert by_row["asq", 0.5].answers == MeanOverSplits(18.0, 0.0)
    assert by_row["asq", 0.5].epsilon_ex_post == 0.5
    assert by_row["asq-np", math.inf].epsilon_ex_post == math.inf
    assert 0.5 <= result.majority < 0.6


def test_json_is_plain(pate_plan) -> None:
    found = json.loads(experiment_json(run_experiment(pate_plan)))
    assert (found["repetitions"], found["teachers"], found["interrupted"]) == (4, 24, False)
    assert [row["method"] for row in found["rows"]] == [row.method for row in pate_plan.rows]
    assert found["rows"][0]["epsilon"] is None
    assert found["rows"][2]["epsilon"] == 0.5
    assert found["rows"][0]["paper"] is None


def test_rows_of_the_paper_are_found_by_the_number_of_examples() -> None:
    found = find_paper_row(8_124, "asq", 2.0)
    assert found is not None
    assert (found.answers, found.epsilon_ex_post, found.accuracy) == (46.5, 1.9410, 0.8858)
    assert find_paper_row(48_842, "psq-np", math.inf).accuracy == 0.5555  # type: ignore[union-attr]
    assert find_paper_row(8_124, "psq-np", math.inf).epsilon_ex_post is None  # type: ignore[union-attr]
    assert find_paper_row(8_124, "psq", 3.0) is find_paper_row(600, "psq", 1.0) is None
    assert all(find_paper_row(n, m, 1.0) for n in (8_124, 48_842) for m in METHODS[:2])

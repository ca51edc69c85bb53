"""Each line of docs/findings.md gives what the page and the README state."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import distributions

import pytest
from support.command_line import Command
from support.paths import ROOT

from adversaries.release.point_swap import LowBits
from arena import Release
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.diffprivlib import Diffprivlib

arena = Command()
PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def read_lines() -> Iterator[str]:
    """The commands of the page, in their order."""
    for block in re.findall(r"(?:^    .+\n)+", PAGE, re.MULTILINE):
        yield from re.sub(r"\\\n\s*", "", block).strip().split("\n    ")


SKETCH = "tests/mutants/figure1/everlasting.py:CounterRefreshes"
COMMANDS = {line: shlex.split(line) for line in read_lines()}


def find_command(*words: str) -> list[str]:
    """The arguments of the only `arena` command of the page that has these words."""
    (command,) = [words_of[1:] for words_of in COMMANDS.values() if set(words) <= set(words_of)]
    return command


def test_all_lines_of_the_page_are_known() -> None:
    assert [command[0] for command in COMMANDS.values()] == [
        *["arena"] * 3,
        "python",
        "pip",
        *["arena"] * 4,
        "python",
        *["pip"] * 2,  # with learners that tests/learners/foreign audits
        "arena",
        "pip",
        *["arena"] * 3,
        *["pip", "arena"] * 2,
        "arena",
    ]


def test_the_readme_states_the_figures_of_the_page() -> None:
    for figure in ("0.81", "1.90", "4.6", "3.2", "1.4", "3.96"):
        assert figure in README
        assert f"ε ≥ {figure}" in PAGE


# Figures of the page that other pages and tables repeat. Lower bounds are rounded down.
REPEATED = [
    ("tables/everlasting/redrawn_thresholds.csv", r"`counter-refreshes`, .*,0\.50,([\d.]+)$", "1.90"),
    ("tables/everlasting/redrawn_thresholds.csv", r"`everlasting-v1` \(c = 8, .*,0\.17,([\d.]+)$", "0.81"),
    ("tables/statements/everlasting_privacy.csv", r"ε ≥ ([\d.]+) certified where 0\.17 is claimed", "7.6"),
    ("tables/statements/everlasting_privacy.csv", r"redrawn after ⊤: ε ≥ ([\d.]+) certified", "0.81"),
    ("tables/statements/everlasting_privacy.csv", r"second leak: ([\d.]+) certified where 0\.5 is", "1.90"),
    ("tables/statements/everlasting_utility.csv", r"makes (\d+ %) of all noises larger than 1/16", "97 %"),
    ("tables/statements/everlasting_utility.csv", r"(τ = [\d.]+·10⁸) repairs it", "τ = 1.45·10⁸"),
    ("foreign.md", r"certifies \*\*(ε ≥ [\d.]+) at 99\.9 %", "ε ≥ 3.96"),
    ("tables/libraries/models.csv", r"`LogisticRegression`, `data_norm=1`.*,\*\*([\d.]+)\*\*$", "1.41"),
    ("tables/benchmarks/suite.csv", r"^svt-1,([\d.]+),", "0.0885"),
    ("tables/benchmarks/suite.csv", r"^svt-2,([\d.]+),", "0.0882"),
    ("tables/benchmarks/suite.csv", r"^svt-4,([\d.]+),", "0.1725"),
    ("tables/pate/lemma_45.csv", r"^0\.01,10⁻⁶,(\d+) \(", "80"),
]


@pytest.mark.parametrize(("name", "place", "figure"), REPEATED)
def test_other_pages_repeat_the_figures_of_the_page(name: str, place: str, figure: str) -> None:
    assert figure in PAGE
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert set(re.findall(place, text, re.MULTILINE)) == {figure}


@pytest.mark.parametrize(
    ("learner", "adversary", "claimed", "certified"),
    [
        pytest.param("everlasting-v1", "halt-counter", 0.17, 7.662, marks=pytest.mark.thorough),
        pytest.param("everlasting-v1", "stale-thresholds", 0.17, 0.8483, marks=pytest.mark.slow),
        pytest.param(SKETCH, "stale-thresholds", 0.5, 1.9214, marks=pytest.mark.slow),
    ],
)
def test_claims_of_v1_and_of_the_sketch(
    learner: str, adversary: str, claimed: float, certified: float
) -> None:
    verdict = arena.json(*find_command(learner, adversary), "--quiet", status=3)
    assert verdict["claim"]["epsilon"] == pytest.approx(claimed, abs=0.005)
    assert verdict["epsilon_lower"] == pytest.approx(certified, abs=5e-4)
    assert adversary != "halt-counter" or verdict["epsilon_lower"] == verdict["ceiling"]


@pytest.mark.slow
def test_the_repaired_sketch_is_not_refuted() -> None:
    command = find_command(SKETCH)
    command[1] = "everlasting-counter"
    assert arena.json(*command, "--quiet")["epsilon_lower"] < 0.005


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "epsilon"), [("svt-3", 0.5), ("svt-4", 0.1725), ("svt-5", None), ("svt-6", 0.42)]
)
def test_sparse_vector_techniques(learner: str, epsilon: float | None) -> None:
    """None stands for an infinite loss."""
    exact = arena.json(*find_command(learner), status=3)
    assert exact["claim"]["epsilon"] == 0.1
    assert exact["epsilon"] == (None if epsilon is None else pytest.approx(epsilon, abs=5e-5))


@pytest.mark.thorough
@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("python -m pytest")])
def test_tests_that_the_page_names_pass(line: str) -> None:
    command = [sys.executable, *COMMANDS[line][1:], "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("Laplace", 4.0), ("Gaussian", 2.5)])
def test_the_last_bits_of_diffprivlib(name: str, least: float) -> None:
    """The library draws its own random numbers: the bound varies, by less than is left here."""
    pytest.importorskip("diffprivlib", reason="pip install 'dp-arena[diffprivlib]'")
    from diffprivlib import mechanisms

    delta = {"delta": 1e-6} if name == "Gaussian" else {}
    learner = Diffprivlib(make=partial(getattr(mechanisms, name), epsilon=1, sensitivity=1, **delta))
    players = {"learner": learner, "adversary": LowBits(), "referee": Release()}
    plan = Plan(**players, epsilon=1.0, delta=delta.get("delta", 0.0), confidence=0.99, games=5_000)
    verdict = run(plan)
    assert verdict.refuted
    assert verdict.epsilon_lower > least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "entry", "least"),
    [
        ("diffprivlib", "tools.nanmean: eight values missing", 3.0),
        ("diffprivlib", "models.GaussianNB: classes given, *", 4.0),
        ("diffprivlib", "tools.histogram: weights", 3.5),
        ("smartnoise-synth", "DPcovariance: ranges 1, 100, 1", 4.0),
        ("opendp", "make_laplace_threshold", 1.5),
        ("diffprivlib", "tools.median", 3.0),
    ],
)
def test_what_a_survey_shows(library: str, entry: str, least: float) -> None:
    """A slow machine plays fewer games in the time of an entry, for which bounds leave room here."""
    if not list(distributions(name=library)):
        pytest.skip(f"{library} is not installed")
    survey = arena.json(*find_command(entry), status=3)
    assert survey["results"]
    assert all(result["certified"] > least for result in survey["results"])

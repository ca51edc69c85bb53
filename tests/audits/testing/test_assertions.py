"""Assertions about privacy claims: what stands, what is refuted, what is refused, and what a failure says."""

from __future__ import annotations

import pickle
import runpy
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from support.statistical import statistical

from adversaries.figure1.memorisation import Reconstruct
from adversaries.figure1.swaps import TrainingSwap
from adversaries.release.point_swap import CountSwap
from arena import (
    Adversary,
    Claim,
    Density,
    Figure1,
    InvalidArgument,
    Learner,
    Moves,
    PrivacyUnit,
    Query,
    Sample,
    SpecialRound,
    Train,
    play,
)
from audits import cli
from audits.adversary_search import Script, SearchResult
from audits.testing import (
    Budget,
    NotPrivate,
    NotRefuted,
    Underpowered,
    adversaries,
    assert_private,
    assert_refuted,
    assertions,
    check_adversary,
    games_needed,
    neighbouring_samples,
    streams,
)
from audits.testing.outcome import compute_confidence
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.vote_predictors import NoisyVotes, StaticErm
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount

ONE = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))
OF_A_QUERY = attrs.evolve(ONE, protects=(PrivacyUnit.QUERY,))
QUICK = settings(max_examples=20, derandomize=True, database=None)


@attrs.frozen
class HalfTheNoise(LaplaceCount):
    """A slip of the pen: it claims half the ε that its noise is for."""

    name = "half-the-noise"

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon / 2, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))


@attrs.frozen
class Scoreless(Adversary):
    """Asks, and leaves it to others what to make of the answer."""

    name = "scoreless"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(Sample([0.0], [0], [1]), Sample([0.0], [1], [1]))
        yield Query(0.0)
        return None


def refute(*arguments: Any, **settings: Any) -> NotPrivate:
    with pytest.raises(NotPrivate) as failure:
        assert_private(*arguments, **settings)
    return failure.value


def arena(command: str) -> Any:
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "arena"
    return CliRunner().invoke(cli.arena, [*words[1:], "--quiet"])


# --- what stands ------------------------------------------------------------------------------------------


@statistical(rate=1e-6)
def test_a_tight_claim_stands_and_is_nearly_reached() -> None:
    outcome = assert_private(LaplaceCount(), against=CountSwap(), seed=3)
    assert not outcome.refuted
    assert outcome.epsilon_lower == outcome.verdicts[0].epsilon_lower
    assert 0.85 <= outcome.epsilon_lower <= 1
    assert outcome.ceiling == outcome.verdicts[0].ceiling > 6
    assert (outcome.games, outcome.error) == (20_000, 1e-6)


@pytest.mark.thorough
@statistical(rate=1e-6)
@pytest.mark.parametrize("learner", [LaplaceCount(epsilon=0.5), RandomisedResponse(), NoisyVotes()])
def test_searches_refute_no_tight_claim(learner: Learner) -> None:
    outcome = assert_private(learner, budget=Budget(games=4_000, examples=60))
    assert outcome.verdicts == ()
    assert outcome.epsilon_lower == 0
    assert outcome.ceiling > learner.claim.epsilon
    assert outcome.games > 0


@statistical(rate=1e-6)
def test_a_weaker_claim_of_the_same_neighbours_may_be_tested() -> None:
    claim = attrs.evolve(LaplaceCount().claim, epsilon=2, delta=0.1)
    assert assert_private(LaplaceCount(), claim=claim, against="count-swap", budget="quick").claim == claim


# --- what is refuted --------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_false_claim_fails_with_all_that_is_known_of_it() -> None:
    failure = refute(HalfTheNoise(), against=CountSwap(), seed=5)
    assert isinstance(failure, AssertionError)
    assert failure.verdict.refuted
    assert 0.85 <= failure.verdict.epsilon_lower <= 1
    assert failure.adversary == CountSwap()
    assert failure.outcome.refuted
    text = str(failure)
    assert text.startswith("half-the-noise violates its claim: with confidence 99.9999 %, every ε below 0.")
    assert "claim under test  (0.5, 0)-DP for a training example (replace one)" in text
    assert "training in world 1: 10 examples: 9 x (0, 0), 1 x (0, 1)" in text
    assert "The worlds differ in a training example." in text
    failure.brief = True
    assert str(failure) == text.splitlines()[0]


@pytest.mark.thorough
def test_the_game_shown_has_its_scores_the_right_way_round() -> None:
    learner = LaplaceCount(epsilon=0.2)
    for seed in range(3):
        lines = refute(learner, claim=(0.05, 0), against="count-swap", seed=seed).refutation.game.splitlines()
        scores = [float(line.split()[-1]) for line in lines if line.startswith("world ")]
        assert scores[0] < scores[1]


@pytest.mark.thorough
@pytest.mark.parametrize("against", ["training-swap", TrainingSwap(learner=StaticErm())])
def test_the_line_to_replay_gives_the_same_figures(against: Any) -> None:
    failure = refute(StaticErm(), claim=(1, 0), against=against, budget="quick", seed=7)
    again = arena(failure.replay + " --json")
    assert again.exit_code == 3
    assert f'"epsilon_lower": {failure.verdict.epsilon_lower!r}' in again.stdout


def noisy_count(labels: Any, rng: np.random.Generator) -> float:
    return float(np.sum(labels) + 0.1 * rng.laplace())


def make_count(scale: float) -> Callable[..., float]:
    return lambda labels, rng: float(np.sum(labels) + scale * rng.laplace())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "against"),
    [
        (StaticErm(), None),
        (LaplaceCount(), CountSwap(sample=Sample([0.0], [0], [5]))),
        (HalfTheNoise(), CountSwap()),
        pytest.param(noisy_count, None, marks=pytest.mark.thorough),
        pytest.param(make_count(0.1), CountSwap(), marks=pytest.mark.thorough),
    ],
    ids=["search", "sample", "class", "function", "closure"],
)
def test_players_that_have_no_name_are_printed_and_played_from_a_file(
    learner: Any, against: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the file adds
    chosen = {"neighbours": "replace one"} if callable(learner) else {}
    failure = refute(learner, claim=(0.5, 0), against=against, budget="quick", **chosen)
    message = str(failure)
    assert f"Save this as found.py:\n\n{failure.refutation.source.rstrip()}" in message
    assert message.endswith(f"Replay it:\n\n{failure.replay}")
    assert ("adversary         found by a search, in " in message) == (against is None)
    monkeypatch.chdir(tmp_path)
    Path("found.py").write_text(failure.refutation.source)
    again = arena(failure.replay + " --json")
    assert again.exit_code == 3
    assert f'"epsilon_lower": {failure.verdict.epsilon_lower!r}' in again.stdout


@pytest.mark.thorough
def test_what_a_replay_reads_is_saved_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refutation = refute(HalfTheNoise(), against="count-swap", budget="quick").refutation
    monkeypatch.chdir(tmp_path)
    replay = refutation.save("mine.py")
    assert Path("mine.py").read_text() == replay.source
    assert replay.command in refutation.describe(replay)
    assert "Save this as" not in refutation.describe(replay)
    assert arena(replay.command).exit_code == 3
    with pytest.raises(InvalidArgument, match=r"the replay missing/mine.py cannot be written"):
        refutation.save("missing/mine.py")
    named = refute(StaticErm(), claim=(1, 0), against="training-swap", budget="quick").refutation
    assert named.save("none.py").source == ""
    assert not Path("none.py").exists()


@pytest.mark.thorough
def test_a_referee_that_no_command_names_is_replayed_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    referee = Figure1(t=3)
    failure = refute(StaticErm(), claim=(1, 0), against=Scoreless(), protocol=referee, budget="quick")
    assert failure.replay == "python found.py"
    (tmp_path / "found.py").write_text(failure.refutation.source)
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(tmp_path / "found.py"), run_name="__main__")
    assert f"ε ≥ {failure.verdict.epsilon_lower:.4g}" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_function_that_cannot_be_pickled_is_replayed_by_its_test() -> None:
    lock = Lock()

    def count(labels: Any, rng: np.random.Generator) -> float:
        with lock:
            return noisy_count(labels, rng)

    failure = refute(count, claim=(0.5, 0), against=CountSwap(sample=Sample([0.0], [0], [5])), budget="quick")
    assert failure.replay == ""
    text = str(failure)
    assert "The adversary:\n\n" in text
    assert "found = CountSwap(" in text
    assert text.endswith(".count cannot be pickled: TypeError: cannot pickle '_thread.lock' object)")


def test_the_likelihood_ratio_serves_where_there_is_no_score() -> None:
    failure = refute(StaticErm(), claim=(1, 0), against=Scoreless(), budget="quick")
    assert failure.refutation.plan.distinguisher == "likelihood"
    assert "no score" in failure.refutation.game


def test_the_first_adversary_that_refutes_ends_the_test() -> None:
    adversaries = [Scoreless(), "training-swap", Reconstruct(learner=StaticErm())]
    failure = refute(StaticErm(), claim=(1, 0), against=adversaries, budget="quick")
    assert len(failure.outcome.verdicts) == 1


@pytest.mark.thorough
def test_a_broken_learner_is_known_to_be_broken() -> None:
    refutation = assert_refuted(HalfTheNoise(), against="count-swap", budget="long")
    assert refutation.verdict.games < 50_000
    assert assert_refuted(StaticErm(), claim=(1, 0), budget="quick").search is not None
    with pytest.raises(NotRefuted, match=r"laplace-count: the claim \(1, 0\)-DP .* is not") as stands:
        assert_refuted(LaplaceCount(), against="count-swap", budget="quick")
    assert not stands.value.outcome.refuted


def test_failures_cross_process_boundaries() -> None:
    failure = refute(LaplaceCount(), claim=(0.5, 0), against="count-swap", budget="quick")
    again = pickle.loads(pickle.dumps(failure))
    assert (again.verdict, str(again)) == (failure.verdict, str(failure))
    few = pickle.loads(pickle.dumps(Underpowered(ONE, error=1e-6, games=3, needed=56)))
    assert (few.games, few.needed) == (3, 56)


# --- errors and budgets -----------------------------------------------------------------------------------


@pytest.mark.thorough
@statistical(rate=1e-6)
def test_adversaries_share_the_error() -> None:
    outcome = assert_private(LaplaceCount(), against=["count-swap"] * 2, error=1e-6, budget="quick")
    assert [verdict.confidence for verdict in outcome.verdicts] == [compute_confidence(0.5e-6)] * 2
    assert outcome.games == 8_000


def test_a_search_spends_at_most_its_error() -> None:
    failure = refute(StaticErm(), claim=(1, 0), error=1e-4, budget="quick")
    assert failure.verdict.confidence >= 1 - 1e-4


@pytest.mark.parametrize("error", [1e-12, 1e-9, 3e-7, 1e-6, 0.1, 0.3, 0.5, 0.999])
def test_no_confidence_promises_less_than_its_error(error: float) -> None:
    assert 1 - compute_confidence(error) <= error < (1 - compute_confidence(error)) * (1 + 1e-3)


@pytest.mark.parametrize("error", [0.0, 1.0, -1e-6, 1e-13, float("nan")])
@pytest.mark.parametrize("against", [None, "count-swap"])
def test_an_error_is_a_probability(error: float, against: str | None) -> None:
    with pytest.raises(InvalidArgument, match="error of an audit must be a probability of at least 1e-12"):
        assert_private(LaplaceCount(), against=against, error=error)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_games_that_are_needed_are_enough_and_hardly_more(epsilon: float) -> None:
    needed = games_needed(attrs.evolve(ONE, epsilon=epsilon), error=1e-6, until_refuted=True)
    assert needed is not None
    claim = (epsilon, 0)
    assert_refuted(StaticErm(), claim=claim, against="training-swap", games=needed)
    with pytest.raises(Underpowered) as few:
        assert_refuted(StaticErm(), claim=claim, against="training-swap", games=4 * needed // 5)
    assert (few.value.games, few.value.needed) == (4 * needed // 5, needed)


@pytest.mark.thorough
@pytest.mark.parametrize("against", [None, "training-swap"])
def test_a_test_that_cannot_fail_is_refused(against: str | None) -> None:
    with pytest.raises(Underpowered) as few:
        assert_private(StaticErm(), claim=(1, 0), against=against, games=20)
    assert f" at error {1e-6 if against else 5e-7:g}, not even for a learner without privacy" in str(
        few.value
    )
    assert f" At this error games={few.value.needed} are enough; or set allow_" in str(few.value)
    settings = {"games": 20, "allow_underpowered": True, "budget": Budget(games=20, examples=5)}
    outcome = assert_private(StaticErm(), claim=(1, 0), against=against, **settings)
    assert outcome.ceiling < 1


def test_claims_beyond_any_number_of_games() -> None:
    assert games_needed(attrs.evolve(ONE, epsilon=25), error=1e-6) is None
    with pytest.raises(Underpowered, match="At this error no number of games is enough"):
        assert_private(StaticErm(), claim=(25, 0), against="training-swap")


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "settings", "message"),
    [
        (StaticErm(), {}, "static-erm claims nothing with these settings, so there is nothing to test."),
        (StaticErm(), {"claim": (0, 0), "against": "reconstruct"}, "must be more than 0 nats and finite"),
        (StaticErm(), {"claim": (0, 0)}, "finite ε above 0"),
        (StaticErm(), {"claim": OF_A_QUERY}, "the neighbours of the learner's own claim"),
        (LaplaceCount(), {"budget": "huge"}, "no budget of that name, got 'huge'. There are: quick,"),
        (LaplaceCount(), {"against": []}, "plays against at least one adversary"),
        (LaplaceCount(), {"against": [CountSwap]}, "given as an instance or a name"),
        (LaplaceCount(), {"against": "count-swp"}, "Did you mean count-swap"),
        (LaplaceCount(), {"against": "count-swap", "games": 0}, "games must be at least 1, got 0"),
        (LaplaceCount(), {"against": "count-swap", "protocol": Figure1()}, "does not play Figure1"),
        (LaplaceCount(), {"against": "halt-counter"}, "play no protocol in common"),
        (LaplaceCount(), {"distinguisher": "score"}, "a search chooses its own distinguisher and referee"),
        (NoisyMajority(), {"protocol": SpecialRound(5)}, "a search chooses its own distinguisher and"),
    ],
)
def test_tests_that_make_no_sense_are_refused(learner: Any, settings: dict, message: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        assert_private(learner, **settings)
    assert message in str(refusal.value)


@pytest.mark.parametrize("against", [None, "count-swap"])
def test_an_interrupted_test_neither_passes_nor_fails(
    against: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, search = assertions.run, assertions.search

    def interrupt_run(*arguments: Any, **settings: Any) -> Any:
        return attrs.evolve(run(*arguments, **settings), interrupted=True)

    def interrupt_search(*arguments: Any, **settings: Any) -> SearchResult:
        return attrs.evolve(search(*arguments, **settings), interrupted=True)

    monkeypatch.setattr(assertions, "run", interrupt_run)
    monkeypatch.setattr(assertions, "search", interrupt_search)
    with pytest.raises(KeyboardInterrupt):
        assert_private(LaplaceCount(), against=against, budget=Budget(games=1_000, examples=2))


# --- what a user writes with Hypothesis -------------------------------------------------------------------


@QUICK
@given(adversaries(NoisyVotes()))
@pytest.mark.thorough
def test_every_adversary_can_be_played(adversary: Script) -> None:
    learner = NoisyVotes()
    played = play(learner, adversary, adversary.referee, games=4, seed=1)
    assert played.rounds == adversary.rounds
    check_adversary(adversary, learner, adversary.referee)


@QUICK
@given(neighbouring_samples(LaplaceCount(epsilon=0.5)))
def test_a_told_law_keeps_the_claim_at_every_pair_of_neighbours(samples: tuple[Sample, Sample]) -> None:
    assert samples[0].differences(samples[1]) == 1
    laws = [LaplaceCount(epsilon=0.5).law(sample) for sample in samples]
    grid = np.linspace(-50, 50, 201)
    assert all(isinstance(law, Density) for law in laws)
    assert np.abs(laws[0].log_density(grid) - laws[1].log_density(grid)).max() <= 0.5 + 1e-12


@QUICK
@given(streams(NoisyMajority()))
def test_streams_are_steps_of_a_legal_game(steps: Any) -> None:
    script = Script(protocol="SpecialRound", steps=steps)
    assert play(NoisyMajority(), script, script.referee, games=2, seed=1).rounds == script.rounds


def test_adversaries_of_a_learner_without_two_worlds_are_refused() -> None:
    @attrs.frozen
    class Online(NoisyMajority):
        protocols = ("Adaptive",)

    with pytest.raises(InvalidArgument, match="plays no protocol of two worlds"):
        adversaries(Online())

"""Audits under Voting: features with ⊥, learned distinguishers, likelihood ratios, exact audits, commands."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from mutants.figure1.aggregators import BARE, VOTES
from support.command_line import Command
from support.voting import Screened

from adversaries.voting.repeated_queries import SmallMargin
from adversaries.voting.vote_inference import DisagreementWalk
from arena import UNSTABLE, Adversary, Learner, Moves, Query, Sample, Train, Voting, play
from audits.adversary_search.score import Score, simple_scores
from audits.distinguishers.likelihood_ratio import likelihood_ratios
from audits.distinguishers.view_features import ViewCounts, view_features
from audits.exact_loss.exact_audit import exact
from audits.runs.plan import LEARNED, LIKELIHOOD, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.pate.independent_answers import PateGaussian

arena = Command()
SCREENED = Screened(teachers=3, queries=5)


@attrs.frozen
class Mute(Adversary):
    """counts-unstable, which leaves what it saw to a distinguisher."""

    name = "mute"
    protocols = ("Voting",)
    queries: int = 5

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(Sample([0.5] * 3, [1, 0, 0]), Sample([0.5] * 3, [1, 1, 0]))
        for _ in range(self.queries):
            yield Query(0.5)


def audit(learner: Learner, adversary: Adversary, distinguisher: str, games: int = 20_000) -> Verdict:
    players = {"learner": learner, "adversary": adversary, "referee": Voting()}
    claim = {"epsilon": learner.claim.epsilon, "delta": learner.claim.delta}
    return run(Plan(**players, **claim, games=games, distinguisher=distinguisher))


def test_unstable_is_a_feature_of_its_own() -> None:
    played = play(SCREENED, Mute(), Voting(), games=300, seed=1, record=True)
    found = view_features(played)
    labels = np.stack([reply.label for reply in played.replies[1:]], axis=1)
    assert (labels == UNSTABLE).any()
    for t in range(5):
        assert found.rows[:, found.names.index(f"answer {t + 1}")].tolist() == labels[:, t].tolist()
    told = found.rows[:, found.names.index("answers")]
    assert told.tolist() == np.isin(labels, (0, 1)).sum(axis=1).tolist()
    assert found.rows[:, found.names.index("answers 1")].tolist() == (labels == 1).sum(axis=1).tolist()


def test_scores_can_look_for_unstable_answers() -> None:
    played = play(SCREENED, Mute(), Voting(), games=300, seed=1, record=True)
    found = Score("answer 2", "equal", float(UNSTABLE)).of(played.replies, 300)
    assert found.tolist() == (played.replies[2].label == UNSTABLE).astype(float).tolist()
    seen = view_features(played)
    counts = ViewCounts.of(seen[~played.worlds], seen[played.worlds])
    assert {"answers", "answers 1", "halted", "answer 2"} <= {
        score.feature for score in simple_scores(counts)
    }


@pytest.mark.thorough
def test_a_learned_distinguisher_sees_what_a_bare_screen_gives_away() -> None:
    verdict = audit(BARE, Mute(), LEARNED, games=8_000)
    assert verdict.refuted
    assert not audit(VOTES, Mute(), LEARNED, games=8_000).refuted


@pytest.mark.thorough
def test_a_learned_distinguisher_comes_near_the_score_written_by_hand() -> None:
    by_hand = audit(SCREENED, SmallMargin(learner=SCREENED), "score", games=40_000).epsilon_lower
    learned = audit(SCREENED, Mute(), LEARNED, games=40_000).epsilon_lower
    assert learned > 0.3 * by_hand > 0


@pytest.mark.parametrize("learner", [SCREENED, PateGaussian(teachers=3, queries=5)], ids=lambda one: one.name)
def test_the_likelihood_ratio_is_the_score_of_an_adversary_that_knows_the_law(learner: Learner) -> None:
    adversary = SmallMargin(learner=learner)
    played = play(learner, adversary, Voting(), games=2_000, seed=1, record=True)
    found = likelihood_ratios(learner, adversary, Voting(), played)
    assert played.score is not None
    assert found.levels[found.of_game] == pytest.approx(played.score, abs=2e-9)


@pytest.mark.thorough
def test_a_likelihood_distinguisher_certifies_no_more_than_the_exact_loss() -> None:
    learner = PateGaussian(teachers=3, queries=8)
    truth = exact(learner, Mute(queries=8), Voting()).epsilon_at
    verdict = audit(learner, Mute(queries=8), LIKELIHOOD)
    assert 0.4 * truth.lower < verdict.epsilon_lower <= truth.upper


@pytest.mark.parametrize("adversary", [SmallMargin, DisagreementWalk], ids=lambda kind: kind.name)
def test_an_exact_audit_knows_halting_views_with_unstable_answers(adversary: type[Adversary]) -> None:
    player = adversary(learner=SCREENED)  # type: ignore[call-arg]
    found = exact(SCREENED, player, Voting())
    assert found.score is not None
    assert found.score.middle == pytest.approx(found.epsilon_at.middle, abs=1e-6)
    text, p0, p1, *_ = zip(*found.table(), strict=True)
    assert sum(p0) == pytest.approx(1, abs=1e-9)
    played = play(SCREENED, player, Voting(), games=40_000, seed=2, record=True)
    share = np.mean(
        (played.replies[1].label == UNSTABLE)[played.worlds]
        & (played.replies[2].label == UNSTABLE)[played.worlds]
    )
    told = sum(p for view, p in zip(text, p1, strict=True) if view.startswith("⊥⊥"))
    assert share == pytest.approx(told, abs=6 * 0.5 / np.sqrt(20_000))


def test_paths_that_were_given_up_are_not_taken_for_impossible_views() -> None:
    told = arena("exact", "pate-gaussian", "--against", "disagreement", "--set", "queries=10")
    assert "pure ε                at least" in told.stdout
    assert "in one world only" not in told.stdout


def test_rounds_bound_the_questions() -> None:
    given = ("pate-gaussian", "--against", "small-margin", "--rounds", "3")
    refused = arena.refusal("play", *given)
    assert "Voting with ell = 3 has at most 3 rounds" in refused
    assert "Let the adversary make fewer moves, or allow more rounds." in refused
    assert arena("play", *given, "--set", "adversary.queries=3").exit_code == 0


@pytest.mark.thorough
def test_data_of_a_user_are_searched(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    rows = rng.random((300, 2))
    labels = rows.sum(axis=1) + 0.2 * rng.standard_normal(300) > 1
    file = tmp_path / "data.csv"
    lines = [f"{a},{b},{int(y)}" for (a, b), y in zip(rows, labels, strict=True)]
    file.write_text("\n".join(["a,b,y", *lines]))
    data = ("--data", str(file), "--x", "a", "--x", "b", "--y", "y", "--positive", "1")
    learner = ("--set", "teacher=DecisionTreeClassifier(max_depth=2):2", "--set", "teachers=15")
    for name in ("small-margin", "canary", "vote-inference", "disagreement", "repeat-point"):
        words = ("audit", "pate-gaussian", "--against", name, *data, *learner, "--games", 4_000, "--quiet")
        assert arena.json(*words)["epsilon_lower"] > 0
    target = ("--set", "adversary.target=300")
    refused = arena.refusal("audit", "pate-gaussian", "--against", "vote-inference", *data, *learner, *target)
    assert "the target must be a row of the sample, from 0 to 299, got 'row 300'" in refused

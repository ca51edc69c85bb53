"""The distribution of a view under Figure1 and Release, with the real referee and adversary on every path."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact.players import (
    BETWEEN,
    ONE_MORE,
    ZEROS,
    Budget,
    Chain,
    Coin,
    LaplaceCounter,
    Predicting,
    Releasing,
    TableOfVotes,
    response,
    telling_coin,
)
from support.laws.mechanism_laws import between_law, check_transcripts
from support.simple_players import Echo, GameScripted, Scripted, script
from support.statistical import statistical

from adversaries.figure1.swaps import HaltCounter, TrainingSwap
from adversaries.release.point_swap import CountSwap
from arena import (
    Adaptive,
    Adversary,
    AnswerLaw,
    ArenaError,
    Figure1,
    Learner,
    Moves,
    PlayerError,
    PrivacyUnit,
    ProtocolViolation,
    Query,
    Referee,
    Release,
    Sample,
    Train,
    Unsupported,
    play,
)
from audits.exact_loss import PrivacyLoss, ViewLaw, answer_paths, view_law
from learners.predictors.vote_predictors import NoisyVotes

INF = float("inf")
SWAP = Train(ZEROS, ONE_MORE)
Views = dict[str, tuple[float, float]]


def law_of(learner: Learner, adversary: Adversary, **options) -> ViewLaw:
    return view_law(learner, adversary, Figure1(), **options)


def views_of(law: ViewLaw) -> Views:
    """Each view with its probability in world 0 and in world 1."""
    cells = zip(law.loss.p0.tolist(), law.loss.p1.tolist(), strict=True)
    return {law.views.text(place): masses for place, masses in enumerate(cells)}


def close(found: Views, law: Views, slack: float = 1e-13) -> None:
    assert found.keys() == law.keys()
    for view, masses in law.items():
        assert found[view] == pytest.approx(masses, abs=slack)


def join_worlds(one: dict[str, float], other: dict[str, float]) -> Views:
    return {view: (one.get(view, 0.0), other.get(view, 0.0)) for view in {*one, *other}}


def asking(*queries: float, score: Callable | None = None) -> Scripted:
    """Trains on neighbours and asks these."""

    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield SWAP
        labels = []
        for x in queries:
            reply = yield Query(x)
            labels.append(reply.label)
        return None if score is None else score(np.array(labels))

    return Scripted(moves)


def score_loss(law: ViewLaw) -> PrivacyLoss:
    return law.score


# --- coins --------------------------------------------------------------------------------------------


def test_every_view_of_a_coin() -> None:
    law = law_of(Predicting(telling_coin), asking(0.1, 0.2))
    close(views_of(law), {"00": (0.36, 0.16), "01": (0.24, 0.24), "10": (0.24, 0.24), "11": (0.16, 0.36)})
    assert law.loss.epsilon == pytest.approx(2 * np.log(1.5), abs=1e-13)
    assert law.challenges == {PrivacyUnit.TRAINING_EXAMPLE}
    assert law.score is None


def test_the_score_has_a_law_of_its_own() -> None:
    last = law_of(Predicting(telling_coin), asking(0.1, 0.2, score=lambda labels: labels[-1]))
    assert score_loss(last).epsilon == pytest.approx(np.log(1.5), abs=1e-13)
    total = law_of(Predicting(telling_coin), asking(0.1, 0.2, score=lambda labels: labels.sum(axis=0)))
    assert sorted(score_loss(total).p1.tolist()) == pytest.approx([0.16, 0.36, 0.48])
    assert score_loss(total).epsilon == pytest.approx(total.loss.epsilon)


def test_an_adversary_that_asks_nothing_sees_one_view() -> None:
    for adversary in (asking(), script()):
        law = law_of(Predicting(telling_coin), adversary)
        assert views_of(law) == {"no answers": (1, 1)}
        assert law.loss.epsilon == 0


def test_answers_without_chance_tell_all_or_nothing() -> None:
    all_told = law_of(Predicting(lambda count: Coin(float(count > 0))), asking(0.1))
    close(views_of(all_told), {"0": (1, 0), "1": (0, 1)})
    assert (all_told.loss.epsilon, all_told.loss.delta(9.0).lower) == (INF, pytest.approx(1))
    nothing = law_of(Predicting(lambda count: Coin(1.0)), asking(0.1))
    assert views_of(nothing) == {"1": (1, 1)}


# --- hidden states ------------------------------------------------------------------------------------

LETTERS = {"L": "0", "R": "1", "T": "1"}


def views_of_transcripts(transcripts: dict[str, float], halts: int) -> dict[str, float]:
    """The law of the view, from that of transcripts over L, T and R."""
    found: dict[str, float] = {}
    for transcript, probability in transcripts.items():
        view = "".join(LETTERS[letter] for letter in transcript)
        view += " halted" if transcript.count("T") == halts else ""
        found[view] = found.get(view, 0.0) + probability
    return found


@pytest.mark.parametrize("halts", [1, 2])
def test_between_thresholds_by_enumeration_of_its_transcripts(halts: int) -> None:
    queries = [0.5, 0.3, 0.5, 0.6]
    law = law_of(TableOfVotes(halts), asking(*queries))
    worlds = [
        views_of_transcripts(between_law([x + more for x in queries], **BETWEEN, halts=halts), halts)
        for more in (0, 1 / 40)
    ]
    close(views_of(law), join_worlds(*worlds), slack=1e-12)
    assert law.loss.complete
    assert law.loss.error == 0


@pytest.mark.thorough
@statistical(rate=2e-7)
def test_games_follow_the_law_of_their_view() -> None:
    queries, games = (0.5, 0.4, 0.6), 600_000
    adversary = asking(*queries)
    law = views_of(law_of(TableOfVotes(2), adversary))
    for world in range(2):
        worlds = np.full(games, bool(world))
        played = play(TableOfVotes(2), adversary, Figure1(), games=games, seed=7, worlds=worlds, record=True)
        seen = np.full(games, "", dtype="U12")
        for reply in played.replies[1:]:
            letter = np.where(reply.label < 0, "", reply.label.astype("U1"))
            seen = np.char.add(seen, letter)
        seen = np.char.add(seen, np.where(played.halted, " halted", ""))
        check_transcripts(seen, {view: masses[world] for view, masses in law.items()}, effect=0.008)


def test_both_styles_of_adversary_see_the_same() -> None:
    def one(rng: np.random.Generator) -> Moves:
        yield SWAP
        x, seen = 0.5, 0
        for _ in range(3):
            reply = yield Query(x)
            x, seen = (0.3, seen + 1) if reply.label == 1 else (0.7, seen)
            if reply.halted:
                return -1.0
        return seen

    def table(games: int, rng: np.random.Generator) -> Moves:
        yield SWAP
        x, seen, halted = np.full(games, 0.5), np.zeros(games), np.zeros(games, bool)
        for _ in range(3):
            reply = yield Query(x)
            x, seen = np.where(reply.label == 1, 0.3, 0.7), seen + (reply.label == 1)
            halted = reply.halted
        return np.where(halted, -1.0, seen)

    alone, together = law_of(TableOfVotes(1), GameScripted(one)), law_of(TableOfVotes(1), Scripted(table))
    close(views_of(alone), views_of(together))
    assert np.sort(score_loss(alone).p1) == pytest.approx(np.sort(score_loss(together).p1))


@st.composite
def chains(draw: st.DrawFn) -> tuple[Chain, Chain]:
    states, queries = draw(st.integers(1, 3)), 2
    kinds = "zero one", "zero one halt", "halt zero one"
    meanings = {"zero": (0, False), "one": (1, False), "halt": (1, True)}
    outcomes = tuple(meanings[word] for word in draw(st.sampled_from(kinds)).split())
    seed, shape = np.random.default_rng(draw(st.integers(0, 10**6))), (queries, len(outcomes), states, states)

    def one() -> Chain:
        table = seed.random(shape) * (seed.random(shape) < 0.7)
        table += 1e-3 * (table.sum(axis=(1, 3), keepdims=True) == 0)
        table /= table.sum(axis=(1, 3), keepdims=True)
        return Chain(seed.dirichlet(np.ones(states)), table, outcomes)

    return one(), one()


def brute_force(chain: Chain, queries: Callable[[str], tuple[float, bool]], rounds: int) -> dict[str, float]:
    """Views by recursion. queries: of the view so far, the point asked and whether the round is withheld."""
    found: dict[str, float] = {}

    def ask(view: str, left: int, measure: np.ndarray, silent: bool) -> None:
        if left == 0 or view.endswith("halted"):
            found[view] = found.get(view, 0.0) + measure.sum()
            return
        x, withheld = queries(view)
        if silent:
            ask(view + ("·" if withheld else "· halted"), left - 1, measure, True)
            return
        parts = chain.step(measure[None], np.array([x]))[:, 0]
        for (label, halts), part in zip(chain.outcomes, parts, strict=True):
            if part.any():
                letter = "·" if withheld else str(label) + (" halted" if halts else "")
                ask(view + letter, left - 1, part, halts)

    ask("", rounds, chain.start(), False)
    return found


@pytest.mark.thorough
@settings(max_examples=60)
@given(chains(), st.integers(1, 4), st.integers(-1, 3))
def test_masses_are_conserved_and_views_are_those_of_brute_force(
    pair: tuple[Chain, Chain], rounds: int, challenge: int
) -> None:
    learner = Predicting(lambda count: pair[int(count > 0)])
    train = Train(ZEROS) if challenge >= 0 else SWAP

    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield train
        x = np.zeros(games)
        for number in range(rounds):
            reply = yield Query(x, 1 - x) if number == challenge else Query(x)
            x = np.where(reply.label < 0, x, reply.label)

    def queries(world: int) -> Callable[[str], tuple[float, bool]]:
        def ask(view: str) -> tuple[float, bool]:
            x = next((float(letter) for letter in reversed(view) if letter in "01"), 0.0)
            return (1 - x if world and len(view) == challenge else x), len(view) == challenge

        return ask

    law = law_of(learner, Scripted(moves))
    assert law.loss.p0.sum() == pytest.approx(1, abs=1e-12)
    assert law.loss.p1.sum() == pytest.approx(1, abs=1e-12)
    worlds = [brute_force(pair[world if challenge < 0 else 0], queries(world), rounds) for world in range(2)]
    close(views_of(law), join_worlds(*worlds), slack=1e-12)


# --- halts and withheld rounds ------------------------------------------------------------------------


def test_a_halt_that_leaks_a_query_is_found_exactly() -> None:
    learner = Predicting(lambda count: Budget(3))
    adversary = HaltCounter(budget=3, sample=Sample([0.1, 0.5, 0.5], [0, 0, 1], [4, 2, 2]))
    law = law_of(learner, adversary)
    assert law.loss.epsilon == INF
    assert law.loss.delta(20.0).lower == pytest.approx(1)
    assert set(views_of(law)) == {a + b + "·" + c for a in "01" for b in "01" for c in ("0", "1", "· halted")}
    assert law.challenges == {PrivacyUnit.QUERY}
    assert score_loss(law).epsilon == INF


def test_a_halt_in_a_withheld_round_shows_at_the_next_only() -> None:
    learner = Predicting(lambda count: Budget(1))
    law = law_of(learner, script(Train(ZEROS), Query(0.1, 0.5)))
    assert views_of(law) == {"·": (1, 1)}
    more = law_of(learner, script(Train(ZEROS), Query(0.1, 0.5), Query(0.1)))
    close(views_of(more), {"·0": (0.5, 0), "·1": (0.5, 0), "·· halted": (0, 1)})


def test_what_comes_after_a_halt_shows_nothing() -> None:
    def moves(games: int, rng: np.random.Generator) -> Moves:
        reply = yield SWAP
        for _ in range(5):
            reply = yield Query(0.5)
            if reply.halted.all():  # a table that ends early, if all of its games have halted
                break

    law = law_of(Predicting(lambda count: Budget(2)), Scripted(moves))
    assert set(views_of(law)) == {a + b + " halted" for a in "01" for b in "01"}


def test_a_game_without_end_is_given_up_where_it_is_too_unlikely() -> None:
    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield SWAP
        halted = np.zeros(games, bool)
        while not halted.all():
            halted = (yield Query(0.0)).halted

    table = [np.full((1, 2, 1, 1), 0.5), np.array([0.4, 0.6]).reshape(1, 2, 1, 1)]
    laws = [Chain(np.ones(1), part, ((0, False), (1, True))) for part in table]
    law = law_of(Predicting(lambda count: laws[int(count > 0)]), Scripted(moves))
    assert 25 < len(law.loss.p0) < 60
    assert not law.loss.complete
    assert 0 < law.loss.stated_error < 1e-12
    assert law.loss.epsilon == pytest.approx(-32 * np.log(0.8), rel=0.2)  # of the last view worth a look


# --- pruned paths -------------------------------------------------------------------------------------


def test_pruned_paths_are_stated_and_make_no_view_impossible() -> None:
    chances = {0.0: 0.5, 1.0: 1e-9}
    law = law_of(Predicting(lambda count: Coin(chances[count])), asking(0.1, 0.2), prune=1e-6)
    assert not law.loss.complete
    assert set(views_of(law)) == {"00", "01", "10", "11"}
    assert law.loss.error == pytest.approx(2e-9, rel=0.01)
    # World 1 shows a 1 with a chance of 2e-9 at most, not 0.
    assert law.loss.epsilon == pytest.approx(np.log(0.25 / 1e-9), abs=0.01)
    whole = law_of(Predicting(lambda count: Coin(chances[count])), asking(0.1, 0.2))
    for epsilon in (0.0, 1.0, 3.0):
        pruned, exact = law.loss.delta(epsilon), whole.loss.delta(epsilon)
        assert pruned.lower <= exact.upper
        assert exact.lower <= pruned.upper


def test_paths_unlikely_in_both_worlds_are_in_no_view() -> None:
    law = law_of(Predicting(lambda count: Coin(1e-9)), asking(0.1), prune=1e-6)
    assert views_of(law).keys() == {"0"}
    assert law.loss.error == 0
    assert law.loss.unlisted == pytest.approx(1e-9)


# --- Release ------------------------------------------------------------------------------------------


def test_release_is_worked_out_from_the_two_laws() -> None:
    law = view_law(LaplaceCounter(), CountSwap(), Release())
    assert law.loss.epsilon == pytest.approx(1, abs=1e-12)
    assert law.challenges == {PrivacyUnit.TRAINING_EXAMPLE}
    assert law.score is None  # a number without end


def test_the_score_of_listed_values() -> None:
    def one(rng: np.random.Generator) -> Moves:
        reply = yield SWAP
        return float(reply.value)

    for adversary in (CountSwap(), attrs.evolve(GameScripted(one), protocols=("Release",))):
        law = view_law(Releasing(response), adversary, Release())
        assert (law.loss.epsilon, score_loss(law).epsilon) == pytest.approx((np.log(3), np.log(3)))
    blind = view_law(Releasing(response), script(SWAP, score=np.zeros(1)), Release())
    assert score_loss(blind).epsilon == 0


def test_release_without_a_sample_or_between_equal_worlds_shows_nothing() -> None:
    assert view_law(Releasing(response), script(), Release()).loss.epsilon == 0
    assert view_law(LaplaceCounter(), script(Train(ZEROS)), Release()).loss.epsilon == 0


# --- refusals -----------------------------------------------------------------------------------------


def drawing(games: int, rng: np.random.Generator) -> Moves:
    yield SWAP
    yield Query(rng.random())


def drawing_late(games: int, rng: np.random.Generator) -> Moves:
    yield SWAP
    return rng.random(games)


def drawing_early(games: int, rng: np.random.Generator) -> Moves:
    yield SWAP if rng.random() < 0.5 else Train(ZEROS)


def spawning(games: int, rng: np.random.Generator) -> Moves:
    rng.spawn(1)
    yield SWAP


@pytest.mark.parametrize("moves", [drawing, drawing_late, spawning])
def test_coins_are_refused(moves: Callable) -> None:
    rule = r"without randomness, and scripted draws random numbers.*arena audit"
    with pytest.raises(Unsupported, match=rule):
        law_of(Predicting(telling_coin), Scripted(moves))
    alone = GameScripted(lambda rng: moves(1, rng))
    with pytest.raises(Unsupported, match="game-scripted draws random numbers"):
        law_of(Predicting(telling_coin), alone)
    with pytest.raises(Unsupported, match="draws random numbers"):
        view_law(LaplaceCounter(), Scripted(drawing_early), Release())


def test_too_many_paths_are_refused_with_their_number() -> None:
    with pytest.raises(Unsupported, match=r"more than 1,000 paths: 1,\d\d\d were found.*fewer queries"):
        law_of(Predicting(telling_coin), TrainingSwap(queries=40, point=0.5, sample=ZEROS), max_paths=1_000)


def test_too_many_rounds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_paths, "MAX_ROUNDS", 50)

    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield SWAP
        while True:
            yield Query(0.1)

    with pytest.raises(Unsupported, match="an exact audit plays at most 50 rounds"):
        law_of(Predicting(lambda count: Coin(1.0)), Scripted(moves))


@pytest.mark.parametrize(
    ("rounds", "later_rounds", "point", "rule"),
    [
        (3, 3, 0.1, "made other moves after the same replies"),
        (3, 1, 0.0, "made other moves"),
        (1, 3, 0.0, "queries that scripted asks in one game depends on the other games"),
    ],
)
def test_games_that_hang_on_other_games_are_refused(
    rounds: int, later_rounds: int, point: float, rule: str
) -> None:
    tables = []

    def moves(games: int, rng: np.random.Generator) -> Moves:
        tables.append(games)
        yield SWAP
        for _ in range(rounds if len(tables) == 1 else later_rounds):
            yield Query(0.1 + point * len(tables))

    with pytest.raises(Unsupported, match=rule):
        law_of(Predicting(telling_coin), Scripted(moves))


@pytest.mark.parametrize(
    ("learner", "adversary", "referee", "rule"),
    [
        (Echo(), script(SWAP, Query(0.1)), Figure1(), "echo does not declare its output distribution"),
        (Echo(), script(SWAP), Release(), "echo does not declare its output distribution"),
        (
            Predicting(response),  # type: ignore[arg-type]
            asking(0.1),
            Figure1(),
            "predicting states no distribution of its answers, got 'Finite'",
        ),
        (
            Releasing(telling_coin),  # type: ignore[arg-type]
            CountSwap(),
            Release(),
            "releasing states no distribution of what it releases, got 'Coin'",
        ),
        (
            Predicting(),
            script(),
            Adaptive(),
            "under Figure1, Voting, Release and FixedStream, not under Adaptive",
        ),
    ],
    ids=["answers", "releases", "a law of values", "a law of answers", "protocol"],
)
def test_learners_without_such_a_law_are_refused(
    learner: Learner, adversary: Adversary, referee: Referee, rule: str
) -> None:
    with pytest.raises(Unsupported, match=rule):
        view_law(learner, adversary, referee)


@attrs.frozen
class Broken(Predicting):
    """Its law raises."""

    name = "broken"

    def law(self, sample: Sample) -> AnswerLaw:
        raise RuntimeError("no")


class Odd(Coin):
    """A law whose arrays are as they are told to be."""

    def __init__(self, first: np.ndarray, after: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(0.5)
        self.first, self.after = first, after

    def start(self) -> np.ndarray:
        return self.first

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self.after(measure)


@pytest.mark.parametrize(
    ("law", "rule"),
    [
        (Odd(np.ones((1, 1)), np.zeros_like), "the probabilities"),
        (Odd(np.array([np.nan]), np.zeros_like), "the probabilities"),
        (Odd(np.array([-0.5]), np.zeros_like), "at least 0"),
        (Odd(np.ones(1), lambda m: m), "the parts"),
        (Odd(np.ones(1), lambda m: np.stack([2 * m, -m])), "at least 0"),
        (Odd(np.ones(1), lambda m: np.stack([m * np.nan, m])), "the parts"),
    ],
)
def test_laws_that_are_none_are_refused(law: AnswerLaw, rule: str) -> None:
    with pytest.raises(ArenaError, match=f"invalid distribution of predicting: .*{rule}"):
        law_of(Predicting(lambda count: law), asking(0.1))


def test_faults_of_players_are_told_as_such() -> None:
    with pytest.raises(PlayerError, match="learner broken raised RuntimeError: no in the training phase"):
        law_of(Broken(), asking(0.1))
    with pytest.raises(ProtocolViolation, match="begins with Train, which is made once"):
        law_of(Predicting(), script(Query(0.1)))


# --- defects ------------------------------------------------------------------------------------------


def test_defects_of_a_law_are_stated() -> None:
    off = Odd(np.array([1 - 1e-7]), lambda m: np.stack([m * 0.5, m * (0.5 - 1e-8)]))
    law = law_of(Predicting(lambda count: off), asking(0.1))
    assert law.loss.error == pytest.approx(1.1e-7, rel=1e-3)


def test_chances_pushed_below_0_by_rounding_are_a_defect() -> None:
    off = Odd(np.ones(1), lambda m: np.stack([m * (1 + 1e-12), m * -1e-12]))
    law = law_of(Predicting(lambda count: off), asking(0.1))
    assert views_of(law).keys() == {"0"}
    assert 1e-12 < law.loss.error < 1e-11


def test_a_learner_that_halts_in_all_games_at_once_shows_no_more() -> None:
    learner = NoisyVotes(size=4, epsilon=0.2, answers=3)
    found = [law_of(learner, TrainingSwap(queries=number, learner=learner)).loss for number in (2, 3, 6)]
    assert [loss.epsilon for loss in found] == pytest.approx([0.4, 0.6, 0.6])
    assert [len(loss.p0) for loss in found] == [4, 8, 8]

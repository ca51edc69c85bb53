"""The games of a plan: the first, which complete it and show whether it can refute anything; its blocks."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Unpack

import numpy as np

from arena import (
    Adversary,
    GameAdversary,
    Learner,
    NotConforming,
    NothingTested,
    Played,
    PlayerError,
    Referee,
    Sample,
    Unsupported,
    play,
)
from arena.capabilities import ReceivesPart
from arena.randomness import block_seed, streams
from arena.referees.transcript import TrainingEntry
from arena.released.encoding import LEAST
from arena.testing import check_adversary
from arena.testing.batches import check_batches_independent
from arena.testing.independence import check_common_random_numbers, compare_plays
from arena.testing.memory import Record, check_memory, refuse_changed_games
from audits.distinguishers.view_features import Block, ViewCounts, view_features
from audits.registry.match import Match, check_protected, resolve_claim, resolve_curve
from audits.registry.origins import find_other_versions, find_packages
from audits.runs.learner_failures import describe_failure, fails_sometimes, refuse_failures, warn_of_failures
from audits.runs.limits import makes_few_calls
from audits.runs.plan import DEFAULT_GAMES, LEARNED, LIKELIHOOD, SCORE, Plan, PlanArguments, list_arguments
from audits.runs.workers import Workers, WorkersFailed, map_in_order
from audits.runs.workers.workers import map_here
from audits.statistics.score_histogram import EXACT, ScoreBins
from audits.statistics.score_pairs import PairCounts

_MAX_GAMES_UNTIL_REFUTED = 10_000_000
_NOTES_WITHOUT_SCORE = {
    LEARNED: "{} returns no score, so a distinguisher is learned from the games",
    LIKELIHOOD: "{} returns no score, so the likelihood ratio distinguishes the worlds",
}
_COMPARED_GAMES = 1_024  # in which the random numbers of both worlds are compared
_SEVERAL_GAMES = 64  # which show whether the adversary returns a score, and whether text is released
_FEWER_GAMES = 16  # the same, where calls are few
_FEW_BLOCKS = 8  # too few to see from their scores that the games of a block depend on each other
_MIN_BATCHES, _MAX_BATCHES = 16, 64  # of fresh games, if the blocks are few or scatter
_FIRST_PAIRS = (4, 32, 1_024)  # as many as it takes until the worlds differ, as some challenges are rare
_REPEATED_SHARE = 10  # one game in ten is played again where each is a call


# --- the plan ----------------------------------------------------------------------------------------------


def plan_audit(
    match: Match, *, option: str = "--epsilon, in nats", **asked: Unpack[PlanArguments]
) -> tuple[Plan, tuple[str, ...]]:
    """The plan of an audit of a match, and what the user should know about how it was chosen.

    option: how the user names an ε. A learner that raises in some games, but not in all, is audited with
    `faults`. Raises: InvalidArgument; whatever `arena.play` raises in a first game.
    """
    notes: tuple[str, ...] = ()
    chosen = {name for name, field in list_arguments().items() if field.metadata["chosen"]}
    given: Any = {name: value for name, value in asked.items() if value is not None or name not in chosen}
    if "distinguisher" not in given:
        players, faults = (match.learner, match.adversary, match.referee), given.get("faults", False)
        few = makes_few_calls(match.learner, 2 * (given.get("games") or DEFAULT_GAMES))
        try:
            distinguisher = choose_distinguisher(*players, faults=faults, few=few)
        except PlayerError as error:
            if faults or not fails_sometimes(*players, error):
                raise
            given["faults"] = True
            distinguisher = choose_distinguisher(*players, faults=True, few=few)
            notes = (f"{error}, which the adversary sees (faults)",)
        if distinguisher != SCORE:
            notes += (_NOTES_WITHOUT_SCORE[distinguisher].format(match.adversary.name),)
        given["distinguisher"] = distinguisher
    claim = given.pop("curve", None), given.pop("epsilon", None), given.pop("delta", None)
    curve, epsilon, delta = resolve_curve(*claim, match.learner)
    epsilon, delta = resolve_claim(match.learner, epsilon, delta, option=option)
    if "games" not in given and given.get("until_refuted"):
        given["games"] = _MAX_GAMES_UNTIL_REFUTED
    given |= {"learner": match.learner, "adversary": match.adversary, "referee": match.referee}
    if not given.get("faults"):
        given["learner"] = try_common_random_numbers(match.learner, match.adversary, match.referee)
    return Plan(epsilon=epsilon, delta=delta, curve=curve, **given), notes


def choose_distinguisher(
    learner: Learner, adversary: Adversary, referee: Referee, *, faults: bool = False, few: bool = False
) -> str:
    """The score, if the adversary returns one; else the likelihood ratio, if known; else a learned one.
    few: play fewer games to see it."""
    returns_score = adversary.returns_score
    if referee.two_worlds and returns_score is None:
        several = _FEWER_GAMES if few else _SEVERAL_GAMES
        games = several if faults or adversary.scores_release else 2
        played = play(learner, adversary, referee, games=games, seed=0, faults=faults, record=True)
        # The engine scores games that failed.
        returns_score = played.score is not None and (played.failed is None or not played.failed.all())
        if returns_score and adversary.scores_release:
            # What the adversary saw must be nothing but finite numbers, whose zeros have no sign.
            parts = [part.astype(float) for each in played.single_games or [played] for part in each.shown]
            returns_score = all(
                (np.abs(part) < LEAST).all() and not np.signbit(part[part == 0]).any() for part in parts
            )
        # A score does not tell exceptions apart.
        errors = {game.failure.error for game in played.single_games if game.failure is not None}
        returns_score = returns_score and len(errors) < 2
    if returns_score or not referee.two_worlds:
        return SCORE
    if faults:
        return LEARNED
    from audits.distinguishers.likelihood_ratio import build_likelihood_ratio  # slow to import

    try:
        build_likelihood_ratio(learner, adversary, referee)
    except Unsupported:
        return LEARNED
    return LIKELIHOOD


def try_common_random_numbers(learner: Learner, adversary: Adversary, referee: Referee) -> Learner:
    """The learner, with common random numbers if an experiment shows that it may use them: it then drew as
    many on the data sets of both worlds."""
    sharing = learner.with_common_random_numbers
    if sharing is None or isinstance(adversary, GameAdversary):
        return learner
    try:
        check_common_random_numbers(sharing, adversary, referee, games=_COMPARED_GAMES)
    except NotConforming:
        return learner
    return sharing


# --- the first games ---------------------------------------------------------------------------------------


def check_players(plan: Plan, *, few: bool = False) -> Record | None:
    """Check the properties of the players that the verdict relies on; returns as `check_memory` does.

    few: play few games, as the run is short.
    Raises: NotConforming if the adversary fails `arena.testing.check_adversary`, or the learner does not use
    the random numbers that it declares; NothingTested if no game could refute the claim.
    """
    games = plan.blocks[0]
    record = check_memory(plan.learner, plan.adversary, plan.referee, faults=plan.faults, few=few)
    check_independence(plan, games)
    if 1 < len(plan.blocks) < _FEW_BLOCKS and not plan.faults:
        check_scatter(plan, games)
    check_first_games(plan)
    if plan.distinguisher == LIKELIHOOD:
        from audits.exact_loss.exact_audit import check_declared_law  # slow to import

        check_declared_law(plan.learner, plan.adversary, plan.referee)
    return record


def check_independence(plan: Plan, games: int) -> None:
    """Raises NotConforming if, in a batch of so many games, what is done in one depends on others. Where each
    game is a call, games that count show it: see `play_block` and `check_repeated_games`."""
    calls = plan.learner.one_call_a_game
    if not plan.faults:  # with faults, every game is played alone
        check_adversary(plan.adversary, plan.learner, plan.referee, games=1 if calls else games)
    if uses_common_random_numbers(plan) and not calls:
        check_common_random_numbers(plan.learner, plan.adversary, plan.referee, games=games)


def check_repeated_games(
    plan: Plan, blocks: Mapping[int, Block], workers: Workers, *, games: int, bins: ScoreBins | None = None
) -> None:
    """Play a tenth of so many games again, in another order: the first of these blocks, by their indices.

    Raises: NotConforming if some came out otherwise. Where each game is a call that a seed repeats, they
    then depended on other games.
    """
    from audits.runs.ledger.store import equal_results  # with sqlite3

    repeated = _choose_repeated([*blocks], [block.pairs for block in blocks.values()], games)
    with closing(play_blocks(plan, repeated, workers, bins=bins, again=True)) as again:
        if not all(map(equal_results, map(blocks.__getitem__, repeated), again)):
            refuse_changed_games(plan.learner)


def _choose_repeated(blocks: Sequence[int], sizes: Sequence[int], games: int) -> Sequence[int]:
    """The indices of the first blocks that hold a tenth of all games together, at least one block."""
    return blocks[: max(1, int((np.cumsum(sizes) <= games / _REPEATED_SHARE).sum()))]


def count_repeated_calls(plan: Plan) -> int:
    """The calls of `check_repeated_games` after all games of a plan: each batch is preceded by a game."""
    if not repeats_calls(plan):
        return 0
    sizes = [plan.blocks[index] for index in range(plan.blocks.exact)]
    repeated = _choose_repeated(range(len(sizes)), sizes, plan.games)
    return sum(2 * (sizes[index] + 1) for index in repeated)


def check_scatter(plan: Plan, games: int) -> None:
    """Raises NotConforming if the games of a batch depend on each other.

    The adversary draws the same in every batch, since what it draws for a whole batch does no harm.
    """
    batches = min(max(len(plan.blocks), _MIN_BATCHES), _MAX_BATCHES)
    players = (plan.learner, plan.adversary, plan.referee)
    check_batches_independent(*players, games=games, batches=batches, faults=plan.faults)


def check_first_games(plan: Plan) -> None:
    """Check that the games of a plan could show a violation, and warn if the learner fails in both worlds.

    Raises: NothingTested if the learner always receives the same in both worlds or always fails; whatever
    `arena.play` and `check_outcome` raise.
    """
    *few, most = _FIRST_PAIRS[plan.faults :]  # failures are counted in more than a few
    for pairs in few:
        played = _play_first(plan, pairs)
        if _find_same_data(plan, played) is None:
            break
    else:
        played = _play_first(plan, most)
        fault = _find_same_data(plan, played)
        if fault is not None:
            raise fault
    if played.failed is None or played.failure is None:
        return
    failures, games = int(played.failed.sum()), len(played.worlds)
    first = describe_failure(played.failure, plan.learner)
    if failures == games:
        raise refuse_failures(plan.learner, first, f"in all of the first {games:,} games")
    if all(played.failed[played.worlds == world].any() for world in (False, True)):
        warn_of_failures(plan.learner, first, failures, games, "in {} first games")


def _play_first(plan: Plan, pairs: int) -> Played:
    players = (plan.learner, plan.adversary, plan.referee)
    seed = block_seed(plan.seed, 0)
    played = play(*players, games=2 * pairs, seed=seed, faults=plan.faults, record=True)
    if played.score is None:
        check_outcome(plan, played)
    return played


def _find_same_data(plan: Plan, played: Played) -> NothingTested | None:
    """The error if the learner receives the same in both worlds of every pair of games."""
    learner, adversary = plan.learner, plan.adversary
    if not played.flag.any():
        if played.failed is not None and played.failed.all():
            return None  # it failed before anything could differ
        return NothingTested(
            f"{adversary.name} hands {learner.own_name} the same in both worlds, so its games test nothing. "
            "Let an example or a query differ, or choose another adversary."
        )
    if not isinstance(learner, ReceivesPart) or (pairs := [*_list_training_pairs(played)]) == []:
        return None
    differ = {
        part
        for first, second in pairs
        for part, data in learner.read_parts(first).items()
        if not _is_same(data, learner.read_parts(second)[part])
    }
    if learner.receives in differ:
        return None
    others = " or ".join(f"receives={part}" for part in learner.read_parts(pairs[0][0]) if part in differ)
    return NothingTested(
        f"{learner.own_name} receives {learner.receives} only, which {adversary.name} leaves the same in "
        f"both worlds, so games test nothing. {f'Set {others}' if others else 'Choose another adversary'}."
    )


def _list_training_pairs(played: Played) -> Iterator[tuple[Sample, Sample]]:
    """The distinct pairs of training sets that the two games of a pair received."""
    samples = [
        entry.training.samples[which]
        for batch in played.single_games or (played,)
        for entry in ([] if batch.transcript is None else batch.transcript.entries)
        if isinstance(entry, TrainingEntry)
        for which in entry.training.which
    ]
    yield from dict.fromkeys(zip(samples[::2], samples[1::2], strict=False))


def _is_same(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return all(map(np.array_equal, first, second))
    return np.array_equal(first, second)  # type: ignore[arg-type]


# --- blocks ------------------------------------------------------------------------------------------------


def play_blocks(
    plan: Plan,
    indices: Sequence[int],
    workers: int | Workers = 1,
    *,
    bins: ScoreBins | None = None,
    keep: Callable[[int, Block], None] | None = None,
    again: bool = False,
) -> Generator[Block, None, None]:
    """The blocks of a plan in the order of `indices`. again: as of `play_block`. keep, errors: as of
    `map_in_order`."""
    play_one = partial(play_block, plan, bins=bins, compare=not again, again=again)
    workers = Workers.from_jobs(workers)
    if workers.alone:
        return map_here(play_one, indices, keep)
    if not workers.local:
        play_one = partial(play_with_packages, find_packages((plan.learner, plan.adversary)), play_one)
    return map_in_order(play_one, indices, workers, keep=keep)


def play_with_packages(packages: Mapping[str, str], play_one: Callable[[int], Block], index: int) -> Block:
    """Play a block on a worker elsewhere. Raises: WorkersFailed if it has other versions of the packages."""
    others = find_other_versions(packages)
    if others:
        raise WorkersFailed(
            f"the players come from packages of which the worker {socket.gethostname()} has other versions: "
            f"{others}",
            remedy="Install the same versions there.",
        )
    return play_one(index)


def choose_bins(plan: Plan, first_blocks: Sequence[Block] | None = None) -> ScoreBins:
    """The bins in which later blocks count their scores. first_blocks: those that count exactly, if known."""
    exact = plan.blocks.exact
    if exact == len(plan.blocks) or plan.distinguisher == LEARNED:
        return EXACT
    blocks = [play_block(plan, index) for index in range(exact)] if first_blocks is None else first_blocks
    return ScoreBins.of(block for block in blocks if isinstance(block, PairCounts))


def play_block(
    plan: Plan,
    index: int,
    *,
    bins: ScoreBins | None = None,
    compare: bool = False,
    again: bool = False,
) -> Block:
    """Play the pairs of block `index` and count their scores, or their views if the distinguisher is learned.

    bins: default: `choose_bins(plan)`. compare: check by its games that those of the adversary are
    independent, where each is a call and no block before was as large. again: play the worlds in the other
    order, with a game in between, so that all games follow others. Raises: NotConforming; whatever
    `arena.play` and `check_outcome` raise.
    """
    seed, results, games = block_seed(plan.seed, index), {}, plan.blocks[index]
    common, adversary = uses_common_random_numbers(plan), plan.adversary
    if compare and _is_compared(plan, index):
        adversary = compare_plays(adversary, games)
    # One batch for each world, so that no player sees both, in an order that no player knows. The adversary
    # draws the same in both: what it draws for a whole batch must not tell the worlds apart.
    places = [*enumerate((0, 1) if streams(seed).referee.integers(2) else (1, 0))]
    for place, world in reversed(places) if again else places:
        worlds = np.full(games, world, bool)
        results[world] = _play(plan, adversary, worlds, seed, coins=0 if common else place)
        if again:
            _play(plan, adversary, worlds[:1], seed, coins=0)
    by_world = [results[0], results[1]]
    if plan.distinguisher == LEARNED:
        return ViewCounts.of(*by_world)
    if plan.distinguisher == LIKELIHOOD:
        return PairCounts.of_levels(by_world[0].levels, by_world[0].of_game, by_world[1].of_game)
    if index < plan.blocks.exact:
        return PairCounts.of(*by_world)
    return (choose_bins(plan) if bins is None else bins).count(*by_world)


def uses_common_random_numbers(plan: Plan) -> bool:
    """Whether both games of a pair use the same random numbers: bets stay fair under any coupling."""
    return plan.learner.common_random_numbers and _plays_batches(plan)


def repeats_calls(plan: Plan) -> bool:
    """Whether every game is a call that a seed repeats, so that `check_repeated_games` applies."""
    return plan.learner.one_call_a_game and not plan.learner.own_coins


def _plays_batches(plan: Plan) -> bool:
    return not plan.faults and not isinstance(plan.adversary, GameAdversary)


def _is_compared(plan: Plan, index: int) -> bool:
    games = plan.blocks[index]
    grows = games > (plan.blocks[index - 1] if index else 1)
    return grows and plan.learner.one_call_a_game and _plays_batches(plan)


def _play(
    plan: Plan, adversary: Adversary, worlds: np.ndarray, seed: np.random.SeedSequence, coins: int
) -> Any:
    """The score of each game (n,), or the features of its view if the distinguisher is learned."""
    record, players = plan.distinguisher != SCORE, (plan.learner, adversary, plan.referee)
    played = play(
        *players, games=len(worlds), seed=seed, worlds=worlds, faults=plan.faults, record=record, coins=coins
    )
    check_outcome(plan, played)
    if plan.distinguisher == LEARNED:
        return view_features(played)
    if plan.distinguisher == LIKELIHOOD:
        from audits.distinguishers.likelihood_ratio import likelihood_ratios  # slow to import

        return likelihood_ratios(*players, played)
    return played.score


def check_outcome(plan: Plan, played: Played) -> None:
    """Refuse a batch of games whose outcome says nothing about the claim."""
    if played.score is None and plan.distinguisher == SCORE:
        raise Unsupported(
            f"{plan.adversary.name} returns no score, so an audit cannot tell the worlds apart by it",
            remedy="Let play() return one number for each game, higher if it looks like world 1, or have a "
            "distinguisher learned.",
        )
    check_protected(played.challenges, plan.learner, plan.adversary)

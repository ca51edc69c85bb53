"""Conformance checks of learners."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from numbers import Real
from typing import Any

import attrs
import numpy as np

from arena.capabilities import (
    AnswersInRounds,
    ComparesCosts,
    DeclaresOnlineLaw,
    Explains,
    HasVotes,
    TakesInstructions,
    offers,
)
from arena.claims import Bound, Claim, PrivacyUnit
from arena.engine import play
from arena.errors import RAISED, ArenaError, BudgetExceeded, InvalidArgument, NotConforming, Unsupported
from arena.laws import OnlineLaw
from arena.players import Learner
from arena.randomness import block_seed, generator
from arena.referees import REFEREES, Probe
from arena.released.encoding import is_category
from arena.sample import Sample, Training
from arena.testing.adversary import check_configuration
from arena.testing.batches import (
    BATCH,
    RATE,
    check_batches_independent,
    check_common_bits,
    check_divisions,
    check_games,
)
from arena.testing.independence import check_repeats, forbid_global_randomness, suggest_coins
from arena.testing.memory import check_memory

ROUNDS = 12  # of games with a fixed number of them, if the learner allows so many
_MANY_TEXTS = 64  # games whose texts, if nearly all differ, are refused
_FEW_BATCHES = 8  # on each of the other samples
_USUAL_SIZE, _SMALL_SIZE = 1_000, 7  # examples for a learner that takes any number


def check_learner(learner: Learner, *, sample: Any = None, games: int = 2_000) -> None:
    """Check a learner under every protocol that it names. games: the size of the batches for statistics.
    sample: a `Sample` or, if it receives these, `Records` to train on; by default two points with both
    labels, then samples of other sizes and with hardly any or only examples of one label."""
    # A frozen, hashable attrs class that can be pickled, with a name and known protocols.
    check_configuration(learner, "learner")
    if not isinstance(learner.claim, Claim):
        raise NotConforming(learner.own_name, "claim is a Claim", f"got {type(learner.claim).__name__}")
    # Points of its own shape, and running learners with what their protocol asks of them.
    _check_some_points(learner)
    for protocol in learner.protocols:
        _check_state(learner, protocol)
    training_sets = [sample] if sample else _make_samples(learner)
    training_set = training_sets[0]
    # The same game whatever was played before, or fresh random numbers in every process. This comes before
    # this process has played anything.
    unchecked = [p for p in learner.protocols if not _check_long_games(learner, p, training_set)]
    for protocol in learner.protocols:
        probe = _prepare_probe(learner, protocol, training_set, _choose_points(training_set))
        if protocol in unchecked:
            check_memory(learner, probe, probe.referee)
        # Any number of games, even none, without writing to the input or using global generators.
        for number in (0, 1, 3):
            few_games = partial(play, learner, probe, probe.referee, games=number, seed=1)
            forbid_global_randomness(learner.own_name, few_games, lacking=suggest_coins(learner))
        # The same game for the same random numbers.
        if not learner.own_coins:
            check_repeats(learner, probe, probe.referee, learner.own_name)
        if learner.one_call_a_game:
            _check_texts(learner, probe)
        else:
            _check_batches(learner, probe, games, training_sets[1:], is_given=sample is not None)
        # It can be trained on `some_points` and asked about them.
        if not learner.receives_records:
            _play_some_points(learner, protocol)
        # Capabilities that it has beyond its protocol.
        _check_capabilities(learner, probe)


def play_other_data(learner: Learner, protocol: str) -> None:
    """Play a few games on each of several small training sets, whatever they show; what the learner declines,
    or fails in, is left out."""
    with suppress(ArenaError):
        for sample in _make_samples(learner):
            with suppress(ArenaError):
                probe = _make_probe(learner, protocol, sample, _choose_points(sample), 1)
                _play_probe(learner, probe, games=_FEW_BATCHES)


def _check_texts(learner: Learner, probe: Probe) -> None:
    """Refuse text that differs in every game, if text is released: a few games show nothing of it."""
    played = play(learner, probe, probe.referee, games=2, seed=1, record=True)
    if any(is_category(part).any() for part in played.shown):
        _play_probe(learner, probe, games=_MANY_TEXTS)


def _check_batches(
    learner: Learner, probe: Probe, games: int, others: Sequence[Any], *, is_given: bool
) -> None:
    """Check by statistics what games of one call each cannot violate, except by memory. others: training sets
    besides that of the probe, which is the caller's if `is_given`."""
    # Independent games, with the distribution of single games.
    check_games(learner, probe, games)
    # If it declares common random numbers: the same bits, whatever other games receive.
    if learner.common_random_numbers:
        check_common_bits(learner, probe)
    # If it declares its output distribution: values or answers with these probabilities.
    _check_law(learner, probe, games)
    # Independent games and the declared distribution on other samples, which show other noise.
    for other in others:
        _check_on_sample(learner, attrs.evolve(probe, sample=other), games)
    # The same distribution however a list of examples is divided into runs.
    if learner.receives_records:
        return
    for runs in [probe.sample] if is_given else [probe.sample, *_repeat_examples(learner)]:
        _check_divisions(learner, attrs.evolve(probe, sample=runs), games)


def _check_long_games(learner: Learner, protocol: str, sample: Sample) -> bool:
    """Check for memory in games of full length; whether the learner allows so long ones."""
    points = _choose_points(sample)
    probe = _make_probe(learner, protocol, sample, points, max(ROUNDS, len(points)))
    try:
        check_memory(learner, probe, probe.referee)
    except (InvalidArgument, BudgetExceeded):
        return False
    return True


def _prepare_probe(learner: Learner, protocol: str, sample: Sample, points: tuple[Any, ...]) -> Probe:
    for length in range(max(ROUNDS, len(points)), 0, -1):
        probe = _make_probe(learner, protocol, sample, points, length)
        try:
            _play_probe(learner, probe)
        except BudgetExceeded:
            if length == 1:
                raise
        else:
            break
    return probe


def _make_probe(
    learner: Learner, protocol: str, sample: Sample, points: tuple[Any, ...], length: int
) -> Probe:
    referee = REFEREES[protocol].with_rounds(min(length, ROUNDS))
    asked = points[:length] if referee.rounds is None else points
    return Probe(referee, sample, asked, unlabelled=PrivacyUnit.UNLABELLED_EXAMPLE in learner.claim.protects)


def _play_probe(learner: Learner, probe: Probe, games: int = 1, seed: int = 1) -> None:
    play(learner, probe, probe.referee, games=games, seed=seed)


def _declines(learner: Learner, probe: Probe) -> bool:
    try:
        _play_probe(learner, probe)
    except (InvalidArgument, BudgetExceeded):
        return True
    return False


def _check_on_sample(learner: Learner, probe: Probe, games: int) -> None:
    if _declines(learner, probe):
        return
    _check_law(learner, probe, games)
    if not learner.own_coins:
        few = max(BATCH, games // _FEW_BATCHES)
        check_batches_independent(learner, probe, probe.referee, games=few, batches=_FEW_BATCHES)


def _check_divisions(learner: Learner, probe: Probe, games: int) -> None:
    if PrivacyUnit.TRAINING_EXAMPLE in probe.referee.challenges and not _declines(learner, probe):
        check_divisions(learner, probe, games=games, rate=RATE)


def _check_state(learner: Learner, protocol: str) -> None:
    kind = REFEREES[protocol].learner_state
    try:
        state = learner.start(1, generator(block_seed(17, 0)))
    except RAISED:  # which the games will show
        return
    missing = [
        name
        for name in vars(kind)
        if not (name.startswith("_") or hasattr(type(state), name) or hasattr(state, name))
    ]
    if missing:
        raise NotConforming(
            learner.own_name,
            f"under {protocol} a running learner has the members of {kind.__name__}",
            f"it lacks {', '.join(missing)}",
        )


def _check_some_points(learner: Learner) -> None:
    points, shape = learner.some_points, learner.point_shape
    if not isinstance(points, np.ndarray) or not len(points) or points.shape[1:] != shape:
        got = f"an array of shape {points.shape}" if isinstance(points, np.ndarray) else type(points).__name__
        raise NotConforming(
            learner.own_name, f"some_points are one or more points of shape {shape}", f"got {got}"
        )


def _play_some_points(learner: Learner, protocol: str) -> None:
    points = learner.some_points[: learner.sample_size]
    size = max(len(points), learner.sample_size or 0)
    counts = [size - len(points) + 1, *[1] * (len(points) - 1)]
    sample = Sample(points, np.arange(len(points)) % 2, counts)
    try:
        _play_probe(
            learner, _prepare_probe(learner, protocol, sample, _split(learner.some_points)), games=3, seed=2
        )
    except ArenaError as error:
        rule = "it can be trained on some_points and asked about them"
        raise NotConforming(learner.own_name, rule, str(error)) from error


def _check_law(learner: Learner, probe: Probe, games: int) -> None:
    from arena.testing.laws.comparison import compare_with_law  # slow to import

    with suppress(Unsupported):
        if probe.referee.law is OnlineLaw and isinstance(learner, DeclaresOnlineLaw):
            probe = attrs.evolve(probe, points=_split(learner.online_law().points))
        compare_with_law(learner, probe, probe.referee, rate=RATE, games=games, worlds=(False,))


def _check_capabilities(learner: Learner, probe: Probe) -> None:
    state = learner.start(3, generator(block_seed(17, 0)))
    if offers(state, HasVotes):
        _check_votes(learner, state, probe)
    if offers(state, TakesInstructions):
        _play_probe(learner, attrs.evolve(probe, instructed=True), games=3, seed=3)
    if isinstance(learner, AnswersInRounds):
        answers = learner.round(1).answers
        if not answers >= 1:
            raise NotConforming(learner.own_name, "a round answers at least one query", f"got {answers}")
    if isinstance(learner, Explains):
        lines = learner.explain()
        if not all(isinstance(text, str) for item in lines.items() for text in item):
            raise NotConforming(learner.own_name, "explain returns a text for each topic", f"got {lines}")
    if isinstance(learner, ComparesCosts):
        costs = learner.other_costs()
        if not all(isinstance(cost, Real) and cost >= 0 for cost in costs.values()):
            raise NotConforming(learner.own_name, "other_costs are ε of at least 0 nats", f"got {costs}")
    if probe.referee.rounds is not None:
        bound = learner.bound(probe.referee.rounds)
        if bound is not None and not isinstance(bound, Bound):
            raise NotConforming(learner.own_name, "bound is a Bound or None", f"got {type(bound).__name__}")


def _check_votes(learner: Learner, state: Any, probe: Probe) -> None:
    state.train(Training.of((probe.sample,), np.zeros(3, np.intp)))
    for x in (probe.points[0], np.stack([np.asarray(x) for x in probe.points[:3]])):
        votes = state.votes(x)
        if np.shape(votes) != (3,) or not ((votes >= 0) & (votes <= 1)).all():
            raise NotConforming(
                learner.own_name,
                "votes are one share in [0, 1] for each game",
                f"got {np.asarray(votes)}",
            )


def _make_samples(learner: Learner) -> list[Any]:
    """What it is trained on: the set for most checks, then those for the distribution of its games."""
    if learner.receives_records:
        return list(learner.some_records)  # type: ignore[attr-defined]
    return [_make_sample(learner), *_vary_sample(learner)]


def _make_sample(learner: Learner) -> Sample:
    """Two points with both labels, or as much of that as fits, of the size that the learner needs."""
    size = learner.sample_size or _USUAL_SIZE
    runs = min(4, size)
    low, high = learner.some_points[[0, -1]]
    counts = np.diff(size * np.arange(runs + 1) // runs)
    return Sample([low, high, low, high][:runs], [0, 1, 1, 0][:runs], counts)


def _vary_sample(learner: Learner) -> list[Sample]:
    """Samples with few examples labelled 1, with one, with none and with nothing else; small ones too."""
    low, high = learner.some_points[[0, -1]]
    samples = []
    for size in [learner.sample_size] if learner.sample_size else [_USUAL_SIZE, _SMALL_SIZE]:
        samples += [Sample([low], [label], [size]) for label in range(2)]
        samples += [
            Sample([low, high], [0, 1], [size - ones, ones])
            for ones in {1, size // 10, size // 2}
            if 0 < ones < size
        ]
    return samples


def _repeat_examples(learner: Learner) -> list[Sample]:
    """Small samples with repeated examples, of which labels 1 are just a minority: every example matters."""
    if learner.sample_size:
        return []
    low, high = learner.some_points[[0, -1]]
    return [Sample([low, high], [0, 1], [_SMALL_SIZE - _SMALL_SIZE // 2, _SMALL_SIZE // 2])]


def _choose_points(sample: Any) -> tuple[Any, ...]:
    if not isinstance(sample, Sample):
        return (0.0,)  # records are not asked about
    order = np.lexsort(sample.points.reshape(len(sample.points), -1).T[::-1])
    return _split(sample.points[order[[0, len(order) // 2, -1]]]) * 3


def _split(points: np.ndarray) -> tuple[Any, ...]:
    return tuple(x if x.ndim else x.item() for x in points)

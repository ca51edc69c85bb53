"""Games of predictors, streams and online learners, as matrices, from the distributions of what they show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from arena import AnswerLaw, Learner, OnlineLaw, PrivacyUnit, Sample, StreamLaw, Unsupported
from arena.capabilities import DeclaresOnlineLaw
from arena.claims import Neighbours
from arena.referees.stream_moves import DeclaresStreamLaw
from audits.exact_loss.answer_paths import AnswerLaws
from audits.registry.match import find_protocol, read_claim
from audits.solver.linear_game import LinearGame, Step, Watch, compress, ignore_progress

_ONE_RECORD = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE
_PROBES = 3  # random measures by which ways to answer are told apart
_PIECE = 2**20  # probabilities of states that are followed together
_MOST_STATES = 20_000  # hidden states; more take gigabytes
MOST_STATES = 5_000  # states of a learner that are listed
MOST_NUMBERS = 2**24  # in the matrices of a game, eight bytes each


def answer_game(
    learner: Learner,
    samples: Sequence[Sample],
    points: np.ndarray,
    rounds: int,
    watch: Watch = ignore_progress,
) -> tuple[LinearGame, np.ndarray]:
    """The game in which training samples are neighbours and every query is one of the points (p, ...).

    Also the query of each move: of points that are answered alike in both worlds, the first.
    Raises: Unsupported if the learner tells no distribution of answers.
    """
    known = AnswerLaws(learner)
    laws = [known.of(sample) for sample in samples]
    start, places = _place_states(laws)
    steps, numbers = _number_steps(laws, points, places, start.shape[1])
    moves: dict[tuple[int, ...], int] = {}
    for place, kernels in enumerate(numbers.T.tolist()):
        moves.setdefault(tuple(kernels), place)
    game = compress(
        steps,
        np.array(list(moves)).T,
        start,
        rounds=_count_answers(laws[0], rounds),
        halts=np.array([halts for _, halts in laws[0].outcomes]),
        watch=watch,
    )
    return game, points[list(moves.values())]


def challenge_game(
    learner: Learner, sample: Sample, points: np.ndarray, rounds: int, watch: Watch = ignore_progress
) -> tuple[LinearGame, np.ndarray]:
    """The game of Figure 1 with one sample and one challenge: in one round the queries of the worlds differ.

    Outcomes are those of the learner, then "withheld" after a challenge, then "silence" after a halt in one.
    Moves are equal queries, then pairs of different ones; a second challenge, which is refused, ends it.
    Also the queries (moves, 2, ...) of each move in worlds 0 and 1.
    Raises: Unsupported if queries are public, or the learner tells no distribution of answers.
    """
    protocol = find_protocol(learner, AnswerLaw)
    if protocol is None or PrivacyUnit.QUERY not in protocol.challenges:
        raise Unsupported(
            f"{learner.own_name} answers at public points, so there is no challenge query",
            remedy="Give two neighbouring samples.",
        )
    law = AnswerLaws(learner).of(sample)
    start, places = _place_states([law])
    steps, numbers = _number_steps([law], points, places, start.shape[1])
    kinds = len(steps)
    queries = points[[int(np.flatnonzero(numbers[0] == kind)[0]) for kind in range(kinds)]]
    equal = np.repeat(np.arange(kinds)[:, None], 2, axis=1)
    pairs = np.argwhere(~np.eye(kinds, dtype=bool))
    rounds_of = [_ChallengeRounds(step, np.array([halts for _, halts in law.outcomes])) for step in steps]
    game = compress(
        [each.ask for each in rounds_of] + [each.withhold for each in rounds_of],
        np.concatenate([equal, kinds + pairs]).T,
        np.repeat(np.hstack([start, np.zeros((1, start.shape[1] + 1))]), 2, axis=0),
        rounds=_count_answers(law, rounds),
        halts=np.array([*(halts for _, halts in law.outcomes), False, True]),
        watch=watch,
    )
    return game, queries[np.concatenate([equal, pairs])]


def number_points(law: AnswerLaw, points: np.ndarray) -> np.ndarray:
    """(p,): a number for each of the points (p, ...), equal where they are answered alike."""
    start, places = _place_states([law])
    return _number_steps([law], points, places, start.shape[1])[1][0]


@attrs.frozen(eq=False)
class _ChallengeRounds:
    """How queries are answered; states: those before the challenge, after it, and halted in it, silently."""

    step: Step
    halts: np.ndarray

    def ask(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes of an ordinary query."""
        size, known = measures.shape[1] // 2, len(self.halts)
        after = np.zeros((known + 2, *measures.shape))
        after[:known, :, :size] = self.step(measures[:, :size])
        after[:known, :, size:-1] = self.step(measures[:, size:-1])
        after[known + 1, :, -1] = measures[:, -1]
        return after

    def withhold(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes of a challenge."""
        size, known = measures.shape[1] // 2, len(self.halts)
        after = np.zeros((known + 2, *measures.shape))
        parts = self.step(measures[:, :size])
        after[known, :, size:-1] = parts[~self.halts].sum(axis=0)
        after[known, :, -1] = parts[self.halts].sum(axis=(0, 2))
        after[known + 1, :, -1] = measures[:, size:].sum(axis=1)
        return after


def _place_states(laws: Sequence[AnswerLaw]) -> tuple[np.ndarray, list[slice]]:
    """The start and the place of the states of each law: side by side, unless they are equally many."""
    starts = [np.asarray(law.start(), float) for law in laws]
    sizes = [len(start) for start in starts]
    if max(sizes) > _MOST_STATES:
        raise Unsupported(
            f"the learner's answers depend on more than {_MOST_STATES:,} hidden states",
            value=f"{max(sizes):,}",
            remedy="Give it fewer examples, teachers or halts.",
        )
    if len({*sizes}) == 1:
        return np.array(starts), [slice(0, sizes[0])] * len(laws)
    ends = np.cumsum(sizes)
    places = [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]
    start = np.zeros((len(laws), int(ends[-1])))
    for row, place, own in zip(start, places, starts, strict=True):
        row[place] = own
    return start, places


def _number_steps(
    laws: Sequence[AnswerLaw], points: np.ndarray, places: Sequence[slice], size: int
) -> tuple[list[Step], np.ndarray]:
    """The distinct ways to answer, and the number (worlds, p) of that of each law at each point."""
    probes = np.random.default_rng(0).uniform(size=(_PROBES, size))
    steps: list[Step] = []
    numbers: dict[bytes, int] = {}
    kernels = np.empty((len(laws), len(points)), np.intp)
    pieces = -(-len(points) * probes.size // _PIECE)
    for queries in np.array_split(np.arange(len(points)), pieces):
        measures, asked = np.tile(probes, (len(queries), 1)), np.repeat(points[queries], _PROBES, axis=0)
        answers = [
            np.round(_step(law, asked, place, measures), 12) + 0.0
            for law, place in zip(laws, places, strict=True)
        ]
        for own, query in enumerate(queries):
            for world, (law, place) in enumerate(zip(laws, places, strict=True)):
                signature = answers[world][:, own * _PROBES : (own + 1) * _PROBES].tobytes()
                if signature not in numbers:
                    numbers[signature] = len(steps)
                    steps.append(partial(_step_at, law, points[query : query + 1], place))
                kernels[world, query] = numbers[signature]
    return steps, kernels


def _step_at(law: AnswerLaw, point: np.ndarray, place: slice, measures: np.ndarray) -> np.ndarray:
    return _step(law, np.repeat(point, len(measures), axis=0), place, measures)


def _step(law: AnswerLaw, points: np.ndarray, place: slice, measures: np.ndarray) -> np.ndarray:
    after = np.zeros((len(law.outcomes), *measures.shape))
    after[:, :, place] = law.step(measures[:, place], points)
    return after


def _count_answers(law: AnswerLaw, rounds: int) -> int:
    """The answers of a game of so many rounds."""
    return rounds if law.last is None else min(rounds, law.last)


def stream_game(
    learner: Learner, rounds: int, watch: Watch = ignore_progress
) -> tuple[LinearGame, np.ndarray, np.ndarray]:
    """The game of T rounds in which a record arrives, and in one round another in each world.

    Moves are equal records, then pairs of different ones, of which one is 0 where neighbours add, remove or
    zero out a record; a second difference, which is refused, ends the game. Outcomes are the values of the
    `StreamLaw`, then "over". Also the records (moves, 2, ...) of each move, and the values.
    Raises: Unsupported if the learner does not declare what it publishes, plays fixed streams only, has fewer
    rounds, or has neighbours that differ in several records.
    """
    if not isinstance(learner, DeclaresStreamLaw):
        raise Unsupported(
            f"{learner.own_name} does not declare the distribution of the values that it publishes",
            remedy="Audit it by playing, or define stream_law() on the learner.",
        )
    if find_protocol(learner, StreamLaw) is None:
        raise Unsupported(
            f"{learner.own_name} claims nothing where records are chosen by what was published",
            value=", ".join(learner.protocols),
            remedy="`arena exact` computes its privacy loss on fixed streams.",
        )
    law, relation = learner.stream_law(), read_claim(learner).neighbours
    _check_rounds(learner, law.rounds, rounds)
    if relation.kind not in _ONE_RECORD:
        raise Unsupported(
            "streams are solved where neighbours differ in one record",
            value=str(relation),
            remedy=f"Set neighbours to {', '.join(_ONE_RECORD)}.",
        )
    start, _ = _place_states([law])
    rounds_of = [_StreamRounds(law, record[None]) for record in law.records]
    kinds, blank = len(rounds_of), (law.records.reshape(len(law.records), -1) == 0).all(axis=1)
    equal = np.repeat(np.arange(kinds)[:, None], 2, axis=1)
    pairs = np.argwhere(~np.eye(kinds, dtype=bool))
    if relation.kind is not Neighbours.REPLACE_ONE:
        pairs = pairs[blank[pairs].any(axis=1)]
    if not len(pairs):
        raise Unsupported(
            f"no two of the records that {learner.own_name} tells apart may differ", value=kinds
        )
    game = compress(
        [each.receive for each in rounds_of] + [each.differ for each in rounds_of],
        np.concatenate([equal, kinds + pairs]).T,
        np.repeat(np.hstack([start, np.zeros_like(start)]), 2, axis=0),
        rounds=rounds,
        halts=np.arange(len(law.values) + 1) == len(law.values),
        watch=watch,
    )
    return game, law.records[np.concatenate([equal, pairs])], law.values


@attrs.frozen(eq=False)
class _StreamRounds:
    """What follows a record (1, ...); states: those before the round that differs, and those after."""

    law: StreamLaw
    record: np.ndarray

    def receive(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes where the record of the other world is the same."""
        parts = self._step(measures.reshape(2 * len(measures), -1))
        return np.concatenate([parts.reshape(len(parts), *measures.shape), np.zeros((1, *measures.shape))])

    def differ(self, measures: np.ndarray) -> np.ndarray:
        """The outcomes where it is another."""
        before, after = np.split(measures, 2, axis=1)
        outcomes = np.concatenate([self._step(before), after[None]])  # the last is "over"
        return np.concatenate([np.zeros_like(outcomes), outcomes], axis=2)

    def _step(self, measures: np.ndarray) -> np.ndarray:
        return _step_at(self.law, self.record, slice(0, measures.shape[1]), measures)


def _check_rounds(learner: Learner, most: int | None, rounds: int) -> None:
    if most is not None and rounds > most:
        raise Unsupported(
            f"a game of {learner.own_name} has at most {most:,} rounds with these settings", value=rounds
        )


# By the state shown before the example, what is shown after it: hypothesis, state and probability.
Transitions = list[list[tuple[int, int, float]]]


def online_game(learner: Learner, rounds: int) -> tuple[LinearGame, np.ndarray, np.ndarray]:
    """The game of Definition 2.4 in T rounds, in which an adversary sees the hypotheses h_1 to h_T.

    Moves are equal examples, of which one stands for all with the same effect, then pairs of different ones;
    a second special round, which is refused, ends the game. The first move only asks for h_1: move t makes
    the example of round t - 1. Outcomes are the numbers of the hypotheses in the `OnlineLaw`, then "over".
    Also the examples of each move in worlds 0 and 1: points (moves, 2, ...) and labels (moves, 2).
    Raises: Unsupported if the learner does not declare what it shows, plays fewer rounds, or has too many
    states.
    """
    if find_protocol(learner, OnlineLaw) is None or not isinstance(learner, DeclaresOnlineLaw):
        raise Unsupported(
            f"{learner.own_name} does not declare the distribution of the hypotheses that it shows",
            remedy="Audit it by playing, or define online_law() on the learner.",
        )
    law: OnlineLaw[Any] = learner.online_law()
    _check_rounds(learner, law.rounds, rounds)
    states, sizes = _list_states(law, rounds)
    shown = len(law.hypotheses.concepts)
    _check_size(learner, rounds, sizes, 2 * len(law.points) if sizes[-1] > MOST_STATES else 1, shown)
    examples, transitions = _distinct_examples(law, states, sizes[-2] if rounds > 1 else 0)
    _check_size(learner, rounds, sizes, len(examples), shown)
    size = 2 * len(states) + 1
    kernels = np.zeros((2 * len(examples), shown + 1, size, size))
    for number, transition in enumerate(transitions):
        ordinary, special = kernels[number], kernels[len(examples) + number]
        for hypothesis, after, p in _show(law, states, law.start()):
            kernels[[number, len(examples) + number], hypothesis, 1 + after, 0] += p
        for before, alternatives in enumerate(transition):
            for hypothesis, after, p in alternatives:
                ordinary[hypothesis, 1 + after, 1 + before] += p
                ordinary[hypothesis, 1 + len(states) + after, 1 + len(states) + before] += p
                special[hypothesis, 1 + len(states) + after, 1 + before] += p
        for before in range(len(transition)):
            special[shown, 0, 1 + len(states) + before] = 1
    equal = np.repeat(np.arange(len(examples))[:, None], 2, axis=1)
    pairs = np.argwhere(~np.eye(len(examples), dtype=bool))
    places, labels = np.array(examples).T
    chosen = np.concatenate([equal, pairs])
    # The l1 norm is at most √m times the l2 norm.
    game = LinearGame(
        rounds=rounds,
        start=np.repeat(np.sqrt(size) * np.eye(size)[:1], 2, axis=0),
        kernels=kernels,
        which=np.concatenate([equal, len(examples) + pairs]).T,
        masses=np.full(size, 1 / np.sqrt(size)),
        halts=np.arange(shown + 1) == shown,
    )
    return game, law.points[places][chosen], labels[chosen]


def _check_size(learner: Learner, rounds: int, sizes: list[int], examples: int, shown: int) -> None:
    """Refuse matrices that are too large. sizes: the states after each round."""

    def fits(states: int) -> bool:
        numbers = 2 * examples * (shown + 1) * (2 * states + 1) ** 2
        return states <= MOST_STATES and numbers <= MOST_NUMBERS

    if fits(sizes[-1]):
        return
    possible = sum(map(fits, sizes))
    fewer = f"Solve at most {possible} round{'s'[: possible != 1]}, or use" if possible else "Use"
    raise Unsupported(
        f"{learner.own_name} can be in {sizes[-1]:,} states within {len(sizes)} rounds, which with "
        f"{examples} examples and {shown} hypotheses exceeds {MOST_NUMBERS:,} numbers in matrices",
        value=rounds,
        remedy=f"{fewer} a class with a smaller domain.",
    )


def _list_states(law: OnlineLaw[Any], rounds: int) -> tuple[dict[Any, int], list[int]]:
    """The states in which hypotheses are shown, and their number after each round, while not too many."""
    states: dict[Any, int] = {}
    sizes, new = [], [law.start()]
    for _ in range(rounds):
        before = len(states)
        for hidden in new:
            for _, state, p in law.show(hidden):
                if p:
                    states.setdefault(state, len(states))
        sizes.append(len(states))
        if len(states) > MOST_STATES:
            break
        new = list(
            {
                after
                for state in list(states)[before:]
                for point in range(len(law.points))
                for label in (0, 1)
                for after, p in law.observe(state, point, label)
                if p
            }
        )
    return states, sizes


def _show(law: OnlineLaw[Any], states: dict[Any, int], state: Any) -> list[tuple[int, int, float]]:
    return [(hypothesis, states[after], p) for hypothesis, after, p in law.show(state) if p]


def _distinct_examples(
    law: OnlineLaw[Any], states: dict[Any, int], before: int
) -> tuple[list[tuple[int, int]], list[Transitions]]:
    """One example (place, label) of each effect, and its transitions from the first `before` states."""
    examples: list[tuple[int, int]] = []
    transitions: list[Transitions] = []
    known = set()
    for point in range(len(law.points)):
        for label in (0, 1):
            rows: Transitions = []
            for state in list(states)[:before]:
                chances: defaultdict[tuple[int, int], float] = defaultdict(float)
                for hidden, weight in law.observe(state, point, label):
                    for hypothesis, after, p in _show(law, states, hidden) if weight else ():
                        chances[hypothesis, after] += weight * p
                rows.append([(*key, p) for key, p in sorted(chances.items())])
            signature = str([[(h, after, round(p, 12)) for h, after, p in row] for row in rows])
            if signature not in known:
                known.add(signature)
                examples.append((point, label))
                transitions.append(rows)
    return examples, transitions

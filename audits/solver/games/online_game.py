"""Games of online learners, as matrices, from the distribution of the hypotheses that they show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Self

import attrs
import numpy as np

from arena import Example, Learner, OnlineLaw, PrivacyUnit, Ready, Unsupported
from arena.capabilities import DeclaresOnlineLaw
from arena.players import Moves
from arena.sample import format_point
from audits.registry.match import find_protocol
from audits.solver.linear_game import LinearGame, Watch, ignore_progress
from audits.solver.posed_games import Choice, GameMoves, PosedGame, check_rounds, join_names, match_shown

MOST_STATES = 5_000  # states of a learner that are listed
MOST_NUMBERS = 2**24  # in the matrices of a game, eight bytes each


@attrs.frozen(eq=False, kw_only=True)
class ExampleGame(PosedGame):
    """Examples of an online learner's domain, which differ between the worlds in one round."""

    law = OnlineLaw

    def build(self, rounds: int, watch: Watch = ignore_progress) -> tuple[LinearGame, GameMoves, PrivacyUnit]:
        game, points, labels = online_game(self.learner, rounds)
        hypotheses = self.learner.online_law().hypotheses.concepts  # type: ignore[attr-defined]
        names = (
            join_names(*(f"({format_point(point)}, {label})" for point, label in zip(*pair, strict=True)))
            for pair in zip(points, labels, strict=True)
        )
        moves = GameMoves(
            points=points,
            labels=labels,
            names=tuple(names),
            outcomes=(*(f"h = {format_point(concept)}" for concept in hypotheses), "over"),
            shown=hypotheses,
        )
        return game, moves, PrivacyUnit.STREAM_EXAMPLE

    @classmethod
    def pose(cls, learner: Learner) -> Self | None:
        text = "examples of its domain, which differ in one round"
        return None if find_protocol(learner, OnlineLaw) is None else cls(learner=learner, text=text)

    @staticmethod
    def play(
        moves: GameMoves,
        samples: tuple[Any, ...],
        rounds: int,
        choose: Callable[[int], Choice],
        follow: Callable[[np.ndarray], None],
    ) -> Moves:
        assert moves.shown is not None
        assert moves.labels is not None
        shown = yield Ready()
        for t in range(
            rounds
        ):  # the first decision only asks for h_1; move t makes the example of round t - 1
            follow(match_shown(shown.hypothesis.concepts, moves.shown))
            move, *worlds = choose(t)
            (x, other_x), (y, other_y) = (
                [part[move, world] for world in worlds] for part in (moves.points, moves.labels)
            )
            shown = yield Example(x, y, other_x, other_y)
        return None

    @staticmethod
    def read_moves(made: Sequence[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
        points, labels = (np.array([[example[k] for example in pair] for pair in made]) for k in range(2))
        return points, labels


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
    check_rounds(learner, law.rounds, rounds)
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

"""The generators of the process, `random`, `numpy.random` and those of PyTorch: whether a mechanism draws
from them, and how games do so without the random numbers of others."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import RLock
from typing import Any
from warnings import catch_warnings, simplefilter

import attrs
import numpy as np

from arena.errors import RAISED
from arena.randomness import GameSeed, draw_game_seeds, generator
from arena.released.types import name_key, take_apart

GLOBAL, OWN = "global", "own"
_MOST_TRIED = 12  # games of a trial, if whole numbers are released, which may be equal by chance
_GLOBAL_GENERATORS = RLock()  # held by the thread that has seeded the generators of the process


@attrs.frozen
class Trial:
    """What a few games with equal seeds show.

    draws: whether each drew from the generators of the process.
    repeats: whether all came out the same; also if one failed.
    warnings: of a leak, as texts.
    categories: their classes.
    """

    draws: bool = False
    repeats: bool = True
    warnings: tuple[str, ...] = ()
    categories: tuple[type[Warning], ...] = ()

    def ignore_warnings(self) -> AbstractContextManager[Any]:
        """Say nothing of a leak while games are played: what reports say once is enough."""
        return _ignore(self.categories) if self.categories else nullcontext()


@contextmanager
def _ignore(categories: Iterable[type[Warning]]) -> Iterator[None]:
    with catch_warnings():
        for category in categories:
            simplefilter("ignore", category)
        yield


def try_mechanism(play: Callable[[GameSeed], Any], *, takes_generator: bool) -> Trial:
    """What games of a mechanism show that get the same seed. One that fails shows nothing; later games say
    why. They are not counted, since equal learners are tried once in a process.

    play: plays a game, and returns what it released. takes_generator: whether it uses the seed for one.
    """
    seed, releases, drew = next(draw_game_seeds(generator(np.random.SeedSequence(0)), 1)), [], []
    is_over = False
    with restore_global_generators(), catch_warnings(record=True) as caught, suppress(*RAISED):
        simplefilter("always")
        for number in range(_MOST_TRIED):
            seed_global_generators(seed)
            before = pickle.dumps(_read_states())
            releases.append(name_key(take_apart(play(seed))))
            drew.append(pickle.dumps(_read_states()) != before)
            is_seeded = takes_generator or all(drew)
            if number and (not is_seeded or releases[0] != releases[-1] or "." in releases[-1]):
                break
        is_over = True
    leaks = {f"{each.category.__name__}: {each.message}": each.category for each in caught}
    leaks = {text: category for text, category in leaks.items() if "leak" in text.lower()}
    return Trial(
        draws=is_over and all(drew),
        repeats=not is_over or releases[0] == releases[-1],
        warnings=tuple(leaks),
        categories=tuple(leaks.values()),
    )


def _read_states() -> dict[str, Any]:
    states: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = torch.get_rng_state().numpy()
        if torch.cuda.is_initialized():
            states["cuda"] = [state.numpy() for state in torch.cuda.get_rng_state_all()]
    return states


def _write_states(states: dict[str, Any]) -> None:
    random.setstate(states["random"])
    np.random.set_state(states["numpy"])  # noqa: NPY002
    torch: Any = sys.modules.get("torch")
    if "torch" in states:
        torch.set_rng_state(torch.from_numpy(states["torch"]))
    if "cuda" in states:
        torch.cuda.set_rng_state_all([torch.from_numpy(state) for state in states["cuda"]])


def seed_global_generators(seed: GameSeed) -> None:
    random.seed(seed.words.tobytes())
    np.random.seed(seed.words.view(np.uint32))  # noqa: NPY002 - the function uses it
    torch: Any = sys.modules.get("torch")
    if torch is not None:  # without other devices its own function is a hundred times slower
        seeded = torch if torch.cuda.is_available() else torch.default_generator
        seeded.manual_seed(int(seed.words[0]))


@contextmanager
def restore_global_generators(enabled: bool = True) -> Iterator[None]:
    """Restore the states of the generators of the process on exit; no other thread can use them meanwhile."""
    if not enabled:
        yield
        return
    with _GLOBAL_GENERATORS:
        states = _read_states()
        try:
            yield
        finally:
            _write_states(states)


class GlobalGenerators:
    """The generators of the process as each of n games finds them: seeded at first, then as it left them.
    enabled: whether objects draw from them at all."""

    def __init__(self, games: int, *, enabled: bool) -> None:
        self._enabled = enabled
        self._states: list[Any] = [None] * games

    @contextmanager
    def use(self, game: int, seed: GameSeed | None = None) -> Iterator[None]:
        """Let a game draw from them, from a seed or where it stopped; restores them on exit."""
        if not self._enabled:
            yield
            return
        with restore_global_generators():
            if seed is not None:
                seed_global_generators(seed)
            else:
                _write_states(self._states[game])
            try:
                yield
            finally:
                self._states[game] = _read_states()

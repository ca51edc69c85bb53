"""Mechanisms that compute with PyTorch and JAX: their tensors are read, and PyTorch's generators seeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.voting import play_releases

from arena import Sample
from arena.released.types import take_apart
from learners.foreign.function import Function


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> Any:
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return torch.device(request.param)


def play_games(function: Any, seed: int = 1, **settings: Any) -> Any:
    """What a mechanism releases in 50 games on a sample with two labels 1."""
    learner = Function(function=function, epsilon=1.0, receives="labels", **settings)
    return take_apart(play_releases(learner, Sample([0.0], [1], [2]), games=50, seed=seed))


NUMBERS = [0.0, 1.0, -2.5]
TENSORS: dict[str, Callable[[Any, Any], Any]] = {
    "float32": lambda torch, tensor: tensor,
    "bfloat16": lambda torch, tensor: tensor.bfloat16(),
    "sparse": lambda torch, tensor: tensor.to_sparse(),
    "with a gradient": lambda torch, tensor: tensor.requires_grad_(),
    "negated lazily": lambda torch, tensor: torch.conj(-1j * tensor).imag,
}


@pytest.mark.parametrize("kind", TENSORS)
def test_a_tensor_is_its_numbers(kind: str, device: Any) -> None:
    torch = pytest.importorskip("torch")
    assert take_apart(TENSORS[kind](torch, torch.tensor(NUMBERS, device=device))) == NUMBERS


def test_arrays_of_jax_are_their_numbers() -> None:
    numpy = pytest.importorskip("jax.numpy")
    for kind in (numpy.float32, numpy.bfloat16):
        assert take_apart(numpy.array(NUMBERS, kind)) == NUMBERS
        assert take_apart(numpy.array(NUMBERS, kind)[2]) == NUMBERS[2]


def test_a_module_is_its_state(device: Any) -> None:
    torch = pytest.importorskip("torch")
    zero, one = torch.nn.Linear(2, 1, device=device), torch.nn.Linear(2, 1, device=device)
    one.load_state_dict({name: tensor + 1.0 for name, tensor in zero.state_dict().items()})
    assert take_apart(zero) == take_apart(zero.state_dict()) != take_apart(one)


def test_a_vectorised_mechanism_may_compute_where_it_likes(device: Any) -> None:
    torch = pytest.importorskip("torch")

    def release(labels: np.ndarray, games: int, rng: np.random.Generator) -> np.ndarray:
        return labels.sum() + rng.laplace(size=games)

    def release_tensor(labels: np.ndarray, games: int, rng: np.random.Generator) -> Any:
        return torch.as_tensor(release(labels, games, rng), device=device)

    assert play_games(release_tensor, vectorised=True) == play_games(release, vectorised=True)


def test_the_generators_of_pytorch_are_seeded_for_each_game_and_left_alone(device: Any) -> None:
    torch = pytest.importorskip("torch")

    def release(labels: np.ndarray) -> Any:
        return labels.sum() + torch.randn(1, device=device)

    before = torch.get_rng_state()
    first, second, other = (play_games(release, seed) for seed in (1, 1, 2))
    assert first == second != other
    assert len({str(number) for number in first}) > 40
    assert torch.equal(torch.get_rng_state(), before)
    assert Function(function=release, epsilon=1.0).effective_coins == "global"

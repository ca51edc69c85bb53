"""What ends work early: signals that are not lost, and an interrupt that carries the result so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")


class SupportsInterrupts(Protocol):
    """A result that says whether it is of work that was interrupted."""

    @property
    def interrupted(self) -> bool: ...

    @property
    def headline(self) -> str: ...


Result = TypeVar("Result", bound=SupportsInterrupts)

arrived: list[int] = []  # signals that end this process, by number
_unseen: list[int] = []  # those of them whose KeyboardInterrupt nobody has caught yet


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal, ended a verb early. result: what it had found, marked as interrupted: a verdict on
    the games so far, the bounds so far. A notebook shows it."""

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        explain = getattr(self.result, "explain", None)
        return f"{self.result.headline}. {'' if explain is None else explain()}".rstrip()

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback."""
        return ["Interrupted. `result` of the exception is the result so far:", "", self.result.summary()]


def return_unless_interrupted(result: Result) -> Result:
    """The result. Raises: Interrupted, with the result, if it is of work that was interrupted."""
    if result.interrupted:
        raise Interrupted(result)
    return result


def handle_signal(number: int, frame: object) -> NoReturn:
    """The handler of a signal that ends this process by a KeyboardInterrupt."""
    arrived.append(number)
    _unseen.append(number)
    raise KeyboardInterrupt


def acknowledge_interrupt() -> None:
    """Note that a KeyboardInterrupt was caught by who ends the work for it."""
    _unseen.clear()


def check_interrupts() -> None:
    """Raise the KeyboardInterrupt of a signal again that was lost, as in a destructor, where Python ignores
    exceptions, or in a player that catches all. It is called between blocks of games, and in long loops."""
    if _unseen:
        raise KeyboardInterrupt


def check_before(call: Callable[P, None]) -> Callable[P, None]:
    """The call, before which `check_interrupts` is called."""

    def checked(*arguments: P.args, **settings: P.kwargs) -> None:
        check_interrupts()
        call(*arguments, **settings)

    return checked

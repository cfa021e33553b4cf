"""What a move of any format is: a function from a state and the time, as text, to the next state.

It raises IllegalMove where the present state does not allow it, and never changes the state that it is
given.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from holdfast.errors import IllegalMove

S = TypeVar("S")
P = ParamSpec("P")
_Change: TypeAlias = Callable[Concatenate[S, str, P], None]
_Move: TypeAlias = Callable[Concatenate[S, str, P], S]


def move(guard: Callable[[S, str], None]) -> Callable[[_Change[S, P]], _Move[S, P]]:
    """Turn a function that changes a copy of the state into a move.

    *guard* runs first, with the copy and the time. It refuses the move, or sets what every move sets.
    """

    def decorate(change: _Change[S, P]) -> _Move[S, P]:
        @wraps(change)
        def made(state: S, at: str, /, *arguments: P.args, **named: P.kwargs) -> S:
            after = deepcopy(state)
            guard(after, at)
            change(after, at, *arguments, **named)
            return after

        return made

    return decorate


def needed(text: str | None, what: str) -> str:
    """*text*, or a refusal: an empty one says nothing."""
    if text is None or not text.strip():
        raise IllegalMove(f"{what} is missing", hint="Give it as text.")
    return text.strip()

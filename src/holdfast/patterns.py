"""Regular expressions that are compiled when they are used first.

To compile all those that read markdown takes longer than to start the interpreter, and one file
needs few of them.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Late:
    """Becomes what `re.compile` returns, method by method, as they are asked for."""

    def __init__(self, expression: str, flags: int) -> None:
        self._expression, self._flags = expression, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._expression, self._flags), name)
        setattr(self, name, found)  # so that it is not looked for again
        return found


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` returns, as far as its methods are used."""
    return cast("re.Pattern[str]", _Late(expression, flags))

"""A process that kills itself around a call of `os`, so that a test sees what a kill -9 leaves.

A piece of code that is run in a process of its own begins with ARMED, and calls `arm`.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

ARMED = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from deadly import arm\n"


def arm(*calls: str, number: int, after: bool = False) -> None:
    """Die before, or *after*, the *number*-th of these *calls*, such as "replace"."""
    seen = 0

    def deadly(real: Any) -> Any:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            fatal = seen == number
            if fatal and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **named)
            if fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counted

    for call in calls:
        setattr(os, call, deadly(getattr(os, call)))

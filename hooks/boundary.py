"""Where every failure of a hook ends: the `except Exception` of the full path.

A hook must never block its client. So whatever goes wrong becomes one line in the log, one line
for the person where the event has a channel for it, and an exit code that lets the client go on.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from holdfast.agents import replies
from holdfast.agents.replies import Decision
from holdfast.errors import BadHookInput, HoldfastError

T = TypeVar("T")


def guard(event: str, run: Callable[[], T], failed: Callable[[Decision], T]) -> T:
    """What *run* returns; where it fails, what *failed* makes of what is left to say to *event*."""
    try:
        return run()
    except BadHookInput as error:
        return failed(Decision(decided=f"nothing: {error.cause}"))
    except HoldfastError as error:
        return failed(replies.failed(event, error.cause))
    except Exception as error:  # noqa: BLE001  # the promise above
        decision = replies.failed(event, f"{type(error).__name__} (see holdfast log --hooks)")
        decided = f"failed: {type(error).__name__}: {error}"
        # Where it went wrong, innermost first: file names and lines, no values.
        frames = reversed(traceback.extract_tb(error.__traceback__))
        trail = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        return failed(decision._replace(decided=decided, why=trail))

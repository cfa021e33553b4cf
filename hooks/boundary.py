"""Where every failure of a hook ends: the only `except Exception`.

A hook must never block its client. So whatever goes wrong becomes one line in the log, one line
for the person where the event has a channel for it, and an exit code that lets the client go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from holdfast import hooklog
from holdfast.errors import BadHookInput, HoldfastError
from holdfast.wire import replies

T = TypeVar("T")


def guard(
    entry: hooklog.Entry,
    run: Callable[[], replies.Outcome],
    told: Callable[[replies.Reply], replies.Outcome],
) -> replies.Outcome:
    """The outcome of *run*, or what is left to say when it failed, as it is *told*."""
    try:
        return run()
    except BadHookInput as error:
        entry.decided, entry.quiet = f"nothing: {error.cause}", False
        return replies.Outcome()
    except HoldfastError as error:
        entry.decided, entry.quiet = hooklog.failed(error.cause), False
        return told(replies.failed(entry.event, error.cause))
    except Exception as error:  # noqa: BLE001  # the promise above
        entry.decided = hooklog.failed(f"{type(error).__name__}: {error}")
        entry.quiet = False
        entry.why = _trail(error)
        cause = f"{type(error).__name__} (holdfast log tells more)"
        return told(replies.failed(entry.event, cause))


def quietly(run: Callable[[], T], otherwise: T) -> T:
    """What *run* returns, or *otherwise*: for what has no channel to tell a failure."""
    try:
        return run()
    except Exception:  # noqa: BLE001  # the promise above
        return otherwise


def _trail(error: BaseException) -> list[str]:
    """Where it went wrong, innermost first: file names and lines, no values."""
    steps = []
    traceback = error.__traceback__
    while traceback:
        code = traceback.tb_frame.f_code
        steps.append(f"{code.co_filename}:{traceback.tb_lineno} in {code.co_name}")
        traceback = traceback.tb_next
    return steps[::-1]

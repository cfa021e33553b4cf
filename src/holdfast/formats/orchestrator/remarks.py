"""What the document has no field for, as lines among the warnings, where every reader sees it.

    Paused since 2026-01-15T12:40:00Z: waiting for a review
    Paused from 2026-01-15T12:40:00Z to 2026-01-15T13:10:00Z: waiting for a review
    Extended max_cost from $10 to $15 at 2026-01-15T13:10:00Z: two more endpoints
    Failed at 2026-01-15T13:30:00Z: the service is down

A pause stands here, and not in a status: the document has none for it, and a reader that knows only
those of the document would stumble over another. The lines are read again, so that time that was
paused does not count; they come back with a snapshot, and whoever edits the file can correct them.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from holdfast.formats.document import moment
from holdfast.formats.orchestrator.model import State

_SINCE = re.compile(r"Paused since (\S+?)(?:: (.*))?", re.DOTALL)
_FROM = re.compile(r"Paused from (\S+) to (\S+?)(?:: (.*))?", re.DOTALL)
_LONGEST = 10.0**10  # seconds
_FAILED = re.compile(r"Failed at (\S+?): (.*)", re.DOTALL)


def pause(state: State, at: str, reason: str) -> None:
    _add(state, f"Paused since {at}: {reason}")


def end_pause(state: State, at: str) -> None:
    """Let the pause that lasts be one that is over."""
    bounds = state.safety_bounds
    bounds.warnings = [
        f"Paused from {found[1]} to {at}: {found[2] or ''}".removesuffix(": ")
        if (found := _SINCE.fullmatch(line))
        else line
        for line in bounds.warnings
    ]


def extension(state: State, at: str, bound: str, limits: tuple[str, str], reason: str) -> None:
    _add(state, f"Extended {bound} from {limits[0]} to {limits[1]} at {at}: {reason}")


def failure(state: State, at: str, reason: str) -> None:
    _add(state, f"Failed at {at}: {reason}")


def is_remark(line: str) -> bool:
    """Whether *line* would be read as one of these."""
    return any(each.fullmatch(line) for each in (_SINCE, _FROM, _FAILED))


def paused_since(state: State) -> str | None:
    """When the pause began that lasts; None where none does."""
    return next((found[1] for found in _pauses_that_last(state)), None)


def paused_for(state: State) -> str:
    """The reason of that pause."""
    return next((found[2] or "" for found in _pauses_that_last(state)), "")


def failed_for(state: State) -> str:
    """Why the run was given up; empty where that is not said."""
    lines = (_FAILED.fullmatch(line) for line in state.safety_bounds.warnings)
    return next((found[2] for found in lines if found), "")


def time_paused(state: State, until: datetime) -> timedelta:
    """How long the run was paused altogether, as of *until*."""
    spans = [(moment(found[1]), until) for found in _pauses_that_last(state)]
    over = (_FROM.fullmatch(line) for line in state.safety_bounds.warnings)
    spans += [(moment(found[1]), moment(found[2]) or until) for found in over if found]
    spent = ((min(ended, until) - begun).total_seconds() for begun, ended in spans if begun)
    # By hand there may be any number of them, of any length.
    return timedelta(seconds=min(sum(max(each, 0) for each in spent), _LONGEST))


def _pauses_that_last(state: State) -> list[re.Match[str]]:
    lines = (_SINCE.fullmatch(line) for line in state.safety_bounds.warnings)
    return [found for found in lines if found]


def _add(state: State, line: str) -> None:
    state.safety_bounds.warnings = [*state.safety_bounds.warnings, " ".join(line.split())]

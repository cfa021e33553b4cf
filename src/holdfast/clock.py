"""What time it is: the only place that asks. HOLDFAST_NOW sets it, for simulations and tests."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9998, 1, 1, tzinfo=UTC)  # so that what is reckoned from it can be expressed


class Clock:
    """The time in UTC; fixed when made with one."""

    def __init__(self, fixed: datetime | None = None) -> None:
        self._fixed = fixed

    @classmethod
    def from_environment(cls) -> Clock:
        return cls(parse(os.environ.get("HOLDFAST_NOW", "")))

    def now(self) -> datetime:
        return min(max(self._fixed or datetime.now(UTC), EPOCH), _LATEST)


def parse(text: str) -> datetime | None:
    """An ISO 8601 time with any offset, as UTC; a time without one is taken as UTC."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:  # year 1 or 9999 moved over the edge by its offset
        return None


def from_mtime(mtime: float) -> datetime:
    """The time of a file stamp, held inside what datetime can express."""
    # Counted from the epoch: fromtimestamp asks the system, and Windows knows no year after 3000.
    return EPOCH + timedelta(seconds=min(max(mtime, 0.0), 253_402_300_799.0))


def iso(moment: datetime) -> str:
    """UTC with microseconds and Z, as the state documents write it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def for_names(moment: datetime) -> str:
    """As part of a file's name, so that names sort by time: 20260115_123000."""
    return moment.strftime("%Y%m%d_%H%M%S")


def local(moment: datetime | str) -> str:
    """*moment* as a person reads it, in the local zone: "2026-01-02 04:04 CET"."""
    at = parse(moment) if isinstance(moment, str) else moment
    return f"{at.astimezone():%Y-%m-%d %H:%M %Z}" if at else str(moment)


def ago(at: datetime, now: datetime, minutes: str = "minutes") -> str:
    """How long ago that was: "2 hours ago"; with *minutes* "min", "45 min ago"."""
    seconds = (now - at).total_seconds()
    for length, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            count = int(seconds // length)
            if unit == "minute" and minutes != "minutes":
                return f"{count} {minutes} ago"
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"

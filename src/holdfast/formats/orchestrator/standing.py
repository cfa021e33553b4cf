"""How a run stands: worked on, untouched for long, or over."""

from __future__ import annotations

from datetime import timedelta

from holdfast.formats.base import Place, Standing
from holdfast.formats.orchestrator import remarks
from holdfast.formats.orchestrator.files import Held


def standing(held: Held, place: Place) -> tuple[Standing, str]:
    """The standing, and one line why it is not active."""
    run = held.state.orchestrator
    if held.state.over:
        reason = remarks.failed_for(held.state)
        on = str(run.end_time or held.changed_at.isoformat())[:10]
        return "finished", f"{run.status} on {on}{f': {reason}' if reason else ''}"
    age = place.now - min(held.changed_at, place.now)
    if age > timedelta(days=place.settings.stale_days):
        return "stale", f"untouched for {age.days} days"
    return "active", ""

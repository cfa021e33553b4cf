"""How a workflow stands: worked on, untouched for long, or over."""

from __future__ import annotations

from datetime import timedelta

from holdfast.formats.base import Place, Standing
from holdfast.formats.skill.files import Found, Held

KEPT_WHEN_COMPLETED = timedelta(hours=24)


def standing(found: Found, held: Held, place: Place) -> tuple[Standing, str]:
    """The standing, and one line why it is not active."""
    if held.row.over:
        return "finished", f"{held.row.status} on {_day(held)}"
    if not held.is_active:
        return "finished", "it lies in completed/"
    twin = found.ended_as(held)
    if twin:
        return (
            "finished",
            f"{twin.row.status} on {_day(twin)}; it also lies in completed/",
        )
    age = untouched(held, place)
    if age > timedelta(days=place.settings.stale_days):
        return "stale", f"untouched for {age.days} days"
    return "active", ""


def working(found: Found, place: Place) -> list[Held]:
    """Those that are worked on and were touched of late."""
    return [each for each in found.live if standing(found, each, place)[0] == "active"]


def untouched(held: Held, place: Place) -> timedelta:
    return place.now - min(held.changed_at, place.now)


def _day(held: Held) -> str:
    row = held.row
    return str(row.completed_at or row.updated_at or held.changed_at.isoformat())[:10]

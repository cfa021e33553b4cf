"""Lists and context, of which each source has a part: rule 8 of merge.py."""

from __future__ import annotations

from typing import Any

from holdfast.formats.canonical.settle import NO_BASE, ORDER, SILENT, Inputs, Side, Winners
from holdfast.formats.canonical.state import Bookkeeping, Seen, State
from holdfast.records import replace


def normal_reading(item: str) -> str:
    """One spelling for each path: with its @, without a leading ./."""
    path = item.strip().removeprefix("@")
    while path.startswith("./"):
        path = path[2:]
    return f"@{path}"


def united(
    inputs: Inputs, field: str, current: list[str], kept: Bookkeeping | None
) -> tuple[list[str], list[str]]:
    """Rule 8 for a list: all that somebody still asserts, and what only the saved file does."""
    asserted: list[str] = []
    for source in ORDER:
        asserted += _said(inputs, source, field, set(current)) or []
    base = inputs.base("saved")
    if kept is None or base is None:
        own = list(current)
    else:
        listed = set(getattr(kept.own, field))
        before = set(getattr(base, field) or [])
        own = [item for item in current if item in listed or item not in before]
    standing = {*asserted, *own}
    united = [item for item in current if item in standing] + asserted
    return list(dict.fromkeys(united)), list(dict.fromkeys(own))


def _said(inputs: Inputs, source: str, field: str, current: set[str]) -> Any:
    """What *source* says of *field* now, or said when it last mentioned it (rule 1).

    What it only said once can be taken out of the saved file by hand or by command: nobody else
    could drop it any more.
    """
    for declaration in inputs.declarations:
        if declaration.source == source:
            value = getattr(Seen.of(declaration), field)
            if value is not None:
                return value
    base, saved = inputs.base(source), inputs.base("saved")
    said = getattr(base, field) if base else None
    taken_out = set(getattr(saved, field) or ()) - current if saved else set()
    if not said or not taken_out:
        return said
    if isinstance(said, dict):
        return {key: value for key, value in said.items() if key not in taken_out}
    return [item for item in said if item not in taken_out]


def forgotten(seen: Seen, mentioned: Seen, state: State) -> Seen:
    """*seen* without what its source no longer mentions and the state no longer has."""
    still: dict[str, Any] = {}
    for field in ("required_reading", "key_reminders", "context"):
        said, there = getattr(seen, field), getattr(state, field)
        if said is None or getattr(mentioned, field) is not None:
            continue
        if isinstance(said, dict):
            still[field] = {key: value for key, value in said.items() if key in there}
        else:
            still[field] = [item for item in said if item in there]
    return replace(seen, **still)


def own_keys(saved: State) -> list[str]:
    kept = saved.holdfast
    base = kept.seen.get("saved") if kept else None
    if kept is None or base is None:
        return list(saved.context)
    before = base.context or {}
    return [key for key in saved.context if key in kept.own.context or key not in before]


def united_context(inputs: Inputs, saved: State | None, winners: Winners) -> dict[str, Any]:
    """Rule 8 for context: which keys stand as for lists, each value as for any field."""
    current = saved.context if saved else {}
    said = {source: _said(inputs, source, "context", set(current)) or {} for source in ORDER}
    standing = {
        *(own_keys(saved) if saved else []),
        *(key for each in said.values() for key in each),
    }
    keys = dict.fromkeys([*current, *said["local"], *said["plan"]])
    base = inputs.base("saved")
    was = (base.context or {}) if base else None
    merged = {}
    for key in keys:
        if key not in standing:
            continue
        sides = [
            Side(each.context[key], _base_of(inputs, each.source, key), each.mtime)
            for each in inputs.declarations
            if each.context and key in each.context
        ]
        if key in current:
            before = NO_BASE if was is None else was.get(key, SILENT)
            merged[key] = winners.settle(current[key], before, sides)
        else:
            merged[key] = sides[0].value if sides else (said["local"] | said["plan"])[key]
    return merged


def _base_of(inputs: Inputs, source: str, key: str) -> Any:
    seen = inputs.base(source)
    return NO_BASE if seen is None else (seen.context or {}).get(key, SILENT)

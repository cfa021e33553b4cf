"""A line "Label: value" is a field if its label, however it is written, is one that we know."""

from __future__ import annotations

import re

from holdfast.formats.canonical.declaration import Json
from holdfast.formats.canonical.sources.phase_marks import counted_phase
from holdfast.formats.canonical.sources.values import (
    DECORATION,
    bare,
    labelled,
    plain_label,
    tidy,
)
from holdfast.formats.markdown.lines import Line
from holdfast.patterns import pattern

_KEYS = {
    label: key
    for key, labels in {
        "workflow": ("workflow", "workflow name", "current workflow", "active workflow"),
        "type": ("workflow type", "type"),
        "phase": ("phase", "current phase", "workflow phase"),
        "status": (
            "status",
            "statut",
            "estado",
            "stato",
            "current status",
            "workflow status",
            "plan status",
            "phase status",
        ),
        "next": ("next", "next action", "next step"),
        "next list": ("next steps", "next actions"),
        "total": ("total phases",),
        "gate": ("gate", "validation", "validation gate", "quality gate", "exit criteria"),
        "plan": ("plan", "plan file"),
        "reading": ("required reading", "must read"),
        "reminders": (
            "critical reminders",
            "important reminders",
            "must remember",
            "key reminders",
            "reminders",
            "remember",
            "key rules",
        ),
        "context": ("context", "workflow context", "context variables"),
    }.items()
    for label in labels
}

_FIELD = pattern(
    rf"{DECORATION}(?P<label>[a-z][a-z_ -]{{0,40}}?)[*_`~\s]*+[:：](?P<value>.*)", re.IGNORECASE
)
_TITLE = pattern(
    rf"{DECORATION}(?P<label>[a-z][a-z_ -]{{0,40}}?)\s*+(?:\([^()]*+\))?+[*_`~:：\s]*+",
    re.IGNORECASE,
)
_BAR = " | "
_MOST_FIELDS = 20  # on one line


def divided(line: Line) -> list[Line]:
    """A line with several fields and bars between them, as several lines; else the line."""
    if _BAR not in line.text or line.text.startswith("|") or line.checked is not None:
        return [line]
    first, *others = line.text.split(_BAR, _MOST_FIELDS)
    fields = [_FIELD.match(part) for part in others]
    if not all(fields) or not (line.level or _FIELD.match(first)):
        return [line]
    if not any(field and _key(field["label"]) for field in fields):
        return [line]
    rest = [line._replace(text=part.strip(), level=0) for part in others]
    return [line._replace(text=first.strip()), *rest]


def field_of(line: Line) -> tuple[str, str] | None:
    """The key of the field on this line, and its value, which is empty where a section begins."""
    text = line.text
    if line.head:
        return None
    if text.startswith("|"):
        cells = [bare(cell) for cell in text.strip("| ").split("|", 3)]
        key = _key(cells[0]) if len(cells) == 2 else None
        return (key, tidy(cells[1])) if key else None
    match = _FIELD.match(text)
    if match and (key := _key(match["label"])):
        return key, labelled(match["value"])
    if line.checked is None and (counted := counted_phase(text)):
        return "counted phase", tidy(counted)
    if line.level or (text.startswith(("**", "__")) and text.endswith(("**", "__"))):
        title = _TITLE.fullmatch(text)
        key = _key(title["label"]) if title else None
        return (key, "") if key else None
    return None


def by_key(front: dict[str, Json]) -> dict[str, Json]:
    """Front matter by the keys of the fields; where it has other labels, by these."""
    keyed: dict[str, Json] = {}
    for label, value in front.items():
        keyed.setdefault(_key(label) or plain_label(label), value)
    return keyed


def _key(label: str) -> str | None:
    return _KEYS.get(plain_label(label))

"""A file states a thing in its front matter or in a field; this is what the two say together."""

from __future__ import annotations

import re

from holdfast.formats.canonical.declaration import Json
from holdfast.formats.canonical.sources.notes import Notes
from holdfast.formats.canonical.sources.paths import listed_paths
from holdfast.formats.canonical.sources.phase_marks import (
    PhaseReading,
    current_of,
    phase_in_status,
    phase_of,
    sane_mark,
)
from holdfast.formats.canonical.sources.placeholders import is_template, says_nothing
from holdfast.formats.canonical.sources.reasons import quoted_from
from holdfast.formats.canonical.sources.statuses import status_of
from holdfast.formats.canonical.sources.values import (
    MOST_ITEMS,
    plain_label,
    text_of,
    texts_of,
    unique,
)
from holdfast.records import Record


class Stated(Record):
    """What one file states: its front matter first, its body where that is silent."""

    front: dict[str, Json]  # by key, see fields.by_key
    notes: Notes

    def value(self, key: str) -> str | None:
        """What it states, unless that is that there is none."""
        return None if key != "status" and self.denies(key) else self._written(key)

    def denies(self, key: str) -> bool:
        """Whether it states that there is none."""
        written = self._written(key)
        return written is not None and says_nothing(written)

    def _written(self, key: str) -> str | None:
        found = self.notes.fields.get(key)
        front = text_of(self.front.get(key))
        return front if front and not is_template(front) else found.value if found else None

    def shown(self, key: str) -> str:
        """A value as a reason quotes it, with the place where it stands."""
        found = self.notes.fields.get(key) or self.notes.fields.get(f"counted {key}")
        front = self.front.get(key)
        if front is not None or found is None:
            return quoted_from(0, str(front))
        return quoted_from(found.number, found.value)

    def phase(self, *, counted: bool) -> PhaseReading | None:
        """The phase as stated; "Phase 4/10: X" is a statement only where phases are not listed."""
        fields = self.notes.fields
        found = fields.get("phase") or (fields.get("counted phase") if counted else None)
        reading = _front_phase(self.front.get("phase")) or (
            phase_of(found.value) if found else phase_in_status(self.value("status") or "")
        )
        if reading is None or reading.mark is None:
            return reading
        stated = reading.mark
        name = stated.name or text_of(self.front.get("phase name"))
        mark = sane_mark(stated.current, stated.total or self._total(), name)
        lost = current_of(mark) != stated.current
        return PhaseReading(mark, reading.word, reading.readable and not lost)

    def _total(self) -> int | None:
        found = self.notes.fields.get("total")
        return _front_total(self.front) or (_count(found.value) if found else None)

    def phase_problem(self, *, counted: bool) -> str | None:
        """The part of a reason that tells of a phase which is stated but cannot be read."""
        reading = self.phase(counted=counted)
        if reading is None or reading.readable:
            return None
        return f"the phase {self.shown('phase')} is unreadable"

    def reminders(self) -> tuple[str, ...] | None:
        return unique(texts_of(self.front.get("reminders")) or self.notes.reminders) or None

    def reading(self) -> list[str] | None:
        """The paths that front matter lists."""
        texts = texts_of(self.front.get("reading"))
        return [path for text in texts for path in listed_paths(text)] or None

    def context(self) -> dict[str, Json] | None:
        front = self.front.get("context")
        if isinstance(front, dict) and front:
            return dict(list(front.items())[:MOST_ITEMS])
        return self.notes.context or None


def _front_phase(value: Json) -> PhaseReading | None:
    if not isinstance(value, dict):
        text = text_of(value)
        return phase_of(text) if text else None
    parts = {plain_label(key): text_of(item) or "" for key, item in value.items()}
    read = phase_of(parts.get("current", "")).mark
    total = _count(parts.get("total", "")) or (read.total if read else None)
    name = parts.get("name", "")
    mark = sane_mark(current_of(read), total, None if says_nothing(name) else name)
    word = status_of(parts.get("status", ""))
    return PhaseReading(mark, word, readable=current_of(mark) is not None)


def _front_total(front: dict[str, Json]) -> int | None:
    for key in ("total", "phases", "total phases"):
        value = front.get(key)
        if isinstance(value, list) and value:
            return len(value)
        if count := _count(text_of(value) or ""):
            return count
    return None


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,4}", text) else None

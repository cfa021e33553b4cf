"""What became of each required file: as the last restore of this session left it, or as the next one will."""

from __future__ import annotations

from holdfast import delivery, restore
from holdfast.delivery import Delivery
from holdfast.formats.base import Workflow
from holdfast.reading import ONLY_NAMED, Item, resolve, span
from holdfast.records import Record
from holdfast.sync import Synced

_NEW = "required only since the last restore"


class Fate(Record):
    """One required file."""

    path: str  # as it is written, without its @
    parts: tuple[int, int] | None  # the first and the last that held its text
    reason: str = ""  # why it was not sent
    opened: bool = False  # by the agent, since
    changed: bool = False  # since it was sent

    def __str__(self) -> str:
        told = f"sent in {span(self.parts)}" if self.parts else f"not sent: {self.reason}"
        return told + ", opened since" * self.opened + ", changed since" * self.changed


class Fates(Record):
    """All required files of one workflow."""

    delivered: bool  # by the last restore; else it is what the next compaction would send
    files: tuple[Fate, ...]


def of(synced: Synced, workflow: Workflow) -> Fates:
    """What this session was sent of the reading of *workflow*."""
    last = delivery.recall(synced.state_dir, synced.session)
    if last is None or (last.root, last.workflow) != (synced.root, workflow.key):
        plan = restore.reading_of(synced, workflow, "compact")
        return Fates(False, tuple(_planned(item) for item in plan.items))
    roots = synced.place.settings.reading_roots
    items = resolve(synced.place.root, workflow.briefing.reading, roots)
    return Fates(True, tuple(_delivered(item, last) for item in items))


def _planned(item: Item) -> Fate:
    return Fate(item.path, item.parts, "" if item.parts else item.trouble or ONLY_NAMED)


def _delivered(item: Item, last: Delivery) -> Fate:
    parts = last.sent.get(item.real)
    reason = "" if parts else last.withheld.get(item.real, item.trouble or _NEW)
    changed = last.marks.get(item.real, item.mark) != item.mark
    return Fate(item.path, parts, reason, item.real in last.opened, changed)

"""Where states of skills lie: .claude/workflow-state/{active,completed}/<skill>-<hash>.json.

A file counts by its shape. What somebody else keeps in these folders is left alone.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.engine.document import moment
from holdfast.formats.engine.loading import FileKind, Found, LoadedFile, untouched
from holdfast.formats.skill.model import COMPACTED, State, has_shape

FOLDER = ".claude/workflow-state"
ACTIVE = f"{FOLDER}/active"
COMPLETED = f"{FOLDER}/completed"
INDEX = f"{FOLDER}/index.json"

_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_SKILL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class StateFile(LoadedFile[State]):
    format = "skill"

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def branch(self) -> str | None:
        return self.state.workflow.branch

    @property
    def created_at(self) -> datetime | None:
        return moment(self.state.workflow.created_at)

    @property
    def last_activity(self) -> datetime | None:
        return self.state.last_activity

    @property
    def changed_at(self) -> datetime:
        """Our own note of a compaction is nobody's work, where nothing was written after it."""
        last = ({}, *self.state.history)[-1]
        at = moment(last.get("at")) if last.get("event") == COMPACTED else None
        # The note has whole seconds, and was written a moment after.
        ours = at is not None and clock.from_mtime(self.mtime) - at < timedelta(seconds=3)
        return self.last_activity or super().changed_at if ours else super().changed_at

    @property
    def is_active(self) -> bool:
        return self.path.parent.name == "active"

    @property
    def ended_on(self) -> str:
        header = self.state.workflow
        return str(header.completed_at or header.updated_at or self.changed_at.isoformat())[:10]


class FoundStates(Found[StateFile]):
    """All that lies in the two folders, those in active/ first."""

    @cached_property
    def active(self) -> list[StateFile]:
        return [file for file in self.entries if file.is_active]

    @cached_property
    def _completed(self) -> dict[str, StateFile]:
        return {file.key: file for file in self.entries if not file.is_active}

    def ended_as(self, file: StateFile) -> StateFile | None:
        """The twin in completed/ that makes *file* a left-over of a workflow that has ended."""
        twin = self._completed.get(file.key) if file.is_active else None
        touched = moment(file.state.workflow.updated_at) or clock.from_mtime(file.mtime)
        return twin if twin and _ended(twin) >= touched else None

    def left_over(self, file: StateFile) -> str:
        """That the workflow of *file* has ended, in one line; empty where it has no such twin."""
        twin = self.ended_as(file)
        if twin is None:
            return ""
        return f"{twin.state.workflow.status} on {twin.ended_on}; it also lies in completed/"

    @cached_property
    def live(self) -> list[StateFile]:
        return [file for file in self.active if not (file.state.over or self.ended_as(file))]

    @cached_property
    def working(self) -> list[StateFile]:
        """Those of them that were touched of late."""
        limit = timedelta(days=self.place.settings.stale_days)
        return [file for file in self.live if untouched(file, self.place) <= limit]

    @cached_property
    def not_ignored(self) -> list[StateFile]:
        """Those of them that nobody wants to be left alone."""
        return [file for file in self.working if file.key not in self.ignored]


def _ended(file: StateFile) -> datetime:
    header = file.state.workflow
    ended = moment(header.completed_at)
    if ended and _DATE.fullmatch(str(header.completed_at)):
        return ended + timedelta(days=1)  # some time on that day
    return ended or moment(header.updated_at) or clock.from_mtime(file.mtime)


def path_for(store: Store, skill: str, text: str, called: str | None = None) -> Path:
    """The file of *skill* for the feature or task *text*, as the document's shell line names it.

    *called* is a name of its own for a second one of the same text.
    """
    if not _SKILL.fullmatch(skill):
        raise IllegalMove(
            f"{skill!r} is not the name of a skill",
            hint="Use lower-case letters, digits and hyphens, as in dev or tdd.",
        )
    hashed = text if called is None else f"{text} as {called}"
    return store.root / ACTIVE / f"{skill}-{hash_of(hashed)}.json"


def is_about(file: StateFile, root: Path, text: str) -> bool:
    """Whether *text* is what it works on, however a path is spelled, or the folder of its feature."""
    known, wanted = (
        file.state.context,
        {os.path.normpath(root / text), os.path.realpath(root / text)},
    )
    names = (known.about_file, known.folder_path, known.task_description)
    subjects = {os.path.normpath(root / name) for name in names if name}
    if known.about_file:
        subjects.add(os.path.dirname(os.path.normpath(root / known.about_file)))
    return not wanted.isdisjoint(subjects)


def hash_of(text: str) -> str:
    """What `echo "$TEXT" | md5sum | cut -c1-8` prints; echo adds a newline."""
    line = f"{text}\n".encode("utf-8", "surrogateescape")
    import hashlib  # noqa: PLC0415  # hooks have no use for it

    return hashlib.md5(line, usedforsecurity=False).hexdigest()[:8]


KIND = FileKind("the state of a skill", State, StateFile, has_shape, "workflow.created_at")


def index_entry(file: StateFile) -> dict[str, Any]:
    state, header = file.state, file.state.workflow
    return {
        "id": header.id or file.path.stem,
        "skill": state.skill,
        "feature": state.subject,
        "started_at": header.created_at,
        "last_activity": header.updated_at,
    }

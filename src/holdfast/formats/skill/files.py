"""Where states of skills lie: .claude/workflow-state/{active,completed}/<skill>-<hash>.json.

A file counts by its shape. What somebody else keeps in these folders is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.errors import IllegalMove
from holdfast.formats.document import moment
from holdfast.formats.holding import Kept, Kind, Unread, Unusable
from holdfast.formats.remembered import Memory, Stamp, listed, mtime_of
from holdfast.formats.skill.model import Row, State, has_shape
from holdfast.store import Store

FOLDER = ".claude/workflow-state"
ACTIVE = f"{FOLDER}/active"
COMPLETED = f"{FOLDER}/completed"
INDEX = f"{FOLDER}/index.json"

_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_SKILL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Held(Kept[State]):
    """One state file as read."""

    @property
    def key(self) -> str:
        return f"skill:{self.path.stem}"

    @property
    def is_active(self) -> bool:
        """Whether it lies in active/."""
        return self.path.parent.name == "active"

    @cached_property
    def row(self) -> Row:
        return Row.of(self.state)

    @property
    def is_gone(self) -> bool:
        return not os.path.lexists(self.path)

    @property
    def changed_at(self) -> datetime:
        """When it was last touched: what it says, or the file's own time after an edit by hand."""
        edited = clock.from_mtime(self.mtime)
        stated = self.row.last_activity
        return max(edited, datetime.fromisoformat(stated)) if stated else edited


class Known(Unread[State], Held):
    """One of which enough is remembered."""


@dataclass
class Found:
    """All that lies in the two folders."""

    active: list[Held] = field(default_factory=list)
    completed: list[Held] = field(default_factory=list)
    unusable: list[Unusable] = field(default_factory=list)

    def find(self, key: str) -> Held | None:
        """The one in active/, else the completed one."""
        return next((each for each in (*self.active, *self.completed) if each.key == key), None)

    def ended_as(self, held: Held) -> Held | None:
        """The twin in completed/ that makes *held* a left-over of a workflow that has ended."""
        twin = self._completed.get(held.key) if held.is_active else None
        return twin if twin and _ended(twin) >= _touched(held) else None

    @cached_property
    def _completed(self) -> dict[str, Held]:
        return {each.key: each for each in self.completed}

    @cached_property
    def live(self) -> list[Held]:
        """Those that are worked on."""
        return [each for each in self.active if not (each.row.over or self.ended_as(each))]


def _ended(held: Held) -> datetime:
    row = held.row
    ended = moment(row.completed_at)
    if ended and _DATE.fullmatch(str(row.completed_at)):
        return ended + timedelta(days=1)  # some time on that day
    return ended or moment(row.updated_at) or clock.from_mtime(held.mtime)


def _touched(held: Held) -> datetime:
    return moment(held.row.updated_at) or clock.from_mtime(held.mtime)


def path_for(store: Store, skill: str, text: str, called: str | None = None) -> Path:
    """The file of *skill* for the feature or task *text*, as the document's shell line names it.

    *called* is a name of its own for a second one of the same text.
    """
    if not _SKILL.fullmatch(skill):
        raise IllegalMove(
            f"{skill!r} is no name of a skill", hint="Small letters, digits and hyphens: dev, tdd."
        )
    hashed = text if called is None else f"{text} as {called}"
    return store.root / ACTIVE / f"{skill}-{hash_of(hashed)}.json"


def hash_of(text: str) -> str:
    """What `echo "$TEXT" | md5sum | cut -c1-8` prints; echo adds a newline."""
    line = f"{text}\n".encode("utf-8", "surrogateescape")
    import hashlib  # noqa: PLC0415  # hooks have no use for it

    return hashlib.md5(line, usedforsecurity=False).hexdigest()[:8]


def paths(root: Path) -> list[Path]:
    """All files that may be states, in the order of their names."""
    folders = (root / ACTIVE, root / COMPLETED)
    return [path for folder in folders for path, _ in listed(folder, ".json")]


def look(store: Store, memory: Memory | None = None) -> Found:
    """Find them all; with *memory*, only what is not known from it is read at once."""
    found = Found()
    for path, stamp in _listed(store):
        read_one = _known(store, path, stamp, memory) if memory else read(store, path)
        if isinstance(read_one, Unusable):
            found.unusable.append(read_one)
        elif read_one.is_active:
            found.active.append(read_one)
        else:
            found.completed.append(read_one)
    return found


def is_any_active(store: Store) -> bool:
    """Whether there is one that is worked on, or was; found out with the first."""
    there = (read(store, path) for path, _ in listed(store.root / ACTIVE, ".json"))
    return any(isinstance(each, Held) for each in there)


def _listed(store: Store) -> Iterator[tuple[Path, Stamp | None]]:
    for folder in (ACTIVE, COMPLETED):
        # What is remembered of a file says nothing of where its folder leads now.
        inside = store.holds(store.root / folder)
        for path, stamp in listed(store.root / folder, ".json"):
            yield path, stamp if inside else None


def _known(store: Store, path: Path, stamp: Stamp | None, memory: Memory) -> Held | Unusable:
    name = f"{path.parent.name}/{path.name}"
    facts = memory.recall(name, stamp)
    if facts is not None and stamp:
        return Known(path, mtime_of(stamp), Row(*facts), partial(read, store, path))
    held = read(store, path)
    if isinstance(held, Held) and not held.problems:
        memory.note(name, stamp, held.row)
    return held


def read(store: Store, path: Path) -> Held | Unusable:
    """What *path* holds; where it cannot be read, its last good copy."""
    return KIND.read(store, path)


def _began_with(data: Mapping[str, Any], good: State) -> bool:
    header = data.get("workflow")
    created = header.get("created_at") if isinstance(header, dict) else None
    return created is None or created == good.workflow.created_at


KIND = Kind("the state of a skill", State, Held, has_shape, _began_with)

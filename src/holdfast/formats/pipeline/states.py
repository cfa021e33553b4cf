"""One state file: read as it lies there, or as its last good copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.formats.holding import Kept, Kind, Unread, Unusable
from holdfast.formats.pipeline import places
from holdfast.formats.pipeline.model import State, has_shape
from holdfast.store import Store


class Row(NamedTuple):
    """What is needed of each, beside what a list tells."""

    status: str
    over: bool
    created_at: Any
    ended_at: Any
    last_activity: str | None
    failure: str

    @classmethod
    def of(cls, state: State) -> Row:
        last = state.last_activity
        return cls(
            state.status,
            state.over,
            state.created_at,
            state.completed_at or state.cancelled_at or state.updated_at,
            last.isoformat() if last else None,
            state.failure,
        )


@dataclass(frozen=True)
class Held(Kept[State]):
    """One state file as read."""

    @property
    def id(self) -> str:
        """The file is found by it, so its name counts, whatever stands in it."""
        return self.path.stem

    @property
    def key(self) -> str:
        return key_of(self.id)

    @property
    def changed_at(self) -> datetime:
        """When it was last touched: what it says, or the file's own time after an edit by hand."""
        edited = clock.from_mtime(self.mtime)
        stated = self.row.last_activity
        return max(edited, datetime.fromisoformat(stated)) if stated else edited

    @cached_property
    def row(self) -> Row:
        return Row.of(self.state)


class Known(Unread[State], Held):
    """One of which enough is remembered."""


def known(store: Store, path: Path, mtime: float, row: Row) -> Held:
    return Known(path, mtime, row, partial(read, store, path))


def key_of(workflow_id: str) -> str:
    return f"pipeline:{workflow_id}"


def read(store: Store, path: Path) -> Held | Unusable:
    """What *path* holds; where it cannot be read, its last good copy."""
    if not places.is_id(path.stem):
        return Unusable(path, "its name is no id of a workflow", "wrong")
    return KIND.read(store, path)


def _began_with(data: Mapping[str, Any], good: State) -> bool:
    return data.get("created_at") in (None, good.created_at)


KIND = Kind("the state of a pipeline", State, Held, has_shape, _began_with)

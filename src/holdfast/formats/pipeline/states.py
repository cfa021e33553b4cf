"""One state file: read as it lies there, or as its last good copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.formats.holding import Kept, Kind, Unusable
from holdfast.formats.pipeline import places
from holdfast.formats.pipeline.model import State, has_shape
from holdfast.store import Store


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
        return max(edited, self.state.last_activity or edited)


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

"""The run as it is to be used: the state file, or what there is in its place."""

from __future__ import annotations

from holdfast.formats.holding import Unusable
from holdfast.formats.orchestrator import files
from holdfast.formats.orchestrator.files import Held
from holdfast.store import Store


def look(store: Store) -> Held | Unusable | None:
    """The state; where it cannot be read, the newest good one that is known."""
    return files.look(store)

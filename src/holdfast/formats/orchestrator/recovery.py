"""The run as it is to be used: the state file, or what there is in its place.

Where the state cannot be read there may be two that can: the last checkpoint, as the format's document
says, and our own last good copy. The newer one counts; where both say the same, the checkpoint.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.formats.document import moment
from holdfast.formats.holding import Unusable
from holdfast.formats.orchestrator import files, snapshots
from holdfast.formats.orchestrator.files import Held
from holdfast.store import Store


def look(store: Store) -> Held | Unusable | None:
    """The state; where it cannot be read, the newest good one that is known."""
    there = files.look(store)
    if there is None or (isinstance(there, Held) and not there.problems):
        return there
    if isinstance(there, Unusable) and not there.is_ours:
        return there
    snapshot = snapshots.latest_good(store)
    if snapshot is None or (isinstance(there, Held) and _is_newer(there, snapshot)):
        return there
    problems: tuple[str, ...]
    if isinstance(there, Held):
        problems, broken = there.problems, there.broken
    else:
        problems, broken = (there.reason,), there.kind == "broken"
    return replace(
        snapshot,
        path=there.path,
        problems=problems,
        broken=broken,
        instead=snapshots.described(snapshot),
    )


def _is_newer(copy: Held, snapshot: Held) -> bool:
    if copy.raw == snapshot.raw:
        return False
    began, other = (moment(each.state.orchestrator.start_time) for each in (copy, snapshot))
    if began and other and began != other:  # the snapshot was left by another run
        return began > other
    return copy.mtime >= snapshot.mtime

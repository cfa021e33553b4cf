"""How a workflow ends and stays ended, although the markdown that declares it is still there.

A tombstone holds what each source declared and which checkboxes were open. It holds as long as no
source says something new: one that is gone, that is closed or whose boxes were ticked says nothing
new. Deleting the state file is the canonical document's way to end a workflow, so that counts too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from holdfast import ledger as ledgers
from holdfast.errors import StateUnreadable
from holdfast.formats.canonical import files
from holdfast.formats.canonical.declaration import Declaration, digest
from holdfast.formats.canonical.identity import Group, by_name
from holdfast.formats.canonical.state import Seen, State, read
from holdfast.ledger import Ledger, Tombstone
from holdfast.project import contains, main_worktree
from holdfast.regular import read_file
from holdfast.store import LARGEST, Store


def tombstone(
    name: str, declarations: Sequence[Declaration], *, at: str, how: str, archive: str
) -> Tombstone:
    """What keeps a workflow from coming back by itself."""
    declared = {each.path: _digest(each) for each in declarations}
    return Tombstone(name, at, how, declared, _open_items(declarations), archive)


def resting(store: Store, ledger: Ledger, group: Group) -> tuple[Tombstone, Store] | None:
    """The tombstone that holds for *group*, and where it stands.

    What ended in the main worktree has ended in the others as well: they have the same plans.
    """
    main = main_worktree(str(store.root))
    for place in (store, Store(main)) if main else (store,):
        entries = ledger if place is store else ledgers.load(place)
        for each in entries.finished.values():
            if _holds(each, group):
                return each, place
    return None


def last_state(store: Store, stone: Tombstone) -> State:
    """The state that was archived under *stone*; ValueError or StateUnreadable when it is gone."""
    path = store.root / stone.archive
    # The ledger lies in the project; what it names may not be anywhere else.
    if not contains(os.path.realpath(store.private / "archive"), os.path.realpath(path)):
        raise StateUnreadable(path, "it is not where it should be")
    return read(read_file(path, LARGEST)[0])


def _holds(stone: Tombstone, group: Group) -> bool:
    return all(
        stone.declared.get(each.path) == _digest(each) for each in group.declarations
    ) and set(_open_items(group.declarations)) <= set(stone.open_items)


def _digest(declaration: Declaration) -> str:
    """What a source states, without what follows from ticking a box or linking a file in a plan."""
    seen = Seen.of(declaration)
    silent: dict[str, None] = {}
    if declaration.phase and declaration.phase.derived:
        silent["phase"] = None
    if declaration.source == "plan":
        silent["required_reading"] = None
    stated = seen.model_copy(update=silent).model_dump(mode="json")
    return digest(json.dumps(stated, sort_keys=True))


def _open_items(declarations: Sequence[Declaration]) -> tuple[str, ...]:
    return tuple(digest(item) for each in declarations for item in each.open_items)


def gone(store: Store) -> Iterator[tuple[str, State]]:
    """Path and last copy of each state whose file was deleted."""
    for copies in store.all_copies():
        if (store.root / copies.path).exists():
            continue
        try:
            yield copies.path, read(copies.good.encode())
        except ValueError:
            continue


def deleted(
    lost: Sequence[tuple[str, State]], group: Group, store: Store
) -> tuple[str, State] | None:
    """The state of *group* that was deleted to end it, if that is how it came to have none."""
    for path, state in lost:
        key = state.holdfast.identity if state.holdfast else by_name(state.workflow)
        if key not in group.keys:
            continue
        seen = state.holdfast.seen if state.holdfast else {}
        bases = [(each, seen.get(each.source)) for each in group.declarations]
        unchanged = all(base and Seen.of(each).over(base) == base for each, base in bases)
        if unchanged or _deleted_after_the_last_edit(group, store):
            return path, state
    return None


def _deleted_after_the_last_edit(group: Group, store: Store) -> bool:
    # Removing a workflow's folder changes the time of the folder that it lay in.
    try:
        removed = (store.root / files.FOLDER).stat().st_mtime
    except OSError:
        return False
    return removed > max(each.mtime for each in group.declarations)

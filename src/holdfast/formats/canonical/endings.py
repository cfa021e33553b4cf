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
from holdfast.formats.canonical import files
from holdfast.formats.canonical.declaration import Declaration, digest
from holdfast.formats.canonical.identity import Group, by_name
from holdfast.formats.canonical.state import Seen, State, read
from holdfast.ledger import Ledger, Tombstone
from holdfast.project import main_worktree
from holdfast.regular import read_file
from holdfast.store import LARGEST, Store


def tombstone(
    name: str,
    declarations: Sequence[Declaration],
    *,
    at: str,
    how: str,
    archive: str,
    checkout: str | None,
) -> Tombstone:
    """What keeps a workflow from coming back by itself."""
    declared = {each.path: _digest(each) for each in declarations}
    titles = {each.path: by_name(each.workflow or "") for each in declarations}
    work = tuple(sorted(_work(declarations)))
    return Tombstone(name, at, how, declared, titles, work, archive, checkout or "")


def resting(
    store: Store, ledger: Ledger, group: Group, checkout: str | None
) -> tuple[Tombstone, Store] | None:
    """The tombstone that holds for *group*, and where it stands.

    What ended in the main worktree has ended in the others as well: they have the same plans.
    """
    main = main_worktree(str(store.root))
    for place in (store, Store(main)) if main else (store,):
        entries = ledger if place is store else ledgers.load(place)
        for each in entries.finished.values():
            if _holds(each, group, place, checkout or ""):
                return each, place
    return None


def last_state(store: Store, stone: Tombstone) -> State:
    """The state that was archived under *stone*; ValueError or StateUnreadable when it is gone."""
    # The ledger lies in the project; what it names may not be anywhere else.
    archive = os.path.realpath(store.private / "archive")
    return read(read_file(store.root / stone.archive, LARGEST, within=archive)[0])


def _holds(stone: Tombstone, group: Group, store: Store, checkout: str) -> bool:
    if stone.checkout != checkout:
        # Another branch has an older version of the plan, with boxes that are open there.
        return all(
            stone.titles.get(each.path) == by_name(each.workflow or "")
            for each in group.declarations
        )
    return all(_is_known(stone, each, store) for each in group.declarations) and (
        _work(group.declarations) <= set(stone.work)
    )


def _is_known(stone: Tombstone, declaration: Declaration, store: Store) -> bool:
    """Whether *declaration* says what it said when the workflow ended, also in a renamed folder."""
    digest_now = _digest(declaration)
    if declaration.path in stone.declared:
        return stone.declared[declaration.path] == digest_now
    return any(
        known == digest_now and not (store.root / path).exists()
        for path, known in stone.declared.items()
    )


def _digest(declaration: Declaration) -> str:
    return digest(json.dumps(_stated(declaration, Seen.of(declaration)), sort_keys=True))


def _stated(declaration: Declaration, seen: Seen) -> dict[str, object]:
    """What *seen* states, without what follows from ticking a box, linking a file in a plan or
    renaming its folder."""
    stated = {**vars(seen), "phase": seen.phase and vars(seen.phase)}
    if declaration.phase and declaration.phase.derived:
        stated["phase"] = None
    if declaration.source == "plan":
        stated["required_reading"] = None
    context = stated["context"] or {}
    stated["context"] = {
        key: value for key, value in context.items() if key not in {"plan_number", "plan_name"}
    }
    return stated


def _work(declarations: Sequence[Declaration]) -> set[str]:
    """What there is to do: open checkboxes, and the phases by name. More of it is new work."""
    return {
        *(digest(item) for each in declarations for item in each.open_items),
        *(digest(f"phase: {phase.name}") for each in declarations for phase in each.phases),
    }


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
    lost: Sequence[tuple[str, State]], group: Group, store: Store, checkout: str | None
) -> tuple[str, State] | None:
    """The state of *group* that was deleted to end it, if that is how it came to have none."""
    for path, state in lost:
        key = state.holdfast.identity if state.holdfast else by_name(state.workflow)
        if key not in group.keys:
            continue
        if _says_nothing_new(state, group, checkout) or _deleted_after_the_last_edit(group, store):
            return path, state
    return None


def _says_nothing_new(state: State, group: Group, checkout: str | None) -> bool:
    kept = state.holdfast
    if kept is None:
        return False
    for each in group.declarations:
        base = kept.seen.get(each.source)
        if base is None:
            return False
        if each.source == "plan" and kept.checkout not in {None, checkout or ""}:
            if by_name(each.workflow or "") != by_name(base.workflow or ""):
                return False
        elif _stated(each, Seen.of(each).over(base)) != _stated(each, base) or not {
            digest(item) for item in each.open_items
        } <= set(kept.open_items):
            return False
    return True


def _deleted_after_the_last_edit(group: Group, store: Store) -> bool:
    # Removing a workflow's folder changes the time of the folder that it lay in.
    try:
        removed = (store.root / files.FOLDER).stat().st_mtime
    except OSError:
        return False
    return removed > max(each.mtime for each in group.declarations)

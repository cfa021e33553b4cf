"""The end of a completed feature: its docs go to docs/, and its workspace goes away.

Killed at any point, the same command brings it to its end: it publishes first, each document whole;
then it writes the status `finalized`, which says that all is published; then it moves the workspace to
our archive in one step. So nothing is lost that was not published, and nothing is left that a hook
could bring back.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from holdfast import sidecar
from holdfast.formats.base import Place
from holdfast.formats.document import moment, stamp
from holdfast.formats.gated import (
    committing,
    files,
    lifecycle,
    machine,
    mapping,
    publishing,
    reconcile,
    seeding,
)
from holdfast.formats.gated.copying import Copy
from holdfast.formats.gated.files import Run
from holdfast.formats.gated.model import PHASES, State
from holdfast.formats.gated.publishing import Begun
from holdfast.store import COMMAND_WAIT

_UNCOMMITTED = "gated: finalized, and still to be committed"


@dataclass(frozen=True)
class Finalized:
    title: str
    copies: tuple[Copy, ...]
    replaced: tuple[str, ...]  # where what was in conflict is kept, one line each
    archived: str  # where the workspace is now, relative to the root


def plan(place: Place, key: str) -> list[Copy]:
    """What would be published; refused where the feature is not completed. Nothing is written."""
    run = _run(place, key)
    return _plan(place, run, _finished(place, run))


def finalize(place: Place, key: str, *, force: bool = False) -> Finalized:
    """Publish, and put the workspace away."""
    store, at = place.store, f"{place.now:%Y%m%d_%H%M%S}"
    with store.lock(COMMAND_WAIT):
        lifecycle.finish(place)
        run = _run(place, key)
        state = _finished(place, run)
        copies = _plan(place, run, state)
        if not force:
            publishing.refuse_conflicts(copies)
        replaced = publishing.make(store, copies, at)
    if state.status != "finalized":
        lifecycle.change(place, key, machine.finalize)
    with store.lock(COMMAND_WAIT):
        archived = store.archive_folder(run.folder, at, last=files.STATE)
        for path in files.state_paths(run.folder):
            store.forget(path)
        with contextlib.suppress(OSError):  # others may lie in there
            run.folder.parent.rmdir()
    return Finalized(state.name, tuple(copies), tuple(replaced), store.relative(archived))


def _run(place: Place, key: str) -> Run:
    return files.read(place.store, files.folder_of(place.store, files.slug_of(key)))


def _finished(place: Place, run: Run) -> State:
    """The state of *run*, which is completed, or finalized by a command that was interrupted."""
    content = reconcile.reconciled(run, stamp(place.now)).content
    if content.state.status != "finalized":
        machine.finalize(content, stamp(place.now))
    return content.state


def _plan(place: Place, run: Run, state: State) -> list[Copy]:
    if state.status == "finalized":  # all was published before that was written
        return []
    digests = seeding.noted(place.store, run.slug)
    return publishing.plan(place.store, run.slug, Begun(digests, moment(state.created_at)))


# The commit comes last, when there is no state any more that could remind of it.


@dataclass(frozen=True)
class Uncommitted:
    """What a `finalize --commit` has still to commit."""

    paths: tuple[str, ...]
    message: str


def due_commit(place: Place, key: str) -> Uncommitted:
    """What is to be committed once the feature *key* is finalized."""
    run = _run(place, key)
    found = mapping.in_the_workspace(place.store, run.slug)
    paths = [pair.central for pair in found.pairs]
    title = _finished(place, run).name
    text = committing.message(PHASES[-1], f"Finalize {title}, publish its docs")
    return Uncommitted((*paths, mapping.workspace(run.slug)), text)


def note_uncommitted(place: Place, due: Uncommitted | None) -> None:
    """Remember the commit that is due, or that it is made."""
    record: dict[str, Any] = {"paths": list(due.paths), "message": due.message} if due else {}
    sidecar.update(place.store, _UNCOMMITTED, COMMAND_WAIT, lambda _: record)


def uncommitted(place: Place) -> Uncommitted | None:
    """The commit that a `finalize --commit` did not come to."""
    match sidecar.load(place.store, _UNCOMMITTED):
        case {"paths": [*paths], "message": str(message)} if paths and all(
            isinstance(each, str) and place.store.holds(place.root / each) for each in paths
        ):
            return Uncommitted(tuple(paths), message)
    return None

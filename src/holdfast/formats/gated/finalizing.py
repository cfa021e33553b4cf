"""The end of a completed feature: its docs go to docs/, and its workspace goes away.

Killed at any point, the same command brings it to its end: it publishes first, each document whole;
then it writes the status `finalized`, which says that all is published; then it moves the workspace to
our archive in one step. So nothing is lost that was not published, and nothing is left that a hook
could bring back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

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
from holdfast.formats.gated.files import HeldState, Run
from holdfast.formats.gated.model import State
from holdfast.formats.gated.publishing import Begun
from holdfast.store import COMMAND_WAIT

_UNCOMMITTED = "gated: finalized, and still to be committed"


@dataclass(frozen=True)
class Finalized:
    title: str
    copies: tuple[Copy, ...]
    replaced: tuple[str, ...]  # where what was in conflict is kept, one line each
    archived: str  # where the workspace is now, relative to the root


def plan(place: Place, slug: str) -> list[Copy]:
    """What would be published; refused where the feature is not completed. Nothing is written."""
    run = _run(place, slug)
    return _plan(place, run, _finished(place, run))


def finalize(place: Place, slug: str, *, force: bool = False) -> Finalized:
    """Publish, and put the workspace away."""
    store, at = place.store, place.stamp
    with store.lock(COMMAND_WAIT):
        lifecycle.finish(place)
        run = _run(place, slug)
        state = _finished(place, run)
        copies = _plan(place, run, state)
        if not force:
            publishing.refuse_conflicts(copies)
        replaced = publishing.make(store, copies, at)
    if state.status != "finalized":
        lifecycle.change(place, run.key, machine.finalize)
    with store.lock(COMMAND_WAIT):
        archived = store.archive_folder(run.folder, at, last=files.STATE)
        for path in files.state_paths(run.folder):
            store.forget(path)
        with contextlib.suppress(OSError):  # others may lie in there
            run.folder.parent.rmdir()
    return Finalized(state.name, tuple(copies), tuple(replaced), store.relative(archived))


def interrupted(place: Place) -> list[str]:
    """The features that are published, and whose workspace is still there."""
    runs = files.look(place.store).runs
    states = ((each.slug, each.main) for each in runs if isinstance(each.main, HeldState))
    return [slug for slug, main in states if main.state.status == "finalized"]


def _run(place: Place, slug: str) -> Run:
    return files.read(place.store, files.folder_there(place.store, slug))


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


# The commit comes last, when there is no state any more that could remind of it. So it is noted before.


@dataclass(frozen=True)
class Uncommitted:
    """What a `finalize --commit` has still to commit."""

    slug: str
    paths: tuple[str, ...]  # beside the workspace
    message: str


def note_uncommitted(place: Place, slug: str, copies: Sequence[Copy], message: str) -> None:
    """Remember the commit that *slug* is to end with; paths of an interrupted command stay."""
    before = uncommitted(place)
    known = before.paths if before and before.slug == slug else ()
    new = [each.target for each in copies if each.is_held]
    record = {"slug": slug, "paths": list(dict.fromkeys([*known, *new])), "message": message}
    sidecar.update(place.store, _UNCOMMITTED, COMMAND_WAIT, lambda _: record)


def uncommitted(place: Place) -> Uncommitted | None:
    """The commit that is still to be made."""
    match sidecar.load(place.store, _UNCOMMITTED):
        case {"slug": str(slug), "paths": [*paths], "message": str(message)} if all(
            isinstance(each, str) and mapping.is_central(each) for each in paths
        ):
            files.folder_there(place.store, slug)  # the note may have come with the project
            return Uncommitted(slug, tuple(paths), message)
    return None


def commit(place: Place, due: Uncommitted) -> str:
    """Make the commit that is due. Returns what was done."""
    paths = [*due.paths, mapping.workspace(due.slug)]
    line = committing.commit(place.root, paths, due.message)
    sidecar.update(place.store, _UNCOMMITTED, COMMAND_WAIT, lambda _: {})
    return line

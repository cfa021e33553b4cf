"""Find what is damaged, and write what the evidence tells, once somebody has agreed to it."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.gated import evidence, files, lifecycle, reconcile, recovery
from holdfast.formats.gated.files import HeldStatus, Run
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.proposal import Proposal
from holdfast.store import COMMAND_WAIT, Store


def damaged(place: Place) -> list[Run]:
    """The features of which a state file is missing, cannot be read, or cannot be true."""
    runs = (files.read(place.store, folder) for folder in files.folders(place.root))
    return [each for each in runs if _is_feature(place, each) and _wrong(place, each)]


def _is_feature(place: Place, run: Run) -> bool:
    """Whether it is ours, or at least described: the description proves a workflow."""
    description = run.folder / files.DESCRIPTION
    return run.is_ours or (place.store.holds(description) and description.is_file())


def _wrong(place: Place, run: Run) -> bool:
    return bool(evidence.gather(place, run).wrong)


def propose(place: Place, slug: str) -> Proposal:
    """What would be written; empty where nothing is wrong."""
    run = files.read(place.store, files.folder_there(place.store, slug))
    return recovery.propose(evidence.gather(place, run), place.now)


def recover(place: Place, slug: str, agreed: Proposal) -> list[str]:
    """Write what somebody has *agreed* to. Returns where what was there is kept, one line each."""
    store, folder = place.store, files.folder_there(place.store, slug)
    with store.lock(COMMAND_WAIT):
        if propose(place, slug) != agreed:
            raise IllegalMove(
                f"the files of {slug!r} changed meanwhile",
                hint="Nothing was written. Give the command again, and look at what it shows.",
            )
        run = files.read(store, folder)
        content = _content(run, agreed)
        replaced = [files.status_path(folder, phase) for phase in agreed.statuses]
        if agreed.state is not None:
            replaced.append(files.state_path(folder))
        lines = [_keep(store, path, place.stamp) for path in replaced]
        lifecycle.put(place, folder, content)
    return [each for each in lines if each]


def _content(run: Run, agreed: Proposal) -> Content:
    state = agreed.state or reconcile.readable_state(run)
    there = {
        name: each.state for name, each in run.statuses.items() if isinstance(each, HeldStatus)
    }
    return Content(state, {**there, **agreed.statuses})


def _keep(store: Store, path: Path, stamp: str) -> str:
    """Keep what lies at *path* in quarantine, before it is written over."""
    if not path.exists() and not path.is_symlink():
        return ""
    try:
        aside = store.set_aside(path, stamp, move=path.is_symlink())
    except StateUnreadable:  # a folder, say: that cannot be copied, and not be written over
        aside = store.set_aside(path, stamp, move=True)
    return f"what {store.relative(path)} said is in {store.relative(aside)}"

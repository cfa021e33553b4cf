"""Cancel a session: its states, its artefacts and their logs go, for good, as the document has it.

What is to go is listed first. A cancel that was killed is brought to an end by removing what is left of
the list. States go last, so that one which could not remove everything can be given again. Logs of
committed workflows stay, and so does whatever else lies in the session's folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import StateUnwritable
from holdfast.formats.pipeline import known, logs, places
from holdfast.formats.pipeline.places import Location
from holdfast.regular import entries
from holdfast.store import Store

_RUNS = "-runs"


@dataclass(frozen=True)
class Removals:
    """What is to go of a session."""

    location: Location
    states: tuple[str, ...]  # by the names of their files, without .json
    runs: tuple[str, ...]  # folders of artefacts, by their names
    logs: tuple[str, ...]  # by the ids of their workflows

    @property
    def paths(self) -> list[str]:
        """Relative to the root; folders end in a slash."""
        base = self.location.base
        return [
            *(f"{base}/{name}/" for name in self.runs),
            *map(places.log, self.logs),
            *map(self.location.state, self.states),
        ]


def listed(store: Store, location: Location) -> Removals:
    """What there is of the session now."""
    seen = known.look(store, location)
    unreadable = [each.path.stem for each in seen.unusable if each.is_ours]
    own = [row.workflow_id for row in seen.rows if row.committed_from_session is None]
    logged = [each for each in own if _has_own_log(store, each)]
    return Removals(
        location,
        states=(*(row.workflow_id for row in seen.rows), *unreadable),
        runs=tuple(_runs(store.root / location.base)),
        logs=tuple(logged),
    )


def _has_own_log(store: Store, workflow_id: str) -> bool:
    """Whether the log is the session's: a global workflow of the same id has the same one."""
    path = store.root / places.log(workflow_id)
    is_global = os.path.lexists(store.root / places.GLOBAL.state(workflow_id))
    return os.path.lexists(path) and store.is_direct(path.parent) and not is_global


def _runs(folder: Path) -> list[str]:
    """The folders of artefacts; what a link leads to is not the session's."""
    return sorted(
        each.name
        for each in entries(folder)
        if each.is_dir(follow_symlinks=False) and _is_run_folder(each.name)
    )


def _is_run_folder(name: str) -> bool:
    return places.is_name(name) and name.endswith(_RUNS)


def to_record(removals: Removals) -> dict[str, Any]:
    return {"states": removals.states, "runs": removals.runs, "logs": removals.logs}


def from_record(location: Location, record: dict[str, Any]) -> Removals:
    """What is noted; a note may have come from somewhere else, so no path is made of it unchecked."""

    def texts(key: str) -> list[str]:
        value = record.get(key)
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    return Removals(
        location,
        states=tuple(each for each in texts("states") if _is_file_name(each)),
        runs=tuple(filter(_is_run_folder, texts("runs"))),
        logs=tuple(filter(places.is_id, texts("logs"))),
    )


def _is_file_name(text: str) -> bool:
    return not ({"/", "\\", "\0"} & set(text)) and f"{text}.json" != places.INDEX


def carry_out(store: Store, removals: Removals) -> None:
    """Remove it all; what is gone already is no fault."""
    location = removals.location
    for name in removals.runs:
        _remove_tree(store, store.root / location.base / name)
    for workflow_id in removals.logs:
        if _has_own_log(store, workflow_id):
            logs.remove(store, workflow_id)
    for name in removals.states:
        _remove_state(store, store.root / location.state(name))
    _remove_rest(store, location)


def _remove_state(store: Store, path: Path) -> None:
    if path.parent.is_dir():
        store.remove(path, folder_too=False)
    store.forget(path)


def _remove_tree(store: Store, folder: Path) -> None:
    if not folder.is_dir() or folder.is_symlink() or not store.holds(folder):
        return
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StateUnwritable(error.filename or folder, error.strerror or str(error)) from error


def _remove_rest(store: Store, location: Location) -> None:
    """The index, and folders that are empty now."""
    states = store.root / location.states
    if states.is_dir() and not places.state_entries(store, location):
        store.remove(store.root / location.index)
    known.forget(store, location)
    with contextlib.suppress(OSError):
        (store.root / location.base).rmdir()

"""The features, each with what choosing among them needs; one that is remembered is read when it is asked for.

A feature is six files, so a project of a thousand has six thousand, and a hook cannot read them all.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from holdfast import marks
from holdfast.formats.gated import files, reconcile
from holdfast.formats.gated.files import Found, HeldState, HeldStatus, Run
from holdfast.formats.gated.model import PHASES, PhaseName, State
from holdfast.formats.holding import Unusable
from holdfast.formats.remembered import Memory, Stamp, mtime_of
from holdfast.store import Store

_OF_A_FILE = 4  # numbers in a stamp
_MISSING = [0] * _OF_A_FILE
# Of the six files, below the folder.
_NAMES = (files.STATE, *(os.path.join(phase, files.STATUS) for phase in PHASES))


class Row(NamedTuple):
    """What is needed of each, as JSON has it."""

    name: str
    status: str
    over: bool
    branch: str | None
    created_at: Any
    updated_at: Any
    changed_at: str
    troubles: list[str]  # where the files do not agree

    @classmethod
    def of(cls, run: Run, state: State) -> Row:
        return cls(
            state.name,
            state.status,
            state.over,
            state.branch,
            state.created_at,
            state.updated_at,
            run.changed_at.isoformat(),
            [] if state.over else [*_troubles(run, state)],
        )


class Known(Run):
    """A feature of which enough is remembered."""

    def __init__(self, folder: Path, row: Row, stamp: Stamp, read: Callable[[], Run]) -> None:
        self.__dict__.update(folder=folder, row=row, stamp=stamp, _read=read)

    @cached_property
    def _run(self) -> Run:
        run: Run = self.__dict__["_read"]()
        return run

    @property
    def main(self) -> HeldState | Unusable:
        return self._run.main

    @property
    def statuses(self) -> Mapping[PhaseName, HeldStatus | Unusable]:
        return self._run.statuses


def row_of(run: Run) -> Row:
    """That of a feature whose state can be used."""
    if isinstance(run, Known):
        row: Row = run.__dict__["row"]
        return row
    return Row.of(run, files.state_of(run))


def saved_at(run: Run) -> float:
    """The time of its workflow-state.json."""
    if isinstance(run, Known):
        return mtime_of(run.__dict__["stamp"])
    return run.main.mtime if isinstance(run.main, HeldState) else 0.0


def look(store: Store, memory: Memory, copied: Mapping[str, float]) -> Found:
    """Find them all; read those that are not known from *memory*, or are newer than when they were *copied*."""
    there = Found()
    inside = store.holds(store.root / files.FOLDER)
    for folder in files.folders(store.root):
        stamp = _stamp(folder) if inside else None
        facts = memory.recall(folder.name, stamp)
        if facts is not None and stamp and _is_copied(folder, stamp, copied):
            there.runs.append(Known(folder, Row(*facts), stamp, _reader(store, folder)))
        else:
            _read(store, folder, stamp, memory, there)
    return there


def look_again(store: Store, before: Found, memory: Memory) -> Found:
    """The same inside the lock: what had to be read is read again, what is known stays."""
    there = Found(foreign=before.foreign)
    for run in sorted((*before.runs, *before.lost), key=lambda each: each.folder):
        if isinstance(run, Known):
            there.runs.append(run)
        else:
            _read(store, run.folder, _stamp(run.folder), memory, there)
    return there


def _is_copied(folder: Path, stamp: Stamp, copied: Mapping[str, float]) -> bool:
    """Whether no copy of the six files is older than the file."""
    begins = f"{folder}{os.sep}"
    return all(
        copied.get(begins + name, -1.0) >= mtime_of(stamp[at : at + _OF_A_FILE])
        for at, name in zip(range(0, len(stamp), _OF_A_FILE), _NAMES, strict=True)
        if stamp[at : at + _OF_A_FILE] != _MISSING
    )


def _reader(store: Store, folder: Path) -> Callable[[], Run]:
    return lambda: files.read(store, folder)


def _read(store: Store, folder: Path, stamp: Stamp | None, memory: Memory, there: Found) -> None:
    run = files.read(store, folder)
    there.add(store, run)
    sound = all(each.kind == "missing" for each in run.lost)
    if isinstance(run.main, HeldState) and sound and not any(each.problems for each in run.held):
        memory.note(folder.name, stamp, Row.of(run, run.main.state))


def _stamp(folder: Path) -> Stamp | None:
    """Those of the six files, one behind the other; None where a link says nothing of the file behind it."""
    found: Stamp = []
    begins = f"{folder}{os.sep}"
    if os.path.islink(folder):
        return None
    for name in _NAMES:
        try:
            status = os.lstat(begins + name)
        except OSError:
            found += _MISSING
            continue
        if stat.S_ISLNK(status.st_mode):
            return None
        found += marks.numbers(status)
    return found


def _troubles(run: Run, state: State) -> list[str]:
    broken = reconcile.contradictions(state)
    return [
        *(f"workflow-state.json contradicts itself. {line}" for line in broken),
        *(
            f"The files disagree, and workflow-state.json holds: {line}"
            for line in reconcile.disagreements(run)
        ),
    ]

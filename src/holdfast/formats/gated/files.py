"""Where a feature's files lie: workflow/<slug>/, and what is found there.

A run is one feature: its workflow-state.json and the status.json of each phase. Files count by their
shape; somebody else's workflow/x/workflow-state.json is left alone. Nothing that leads outside the
project by links is read or written.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.formats.gated.model import (
    PHASES,
    PhaseName,
    State,
    Status,
    has_state_shape,
    has_status_shape,
)
from holdfast.formats.holding import D, K, Kept, Kind, Unusable
from holdfast.formats.strictness import found
from holdfast.regular import entries
from holdfast.store import Store

FOLDER = "workflow"
STATE = "workflow-state.json"
STATUS = "status.json"
FEATURE = "00-feature"
DESCRIPTION = f"{FEATURE}/description.md"
REVIEWS = "reviews"
UNFINISHED = "gated"  # under which an interrupted change is noted

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_REVIEW = re.compile(r"review-([1-9]\d{0,8})\.md")
_OURS = re.compile(
    rf"{FOLDER}/[^./][^/]*/"
    rf"({re.escape(STATE)}|{re.escape(DESCRIPTION)}"
    rf"|({'|'.join(PHASES)})/({re.escape(STATUS)}|{REVIEWS}/{_REVIEW.pattern}))"
)


@dataclass(frozen=True)
class HeldState(Kept[State]):
    """workflow-state.json as read."""


@dataclass(frozen=True)
class HeldStatus(Kept[Status]):
    """A phase's status.json as read."""


@dataclass(frozen=True)
class Run:
    """One feature as it lies there."""

    folder: Path
    main: HeldState | Unusable
    statuses: Mapping[PhaseName, HeldStatus | Unusable]

    @property
    def slug(self) -> str:
        return self.folder.name

    @property
    def key(self) -> str:
        return key_of(self.slug)

    @property
    def is_ours(self) -> bool:
        return isinstance(self.main, HeldState) or self.main.is_ours

    @cached_property
    def held(self) -> list[Kept[Any]]:
        """What can be used of the six files, each as it stands or as its last good copy."""
        files = (self.main, *self.statuses.values())
        return [each for each in files if isinstance(each, Kept)]

    @cached_property
    def lost(self) -> list[Unusable]:
        """What cannot."""
        files = (self.main, *self.statuses.values())
        return [each for each in files if isinstance(each, Unusable)]

    @property
    def changed_at(self) -> datetime:
        """When it was last touched: what it says, or a file's own time after an edit by hand."""
        stated = self.main.state.last_activity if isinstance(self.main, HeldState) else None
        edited = [clock.from_mtime(each.mtime) for each in self.held]
        return max([*edited, *([stated] if stated else [])])

    def status(self, phase: PhaseName) -> Status | None:
        """What is known of *phase* in detail."""
        held = self.statuses[phase]
        return held.state if isinstance(held, HeldStatus) else None


@dataclass
class Found:
    """All features below workflow/."""

    runs: list[Run] = field(default_factory=list)  # whose state can be used
    lost: list[Run] = field(default_factory=list)  # whose state cannot, though it was one
    foreign: list[Unusable] = field(default_factory=list)

    def add(self, store: Store, run: Run) -> None:
        """Put *run* where it belongs."""
        if isinstance(run.main, HeldState):
            self.runs.append(run)
        elif run.main.kind == "foreign":
            self.foreign.append(run.main)
        elif run.main.kind != "missing" or _is_begun(store, run):
            self.lost.append(run)

    def find(self, key: str) -> Run | None:
        return next((each for each in (*self.runs, *self.lost) if each.key == key), None)


def key_of(slug: str) -> str:
    return f"gated:{slug}"


def slug_of(key: str) -> str:
    return key.removeprefix(key_of(""))


def folder_of(store: Store, slug: str) -> Path:
    """The folder of the feature *slug*, which came from a command line."""
    if not _SLUG.fullmatch(slug):
        raise IllegalMove(
            f"{slug!r} is no slug of a feature",
            hint="Small letters, digits and hyphens, at most 64: user-auth.",
        )
    return store.root / FOLDER / slug


def folder_there(store: Store, slug: str) -> Path:
    """The same for a feature that is there: others choose names that we would not."""
    if slug[:1] in {"", "."} or {"/", "\\", "\0"} & set(slug):
        raise IllegalMove(f"{slug!r} is no name of a folder", hint="See holdfast list.")
    return store.root / FOLDER / slug


def slug_from(title: str) -> str:
    """A slug made of a title."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].rstrip("-")


def state_path(folder: Path) -> Path:
    return folder / STATE


def state_paths(folder: Path) -> list[Path]:
    """The six state files of the feature in *folder*, whether they are there or not."""
    return [state_path(folder), *(status_path(folder, phase) for phase in PHASES)]


def status_path(folder: Path, phase: PhaseName) -> Path:
    return folder / phase / STATUS


def is_ours(path: str) -> bool:
    """Whether *path*, relative to the root, is that of a file which our commands write."""
    return _OURS.fullmatch(path) is not None


def reviews(folder: Path, phase: PhaseName) -> list[tuple[int, Path]]:
    """The reviews of *phase* with their numbers, in order."""
    there = entries(folder / phase / REVIEWS)
    numbered = [(_REVIEW.fullmatch(each.name), Path(each.path)) for each in there]
    return sorted((int(match[1]), path) for match, path in numbered if match)


def review_path(folder: Path, phase: PhaseName, number: int) -> Path:
    return folder / phase / REVIEWS / f"review-{number}.md"


def is_review(path: Path) -> bool:
    return path.parent.name == REVIEWS and _REVIEW.fullmatch(path.name) is not None


def next_review(folder: Path, phase: PhaseName) -> int:
    """The number after the last one, so that none is ever used twice."""
    return max((number for number, _ in reviews(folder, phase)), default=0) + 1


def folders(root: Path) -> Iterator[Path]:
    """The folders that may hold a feature, in the order of their names."""
    top = root / FOLDER
    names = sorted(each.name for each in entries(top))
    begins = os.path.join(top, "")
    for name in names:
        there = (os.path.lexists(f"{begins}{name}/{each}") for each in (STATE, DESCRIPTION))
        if name[:1] != "." and any(there):
            yield top / name


def paths(root: Path) -> list[Path]:
    """All state files that there may be."""
    places = [path for folder in folders(root) for path in state_paths(folder)]
    return [path for path in places if os.path.lexists(path)]


def has_gone(path: str) -> bool:
    """Whether the feature of a state file has gone: one file alone that is missing is to come back."""
    folder, name = os.path.split(path)
    return not os.path.isdir(folder if name == STATE else os.path.dirname(folder))


def look(store: Store) -> Found:
    """Read them all."""
    there = Found()
    for folder in folders(store.root):
        there.add(store, read(store, folder))
    return there


def is_any(store: Store) -> bool:
    """Whether there is a feature; found out with the first."""
    there = Found()
    for folder in folders(store.root):
        there.add(store, read(store, folder))
        if there.runs or there.lost:
            return True
    return False


def read(store: Store, folder: Path) -> Run:
    """The feature in *folder*; where a file cannot be read, its last good copy."""
    return Run(
        folder,
        _read(store, STATE_KIND, state_path(folder)),
        {phase: _read_status(store, folder, phase) for phase in PHASES},
    )


def state_of(run: Run) -> State:
    """What workflow-state.json of a feature says that could be used when it was found."""
    main = run.main
    if isinstance(main, Unusable):
        raise StateUnreadable(main.path, main.reason)
    return main.state


def _read_status(store: Store, folder: Path, phase: PhaseName) -> HeldStatus | Unusable:
    held = _read(store, STATUS_KIND, status_path(folder, phase))
    if isinstance(held, HeldStatus) and held.state.phase != phase:
        return Unusable(held.path, misplaced(phase, held.state.phase), "wrong")
    return held


def misplaced(folder: str, phase: str) -> str:
    """What is wrong with a status.json that names another phase than its folder."""
    return f"phase: expected {folder}, as the folder is called, found {found(phase)}"


def _read(store: Store, kind: Kind[D, K], path: Path) -> K | Unusable:
    if not os.path.lexists(path):
        return Unusable(path, "it is missing", "missing")
    return kind.read(store, path)


def _is_begun(store: Store, run: Run) -> bool:
    """Whether a folder without a state is a feature's: it has the description and a status."""
    description = run.folder / DESCRIPTION
    return store.holds(description) and description.is_file() and bool(run.held)


def _began_with(data: Mapping[str, Any], good: State) -> bool:
    created = data.get("created_at")
    return created is None or created == good.created_at


STATE_KIND = Kind("the state of a feature", State, HeldState, has_state_shape, _began_with)
STATUS_KIND = Kind("the status of a phase", Status, HeldStatus, has_status_shape)

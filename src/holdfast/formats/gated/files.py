"""One feature as it lies on disk, in workflow/<slug>/: where its files are, its six state files read and compared.

Files count by their shape; somebody else's workflow/x/workflow-state.json is left alone. Nothing that leads
outside the project by links is read or written.
"""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from holdfast import clock
from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.engine.document import moment, quoted
from holdfast.formats.engine.loading import D, FileKind, Found, K, LoadedFile, Unusable, error_of
from holdfast.formats.gated.machine import Content, contradictions
from holdfast.formats.gated.model import (
    PHASES,
    PhaseName,
    State,
    StatusFile,
    has_state_shape,
    has_status_shape,
    new_status,
)
from holdfast.text.plaintext import one_line

NAME = "gated"
FOLDER = "workflow"
STATE = "workflow-state.json"
STATUS = "status.json"
DESCRIPTION = "00-feature/description.md"
REVIEWS = "reviews"
# The six state files, below the folder of a feature.
NAMES = (STATE, *(f"{phase}/{STATUS}" for phase in PHASES))

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_REVIEW = re.compile(r"review-([1-9]\d{0,8})\.md")
# Paths below the root that our commands write.
OURS = re.compile(
    rf"{FOLDER}/[^./][^/]*/"
    rf"({re.escape(STATE)}|{re.escape(DESCRIPTION)}"
    rf"|({'|'.join(PHASES)})/({re.escape(STATUS)}|{REVIEWS}/{_REVIEW.pattern}))"
)

_IN_WORK = frozenset({"in_progress", "in_review", "user_review", "escalated"})
# In these, whatever was said of the artefact before is settled.
_SETTLED = frozenset({"pending", "user_review", "approved"})


# Where they lie.


def key_of(slug: str) -> str:
    return f"{NAME}:{slug}"


def slug_of(key: str) -> str:
    return key.removeprefix(key_of(""))


def branch_of(slug: str) -> str:
    return f"feature/{slug}"


def workspace(slug: str) -> str:
    """The folder of a feature, relative to the root."""
    return f"{FOLDER}/{slug}"


def folder_for_new(store: Store, slug: str) -> Path:
    """The folder of a feature to be started; *slug* came from a command line."""
    if not _SLUG.fullmatch(slug):
        raise IllegalMove(
            f"{slug!r} is not a valid slug",
            hint="Use at most 64 lower-case letters, digits and hyphens, as in user-auth.",
        )
    return store.root / FOLDER / slug


def folder_of(store: Store, slug: str) -> Path:
    """The folder of a feature that exists: others choose names that we would not."""
    if slug[:1] in {"", "."} or {"/", "\\", "\0"} & set(slug):
        raise IllegalMove(f"{slug!r} is not a folder name", hint="List them: holdfast list")
    return store.root / FOLDER / slug


def slug_from(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].rstrip("-")


def state_paths(folder: Path) -> list[Path]:
    """The six state files of the feature in *folder*, whether they exist or not."""
    return [folder / name for name in NAMES]


def reviews(store: Store, folder: Path, phase: PhaseName) -> list[tuple[int, Path]]:
    """The reviews of *phase* with their numbers, in order."""
    entries = store.entries(folder / phase / REVIEWS)
    numbered = [(_REVIEW.fullmatch(entry.name), Path(entry.path)) for entry in entries]
    return sorted((int(match[1]), path) for match, path in numbered if match)


def artefacts(store: Store, phase: Path) -> Iterator[Path]:
    """What lies in the folder of a phase and is none of our files, level by level: it may be big."""
    folders = [phase]
    for folder in folders:  # which grows on the way
        entries: list[os.DirEntry[str]] = []
        with contextlib.suppress(StateUnreadable):  # what cannot be listed is no artefact
            entries = sorted(store.entries(folder), key=lambda entry: entry.name)
        for entry in entries:
            path = folder / entry.name
            if entry.name[:1] == "." or path in {phase / STATUS, phase / REVIEWS}:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            else:
                yield path


def folders(store: Store) -> Iterator[Path]:
    """The folders that may hold a feature, ordered by name."""
    top = store.root / FOLDER
    for name in sorted(entry.name for entry in store.entries(top)):
        signs = (store.exists(f"{top}/{name}/{sign}") for sign in (*NAMES, DESCRIPTION))
        if name[:1] != "." and any(signs):
            yield top / name


# What they say.


Files: TypeAlias = Mapping[str, LoadedFile[Any] | Unusable]
STATE_KIND = FileKind(
    "the state of a feature", State, LoadedFile[State], has_state_shape, "created_at"
)
STATUS_KIND = FileKind(
    "the status of a phase", StatusFile, LoadedFile[StatusFile], has_status_shape
)


def problem_of(file: LoadedFile[Any] | Unusable) -> str:
    """Why a file cannot be used as it stands; empty if it can."""
    if isinstance(file, Unusable):
        return file.reason
    return (*file.problems, *file.odd, "")[0]


def usable(file: LoadedFile[D] | Unusable) -> D | None:
    """What a file says; None where that cannot be used as it stands."""
    return None if isinstance(file, Unusable) or file.problems or file.odd else file.state


def is_missing(file: LoadedFile[Any] | Unusable) -> bool:
    return isinstance(file, Unusable) and file.kind == "missing"


@dataclass(frozen=True)
class Feature:
    """One feature as it lies there: its workflow-state.json, and five status.json."""

    folder: Path
    files: Files  # all six by their names

    @property
    def path(self) -> Path:
        return self.folder / STATE

    @property
    def main(self) -> LoadedFile[State] | Unusable:
        return self.files[STATE]

    @property
    def statuses(self) -> Mapping[PhaseName, LoadedFile[StatusFile] | Unusable]:
        return {phase: self.files[f"{phase}/{STATUS}"] for phase in PHASES}

    @property
    def slug(self) -> str:
        return self.folder.name

    @property
    def key(self) -> str:
        return key_of(self.slug)

    @property
    def state(self) -> State:
        """What workflow-state.json or its last good copy says."""
        return self._usable_main.state

    @property
    def mtime(self) -> float:
        return self._usable_main.mtime

    @property
    def _usable_main(self) -> LoadedFile[State]:
        main = self.main
        if isinstance(main, Unusable):
            raise error_of(main)
        return main

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def branch(self) -> str | None:
        return self.state.branch

    @property
    def created_at(self) -> datetime | None:
        return moment(self.state.created_at)

    @property
    def changed_at(self) -> datetime:
        """The last activity that is stated, or the time of a file after an edit by hand."""
        times = [clock.from_mtime(file.mtime) for file in self.loaded]
        return max([*times, self.state.last_activity or times[0]])

    @property
    def troubles(self) -> list[str]:
        """Where the files of a feature in work do not agree."""
        if self.state.over:
            return []
        wrong = [
            f"workflow-state.json contradicts itself. {line}" for line in contradictions(self.state)
        ]
        return [*wrong, *disagreements(self)]

    @property
    def loaded(self) -> list[LoadedFile[Any]]:
        """The usable files, each as it stands or as its last good copy."""
        return [file for file in self.files.values() if isinstance(file, LoadedFile)]

    def status(self, phase: PhaseName) -> StatusFile | None:
        """The details of *phase*, as far as they are known."""
        file = self.statuses[phase]
        return file.state if isinstance(file, LoadedFile) else None


def lost(found: Found[Feature]) -> list[Path]:
    """The folders of features whose workflow-state.json cannot be used."""
    ours = (file.path for file in found.unusable if file.is_ours)
    return [path.parent for path in ours if path.name == STATE]


def read(store: Store, folder: Path) -> Feature:
    """The feature in *folder*; where a file cannot be read, its last good copy."""
    found: dict[str, LoadedFile[Any] | Unusable] = {STATE: _read(store, STATE_KIND, folder / STATE)}
    for phase in PHASES:
        name = f"{phase}/{STATUS}"
        file = found[name] = _read(store, STATUS_KIND, folder / name)
        if isinstance(file, LoadedFile) and file.state.phase != phase:
            found[name] = Unusable(file.path, misplaced(phase, file.state.phase), "wrong")
    feature = Feature(folder, found)
    _take_over_odd(feature)
    return feature


def _take_over_odd(feature: Feature) -> None:
    """What workflow-state.json does not say usably of a phase, its status.json says."""
    if not isinstance(feature.main, LoadedFile):
        return
    odd = {item["loc"] for item in feature.main.state.odd}
    for name in PHASES:
        said, summary = usable(feature.statuses[name]), feature.state.phases[name]
        if said and ("phases", name, "status") in odd:
            summary.status = said.status
        if said and ("phases", name, "iterations") in odd:
            summary.iterations = said.iterations


def misplaced(folder: str, phase: str) -> str:
    """What is wrong with a status.json that names another phase than its folder."""
    return f"phase: expected {folder}, as the folder is called, found {quoted(phase)}"


def _read(store: Store, kind: FileKind[D, K], path: Path) -> K | Unusable:
    if not store.exists(path):
        store.entries(path.parent)  # refused where the system does not show what is there
        return Unusable(path, "it is missing", "missing")
    return kind.read(store, path)


def is_described(store: Store, folder: Path) -> bool:
    """Whether *folder* has the description that proves a feature."""
    path = folder / DESCRIPTION
    return store.holds(path) and store.inputs.is_file(path)


# Whether the files say the same.


def disagreements(feature: Feature) -> tuple[str, ...]:
    """Where the files do not agree, in words."""
    state = feature.state
    phase = phase_in_work(state)
    moved = f"current_phase was {state.current_phase}, but {phase} is the one in progress"
    there = [name for name in PHASES if not is_missing(feature.statuses[name])]
    absent = ", ".join(name for name in PHASES if name not in there)
    lines = [moved] if phase else []
    lines += filter(None, (disagreement(feature, name) for name in there))
    if absent:
        lines.append(f"status.json of {absent} is missing; the next command writes it")
    return (*lines,)


def phase_in_work(state: State) -> PhaseName | None:
    """The phase in work if current_phase names another one, and everything else fits this one."""
    busy = [name for name in PHASES if state.phases[name].status in _IN_WORK]
    if state.over or len(busy) != 1 or busy[0] == state.current_phase:
        return None
    moved = state.model_copy(update={"current_phase": busy[0]})
    return None if any(contradictions(moved)) else busy[0]


def disagreement(feature: Feature, name: PhaseName) -> str | None:
    """How status.json of a phase differs from workflow-state.json."""
    file, summary = feature.statuses[name], feature.state.phases[name]
    status = usable(file)
    if status and status.stands == summary.stands:
        return None
    if status:
        return (
            f"status.json of {name} said {status}; workflow-state.json says {summary}, which holds"
        )
    trouble = "is missing" if is_missing(file) else f"cannot be used ({one_line(problem_of(file))})"
    return f"status.json of {name} {trouble}; workflow-state.json says {summary}"


# What holds: workflow-state.json is the primary source of truth, so where the files differ, the status.json
# follows. One that contradicts itself cannot be followed: a person has to say what holds.


def reconciled(feature: Feature, at: str) -> Content:
    """What holds; refused if workflow-state.json cannot be read or contradicts itself."""
    said = readable_state(feature)
    state = said.model_copy(deep=True)
    state.current_phase = phase_in_work(state) or state.current_phase
    wrong = next(contradictions(state), None)
    if wrong:
        raise IllegalMove(
            f"workflow-state.json of {state.name!r} contradicts itself: {wrong}",
            hint="Correct the field, or see what the other files say: holdfast gate recover",
        )
    statuses = {phase: _followed(feature, said, phase, at) for phase in PHASES}
    return Content(state, statuses, feature.slug)


def _followed(feature: Feature, state: State, phase: PhaseName, at: str) -> StatusFile:
    """The status.json of a phase, with what workflow-state.json says; its history stays."""
    said, summary = feature.status(phase), state.phases[phase]
    status = said.model_copy(deep=True) if said else new_status(phase)
    if usable(feature.statuses[phase]) and status.stands == summary.stands:
        return status
    status.status, status.iterations = summary.status, summary.iterations
    if status.status in _SETTLED:
        status.current_feedback = None
    status.record("reconciled", at)
    return status


def readable_state(feature: Feature) -> State:
    """What workflow-state.json says. The document: "the file is corrupted - do NOT proceed"."""
    state = usable(feature.main)
    if state is None:
        raise HoldfastError(
            f"workflow-state.json of {feature.slug!r} cannot be used: {problem_of(feature.main)}",
            hint="Correct it, or see what can be rebuilt from the other files: holdfast gate recover",
        )
    return state

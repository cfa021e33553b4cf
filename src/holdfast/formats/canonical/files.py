"""Read what canonical workflows lie in: their state files, and the markdown that may declare them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.config.settings import PLANS
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files import git, ownjson
from holdfast.files.fingerprints import digest
from holdfast.files.inputs import MOST, Search
from holdfast.files.regular import decode_json
from holdfast.files.store import Store
from holdfast.files.together import Change
from holdfast.formats.canonical.model import (
    State,
    TickedBoxes,
    blank,
    has_shape,
    is_nameless,
    short_digest,
)
from holdfast.formats.canonical.sources import Candidate, Looked
from holdfast.formats.canonical.sources.claude_local import plan_among, read_local
from holdfast.formats.engine.loading import FileKind, LoadedFile, Unusable
from holdfast.patterns import pattern

# States lie in untracked/workflow-state/<slug>/state-<slug>-<start>.json.

FOLDER = "untracked/workflow-state"
_LONGEST_SLUG = 80  # bytes; it stands twice in the path, and a name may have 255
_START = pattern(r"[0-9]{8}_[0-9]{6}$")
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul"} | {
    f"{name}{number}" for name in ("com", "lpt") for number in "0123456789¹²³"
}


@dataclass(frozen=True, eq=False)
class StateFile(LoadedFile[State]):
    # What to say where it is only read: a newer Holdfast keeps it, or the file is out of reach.
    newer: str = ""
    lost_start: bool = False  # its created_at is missing or was changed, and has to be put back


def slug(name: str) -> str:
    """A folder name for *name*: lower case, hyphens, letters of any script, never empty."""
    # By hand: it needs no transliteration table, and the library's import costs a third of a start.
    folded = unicodedata.normalize("NFC", name).lower()
    spaced = "".join(
        character if character.isalnum() or unicodedata.category(character)[0] == "M" else " "
        for character in folded
    )
    full = "-".join(spaced.split())
    short = full.encode("utf-8", "ignore")[:_LONGEST_SLUG].decode("utf-8", "ignore").strip("-")
    if not short:
        return f"workflow-{short_digest(name)[:8]}"
    return (
        f"{short}-{short_digest(name)[:8]}" if short != full or short in _WINDOWS_DEVICES else short
    )


def path_for_new(store: Store, name: str, identity: str, now: datetime) -> Path:
    """The path of a new workflow's file, in a new or an empty folder: workflows do not share one."""
    short = slug(name)
    folder = store.root / FOLDER / short
    if folder.exists() and any(folder.iterdir()):
        short = f"{short}-{short_digest(identity)[:8]}"
        folder = store.root / FOLDER / short
    return folder / f"state-{short}-{clock.for_names(now)}.json"


def hide_from_git(store: Store) -> None:
    """Add a .gitignore to the folder of states, unless git already has a rule for it.

    Otherwise git lists each state as a new file, and the client prints changes in files that git lists.
    """
    folder = store.root / FOLDER
    ignore = folder / ".gitignore"
    if not (ignore.exists() or git.ignores(str(folder)) or git.tracks(str(folder))):
        store.write(ignore, b"*\n")  # where that fails, the next hook tries both again


def paths(store: Store) -> list[Path]:
    """Every state file, in the order of their names."""
    found = [
        file.path
        for folder in store.entries(store.root / FOLDER)
        for file in (store.entries(folder.path) if folder.is_dir() else ())
        if file.name.endswith(".json") and not file.name.startswith(".")
    ]
    return [Path(path) for path in sorted(found)]


def _start_of(path: Path, mtime: float) -> str:
    named = _START.search(path.stem)
    return clock.iso((named and clock.parse(named[0])) or clock.from_mtime(mtime))


class _Kind(FileKind[State, StateFile]):
    """What is wrong in a state is taken from its last good copy; a newer Holdfast's is only read."""

    def read(self, store: Store, path: Path) -> StateFile | Unusable:
        file = super().read(store, path)
        if isinstance(file, Unusable) and not path.name.startswith("state-"):
            return replace(file, kind="foreign")  # what is no state may be anybody's
        if isinstance(file, Unusable) or not file.out_of_reach:
            return file
        told = (
            f"{store.relative(path)} could not be read: {file.problems[0]}; its last good copy is "
            "used, and nothing is saved there until it can be"
        )
        return replace(file, problems=(), newer=file.newer or told)

    def load(
        self, store: Store, path: Path, raw: bytes, mtime: float, data: dict[str, Any]
    ) -> StateFile | Unusable:
        newer = _newer(store, path, data)
        if not has_shape(data) and not is_nameless(data):
            return Unusable(path, newer, "foreign")
        good = cache(lambda: self.good_copy(store.copies(path)))

        def instead() -> State:
            return good() or blank(path.parent.name, _start_of(path, mtime))

        state = State.of_json(data, instead)
        known = None if newer or store.copied_since(path, mtime) else good()
        stated, lost = clock.parse(str(data.get("created_at"))), "created_at" not in data
        if known and state.continues(known) and clock.parse(known.created_at) != stated:
            lost, state = True, state.replaced(created_at=known.created_at)
        return StateFile(path, raw, mtime, state, newer=newer, lost_start=lost and not newer)

    def from_copy(
        self, store: Store, path: Path, problems: tuple[str, ...], data: dict[str, Any] | None
    ) -> StateFile | Unusable:
        file = super().from_copy(store, path, problems, data)
        if isinstance(file, Unusable):
            return file
        made_at = clock.iso(clock.from_mtime(file.mtime))[:19]
        newer = _newer(store, path, decode_json(file.raw))
        return replace(file, instead=f"the last good copy, of {made_at}Z,", newer=newer)


def _newer(store: Store, path: Path, data: object) -> str:
    kept = data.get("holdfast") if isinstance(data, dict) else None
    return ownjson.newer_version_warning(store.relative(path), kept)


def _has_shape(data: object) -> bool:
    kept = data.get("holdfast") if isinstance(data, dict) else None
    return has_shape(data) or is_nameless(data) or ownjson.is_newer(kept)


KIND = _Kind("a canonical state", State, StateFile, _has_shape)


# CLAUDE.local.md and the plans.

LOCAL = "CLAUDE.local.md"
# A clone may have any number, and each that is in progress gets a state of its own.
_MOST_READ, _MOST_DECLARED = 1_000, 100  # plans


_INDEX = pattern(r"(?:^|/)(?:readme|index)\.md$", re.IGNORECASE)  # tells of plans, and is none
_LONG_TERM = pattern(r"(?:roadmap|milestone)[^/]*$", re.IGNORECASE)


def look_at_markdown(
    store: Store, globs: Sequence[str], followed: Sequence[str] = ()
) -> list[Looked]:
    """Every source that is there, and what it declares: what *globs* match, and the *followed* paths."""
    # A glob such as *.md covers CLAUDE.local.md as well; it is no plan.
    search = Search(store.root, store.inputs)
    found = {path for glob in globs for path in search.find(glob)}
    found = {path for path in found if not _INDEX.search(path)}
    found |= {path for path in followed if store.exists(store.root / path)}
    plans = sorted(found - {LOCAL})
    if len({path.casefold() for path in plans}) < len(plans):
        # Where case does not tell names apart, a plan is found by what it is asked for as well.
        plans = sorted({_inode(store, path): path for path in reversed(plans)}.values())
    read = plans
    if len(plans) > _MOST_READ:
        latest = sorted(plans, key=partial(_edited_at, store), reverse=True)
        read = sorted(latest[:_MOST_READ])
    sources = [LOCAL, *read] if store.exists(store.root / LOCAL) else read
    looked = [look_at(store, path, plans) for path in sources]
    if set(PLANS) <= set(globs):  # else somebody has named them
        looked = [
            source if source.path in followed else _unless_long_term(source) for source in looked
        ]
    in_progress = [
        source.declaration for source in looked if source.declaration and source.path != LOCAL
    ]
    in_progress.sort(key=lambda plan: plan.mtime, reverse=True)
    left = {plan.path for plan in in_progress[_MOST_DECLARED:]}
    reason = "left out, since too many plans are in progress"
    looked = [
        Looked(source.path, None, reason) if source.path in left else source for source in looked
    ]
    troubles = []
    if search.is_over and not set(PLANS) <= set(globs):  # somebody has named them
        troubles.append(f"not searched to the end: more than {MOST:,} names")
    if len(read) < len(plans):
        troubles.append(
            f"of {len(plans):,}, only the {_MOST_READ:,} that were edited last were read"
        )
    if left:
        troubles.append(
            f"{len(left):,} in progress were left out, {_MOST_DECLARED} edited later count"
        )
    return looked + [Looked("plans", None, line, trouble=line) for line in troubles]


def _unless_long_term(source: Looked) -> Looked:
    """*source*, which is a candidate at most if its name says what many mean to do one day."""
    if not source.declaration or not _LONG_TERM.search(source.path):
        return source
    candidate = Candidate("in progress, by its own words", source.declaration)
    return source._replace(declaration=None, candidate=candidate)


def _inode(store: Store, path: str) -> object:
    status = store.inputs.stat(store.root / path)
    return (status.st_dev, status.st_ino) if status else path


def _edited_at(store: Store, path: str) -> float:
    status = store.inputs.stat(store.root / path)
    return status.st_mtime if status else 0.0


def look_at(store: Store, path: str, plans: Sequence[str] = ()) -> Looked:
    """What the file at *path*, below the root, declares; CLAUDE.local.md may point at one of *plans*."""
    try:
        data, mtime = store.read(store.root / path)
    except StateUnreadable as error:
        return Looked(path, None, error.reason, trouble=f"not read: {error.reason}")
    if path != LOCAL:
        return _parsed_plan(data, path, mtime)
    return _parsed_local(
        data, mtime, tuple(p for p in plans if store.inputs.is_file(store.root / p))
    )


# A save looks once more inside the lock, where hardly anything has changed.


@lru_cache(maxsize=_MOST_DECLARED)
def _parsed_plan(data: bytes, path: str, mtime: float) -> Looked:
    from holdfast.formats.canonical.sources.plan import read_plan  # noqa: PLC0415  # in a hook that reads a plan

    return read_plan(data, path=path, mtime=mtime)


@lru_cache(maxsize=1)
def _parsed_local(data: bytes, mtime: float, plans: Sequence[str]) -> Looked:
    return read_local(data, path=LOCAL, mtime=mtime, find_plan=partial(plan_among, plans))


# Writing into the markdown.


class Edit(NamedTuple):
    path: Path
    before: bytes
    after: bytes
    boxes: tuple[str, ...] = ()  # of a plan, which it ticks

    def change(self, store: Store) -> Change:
        """It as a part of a change of several files; IllegalMove where it would write through a link."""
        if self.path.is_symlink():
            path = store.relative(self.path)
            raise IllegalMove(
                f"{path} is a link, and is not changed",
                hint=f"Nothing was changed. Edit {path} by hand.",
            )
        return Change(self.path, self.after, self.before)

    @property
    def lines(self) -> list[int]:
        """The numbers of the lines that it changes."""
        lines = zip(self.before.split(b"\n"), self.after.split(b"\n"), strict=True)
        return [number for number, (was, now) in enumerate(lines, 1) if was != now]

    def as_record(self, root: Path, *, alone: bool) -> TickedBoxes:
        """What is kept of it, to undo it."""
        return TickedBoxes(
            path=self.path.relative_to(root).as_posix(),
            lines=self.lines,
            digest=digest(self.after),
            alone=alone,
        )

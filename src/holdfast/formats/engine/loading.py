"""Finding a format's files, and reading them, each with its last good copy behind it.

A file counts by its shape: what somebody else keeps in the same place is left alone. A file that cannot
be read is named, and its last good copy is used. Hooks keep the copies, in our own folder, and leave
the files as they are."""

from __future__ import annotations

import stat
from abc import ABC
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, cast

from pydantic import ValidationError

from holdfast import clock
from holdfast.errors import StateOutOfReach, StateUnreadable
from holdfast.files import fingerprints
from holdfast.files.regular import decode_json
from holdfast.files.store import Copies, Store
from holdfast.formats.engine.document import Document, moment, odd_values, problems_of
from holdfast.formats.engine.workflow import Place, Standing
from holdfast.records import ledger
from holdfast.records.rows import mtime_of

D = TypeVar("D", bound=Document)


@dataclass(frozen=True, eq=False)
class LoadedFile(Generic[D]):
    """One state file as read, and its problems; each format derives its own class from this."""

    format: ClassVar[str] = ""  # its name

    path: Path
    raw: bytes
    mtime: float
    state: D  # where something was wrong, what is used instead
    problems: tuple[str, ...] = ()
    broken: bool = False  # not JSON, or no longer a state
    instead: str = "its last good copy"
    out_of_reach: bool = False  # the system denied access; the file may be intact

    @property
    def odd(self) -> tuple[str, ...]:
        """Values that could not be used, one line each."""
        return odd_values(self.state)

    @property
    def key(self) -> str:
        """Unique in the project, the same for as long as the workflow lives."""
        return f"{self.format}:{self.path.stem}"

    @property
    def name(self) -> str:
        """The workflow's name."""
        return self.path.stem

    @property
    def branch(self) -> str | None:
        """The branch that the workflow belongs to."""
        return None

    @property
    def created_at(self) -> datetime | None:
        return None

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file itself states."""
        return None

    @property
    def changed_at(self) -> datetime:
        """When it was last touched: what it states, or the file's own time after an edit by hand."""
        edited = clock.from_mtime(self.mtime)
        return max(edited, self.last_activity or edited)


K = TypeVar("K", bound=LoadedFile[Any])


class LazyFile(LoadedFile[D]):
    """A state file of which a row is known, with nothing odd. It is read when its state is asked for."""

    odd = ()

    def __init__(self, path: Path, mtime: float, row: object, read: Callable[[], Any]) -> None:
        self.__dict__.update(path=path, mtime=mtime, row=row, _read=read)

    @cached_property
    def _loaded(self) -> LoadedFile[D]:
        loaded = self.__dict__["_read"]()
        if isinstance(loaded, Unusable):  # it was changed a moment ago, and has no copy
            raise error_of(loaded)
        file: LoadedFile[D] = loaded
        return file

    @property
    def raw(self) -> bytes:
        return self._loaded.raw

    @property
    def state(self) -> D:
        return self._loaded.state


@dataclass(frozen=True)
class Unusable:
    """A file in the states' folder without a usable state."""

    path: Path
    reason: str
    # Somebody else's; with a wrong field; no JSON; not there although it should be.
    kind: Literal["foreign", "wrong", "broken", "missing"]
    out_of_reach: bool = False

    @property
    def is_ours(self) -> bool:
        return self.kind != "foreign"


def error_of(file: LoadedFile[Any] | Unusable) -> StateUnreadable:
    """The error for a command that needs *file*, which cannot be used as it stands."""
    reason = file.reason if isinstance(file, Unusable) else file.problems[0]
    return (StateOutOfReach if file.out_of_reach else StateUnreadable)(file.path, reason)


@dataclass(frozen=True, eq=False)
class FileKind(Generic[D, K]):
    """A kind of state file: what it is called, its model, and what it is read as."""

    what: str  # "the state of a skill"
    model: type[D]
    loaded: type[K]
    has_shape: Callable[[object], bool]
    # Where a state says when its run began: names are used again, and a copy may be of another run.
    began: str = ""
    # Where rows are kept of such files: a NamedTuple of JSON values, and what stands for a file that is
    # known by one. What is read has its row as well.
    row: type[Any] | None = None
    lazy: type[LazyFile[Any]] | None = None
    # Fields that a state has; what has all of them but one is meant as a state.
    key_fields: tuple[str, ...] = ()

    def lacking(self, data: Mapping[str, Any]) -> str:
        """Which field *data* lacks to be a state; empty where it is one, or not meant as one."""
        absent = [name for name in self.key_fields if name not in data]
        return absent[0] if len(absent) == 1 else ""

    def read(self, store: Store, path: Path) -> K | Unusable:
        """What *path* holds; where it cannot be read, its last good copy."""
        if not store.holds(path):
            return Unusable(path, "leads outside the project", "foreign")
        try:
            raw, mtime, data = store.read_json(path)
        except StateOutOfReach as error:
            found = self.from_copy(store, path, (error.reason,), {})
            return replace(found, out_of_reach=True)
        except StateUnreadable as error:
            return self.from_copy(store, path, (error.reason,), None)
        if not isinstance(data, dict) or not self.has_shape(data):
            if store.copies(path) is not None:
                return self.from_copy(store, path, (f"not {self.what} any more",), None)
            lacking = self.lacking(data) if isinstance(data, dict) else ""
            if lacking:
                return Unusable(path, f"not {self.what}: it has no {lacking}", "wrong")
            return Unusable(path, f"not {self.what}", "foreign")
        try:
            return self.load(store, path, raw, mtime, data)
        except ValidationError as error:
            return self.from_copy(store, path, problems_of(error), data)

    def load(
        self, _: Store, path: Path, raw: bytes, mtime: float, data: dict[str, Any]
    ) -> K | Unusable:
        """The file at *path*, which holds *data*; or ValidationError."""
        return self.loaded(path, raw, mtime, self.model.of_json(data))

    def parse(self, raw: bytes, context: Any = None) -> D:
        """The state in *raw*, or ValueError; *context* as in `Document.of_json`."""
        data = decode_json(raw)
        if not isinstance(data, dict) or not self.has_shape(data):
            raise ValueError(f"not {self.what}")
        return self.model.of_json(data, context)

    def from_copy(
        self, store: Store, path: Path, problems: tuple[str, ...], data: dict[str, Any] | None
    ) -> K | Unusable:
        """The last good copy; *data* is what the file says where that is JSON, or out of reach."""
        copies, broken = store.copies(path), data is None
        good = self.good_copy(copies)
        if copies is None or good is None or (data and not self._is_of_run(data, good)):
            return Unusable(path, problems[0], "broken" if broken else "wrong")
        return self.loaded(path, copies.good, copies.mtime, good, problems, broken)

    def _is_of_run(self, data: object, good: D) -> bool:
        """Whether *data*, which cannot be used as it stands, is of the run that *good* is of."""
        known: object = good.source if self.began else None
        for name in self.began.split("."):
            data = data.get(name) if isinstance(data, Mapping) else None
            known = known.get(name) if isinstance(known, Mapping) else None
        return data is None or data == known or (moment(data) or data) == moment(known)

    def good_copy(self, copies: Copies | None) -> D | None:
        """The state in *copies*, if there is one."""
        try:
            return self.parse(copies.good) if copies else None
        except ValueError:
            return None


def unreadable(
    store: Store, loaded: Iterable[LoadedFile[Any]], unusable: Sequence[Unusable]
) -> list[str]:
    """Warnings about files that could not be read, one line each."""
    lines = []
    for file in loaded:
        if file.problems:
            more = f" and {len(file.problems) - 1} more" if len(file.problems) > 1 else ""
            lines.append(
                f"{store.relative(file.path)} could not be read ({file.problems[0]}{more}); "
                f"{file.instead} is used"
            )
    return lines + [
        f"{store.relative(file.path)} could not be read: {file.reason}"
        + ("" if file.kind == "missing" else "; correct it, or begin the workflow anew")
        for file in unusable
        if file.is_ours
    ]


class Entry(Protocol):
    """One workflow on disk: a LoadedFile, or a format's combination of several files."""

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> Path: ...
    @property
    def state(self) -> Any: ...
    @property
    def mtime(self) -> float: ...
    @property
    def branch(self) -> str | None: ...
    @property
    def created_at(self) -> datetime | None: ...
    @property
    def changed_at(self) -> datetime: ...


E = TypeVar("E", bound=Entry)
F = TypeVar("F", bound="Found[Any]")


class Found(Generic[E]):
    """All that lies there, as one look saw it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.entries: list[E] = []
        self.unusable: list[Unusable] = []
        self.copied: Mapping[str, float] = {}  # when which file was copied, once that was looked at

    def add(self, entry: E | Unusable) -> None:
        if isinstance(entry, Unusable):
            self.unusable.append(entry)
        else:
            self.entries.append(entry)

    def find(self, key: str) -> E | None:
        return next((entry for entry in self.entries if entry.key == key), None)

    @cached_property
    def ignored(self) -> Collection[str]:
        """Keys of the workflows that somebody wants to be left alone."""
        return ledger.load(self.place.store).ignored


class Looking(ABC, Generic[E, F]):
    """The part of a format that looks. A format says where its files lie and what they are read as."""

    name: str
    folders: tuple[str, ...]  # below the root, where its states are kept
    kind: FileKind[Any, Any]  # of its files; not where a format reads and writes them otherwise
    found_type: type[F] = Found  # type: ignore[assignment]  # what a look gives back

    def paths(self, store: Store) -> Iterable[Path]:
        """All files that may be states, in the order of their names."""
        for folder in self.folders:
            yield from files_in(store, store.root / folder, ".json")

    def units(self, store: Store) -> Iterable[Path]:
        """What is read as one workflow each: the files, unless a workflow has several."""
        return self.paths(store)

    def read(self, store: Store, path: Path) -> E | Unusable:
        """The workflow at *path*; where that cannot be read, its last good copy."""
        entry: E | Unusable = self.kind.read(store, path)
        return entry

    def files(self, entry: E) -> Sequence[LoadedFile[Any]]:
        """The files of *entry* that could be read."""
        return [entry] if isinstance(entry, LoadedFile) else []

    def entries(self, place: Place) -> Iterator[E | Unusable]:
        """All entries of the format, one by one; files that the row cache knows are not read."""
        return self.entries_at(place, self.units(place.store))

    def entries_at(self, place: Place, paths: Iterable[Path]) -> Iterator[E | Unusable]:
        """The entries at *paths*, one by one; files that the row cache knows are not read."""
        store, rows, inside = place.store, place.rows, dict[Path, bool]()
        kind = cast(Any, self.kind)
        for path in paths:
            if path.parent not in inside:
                # A row says nothing of where the folder leads now.
                inside[path.parent] = store.holds(path.parent)
            name = store.relative(path)
            fingerprint = self.fingerprint(store, path) if inside[path.parent] else None
            if fingerprint and (facts := rows.recall(name, fingerprint)) is not None:
                read = partial(self.read, store, path)
                yield kind.lazy(path, mtime_of(fingerprint), kind.row(*facts), read)
                continue
            entry = self.read(store, path)
            is_plain = isinstance(entry, LoadedFile) and not (entry.problems or entry.odd)
            if kind.row and is_plain:
                rows.note(name, fingerprint, cast(Any, entry).row)
            yield entry

    def look(self, place: Place) -> F:
        """All that lies there."""
        found = self.found_type(place)
        for entry in self.entries(place):
            found.add(entry)
        return found

    def fingerprint(self, store: Store, path: Path) -> fingerprints.Fingerprint:
        """What shows that the workflow at *path* has changed; None for a link, or without rows."""
        status = store.inputs.stat(path, follow=False) if self.kind.row else None
        if status is None or stat.S_ISLNK(status.st_mode):
            return None
        return fingerprints.numbers(status)

    def is_shown(self, entry: E | Unusable) -> bool:
        """Whether *entry* makes the folder that it lies in the root of a project."""
        return not isinstance(entry, Unusable) or entry.is_ours

    def present(self, place: Place) -> bool:
        """Whether the root declares or holds a workflow of this format; found out with the first."""
        return any(self.is_shown(entry) for entry in self.entries(place))


def untouched(entry: Entry, place: Place) -> timedelta:
    """For how long nobody has worked on *entry*."""
    return place.now - min(entry.changed_at, place.now)


def standing_by_age(entry: Entry, place: Place) -> tuple[Standing, str]:
    """Active, or stale and for how long."""
    age = untouched(entry, place)
    stale = age > timedelta(days=place.settings.stale_days)
    return ("stale", f"untouched for {age.days} days") if stale else ("active", "")


def files_in(store: Store, folder: Path, ending: str) -> list[Path]:
    """The files in *folder* that have the *ending*, by their names."""
    names = sorted(entry.name for entry in store.entries(folder))
    return [folder / name for name in names if name.endswith(ending)]

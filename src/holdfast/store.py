"""The only writer of state, and what makes it durable.

Rule 1: a write is whole or absent. The bytes go to a temporary file that is synced and then
        renamed over the target, and the folder is synced after it. Nobody ever sees half a state,
        whether the process is killed or the disk is full.
Rule 2: who writes has read inside the lock. There is one lock a project, an operating system lock,
        so it is gone with its owner.
Rule 3: nothing is written through what lies at the target: a rename replaces a symlink and leaves
        the file that it pointed at alone. A folder that leads outside the project is refused.
Rule 4: what cannot be read is moved aside, never deleted, and the last good copy is at hand.

All that is Holdfast's own lies in .claude/holdfast/, which only its owner can read and which git
ignores, so that no glob, find or rm -rf of a workflow's folder meets it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from holdfast.appending import APPENDING, add
from holdfast.atomic import patiently, remove_scraps, replace_file, sync_folder
from holdfast.digests import digest
from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.locking import locked
from holdfast.openflags import NO_LINK, NO_WAIT
from holdfast.project import contains
from holdfast.regular import read_file, read_json
from holdfast.versions import left_alone_in, stamped

PRIVATE = ".claude/holdfast"
COPIES = f"{PRIVATE}/copies"
HOOK_WAIT = 2.0
COMMAND_WAIT = 30.0
LARGEST = 5 * 1024 * 1024
_MOST_COPIED = 6 * LARGEST  # bytes of copies that are looked through at once


class Copies(NamedTuple):
    """What we last wrote to a state file, and what was there before its content last changed."""

    path: str  # relative to the root, with forward slashes
    good: str
    previous: str | None
    mtime: float = 0.0  # when the copy was made


class Store:
    """Reads and writes below one project root."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.private = self.root / PRIVATE
        self._copies = str(self.root / COPIES)

    @contextlib.contextmanager
    def lock(self, wait: float) -> Iterator[None]:
        """Hold the project's lock, or raise StateLocked after *wait* seconds."""
        self._prepare()
        with locked(self.private / "lock", wait):
            self._clear_up()
            yield

    def _prepare(self) -> None:
        """Make our own folder: 0700, with a .gitignore of everything."""
        ignore = self.private / ".gitignore"
        self._contained(self.private / "tmp")
        if (self.private / "lock").is_symlink():
            raise StateUnwritable(self.private / "lock", "it is a link")
        try:
            self.private.parent.mkdir(exist_ok=True)
            self.private.mkdir(mode=0o700, exist_ok=True)
            if stat.S_IMODE(self.private.stat().st_mode) & 0o077:  # it came with a clone
                self.private.chmod(0o700)
            (self.private / "tmp").mkdir(exist_ok=True)
            if not ignore.exists():
                replace_file(str(ignore), b"*\n", mode=0o600)
        except OSError as error:
            raise StateUnwritable(self.private, error.strerror or str(error)) from error

    def _clear_up(self) -> None:
        """Remove what was being written by somebody who was killed: nobody else writes in the lock."""
        folder = self.private / "tmp"
        with contextlib.suppress(OSError):
            if os.unlink not in os.supports_dir_fd:
                remove_scraps(str(folder))
                return
            # By the open folder, so that a link which takes its place meanwhile leads nowhere.
            descriptor = os.open(folder, os.O_RDONLY | NO_LINK | NO_WAIT)
            try:
                remove_scraps(descriptor)
            finally:
                os.close(descriptor)

    def holds(self, path: Path) -> bool:
        """Whether *path*, wherever links lead it, lies in the project."""
        try:
            return contains(str(self.root), os.path.realpath(path))
        except OSError:  # of a link that is no link any more
            return False

    def is_own(self, folder: str | Path) -> bool:
        """Whether *folder*, of our own, lies where its path says.

        A clone may have a link in its place, to what is somebody else's to change and to remove.
        """
        above = os.path.realpath(self.private.parent)
        if not contains(str(self.root), above):
            return False
        inside = os.path.relpath(folder, self.private.parent)
        return os.path.realpath(folder) == os.path.join(above, inside)

    def is_direct(self, folder: Path) -> bool:
        """Whether no link below the root leads to *folder*, so that what is in it is what its path says."""
        return os.path.realpath(folder) == str(folder)

    def _contained(self, folder: Path) -> None:
        if not self.holds(folder):
            raise StateUnwritable(folder, "it leads outside the project")
        if contains(str(self.private), str(folder)) and not self.is_own(folder):
            raise StateUnwritable(folder, "a link leads there")

    def relative(self, path: Path) -> str:
        # As text where that will do: a project may have thousands of states.
        start, text = f"{self.root}{os.sep}", str(path)
        if text.startswith(start):
            return text[len(start) :].replace(os.sep, "/")
        return path.relative_to(self.root).as_posix()

    def write(self, path: Path, data: bytes, mode: int | None = None) -> None:
        """Write *data* to *path* below the root; to be called inside the lock.

        Without a *mode* the file keeps its own.
        """
        self._contained(path.parent)
        private = self.private in path.parents
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if mode is None:
                mode = 0o600 if private else _mode_for(path)
            replace_file(str(path), data, mode=mode, staging=str(self.private / "tmp"))
        except OSError as error:
            raise StateUnwritable(path, error.strerror or str(error)) from error

    def append(self, path: Path, lines: bytes) -> None:
        """Add whole *lines* at the end of *path*; to be called inside the lock.

        A line before them that somebody was killed in the middle of is ended first.
        """
        self._contained(path.parent)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            descriptor = os.open(path, os.O_RDWR | APPENDING, 0o666)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise StateUnwritable(path, "not a regular file")
                if os.lseek(descriptor, 0, os.SEEK_END):
                    os.lseek(descriptor, -1, os.SEEK_END)
                    lines = lines if os.read(descriptor, 1) == b"\n" else b"\n" + lines
                if not add(descriptor, lines):
                    raise StateUnwritable(path, "there was room for a part of it only")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                sync_folder(str(path.parent))
        except OSError as error:
            raise StateUnwritable(path, error.strerror or str(error)) from error

    def make_folder(self, folder: Path) -> None:
        """Make *folder* below the root, for tools that expect it to be there."""
        self._contained(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateUnwritable(folder, error.strerror or str(error)) from error

    def remove(self, path: Path, *, folder_too: bool = True) -> None:
        """Delete our own state file *path*, and its folder if that is then empty."""
        self._contained(path.parent)
        try:
            patiently(lambda: path.unlink(missing_ok=True))
        except OSError as error:
            raise StateUnwritable(path, error.strerror or str(error)) from error
        if folder_too:
            with contextlib.suppress(OSError):
                path.parent.rmdir()

    # Copies of one state file: the last good one, and the one before for undo.

    @staticmethod
    def _copies_name(relative: str) -> str:
        name = relative.replace("%", "%25").replace("/", "%2F")
        if len(os.fsencode(name)) > 240:
            name = digest(os.fsencode(relative))
        return name

    def _copies_file(self, path: Path) -> str:
        return os.path.join(self._copies, self._copies_name(self.relative(path)))

    def copies(self, path: Path) -> Copies | None:
        copies = self._copies_file(path)
        return _read_copies(copies) if self.is_own(self._copies) else None

    def copies_left_alone(self, path: Path) -> str:
        """What to say of copies of *path* that a newer Holdfast has made."""
        name = self._copies_name(self.relative(path))
        where = os.path.join(self._copies, name)
        return left_alone_in("copies", where, f"{COPIES}/{name}")

    def copied_since(self, path: Path, mtime: float) -> bool:
        """Whether the copy of *path* is not older than *mtime*."""
        try:
            return os.stat(self._copies_file(path)).st_mtime >= mtime
        except OSError:
            return False

    def has_copies_in(self, places: Sequence[str]) -> set[str]:
        """Those of *places* that there are copies of, or that hold files that there are copies of."""
        try:
            names = os.listdir(self._copies) if self.is_own(self._copies) else []
        except OSError:
            return set()
        mangled = {place: self._copies_name(place) for place in places}
        begins = tuple(mangled.values())
        names = [name for name in names if name.startswith(begins)]
        return {
            place
            for place, own in mangled.items()
            if any(name.startswith(own) and name[len(own) :][:3] in {"", "%2F"} for name in names)
        }

    def copied_at(self, place: str) -> dict[str, float]:
        """When the copies of the files in the folder *place* were made, by the whole paths of the files."""
        own, begins = self._copies_name(place), self._copies_name(f"{place}/")
        times: dict[str, float] = {}
        if not self.is_own(self._copies):
            return times
        with contextlib.suppress(OSError), os.scandir(self._copies) as entries:
            for entry in entries:
                if entry.name == own or entry.name.startswith(begins):
                    path = entry.name.replace("%2F", os.sep).replace("%25", "%")
                    with contextlib.suppress(OSError):
                        times[path] = os.stat(entry.path).st_mtime
        root = os.path.join(self.root, "")
        # Hardly any has dots to look at, and there may be thousands.
        return {
            f"{root}{path}": at for path, at in times.items() if ".." not in path or _is_below(path)
        }

    def all_copies(self) -> Iterator[Copies]:
        """One after the other, as far as they are not too much together: they lie in the project."""
        folder = self.private / "copies"
        if not self.is_own(folder):
            return
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return
        left = _MOST_COPIED
        for name in names:
            with contextlib.suppress(OSError):
                left -= os.stat(folder / name).st_size
            if left < 0:
                return
            copies = _read_copies(str(folder / name))
            # One that is not what its own name says proves nothing.
            if (
                copies
                and _is_below(copies.path)
                and _same_name(self._copies_name(copies.path), name)
            ):
                yield copies

    def keep(self, path: Path, good: bytes, previous: bytes | None) -> None:
        """Note *good* as what *path* now holds, and *previous* as what undo goes back to."""
        if self.copies_left_alone(path):
            return
        relative = self.relative(path)
        record = {
            "path": relative,
            "good": good.decode("utf-8", "replace"),
            "previous": None if previous is None else previous.decode("utf-8", "replace"),
        }
        text = json.dumps(stamped("copies", record), ensure_ascii=False)
        encoded = text.encode("utf-8", "replace")
        self.write(Path(self._copies_file(path)), encoded)

    def forget(self, path: Path) -> None:
        if self.copies_left_alone(path) or not self.is_own(self._copies):
            return
        with contextlib.suppress(OSError):
            os.unlink(self._copies_file(path))

    def set_aside(self, path: Path, stamp: str, *, move: bool) -> Path:
        """Keep what lies at *path* in quarantine; *move* takes it out of the way as well."""
        target = self._free(self.private / "quarantine", stamp, path.name)
        self._contained(path.parent)
        self._contained(target.parent)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if move:
                patiently(lambda: os.replace(path, target))
                return target
        except OSError as error:
            raise StateUnwritable(target, error.strerror or str(error)) from error
        self.write(target, read_file(path, LARGEST)[0])
        return target

    def archive(self, name: str, stamp: str, data: bytes) -> Path:
        """Keep the last state of a workflow that has ended."""
        target = self._free(self.private / "archive", stamp, name)
        self.write(target, data)
        return target

    def archive_folder(self, folder: Path, stamp: str, last: str) -> Path:
        """Move *folder* of our own into the archive, whole; its file *last* is the last to go."""
        target = self._free(self.private / "archive", stamp, folder.name)
        self._contained(folder.parent)
        self._contained(target.parent)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            patiently(lambda: os.replace(folder, target))
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise StateUnwritable(target, error.strerror or str(error)) from error
            self._archive_across(folder, target, last)
        return target

    @staticmethod
    def _archive_across(folder: Path, target: Path, last: str) -> None:
        """The same where the archive lies on another file system."""
        import shutil  # noqa: PLC0415  # hooks have no use for it

        try:
            shutil.copytree(folder, target, symlinks=True)
            for path in (each for each in folder.iterdir() if each.name != last):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            shutil.rmtree(folder)
        except OSError as error:
            raise StateUnwritable(folder, error.strerror or str(error)) from error

    @staticmethod
    def _free(folder: Path, stamp: str, name: str) -> Path:
        tail = name.encode("utf-8", "surrogateescape")[-180:].decode("utf-8", "ignore")
        target, count = folder / f"{stamp}-{tail}", 1
        while os.path.lexists(target):
            count += 1
            target = folder / f"{stamp}-{count}-{tail}"
        return target


def _same_name(name: str, other: str) -> bool:
    # macOS may give a name back with its accents taken apart.
    return unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", other)


def _is_below(path: str) -> bool:
    """Whether *path* stays below the folder that it is joined to, on every system."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate that no file name can hold
        return False
    windows = PureWindowsPath(path)
    return not windows.anchor and ".." not in windows.parts


def _mode_for(path: Path) -> int:
    """The mode that the file has, else what the umask leaves of 0666."""
    try:
        return stat.S_IMODE(os.lstat(path).st_mode) if not path.is_symlink() else 0o600
    except OSError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask


def _read_copies(path: str) -> Copies | None:
    try:
        record = read_json(path, 3 * LARGEST, follow=False)
        mtime = os.stat(path).st_mtime
    except (StateUnreadable, OSError):
        return None
    match record:
        case {"path": str(where), "good": str(good), "previous": str() | None as previous}:
            return Copies(where, good, previous, mtime)
    return None

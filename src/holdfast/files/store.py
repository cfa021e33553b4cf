"""The only writer of state, and what makes it durable.

Rule 1: a write is whole or absent. The bytes go to a temporary file that is flushed to disk and
        then renamed over the target. Nobody ever sees half a state, whether the process is killed or the
        disk is full. A flush takes milliseconds, so each folder is flushed once, before the lock is released.
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
import time
import unicodedata
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from filelock import FileLock, Timeout

from holdfast.errors import AnyPath, StateChanged, StateLocked, StateUnreadable, StateUnwritable
from holdfast.files.atomic import (
    APPENDING,
    add,
    flush_folder,
    patiently,
    remove_scraps,
    replace_file,
    torn_line_end,
)
from holdfast.files.fingerprints import digest
from holdfast.files.inputs import UNRECORDED, Inputs
from holdfast.files.ownjson import newer_version_warning_in, stamped
from holdfast.files.regular import contains, read_file, read_json, read_settled_json

PRIVATE = ".claude/holdfast"
COPIES = f"{PRIVATE}/copies"
HOOK_WAIT = 2.0
LATER_WAIT = 5.0  # of a hook that nobody waits for
COMMAND_WAIT = 30.0
LARGEST = 5 * 1024 * 1024
_MOST_COPIED = 6 * LARGEST  # bytes of copies that are looked through at once

_POLL = 0.01  # seconds between two attempts to get the lock
_SOON = 10.0  # seconds for which a lock that was waited for in vain is not waited for again
_given_up: dict[str, tuple[float, float]] = {}  # such locks: when it gave up, after how long


@contextlib.contextmanager
def locked(path: AnyPath, wait: float) -> Iterator[None]:
    """Hold the lock at *path*, or raise StateLocked after *wait* seconds.

    It is filelock's: the operating system releases it with its owner, and the file is never deleted.
    A hook takes the lock more than once. It waits in vain only once: right afterwards it only tries.
    """
    key = os.path.abspath(path)
    gave_up, waited = _given_up.get(key, (-_SOON, 0.0))
    in_vain = time.monotonic() - gave_up < _SOON and waited >= wait
    lock = FileLock(path, timeout=0 if in_vain else wait, poll_interval=_POLL)
    try:
        lock.acquire()
    except Timeout as error:
        if not in_vain:
            _given_up[key] = (time.monotonic(), wait)
        raise StateLocked(path, wait) from error
    except OSError as error:
        raise StateUnwritable(path, error.strerror or str(error)) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def changing(path: AnyPath) -> Iterator[None]:
    """StateUnwritable, with what the system says, where *path* cannot be changed."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        above = Path(os.fspath(path)).parents
        there = next((folder for folder in above if os.path.lexists(folder)), above[0])
        if isinstance(error, (NotADirectoryError, FileExistsError)) and not there.is_dir():
            reason = f"{there} is not a folder"
        raise StateUnwritable(path, reason) from error


def remove(path: str | Path, above: int = 0, *, folder: bool = False) -> None:
    """Delete the file at *path* if there is one, or the *folder* with all that is in it; or StateUnwritable.

    So many folders *above* it go as well, as far as they are empty then.
    """
    path = Path(path)
    with changing(path):
        if folder:
            import shutil  # noqa: PLC0415  # hooks have no use for it

            shutil.rmtree(path)
        else:
            patiently(lambda: path.unlink(missing_ok=True))
    with contextlib.suppress(OSError):  # something else is in it
        for parent in list(path.parents)[:above]:
            parent.rmdir()


class Copies(NamedTuple):
    """What we last wrote to a state file, and what was there before its content last changed."""

    path: str  # relative to the root, with forward slashes
    good: bytes
    previous: bytes | None
    mtime: float = 0.0  # when the copy was made


class Store:
    """Reads and writes below one project root; what it looks at is noted in *inputs*."""

    def __init__(self, root: str | Path, inputs: Inputs = UNRECORDED) -> None:
        self.inputs = inputs
        self.root = Path(inputs.real_path(root))
        self.private = self.root / PRIVATE
        self._copies = str(self.root / COPIES)
        self._unflushed: set[Path] = set()  # folders in which something was written

    @contextlib.contextmanager
    def lock(self, wait: float) -> Iterator[None]:
        """Hold the project's lock, or raise StateLocked after *wait* seconds."""
        lock = self.private / "lock"
        self._prepare(lock)
        with locked(lock, wait):
            with contextlib.suppress(OSError):  # nobody else writes there now
                remove_scraps(str(self.private / "tmp"))
            yield
            self.flush()

    def _prepare(self, lock: Path) -> None:
        """Make our own folder: 0700, with a .gitignore of everything."""
        ignore = self.private / ".gitignore"
        self._contained(self.private / "tmp")
        with changing(self.private):
            if lock.is_symlink():
                raise StateUnwritable(lock, "it is a link")
            self.private.parent.mkdir(exist_ok=True)
            self.private.mkdir(mode=0o700, exist_ok=True)
            if stat.S_IMODE(self.private.stat().st_mode) & 0o077:  # it came with a clone
                self.private.chmod(0o700)
            (self.private / "tmp").mkdir(exist_ok=True)
            if not ignore.exists():
                replace_file(str(ignore), b"*\n", mode=0o600)

    def holds(self, path: Path) -> bool:
        """Whether *path*, wherever links lead it, lies in the project."""
        try:
            return contains(str(self.root), self.inputs.real_path(path))
        except (OSError, ValueError):  # a link that is none any more; a name that no file can have
            return False

    def is_own(self, folder: str | Path) -> bool:
        """Whether *folder*, of our own, lies where its path says.

        A clone may have a link in its place, to what is somebody else's to change and to remove.
        """
        above = self.inputs.real_path(self.private.parent)
        if not contains(str(self.root), above):
            return False
        inside = os.path.relpath(folder, self.private.parent)
        return self.inputs.real_path(folder) == os.path.join(above, inside)

    def is_direct(self, folder: Path) -> bool:
        """Whether *folder* lies in the project by its real path: no link below the root leads to it."""
        return self.inputs.real_path(folder) == str(folder)

    # Looking. Formats look at the disk through these and `inputs` alone, so that it is known what they looked at.

    def entries(self, folder: str | Path) -> list[os.DirEntry[str]]:
        """What lies in *folder*, nothing where there is none; see `regular.entries`."""
        return self.inputs.entries(folder)

    def exists(self, path: str | Path) -> bool:
        """Whether anything lies at *path*, even a link that leads nowhere."""
        return self.inputs.exists(path)

    def read(self, path: str | Path, limit: int = LARGEST) -> tuple[bytes, float]:
        """The bytes of a regular file in the project and its mtime, or StateUnreadable."""
        return self.inputs.read_file(path, limit, within=self.root)

    def read_json(
        self, path: str | Path, limit: int = LARGEST, *, wait: bool = True
    ) -> tuple[bytes, float, object]:
        """Bytes, mtime and JSON of a regular file in the project; with *wait*, once its writer is done."""
        self.inputs.about_to_read(path, self.root)
        return read_settled_json(path, limit, within=self.root, wait=wait)

    def _contained(self, folder: Path) -> None:
        if not self.holds(folder):
            raise StateUnwritable(folder, "it leads outside the project")
        if contains(str(self.private), str(folder)) and not self.is_own(folder):
            raise StateUnwritable(folder, "a link leads there")

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Check and make the folder of *path*, in which something is then written."""
        self._contained(path.parent)
        with changing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield

    def write(
        self, path: Path, data: bytes, mode: int | None = None, expected: bytes | None = None
    ) -> None:
        """Write *data* to *path* below the root; to be called inside the lock.

        Without a *mode* the file keeps its own. StateChanged where it does not hold what is *expected*:
        agents write without the lock.
        """
        with self._writing(path):
            if mode is None:
                mode = 0o600 if self.private in path.parents else _mode_for(path)
            staging, rename = str(self.private / "tmp"), None
            if expected is not None and not path.is_symlink():
                rename = partial(_rename_over, expected)
            replace_file(str(path), data, mode=mode, staging=staging, rename=rename)
        self._unflushed.add(path.parent)

    def flush(self) -> None:
        """Have the disk know of all that was written."""
        while self._unflushed:
            folder = self._unflushed.pop()
            with changing(folder), contextlib.suppress(FileNotFoundError):  # it was removed since
                flush_folder(str(folder))

    def append(self, path: Path, lines: bytes) -> None:
        """Add whole *lines* at the end of *path*; to be called inside the lock."""
        with self._writing(path):
            is_new = not path.exists()
            descriptor = os.open(path, APPENDING, 0o666)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise StateUnwritable(path, "not a regular file")
                if not add(descriptor, torn_line_end(descriptor) + lines):
                    raise StateUnwritable(path, "there was room for a part of it only")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                self._unflushed.add(path.parent)

    def make_folder(self, folder: Path) -> None:
        """Make *folder* below the root, for tools that expect it to be there."""
        self._contained(folder)
        with changing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def remove(self, path: Path, above: int = 0) -> None:
        """Delete our own file *path*; see `remove`."""
        self._contained(path.parent)
        remove(path, above)

    # Copies of one state file: the last good one, and the one before for undo.

    @staticmethod
    def _copies_name(relative: str) -> str:
        name = relative.replace("%", "%25").replace("/", "%2F")
        return name if len(os.fsencode(name)) <= 240 else digest(os.fsencode(relative))

    def _copies_file(self, path: Path) -> str:
        return os.path.join(self._copies, self._copies_name(self.relative(path)))

    def _copies_names(self) -> list[str]:
        """The names of all. They come there by a rename only, so that the folder tells of each change."""
        return self.inputs.names(self._copies) if self.is_own(self._copies) else []

    def _read_copies(self, path: str) -> Copies | None:
        self.inputs.note(self._copies, listed=True)
        try:
            record = read_json(path, 3 * LARGEST, follow=False)
            mtime = os.stat(path).st_mtime
        except (StateUnreadable, OSError):
            return None
        match record:
            case {"path": str(where), "good": str(good), "previous": str() | None as previous}:
                # A lone surrogate is in no copy that we have written.
                with contextlib.suppress(UnicodeEncodeError):
                    before = None if previous is None else previous.encode()
                    return Copies(where, good.encode(), before, mtime)
        return None

    def copies(self, path: Path) -> Copies | None:
        return self._read_copies(self._copies_file(path)) if self.is_own(self._copies) else None

    def newer_copies_warning(self, path: Path) -> str:
        """What to say of copies of *path* that a newer Holdfast has made."""
        self.inputs.note(self._copies, listed=True)
        where = self._copies_file(path)
        return newer_version_warning_in(where, self.relative(Path(where)))

    def copied_since(self, path: Path, mtime: float) -> bool:
        """Whether the copy of *path* is not older than *mtime*."""
        self.inputs.note(self._copies, listed=True)
        try:
            return os.stat(self._copies_file(path)).st_mtime >= mtime
        except OSError:
            return False

    def has_copies_in(self, places: Sequence[str]) -> bool:
        """Whether there are copies of one of *places*, files or folders."""
        names = self._copies_names()
        return any(self._of_place(names, place) for place in places)

    def copied_at(self, place: str) -> dict[str, float]:
        """When the copies of the files in the folder *place* were made, by the whole paths of the files."""
        times: dict[str, float] = {}
        for name in self._of_place(self._copies_names(), place):
            path = name.replace("%2F", os.sep).replace("%25", "%")
            with contextlib.suppress(OSError):
                if _is_below(path):
                    copied = os.stat(os.path.join(self._copies, name))
                    times[os.path.join(self.root, path)] = copied.st_mtime
        return times

    def _of_place(self, names: Sequence[str], place: str) -> list[str]:
        own, begins = self._copies_name(place), self._copies_name(f"{place}/")
        return [name for name in names if name == own or name.startswith(begins)]

    def all_copies(self) -> Iterator[Copies]:
        """One after the other, as far as they are not too much together: they lie in the project."""
        left = _MOST_COPIED
        for name in sorted(self._copies_names()):
            path = os.path.join(self._copies, name)
            with contextlib.suppress(OSError):
                left -= os.stat(path).st_size
            if left < 0:
                return
            copies = self._read_copies(path)
            if copies is None or not _is_below(copies.path):
                continue
            # One that is not what its own name says proves nothing. macOS may have taken accents apart in that.
            names = (self._copies_name(copies.path), name)
            if len({unicodedata.normalize("NFC", text) for text in names}) == 1:
                yield copies

    def keep(self, path: Path, good: bytes, previous: bytes | None) -> None:
        """Note *good* as what *path* now holds, and *previous* as what undo goes back to."""
        if self.newer_copies_warning(path):
            return
        record = {
            "path": self.relative(path),
            "good": good.decode("utf-8", "replace"),
            "previous": None if previous is None else previous.decode("utf-8", "replace"),
        }
        text = json.dumps(stamped(record), ensure_ascii=False)
        copy = Path(self._copies_file(path))
        self.write(copy, text.encode("utf-8", "replace"))

    def forget(self, path: Path) -> None:
        if self.newer_copies_warning(path) or not self.is_own(self._copies):
            return
        with contextlib.suppress(OSError):
            os.unlink(self._copies_file(path))

    def set_aside(self, path: Path, stamp: str, *, move: bool) -> Path:
        """Keep what lies at *path* in quarantine; *move* takes it out of the way as well."""
        self._contained(path.parent)
        target = self._free(self.private / "quarantine", stamp, path.name)
        if move:
            self._move(path, target)
        else:
            self.write(target, read_file(path, LARGEST)[0])
        return target

    def archive(self, name: str, stamp: str, data: bytes) -> Path:
        """Keep the last state of a workflow that has ended."""
        target = self._free(self.private / "archive", stamp, name)
        self.write(target, data)
        return target

    def archive_folder(self, folder: Path, stamp: str) -> Path:
        """Move *folder* of our own into the archive, whole."""
        self._contained(folder.parent)
        target = self._free(self.private / "archive", stamp, folder.name)
        self._move(folder, target)
        return target

    def _move(self, path: Path, target: Path) -> None:
        with self._writing(target):
            try:
                patiently(lambda: os.replace(path, target))
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                import shutil  # noqa: PLC0415  # hooks have no use for it

                shutil.move(path, target)  # it lies on another file system

    @staticmethod
    def _free(folder: Path, stamp: str, name: str) -> Path:
        tail = name.encode("utf-8", "surrogateescape")[-180:].decode("utf-8", "ignore")
        target, count = folder / f"{stamp}-{tail}", 1
        while os.path.lexists(target):
            count += 1
            target = folder / f"{stamp}-{count}-{tail}"
        return target


def _rename_over(expected: bytes, temporary: str, path: str) -> None:
    """Rename *temporary* over *path*; StateChanged unless that held what is *expected* until then."""
    # A second name of what is replaced, so that what somebody writes meanwhile can be put back.
    before = f"{temporary}-before"
    try:
        os.link(path, before)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise
        before = path  # deleted, or on a file system without hard links
    try:
        if os.path.exists(path) and os.path.samefile(before, path) and _holds(before, expected):
            os.replace(temporary, path)
            if before == path or _holds(before, expected):
                return
            os.replace(before, path)
    finally:
        for left in {temporary, before} - {path}:
            with contextlib.suppress(OSError):
                os.unlink(left)
    raise StateChanged(path)


def _holds(path: str, expected: bytes) -> bool:
    with open(path, "rb") as stream:
        return stream.read() == expected


def _is_below(path: str) -> bool:
    """Whether *path* stays below the folder that it is joined to, on every system."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate that no file name can hold
        return False
    windows = PureWindowsPath(path)
    return not windows.anchor and ".." not in windows.parts


def _mode_for(path: Path) -> int | None:
    """The mode that the file has; None for a new one, which gets what the umask leaves."""
    try:
        return stat.S_IMODE(os.lstat(path).st_mode) if not path.is_symlink() else 0o600
    except OSError:
        return None

"""What hooks saw a session do, one line each, until the next save folds it into what is kept.

One file a session, in the user's folder. Many hooks add to it at the same time, and a save may take
it away meanwhile, so:

Rule 1: who adds a line holds a shared lock on the file and has then seen that the file is still in
        place. Who takes the file renames it first and then waits until nobody holds that lock.
Rule 2: what was taken is removed only after it was saved. Who is killed in between leaves a file
        that the next save takes again, so a line may be folded twice; `observed` sees to it that
        twice is once.

It never holds what a tool printed, what was asked of an agent, or what stands in a file. Light; it
runs after every tool call.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from holdfast import appending, clock, jsonlines, project, sessions, settings
from holdfast.atomic import own_name, replace_file
from holdfast.errors import StateUnreadable
from holdfast.homes import file_of
from holdfast.openflags import NO_WAIT, make_private
from holdfast.project import Surroundings
from holdfast.regular import read_file
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

LONGEST_LINE = 4_000  # bytes
LARGEST = 1024 * 1024  # beyond it nothing is added until it is folded
_FOR_FILES = LARGEST * 3 // 4  # there are most of them, and they may not keep out how a check ended
_KIND: Kind = "journals"
_TAKEN = ".folding-"
_MOST_TAKEN = 3  # files whose saving failed
_PATIENCE = 1.0  # seconds for a line that is just being written


def wanted(surroundings: Surroundings, session: str | None) -> bool:
    """Whether *session* is to be observed: neither the user's nor the project's settings say no."""
    if not surroundings.state_dir or not session:
        return False
    folders = project.candidates(surroundings.cwd, surroundings.client_project)
    claim = sessions.recall(surroundings.state_dir, session)
    if claim and claim.root not in folders:
        folders.append(claim.root)
    own = [
        folder for folder in folders if os.path.lexists(os.path.join(folder, settings.PROJECT_FILE))
    ]
    for folder in (None, *own):
        configured = settings.load(folder, surroundings.config_file).settings
        if not configured.enabled or not configured.observe:
            return False
    return True


def note(
    surroundings: Surroundings, session: str | None, now: datetime, *records: Mapping[str, object]
) -> None:
    """Add a line for each record, if *session* is observed. What cannot be added is left out."""
    if not records or not wanted(surroundings, session):
        return
    path = _path(surroundings.state_dir, session)
    for record in records:
        line = jsonlines.encode(stamped(_KIND, {"at": clock.iso(now), **record}))
        if len(line) > LONGEST_LINE:
            continue
        with contextlib.suppress(OSError):
            if add(path, line, _FOR_FILES if "file" in record else LARGEST):
                sessions.prune(surroundings.state_dir or "", _KIND, now)


def add(path: str, line: bytes, most: int = LARGEST) -> bool:
    """Add *line* to the file that is at *path* when it is written; returns whether it is the first."""
    make_private(os.path.dirname(path))
    while True:
        descriptor = os.open(path, os.O_RDWR | appending.APPENDING, 0o600)
        try:
            _lock(descriptor, exclusive=False)
            size = os.fstat(descriptor).st_size
            if not _in_place(descriptor, path):  # taken since it was opened
                continue
            if size + len(line) <= most and not _of_newer(os.read(descriptor, LONGEST_LINE)):
                appending.add(descriptor, line)
            return size == 0
        finally:
            os.close(descriptor)


def waiting(state_dir: str | None, session: str | None) -> bool:
    """Whether there is anything to fold."""
    return bool(state_dir and session) and bool(_files(state_dir, session))


class Taken(NamedTuple):
    """Lines that are nobody else's to add to, and the files to remove once they are saved."""

    lines: Sequence[Mapping[str, object]]
    files: Sequence[str]

    def done(self) -> None:
        for path in self.files:
            with contextlib.suppress(OSError):  # then it is folded once more, which changes nothing
                os.unlink(path)


def take(state_dir: str | None, session: str | None) -> Taken:
    """Take what was noted of *session*, and what somebody took before and did not save."""
    if not state_dir or not session:
        return Taken((), ())
    path = _path(state_dir, session)
    # Where the rename fails, as it does under Windows while a line is written, the next save does it.
    with contextlib.suppress(OSError):
        # Where earlier ones could not be saved, what is new waits, so that they do not pile up.
        few = len(_files(state_dir, session)) <= _MOST_TAKEN
        if few and _lines_of(path) is not None:
            aside = f"{_TAKEN}{own_name()}"
            os.rename(path, path.removesuffix(".jsonl") + aside)
    lines: list[Mapping[str, object]] = []
    files = []
    for each in _files(state_dir, session):
        if each == path or not _settled(each):
            continue
        found = _lines_of(each)
        if found is not None:
            lines += found
            files.append(each)
    return Taken(lines, files)


def _lines_of(path: str) -> list[dict[str, object]] | None:
    """The lines of a file that may be taken: it is there, and none is of a newer Holdfast."""
    try:
        lines = jsonlines.parse(read_file(path, 2 * LARGEST)[0])
    except StateUnreadable:  # another save was quicker
        return None
    return None if any(is_newer(_KIND, line) for line in lines) else lines


def _of_newer(data: bytes) -> bool:
    """Whether a file that begins with *data* was begun by a newer Holdfast."""
    return any(is_newer(_KIND, line) for line in jsonlines.parse(data.partition(b"\n")[0]))


def belongs_to(state_dir: str | None, session: str | None) -> tuple[str, str] | None:
    """Root and key of the workflow that the session was on when its journal began."""
    if not state_dir or not session:
        return None
    for record in jsonlines.read(_begun(state_dir, session), LONGEST_LINE):
        match record:
            case _ if is_newer(_KIND, record):
                return None
            case {"root": str(root), "workflow": str(workflow)}:
                return root, workflow
    return None


def begin(state_dir: str | None, session: str | None, root: str, workflow: str) -> None:
    """What is noted from now on is of *workflow*."""
    if not state_dir or not session or belongs_to(state_dir, session) == (root, workflow):
        return
    path = _begun(state_dir, session)
    if left_alone_in(_KIND, path):
        return
    with contextlib.suppress(OSError):
        make_private(os.path.dirname(path))
        line = jsonlines.encode(stamped(_KIND, {"root": root, "workflow": workflow}))
        replace_file(path, line, mode=0o600)


def _begun(state_dir: str, session: str) -> str:
    return file_of(state_dir, _KIND, session, "of")


def peek(state_dir: str | None, session: str | None) -> list[Mapping[str, object]]:
    """What is noted of *session* and not folded yet; it stays there."""
    files = _files(state_dir, session) if state_dir and session else []
    lines = (line for path in files for line in jsonlines.read(path, 2 * LARGEST))
    return [line for line in lines if not is_newer(_KIND, line)]


def _path(state_dir: str | None, session: str | None) -> str:
    return file_of(state_dir or "", _KIND, session or "", "jsonl")


def _files(state_dir: str | None, session: str | None) -> list[str]:
    """The journal of *session*, and what was taken from it and not removed yet."""
    folder, begins = place_of(state_dir, session)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, each) for each in names if each.startswith(begins)]


def place_of(state_dir: str | None, session: str | None) -> tuple[str, tuple[str, str]]:
    """The folder in which `_files` lie, and what their names begin with."""
    folder, name = os.path.split(_path(state_dir, session))
    return folder, (name, name.removesuffix(".jsonl") + _TAKEN)


def _in_place(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _settled(path: str) -> bool:
    """Whether nobody writes to the renamed *path* any more."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT)
    except OSError:
        return False
    try:
        until = time.monotonic() + _PATIENCE
        while not _lock(descriptor, exclusive=True):
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        return True
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, exclusive: bool) -> bool:
    """Lock the file until it is closed: for adding a line, or to see that nobody does."""
    try:
        import fcntl  # noqa: PLC0415  # not on Windows, where an open file cannot be renamed
    except ImportError:
        return True
    how = fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True

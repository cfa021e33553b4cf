"""One append-only log a session: what hooks saw it do, sent it and asked of it, one JSON line each.

Rule 1: a line is added with a single write and never changed. Twelve hooks at once need no lock, and one that
        is killed leaves at most a torn line, which readers skip.
Rule 2: a log of more than 1 MB is rotated to `.1`, over the one before, and both are read; a late writer adds to `.1`.
        So at least the last megabyte counts, thousands of lines: what is older is forgotten.
Rule 3: nothing is added to the log of a newer Holdfast. Its first line has the version.

The log holds nothing of the conversation: not what a tool printed, what a file contains, or what a subagent was asked.
Standard library only: hooks of tool calls and the fast tier read and write it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence

from holdfast.config.homes import file_of
from holdfast.errors import StateUnreadable
from holdfast.files import atomic, ownjson
from holdfast.files.ownjson import is_newer, newer_version_warning_in, stamped
from holdfast.files.regular import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.config.project import Surroundings

RECORDS, LOGS = "sessions", "sessionlogs"  # apart, as answers depend on which sessions there are
LARGEST = 1024 * 1024  # then it is rotated
LONGEST_OBSERVED = 4_000  # bytes of a line
_MOST = 16 * LARGEST  # bytes of a file that are read
_FIRST_LINE = 200  # bytes in which the version stands
_KEPT_FOR = 30 * 24 * 3600  # seconds after the last use

# What a session works on, and what it was seen doing; see `workflows.activity`.
ON = "on"
OF_WORKFLOW = ("file", "check")
OF_SESSION = ("task", "agent", "listed", "todos", "restarted")
OBSERVED = (*OF_WORKFLOW, *OF_SESSION)
# What a restore delivered, and what happened since; see `restoring.delivery`.
DELIVERED, WITHDRAWN = "delivered", "withdrawn"
SINCE_DELIVERY = ("opened", "denied", "reminded")
OFFERED = "offered"  # to the person: a plan that nobody follows
# What comes between a compaction and the prompt that tells of it; see `agents.late`.
LATE = ("due", "told", "compaction", "transcript")

Line = Mapping[str, object]
# To be added later: the path of the log, the kind of the line, its fields.
LogLine = tuple[str, str, Mapping[str, object]]


def path_of(state_dir: str, session: str) -> str:
    return file_of(state_dir, LOGS, session, "jsonl")


def record_of(state_dir: str, session: str) -> str:
    """Where the record of *session* is; see `records.session`."""
    return file_of(state_dir, RECORDS, session, "json")


def is_known(state_dir: str | None, session: str | None) -> bool:
    """Whether there is a record of *session*, without reading it."""
    return bool(state_dir and session) and os.path.exists(record_of(state_dir or "", session or ""))


def newer_version_warnings(state_dir: str | None, session: str | None) -> list[str]:
    """A line for each file of *session* that a newer Holdfast has written."""
    if not state_dir or not session:
        return []
    paths = (record_of(state_dir, session), path_of(state_dir, session))
    return [found for found in map(newer_version_warning_in, paths) if found]


def line(kind: str, at: str, fields: Mapping[str, object]) -> bytes:
    """A line; readers look for its beginning."""
    return _encoded({"entry": kind, "at": at, **fields})


def later(
    state_dir: str | None, session: str | None, kind: str, fields: Mapping[str, object]
) -> list[LogLine]:
    """The line for the log of *session*, if it can have one, for `add_all`."""
    return [(path_of(state_dir, session), kind, fields)] if state_dir and session else []


def add_all(lines: Iterable[LogLine], at: str) -> list[str]:
    """Add *lines* to their logs; the paths of those that could not be added to."""
    return [path for path, kind, fields in lines if not add(path, line(kind, at, fields))]


def _encoded(record: Line) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a name of a file that is not UTF-8
        return json.dumps(record).encode() + b"\n"


def append(
    state_dir: str | None, session: str | None, entry: str, now: datetime, /, **fields: object
) -> bool:
    """Add a line to the log of *session*; whether it is there now."""
    if not state_dir or not session:
        return False
    from holdfast import clock  # noqa: PLC0415  # the fast tier formats the time itself

    return add(path_of(state_dir, session), line(entry, clock.iso(now), fields))


def add(path: str, lines: bytes) -> bool:
    """Add whole *lines* to the log at *path*; whether they are there."""
    with contextlib.suppress(OSError):  # there is none yet, or another process rotates it just now
        if os.path.getsize(path) > LARGEST and not newer_version_warning_in(path):
            atomic.rotate(path, LARGEST)
    try:
        atomic.make_private(os.path.dirname(path))
        descriptor = os.open(path, atomic.APPENDING, 0o600)
        try:
            begins = os.read(descriptor, _FIRST_LINE).partition(b"\n")[0]
            if any(map(is_newer, ownjson.parse(begins))):
                return False
            if begins:
                lines = atomic.torn_line_end(descriptor) + lines
            else:
                lines = ownjson.encode(stamped({"entry": "log", "id": atomic.own_name()})) + lines
            is_added = atomic.add(descriptor, lines)
        finally:
            os.close(descriptor)
    except OSError:
        return False
    if not begins:
        prune(os.path.dirname(os.path.dirname(path)))
    return is_added


def prune(state_dir: str) -> None:
    """Remove what belongs to sessions that have not been used for a month."""
    used: dict[str, float] = {}
    paths: dict[str, list[str]] = {}
    for folder in (os.path.join(state_dir, RECORDS), os.path.join(state_dir, LOGS)):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                session, path = name.partition(".")[0], os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError):  # another process was quicker
                    used[session] = max(used.get(session, 0.0), os.lstat(path).st_mtime)
                    paths.setdefault(session, []).append(path)
    oldest = time.time() - _KEPT_FOR
    for session, at in used.items():
        if at < oldest and not any(map(newer_version_warning_in, paths[session])):
            for path in paths[session]:
                with contextlib.suppress(OSError):
                    os.unlink(path)


# Reading.


def _file(path: str) -> tuple[str, bytes] | None:
    """Id and whole lines of the file at *path*; None where there is nothing that we know."""
    try:
        data, _ = read_file(path, _MOST)
    except StateUnreadable:
        return None
    first = (ownjson.parse(data[:_FIRST_LINE].partition(b"\n")[0]) or [{}])[0]
    return None if is_newer(first) else (str(first.get("id")), data[: data.rfind(b"\n") + 1])


def read(path: str) -> bytes:
    """All that counts in the rotated log and the log at *path*, as whole lines."""
    # The log first: where it is rotated in between, it is read twice and not passed over.
    log, rotated = _file(path), _file(f"{path}.1")
    same = log and rotated and log[0] == rotated[0]
    return b"".join(data for _, data in filter(None, (rotated, None if same else log)))


def _begins(kinds: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(b'{"entry": "%s", ' % kind.encode() for kind in kinds)


def parse(data: bytes, kinds: Iterable[str]) -> list[dict[str, object]]:
    """The lines of *kinds* in *data*; others are not even decoded."""
    begins = _begins(kinds)
    return ownjson.parse(b"\n".join(text for text in data.splitlines() if text.startswith(begins)))


def content(state_dir: str | None, session: str | None) -> bytes:
    """All that counts in the log of *session*, as whole lines."""
    return read(path_of(state_dir, session)) if state_dir and session else b""


def since_last(
    data: bytes, kinds: Sequence[str], more: Iterable[str] = ()
) -> list[dict[str, object]]:
    """The last line of one of *kinds* in *data*, and those of the kinds *more* after it."""
    begin = max(data.rfind(b"\n" + start) for start in _begins(kinds)) + 1
    return parse(data[begin:], (*kinds, *more)) if begin else []


def last(data: bytes, *kinds: str) -> dict[str, object]:
    """The last line of one of these *kinds* in *data*; empty where there is none."""
    return next(iter(since_last(data, kinds)), {})


def end(state_dir: str | None, session: str | None) -> tuple[str, int]:
    """Id and length of the log of *session*."""
    found = _file(path_of(state_dir, session)) if state_dir and session else None
    return (found[0], len(found[1])) if found else ("", 0)


def has_only(path: str, log: str, offset: int, kinds: Iterable[str]) -> bool:
    """Whether all that was added to *log* at *path* since that end are lines of *kinds*."""
    found = _file(path)
    if found is None or (log and found[0] != log):
        return found is None and not log
    begins = (*_begins(kinds), ownjson.encode(stamped({"entry": "log"})).rstrip(b"}\n"))
    return all(text.startswith(begins) for text in found[1][offset:].splitlines())


# Observed work.


def is_observed(here: Surroundings, session: str | None) -> bool:
    """Whether *session* is to be observed: neither the user's nor the project's settings say no."""
    if not here.state_dir or not session:
        return False
    from holdfast.config import project, settings  # noqa: PLC0415  # the fast tier needs none

    folders = project.candidates(here.cwd, here.client_project)
    root = root_of(here.state_dir, session) or None
    loaded = (settings.load(folder, here.config_file) for folder in {None, root, *folders})
    return all(found.settings.enabled and found.settings.observe for found in loaded)


def root_of(state_dir: str | None, session: str | None) -> str:
    """The root recorded for *session*, read without what validates the whole record."""
    records = ownjson.read(record_of(state_dir, session), _MOST) if state_dir and session else []
    return str(records[0].get("root", "")) if records else ""


def observe(here: Surroundings, session: str | None, now: datetime, *records: Line) -> None:
    """Add a line for each of *records*, if *session* is observed. Its first key is the kind."""
    if not records or not is_observed(here, session):
        return
    for record in records:
        if len(_encoded(record)) < LONGEST_OBSERVED:
            append(here.state_dir, session, next(iter(record)), now, **record)


def work_in(data: bytes) -> list[dict[str, object]]:
    """Edits and checks in *data*.

    Under "on" each has root and key of the workflow that the session was on, or came to next; None where it came to none.
    """
    on, found = None, list[dict[str, object]]()
    for record in parse(data, (ON, *OF_WORKFLOW)):
        if record["entry"] != ON:
            found.append({**record, "on": on})
        elif on := _on(record):
            found = [{**line, "on": line["on"] or on} for line in found]
    return found


def _on(record: Line) -> tuple[str, str] | None:
    match record:
        case {"root": str(root), "workflow": str(workflow)}:
            return root, workflow
    return None


def works_on(state_dir: str | None, session: str | None) -> tuple[str, str] | None:
    """Root and key of the workflow to which what is observed now belongs."""
    return _on(last(content(state_dir, session), ON))


def delivered_id(state_dir: str | None, session: str | None) -> str:
    """The id of what was delivered last; empty where nothing is."""
    return str(last(content(state_dir, session), DELIVERED, WITHDRAWN).get("id", ""))


def begin(
    state_dir: str | None, session: str | None, root: str, workflow: str, now: datetime
) -> None:
    """What is observed from now on belongs to *workflow*."""
    if works_on(state_dir, session) != (root, workflow):
        append(state_dir, session, ON, now, root=root, workflow=workflow)


def deliveries(state_dir: str | None, session: str | None) -> list[dict[str, object]]:
    """The last delivery and what came after it; what is rotated meanwhile may be there twice."""
    return since_last(content(state_dir, session), (DELIVERED, WITHDRAWN), SINCE_DELIVERY)


def withdraw(state_dir: str | None, session: str | None, now: datetime) -> None:
    """What was delivered to *session* counts no longer."""
    if last(content(state_dir, session), DELIVERED, WITHDRAWN).get("entry", WITHDRAWN) != WITHDRAWN:
        append(state_dir, session, WITHDRAWN, now)

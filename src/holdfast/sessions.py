"""Which session works on which workflow, and in which root: one small file a session.

Kept in the user's folder: a record in a repository could send a session to another's work.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
from datetime import datetime
from typing import NamedTuple

from holdfast import clock, versions
from holdfast.atomic import replace_file
from holdfast.errors import StateUnreadable
from holdfast.homes import file_of, note_heard
from holdfast.openflags import make_private
from holdfast.regular import read_json
from holdfast.versions import OF_A_SESSION, Kind, left_alone_in, stamped

_LARGEST = 64 * 1024
_A_DAY = 24 * 3600
_KEPT_FOR = 30 * _A_DAY  # seconds since the record was last used


class Claim(NamedTuple):
    """A session's root and the workflow that it owns, by writing to it or being restored into it."""

    session: str
    root: str
    workflow: str  # its key; empty when only the root is known
    at: str  # since when, ISO 8601
    declared: str  # the key that CLAUDE.local.md declared at that time; empty for none


def _path(state_dir: str, session: str) -> str:
    return file_of(state_dir, "sessions", session, "json")


def heard_in(state_dir: str, session: str) -> str:
    """An empty file whose time is when the session was heard of.

    The record itself stays as it is, since answers are prepared that follow from it.
    """
    return file_of(state_dir, "heard", session, "at")


def known(state_dir: str | None, session: str | None) -> bool:
    """Whether there is a record of *session*, without reading it."""
    return bool(state_dir and session) and os.path.exists(_path(state_dir or "", session or ""))


def recall(state_dir: str | None, session: str | None) -> Claim | None:
    """What is recorded of *session*."""
    if not state_dir or not session:
        return None
    claim = _load(_path(state_dir, session))
    return claim if claim and claim.session == session else None


def _load(path: str) -> Claim | None:
    try:
        record = read_json(path, _LARGEST)
    except StateUnreadable:
        return None
    if not isinstance(record, dict) or versions.is_newer("sessions", record):
        return None
    values = [record.get(field) for field in Claim._fields]
    if not all(isinstance(value, str) for value in values):
        return None
    return Claim(*values)  # type: ignore[arg-type]  # the line above makes them strings


def remember(state_dir: str | None, claim: Claim, now: datetime) -> None:
    """Record *claim*, or that it is still in use. Without a user's folder nothing is kept."""
    if not state_dir or not claim.session:
        return
    path = _path(state_dir, claim.session)
    try:
        note_heard(heard_in(state_dir, claim.session), int(now.timestamp() * 1e9))
        if recall(state_dir, claim.session) == claim:
            _keep_from_pruning(path, now)
            return
        if left_alone_in("sessions", path):
            return
        make_private(os.path.dirname(path))
        record = stamped("sessions", claim._asdict())
        replace_file(path, json.dumps(record, indent=1).encode(), mode=0o600)
        os.utime(path, (now.timestamp(), now.timestamp()))
        prune(state_dir, "sessions", now)
        prune(state_dir, "heard", now)
    except OSError:
        # Selection falls back to what is declared; nothing of the workflow is lost.
        return


def _keep_from_pruning(path: str, now: datetime) -> None:
    if now.timestamp() - os.stat(path).st_mtime > _A_DAY:
        os.utime(path, (now.timestamp(), now.timestamp()))


def last_heard(state_dir: str | None, session: str | None) -> datetime | None:
    """When *session* was last restored, changed something by command, or began to be compacted."""
    if not state_dir or not session:
        return None
    times = []
    for path in (_path(state_dir, session), heard_in(state_dir, session)):
        with contextlib.suppress(OSError):
            times.append(os.stat(path).st_mtime)
    return clock.from_mtime(max(times)) if times else None


def others(state_dir: str | None, session: str | None, root: str) -> list[Claim]:
    """The claims of other sessions on workflows of *root*."""
    if not state_dir:
        return []
    folder = os.path.join(state_dir, "sessions")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    claims = (_load(os.path.join(folder, name)) for name in names)
    return [
        claim
        for claim in claims
        if claim and claim.root == root and claim.workflow and claim.session != session
    ]


def left_alone(state_dir: str | None, session: str | None) -> list[str]:
    """A line for each record of *session* that a newer Holdfast has written."""
    if not state_dir or not session:
        return []
    found = []
    for kind in OF_A_SESSION:
        begins = glob.escape(file_of(state_dir, kind, session, ""))
        found += [left_alone_in(kind, path) for path in sorted(glob.glob(f"{begins}*"))]
    return [line for line in found if line]


def forget(state_dir: str | None, kind: Kind, session: str | None, suffix: str) -> None:
    """Remove what is kept of that *kind* for *session*, unless a newer Holdfast has written it."""
    if not state_dir or not session:
        return
    path = file_of(state_dir, kind, session, suffix)
    with contextlib.suppress(OSError):
        if not left_alone_in(kind, path):
            os.unlink(path)


def prune(state_dir: str, kind: Kind, now: datetime) -> None:
    """Remove what no session has used for a month."""
    oldest = now.timestamp() - _KEPT_FOR
    for entry in os.scandir(os.path.join(state_dir, kind)):
        try:
            old = entry.stat(follow_symlinks=False).st_mtime < oldest
            if old and not left_alone_in(kind, entry.path):
                os.unlink(entry.path)
        except FileNotFoundError:  # another process was quicker
            continue

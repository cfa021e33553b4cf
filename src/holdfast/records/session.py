"""A session's record: its root, and the workflow that it claims. It is written whole, when one of them changes.

The root is recorded when the session starts, so that a later `cd` does not lead the session to another project.
What happens in between is in the log beside it (`sessionlog`). Both lie in the user's folder: a record in a
repository could send a session to another's work.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime

from pydantic import BaseModel, ConfigDict, InstanceOf, ValidationError

from holdfast import clock
from holdfast.errors import StateUnreadable
from holdfast.files.atomic import make_private, replace_file
from holdfast.files.inputs import UNRECORDED, Inputs
from holdfast.files.ownjson import is_newer, newer_version_warning_in, stamped
from holdfast.files.regular import read_json
from holdfast.records import sessionlog

_LARGEST = 64 * 1024


class Session(BaseModel):
    """A session's root and the workflow that it last worked on, by changing it or being restored into it."""

    model_config = ConfigDict(frozen=True)

    # By their type alone: paths and ids may hold lone surrogates, which pydantic refuses in a str.
    id: InstanceOf[str]
    root: InstanceOf[str]
    workflow: InstanceOf[str] = ""  # its key; empty when only the root is known
    since: InstanceOf[str] = ""  # ISO 8601: when it last changed it, or was restored into it
    follows: bool = False  # whether CLAUDE.local.md declared it then
    before: tuple[InstanceOf[str], ...] = ()  # keys of those that it worked on before
    planned: InstanceOf[str] = ""  # the file that plan mode wrote; the client sends it again itself


def recall(
    state_dir: str | None, session: str | None, inputs: Inputs = UNRECORDED
) -> Session | None:
    """What is recorded of *session*."""
    if not state_dir or not session:
        return None
    found = _load(sessionlog.record_of(state_dir, session), inputs)
    return found if found and found.id == session else None


def _load(path: str, inputs: Inputs) -> Session | None:
    inputs.note(path)
    try:
        record = read_json(path, _LARGEST)
        return None if is_newer(record) else Session.model_validate(record)
    except (StateUnreadable, ValidationError):
        return None


def touch(state_dir: str | None, session: Session, now: datetime) -> None:
    """Note that *session* is in use, and save its record if that has changed. Needs a user's folder."""
    if not state_dir or not session.id:
        return
    path = sessionlog.record_of(state_dir, session.id)
    # Where it cannot be written, selection falls back to what is declared; nothing of the workflow is lost.
    with contextlib.suppress(OSError):
        sessionlog.append(state_dir, session.id, "heard", now)
        if recall(state_dir, session.id) != session and not newer_version_warning_in(path):
            make_private(os.path.dirname(path))
            record = json.dumps(stamped(session.model_dump()))  # one line, in ASCII
            replace_file(path, record.encode() + b"\n", mode=0o600)


def last_heard(
    state_dir: str | None, session: str | None, inputs: Inputs = UNRECORDED
) -> datetime | None:
    """When *session* was last restored, changed something by command, or began to be compacted."""
    line = sessionlog.last(log_of(state_dir, session, inputs), "heard")
    return clock.parse(str(line.get("at", "")))


def log_of(state_dir: str | None, session: str | None, inputs: Inputs) -> bytes:
    """All that counts in the log of *session*, from which an answer follows."""
    if state_dir and session:
        path = sessionlog.path_of(state_dir, session)
        inputs.note(path)
        inputs.note(f"{path}.1")
    return sessionlog.content(state_dir, session)


def others(
    state_dir: str | None, session: str | None, root: str, inputs: Inputs = UNRECORDED
) -> list[Session]:
    """The other sessions with a workflow of *root*."""
    folder = os.path.join(state_dir or "", sessionlog.RECORDS)
    names = sorted(inputs.names(folder)) if state_dir else []
    records = (
        _load(os.path.join(folder, name), inputs) for name in names if name.endswith(".json")
    )
    return [
        found
        for found in records
        if found and found.root == root and found.workflow and found.id != session
    ]

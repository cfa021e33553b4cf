"""PostToolUse and PostToolUseFailure: what the session has opened, changed, checked and begun.

It only takes note; the next save folds it in. An edit of what declares a workflow is followed at
once, because the client does not see every file appear that it was asked to watch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from holdfast import delivery, journal, project, settings, watching
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import WRITES, ToolDone, file_of
from holdfast.wire.replies import Nothing, Reply

_TEXT = 200
_MOST_TODOS = 20
_ROOM_FOR_TODOS = 3_500  # bytes
_Record: TypeAlias = Mapping[str, object]


def handle(event: ToolDone, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    session, agent = event.envelope.session, event.envelope.agent_id
    path = _path(event, surroundings.cwd)
    if event.tool == "Read":
        # What a subagent has read, its caller has not.
        if path and agent is None and event.error is None:
            delivery.opened(surroundings.state_dir, session, [path])
        return Nothing()
    if path and event.tool in WRITES:
        if event.error is None:
            by = {"by": agent[:_TEXT]} if agent else {}
            journal.note(surroundings, session, clock.now(), {"file": path, **by})
            _follow(path, event, surroundings, clock, entry)
        return Nothing()
    record = _NOTED[event.tool](event) if event.tool in _NOTED and agent is None else None
    if record and record.get("ok") is True and not surroundings.takes.tells_failures:
        record = {**record, "ok": None}  # that no failure was told says nothing
    if record:
        journal.note(surroundings, session, clock.now(), record)
    return Nothing()


def _path(event: ToolDone, cwd: str) -> str | None:
    """The file that the tool was given, absolute and with its folder's links resolved."""
    path = file_of(event.given)
    if path is None:
        return None
    folder, name = os.path.split(os.path.join(cwd, path))
    return os.path.join(os.path.realpath(folder), name)


def _follow(
    path: str, event: ToolDone, surroundings: Surroundings, clock: Clock, entry: Entry
) -> None:
    folders = project.candidates(surroundings.cwd, surroundings.client_project)
    plans = settings.load(None, surroundings.config_file).settings.plans
    if watching.concerns(path, folders, plans):
        # Imported here: most edits are of other files, and they must cost next to nothing.
        from holdfast import sync  # noqa: PLC0415

        sync.follow(path, event.envelope.session, surroundings, clock, entry)


def _command(event: ToolDone) -> _Record | None:
    from holdfast import checks  # noqa: PLC0415  # only for commands

    command = event.given.get("command")
    check = checks.check_in(command) if isinstance(command, str) else None
    if check is None:
        return None
    record: dict[str, object] = {"check": check.text, "ok": None, "code": None}
    if event.interrupted or event.response.get("interrupted") is True:
        return record
    if event.error is None:
        waited_for = "backgroundTaskId" not in event.response
        return {**record, "ok": True} if check.passes and waited_for else record
    ended = re.match(r"Exit code (\d{1,9})\b", event.error)
    return {**record, "ok": False, "code": int(ended[1])} if ended and check.fails else record


def _agent(event: ToolDone) -> _Record | None:
    name = event.response.get("agentId")
    if not isinstance(name, str) or event.error is not None:
        return None
    launched = event.response.get("status") == "async_launched"
    return {
        "agent": name[:_TEXT],
        "kind": _one(event.given.get("subagent_type")),
        "what": _one(event.given.get("description")),
        "running": launched or event.response.get("isAsync") is True,
    }


def _task_created(event: ToolDone) -> _Record | None:
    task = event.response.get("task")
    name = task.get("id") if isinstance(task, dict) else None
    if not isinstance(name, str) or event.error is not None:
        return None
    return {"task": name[:_TEXT], "subject": _one(event.given.get("subject")), "status": "pending"}


def _task_updated(event: ToolDone) -> _Record | None:
    name, change = event.given.get("taskId"), event.response.get("statusChange")
    if (
        not isinstance(name, str)
        or event.error is not None
        or event.response.get("success") is False
    ):
        return None
    status = change.get("to") if isinstance(change, dict) else event.given.get("status")
    return {
        "task": name[:_TEXT],
        "subject": _one(event.given.get("subject")),
        "status": _one(status) or None,
    }


def _todos(event: ToolDone) -> _Record | None:
    given = event.given.get("todos")
    if not isinstance(given, list) or event.error is not None:
        return None
    rows, room = [], _ROOM_FOR_TODOS
    for each in given:
        match each:
            case {"content": str(content), "status": "pending" | "in_progress" as status}:
                row = [_one(content), status]
                room -= sum(len(text.encode()) for text in row) + 12
                if room > 0:
                    rows.append(row)
    return {"todos": rows[:_MOST_TODOS]}


def _one(value: object) -> str:
    from holdfast.redaction import one_safe_line  # noqa: PLC0415  # most calls have no text

    return one_safe_line(value, _TEXT)


_NOTED: dict[str, Callable[[ToolDone], _Record | None]] = {
    "Bash": _command,
    "Agent": _agent,
    "Task": _agent,  # as older clients call it
    "TaskCreate": _task_created,
    "TaskUpdate": _task_updated,
    "TodoWrite": _todos,
}

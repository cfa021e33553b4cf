"""What a session was seen doing: files opened and changed, checks, tasks and subagents. And FileChanged.

It only takes note; what is noted is read when somebody asks. An edit of what declares a workflow goes into the state at once, so
that nothing is lost even where PreCompact never runs; and a session that changes a state or its markdown works on that.
The client tells of such an edit by FileChanged, but does not see every file appear that it was asked to watch.

Most of these events end with a line in a log, so what takes long to load is imported where it is needed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from holdfast.agents import replies
from holdfast.agents.events import WRITES, FileChanged, Subagent, Task, ToolDone, file_of
from holdfast.agents.replies import Decision
from holdfast.agents.request import Request
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.files import ownjson
from holdfast.patterns import pattern
from holdfast.records import sessionlog
from holdfast.restoring import delivery, watching

_BETWEEN_NAMES = pattern(r"[\s'\"`=;|&<>(){}]+")  # in a command
_LATE = 5  # seconds that this hook may begin after the call has ended
_TEXT = 200
_MOST_TODOS = 20
_ROOM_FOR_TODOS = 3_500  # bytes
_ROOM_FOR_SUBAGENTS = sessionlog.LONGEST_OBSERVED - 200  # bytes
_Record: TypeAlias = Mapping[str, object]


def handle(
    event: ToolDone | FileChanged | Task | Subagent, here: Surroundings, clock: Clock
) -> Decision:
    session, records, decision = event.request.session, list[_Record | None](), Decision()
    match event:
        case FileChanged():
            decision = _follow(event.path, event.request, here, clock)
        case Task():
            is_done = event.request.name == "TaskCompleted"
            records = [_task(event.id, event.subject, "completed" if is_done else "pending")]
        case Subagent():
            records = [*_subagent(event)]
            if records == [{"listed": []}]:
                from holdfast.workflows import activity  # noqa: PLC0415  # seldom needed

                # It comes with every compaction, by the summariser. Noted, it would outdate what is prepared.
                log = sessionlog.content(here.state_dir, session)
                lines = sessionlog.parse(log, sessionlog.OF_SESSION)
                known = activity.session_in(lines, clock.now())
                records = records if known.running() else []
        case ToolDone() if event.error is not None and event.tool != "Bash":
            pass  # it has done nothing
        case ToolDone() if event.tool in WRITES:
            decision = _written(event, here, clock)
        case ToolDone():
            records = [_tool(event, here, clock)]
            if event.tool in _FOLLOWED and not event.request.agent_id:
                decision = _FOLLOWED[event.tool](event, here, clock)
    sessionlog.observe(here, session, clock.now(), *filter(None, records))
    return decision


def _written(event: ToolDone, here: Surroundings, clock: Clock) -> Decision:
    """Note the file that was changed, first, since to follow it may fail."""
    path, request = _path(file_of(event.given), here.cwd), event.request
    if path is None:
        return Decision()
    by = {"by": request.agent_id[:_TEXT]} if request.agent_id else {}
    sessionlog.observe(here, request.session, clock.now(), {"file": path, **by})
    is_planned = event.planning and watching.is_of_plan_mode(path, here)
    return _follow(path, request, here, clock, planned=is_planned)


def _tool(event: ToolDone, here: Surroundings, clock: Clock) -> _Record | None:
    """What to note of a tool call that is over and has changed no file."""
    session, agent = event.request.session, event.request.agent_id
    if agent:  # what a subagent has read, its caller has not
        return None
    if event.tool == "Read" and (path := _path(file_of(event.given), here.cwd)):
        delivery.opened(here.state_dir, session, [path], clock.now())
    record = _NOTED[event.tool](event) if event.tool in _NOTED else None
    if record and record.get("ok") is True and not here.capabilities.tells_failures:
        record = {**record, "ok": None}  # that no failure was told says nothing
    return record


def _path(path: str | None, cwd: str) -> str | None:
    """The file that a tool was given, absolute and with its folder's links resolved."""
    if path is None:
        return None
    folder, name = os.path.split(os.path.join(cwd, path))
    return os.path.join(os.path.realpath(folder), name)


def _follow(
    path: str, request: Request, here: Surroundings, clock: Clock, *, planned: bool = False
) -> Decision:
    """Save what the file at *path* declares now; a session that has written one works on that workflow.

    A plan that nobody follows is followed by the session that has written it. What was *planned* in the client's
    plan mode may lie outside the project.
    """
    is_own = request.name != "FileChanged" and not request.agent_id
    is_state = is_own and bool(watching.files_meant(path, here))
    if not is_state and not watching.may_declare(path, here):
        return Decision()
    from holdfast.files.store import HOOK_WAIT  # noqa: PLC0415  # most edits are of other files
    from holdfast.workflows import selection, sync  # noqa: PLC0415

    view = sync.survey(request.session, here, clock, request.name)
    if planned and is_own:
        sync.note_plan(view, path)
        view = sync.survey(request.session, here, clock, request.name)
    name = sync.below_root(view.root, path)
    adopted = next((plan for plan in view.candidates if is_own and plan.path == name), None)
    if adopted:
        sync.adopt(view, adopted)
        view = sync.survey(request.session, here, clock, request.name)
    sync.save(view, HOOK_WAIT)
    sync.observe(view, HOOK_WAIT)
    changed = is_own and selection.changed_with(view.workflows, name, os.path.getmtime(path))
    if changed:
        sync.take_up(view, changed, HOOK_WAIT)
    decided, why = "", list(view.notes)
    if view.saved:
        decided, why = f"saved {len(view.saved)}", [*why, f"{path} changed", *view.saves]
    elif view.failure:
        decided = replies.failed(request.name, view.failure.cause).decided
    return Decision(decided=decided, why=why, root=view.root, outdates=True)


def _read(event: ToolDone, here: Surroundings, clock: Clock) -> Decision:
    """Follow a plan that was read, if nobody follows it and the session works on nothing else."""
    path, session = _path(file_of(event.given), here.cwd), event.request.session
    if path is None or not session or not watching.may_declare(path, here):
        return Decision()
    from holdfast.workflows import sync  # noqa: PLC0415  # most files are no plans

    view = sync.survey(session, here, clock, event.request.name)
    is_candidate = any(os.path.join(view.root, plan.path) == path for plan in view.candidates)
    if not is_candidate or view.choice().chosen:
        return Decision()
    return _follow(path, event.request, here, clock)


def _ran(event: ToolDone, here: Surroundings, clock: Clock) -> Decision:
    """Follow the files that a shell command names and has changed."""
    decision, since = Decision(), clock.now().timestamp() - event.seconds - _LATE
    words = _BETWEEN_NAMES.split(str(event.given.get("command")))
    for name in dict.fromkeys(word for word in words if word.endswith((".md", ".json"))):
        path = _path(name, here.cwd)
        with contextlib.suppress(OSError, ValueError):
            if path and os.path.getmtime(path) > since:
                decision = _follow(path, event.request, here, clock)
    return decision


_FOLLOWED = {"Bash": _ran, "Read": _read}


def _command(event: ToolDone) -> _Record | None:
    from holdfast.workflows import checks  # noqa: PLC0415  # only for commands

    command = event.given.get("command")
    check = checks.check_in(command) if isinstance(command, str) else None
    if check is None:
        return None
    record: dict[str, object] = {"check": check.text, "ok": None, "code": None}
    if event.interrupted or event.response.get("interrupted") is True:
        return record
    if event.error is None:
        waited_for = "backgroundTaskId" not in event.response
        return {**record, "ok": True} if check.tells and waited_for else record
    ended = re.match(r"Exit code (\d{1,9})\b", event.error)
    return {**record, "ok": False, "code": int(ended[1])} if ended and check.tells else record


def _agent(event: ToolDone) -> _Record | None:
    name = event.response.get("agentId")
    if not isinstance(name, str):
        return None
    launched = event.response.get("status") == "async_launched"
    return {
        "agent": name[:_TEXT],
        "kind": _line(event.given.get("subagent_type")),
        "what": _line(event.given.get("description")),
        "running": launched or event.response.get("isAsync") is True,
    }


def _task(name: object, subject: object, status: object) -> _Record | None:
    if not isinstance(name, str):
        return None
    return {"task": name[:_TEXT], "subject": _line(subject), "status": _line(status) or None}


def _task_created(event: ToolDone) -> _Record | None:
    match event.response.get("task"):
        case {"id": name}:
            return _task(name, event.given.get("subject"), "pending")
    return None


def _task_updated(event: ToolDone) -> _Record | None:
    if event.response.get("success") is False:
        return None
    change = event.response.get("statusChange")
    status = change.get("to") if isinstance(change, dict) else event.given.get("status")
    return _task(event.given.get("taskId"), event.given.get("subject"), status)


def _todos(event: ToolDone) -> _Record | None:
    given = event.given.get("todos")
    if not isinstance(given, list):
        return None
    rows, room = [], _ROOM_FOR_TODOS
    for todo in given:
        match todo:
            case {"content": str(content), "status": "pending" | "in_progress" as status}:
                row = [_line(content), status]
                room -= sum(len(text.encode()) for text in row) + 12
                if room > 0:
                    rows.append(row)
    return {"todos": rows[:_MOST_TODOS]}


_NOTED: dict[str, Callable[[ToolDone], _Record | None]] = {
    "Bash": _command,
    "Agent": _agent,
    "Task": _agent,  # as older clients call it
    "TaskCreate": _task_created,
    "TaskUpdate": _task_updated,
    "TodoWrite": _todos,
}


def _subagent(event: Subagent) -> list[_Record]:
    name, starts = event.request.agent_id, event.request.name == "SubagentStart"
    records: list[_Record] = []
    if event.kind:
        records.append({"agent": name[:_TEXT], "kind": event.kind[:_TEXT], "running": starts})
    if event.running is not None and not starts:
        listed = _listed(event.running, name)
        # Part of a list would say that the rest is gone; without their words all of them fit.
        if len(ownjson.encode({"listed": listed})) > _ROOM_FOR_SUBAGENTS:
            listed = [[row[0], "", ""] for row in listed]
        records.append({"listed": listed})
    return records


def _listed(running: Sequence[Mapping[str, object]], stopped: str) -> list[list[str]]:
    """Id, kind and description of each subagent that runs on; the list has the stopped one, too."""
    rows = []
    for row in running:
        match row:
            case {"type": "subagent", "status": "running", "id": str(name)} if name != stopped:
                texts = (row.get("agent_type"), row.get("description"))
                rows.append([name[:_TEXT], *(_line(text, 100) for text in texts)])
    return rows


def _line(value: object, most: int = _TEXT) -> str:
    from holdfast.text.plaintext import one_safe_line  # noqa: PLC0415  # most calls have no text

    return one_safe_line(value, most)

"""What hooks observed of a workflow and a session: read from session logs, and described.

Files and checks belong to the workflow, whichever session they come from. Tasks and subagents belong to the session and go
with it to another workflow. What a session does belongs to the workflow that it is on at that moment. Every save logs which
one that is, since the hook of a tool call has no time to choose one, and notes when the workflow came to its phase.

Rule 1: lines are taken in the order of their times: hooks run beside the conversation, and a slow one adds its line
        late. A time in the future is of a clock that was ahead, and decides nothing.
Rule 2: a file belongs to the phase in which it was changed: what is older than the change that brought the phase is
        not told.
Rule 3: a subagent runs when its start was seen and its end was not. Subagents and tasks that are over
        stay over, unless they begin again so much later that it cannot be a late line of the beginning.
Rule 4: what the client lists as running at one moment is all that ran then; and a process that
        begins anew has none of the subagents of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from holdfast import clock
from holdfast.files.regular import contains
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.records import ledger
from holdfast.text.plaintext import listed, one_line

MOST_FILES = 50
_LATE = timedelta(seconds=30)  # the time that a hook has; no line is later than that
_OPEN = frozenset({"pending", "in_progress"})
_KEY = "observed"  # in the notes of a workflow
_MOST = 20  # tasks and subagents that guidance lists
_TEXT = 200

Line: TypeAlias = Mapping[str, object]


class Work(NamedTuple):
    """Work done on a workflow, by any session."""

    files: Mapping[str, tuple[str, str]] = {}  # path -> when, by which subagent; the latest first
    check: Mapping[str, Any] | None = None  # the last check or test, and its result


class WorkItem(NamedTuple):
    """A task or a subagent."""

    text: str = ""
    label: str = ""  # a task's status, a subagent's kind
    since: str = ""  # when it was opened; empty where only the client's list tells of it
    seen: str = ""  # when it was opened or listed last
    over: str = ""

    @property
    def open(self) -> bool:
        return bool(self.seen) and (not self.over or _well_after(self.seen, self.over))

    def changed(
        self, at: str, text: object, label: object, *, opens: bool = False, ends: bool = False
    ) -> WorkItem:
        """With what a line of *at* says of it."""
        changes = {"text": text, "label": label, "since": at * opens, "seen": at * opens}
        changes["over"] = at * ends
        return self._replace(
            **{key: value for key, value in changes.items() if value and isinstance(value, str)}
        )


class SessionActivity(NamedTuple):
    """One session's tasks and subagents."""

    tasks: Mapping[str, WorkItem]
    agents: Mapping[str, WorkItem]
    todos: Sequence[tuple[str, str]]  # text and status of each
    listed: str  # when the client last listed what was running

    def running(self) -> list[tuple[str, WorkItem]]:
        """The subagents, the latest first."""
        running = [
            (name, agent)
            for name, agent in self.agents.items()
            if agent.open and not _well_after(self.listed, agent.seen)
        ]
        return sorted(running, key=lambda named: (named[1].since, named[0]), reverse=True)

    def open_tasks(self) -> list[tuple[str, str]]:
        """Text and status, in the order of their begin; those of a list of todos after them."""
        items = sorted((task.since, name, task) for name, task in self.tasks.items() if task.open)
        tasks = [(task.text, task.label) for _, _, task in items]
        return [*tasks, *(todo for todo in self.todos if todo[1] in _OPEN)]


def _well_after(moment: str, other: str) -> bool:
    later, earlier = clock.parse(moment), clock.parse(other)
    return later is not None and earlier is not None and later - earlier > _LATE


# Reading the lines.


def work_in(lines: Sequence[Line], root: str, since: str, began: str, now: datetime) -> Work:
    """The files that were changed *since* then, and the last check since the workflow *began*."""
    files, check = dict[str, tuple[str, str]](), None
    for at, line in _in_order(lines, now):
        match line:
            case {"file": str(path)} if at >= since:
                name, by = _relative(path, root), line.get("by")
                files.pop(name, None)
                files[name] = at, str(by or "")
            case {"check": str(command)} if at >= began:
                ok, code = line.get("ok"), line.get("code")
                check = {
                    "at": at,
                    "command": command,
                    # None when its exit code was hidden, or it was not waited for.
                    "ok": ok if isinstance(ok, bool) else None,
                    "code": code if isinstance(code, int) else None,
                }
    return Work(dict([*files.items()][: -MOST_FILES - 1 : -1]), check)


def _relative(path: str, root: str) -> str:
    return path[len(root.rstrip("/\\")) + 1 :] if path != root and contains(root, path) else path


def session_in(lines: Sequence[Line], now: datetime) -> SessionActivity:
    """The tasks and subagents in *lines*."""
    tasks, agents, new = dict[str, WorkItem](), dict[str, WorkItem](), WorkItem()
    todos, listed = list[tuple[str, str]](), ""
    for at, line in _in_order(lines, now):
        match line:
            case {"task": str(name)}:
                status = line.get("status")
                opens = status in _OPEN
                tasks[name] = tasks.get(name, new).changed(
                    at,
                    line.get("subject"),
                    status if opens else "",
                    opens=opens,
                    ends=bool(status) and not opens,
                )
            case {"agent": str(name)}:
                runs, texts = line.get("running"), (line.get("what"), line.get("kind"))
                agents[name] = agents.get(name, new).changed(
                    at, *texts, opens=runs is True, ends=runs is False
                )
            case {"listed": list(rows)}:
                listed = at
                for name, kind, what in _rows(rows, 3):
                    agents[name] = agents.get(name, new).changed(at, what, kind)._replace(seen=at)
            case {"todos": list(rows)}:
                todos = [(text, status) for text, status in _rows(rows, 2)]
            case {"restarted": _}:
                agents = {}
    return SessionActivity(tasks, agents, todos, listed)


def _in_order(lines: Sequence[Line], now: datetime) -> list[tuple[str, Line]]:
    """The lines that have a time, by their times.

    They are roughly in order, so a line written by a clock running ahead gets the next line's time.
    """
    found: list[tuple[str, Line]] = []
    bound = now
    for line in reversed(lines):
        if moment := clock.parse(str(line.get("at"))):
            bound = moment if moment <= now else bound
            found.append((clock.iso(bound), line))
    found.reverse()
    found.sort(key=itemgetter(0))
    return found


def _rows(rows: Iterable[object], count: int) -> list[list[str]]:
    """Those of *rows* that are *count* texts."""
    return [
        row
        for row in rows
        if isinstance(row, list) and len(row) == count and all(isinstance(e, str) for e in row)
    ]


def note_phase(place: Place, workflow: Workflow, wait: float) -> None:
    """Note since when *workflow* is in its phase."""

    def by(notes: ledger.Notes) -> ledger.Notes:
        return {**notes, _KEY: _phase_of(workflow, notes, place.now)}

    notes = ledger.notes_of(place.store, workflow.key)
    if by(notes) != notes:
        ledger.update_notes(place.store, workflow.key, wait, by)


def _phase_of(workflow: Workflow, notes: ledger.Notes, now: datetime) -> dict[str, str]:
    """The phase of *workflow*, and since when it is in it and there at all, by what is noted of it."""
    # By its number alone: a title that is corrected and a total that grows begin no new phase.
    phase, changed = str(workflow.briefing.phase), clock.iso(workflow.changed_at)
    born = clock.iso(workflow.created_at) if workflow.created_at else ""
    match notes.get(_KEY):
        case {
            "phase": str(before),
            "since": str(since),
            "began": str(began),
            "born": str(known),
        } if not known or born <= known:  # else it is of another workflow of the same name
            # A save that looked before the phase moved, and comes after one that has seen it move,
            # must not move it back.
            if before != phase and not changed < since <= clock.iso(now):
                before, since = phase, changed
            return {"phase": before, "since": since, "began": began, "born": known or born}
    began = min(born or changed, changed)
    return {"phase": phase, "since": began, "began": began, "born": born}


# Telling.


def facts(work: Work, session: SessionActivity) -> dict[str, Any]:
    """All of it for programs."""
    return {
        "subagents": [
            {"id": name, "kind": agent.label, "what": agent.text, "since": agent.since}
            for name, agent in session.running()
        ],
        "tasks": [{"text": text, "status": status} for text, status in session.open_tasks()],
        "files": [
            {"path": path, "at": at, "subagent": by or None}
            for path, (at, by) in work.files.items()
        ],
        "check": work.check,
    }


def work_on(place: Place, workflow: Workflow, lines: Sequence[Line]) -> Work:
    """The work on *workflow* that *lines* tell of: files while it is in its phase, checks since it began."""
    noted = _phase_of(workflow, ledger.notes_of(place.store, workflow.key), place.now)
    # A time in the future is of a clock that was ahead.
    now = clock.iso(place.now)
    since, began = (noted[at] if noted[at] <= now else "" for at in ("since", "began"))
    return work_in(lines, str(place.root), since, began, place.now)


def in_words(seen: Mapping[str, Any], now: datetime, room: int) -> list[str]:
    """What `facts` found, in one line of about *room* units for each kind."""
    lines = []
    if agents := [_agent_in_words(agent, now) for agent in seen["subagents"]]:
        named = listed(agents, "; ", room, _MOST)
        lines.append(f"Subagents still running: {named}. That work is not to be dispatched again.")
    if tasks := [_task_in_words(task) for task in seen["tasks"]]:
        lines.append(f"Open tasks: {listed(tasks, '; ', room, _MOST)}")
    if files := [_file_in_words(file) for file in seen["files"]]:
        more = "or more others" if len(files) >= MOST_FILES else "more"
        lines.append(f"Files modified in this phase: {listed(files, ', ', room, MOST_FILES, more)}")
    if seen["check"]:
        lines.append(_check_in_words(seen["check"], now))
    return lines


def _agent_in_words(agent: Mapping[str, str], now: datetime) -> str:
    what = f' "{one_line(agent["what"], _TEXT)}"' if agent["what"] else ""
    kind = one_line(agent["kind"], 60) or "subagent"
    since = f" (since {_when(agent['since'], now)})" if agent["since"] else ""
    return f"{kind}{what}{since}"


def _task_in_words(task: Mapping[str, str]) -> str:
    text = one_line(task["text"], _TEXT) or "(without a subject)"
    return f"{text} (in progress)" if task["status"] == "in_progress" else text


def _file_in_words(file: Mapping[str, str | None]) -> str:
    path = one_line(file["path"] or "", _TEXT)
    return f"{path} (by a subagent)" if file["subagent"] else path


def _check_in_words(check: Mapping[str, Any], now: datetime) -> str:
    command, code = one_line(check["command"], _TEXT), check["code"]
    when = _when(check["at"], now)
    if check["ok"] is None:
        return f"Last check: `{command}` at {when}; its result was not seen"
    failed = "failed" if code is None else f"failed (exit code {code})"
    return f"Last check: `{command}` {'passed' if check['ok'] else failed} at {when}"


def _when(at: str, now: datetime) -> str:
    moment = clock.parse(at)
    if moment is None:
        return "a time unknown"
    return f"{moment:%H:%M} UTC" if moment.date() == now.date() else f"{moment:%Y-%m-%d %H:%M} UTC"

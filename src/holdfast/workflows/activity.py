"""What hooks observed of a workflow and a session: folded from session logs, and described.

Files and checks belong to the workflow, whichever session they come from, and are folded into what is kept of it.
Tasks and subagents belong to the session and go with it to another workflow; they stay in its log.
What a session does belongs to the workflow that it is on at that moment. Every save logs which one that is, since the hook
of a tool call has no time to choose one.

Rule 1: lines are folded in the order of their times: hooks run beside the conversation, and a slow one adds its line
        late. A time in the future is of a clock that was ahead, and decides nothing.
Rule 2: a file belongs to the phase in which it was changed. With another phase the list begins anew,
        with what is not older than the change that brought that phase.
Rule 3: a subagent runs when its start was seen and its end was not. Subagents and tasks that are over
        stay over, unless they begin again so much later that it cannot be a late line of the beginning.
Rule 4: what the client lists as running at one moment is all that ran then; and a process that
        begins anew has none of the subagents of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from holdfast import clock
from holdfast.files.regular import contains
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.records import ledger, sessionlog
from holdfast.text.plaintext import one_line
from holdfast.text.room import units

MOST_FILES = 50
_LATE = timedelta(seconds=30)  # the time that a hook has; no line is later than that
_OPEN = frozenset({"pending", "in_progress"})
_KEY = "observed"  # in the notes of a workflow
_MOST = 20  # tasks and subagents that guidance lists
_TEXT = 200

Line: TypeAlias = Mapping[str, object]


class Frame(NamedTuple):
    """Inputs to folding besides the lines."""

    root: str
    phase: str
    born: datetime | None  # None while it is not saved
    changed: datetime  # when an agent or a person changed the workflow last
    now: datetime


class CheckResult(BaseModel):
    """The last check or test, and its result."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    at: str
    command: str
    ok: bool | None = None  # None when its exit code was hidden, or it was not waited for
    code: int | None = None


class WorkflowActivity(BaseModel):
    """Work done on a workflow, by any session."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    phase: str = ""
    since: str = ""  # files changed before are not of the phase
    began: str = ""  # checks before are not of the workflow
    born: str = ""  # another workflow of the same name, born later, begins anew
    files: Mapping[str, tuple[str, str]] = {}  # path -> when, by which subagent
    check: CheckResult | None = None

    @classmethod
    def decode(cls, value: object) -> WorkflowActivity:
        """Decode *value*; unreadable fields count as missing."""
        try:
            return cls.model_validate(value)
        except ValidationError:
            return cls()

    def encode(self) -> dict[str, Any]:
        """As JSON has it."""
        return self.model_dump(mode="json", exclude_defaults=True)


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


# Folding.


def fold_work(before: WorkflowActivity, lines: Sequence[Line], frame: Frame) -> WorkflowActivity:
    """*before* with the files and the checks in *lines*."""
    changed, born = clock.iso(frame.changed), clock.iso(frame.born) if frame.born else ""
    now = clock.iso(frame.now)
    ahead = {name: "" for name in ("since", "began") if getattr(before, name) > now}
    work = before.model_copy(update={"born": before.born or born, **ahead})
    if not before.phase or born > work.born:
        began = min(born or changed, changed)
        work = WorkflowActivity(phase=frame.phase, since=began, began=began, born=born)
    elif before.phase != frame.phase and changed >= work.since:
        # A save that looked before the phase moved, and comes after one that has seen it move,
        # must not move it back.
        files = {path: seen for path, seen in work.files.items() if seen[0] >= changed}
        work = work.model_copy(update={"phase": frame.phase, "since": changed, "files": files})
    files, check = dict(work.files), work.check
    for at, line in _in_order(lines, frame.now):
        last = check.at if check and check.at <= now else ""
        match line:
            case {"file": str(path)} if at >= work.since:
                name, by = _relative(path, frame.root), line.get("by")
                files[name] = max(files.get(name, ("", "")), (at, str(by or "")))
            case {"check": str(command)} if at >= max(work.began, last):
                ok, code = line.get("ok"), line.get("code")
                check = CheckResult(
                    at=at,
                    command=command,
                    ok=ok if isinstance(ok, bool) else None,
                    code=code if isinstance(code, int) else None,
                )
    newest = sorted(files.items(), key=lambda file: (file[1], file[0]))[-MOST_FILES:]
    return work.model_copy(update={"files": dict(newest), "check": check})


def _relative(path: str, root: str) -> str:
    return path[len(root.rstrip("/\\")) + 1 :] if path != root and contains(root, path) else path


def fold_session(lines: Sequence[Line], now: datetime) -> SessionActivity:
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


def fold(
    place: Place,
    workflows: Sequence[Workflow],
    chosen: Workflow,
    state_dir: str | None,
    session: str | None,
    wait: float,
) -> None:
    """Save the unsaved observations of *session*, and the phase of the *chosen* workflow, which it is on at first."""
    noted = WorkflowActivity.decode(ledger.notes_of(place.store, chosen.key).get(_KEY)).phase
    if noted == str(chosen.briefing.phase) and not unfolded(place, state_dir, session):
        return
    # The chosen one last: a command has changed it since the others were found.
    known, root = {workflow.key: workflow for workflow in (*workflows, chosen)}, str(place.root)

    def by(record: ledger.Ledger) -> None:
        lines, upto = sessionlog.unfolded(state_dir, session, record.folded.get(session or "", {}))
        by_workflow: dict[tuple[str, str], list[Line]] = {(root, chosen.key): []}
        for line in lines:
            by_workflow.setdefault(was_on(line) or (root, chosen.key), []).append(line)
        for (at, key), own in by_workflow.items():
            if at == root:
                record.note(key, partial(_with_lines, place, known.get(key), own))
        if lines and session:
            record.folded.pop(session, None)  # keep the latest last
            record.folded[session] = upto

    with place.store.lock(wait):
        ledger.change(place.store, by)


def _with_lines(
    place: Place, workflow: Workflow | None, lines: Sequence[Line], notes: ledger.Notes
) -> ledger.Notes:
    """The *notes* of *workflow* with *lines* folded into them; of one that was not looked at, the phase stays."""
    before = WorkflowActivity.decode(notes.get(_KEY))
    if workflow:
        # By its number alone: a title that is corrected and a total that grows begin no new phase.
        phase, born, changed = (
            str(workflow.briefing.phase),
            workflow.created_at,
            workflow.changed_at,
        )
    elif before.phase:
        phase, born, changed = before.phase, None, place.now
    else:
        return notes
    work = fold_work(before, lines, Frame(str(place.root), phase, born, changed, place.now))
    return {**notes, _KEY: work.encode()}


def was_on(line: Line) -> tuple[str, str] | None:
    """Root and key of the workflow that the session was on when *line* was added."""
    on = line.get("on")
    return on if isinstance(on, tuple) else None


def unfolded(place: Place, state_dir: str | None, session: str | None) -> list[Line]:
    """Edits and checks of *session* that are not folded yet."""
    folded = ledger.load(place.store).folded.get(session or "", {})
    return sessionlog.unfolded(state_dir, session, folded)[0]


def session_activity(state_dir: str | None, session: str | None, now: datetime) -> SessionActivity:
    """The tasks and subagents of *session*."""
    data = sessionlog.content(state_dir, session)
    return fold_session(sessionlog.parse(data, sessionlog.OF_SESSION), now)


# Telling.


def facts(work: WorkflowActivity, session: SessionActivity, phase: str) -> dict[str, Any]:
    """All of it for programs; files only while the phase is the one that they were changed in."""
    files = sorted(work.files.items(), key=itemgetter(1), reverse=True)
    return {
        "subagents": [
            {"id": name, "kind": agent.label, "what": agent.text, "since": agent.since}
            for name, agent in session.running()
        ],
        "tasks": [{"text": text, "status": status} for text, status in session.open_tasks()],
        "files": [
            {"path": path, "at": at, "subagent": by or None}
            for path, (at, by) in (files if work.phase == phase else ())
        ],
        "check": work.check.model_dump() if work.check else None,
    }


def facts_now(
    place: Place,
    workflow: Workflow,
    chosen: Workflow | None,
    state_dir: str | None,
    session: str | None,
) -> dict[str, Any]:
    """What was seen of *workflow* and is under way in *session*, which gets the *chosen* one."""
    phase = str(workflow.briefing.phase)
    if not place.settings.observe:
        return facts(WorkflowActivity(), fold_session([], place.now), phase)
    notes, root = ledger.notes_of(place.store, workflow.key), str(place.root)
    at_first = (root, chosen.key) if chosen else None
    lines = unfolded(place, state_dir, session)
    if own := [line for line in lines if (was_on(line) or at_first) == (root, workflow.key)]:
        notes = _with_lines(place, workflow, own, notes)
    work = WorkflowActivity.decode(notes.get(_KEY))
    return facts(work, session_activity(state_dir, session, place.now), phase)


def in_words(seen: Mapping[str, Any], now: datetime, room: int) -> list[str]:
    """What `facts` found, in one line of about *room* units for each kind."""
    lines = []
    if agents := [_agent_in_words(agent, now) for agent in seen["subagents"]]:
        listed = _listed(agents, "; ", room, _MOST)
        lines.append(f"Subagents still running: {listed}. That work is not to be dispatched again.")
    if tasks := [_task_in_words(task) for task in seen["tasks"]]:
        lines.append(f"Open tasks: {_listed(tasks, '; ', room, _MOST)}")
    if files := [_file_in_words(file) for file in seen["files"]]:
        more = "or more others" if len(files) >= MOST_FILES else "more"
        lines.append(
            f"Files modified in this phase: {_listed(files, ', ', room, MOST_FILES, more)}"
        )
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


def _listed(items: Sequence[str], separator: str, room: int, most: int, more: str = "more") -> str:
    """At most *most* of *items*, as many as fit into *room*, and how many more there are."""
    kept: list[str] = []
    for item in items[:most]:
        room -= units(item) + len(separator)
        if room < 0 and kept:
            break
        kept.append(item)
    left = len(items) - len(kept)
    return separator.join([*kept, f"… {left} {more}"] if left else kept)

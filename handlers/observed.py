"""TaskCreated, TaskCompleted, SubagentStart, SubagentStop: what is open and what is running.

The client runs it beside the conversation. It only takes note; the next save folds it in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast import journal, jsonlines
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.redaction import one_safe_line
from holdfast.wire.events import Subagent, Task
from holdfast.wire.replies import Nothing, Reply

_ROOM = journal.LONGEST_LINE - 200  # bytes for one list
_TEXT = 200


def handle(
    event: Task | Subagent, surroundings: Surroundings, clock: Clock, _entry: Entry
) -> Reply:
    records = [_task(event)] if isinstance(event, Task) else _subagent(event)
    journal.note(surroundings, event.envelope.session, clock.now(), *records)
    return Nothing()


def _task(event: Task) -> Mapping[str, object]:
    status = "completed" if event.envelope.name == "TaskCompleted" else "pending"
    return {
        "task": event.id[:_TEXT],
        "subject": one_safe_line(event.subject, _TEXT),
        "status": status,
    }


def _subagent(event: Subagent) -> list[Mapping[str, object]]:
    name, starts = event.envelope.agent_id or "", event.envelope.name == "SubagentStart"
    records: list[Mapping[str, object]] = []
    if event.kind:
        records.append({"agent": name[:_TEXT], "kind": event.kind[:_TEXT], "running": starts})
    listed = _listed(event.running, name) if event.running is not None and not starts else None
    if listed is not None:
        # Part of a list would say that the rest is gone; without their words all of them fit.
        if len(jsonlines.encode({"listed": listed})) > _ROOM:
            listed = [[row[0], "", ""] for row in listed]
        records.append({"listed": listed})
    return records


def _listed(running: Sequence[Mapping[str, object]], stopped: str) -> list[list[str]]:
    """Id, kind and description of each subagent that runs on; the list has the stopped one, too."""
    rows = []
    for each in running:
        match each:
            case {"type": "subagent", "status": "running", "id": str(name)} if name != stopped:
                texts = (each.get("agent_type"), each.get("description"))
                kind, what = (one_safe_line(text, 100) for text in texts)
                rows.append([name[:_TEXT], kind, what])
    return rows

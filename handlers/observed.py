"""TaskCreated, TaskCompleted, SubagentStart, SubagentStop: what is open and what is running.

The client runs it beside the conversation. It only takes note; the next save folds it in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast import journal, jsonlines, sessions
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.redaction import one_safe_line
from holdfast.wire.events import Subagent, Task
from holdfast.wire.replies import Nothing, Reply

_ROOM = journal.LONGEST_LINE - 200  # bytes for one list
_TEXT = 200
_NOTHING_RUNS = [{"listed": list[list[str]]()}]


def handle(
    event: Task | Subagent, surroundings: Surroundings, clock: Clock, _entry: Entry
) -> Reply:
    records = [_task(event)] if isinstance(event, Task) else _subagent(event)
    if records == _NOTHING_RUNS and not _anything_runs(event.envelope.session, surroundings):
        # It comes with every compaction, by the summariser. Noted, it would have to be folded, and no
        # restore could be prepared.
        return Nothing()
    journal.note(surroundings, event.envelope.session, clock.now(), *records)
    return Nothing()


def _anything_runs(session: str | None, surroundings: Surroundings) -> bool:
    """Whether a subagent may be noted as running."""
    claim = sessions.recall(surroundings.state_dir, session)
    if claim is None or journal.waiting(surroundings.state_dir, session):
        return True
    from holdfast import observing  # noqa: PLC0415  # only the summariser's end comes here

    return observing.anything_runs(claim.root, claim.session)


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

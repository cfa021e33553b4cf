"""How often a workflow was compacted, and what the last summary kept; stored in the project's record.

Rule 1: a compaction is counted once, although it is reported by SessionStart(compact) and by PostCompact, in
        either order, and either may be missing. So each is counted by itself, and per session the
        higher number holds. A restore only adds a line (`started`).
Rule 2: of the check only the workflow's own words are noted, never a word of the summary.
Rule 3: a workflow that was created after the one that is noted is another one of the same name, and begins
        at zero. Two states that become one keep the earlier time, and so the count.
Rule 4: an entry that cannot be read counts as not there; fields of another version stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, field_serializer

from holdfast import clock
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.records import ledger, sessionlog
from holdfast.records.ledger import Notes
from holdfast.records.sessionlog import LogLine
from holdfast.restoring import summary
from holdfast.restoring.summary import Fact
from holdfast.text.plaintext import one_line

_KEY = "compactions"
_RESTORED = "restored"
_SESSIONS = 20  # counted one by one, by last use; the rest share one number
_NAMED = 3  # facts that are named one by one
# Hooks that run side by side save a new workflow and count its compaction in no certain order: one that
# finds no file yet cannot note when the workflow was created, and is told from its time instead.
_SIDE_BY_SIDE = timedelta(seconds=10)

_Count: TypeAlias = Annotated[int, Strict(), Field(ge=0, le=10**9)]


class SummaryCheck(BaseModel):
    """What one summary kept."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    at: str = ""
    session: str = ""
    kept: _Count
    of: _Count
    missing: tuple[Fact, ...]

    @field_serializer("missing")
    def _by_name(self, missing: tuple[Fact, ...]) -> list[dict[str, str]]:
        return [fact._asdict() for fact in missing]


@dataclass(frozen=True)
class Survived:
    """The compactions that a workflow has survived."""

    count: int = 0
    last: SummaryCheck | None = None  # the last check of a summary

    @property
    def facts(self) -> dict[str, Any]:
        """For programs: the fields of the record without the sessions."""
        return {"count": self.count, "last": self.last and self.last.model_dump()}

    def __str__(self) -> str:
        line = f"compactions: {self.count}"
        if self.last is None:
            return line
        line += f", the last summary kept {self.last.kept} of {self.last.of}"
        lost = [_named(fact) for fact in self.last.missing]
        if len(lost) > _NAMED:
            lost[_NAMED:] = [f"{len(lost) - _NAMED} more"]
        return f"{line}: not {', not '.join(lost)}" if lost else line


def _named(fact: Fact) -> str:
    if fact.label == summary.PHASE:
        return f"the phase ({one_line(fact.text, 60)})"
    return f'the {one_line(fact.label, 60)} "{one_line(fact.text, 60)}"'


class _Times(BaseModel):
    """How often each event reported a compaction of one session."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    starts: _Count = 0
    summaries: _Count = 0

    @property
    def count(self) -> int:
        return max(self.starts, self.summaries)


class _Entry(BaseModel):
    """One workflow's record of its compactions."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    at: str = ""
    created_at: str = ""
    sessions: dict[str, _Times] = {}
    earlier: _Count = 0
    last: SummaryCheck | None = None
    restores_counted: dict[str, _Count] = {}  # how far the lines of restores are

    @property
    def survived(self) -> Survived:
        return Survived(self.earlier + sum(it.count for it in self.sessions.values()), self.last)

    def add(self, session: str, event: Literal["starts", "summaries"]) -> None:
        """Count an *event* of *session*, now the most recently used."""
        times = self.sessions.pop(session, _Times())
        setattr(times, event, getattr(times, event) + 1)
        self.sessions[session] = times
        while len(self.sessions) > _SESSIONS:
            self.earlier += self.sessions.pop(next(iter(self.sessions))).count

    def add_restores(self, place: Place, workflow: Workflow) -> None:
        """Count the restores of *workflow* that were noted since the entry was written."""
        if place.user_folder is None:
            return
        log = restores_in(place.user_folder)
        lines, self.restores_counted = sessionlog.added(log, self.restores_counted, [_RESTORED])
        for line in lines:
            match line:
                case {
                    "at": str(at),
                    "workflow": workflow.key,
                    "session": str(session),
                    "created_at": str(created_at),  # of the workflow; empty while it is not saved
                } if not _is_another(created_at, at, workflow, place):
                    self.add(session, "starts")

    def encode(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


# Restores after a compaction, one line each in the user's folder, until whoever writes the notes of a workflow takes
# them along: so a restore neither waits for a lock nor rewrites a file.


def restores_in(folder: str) -> str:
    """The log of restores in *folder*, the one that the user's folder has for the project."""
    return os.path.join(folder, "compactions.jsonl")


def survived(place: Place, workflow: Workflow) -> Survived:
    """The number of compactions that *workflow* survived, and the last summary check."""
    entry = _current(ledger.notes_of(place.store, workflow.key), place, workflow)
    entry.add_restores(place, workflow)
    return entry.survived


def lost(place: Place, workflow: Workflow) -> tuple[Fact, ...]:
    """The current facts of *workflow* that the last checked summary lost."""
    notes = ledger.notes_of(place.store, workflow.key)
    if _KEY not in notes:
        return ()
    last = _current(notes, place, workflow).last
    if last is None or not last.missing:
        return ()
    return tuple(fact for fact in summary.facts_of(workflow.briefing) if fact in last.missing)


def check(place: Place, workflow: Workflow, session: str | None, text: str) -> SummaryCheck | None:
    """What *text*, a summary, kept of *workflow*; None when there is no text."""
    if not text.strip():
        return None
    facts = summary.facts_of(workflow.briefing)
    gone = tuple(summary.missing(facts, text))
    kept, at = len(facts) - len(gone), clock.iso(place.now)
    return SummaryCheck(at=at, session=_id(session), kept=kept, of=len(facts), missing=gone)


def started(place: Place, workflow: Workflow, session: str | None, wait: float) -> list[LogLine]:
    """The line that counts a SessionStart(compact); without a user's folder it is counted at once."""
    if place.user_folder is None:
        _note(place, workflow, wait, lambda entry: entry.add(_id(session), "starts"))
        return []
    created = clock.iso(workflow.created_at) if workflow.created_at else ""
    fields = {"workflow": workflow.key, "session": _id(session), "created_at": created}
    return [(restores_in(place.user_folder), _RESTORED, fields)]


def summarised(
    place: Place, workflow: Workflow, session: str | None, found: SummaryCheck | None, wait: float
) -> Survived:
    """Record a PostCompact, and what was *found* in its summary."""

    def change(entry: _Entry) -> None:
        entry.add(_id(session), "summaries")
        entry.last = found or entry.last

    return _note(place, workflow, wait, change)


def _note(
    place: Place, workflow: Workflow, wait: float, change: Callable[[_Entry], None]
) -> Survived:
    def changed(notes: Notes) -> Notes:
        entry = _current(notes, place, workflow)
        entry.add_restores(place, workflow)
        change(entry)
        if workflow.created_at:
            entry.created_at = clock.iso(workflow.created_at)
        entry.at = clock.iso(place.now)
        return {**notes, _KEY: entry.encode()}

    if place.played:  # a simulation leaves no trace; it has its own user folder
        return _read(changed(ledger.notes_of(place.store, workflow.key))).survived
    return _read(ledger.update_notes(place.store, workflow.key, wait, changed)).survived


def _read(notes: Mapping[str, Any]) -> _Entry:
    try:
        return _Entry.model_validate(notes.get(_KEY, {}))
    except ValidationError:
        return _Entry()


def _current(notes: Mapping[str, Any], place: Place, workflow: Workflow) -> _Entry:
    """The entry in *notes*, unless it is about an earlier workflow of the same name."""
    entry = _read(notes)
    if _is_another(entry.created_at, entry.at, workflow, place):
        return _Entry(restores_counted=entry.restores_counted)
    return entry


def _is_another(created_at: str, used_at: str, workflow: Workflow, place: Place) -> bool:
    """Whether *workflow* is a later one with the same name as the one in the notes."""
    begun = workflow.created_at
    if begun is None or begun > place.now:  # not saved yet, or written by hand
        return False
    if created := clock.parse(created_at):
        return begun > created
    used = clock.parse(used_at)
    return used is not None and begun - used > _SIDE_BY_SIDE


def _id(session: str | None) -> str:
    """The id of *session*, shortened, without the lone surrogates that could not be read back."""
    return (session or "")[:100].encode("utf-8", "replace").decode()

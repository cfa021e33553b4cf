"""How often a workflow was compacted, and what the last summary kept: two logs of the project in the user's folder.

Rule 1: a compaction is counted once, although it is reported by SessionStart(compact) and by PostCompact, in
        either order, and either may be missing. So each is counted by itself, in a log of its own, and per session
        the higher number holds. What a restore says follows from the summaries alone, so that it stays prepared.
Rule 2: of the check only the workflow's own words are noted, never a word of the summary.
Rule 3: a line about a workflow that was created before the one that is there is about another one of the same name.
        Two states that become one keep the earlier time, and so the count.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.records import sessionlog
from holdfast.records.sessionlog import LogLine
from holdfast.restoring import summary
from holdfast.restoring.summary import Fact
from holdfast.text.plaintext import counted, one_line

KINDS = _RESTORED, _SUMMARISED = "restored", "summarised"
_NAMED = 3  # facts that are named one by one
# Hooks that run side by side save a new workflow and count its compaction in no certain order: one that
# finds no file yet cannot note when the workflow was created, and is told from its time instead.
_SIDE_BY_SIDE = timedelta(seconds=10)


class SummaryCheck(NamedTuple):
    """What one summary kept."""

    kept: int
    of: int
    missing: tuple[Fact, ...]
    at: str = ""
    session: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {**self._asdict(), "missing": [fact._asdict() for fact in self.missing]}


@dataclass(frozen=True)
class Survived:
    """The compactions that a workflow has survived."""

    count: int = 0
    last: SummaryCheck | None = None  # the last check of a summary

    @property
    def facts(self) -> dict[str, Any]:
        """For programs: the fields of the record without the sessions."""
        return {"count": self.count, "last": self.last and self.last.facts}

    def __str__(self) -> str:
        line = f"compactions: {self.count}"
        if self.last is None:
            return line
        line += f", the last summary kept {self.last.kept} of {counted(self.last.of, 'fact')}"
        lost = [_named(fact) for fact in self.last.missing]
        if len(lost) > _NAMED:
            lost[_NAMED:] = [f"{len(lost) - _NAMED} more"]
        return f"{line}: not {', not '.join(lost)}" if lost else line


def _named(fact: Fact) -> str:
    if fact.label == summary.PHASE:
        return f"the phase ({one_line(fact.text, 60)})"
    return f'the {one_line(fact.label, 60)} "{one_line(fact.text, 60)}"'


def log_of(folder: str, kind: str = _RESTORED) -> str:
    """The log of lines of *kind* in *folder*, the one that the user's folder has for the project."""
    return os.path.join(folder, "compactions.jsonl" if kind == _RESTORED else "summaries.jsonl")


def started(place: Place, workflow: Workflow, session: str | None) -> list[LogLine]:
    """The line that counts a SessionStart(compact)."""
    return _to_add(_RESTORED, place, workflow, session, {})


def summarised(
    place: Place, workflow: Workflow, session: str | None, found: SummaryCheck | None
) -> list[LogLine]:
    """The line that counts a PostCompact, with what was *found* in its summary."""
    fields = {"kept": found.kept, "of": found.of, "missing": found.missing} if found else {}
    return _to_add(_SUMMARISED, place, workflow, session, fields)


def _to_add(
    kind: str, place: Place, workflow: Workflow, session: str | None, fields: Mapping[str, object]
) -> list[LogLine]:
    if place.user_folder is None:
        return []
    created = clock.iso(workflow.created_at) if workflow.created_at else ""
    # Without the lone surrogates that could not be read back.
    name = (session or "")[:100].encode("utf-8", "replace").decode()
    fields = {"workflow": workflow.key, "session": name, "created_at": created, **fields}
    return [(log_of(place.user_folder, kind), kind, fields)]


def _lines(kind: str, place: Place, workflow: Workflow) -> list[dict[str, object]]:
    """The lines of *kind* about *workflow*."""
    if place.user_folder is None:
        return []
    log = log_of(place.user_folder, kind)
    place.store.inputs.note(log)
    place.store.inputs.note(f"{log}.1")
    lines = sessionlog.parse(sessionlog.read(log), [kind])
    lines = [line for line in lines if line.get("workflow") == workflow.key]
    unsaved = max((str(line.get("at")) for line in lines if not line.get("created_at")), default="")
    return [
        line
        for line in lines
        if not _is_another(str(line.get("created_at")), unsaved, workflow, place)
    ]


def survived(place: Place, workflow: Workflow) -> Survived:
    """The number of compactions that *workflow* survived, and the last summary check."""
    summaries = _lines(_SUMMARISED, place, workflow)
    restored = Counter(str(line.get("session")) for line in _lines(_RESTORED, place, workflow))
    ended = Counter(str(line.get("session")) for line in summaries)
    return Survived((restored | ended).total(), _last_check(summaries))


def lost(place: Place, workflow: Workflow) -> tuple[Fact, ...]:
    """The current facts of *workflow* that the last checked summary lost."""
    last = _last_check(_lines(_SUMMARISED, place, workflow))
    if last is None or not last.missing:
        return ()
    return tuple(fact for fact in summary.facts_of(workflow.briefing) if fact in last.missing)


def _last_check(summaries: list[dict[str, object]]) -> SummaryCheck | None:
    for line in reversed(summaries):
        match line:
            case {"kept": int(kept), "of": int(of), "missing": list(missing)}:
                facts = tuple(Fact(*fact) for fact in missing if len(fact) == len(Fact._fields))
                return SummaryCheck(kept, of, facts, str(line.get("at")), str(line.get("session")))
    return None


def check(workflow: Workflow, text: str) -> SummaryCheck | None:
    """What *text*, a summary, kept of *workflow*; None when there is no text."""
    if not text.strip():
        return None
    facts = summary.facts_of(workflow.briefing)
    gone = tuple(summary.missing(facts, text))
    return SummaryCheck(len(facts) - len(gone), len(facts), gone)


def _is_another(created_at: str, unsaved: str, workflow: Workflow, place: Place) -> bool:
    """Whether *workflow* is a later one of the same name as the one that was created then, or last seen *unsaved*."""
    begun = workflow.created_at
    if begun is None or begun > place.now:  # not saved yet, or written by hand
        return False
    if created := clock.parse(created_at):
        return begun > created
    seen = clock.parse(unsaved)
    return seen is not None and begun - seen > _SIDE_BY_SIDE

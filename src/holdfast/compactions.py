"""How often a workflow was compacted, and what the last summary kept of it; in its sidecar.

Rule 1: a compaction is counted once, although it is told by SessionStart(compact) and by PostCompact, in
        either order, and either may be missing. So each is counted by itself, and per session the
        higher number holds. A restore only adds a line to `counts`.
Rule 2: of the check only the workflow's own words are noted, never a word of the summary.
Rule 3: a workflow that was created after the one that is noted is another one of the same name, and begins
        at zero. Two states that become one keep the earlier time, and so the count.
Rule 4: what another version or a broken disk left there is read as far as it makes sense, and what is
        not known stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from holdfast import clock, counts, sidecar, summary
from holdfast.counts import Restore, Upto
from holdfast.errors import StateUnwritable
from holdfast.formats.base import Place, Workflow
from holdfast.plaintext import one_line
from holdfast.records import Record
from holdfast.summary import Fact

_KEY = "compactions"
_COUNTED = "restores_counted"  # up to where the lines of `counts` are
_SESSIONS = 20  # that are counted one by one, by last use; the others are one number
_MOST = 10**9
_NAMED = 3  # facts that are named one by one
# Hooks that run side by side save a new workflow and count its compaction in no certain order: one that
# finds no file yet cannot note when the workflow was created, and is told from its time instead.
_SIDE_BY_SIDE = timedelta(seconds=10)


class Check(Record):
    """What one summary kept."""

    at: str
    session: str
    kept: int
    of: int
    missing: tuple[Fact, ...]

    @property
    def result(self) -> str:
        return f"kept {self.kept} of {self.of}"

    @property
    def facts(self) -> dict[str, Any]:
        words = [{"label": fact.label, "text": fact.text} for fact in self.missing]
        found = {"at": self.at, "session": self.session, "kept": self.kept, "of": self.of}
        return {**found, "missing": words}


class Survived(Record):
    """What a workflow has come through."""

    count: int = 0
    last: Check | None = None  # the last check of a summary

    @property
    def facts(self) -> dict[str, Any]:
        """For programs; the same as in the sidecar, but for the sessions."""
        return {"count": self.count, "last": self.last and self.last.facts}

    def __str__(self) -> str:
        told = f"compactions: {self.count}"
        if self.last is None:
            return told
        told += f", the last summary {self.last.result}"
        lost = [_named(fact) for fact in self.last.missing]
        if len(lost) > _NAMED:
            lost[_NAMED:] = [f"{len(lost) - _NAMED} more"]
        return f"{told}: not {', not '.join(lost)}" if lost else told


def _named(fact: Fact) -> str:
    if fact.label == summary.PHASE:
        return f"the phase ({one_line(fact.text, 60)})"
    return f'the {one_line(fact.label, 60)} "{one_line(fact.text, 60)}"'


def survived(place: Place, workflow: Workflow) -> Survived:
    """What is noted of *workflow*."""
    entry = _current(sidecar.load(place.store, workflow.key), place, workflow)
    return _survived(_with_restores(entry, place, workflow.key, workflow.created_at))


def lost(place: Place, workflow: Workflow) -> tuple[Fact, ...]:
    """The facts of *workflow*, as it is now, that the summary checked last did not keep."""
    entry = _current(sidecar.load(place.store, workflow.key), place, workflow)
    last = _survived(entry).last
    if last is None or not last.missing:
        return ()
    return tuple(fact for fact in summary.facts_of(workflow.briefing) if fact in last.missing)


def check(place: Place, workflow: Workflow, session: str | None, text: str) -> Check | None:
    """What *text*, a summary, kept of *workflow*; None when there is no text."""
    if not text.strip():
        return None
    facts = summary.facts_of(workflow.briefing)
    gone = tuple(summary.missing(facts, text))
    at, who = clock.iso(place.now), _id(session)
    return Check(at, who, len(facts) - len(gone), len(facts), gone)


def started(place: Place, workflow: Workflow, session: str | None, wait: float) -> Survived:
    """Note a SessionStart(compact)."""
    if place.user_folder is None or place.played:
        return _note(place, workflow, wait, lambda entry: _counted(entry, session, "starts"))
    try:
        counts.add(place.user_folder, restore_of(place, workflow, session))
    except OSError as error:
        raise StateUnwritable(counts.path(place.user_folder), str(error)) from error
    return survived(place, workflow)


def restore_of(place: Place, workflow: Workflow, session: str | None) -> Restore:
    """What is noted of a restore after a compaction."""
    created = clock.iso(workflow.created_at) if workflow.created_at else ""
    return Restore(clock.iso(place.now), workflow.key, _id(session), created)


def summarised(
    place: Place, workflow: Workflow, session: str | None, found: Check | None, wait: float
) -> Survived:
    """Note a PostCompact, and what was *found* in its summary."""

    def change(entry: dict[str, Any]) -> dict[str, Any]:
        entry = _counted(entry, session, "summaries")
        return {**entry, "last": found.facts} if found else entry

    return _note(place, workflow, wait, change)


def _note(
    place: Place,
    workflow: Workflow,
    wait: float,
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> Survived:
    def changed(record: dict[str, Any]) -> dict[str, Any]:
        entry = _current(record, place, workflow)
        entry = change(_with_restores(entry, place, workflow.key, workflow.created_at))
        if workflow.created_at:
            entry["created_at"] = clock.iso(workflow.created_at)
        return {**record, _KEY: {**entry, "at": clock.iso(place.now)}}

    noted = sidecar.update(place.store, workflow.key, wait, changed)[_KEY]
    _make_room(place, wait)
    return _survived(noted)


def _make_room(place: Place, wait: float) -> None:
    """Where the lines of `counts` have become many, take all of them into the sidecars."""
    if place.user_folder is None or not counts.is_full(place.user_folder):
        return
    restores, _ = counts.since(place.user_folder, None)
    for key in dict.fromkeys(each.workflow for each in restores):
        sidecar.update(place.store, key, wait, _taking_restores(place, key))
    counts.begin_anew(place.user_folder)


def _taking_restores(place: Place, key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, _KEY: _with_restores(_mapping(record.get(_KEY)), place, key, None)}

    return change


def _with_restores(
    entry: Mapping[str, Any], place: Place, key: str, begun: datetime | None
) -> dict[str, Any]:
    """*entry* of the workflow *key* with the restores that were noted since it was written."""
    found = dict(entry)
    if place.user_folder is None:
        return found
    restores, upto = counts.since(place.user_folder, _upto(entry.get(_COUNTED)))
    for each in restores:
        noted = {"created_at": each.created_at, "at": each.at}
        if each.workflow == key and not _begun_anew(noted, begun, place.now):
            found = _counted(found, each.session, "starts")
    return {**found, _COUNTED: list(upto)} if upto else found


def _upto(noted: object) -> Upto | None:
    match noted:
        case [int(inode), int(offset)] if offset >= 0:
            return Upto(inode, offset)
    return None


@contextlib.contextmanager
def uncounted(place: Place, workflows: Sequence[Workflow], wait: float) -> Iterator[None]:
    """Compactions that are played inside leave no trace."""
    before = {each.key: sidecar.load(place.store, each.key).get(_KEY) for each in workflows}
    try:
        yield
    finally:
        for key, entry in before.items():
            if sidecar.load(place.store, key).get(_KEY) != entry:
                sidecar.update(place.store, key, wait, _put_back(entry))


def _put_back(entry: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in record.items() if key != _KEY}
        return rest if entry is None else {**rest, _KEY: entry}

    return change


def _counted(entry: dict[str, Any], session: str | None, event: str) -> dict[str, Any]:
    """*entry* with one more *event* of *session*, which is now the one that was used last."""
    sessions = dict(_mapping(entry.get("sessions")))
    mine = dict(_mapping(sessions.pop(_id(session), None)))
    sessions[_id(session)] = {**mine, event: _number(mine.get(event)) + 1}
    earlier = _number(entry.get("earlier"))
    while len(sessions) > _SESSIONS:
        earlier += _times(sessions.pop(next(iter(sessions))))
    return {**entry, "sessions": sessions, "earlier": earlier}


def _current(record: Mapping[str, Any], place: Place, workflow: Workflow) -> dict[str, Any]:
    """Our entry in the sidecar, unless it is about an earlier workflow of the same name."""
    entry = dict(_mapping(record.get(_KEY)))
    if not _begun_anew(entry, workflow.created_at, place.now):
        return entry
    return {_COUNTED: entry[_COUNTED]} if _COUNTED in entry else {}


def _begun_anew(entry: Mapping[str, Any], begun: datetime | None, now: datetime) -> bool:
    if begun is None or begun > now:  # not saved yet, or written by hand
        return False
    if noted := clock.parse(_text(entry.get("created_at"))):
        return begun > noted
    used = clock.parse(_text(entry.get("at")))
    return used is not None and begun - used > _SIDE_BY_SIDE


def _survived(entry: Mapping[str, Any]) -> Survived:
    sessions = _mapping(entry.get("sessions")).values()
    count = _number(entry.get("earlier")) + sum(_times(each) for each in sessions)
    return Survived(count, _check(_mapping(entry.get("last"))))


def _times(counts: object) -> int:
    """How often one session was compacted."""
    events = _mapping(counts)
    return max(_number(events.get("starts")), _number(events.get("summaries")))


def _check(last: Mapping[str, Any]) -> Check | None:
    kept, of, missing = last.get("kept"), last.get("of"), last.get("missing")
    if not isinstance(missing, list) or _number(of) < max(_number(kept), 1):
        return None
    facts = tuple(
        Fact(label, text)
        for each in missing
        if (label := _text(_mapping(each).get("label")))
        and (text := _text(_mapping(each).get("text")))
    )
    at, session = _text(last.get("at")), _text(last.get("session"))
    return Check(at, session, _number(kept), _number(of), facts)


def _id(session: str | None) -> str:
    """What a session is noted by; a lone surrogate could not be read back."""
    return (session or "")[:100].encode("utf-8", "replace").decode()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, 0), _MOST) if whole and isinstance(value, int) else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

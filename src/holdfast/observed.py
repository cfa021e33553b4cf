"""What was observed of a workflow and of a session, folded from the lines of journals. Pure.

Hooks that run beside the conversation write their lines in any order, sessions share a workflow, and
a save that was killed is repeated. So everything kept is a greatest value: of two statements about
one thing the later one by its time counts, whichever is folded first and however often.

Rule 1: a file belongs to the phase in which it was changed. With another phase the list begins anew,
        with what is not older than the change that brought that phase.
Rule 2: a subagent runs when its start was seen and its end was not. Task and subagent are over for
        good, unless they begin again so much later that it cannot be a late line of the beginning.
Rule 3: what the client lists as running at one moment is all that ran then; and a process that
        begins anew has none of the subagents of the one before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from holdfast import clock
from holdfast.project import contains
from holdfast.records import Record, as_dict, made, replace

MOST_FILES = 50
_KEPT = 60  # the same with those that are over, which a late line must not open again
_LATE = timedelta(seconds=30)  # the time that a hook has; no line is later than that
_OPEN = frozenset({"pending", "in_progress"})

Line: TypeAlias = Mapping[str, object]
Stamped: TypeAlias = tuple[str, str]  # since when, ISO 8601, and what; both empty when not known
_NEVER: Stamped = ("", "")


class Frame(NamedTuple):
    """What the folding of one workflow depends on beside the lines."""

    root: str
    phase: str
    born: datetime | None  # None while it is not saved
    changed: datetime  # when an agent or a person changed the workflow last

    @property
    def began(self) -> str:
        """What was before is not this workflow's."""
        return clock.iso(min(self.born or self.changed, self.changed))


class Check(NamedTuple):
    """The last check or test, and what came of it."""

    at: str
    command: str
    ok: bool | None  # None when its exit code was hidden, or it was not waited for
    code: int | None


class Work(Record):
    """Of a workflow, whichever session did it."""

    phase: str = ""
    since: str = ""  # files changed before are not of the phase
    began: str = ""
    born: str = ""  # that of the workflow; another one of the same name begins anew
    files: Mapping[str, Stamped] = made(factory=dict)  # path -> when, by which subagent
    check: Check | None = None


class Item(Record):
    """A task or a subagent."""

    text: Stamped = _NEVER
    mark: Stamped = _NEVER  # a task's status, a subagent's kind
    opened: str = ""
    seen: str = ""  # when it was listed last
    over: str = ""

    @property
    def last(self) -> str:
        return max(self.opened, self.seen)

    @property
    def open(self) -> bool:
        return bool(self.last) and (not self.over or _well_after(self.last, self.over))


class Hands(Record):
    """Of one session: what it has under way."""

    tasks: Mapping[str, Item] = made(factory=dict)
    agents: Mapping[str, Item] = made(factory=dict)
    todos: tuple[str, tuple[Stamped, ...]] = ("", ())  # when; text and status of each
    restarted: str = ""
    listed: str = ""  # when the client told last what was running

    def running(self) -> list[tuple[str, Item]]:
        """The subagents, the latest first."""
        return _latest(self.agents, self._runs)

    def _runs(self, agent: Item) -> bool:
        return agent.open and not _well_after(self.listed, agent.last)

    def open_tasks(self) -> list[tuple[str, str]]:
        """Text and status, in the order of their begin; those of a list of todos after them."""
        items = [each for _, each in reversed(_latest(self.tasks, lambda each: each.open))]
        found = [(each.text[1], each.mark[1]) for each in items]
        return [*found, *(each for each in self.todos[1] if each[1] in _OPEN)]


def _latest(items: Mapping[str, Item], which: Callable[[Item], bool]) -> list[tuple[str, Item]]:
    chosen = [(name, item) for name, item in items.items() if which(item)]
    return sorted(chosen, key=lambda each: (each[1].opened, each[0]), reverse=True)


def _well_after(moment: str, other: str) -> bool:
    later, earlier = clock.parse(moment), clock.parse(other)
    return bool(later and earlier) and later - earlier > _LATE  # type: ignore[operator]


# Folding.


def fold_work(before: Work, lines: Iterable[Line], frame: Frame) -> Work:
    """*before* with the files and the checks in *lines*."""
    changed, born = clock.iso(frame.changed), clock.iso(frame.born) if frame.born else ""
    work = replace(before, born=before.born or born)
    if not before.phase or born > work.born:
        work = Work(frame.phase, frame.began, frame.began, born)
    elif before.phase != frame.phase and changed >= before.since:
        # A save that looked before the phase moved, and comes after one that has seen it move,
        # must not move it back.
        work = replace(work, phase=frame.phase, since=changed, files={})
    files, check = dict(work.files), work.check
    for at, line in _timed(lines):
        match line:
            case {"file": str(path)} if at >= work.since:
                name, by = _relative(path, frame.root), line.get("by")
                stamp = (at, by if isinstance(by, str) else "")
                files[name] = max(files.get(name, _NEVER), stamp)
            case {"check": str(command)} if at >= work.began:
                found = Check(at, command, _flag(line.get("ok")), _number(line.get("code")))
                check = max(found, check or found, key=_order)
    newest = sorted(files.items(), key=lambda each: (each[1], each[0]))[-MOST_FILES:]
    return replace(work, files=dict(newest), check=check)


def _order(check: Check) -> tuple[str, str, str]:
    return check.at, check.command, repr(check[2:])


def _relative(path: str, root: str) -> str:
    return path[len(root.rstrip("/\\")) + 1 :] if path != root and contains(root, path) else path


def fold_hands(before: Hands, lines: Iterable[Line]) -> Hands:
    """*before* with the tasks and the subagents in *lines*."""
    tasks, agents = dict(before.tasks), dict(before.agents)
    todos, restarted, listed = before.todos, before.restarted, before.listed

    def join(items: dict[str, Item], name: str, item: Item) -> None:
        items[name] = _joined(items.get(name, Item()), item)

    for at, line in _timed(lines):
        match line:
            case {"task": str(name)}:
                join(tasks, name, _task(at, line))
            case {"agent": str(name)}:
                join(agents, name, _agent(at, line))
            case {"listed": list(rows)}:
                listed = max(listed, at)
                for name, kind, what in (row for row in rows if _is_texts(row, 3)):
                    item = _agent(at, {"kind": kind, "what": what})
                    join(agents, name, replace(item, seen=at))
            case {"todos": list(rows)}:
                todos = max(
                    todos, (at, tuple((row[0], row[1]) for row in rows if _is_texts(row, 2)))
                )
            case {"restarted": _}:
                restarted = max(restarted, at)
    here = {name: _after(each, restarted) for name, each in agents.items()}
    here = {name: each for name, each in here.items() if each != Item()}
    return Hands(_newest(tasks), _newest(here), todos, restarted, listed)


_OF_SESSION = frozenset({"task", "agent", "listed", "todos", "restarted"})


def of_session(lines: Iterable[Line]) -> list[Line]:
    """The lines that `fold_hands` has a use for."""
    return [line for line in lines if not _OF_SESSION.isdisjoint(line)]


def _task(at: str, line: Line) -> Item:
    status, text = line.get("status"), line.get("subject")
    opens = status in _OPEN
    return Item(
        text=(at, text) if isinstance(text, str) and text else _NEVER,
        mark=(at, str(status)) if opens else _NEVER,
        opened=at if opens else "",
        over=at if status and not opens else "",
    )


def _agent(at: str, line: Line) -> Item:
    kind, text, runs = line.get("kind"), line.get("what"), line.get("running")
    return Item(
        text=(at, text) if isinstance(text, str) and text else _NEVER,
        mark=(at, kind) if isinstance(kind, str) and kind else _NEVER,
        opened=at if runs is True else "",
        over=at if runs is False else "",
    )


def _joined(one: Item, other: Item) -> Item:
    return Item(
        max(one.text, other.text),
        max(one.mark, other.mark),
        max(one.opened, other.opened),
        max(one.seen, other.seen),
        max(one.over, other.over),
    )


def _after(item: Item, moment: str) -> Item:
    """What of *item* was seen after *moment*."""
    return Item(
        item.text if item.text[0] > moment else _NEVER,
        item.mark if item.mark[0] > moment else _NEVER,
        item.opened if item.opened > moment else "",
        item.seen if item.seen > moment else "",
        item.over if item.over > moment else "",
    )


def _last(item: Item) -> str:
    return max(item.last, item.over, item.text[0])


def _newest(items: Mapping[str, Item]) -> dict[str, Item]:
    """Those that are over go first, the oldest before the others."""
    ranked = sorted(items.items(), key=lambda each: (each[1].open, _last(each[1]), each[0]))
    return dict(ranked[-_KEPT:])


def _timed(lines: Iterable[Line]) -> Iterable[tuple[str, Line]]:
    for line in lines:
        at = line.get("at")
        moment = clock.parse(at) if isinstance(at, str) else None
        if moment:
            yield clock.iso(moment), line


# What is kept, as JSON and back. What cannot be read counts as not there.


def encode(kept: Work | Hands) -> dict[str, Any]:
    # As it will be read again, lists and all, so that what has not changed is not written.
    encoded: dict[str, Any] = json.loads(json.dumps(as_dict(kept)))
    return encoded


def work_of(record: object) -> Work:
    values = _mapping(record)
    match values:
        case {"phase": str(phase), "since": str(since), "began": str(began)}:
            pairs = {name: _pair(each) for name, each in _mapping(values.get("files")).items()}
            known = {name: pair for name, pair in pairs.items() if pair != _NEVER}
            born, check = _text(values.get("born")), _check_of(values.get("check"))
            return Work(phase, since, began, born, known, check)
    return Work()


def _check_of(record: object) -> Check | None:
    match record:
        case [str(at), str(command), ok, code]:
            return Check(at, command, _flag(ok), _number(code))
    return None


def hands_of(record: object) -> Hands:
    values = _mapping(record)
    match values.get("todos"):
        case [str(at), list(rows)]:
            listed = (at, tuple((row[0], row[1]) for row in rows if _is_texts(row, 2)))
        case _:
            listed = ("", ())
    return Hands(
        {name: _item_of(each) for name, each in _mapping(values.get("tasks")).items()},
        {name: _item_of(each) for name, each in _mapping(values.get("agents")).items()},
        listed,
        _text(values.get("restarted")),
        _text(values.get("listed")),
    )


def _item_of(record: object) -> Item:
    values = _mapping(record)
    return Item(
        _pair(values.get("text")),
        _pair(values.get("mark")),
        _text(values.get("opened")),
        _text(values.get("seen")),
        _text(values.get("over")),
    )


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _pair(value: object) -> Stamped:
    match value:
        case [str(at), str(text)]:
            return at, text
    return _NEVER


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_texts(row: object, count: int) -> bool:
    return isinstance(row, list) and len(row) == count and all(isinstance(e, str) for e in row)


# Telling.


def facts(work: Work, hands: Hands, phase: str) -> dict[str, Any]:
    """All of it for programs; files only while the phase is the one that they were changed in."""
    files = sorted(work.files.items(), key=lambda each: each[1], reverse=True)
    return {
        "subagents": [
            {
                "id": name,
                "kind": each.mark[1],
                "what": each.text[1],
                "since": each.opened,  # empty where only the client's list tells of it
            }
            for name, each in hands.running()
        ],
        "tasks": [{"text": text, "status": status} for text, status in hands.open_tasks()],
        "files": [
            {"path": path, "at": at, "subagent": by or None}
            for path, (at, by) in (files if work.phase == phase else ())
        ],
        "check": work.check._asdict() if work.check else None,
    }

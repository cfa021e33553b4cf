"""Fold what hooks saw into what is kept of a workflow and of a session, and tell it.

Files and checks belong to the workflow, whichever session they come from. Tasks and subagents belong
to the session and go with it to another workflow; no other session can take them away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from holdfast import clock, journal, observed, sidecar
from holdfast.formats.base import Place, Workflow
from holdfast.observed import MOST_FILES, Frame, Hands, Line, Work
from holdfast.plaintext import one_line
from holdfast.room import units
from holdfast.store import Store

_KEY = "observed"  # in a sidecar
_MOST = 20  # tasks and subagents that are told
_TEXT = 200


def fold(
    place: Place, workflow: Workflow | None, state_dir: str | None, session: str | None, wait: float
) -> None:
    """Save what was noted of *session* and is not saved yet, and which phase *workflow* is in.

    Without a workflow, because it has ended, its files and checks are of no use to anyone.
    """
    taken = journal.take(state_dir, session)
    lines, earliest = _in_time(taken.lines, _ahead(place))
    if workflow is not None:
        _fold_work(place, workflow, lines, earliest, wait)
    mine = observed.of_session(lines)
    if session and mine:
        _fold_hands(place, session, mine, earliest, wait)
    taken.done()


def _fold_work(
    place: Place, workflow: Workflow, lines: Sequence[Line], earliest: str, wait: float
) -> None:
    frame, ahead = _frame(place, workflow), _ahead(place)

    def with_work(record: dict[str, Any]) -> dict[str, Any]:
        before = observed.work_of(_clamped(record.get(_KEY), ahead, earliest))
        return {**record, _KEY: observed.encode(observed.fold_work(before, lines, frame))}

    sidecar.update(place.store, workflow.key, wait, with_work)


def _fold_hands(
    place: Place, session: str, lines: Sequence[Line], earliest: str, wait: float
) -> None:
    ahead = _ahead(place)

    def with_hands(record: dict[str, Any]) -> dict[str, Any]:
        before = observed.hands_of(_clamped(record.get(_KEY), ahead, earliest))
        return {**record, _KEY: observed.encode(observed.fold_hands(before, lines))}

    sidecar.update(place.store, sidecar.of_session(session), wait, with_hands)
    sidecar.prune(place.store, place.now)


def _ahead(place: Place) -> str:
    """The time from which on a clock was ahead; it must not decide until that time has come.

    Less than a minute is nothing: this process may have waited for the lock while others took note.
    """
    return clock.iso(place.now + timedelta(minutes=1))


def _in_time(lines: Sequence[Line], ahead: str) -> tuple[list[Line], str]:
    """*lines* with none after *ahead*, and the earliest time in them.

    They stand in about the order in which they were written, so one that is late gets the time of the
    next that is not.
    """
    found: list[Line] = []
    bound = earliest = ahead
    for line in reversed(lines):
        at = line.get("at")
        if isinstance(at, str):
            bound = bound if at > ahead else at
            earliest = min(earliest, bound)
            found.append({**line, "at": bound})
    return found[::-1], earliest


def _clamped(value: Any, ahead: str, instead: str) -> Any:
    """What is kept, with *instead* for each time after *ahead*: it was before what is folded now."""
    if isinstance(value, dict):
        return {key: _clamped(each, ahead, instead) for key, each in value.items()}
    if isinstance(value, list):
        return [_clamped(each, ahead, instead) for each in value]
    late = isinstance(value, str) and len(value) == len(ahead) and value > ahead
    return instead if late and clock.parse(value) else value


def anything_runs(root: str, session: str) -> bool:
    """Whether a subagent of *session* is kept as running."""
    record = sidecar.load(Store(root), sidecar.of_session(session))
    return bool(observed.hands_of(record.get(_KEY)).running())


def facts(
    place: Place, workflow: Workflow, session: str | None, unfolded: Sequence[Line]
) -> dict[str, Any]:
    """What was seen of *workflow* and is under way in *session*, with the lines *unfolded*."""
    work, hands = Work(), Hands()
    if place.settings.observe:
        work = observed.work_of(sidecar.load(place.store, workflow.key).get(_KEY))
        if session:
            record = sidecar.load(place.store, sidecar.of_session(session))
            hands = observed.hands_of(record.get(_KEY))
        if unfolded:
            lines, _ = _in_time(unfolded, _ahead(place))
            work = observed.fold_work(work, lines, _frame(place, workflow))
            hands = observed.fold_hands(hands, lines)
    return observed.facts(work, hands, _phase(workflow))


def _frame(place: Place, workflow: Workflow) -> Frame:
    return Frame(str(place.root), _phase(workflow), workflow.created_at, workflow.changed_at)


def _phase(workflow: Workflow) -> str:
    briefing = workflow.briefing
    # By its number alone: a title that is corrected and a total that grows begin nothing new.
    return str(briefing.phase)


def told(seen: Mapping[str, Any], now: datetime, room: int) -> list[str]:
    """What `facts` found, in one line of about *room* units for each kind."""
    lines = []
    if agents := [_agent_in_words(each, now) for each in seen["subagents"]]:
        listed = _listed(agents[:_MOST], "; ", room, len(agents))
        lines.append(f"Subagents still running: {listed}. That work is not to be dispatched again.")
    if tasks := [_task_in_words(each) for each in seen["tasks"]]:
        lines.append(f"Open tasks: {_listed(tasks[:_MOST], '; ', room, len(tasks))}")
    if files := [_file_in_words(each) for each in seen["files"]]:
        more = "or more others" if len(files) >= MOST_FILES else "more"
        lines.append(f"Files modified in this phase: {_listed(files, ', ', room, more=more)}")
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


def _listed(
    items: Sequence[str], separator: str, room: int, total: int = 0, more: str = "more"
) -> str:
    """As many of *items* as fit into *room*, and how many more there are."""
    kept: list[str] = []
    for item in items:
        room -= units(item) + len(separator)
        if room < 0 and kept:
            break
        kept.append(item)
    left = max(total, len(items)) - len(kept)
    return separator.join([*kept, f"… {left} {more}"] if left else kept)

"""Workflows that have ended or are to be left alone in this project, so that they stay so.

An entry under "finished" is a tombstone: markdown that nobody has edited since does not bring the
workflow back. An entry under "ignored" holds until `holdfast resume`. "untold" are lines that the
person has not seen yet, because they came up where a hook has no channel to a person.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime

from holdfast import clock
from holdfast.errors import NewerRecord, StateOutOfReach, StateUnreadable
from holdfast.records import Record, as_dict, made
from holdfast.regular import read_json
from holdfast.store import COMMAND_WAIT, LARGEST, Store
from holdfast.versions import left_alone, refuse_newer, stamped


class Tombstone(Record):
    """How a workflow ended."""

    name: str
    at: str
    how: str  # "completed" by a command, or "deleted": its state file was removed by hand
    declared: dict[str, str] = made(factory=dict)  # by source: digest of what it said then
    titles: dict[str, str] = made(factory=dict)  # by source: what it called the workflow
    work: tuple[str, ...] = ()  # digests of the checkboxes that were open, and of the phases
    archive: str = ""  # the last state, relative to the root
    checkout: str = ""  # the branch that the plan was on; "" without git


class Ledger(Record, frozen=False):
    """All entries, by the workflow's key."""

    finished: dict[str, Tombstone] = made(factory=dict)
    ignored: dict[str, str] = made(factory=dict)  # key -> name
    untold: list[str] = made(factory=list)
    damaged: bool = False  # the file was unreadable; this is its copy
    # What to say where it cannot be saved: a newer Holdfast has written it, or it is out of reach.
    newer: str = ""

    def check(self) -> None:
        """NewerRecord when it cannot be saved, to be called before anything else is changed."""
        if self.newer:
            raise NewerRecord(self.newer)


_FILE = "ledger.json"
_COPY = "ledger.last.json"
_MOST_UNTOLD = 10


def load(store: Store) -> Ledger:
    """What is noted. A ledger that cannot be read is replaced by the copy of its last good state."""
    path = store.private / _FILE
    if not os.path.lexists(path) or not store.holds(path.parent):
        return Ledger()
    try:
        return _parsed(read_json(path, LARGEST, follow=False), store.relative(path))
    except StateOutOfReach as error:
        trouble, out_of_reach = error.reason, True
    except StateUnreadable as error:
        trouble, out_of_reach = error.reason, False
    try:
        copy = store.private / _COPY
        ledger = _parsed(read_json(copy, LARGEST, follow=False), store.relative(copy))
    except StateUnreadable:
        ledger = Ledger()
    told = f"{store.relative(path)} could not be read: {trouble}"
    if out_of_reach:  # it may be as good as ever, and newer than the copy
        ledger.newer = f"{told}; nothing is noted there until it can be"
    else:
        ledger.damaged = True
    ledger.untold.append(ledger.newer or told)
    return ledger


def _parsed(record: object, where: str) -> Ledger:
    if not isinstance(record, dict):
        raise StateUnreadable(_FILE, f"a JSON {type(record).__name__}, not an object")
    finished, ignored, untold = (record.get(key) for key in ("finished", "ignored", "untold"))
    ledger = Ledger(newer=left_alone("ledger", where, record))
    for key, entry in finished.items() if isinstance(finished, dict) else ():
        tombstone = _tombstone(entry)
        if tombstone:
            ledger.finished[key] = tombstone
    if isinstance(ignored, dict):
        ledger.ignored = {key: name for key, name in ignored.items() if isinstance(name, str)}
    if isinstance(untold, list):
        ledger.untold = [line for line in untold if isinstance(line, str)]
    if ledger.newer:
        ledger.untold.append(ledger.newer)
    return ledger


def _tombstone(entry: object) -> Tombstone | None:
    match entry:
        case {
            "name": str(name),
            "at": str(at),
            "how": str(how),
            "declared": dict(declared),
            "titles": dict(titles),
            "work": list(work),
            "archive": str(archive),
            "checkout": str(checkout),
        }:
            digests, names = (
                {str(path): str(text) for path, text in each.items()} for each in (declared, titles)
            )
            items = tuple(str(item) for item in work)
            return Tombstone(name, at, how, digests, names, items, archive, checkout)
    return None


def save(store: Store, ledger: Ledger, now: datetime) -> None:
    """Write *ledger*; to be called inside the lock."""
    ledger.check()
    refuse_newer("ledger", store.private / _COPY, store.relative(store.private / _COPY))
    content = {
        "finished": {key: as_dict(entry) for key, entry in sorted(ledger.finished.items())},
        "ignored": dict(sorted(ledger.ignored.items())),
        "untold": list(dict.fromkeys(ledger.untold))[-_MOST_UNTOLD:],
    }
    path = store.private / _FILE
    if ledger.damaged:
        store.set_aside(path, clock.for_names(now), move=True)
    text = json.dumps(stamped("ledger", content), ensure_ascii=False, indent=1)
    encoded = (text + "\n").encode("utf-8", "replace")
    store.write(path, encoded)
    store.write(store.private / _COPY, encoded)


def tell_later(store: Store, lines: Sequence[str], now: datetime) -> None:
    """Note what the person has to be told; to be called inside the lock."""
    entries = load(store)
    if lines and not entries.newer:
        entries.untold += lines
        save(store, entries, now)


def ignore(store: Store, key: str, name: str, now: datetime, *, ignored: bool) -> None:
    """Leave a workflow alone: it is neither saved nor restored until it is resumed."""
    with store.lock(COMMAND_WAIT):
        entries = load(store)
        if ignored:
            entries.ignored[key] = name
        else:
            entries.ignored.pop(key, None)
        save(store, entries, now)

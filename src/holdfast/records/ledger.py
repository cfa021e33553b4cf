"""The project's record: what ended, what is ignored, which notices are due, and what is known of each workflow beyond its own file.

An entry under "finished" is a tombstone: markdown that nobody has edited since does not bring the workflow back. An
entry under "ignored" holds until `holdfast resume`. "followed" are plans that count whatever they say of their status.
"notices" are lines that the person has not seen yet, because they came up where a hook has no channel to a person.
"told" are files of which the person was told, and in which version. "workflows" has since when each is in its phase, and what a format notes,
since nothing of ours goes into files that are not ours alone.

It is one file in our private folder of the project, read and written whole inside the project's lock, with its last
good copy beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, OnErrorOmit

from holdfast import clock
from holdfast.errors import NewerRecord, StateOutOfReach, StateUnreadable
from holdfast.files.ownjson import newer_version_warning, refuse_newer, stamped
from holdfast.files.regular import read_json
from holdfast.files.store import COMMAND_WAIT, LARGEST, Store

_FILE = "ledger.json"
_COPY = "ledger.last.json"
_MOST_NOTICES = 10
_MOST_WORKFLOWS = 300  # those that were noted last

Text = InstanceOf[str]  # names may hold lone surrogates, which pydantic refuses in a str
Notes = dict[str, Any]
T = TypeVar("T")


class Tombstone(BaseModel):
    """How a workflow ended."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    name: Text
    at: Text
    how: Text  # "completed" by a command, or "deleted": its state file was removed by hand
    declared: dict[Text, Text] = {}  # by source: digest of what it said then
    titles: dict[Text, Text] = {}  # by source: what it called the workflow
    work: tuple[Text, ...] = ()  # digests of the checkboxes that were open, and of the phases
    archive: Text = ""  # the last state, relative to the root
    checkout: Text = ""  # the branch that the plan was on; "" without git


def _or_empty(kind: type[dict[Any, Any] | list[Any]]) -> BeforeValidator:
    """What is no *kind* counts as an empty one."""
    return BeforeValidator(lambda value: value if isinstance(value, kind) else kind())


# One odd entry costs itself.
Table = Annotated[dict[Text, OnErrorOmit[T]], _or_empty(dict)]
Texts = Annotated[list[OnErrorOmit[Text]], _or_empty(list)]


class Ledger(BaseModel):
    """The project record. Its tables are keyed by workflow key or by session id."""

    finished: Table[Tombstone] = {}
    ignored: Table[Text] = {}  # names
    followed: Texts = []  # paths of plans
    notices: Texts = []
    told: Table[Text] = {}  # versions, by path
    workflows: Table[Notes] = {}

    # Not saved. `damaged`: the file was unreadable and this is its last good copy. `newer`: why the record cannot be
    # saved, because a newer Holdfast has written it or it is out of reach.
    damaged: bool = Field(default=False, exclude=True)
    newer: str = Field(default="", exclude=True)

    def check(self) -> None:
        """NewerRecord when it cannot be saved, to be called before anything else is changed."""
        if self.newer:
            raise NewerRecord(self.newer)

    def note(self, key: str, by: Callable[[Notes], Notes]) -> None:
        """Update the notes of the workflow *key*."""
        before = self.workflows.get(key, {})
        after = by(before)
        if after != before:
            self.workflows.pop(key, None)  # keep the latest last
            self.workflows[key] = after

    def encode(self) -> bytes:
        content = {
            **self.model_dump(),
            "finished": {key: stone.model_dump() for key, stone in sorted(self.finished.items())},
            "ignored": dict(sorted(self.ignored.items())),
            "told": dict(list(self.told.items())[-_MOST_NOTICES:]),
            "notices": list(dict.fromkeys(self.notices))[-_MOST_NOTICES:],
            "workflows": dict(list(self.workflows.items())[-_MOST_WORKFLOWS:]),
        }
        # ASCII, so that a key or a text with a lone surrogate can be read back.
        return (json.dumps(stamped(content), indent=1) + "\n").encode()


_KEPT = tuple(name for name, field in Ledger.model_fields.items() if not field.exclude)


def load(store: Store) -> Ledger:
    """Read the project record, or its last good copy if it cannot be read."""
    path = store.private / _FILE
    if not store.exists(path) or not store.holds(path.parent):
        return Ledger()
    try:
        return _parsed(read_json(path, LARGEST, follow=False), store.relative(path))
    except StateUnreadable as error:
        trouble, out_of_reach = error.reason, isinstance(error, StateOutOfReach)
    try:
        copy = store.private / _COPY
        store.inputs.note(copy)
        record = _parsed(read_json(copy, LARGEST, follow=False), store.relative(copy))
    except StateUnreadable:
        record = Ledger()
    told = f"{store.relative(path)} could not be read: {trouble}"
    if out_of_reach:  # it may be as good as ever, and newer than the copy
        record.newer = f"{told}; nothing is noted there until it can be"
    else:
        record.damaged = True
    record.notices.append(record.newer or told)
    return record


def _parsed(record: object, where: str) -> Ledger:
    if not isinstance(record, dict):
        raise StateUnreadable(_FILE, f"a JSON {type(record).__name__}, not an object")
    found = Ledger.model_validate({key: record[key] for key in _KEPT if key in record})
    found.newer = newer_version_warning(where, record)
    if found.newer:
        found.notices.append(found.newer)
    return found


def change(store: Store, by: Callable[[Ledger], None]) -> Ledger:
    """Change the record as it is now *by* that; to be called inside the lock. No change writes nothing."""
    record = load(store)
    record.check()
    path, copy = store.private / _FILE, store.private / _COPY
    refuse_newer(copy, store.relative(copy))
    before = record.encode()
    by(record)
    encoded = record.encode()
    if encoded == before and not record.damaged:
        return record
    if record.damaged:
        last_changed = clock.from_mtime(os.lstat(path).st_mtime)
        store.set_aside(path, clock.for_names(last_changed), move=True)
    store.write(path, encoded)
    store.write(copy, encoded)
    return record


def save(store: Store, ledger: Ledger) -> None:
    """Write what *ledger* says of ends, of what is ignored, and of notices; to be called inside the lock.

    What was noted of workflows since it was loaded stays.
    """
    ledger.check()

    def by(record: Ledger) -> None:
        record.finished, record.ignored = ledger.finished, ledger.ignored
        record.notices = ledger.notices

    change(store, by)


def tell_later(store: Store, lines: Sequence[str]) -> None:
    """Add *lines* to the notices for the person. The caller holds the project lock."""
    if lines and not load(store).newer:
        change(store, lambda record: record.notices.extend(lines))


def ignore(store: Store, key: str, name: str, *, ignored: bool, plan: str = "") -> None:
    """Leave a workflow alone, so that it is neither saved nor restored; or do so no longer.

    Its *plan*, where one is given, is followed in every session while it is not ignored.
    """

    def by(record: Ledger) -> None:
        record.followed = [path for path in record.followed if path != plan]
        if ignored:
            record.ignored[key] = name
        else:
            record.ignored.pop(key, None)
            record.followed += [plan] if plan else []

    with store.lock(COMMAND_WAIT):
        change(store, by)


# What is known of one workflow.


def notes_of(store: Store, key: str) -> Notes:
    """The notes of the workflow *key*."""
    return load(store).workflows.get(key, {})


def update_notes(store: Store, key: str, wait: float, by: Callable[[Notes], Notes]) -> Notes:
    """Take the project lock and update the notes of *key* with *by*."""
    with store.lock(wait):
        return put_notes(store, key, by)


def put_notes(store: Store, key: str, by: Callable[[Notes], Notes]) -> Notes:
    """Update the notes of *key* while holding the project lock."""
    return change(store, lambda record: record.note(key, by)).workflows.get(key, {})


_REMINDERS = "reminders"  # in the notes of a workflow whose format has no place for them


def reminders_of(store: Store, key: str, begun: str) -> list[str]:
    """What `holdfast note` kept of the workflow *key* since it was *begun*, not of an earlier one of that key."""
    noted = notes_of(store, key).get(_REMINDERS)
    if not isinstance(noted, dict) or noted.get("begun") != begun:
        return []
    return [str(text) for text in noted.get("texts") or ()]


def remind(
    store: Store, key: str, begun: str, wait: float, *, add: Sequence[str], drop: Sequence[str]
) -> None:
    """Add to these reminders, and take *drop* out."""

    def by(notes: Notes) -> Notes:
        known = reminders_of(store, key, begun)  # as they are inside the lock
        kept = [text for text in known if text not in {*add, *drop}]
        return {**notes, _REMINDERS: {"begun": begun, "texts": [*kept, *add]}}

    update_notes(store, key, wait, by)

"""What the last restore of a session delivered, and what its agent has still to open by itself.

One file a session, in the user's folder. Its first line is written by the restore; the hooks of tool
calls add lines to it, without a lock, so that they cost next to nothing. Light; see `jsonlines`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from holdfast import jsonlines, sessions
from holdfast.appending import append
from holdfast.atomic import own_name, replace_file
from holdfast.homes import file_of
from holdfast.openflags import make_private
from holdfast.regular import has_something
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

_KIND: Kind = "deliveries"
_LARGEST = 1024 * 1024


class Delivery(NamedTuple):
    """The restore, and what happened since."""

    root: str
    workflow: str  # its key
    name: str
    marks: Mapping[str, str]  # by real path: how each required file was
    unread: Mapping[str, str]  # files that the agent has to open, real path -> as it is written
    sent: Mapping[str, tuple[int, int]]  # real path -> the first and the last part
    withheld: Mapping[str, str]  # real path -> why it was not sent
    state: str = ""  # the workflow's state file; empty when none was saved
    opened: frozenset[str] = frozenset()
    denied: int = 0
    reminded: int = 0

    def left(self) -> list[str]:
        """What is still to be opened, as it is written. What is gone by now does not count.

        Neither does anything once the workflow's state file is gone: then it has ended.
        """
        if self.state and not os.path.exists(self.state):
            return []
        return [
            written
            for real, written in self.unread.items()
            if real not in self.opened and has_something(real)
        ]

    def means(self, path: str) -> list[str]:
        """Which of the unread files are meant by *path*, also where a link leads elsewhere by now."""
        real = os.path.realpath(path)
        return [
            each
            for each, written in self.unread.items()
            if real in {each, os.path.realpath(os.path.join(self.root, written))}
        ]


def record(state_dir: str | None, session: str | None, delivery: Delivery, now: datetime) -> None:
    """Note *delivery* in place of the one before."""
    if not state_dir or not session:
        return
    path = path_of(state_dir, session)
    if left_alone_in(_KIND, path):
        return
    try:
        make_private(os.path.dirname(path))
        replace_file(path, encoded(delivery), mode=0o600)
        sessions.prune(state_dir, _KIND, now)
    except OSError:
        return  # then nothing is asked for; the guidance has named the files


def path_of(state_dir: str, session: str) -> str:
    """Where it is noted what *session* was delivered."""
    return file_of(state_dir, _KIND, session, "jsonl")


def encoded(delivery: Delivery) -> bytes:
    """What is kept of a restore."""
    first = {
        "root": delivery.root,
        "workflow": delivery.workflow,
        "name": delivery.name,
        "marks": dict(delivery.marks),
        "unread": dict(delivery.unread),
        "state": delivery.state,
        "sent": dict(delivery.sent),
        "withheld": dict(delivery.withheld),
    }
    lines: list[Mapping[str, object]] = [
        stamped(_KIND, first),
        *({"opened": real} for real in sorted(delivery.opened)),
    ]
    return b"".join(jsonlines.encode(line) for line in lines)


def recall(state_dir: str | None, session: str | None) -> Delivery | None:
    """What was delivered to *session* last."""
    if not state_dir or not session:
        return None
    path = path_of(state_dir, session)
    if not os.path.exists(path):
        return None
    records = jsonlines.read(path, _LARGEST)
    if any(is_newer(_KIND, each) for each in records[:1]):
        return None
    match records[:1]:
        case [
            {
                "root": str(root),
                "workflow": str(workflow),
                "name": str(name),
                "marks": dict(marks),
                "unread": dict(unread),
                "state": str(state),
                "sent": dict(sent),
                "withheld": dict(withheld),
            }
        ]:
            since = records[1:]
            return Delivery(
                root,
                workflow,
                name,
                {str(real): str(mark) for real, mark in marks.items()},
                {str(real): str(written) for real, written in unread.items()},
                dict(_spans(sent)),
                {str(real): str(why) for real, why in withheld.items()},
                state,
                frozenset(str(each["opened"]) for each in since if "opened" in each),
                sum("denied" in each for each in since),
                sum("reminded" in each for each in since),
            )
    return None


def _spans(sent: Mapping[str, object]) -> Iterator[tuple[str, tuple[int, int]]]:
    for real, parts in sent.items():
        match parts:
            case [int(first), int(last)]:
                yield real, (first, last)


def opened(state_dir: str | None, session: str | None, paths: Sequence[str]) -> list[str]:
    """Note that the agent has opened *paths*, or need not; returns those that were asked for."""
    delivery = recall(state_dir, session)
    if delivery is None:
        return []
    meant = [each for path in paths for each in delivery.means(path)]
    asked = [real for real in dict.fromkeys(meant) if real not in delivery.opened]
    for real in asked:
        _add(state_dir, session, {"opened": real})
    return [delivery.unread[real] for real in asked]


def turn(state_dir: str | None, session: str | None, what: str) -> int:
    """Note that *what* is about to be said, and return how often that makes it since the restore.

    Calls at the same moment get different numbers.
    """
    mine = own_name()
    if not _add(state_dir, session, {what: mine}):
        return sys.maxsize  # what cannot be counted must not be said again and again
    path = path_of(state_dir or "", session or "")
    said = [each[what] for each in jsonlines.read(path, _LARGEST) if what in each]
    return said.index(mine) + 1 if mine in said else len(said) + 1


def forget(state_dir: str | None, session: str | None) -> None:
    """Nothing is delivered to *session* any more, so nothing is to be opened."""
    sessions.forget(state_dir, _KIND, session, "jsonl")


def _add(state_dir: str | None, session: str | None, line: Mapping[str, object]) -> bool:
    path = path_of(state_dir or "", session or "")
    try:
        append(path, jsonlines.encode(line))
    except OSError:
        return False
    return True

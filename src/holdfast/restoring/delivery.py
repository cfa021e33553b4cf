"""What a session's last restore delivered, and which files its agent must still open.

Stored in the session's log. Standard library only: tool-call hooks load it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.files import ownjson
from holdfast.files.atomic import own_name
from holdfast.files.fingerprints import digest
from holdfast.files.regular import has_something
from holdfast.records import sessionlog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


class Delivery(NamedTuple):
    """A restore, and what happened since."""

    root: str
    workflow: str  # its key
    name: str
    fingerprints: Mapping[str, str]  # by real path: each required file's fingerprint
    unread: Mapping[str, str]  # files that the agent must open, real path -> path as written
    sent: Mapping[str, tuple[int, int]]  # real path -> the first and the last part
    withheld: Mapping[str, str]  # real path -> why it was not sent
    state: str = ""  # the workflow's state file; empty when none was saved
    opened: frozenset[str] = frozenset()
    denied: int = 0
    reminded: int = 0

    def left(self) -> list[str]:
        """The unopened files, as written; not those deleted since, and none once the state file is gone."""
        if self.state and not os.path.exists(self.state):
            return []
        return [
            written
            for real, written in self.unread.items()
            if real not in self.opened and has_something(real)
        ]

    def asked_for(self, path: str) -> list[str]:
        """The unopened files that *path* means, even if a link has moved since."""
        real = os.path.realpath(path)
        return [
            file
            for file, written in self.unread.items()
            if file not in self.opened
            and real in {file, os.path.realpath(os.path.join(self.root, written))}
        ]

    def is_over(self, kind: str, most: int) -> bool:
        """Whether the gate has used up its *kind*: "denied" or "reminded"."""
        return (self.denied if kind == "denied" else self.reminded) >= most

    def fields(self) -> dict[str, object]:
        """The fields of its log line. The id is their digest, so equal deliveries have equal ids."""
        kept: dict[str, object] = {**self._asdict(), "opened": sorted(self.opened)}
        del kept["denied"], kept["reminded"]
        return {"id": digest(ownjson.encode(kept))[:16], **kept}


_TEXTS = ("root", "workflow", "name", "state")
_BY_FILE = ("fingerprints", "unread", "withheld", "sent")


def recall(state_dir: str | None, session: str | None) -> Delivery | None:
    """The last delivery to *session*."""
    lines = sessionlog.deliveries(state_dir, session)
    kept: dict[str, Any] = lines[0] if lines else {}
    kinds = {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_BY_FILE, dict), "opened": list}
    if not all(isinstance(kept.get(key), kind) for key, kind in kinds.items()):
        return None
    since = [line.get("path") for line in lines if line["entry"] == "opened"]
    return Delivery(
        root=kept["root"],
        workflow=kept["workflow"],
        name=kept["name"],
        fingerprints=_texts(kept["fingerprints"]),
        unread=_texts(kept["unread"]),
        sent=dict(_spans(kept["sent"])),
        withheld=_texts(kept["withheld"]),
        state=kept["state"],
        opened=frozenset(map(str, [*kept["opened"], *since])),
        denied=len(_said(lines, "denied")),
        reminded=len(_said(lines, "reminded")),
    )


def _texts(by_file: Mapping[str, object]) -> dict[str, str]:
    return {real: str(text) for real, text in by_file.items()}


def _spans(sent: Mapping[str, object]) -> Iterator[tuple[str, tuple[int, int]]]:
    for real, parts in sent.items():
        match parts:
            case [int(first), int(last)]:
                yield real, (first, last)


def _said(lines: Sequence[Mapping[str, object]], what: str) -> list[object]:
    return list(dict.fromkeys(line.get("by") for line in lines if line["entry"] == what))


def opened(
    state_dir: str | None, session: str | None, paths: Sequence[str], now: datetime
) -> list[str]:
    """Record that the agent opened *paths*, or need not; returns those that were required."""
    due = recall(state_dir, session)
    if due is None:
        return []
    asked = dict.fromkeys(real for path in paths for real in due.asked_for(path))
    for real in asked:
        sessionlog.append(state_dir, session, "opened", now, path=real)
    return [due.unread[real] for real in asked]


def take_turn(state_dir: str | None, session: str | None, what: str, now: datetime) -> int:
    """Note that the session is about to be "denied" or "reminded"; how often that makes it since the restore.

    Calls at the same moment get different numbers.
    """
    mine = own_name()
    if not sessionlog.append(state_dir, session, what, now, by=mine):
        return sys.maxsize  # if it cannot be counted, do not repeat it
    said = _said(sessionlog.deliveries(state_dir, session), what)
    return said.index(mine) + 1 if mine in said else len(said) + 1

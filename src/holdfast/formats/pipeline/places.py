"""Where workflows lie, and what they are called.

A name comes from a command line or from a folder that somebody made, and becomes part of a path. So it
is checked: it has no slash and nothing that cannot be printed, does not begin with a dot or as an
option, and is no longer than a file system takes.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

from holdfast.errors import IllegalMove
from holdfast.plaintext import one_line
from holdfast.regular import entries
from holdfast.store import Store

WORKSPACE = "workspace"
SESSIONS = f"{WORKSPACE}/sessions"
LOGS = f"{WORKSPACE}/logs/workflow-orchestration"
INDEX = "index.json"
NO_SESSION = "global"  # what somebody writes who wants no session, so none has this name

_NO_NAME = re.compile(r"^[.\s-]|[.\s]$|[/\\:*?\"<>|]|^$")  # Windows has more than others
_LONGEST = 120  # bytes; with an ending it still has to be a file's name
_LONGEST_SUBJECT = 60
_NO_PART = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Location:
    """The global workspace, or a session's; all paths are relative to the root."""

    session: str | None = None

    @property
    def base(self) -> str:
        return f"{SESSIONS}/{self.session}" if self.session else WORKSPACE

    @property
    def states(self) -> str:
        """The folder of the state files."""
        return f"{self.base}/workflow-state"

    @property
    def index(self) -> str:
        return f"{self.states}/{INDEX}"

    def state(self, workflow_id: str) -> str:
        return f"{self.states}/{workflow_id}.json"

    def run(self, workflow_type: str, workflow_id: str) -> str:
        """The folder of a workflow's artefacts."""
        return f"{self.base}/{workflow_type}-runs/{workflow_id}"


GLOBAL = Location()


def log(workflow_id: str) -> str:
    """The log of a workflow, wherever its state lies."""
    return f"{LOGS}/{workflow_id}.log"


def is_name(text: str) -> bool:
    """Whether *text* may be the name of a session or of a type."""
    return text.isprintable() and not _NO_NAME.search(text) and len(os.fsencode(text)) <= _LONGEST


def is_id(text: str) -> bool:
    """Whether *text* may be the id of a workflow; the index lies beside the states."""
    return is_name(text) and f"{text}.json".lower() != INDEX


def checked_session(name: str) -> str:
    if not is_name(name) or name == NO_SESSION:
        raise IllegalMove(
            f"{one_line(name, 80)!r} is no name of a session",
            hint="Letters, digits, hyphens, underscores and dots, such as work-on-chapter-02; "
            f"{NO_SESSION!r} means that there is none.",
        )
    return name


def checked_id(text: str) -> str:
    if not is_id(text):
        raise IllegalMove(
            f"{one_line(text, 80)!r} is no id of a workflow",
            hint="It is the name of its state file, such as generation-scene-0204-20251110-143000; "
            "see holdfast pipeline list.",
        )
    return text


def session_names(store: Store) -> list[str]:
    """The sessions that there are: each is a folder. A link is none, nor is one with another's states.

    Nor is what a link to all of them leads to, since a cancel removes what is a session's.
    """
    folder = store.root / SESSIONS
    if not store.is_direct(folder):
        return []
    return sorted(
        entry.name
        for entry in entries(folder)
        if entry.is_dir(follow_symlinks=False)
        and is_name(entry.name)
        and entry.name != NO_SESSION
        and not os.path.islink(store.root / Location(entry.name).states)
    )


def locations(store: Store) -> list[Location]:
    """The global one, then those of the sessions, by name."""
    return [GLOBAL, *map(Location, session_names(store))]


def state_entries(store: Store, location: Location) -> list[os.DirEntry[str]]:
    """What may be a state at *location*, in the order of the names."""
    folder = store.root / location.states
    there = [each for each in entries(folder) if each.name.endswith(".json") and each.name != INDEX]
    return sorted(there, key=lambda each: each.name) if store.holds(folder) else []


def state_paths(root: Path) -> list[Path]:
    """All files that may be states, in the order of their locations and names."""
    store = Store(root)
    return [Path(each.path) for place in locations(store) for each in state_entries(store, place)]


def new_id(store: Store, workflow_type: str, subject: str, now: datetime) -> str:
    """An id that nothing has yet: generation-scene-0204-20251110-143000; to be called inside the lock.

    The second one of the same second ends in -2, the next in -3.
    """
    parts = (workflow_type, _as_part(subject), now.strftime("%Y%m%d-%H%M%S"))
    first = checked_id("-".join(filter(None, parts)))
    numbered = (first if number == 1 else f"{first}-{number}" for number in count(1))
    return next(each for each in numbered if not _is_taken(store, workflow_type, each))


def _as_part(subject: str) -> str:
    """What may stand in an id for *subject*, which may be any text."""
    plain = _NO_PART.sub("-", subject.strip()).strip("-._")
    return os.fsencode(plain)[:_LONGEST_SUBJECT].decode("utf-8", "ignore").strip("-._")


def _is_taken(store: Store, workflow_type: str, workflow_id: str) -> bool:
    there = [log(workflow_id)]
    for location in locations(store):
        there += [location.state(workflow_id), location.run(workflow_type, workflow_id)]
    return any(os.path.lexists(store.root / path) for path in there)

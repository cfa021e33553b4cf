"""Answers that were prepared: where they lie, and whether they still hold.

A set of answers holds as long as everything that was looked at to make it is as it was: its fingerprints are compared, and
what has none (who asks, from where, with which variables) stands in the set itself. Sets lie in the user's folder alone;
nothing in a repository is ever taken for one. Light; see `hooks.launch`.
"""

from __future__ import annotations

import json
import os
import sys

from holdfast.files import fingerprints
from holdfast.files.fingerprints import checksum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

VERSION = 8
KIND = "prepared"  # the folder's name

# The sets: what is answered in a place, whoever asks, and what is answered to one session.
IDLE, TOOLS = "idle", "tools"
NOTE, RESTORE, STATUS = "note", "restore", "status"
TIMELESS = {IDLE, TOOLS}  # they follow from settings and from which files there are

# What changes the answer and is no file.
_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def is_supported() -> bool:
    """Whether fingerprints show every change. On Windows every time of a file can be set.

    `simulate` is not supported: it must leave no trace.
    """
    return hasattr(os, "geteuid") and not os.environ.get("HOLDFAST_PLAYED")


class Shelf:
    """Where the sets lie for a *session* of *agent*, which began in *started* and works in *cwd*.

    An empty *session* stands for any.
    """

    def __init__(self, state_dir: str, agent: str, session: str, cwd: str, started: str) -> None:
        asked = [VERSION, __file__, sys.hexversion, os.geteuid(), agent, session, cwd, started]
        self.whose = [*asked, *(os.environ.get(name) for name in _VARIABLES)]
        name = checksum(repr(self.whose).encode("utf-8", "replace"))
        self._path = os.path.join(state_dir, KIND, name)

    def path(self, kind: str) -> str:
        return f"{self._path}-{kind}.json"

    def find(self, kind: str) -> dict[str, Answer] | None:
        """The set *kind*, if it holds now: an answer for each event."""
        try:
            with open(self.path(kind), "rb") as stream:
                kept = json.loads(stream.read())
        except (OSError, ValueError):  # a power cut may have torn it
            return None
        if not isinstance(kept, dict) or kept["for"] != self.whose or not _holds(kept):
            return None
        answers: dict[str, Answer] = kept["answers"]
        return answers


def _holds(kept: dict[str, Any]) -> bool:
    """Whether it is the time of the set *kept*, all is as it was, and no session log has more that counts."""
    from holdfast.records import sessionlog

    if "from" in kept:  # else it holds at any time
        from holdfast.clock import Clock, iso

        if not kept["from"] <= iso(Clock.from_environment().now()) < kept["until"]:
            return False
    for path, listed, mark, *content in kept["inputs"]:
        if fingerprints.fingerprint(path, listed=listed) != mark:
            return False
        if content and fingerprints.content_digest(path) != content[0]:
            return False
    return all(sessionlog.has_only(*log) for log in kept["logs"])

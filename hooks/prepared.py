"""Answers that the full path has prepared: where they lie, and whether they still hold.

A set of answers holds as long as everything that was looked at to make it is as it was: its marks are
compared, and what has no mark of its own (who asks, from where, with which variables) is in the set's
name. So there is no second logic here that could disagree with the full path. Sets lie in the user's
folder alone; nothing in a repository is ever taken for one. Light; see `launch`.
"""

from __future__ import annotations

import os
import sys

from holdfast import marks
from holdfast.digests import digest
from holdfast.hooks import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

VERSION = 2
KIND = "prepared"  # the folder's name

# The sets: what is answered in a place, whoever asks, and what is answered to one session.
STRAY, IDLE = "stray", "idle"
COMPACTION, STATUS, TOOLS = "compaction", "status", "tools"

MORE = "more"  # any part of the reading beyond the last one

# What changes the answer and is no file.
_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def start(source: str, part: str = "") -> str:
    """The name of the answer to a SessionStart, or to one that asks for a part of the reading."""
    return f"SessionStart {source} {part}".rstrip()


class Found:
    """A set of answers that holds."""

    def __init__(self, texts: str, answers: dict[str, Answer]) -> None:
        self._texts = texts  # what the paths of their texts begin with
        self.answers = answers

    def get(self, name: str) -> Answer | None:
        return self.answers.get(name)

    def text(self, answer: Answer) -> bytes | None:
        """What *answer* prints; None where it is not there, or not whole."""
        name = answer.get("text")
        if not isinstance(name, str):
            return b""
        try:
            with open(self._texts + name, "rb") as stream:
                data = stream.read()
        except OSError:
            return None
        return data if name_of(data) == name else None


def folder(state_dir: str, agent: str, session: str, cwd: str, started: str) -> str:
    """Where the answers to *session* of *agent* are kept, which began in *started* and works in *cwd*.

    An empty *session* stands for any.
    """
    asked = [VERSION, __file__, sys.hexversion, os.geteuid(), agent, session, cwd, started]
    asked += [os.environ.get(name) for name in _VARIABLES]
    return os.path.join(state_dir, KIND, digest(repr(asked).encode("utf-8", "replace"))[:24])


def find(folder: str, name: str, now: int) -> Found | None:
    """The set *name* in *folder*, if it holds at *now* in nanoseconds."""
    try:
        with open(os.path.join(folder, f"{name}.json"), "rb") as stream:
            kept = quickjson.loads(stream.read(), "surrogateescape")
    except OSError:
        return None
    if not isinstance(kept, dict) or not kept["from"] <= now < kept["until"]:
        return None
    if hold(kept["inputs"]):
        return Found(os.path.join(folder, f"{name}-"), kept["answers"])
    return None


def hold(inputs: dict[str, list[list[Any]]]) -> bool:
    """Whether everything is as it was when `Witness.inputs` noted it."""
    return (
        all(_holds(*each) for each in inputs["single"])
        and all(marks.of_many(place, names) == was for place, names, was in inputs["many"])
        and not any(named(place, tuple(begins)) for place, begins in inputs["nothing_named"])
    )


def _holds(path: str, how: int, mark: marks.Mark, content: str | None = None) -> bool:
    """Whether *path* is as it was when it was noted so."""
    return marks.of(path, how) == mark and (content is None or marks.content(path) == content)


def named(place: str, begins: tuple[str, ...]) -> list[str]:
    """What lies in the folder *place* under names that begin so."""
    try:
        return [name for name in os.listdir(place) if name.startswith(begins)]
    except OSError:
        return []


def name_of(data: bytes | None) -> str:
    """What is kept of *data* goes by this name."""
    return "" if data is None else digest(data)

"""What a run has learned: .claude/learnings.jsonl, which only grows, and the list in the state.

Rule 1: the log and the state change as one, so the state never knows more than the log. What another tool
        wrote into the state alone, the next command adds to the log.
Rule 2: nothing comes from the log into the state: it goes on through all runs, and keeps what a restore
        takes back from the state.
Rule 3: the same learning, of the same moment, is one learning, however often it is met.
"""

from __future__ import annotations

import json

from pydantic import ValidationError

from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.files import ownjson
from holdfast.files.regular import read_file
from holdfast.files.store import LARGEST, Store
from holdfast.files.together import Change
from holdfast.formats.engine.moves import move, needed
from holdfast.formats.orchestrator import files
from holdfast.formats.orchestrator.model import Learning, State
from holdfast.formats.orchestrator.moves import when

LARGEST_LOG = 4 * LARGEST


@move(when(while_paused=True))
def learn(
    state: State,
    at: str,
    kind: str,
    lesson: str,
    *,
    pattern: str,
    context: str,
    task: str | None = None,
) -> None:
    """Record a LESSON in learnings.jsonl and in the state."""
    learned = Learning(
        timestamp=at,
        task=task or state.current_id,
        iteration=state.orchestrator.ralph_iteration,
        type=kind,
        lesson=needed(lesson, "the lesson"),
        pattern=pattern.strip(),
        context=context.strip(),
    )
    if _identity(learned) not in map(_identity, state.learnings):
        state.learnings = [*state.learnings, learned]


def missing_in_log(store: Store, *states: State) -> list[Change]:
    """What to write so that the log has the learnings of *states*."""
    learned = {_identity(learning): learning for state in states for learning in state.learnings}
    content = _read_log(store) if learned else b""
    for line in ownjson.parse(content):
        try:
            learned.pop(_identity(Learning.model_validate(line)), None)
        except ValidationError:
            continue
    if not learned:
        return []
    if content and not content.endswith(b"\n"):  # somebody was killed while adding a line
        content += b"\n"
    new = (ownjson.encode(learning.model_dump(exclude_unset=True)) for learning in learned.values())
    return [Change(store.root / files.LEARNINGS, content + b"".join(new))]


def _read_log(store: Store) -> bytes:
    path = store.root / files.LEARNINGS
    if not store.exists(path):
        return b""
    try:
        return read_file(path, LARGEST_LOG, follow=False)[0]
    except StateUnreadable as error:
        reason = "it is a link" if path.is_symlink() else error.reason
        raise StateUnwritable(
            path,
            f"{reason}. It is written with the state, so nothing was changed; put a regular file "
            "there, or move it away",
        ) from error


def _identity(learning: Learning) -> str:
    return json.dumps(learning.model_dump(exclude_unset=True), sort_keys=True)

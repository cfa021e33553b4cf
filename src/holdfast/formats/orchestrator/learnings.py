"""What a run has learned: .claude/learnings.jsonl, which only grows, and the list in the state.

Rule 1: a learning is in the log, synced, before it is in the state. So the state never knows more
        than the log: not when a process is killed between the two, and not after a restore, which
        takes back what the state knows and nothing of the log.
Rule 2: what the log has and the state lacks, because somebody was killed between the two, the next
        command that changes the state adds to it. For that we note, in our own folder, up to where
        the log was taken over. What lies before that and is not in the state belongs to an earlier
        run, or was taken back by a restore.
Rule 3: what another tool wrote into the state alone, the next command adds to the log.
Rule 4: the same learning, of the same moment, is one learning, however often it is met.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from holdfast import jsonlines, sidecar
from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.formats.orchestrator import files
from holdfast.formats.orchestrator.model import Learning, State
from holdfast.formats.orchestrator.moving import needed, refuse_ended
from holdfast.regular import read_file
from holdfast.store import LARGEST, Store

_LARGEST = 16 * LARGEST
_TAKEN = "learnings_taken"  # in the sidecar of the run: bytes of the log


def learn(
    state: State,
    at: str,
    kind: str,
    lesson: str,
    *,
    pattern: str,
    context: str,
    task: str | None = None,
) -> State:
    """Note what was learned, of the task that is worked on unless another is named."""
    refuse_ended(state)
    current = state.current
    learned = Learning(
        timestamp=at,
        task=task or (current.task if current else ""),
        iteration=state.iteration,
        type=kind,
        lesson=needed(lesson, "the lesson"),
        pattern=pattern.strip(),
        context=context.strip(),
    )
    after = state.model_copy(deep=True)
    if _identity(learned) not in map(_identity, state.learnings):
        after.learnings = [*after.learnings, learned]
    return after


def settled(store: Store, state: State) -> State:
    """*state*, which is to be written, once it and the log agree; `taken` after it was written.

    To be called inside the lock.
    """
    key, content = files.key_of(state), _content(store)
    mark = sidecar.load(store, key).get(_TAKEN)
    if not isinstance(mark, int) or mark > len(content):  # the first time here, or another log
        mark = _whole(content)
        _note(store, key, mark)
    known = _by_identity(state.learnings)
    missed = _by_identity(_parsed(content[mark:]))
    logged = _by_identity(_parsed(content))
    _add(store, [each for name, each in known.items() if name not in logged])
    return _with(state, [each for name, each in missed.items() if name not in known])


def taken(store: Store, state: State) -> None:
    """Note that *state* was written with what the log has by now."""
    _note(store, files.key_of(state), _whole(_content(store)))


def _add(store: Store, learnings: Iterable[Learning]) -> None:
    lines = b"".join(jsonlines.encode(each.model_dump(exclude_unset=True)) for each in learnings)
    if lines:
        store.append(_path(store), lines)


def _with(state: State, missed: list[Learning]) -> State:
    if not missed:
        return state
    after = state.model_copy(deep=True)
    after.learnings = [*after.learnings, *missed]
    return after


def _note(store: Store, key: str, mark: int) -> None:
    sidecar.put(store, key, lambda record: {**record, _TAKEN: mark})


def _whole(content: bytes) -> int:
    """Up to where the lines are whole."""
    return content.rfind(b"\n") + 1


def _path(store: Store) -> Path:
    return store.root / files.LEARNINGS


def _content(store: Store) -> bytes:
    path = _path(store)
    if not os.path.lexists(path):
        return b""
    try:
        return read_file(path, _LARGEST, follow=False)[0]
    except StateUnreadable as error:
        reason = "it is a link" if path.is_symlink() else error.reason
        raise StateUnwritable(
            path,
            f"{reason}. The log has to be written before the state, so nothing was changed; "
            "put a regular file there, or move it away",
        ) from error


def _parsed(content: bytes) -> list[Learning]:
    found = []
    for line in jsonlines.parse(content):
        try:
            found.append(Learning.model_validate(line))
        except ValidationError:
            continue
    return found


def _by_identity(learnings: Iterable[Learning]) -> dict[str, Learning]:
    return {_identity(each): each for each in learnings}


def _identity(learning: Learning) -> str:
    return json.dumps(learning.model_dump(exclude_unset=True), sort_keys=True)

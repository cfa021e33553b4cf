"""The phases and tasks of a run, as its task document lists them.

    ## Phase 1: Foundation
    ### Task 1.1: Update the user model
    - [ ] 1.2 Implement JWT authentication

A phase is a heading of any level that begins with "Phase" and a number. A task stands below it: a
heading or a list item that begins with an id, which is the number of its phase, a dot and its own
number, with or without "Task" before; 1.1.1 is a part of a task. A list item needs a checkbox, and a
ticked one is done. Code blocks, quotes and comments do not count. Without such headings, the first
number of each id is its phase.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import IllegalMove
from holdfast.files.inputs import UNRECORDED, Inputs
from holdfast.files.regular import contains
from holdfast.files.store import Store
from holdfast.formats.engine.markdown import scan
from holdfast.formats.engine.workflow import Place
from holdfast.formats.orchestrator.model import PendingTask, State
from holdfast.text.plaintext import decode

LARGEST = 1024 * 1024
_LONGEST = 500  # characters of a heading or an item
_MARKS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_NAME = r"(?:(?: *[:.)–—-]+ *| +)(.*))?"
_PHASE = re.compile(rf"phase +([0-9]{{1,4}}){_NAME}", re.IGNORECASE)
_TASK = re.compile(rf"(?:task +)?([0-9]{{1,4}})\.([0-9]{{1,4}})(?!\.?[0-9]){_NAME}", re.IGNORECASE)


class Unclear(IllegalMove):
    """The task document lists phases and tasks in a way that cannot be followed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the task document cannot be followed: {what}",
            hint="Correct it: phases as `## Phase 1: Name`, tasks below as `- [ ] 1.1 Name`.",
        )


class Plan(NamedTuple):
    """The phases by their names, and the tasks that are still to be done."""

    phases: tuple[str, ...]
    tasks: tuple[PendingTask, ...]


class _Item(NamedTuple):
    """A phase, or with a number of its *own* a task."""

    phase: int
    own: int | None
    name: str
    done: bool = False


def read(text: str) -> Plan:
    """What the task document *text* lists; without any phase where it lists nothing."""
    return _plan(_items(text))


def given(texts: Iterable[str]) -> Plan:
    """The plan of tasks that come one by one, such as "1.1 Update the user model"."""
    items = []
    for text in texts:
        found = _TASK.fullmatch(" ".join(text.split()))
        if not found:
            raise IllegalMove(
                f"{text!r} is not a task",
                hint='Its id comes first: --task "1.1 Update the user model"',
            )
        items.append(_Item(int(found[1]), int(found[2]), found[3] or ""))
    return _plan(items)


def _items(text: str) -> Iterator[_Item]:
    for line in scan(text):
        said = _MARKS.sub("", line.text[:_LONGEST]).strip()
        if line.level and (found := _PHASE.fullmatch(said)):
            yield _Item(int(found[1]), None, found[2] or "")
        elif (line.level or line.checked is not None) and (found := _TASK.fullmatch(said)):
            yield _Item(int(found[1]), int(found[2]), found[3] or "", line.checked is True)


def _plan(items: Iterable[_Item]) -> Plan:
    phases, tasks, headed = dict[int, str](), dict[str, _Item](), None
    for item in items:
        if item.own is None:
            if item.phase in phases:
                raise Unclear(f"phase {item.phase} appears twice")
            headed = item.phase
            phases[headed] = item.name.strip() or f"Phase {headed}"
            continue
        task = f"{item.phase}.{item.own}"
        if task in tasks:
            raise Unclear(f"task {task} appears twice")
        if headed is not None and item.phase != headed:
            raise Unclear(f"task {task} stands below phase {headed}")
        phases.setdefault(item.phase, f"Phase {item.phase}")
        tasks[task] = item
    numbers = {phase: number for number, phase in enumerate(phases)}
    left = (
        PendingTask(phase=numbers[item.phase], task=task, name=item.name.strip() or f"Task {task}")
        for task, item in tasks.items()
        if not item.done
    )
    return Plan(tuple(phases.values()), tuple(left))


def read_document(path: Path, inputs: Inputs = UNRECORDED) -> Plan:
    """What the task document at *path* lists, or StateUnreadable."""
    return read(decode(inputs.read_file(path, LARGEST)[0]))


def to_approve(place: Place, state: State) -> Plan:
    """What the document lists that *state* names, opened only where reading is allowed.

    Where it lists nothing, the tasks that the run was begun with are approved.
    """
    run = state.orchestrator
    may_open = may_be_read(place, run.task_doc)
    listed = read_document(place.root / run.task_doc) if may_open else Plan((), ())
    if listed.phases:
        return listed
    if run.status == "planning" and state.pending_tasks:
        phases = (f"Phase {number}" for number in range(1, run.total_phases + 1))
        return Plan(tuple(phases), tuple(state.pending_tasks))
    if may_open:
        return listed
    raise IllegalMove(
        f"{run.task_doc} is missing or outside the project, so it was not opened",
        hint=f"Name it: holdfast orchestrate approve-plan --doc {run.task_doc}",
    )


def may_be_read(place: Place, task_doc: str) -> bool:
    """Whether hooks may open *task_doc*, which a state file names: as for required reading."""
    inputs, real = place.store.inputs, real_path(place.store, task_doc)
    roots: Sequence[str] = (str(place.root), *place.settings.reading_roots)
    allowed = (inputs.real_path(os.path.expanduser(root)) for root in roots)
    return any(contains(root, real) for root in allowed) and inputs.is_file(real)


def real_path(store: Store, task_doc: str) -> str:
    """Where *task_doc* leads; empty where no file can have that name."""
    try:
        return store.inputs.real_path(os.path.join(store.root, task_doc)) if task_doc else ""
    except ValueError:
        return ""

"""The phases and tasks of a run, as its task document lists them.

    ## Phase 1: Foundation
    ### Task 1.1: Update the user model
    - [ ] 1.2 Implement JWT authentication

A phase is a heading of any level that begins with "Phase" and a number. A task stands below it, as a
heading or a list item that begins with its id, the number of its phase, a dot and its own number,
with or without "Task" before; 1.1.1 is a part of a task. A list item needs a checkbox; one that is ticked is done, and is not
taken up. What stands in code blocks, quotes and comments does not count. Where there are no such
headings, each first number of an id is a phase.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.decoding import decode
from holdfast.errors import IllegalMove
from holdfast.formats.base import Place
from holdfast.formats.markdown.lines import Line, scan
from holdfast.formats.orchestrator.model import PendingTask, State
from holdfast.project import contains
from holdfast.regular import read_file

LARGEST = 1024 * 1024
_LONGEST = 500  # characters of a heading or an item
_MARKS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_PHASE = re.compile(r"phase +([0-9]{1,4})(?: *[:.)–—-]+ *(.*)| +(.*))?", re.IGNORECASE)
_TASK = re.compile(
    r"(?:task +)?([0-9]{1,4})\.([0-9]{1,4})(?!\.?[0-9])(?: *[:.)–—-]+ *(.*)| +(.*))?", re.IGNORECASE
)


class Unclear(IllegalMove):
    """The task document lists phases and tasks in a way that cannot be followed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the task document cannot be followed: {what}",
            hint="Correct it: phases as `## Phase 1: Name`, tasks below as `- [ ] 1.1 Name`.",
        )


@dataclass(frozen=True)
class Plan:
    """The phases by their names, and the tasks that are still to be done."""

    phases: tuple[str, ...]
    tasks: tuple[PendingTask, ...]


class _Reader:
    """Takes phases and tasks in the order in which they stand."""

    def __init__(self) -> None:
        self.numbers: list[str] = []
        self.names: list[str] = []
        self.tasks: list[PendingTask] = []
        self._seen: set[str] = set()
        self._headed = False

    def phase(self, number: str, name: str) -> None:
        if number in self.numbers:
            raise Unclear(f"phase {number} stands there twice")
        self._headed = True
        self._add_phase(number, name)

    def _add_phase(self, number: str, name: str) -> None:
        self.numbers.append(number)
        self.names.append(name or f"Phase {number}")

    def task(self, number: str, own: str, name: str, *, done: bool) -> None:
        task = f"{number}.{own}"
        if task in self._seen:
            raise Unclear(f"task {task} stands there twice")
        if self._headed and number != self.numbers[-1]:
            raise Unclear(f"task {task} stands below phase {self.numbers[-1]}")
        if number not in self.numbers:
            self._add_phase(number, "")
        self._seen.add(task)
        if not done:
            phase = self.numbers.index(number)
            self.tasks.append(PendingTask(phase=phase, task=task, name=name or f"Task {task}"))

    @property
    def plan(self) -> Plan:
        return Plan(tuple(self.names), tuple(self.tasks))


def read(text: str) -> Plan:
    """What the task document *text* lists; without any phase where it lists nothing."""
    reader = _Reader()
    for line in scan(text):
        said = _MARKS.sub("", line.text[:_LONGEST]).strip()
        if line.level and (found := _PHASE.fullmatch(said)):
            reader.phase(str(int(found[1])), (found[2] or found[3] or "").strip())
        elif (line.level or line.checked is not None) and (found := _TASK.fullmatch(said)):
            _take(reader, found, line)
    return reader.plan


def _take(reader: _Reader, found: re.Match[str], line: Line | None = None) -> None:
    number, own = str(int(found[1])), str(int(found[2]))
    done = line is not None and line.checked is True
    reader.task(number, own, (found[3] or found[4] or "").strip(), done=done)


def given(texts: Iterable[str]) -> Plan:
    """The plan of tasks that are given one by one, such as "1.1 Update the user model"."""
    reader = _Reader()
    for text in texts:
        found = _TASK.fullmatch(" ".join(text.split()))
        if not found:
            raise IllegalMove(
                f"{text!r} is no task",
                hint='Its id comes first: --task "1.1 Update the user model"',
            )
        _take(reader, found)
    return reader.plan


def of(state: State) -> Plan:
    """What *state* has still to do."""
    phases = (f"Phase {number}" for number in range(1, state.orchestrator.total_phases + 1))
    return Plan(tuple(phases), tuple(state.pending_tasks))


def read_file_of(path: Path) -> Plan:
    """What the task document at *path* lists, or StateUnreadable."""
    return read(decode(read_file(path, LARGEST)[0]))


def may_be_read(place: Place, task_doc: str) -> bool:
    """Whether hooks may open *task_doc*, which a state file names: as for required reading."""
    real = real_path(place.root, task_doc)
    roots: Sequence[str] = (str(place.root), *place.settings.reading_roots)
    allowed = (os.path.realpath(os.path.expanduser(each)) for each in roots)
    return any(contains(folder, real) for folder in allowed) and os.path.isfile(real)


def real_path(root: Path, task_doc: str) -> str:
    """Where *task_doc* leads; empty where no file can be called that."""
    try:
        return os.path.realpath(os.path.join(root, task_doc)) if task_doc else ""
    except ValueError:
        return ""

"""Read workflow declarations from markdown: what one source says of a workflow.

None means "not mentioned", never "empty".
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Status: TypeAlias = Literal["not_started", "in_progress", "completed", "blocked"]
WorkflowType: TypeAlias = Literal["planning", "qa-loop", "implementation", "custom"]
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class PhaseMark(NamedTuple):
    """Where a source says the work is. Any part may be silent."""

    current: int | None = None
    total: int | None = None
    name: str | None = None
    derived: bool = False  # from checkboxes, not from a line that states it


class PlanPhase(NamedTuple):
    number: int
    name: str
    done: bool
    next_action: str | None = None  # its first open checkbox
    gate: str | None = None
    open_items: tuple[str, ...] = ()  # its open checkboxes
    open_lines: tuple[int, ...] = ()  # the numbers of the lines on which these stand


class Declaration(NamedTuple):
    """One active workflow as one source declares it."""

    source: Literal["local", "plan"]
    path: str  # of the source, relative to the project root, with forward slashes
    mtime: float
    workflow: str | None = None
    workflow_type: WorkflowType | None = None
    type_guessed: bool = False  # from the wording, because no line states it
    phase: PhaseMark | None = None
    phase_unreadable: bool = False  # it states one that nobody can make out
    # The values as CLAUDE.local.md has them, and their lines; 0 is front matter.
    phase_written: tuple[str, int] = ("", 0)
    status_written: tuple[str, int] = ("", 0)
    status: Status | None = None
    required_reading: tuple[str, ...] | None = None  # each with its @
    key_reminders: tuple[str, ...] | None = None
    context: dict[str, Json] | None = None
    next_action: str | None = None
    gate: str | None = None
    phases: tuple[PlanPhase, ...] = ()
    open_items: tuple[str, ...] = ()  # texts of the checkboxes that are still open
    open_lines: tuple[int, ...] = ()  # the numbers of the lines on which these stand
    boxes: int = 0  # all checkboxes, open or ticked
    ticked: int = 0
    plan: str | None = None  # for CLAUDE.local.md: the plan that it points at


class Candidate(NamedTuple):
    """A source that looks like a plan, but does not say that its work is running."""

    why: str  # in words for a person: "3 of 8 done", "on hold"
    declaration: Declaration  # what it declares as soon as somebody follows it


class Looked(NamedTuple):
    """One source that was read: what it declares, or why it declares nothing."""

    path: str
    declaration: Declaration | None
    reason: str
    trouble: str = ""  # what in it could not be understood, for the person to correct
    closed: Declaration | None = None  # what it would declare if it were not completed or cancelled
    unbegun: Declaration | None = (
        None  # what it declares as soon as somebody follows it, though nothing suggests that
    )
    # Why no more than a suggestion. Beside a declaration only where that is of a workflow that is kept,
    # which counts then, but is no reason to go on with it.
    candidate: Candidate | None = None

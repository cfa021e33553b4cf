"""What the rest of the product knows of a workflow, and where and when a format works."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from holdfast import clock
from holdfast.config import project
from holdfast.config.settings import Settings
from holdfast.errors import HoldfastError
from holdfast.files.store import Store
from holdfast.records.rows import RowCache
from holdfast.text.plaintext import one_line

Standing: TypeAlias = Literal["active", "stale", "finished", "ignored"]
BY_HAND = "hand"  # or by another tool: not by us


@dataclass(frozen=True)
class Briefing:
    """Where a workflow stands and what comes next. Texts are as they stand in the file."""

    name: str
    kind: str  # "qa-loop", "implementation", …
    phase: int
    phases: int
    phase_name: str  # empty if it is known by its number alone
    status: str
    next_action: str | None = None
    gate: str | None = None
    left_open: tuple[str, ...] = ()  # what the work went past, by phase
    reading: tuple[str, ...] = ()  # each with its @
    reminders: tuple[str, ...] = ()
    context: tuple[tuple[str, Any], ...] = ()  # values as JSON has them
    state_path: str | None = None  # relative to the root; None while nothing is saved
    comes_next: str = ""  # in one sentence, where it is not to go on in the phase
    kept_with: tuple[str, ...] = ()  # what keeps it current; none while a person decides
    ended_with: str = ""  # the command that ends it
    phase_trouble: str = ""  # why the phase is not known; then its numbers say nothing
    has_phases: bool = True  # where nothing states or lists any, none is told
    boxes: str = ""  # of a plan without phases: "1 of 4 done"

    @property
    def count(self) -> str:
        if not self.has_phases:
            return ""
        return "?" if self.phase_trouble else f"{self.phase}/{self.phases}"

    @property
    def where(self) -> str:
        return f"phase {self.count}" if self.has_phases else self.status.replace("_", " ")

    @property
    def where_by_name(self) -> str:
        return f"{self.where} ({self.phase_name})" if self.phase_name else self.where


def unless_numbered(name: str, phase: int) -> str:
    """The *name* of a phase, unless that is only its number again."""
    return "" if name == f"Phase {phase}" else name


def as_text(value: object) -> str:
    """A context value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, eq=False)
class Workflow:
    """One workflow of any format."""

    format: str
    key: str  # unique in the project, the same for as long as the workflow lives
    name: str
    standing: Standing
    changed_at: datetime  # last change by an agent or a person
    brief: Callable[[], Briefing]  # of a thousand workflows, few briefings are asked for
    created_at: datetime | None = None
    declared: Literal["local", "plan"] | None = None
    declared_at: float = 0.0  # mtime of what declares it
    handle: str | None = None  # a short name of its own, beside the one that people gave it
    source: str | None = None  # the plan that it is known by, relative to the root
    branch: str | None = None
    remark: str = ""  # one line: why it is not active, or not by itself
    cautions: tuple[str, ...] = ()  # what whoever goes on with it has to know, one line each
    inspect: Callable[[], tuple[str, ...]] = tuple  # what is wrong with its files beside that
    part_of: str | None = None  # the key of an active workflow whose briefing includes it
    put_away: bool = False  # it has ended, and nothing is left to be done about its file
    cleared_with: str = ""  # the command line for what is left over, where it is not simply ended
    saved_at: datetime | None = None  # None while nothing is saved
    saved_by: str | None = None  # an event, a command, or BY_HAND; None when that is not known
    behind: bool = False  # whether what is saved is not what holds now, so that a save is due

    @cached_property
    def briefing(self) -> Briefing:
        return self.brief()

    @property
    def kept(self) -> bool:
        """Whether there is a state file, and not only a declaration."""
        return self.saved_at is not None

    @property
    def closed_with(self) -> str:
        """The command line that ends it, or clears what is left of it."""
        return self.cleared_with or f"{self.briefing.ended_with} {shlex.quote(self.name)}"

    @property
    def left_over(self) -> bool:
        """Whether it is not worked on any more, and nobody has put an end to it."""
        return self.kept and self.standing in {"finished", "stale"} and not self.put_away


@dataclass(frozen=True, eq=False)
class Place:
    """Where and when a format works."""

    store: Store
    settings: Settings
    now: datetime
    branch: str | None  # that the session works on
    checkout: str | None  # the branch of the root's own checkout
    problems: tuple[str, ...] = ()  # with the settings
    saver: str = ""  # who saves: the hook's event, or the command
    played: bool = False  # by `simulate`, so that nothing is noted of what it plays
    user_folder: str | None = None  # where the user's own folder keeps what is of this project
    folder: str = ""  # the folder in the checkout of `branch`
    own: frozenset[str] = frozenset()  # keys of the workflows that the session has worked on here
    planned: str = ""  # the plan that plan mode wrote in this session; whole, if outside the root
    plans_folder: str = ""  # where plan mode writes its plans
    off: str = ""  # why Holdfast does nothing here

    @property
    def root(self) -> Path:
        return self.store.root

    @property
    def stamp(self) -> str:
        """The time as part of the name of what is set aside or archived."""
        return clock.for_names(self.now)

    @cached_property
    def rows(self) -> RowCache:
        return RowCache(self.user_folder)

    def branch_now(self, noted: str | None) -> str | None:
        """The branch of a state that notes *noted*: the checked-out one, where that came from it or it is gone."""
        if noted is None or noted == self.branch:
            return noted
        is_gone = project.is_gone(self._checkout, noted, self.store.inputs)
        if is_gone or noted == self._created_from:
            return self.branch
        return noted

    def branch_mismatch(self, own: str | None) -> str | None:
        """A warning, with two options, if a state is for the branch *own* and another is checked out.

        None if they agree or there is no branch to compare: no git, or a detached HEAD.
        """
        if not own or not self.branch or own == self.branch:
            return None
        is_there = project.has_branch(self._checkout, own, self.store.inputs)
        own, branch = one_line(own), one_line(self.branch)
        return (
            f"⚠️ State is for branch '{own}' but current branch is '{branch}'\n"
            f"Options: 1) {'Switch to' if is_there else 'Create'} {own}  2) Abandon state and start fresh"
        )

    @property
    def _checkout(self) -> str:
        return self.folder or str(self.root)

    @cached_property
    def _created_from(self) -> str | None:
        return project.created_from(self._checkout, self.store.inputs)


class CandidatePlan(NamedTuple):
    """A plan that nobody follows."""

    path: str  # relative to the root, with forward slashes
    why: str  # it looks like one: "3 of 8 done"
    key: str  # of the workflow that it would declare

    def __str__(self) -> str:
        follow = shlex.join(["holdfast", "follow", self.path])
        path, why = one_line(self.path), one_line(self.why, 120)
        return f"{path} looks like a plan ({why}) and is not followed: `{one_line(follow)}`"


@dataclass(eq=False)
class Survey:
    """What a format found, and what came of saving it."""

    workflows: list[Workflow] = field(default_factory=list)
    looked: list[tuple[str, str]] = field(default_factory=list)  # path, what was found there
    candidates: list[CandidatePlan] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # lines that the person should see
    once: dict[str, str] = field(default_factory=dict)  # files that a note is about: their versions
    saved: list[str] = field(default_factory=list)  # names of workflows that were written
    due: bool = False  # whether there is something to be written
    failure: HoldfastError | None = None  # why saving failed; the workflows are right all the same


class Report(NamedTuple):
    """What `inspect` says of one file."""

    format: str
    problems: tuple[str, ...] = ()  # "phase.current: expected …, found …"
    newer: str = ""  # what to say where a newer Holdfast keeps it, and so knows better

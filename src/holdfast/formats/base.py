"""What every workflow format offers to the rest of the house."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from holdfast import clock
from holdfast.briefing import Briefing
from holdfast.errors import HoldfastError
from holdfast.records import Record, made
from holdfast.settings import Settings
from holdfast.store import Store

Standing: TypeAlias = Literal["active", "stale", "finished", "ignored"]
BY_HAND = "hand"  # or by another tool: not by us


class Place(Record):
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

    @property
    def root(self) -> Path:
        return self.store.root

    @property
    def stamp(self) -> str:
        """The time as part of the name of what is set aside or archived."""
        return clock.for_names(self.now)


class Workflow(Record):
    """One workflow of any format, as far as choosing and telling need it."""

    format: str
    key: str  # unique in the project, the same for as long as the workflow lives
    standing: Standing
    briefing: Briefing
    changed_at: datetime  # last change by an agent or a person
    created_at: datetime | None = None
    declared: Literal["local", "plan"] | None = None
    declared_at: float = 0.0  # mtime of what declares it
    handle: str | None = None  # a short name of its own, beside the one that people gave it
    source: str | None = None  # the plan that it is known by, relative to the root
    branch: str | None = None
    remark: str = ""  # one line: why it is not active, or not by itself
    cautions: tuple[str, ...] = ()  # what whoever goes on with it has to know, one line each
    part_of: str | None = None  # the key of an active workflow that tells it along
    put_away: bool = False  # it has ended, and nothing is left to be done about its file
    cleared_with: str = ""  # the command line for what is left over, where it is not simply ended
    saved_at: datetime | None = None  # None while nothing is saved
    saved_by: str | None = None  # an event, a command, or BY_HAND; None when that is not known
    behind: bool = False  # whether what is saved is not what holds now, so that a save is due

    @property
    def name(self) -> str:
        return self.briefing.name

    @property
    def kept(self) -> bool:
        """Whether there is a state file, and not only a declaration."""
        return self.briefing.state_path is not None

    @property
    def left_over(self) -> bool:
        """Whether it is not worked on any more, and nobody has put an end to it."""
        return self.kept and self.standing in {"finished", "stale"} and not self.put_away


class Untold(Workflow):
    """A workflow whose briefing is made when it is asked for: of a thousand, few are told at length."""

    def __init__(self, name: str, brief: Callable[[], Briefing], **fields: Any) -> None:
        self.__dict__.update(fields, _name=name, _brief=brief)

    # To compare two by their fields would make the briefings of both.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property  # type: ignore[misc]  # a field of the base, made when it is asked for
    def briefing(self) -> Briefing:
        brief: Callable[[], Briefing] = self.__dict__["_brief"]
        return brief()

    @property
    def name(self) -> str:
        return str(self.__dict__["_name"])

    @property
    def kept(self) -> bool:
        return True


class Survey(Record, frozen=False):
    """What a format found, and what became of it."""

    workflows: list[Workflow] = made(factory=list)
    looked: list[tuple[str, str]] = made(factory=list)  # path, what was found there or why not
    notes: list[str] = made(factory=list)  # lines that the person should see
    saved: list[str] = made(factory=list)  # names of workflows that were written
    due: bool = False  # whether there was something to be written
    failure: HoldfastError | None = None  # why saving failed; the workflows are right all the same


class Report(Record):
    """What `inspect` says of one file."""

    format: str
    problems: tuple[str, ...] = ()  # "phase.current: expected …, found …"
    newer: str = ""  # what to say where a newer Holdfast keeps it, and so knows better


class Format(Protocol):
    """The members that a format has; formats/registry.py lists those that there are."""

    name: str
    folders: tuple[str, ...]  # below the root, where its states are kept
    personal: bool  # whether they are one person's, so that git should ignore them
    group: str  # its group of commands; empty where the general ones are its own
    notes_compactions: bool  # whether `resumed` writes anything

    def paths(self, root: Path) -> list[Path]:
        """The files that lie where states of this format lie, whatever is in them."""

    def present(self, place: Place) -> bool:
        """Whether the root declares or holds a workflow of this format."""

    def sync(self, place: Place, wait: float | None) -> Survey:
        """Find, merge and save. With *wait* None nothing is written."""

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What is right or wrong in *raw*; None when it is not this format's."""

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """End *workflow*, as its document asks; what to say of it, one line each."""

    def touch(self, place: Place, workflow: Workflow) -> None:
        """Somebody goes on with *workflow*, so that it is not stale any more."""

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """A session goes on after a compaction at *compacted*; write it down if the document asks."""

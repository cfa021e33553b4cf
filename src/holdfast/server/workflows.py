"""Tools, resources and the prompt over all formats. They only look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, TypeAlias
from urllib.parse import quote

from pydantic import Field

from holdfast import ledger, naming, restore
from holdfast.errors import StateUnreadable
from holdfast.formats.base import Workflow
from holdfast.plaintext import clean, one_line, quoted
from holdfast.project import contains
from holdfast.regular import read_file
from holdfast.server.looking import Listed, Look
from holdfast.server.shapes import Brief, Details, Ended, Guidance, Listing, Status
from holdfast.store import LARGEST
from holdfast.sync import Synced

STATES = "holdfast://states/"

Name: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=1_000,
        description="The workflow's name, the beginning of one, its plan or its folder; "
        "without it, the one that this session gets.",
    ),
]


class Workflows:
    """What is asked of the workflows of the project, whatever their format."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def workflow_status(self, name: Name = None) -> Status:
        """Where a workflow stands: phase, next action, required reading, reminders, context."""
        synced = self._look.now()
        choice = synced.choice()
        chosen = self._look.meant(synced, name) if name else choice.chosen
        others = [each for each in (choice.chosen, *choice.others) if each and each is not chosen]
        by_choice = chosen is choice.chosen
        return Status(
            root=synced.root,
            workflow=chosen and Details.told(synced, chosen, chosen=by_choice),
            why=choice.why if by_choice else "by name",
            others=[one_line(restore.in_brief(each)) for each in others],
            notes=_notes(synced),
        )

    def workflow_list(self) -> Listing:
        """All workflows of the project, active or not, and those that were completed."""
        synced = self._look.now()
        choice = synced.choice()
        ordered = [each for each in (choice.chosen, *choice.others) if each]
        known = {each.key for each in ordered}
        over = ledger.load(synced.place.store).finished.items()
        return Listing(
            root=synced.root,
            workflows=[Brief.of(each, chosen=each is choice.chosen) for each in ordered],
            ended=[Ended.of(stone) for key, stone in over if key not in known],
            notes=_notes(synced),
        )

    def workflow_guidance(self, name: Name = None) -> Guidance:
        """What a session is told when it takes a workflow up: where it stands and what comes next."""
        synced = self._look.now()
        workflow = self._look.meant(synced, name)
        plan = restore.reading_of(synced, workflow, "now")
        text = restore.text(synced, workflow, synced.choice(), "now", plan)
        return Guidance(workflow=one_line(workflow.name), guidance=text)

    def resume(self, name: Name = None) -> str:
        """Go on with a workflow: where it stands and what comes next."""
        return self.workflow_guidance(name).guidance

    def state(self, name: str) -> str:
        """The state of a workflow, as it is kept."""
        synced = self._look.now()
        workflow = naming.find(_kept(synced), name)
        return quoted(_content(synced, workflow))

    def states(self) -> Iterator[Listed]:
        """Those that there are, and where each stands."""
        kept = _kept(self._look.now())
        names = [naming.folded(each.name) for each in kept]
        for each in kept:
            unique = names.count(naming.folded(each.name)) == 1
            called = each.name if unique else str(each.briefing.state_path)
            where = one_line(f"{each.format}, {each.standing}, {each.briefing.where}")
            yield Listed(STATES + quote(called, safe=""), one_line(each.name), where)


def _kept(synced: Synced) -> list[Workflow]:
    return [each for each in synced.workflows if each.kept]


def _content(synced: Synced, workflow: Workflow) -> str:
    path = os.path.realpath(synced.place.root / str(workflow.briefing.state_path))
    if not contains(os.path.realpath(synced.root), path):
        raise StateUnreadable(path, "it lies outside the project")
    raw, _ = read_file(path, LARGEST, within=synced.root)
    return raw.decode("utf-8", "replace")


def _notes(synced: Synced) -> list[str]:
    return [clean(each) for each in synced.notes]

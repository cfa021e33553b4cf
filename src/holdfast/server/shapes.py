"""What the tools over all formats answer with: their output schemas are made from these.

Texts come from files, so they are made safe where they enter. What a workflow has beyond this is
in its state, which is a resource.
"""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from holdfast import restore
from holdfast.briefing import shown
from holdfast.clock import iso
from holdfast.formats.base import Standing, Workflow
from holdfast.ledger import Tombstone
from holdfast.plaintext import clean, one_line
from holdfast.sync import Synced


class Brief(BaseModel):
    """One workflow in a list."""

    name: str
    format: str
    kind: str = Field(description="qa-loop, implementation, ...")
    standing: Standing
    phase: str = Field(description='"4/10"; "?" where it is not known')
    phase_name: str
    status: str
    chosen: bool = Field(description="whether it is the one that this session gets")
    remark: str = Field(description="why it is not active, or not by itself")

    @classmethod
    def of(cls, workflow: Workflow, *, chosen: bool) -> Self:
        briefing = workflow.briefing
        return cls(
            name=one_line(workflow.name),
            format=workflow.format,
            kind=one_line(briefing.kind),
            standing=workflow.standing,
            phase=briefing.count,
            phase_name=one_line(briefing.phase_name),
            status=one_line(briefing.status),
            chosen=chosen,
            remark=one_line(workflow.remark),
        )


class Ended(BaseModel):
    """A workflow that was completed."""

    name: str
    how: str
    at: str

    @classmethod
    def of(cls, stone: Tombstone) -> Self:
        return cls(name=one_line(stone.name), how=one_line(stone.how), at=one_line(stone.at))


class Listing(BaseModel):
    root: str = Field(description="the project's folder")
    workflows: list[Brief]
    ended: list[Ended]
    notes: list[str] = Field(description="what a person should see")


class Details(Brief):
    """One workflow, with all that a briefing has."""

    next_action: str | None
    gate: str | None = Field(description="what has to be fulfilled before the next phase")
    required_reading: list[str] = Field(description="paths from the project's folder, each with @")
    key_reminders: list[str]
    context: dict[str, str]
    cautions: list[str] = Field(description="to be known before anybody goes on with it")
    state_file: str | None = Field(description="null while nothing is saved")
    changed_at: str

    @classmethod
    def told(cls, synced: Synced, workflow: Workflow, *, chosen: bool) -> Self:
        briefing = workflow.briefing
        return cls(
            **Brief.of(workflow, chosen=chosen).model_dump(),
            next_action=_text(briefing.next_action),
            gate=_text(briefing.gate),
            required_reading=[clean(each) for each in briefing.reading],
            key_reminders=[clean(each) for each in briefing.reminders],
            context={clean(key): clean(shown(value)) for key, value in briefing.context},
            cautions=[clean(each) for each in restore.cautions(synced, workflow)],
            state_file=_text(briefing.state_path),
            changed_at=iso(workflow.changed_at),
        )


class Status(BaseModel):
    root: str = Field(description="the project's folder")
    workflow: Details | None = Field(description="null where no workflow is active")
    why: str = Field(description="why it is this one, or none")
    others: list[str] = Field(description="the other workflows, one line each")
    notes: list[str] = Field(description="what a person should see")


class Guidance(BaseModel):
    workflow: str
    guidance: str = Field(description="where the workflow stands and what comes next")


def _text(value: str | None) -> str | None:
    return None if value is None else clean(value)

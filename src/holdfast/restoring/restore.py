"""A session's guidance: its level, its required reading and its text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from holdfast.config.capabilities import SENT_AT, USUAL
from holdfast.files.regular import contains
from holdfast.formats.engine.workflow import Workflow
from holdfast.restoring import compactions, delivery, guidance, reading
from holdfast.restoring.delivery import Delivery
from holdfast.restoring.reading import (
    ATTACHED,
    BETWEEN,
    ONLY_NAMED,
    OUTSIDE,
    Budget,
    Item,
    Reading,
    resolve,
    span,
)
from holdfast.text.room import Room
from holdfast.workflows import activity
from holdfast.workflows.sync import ProjectView

_NAMED = 8  # other workflows; the rest are counted
_ROOM = 500  # units for one line of what was observed


def depth(view: ProjectView, source: str) -> str:
    """What a session that begins with *source* gets: full, line or off."""
    settings = view.place.settings
    if not settings.enabled:
        return "off"
    depth = settings.restores(source)
    if source != "fork" or depth != "full" or (view.owned and view.owned.workflow):
        return depth
    # A fork has a new id, which says nothing of its parent.
    active = [one for one in view.workflows if one.standing == "active" and not one.part_of]
    return "line" if len(active) > 1 else "full"


def reading_of(view: ProjectView, workflow: Workflow, arrival: str) -> Reading:
    """The required reading of *workflow*: in parts where the session begins so that they are sent."""
    settings, briefing = view.place.settings, workflow.briefing
    inputs = view.place.store.inputs
    items = resolve(view.place.root, briefing.reading, settings.reading_roots, inputs)
    planned = view.owned.planned if view.owned else ""
    items = [
        item._replace(trouble=ATTACHED)
        if item.real == planned and item.trouble in {"", OUTSIDE}
        else item
        for item in items
    ]
    if settings.reading != "send" or arrival not in SENT_AT:
        return Reading(items, [])
    if not view.capabilities.parts:
        return _inlined(view, workflow, arrival, items)
    if not view.state_dir:
        return Reading(items, [])  # without a user folder, no parts can be prepared for the hooks
    budget = Budget(settings.parts, settings.file_budget, view.capabilities.room)
    return reading.plan(items, budget, briefing.name)


# What the guidance may grow by when it is known which files come with it.
_FOR_EACH_FILE, _FOR_ALL = 160, 500


def _inlined(view: ProjectView, workflow: Workflow, arrival: str, items: Sequence[Item]) -> Reading:
    """The whole files that fit after the guidance."""
    room, bare = view.capabilities.room, Reading(items, [])
    without = text(view, workflow, arrival, bare)
    grown = room.taken(without) + _FOR_EACH_FILE * len(items) + _FOR_ALL
    left = room.resized(room.most - min(grown, _guidance_in(room).most) - len(BETWEEN))
    budget = Budget(1, view.place.settings.file_budget, left, inline=True)
    return reading.plan(items, budget, workflow.briefing.name)


def _guidance_in(room: Room) -> Room:
    """What of *room* the guidance itself may take: it stays as short as where there is no more."""
    return room.resized(min(room.most, USUAL.room.most))


def text(
    view: ProjectView,
    workflow: Workflow,
    arrival: str,
    plan: Reading,
    changed: Collection[str] = (),
) -> str:
    """The guidance for *workflow*, with one line for each other workflow.

    *changed* are the real paths of files that changed since the last restore.
    """
    choice = view.choice()
    others = [
        other
        for other in (choice.chosen, *choice.others)
        if other
        and other is not workflow
        and other.part_of != workflow.key
        and other.standing != "ignored"
    ]
    named = [in_brief(other) for other in others[:_NAMED]]
    if len(others) > _NAMED:
        named.append(f"… {len(others) - _NAMED} more: holdfast list")
    here = contains(view.root, view.place.store.inputs.real_path(view.cwd))
    situation = guidance.Situation(
        arrival,
        plan,
        changed=changed,
        observed=activity.in_words(view.observed(workflow), view.place.now, _ROOM),
        others=named,
        root="" if here else view.root,
        remarks=[*cautions(view, workflow), *view.notes],
        lost=compactions.lost(view.place, workflow),
        room=_guidance_in(view.capabilities.room),
    )
    said = guidance.for_model(workflow.briefing, situation)
    return BETWEEN.join([said, *plan.parts]) if plan.inline else said


def cautions(view: ProjectView, workflow: Workflow) -> list[str]:
    """Warnings to read before continuing *workflow*, one line each."""
    elsewhere = view.elsewhere(workflow)
    return [*workflow.cautions, *([elsewhere] if elsewhere else []), *workflow.inspect()]


def in_brief(workflow: Workflow) -> str:
    """One line for a workflow that is not restored."""
    where = f"{workflow.name}: {workflow.briefing.where}"
    return f"{where}, {workflow.remark}" if workflow.remark else where


class FileStatus(NamedTuple):
    """What became of one required file."""

    path: str  # as it is written, without its @
    parts: tuple[int, int] | None  # the first and the last that held its text
    reason: str = ""  # why it was not sent
    opened: bool = False  # by the agent, since
    changed: bool = False  # since it was sent

    def __str__(self) -> str:
        status = f"in {span(self.parts)}" if self.parts else f"not sent: {self.reason}"
        return status + ", opened since" * self.opened + ", changed since" * self.changed


class ReadingStatus(NamedTuple):
    """What became of all required files of one workflow."""

    delivered: bool  # by the last restore; else it is what the next compaction would send
    files: Sequence[FileStatus]

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {"delivered": self.delivered, "files": [file._asdict() for file in self.files]}


def reading_status(view: ProjectView, workflow: Workflow) -> ReadingStatus:
    """What this session was sent of the workflow's required reading."""
    last = delivery.recall(view.state_dir, view.session)
    if last and (last.root, last.workflow) == (view.root, workflow.key):
        roots = view.place.settings.reading_roots
        items = resolve(view.place.root, workflow.briefing.reading, roots)
        return ReadingStatus(True, [_delivered(item, last) for item in items])
    files = [
        FileStatus(item.path, item.parts, "" if item.parts else item.trouble or ONLY_NAMED)
        for item in reading_of(view, workflow, "compact").items
    ]
    return ReadingStatus(False, files)


def _delivered(item: Item, last: Delivery) -> FileStatus:
    parts = last.sent.get(item.real)
    reason = last.withheld.get(item.real, item.trouble or "required only since the last restore")
    changed = last.fingerprints.get(item.real, item.fingerprint) != item.fingerprint
    return FileStatus(item.path, parts, "" if parts else reason, item.real in last.opened, changed)

"""The skill format as the rest of the house sees it.

Hooks do not write these files: skills do, with jq or by our commands. There is one exception, because
the document asks for it: that a session goes on after a compaction is noted in the history. Else a
hook only keeps a copy in our own folder, so that a state that gets damaged can be brought back. So what
only commands need is loaded where it is used.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.formats import holding
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.remembered import Memory
from holdfast.formats.skill import files
from holdfast.formats.skill.files import Found
from holdfast.formats.skill.telling import workflows_of


class Skill:
    """See docs/formats/skill.md."""

    name = "skill"
    folders: tuple[str, ...] = (files.ACTIVE, files.COMPLETED)
    personal = True
    group = "skill"
    notes_compactions = True

    def paths(self, root: Path) -> list[Path]:
        return files.paths(root)

    def present(self, place: Place) -> bool:
        if files.is_any_active(place.store):  # mostly the first that is looked at
            return True
        found = files.look(place.store, Memory.of(place, self.name))
        return any(each.is_ours for each in found.unusable)

    def sync(self, place: Place, wait: float | None) -> Survey:
        memory = Memory.of(place, self.name)
        found = files.look(place.store, memory)
        survey = Survey(due=holding.copies_due(place.store, files.FOLDER, found.active))
        if wait is not None and survey.due:
            try:
                with place.store.lock(wait):
                    # What was read outside the lock may be old.
                    found = files.look(place.store, memory)
                    holding.keep_copies(place.store, files.FOLDER, found.active)
            except HoldfastError as error:
                survey.failure = error
        if wait is not None:
            memory.keep()
        survey.workflows = workflows_of(found, place)
        survey.looked = _looked(place, found)
        survey.notes = _notes(place, found)
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        from holdfast.formats.skill import inspection  # noqa: PLC0415

        return inspection.inspect(path, raw)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """The last line is the signal that the document asks for."""
        from holdfast.formats.skill import lifecycle  # noqa: PLC0415

        ended = lifecycle.complete(place, workflow.key)
        return f"Workflow completed: {workflow.name}. It lies in {ended.path}", ended.signal

    def touch(self, place: Place, workflow: Workflow) -> None:
        from holdfast.formats.skill import lifecycle  # noqa: PLC0415

        lifecycle.resume(place, workflow.key)

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        from holdfast.formats.skill import lifecycle  # noqa: PLC0415

        lifecycle.note_compaction(place, workflow.key, compacted, wait)


def _looked(place: Place, found: Found) -> list[tuple[str, str]]:
    relative = place.store.relative
    states = (*found.active, *found.completed)
    return [(relative(held.path), f"state of {held.row.name!r}") for held in states] + [
        (relative(each.path), each.reason) for each in found.unusable
    ]


def _notes(place: Place, found: Found) -> list[str]:
    """What the person has to be told, one line each."""
    store = place.store
    lines = holding.unreadable(store, (*found.active, *found.completed), found.unusable)
    for held in found.live:
        lines += [f"{store.relative(held.path)}: {each}" for each in held.row.unknown_words]
    return lines

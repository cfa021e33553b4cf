"""The skill format as the rest of the house sees it.

Hooks do not write these files: skills do, with jq or by our commands. There is one exception, because
the document asks for it: that a session goes on after a compaction is noted in the history. Else a
hook only keeps a copy in our own folder, so that a state that gets damaged can be brought back.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.skill import files, inspection, lifecycle
from holdfast.formats.skill.files import Found, Held
from holdfast.formats.skill.telling import workflows_of


class Skill:
    """See docs/formats/skill.md."""

    name = "skill"
    folders: tuple[str, ...] = (files.ACTIVE, files.COMPLETED)
    personal = True
    group = "skill"

    def paths(self, root: Path) -> list[Path]:
        return files.paths(root)

    def present(self, place: Place) -> bool:
        found = files.look(place.store)
        return bool(found.active or any(each.is_ours for each in found.unusable))

    def sync(self, place: Place, wait: float | None) -> Survey:
        found = files.look(place.store)
        survey = Survey()
        if wait is not None and (
            any(_uncopied(place, held) for held in found.active) or _without_a_file(place)
        ):
            try:
                with place.store.lock(wait):
                    found = files.look(place.store)  # what was read outside the lock may be old
                    _copy(place, found)
            except HoldfastError as error:
                survey.failure = error
        survey.workflows = workflows_of(found, place)
        survey.looked = _looked(place, found)
        survey.notes = _notes(place, found)
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        return inspection.inspect(path, raw)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """The last line is the signal that the document asks for."""
        ended = lifecycle.complete(place, workflow.key)
        return f"Workflow completed: {workflow.name}. It lies in {ended.path}", ended.signal

    def touch(self, place: Place, workflow: Workflow) -> None:
        lifecycle.resume(place, workflow.key)

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        lifecycle.note_compaction(place, workflow.key, compacted, wait)


def _uncopied(place: Place, held: Held) -> bool:
    return not held.problems and not place.store.copied_since(held.path, held.mtime)


def _without_a_file(place: Place) -> list[Path]:
    """Copies whose file is gone; another run may get a file of the same name."""
    return [path for path in place.store.copied_below(files.FOLDER) if not path.exists()]


def _copy(place: Place, found: Found) -> None:
    for path in _without_a_file(place):
        place.store.forget(path)
    for held in found.active:
        if _uncopied(place, held):
            before = place.store.copies(held.path)
            previous = before.good.encode() if before else None
            place.store.keep(held.path, held.raw, previous)


def _looked(place: Place, found: Found) -> list[tuple[str, str]]:
    relative = place.store.relative
    states = (*found.active, *found.completed)
    return [(relative(held.path), f"state of {held.state.name!r}") for held in states] + [
        (relative(each.path), each.reason) for each in found.unusable
    ]


def _notes(place: Place, found: Found) -> list[str]:
    """What the person has to be told, one line each."""
    relative = place.store.relative
    lines = []
    for held in (*found.active, *found.completed):
        if held.problems:
            more = f" and {len(held.problems) - 1} more" if len(held.problems) > 1 else ""
            lines.append(
                f"{relative(held.path)} could not be read ({held.problems[0]}{more}); "
                "its last good copy is used"
            )
    for held in found.live:
        lines += [f"{relative(held.path)}: {each}" for each in held.state.unknown_words]
    return lines + [
        f"{relative(each.path)} could not be read: {each.reason}"
        for each in found.unusable
        if each.is_ours
    ]

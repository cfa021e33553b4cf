"""The pipeline format as the rest of the house sees it.

Hooks do not write these files: agents do, by our commands or the server. A hook only keeps a copy in
our own folder, so that a state that gets damaged can be brought back. So what only commands need is loaded
where it is used.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from holdfast.errors import HoldfastError, IllegalMove
from holdfast.formats import holding
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.pipeline import definitions, facts, files, places
from holdfast.formats.pipeline.files import Found
from holdfast.formats.pipeline.states import Held
from holdfast.formats.pipeline.telling import workflows_of
from holdfast.formats.remembered import Memory


class Pipeline:
    """See docs/formats/pipeline.md."""

    name = "pipeline"
    folders: tuple[str, ...] = (places.GLOBAL.states, places.SESSIONS)
    personal = False
    group = "pipeline"
    notes_compactions = False

    def paths(self, root: Path) -> list[Path]:
        return places.state_paths(root)

    def present(self, place: Place) -> bool:
        return files.is_any(place.store)

    def sync(self, place: Place, wait: float | None) -> Survey:
        memory = Memory.of(place, self.name)
        found = files.look(place.store, memory)
        survey = Survey(due=holding.copies_due(place.store, places.WORKSPACE, _kept(found)))
        if wait is not None and survey.due:
            try:
                with place.store.lock(wait):
                    # What was read outside the lock may be old.
                    found = files.look(place.store, memory)
                    holding.keep_copies(place.store, places.WORKSPACE, _kept(found))
            except HoldfastError as error:
                survey.failure = error
        if wait is not None:
            memory.keep()
        survey.workflows = workflows_of(found, place)
        survey.looked = _looked(place, found)
        survey.notes = holding.unreadable(place.store, found.live, found.unusable)
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        from holdfast.formats.pipeline import inspection  # noqa: PLC0415

        return inspection.inspect(path, raw)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """It is completed by its last step, and by nothing else."""
        state = files.find(place.store, _id(workflow)).state
        blocked = facts.next_of(state, definitions.of(state)).blocked
        raise IllegalMove(
            f"{workflow.name!r} is completed by its last {state.word}"
            + (f". {blocked.reason}" if blocked else ""),
            hint="See what comes next: holdfast pipeline next. To give it up: holdfast pipeline cancel",
        )

    def touch(self, place: Place, workflow: Workflow) -> None:
        from holdfast.formats.pipeline import lifecycle  # noqa: PLC0415

        lifecycle.touch(place, _id(workflow))

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """The document asks for nothing."""


def _kept(found: Found) -> list[Held]:
    """What there is to be a copy of: what is worked on, and what was when we last copied it.

    Else the copy of one that others have completed would bring it back.
    """
    known = (each for seen in found.seen for each in (seen.held, seen.remembered))
    over = [held for each in known for held in each.values() if held.row.over]
    copied = found.store.copied_at(places.WORKSPACE) if over else {}
    return [*found.live, *(each for each in over if str(each.path) in copied)]


def _id(workflow: Workflow) -> str:
    return workflow.handle or workflow.name


def _looked(place: Place, found: Found) -> list[tuple[str, str]]:
    relative = place.store.relative
    return [(relative(held.path), f"state of {held.id!r}") for held in found.live] + [
        (relative(each.path), each.reason) for each in found.unusable
    ]

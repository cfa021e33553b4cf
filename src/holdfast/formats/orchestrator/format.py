"""The orchestrator format as the rest of the house sees it.

Hooks do not write the state: an orchestrator does, by our commands or by its own tools. There is one
exception, because the format's document asks for it: before a compaction a checkpoint is taken, if
there is anything that the last one does not have. Else a hook only keeps a copy in our own folder. So what
only commands need, and checkpoints, is loaded where it is used.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from holdfast import ledger, together
from holdfast.errors import HoldfastError
from holdfast.formats import holding
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.holding import Unusable
from holdfast.formats.orchestrator import files, recovery
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.telling import workflow_of

_BEFORE_A_COMPACTION = "PreCompact"


class Orchestrator:
    """See docs/formats/orchestrator.md."""

    name = "orchestrator"
    folders: tuple[str, ...] = (files.FOLDER,)
    personal = True
    group = "orchestrate"
    notes_compactions = False

    def paths(self, root: Path) -> list[Path]:
        return files.paths(root)

    def present(self, place: Place) -> bool:
        there = files.look(place.store)
        return isinstance(there, Held) or (isinstance(there, Unusable) and there.is_ours)

    def sync(self, place: Place, wait: float | None) -> Survey:
        survey = Survey(due=_is_due(place))
        if wait is not None and survey.due:
            try:
                survey.notes += _save(place, wait)
            except HoldfastError as error:
                survey.failure = error
        there = recovery.look(place.store)
        if isinstance(there, Held):
            survey.workflows = [workflow_of(there, place)]
            what = f"state of {there.state.name!r}"
            survey.looked = [(place.store.relative(there.path), what)]
            survey.notes += holding.unreadable(place.store, [there], ())
        elif there:
            survey.looked = [(place.store.relative(there.path), there.reason)]
            survey.notes += holding.unreadable(place.store, (), [there])
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        from holdfast.formats.orchestrator import inspection  # noqa: PLC0415

        return inspection.inspect(path, raw)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        from holdfast.formats.orchestrator import lifecycle, runs  # noqa: PLC0415

        changed = lifecycle.change(place, runs.complete)
        archive = "Put it away with: holdfast orchestrate archive"
        return (*changed.lines, f"Workflow completed: {workflow.name}", archive)

    def touch(self, place: Place, workflow: Workflow) -> None:  # noqa: ARG002  # there is but one
        from holdfast.formats.orchestrator import lifecycle  # noqa: PLC0415

        lifecycle.touch(place)

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """The document asks for nothing here."""


def _is_due(place: Place) -> bool:
    return (
        together.is_unfinished(place.store, files.UNFINISHED)
        or holding.copies_due(place.store, files.STATE, _readable(place))
        or (_takes_checkpoints(place) and _is_checkpoint_due(place))
    )


def _is_checkpoint_due(place: Place) -> bool:
    from holdfast.formats.orchestrator import checkpoints  # noqa: PLC0415

    return checkpoints.is_due(place.store)


def _takes_checkpoints(place: Place) -> bool:
    return place.saver == _BEFORE_A_COMPACTION and not place.played


def _save(place: Place, wait: float) -> list[str]:
    """Bring to an end what is unfinished, keep a copy, and take the checkpoint that is due."""
    lines = []
    if together.is_unfinished(place.store, files.UNFINISHED):
        from holdfast.formats.orchestrator import lifecycle  # noqa: PLC0415

        with place.store.lock(wait):
            lines = lifecycle.settle(place)
            ledger.tell_later(place.store, lines, place.now)  # not every hook can tell the person
    if holding.copies_due(place.store, files.STATE, _readable(place)):
        with place.store.lock(wait):
            holding.keep_copies(place.store, files.STATE, _readable(place))
    if _takes_checkpoints(place):
        from holdfast.formats.orchestrator import checkpoints  # noqa: PLC0415

        checkpoints.auto(place, wait)
    return lines


def _readable(place: Place) -> list[Held]:
    there = files.look(place.store)
    return [there] if isinstance(there, Held) else []

"""The gated format as the rest of the house sees it.

Hooks do not write these files: an orchestrator does, by our commands or by itself. A hook keeps copies
in our own folder, so that a file that gets damaged can be brought back, and brings to its end what one
of our commands was killed in the middle of. What only commands need is loaded where it is used.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast import ledger, together
from holdfast.errors import HoldfastError
from holdfast.formats import holding
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.gated import files, known
from holdfast.formats.gated.files import Found
from holdfast.formats.gated.known import Known, row_of
from holdfast.formats.gated.telling import workflows_of
from holdfast.formats.holding import Kept, Unusable
from holdfast.formats.remembered import Memory


class Gated:
    """See docs/formats/gated.md."""

    name = "gated"
    folders: tuple[str, ...] = (files.FOLDER,)
    personal = False
    group = "gate"
    notes_compactions = False

    def paths(self, root: Path) -> list[Path]:
        return files.paths(root)

    def present(self, place: Place) -> bool:
        return files.is_any(place.store)

    def sync(self, place: Place, wait: float | None) -> Survey:
        memory = Memory.of(place, self.name)
        copied = place.store.copied_at(files.FOLDER)
        found = known.look(place.store, memory, copied)
        survey = Survey(due=_is_due(place, found, copied))
        if wait is not None and survey.due:
            try:
                with place.store.lock(wait):
                    survey.notes += _finished(place)
                    # What was read outside the lock may be old.
                    found = known.look_again(place.store, found, memory)
                    held, gone = _read(found), _gone(place, found)
                    holding.keep_copies(place.store, files.FOLDER, held, gone, copied)
            except HoldfastError as error:
                survey.failure = error
        if wait is not None:
            memory.keep()
        survey.workflows = workflows_of(found, place)
        survey.looked = _looked(place, found)
        survey.notes += _notes(place, found)
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        from holdfast.formats.gated import inspection  # noqa: PLC0415

        return inspection.inspect(path, raw)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        if workflow.briefing.status == "completed":
            finalize = f"holdfast gate finalize -w {shlex.quote(str(workflow.handle))}"
            return (f"The docs of {workflow.name!r} are still to be published: {finalize}",)
        from holdfast.formats.gated import lifecycle, machine  # noqa: PLC0415

        changed = lifecycle.change(place, workflow.key, machine.complete)
        how = f"Workflow completed: {workflow.name}. Its docs are published by: holdfast gate finalize"
        return how, *changed.lines

    def touch(self, place: Place, workflow: Workflow) -> None:
        from holdfast.formats.gated import lifecycle  # noqa: PLC0415

        lifecycle.take_up(place, workflow.key)

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """The document has no place for it."""


def _is_due(place: Place, found: Found, copied: Mapping[str, float]) -> bool:
    return together.is_unfinished(place.store, files.UNFINISHED) or holding.copies_due(
        place.store, files.FOLDER, _read(found), _gone(place, found), copied
    )


def _gone(place: Place, found: Found) -> Callable[[str], bool]:
    """Whether the feature of a file is not there; what was found just now is."""
    there = {str(run.folder) for run in (*found.runs, *found.lost)}
    depth = len(str(place.root / files.FOLDER)) + 1

    def gone(path: str) -> bool:
        end = path.find(os.sep, depth)
        return path[:end] not in there and files.has_gone(path)

    return gone


def _finished(place: Place) -> list[str]:
    """What was interrupted is brought to its end; not every hook can tell the person so."""
    from holdfast.formats.gated import lifecycle  # noqa: PLC0415

    lines = lifecycle.finish(place)
    ledger.tell_later(place.store, lines, place.now)
    return lines


def _read(found: Found) -> list[Kept[Any]]:
    """The files that were read: what is known is copied, and nothing is wrong with it."""
    runs = (run for run in (*found.runs, *found.lost) if not isinstance(run, Known))
    return [each for run in runs for each in run.held]


def _looked(place: Place, found: Found) -> list[tuple[str, str]]:
    relative = place.store.relative
    lost = [*(run.main for run in found.lost), *found.foreign]
    states = ((f"{files.FOLDER}/{run.slug}/{files.STATE}", row_of(run)) for run in found.runs)
    return [(path, f"state of {row.name!r}") for path, row in states] + [
        (relative(each.path), each.reason) for each in lost if isinstance(each, Unusable)
    ]


def _notes(place: Place, found: Found) -> list[str]:
    """What the person has to be told, one line each."""
    lost = [run.main for run in found.lost if isinstance(run.main, Unusable)]
    # A status.json that is missing is made by the next command; until then a caution tells it.
    read = (run for run in found.runs if not isinstance(run, Known))
    lost += [each for run in read for each in run.lost if each.kind != "missing"]
    lines = holding.unreadable(place.store, _read(found), lost)
    return [*lines, *(_recovery(run.slug) for run in found.lost)]


def _recovery(slug: str) -> str:
    return f"What can be made of the files of {slug!r}: holdfast gate recover"

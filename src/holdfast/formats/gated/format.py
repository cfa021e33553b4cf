"""The gated format as the rest of the house sees it.

Hooks do not write these files: an orchestrator does, by our commands or by itself. A hook keeps copies
in our own folder, so that a file that gets damaged can be brought back, and brings to its end what one
of our commands was killed in the middle of. What only commands need is loaded where it is used.
"""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast import ledger, together
from holdfast.errors import HoldfastError
from holdfast.formats import holding
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.gated import files
from holdfast.formats.gated.files import Found, HeldState
from holdfast.formats.gated.telling import workflows_of
from holdfast.formats.holding import Kept, Unusable


class Gated:
    """See docs/formats/gated.md."""

    name = "gated"
    folders: tuple[str, ...] = (files.FOLDER,)
    personal = False
    group = "gate"

    def paths(self, root: Path) -> list[Path]:
        return files.paths(root)

    def present(self, place: Place) -> bool:
        found = files.look(place.store)
        return bool(found.runs or found.lost)

    def sync(self, place: Place, wait: float | None) -> Survey:
        found = files.look(place.store)
        survey = Survey()
        if wait is not None and _is_due(place, found):
            try:
                with place.store.lock(wait):
                    survey.notes += _finished(place)
                    found = files.look(place.store)  # what was read outside the lock may be old
                    holding.keep_copies(place.store, files.FOLDER, _held(found), files.has_gone)
            except HoldfastError as error:
                survey.failure = error
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


def _is_due(place: Place, found: Found) -> bool:
    return together.is_unfinished(place.store, files.UNFINISHED) or holding.copies_due(
        place.store, files.FOLDER, _held(found), files.has_gone
    )


def _finished(place: Place) -> list[str]:
    """What was interrupted is brought to its end; not every hook can tell the person so."""
    from holdfast.formats.gated import lifecycle  # noqa: PLC0415

    lines = lifecycle.finish(place)
    ledger.tell_later(place.store, lines, place.now)
    return lines


def _held(found: Found) -> list[Kept[Any]]:
    return [each for run in (*found.runs, *found.lost) for each in run.held]


def _looked(place: Place, found: Found) -> list[tuple[str, str]]:
    relative = place.store.relative
    states = [run.main for run in found.runs if isinstance(run.main, HeldState)]
    lost = [*(run.main for run in found.lost), *found.foreign]
    return [(relative(held.path), f"state of {held.state.name!r}") for held in states] + [
        (relative(each.path), each.reason) for each in lost if isinstance(each, Unusable)
    ]


def _notes(place: Place, found: Found) -> list[str]:
    """What the person has to be told, one line each."""
    lost = [run.main for run in found.lost if isinstance(run.main, Unusable)]
    # A status.json that is missing is made by the next command; until then a caution tells it.
    lost += [each for run in found.runs for each in run.lost if each.kind != "missing"]
    lines = holding.unreadable(place.store, _held(found), lost)
    return [*lines, *(_recovery(run.slug) for run in found.lost)]


def _recovery(slug: str) -> str:
    return f"What can be made of the files of {slug!r}: holdfast gate recover"

"""The canonical format as the rest of the house sees it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.formats.base import Place, Report, Survey, Workflow
from holdfast.formats.canonical import files, inspection, lifecycle, memory, saving
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.sources.look import look_at_markdown
from holdfast.formats.canonical.view import View


class Canonical:
    """See docs/formats/canonical.md."""

    name = "canonical"
    folders: tuple[str, ...] = (files.FOLDER,)
    personal = True
    group = ""
    notes_compactions = False

    def paths(self, root: Path) -> list[Path]:
        return files.paths(root)

    def present(self, place: Place) -> bool:
        if files.any_in(place.root):
            return True
        looked = look_at_markdown(place.root, place.settings.plans, memory.of(place.root).looked)
        return any(each.declaration for each in looked)

    def sync(self, place: Place, wait: float | None) -> Survey:
        view = views.look(place)
        survey = Survey(due=saving.due(view))
        if wait is not None and survey.due:
            try:
                with place.store.lock(wait):
                    view = views.look(place)  # what was read outside the lock may be old
                    survey.saved, survey.failure = saving.save(view)
            except HoldfastError as error:
                survey.failure = error
        survey.notes = saving.notes(view)
        survey.looked = _looked(view)
        if survey.saved:
            view = views.look(place)  # for the paths of files that were made just now
        survey.workflows = [views.workflow_of(each, place) for each in view.known]
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        return inspection.inspect(path, raw)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        tombstone = lifecycle.complete(place, workflow.key)
        line = f"Workflow completed: {workflow.name}. Its last state is in {tombstone.archive}"
        if not workflow.declared:
            return (line,)
        stays = "The markdown that declares it stays as it is; it counts again when it is changed."
        return line, stays

    def touch(self, place: Place, workflow: Workflow) -> None:
        lifecycle.touch(place, workflow.key)

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """The document asks for nothing."""


def _looked(view: View) -> list[tuple[str, str]]:
    store = view.place.store
    found = [(each.path, each.reason) for each in view.looked]
    for known in view.known:
        if known.held:
            what = f"state of {known.state.workflow!r}"
            found.append((store.relative(known.held.path), what))
    found += [
        (store.relative(each.path), f"an older state of {each.state.workflow!r}")
        for each in view.superseded
    ]
    return found + [(store.relative(each.path), each.reason) for each in view.unusable]

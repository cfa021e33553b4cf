"""The format of orchestrators, in the terms that all formats share.

Hooks do not write the state: an orchestrator does, by our commands or with its own tools. There is one
exception, because the format's document asks for it: before a compaction a checkpoint is taken, if
there is anything that the last one does not have.

Whatever writes the state goes through `put`: so the log of learnings changes with it, the limits are
looked at, and signs of life are noted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow
from holdfast.files import together
from holdfast.files.store import COMMAND_WAIT, Store
from holdfast.files.together import Change
from holdfast.formats.engine.document import quoted, required_fields
from holdfast.formats.engine.format import Changed, StateFormat
from holdfast.formats.engine.loading import Found, Unusable, error_of
from holdfast.formats.engine.workflow import Briefing, Place, Standing, Survey, Workflow
from holdfast.formats.orchestrator import briefing, files, learnings, limits, model, moves, tasks
from holdfast.formats.orchestrator.files import StateFile
from holdfast.formats.orchestrator.model import State
from holdfast.records import ledger


class Orchestrator(StateFormat[State, StateFile, Found[StateFile]]):
    """See docs/formats/orchestrator.md."""

    name = "orchestrator"
    folders = (files.FOLDER,)
    copied = files.STATE
    group = "orchestrate"
    restored_with = "holdfast orchestrate restore {kept}"
    kind = files.KIND
    # All but a few; without git there is no commit.
    required: ClassVar = required_fields(
        State,
        (
            "orchestrator.end_time",
            "supervisor.last_check",
            "safety_bounds.max_time_hours",
            "checkpoints.*.git_sha",
        ),
    )

    # Looking.

    def paths(self, store: Store) -> list[Path]:
        return files.paths(store)

    def entries(self, place: Place) -> Iterator[StateFile | Unusable]:
        run = files.find_run(place.store)
        if run:
            yield run

    def ended(self, entry: StateFile) -> str:
        state, run = entry.state, entry.state.orchestrator
        if not state.over:
            return ""
        reason, on = limits.failed_for(state), str(run.end_time or entry.changed_at.isoformat())
        if run.status == "completed" and state.left:
            return f"{run.status} on {on[:10]}, though these tasks are not: {state.ids_left}"
        return f"{run.status} on {on[:10]}{f': {reason}' if reason else ''}"

    def briefing(self, place: Place, entry: StateFile, standing: Standing) -> Briefing:
        return briefing.make(place, entry, standing)

    def describe(self, place: Place, entry: StateFile, standing: Standing) -> dict[str, Any]:
        state, cautions = entry.state, list[str]()
        if standing == "active":
            cautions = [briefing.unread(place, state), *self._beyond(state)]
            cautions.append(briefing.parted(place.store, state))
        over = "archive" if state.over else "fail REASON"
        return {
            "cautions": (*filter(None, cautions),),
            "cleared_with": f"holdfast orchestrate {over}",
        }

    def notes(self, found: Found[StateFile]) -> list[str]:
        return [
            f"{files.STATE} is {files.OLD}" for file in found.unusable if file.reason == files.OLD
        ]

    # Saving.

    def is_due(self, found: Found[StateFile]) -> bool:
        return super().is_due(found) or self._checkpoint_due(found)

    def save(self, found: Found[StateFile], survey: Survey) -> None:
        super().save(found, survey)
        if self._checkpoint_due(found):
            from holdfast.formats.orchestrator import checkpoints  # noqa: PLC0415  # it uses FORMAT

            found.entries = [checkpoints.take_of(found.place, found.entries[0])]

    def overtaken(self, later: State, state: State | None) -> str:
        if later.over:
            return ""
        if state is None:
            return "is gone"
        is_same = files.key_of(later) == files.key_of(state) and not state.over
        done = ", ".join(files.done_since(later, state)) if is_same else ""
        return f"is older than it was: {done} was completed as well" if done else ""

    def _checkpoint_due(self, found: Found[StateFile]) -> bool:
        place = found.place
        is_asked = place.saver == "PreCompact" and not place.played and found.entries
        return bool(is_asked) and files.is_checkpoint_due(place.store, found.entries[0])

    # Changing.

    def owns(self, path: str) -> bool:
        return files.is_ours(path)

    def find(self, place: Place, key: str) -> StateFile | Unusable:
        run = files.find_run(place.store)
        if run is None or (isinstance(run, Unusable) and not run.is_ours):
            reason = f"{files.STATE} is {run.reason}" if run else f"there is no {files.STATE} here"
            raise NoSuchWorkflow(reason, hint="Begin a run: holdfast orchestrate start TASK_DOC")
        return run

    def run(self, place: Place) -> StateFile:
        """The run, where it can be changed."""
        return self.changeable(place, "")

    def put(
        self,
        place: Place,
        path: Path,
        state: State,
        before: StateFile | None = None,
        *,
        copies: Iterable[Path] = (),
    ) -> StateFile:
        """Write *state*, with *copies* of the same bytes."""
        store, was = place.store, before.state if before else None
        after = limits.updated(state, place.now)
        written: StateFile = self.written(place, path, after)
        changes = learnings.missing_in_log(store, *([was] if was else []), after)
        changes += [Change(copy, written.raw) for copy in copies]
        if before and before.broken:
            self.set_aside(place, path)
        together.write(store, self.name, [*changes, Change(path, written.raw)])
        store.keep(path, written.raw, before.raw if before else None)
        with contextlib.suppress(HoldfastError):  # the state is written all the same
            tasks.note_signs(store, was, after, place.now)
        return written

    def history(self, _: Place, entry: StateFile) -> list[dict[str, Any]]:
        state, events = entry.state, list[dict[str, Any]]()
        for event, when, noted in (
            ("task completed", "completed", state.completed_tasks),
            ("milestone", "completed", state.milestones),
            ("checkpoint", "timestamp", state.checkpoints),
            ("learning", "timestamp", state.learnings),
            ("intervention", "timestamp", state.supervisor.interventions),
        ):
            for item in noted:
                details = item.model_dump()
                events.append({"at": details.pop(when), "event": event, **details})
        return sorted(events, key=lambda event: str(event["at"]))

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        changed = self.change(place, workflow.key, moves.complete)
        archive = "Archive it with: holdfast orchestrate archive"
        return (*changed.lines, f"Workflow completed: {workflow.name}", archive)

    def start(self, place: Place, first: State) -> Changed[StateFile]:
        """Begin a run with its *first* state; one that lies there does not give way."""
        path = place.root / files.STATE
        with self.locked(place) as lines:
            there = files.find_run(place.store)
            _refuse_taken(there)
            if there:
                aside = place.store.relative(self.set_aside(place, path))
                lines.append(f"what lay there is kept in {aside}")
            return Changed(self.put(place, path, first), (*lines,))

    def note_phases(self, place: Place, run: StateFile, names: Sequence[str]) -> None:
        """Note what the plan calls its phases: hooks may not open a document outside the project."""
        if any(name != f"Phase {number}" for number, name in enumerate(names, 1)):
            with place.store.lock(COMMAND_WAIT):
                noted = {briefing.PHASES: [*names]}
                ledger.put_notes(place.store, run.key, lambda record: {**record, **noted})

    # Inspecting.

    def lies_there(self, path: Path) -> bool:
        return path.parent.name == files.FOLDER and files.is_state(f"{files.FOLDER}/{path.name}")

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        if self.lies_there(path) and model.is_old(data):
            return [f"this is {files.OLD}; nothing migrates it"]
        return super().problems(path, data)

    @staticmethod
    def _beyond(state: State) -> Iterator[str]:
        """What is wrong with its numbers."""
        run = state.orchestrator
        if run.total_phases and run.current_phase >= run.total_phases:
            most = run.total_phases - 1
            yield (
                f"orchestrator.current_phase: expected at most {most}, since phases count from 0, "
                f"found {run.current_phase}"
            )
        number, count = run.progress
        if number > count:
            yield (
                "orchestrator.current_task: expected at most as many as there are, "
                f"found {run.current_task!r}"
            )

    def deciding(self, _: State) -> Collection[str]:
        return "orchestrator.current_phase", "pending_tasks", "active_agents"

    def undecided(self, entry: StateFile) -> str:
        state = entry.state
        if state.status == "reviewing" and state.left:
            return f"the run is in review, though these tasks are not completed: {state.ids_left}"
        return super().undecided(entry)

    def beyond_types(self, state: State) -> Iterator[str]:
        yield from self._beyond(state)
        done = {task.task for task in state.completed_tasks}
        for at, task in enumerate(state.pending_tasks):
            if task.task in done:
                there = quoted(task.task)
                yield f"pending_tasks.{at}.task: expected one that is not completed, found {there}"


def _refuse_taken(there: StateFile | Unusable | None) -> None:
    if isinstance(there, Unusable):
        files.refuse_foreign(there)
        if there.kind == "wrong":
            raise error_of(there)
    if isinstance(there, StateFile):
        over = "Archive it first: holdfast orchestrate archive, or start --archive"
        going = (
            "Go on with it: holdfast orchestrate status. Or give it up: fail REASON, then archive"
        )
        raise IllegalMove(
            f"{files.STATE} holds {there.name!r}, which is {there.state.orchestrator.status}",
            hint=f"{over if there.state.over else going}.",
        )


FORMAT = Orchestrator()

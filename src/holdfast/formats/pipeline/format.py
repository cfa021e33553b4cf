"""The pipeline format, in the terms that all formats share.

Hooks do not write these files: agents do, with our commands or the server.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.engine.document import (
    EXACT,
    objections,
    quoted,
    strictly,
    update_index,
)
from holdfast.formats.engine.format import StateFormat
from holdfast.formats.engine.loading import LoadedFile, Unusable
from holdfast.formats.engine.workflow import Briefing, Place, Standing, Workflow
from holdfast.formats.pipeline import definitions, files, moves, progress
from holdfast.formats.pipeline.definitions import BUILT_IN, ENDINGS, FOLDER, GENERATION, PLANNING
from holdfast.formats.pipeline.files import KIND, FoundWorkflows, Location, StateFile
from holdfast.formats.pipeline.model import State, Step, has_shape, model_of

# A state stays where it is when its workflow is over, so there may be thousands.
_SHOWN_WHEN_OVER = 20
_WORKING_DIR = "working_dir"
_A_PATH = re.compile(
    r"(?!\w+://)\S*(/\w|\.[A-Za-z])[^\s/]*"
)  # what an artefact says may be no path at all

_REQUIRED = {
    "workflow_id": "the workflow's id",
    "workflow_type": "generation, planning, or the name of a definition",
    "status": "in_progress, waiting_approval, failed, completed or cancelled",
    "created_at": "a time in ISO 8601",
    "updated_at": "a time in ISO 8601",
}
_OF_SECTION = {
    GENERATION: {"scene_id": "the scene's id", "steps": "a list of steps"},
    PLANNING: {"level": "scene, chapter or act", "phases": "a list of phases"},
}


class Pipeline(StateFormat[State, StateFile, FoundWorkflows]):
    """See docs/formats/pipeline.md."""

    name = files.NAME
    folders = (files.GLOBAL.states, files.SESSIONS)
    copied = files.WORKSPACE
    personal = False
    group = "pipeline"
    kind = KIND
    found_type = FoundWorkflows

    # Looking.

    def paths(self, store: Store) -> Iterator[Path]:
        for location in files.locations(store):
            yield from files.state_paths(store, location)

    def read(self, store: Store, path: Path) -> StateFile | Unusable:
        return files.read(store, path)

    def at(self, place: Place, location: Location) -> list[StateFile | Unusable]:
        return [*self.entries_at(place, files.state_paths(place.store, location))]

    def to_copy(self, found: FoundWorkflows) -> Iterable[LoadedFile[Any]]:
        """What is live, and what was when it was last copied.

        Otherwise the copy of a workflow that others have completed would bring it back.
        """
        return [file for file in found.entries if file.is_live or str(file.path) in found.copied]

    def listed(self, found: FoundWorkflows) -> list[StateFile]:
        """The live ones, and the last ones that were; `pipeline list` has all of them."""
        over = [file for file in found.entries if not file.is_live]
        over.sort(key=lambda file: (str(file.row.updated_at or ""), file.name), reverse=True)
        return [*found.live, *over[:_SHOWN_WHEN_OVER]]

    def ended(self, entry: StateFile) -> str:
        row = entry.row
        if row.status == "failed":
            waits = "A person has to review the error; then: holdfast pipeline resume"
            return f"{row.failure}. {waits} {entry.name}"
        if row.failure:
            return row.failure
        if entry.is_live:
            return ""
        return f"{row.status} on {str(row.ended_at or entry.changed_at.isoformat())[:10]}"

    def describe(self, _: Place, entry: StateFile, __: Standing) -> dict[str, Any]:
        command = "cancel" if entry.is_live else "resume"
        return {
            "handle": entry.name,
            "put_away": entry.row.status in {"completed", "cancelled"} and not entry.row.failure,
            "cleared_with": f"holdfast pipeline {command} {shlex.quote(entry.name)}",
        }

    def briefing(self, place: Place, entry: StateFile, standing: Standing) -> Briefing:
        state = entry.state
        step, following, blocked = progress.next_of(state)
        next_action, gate, comes_next, command = _next_action(state), None, "", ""
        retried = step is not None and state.retry_of(step) is not None
        if blocked is None and step and following:
            command = "next"
            if step.status == "completed":
                comes_next = f"{state.title(step)} is completed. {next_action}."
            elif state.missing(step.number):
                comes_next = f"{state.title(following)} comes first. {next_action}."
        elif blocked and blocked.waits:
            comes_next = f"Waiting for a person. {next_action}."
            gate = blocked.reason if step and state.awaits_approval(step) else None
        elif retried or all(map(state.is_done, state.steps)):
            command, comes_next = "next" if retried else "", f"{next_action}."
        else:
            command = "done"
        return Briefing(
            name=entry.name,
            kind=state.workflow_type,
            phase=state.current,
            phases=max(state.total, state.current),
            phase_name=step.title if step else "",
            status=state.status,
            next_action=next_action,
            gate=gate,
            reading=() if state.over else tuple(dict.fromkeys(_reading(state, place.store))),
            context=tuple(_context(state, following).items()),
            state_path=place.store.relative(entry.path),
            comes_next="" if state.over else comes_next,
            kept_with=(f"holdfast {command}",) if command and not state.over else (),
            ended_with="holdfast done",
        )

    def undecided(self, entry: StateFile) -> str:
        state = entry.state
        if state.status == "waiting_approval" and not any(map(state.awaits_approval, state.steps)):
            return f"the status is waiting_approval, and no {state.word} waits for an approval"
        return super().undecided(entry)

    # Changing: the state is written, then come the indexes and a line in the workflow's log, which only
    # follow. That one of them cannot be written must not make a move seem to have failed, since somebody
    # would then make it again. The next command tries once more.

    def find(self, place: Place, key: str) -> StateFile:
        return files.find(place.store, key.removeprefix(files.key_of("")))

    def follow(
        self,
        place: Place,
        before: StateFile,
        after: StateFile,
        move: Callable[..., State],
        given: Mapping[str, Any],
    ) -> None:
        self.update_indexes(place)
        files.note_move(place, after, before.state, move.__name__, given)

    def update_indexes(self, place: Place) -> None:
        """Make every index say what lies beside it; inside the lock, after the states were written."""
        for location in files.locations(place.store):
            path = place.root / location.index_file
            if path.parent.is_dir():
                there = [file for file in self.at(place, location) if isinstance(file, StateFile)]
                there.sort(key=lambda file: file.in_order)
                entries = (files.index_entry(place.store, file) for file in there)
                update_index(place, path, entries, list_field="workflows", id_field="workflow_id")

    def history(self, place: Place, entry: StateFile) -> list[dict[str, Any]]:
        return files.noted(place.store, entry.name)

    touch_move = staticmethod(moves.touch)

    def owns(self, path: str) -> bool:
        return files.is_own(path)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """It is completed by its last step, and by nothing else."""
        raise IllegalMove(
            f"{workflow.name!r} is completed by its last step",
            hint="Its next step: holdfast next. To cancel it: holdfast pipeline cancel",
        )

    # Inspecting.

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        wrong = super().problems(path, data)
        return chain(wrong, _of_type(path, data)) if wrong and has_shape(data) else wrong

    def wrong_in(self, path: Path, data: dict[str, Any]) -> Iterable[str]:
        yield from _of_state(data)
        if isinstance(data["workflow_id"], str) and data["workflow_id"] != path.stem:
            there = quoted(data["workflow_id"])
            yield f"workflow_id: expected {path.stem}, as the file is called, found {there}"


def _next_action(state: State) -> str | None:
    """What blocks and who unblocks it, or which step to begin with which agents."""
    step, following, blocked = progress.next_of(state)
    if blocked is None and following is not None:
        agents = " and ".join(state.agents(following))
        return f"Begin {state.called(following)}{f' with {agents}' if agents else ''}"
    if blocked is None or blocked.action is None:
        return None
    line = f"{blocked.reason}. {blocked.action}"
    return f"{line}. {step.emphasis}" if step and step.emphasis else line


def _context(state: State, following: Step | None) -> dict[str, Any]:
    """What whoever goes on has to know, beside the next action."""
    section, step = state.section, state.current_step
    facts: dict[str, Any] = {
        "session": state.session_name,
        "scene": section.scene_id,
        "level": section.level,
        **section.context,
    }
    if step and not state.over:
        facts["agents"] = ", ".join(state.agents(step))
        facts["attempt"] = step.attempt
        facts["attempts that failed"] = step.failures
    for done in state.steps:
        if approval := done.human_approval:
            facts[f"modifications of {done.title}"] = approval.modifications
            facts[f"variant selected in {state.word} {done.number}"] = approval.selected_variant
    if following and not state.over:
        agents = ", ".join(state.agents(following))
        facts["next step"] = f"{following.title}{f' ({agents})' if agents else ''}"
    facts["artefacts in"] = section.artifacts.get(_WORKING_DIR)
    return {name: fact for name, fact in facts.items() if fact}


def _reading(state: State, store: Store) -> Iterator[str]:
    """The artefacts that are files; the restore says of one that is not there what to do."""
    named = [path for name, path in state.section.artifacts.items() if name != _WORKING_DIR]
    for step in state.steps:
        named += step.artifacts.values()
    for path in named:
        found = files.made(store, state, path)
        if found:
            yield f"@{os.path.relpath(found, store.root)}"
        elif isinstance(path, str) and _A_PATH.fullmatch(path):
            yield f"@{path}"


# What a strict reader of the document objects to. Going on with a workflow is more tolerant than this.


def _of_type(path: Path, data: dict[str, Any]) -> Iterator[str]:
    """A type that is not built in has its definition in the state, or in the project."""
    kind = data["workflow_type"]
    section = data.get(kind)
    if kind in BUILT_IN or (isinstance(section, dict) and section.get("definition")):
        return
    places = (parent / FOLDER / f"{kind}{ending}" for parent in path.parents for ending in ENDINGS)
    if not any(map(os.path.isfile, places)):
        yield f"workflow_type: expected {_REQUIRED['workflow_type']}, found {quoted(kind)}"


def _of_state(data: dict[str, Any]) -> Iterator[str]:
    kind = data["workflow_type"]
    model, with_section = model_of(kind), {kind: {}, **data}
    section = {f"{kind}.{field}": what for field, what in _OF_SECTION.get(kind, {}).items()}
    yield from objections(model, with_section, _REQUIRED | section)
    if not strictly(model, with_section):
        state = model.model_validate(with_section, context=EXACT)
        for check in (_of_steps, _of_section, _of_status, _of_approvals):
            yield from check(state)


def _of_section(state: State) -> Iterator[str]:
    section, kind, word = state.section, state.workflow_type, state.word
    if state.steps:
        current, total = state.stated
        following = state.next_step
        is_ready = following is not None and not state.missing(following.number)
        begins = following.number if following and is_ready else None  # named before it has begun
        if current not in {None, state.current, begins}:
            yield f"{kind}.current_{word}: expected {state.current}, as its {word}s say, found {current}"
        if total not in {None, len(state.steps)}:
            yield f"{kind}.total_{word}s: expected {len(state.steps)}, found {total}"
    if section.definition is not None:
        wrong = definitions.problems_in(section.definition)
        yield from (f"definition.{problem}" for problem in wrong)


def _of_steps(state: State) -> Iterator[str]:
    where, numbered = f"{state.workflow_type}.{state.word}s", True
    for place, step in enumerate(state.steps, 1):
        if step.number != place:
            numbered, there = False, str(step.number or "nothing")
            yield f"{where}.{place - 1}.{state.word}: expected {place}, its place in the list, found {there}"
    for step in state.steps if numbered else ():
        early = [] if step.status == "pending" else state.missing(step.number)
        if early:
            yield (
                f"{where}.{step.number - 1}.status: expected pending, since "
                f"{state.title(early[0])} is not done, found {quoted(step.status)}"
            )


def _of_approvals(state: State) -> Iterator[str]:
    for place, step in enumerate(state.steps):
        asked = step.human_approval
        if step.status == "waiting_approval" and asked and asked.approved:
            where = f"{state.workflow_type}.{state.word}s.{place}.human_approval.approved"
            yield f"{where}: expected false, since {state.called(step)} waits for approval, found true"


def _of_status(state: State) -> Iterator[str]:
    """The document itself has "in_progress" where a step waits for approval."""
    stands = {step.status for step in state.steps}
    if "failed" in stands and state.workflow_type == PLANNING:
        yield "status: a phase of a planning is pending, in_progress, waiting_approval or completed, found 'failed'"
    elif not state.over and any(
        step.status == "failed" and not state.retry_of(step) for step in state.steps
    ):
        yield f"status: expected failed, as a {state.word} is, found {quoted(state.status)}"
    elif state.status == "completed" and not all(step.is_complete for step in state.steps):
        yield f"status: expected in_progress, since not every {state.word} is completed, found 'completed'"


FORMAT = Pipeline()

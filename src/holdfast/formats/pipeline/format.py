"""The pipeline format, in the terms that all formats share.

Hooks do not write these files: agents do, with our commands or the server.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.engine.document import update_index
from holdfast.formats.engine.format import StateFormat
from holdfast.formats.engine.looking import LoadedFile, Unusable
from holdfast.formats.engine.workflow import Briefing, Place, Report, Standing, Workflow
from holdfast.formats.pipeline import files, inspection, logs, moves, progress
from holdfast.formats.pipeline.files import KIND, FoundWorkflows, Location, StateFile
from holdfast.formats.pipeline.model import State, Step

# A state stays where it is when its workflow is over, so there may be thousands.
_SHOWN_WHEN_OVER = 20
_WORKING_DIR = "working_dir"
_A_PATH = re.compile(
    r"(?!\w+://)\S*(/\w|\.[A-Za-z])[^\s/]*"
)  # what an artefact says may be no path at all


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
        """What lies at one location."""
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

    def describe(self, _: Place, entry: StateFile, standing: Standing) -> dict[str, Any]:
        command = "cancel" if entry.is_live else "resume"
        return {
            "cautions": () if standing != "active" else (*inspection.contradictions(entry.state),),
            "handle": entry.name,
            "put_away": entry.row.status in {"completed", "cancelled"} and not entry.row.failure,
            "cleared_with": f"holdfast pipeline {command} {shlex.quote(entry.name)}",
        }

    def briefing(self, place: Place, entry: StateFile, standing: Standing) -> Briefing:
        state = entry.state
        step, following, blocked = progress.next_of(state)
        next_action, comes_next = _next_action(state), ""
        asked = step is not None and not state.over and state.awaits_approval(step)
        failed = step is not None and step.status == "failed"
        waits = asked or (failed and not state.over)
        is_done = not state.over and all(map(state.is_done, state.steps))
        keeping = [] if waits or is_done else ["holdfast pipeline next"]
        if waits:
            comes_next = f"Waiting for a person. {next_action}."
        elif is_done:
            comes_next = f"{next_action}."
        elif step and step.status == "completed" and blocked is None:
            comes_next = f"{state.title(step)} is completed. {next_action}."
        if following and blocked is None:
            keeping.append(f"holdfast pipeline update {following.number} --status in_progress")
        elif keeping and not state.over:  # an approval is a person's
            keeping.append(f"holdfast pipeline update {state.current} --status completed")
        ending = f"update {state.total} --status completed" if standing == "active" else "cancel"
        return Briefing(
            name=entry.name,
            kind=state.workflow_type,
            phase=state.current,
            phases=max(state.total, state.current),
            phase_name=step.title if step else f"Phase {state.current}",
            status=state.status,
            next_action=next_action,
            gate=progress.blocker(state, step).reason if step and asked else None,
            reading=() if state.over else tuple(dict.fromkeys(_reading(state, place.store))),
            context=tuple(_context(state, following).items()),
            state_path=place.store.relative(entry.path),
            comes_next=comes_next,
            kept_with=tuple(keeping),
            ended_with=f"holdfast pipeline {ending}",
        )

    # Changing: the state is written, then come the indexes and a line in the workflow's log, which only
    # follow. That one of them cannot be written must not make a move seem to have failed, since somebody
    # would then make it again. The next command tries once more.

    def changeable(self, place: Place, key: str) -> StateFile:
        file = files.find(place.store, key.removeprefix(files.key_of("")))
        if file.problems and not file.broken:
            raise StateUnreadable(file.path, file.problems[0])
        return file

    def event(self, move: Callable[..., State]) -> str:
        return moves.EVENTS[move]

    def follow(
        self,
        place: Place,
        before: StateFile,
        after: StateFile,
        event: str,
        given: Mapping[str, Any],
        /,
    ) -> None:
        self.update_indexes(place)
        logs.note_move(place, after, before.state, event, given)

    def update_indexes(self, place: Place) -> None:
        """Make every index say what lies beside it; inside the lock, after the states were written."""
        for location in files.locations(place.store):
            path = place.root / location.index_file
            if path.parent.is_dir():
                there = [file for file in self.at(place, location) if isinstance(file, StateFile)]
                there.sort(key=lambda file: file.in_order)
                entries = (files.index_entry(place.store, file) for file in there)
                update_index(place, path, entries, list_field="workflows", id_field="workflow_id")

    touch_move = staticmethod(moves.touch)

    def owns(self, path: str) -> bool:
        return files.is_own(path)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """It is completed by its last step, and by nothing else."""
        raise IllegalMove(
            f"{workflow.name!r} is completed by its last step",
            hint="See what comes next: holdfast pipeline next. To give it up: holdfast pipeline cancel",
        )

    # Inspecting.

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        problems = inspection.of_definition(path.resolve(), raw)
        return super().inspect(path, raw) if problems is None else Report(self.name, problems)

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        return inspection.problems(path, data)


def _next_action(state: State) -> str | None:
    """What blocks and who unblocks it, or which step to begin with which agents."""
    step, following, blocked = progress.next_of(state)
    if blocked is None and following is not None:
        agents = " and ".join(state.agents(following))
        return f"Begin {state.called(following)}{f' with {agents}' if agents else ''}"
    if blocked is None or (blocked.action is None and state.over):
        return None
    failed = step is not None and step.status == "failed"  # no command is named that decides
    action = f"{progress.REVIEW}, and may then resume it" if failed else blocked.action
    line = f"{blocked.reason}. {action}"
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


FORMAT = Pipeline()

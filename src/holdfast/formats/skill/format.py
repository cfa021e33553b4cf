"""The format of skills, in the terms that all formats share.

Hooks do not write these files: skills do, with jq or by our commands. There is one exception, because
the document asks for it: that a session goes on after a compaction is noted in the history.

A /tdd on a task of a /dev is part of that /dev. A session on either gets the /dev, whose briefing covers both, and the
/tdd ends with its task or its /dev; left alone, it would come back as work of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from holdfast.errors import StateUnwritable
from holdfast.formats.engine.document import iso_time, lacks, quoted, update_index
from holdfast.formats.engine.format import Changed, StateFormat
from holdfast.formats.engine.loading import LoadedFile, Unusable
from holdfast.formats.engine.workflow import Briefing, Place, Standing, Workflow
from holdfast.formats.skill import facts, files, moves
from holdfast.formats.skill.files import FoundStates, StateFile
from holdfast.formats.skill.model import EXECUTION, State

_PROGRESS = re.compile(r"\d+/\d+")


class Skill(StateFormat[State, StateFile, FoundStates]):
    """See docs/formats/skill.md."""

    name = "skill"
    folders = (files.ACTIVE, files.COMPLETED)
    copied = files.FOLDER
    group = "skill"
    notes_compactions = True
    kind = files.KIND
    found_type = FoundStates
    required: ClassVar = {
        "_schema.version": "the version, as text",
        "_schema.skill": "the skill's name",
        "workflow.id": "the workflow's id",
        "workflow.status": "in_progress, completed, blocked or abandoned",
        "workflow.created_at": "a time in ISO 8601",
        "workflow.updated_at": "a time in ISO 8601",
        "context": "an object",
        "state_machine.current_phase": "the name of a phase",
        "state_machine.phases": "a list of phases",
        "history": "a list of events",
    }

    # Looking.

    def is_shown(self, entry: StateFile | Unusable) -> bool:
        return entry.is_ours if isinstance(entry, Unusable) else entry.is_active

    def to_copy(self, found: FoundStates) -> Iterable[LoadedFile[Any]]:
        return found.active

    def ended(self, entry: StateFile) -> str:
        if entry.state.over:
            return f"{entry.state.workflow.status} on {entry.ended_on}"
        return "" if entry.is_active else "it lies in completed/"

    def workflows(self, found: FoundStates) -> list[Workflow]:
        """A completed workflow that was begun again is what it is now."""
        begun = {file.key for file in found.active}
        shown = (file for file in found.entries if file.is_active or file.key not in begun)
        return [self._among(found, file) for file in shown]

    def workflow(
        self, place: Place, entry: StateFile, _: Collection[str] | None = None
    ) -> Workflow:
        return self._among(self.look(place), entry)

    def _among(self, found: FoundStates, file: StateFile) -> Workflow:
        """*file* as a workflow, seen with the others: with its /dev or /tdd, or as one that has ended."""
        place, workflow = found.place, super().workflow(found.place, file, found.ignored)
        if found.ended_as(file):
            return replace(
                workflow,
                standing="finished",
                remark=workflow.remark if file.state.over else found.left_over(file),
                cautions=(),
                put_away=True,
                brief=partial(self.briefing, place, file, "finished"),
            )
        if workflow.standing != "active":
            return workflow
        brief = partial(facts.briefing, place, file, "active", found.not_ignored)
        workflow = replace(workflow, brief=partial(self.checked, place, file, brief))
        dev = (other for other in found.not_ignored if facts.is_part_of(file.state, other.state))
        around = next(dev, None) if file.state.skill == "tdd" else None
        if around is None:
            return workflow
        return replace(workflow, remark=f"told with {around.name!r}", part_of=around.key)

    def describe(self, _: Place, entry: StateFile, __: Standing) -> dict[str, Any]:
        return {"handle": entry.path.stem, "put_away": not entry.is_active}

    def briefing(self, place: Place, entry: StateFile, standing: Standing) -> Briefing:
        return facts.briefing(place, entry, standing, ())

    def deciding(self, state: State) -> Collection[str]:
        """Tasks say it, too; who has none need not say so."""
        phases = () if state.tasks else ("state_machine.phases",)
        return (*phases, *(() if lacks(state.source, "tasks") else ("tasks",)))

    def undecided(self, entry: StateFile) -> str:
        phase, names = entry.state.phase, entry.state.phase_names
        if phase and names and phase.name not in names:
            return f"current_phase is none of {', '.join(names)}: {phase.name}"
        return super().undecided(entry)

    # Changing.

    def changeable(self, place: Place, key: str) -> StateFile:
        entry = super().changeable(place, key)
        twin = self.look(place).ended_as(entry) if entry.is_active else entry
        if twin:
            moves.refuse_ended(twin.state)
        return entry

    def history(self, _: Place, entry: StateFile) -> list[dict[str, Any]]:
        return entry.state.history

    touch_move = staticmethod(moves.touch)

    def follow(self, place: Place, before: StateFile, after: StateFile, *_: Any) -> None:
        self._end_within(place, before, after)
        self.update_index(place)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """The last line is the signal that the document asks for."""
        ended = self.end(place, workflow.key, moves.complete)
        state = ended.entry.state
        how = moves.ended(state, place.store.relative(ended.entry.path))
        signal = (moves.signal(state),) if state.workflow.status == "completed" else ()
        return how, *ended.lines, *signal

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """Noted once in the history of the workflow, and of a /tdd within.

        A hook does this, so where something is wrong with a file nothing is written.
        """
        with place.store.lock(wait):
            found = self.look(place)
            chosen = next((file for file in found.live if file.key == workflow.key), None)
            if chosen is None:
                return
            within = (file for file in found.working if facts.is_part_of(file.state, chosen.state))
            for file in (chosen, *within):
                odd = any(item["loc"] == ("history",) for item in file.state.odd)
                if file.problems or odd:
                    continue
                if not moves.has_noted(file.state, compacted, place.now):
                    touched = min(file.changed_at, place.now)
                    after = moves.note_compaction(file.state, iso_time(place.now), touched)
                    self.put(place, file.path, after, file)
            self.update_index(place)

    # Ending.

    def end(
        self, place: Place, key: str, move: Callable[..., State], *arguments: Any, **named: Any
    ) -> Changed[StateFile]:
        """End the workflow by *move*, and put it into completed/."""

        # One whose status was set by hand has ended, and is only put where it belongs.
        def ending(state: State, at: str) -> State:
            return state if state.over else move(state, at, *arguments, **named)

        before = place.root / files.COMPLETED / f"{key.partition(':')[2]}.json"
        again = place.store.exists(before)
        changed = self.change(place, key, ending)
        line = "the run that ended before it is in .claude/holdfast/archive"
        return changed._replace(lines=(*changed.lines, line)) if again else changed

    def put(
        self, place: Place, path: Path, state: State, before: StateFile | None = None
    ) -> StateFile:
        """One that ends goes to completed/. Killed in between, what is left in active/ counts as finished."""
        if before:
            _note_branch(place, before.state, state)
        if before is None or not state.over:
            return super().put(place, path, state, before)
        target = place.root / files.COMPLETED / path.name
        self.make_way(place, target)
        ended = super().put(place, target, state)
        self.take_away(place, before)
        return ended

    def _end_within(self, place: Place, before: StateFile, after: StateFile) -> None:
        """A /tdd ends with its task, or its /dev: else it would stand alone, as work that nobody does."""
        for file in self.look(place).live:
            was_part = facts.is_part_of(file.state, before.state)
            if file.problems or not was_part or facts.is_part_of(file.state, after.state):
                continue
            given_up = after.state.workflow.status == "abandoned"
            end, how = (moves.abandon, "abandoned") if given_up else (moves.complete, "completed")
            ended = end(file.state, iso_time(place.now), f"{how} with {after.name}")
            self.put(place, file.path, ended, file)

    def make_way(self, place: Place, path: Path, *, is_replaced: bool = False) -> str | None:
        """Archive what ended at *path*; what cannot be read is put aside, and it is said where.

        What is to be replaced stays until then, so that a kill leaves one of the two.
        """
        store = place.store
        if not store.exists(path):
            return None
        there = self.read(store, path)
        if there.out_of_reach:
            raise StateUnwritable(path, "what lies there cannot be read")
        if isinstance(there, Unusable) and not there.is_ours:
            raise StateUnwritable(path, f"what lies there is {there.reason}")
        if isinstance(there, StateFile):
            store.archive(path.name, place.stamp, there.state.encode())
            if is_replaced and not there.problems:
                return None
        return self.take_away(place, there)

    def take_away(self, place: Place, file: StateFile | Unusable) -> str | None:
        """Remove the file; one that cannot be read is put aside, and it is said where."""
        store, aside = place.store, None
        if isinstance(file, Unusable) or file.problems:
            aside = store.relative(store.set_aside(file.path, place.stamp, move=True))
        else:
            store.remove(file.path)
        store.forget(file.path)
        return aside

    def update_index(self, place: Place) -> None:
        """Have index.json list what is active now; inside the lock."""
        at = {"updated_at": iso_time(place.now)}
        live = sorted(
            self.look(place).live,
            key=lambda file: (str(file.state.workflow.created_at or ""), file.key),
        )
        update_index(
            place,
            place.root / files.INDEX,
            map(files.index_entry, live),
            list_field="active_workflows",
            id_field="id",
            head={"schema_version": "1.0", **at},
            stamped=at,
        )

    # Inspecting.

    def beyond_types(self, state: State) -> Iterator[str]:
        machine = state.state_machine
        names = [phase.name for phase in machine.phases]
        named = state.named_in_task or machine.current_phase in (*names, None)
        if names and not named:
            there = quoted(machine.current_phase)
            yield f"state_machine.current_phase: expected one of {', '.join(names)}, found {there}"
        for at, phase in enumerate(machine.phases):
            where = f"state_machine.phases.{at}"
            if phase.name in names[:at]:
                yield f"{where}.name: expected a name of its own, found {phase.name!r} again"
            if phase.progress is not None and not _PROGRESS.fullmatch(phase.progress):
                there = quoted(phase.progress)
                yield f"{where}.progress: expected done/all, such as 5/7, found {there}"
        now = state.phase.name if state.phase else ""
        if state.open_tasks and now in names and EXECUTION in names[: names.index(now)]:
            left = ", ".join(map(str, state.open_tasks))
            yield f"tasks: expected all completed, since the phase is {now}, found {left} open"
        for at, task in enumerate(state.tasks):
            if task.index != at + 1:
                there = "nothing" if task.index is None else str(task.index)
                yield f"tasks.{at}.index: expected {at + 1}, its place in the list, found {there}"
        for at, event in enumerate(state.history):
            for name in ("at", "event"):
                if not isinstance(event.get(name), str):
                    there = event.get(name, "nothing")
                    yield f"history.{at}.{name}: expected a text, found {there!r}"


def _note_branch(place: Place, before: State, after: State) -> None:
    """The checked-out branch is that of the work once create_branch is completed, or if it came from the noted one."""
    done = [(event.get("event"), event.get("phase")) for event in after.history]
    is_made = ("phase_completed", "create_branch") in done[len(before.history) :]
    branch = place.branch if is_made else place.branch_now(after.workflow.branch)
    if branch and branch != after.workflow.branch:
        after.workflow.branch = branch


FORMAT = Skill()

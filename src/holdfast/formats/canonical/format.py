"""The canonical format: what a survey saves, and what is kept beside it.

CLAUDE.local.md, the plans and the state files are merged, and the state files follow. Whatever is
written is written inside the lock, on what was looked at in there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.errors import (
    HoldfastError,
    IllegalMove,
    NewerRecord,
    NoSuchWorkflow,
    StateChanged,
    StateOutOfReach,
)
from holdfast.files import ownjson
from holdfast.files.store import Store
from holdfast.formats.canonical import files, matching
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.files import StateFile
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.state import (
    EXPECTED,
    LeftPhase,
    State,
    beyond_the_last,
    has_shape,
    names_of,
    read,
)
from holdfast.formats.canonical.view import Merged, View
from holdfast.formats.engine.document import quoted, strictly
from holdfast.formats.engine.format import StateFormat
from holdfast.formats.engine.looking import LoadedFile
from holdfast.formats.engine.workflow import (
    Briefing,
    CandidatePlan,
    Place,
    Standing,
    Survey,
    Workflow,
    unless_numbered,
)
from holdfast.records import ledger
from holdfast.text.plaintext import counted, one_line


class Canonical(StateFormat[State, Merged, View]):
    """See docs/formats/canonical.md."""

    name = "canonical"
    counts_by_path = True
    weighs_branch = False  # it is weighed when one is chosen
    folders = (files.FOLDER,)
    kind = files.KIND
    found_type = View

    # Looking.

    def paths(self, store: Store) -> list[Path]:
        return files.paths(store)

    def present(self, place: Place) -> bool:
        if files.paths(place.store):
            return True
        return any(source.declaration for source in views.sources(place, ledger.load(place.store)))

    def look(self, place: Place) -> View:
        return views.look(place)

    def ended(self, entry: Merged) -> str:
        return entry.remark if entry.standing == "finished" else ""

    def standing(self, _: Place, entry: Merged, __: Collection[str] = ()) -> tuple[Standing, str]:
        return entry.standing, entry.remark

    def describe(self, _: Place, entry: Merged, __: Standing) -> dict[str, Any]:
        local = entry.group.local if entry.group else None
        saved_at, saved_by = entry.saved
        return {
            "declared": ("local" if local else "plan") if entry.group else None,
            "declared_at": max((source.mtime for source in entry.declarations), default=0.0),
            "source": matching.plan_of(entry.key),
            "cautions": tuple(_cautions(entry)),
            "saved_at": saved_at,
            "saved_by": saved_by,
            "behind": entry.due,
        }

    def briefing(self, place: Place, entry: Merged, _: Standing) -> Briefing:
        state, kept, phase = entry.state, entry.state.holdfast, entry.state.phase
        next_action, gate = (kept.next_action, kept.gate) if kept else (None, None)
        if kept and entry.group is None:  # nothing declares it, and it may have been edited by hand
            next_action, gate = kept.next_and_gate(phase)
        return Briefing(
            name=state.workflow,
            kind=state.workflow_type,
            phase=phase.current,
            phases=phase.total,
            phase_name=unless_numbered(phase.name, phase.current),
            phase_trouble=entry.phase_trouble,
            has_phases=entry.has_phases,
            status=phase.status,
            next_action=next_action or (_ALL_DONE if entry.all_done else None),
            gate=gate,
            left_open=tuple(_left_open(entry)),
            reading=tuple(state.required_reading),
            reminders=tuple(state.key_reminders),
            context=tuple(state.context.items()),
            state_path=place.store.relative(entry.file.path) if entry.file else None,
            comes_next=_after(entry) if entry.has_phases and not entry.phase_trouble else "",
            kept_with=() if phase.status == "blocked" else _KEPT_WITH,
            ended_with="holdfast complete",
        )

    def looked(self, found: View) -> list[tuple[str, str]]:
        relative = found.place.store.relative
        looked = [(source.path, source.reason) for source in found.looked]
        kept = [known for known in found.entries if known.file]
        looked += [(relative(known.path), f"state of {known.name!r}") for known in kept]
        looked += [
            (relative(file.path), f"an older state of {file.state.workflow!r}")
            for file in found.superseded
        ]
        return looked + [(relative(file.path), file.reason) for file in found.unusable]

    # What the person has to be told.

    def unreadable(self, found: View) -> list[str]:
        troubled = [f"{source.path}: {source.trouble}" for source in found.looked if source.trouble]
        return [*troubled, *found.repairs]

    def candidates(self, found: View) -> list[CandidatePlan]:
        return found.candidates

    def notes(self, found: View) -> list[str]:
        """What a newer Holdfast keeps here; it stays true however often it is told."""
        kept = [file for known in found.entries for file in (known.file, known.absorbed) if file]
        lines = [file.newer for file in (*kept, *found.superseded)]
        latest = sorted(kept, key=lambda file: file.mtime)[-_TOLD_OF_COPIES:]
        lines += [found.place.store.newer_copies_warning(file.path) for file in latest]
        return [line for line in lines if line]

    # Saving.

    def is_due(self, found: View) -> bool:
        return bool(
            any(known.due for known in found.entries)
            or any(file.kind == "broken" for file in found.unusable)
            or (found.deleted and not found.ledger.newer)
            or super().is_due(found)
        )

    def save(self, found: View, survey: Survey) -> None:
        """Save all that is due. One workflow that cannot be written does not keep the others from it."""
        store, stamp_now = found.place.store, found.place.stamp
        for file in found.unusable:
            if file.kind == "broken":
                _try(survey, partial(store.set_aside, file.path, stamp_now, move=True))
        hidden = next((file for file in found.unusable if file.out_of_reach), None)
        told = found.repairs  # before they are done
        for known in [known for known in found.entries if known.due]:
            if known.file is None and hidden:
                # It may be the very state that seems not to be there.
                survey.failure = StateOutOfReach(hidden.path, hidden.reason)
            elif _try(survey, partial(self._write_due, found, known)):
                survey.saved.append(known.name)
        self._note(found, told)
        super().save(found, survey)
        if survey.saved and (found.superseded or found.revived):  # others may stand differently
            found.entries = views.look(found.place).entries

    def _write_due(self, found: View, known: Merged) -> None:
        """Save *known*; where an agent writes its file at this moment, what has then become of it."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                self.write(found, known, known.state)
            except StateChanged:
                if not left:
                    raise
            else:
                return
            found.entries = views.look(found.place).entries
            now = found.find(known.key)
            if now is None or not now.due or (known.file and not now.file):
                return  # an agent has written what there is to save, or has deleted the file
            known = now

    def to_copy(self, found: View) -> list[LoadedFile[Any]]:
        files_kept = (known.file for known in found.entries if not known.due)
        return [file for file in files_kept if file and not file.newer]

    def has_gone(self, found: View) -> Callable[[str], bool]:
        return lambda _: False  # that a state was deleted is known by its copy

    def previous(
        self, store: Store, file: LoadedFile[Any], state: State | None = None
    ) -> bytes | None:
        """What undo goes back to: the state before the content, and not just our notes, changed."""
        copies, state = store.copies(file.path), state or file.state
        if _content(file.raw) != state.content():
            return file.raw
        if copies and _content(copies.good.encode()) != state.as_read():
            return copies.good.encode()  # edited by hand since our last write
        return copies.previous.encode() if copies and copies.previous is not None else None

    def _note(self, found: View, told: list[str]) -> None:
        """Keep in the ledger what ended, what came back, and what somebody has to be *told*."""
        entries, place = found.ledger, found.place
        if entries.newer or not (found.deleted or found.revived or told):
            return
        entries.notices += told
        for key in found.revived:
            entries.finished.pop(key, None)
        for path, known in found.deleted.items():
            entries.finished[known.key] = bury(place, known, "deleted")
            place.store.forget(place.root / path)
        ledger.save(place.store, entries)

    def write(self, found: View, known: Merged, state: State) -> Merged:
        """Put *state* where *known* is kept, inside the lock; what has become of it."""
        place, store, file = found.place, found.place.store, known.file
        refuse_newer(file, known.absorbed)
        if file is None:
            files.hide_from_git(store)
            path = files.path_for_new(store, state.workflow, known.key, place.now)
        else:
            path = file.path
            if file.broken:
                store.set_aside(path, place.stamp, move=True)
        kept = state.holdfast
        if kept and not (file and file.raw == state.encode()):  # `saved_by` alone causes no write
            by = {"saved_at": clock.iso(place.now), "saved_by": place.saver or None}
            state = state.model_copy(update={"holdfast": kept.model_copy(update=by)})
        encoded = state.encode()
        previous = self.previous(store, file, state) if file else None
        there = file.raw if file and not file.broken else None
        store.write(path, encoded, expected=there)
        store.keep(path, state.encode_as_read(), previous)
        if known.absorbed:
            retire(place, known.absorbed)
        written = StateFile(path, encoded, place.now.timestamp(), state)
        return found.replace(known._replace(state=state, file=written, absorbed=None))

    # Changing.

    def changeable(self, place: Place, key: str) -> Merged:
        return find_changeable(self.look(place), key)

    def put(self, place: Place, path: Path, state: State, before: Merged | None = None) -> Merged:
        """Merge *state*, which was changed just now, with the declarations and write it."""
        known = before or Merged(matching.by_name(state.workflow), state)
        now = StateFile(path, b"", place.now.timestamp(), state)
        state = merge(place, now, known.group, known.key)
        written = self.write(self.look(place), known, state)
        return self._written_back(place, written)

    def _written_back(self, place: Place, known: Merged) -> Merged:
        """*known* once CLAUDE.local.md says the same, so that what it says now is no change."""
        from holdfast.formats.canonical import writeback  # noqa: PLC0415  # no hook changes anything

        if writeback.local(place, known):
            found = self.look(place)
            now = found.find(known.key)
            if now and now.due:
                return self.write(found, now, now.state)
        return known

    def touch_move(self, state: State, at: str, /) -> State:
        if state.holdfast is None:
            return state
        return state.model_copy(
            update={"holdfast": state.holdfast.model_copy(update={"changed_at": at})}
        )

    def complete(
        self, place: Place, workflow: Workflow, how: str = "completed", *, force: bool = False
    ) -> tuple[str, ...]:
        from holdfast.formats.canonical import lifecycle  # noqa: PLC0415  # no hook ends anything

        tombstone, left = lifecycle.complete(place, workflow.key, how, force=force)
        line = f"Workflow {how}: {workflow.name}. Its last state is in {tombstone.archive}"
        lines, was = (
            [line, *(f"It was left with {line}" for line in all_in_words(left))],
            workflow.briefing,
        )
        if workflow.standing != "finished":
            status = was.status.replace("_", " ")
            where = f"in {was.where_by_name}, {status}" if was.has_phases else status
            lines.append(f"It was {where}; `holdfast undo` brings it back.")
        if workflow.declared:
            lines.append(
                "The markdown that declares it stays as it is; it counts again when it is changed."
            )
        return tuple(lines)

    # Inspecting.

    def newer(self, path: Path, data: dict[str, Any]) -> str:
        return ownjson.newer_version_warning(path.name, data.get("holdfast"))

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        """Problems by the document's rules; restoring is more lenient."""
        if not has_shape(data) and not self.lies_there(path):
            return None
        checked = {key: value for key, value in data.items() if key != "holdfast"}
        problems = [*strictly(State, checked, EXPECTED)]
        reading = data.get("required_reading")
        problems += [
            f"required_reading.{at}: expected {EXPECTED['required_reading.*']}, found {quoted(item)}"
            for at, item in enumerate(reading if isinstance(reading, list) else ())
            if isinstance(item, str) and not item.startswith("@")
        ]
        return [*problems, *beyond_the_last(data)]


# No hook reads a thousand copies for that; whoever works on another one is told of it then.
_TOLD_OF_COPIES = 20
_ALL_DONE = "all done: `holdfast complete`"
_NAMED = 5  # open boxes of one phase
_NAMED_PHASES = 3
_KEPT_WITH = ("holdfast phase next", "holdfast remind", "holdfast context")
_ATTEMPTS = 5  # to save a state that somebody writes at the same moment


def _cautions(entry: Merged) -> Iterator[str]:
    """What whoever goes on with *entry* has to know."""
    if entry.file and not entry.file.broken:
        for problem in entry.file.problems:
            yield f"{problem}. The rest of the state counts; correct that in the file."
    phase = entry.state.phase
    for source in entry.declarations:
        said = source.phase if source.source == "plan" else None
        if said and said.current and (said.current, said.total) != (phase.current, phase.total):
            yield f"its plan says {said.current} of {said.total or '?'} ({source.path})"
    local = entry.group.local if entry.group else None
    if local and local.phase and local.phase.current not in {None, phase.current}:
        yield f"{local.path} says phase {local.phase.current}; the saved state counts"


def _try(survey: Survey, step: Callable[[], object]) -> bool:
    try:
        step()
    except HoldfastError as error:
        survey.failure = error
        return False
    return True


def _content(raw: bytes) -> object:
    try:
        return read(raw).content()
    except ValueError:
        return None


def refuse_newer(*files_of_one: StateFile | None) -> None:
    """NewerRecord when one of the files may not be changed."""
    for file in files_of_one:
        if file and file.newer:
            raise NewerRecord(file.newer)


def retire(place: Place, file: StateFile) -> None:
    """Take a state file away, for good but for the archive."""
    store = place.store
    refuse_newer(file)
    store.archive(file.path.name, place.stamp, file.state.encode())
    store.remove(file.path)
    store.forget(file.path)


def all_in_words(left: Sequence[LeftPhase]) -> list[str]:
    """The open boxes of the phases *left* behind: the first few phases, then how many more there are."""
    more = len(left) - _NAMED_PHASES
    others = [f"open boxes in {counted(more, 'more phase')}"] if more > 0 else []
    return [*map(in_words, left[:_NAMED_PHASES]), *others]


def in_words(phase: LeftPhase) -> str:
    """The open boxes of *phase*, and its gate."""
    named = "; ".join(one_line(item, 100) for item in phase.open_items[:_NAMED])
    more = len(phase.open_items) - _NAMED
    gate = f"; its gate: {one_line(phase.gate, 200)}" if phase.gate else ""
    return (
        f"open boxes in phase {phase.number}: {named}{f'; {more} more' if more > 0 else ''}{gate}"
    )


def _left_open(entry: Merged) -> Iterator[str]:
    """Boxes that were open when their phase was left, and still are."""
    kept, now = entry.state.holdfast, {phase.number: phase.open_items for phase in entry.planned}
    for phase in kept.left or () if kept else ():
        still = [
            item for item in phase.open_items if item in now.get(phase.number, phase.open_items)
        ]
        if still and phase.number < entry.state.phase.current:
            yield in_words(phase.model_copy(update={"open_items": still}))


def _after(entry: Merged) -> str:
    """What comes next where that is not to go on in the phase."""
    phase, kept = entry.state.phase, entry.state.holdfast
    if phase.status == "not_started":
        return f"Phase {phase.current} of {phase.total} is not started yet: begin it."
    if entry.all_done and phase.status == "in_progress":
        return "Every box of the plan is ticked. Review the whole, then `holdfast complete`."
    name = names_of(kept.phases).get(phase.current + 1) if kept else None
    following = f"phase {phase.current + 1}{f', {name}' if name else ''}"
    done = f"Phase {phase.current} of {phase.total} is completed"
    begun = f"{done}: begin {following}, with `holdfast phase next`."
    return begun if phase.status == "completed" else ""


def bury(place: Place, known: Merged, how: str) -> ledger.Tombstone:
    """Archive the last state of *known*, and what keeps it from coming back by itself."""
    name = known.path.name or f"{files.slug(known.name)}.json"
    archive = place.store.archive(name, place.stamp, known.state.encode())
    return ledger.Tombstone(
        name=known.name,
        at=clock.iso(place.now),
        how=how,
        archive=place.store.relative(archive),
        checkout=place.checkout or "",
        **matching.said_at_the_end(known.declarations),
    )


def find_changeable(found: View, key: str) -> Merged:
    """One that is being worked on, or whose file is at least still there."""
    known = found.find(key)
    if known is None:
        raise NoSuchWorkflow("the workflow no longer exists", hint="See holdfast list.")
    if known.standing == "ignored" or (known.standing == "finished" and known.file is None):
        raise IllegalMove(
            f"{known.name!r} is {known.standing}: {known.remark}",
            hint=f"To resume it: holdfast resume {known.name!r}",
        )
    refuse_newer(known.file)
    return known


FORMAT = Canonical()

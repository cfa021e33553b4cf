"""The canonical format: what a survey saves, and what is kept beside it.

CLAUDE.local.md, the plans and the state files are merged, and the state files follow. Whatever is
written is written inside the lock, on what was looked at in there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from holdfast import clock
from holdfast.errors import (
    HoldfastError,
    IllegalMove,
    NewerRecord,
    NoSuchWorkflow,
    StateChanged,
    StateOutOfReach,
    StateUnwritable,
)
from holdfast.files import ownjson
from holdfast.files.regular import decode_json
from holdfast.files.store import Store
from holdfast.files.together import Change
from holdfast.formats.canonical import files, matching
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.files import Edit, StateFile
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.model import TIME, State, has_shape, names_of
from holdfast.formats.canonical.sources import PlanPhase
from holdfast.formats.canonical.sources.statuses import behind_status
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.canonical.view import Merged, View
from holdfast.formats.engine.document import Document, encoded, quoted
from holdfast.formats.engine.format import StateFormat
from holdfast.formats.engine.loading import LoadedFile
from holdfast.formats.engine.workflow import (
    Briefing,
    CandidatePlan,
    Place,
    Standing,
    Survey,
    Workflow,
    as_text,
    unless_numbered,
)
from holdfast.records import ledger
from holdfast.text.plaintext import counted, one_line


class Canonical(StateFormat[Merged, Merged, View]):
    """See docs/formats/canonical.md."""

    name = "canonical"
    counts_by_path = True
    weighs_branch = False  # it is weighed when one is chosen
    folders = (files.FOLDER,)
    kind = files.KIND
    found_type = View
    required: ClassVar = {
        "workflow": "a name, as text",
        "workflow_type": "one of planning, qa-loop, implementation, custom",
        "phase": "an object with current, total, name and status",
        "phase.current": "a whole number from 1",
        "phase.total": "a whole number from 1",
        "phase.name": "a name, as text",
        "phase.status": "one of not_started, in_progress, completed, blocked",
        "required_reading": "a list of paths, each with @ in front",
        "created_at": TIME,
    }

    # Looking.

    def paths(self, store: Store) -> list[Path]:
        return files.paths(store)

    def present(self, place: Place) -> bool:
        if files.paths(place.store):
            return True
        return any(source.declaration for source in views.sources(place, ledger.load(place.store)))

    def look(self, place: Place) -> View:
        return views.look(place)

    def files(self, entry: Merged) -> Sequence[StateFile]:
        # What is wrong for us may be right for the newer Holdfast that wrote it.
        return [entry.file] if entry.file and not entry.file.newer else []

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
            boxes="{} of {} done".format(*entry.boxes) if entry.boxes[1] else "",
            status=phase.status,
            next_action=next_action or _onward(entry),
            gate=gate,
            left_open=tuple(all_in_words(left_open(entry, 1, phase.current))),
            reading=tuple(map(normal_reading, state.required_reading)),
            reminders=tuple(state.key_reminders),
            context=tuple(state.context.items()),
            state_path=place.store.relative(entry.file.path) if entry.file else None,
            comes_next="" if entry.phase_trouble else _after(entry),
            kept_with=() if phase.status == "blocked" else tuple(_kept_with(entry)),
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
                found.replace(self._write(found.place, known))
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
        kept = (file for known in found.entries if not known.due for file in self.files(known))
        return [file for file in kept if not file.odd]

    def has_gone(self, found: View) -> Callable[[str], bool]:
        return lambda _: False  # that a state was deleted is known by its copy

    def previous(
        self, store: Store, file: LoadedFile[Any], after: Document | None = None
    ) -> bytes | None:
        """What undo goes back to: the state before the content, and not just our notes, changed."""
        copies, state = store.copies(file.path), cast(State, after or file.state)
        if _content(decode_json(file.raw)) != _content(state.to_json()):
            return file.raw
        good = self.kind.good_copy(copies)
        if copies and good and good.content() != state.content():
            return copies.good  # edited by hand since our last write
        return copies.previous if copies else None

    def copy_of(self, file: LoadedFile[Any]) -> bytes:
        """As it was read: what is missing or odd later is taken from there."""
        said = file.state.as_read()
        return file.raw if said == file.state.source else encoded(said)

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

    def _write(self, place: Place, known: Merged, *others: Change) -> Merged:
        """Have the file of *known* say its state, and make *others* with it; what has become of it."""
        store, state, file = place.store, known.state, known.file
        refuse_newer(file, known.absorbed)
        if file is None:
            files.hide_from_git(store)
            path = files.path_for_new(store, state.workflow, known.key, place.now)
        else:
            path = file.path
        if not (file and file.raw == state.encode()):  # `saved_by` alone causes no write
            saved_at = clock.iso(place.now)
            state = state.with_bookkeeping(saved_at=saved_at, saved_by=place.saver or None)
        written = self.write(place, path, state, file, *others)
        if known.absorbed:
            retire(place, known.absorbed)
        return known._replace(state=written.state, file=written, absorbed=None)

    # Changing.

    def owns(self, path: str) -> bool:
        return path.endswith(".md") or (
            path.startswith(f"{files.FOLDER}/") and self.lies_there(Path(path))
        )

    def subject(self, entry: Merged) -> Merged:
        return entry

    def changeable(self, place: Place, key: str) -> Merged:
        """One that is being worked on, or whose file is at least still there."""
        known = self.look(place).find(key)
        if known is None:
            raise NoSuchWorkflow("the workflow no longer exists", hint="See holdfast list.")
        if known.standing == "ignored" or (known.standing == "finished" and known.file is None):
            raise IllegalMove(
                f"{known.name!r} is {known.standing}: {known.remark}",
                hint=f"To resume it: holdfast resume {known.name!r}",
            )
        refuse_newer(known.file)
        return known

    def put(self, place: Place, path: Path, state: Merged, before: Merged | None = None) -> Merged:
        """Merge what was changed just now with the declarations and write it, also to CLAUDE.local.md."""
        from holdfast.formats.canonical import writeback  # noqa: PLC0415  # no hook changes anything

        edit, known = state.ticked, _merged(place, state)
        if edit:
            known = _with_ticks(place, writeback.with_edited_plan(place, known, edit), edit, before)
        try:
            known = self._write(place, known, *([edit.change(place.store)] if edit else []))
        except StateUnwritable as error:
            raise IllegalMove(error.cause, hint="Nothing was changed.") from error
        if not state.noted:
            writeback.local(place, known)
        found = self.look(place)
        known = found.find(state.key) or known
        if known.due:  # what we wrote to CLAUDE.local.md is noted as no change
            known = found.replace(self._write(place, known))
        return known._replace(ticked=edit)

    def touch_move(self, known: Merged, at: str, /) -> Merged:
        return known._replace(state=known.state.with_bookkeeping(changed_at=at))

    def complete(
        self, place: Place, workflow: Workflow, how: str = "completed", *, force: bool = False
    ) -> tuple[str, ...]:
        from holdfast.formats.canonical import lifecycle  # noqa: PLC0415  # no hook ends anything

        return lifecycle.complete(place, workflow, how, force=force)

    # Inspecting.

    def newer(self, path: Path, data: dict[str, Any]) -> str:
        return ownjson.newer_version_warning(path.name, data.get("holdfast"))

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        is_state = has_shape(data) or self.lies_there(path)
        return self.wrong_in(path, data) if is_state else None

    def beyond_types(self, state: State) -> Iterator[str]:
        for at, item in enumerate(state.required_reading):
            if not item.startswith("@"):
                yield f"required_reading.{at}: expected a path with @ in front, found {quoted(item)}"
        current, total = state.phase.current, state.phase.total
        if current > total:
            yield f"phase.current: expected at most phase.total ({total}), found {current}"


# No hook reads a thousand copies for that; whoever works on another one is told of it then.
_TOLD_OF_COPIES = 20
_NAMED = 5  # open boxes of one phase
_NAMED_PHASES = 3
_ATTEMPTS = 5  # to save a state that somebody writes at the same moment


def _cautions(entry: Merged) -> Iterator[str]:
    """What whoever goes on with *entry* has to know."""
    phase = entry.state.phase
    for source in entry.declarations:
        said = source.phase if source.source == "plan" else None
        if said and said.current and (said.current, said.total) != (phase.current, phase.total):
            yield f"its plan says {said.current} of {said.total or '?'} ({source.path})"
    local = entry.group.local if entry.group else None
    if local and local.phase and local.phase.current not in {None, phase.current}:
        yield f"{local.path} says phase {local.phase.current}; the saved state counts"
    if "blocked_by" not in entry.state.context and (reason := blocked_by(entry)):
        yield f"blocked: {reason}"


def blocked_by(entry: Merged) -> str:
    """Why its phase is blocked, as a command or CLAUDE.local.md gives it; empty if it is not blocked."""
    if entry.state.phase.status != "blocked":
        return ""
    local = entry.group.local if entry.group else None
    declared = behind_status(local.status_written[0]) if local and local.status == "blocked" else ""
    return as_text(entry.state.context.get("blocked_by", declared.strip("()（） ")))


def _try(survey: Survey, step: Callable[[], object]) -> bool:
    try:
        step()
    except HoldfastError as error:
        survey.failure = error
        return False
    return True


def _content(data: Any) -> dict[str, Any]:
    """All that *data* says but for what is only ours."""
    said = {name: value for name, value in data.items() if name != "holdfast"}
    return {"context": {}, "key_reminders": [], **said}


def _merged(place: Place, known: Merged) -> Merged:
    now = StateFile(known.path, b"", place.now.timestamp(), known.state)
    return known._replace(state=merge(place, now, known.group, known.key))


def _with_ticks(place: Place, known: Merged, edit: Edit, before: Merged | None) -> Merged:
    """*known* once its plan has changed by *edit*, which is no step of its own and can be undone."""
    there, now = known.state.phase, _merged(place, known).state
    stays = {"current": there.current, "name": there.name, "status": there.status}
    phase = now.phase.model_copy(update={**stays, "total": max(now.phase.total, there.current)})
    known = _merged(place, known._replace(state=now.model_copy(update={"phase": phase})))
    is_alone = before is not None and before.state.content() == known.state.content()
    ticked = edit.as_record(place.root, alone=is_alone)
    said = known.state.with_bookkeeping(ticked=ticked, changed_at=clock.iso(place.now))
    return known._replace(state=said)


def refuse_newer(*files_of_one: StateFile | None) -> None:
    """NewerRecord when one of the files may not be changed."""
    for file in files_of_one:
        if file and file.newer:
            raise NewerRecord(file.newer)


def retire(place: Place, file: StateFile) -> None:
    store = place.store
    refuse_newer(file)
    store.archive(file.path.name, place.stamp, file.state.encode())
    store.remove(file.path, above=1)
    store.forget(file.path)


def all_in_words(left: Sequence[PlanPhase]) -> list[str]:
    """The open boxes of the phases *left* behind: the first few phases, then how many more there are."""
    more = len(left) - _NAMED_PHASES
    others = [f"open boxes in {counted(more, 'more phase')}"] if more > 0 else []
    return [*map(in_words, left[:_NAMED_PHASES]), *others]


def in_words(phase: PlanPhase) -> str:
    named = "; ".join(one_line(item, 100) for item in phase.open_items[:_NAMED])
    more = len(phase.open_items) - _NAMED
    gate = f"; its gate: {one_line(phase.gate, 200)}" if phase.gate else ""
    return (
        f"open boxes in phase {phase.number}: {named}{f'; {more} more' if more > 0 else ''}{gate}"
    )


def left_open(entry: Merged, first: int, end: int) -> list[PlanPhase]:
    """The phases from *first* up to before *end* that have open boxes, by the plan."""
    here, kept = entry.state.phase.current, entry.state.holdfast
    gate = kept.gate if kept else None
    return [
        phase._replace(gate=phase.gate or (gate if phase.number == here else None))
        for phase in entry.planned
        if first <= phase.number < end and phase.open_items and not phase.done
    ]


def _kept_with(entry: Merged) -> Iterator[str]:
    """The commands that keep *entry* current."""
    if entry.has_phases:
        yield "holdfast phase next"
    elif entry.open_boxes:
        yield "holdfast done"
    yield from ("holdfast remind", "holdfast context")


def _onward(entry: Merged) -> str | None:
    """The next action where the phase, or all of the plan, has nothing left to do."""
    if entry.all_done:
        return "all done: `holdfast complete`"
    here, following = entry.state.phase.current, _following(entry, ": ")
    is_done = any(phase.number == here and phase.done for phase in entry.planned)
    return (
        f"`holdfast next`, to {following}" if is_done and here < entry.state.phase.total else None
    )


def _following(entry: Merged, before: str) -> str:
    """The next phase: its number, and its name with *before* in front."""
    number, kept = entry.state.phase.current + 1, entry.state.holdfast
    name = names_of(kept.phases).get(number) if kept else None
    return f"phase {number}{before + name if name else ''}"


def _after(entry: Merged) -> str:
    """What comes next where that is not to go on in the phase."""
    phase = entry.state.phase
    if entry.all_done and phase.status == "in_progress":
        return "Every box of the plan is ticked. Review the whole, then `holdfast complete`."
    if not entry.has_phases:
        return ""
    if phase.status == "not_started":
        return f"Phase {phase.current} of {phase.total} is not started yet: begin it."
    done = f"Phase {phase.current} of {phase.total} is completed"
    begun = f"{done}: begin {_following(entry, ', ')}, with `holdfast phase next`."
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


FORMAT = Canonical()

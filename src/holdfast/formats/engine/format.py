"""The engine of every format: looking, surveying, changing, copies, standing, inspection, rows.

A format derives from StateFormat. It says where its files lie (`folders`) and what they are read as
(`kind`), what makes a workflow a finished one (`ended`), what to tell of it (`briefing`, `describe`), and
how one is ended (`complete`). All else is done here, and a format overrides what is truly its own.

Rule 1: Nothing is written on what was read outside the lock. A survey looks, and if something is due it
        takes the lock, looks again and saves. A change looks inside the lock.
Rule 2: A file that others write is never touched by a survey: hooks keep copies, in our own folder.
Rule 3: A change is made on the workflow as it is now, and what is written can be read again. A file that
        is broken is set aside first. One with a wrong field is not changed: somebody has to correct it.
Rule 4: What was interrupted is brought to its end before anything else is done, and somebody is told.
"""

from __future__ import annotations

import contextlib
import shlex
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    cast,
)

from holdfast import clock
from holdfast.errors import (
    HoldfastError,
    IllegalMove,
    NoSuchWorkflow,
    StateOutOfReach,
    StateUnreadable,
)
from holdfast.files import together
from holdfast.files.regular import decode_json
from holdfast.files.store import COMMAND_WAIT, LARGEST, Store
from holdfast.files.together import Change
from holdfast.formats import signs
from holdfast.formats.engine import loading
from holdfast.formats.engine.document import (
    EXACT,
    Document,
    iso_time,
    lacks,
    objections,
    odd_values,
    strictly,
)
from holdfast.formats.engine.loading import (
    E,
    F,
    LoadedFile,
    Looking,
    Unusable,
    error_of,
    standing_by_age,
)
from holdfast.formats.engine.workflow import (
    Briefing,
    CandidatePlan,
    Place,
    Report,
    Standing,
    Survey,
    Workflow,
)
from holdfast.records import ledger

_MOST_FINDINGS = 3  # reported per file; `inspect` lists them all

S = TypeVar("S")  # what moves work on
P = ParamSpec("P")


class Changed(NamedTuple, Generic[E]):
    """A workflow after a change."""

    entry: E
    lines: tuple[str, ...] = ()  # what else was done: finished, reconciled, recovered
    before: E | None = None  # None if it was just started


class StateFormat(Looking[E, F], Generic[S, E, F]):
    """One format; see the module's docstring. Each format defines the first members."""

    group: str = ""  # its group of commands
    personal: bool = True  # whether the states are one person's, so that git should ignore them
    notes_compactions: bool = False  # whether `resumed` writes anything
    copied: str = ""  # the folder or file below the root that copies are kept of; else folders[0]
    weighs_branch: bool = True  # whether it is told that a workflow is for another branch
    counts_by_path: bool = False  # whether any JSON in the states' folder counts as a state
    restored_with: str = ""  # the command that puts a {kept} state back to its {path}
    # Fields that a strict reader asks for, and what is expected there.
    required: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def ended(self, entry: E) -> str:
        """Why *entry* is finished, in one line; empty if it is not."""

    @abstractmethod
    def briefing(self, place: Place, entry: E, standing: Standing) -> Briefing:
        """Where *entry* stands and what comes next."""

    @abstractmethod
    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        """End *workflow* as its document asks; returns the lines to print."""

    # Optional members.

    def describe(self, place: Place, entry: E, standing: Standing) -> dict[str, Any]:
        """Fields of the Workflow that are this format's own."""
        return {}

    def candidates(self, found: F) -> list[CandidatePlan]:
        """Plans that nobody follows, the one edited last first."""
        return []

    def notes(self, found: F) -> list[str]:
        """Further warnings for the person, one line each."""
        return []

    def history(self, place: Place, entry: E) -> list[dict[str, Any]] | None:
        """What happened to *entry*, oldest first, each with "at" and "event"; None if nothing keeps it."""
        return None

    def touch_move(self, state: S, _at: str, /) -> S:
        """The move made when a workflow is resumed; rewriting it may be enough."""
        return state

    def subject(self, entry: E) -> S:
        """What moves work on."""
        state: S = entry.state
        return state

    def follow(
        self, place: Place, before: E, after: E, move: Callable[..., S], given: Mapping[str, Any]
    ) -> None:
        """Follow-up to *move* inside the lock, such as the index; *given* are its arguments by name."""

    def resumed(self, place: Place, workflow: Workflow, compacted: datetime, wait: float) -> None:
        """A session goes on after a compaction at *compacted*; write it down if the document asks."""

    def owns(self, path: str) -> bool:
        """Whether a change of several files, which was interrupted, may write *path* below the root."""
        return False

    def deciding(self, state: Any) -> Collection[str]:
        """The fields that say what comes next: where one is odd or absent, nobody can tell that."""
        return ()

    def beyond_types(self, state: Any) -> Iterable[str]:
        """What a strict reader objects to in a state whose fields are all of the right type."""
        return ()

    def overtaken(self, later: Any, state: Any) -> str:
        """What is to be told where *state*, or None, is there instead of the *later* one, our copy; often nothing."""
        return ""

    # Surveying.

    def survey(self, place: Place) -> Survey:
        """Find all workflows, and whether a save is due. Read-only."""
        found = self.look(place)
        return self._fill(found, Survey(due=self.is_interrupted(place) or self.is_due(found)))

    def save_due(self, place: Place, survey: Survey, wait: float) -> None:
        """Save what is due by *survey*, which tells afterwards what came of it."""
        if survey.due:
            try:
                with place.store.lock(wait):
                    survey.notes = self.finish_interrupted(place)
                    if survey.notes:  # not every hook can reach the person
                        ledger.tell_later(place.store, survey.notes)
                    found = self.look(place)
                    try:
                        self.save(found, survey)
                    finally:
                        self._fill(found, survey)
            except HoldfastError as error:
                survey.failure = error
        if self.kind.row:
            place.rows.save()

    def _fill(self, found: F, survey: Survey) -> Survey:
        survey.workflows, survey.looked = self.workflows(found), self.looked(found)
        survey.candidates = self.candidates(found)
        survey.notes += [*self.unreadable(found), *self.notes(found)]
        survey.once = {file: version for file, version in self._broken(found) if version}
        return survey

    def _broken(self, found: F) -> Iterator[tuple[str, str]]:
        """The files that were never read as a state, and which version of each nobody was told of."""
        store, told = found.place.store, ledger.load(found.place.store).told
        for file in found.unusable:
            status = store.inputs.stat(file.path) if file.kind == "broken" else None
            if status and not file.out_of_reach:
                path, version = store.relative(file.path), f"{status.st_mtime_ns} {status.st_size}"
                yield path, version if told.get(path) != version else ""

    def is_due(self, found: F) -> bool:
        """Whether `save` has something to do."""
        return any(self._copies_due(found))

    def save(self, found: F, survey: Survey) -> None:
        """Save what is due; inside the lock."""
        store = found.place.store
        changed, gone = self._copies_due(found)
        if self.restored_with:
            now = {file.path: file.state for file in changed} | dict.fromkeys(gone)
            reset = [self._reset(found.place, path, state) for path, state in now.items()]
            ledger.tell_later(store, [*filter(None, reset)])
        for path in gone:
            store.forget(path)
        for file in changed:
            store.keep(file.path, self.copy_of(file), self.previous(store, file))

    def _reset(self, place: Place, path: Path, state: Document | None) -> str:
        """That an older state came to *path*, or that it is gone, as by `git reset --hard`, and the way back."""
        store, copies = place.store, place.store.copies(path)
        later = self.kind.good_copy(copies)
        what = self.overtaken(later, state) if later else ""
        if not what or not copies:
            return ""
        kept = store.relative(store.archive(path.name, place.stamp, copies.good))
        command = self.restored_with.format(
            kept=shlex.quote(kept), path=shlex.quote(store.relative(path))
        )
        return f"{store.relative(path)} {what}. To go on with what it was: {command}"

    def _copies_due(self, found: F) -> tuple[list[LoadedFile[Any]], list[Path]]:
        """The files that changed since they were copied, and the copies' files that are gone."""
        store, gone = found.place.store, self.has_gone(found)
        copied = found.copied = store.copied_at(self.copied or self.folders[0])
        there = {str(file.path): file for file in self.to_copy(found)}
        # A listing leaves out names that are too long for one, or spells them otherwise.
        newer = [file for path, file in there.items() if copied.get(path, -1.0) < file.mtime]
        newer = [file for file in newer if not store.copied_since(file.path, file.mtime)]
        newer = [file for file in newer if not store.newer_copies_warning(file.path)]
        left = sorted(path for path in copied if path not in there and gone(path))
        return [file for file in newer if not file.problems], [*map(Path, left)]

    def previous(
        self, store: Store, file: LoadedFile[Any], after: Document | None = None
    ) -> bytes | None:
        """What is kept behind a copy of *file*, or of *after* in its place: what there was before."""
        if after:
            return file.raw
        before = store.copies(file.path)
        return before.good if before else None

    def copy_of(self, file: LoadedFile[Any]) -> bytes:
        """What is kept as a copy of *file*."""
        return file.raw

    def to_copy(self, found: F) -> Iterable[LoadedFile[Any]]:
        """The files that there should be a copy of."""
        return [file for entry in found.entries for file in self.files(entry)]

    def has_gone(self, found: F) -> Callable[[str], bool]:
        """Tells whether the file of a copy is gone, so that its copy is forgotten."""
        return lambda path: not found.place.store.inputs.leads_somewhere(path)

    def workflows(self, found: F) -> list[Workflow]:
        """The survey for selection and restoring."""
        ignored = found.ignored
        return [self.workflow(found.place, entry, ignored) for entry in self.listed(found)]

    def listed(self, found: F) -> list[E]:
        """The workflows that are told of; of a format that keeps all, there may be thousands more."""
        return found.entries

    def workflow(self, place: Place, entry: E, ignored: Collection[str] | None = None) -> Workflow:
        """*entry* in the terms that all formats share; *ignored* has the keys of those to be left alone."""
        if ignored is None:
            ignored = ledger.load(place.store).ignored
        standing, remark = self.standing(place, entry, ignored)
        own = None if standing == "finished" else place.branch_now(entry.branch)
        mismatch = place.branch_mismatch(own) if self.weighs_branch else None
        fields = {
            "created_at": entry.created_at,
            "branch": own,
            "remark": remark,
            "saved_at": clock.from_mtime(entry.mtime),
            **self.describe(place, entry, standing),
        }
        odd = (line for file in self.files(entry) for line in file.odd)
        cautions = (*([mismatch] if mismatch else []), *fields.pop("cautions", ()), *odd)
        return Workflow(
            format=self.name,
            key=entry.key,
            name=entry.name,
            standing=standing,
            brief=partial(
                self.checked, place, entry, partial(self.briefing, place, entry, standing)
            ),
            changed_at=min(entry.changed_at, place.now),
            cautions=cautions,
            inspect=partial(self._findings, place, entry, cautions)
            if standing == "active"
            else tuple,
            **fields,
        )

    def checked(self, place: Place, entry: E, brief: Callable[[], Briefing]) -> Briefing:
        """The briefing with our own notes; it does not say what comes next where nobody can tell."""
        briefing, why = brief(), self.undecided(entry)
        if noted := ledger.reminders_of(place.store, entry.key, str(entry.created_at)):
            briefing = replace(briefing, reminders=(*briefing.reminders, *noted))
        if not why or not briefing.kept_with:  # it is over, or a person decides
            return briefing
        known = "Whoever knows what holds corrects that in the file; else the person is asked."
        return replace(
            briefing,
            next_action=f"Not known: {why}",
            gate=None,
            comes_next=f"What comes next cannot be told: {why}. {known}",
            kept_with=(),
        )

    def undecided(self, entry: E) -> str:
        """Why the next step is unknown; empty if the state gives it."""
        for where in self.deciding(entry.state):
            odd = (line for line in odd_values(entry.state) if line.startswith(f"{where}:"))
            absent = f"{where} is missing" if lacks(entry.state.source, where) else ""
            if line := next(odd, absent):
                return line
        return ""

    def _findings(self, place: Place, entry: E, told: Collection[str]) -> tuple[str, ...]:
        """What a strict reader objects to in the files of *entry* and is not *told*, in a few lines."""
        found = list[str]()
        for file in self.files(entry):
            if file.problems:  # which are told; what is used is its last good copy
                continue
            path = place.store.relative(file.path)
            odd = {line.partition(":")[0] for line in file.odd}
            wrong = dict.fromkeys(self.wrong_in(file.path, dict(file.state.source)))
            named = [line for line in wrong if line.partition(":")[0] not in odd]
            named = [line for line in named if not any(line in caution for caution in told)]
            found += [f"{path}: {line}" for line in named[:_MOST_FINDINGS]]
            if len(named) > _MOST_FINDINGS:
                found.append(f"{path}: {len(named) - _MOST_FINDINGS} more: holdfast inspect {path}")
        return tuple(found)

    def standing(
        self, place: Place, entry: E, ignored: Collection[str] = ()
    ) -> tuple[Standing, str]:
        """The standing of *entry*, and a line on why it is not active."""
        ended = self.ended(entry)
        if ended:
            return "finished", ended
        if entry.key in ignored:
            return "ignored", f"ignored. To resume it: holdfast resume {entry.name!r}"
        return standing_by_age(entry, place)

    def looked(self, found: F) -> list[tuple[str, str]]:
        """The paths examined, and what was found."""
        relative = found.place.store.relative
        states = [
            (relative(entry.path), f"state of {entry.name!r}") for entry in self.listed(found)
        ]
        return states + [(relative(file.path), file.reason) for file in found.unusable]

    def unreadable(self, found: F) -> list[str]:
        """Warnings about files that could not be read."""
        store = found.place.store
        known = {store.root / path for path, version in self._broken(found) if not version}
        unusable = [file for file in found.unusable if file.path not in known]
        files = [file for entry in self.listed(found) for file in self.files(entry)]
        return loading.unreadable(store, files, unusable)

    # Changing.

    def change(
        self,
        place: Place,
        key: str,
        move: Callable[Concatenate[S, str, P], S],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> Changed[E]:
        """Make *move* on the workflow *key* as it is now: change(place, key, complete_task, 3)."""
        with self.locked(place) as lines:
            entry = self.changeable(place, key)
            after = move(self.subject(entry), iso_time(place.now), *arguments, **named)
            changed = self.put(place, entry.path, after, entry)
            self.follow(place, entry, changed, move, named)
            unreadable = loading.unreadable(place.store, self.files(entry), ())
            return Changed(changed, (*lines, *unreadable), entry)

    def touch(self, place: Place, workflow: Workflow) -> None:
        """Mark *workflow* as in use again, so that it is no longer stale."""
        self.change(place, workflow.key, self.touch_move)

    @contextlib.contextmanager
    def locked(self, place: Place, wait: float = COMMAND_WAIT) -> Iterator[list[str]]:
        """The lock, and what was interrupted and is finished; a command that is refused cannot tell it."""
        with place.store.lock(wait):
            finished = self.finish_interrupted(place)
            try:
                yield finished
            except HoldfastError:
                ledger.tell_later(place.store, finished)
                raise

    def is_interrupted(self, place: Place) -> bool:
        """Whether a process was killed in the middle of a change."""
        return together.is_unfinished(place.store, self.name)

    def finish_interrupted(self, place: Place) -> list[str]:
        """Finish an interrupted change inside the lock; returns the lines to print."""
        return together.finish(place.store, self.name, self.owns, place.stamp)

    def find(self, place: Place, key: str) -> E | Unusable | None:
        """The workflow *key* as it is now; inside the lock."""
        found = self.look(place)
        if known := found.find(key):
            return self.read(place.store, known.path)
        lost = (file for file in found.unusable if file.is_ours and self.key_of(file.path) == key)
        return next(lost, None)

    def changeable(self, place: Place, key: str) -> E:
        """The workflow *key*, where it can be changed; inside the lock."""
        entry = self.find(place, key)
        if isinstance(entry, Unusable):
            raise error_of(entry)
        if entry is None:
            raise NoSuchWorkflow("the workflow no longer exists", hint="See holdfast list.")
        for file in self.files(entry):
            if file.problems and not file.broken:
                raise error_of(file)
        return entry

    def key_of(self, path: Path) -> str:
        """The key of the workflow at *path*."""
        return f"{self.name}:{path.stem}"

    def put(self, place: Place, path: Path, state: S, before: E | None = None) -> E:
        """Make *state* what holds of the workflow at *path*, in the place of *before*; inside the lock."""
        previous = before if isinstance(before, LoadedFile) else None
        entry: E = self.write(place, path, cast(Document, state), previous)
        return entry

    def write(
        self,
        place: Place,
        path: Path,
        state: Document,
        before: LoadedFile[Any] | None = None,
        *others: Change,
    ) -> Any:
        """The file at *path* with *state* in the place of *before*, and *others* with it; and a copy of it."""
        written, there = self.written(place, path, state), None
        if before and before.broken:
            self.set_aside(place, path)
        elif before:
            there = before.raw  # somebody may write without our lock
        previous = self.previous(place.store, before, written.state) if before else None
        if others:
            together.write(place.store, self.name, [*others, Change(path, written.raw, there)])
        else:
            place.store.write(path, written.raw, expected=there)
        place.store.keep(path, self.copy_of(written), previous)
        return written

    def set_aside(self, place: Place, path: Path) -> Path:
        """Keep what lies at *path*, which is about to be written. It stays there until then, if it can."""
        try:
            return place.store.set_aside(path, place.stamp, move=False)
        except StateOutOfReach:
            raise
        except StateUnreadable:
            return place.store.set_aside(path, place.stamp, move=True)

    def written(self, place: Place, path: Path, state: Document) -> Any:
        """The file at *path* once *state* is written; IllegalMove where it could not be read again."""
        try:
            encoded = state.encode()
            again = self.kind.parse(encoded, lambda: state)
        except ValueError as error:
            raise IllegalMove(
                f"the state could not be read back: {error}",
                hint="Put nested or long data in files and give their paths.",
            ) from error
        if len(encoded) > LARGEST:
            raise IllegalMove(
                f"the state would be larger than {LARGEST // 2**20} MB",
                hint="Put long texts in files and give their paths.",
            )
        return self.kind.loaded(path, encoded, place.now.timestamp(), again)

    # Inspecting.

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """The problems in *raw*; None if it is not this format's."""
        real = path.resolve()
        try:
            data = decode_json(raw)
        except ValueError as error:
            return Report(self.name, (f"not JSON: {error}",)) if self.lies_there(real) else None
        if not isinstance(data, dict):
            meant = self.counts_by_path and self.lies_there(real)
            problem = f"expected an object, found {type(data).__name__}"
            return Report(self.name, (problem,)) if meant else None
        problems = self.problems(real, data)
        if problems is None:
            return None
        return Report(self.name, (*dict.fromkeys(problems),), self.newer(path, data))

    def lies_there(self, path: Path) -> bool:
        """Whether *path* is where a state of this format lies, whatever is in it."""
        return any(path.match(pattern) for pattern in signs.STATE_FILES.get(self.name, ()))

    def newer(self, path: Path, data: dict[str, Any]) -> str:
        """What to say where a newer Holdfast keeps *data*, and so knows better."""
        return ""

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        """Strict validation problems in *data*; None if it is not this format's."""
        if self.kind.has_shape(data):
            return self.wrong_in(path, data)
        lacking = self.kind.lacking(data) if self.lies_there(path) else ""
        expected = self.required.get(lacking, "this field")
        return [f"{lacking}: expected {expected}, found nothing"] if lacking else None

    def wrong_in(self, path: Path, data: dict[str, Any]) -> Iterable[str]:
        """What a strict reader objects to in *data*, which is a state; a hook asks this, too."""
        wrong = list(objections(self.kind.model, data, self.required))
        if not strictly(self.kind.model, data):
            wrong += self.beyond_types(self.kind.model.model_validate(data, context=EXACT))
        return wrong


AnyFormat: TypeAlias = StateFormat[Any, Any, Any]

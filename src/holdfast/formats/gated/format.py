"""The gated format in the terms that all formats share.

Hooks do not write these files: an orchestrator does, by our commands or by itself. A hook keeps copies
in our own folder, so that a damaged file can be brought back, and finishes what one of our commands was
killed in the middle of.

The six files of a feature are changed as one, so that they say the same afterwards. A change reads inside
the lock, reconciles, makes one move, validates what it is about to write, writes all files as one change
and reads them again. Others write these files too, without our lock: if one did meanwhile, it is refused.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.files import git, together
from holdfast.files.regular import read_file
from holdfast.files.store import LARGEST, Store
from holdfast.files.together import Change
from holdfast.formats.engine.document import encoded, iso_time, moment, objections
from holdfast.formats.engine.format import Changed, StateFormat
from holdfast.formats.engine.loading import Found, LoadedFile, Unusable
from holdfast.formats.engine.workflow import Briefing, Place, Standing, Workflow
from holdfast.formats.gated import briefing, files, moves
from holdfast.formats.gated.files import Feature
from holdfast.formats.gated.machine import Content, contradictions
from holdfast.formats.gated.model import PHASES, State, StatusFile, has_status_shape
from holdfast.formats.gated.reviews import Review
from holdfast.text.plaintext import one_line

Move: TypeAlias = Callable[[Content, str], Content]


class Gated(StateFormat[Content, Feature, Found[Feature]]):
    """See docs/formats/gated.md."""

    name = files.NAME
    folders = (files.FOLDER,)
    personal = False
    group = "gate"
    restored_with = "cp {kept} {path}, then holdfast gate reconcile"
    kind = files.STATE_KIND
    required: ClassVar = {
        "feature": "the slug of the feature",
        "current_phase": "a valid phase name",
        "status": "a valid status of a workflow",
        "phases": "an object with all 5 phases",
    }
    required_of_status: ClassVar = {
        "phase": "the name of its folder",
        "status": "a valid status of a phase",
        "iterations": "a number, 0-4",
        "max_iterations": "a number, typically 4",
    }

    # Looking. What is read as one entry is a folder.

    def paths(self, store: Store) -> Iterable[Path]:
        found = (path for folder in self.units(store) for path in files.state_paths(folder))
        return [path for path in found if store.exists(path)]

    def units(self, store: Store) -> Iterable[Path]:
        return files.folders(store)

    def entries(self, place: Place) -> Iterator[Feature | Unusable]:
        for entry in super().entries(place):
            yield entry
            for file in entry.statuses.values() if isinstance(entry, Feature) else ():
                # One that is missing is made by the next command; until then a caution tells it.
                if isinstance(file, Unusable) and not files.is_missing(file):
                    yield file

    def read(self, store: Store, path: Path) -> Feature | Unusable:
        feature = files.read(store, path)
        main = feature.main
        if isinstance(main, LoadedFile):
            return feature
        reviewed = any(files.reviews(store, path, phase) for phase in PHASES)
        begun = feature.loaded or (reviewed and files.is_described(store, path))
        return main if begun or not files.is_missing(main) else replace(main, kind="foreign")

    def files(self, entry: Feature) -> Sequence[LoadedFile[Any]]:
        return entry.loaded

    def to_copy(self, found: Found[Feature]) -> Iterable[LoadedFile[Any]]:
        store, kept = found.place.store, [*super().to_copy(found)]
        for folder in files.lost(found):  # recovery needs what is left of them, and nothing odd
            kept += files.read(store, folder).loaded
        return [file for file in kept if not file.odd]

    def has_gone(self, found: Found[Feature]) -> Callable[[str], bool]:
        # A single missing file is to come back; the copies go with the folder of the feature.
        store, root = found.place.store, found.place.root
        return lambda path: (
            not store.inputs.is_dir(root.joinpath(*Path(path).relative_to(root).parts[:2]))
        )

    def notes(self, found: Found[Feature]) -> list[str]:
        return [
            *(
                f"What can be rebuilt from the files of {folder.name!r}: holdfast gate recover"
                for folder in files.lost(found)
            ),
            *_on_other_branches(found.place),
        ]

    def overtaken(self, later: State, state: State | None) -> str:
        if state is None or later.created_at != state.created_at:
            return ""
        last, now = moment(later.updated_at), moment(state.updated_at)
        is_older = last is not None and now is not None and now < last
        return f"is older than it was: it had come to {later.current_phase}" if is_older else ""

    # Telling.

    def ended(self, entry: Feature) -> str:
        state = entry.state
        if not state.over:
            return ""
        ended = f"{state.status} on {str(state.updated_at or entry.changed_at.isoformat())[:10]}"
        if wrong := next(contradictions(state), ""):
            look = "See what the other files say: holdfast gate recover"
            return f"{ended}. {files.STATE} contradicts itself. {wrong}. {look}"
        if state.status == "completed":
            return f"{ended}; a person publishes its docs: holdfast gate finalize"
        return ended

    def describe(self, place: Place, entry: Feature, standing: Standing) -> dict[str, Any]:
        state, slug = entry.state, shlex.quote(entry.slug)
        fields = {
            "handle": entry.slug,
            "cautions": entry.troubles,
            "put_away": state.status in {"finalized", "abandoned", "cancelled"},
            "cleared_with": f"holdfast gate {'finalize' if state.over else 'cancel'} -w {slug}",
        }
        if standing == "ignored":  # titles may be alike
            fields["remark"] = f"ignored. To resume it: holdfast resume {entry.slug!r}"
        return fields

    def briefing(self, place: Place, entry: Feature, standing: Standing) -> Briefing:
        return briefing.make(entry, place.store)

    # Changing: six files and a review as one.

    def owns(self, path: str) -> bool:
        return files.OURS.fullmatch(path) is not None

    def start(self, place: Place, slug: str, *, title: str, description: str) -> Changed[Feature]:
        """Begin a feature: its description, the state and all five status.json."""
        folder = files.folder_for_new(place.store, slug)
        branch = place.branch if place.branch == files.branch_of(slug) else None
        content = moves.begin(slug, iso_time(place.now), title=title, branch=branch)
        with self.locked(place) as lines:
            refuse_taken(place.store, folder)
            described = Change(folder / files.DESCRIPTION, description.encode())
            feature = self.put(place, folder / files.STATE, content, None, described)
            return Changed(feature, (*lines,))

    def change(
        self, place: Place, key: str, move: Callable[..., Content], *arguments: Any, **named: Any
    ) -> Changed[Feature]:
        return self.reconcile(place, key, lambda said, at: move(said, at, *arguments, **named))

    def reconcile(self, place: Place, key: str, move: Move | None = None) -> Changed[Feature]:
        """Let each status.json of the feature say what its workflow-state.json says, and make *move*.

        Without one, a status.json that cannot be read is put aside.
        """
        store, folder = place.store, place.root / files.FOLDER / files.slug_of(key)
        with self.locked(place) as lines:
            before, at = files.read(store, folder), iso_time(place.now)
            content = files.reconciled(before, at)
            if move:
                for file in _unreadable(before):
                    raise HoldfastError(
                        f"status.json of {file.path.parent.name} cannot be used: {files.problem_of(file)}",
                        hint="Make it from workflow-state.json: holdfast gate reconcile. "
                        "Or from the reviews: holdfast gate recover",
                    )
                content = move(content, at)
                if place.branch == files.branch_of(folder.name):
                    content.state.branch = place.branch
            done, reviews = [*files.disagreements(before)], []
            if content.review:
                reviews.append(_review(store, folder, content.review, content.at))
                done.append(f"the review is {store.relative(reviews[0].path)}")
            for file in _unreadable(before):
                aside = store.relative(store.set_aside(file.path, place.stamp, move=True))
                done.append(f"what {store.relative(file.path)} said lies in {aside}")
            feature = self.put(place, before.path, content, before, *reviews)
            return Changed(feature, (*lines, *done), before)

    def put(
        self,
        place: Place,
        path: Path,
        state: Content,
        before: Feature | None = None,
        *others: Change,
    ) -> Feature:
        """Let all files of the feature whose workflow-state.json is at *path* say *state*.

        They and *others* change as one; then it is verified that they hold what was written.
        """
        store, folder = place.store, path.parent
        changes = [*others, *_changes(before or files.read(store, folder), state)]
        previous = {path: _bytes(path) for path, *_ in changes}
        for file in before.loaded if before else ():
            if previous.get(file.path, file.raw) not in {file.raw, None}:
                raise HoldfastError(
                    f"{store.relative(file.path)} was changed by somebody else meanwhile",
                    hint="Nothing was changed. Run the command again.",
                )
        together.write(store, files.NAME, changes)
        for path, data, *_ in changes:
            if data is not None and path in files.state_paths(folder):
                store.keep(path, data, previous[path])
        changed = next((path for path, data, *_ in changes if _bytes(path) != data), None)
        if changed:
            raise HoldfastError(
                f"{store.relative(changed)} was changed by somebody else while it was written",
                hint="See what holds now: holdfast gate validate. Then: holdfast gate reconcile",
            )
        return files.read(store, folder)

    def history(self, _: Place, entry: Feature) -> list[dict[str, Any]]:
        events = list[dict[str, Any]]()
        for phase in PHASES:
            status = entry.status(phase)
            for noted in status.history if status else ():
                if isinstance(noted, dict):
                    rest = {key: noted.get(key) for key in ("iteration", "result")}
                    when, event = noted.get("timestamp"), noted.get("action")
                    events.append({"at": when, "event": event, "phase": phase, **rest})
        return sorted(events, key=lambda event: str(event["at"]))

    touch_move = staticmethod(moves.touch)

    def complete(self, place: Place, workflow: Workflow) -> tuple[str, ...]:
        if workflow.briefing.status == "completed":
            finalize = f"holdfast gate finalize -w {shlex.quote(str(workflow.handle))}"
            return (f"The docs of {workflow.name!r} are still to be published: {finalize}",)
        changed = self.change(place, workflow.key, moves.complete)
        how = f"Workflow completed: {workflow.name}. Publish its docs: holdfast gate finalize"
        return how, *changed.lines

    # Inspecting, by the document's validation rules. Restoring is more tolerant.

    def problems(self, path: Path, data: dict[str, Any]) -> Iterable[str] | None:
        problems = super().problems(path, data)
        if problems is None and has_status_shape(data):
            return self.wrong_in(path, data)
        return problems

    def wrong_in(self, path: Path, data: dict[str, Any]) -> Iterable[str]:
        if self.kind.has_shape(data):
            return super().wrong_in(path, data)
        folder = path.parent.name if path.name == files.STATUS else ""
        wrong = list(objections(StatusFile, data, self.required_of_status))
        if not wrong and folder in PHASES and data["phase"] != folder:
            return [files.misplaced(folder, data["phase"])]
        return wrong

    def deciding(self, _: State) -> Collection[str]:
        return "current_phase", "status"

    def undecided(self, entry: Feature) -> str:
        return super().undecided(entry) or next(contradictions(entry.state), "")

    def beyond_types(self, state: State) -> Iterator[str]:
        yield from contradictions(state)

    def problems_of(self, store: Store, folder: Path) -> list[str]:
        """What is wrong with all six files of a feature, and whether they agree."""
        feature, wrong = files.read(store, folder), list[str]()
        for name, file in feature.files.items():
            problems = (file.reason,) if isinstance(file, Unusable) else file.problems
            if isinstance(file, LoadedFile) and not problems:
                report = self.inspect(file.path, file.raw)
                problems = report.problems if report else ()
            wrong += [f"{name}: {line}" for line in problems]
        if files.usable(feature.main):
            sound = (phase for phase in PHASES if files.usable(feature.statuses[phase]))
            wrong += filter(None, (files.disagreement(feature, phase) for phase in sound))
        return wrong


def _on_other_branches(place: Place) -> Iterator[str]:
    """That a feature on which this session worked is not here, since another branch is checked out."""
    for slug in sorted(files.slug_of(key) for key in place.own if key.startswith(files.key_of(""))):
        path = f"{files.workspace(slug)}/{files.STATE}"
        if place.store.exists(place.root / path):
            continue
        place.store.inputs.cannot_track()
        asked = ("log", "-1", "--branches", "--not", "HEAD", "--source", "--format=%S", "--", path)
        there = git.answer(str(place.root), *asked)
        said = git.answer(str(place.root), "show", f"{there}:./{path}") if there else None
        with contextlib.suppress(ValueError):  # no state, and so no feature
            if there and said and not files.STATE_KIND.parse(said.encode()).over:
                branch = one_line(there.removeprefix("refs/heads/"))
                yield f"{files.workspace(slug)} is not on this branch, but on {branch}, where it goes on"


def refuse_taken(store: Store, folder: Path) -> None:
    """An existing feature, in whatever state, is not replaced."""
    taken = (*files.state_paths(folder), folder / files.DESCRIPTION)
    there = next((path for path in taken if os.path.lexists(path)), None)
    if there:
        raise IllegalMove(
            f"{folder.name!r} has already started: {store.relative(there)}",
            hint=f"See where it stands: holdfast gate status -w {folder.name}. Or choose another slug; "
            f"where it was cancelled, the slug is free again once {store.relative(folder)} is gone.",
        )


def _review(store: Store, folder: Path, review: Review, at: str) -> Change:
    """The file of *review*, under the next free number: none is ever used twice."""
    there = files.reviews(store, folder, review.phase)
    number = max((number for number, _ in there), default=0) + 1
    path = folder / review.phase / files.REVIEWS / f"review-{number}.md"
    return Change(path, review.written(number, at))


def _unreadable(feature: Feature) -> list[LoadedFile[StatusFile] | Unusable]:
    """The status.json that hold something which is lost if they are written over."""
    there = (file for file in feature.statuses.values() if not files.is_missing(file))
    return [file for file in there if files.usable(file) is None]


def _changes(feature: Feature, content: Content) -> Iterator[Change]:
    """What has to be written so that the files say *content*; the state last, since it counts most."""
    documents: dict[str, State | StatusFile] = {
        f"{phase}/{files.STATUS}": status for phase, status in content.statuses.items()
    }
    for name, document in (*documents.items(), (files.STATE, content.state)):
        data, said = document.to_json(), files.usable(feature.files[name])
        if said is None or data != said.source:
            raw = encoded(data)
            kind = files.STATE_KIND if name == files.STATE else files.STATUS_KIND
            kind.parse(raw)  # it can be read again
            yield Change(feature.folder / name, raw)


def _bytes(path: Path) -> bytes | None:
    with contextlib.suppress(StateUnreadable):
        return read_file(path, LARGEST)[0]
    return None


FORMAT = Gated()

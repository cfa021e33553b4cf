"""How the six files of a feature are changed as one, so that they say the same afterwards.

A change reads inside the lock, reconciles, makes one move, validates what it is about to write, writes
all files as one change and reads them again. Others write these files too, without our lock: if one did
meanwhile, it starts over with what is there now.

workflow-state.json is the primary source of truth, so where the files differ, the status.json follows. A
workflow-state.json that contradicts itself cannot be followed: a person has to say what holds.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.files import together
from holdfast.files.regular import read_file
from holdfast.files.store import LARGEST, Store
from holdfast.files.together import Change
from holdfast.formats.engine.document import encoded, iso_time
from holdfast.formats.engine.format import Changed
from holdfast.formats.engine.looking import D, FileKind, K, LoadedFile, Unusable
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files
from holdfast.formats.gated.files import STATE_KIND, STATUS_KIND, Feature, read
from holdfast.formats.gated.machine import Content, contradictions
from holdfast.formats.gated.model import PHASES, PhaseName, State, StatusFile, new_status
from holdfast.formats.gated.reviews import Review

Move: TypeAlias = Callable[[Content, str], Content]

_TRIES = 3
# In these, whatever was said of the artefact before is settled.
_SETTLED = frozenset({"pending", "user_review", "approved"})


def refuse_taken(store: Store, folder: Path) -> None:
    """An existing feature, in whatever state, is not replaced."""
    taken = (*files.state_paths(folder), folder / files.DESCRIPTION)
    there = next((path for path in taken if os.path.lexists(path)), None)
    if there:
        raise IllegalMove(
            f"{folder.name!r} is begun already: there is {store.relative(there)}",
            hint=f"See where it stands: holdfast gate status -w {folder.name}. Or choose another slug; "
            f"where it was cancelled, the slug is free again once {store.relative(folder)} is gone.",
        )


def change(place: Place, folder: Path, move: Move | None = None) -> Changed[Feature]:
    """Make *move* on the feature in *folder* as it is now; inside the lock.

    Without one the files are only reconciled, and a status.json that cannot be read is put aside.
    """
    store = place.store
    feature, content = _decide(place, folder, move)
    changes = _changes(feature, content)
    lines = [*files.disagreements(feature)]
    if content.review:
        changes.insert(0, _review(store, folder, content.review, content.at))
        lines.append(f"the review is {store.relative(changes[0].path)}")
    for file in _unreadable(feature):
        aside = store.relative(store.set_aside(file.path, place.stamp, move=True))
        lines.append(f"what {store.relative(file.path)} said lies in {aside}")
    _write(store, folder, changes)
    return Changed(read(store, folder), (*lines,), feature)


def _decide(place: Place, folder: Path, move: Move | None) -> tuple[Feature, Content]:
    """The feature, and what it is to say, where nobody else wrote while that was decided."""
    at = iso_time(place.now)
    for _ in range(_TRIES):
        seen = {path: _bytes(path) for path in files.state_paths(folder)}
        feature = read(place.store, folder)
        content = reconciled(feature, at)
        if move:
            for file in _unreadable(feature):
                raise HoldfastError(
                    f"status.json of {file.path.parent.name} cannot be used: {files.problem_of(file)}",
                    hint="Make it from workflow-state.json: holdfast gate reconcile. "
                    "Or from the reviews: holdfast gate recover",
                )
            content = move(content, at)
            if place.branch == files.branch_of(folder.name):
                content.state.branch = place.branch
        if all(_bytes(path) == data for path, data in seen.items()):
            return feature, content
    raise HoldfastError(
        f"somebody else keeps changing {place.store.relative(folder)}",
        hint="Nothing was changed. See who writes there, and run the command again.",
    )


def _review(store: Store, folder: Path, review: Review, at: str) -> Change:
    """The file of *review*, under the next free number: none is ever used twice."""
    there = files.reviews(store, folder, review.phase)
    number = max((number for number, _ in there), default=0) + 1
    path = folder / review.phase / files.REVIEWS / f"review-{number}.md"
    return Change(path, review.written(number, at))


# What holds.


def reconciled(feature: Feature, at: str) -> Content:
    """What holds; refused if workflow-state.json cannot be read or contradicts itself."""
    said = readable_state(feature)
    state = said.model_copy(deep=True)
    state.current_phase = files.phase_in_work(state) or state.current_phase
    wrong = next(contradictions(state), None)
    if wrong:
        raise IllegalMove(
            f"workflow-state.json of {state.name!r} contradicts itself: {wrong}",
            hint="Correct the field, or see what the other files say: holdfast gate recover",
        )
    statuses = {phase: _followed(feature, said, phase, at) for phase in PHASES}
    return Content(state, statuses, feature.slug)


def _followed(feature: Feature, state: State, phase: PhaseName, at: str) -> StatusFile:
    """The status.json of a phase, with what workflow-state.json says; its history stays."""
    said, summary = feature.status(phase), state.phases[phase]
    status = said.model_copy(deep=True) if said else new_status(phase)
    if files.usable(feature.statuses[phase]) and status.stands == summary.stands:
        return status
    status.status, status.iterations = summary.status, summary.iterations
    if status.status in _SETTLED:
        status.current_feedback = None
    status.record("reconciled", at)
    return status


def readable_state(feature: Feature) -> State:
    """What workflow-state.json says. The document: "the file is corrupted - do NOT proceed"."""
    state = files.usable(feature.main)
    if state is None:
        raise HoldfastError(
            f"workflow-state.json of {feature.slug!r} cannot be used: "
            f"{files.problem_of(feature.main)}",
            hint="Correct it, or see what can be rebuilt from the other files: holdfast gate recover",
        )
    return state


def _unreadable(feature: Feature) -> list[LoadedFile[StatusFile] | Unusable]:
    """The status.json that hold something which is lost if they are written over."""
    there = (file for file in feature.statuses.values() if not files.is_missing(file))
    return [file for file in there if files.usable(file) is None]


# How it is written.


def put(place: Place, folder: Path, content: Content, *, described: str | None = None) -> Feature:
    """Let the feature's files say *content*; inside the lock. A new one is *described* with them."""
    changes = _changes(read(place.store, folder), content)
    if described is not None:
        changes.insert(0, Change(folder / files.DESCRIPTION, described.encode()))
    _write(place.store, folder, changes)
    return read(place.store, folder)


def _write(store: Store, folder: Path, changes: Sequence[Change]) -> None:
    """Make all changes as one, keep the copies, and verify that the files hold what was written."""
    previous = {path: _bytes(path) for path, _ in changes}
    together.write(store, files.NAME, changes)
    for path, data in changes:
        if data is not None and path in files.state_paths(folder):
            store.keep(path, data, previous[path])
    changed = next((path for path, data in changes if _bytes(path) != data), None)
    if changed:
        raise HoldfastError(
            f"{store.relative(changed)} was changed by somebody else while it was written",
            hint="See what holds now: holdfast gate validate. Then: holdfast gate reconcile",
        )


def _changes(feature: Feature, content: Content) -> list[Change]:
    """What has to be written so that the files say *content*; the state last, since it counts most."""
    changes = [
        _change(STATUS_KIND, feature.folder / phase / files.STATUS, status, feature.statuses[phase])
        for phase, status in content.statuses.items()
    ]
    changes.append(_change(STATE_KIND, feature.path, content.state, feature.main))
    return [found for found in changes if found]


def _change(
    kind: FileKind[D, K], path: Path, document: D, before: LoadedFile[D] | Unusable
) -> Change | None:
    """*document* as a file that can be read again; None if the file says the same already."""
    data, said = document.to_json(), files.usable(before)
    if said and data == said.source:
        return None
    raw = encoded(data)
    kind.parse(raw)
    return Change(path, raw)


def _bytes(path: Path) -> bytes | None:
    with contextlib.suppress(StateUnreadable):
        return read_file(path, LARGEST)[0]
    return None

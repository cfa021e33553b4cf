"""What agents and people do to a feature, each under the lock and saved as one change.

Every command brings to an end what was interrupted, reads inside the lock, reconciles, makes one move,
checks what it is about to write, writes both files and reads them again. Others write these files,
too, and not under our lock: where one did meanwhile, the command begins again with what is there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast import ledger, together
from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.document import encoded, stamp
from holdfast.formats.gated import files, machine, reconcile
from holdfast.formats.gated.files import Run
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.reviews import review_text
from holdfast.formats.holding import D, K, Kept, Kind, Unusable
from holdfast.regular import read_file
from holdfast.store import COMMAND_WAIT, LARGEST, Store
from holdfast.together import Change

_TRIES = 3

Step = Callable[[Content, str], Content]


@dataclass(frozen=True)
class Review:
    """An internal review that goes with a move."""

    verdict: str
    text: str


@dataclass(frozen=True)
class Changed:
    """A feature after a command."""

    run: Run
    lines: tuple[str, ...] = ()  # what else was done: finished, reconciled
    review: str | None = None  # where it was written, relative to the root


@dataclass(frozen=True)
class _Plan:
    """What a command is about to do, made of the files as they are now."""

    changes: Sequence[Change]
    lines: Sequence[str] = ()
    aside: Sequence[Path] = ()  # what cannot be read, and would be written over


def change(place: Place, key: str, step: Step, review: Review | None = None) -> Changed:
    """Make *step* on the feature *key* as it is now."""
    at = stamp(place.now)

    def plan(run: Run) -> _Plan:
        before = reconcile.reconciled(run, at)
        reconcile.refuse_unreadable_status(run)
        after = step(before.content, at)
        reviewed = [_review(run, before.content, at, review)] if review else []
        return _Plan([*reviewed, *_writes(run, after)], before.lines)

    return _carry_out(place, key, plan)


def repair(place: Place, key: str) -> Changed:
    """Let each status.json say what workflow-state.json says; what could not be read is put aside."""

    def plan(run: Run) -> _Plan:
        found = reconcile.reconciled(run, stamp(place.now))
        return _Plan(_writes(run, found.content), found.lines, _unreadable(run))

    return _carry_out(place, key, plan)


def take_up(place: Place, key: str) -> Changed:
    """Somebody goes on with the feature."""
    return change(place, key, machine.take_up)


def start(
    place: Place,
    slug: str,
    *,
    title: str,
    description: str,
    branch: str | None = None,
) -> Changed:
    """Begin a feature: its description, the state and all five status.json."""
    store, folder = place.store, files.folder_of(place.store, slug)
    content = machine.begin(slug, stamp(place.now), title=title, branch=branch)
    with _locked(place) as lines:
        refuse_taken(store, folder)
        described = Change(folder / files.DESCRIPTION, description.encode())
        run = files.read(store, folder)
        return _write(place, folder, _Plan([described, *_writes(run, content)], lines))


def put(place: Place, folder: Path, content: Content) -> Changed:
    """Let the feature's files say *content*; to be called inside the lock."""
    return _write(place, folder, _Plan(_writes(files.read(place.store, folder), content)))


def refuse_taken(store: Store, folder: Path) -> None:
    """A feature that is there, in whatever state, does not give way."""
    taken = (*files.state_paths(folder), folder / files.DESCRIPTION)
    there = next((path for path in taken if os.path.lexists(path)), None)
    if there:
        raise IllegalMove(
            f"{folder.name!r} is begun already: there is {store.relative(there)}",
            hint=f"See where it stands: holdfast gate status -w {folder.name}. Or choose another slug; "
            f"where it was cancelled, the slug is free again once {store.relative(folder)} is gone.",
        )


def finish(place: Place) -> list[str]:
    """Bring an interrupted command to its end; to be called inside the lock."""
    return together.finish(place.store, files.UNFINISHED, files.is_ours, place.stamp)


@contextlib.contextmanager
def _locked(place: Place) -> Iterator[list[str]]:
    """The lock, and what was interrupted and is finished; a command that is refused cannot tell it."""
    with place.store.lock(COMMAND_WAIT):
        finished = finish(place)
        try:
            yield finished
        except HoldfastError:
            ledger.tell_later(place.store, finished, place.now)
            raise


def _carry_out(place: Place, key: str, plan: Callable[[Run], _Plan]) -> Changed:
    """Do what is planned for the feature as it is now."""
    store, folder = place.store, place.root / files.FOLDER / files.slug_of(key)
    with _locked(place) as finished:
        for _ in range(_TRIES):
            seen = _content(folder)
            run = files.read(store, folder)
            if not run.is_ours:
                raise NoSuchWorkflow("the feature has gone meanwhile", hint="See holdfast list.")
            planned = plan(run)
            if _content(folder) == seen:
                break
        else:
            raise HoldfastError(
                f"somebody else keeps changing {store.relative(folder)}",
                hint="Nothing was changed. See who writes there, and give the command again.",
            )
        told = [_set_aside(place, path) for path in planned.aside]
        lines = (*finished, *planned.lines, *told)
        return _write(place, folder, replace(planned, lines=lines))


def _write(place: Place, folder: Path, planned: _Plan) -> Changed:
    """Make all changes as one, keep the copies, and see that what lies there is what was written."""
    store = place.store
    previous = {each.path: _read(each.path) for each in planned.changes}
    together.write(store, files.UNFINISHED, planned.changes)
    for path, data in planned.changes:
        if data is not None and path in files.state_paths(folder):
            store.keep(path, data, previous[path])
    changed = next((path for path, data in planned.changes if _read(path) != data), None)
    if changed:
        raise HoldfastError(
            f"{store.relative(changed)} was changed by somebody else while it was written",
            hint="See what holds now: holdfast gate validate. Then: holdfast gate reconcile",
        )
    review = next((each.path for each in planned.changes if files.is_review(each.path)), None)
    return Changed(
        files.read(store, folder), tuple(planned.lines), store.relative(review) if review else None
    )


def _writes(run: Run, content: Content) -> list[Change]:
    """What has to be written so that the files say *content*; the state last, since it counts most."""
    writes = [
        _change(
            files.STATUS_KIND, files.status_path(run.folder, phase), status, run.statuses[phase]
        )
        for phase, status in content.statuses.items()
    ]
    writes.append(_change(files.STATE_KIND, files.state_path(run.folder), content.state, run.main))
    return [each for each in writes if each]


def _change(kind: Kind[D, K], path: Path, document: D, held: Kept[D] | Unusable) -> Change | None:
    """*document* as a file that can be read again; None where it says what is there already."""
    data = document.to_json()
    if isinstance(held, Kept) and not held.problems and data == held.state.source:
        return None
    raw = encoded(data)
    kind.parse(raw)
    return Change(path, raw)


def _review(run: Run, content: Content, at: str, review: Review) -> Change:
    phase, number = content.phase, files.next_review(run.folder, content.phase)
    text = review_text(number, phase, content.status.iterations, at, review.verdict, review.text)
    return Change(files.review_path(run.folder, phase, number), text.encode())


def _unreadable(run: Run) -> list[Path]:
    return [
        each.path
        for each in run.statuses.values()
        if (each.problems if isinstance(each, Kept) else each.kind != "missing")
    ]


def _set_aside(place: Place, path: Path) -> str:
    aside = place.store.set_aside(path, place.stamp, move=True)
    return f"what {place.store.relative(path)} said lies in {place.store.relative(aside)}"


def _content(folder: Path) -> list[bytes | None]:
    """The six files byte by byte."""
    return [_read(path) for path in files.state_paths(folder)]


def _read(path: Path) -> bytes | None:
    with contextlib.suppress(StateUnreadable):
        return read_file(path, LARGEST)[0]
    return None

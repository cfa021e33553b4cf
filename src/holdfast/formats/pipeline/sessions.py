"""Sessions: workflows that are kept apart until they are committed or cancelled.

A session is a folder in workspace/sessions/. It is open while it has a workflow that was not committed,
or none at all.

A commit copies: nothing is moved, and nothing that is there already is replaced. Artefacts come first,
since nothing refers to the copies yet; then all states change as one. So a commit that was killed, or
that failed, is whole or has committed nothing, and can be given again.

A cancel removes states, logs and artefacts for good, as the document has it. States and logs go as one
change. Artefacts that a kill has left go when the cancel is given again. Logs of committed workflows
stay, and so does whatever else lies in the session's folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from holdfast.errors import IllegalMove, NoSuchWorkflow, StateOutOfReach
from holdfast.files import together
from holdfast.files.regular import read_file
from holdfast.files.store import Store, remove
from holdfast.files.together import Change
from holdfast.formats.engine.document import encoded, iso_time
from holdfast.formats.engine.loading import Unusable, error_of
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import files
from holdfast.formats.pipeline.files import GLOBAL, NO_SESSION, Location, StateFile
from holdfast.formats.pipeline.format import FORMAT
from holdfast.text.plaintext import counted

_RUNS = "-runs"
_LARGEST_ARTEFACT = 256 * 1024 * 1024


class PipelineSession(NamedTuple):
    name: str
    workflows: tuple[StateFile, ...]

    @property
    def committed(self) -> int:
        return sum(file.row.committed_from_session is not None for file in self.workflows)

    @property
    def is_open(self) -> bool:
        return not self.workflows or self.committed < len(self.workflows)


def every(place: Place) -> list[PipelineSession]:
    there = {name: FORMAT.at(place, Location(name)) for name in files.session_names(place.store)}
    return [
        PipelineSession(name, tuple(file for file in found if isinstance(file, StateFile)))
        for name, found in there.items()
    ]


def active(place: Place, wanted: str | None) -> str | None:
    """The session to work in: the one that is *wanted*, else the only open one; None is global."""
    if wanted == NO_SESSION:
        return None
    if wanted:
        return _location(place.store, wanted).session
    open_ones = [session.name for session in every(place) if session.is_open]
    return open_ones[0] if len(open_ones) == 1 else None


def create(place: Place, name: str) -> None:
    folder = place.root / Location(files.checked_session(name)).states
    with FORMAT.locked(place):
        if folder.is_dir():
            raise IllegalMove(
                f"session {name!r} already exists",
                hint=f"Use it with --session {name}, or choose another name.",
            )
        place.store.make_folder(folder)
        FORMAT.update_indexes(place)


def _location(store: Store, name: str) -> Location:
    """Where the session *name* lies, if there is one."""
    there = files.session_names(store)
    if files.checked_session(name) not in there:
        shown = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
        create_it = f"Create it: holdfast pipeline session create {name}"
        raise NoSuchWorkflow(
            f"there is no session {name!r}", hint=f"There is {shown}." if there else create_it
        )
    return Location(name)


# Committing.


def commit(place: Place, name: str) -> tuple[list[StateFile], list[Path]]:
    """Make its workflows global, with their artefacts; returns both."""
    store, at, location = place.store, iso_time(place.now), _location(place.store, name)
    with FORMAT.locked(place):
        workflows = list(_uncommitted(place, location))
        if not workflows:
            raise IllegalMove(
                f"session {name!r} has nothing to commit",
                hint="Its workflows are global already. Remove its copies: holdfast pipeline session "
                f"cancel {name}",
            )
        artefacts = [path for file in workflows for path in _artefacts(store, location, file)]
        copies = [(path, _target(store, location, path)) for path in artefacts]
        _refuse_to_replace(store, workflows, copies)
        marks = {"committed_from_session": name, "committed_at": at}
        states = [change for file in workflows for change in _changes(store, location, file, marks)]
        for source, target in copies:
            if not os.path.lexists(target):  # else it is the same file
                store.write(target, _content(source), stat.S_IMODE(source.stat().st_mode))
        for file in workflows:
            run = store.root / location.run(file.state.workflow_type, file.name)
            if run.is_dir():  # the state names its folder, even if it is empty
                store.make_folder(_target(store, location, run))
        together.write(store, FORMAT.name, states)
        FORMAT.update_indexes(place)
        for file in workflows:
            files.note(store, file.name, at, "commit", session=name)
    return workflows, artefacts


def _uncommitted(place: Place, location: Location) -> Iterator[StateFile]:
    """The workflows to commit, in a session whose states can all be read."""
    for file in FORMAT.at(place, location):
        if file.is_ours if isinstance(file, Unusable) else file.problems:
            raise error_of(file)
        if isinstance(file, StateFile) and file.row.committed_from_session is None:
            yield file


def _artefacts(store: Store, location: Location, file: StateFile) -> Iterator[Path]:
    """The files of a workflow's run, whose folder may hold nothing but folders and files."""
    kind = file.state.workflow_type
    if not files.is_name(kind):
        raise IllegalMove(
            f"{file.name!r} has a type that is not a valid name", hint="Correct its state."
        )
    run = store.root / location.run(kind, file.name)
    if not store.is_direct(run):
        raise _no_artefact(store, run)
    if not os.path.lexists(run):
        return
    for top, folders, names in os.walk(run, onerror=_raise):  # what is not listed would be lost
        for name in sorted([*folders, *names]):
            path = Path(top, name)
            if path.is_symlink() or not (path.is_file() or name in folders):
                raise _no_artefact(store, path)
            if name not in folders:
                yield path


def _raise(error: OSError) -> NoReturn:
    raise StateOutOfReach(os.fsdecode(error.filename), error.strerror or str(error)) from error


def _no_artefact(store: Store, path: Path) -> IllegalMove:
    return IllegalMove(
        f"{store.relative(path)} is a link, or no regular file",
        hint="Nothing was committed. Put the file itself in its place, or remove it.",
    )


def _target(store: Store, location: Location, path: Path) -> Path:
    return store.root / GLOBAL.base / path.relative_to(store.root / location.base)


def _refuse_to_replace(
    store: Store, workflows: list[StateFile], copies: list[tuple[Path, Path]]
) -> None:
    states = (store.root / GLOBAL.state(file.name) for file in workflows)
    in_the_way = [path for path in states if os.path.lexists(path)]
    in_the_way += [target for source, target in copies if _differs(source, target)]
    if in_the_way:
        shown = ", ".join(map(store.relative, in_the_way[:3]))
        more = f" and {counted(len(in_the_way) - 3, 'other')}" if len(in_the_way) > 3 else ""
        raise IllegalMove(
            f"a file is in the way at {shown}{more}",
            hint="Nothing was committed, as a commit overwrites nothing. Move or remove what is "
            "there, and commit again.",
        )


def _differs(source: Path, target: Path) -> bool:
    """Whether something else lies where the copy is to go."""
    if not os.path.lexists(target):
        return any(os.path.lexists(folder) and not folder.is_dir() for folder in target.parents)
    if target.is_symlink() or not target.is_file():
        return True
    return target.stat().st_size != source.stat().st_size or _content(target) != _content(source)


def _content(path: Path) -> bytes:
    return read_file(path, _LARGEST_ARTEFACT, follow=False)[0]


def _changes(
    store: Store, location: Location, file: StateFile, marks: dict[str, Any]
) -> Iterator[Change]:
    """The global state of a workflow, and the mark in the session's."""
    source = file.state.source
    made_global = {**_made_global(store, location, source), **marks}
    yield Change(store.root / GLOBAL.state(file.name), encoded(made_global))
    yield Change(file.path, encoded({**source, **marks}))


def _made_global(store: Store, location: Location, data: Any) -> Any:
    """*data*, with the paths of copied artefacts changed to those of their copies."""
    if isinstance(data, list):
        return [_made_global(store, location, value) for value in data]
    if isinstance(data, dict):
        return {key: _made_global(store, location, value) for key, value in data.items()}
    for above in ("", "./", f"{store.root.as_posix()}/") if isinstance(data, str) else ():
        inside = data.removeprefix(f"{above}{location.base}/")
        run, _, rest = inside.partition("/")
        if inside != data and rest and run.endswith(_RUNS):
            return f"{above}{GLOBAL.base}/{inside}"
    return data


# Cancelling.


def would_cancel(place: Place, name: str) -> list[str]:
    """What there is of the session now, relative to the root; folders end in a slash."""
    relative, (runs, own) = place.store.relative, _belongings(place, _location(place.store, name))
    return [*(f"{relative(folder)}/" for folder in runs), *map(relative, own)]


def cancel(place: Place, name: str) -> list[str]:
    """Remove its workflows with everything that is theirs; returns what went, as `would_cancel`."""
    store, location = place.store, _location(place.store, name)
    with FORMAT.locked(place):
        removed = would_cancel(place, name)
        runs, own = _belongings(place, location)
        together.write(store, FORMAT.name, [Change(path, None) for path in own])
        for path in own:
            store.forget(path)
        for folder in runs:
            remove(folder, folder=True)
        if not files.state_paths(store, location):
            store.remove(store.root / location.index_file, above=2)
        FORMAT.update_indexes(place)
    return removed


def _belongings(place: Place, location: Location) -> tuple[list[Path], list[Path]]:
    """The folders of artefacts in a session, and its logs and states."""
    store, there = place.store, FORMAT.at(place, location)
    states = [file for file in there if isinstance(file, StateFile) or file.is_ours]
    runs = [
        Path(entry.path)
        for entry in store.entries(store.root / location.base)
        if entry.is_dir(follow_symlinks=False)
        and files.is_name(entry.name)
        and entry.name.endswith(_RUNS)
    ]
    logs_there = [
        store.root / files.log(file.name)
        for file in states
        if isinstance(file, StateFile)
        and file.row.committed_from_session is None
        and _has_own_log(store, file.name)
    ]
    return sorted(runs), [*logs_there, *(file.path for file in states)]


def _has_own_log(store: Store, workflow_id: str) -> bool:
    """Whether the log is the session's: a global workflow of the same id has the same one."""
    path = store.root / files.log(workflow_id)
    is_global = os.path.lexists(store.root / GLOBAL.state(workflow_id))
    return os.path.lexists(path) and store.is_direct(path.parent) and not is_global

"""Commit a session: its workflows and their artefacts become global, all or none.

Everything is copied, nothing is moved, and nothing that is there already is replaced. So a commit that
was killed is brought to an end by taking its steps again: what is there stays, what is missing is
copied. A workflow's global state is written after its artefacts, and the session's own state is marked
last. A step that fails takes back those before it, in the other order, as far as that can be done.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from holdfast import together
from holdfast.errors import IllegalMove, StateOutOfReach, StateUnreadable, StateUnwritable
from holdfast.formats.document import encoded
from holdfast.formats.holding import Unusable
from holdfast.formats.pipeline import known, logs, places
from holdfast.formats.pipeline.places import GLOBAL, Location
from holdfast.formats.pipeline.states import Held, read
from holdfast.plaintext import counted
from holdfast.regular import read_file
from holdfast.store import Store

Step = Callable[[], object]
LARGEST_ARTEFACT = 256 * 1024 * 1024


@dataclass(frozen=True)
class Copy:
    """A file that is to be global as well; relative to the root."""

    source: str
    target: str


@dataclass(frozen=True)
class Plan:
    """What a commit is going to do."""

    location: Location
    workflows: tuple[Held, ...]
    copies: tuple[Copy, ...]


def plan(store: Store, location: Location) -> Plan:
    """What is to be committed, or IllegalMove with what is in the way."""
    workflows = tuple(_uncommitted(store, location))
    if not workflows:
        raise IllegalMove(
            f"session {location.session!r} has nothing to commit",
            hint="Its workflows are global already; holdfast pipeline session cancel "
            f"{location.session} removes what it has kept.",
        )
    copies = tuple(copy for held in workflows for copy in _copies(store, location, held))
    in_the_way = [
        *(path for held in workflows if (path := _global_state(store, held)) is not None),
        *(each.target for each in copies if _differs(store, each)),
    ]
    if in_the_way:
        shown = ", ".join(in_the_way[:3])
        more = f" and {counted(len(in_the_way) - 3, 'other')}" if len(in_the_way) > 3 else ""
        raise IllegalMove(
            f"something else lies at {shown}{more}",
            hint="Nothing was committed. A commit replaces nothing: move away what is there, "
            "or remove it, and commit again.",
        )
    return Plan(location, workflows, copies)


def carry_out(store: Store, planned: Plan, at: str) -> None:
    """Do it; where a step fails, what was done before is taken back."""
    with together.steps() as undo:
        for copy in planned.copies:
            _copy(store, copy, undo)
        for held in planned.workflows:
            _publish(store, planned.location, held, at, undo)
    for held in planned.workflows:
        _log(store, planned.location, held.id, at)


def carry_on(store: Store, location: Location, workflow_ids: list[str], at: str) -> list[str]:
    """Bring a commit to an end that was killed; returns the workflows that somebody changed since."""
    left = []
    for workflow_id in workflow_ids:
        held = read(store, store.root / location.state(workflow_id))
        if isinstance(held, Unusable) or held.problems or _is_taken(store, location, workflow_id):
            left.append(workflow_id)
            continue
        try:
            _carry_on_with(store, location, held, at)
        except StateOutOfReach:  # it may be over in a moment
            raise
        except (IllegalMove, StateUnreadable):  # it would stand in everybody's way for ever
            left.append(workflow_id)
            continue
        _log(store, location, workflow_id, at)
    return left


def _carry_on_with(store: Store, location: Location, held: Held, at: str) -> None:
    if held.state.committed_from_session:
        return
    copies = list(_copies(store, location, held))
    if any(_differs(store, each) for each in copies):
        raise IllegalMove(f"something else lies where artefacts of {held.id!r} are to go")
    with together.steps() as undo:
        for copy in copies:
            _copy(store, copy, undo)
        _publish(store, location, held, at, undo)


def _is_taken(store: Store, location: Location, workflow_id: str) -> bool:
    """Whether the global state is another one than what this session commits."""
    path = store.root / GLOBAL.state(workflow_id)
    if not os.path.lexists(path):
        return False
    there = read(store, path)
    return isinstance(there, Unusable) or there.state.committed_from_session != location.session


def _uncommitted(store: Store, location: Location) -> Iterator[Held]:
    seen = known.look(store, location)
    wrong = [(each.path, each.reason) for each in seen.unusable if each.is_ours]
    wrong += [(each.path, each.problems[0]) for each in seen.held.values() if each.problems]
    if wrong:
        path, reason = wrong[0]
        raise StateUnreadable(store.relative(path), reason)
    for row in seen.rows:
        if row.committed_from_session is None:
            held = seen.held.get(row.workflow_id) or read(store, store.root / row.state_file)
            if isinstance(held, Unusable):
                raise StateUnreadable(row.state_file, held.reason)
            yield held


def _global_state(store: Store, held: Held) -> str | None:
    path = GLOBAL.state(held.id)
    return path if os.path.lexists(store.root / path) else None


def _copies(store: Store, location: Location, held: Held) -> Iterator[Copy]:
    """The artefacts of a workflow, each with where it goes."""
    kind = held.state.workflow_type
    if not places.is_name(kind):
        raise IllegalMove(f"{held.id!r} is of a type that is no name", hint="Correct its state.")
    run = location.run(kind, held.id)
    for path in _files(store, store.root / location.base, store.root / run):
        source = store.relative(path)
        yield Copy(source, GLOBAL.run(kind, held.id) + source.removeprefix(run))


def _files(store: Store, base: Path, folder: Path) -> Iterator[Path]:
    """All files below *folder*, which may hold nothing but folders and files."""
    if os.path.realpath(folder) != str(
        Path(os.path.realpath(base), *folder.relative_to(base).parts)
    ):
        raise _refused(store, folder)
    if not os.path.lexists(folder):
        return
    # What is not listed would be left out.
    for top, folders, found in os.walk(folder, onerror=_raise):
        for name in sorted(folders):
            if (Path(top) / name).is_symlink():
                raise _refused(store, Path(top) / name)
        for name in sorted(found):
            path = Path(top) / name
            if path.is_symlink() or not path.is_file():
                raise _refused(store, path)
            yield path


def _raise(error: OSError) -> NoReturn:
    raise StateOutOfReach(os.fsdecode(error.filename), error.strerror or str(error)) from error


def _refused(store: Store, path: Path) -> IllegalMove:
    return IllegalMove(
        f"{store.relative(path)} is a link, or no regular file",
        hint="Nothing was committed. Put the file itself in its place, or remove it.",
    )


def _differs(store: Store, copy: Copy) -> bool:
    """Whether something else lies where the copy is to go."""
    target = store.root / copy.target
    if not os.path.lexists(target):
        return any(_is_no_folder(store.root / part) for part in Path(copy.target).parents)
    if target.is_symlink() or not target.is_file():
        return True
    theirs, ours = target, store.root / copy.source
    return theirs.stat().st_size != ours.stat().st_size or _content(theirs) != _content(ours)


def _is_no_folder(path: Path) -> bool:
    return os.path.lexists(path) and not path.is_dir()


def _content(path: Path) -> bytes:
    return read_file(path, LARGEST_ARTEFACT, follow=False)[0]


def _copy(store: Store, copy: Copy, undo: list[Step]) -> None:
    target = store.root / copy.target
    if os.path.lexists(target):
        return  # the same file, as the plan has found out, or copied before a commit was killed
    source = store.root / copy.source
    data, mode = _content(source), stat.S_IMODE(source.stat().st_mode)
    undo.append(partial(_remove, store, target))
    store.write(target, data, mode)


def _remove(store: Store, path: Path) -> None:
    """Take back a copy, with the folders that were made for it."""
    store.remove(path, folder_too=False)
    _remove_empty(store, path.parent)


def _remove_empty(store: Store, folder: Path) -> None:
    top = store.root / GLOBAL.base
    with contextlib.suppress(OSError):  # one is not empty, or was not made
        while folder != top:
            folder.rmdir()
            folder = folder.parent


def _publish(store: Store, location: Location, held: Held, at: str, undo: list[Step]) -> None:
    """Write the global state of a workflow, then mark the session's."""
    kind = held.state.workflow_type
    if (store.root / location.run(kind, held.id)).is_dir():
        folder = store.root / GLOBAL.run(kind, held.id)  # it is named, although it may be empty
        undo.append(partial(_remove_empty, store, folder))
        store.make_folder(folder)
    marks = {"committed_from_session": location.session, "committed_at": at}
    target = store.root / GLOBAL.state(held.id)
    if not os.path.lexists(target):
        made_global = _rewritten(store, location, held.state.source)
        undo.append(partial(store.remove, target))
        store.write(target, encoded({**made_global, **marks}))
    undo.append(partial(store.write, held.path, held.raw))
    store.write(held.path, encoded({**held.state.source, **marks}))


def _rewritten(store: Store, location: Location, data: Any) -> Any:
    """*data* with the paths of artefacts in the session as those of their copies."""
    if isinstance(data, str):
        return _rewritten_path(store, location, data)
    if isinstance(data, list):
        return [_rewritten(store, location, each) for each in data]
    if isinstance(data, dict):
        return {key: _rewritten(store, location, value) for key, value in data.items()}
    return data


def _rewritten_path(store: Store, location: Location, text: str) -> str:
    for above in ("", "./", f"{store.root.as_posix()}/"):
        inside = text.removeprefix(f"{above}{location.base}/")
        run, _, rest = inside.partition("/")
        if inside != text and rest and run.endswith("-runs"):
            return f"{above}{GLOBAL.base}/{inside}"
    return text


def _log(store: Store, location: Location, workflow_id: str, at: str) -> None:
    """Once, although a commit that was killed is taken up."""
    lines = logs.read(store, workflow_id)
    if not any(line.get("event") == "committed" and line.get("time") == at for line in lines):
        # It is committed, and must not seem to have failed.
        with contextlib.suppress(StateUnwritable):
            logs.append(store, workflow_id, at, "committed", session=location.session)

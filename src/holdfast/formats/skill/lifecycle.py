"""What agents and people do to the workflow of a skill, each under the lock and saved whole.

Every command reads inside the lock, makes one move, writes the state and then the index. A state
that cannot be read is set aside, and its last good copy is used. `change` takes any move of
phases, tasks and tdd; what touches more than one file has a function of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec

from holdfast import clock
from holdfast.errors import IllegalMove, NoSuchWorkflow, StateUnreadable, StateUnwritable
from holdfast.formats.base import Place
from holdfast.formats.document import stamp
from holdfast.formats.holding import Unusable
from holdfast.formats.remembered import Memory
from holdfast.formats.skill import beginnings, endings, facts, files, index
from holdfast.formats.skill.files import Found, Held
from holdfast.formats.skill.model import State
from holdfast.formats.skill.moving import refuse_ended
from holdfast.formats.skill.standing import KEPT_WHEN_COMPLETED, standing, untouched, working
from holdfast.store import COMMAND_WAIT

P = ParamSpec("P")
_LEFT_BY_JQ = timedelta(hours=24)
_SCRAP = re.compile(r"\.json\.tmp(\.\d+)?$")


@dataclass(frozen=True)
class Removed:
    """A file that is or would be removed."""

    path: str  # relative to the root
    why: str


@dataclass(frozen=True)
class Started:
    held: Held
    removed: tuple[Removed, ...] = ()  # by the cleanup that goes with a start
    aside: str | None = None  # where a state that could not be read was put


@dataclass(frozen=True)
class Ended:
    state: State
    path: str  # relative to the root
    signal: str  # DEV_COMPLETE: <feature>


def start_dev(
    place: Place,
    feature: str,
    *,
    title: str | None = None,
    tasks: Sequence[str] = (),
    folder_features: Sequence[str] | None = None,
    called: str | None = None,
    afresh: bool = False,
) -> Started:
    """Begin a /dev of a feature's file, or with *folder_features* of a folder."""
    path = files.path_for(place.store, "dev", feature, called)
    begin = partial(
        beginnings.dev,
        feature,
        stamp(place.now),
        identifier=path.stem,
        branch=place.branch,
        title=title,
        tasks=tasks,
        folder_features=folder_features,
    )
    return _start(place, path, begin, afresh=afresh)


def start_tdd(
    place: Place,
    task: str,
    *,
    feature_file: str | None = None,
    task_index: int | None = None,
    test_command: str | None = None,
    called: str | None = None,
    afresh: bool = False,
) -> Started:
    """Begin a /tdd."""
    path = files.path_for(place.store, "tdd", named_by(task, feature_file), called)
    begin = partial(
        beginnings.tdd,
        task,
        stamp(place.now),
        identifier=path.stem,
        branch=place.branch,
        feature_file=feature_file,
        task_index=task_index,
        test_command=test_command,
    )
    return _start(place, path, begin, afresh=afresh)


def named_by(text: str, feature_file: str | None) -> str:
    """What the name of a run comes from: with a feature's file from that, as in the document."""
    return feature_file or text


def start_other(
    place: Place,
    skill: str,
    text: str,
    *,
    phases: Sequence[str],
    tasks: Sequence[str] = (),
    checkpoints: Sequence[str] = (),
    called: str | None = None,
    afresh: bool = False,
) -> Started:
    """Begin any other skill, with its own phases."""
    path = files.path_for(place.store, skill, text, called)
    begin = partial(
        beginnings.other,
        skill,
        text,
        stamp(place.now),
        identifier=path.stem,
        phases=phases,
        branch=place.branch,
        tasks=tasks,
        checkpoints=checkpoints,
    )
    return _start(place, path, begin, afresh=afresh)


def _start(place: Place, path: Path, begin: Callable[[], State], *, afresh: bool) -> Started:
    """Write the first state to *path*. With *afresh*, a workflow that is there gives way."""
    store = place.store
    state = begin()
    with store.lock(COMMAND_WAIT):
        removed = _clean(place, dry_run=False)
        if not afresh:
            _refuse_taken(place, path)
        # One that ended may lie in both folders; a new one must not be taken for its left-over.
        completed = _completed_path(place, path)
        aside = _make_way(place, path, replaced=not os.path.lexists(completed))
        _make_way(place, completed)
        for folder in (files.ACTIVE, files.COMPLETED):
            store.make_folder(store.root / folder)
        held = _put(place, path, state)
        index.update(store, files.look(store), stamp(place.now))
    return Started(held, tuple(removed), aside)


def _refuse_taken(place: Place, path: Path) -> None:
    """One that is worked on does not give way, and neither does one with a slip of the pen."""
    found = files.look(place.store)
    for lost in found.unusable:
        if lost.path == path and lost.kind == "wrong":
            raise StateUnreadable(path, lost.reason)
    for held in found.live:
        if held.path == path:
            name, phase = held.state.name, held.state.phase
            where = f", in phase {phase.name!r}" if phase else ""
            raise IllegalMove(
                f"{name!r} is kept already in {place.store.relative(path)}{where}",
                hint="Go on with it: holdfast skill resume. A second one, such as for another task "
                "of the same feature, needs a name of its own: --as NAME. "
                "--fresh begins anew in its place.",
            )


def change(
    place: Place,
    key: str,
    move: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> Held:
    """Make *move* on the workflow *key* as it is now: change(place, key, complete_task, 3)."""
    with place.store.lock(COMMAND_WAIT):
        held = _changeable(place, key)
        after = move(held.state, stamp(place.now), *arguments, **named)
        if held.broken:
            place.store.set_aside(held.path, place.stamp, move=True)
        changed = _put(place, held.path, after, previous=held.raw)
        _end_within(place, held.state, after)
        index.update(place.store, files.look(place.store), stamp(place.now))
        return changed


def resume(place: Place, key: str) -> Held:
    """Take the workflow up."""
    return change(place, key, endings.take_up)


def note_compaction(place: Place, key: str, compacted: datetime, wait: float) -> None:
    """A session goes on with the workflow, and with a /tdd within; noted once in their histories.

    Where something is wrong with a file nothing is written: this is called by hooks.
    """
    with place.store.lock(wait):
        memory = Memory.of(place, "skill")
        found = files.look(place.store, memory)
        chosen = next((each for each in found.live if each.key == key), None)
        if chosen is None:
            return
        busy = working(found, place)
        inside = [each for each in busy if facts.is_part_of(each.row, chosen.row)]
        for held in (files.read(place.store, each.path) for each in (chosen, *inside)):
            if isinstance(held, Unusable):
                continue
            if not held.problems and not endings.is_told(held.state, compacted, place.now):
                after = endings.note_compaction(held.state, stamp(place.now))
                _put(place, held.path, after, previous=held.raw)
        index.update(place.store, files.look(place.store, memory), stamp(place.now))


def complete(place: Place, key: str, *, although: str | None = None) -> Ended:
    """End the workflow; with *although*, a reason, also where something is not done."""
    return _end(place, key, partial(endings.complete, although=although))


def abandon(place: Place, key: str, reason: str | None = None) -> Ended:
    """Give the workflow up."""
    return _end(place, key, partial(endings.abandon, reason=reason))


def _end(place: Place, key: str, move: Callable[[State, str], State]) -> Ended:
    store = place.store
    with store.lock(COMMAND_WAIT):
        held = _changeable(place, key)
        # One whose status was set by hand has ended, and is only put where it belongs.
        state = held.state if held.state.over else move(held.state, stamp(place.now))
        target = _put_away(place, held, state)
        _end_within(place, held.state, state)
        index.update(store, files.look(store), stamp(place.now))
    return Ended(state, store.relative(target), endings.signal(state))


def _put_away(place: Place, held: Held, state: State) -> Path:
    """Move the state to completed/. Killed in between, the twin left in active/ counts as finished."""
    store = place.store
    target = _completed_path(place, held.path)
    _make_way(place, target)
    _put(place, target, state)
    if held.broken:
        store.set_aside(held.path, place.stamp, move=True)
    else:
        store.remove(held.path, folder_too=False)
    store.forget(held.path)
    return target


def _end_within(place: Place, before: State, after: State) -> None:
    """A /tdd ends with its task, or its /dev: else it would stand alone, as work that nobody does."""
    for held in files.look(place.store).live:
        was_part = facts.is_part_of(held.state, before)
        if held.problems or not was_part or facts.is_part_of(held.state, after):
            continue
        at = stamp(place.now)
        if after.workflow.status == "abandoned":
            ended = endings.abandon(held.state, at, f"with {after.name}")
        else:
            ended = endings.complete(held.state, at, although=f"completed with {after.name}")
        _put_away(place, held, ended)


def _changeable(place: Place, key: str) -> Held:
    """The workflow *key*, when it can be worked on; to be called inside the lock."""
    found = files.look(place.store)
    held = found.find(key)
    if held is None:
        lost = next((each for each in found.unusable if _key(each) == key and each.is_ours), None)
        if lost:
            raise StateUnreadable(lost.path, lost.reason)
        raise NoSuchWorkflow("the workflow has gone meanwhile", hint="See holdfast list.")
    if held.problems and not held.broken:
        raise StateUnreadable(held.path, held.problems[0])
    if held not in found.active:
        refuse_ended(held.state)
    twin = found.ended_as(held)
    if twin:
        refuse_ended(twin.state)
    return held


def _key(unusable: Unusable) -> str:
    return f"skill:{unusable.path.stem}"


def _put(place: Place, path: Path, state: State, previous: bytes | None = None) -> Held:
    """Write *state*, which can be read again; to be called inside the lock."""
    encoded = state.encode()
    written = files.KIND.parse(encoded)
    place.store.write(path, encoded)
    place.store.keep(path, encoded, previous)
    return Held(path, encoded, place.now.timestamp(), written)


def _make_way(place: Place, path: Path, *, replaced: bool = False) -> str | None:
    """Archive what ended at *path*; what cannot be read is put aside, and it is told where.

    What is to be *replaced* stays until then, so that a kill leaves one of the two.
    """
    store = place.store
    if not os.path.lexists(path):
        return None
    there = files.read(store, path)
    if there.out_of_reach:
        raise StateUnwritable(path, "what lies there cannot be read")
    if isinstance(there, Unusable) and not there.is_ours:
        raise StateUnwritable(path, f"what lies there is {there.reason}")
    if isinstance(there, Held):
        store.archive(path.name, place.stamp, there.state.encode())
    aside = None
    if isinstance(there, Unusable) or there.problems:
        aside = store.relative(store.set_aside(path, place.stamp, move=True))
    elif replaced:
        return None
    else:
        store.remove(path, folder_too=False)
    store.forget(path)
    return aside


def _completed_path(place: Place, path: Path) -> Path:
    return place.root / files.COMPLETED / path.name


def clean(place: Place, *, dry_run: bool = False) -> list[Removed]:
    """Remove what ended a day ago, and what nobody has touched for as many days as are set."""
    if dry_run:
        return _clean(place, dry_run=True)
    with place.store.lock(COMMAND_WAIT):
        removed = _clean(place, dry_run=False)
        index.update(place.store, files.look(place.store), stamp(place.now))
        return removed


def _clean(place: Place, *, dry_run: bool) -> list[Removed]:
    found = files.look(place.store)
    due = [(held, why) for held, why in _due(place, found) if why]
    removed = [Removed(place.store.relative(held.path), why) for held, why in due]
    scraps = list(_scraps(place))
    removed += [Removed(place.store.relative(path), "left behind by a write") for path in scraps]
    if not dry_run:
        for held, _ in due:
            _remove(place, held)
        for path in scraps:
            place.store.set_aside(path, place.stamp, move=True)
    return removed


def _due(place: Place, found: Found) -> Iterator[tuple[Held, str]]:
    """A left-over goes with its twin in completed/; without that it would be taken for work."""
    stay = {_key(lost) for lost in found.unusable} | {h.key for h in found.active if h.problems}
    for held in (*found.active, *found.completed):
        stands, remark = standing(found, held, place)
        late = untouched(found.ended_as(held) or held, place) > KEPT_WHEN_COMPLETED
        due = stands == "stale" or (stands == "finished" and late)
        if due and not held.problems and held.key not in stay:
            yield held, remark


def _scraps(place: Place) -> Iterator[Path]:
    """What a jq line left that failed before its mv."""
    for folder in (files.ACTIVE, files.COMPLETED):
        for path in sorted((place.root / folder).glob("*.json.tmp*")):
            if not _SCRAP.search(path.name):
                continue
            written = clock.from_mtime(path.lstat().st_mtime)
            if path.is_file() and place.now - written > _LEFT_BY_JQ:
                yield path


def _remove(place: Place, held: Held) -> None:
    """Unfinished work goes to the archive before its file goes."""
    store = place.store
    if not held.state.over:
        store.archive(held.path.name, place.stamp, held.state.encode())
    store.remove(held.path, folder_too=False)
    store.forget(held.path)


def clear(place: Place, *, dry_run: bool = False) -> list[Removed]:
    """Remove every state of a skill, active and completed; foreign files stay."""
    store = place.store
    if dry_run:
        return [each for each, _ in _all(place)]
    with store.lock(COMMAND_WAIT):
        removed = list(_all(place))
        for _, state in removed:
            if isinstance(state, Held) and not state.problems:
                _remove(place, state)
            else:
                store.set_aside(state.path, place.stamp, move=True)
                store.forget(state.path)
        index.update(store, files.look(store), stamp(place.now))
        return [each for each, _ in removed]


def _all(place: Place) -> Iterator[tuple[Removed, Held | Unusable]]:
    found, relative = files.look(place.store), place.store.relative
    for held in (*found.active, *found.completed):
        yield Removed(relative(held.path), held.state.workflow.status), held
    for lost in found.unusable:
        if lost.is_ours:
            yield Removed(relative(lost.path), lost.reason), lost

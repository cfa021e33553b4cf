"""Write what a view found due: states, copies, what is set aside, and what the ledger has to know.

All of it is called inside the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from holdfast import clock, ledger
from holdfast.errors import HoldfastError, NewerRecord, StateOutOfReach
from holdfast.formats.base import Place
from holdfast.formats.canonical import endings, files
from holdfast.formats.canonical.files import Held
from holdfast.formats.canonical.state import State, read
from holdfast.formats.canonical.view import Known, View
from holdfast.records import replace


def due(view: View) -> bool:
    return bool(
        any(each.differs for each in view.known)
        or any(each.broken for each in view.unusable)
        or (view.deleted and not view.ledger.newer)
        or any(_uncopied(view, each) for each in view.known)
    )


def _uncopied(view: View, known: Known) -> bool:
    held, store = known.held, view.place.store
    if held is None or held.newer or store.copied_since(held.path, held.mtime):
        return False
    return not store.copies_left_alone(held.path)


def save(view: View) -> tuple[list[str], HoldfastError | None]:
    """Save all that is due. One workflow that cannot be written does not keep the others from it."""
    store, stamp = view.place.store, view.place.stamp
    saved: list[str] = []
    failure = None
    for unusable in view.unusable:
        if unusable.broken:
            failure = _tried(partial(store.set_aside, unusable.path, stamp, move=True)) or failure
    hidden = next((each for each in view.unusable if each.out_of_reach), None)
    for known in view.known:
        if known.differs and known.held is None and hidden:
            # It may be the very state that seems not to be there.
            failure = StateOutOfReach(hidden.path, hidden.reason)
        elif known.differs:
            error = _tried(partial(write, view.place, known, known.state))
            failure = error or failure
            saved += [] if error else [known.state.workflow]
        elif known.held and _uncopied(view, known):
            failure = _tried(partial(_copy, view.place, known.held)) or failure
    _note(view)
    return saved, failure


def _tried(step: Callable[[], object]) -> HoldfastError | None:
    try:
        step()
    except HoldfastError as error:
        return error
    return None


def _copy(place: Place, held: Held) -> None:
    place.store.keep(held.path, held.raw, _previous(place, held, held.raw))


def _note(view: View) -> None:
    """Keep in the ledger what ended, what came back, and what somebody has to be told."""
    told = repairs(view)
    if view.ledger.newer:
        return
    if not (view.deleted or view.revived or told):
        return
    store, place = view.place.store, view.place
    view.ledger.untold += told
    for key in view.revived:
        view.ledger.finished.pop(key, None)
    for each in view.deleted:
        known, name = each.known, f"{files.slug(each.state.workflow)}.json"
        archive = store.relative(store.archive(name, place.stamp, each.state.encode()))
        view.ledger.finished[known.key] = endings.tombstone(
            each.state.workflow,
            known.declarations,
            at=clock.iso(place.now),
            how="deleted",
            archive=archive,
            checkout=place.checkout,
        )
        store.forget(store.root / each.path)
    ledger.save(store, view.ledger, place.now)


def write(place: Place, known: Known, state: State) -> Path:
    """Put *state* where *known* is kept; to be called inside the lock."""
    store, held = place.store, known.held
    check(known.held, known.absorbed)
    if held is None:
        path = files.path_for_new(store, state.workflow, known.key, place.now)
    else:
        path = held.path
        if held.problems:
            store.set_aside(path, place.stamp, move=held.broken)
    encoded = _signed(place, held, state).encode()
    previous = _previous(place, held, encoded) if held else None
    store.write(path, encoded)
    store.keep(path, encoded, previous)
    if known.absorbed:
        retire(place, known.absorbed)
    return path


def check(*files_of_one: Held | None) -> None:
    """NewerRecord when one of the files may not be changed."""
    for held in files_of_one:
        if held and held.newer:
            raise NewerRecord(held.newer)


def _signed(place: Place, held: Held | None, state: State) -> State:
    """*state* with who saves it, and when; what is on disk already stays signed as it is."""
    if state.holdfast is None or (held and held.raw == state.encode()):
        return state
    signed = replace(state.holdfast, saved_at=clock.iso(place.now), saved_by=place.saver or None)
    return replace(state, holdfast=signed)


def retire(place: Place, held: Held) -> None:
    """Take a state file away, for good but for the archive."""
    store = place.store
    check(held)
    store.archive(held.path.name, place.stamp, held.state.encode())
    if held.problems and not held.broken:
        store.set_aside(held.path, place.stamp, move=False)
    store.remove(held.path)
    store.forget(held.path)


def _previous(place: Place, held: Held, encoded: bytes) -> bytes | None:
    """What undo goes back to: the state before the content, and not just our notes, changed."""
    copies = place.store.copies(held.path)
    if _content(held.raw) != _content(encoded):
        return held.raw
    if copies and _content(copies.good.encode()) != _content(encoded):
        return copies.good.encode()  # edited by hand since our last write
    return copies.previous.encode() if copies and copies.previous is not None else None


def _content(raw: bytes) -> object:
    try:
        return read(raw).content()
    except ValueError:
        return None


def notes(view: View) -> list[str]:
    """What the person has to be told, one line each."""
    troubled = [f"{each.path}: {each.trouble}" for each in view.looked if each.trouble]
    return troubled + repairs(view) + _left_alone(view)


# No hook reads a thousand copies for that; whoever works on another one is told of it then.
_TOLD_OF_COPIES = 20


def _left_alone(view: View) -> list[str]:
    """What a newer Holdfast keeps here; it stays true however often it is told."""
    held = [each for known in view.known for each in (known.held, known.absorbed) if each]
    store = view.place.store
    lines = [each.newer for each in (*held, *view.superseded)]
    latest = sorted(held, key=lambda each: each.mtime)[-_TOLD_OF_COPIES:]
    lines += [store.copies_left_alone(each.path) for each in latest]
    return [line for line in lines if line]


def repairs(view: View) -> list[str]:
    """The part of it that will be over once it is saved."""
    store, lines = view.place.store, []
    for known in view.known:
        held = known.held
        if held and held.broken:
            when = clock.iso(clock.from_mtime(held.mtime))[:19]
            lines.append(
                f"{store.relative(held.path)} could not be read ({held.problems[0]}); "
                f"the last good copy, of {when}Z, is used"
            )
        elif held and held.problems:
            lines.append(
                f"{store.relative(held.path)} has wrong fields ({', '.join(held.problems)}); "
                "they were read as far as possible, and the file as it was is kept in "
                f"{store.relative(store.private)}/quarantine"
            )
    lines += [
        f"{store.relative(each.path)} could not be read: {each.reason}"
        for each in view.unusable
        if each.broken
    ]
    return lines + [f"{each.state.workflow}: {each.known.remark}" for each in view.deleted]

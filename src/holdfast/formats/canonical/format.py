"""The canonical format as the rest of the house sees it: sync, and inspect."""

from __future__ import annotations

from pathlib import Path

from holdfast import clock, ledger
from holdfast.errors import HoldfastError
from holdfast.formats.base import Place, Report, Survey
from holdfast.formats.canonical import files, identity, inspection
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.sources.look import look_at_markdown
from holdfast.formats.canonical.state import State
from holdfast.formats.canonical.view import Known, View


class Canonical:
    """See docs/formats/canonical.md."""

    name = "canonical"

    def present(self, place: Place) -> bool:
        looked = look_at_markdown(place.root, place.settings.plans)
        return any(each.declaration for each in looked) or bool(files.paths(place.root))

    def sync(self, place: Place, wait: float | None) -> Survey:
        view = views.look(place)
        survey = Survey()
        if wait is not None and _due(view):
            try:
                with place.store.lock(wait):
                    view = views.look(place)  # what was read outside the lock may be old
                    survey.saved = _save(view)
            except HoldfastError as error:
                survey.failure = error
        survey.workflows = [views.workflow_of(each, place) for each in view.known]
        survey.looked = _looked(view)
        survey.notes = _notes(view)
        return survey

    def inspect(self, path: Path, raw: bytes) -> Report | None:
        """What a strict reader of the document would object to."""
        return inspection.inspect(path, raw)


def _due(view: View) -> bool:
    return bool(
        any(each.differs for each in view.known)
        or any(each.broken for each in view.unusable)
        or view.deleted
        or any(_uncopied(view, each) for each in view.known)
    )


def _uncopied(view: View, known: Known) -> bool:
    held = known.held
    return held is not None and not view.place.store.copied_since(held.path, held.mtime)


def _save(view: View) -> list[str]:
    store, stamp = view.place.store, stamp_of(view.place)
    for unusable in view.unusable:
        if unusable.broken:
            store.set_aside(unusable.path, stamp, move=True)
    saved = []
    for known in view.known:
        if known.differs:
            write(view.place, known, known.state)
            saved.append(known.state.workflow)
        elif known.held and _uncopied(view, known):
            store.keep(
                known.held.path, known.held.raw, _previous(view.place, known, known.held.raw)
            )
    _note(view)
    return saved


def _note(view: View) -> None:
    """Keep in the ledger what ended, what came back, and what somebody has to be told."""
    notes = _notes(view)
    if not (view.deleted or view.revived or notes):
        return
    store = view.place.store
    view.ledger.untold += notes
    for key in view.revived:
        view.ledger.finished.pop(key, None)
    for known, tombstone in view.deleted:
        archive = store.archive(
            f"{files.slug(tombstone.name)}.json", stamp_of(view.place), known.state.encode()
        )
        view.ledger.finished[known.key] = ledger.Tombstone(
            **{**vars(tombstone), "archive": store.relative(archive)}
        )
        forget_copies_of(view.place, known.key)
    ledger.save(store, view.ledger)


def forget_copies_of(place: Place, key: str) -> None:
    """Drop the copies of a workflow that has ended; its last state is in the archive."""
    store = place.store
    for copies in store.all_copies():
        try:
            state = State.model_validate_json(copies.good)
        except ValueError:
            continue
        path = store.root / copies.path
        if not path.exists() and identity.of_state(state, place.settings.plans) == key:
            store.forget(path)


def stamp_of(place: Place) -> str:
    return place.now.strftime("%Y%m%d_%H%M%S")


def write(place: Place, known: Known, state: State) -> Path:
    """Put *state* where *known* is kept; to be called inside the lock."""
    store, held = place.store, known.held
    if held is None:
        path = files.path_for_new(store, state.workflow, known.key, place.now)
    else:
        path = held.path
        if held.problems:
            store.set_aside(path, stamp_of(place), move=held.broken)
    encoded = state.encode()
    previous = _previous(place, known, encoded)
    store.write(path, encoded)
    store.keep(path, encoded, previous)
    return path


def _previous(place: Place, known: Known, encoded: bytes) -> bytes | None:
    """What undo goes back to: the state before the content, and not just our notes, changed."""
    if known.held is None:
        return None
    copies = place.store.copies(known.held.path)
    before = known.held.raw
    if _content(before) != _content(encoded):
        return before
    if copies and _content(copies.good.encode()) != _content(encoded):
        return copies.good.encode()  # edited by hand since our last write
    return copies.previous.encode() if copies and copies.previous is not None else None


def _content(raw: bytes) -> object:
    try:
        return State.model_validate_json(raw).model_dump(exclude={"holdfast"})
    except ValueError:
        return None


def _looked(view: View) -> list[tuple[str, str]]:
    store = view.place.store
    found = [(each.path, each.reason) for each in view.looked]
    for known in view.known:
        if known.held:
            what = f"state of {known.state.workflow!r}"
            found.append((store.relative(known.held.path), what))
    found += [
        (store.relative(each.path), f"an older state of {each.state.workflow!r}")
        for each in view.superseded
    ]
    return found + [(store.relative(each.path), each.reason) for each in view.unusable]


def _notes(view: View) -> list[str]:
    store, notes = view.place.store, []
    for known in view.known:
        held = known.held
        if held and held.broken:
            when = clock.iso(clock.from_mtime(held.mtime))[:19]
            notes.append(
                f"{store.relative(held.path)} could not be read ({held.problems[0]}); "
                f"the last good copy, of {when}Z, is used"
            )
        elif held and held.problems:
            notes.append(
                f"{store.relative(held.path)} has wrong fields ({', '.join(held.problems)}); "
                f"see holdfast inspect"
            )
    notes += [
        f"{store.relative(each.path)} could not be read: {each.reason}"
        for each in view.unusable
        if each.broken
    ]
    return notes + [f"{known.state.workflow}: {known.remark}" for known, _ in view.deleted]

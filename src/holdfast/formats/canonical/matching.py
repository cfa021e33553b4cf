"""Which declarations and state files are about the same workflow.

A workflow is known by its plan's path where it has one, else by its name. It is never known by its
folder's name, which may be shortened, shared or chosen by another tool.

Rule 1: a file goes by the key that we noted in it. Where several files carry one key under different
        names (somebody copied a file), it belongs to one of them and the others go by their names.
        No file is ever hidden behind one of another name.
Rule 2: a declaration has the state with its key; else the one with the name of CLAUDE.local.md; else
        one that calls itself by its name; else, for a plan, one that says it is that plan's: it
        requires the plan and its context names the plan's number or folder. Requiring a plan is not
        enough, since a QA loop may read the plan of the feature that it checks.
Rule 3: a plan that was renamed or moved keeps its state: the old path is gone, the plan's title is the
        same, and so is the folder's name but for its number, or else the work: its phases, and no new boxes.
Rule 4: when CLAUDE.local.md comes to point at a plan, and both had a state, the two become one.
Rule 5: an ended workflow stays ended, although the markdown that declares it is still there. Its tombstone
        holds what each source declared and which checkboxes were open, and it holds as long as no source
        says something new: one that is gone, that is closed or whose boxes were ticked says nothing new.
        On another branch, where the plan may be older, the name alone decides. What ended in the main
        worktree has ended in the linked ones. Deleting the state file is the document's way to end a
        workflow, so that counts too.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.config.project import main_worktree
from holdfast.files.store import LARGEST, Store
from holdfast.formats.canonical.files import FOLDER, KIND, StateFile
from holdfast.formats.canonical.model import LastStatement, State, short_digest
from holdfast.formats.canonical.sources import Declaration
from holdfast.records import ledger as ledgers
from holdfast.records.ledger import Ledger, Tombstone

_PLAN = "canonical:plan:"


def by_plan(path: str) -> str:
    return _PLAN + unicodedata.normalize("NFC", path)


def plan_of(key: str) -> str | None:
    return key.removeprefix(_PLAN) if key.startswith(_PLAN) else None


def by_name(name: str) -> str:
    """The key of a workflow without a plan."""
    return f"canonical:name:{' '.join(unicodedata.normalize('NFC', name).casefold().split())}"


def key_of(state: State) -> str:
    """The key that was noted in *state*, else the one of its name."""
    return state.holdfast.identity if state.holdfast else by_name(state.workflow)


class Declared(NamedTuple):
    """The declarations of one workflow: CLAUDE.local.md with the plan that it points at, or a plan."""

    key: str
    declarations: Sequence[Declaration]

    @property
    def local(self) -> Declaration | None:
        first = self.declarations[0]
        return first if first.source == "local" else None

    @property
    def name(self) -> str:
        """CLAUDE.local.md is read first, so its name counts before the plan's title."""
        return next((said.workflow for said in self.declarations if said.workflow), self.key)

    @property
    def keys(self) -> tuple[str, ...]:
        local = self.local
        return (self.key, by_name(local.workflow)) if local and local.workflow else (self.key,)

    @property
    def plan(self) -> str | None:
        return plan_of(self.key)


def group(declarations: Sequence[Declaration]) -> list[Declared]:
    """One group a workflow, the one of CLAUDE.local.md first.

    It has the plan that it points at; else the one plan that has its name, so that a workflow that
    is declared twice is one.
    """
    local = [said for said in declarations if said.source == "local"]
    plans = {by_plan(said.path): said for said in declarations if said.source == "plan"}
    groups = []
    for said in local:
        name = by_name(said.workflow or "")
        same = [key for key, plan in plans.items() if by_name(plan.workflow or "") == name]
        key = by_plan(said.plan) if said.plan else same[0] if len(same) == 1 else None
        plan = plans.pop(key, None) if key else None
        groups.append(Declared(key or name, [said, plan] if plan else [said]))
    return groups + [Declared(key, [plan]) for key, plan in plans.items()]


class Matched:
    """The states that are there, by key, and which of them each group has."""

    def __init__(self) -> None:
        self.files: dict[str, StateFile] = {}
        self.superseded: list[StateFile] = []  # older files of the same name
        self.of_group: dict[str, str] = {}  # group key -> key of its state
        self.absorbed: dict[str, str] = {}  # group key -> key of a second state

    @property
    def free(self) -> list[str]:
        taken = {*self.of_group.values(), *self.absorbed.values()}
        return [key for key in self.files if key not in taken]


def match(files: Sequence[StateFile], groups: Sequence[Declared], store: Store) -> Matched:
    """Rules 1 to 4."""
    matched = Matched()
    for key, file in zip(_keys(files), files, strict=True):
        other = matched.files.get(key)
        if other is not None:
            older, newer = sorted((file, other), key=lambda one: (one.mtime, one.path.name))
            matched.superseded.append(older)
        matched.files[key] = newer if other else file
    ways: list[Callable[[Declared, str, State], bool]] = [
        lambda group, key, _: key == group.key,
        lambda group, key, _: key in group.keys,
        lambda group, _, state: by_name(state.workflow) in group.keys,
        _is_the_plans,
        lambda group, key, state: _moved(group, key, state, store, by_folder=True),
        lambda group, key, state: _moved(group, key, state, store, by_folder=False),
    ]
    for way in ways:
        for group in groups:
            if group.key in matched.of_group:
                continue
            free = (key for key in matched.free if way(group, key, matched.files[key].state))
            if (found := next(free, None)) is not None:
                matched.of_group[group.key] = found
    for group in groups:
        second = next((key for key in matched.free if key in group.keys), None)
        if second is not None and group.key in matched.of_group:
            # The one by the plan's key was found first; that of CLAUDE.local.md has its name.
            matched.absorbed[group.key] = matched.of_group[group.key]
            matched.of_group[group.key] = second
    return matched


def _keys(files: Sequence[StateFile]) -> list[str]:
    """Rule 1."""
    owners: dict[str, str] = {}
    for file in sorted(files, key=_claim, reverse=True):
        owners.setdefault(key_of(file.state), by_name(file.state.workflow))
    keys = []
    for file in files:
        name, noted = by_name(file.state.workflow), key_of(file.state)
        keys.append(noted if owners[noted] == name else name)
    return keys


def _claim(file: StateFile) -> tuple[bool, bool, float]:
    """How well a file's name goes with the key that is noted in it."""
    state = file.state
    name = by_name(state.workflow)
    saved = state.holdfast.seen.get("saved") if state.holdfast else None
    unrenamed = saved is not None and by_name(saved.workflow or "") == name
    return key_of(state) == name, unrenamed, file.mtime


def _is_the_plans(group: Declared, key: str, state: State) -> bool:
    plan = group.plan
    if plan is None or plan_of(key) is not None:
        return False
    if by_name(state.workflow) == by_name(group.name):
        return True
    required = {
        item.strip().removeprefix("@").removeprefix("./") for item in state.required_reading
    }
    number, _, name = PurePosixPath(plan).parent.name.partition("-")
    named = {str(state.context.get(field)) for field in ("plan_name", "feature_name")}
    numbered = str(state.context.get("plan_number", ""))
    return plan in required and (
        name in named
        or (numbered.isdecimal() and number.isdecimal() and int(numbered) == int(number))
    )


def _moved(group: Declared, key: str, state: State, store: Store, *, by_folder: bool) -> bool:
    """Rule 3, by the name of the folder, without its number, or by the work."""
    now, before, kept = group.plan, plan_of(key), state.holdfast
    if now is None or before is None or store.inputs.leads_somewhere(store.root / before):
        return False
    seen = kept.seen.get("plan") if kept else None
    title = by_name((seen and seen.workflow) or state.workflow)
    plans = [said for said in group.declarations if said.source == "plan"]
    if title not in {by_name(said.workflow or "") for said in plans}:
        return False
    if by_folder:
        name, old = (PurePosixPath(path).parent.name.partition("-")[2] for path in (now, before))
        return name == old != ""
    if kept is None or not kept.phases:
        return False
    phases, work = {_phase_digest(phase.name) for phase in kept.phases}, _work(plans)
    return phases <= work <= phases.union(kept.open_items)


def absorb(state: State, other: State) -> State:
    """Rule 4: *state* with what *other* has beside it. What was changed later counts."""
    kept, theirs = state.holdfast, other.holdfast
    later = other
    if kept is not None and (theirs is None or theirs.changed_at <= kept.changed_at):
        later = state
    earlier = state if later is other else other
    joined = state.model_copy(
        update={
            **(other.model_extra or {}),
            **(state.model_extra or {}),
            "phase": later.phase,
            "required_reading": _one_each(state.required_reading, other.required_reading),
            "key_reminders": _one_each(state.key_reminders, other.key_reminders),
            "context": {**earlier.context, **later.context},
            "created_at": min(state.created_at, other.created_at, key=_moment),
        }
    )
    if kept is None or theirs is None:
        return joined
    lists = ("required_reading", "key_reminders", "context")
    own = {name: _one_each(getattr(kept.own, name), getattr(theirs.own, name)) for name in lists}
    # What the other had is known, and not a change of this moment.
    known = {
        "seen": {**theirs.seen, **kept.seen, "saved": LastStatement.said_by(joined)},
        "own": kept.own.model_copy(update=own),
        "phases": kept.phases or theirs.phases,
    }
    return joined.model_copy(update={"holdfast": kept.model_copy(update=known)})


def _one_each(items: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*items, *more]))


def _moment(text: str) -> datetime:
    return clock.parse(text) or datetime.max.replace(tzinfo=UTC)


# Rule 5.


def said_at_the_end(declarations: Sequence[Declaration]) -> dict[str, Any]:
    """The part of a tombstone that keeps a workflow from coming back by itself."""
    return {
        "declared": {said.path: _digest(said) for said in declarations},
        "titles": {said.path: by_name(said.workflow or "") for said in declarations},
        "work": tuple(sorted(_work(declarations))),
    }


def resting(
    store: Store, ledger: Ledger, group: Declared, checkout: str | None
) -> tuple[Tombstone, Store] | None:
    """The tombstone of *group* and its path; one in the main worktree counts in all, as they share plans."""
    main = main_worktree(str(store.root), store.inputs)
    for place in (store, Store(main, store.inputs)) if main else (store,):
        entries = ledger if place is store else ledgers.load(place)
        for stone in entries.finished.values():
            if _holds(stone, group, place, checkout or ""):
                return stone, place
    return None


def last_state(store: Store, stone: Tombstone) -> State:
    """The state that was archived under *stone*; ValueError or StateUnreadable when it is gone."""
    # The ledger lies in the project; what it names may not be anywhere else.
    archive = store.inputs.real_path(store.private / "archive")
    raw, _ = store.inputs.read_file(store.root / stone.archive, LARGEST, within=archive)
    return KIND.parse(raw)


def _holds(stone: Tombstone, group: Declared, store: Store, checkout: str) -> bool:
    if stone.checkout != checkout:
        # Another branch has an older version of the plan, with boxes that are open there.
        return all(
            stone.titles.get(said.path) == by_name(said.workflow or "")
            for said in group.declarations
        )
    return all(_is_known(stone, said, store) for said in group.declarations) and (
        _work(group.declarations) <= set(stone.work)
    )


def _is_known(stone: Tombstone, said: Declaration, store: Store) -> bool:
    """Whether *said* is what was declared when the workflow ended, also in a renamed folder."""
    digest_now = _digest(said)
    if said.path in stone.declared:
        return stone.declared[said.path] == digest_now
    return any(
        known == digest_now and not store.inputs.leads_somewhere(store.root / path)
        for path, known in stone.declared.items()
    )


def _digest(said: Declaration) -> str:
    return short_digest(json.dumps(_stated(said, LastStatement.said_by(said)), sort_keys=True))


def _stated(said: Declaration, seen: LastStatement) -> dict[str, object]:
    """What *seen* states, without what follows from ticking a box, linking a file in a plan or
    renaming its folder."""
    stated = {**vars(seen), "phase": seen.phase and vars(seen.phase)}
    if said.phase and said.phase.derived:
        stated["phase"] = None
    if said.source == "plan":
        stated["required_reading"] = None
    by_folder = {"plan_number", "plan_name"}
    context = (seen.context or {}).items()
    stated["context"] = {key: value for key, value in context if key not in by_folder}
    return stated


def _work(declarations: Sequence[Declaration]) -> set[str]:
    """What there is to do: open checkboxes, and the phases by name. More of it is new work."""
    return {
        *(short_digest(item) for said in declarations for item in said.open_items),
        *(_phase_digest(phase.name) for said in declarations for phase in said.phases),
    }


def _phase_digest(name: str) -> str:
    return short_digest(f"phase: {name}")


def gone(store: Store) -> Iterator[tuple[str, State]]:
    """Path and last copy of each state whose file was deleted."""
    for copies in store.all_copies():
        if store.inputs.leads_somewhere(store.root / copies.path):
            continue
        try:
            yield copies.path, KIND.parse(copies.good)
        except ValueError:
            continue


def deleted(
    lost: Sequence[tuple[str, State]], group: Declared, store: Store, checkout: str | None
) -> tuple[str, State] | None:
    """The state of *group* that was deleted to end it, if that is how it came to have none."""
    for path, state in lost:
        if key_of(state) in group.keys and (
            _says_nothing_new(state, group, checkout) or _deleted_after_the_last_edit(group, store)
        ):
            return path, state
    return None


def _says_nothing_new(state: State, group: Declared, checkout: str | None) -> bool:
    kept = state.holdfast
    if kept is None:
        return False
    for said in group.declarations:
        base = kept.seen.get(said.source)
        if base is None:
            return False
        if said.source == "plan" and kept.checkout not in {None, checkout or ""}:
            if by_name(said.workflow or "") != by_name(base.workflow or ""):
                return False
            continue
        now = LastStatement.said_by(said).over(base)
        new_work = {short_digest(item) for item in said.open_items} - set(kept.open_items)
        if new_work or _stated(said, now) != _stated(said, base):
            return False
    return True


def _deleted_after_the_last_edit(group: Declared, store: Store) -> bool:
    # Removing a workflow's folder changes the time of the folder that it lay in.
    folder = store.inputs.stat(store.root / FOLDER)
    return folder is not None and folder.st_mtime > max(said.mtime for said in group.declarations)

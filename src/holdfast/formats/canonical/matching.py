"""Which state file belongs to which declaration.

Rule 1: a file goes by the key that we noted in it. Where several files carry one key under different
        names (somebody copied a file), it belongs to one of them and the others go by their names.
        No file is ever hidden behind one of another name.
Rule 2: a declaration has the state with its key; else the one with the name of CLAUDE.local.md; else
        one that calls itself by its name; else, for a plan, one that says it is that plan's: it
        requires the plan and its context names the plan's number or folder. To require a plan is not
        enough, since a QA loop may read the plan of the feature that it checks.
Rule 3: a plan whose folder was renamed keeps its state: the old path is gone, the plan's title is the
        same, and so is the folder's name or else its number.
Rule 4: when CLAUDE.local.md comes to point at a plan, and both had a state, the two become one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from holdfast import clock
from holdfast.formats.canonical.files import Held
from holdfast.formats.canonical.identity import Group, by_name, plan_of
from holdfast.formats.canonical.state import State, seen_of_state
from holdfast.records import Record, made, replace


class Matched(Record, frozen=False):
    """The states that are there, by key, and which of them each group has."""

    held: dict[str, Held] = made(factory=dict)
    superseded: list[Held] = made(factory=list)  # older files of the same name
    of_group: dict[str, str] = made(factory=dict)  # group key -> key of its state
    absorbed: dict[str, str] = made(factory=dict)  # group key -> key of a second state

    @property
    def free(self) -> list[str]:
        taken = {*self.of_group.values(), *self.absorbed.values()}
        return [key for key in self.held if key not in taken]


def match(held: Sequence[Held], groups: Sequence[Group], root: Path) -> Matched:
    """Rules 1 to 4."""
    matched = Matched()
    for key, each in zip(_keys(held), held, strict=True):
        other = matched.held.get(key)
        newer = other is None or (each.mtime, each.path.name) > (other.mtime, other.path.name)
        older = other if newer else each
        if newer:
            matched.held[key] = each
        if older is not None:
            matched.superseded.append(older)
    ways: list[Callable[[Group, str, State], bool]] = [
        lambda group, key, _: key == group.key,
        lambda group, key, _: key in group.keys,
        lambda group, _, state: by_name(state.workflow) in group.keys,
        _is_the_plans,
        lambda group, key, state: _moved(group, key, state, root, part=2),
        lambda group, key, state: _moved(group, key, state, root, part=0),
    ]
    for way in ways:
        for group in groups:
            if group.key in matched.of_group:
                continue
            free = [key for key in matched.free if way(group, key, matched.held[key].state)]
            if free:
                matched.of_group[group.key] = free[0]
    for group in groups:
        second = [key for key in matched.free if key in group.keys]
        if second and group.key in matched.of_group:
            # The one by the plan's key was found first; that of CLAUDE.local.md has its name.
            matched.absorbed[group.key] = matched.of_group[group.key]
            matched.of_group[group.key] = second[0]
    return matched


def _keys(held: Sequence[Held]) -> list[str]:
    """Rule 1."""
    owners: dict[str, str] = {}
    for each in sorted(held, key=_claim, reverse=True):
        owners.setdefault(_noted(each.state), by_name(each.state.workflow))
    keys = []
    for each in held:
        name, noted = by_name(each.state.workflow), _noted(each.state)
        keys.append(noted if owners[noted] == name else name)
    return keys


def _noted(state: State) -> str:
    return state.holdfast.identity if state.holdfast else by_name(state.workflow)


def _claim(held: Held) -> tuple[bool, bool, float]:
    """How well a file's name goes with the key that is noted in it."""
    state = held.state
    name = by_name(state.workflow)
    saved = state.holdfast.seen.get("saved") if state.holdfast else None
    unrenamed = saved is not None and by_name(saved.workflow or "") == name
    return _noted(state) == name, unrenamed, held.mtime


def _is_the_plans(group: Group, key: str, state: State) -> bool:
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
        name in named or (numbered.isdigit() and number.isdigit() and int(numbered) == int(number))
    )


def _moved(group: Group, key: str, state: State, root: Path, *, part: int) -> bool:
    """Rule 3, by the name of the folder (*part* 2 of "001-user-auth") or by its number (*part* 0)."""
    now, before = group.plan, plan_of(key)
    if now is None or before is None or (root / before).exists():
        return False
    seen = state.holdfast.seen.get("plan") if state.holdfast else None
    title = by_name((seen and seen.workflow) or state.workflow)
    titles = {by_name(each.workflow or "") for each in group.declarations if each.source == "plan"}
    same, old = (PurePosixPath(path).parent.name.partition("-")[part] for path in (now, before))
    return title in titles and bool(same) and same == old


def absorb(state: State, other: State) -> State:
    """Rule 4: *state* with what *other* has beside it. What was changed later counts."""
    kept, theirs = state.holdfast, other.holdfast
    earlier, later = state, other
    if kept is not None and (theirs is None or theirs.changed_at <= kept.changed_at):
        earlier, later = other, state
    content = {
        "more": {**state.more, **other.more, **state.more},
        "phase": later.phase,
        "required_reading": _one_each(state.required_reading, other.required_reading),
        "key_reminders": _one_each(state.key_reminders, other.key_reminders),
        "context": {**earlier.context, **later.context},
        "created_at": min((state.created_at, other.created_at), key=_moment),
    }
    joined = replace(state, **content)
    if kept is None or theirs is None:
        return joined
    own = replace(
        kept.own,
        **{
            name: _one_each(getattr(kept.own, name), getattr(theirs.own, name))
            for name in ("required_reading", "key_reminders", "context")
        },
    )
    # What the other had is known, and not a change of this moment.
    seen = {**theirs.seen, **kept.seen, "saved": seen_of_state(joined)}
    known = {"seen": seen, "own": own, "phases": kept.phases or theirs.phases}
    return replace(joined, holdfast=replace(kept, **known))


def _one_each(items: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*items, *more]))


def _moment(text: str) -> datetime:
    return clock.parse(text) or datetime.max.replace(tzinfo=UTC)

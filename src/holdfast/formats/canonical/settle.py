"""Which value of one field holds: the rules 1 to 4 and 7 of merge.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from holdfast.formats.canonical.declaration import Declaration
from holdfast.formats.canonical.state import Seen, State
from holdfast.records import Record, replace

T = TypeVar("T")
ORDER = ("local", "plan")  # rule 4
SILENT: Any = object()  # not mentioned; unlike None, which context may hold
NO_BASE: Any = object()


class Side(Record):
    """What one markdown source says of one field, and what it said before."""

    value: Any
    base: Any
    mtime: float


class Inputs(Record):
    """All that a merge reads."""

    saved: State | None
    saved_mtime: float
    declarations: Sequence[Declaration]
    identity: str
    branch: str | None  # that the session works on
    checkout: str  # branch of the checkout that the plan lies in; "" without one
    now: datetime

    def ranked(self) -> Inputs:
        """The same with the declarations in the order of rule 4."""
        ranked = sorted(self.declarations, key=lambda each: ORDER.index(each.source))
        return replace(self, declarations=tuple(ranked))

    def base(self, source: str) -> Seen | None:
        """What *source* said when we last looked.

        Another branch has another version of the plan. A checkout is no edit, so each branch has a
        base of its own, and the first sight of a branch's version is its base.
        """
        kept = self.saved.holdfast if self.saved else None
        if kept is None:
            return None
        if source != "plan" or kept.checkout in {None, self.checkout}:
            return kept.seen.get(source)
        now = next((each for each in self.declarations if each.source == "plan"), None)
        return kept.elsewhere.get(self.checkout) or (Seen.of(now) if now else None)

    def sides(self, field: str) -> list[Side]:
        """Each markdown source's say on *field*, best first."""
        found = []
        for declaration in self.declarations:
            value = getattr(Seen.of(declaration), field)
            base = self.base(declaration.source)
            if value is None or (self.saved and _only_fills_gaps(declaration, field, base)):
                continue
            found.append(
                Side(value, NO_BASE if base is None else getattr(base, field), declaration.mtime)
            )
        return found


def _only_fills_gaps(declaration: Declaration, field: str, base: Seen | None) -> bool:
    """Rule 7."""
    if field == "workflow_type":
        return declaration.type_guessed
    return field == "workflow" and declaration.source == "plan" and base is None


class Winners:
    """Decides field by field, and remembers when the latest winning change was made."""

    def __init__(self, inputs: Inputs) -> None:
        self.saved_mtime = inputs.saved_mtime
        self.changed: list[float] = []

    def settle(self, value: T, base: Any, sides: Iterable[Side]) -> T:
        """The value that holds: that of the saved file, or of the first side that beats it."""
        saved_changed = base is NO_BASE or value != base
        for side in sides:
            if side.value == side.base:
                continue
            newer = side.mtime > self.saved_mtime
            if newer or not (saved_changed or side.base is NO_BASE):
                if side.value != value:
                    self.changed.append(side.mtime)
                return side.value  # type: ignore[no-any-return]  # sides carry the field's own type
        if saved_changed:
            self.changed.append(self.saved_mtime)
        return value

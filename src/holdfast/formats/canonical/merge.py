"""The three-way merge of a saved state with what the markdown declares now.

Three sources speak of one workflow: CLAUDE.local.md ("local"), the plan, and the saved file, which
agents advance by commands, by jq or by hand. For each we kept what it said when we last looked.

Rule 1: what a source does not mention is no change. Silence never deletes anything.
Rule 2: a source has changed when it says something else than it did. If one side changed, it wins.
Rule 3: if the saved file and the markdown both changed, the newer file wins; a tie goes to the
        saved file. Without a base (a file of another tool, a source that is new) the same holds.
Rule 4: between two markdown sources that both changed, CLAUDE.local.md goes before the plan, whatever their
        times: any edit of the plan, even a corrected typo, makes its file newer.
Rule 5: a phase (current, total, name) moves as one; its status by itself. Only the status of the
        phase that was left does not move along into a new one: that has the status that is stated
        with it, else it is in progress.
Rule 6: a phase derived from checkboxes moves only a phase that is counted in the same total, so
        that a plan with three headings does not turn "4 of 10" into "3 of 3"; or one that only
        somebody who wrote the state by hand has counted, once boxes are ticked that lead ahead of it,
        or once a plan without phases has got some.
        Where a command has gone ahead of the boxes, ticking them late does not set the work back.
Rule 7: a plan's title and a guessed type only fill a gap; they rename nothing that has a name.
Rule 8: lists are united in order, context key by key. An item goes only when the one source that
        had it dropped it.
Rule 9: a checkout is not an edit. What a plan says on a branch is compared with what it said there before.
Rule 10: created_at never changes, keys that we do not know stay, merging twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from holdfast import clock
from holdfast.files.ownjson import VERSION
from holdfast.formats.canonical.files import StateFile
from holdfast.formats.canonical.matching import Declared
from holdfast.formats.canonical.model import (
    Bookkeeping,
    KnownPhase,
    LastStatement,
    OwnAdditions,
    Phase,
    State,
    StatedPhase,
    blank,
    complete_mark,
    names_of,
    of_phase,
    short_digest,
)
from holdfast.formats.canonical.sources import Declaration, PhaseMark, Status
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.engine.workflow import Place

T = TypeVar("T")
_ORDER = ("local", "plan")  # rule 4
_SILENT: Any = object()  # not mentioned; unlike None, which context may hold
_NO_BASE: Any = object()
_MOST_BRANCHES = 20


class _Side(NamedTuple):
    value: Any
    base: Any
    mtime: float


def merge(place: Place, file: StateFile | None, group: Declared | None, key: str) -> State:
    """The state that holds now of the workflow *key*: what *file* and *group* come to."""
    return _Merge(place, file, group, key).result()


class _Merge:
    """One merge, field by field; it remembers when the latest change that won was made."""

    def __init__(
        self, place: Place, file: StateFile | None, group: Declared | None, key: str
    ) -> None:
        self.place, self.key = place, key
        self.checkout = place.checkout or ""  # the branch that the plan is on
        self.is_new = file is None  # then any source beats what the state begins with
        self.saved = file.state if file else blank(key, clock.iso(place.now))
        self.saved_mtime = file.mtime if file else 0.0
        self.kept = self.saved.holdfast
        declarations = group.declarations if group else ()
        self.sources = sorted(declarations, key=lambda said: _ORDER.index(said.source))
        self.said: dict[str, LastStatement] = {
            source.source: LastStatement.said_by(source) for source in self.sources
        }
        self.bases = {source: self._base(source) for source in (*_ORDER, "saved")}
        self.changed: list[float] = []

    def _base(self, source: str) -> LastStatement | None:
        """What *source* said at the last look.

        Another branch has another version of the plan. A checkout is not an edit, so each branch has
        its own base: the first version seen on that branch.
        """
        if self.kept is None:
            return None
        if source != "plan" or self.kept.checkout in {None, self.checkout}:
            return self.kept.seen.get(source)
        return self.kept.elsewhere.get(self.checkout) or self.said.get("plan")

    def result(self) -> State:
        """What the saved state has become."""
        saved, kept, base = self.saved, self.kept, self.bases["saved"]
        phases = self._known_phases()
        phase = self._phase(phases)
        saved_reading = [normal_reading(item) for item in saved.required_reading]
        reading, own_reading = self._united("required_reading", saved_reading)
        reminders, own_reminders = self._united("key_reminders", saved.key_reminders)
        context, own_context = self._united_context()
        if saved.phase.status == "blocked" != phase.status:
            context.pop("blocked_by", None)
        merged = saved.model_copy(
            update={
                "workflow": self._settle_field("workflow", saved.workflow),
                "workflow_type": self._settle_field("workflow_type", saved.workflow_type),
                "phase": phase,
                "required_reading": reading,
                "key_reminders": reminders,
                "context": context,
            }
        )
        own = OwnAdditions(
            required_reading=own_reading,
            key_reminders=own_reminders,
            context=[key for key in own_context if key in context],
            phases=bool(kept and kept.own.phases),
        )
        before = base and (base.required_reading, base.key_reminders, (base.context or {}).keys())
        if self.is_new or (base and before != (reading, reminders, context.keys())):
            self.changed += [self.saved_mtime, *(source.mtime for source in self.sources)]
        return self._with_bookkeeping(merged, own, phases)

    def _changed_at(self) -> datetime:
        """When an agent or a person last changed anything."""
        recorded = clock.parse(self.kept.changed_at) if self.kept else None
        mtimes = self.changed if recorded else [self.saved_mtime, *self.changed]
        moments = [min(clock.from_mtime(mtime), self.place.now) for mtime in mtimes]
        return max([*moments, recorded] if recorded else moments)

    # One field: rules 1 to 4 and 7.

    def _was(self, source: str, field: str, key: str | None = None) -> Any:
        if (base := self.bases[source]) is None:
            return _NO_BASE
        said = getattr(base, field)
        return said if key is None else (said or {}).get(key, _SILENT)

    def _sides(self, field: str) -> list[_Side]:
        sides, only_fills_gaps = [], partial(self._only_fills_gaps, field)
        for source in sorted(self.sources, key=only_fills_gaps):
            value = getattr(self.said[source.source], field)
            if value is not None and (self.is_new or not only_fills_gaps(source)):
                sides.append(_Side(value, self._was(source.source, field), source.mtime))
        return sides

    def _only_fills_gaps(self, field: str, source: Declaration) -> bool:
        """Rule 7."""
        if field == "workflow_type":
            return source.type_guessed
        return field == "workflow" and source.source == "plan" and self.bases["plan"] is None

    def _settle_field(self, field: str, value: T) -> T:
        return self._settle(value, self._was("saved", field), self._sides(field))

    def _settle(self, value: T, base: Any, sides: Iterable[_Side]) -> T:
        """The value that holds: that of the saved file, or of the first side that beats it."""
        saved_changed = base is _NO_BASE or value != base
        for side in sides:
            if side.value == side.base:
                continue
            newer = self.is_new or side.mtime > self.saved_mtime
            if newer or not (saved_changed or side.base is _NO_BASE):
                if side.value != value:
                    self.changed.append(side.mtime)
                return side.value  # type: ignore[no-any-return]  # sides carry the field's own type
        if saved_changed:
            self.changed.append(self.saved_mtime)
        return value

    # The phase: rules 5 and 6.

    def _phase(self, phases: list[KnownPhase]) -> Phase:
        was = self.saved.phase
        value = StatedPhase() if self.is_new else StatedPhase.model_validate(was)
        sides = [side for source in self.sources if (side := self._phase_side(source, phases))]
        settled = self._settle(value, self._was("saved", "phase"), sides)
        status = self._settle_field("status", was.status)
        if settled == value and not self.is_new:
            return was.model_copy(update={"status": status})
        mark = complete_mark(settled, was, phases)
        if mark["current"] != was.current and not self.is_new:
            status = self._status_on_entry(was, settled)
        return was.model_copy(update={**mark, "status": status})

    def _status_on_entry(self, was: Phase, settled: StatedPhase) -> Status:
        """The status of a phase that markdown has just moved to (rule 5)."""
        movers = (said for said in self.sources if self.said[said.source].phase == settled)
        mover = next(movers, self.sources[-1])
        base = self.bases["saved"]
        changed = base is not None and was.status != base.status
        if changed and self.saved_mtime >= mover.mtime:
            return was.status  # set after the move was written
        return mover.status or "in_progress"

    def _phase_side(self, source: Declaration, phases: list[KnownPhase]) -> _Side | None:
        """What *source* has to say of the phase; nothing where rule 6 keeps it silent."""
        stated = self.said[source.source].phase
        if source.phase is None or stated is None:
            return None
        base = self._was(source.source, "phase")
        if source.phase.derived and stated != base:
            follows = self._follow(stated, None if base is _NO_BASE else base, phases)
            if follows is None:
                return None
            stated = follows
        return _Side(stated, base, source.mtime)

    def _follow(
        self, mark: StatedPhase, before: StatedPhase | None, phases: list[KnownPhase]
    ) -> StatedPhase | None:
        """Rule 6: where a phase derived from checkboxes leads from where the work is."""
        if self.is_new:
            return mark
        was = self.saved.phase
        if before is None and self.bases["plan"] and not self._is_counted():
            return mark  # the plan has got phases since: it knows better than `phase next --total`
        in_step = before is not None and before.current == was.current
        ahead = (mark.current or 0) > max(was.current, (before and before.current) or 0)
        if was.total not in {mark.total, before.total if before else None}:
            return mark if before and ahead and not self._is_counted() else None
        if in_step or ahead:
            return mark
        if before is None:
            return None
        # The work went on by command and the boxes follow late: the number stays, but the plan may
        # have got more phases, or another name for this one.
        known = self.kept.phases if self.kept else []
        was_called, is_called = names_of(known).get(was.current), names_of(phases).get(was.current)
        name = is_called if was.name == was_called and is_called else was.name
        return StatedPhase(current=was.current, total=max(mark.total or 0, was.current), name=name)

    def _is_counted(self) -> bool:
        """Whether CLAUDE.local.md or `start --phases` says how many phases there are."""
        local = self.said.get("local"), self.bases["local"]
        return any(said and said.phase for said in local) or bool(
            self.kept and self.kept.own.phases
        )

    # Lists and context: rule 8.

    def _united(self, field: str, current: Iterable[str]) -> tuple[list[str], list[str]]:
        """All that somebody still asserts, and what only the saved file does."""
        current = [*current]
        asserted = [item for source in _ORDER for item in self._asserted(source, field, current)]
        own, base = current, self.bases["saved"]
        if self.kept is not None and base is not None:
            listed, before = set(getattr(self.kept.own, field)), set(getattr(base, field) or ())
            own = [item for item in current if item in listed or item not in before]
        standing = {*asserted, *own}
        united = [item for item in current if item in standing] + asserted
        return list(dict.fromkeys(united)), list(dict.fromkeys(own))

    def _asserted(self, source: str, field: str, current: list[str]) -> list[str]:
        """What *source* says now, or said when it last mentioned *field* (rule 1).

        Values from that last mention can be removed from the saved file; no other source would drop them.
        """
        said, saved = self._last_said(source, field), self.bases["saved"]
        if saved is None or (source in self.said and getattr(self.said[source], field) is not None):
            return [*said]
        taken_out = set(getattr(saved, field) or ()) - {*current}
        return [item for item in said if item not in taken_out]

    def _last_said(self, source: str, field: str) -> Any:
        now, before = self.said.get(source), self.bases[source]
        said = getattr(now, field) if now else None
        return said if said is not None else (getattr(before, field) if before else None) or {}

    def _united_context(self) -> tuple[dict[str, Any], list[str]]:
        """Which keys stand as for lists, each value as for any field."""
        current = self.saved.context
        last_said = {**self._last_said("local", "context"), **self._last_said("plan", "context")}
        keys, own = self._united("context", current)
        united = {}
        for key in keys:
            sides = [
                _Side(source.context[key], self._was(source.source, "context", key), source.mtime)
                for source in self.sources
                if source.context and key in source.context
            ]
            if key in current:
                united[key] = self._settle(current[key], self._was("saved", "context", key), sides)
            else:
                united[key] = sides[0].value if sides else last_said[key]
        return united, own

    # What is only ours.

    def _known_phases(self) -> list[KnownPhase]:
        """The plan's phases, unless `start` was given others."""
        phases = (phase for source in self.sources for phase in source.phases)
        planned = [KnownPhase.model_validate(phase) for phase in phases]
        kept = self.kept
        if not kept or not kept.phases:
            return planned
        if not planned or (kept.own.phases and len(planned) != len(kept.phases)):
            return kept.phases
        return planned

    def _with_bookkeeping(self, state: State, own: OwnAdditions, phases: list[KnownPhase]) -> State:
        kept = self.kept
        before = kept.seen if kept else {}
        now = {source: said.over(self.bases[source]) for source, said in self.said.items()}
        both = {**before, **now}.items()
        seen = {source: self._without_gone(source, said, state) for source, said in both}
        seen["saved"] = LastStatement.said_by(state)
        same = kept is not None and before.get("saved") == seen["saved"]
        open_items = [short_digest(item) for source in self.sources for item in source.open_items]
        checkout, elsewhere = self._checkouts()
        next_action, gate = self._next(state, phases)
        fields: dict[str, Any] = {
            "version": VERSION,
            "identity": self.key,
            "branch": kept.branch if kept and same else self.place.branch,
            "changed_at": clock.iso(self._changed_at()),
            "next_action": next_action,
            "next_passed": self._next_passed(state),
            "gate": gate,
            "phases": phases,
            "open_items": open_items or (kept.open_items if kept else []),
            "seen": seen,
            "checkout": checkout,
            "elsewhere": elsewhere,
            "own": own,
            "ticked": kept.ticked if kept and same else None,
        }
        merged = kept.model_copy(update=fields) if kept else Bookkeeping(**fields)
        return state.model_copy(update={"holdfast": merged})

    def _without_gone(self, source: str, seen: LastStatement, state: State) -> LastStatement:
        """*seen* without what its source no longer mentions and the state no longer has."""
        now, still = self.said.get(source, LastStatement()), dict[str, Any]()
        for field in ("required_reading", "key_reminders", "context"):
            said, there = getattr(seen, field), getattr(state, field)
            if said is None or getattr(now, field) is not None:
                continue
            if isinstance(said, dict):
                still[field] = {key: value for key, value in said.items() if key in there}
            else:
                still[field] = [item for item in said if item in there]
        return seen.model_copy(update=still)

    def _checkouts(self) -> tuple[str | None, dict[str, LastStatement]]:
        """On which branch the plan is seen now, and what it said on the others."""
        kept, checkout = self.kept, self.checkout
        if "plan" not in self.said:
            return (kept.checkout, kept.elsewhere) if kept else (None, {})
        elsewhere = {**kept.elsewhere} if kept else {}
        if kept and kept.checkout not in {None, checkout} and "plan" in kept.seen:
            elsewhere[str(kept.checkout)] = kept.seen["plan"]
        elsewhere.pop(checkout, None)
        return checkout, dict(list(elsewhere.items())[-_MOST_BRANCHES:])

    def _next(self, state: State, phases: list[KnownPhase]) -> tuple[str | None, str | None]:
        """Next action and gate of the phase that holds now; what was written for another is stale."""
        if not self.sources and self.kept and not phases:
            return self.kept.next_and_gate(state.phase)
        next_action, gate = of_phase(state.phase, phases)
        passed = self._next_passed(state)
        for source in reversed(self.sources):
            if source.phase is None or _is_about(source.phase, state.phase):
                stated = None if source.next_action == passed else source.next_action
                next_action, gate = stated or next_action, source.gate or gate
        return next_action, gate

    def _next_passed(self, state: State) -> str | None:
        """What CLAUDE.local.md states as next for a phase that was left; a command may change its phase alone."""
        local = next((source for source in self.sources if source.source == "local"), None)
        if local and local.phase and not _is_about(local.phase, state.phase):
            return local.next_action
        return self.kept.next_passed if self.kept else None


def _is_about(mark: PhaseMark, phase: Phase) -> bool:
    if mark.current is None and mark.name is not None:
        return mark.name.casefold() == phase.name.casefold()
    return mark.current in {None, phase.current}

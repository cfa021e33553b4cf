"""A state in the terms that all formats share: its workflow, with the briefing."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Collection, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from holdfast import clock, ledger
from holdfast.briefing import Briefing
from holdfast.formats.base import Place, Standing, Untold, Workflow
from holdfast.formats.document import moment
from holdfast.formats.pipeline import definitions, facts
from holdfast.formats.pipeline.definitions import Definition
from holdfast.formats.pipeline.files import Found
from holdfast.formats.pipeline.machine import awaits_approval
from holdfast.formats.pipeline.model import State, Step
from holdfast.formats.pipeline.states import Held
from holdfast.project import contains

# Every state stays where it is when its workflow is over, so there may be thousands.
_TOLD_WHEN_OVER = 20


def workflows_of(found: Found, place: Place) -> list[Workflow]:
    """Those that are worked on, and the last ones that were; `pipeline list` has all of them."""
    ignored = ledger.load(place.store).ignored
    over = [row for row in found.rows if not row.is_live]
    over.sort(key=lambda row: (str(row.updated_at or ""), row.workflow_id), reverse=True)
    ended = (found.read(row) for row in over[:_TOLD_WHEN_OVER])
    told = [*found.live, *(each for each in ended if isinstance(each, Held))]
    return [workflow_of(held, place, ignored) for held in told]


def workflow_of(held: Held, place: Place, ignored: Collection[str] = ()) -> Workflow:
    stands, remark = _standing(held, place, ignored)
    return Untold(
        name=held.id,
        brief=partial(_briefing, held, stands, place),
        format="pipeline",
        key=held.key,
        standing=stands,
        changed_at=min(held.changed_at, place.now),
        created_at=moment(held.row.created_at),
        handle=held.id,
        remark=remark,
        put_away=held.row.status in {"completed", "cancelled"},
        cleared_with=f"holdfast pipeline {'resume' if held.row.over else 'cancel'} {shlex.quote(held.id)}",
        saved_at=clock.from_mtime(held.mtime),
    )


def _standing(held: Held, place: Place, ignored: Collection[str]) -> tuple[Standing, str]:
    """The standing, and one line why it is not active."""
    row = held.row
    if row.failure:
        return "finished", f"{row.failure}. Resume it: holdfast pipeline resume {held.id}"
    if row.over:
        ended = row.ended_at or held.changed_at.isoformat()
        return "finished", f"{row.status} on {str(ended)[:10]}"
    if held.key in ignored:
        return "ignored", f"ignored. Take it up again: holdfast resume {held.id}"
    untouched = place.now - min(held.changed_at, place.now)
    if untouched > timedelta(days=place.settings.stale_days):
        return "stale", f"untouched for {untouched.days} days"
    return "active", ""


def _briefing(held: Held, stands: Standing, place: Place) -> Briefing:
    state, definition = held.state, definitions.of(held.state)
    step, following, blocked = facts.next_of(state, definition)
    waits = step is not None and not state.over and awaits_approval(step, definition)
    return Briefing(
        name=held.id,
        kind=state.workflow_type,
        phase=state.current,
        phases=max(state.total, state.current),
        phase_name=step.title if step else f"Phase {state.current}",
        status=state.status,
        next_action=_next_action(state, definition),
        gate=facts.in_the_way(state, definition, step).reason if step and waits else None,
        reading=tuple(dict.fromkeys(_reading(state, place.root))) if not state.over else (),
        context=tuple(_context(state, definition).items()),
        state_path=place.store.relative(held.path),
        kept_with=(
            "holdfast pipeline next",
            *_kept_with(state, None if blocked else following, waits=waits),
        ),
        ended_with=_ended_with(state, stands),
    )


def _kept_with(state: State, following: Step | None, *, waits: bool) -> Iterator[str]:
    """The command for what is due now; an approval is a person's."""
    if following:
        yield f"holdfast pipeline update {following.number} --status in_progress"
    elif not (waits or state.over):
        yield f"holdfast pipeline update {state.current} --status completed"


def _ended_with(state: State, stands: Standing) -> str:
    if stands != "active":
        return "holdfast pipeline cancel"
    return f"holdfast pipeline update {state.total} --status completed"


def _next_action(state: State, definition: Definition) -> str | None:
    """What blocks and who unblocks it, or which step to begin with which agents."""
    step, following, blocked = facts.next_of(state, definition)
    if blocked is None and following is not None:
        agents = facts.agents(following, definition)
        by = f" with {' and '.join(agents)}" if agents else ""
        return f"Begin {state.called(following)}{by}"
    if blocked is None or (blocked.action is None and state.over):
        return None
    line = f"{blocked.reason}. {blocked.action}"
    told = facts.stress(step) if step else None
    return f"{line}. {told}" if told else line


def _context(state: State, definition: Definition) -> dict[str, Any]:
    """What is to be known to go on, beside the next action."""
    section, step = state.section, state.step
    told: dict[str, Any] = {
        "session": state.session_name,
        "scene": section.scene_id,
        "level": section.level,
        **section.context,
    }
    if step and not state.over:
        told["agents"] = ", ".join(facts.agents(step, definition))
        told["attempt"] = facts.attempt(step)
    for each in state.steps:
        if each.human_approval and each.human_approval.modifications:
            told[f"modifications of {each.title}"] = each.human_approval.modifications
    for number, variant in facts.variants(state).items():
        told[f"variant selected in {state.word} {number}"] = variant
    following = facts.next_of(state, definition).step
    if following and not state.over:
        agents = ", ".join(facts.agents(following, definition))
        told["next step"] = f"{following.title}{f' ({agents})' if agents else ''}"
    told["artefacts in"] = section.artifacts.get("working_dir")
    return {name: fact for name, fact in told.items() if fact}


def _reading(state: State, root: Path) -> Iterator[str]:
    """The artefacts that are files in the project."""
    named = [*state.section.artifacts.values()]
    for step in state.steps:
        named += step.artifacts.values()
    for each in named:
        if not isinstance(each, str):
            continue
        with contextlib.suppress(ValueError):  # no file can be called so
            real = os.path.realpath(root / each)
            if contains(str(root), real) and os.path.isfile(real):
                yield f"@{os.path.relpath(root / each, root)}"

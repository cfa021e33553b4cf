"""Choosing a session's workflow, with the reason, and finding one by name. Pure: no input or output.

A session gets the first of these that exists; docs/debugging.md has the same list:
1. the newest state that was changed, or declared anew, since the session last worked, unless another session has it. Before
   that, what CLAUDE.local.md declares, if the session followed CLAUDE.local.md: it belongs to that session;
2. the workflow that it last worked on: that it changed, by a command or by hand, or was restored into;
3. where CLAUDE.local.md declares one: the newest state that was written since, by hand or by another tool, is declared
   nowhere, and is no other session's;
4. the one declared now: CLAUDE.local.md before plans, the latest edited plan first;
5. the newest by the last change of an agent or a person.
In 4 and 5, of two that were changed at about the same time the one of the checked-out branch goes first. A workflow that is
part of another is never chosen: the briefing of the other one includes it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import NamedTuple

from holdfast import clock
from holdfast.errors import NoSuchWorkflow
from holdfast.formats import signs
from holdfast.formats.engine.workflow import BY_HAND, Workflow
from holdfast.records.session import Session

_ABOUT_THE_SAME_TIME = timedelta(minutes=10)


class Choice(NamedTuple):
    chosen: Workflow | None
    why: str
    others: tuple[Workflow, ...] = ()  # all that are not chosen, the active ones first


class Circumstances(NamedTuple):
    """Inputs to the choice besides the workflows."""

    now: datetime
    branch: str | None = None
    claim: Session | None = None
    others: Sequence[Session] = ()  # of other sessions


def choose(workflows: Sequence[Workflow], circumstances: Circumstances) -> Choice:
    """The workflow to restore."""
    ranked = sorted(workflows, key=lambda workflow: _rank(workflow, circumstances))
    active = [workflow for workflow in ranked if _may_be_chosen(workflow)]
    rest = [workflow for workflow in workflows if not _may_be_chosen(workflow)]
    if not active:
        return Choice(None, "no workflow is active", tuple(rest))
    own, claim = None, circumstances.claim
    if claim:  # its workflow may have become part of another
        whole = {workflow.key: workflow.part_of for workflow in workflows}.get(claim.workflow)
        own = next((known for known in active if known.key == (whole or claim.workflow)), None)
    if own and claim:
        chosen, why = _own_or_later(own, claim, active, circumstances)
    else:
        chosen, why = _first(active, circumstances)
    others = [workflow for workflow in active if workflow is not chosen]
    return Choice(chosen, why, (*others, *rest))


def _may_be_chosen(workflow: Workflow) -> bool:
    return workflow.standing == "active" and not workflow.part_of


def _own_or_later(
    own: Workflow, claim: Session, active: Sequence[Workflow], circumstances: Circumstances
) -> tuple[Workflow, str]:
    """*own*, the session's last workflow, or a newer one."""
    local = next((other for other in active if other.declared == "local"), None)
    if claim.follows and local and own.declared != "local":
        return local, f"it was declared after this session took up {own.name!r}"
    later = [other for other in active if _has_come_since(other, claim, circumstances)]
    newest = max(later, key=lambda other: other.changed_at, default=own)
    if newest is own:
        return own, "this session works on it"
    come = "declared" if newest.declared else "changed"
    reason = f"it was {come} after this session took up {own.name!r}"
    return newest, f"{reason}, and no other session works on it"


def _first(active: Sequence[Workflow], circumstances: Circumstances) -> tuple[Workflow, str]:
    first = active[0]
    if len(active) == 1:
        return first, f"it is the only active one: {origin(first)}"
    written = next((other for other in active if _came_after(other, first, circumstances)), None)
    if written:
        return written, f"it was changed after CLAUDE.local.md, which declares {first.name!r}"
    here = next((other for other in active if _goes_before(other, first, circumstances)), None)
    if here:
        near = f"{first.name!r} of {first.branch!r} was changed at about the same time"
        return here, f"{origin(here)}, and it is of this branch, while {near}"
    here = next(
        (other for other in active if _is_of_this_branch(other, first, circumstances)), None
    )
    older = f", though {here.name!r} is of this branch: it is clearly older" if here else ""
    before = {"local": "that goes before all else", "plan": "it is the one edited last"}
    wins = before.get(first.declared or "", "it is the newest")
    return first, f"{origin(first)}, and {wins}{older}"


def origin(workflow: Workflow) -> str:
    """Why *workflow* is a candidate."""
    if workflow.declared == "local":
        return "CLAUDE.local.md declares it"
    if workflow.declared == "plan":
        return f"{workflow.source or 'a plan'} declares it"
    return f"it was last changed on {workflow.changed_at:%Y-%m-%d}"


def _has_come_since(workflow: Workflow, claim: Session, circumstances: Circumstances) -> bool:
    """Whether *workflow* was changed, or declared anew, since *claim*, by no other session."""
    since, others = clock.parse(claim.since), circumstances.others
    taken = _is_taken(workflow, others)
    followed = workflow.declared == "local" and any(other.follows for other in others)
    if since is None or workflow.key == claim.workflow or taken or followed:
        return False
    changed = since < workflow.changed_at < circumstances.now  # not by a clock running ahead
    if not workflow.declared:
        return changed
    # Markdown has many authors, so it has to begin, which is kept in whole seconds; one that nobody has touched
    # since is only saved for the first time.
    begun = workflow.created_at or workflow.changed_at
    is_new = begun > since or (changed and begun >= since.replace(microsecond=0))
    return is_new and workflow.declared_at > since.timestamp()


def _is_taken(workflow: Workflow, others: Sequence[Session]) -> bool:
    """Whether another session works on *workflow*, or has worked on it."""
    return any(workflow.key in {other.workflow, *other.before} for other in others)


def _came_after(workflow: Workflow, first: Workflow, circumstances: Circumstances) -> bool:
    """Whether somebody wrote the state of *workflow* after *first*, which CLAUDE.local.md declares."""
    if workflow.declared or first.declared != "local" or _is_taken(workflow, circumstances.others):
        return False
    if workflow.saved_by not in {None, BY_HAND}:  # by a command, whose session owns it
        return False
    last = max(first.declared_at, first.changed_at.timestamp())
    return last < workflow.changed_at.timestamp() <= circumstances.now.timestamp()


def _goes_before(workflow: Workflow, first: Workflow, circumstances: Circumstances) -> bool:
    """Whether *workflow* beats *first*: it is on this branch and hardly older."""
    apart = _changed(first, circumstances) - _changed(workflow, circumstances)
    is_near = apart < _ABOUT_THE_SAME_TIME.total_seconds()
    return is_near and _is_of_this_branch(workflow, first, circumstances)


def _is_of_this_branch(workflow: Workflow, first: Workflow, circumstances: Circumstances) -> bool:
    """Whether *workflow* is of the branch, and the *first*, declared alike, is of another one."""
    branch = circumstances.branch
    if not branch or first.branch in {None, branch} or workflow.branch not in {None, branch}:
        return False
    return workflow.declared == first.declared


def _rank(workflow: Workflow, circumstances: Circumstances) -> tuple[object, ...]:
    source = {"local": 0, "plan": 1, None: 2}[workflow.declared]
    changed = min(workflow.changed_at, circumstances.now)
    return source, -_changed(workflow, circumstances), -changed.timestamp(), workflow.key


def _changed(workflow: Workflow, circumstances: Circumstances) -> float:
    """When *workflow* last changed, for a plan when its file was edited; at most now."""
    of_plan = workflow.declared == "plan"
    changed = workflow.declared_at if of_plan else workflow.changed_at.timestamp()
    return min(changed, circumstances.now.timestamp())


def changed_with(workflows: Sequence[Workflow], path: str, at: float) -> Workflow | None:
    """What was changed *at* that time with the file *path*, below the root: a state, or what declares one."""
    declares = path in signs.DECLARING
    for workflow in workflows:
        # Times may be in whole seconds.
        is_new = workflow.standing == "active" and workflow.changed_at.timestamp() > at - 1
        is_declared = declares and workflow.declared == "local"
        if is_new and (is_declared or folded(path) in handles(workflow)):
            return workflow
    return None


# Names.


def find(workflows: Sequence[Workflow], name: str) -> Workflow:
    """The one workflow called *name*: by full name, else plan, state file or folder, else unique prefix."""
    wanted = folded(name)
    ways: tuple[Callable[[Workflow], bool], ...] = (
        lambda workflow: folded(workflow.name) == wanted,
        lambda workflow: wanted in handles(workflow),
        lambda workflow: folded(workflow.name).startswith(wanted),
        lambda workflow: folded(workflow.handle or "").startswith(wanted),
    )
    found = next(
        (hit for way in ways if (hit := [workflow for workflow in workflows if way(workflow)])), []
    )
    active = [workflow for workflow in found if workflow.standing == "active"]
    if len(found) == 1 or len(active) == 1:
        return (active or found)[0]
    if found:
        names = ", ".join(f"{workflow.name!r} ({handles(workflow)[0]})" for workflow in found)
        raise NoSuchWorkflow(
            f"{name!r} could be any of {names}", hint="The names in brackets work too."
        )
    names = ", ".join(repr(workflow.name) for workflow in workflows)
    raise NoSuchWorkflow(f"no workflow is called {name!r}", hint=f"There are: {names or 'none'}.")


def distinct_name(workflow: Workflow, among: Sequence[Workflow]) -> str:
    """The name of *workflow*, or its plan or state file if others *among* them have that name too."""
    if sum(folded(other.name) == folded(workflow.name) for other in among) < 2:
        return workflow.name
    return workflow.source or workflow.briefing.state_path or workflow.name


def handles(workflow: Workflow) -> list[str]:
    """What else a workflow may be called: its plan, its state file, a short name or their folders."""
    paths = [path for path in (workflow.source, workflow.briefing.state_path) if path]
    folders = [PurePosixPath(path).parent.name for path in paths]
    short = [workflow.handle] if workflow.handle else folders
    return [folded(handle) for handle in (*paths, *short) if handle] or [workflow.key]


def folded(name: str) -> str:
    """*name*, normalised for comparison."""
    return unicodedata.normalize("NFC", name).casefold()

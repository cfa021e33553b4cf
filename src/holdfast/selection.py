"""Which of several workflows this session gets, and why. Pure: everything is passed in.

The order, first hit wins:
1. the workflow that this session owns, unless another one was declared since it was claimed;
2. the one declared now: CLAUDE.local.md before plans, the latest edited plan first;
3. the newest by the last change of an agent or a person.
What belongs to another branch than the checked-out one comes after what belongs to this one. When CLAUDE.local.md comes to declare another
workflow, it moves the session that was following it, not one that works on something else beside it. What is part of
another workflow is never chosen: that one tells it along.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast import clock
from holdfast.formats.base import Workflow
from holdfast.records import Record, replace
from holdfast.sessions import Claim


class Choice(Record):
    chosen: Workflow | None
    why: str
    others: tuple[Workflow, ...] = ()  # all that are not chosen, the active ones first


class Circumstances(Record):
    """What the choice depends on beside the workflows."""

    now: datetime
    branch: str | None = None
    claim: Claim | None = None
    others: Sequence[Claim] = ()  # of other sessions

    @property
    def taken(self) -> set[str]:
        """Keys of workflows that other sessions own."""
        return {each.workflow for each in self.others}


def choose(workflows: Sequence[Workflow], circumstances: Circumstances) -> Choice:
    """The workflow to restore."""
    alone = [each for each in workflows if each.standing == "active" and not each.part_of]
    active = sorted(alone, key=lambda each: _rank(each, circumstances))
    rest = [each for each in workflows if each.standing != "active" or each.part_of]
    if not active:
        return Choice(None, "no workflow is active", tuple(rest))
    chosen, why = _first(active, _following(workflows, circumstances))
    others = [each for each in active if each is not chosen]
    return Choice(chosen, why, (*others, *rest))


def _following(workflows: Sequence[Workflow], circumstances: Circumstances) -> Circumstances:
    """The same, where what the session took up has become part of another workflow since."""
    claim = circumstances.claim
    around = next(
        (each.part_of for each in workflows if claim and each.key == claim.workflow), None
    )
    if claim is None or around is None:
        return circumstances
    return replace(circumstances, claim=claim._replace(workflow=around))


def _first(active: Sequence[Workflow], circumstances: Circumstances) -> tuple[Workflow, str]:
    claim = circumstances.claim
    first = active[0]
    own = next((each for each in active if claim and each.key == claim.workflow), None)
    if own is not None and claim is not None:
        newer = next((each for each in active if _declared_since(each, claim, circumstances)), None)
        if newer is None or newer is own:
            return own, "this session works on it"
        return newer, f"it was declared after this session took up {own.name!r}"
    if len(active) == 1:
        return first, f"it is the only active one: {origin(first)}"
    before = {"local": "that goes before all else", "plan": "it is the one edited last"}
    return first, f"{origin(first)}, and {before.get(first.declared or '', 'it is the newest')}"


def origin(workflow: Workflow) -> str:
    """Why there is a case for *workflow* at all."""
    if workflow.declared == "local":
        return "CLAUDE.local.md declares it"
    if workflow.declared == "plan":
        return "a plan in progress declares it"
    return f"it was last changed on {workflow.changed_at:%Y-%m-%d}"


def _declared_since(workflow: Workflow, claim: Claim, circumstances: Circumstances) -> bool:
    """Whether markdown names *workflow* now and did not when *claim* was made."""
    if workflow.key in {claim.workflow, claim.declared}:
        return False
    if workflow.declared == "local":
        if _follows(claim):
            return True
        followed = any(_follows(each) for each in circumstances.others)
        return not followed and workflow.key not in circumstances.taken
    if workflow.key in circumstances.taken:
        return False
    claimed = clock.parse(claim.at)
    return (
        workflow.declared == "plan"
        and claimed is not None
        and (workflow.created_at is None or workflow.created_at > claimed)
    )


def _follows(claim: Claim) -> bool:
    """Whether a session works on what CLAUDE.local.md declared when it took it up."""
    return claim.workflow == claim.declared


def _rank(workflow: Workflow, circumstances: Circumstances) -> tuple[object, ...]:
    elsewhere = bool(
        circumstances.branch and workflow.branch and workflow.branch != circumstances.branch
    )
    source = {"local": 0, "plan": 1, None: 2}[workflow.declared]
    edited = min(workflow.declared_at, circumstances.now.timestamp())
    changed = min(workflow.changed_at, circumstances.now).timestamp()
    return (
        elsewhere,
        source,
        -edited if source == 1 else 0.0,
        -changed,
        workflow.key,
    )

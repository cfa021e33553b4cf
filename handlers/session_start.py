"""SessionStart: bring the workflow back, wholly after a compaction, in one line otherwise.

It syncs again, because PreCompact may not have run and the markdown may be newer.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import timedelta

from holdfast.agents import late
from holdfast.agents.events import SessionStart
from holdfast.agents.replies import Decision, Restored
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.errors import HoldfastError
from holdfast.files.store import HOOK_WAIT
from holdfast.formats.engine.workflow import Workflow
from holdfast.formats.registry import format_of
from holdfast.records import session as sessions
from holdfast.records import sessionlog
from holdfast.records.sessionlog import DELIVERED, OFFERED, LogLine
from holdfast.restoring import compactions, delivery, guidance, restore, watching
from holdfast.restoring.delivery import Delivery
from holdfast.restoring.reading import ONLY_NAMED, Reading
from holdfast.text.plaintext import counted
from holdfast.workflows import sync
from holdfast.workflows.selection import Choice, origin
from holdfast.workflows.sync import ProjectView

_BETWEEN = " · "
_SAID_OF = {"compact", "startup", "clear"}  # where the person hears why no workflow comes with it
_REPEATED = timedelta(minutes=1)  # within which a start without a PreCompact is the same one again
_VERBS = {"compact": "restored", "resume": "resumed", "fork": "carried over"}


def handle(event: SessionStart, here: Surroundings, clock: Clock) -> Decision:
    _restarted(event, here, clock)
    view = sync.survey(event.request.session, here, clock, event.request.name)
    sync.save(view, HOOK_WAIT)
    sync.begin(view, HOOK_WAIT)
    notes, choice, depth = list(view.notes), view.choice(), restore.depth(view, event.source)
    for name, failure in view.failures.items():
        own = choice.chosen is None or choice.chosen.format == name
        what = "the workflow" if own else f"what there is of the format {name}"
        notes.append(f"Holdfast could not save {what}: {failure.cause}")
    why, lines = list(notes), list[LogLine]()
    if choice.chosen and (event.source == "compact" or (event.compacted and depth == "full")):
        lines += compactions.started(view.place, choice.chosen, view.session)
        if not here.played:
            # What the history has of a compaction since then is this one. A new compaction is told from a repeated start by
            # what came before it: the session was heard of at PreCompact, or by a command, or some time has gone by.
            earliest = view.place.now - _REPEATED
            since = max(sessions.last_heard(view.state_dir, view.session) or earliest, earliest)
            try:
                form = format_of(choice.chosen)
                form.resumed(view.place, choice.chosen, since, HOOK_WAIT)
            except HoldfastError as error:
                why.append(f"that it was compacted is not noted in its history: {error.cause}")
    decision = _answer(event, view, depth, notes)
    return decision._replace(why=[*why, *decision.why], lines=[*decision.lines, *lines])


def _answer(event: SessionStart, view: ProjectView, depth: str, notes: list[str]) -> Decision:
    """What a session is told of its workflow, to that *depth*."""
    choice, (offer, noted) = view.choice(), _offer(view)
    reply = Restored(message=_BETWEEN.join([*notes, *offer]), watch=watched(view))
    decision = Decision(reply, root=view.root, source=event.source)
    log = sessionlog.content(view.state_dir, view.session)
    if late.is_told(log, view.capabilities, event.source, view.place.now):
        return decision._replace(decided=late.ALREADY_TOLD)
    if depth == "off":
        return switched_off(view, event.source)
    saved = [f"saved {name!r}" for name in view.saved]
    if choice.chosen and depth == "full":
        if view.owned and view.owned.workflow not in {"", choice.chosen.key}:
            notes = [f"not the one before, because {choice.why}", *notes]
        whole = _whole(event, view, choice.chosen, notes)
        return whole._replace(why=[*saved, *whole.why])
    # Problems with the settings are for the person alone.
    for_model = [note for note in notes if note not in view.place.problems]
    if choice.chosen:
        decided, why = f"named {choice.chosen.name!r}", _reasons(choice, choice.chosen)
        told, line = _in_one_line(view, choice.chosen, for_model)
    else:
        decided = f"nothing restored: {choice.why}"
        why = [f"{path}: {what}" for path, what in view.looked]
        why += [f"{workflow.name}: {workflow.remark}" for workflow in choice.others]
        told, line = _without_workflow(event.source, view, for_model)
    message = _BETWEEN.join(filter(None, [line, reply.message]))
    sync.clear_notices(view)
    reply = reply._replace(context=told, message=message)
    return decision._replace(reply=reply, decided=decided, why=[*saved, *why], lines=noted)


def _in_one_line(view: ProjectView, chosen: Workflow, for_model: list[str]) -> tuple[str, str]:
    """For the model and for the person: there is a workflow, and the session begins here."""
    sync.begin_here(view)
    others = view.choice().others
    active = sum(other.standing == "active" and not other.part_of for other in others)
    told = f"{guidance.in_one_line(chosen.briefing)}\n{guidance.notes(for_model)}".rstrip()
    return told, guidance.at_a_glance(chosen.briefing, active)


def _without_workflow(source: str, view: ProjectView, for_model: list[str]) -> tuple[str, str]:
    """For the model and for the person: what is over and still there. What was ended properly needs no word."""
    sessionlog.withdraw(view.state_dir, view.session, view.place.now)
    left = [other for other in view.choice().others if other.kept and not other.put_away][:3]
    if source not in _SAID_OF:
        left = []
    lines = [_not_restored(other) for other in left]
    # At any other start the model has forgotten nothing.
    asks = [line for other, line in zip(left, lines, strict=True) if other.standing != "ignored"]
    # The client sends the plan of plan mode again, also where its workflow has ended.
    planned = view.place.planned
    ended = (other for other in view.choice().others if not other.kept and other.source == planned)
    asks += [f"The plan {planned} is no work any more: {other.remark}" for other in ended]
    told = guidance.notes([*(asks if source == "compact" else ()), *for_model])
    return told, _BETWEEN.join(lines)


def _offer(view: ProjectView) -> tuple[list[str], list[LogLine]]:
    """One line for the person on plans that nobody follows, told once a session, and what to note of it."""
    log = sessionlog.content(view.state_dir, view.session)
    if not view.candidates or sessionlog.last(log, OFFERED):
        return [], []
    first, *others = view.candidates
    more = f"; so do {len(others)} more: `holdfast status`" if others else ""
    told = sessionlog.later(view.state_dir, view.session, OFFERED, {"plan": first.path})
    return [f"{first}{more}"], told


def switched_off(view: ProjectView, source: str) -> Decision:
    """That a session that begins with *source* is told nothing."""
    decided = f"nothing: {source} is switched off in the settings or not known"
    return Decision(Restored(watch=watched(view)), decided, root=view.root, source=source)


def watched(view: ProjectView) -> list[str]:
    """What the client is asked to watch."""
    settings = view.place.settings
    folders = [view.root, *view.searched]
    inputs = view.place.store.inputs
    return watching.paths(folders, settings.plans, inputs) if settings.enabled else []


def _reasons(choice: Choice, chosen: Workflow) -> list[str]:
    """Why this workflow and not another."""
    others = (f"not {other.name!r}: {other.remark or origin(other)}" for other in choice.others)
    return [f"{chosen.name!r}: {choice.why}", *others]


def _whole(
    event: SessionStart, view: ProjectView, chosen: Workflow, notes: Sequence[str]
) -> Decision:
    """The whole restore, with the session's claim and what was delivered noted."""
    is_own, source = view.has(chosen), event.source
    # What was delivered of another workflow counts no longer once this one is claimed.
    before = delivery.recall(view.state_dir, view.session) if is_own else None
    compaction = late.compaction_in(sessionlog.content(view.state_dir, view.session))
    if before and (source == "compact" or event.compacted or compaction == "begun"):
        before = before._replace(opened=frozenset())  # it has left the context
    decision = restoration(view, chosen, source, before, notes)
    if (
        not is_own or source != "compact"
    ):  # to restore its own workflow is no sign of life; see `handle`
        sync.claim(view, chosen)
    sync.clear_notices(view)
    return decision


def restoration(
    view: ProjectView, chosen: Workflow, source: str, before: Delivery | None, notes: Sequence[str]
) -> Decision:
    """What a session is told that gets *chosen* wholly. Writes nothing."""
    plan = restore.reading_of(view, chosen, source)
    now = {item.real: known for item in plan.items if (known := item.fingerprint)}
    changed, opened = set[str](), frozenset[str]()
    if before and before.workflow == chosen.key:
        changed = {real for real in now if before.fingerprints.get(real, now[real]) != now[real]}
        opened = before.opened - changed
    text = restore.text(view, chosen, source, plan, changed)
    verb = _VERBS.get(source, "restored")
    opening = guidance.acknowledgement(chosen.briefing, verb)
    line = guidance.for_person(chosen.briefing, verb, opening)
    parts = () if plan.inline else plan.parts
    offer, noted = _offer(view)
    message, state = _BETWEEN.join([line, *notes, *offer]), chosen.briefing.state_path
    delivered = Delivery(
        root=view.root,
        workflow=chosen.key,
        name=chosen.name,
        fingerprints=now,
        unread={item.real: item.path for item in plan.items if item.can_be_opened},
        state=str(view.place.root / state) if state else "",
        opened=opened,
        sent={item.real: item.parts for item in plan.items if item.parts},
        withheld={item.real: item.trouble or ONLY_NAMED for item in plan.items if not item.parts},
    )
    reply = Restored(text, message, watched(view), whole=True, parts=parts)
    decided = f"restored {chosen.name!r}, {chosen.briefing.where}"
    why = [*_reasons(view.choice(), chosen), *_sent(plan)]
    lines = sessionlog.later(view.state_dir, view.session, DELIVERED, delivered.fields())
    return Decision(reply, decided, why, view.root, source, lines=[*noted, *lines])


def _restarted(event: SessionStart, here: Surroundings, clock: Clock) -> None:
    """Another process has begun: the subagents of the one before are gone."""
    session, state_dir = event.request.session, here.state_dir
    # A session that is new has none; to note that would be a write at every start.
    old = sessionlog.is_known(state_dir, session) or sessionlog.content(state_dir, session)
    if event.source in {"resume", "fork"} or (event.source in {"startup", "clear"} and old):
        sessionlog.observe(here, session, clock.now(), {"restarted": event.source})


def _sent(plan: Reading) -> list[str]:
    count = sum(item.parts is not None for item in plan.items)
    files, parts = counted(len(plan.items), "file"), counted(len(plan.parts), "part")
    lines = [f"reading: {count} of {files} in {parts}"]
    return lines + [f"not sent {item.path}: {item.trouble}" for item in plan.items if item.trouble]


def _not_restored(workflow: Workflow) -> str:
    """That *workflow* is not restored, and how to close it, or to go on with it."""
    line = f"Workflow not restored: {restore.in_brief(workflow)}"
    if workflow.standing == "stale":
        return f"{line}. To go on with it: holdfast resume {shlex.quote(workflow.name)}"
    says_how = workflow.standing != "finished" or "holdfast " in workflow.remark
    return line if says_how else f"{line}. Close it: {workflow.closed_with}"

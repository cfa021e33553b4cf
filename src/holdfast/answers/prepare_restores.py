"""Prepares the answers around a compaction, which follow from workflows.

They are made once for now and once for a later moment, from a look at the project each: where both come out the same, they
hold in between, since what depends on the time (ages, "stale", a date beside an hour) changes once and does not change
back. So no text has to declare that it depends on the time. The second look is paid for by a hook that nobody waits for.

What the answers say, and the lines that are added to logs when one of them is given, is decided by the handlers' functions;
`tests/hooks/test_prepared_equals_full.py` compares what follows from it.
"""

from __future__ import annotations

import contextlib

from holdfast.agents import Agent, late
from holdfast.agents.replies import Decision, Restored
from holdfast.answers import prepared
from holdfast.answers.prepare import Answer, Answers
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.formats.registry import format_of
from holdfast.handlers import pre_compact, session_start
from holdfast.records import hooklog, ledger, sessionlog
from holdfast.restoring import compactions, delivery, restore
from holdfast.text.plaintext import one_line
from holdfast.workflows import sync
from holdfast.workflows.sync import ProjectView

# Lines of a session's log that change nothing for a restore: what was opened before it has left the context.
_NO_RESTORE = (
    *("heard", sessionlog.DELIVERED, sessionlog.WITHDRAWN),
    *(*sessionlog.SINCE_DELIVERY, *sessionlog.LATE),
)


def statusline(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> Answer:
    """What the status line shows now; prepared for the next time."""
    answers = Answers(here, session or "", clock, agent)
    now, later = _views(answers, session)
    with contextlib.suppress(OSError):  # as in `prepare.statusline`
        _keep_statusline(answers, now, later)
    return _standing(now)


def prepare(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> None:
    """Prepare what a compaction asks for, and the status line."""
    if sessionlog.newer_version_warnings(here.state_dir, session):
        return  # the log tells of it every time
    end = sessionlog.end(here.state_dir, session)  # before anything is read of the log
    answers = Answers(here, session or "", clock, agent)
    now, later = _views(answers, session)
    _keep_statusline(answers, now, later)
    if not session or now.due or later.due or now.failures:
        return
    note = _note(answers, now)
    if note and note == _note(answers, later):
        answers.by_event["PreCompact"] = note
    answers.keep(prepared.NOTE)
    restored = _restore(answers, now)
    if restored and restored == _restore(answers, later):
        answers.by_event["SessionStart"] = restored
    log = sessionlog.path_of(now.state_dir or "", session)
    answers.keep(prepared.RESTORE, [[log, *end, list(_NO_RESTORE)]])


def _views(answers: Answers, session: str | None) -> list[ProjectView]:
    """The project now and later."""
    return [
        sync.survey(session, answers.here, Clock(at), "PreCompact")
        for at in (answers.now, answers.later)
    ]


def _keep_statusline(answers: Answers, now: ProjectView, later: ProjectView) -> None:
    if _standing(now) == _standing(later):
        answers.by_event["statusline"] = _standing(now)
    answers.keep(prepared.STATUS)


def _standing(view: ProjectView) -> Answer:
    """What the status line shows of the workflow that the session gets."""
    workflow = view.choice().chosen
    if workflow is None:
        return {}
    briefing = workflow.briefing
    return {
        "name": one_line(briefing.name),
        "phase": briefing.count or briefing.boxes,
        "title": one_line(briefing.phase_name),
        "status": one_line(briefing.status, 20).replace("_", " "),
        "behind": workflow.behind,
    }


def _answer(answers: Answers, view: ProjectView, event: str, decision: Decision) -> Answer:
    """What every answer has: its text, its line for the hook log, and lines for the session's log."""
    lines = list(decision.lines)
    if view.capabilities.notes_begun:  # the full path notes it before it begins, or in the end
        state = "begun" if event == "PreCompact" else "over"
        lines += sessionlog.later(view.state_dir, view.session, "compaction", {"state": state})
    text = answers.printed(decision.reply, event)
    return {"text": text, "log": answers.log(event, decision), "lines": lines}


def _note(answers: Answers, view: ProjectView) -> Answer | None:
    """The answer to a PreCompact with nothing to save; None where the full path has more to note."""
    # The next prompt will read the transcript that is noted.
    follows = view.session and view.capabilities.transcript
    to_note = follows and not late.followed(view.state_dir, view.session)
    if view.choice().chosen and (pre_compact.is_to_take(view) or to_note):
        return None
    answer = _answer(answers, view, "PreCompact", pre_compact.note_for_summariser(view))
    if view.capabilities.transcript:
        answer["transcript"] = late.followed(view.state_dir, view.session)
    return answer


def _restore(answers: Answers, view: ProjectView) -> Answer | None:
    """The answer to a SessionStart(compact), with the texts of the parts.

    None where the full path has more to note than is noted of a prepared answer, or no start comes.
    """
    chosen, depth = view.choice().chosen, restore.depth(view, "compact")
    if view.capabilities.prompted:
        return None
    if depth == "off" and chosen is None:
        off = session_start.switched_off(view, "compact")._replace(why=view.notes)
        return _answer(answers, view, "SessionStart", off)
    if (
        chosen is None
        or depth != "full"
        or not view.has(chosen)
        or format_of(chosen).notes_compactions
        or ledger.load(view.place.store).notices
        or view.once
    ):
        return None
    # First, since it may change meanwhile. The answer tells which files have changed since what was delivered last.
    delivered_before = sessionlog.delivered_id(view.state_dir, view.session)
    before = delivery.recall(view.state_dir, view.session)
    if before:  # what was opened before a compaction has left the context
        before = before._replace(opened=frozenset())
    decision = session_start.restoration(view, chosen, "compact", before, view.notes)
    noted = [*decision.lines, *compactions.started(view.place, chosen, view.session)]
    decision = decision._replace(why=[*view.notes, *decision.why], lines=noted)
    answer = _answer(answers, view, "SessionStart", decision)
    answer["delivered"] = delivered_before
    reply, record = decision.reply, answers.record("SessionStart", decision, view.session or "")
    sent = reply.parts if isinstance(reply, Restored) else ()
    texts = [answers.printed(Restored(text), "SessionStart") for text in sent]
    log, lines = hooklog.path(answers.state_dir, view.root), hooklog.part_lines(record, len(texts))
    answer["parts"] = [texts, log, lines]
    return answer

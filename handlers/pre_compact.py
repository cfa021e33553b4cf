"""PreCompact: save every workflow, and tell the summariser what to keep.

It may fire without a compaction following, and several times for one, so it counts nothing. A session without a workflow
claims the chosen one here, so that the restore does not have to write.
"""

from __future__ import annotations

from holdfast.agents import replies
from holdfast.agents.events import PreCompact
from holdfast.agents.replies import Decision, SummariserNote
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.files.store import HOOK_WAIT, LATER_WAIT
from holdfast.patterns import pattern
from holdfast.records import hooklog, sessionlog
from holdfast.restoring import compactions, guidance
from holdfast.workflows import sync
from holdfast.workflows.sync import ProjectView

_NUMBERS = pattern(r"\d+")
_OFF = "nothing: switched off in the project's settings"


def handle(event: PreCompact, here: Surroundings, clock: Clock) -> Decision:
    session, saver = event.request.session, event.request.name
    # Before it is saved, which may fail or take long: the next prompt may come meanwhile.
    if here.capabilities.notes_begun:
        state_dir, now = here.state_dir, clock.now()
        sessionlog.append(state_dir, session, "compaction", now, state="begun")
    if here.capabilities.transcript:
        from holdfast.agents.late import transcripts  # noqa: PLC0415  # only for agents that are told late

        transcripts.follow(here, event.request, clock.now())
    view = sync.survey(session, here, clock, saver)
    sync.save(view, HOOK_WAIT)
    sync.begin(view, HOOK_WAIT)
    chosen = view.choice().chosen
    if failure := view.failures.get(chosen.format) if chosen else view.failure:
        failed = replies.failed(saver, failure.cause)
        if _failed_before(event, view, failed.decided):
            failed = Decision(decided=failed.decided)
        return failed._replace(why=view.notes, root=view.root)
    decision = note_for_summariser(view)
    if chosen and is_to_take(view):
        sync.claim(view, chosen)
    return decision


def keep_books(session: str | None, here: Surroundings, clock: Clock) -> Decision:
    """What nobody waits for, while the summary is being written: note the phase of what is observed.

    What is due is saved here as well, since what is prepared afterwards has to follow from it.
    """
    view = sync.survey(session, here, clock, "PreCompact")
    sync.save(view, LATER_WAIT)
    sync.observe(view, LATER_WAIT)
    if not view.saved and not view.failures:
        return Decision()
    decided = f"beside the compaction: saved {len(view.saved)}"
    return Decision(decided=decided, why=[*view.notes, *view.saves], root=view.root)


def _failed_before(event: PreCompact, view: ProjectView, decided: str) -> bool:
    """Whether the person was told the same just before, who would be told before every request."""
    transcript, asked = view.capabilities.transcript, event.request
    if not transcript or transcript.announced or asked.source != "auto":
        return False
    before = hooklog.last(view.state_dir, view.root, asked.session, asked.name)
    # A file that could not be made is called by the time, and the log cuts what is long.
    return bool(before) and _NUMBERS.sub("", decided).startswith(_NUMBERS.sub("", before))


def is_to_take(view: ProjectView) -> bool:
    """Whether the session has no workflow yet, so that it claims the chosen one."""
    return bool(view.session) and not (view.owned and view.owned.workflow)


def note_for_summariser(view: ProjectView) -> Decision:
    """What the summariser is told. Writes nothing."""
    if not view.place.settings.enabled:
        return Decision(decided=_OFF, why=view.notes, root=view.root)
    choice = view.choice()
    # Not left to the hook beside it: the restore tells by this line that the compaction is a new one.
    owned = view.session if view.owned else None
    lines = sessionlog.later(view.state_dir, owned, "heard", {})
    decided = f"saved {len(view.saved)}" if view.saved else "nothing changed"
    why = [*view.notes, *view.saves]
    if choice.chosen is None:
        why += [choice.why, *(f"{path}: {what}" for path, what in view.looked)]
        return Decision(decided=decided, why=why, root=view.root, lines=lines)
    why.append(f"{choice.chosen.name!r}: {choice.why}")
    lost = compactions.lost(view.place, choice.chosen)
    note = SummariserNote(guidance.for_summariser(choice.chosen.briefing, lost))
    return Decision(note, decided, why, view.root, lines=lines)

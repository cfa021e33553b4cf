"""Event to handler to reply; what has nothing to do ends here."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module

from holdfast.agents import events, late, replies
from holdfast.agents.replies import Decision
from holdfast.clock import Clock
from holdfast.config import project, settings
from holdfast.formats import signs
from holdfast.handlers import HANDLERS
from holdfast.records import sessionlog
from holdfast.restoring import watching

# Other events come with every tool call. They are logged only if something was decided.
_ALWAYS_LOGGED = events.PreCompact | events.SessionStart | events.PostCompact | events.Other
# Events that count although they carry the agent_id of a subagent.
_OF_SUBAGENTS = events.Subagent | events.ToolDone


def answer(
    event: events.Event,
    here: project.Surroundings,
    clock: Clock,
    afterwards: ExitStack,
    *,
    later: bool = False,
) -> Decision:
    """What is decided on *event*; *later*, only its bookkeeping is done.

    What is to be done once the reply was told is left in *afterwards*.
    """
    idle = _nothing_to_do(event, here, later=later)
    if idle:
        return idle if isinstance(event, _ALWAYS_LOGGED) else idle._replace(decided="")
    if later:
        from holdfast.handlers import pre_compact  # noqa: PLC0415

        return pre_compact.keep_books(event.request.session, here, clock)

    def answered(event: events.Event) -> Decision:
        # Loaded now, since most events end before they need it.
        handler = import_module(f"holdfast.handlers.{HANDLERS[event.request.name]}")
        decision: Decision = handler.handle(event, here, clock)
        return decision

    if here.capabilities.starts_twice and isinstance(event, events.SessionStart):
        decision = answered(event)
        afterwards.callback(_has_started, event, decision.reply, here, clock)
        return decision
    if not here.capabilities.prompted or not isinstance(event, events.Prompt | events.SessionStart):
        return answered(event)
    from holdfast.agents.late import turns  # noqa: PLC0415  # only for agents that are told late

    turn = turns.Turn(here, clock, afterwards, answered)
    return turn.prompted(event) if isinstance(event, events.Prompt) else turn.started(event)


def _has_started(
    event: events.SessionStart, reply: replies.Reply, here: project.Surroundings, clock: Clock
) -> None:
    """Note what a start was told, for the one that may follow it in the same turn."""
    state = "told" if event.source == "resume" and replies.is_whole(reply) else "over"
    if state == "told" or event.source == "compact":
        late.ends(here.state_dir, event.request.session, clock.now(), state)


def _nothing_to_do(
    event: events.Event, here: project.Surroundings, *, later: bool
) -> Decision | None:
    """Why there is nothing to do, found out cheaply; None when a handler has to look."""
    why, beside = "", here.capabilities.beside
    if isinstance(event, events.Other):
        why = f"{event.request.name} is not ours"
    elif later and not (isinstance(event, events.PreCompact) and beside):
        why = "this bookkeeping is done with the event itself"
    elif isinstance(event, events.PreToolUse) and watching.files_meant(event.path, here):
        return None
    elif isinstance(event, events.ToolDone) and event.planning:
        return None  # it may have written a plan that lies elsewhere
    elif event.request.agent_id and not isinstance(event, _OF_SUBAGENTS):
        why = "a subagent's event"
    if why:
        return Decision(decided=f"nothing: {why}", idle=True)
    return idle_in(here, event.request.session, starts=isinstance(event, events.SessionStart))


def idle_in(here: project.Surroundings, session: str, *, starts: bool) -> Decision | None:
    """Why no hook has anything to do here; where the session *starts*, there is an answer all the same."""
    inputs = here.inputs
    configured = settings.load(None, here.config_file, inputs).settings
    if not configured.enabled:
        return Decision(decided="nothing: switched off in the user's settings", idle=True)
    folders = project.candidates(here.cwd, here.client_project, inputs)
    for folder in folders:
        plan_mode = project.plans_below(folder, here.plans_folder(folder))
        plans = (*configured.plans, *plan_mode)
        if signs.formats_in(folder, plans, inputs):
            return None
    if sessionlog.is_known(here.state_dir, session):
        return None
    # What declares a workflow later on is noticed all the same.
    watch = watching.paths(folders, configured.plans, inputs) if starts else []
    decided = "nothing: no workflow is declared or kept here"
    return Decision(replies.Restored(watch=watch), decided, idle=True)
